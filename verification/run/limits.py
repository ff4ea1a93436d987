"""What a job may take: wall time, and memory with all that it started. No part of what a result is.

    seconds   from the moment that a process is given the job
    memory    the sum of (resident − shared) pages over the job's process group, looked at once a second

Measured, and not asked of the system: RLIMIT_AS counts what torch, numba and CUDA reserve and never touch, RLIMIT_DATA
is of one process alone, and where either is reached the process ends without a word of which (docs/reliability.md).
"""

from __future__ import annotations

import faulthandler
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

GIB = 2**30
LEAST_MEMORY = 4 * GIB
"""A job may hold its share of the machine's memory, and never less than this."""

SECONDS = {"smoke": 3600.0, "standard": 6 * 3600.0, "deep": 24 * 3600.0}
"""By budget; 24 h for one of another's making."""

ADVICE = "; allow more (--job-seconds, --job-memory) or leave its claim out: the next run tries it again"

MOST_SECONDS, MOST_MEMORY = 1e8, 2**63
"""A limit of time is counted up to this one, three years; one of memory beyond is none."""

IMPORT_S = 10.0
"""A limit that strikes in an import is put off so long at most: half-made modules of C code can end the process."""

BEYOND_S = 30.0
"""After the limit, code that answers no signal ends the program."""


class TimeUp(BaseException):
    """Raised in the code that has run for too long; no ``except Exception`` of its holds it up."""


@dataclass(frozen=True)
class Limits:
    """Of every job; None is none. ``advice`` ends the sentence that says which was passed."""

    seconds: float | None = None
    memory: int | None = None
    advice: str = ""

    @staticmethod
    def of(budget: str, workers: int) -> Limits:
        """Generous ones."""
        here = memory_here()
        memory = None if here is None else max(LEAST_MEMORY, here // max(1, workers))
        return Limits(SECONDS.get(budget, max(SECONDS.values())), memory, ADVICE)

    def exceeded(self, seconds: float, memory: int) -> str:
        """Which limit a job has passed, and how far it came; "" if none."""
        if self.seconds is not None and seconds >= self.seconds:
            return f"the job ran for {seconds:.3g} s, its limit is {self.seconds:g} s, and was stopped{self.advice}"
        if self.memory is not None and memory > self.memory:
            held, most = memory / GIB, self.memory / GIB
            return f"the job held {held:.3g} GiB, its limit is {most:.3g} GiB, and was stopped{self.advice}"
        return ""


def memory_here() -> int | None:
    """Bytes that this machine, or the control group of this process, has; None where neither can be asked."""
    found = []
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            found.append(int(Path(path).read_text()))
    return min(found, default=None)


def held() -> dict[int, int]:
    """Bytes by process group: resident and not shared with a file or another process; {} where there is no /proc.

    A page that a fork has left shared counts in both processes.
    """
    found: dict[int, int] = {}
    for entry in os.scandir("/proc") if sys.platform == "linux" else ():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                group = int(Path(entry.path, "stat").read_text().rpartition(")")[2].split()[2])
                _, resident, shared, *_ = map(int, Path(entry.path, "statm").read_text().split())
                found[group] = found.get(group, 0) + (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return found


@contextmanager
def time_up(seconds: float | None, *, ends_program: bool = False) -> Iterator[None]:
    """Raise TimeUp inside after so many seconds, and each second from then on, wherever Python's code is.

    C code that does not come back hears of no signal, and an import is let end for IMPORT_S. ``ends_program``: then the
    program ends, BEYOND_S later, with a traceback. A timer that runs already goes off when it was to. Nothing is done
    outside of the main thread, or where there is no SIGALRM.
    """
    if seconds is None or not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds = min(seconds, MOST_SECONDS)
    handler, outer = signal.getsignal(signal.SIGALRM), _imports(sys._getframe())
    begun = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0.0)
    ours, theirs = begun + seconds, begun + left if left else math.inf

    def arm() -> None:
        first = min(ours, theirs) if callable(handler) else ours
        signal.setitimer(signal.ITIMER_REAL, max(0.001, first - time.monotonic()))

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal ours, theirs
        now = time.monotonic()
        if theirs < ours and callable(handler):
            theirs = now + interval if interval else math.inf
            arm()
            handler(number, frame)
            return
        is_put_off = now < begun + seconds + IMPORT_S and _imports(frame) > outer
        ours = now + (0.05 if is_put_off else 1.0)
        arm()
        if not is_put_off:
            raise TimeUp(f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "")

    signal.signal(signal.SIGALRM, stop)
    arm()
    is_watched = ends_program and _watched(seconds + BEYOND_S)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        if is_watched:
            faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, handler)
        if theirs < math.inf:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, theirs - time.monotonic()), interval)


def _imports(frame: FrameType | None) -> int:
    """How many frames of the import system stand below this one."""
    number = 0
    while frame:
        number += frame.f_code.co_filename.startswith("<frozen importlib")
        frame = frame.f_back
    return number


def _watched(seconds: float) -> bool:
    with suppress(OSError, ValueError, RuntimeError):  # no stderr that C code could write to
        faulthandler.dump_traceback_later(seconds, exit=True, file=2)
        return True
    return False
