"""The threads of the cpu executions: torch has one meanwhile and its own afterwards; every task is done once."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Barrier, Event, Thread
from typing import Any

import pytest
import torch

from odernn.cells.lem import LEM
from odernn.executions.cpu import threads


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_torch_has_one_thread_inside_and_its_own_afterwards():
    with threads.alone():
        assert torch.get_num_threads() == 1 and threads.given_threads() == 3
        with threads.alone():
            assert torch.get_num_threads() == 1 and threads.given_threads() == 3
    assert torch.get_num_threads() == 3
    with pytest.raises(ZeroDivisionError), threads.alone():
        raise ZeroDivisionError
    assert torch.get_num_threads() == threads.given_threads() == 3
    with threads.alone(False):
        assert torch.get_num_threads() == 3


def test_an_operator_leaves_torch_its_threads():
    pytest.importorskip("numba", reason="the fused CPU execution needs the extra `fast`")
    network = LEM(2, 3, execution="cpu")
    network(torch.zeros(2, 1, 2))[0].sum().backward()
    assert torch.get_num_threads() == 3


@contextmanager
def an_operator(count: int) -> Iterator[Callable[[], None]]:
    """Another thread, to which torch gives so many, is inside of ``alone`` until what is yielded is called."""
    inside, over = Event(), Event()

    def other() -> None:
        torch.get_num_threads()
        torch.set_num_threads(count)
        with threads.alone():
            inside.set()
            over.wait(10)

    helper = Thread(target=other)
    helper.start()
    assert inside.wait(10)
    torch.set_num_threads(3)  # of this thread, and of those that will begin

    def leave() -> None:
        over.set()
        helper.join()

    try:
        yield leave
    finally:
        leave()


def counts() -> set[str]:
    """OpenMP's, torch's and MKL's threads of this thread."""
    said = torch.__config__.parallel_info()
    return set(re.findall(r"(?:at::get_num|omp_get_max|mkl_get_max)_threads\(\) : (.*)", said))


@pytest.fixture(params=["thread", "process"])
def setter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's threads are set in the calling thread alone, or as where torch does not show how."""
    if request.param == "process":
        monkeypatch.setattr(threads, "_setter", lambda: torch.set_num_threads)
    else:
        assert threads._setter() is not torch.set_num_threads


@pytest.mark.usefixtures("setter")
@pytest.mark.parametrize("count", [1, 3, 4])
def test_operators_side_by_side_have_and_leave_their_own_threads(count: int):
    """One of a thread that has 1 changes nothing for one that has 3: the other has 1 inside, too, and splits by 3."""
    with an_operator(count) as leave:
        assert counts() == {"3"}
        with threads.alone():
            assert counts() == {"1"} and threads.given_threads() == 3
            leave()
            assert counts() == {"1"} and threads.given_threads() == 3
        assert counts() == {"3"} and threads.given_threads() == 3


@pytest.mark.usefixtures("setter")
def test_a_helper_has_one_thread_of_torch_whenever_it_begins():
    """Also after the first of two operators has given back its threads, and in later calls."""
    threads._pool().shutdown()
    threads._pool.cache_clear()
    found: list[set[str]] = []
    together = Barrier(3)

    def task() -> None:
        together.wait(10)
        found.append(counts())

    with an_operator(4) as leave, threads.alone():
        leave()
        threads.share([task] * 3, 3)
    with threads.alone():
        threads.share([task] * 3, 3)
    assert found == [{"1"}] * 6


def test_a_thread_that_begins_beside_an_operator_has_all_threads():
    found: list[set[str]] = []
    with an_operator(3), threads.alone():
        other = Thread(target=lambda: found.append(counts()))
        other.start()
        other.join()
    assert found == [{"3"}]


def test_every_task_is_done_once_and_an_error_is_raised():
    done: list[int] = []

    def task(number: int) -> None:
        time.sleep(0.001)
        done.append(number)

    threads.share([lambda number=number: task(number) for number in range(20)], 3)  # type: ignore[misc]
    assert sorted(done) == list(range(20))

    def fail() -> None:
        time.sleep(0.001)
        raise ZeroDivisionError

    for count in (1, 3):
        with pytest.raises(ZeroDivisionError):
            threads.share([fail] * 6, count)


