"""Threads of the cpu executions: a pool of their own, and torch's threads kept out of its way.

torch's threads are OpenMP's. After each of torch's parallel operations they go on looking for work for a while, and
take a processor from whoever has some. So ``alone`` gives torch one thread while an operator has its own at work, and
products are shared among those, too. On two cores that other work was also on, forward and backward of one UnICORNN
layer at (784, 128, 128) took 42 ms of the processors with two threads and 26 with one; so they take 28 and 26.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from threading import local
from typing import Any

import torch
from torch import Tensor

RANGES_A_THREAD = 4

PRODUCT_A_THREAD = 1 << 22
"""Multiplications below which a product is not worth a second thread."""

_inside = local()
"""``given``: how many threads torch had in this thread of Python, while that is inside of ``alone``."""


@contextmanager
def alone(is_wanted: bool = True) -> Iterator[None]:
    """Inside torch has one thread, if it had more and ``is_wanted``; ``given_threads`` says how many it had.

    So it is in the calling thread of Python, and in no other.
    """
    threads = torch.get_num_threads()
    if threads == 1 or not is_wanted:  # 1, too, where this thread is inside already
        yield
        return
    set_threads = _setter()
    _inside.given = threads
    try:
        set_threads(1)
        yield
    finally:
        set_threads(threads)
        del _inside.given


def given_threads() -> int:
    """torch.get_num_threads(), as it is outside of ``alone``."""
    given: int | None = getattr(_inside, "given", None)
    return given or torch.get_num_threads()


@cache
def _setter() -> Callable[[int], object]:
    """What sets torch's threads, OpenMP's and MKL's, in the calling thread, which has asked torch for them before.

    torch.set_num_threads also sets what every thread is told that asks for the first time, so that one that begins
    meanwhile would keep 1. It is taken where torch does not show the other functions, or they are not those it calls.
    """
    functions = ctypes.PyDLL(torch._C.__file__)  # and of what that is linked with
    openmp = getattr(functions, "omp_set_num_threads", int)
    mkl = getattr(functions, "MKL_Set_Num_Threads_Local", int)

    def set_threads(count: int) -> None:
        openmp(count)
        mkl(count)

    threads = torch.get_num_threads()
    set_threads(threads + 1)
    counts = re.findall(r"(?:::get_num|get_max)_threads\(\) : (\d+)", torch.__config__.parallel_info())
    set_threads(threads)
    return set_threads if set(counts) == {str(threads + 1)} else torch.set_num_threads


def in_threads(
    kernel: Callable[..., None], arguments: tuple[Any, ...], count: int, threads: int, tail: tuple[Any, ...] = ()
) -> None:
    """The kernel on 0 .. ``count``, in one call, or in so many threads, range by range."""
    if threads < 2:
        kernel(*arguments, 0, count, *tail)
        return
    ranges = min(RANGES_A_THREAD * threads, count)
    bounds = [count * k // ranges for k in range(ranges + 1)]
    share([partial(kernel, *arguments, *pair, *tail) for pair in pairwise(bounds)], threads)


def share(tasks: list[Callable[[], Any]], threads: int) -> None:
    """All tasks, in so many threads, each of which takes another one when it is done.

    One that gets less of a processor does less, and nobody waits for one that has not begun. After an error, Ctrl-C
    among them, those at work are waited for, and the first error is raised.
    """

    is_inference = torch.is_inference_mode_enabled()
    helpers: list[Future[None]] = []
    errors: list[BaseException] = []

    def work() -> None:
        with torch.inference_mode(is_inference), torch.no_grad():  # which every thread has to be told
            while True:
                try:
                    task = tasks.pop()
                except IndexError:  # all are taken, the last one maybe by another thread
                    return
                task()

    try:
        for _ in range(min(threads, len(tasks)) - 1):
            helpers.append(_pool().submit(work))
        work()
    except BaseException as error:
        errors.append(error)
    _end(tasks, helpers, errors)
    errors += [found for each in helpers if not each.cancelled() and (found := each.exception()) is not None]
    if errors:
        raise errors.pop(0)


def _end(tasks: list[Callable[[], Any]], helpers: list[Future[None]], errors: list[BaseException]) -> None:
    """No task is begun or at work any more: they hold addresses of what the caller frees. Ctrl-C waits in errors."""
    while True:
        try:
            tasks.clear()
            wait([helper for helper in helpers if not helper.cancel()])
            return
        except BaseException as error:
            errors.append(error)


def add_products(products: list[tuple[Tensor, Tensor, Tensor]], *, is_added: bool = True) -> None:
    """out += a b for every (out, a, b), or out = a b, rows of out in threads where there is enough to do.

    Inside ``alone``; no two of the products have an element of out in common.
    """
    work = sum(a.numel() * b.shape[1] for _, a, b in products)
    threads = min(given_threads(), work // PRODUCT_A_THREAD)
    if threads < 2:
        for out, a, b in products:
            out.addmm_(a, b) if is_added else torch.mm(a, b, out=out)
        return
    tasks: list[Callable[[], Any]] = []
    for out, a, b in products:
        bounds = [len(out) * k // threads for k in range(threads + 1)]
        for i, j in pairwise(bounds):
            rows = out[i:j]
            tasks.append(partial(rows.addmm_, a[i:j], b) if is_added else partial(torch.mm, a[i:j], b, out=rows))
    share(tasks, threads)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="odernn", initializer=_begin_helper)


def _begin_helper() -> None:
    """A helper has one thread of torch for ever: with more, MKL sums in another order, not the same each time."""
    torch.get_num_threads()  # what torch tells a thread that asks for the first time would undo the next line
    _setter()(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _pool.cache_clear())  # a child process has no threads of its parent's
