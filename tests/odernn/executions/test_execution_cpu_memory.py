"""Memory of large results: used again when nothing refers to it, never before, and whatever was left in it."""

from __future__ import annotations

import copy
import gc
import mmap
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from odernn.cells.unicornn import UnICORNN
from odernn.executions.cpu import execution as cpu
from odernn.executions.cpu import memory
from tests.odernn.executions.cpu_problems import DTYPES, MODES, ends_of, normal, problem, run
from tests.tiers import spread

pytestmark = pytest.mark.skipif(not memory._IS_OFFERED, reason="this system does not offer memory for reuse")

LIKE = torch.zeros(())
SHAPE = (256, 8, 1024)
"""8 MiB of float32."""


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    memory.forget()
    yield
    memory.forget()


@pytest.fixture
def small_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything with an element is kept, so that small problems try it, too."""
    monkeypatch.setattr(memory, "LARGE", 1)


def test_memory_is_used_again_once_it_is_free():
    first = memory.fresh(SHAPE, LIKE)
    assert first.shape == SHAPE and first.dtype == torch.float32 and first.is_contiguous()
    assert first.data_ptr() % (1 << 21) == 0 and first.untyped_storage().nbytes() == 1 << 23
    where = first.data_ptr()
    del first
    assert memory.unused() == 1 << 23
    second = memory.fresh((256 * 8, 1024), LIKE)
    assert second.data_ptr() == where and memory.unused() == 0


def test_small_results_and_other_sizes_are_left_alone():
    small = memory.fresh((511, 1024), LIKE)
    large = memory.fresh(SHAPE, LIKE)
    where = large.data_ptr()
    del small, large
    assert memory.unused() == 1 << 23  # the large one
    assert memory.fresh((257, 8, 1024), LIKE).data_ptr() != where
    assert memory.fresh((128, 8, 1024), LIKE.double()).data_ptr() == where


def _graph(rows: Tensor) -> Tensor:
    """Σ y x, which saves y for the derivative by x."""
    return (rows * torch.ones(1, requires_grad=True)).sum()


HOLDERS: dict[str, Callable[[Tensor], Any]] = {
    "itself": lambda rows: rows,
    "one row": lambda rows: rows[17],
    "one number": lambda rows: rows[0, 0, 0:1],
    "transposed": lambda rows: rows.transpose(0, 1),
    "detached": lambda rows: rows.detach(),
    "a numpy array": lambda rows: rows.numpy(),
    "a row of a numpy array": lambda rows: rows.numpy()[3],
    "a storage": lambda rows: rows.untyped_storage(),
    "a graph": _graph,
    "a parameter": lambda rows: torch.nn.Parameter(rows),
    "DLPack": lambda rows: torch.from_dlpack(rows),
    "a memoryview": lambda rows: memoryview(rows.numpy()),
    "a cycle": lambda rows: (lambda cycle: cycle.append([rows, cycle]))([]),
}


@pytest.mark.parametrize("holder", spread(HOLDERS, 4))
def test_memory_that_something_refers_to_is_not_used(holder: str):
    rows = memory.fresh(SHAPE, LIKE).fill_(3.0)
    gc.disable()  # or the cycle is gone at any time
    try:
        where, held = rows.data_ptr(), HOLDERS[holder](rows)
        del rows
        others = [memory.fresh(SHAPE, LIKE).fill_(torch.nan) for _ in range(2)]
        assert all(other.data_ptr() != where for other in others)
        if isinstance(held, Tensor) and held.dim():
            assert bool((held == 3).all())
        del held
    finally:
        gc.enable()
    gc.collect()
    assert memory.fresh(SHAPE, LIKE).data_ptr() == where  # and now it is


def test_a_result_that_is_given_back_too_early_is_seen(monkeypatch: pytest.MonkeyPatch):
    """Planted fault: a block is taken for free as soon as it was made; the check above does find that."""
    made = memory._made

    def early(size: int) -> Any:
        block = made(size)
        memory._returned(block)  # type: ignore[arg-type]
        return block

    monkeypatch.setattr(memory, "_made", early)
    with pytest.raises(AssertionError):
        test_memory_that_something_refers_to_is_not_used("one row")


@pytest.mark.parametrize("mode", MODES)
def test_outputs_and_gradients_of_earlier_calls_stay_what_they_were(small_too: None, mode: str):
    """Every result of a training loop is kept, and compared at its end with those of a run that kept nothing."""
    model = UnICORNN(3, 5, 2, dt=0.1, alpha=1.0, execution="cpu", backward=mode)  # type: ignore[arg-type]

    def step(seed: int) -> list[Tensor]:
        u = normal(40, 2, 3, seed=seed, dtype=torch.float32).requires_grad_()
        output, (y, z) = model(u)
        found = torch.autograd.grad((output.square() * (1 + y[0] * z[1])).sum(), [u, *model.parameters()])
        return [output, output[3], y, z, *found]

    kept = [step(seed) for seed in range(4)]
    for seed, results in enumerate(kept):
        for before, again in zip(results, step(seed), strict=True):
            assert torch.equal(before, again)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("is_ragged", [False, True])
def test_whatever_was_left_in_it_is_overwritten(small_too: None, mode: str, dtype: torch.dtype, is_ragged: bool):
    """NaN in all memory that is kept changes no bit, also not beyond the ends of samples."""
    lengths = ends_of(30, 6) if is_ragged else None
    p = problem(30, 6, 7, dtype)
    memory.forget()
    expected = run(cpu, p, lengths, backward=mode)
    size = memory._PAGE // dtype.itemsize
    poisoned = [memory.fresh((size,), p["x"]).fill_(torch.nan) for _ in range(8)]
    del poisoned
    assert memory.unused() == 8 * memory._PAGE
    found = run(cpu, p, lengths, backward=mode)
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_no_more_is_kept_than_said_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "KEPT_AT_MOST", 3 << 23)
    rows = [memory.fresh(SHAPE, LIKE) for _ in range(5)]
    where = [each.data_ptr() for each in rows]
    while rows:
        rows.pop(0)
        assert memory.unused() <= 3 << 23
    assert {block.start + memory._address(block.pages) for block in memory._kept} == set(where[2:])
    assert memory.fresh(SHAPE, LIKE).data_ptr() == where[4]  # what was used last is in caches
    monkeypatch.setattr(memory, "KEPT_AT_MOST", (1 << 23) - 1)
    memory.forget()
    memory.fresh(SHAPE, LIKE)
    assert memory.unused() == 0


def test_threads_never_share_it():
    """Each writes its own number, waits, and must find nothing else: 4 threads, 60 results each, two at a time."""
    wrong: list[int] = []
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait()
        for k in range(60):
            rows = memory.fresh((1 << 21,), LIKE)
            rows[:: 1 << 10] = number * 100 + k
            torch.zeros(1 << 12).sum()
            if not bool((rows[:: 1 << 10] == number * 100 + k).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and 1 << 23 <= memory.unused() <= 8 << 23


def test_a_forked_process_has_memory_of_its_own():
    """The mapping is private: "p" in the system's list of them, where "s" is one that children share."""
    rows = memory.fresh(SHAPE, LIKE)
    lines = Path("/proc/self/maps").read_text(encoding="ascii").splitlines()
    spans = [(*(int(end, 16) for end in line.split()[0].split("-")), line.split()[1]) for line in lines]
    found = [access for start, stop, access in spans if start <= rows.data_ptr() < stop]
    assert found == ["rw-p"]


