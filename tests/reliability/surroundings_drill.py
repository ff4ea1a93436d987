"""Faults of what a run stands in: a clock that jumps, memory that is refused or runs out (docs/reliability.md).

clock jumps      CLOCK_REALTIME is another one at each look, up to ten years to and fro, for all processes of the small
                 run; lost: its judgements, or a part of its store, are not those of a run with a clock
memory refused   in a worker at work the address space ends 32 MiB on, and numpy, torch, GMP or Python asks for more;
                 lost: a job without its one outcome, or with another's
memory over      the run, in a control group of 1.5 GiB, has a job that takes 4 GiB: the kernel's OOM killer ends one
                 of its processes; lost: likewise, or a job that was not ended, or an end that the kernel did not count
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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


def one_in_four(faults: int, seed: int, kinds: Sequence[str], work: Callable[[int, str], int]) -> Counter[str]:
    """Jobs with a kind, by chance, are to fail, on two workers; every other one has its own answer."""
    chance, counts = random.Random(seed), Counter[str]()
    hit = {number: chance.choice(kinds) for number in chance.sample(range(4 * faults), faults)}
    jobs = [(str(number), (number, hit.get(number, ""))) for number in range(4 * faults)]
    found: dict[str, engine.Finished] = {}
    for each in engine.run(work, jobs, workers=2, limits=Limits(120.0)):
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


# --- memory that runs out -----------------------------------------------------------------------------------------

GROUP_HOLDS, TAKEN, AT_A_TIME = 3 * 2**29, 2**32, 2**24
"""Bytes: of the control group, of a job that takes too much, and of what that asks for at a time."""
GROUPS = {
    "/sys/fs/cgroup/memory": ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control"),
    "/sys/fs/cgroup": ("memory.max", "memory.swap.max", "memory.events"),
}
"""Where groups are made, of version 1 and of 2: the files of the limit, of the limit with swap, and of the counts."""


@contextmanager
def control_group(size: int) -> Iterator[tuple[Path, Path] | None]:
    """A group of one's own and the file that counts its OOM kills; None where none can be made."""
    made = next((found for root in GROUPS if (found := _made(Path(root), size))), None)
    try:
        yield made
    finally:
        if made is not None:
            _removed(made[0])


def _made(root: Path, size: int) -> tuple[Path, Path] | None:
    limit, swap, counts = GROUPS[str(root)]
    group = root / f"odernn-drill-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(size))
        kills(group / counts)
    except (OSError, KeyError):
        _removed(group)
        return None
    with suppress(OSError):  # no swap here
        (group / swap).write_text(str(size if "memsw" in swap else 0))
    return group, group / counts


def _removed(group: Path) -> None:
    """As soon as the last of its processes has gone."""
    for _ in range(50 if group.is_dir() else 0):
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)


def kills(counts: Path) -> int:
    """By the kernel, in a group."""
    return int(dict(line.split() for line in counts.read_text().splitlines())["oom_kill"])


def take(number: int, kind: str) -> int:
    """Pages that are written to, a few at a time, until there are none."""
    import numpy as np
    import torch

    asks: Mapping[str, Callable[[], object]] = {
        "numpy": lambda: np.ones(AT_A_TIME, np.uint8),
        "torch": lambda: torch.ones(AT_A_TIME, dtype=torch.uint8),
        "Python": lambda: b"1" * AT_A_TIME,
    }
    held = [asks[kind]() for _ in range(TAKEN // AT_A_TIME if kind else 0)]
    return number * number + len(held)


def memory_over(faults: int, seed: int) -> Counter[str]:
    """As memory is refused, one job in four, in a program that the kernel may end as well."""
    with control_group(GROUP_HOLDS) as made:
        if made is None:
            return Counter()
        group, counts = made
        program = [sys.executable, __file__, "taken", str(faults), str(seed)]
        command = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group), *program]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            print(done.returncode, done.stderr, file=sys.stderr)
            return Counter({LOST: faults})
        found = Counter(json.loads(done.stdout))
        if (ended := kills(counts)) != found[KEPT]:
            print(f"lost: {ended} OOM kills, {dict(found)}", file=sys.stderr)
            found[LOST] += 1
        return found


KINDS = {"refused": (["numpy", "torch", "GMP", "Python"], starve), "taken": (["numpy", "torch", "Python"], take)}

if __name__ == "__main__":
    print(json.dumps(one_in_four(int(sys.argv[2]), int(sys.argv[3]), *KINDS[sys.argv[1]])))
