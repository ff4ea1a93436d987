"""The threads of the cpu executions: torch has one meanwhile and its own afterwards; every task is done once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
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


def test_operators_side_by_side_leave_torch_its_threads():
    inside, over = threading.Event(), threading.Event()

    def other() -> None:
        with threads.alone():
            inside.set()
            over.wait(10)

    helper = threading.Thread(target=other)
    helper.start()
    assert inside.wait(10)
    with threads.alone():
        assert threads.given_threads() == 3
    over.set()
    helper.join()
    torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    assert torch.get_num_threads() == threads.given_threads() == 3


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_process_knows_no_operator_of_its_parent():
    """Forked while another thread has the lock and torch's threads."""
    inside, over = threading.Event(), threading.Event()

    def other() -> None:
        with threads.alone():
            inside.set()
            over.wait(10)

    helper = threading.Thread(target=other)
    helper.start()
    assert inside.wait(10)
    with threads._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if is_as_new() else 1)
    over.set()
    helper.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def is_as_new() -> bool:
    """Whether a new thread comes by the lock, and finds and leaves three threads of torch."""
    found: list[int] = []

    def look() -> None:
        found.append(torch.get_num_threads())
        with threads.alone():
            found.append(threads.given_threads())
        found.append(torch.get_num_threads())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(5)
    return found == [3, 3, 3] and not threads._saved


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
