"""A few of the faults of the drill of processes, and that it sees what is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.reliability import process_drill as drill
from tests.reliability import surroundings_drill, worker_drill
from verification.run import engine
from verification.run.limits import Limits
from verification.run.store import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, /proc and file systems in a namespace")


def test_a_writer_that_is_killed_loses_nothing_that_it_had_kept(tmp_path: Path) -> None:
    chance = random.Random(1)
    assert [drill.writer_killed(tmp_path, chance) for _ in range(5)] == [drill.KEPT] * 5


def test_a_writer_that_says_what_is_not_so_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put, parent = drill.put, os.getpid()

    def forgets(store: Store, number: int) -> None:
        if number != 1 or os.getpid() == parent:
            put(store, number)

    monkeypatch.setattr(drill, "put", forgets)
    monkeypatch.setattr(random.Random, "uniform", lambda *_: 0.3)
    assert drill.writer_killed(tmp_path, random.Random(1)) == drill.LOST


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_one_job_and_an_answer_of_another_s_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(1)
    assert (
        worker_drill.repeated(lambda: worker_drill.worker_hit(signal.SIGKILL, chance, Limits(60.0)), 2)[drill.LOST] == 0
    )
    read = engine.read

    def mixed_up(key: str, reply: bytes) -> Any:
        return read("7" if key == "8" else key, reply)

    monkeypatch.setattr(engine, "read", mixed_up)
    assert worker_drill.worker_hit(signal.SIGKILL, chance, Limits(60.0)) == drill.LOST


def test_a_disk_that_is_full_loses_nothing() -> None:
    counts = drill.on_small_disk(5, 1)
    if not counts:
        pytest.skip("no file system can be mounted here")
    assert counts[drill.LOST] == 0 and counts[drill.KEPT] >= 5


LOOKS = "import time; a = [time.time() for _ in range(9)]; b = time.monotonic(); print(max(a) - min(a), b)"


@pytest.mark.slow
def test_a_clock_that_jumps_changes_no_judgement(tmp_path: Path) -> None:
    environment = surroundings_drill.jumping_clock(tmp_path)
    if not environment:
        pytest.skip("no gcc")
    said = subprocess.run([sys.executable, "-c", LOOKS], env=environment, capture_output=True, text=True, check=True)
    spread, monotonic = map(float, said.stdout.split())
    assert spread > 1e6 and 0 < monotonic < 1e9  # days between two looks; that clock alone
    assert drill.runs_with_jumps(tmp_path, random.Random(1), 2) == {drill.KEPT: 2}


@pytest.mark.slow
def test_memory_that_is_refused_costs_the_job_that_asked() -> None:
    counts = drill.workers_starved(4, 1)
    assert counts[drill.LOST] == 0 and counts[drill.KEPT] == 4


@pytest.mark.slow
def test_the_kernel_s_oom_killer_costs_the_job_that_took_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = surroundings_drill.memory_over(3, 1)
    if not counts:
        pytest.skip("no control group can be made here")
    assert counts == {drill.KEPT: 3}
    monkeypatch.setattr(surroundings_drill, "kills", lambda _: 2)  # as if another had ended one of them
    assert surroundings_drill.memory_over(3, 1)[drill.LOST] == 1
