"""Long use holds no more memory than short use: calls of executions, jobs, monitors; and a leak is seen.

Counted after a warm-up, at two moments: pages of this process that are not shared, tensors that are alive, objects of
Python. Times are compressed: a day of a monitor that records every ten seconds is its 8,640 records, one after another.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from odernn import cells
from odernn.cells.unicornn import UnICORNN
from odernn.executions.recurrence import ExecutionUnavailable
from tests.tiers import only
from verification.monitors import BoundMonitor
from verification.run import arithmetic, engine
from verification.run.store import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are counted in /proc")

MIB = 2**20
SHORT, LONG = 50, 1000
A_DAY = 24 * 360
MOST_BYTES, MOST_OBJECTS = 12 * MIB, 200
"""Of all calls together: what allocators keep, and caches. One output of every fiftieth call would be more."""


@dataclass(frozen=True)
class Holding:
    """What this process holds."""

    bytes: int
    tensors: int
    objects: int

    @staticmethod
    def now() -> Holding:
        gc.collect()
        give_back_what_is_free()
        alive = gc.get_objects()
        tensors = sum(issubclass(type(each), torch.Tensor) for each in alive)
        return Holding(pages(), tensors, len(alive))

    def grown(self, since: Holding) -> list[str]:
        """What has, by more than calls without a leak leave."""
        more = {
            "bytes": (self.bytes - since.bytes, MOST_BYTES),
            "tensors": (self.tensors - since.tensors, 0),
            "objects": (self.objects - since.objects, MOST_OBJECTS),
        }
        return [f"{name}: {count:,} more" for name, (count, most) in more.items() if count > most]


def give_back_what_is_free() -> None:
    """glibc keeps pages that are free: what other tests left would hide a leak that fills them again."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # musl has none, and keeps little
        trim(0)


def pages() -> int:
    """Bytes that are resident and not shared."""
    _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def grown_over(call: Callable[[], Any], times: int, warm: int = 10) -> list[str]:
    for _ in range(warm):
        call()
    before = Holding.now()
    for _ in range(times):
        call()
    return Holding.now().grown(before)


# --- executions ---------------------------------------------------------------------------------------------------

STEPS, BATCH, SIZE = 64, 16, 64
"""An output has 256 KiB: fifty of them would be seen."""

NETWORKS = [("unicornn", name) for name in ("torch", "cpu", "parallel")]
NETWORKS += [(name, execution) for name in ("lem", "scornn", "cornn", "linoss") for execution in ("torch", "cpu")]
HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "unicornn": {"dt": 0.1, "alpha": 0.9},
    "cornn": {"dt": 0.3, "gamma": 1.3, "epsilon": 0.7},
    "lem": {"dt": 0.7},
    "scornn": {"rho": 2},
    "linoss": {"dt": 0.6},
}


def a_step(cell: str, execution: str) -> Callable[[], None]:
    """Of a training: forwards, backwards, the optimizer, and an inference."""
    try:
        network = cells.get(cell)(3, SIZE, execution=execution, **HYPERPARAMETERS[cell])
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
        u = torch.randn(STEPS, BATCH, 3)
        network(u)
    except ExecutionUnavailable as error:
        pytest.skip(str(error))

    def step() -> None:
        optimizer.zero_grad()
        output, _ = network(u)
        output.square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            network(u)

    return step


@pytest.mark.parametrize(("cell", "execution"), only(NETWORKS, ("unicornn", "cpu"), ("lem", "cpu")))
def test_fifty_calls_hold_no_more_than_ten(cell: str, execution: str) -> None:
    assert grown_over(a_step(cell, execution), SHORT) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("cell", "execution"), NETWORKS)
def test_a_thousand_calls_hold_no_more_than_ten(cell: str, execution: str) -> None:
    assert grown_over(a_step(cell, execution), LONG) == []


