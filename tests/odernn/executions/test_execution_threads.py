"""The threads of the cpu executions: torch has one meanwhile and its own afterwards; every task is done once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

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


@pytest.mark.parametrize("is_added", [False, True])
def test_shared_products_are_products(monkeypatch: pytest.MonkeyPatch, is_added: bool):
    monkeypatch.setattr(threads, "PRODUCT_A_THREAD", 1)
    a, b, out = torch.randn(7, 5).double(), torch.randn(5, 4).double(), torch.randn(7, 4).double()
    other = torch.zeros(1, 4).double()
    expected = a @ b + (out if is_added else 0)
    with threads.alone():
        threads.add_products([(out, a, b), (other, a[:1], b)], is_added=is_added)
    assert torch.allclose(out, expected) and torch.allclose(other, a[:1] @ b)
