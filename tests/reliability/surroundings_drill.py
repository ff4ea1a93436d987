"""Two faults of what a run stands in: a clock that jumps, and memory that is refused (docs/reliability.md).

clock jumps      CLOCK_REALTIME is another one at each look, up to ten years to and fro, for all processes of the small
                 run; lost: its judgements, or a part of its store, are not those of a run with a clock
memory refused   in a worker at work the address space ends 32 MiB on, and numpy, torch, GMP or Python asks for more;
                 lost: a job without its one outcome, or with another's
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.reliability.drill import ROOT, SMALL_RUN
from tests.reliability.worker_drill import KEPT, LOST, NO_FAULT
from verification.run import engine
from verification.run.limits import Limits
from verification.run.mending import survey
from verification.run.store import Store

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static unsigned state;
static time_t jump(void) { return rand_r(&state) % 631152000 - 315576000; }
int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*true_one)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = true_one(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += jump();
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec, now->tv_usec = found.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    return now ? *now = found.tv_sec : found.tv_sec;
}
"""


def jumping_clock(folder: Path) -> dict[str, str]:
    """The environment of a program that has such a clock; {} where there is no gcc or no Linux."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        return {}
    (folder / "clock.c").write_text(CLOCK)
    library = folder / "clock.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", str(folder / "clock.c"), "-o", str(library), "-ldl"], check=True)
    return os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)}


def clock_jumps(folder: Path, environment: dict[str, str], reference: object, *options: str) -> str:
    """One small run under it, which may be killed in between, and gone on with."""
    store = folder / f"clock-{random.random()}.sqlite"
    command = [sys.executable, str(SMALL_RUN), str(store), *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return LOST
    with Store(store, writable=False) as opened:
        is_whole = survey(opened, thorough=True).is_sound
    return KEPT if is_whole and json.loads(done.stdout)["judgements"] == reference else LOST


# --- memory -------------------------------------------------------------------------------------------------------

LEFT = 2**25
ASKED = 2**28
"""Bytes of address space that are left, and that are asked for at a time."""


def starve(number: int, library: str) -> int:
    import resource

    import flint
    import numpy as np
    import torch

    asks = {
        "numpy": lambda: np.ones(ASKED, np.uint8),
        "torch": lambda: torch.ones(ASKED, dtype=torch.uint8),
        "GMP": lambda: flint.fmpz(1) << (8 * ASKED),
        "Python": lambda: bytes(ASKED),
    }
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    try:
        if library:
            resource.setrlimit(resource.RLIMIT_AS, (used + LEFT, before[1]))
            asks[library]()
            return -1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    return number * number


def memory_refused(faults: int, seed: int) -> Counter[str]:
    """One job in four, by chance, on two workers; every other one has its own answer."""
    chance, counts = random.Random(seed), Counter[str]()
    libraries = ["numpy", "torch", "GMP", "Python"]
    hit = {number: chance.choice(libraries) for number in chance.sample(range(4 * faults), faults)}
    jobs = [(str(number), (number, hit.get(number, ""))) for number in range(4 * faults)]
    found: dict[str, engine.Finished] = {}
    for each in engine.run(starve, jobs, workers=2, limits=Limits(120.0)):
        counts[LOST] += each.key in found
        found[each.key] = each
    for number in range(4 * faults):
        outcome = found.get(str(number))
        if outcome is None or (number not in hit and outcome.value != number**2):
            print(f"lost: job {number}: {outcome}", file=sys.stderr)
            counts[LOST] += 1
        elif number in hit:
            counts[KEPT if outcome.error else NO_FAULT] += 1
    return +counts


if __name__ == "__main__":
    print(json.dumps(memory_refused(int(sys.argv[1]), int(sys.argv[2]))))
