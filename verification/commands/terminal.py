"""Where text leaves the program: results to stdout, all else to stderr. Exit codes; untrusted text made harmless."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, TextIO

from odernn.written.lines import strung
from verification.report.numbers import clock
from verification.run.printed import MarkedStream

DONE = 0
DIFFERENCE = 1
USAGE = 2
NOT_CERTIFIED = 3
INTERNAL = 4
FAILED = 5
"""Done, but the code of a claim, or a job, has failed: cells with the verdict ``error``."""
INTERRUPTED = 130
TERMINATED = 143

SECONDS_TO_FIRST_LINE = 10.0
NARROWEST = 50
"""Characters of a line in a narrower terminal, which wraps its lines by itself."""

AUTO, ALWAYS, NEVER = "auto", "always", "never"
COLOURS = (AUTO, ALWAYS, NEVER)


class UsageError(Exception):
    """What the user asked for cannot be done: one line that says what, why and what to do."""


class NotCertifiedError(Exception):
    """A witness that is none: one line that says why."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: the same as an interrupt but for the exit code."""


def out(text: str) -> None:
    """Results. If nobody reads them (``odernn table >&-``) or any more (``odernn table | head``) the rest is dropped
    without a word.

    UsageError if they cannot be written, as to a file on a full disk.
    """
    stdout = results()
    if stdout is None:  # closed by whoever started this
        return
    try:
        stdout.write(text)
        stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())  # what is buffered is flushed at the end, too
        if not isinstance(error, BrokenPipeError):
            raise UsageError(
                f"The output cannot be written: {(error.strerror or str(error)).lower()}. Make room, or send it "
                "elsewhere, and run the same command again: what was finished is kept."
            ) from None


def results() -> TextIO | None:
    """Where results go: stdout, also where everybody else's prints are kept away from it."""
    return sys.stdout.results if isinstance(sys.stdout, MarkedStream) else sys.stdout


def width() -> int:
    """Of the terminal, in characters; 80 where stdout is none and COLUMNS does not say otherwise."""
    return shutil.get_terminal_size((80, 24)).columns


def is_coloured(choice: str) -> bool:
    """Whether to colour; "auto": if stdout is a terminal that shows it, and NO_COLOR is not set (no-color.org)."""
    if choice != AUTO:
        return choice == ALWAYS
    stdout = results()
    is_terminal = stdout is not None and stdout.isatty()
    return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def fitting() -> int:
    """The width that lines are made for: that of the terminal, if it is no narrower than anything can be."""
    return max(width(), NARROWEST)


def header(*parts: str) -> str:
    """What a run is, in lines that fit a terminal; each of its parts is whole where a line has room for it."""
    return "\n".join(strung(map(harmless, parts), fitting()))


def note(text: str) -> None:
    """Progress, remarks and errors."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def harmless(text: str) -> str:
    """One line without control characters: a file from elsewhere must not steer the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(text.splitlines()))


def harmless_lines(text: str) -> str:
    """The same line by line, for a table with names from a file."""
    return "\n".join(map(harmless, text.split("\n")))


def cores() -> int:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Progress(Protocol):
    """Called after every job: what kind of job, how many are done, how many there are."""

    def __call__(self, kind: str, done: int, total: int) -> None: ...


@contextmanager
def progress() -> Iterator[Progress]:
    """A bar with the time left if stderr is a terminal, otherwise a line now and then."""
    with _bar() if sys.stderr is not None and sys.stderr.isatty() else lines() as report:
        yield report


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with Bars(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        *times,
        console=Console(stderr=True),
        transient=True,
    ) as bars:
        task = bars.add_task("planning", total=None)

        def report(kind: str, done: int, total: int) -> None:
            bars.update(task, description=kind, completed=done, total=total)

        yield report


@dataclass(frozen=True)
class ProgressStage:
    """Jobs of one kind, the first of which was begun when ``before`` of them were done already."""

    kind: str
    before: int
    done: int
    total: int
    begun: float

    def __str__(self) -> str:
        return f"{self.kind} {self.done}/{self.total}" if self.total else self.kind

    def left(self, now: float) -> str:
        """How long the others take, if they take as long as these; "" where none is done yet."""
        here = self.done - self.before
        return f", {clock((self.total - self.done) * (now - self.begun) / here)} left" if here > 0 else ""


@contextmanager
def lines(seconds: float = SECONDS_TO_FIRST_LINE) -> Iterator[Progress]:
    """The latest state on stderr after ``seconds``, and after twice the time each: a day is a dozen lines of a log."""
    started = time.monotonic()
    state = [ProgressStage("planning", 0, 0, 0, started)]
    ended = threading.Event()

    def report(kind: str, done: int, total: int) -> None:
        of_kind = state[0] if state[0].kind == kind else ProgressStage(kind, done, done, total, time.monotonic())
        state[0] = replace(of_kind, done=done, total=total)

    def speak() -> None:
        wait = seconds
        while not ended.wait(wait):
            now, stage = time.monotonic(), state[0]
            note(f"{stage} after {now - started:.0f} s{stage.left(now)}")
            wait *= 2

    thread = threading.Thread(target=speak, daemon=True, name="progress")
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        thread.join()