@pytest.mark.parametrize("is_interrupted_again", [False, True])
def test_after_an_error_no_helper_is_at_work(is_interrupted_again: bool, monkeypatch: pytest.MonkeyPatch):
    """A task holds addresses of memory that the caller frees."""
    main, begun, ended = threading.get_ident(), threading.Event(), threading.Event()
    others: list[int] = []

    def task() -> None:
        if threading.get_ident() == main:
            assert begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.05)
        others.append(1)
        ended.set()

    waits: list[int] = []
    true = threads.wait

    def interrupted(helpers: list[threads.Future[None]]) -> None:
        waits.append(len(helpers))
        if is_interrupted_again and len(waits) == 1:
            raise KeyboardInterrupt
        true(helpers)

    monkeypatch.setattr(threads, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        threads.share([task] * 50, 2)
    assert ended.is_set() and len(waits) == 1 + is_interrupted_again
    count = len(others)
    time.sleep(0.1)
    assert len(others) == count < 10


def test_an_error_of_a_helper_is_raised_when_the_others_are_done():
    main, failed = threading.get_ident(), threading.Event()
    done: list[int] = []
    slow, first = threading.Lock(), threading.Barrier(3)

    def task() -> None:
        is_helper = threading.get_ident() != main
        first.wait(10)
        if is_helper and slow.acquire(blocking=False):
            failed.set()
            raise ZeroDivisionError
        if is_helper:
            assert failed.wait(10)
            time.sleep(0.1)
        done.append(1)

    with pytest.raises(ZeroDivisionError):
        threads.share([task] * 3, 3)
    assert len(done) == 2


@pytest.mark.parametrize("is_added", [False, True])
def test_shared_products_are_products(monkeypatch: pytest.MonkeyPatch, is_added: bool):
    monkeypatch.setattr(threads, "PRODUCT_A_THREAD", 1)
    a, b, out = torch.randn(7, 5).double(), torch.randn(5, 4).double(), torch.randn(7, 4).double()
    other = torch.zeros(1, 4).double()
    expected = a @ b + (out if is_added else 0)
    with threads.alone():
        threads.add_products([(out, a, b), (other, a[:1], b)], is_added=is_added)
    assert torch.allclose(out, expected) and torch.allclose(other, a[:1] @ b)


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_every_thread_is_in_the_mode_of_its_caller(mode: Callable[[], Any]):
    """Else an inference tensor, made by the caller, cannot be written to by a helper."""
    seen: list[tuple[bool, bool]] = []
    together = threading.Barrier(3)

    def task() -> None:
        together.wait(10)
        seen.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled()))

    with mode():
        threads.share([task] * 3, 3)
    assert seen == [(mode is torch.inference_mode, False)] * 3


@pytest.mark.usefixtures("setter")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_process_knows_no_operator_and_no_helper_of_its_parent():
    """Forked while another thread is inside, and after helpers were at work."""
    threads.share([partial(time.sleep, 0.01)] * 6, 3)
    with an_operator(3):
        if (child := os.fork()) == 0:
            os._exit(0 if is_as_new() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def is_as_new() -> bool:
    """Whether a new thread finds and leaves three threads of torch, and gets helpers."""
    found: list[int] = []

    def look() -> None:
        found.append(torch.get_num_threads())
        with threads.alone():
            found.append(threads.given_threads())
            together = Barrier(3)
            threads.share([partial(together.wait, 4)] * 3, 3)
        found.append(torch.get_num_threads())

    thread = Thread(target=look, daemon=True)
    thread.start()
    thread.join(5)
    return found == [3, 3, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_products_have_the_same_bits_each_time_and_as_one_after_another(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
):
    """A helper that MKL gave more threads summed in another order, and which helper took a range was chance."""
    monkeypatch.setattr(threads, "PRODUCT_A_THREAD", 1)
    a, b = (torch.randn(8000, 64, generator=torch.Generator().manual_seed(k)).to(dtype) for k in (0, 1))
    threads._pool().shutdown()
    threads._pool.cache_clear()  # helpers that torch has told nothing yet

    def product() -> torch.Tensor:
        out = torch.zeros(64, 64, dtype=dtype)
        with threads.alone():
            threads.add_products([(out, a.T, b)])
        return out

    alone = torch.zeros(64, 64, dtype=dtype)
    with threads.alone():
        for i, j in ((0, 21), (21, 42), (42, 64)):
            alone[i:j].addmm_(a.T[i:j], b)
    assert all(torch.equal(product(), alone) for _ in range(20))
