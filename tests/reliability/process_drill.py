"""Faults of processes and of the disk: what is lost by each, counted (docs/reliability.md).

    python tests/reliability/process_drill.py       # minutes; benchmarks/results/process_faults.json

writer killed   SIGKILL while a process puts jobs into a store; lost: a job that it had said was kept
run killed      SIGKILL while the small run is done, again and again; lost: the last run's judgements are others
worker killed   SIGKILL of a worker at work; lost: a job without its one outcome, or with another's
worker stopped  SIGSTOP of a worker at work, under a limit of time; likewise, and the run ends
disk full       a small file system that fills while jobs are put; lost: as of a writer, or the run does not go on
clock jumps, memory refused, memory over    surroundings_drill.py
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.reliability.drill import ROOT, SMALL_RUN, digest_of_code, written
from tests.reliability.surroundings_drill import clock_jumps, jumping_clock, memory_over
from tests.reliability.worker_drill import KEPT, LONGEST_S, LOST, NO_FAULT, repeated
from verification.run.mending import survey
from verification.run.store import Store, StoreError

RECORD = ROOT / "benchmarks" / "results" / "process_faults.json"
STOPPED_S = 6.0
"""The limit of a job where workers are stopped; the others, with the start of their worker, need a third of it."""


# --- stores -----------------------------------------------------------------------------------------------------


def put(store: Store, number: int) -> None:
    arrays = {"a": np.arange(300.0) + number}
    data = {"found": [number / 7] * (number % 50)}
    store.put(f"k{number}", kind="search", spec={"of": number}, data=data, arrays=arrays, wall_s=0.5)


def is_kept(store: Store, number: int) -> bool:
    is_there = f"k{number}" in store.has([f"k{number}"])
    return (
        is_there
        and store.data(f"k{number}") == {"found": [number / 7] * (number % 50)}
        and bool((store.arrays(f"k{number}")["a"] == np.arange(300.0) + number).all())
    )


def writer_killed(folder: Path, chance: random.Random) -> str:
    """It says which jobs are kept through a pipe, of which the parent reads after its death."""
    path = folder / "writer.sqlite"
    for each in folder.glob("writer.sqlite*"):
        each.unlink()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        with Store(path, writable=True) as store:
            for number in range(10**6):
                put(store, number)
                os.write(theirs, number.to_bytes(4, "big"))
    os.close(theirs)
    time.sleep(chance.uniform(0.0, 0.15))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(ours, "rb") as said:
        kept = len(said.read()) // 4
    with Store(path, writable=True) as store:
        is_whole = survey(store, thorough=True).is_sound and all(is_kept(store, number) for number in range(kept))
        put(store, kept)
        return KEPT if is_whole and is_kept(store, kept) else LOST


def disk_full(folder: Path, chance: random.Random) -> str:
    """``folder`` is a file system of its own, of 1 MiB."""
    path, ballast = folder / "full.sqlite", folder / "ballast"
    for each in folder.glob("*"):
        each.unlink()
    with Store(path, writable=True) as store:
        put(store, 0)
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_bsize
        ballast.write_bytes(bytes(chance.randrange(max(1, free))))
        kept, error = 1, ""
        try:
            while kept < 2000:
                put(store, kept)
                kept += 1
        except StoreError as full:
            error = str(full)
        if "free some space" not in error:
            return LOST if error else NO_FAULT
        is_whole = all(is_kept(store, number) for number in range(kept))
    ballast.unlink()
    with Store(path, writable=True) as store:
        is_whole = is_whole and survey(store, thorough=True).is_sound
        try:
            put(store, kept)
        except StoreError as error_:
            return NO_FAULT if "free some space" in str(error_) and is_whole else LOST  # full of jobs alone
        return KEPT if is_whole and all(is_kept(store, number) for number in range(kept + 1)) else LOST


# --- workers ----------------------------------------------------------------------------------------------------


def workers_hit(sign: int, chance: random.Random, limit_s: float, faults: int) -> Counter[str]:
    """In a program of its own, whose workers import little."""
    options = [str(int(sign)), str(limit_s), str(faults), str(chance.randrange(10**6))]
    command = [sys.executable, str(Path(__file__).with_name("worker_drill.py")), *options]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return Counter(json.loads(done.stdout))


# --- runs -------------------------------------------------------------------------------------------------------


def small_run(store: Path, *options: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, str(SMALL_RUN), str(store), *options], check=True, capture_output=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def runs_killed(folder: Path, chance: random.Random, reference: object, deaths: int) -> Counter[str]:
    """So many deaths of one run, and the one that then ends."""
    moments = ",".join(f"-{chance.uniform(0.005, 0.25):.3f}" for _ in range(deaths))
    store = folder / f"run-{chance.random()}.sqlite"
    found = small_run(store, f"--kill-at={moments}")
    died = sum(code == signal.SIGKILL for code in found["deaths"])  # type: ignore[attr-defined]
    with Store(store, writable=False) as opened:
        is_whole = survey(opened, thorough=True).is_sound and found["judgements"] == reference
    return Counter({KEPT if is_whole else LOST: died, NO_FAULT: deaths - died})


# --- the drill --------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=100, help="faults of each kind")
    parser.add_argument("--stops", type=int, default=40, help="workers stopped")
    parser.add_argument("--runs", type=int, default=100, help="deaths of the small run")
    parser.add_argument("--overs", type=int, default=40, help="jobs that the kernel ends for their memory")
    parser.add_argument("--jumps", type=int, default=20, help="small runs whose clock jumps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="one kind; what is recorded of the others stays")
    parser.add_argument("--into", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    record: dict[str, object] = {"seed": options.seed, "code": digest_of_code(), "kinds": {}, "seconds": {}}
    if options.only and options.into.exists():
        record |= json.loads(options.into.read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds: dict[str, Callable[[], Counter[str]]] = {
            "writer killed": lambda: repeated(lambda: writer_killed(folder, chance), options.each),
            "worker killed": lambda: workers_hit(signal.SIGKILL, chance, LONGEST_S, options.each),
            "worker stopped": lambda: workers_hit(signal.SIGSTOP, chance, STOPPED_S, options.stops),
            "disk full": lambda: on_small_disk(options.each, options.seed),
            "run killed": lambda: of_runs(folder, chance, options.runs),
            "memory refused": lambda: workers_starved(options.each, options.seed),
            "memory over": lambda: memory_over(options.overs, options.seed),
            "clock jumps": lambda: runs_with_jumps(folder, chance, options.jumps),
        }
        for kind, drilled in kinds.items():
            if options.only not in ("", kind):
                continue
            begun = time.monotonic()
            counts = drilled()
            record["kinds"][kind] = dict(counts)  # type: ignore[index]
            record["seconds"][kind] = round(time.monotonic() - begun, 1)  # type: ignore[index]
            written(record, options.into)
            print(kind, dict(counts), flush=True)
    return 1 if any(LOST in counts for counts in record["kinds"].values()) else 0  # type: ignore[attr-defined]


def on_small_disk(faults: int, seed: int) -> Counter[str]:
    """In a process with a file system of its own, which goes with it; {} where the system does not let it be made."""
    with tempfile.TemporaryDirectory() as name:
        program = (
            "import json, random, sys; from pathlib import Path; from tests.reliability import process_drill as drill\n"
            f"chance = random.Random({seed})\n"
            f"counts = drill.repeated(lambda: drill.disk_full(Path({name!r}), chance), {faults})\n"
            "print(json.dumps(counts))"
        )
        mounted = f"mount -t tmpfs -o size=1m tmpfs '{name}' && exec '{sys.executable}' -c \"$0\""
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, program]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
        if "unshare failed" in done.stderr or "mount:" in done.stderr:
            return Counter()
        assert done.returncode == 0, done.stderr
        return Counter(json.loads(done.stdout))


def workers_starved(faults: int, seed: int) -> Counter[str]:
    """In a program of its own, as workers are hit."""
    command = [
        sys.executable,
        str(Path(__file__).with_name("surroundings_drill.py")),
        "refused",
        str(faults),
        str(seed),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return Counter(json.loads(done.stdout))


def runs_with_jumps(folder: Path, chance: random.Random, runs: int) -> Counter[str]:
    """Half of them are killed once and gone on with, half have two workers; {} where there is no such clock."""
    environment = jumping_clock(folder)
    reference = small_run(folder / "clock reference.sqlite")["judgements"] if environment else None
    counts: Counter[str] = Counter()
    for _ in range(runs if environment else 0):
        options = chance.choice([["--workers=2"], [f"--kill-at=-{chance.uniform(0.05, 1.0):.3f}"]])
        counts[clock_jumps(folder, environment, reference, *options)] += 1
    return counts


def of_runs(folder: Path, chance: random.Random, deaths: int, at_once: int = 20) -> Counter[str]:
    reference = small_run(folder / "reference.sqlite")["judgements"]
    counts: Counter[str] = Counter()
    while counts[KEPT] + counts[LOST] < deaths and counts.total() < 3 * deaths:
        counts += runs_killed(folder, chance, reference, at_once)
    return counts


if __name__ == "__main__":
    sys.exit(main())