def test_where_the_system_refuses_torch_is_asked(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert memory.fresh(SHAPE, LIKE).shape == SHAPE and memory.unused() == 0
    monkeypatch.setattr(memory, "_IS_OFFERED", False)
    assert memory.fresh(SHAPE, LIKE).shape == SHAPE


def test_such_a_tensor_is_copied_saved_and_shared_as_any_other(tmp_path: Path):
    rows = memory.fresh(SHAPE, LIKE).fill_(2.0)
    torch.save(rows, tmp_path / "rows.pt")
    for other in (copy.deepcopy(rows), torch.load(tmp_path / "rows.pt"), rows.clone()):
        assert torch.equal(other, rows) and other.data_ptr() != rows.data_ptr()
    where = rows.data_ptr()
    rows.share_memory_()
    assert bool((rows == 2).all()) and rows.data_ptr() != where and memory.unused() == 1 << 23


@pytest.mark.skipif(sys.platform != "linux", reason="the system's count of faults")
def test_a_training_step_asks_for_no_new_pages():
    """What it is for: 16 MiB of y, 16 of dE/du and four buffers of 4 a step: 12288 pages of 4 KiB, or 24 of 2 MiB."""
    import resource

    model = UnICORNN(64, 64, dt=0.1, alpha=1.0, execution="cpu")
    u, by = torch.zeros(1024, 64, 64, requires_grad=True), torch.ones(1024, 64, 64)
    faults = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.autograd.grad(model(u)[0], u, by)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    assert min(faults[1:]) <= 20, faults