@pytest.mark.parametrize("what", ["bytes", "tensors", "objects"])
def test_a_leak_is_seen(what: str) -> None:
    """Of a tensor, of an object of Python, and of memory that neither counts."""
    kept: list[object] = []
    leaks: dict[str, Callable[[], object]] = {
        "bytes": lambda: kept.append(b"x" * (MIB // 2)),
        "tensors": lambda: kept.append(torch.zeros(1)),
        "objects": lambda: kept.append([[], [], [], [], []]),
    }

    found = grown_over(leaks[what], SHORT)
    assert [each.partition(":")[0] for each in found] == [what]


# --- jobs ---------------------------------------------------------------------------------------------------------


def job(number: int) -> tuple[int, int]:
    """Its worker's pages, as ``jobs.perform`` does it: arithmetic is looked at before and after."""
    with arithmetic.held():
        print(f"job {number} prints")
    return number, pages()


def leaking_job(number: int) -> tuple[int, int]:
    threading.__dict__.setdefault("_kept_by_a_test", []).append(bytes(MIB // 2))
    return job(number)


def jobs_done(path: Path, function: Callable[[int], tuple[int, int]], workers: int, count: int) -> list[str]:
    """Put into a store: what this process, and the worker, hold more at the end than after a tenth."""
    tenth, here, there = count // 10, [], []
    limits = engine.Limits(600.0, 2**40)
    with Store(path, writable=True) as store:
        numbers = ((str(number), (number,)) for number in range(count))
        for done, found in enumerate(engine.run(function, numbers, workers=workers, limits=limits), 1):
            assert not found.error
            store.put(found.key, kind="case", spec={}, data=[], arrays={}, wall_s=0.0)
            if done in (tenth, count):
                here.append(Holding.now())
                there.append(found.value[1])
    grown = here[1].grown(here[0])
    return [*grown, *(["its worker's bytes"] if there[1] - there[0] > MOST_BYTES else [])]


@pytest.mark.parametrize(
    ("workers", "count"),
    [
        (0, 200),
        *(pytest.param(workers, 10_000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]) for workers in (0, 1)),
    ],
)
def test_jobs_leave_nothing_behind(tmp_path: Path, capfd: pytest.CaptureFixture[str], workers: int, count: int) -> None:
    assert jobs_done(tmp_path / "odernn.sqlite", job, workers, count) == []


@pytest.mark.slow
def test_a_worker_s_leak_is_seen(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert jobs_done(tmp_path / "odernn.sqlite", leaking_job, 1, 100) == ["its worker's bytes"]


# --- monitors -----------------------------------------------------------------------------------------------------


def monitored(path: Path, cell: nn.Module, keep: int | None) -> tuple[BoundMonitor, Callable[[], None]]:
    monitor = BoundMonitor(cell, every=1, store=path, keep=keep)
    optimizer, u = torch.optim.SGD(cell.parameters(), lr=1e-6), torch.randn(6, 2, 3)

    def step() -> None:
        optimizer.zero_grad()
        cell(u)[0].square().mean().backward()
        optimizer.step()
        monitor.step()

    return monitor, step


@pytest.mark.parametrize("count", [SHORT, pytest.param(A_DAY, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_a_monitor_holds_no_more_at_the_end_of_a_day(tmp_path: Path, count: int) -> None:
    monitor, step = monitored(tmp_path / "monitor.sqlite", UnICORNN(3, 4, dt=0.1, alpha=0.9), keep=2)
    with monitor:
        assert grown_over(step, count) == []
    with Store(tmp_path / "monitor.sqlite", writable=False) as store:
        assert len({row[1] for row in store.measurements()}) == count + 10


def test_a_monitor_that_is_asked_to_keep_all_is_seen(tmp_path: Path) -> None:
    monitor, step = monitored(tmp_path / "monitor.sqlite", UnICORNN(3, 4, dt=0.1, alpha=0.9), keep=None)
    with monitor:
        assert [each.partition(":")[0] for each in grown_over(step, SHORT)] == ["objects"]
