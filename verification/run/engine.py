"""The local engine: spawned processes (``worker``). One that dies, or is stopped at a limit, costs its own job only.

(The standard library's pool breaks as a whole when a process dies, and one with a shared channel can wait for ever on
the dead process's lock.)
"""

from __future__ import annotations

import pickle
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from verification.run.limits import Limits, TimeUp, held, time_up
from verification.run.printed import apart, descriptor_apart
from verification.run.worker import GRACE_S, Worker, called, sentence

PULSE_S = 1.0
"""Between two looks at what runs."""


@dataclass(frozen=True)
class Finished:
    """A job's return value, or the sentence that says why there is none."""

    key: str
    value: Any
    error: str
    wall_s: float


Jobs: TypeAlias = Iterable[tuple[str, tuple[Any, ...]]]
"""(key, arguments) for an importable function."""

Watch: TypeAlias = Callable[[dict[str, float]], None]
"""Hears once a second which jobs run, and for how many seconds."""

Events: TypeAlias = "queue.SimpleQueue[tuple[Worker, bytes | None]]"


def nobody(_: dict[str, float]) -> None:
    """Watches nothing."""


class Engine(Protocol):
    """Yields the outcome of every job as it ends."""

    def __call__(self, function: Callable[..., Any], jobs: Jobs, /, *, watch: Watch = nobody) -> Iterator[Finished]: ...


def run(
    function: Callable[..., Any],
    jobs: Jobs,
    *,
    workers: int,
    limits: Limits | None = None,
    watch: Watch = nobody,
) -> Iterator[Finished]:
    """Yield every job's outcome as it ends; ``jobs`` are (key, arguments) for the importable ``function``.

    ``workers`` = 0 runs in this process: there the limit of time stops Python's code only, and memory has none. A job's
    time counts from the start of its worker. Closing the iterator (an interrupt) kills the workers.
    """
    limits = limits or Limits()
    if workers == 0:
        yield from (_run_here(function, key, arguments, limits, watch) for key, arguments in jobs)
        return
    crew = _Crew(function, deque(jobs), workers, limits, watch)
    try:
        outcomes = crew.hand_out()
        while outcomes or crew.busy:
            yield from outcomes
            outcomes = crew.ended()
            outcomes += crew.hand_out()  # before the caller is given time to store
    finally:
        for worker in (*crew.busy, *crew.idle):
            worker.kill()


class _Crew:
    """The workers of a run, and the jobs that none has yet."""

    def __init__(
        self,
        function: Callable[..., Any],
        jobs: deque[tuple[str, tuple[Any, ...]]],
        workers: int,
        limits: Limits,
        watch: Watch,
    ) -> None:
        self.idle: list[Worker] = []
        self.busy: list[Worker] = []
        self._function, self._jobs, self._workers = function, jobs, workers
        self._limits, self._watch = limits, watch
        self._events: Events = queue.SimpleQueue()

    def hand_out(self) -> list[Finished]:
        """Give jobs out until all workers are busy. Returns the outcomes of jobs that could not even be sent."""
        failed = []
        while self._jobs and len(self.busy) < self._workers:
            key, arguments = self._jobs.popleft()
            try:
                message = pickle.dumps((self._function, arguments))
            except Exception as error:
                failed.append(Finished(key, None, f"the job cannot be sent: {sentence(error)}", 0.0))
                continue
            worker = next_worker(self.idle, self._events)
            self.busy.append(worker)
            worker.give(key, message)
        return failed

    def ended(self) -> list[Finished]:
        """Wait a pulse, or until the first answer: the outcomes of jobs that were answered, or whose time was up."""
        outcomes = []
        for worker, reply, problem in happened(self.busy, self._events, self._limits):
            self.busy.remove(worker)
            if problem:
                outcomes.append(Finished(worker.key, None, problem, worker.ran()))
                continue
            outcomes.append(read(worker.key, reply))
            self.idle.append(worker)
        self._watch({worker.key: worker.ran() for worker in self.busy})
        return outcomes


def next_worker(idle: list[Worker], events: Events) -> Worker:
    """A living idle worker, or a new one; idle workers that were killed from outside are dropped."""
    while idle:
        worker = idle.pop()
        if worker.process.is_alive():
            return worker
        worker.kill()
    return Worker(events)


def happened(busy: list[Worker], events: Events, limits: Limits) -> list[tuple[Worker, bytes, str]]:
    """Wait for the next answer, a pulse at most: (worker, its answer, "") and, where there will be none, (worker, b"",
    why). Such a worker is dead then.
    """
    if not busy:
        return []
    left = PULSE_S
    if limits.seconds is not None:
        left = min(PULSE_S, max(GRACE_S / 5, limits.seconds - max(worker.ran() for worker in busy)))
    replies: dict[Worker, bytes | None] = {}
    with suppress(queue.Empty):
        worker, reply = events.get(timeout=left)
        replies[worker] = reply
        while True:
            worker, reply = events.get_nowait()
            replies.setdefault(worker, reply)  # an answer counts, though its worker died after it
    by_group = {}
    if limits.memory is not None and any(worker.since_look() >= PULSE_S for worker in busy):
        by_group = held()  # takes milliseconds, and answers may come by the thousand
        for worker in busy:
            worker.looked_at()
    found = []
    for worker in busy:
        if (reply := replies.get(worker)) is not None:
            found.append((worker, reply, ""))
        elif worker in replies or worker.is_dead():
            found.append((worker, b"", died(worker.end())))
        elif problem := limits.exceeded(worker.overran(limits.seconds), worker.held(by_group)):
            worker.kill()
            found.append((worker, b"", problem))
    return found


def died(code: int | None) -> str:
    """What is said of a worker that is gone. A kernel without memory sends SIGKILL to what holds the most."""
    of_memory = "; by SIGKILL, as where memory runs out: run fewer at once (--jobs)" if code == -9 else ""
    return f"the worker process died (exit code {code}){of_memory}"


def read(key: str, reply: bytes) -> Finished:
    """The outcome that a worker's answer says."""
    try:
        value, error, wall_s = pickle.loads(reply)
    except Exception as problem:
        return Finished(key, None, f"the result cannot be read: {sentence(problem)}", 0.0)
    return Finished(key, value, error, wall_s)


def _run_here(
    function: Callable[..., Any], key: str, arguments: tuple[Any, ...], limits: Limits, watch: Watch
) -> Finished:
    started = time.perf_counter()
    try:
        with _watched(key, watch), apart(), descriptor_apart(), time_up(limits.seconds):
            return Finished(key, called(function, arguments), "", time.perf_counter() - started)
    except TimeUp:
        ran = time.perf_counter() - started
        if said := limits.exceeded(ran, 0):
            return Finished(key, None, said, ran)
        raise  # the limit of somebody else, around this run
    except (Exception, SystemExit) as error:
        return Finished(key, None, sentence(error), time.perf_counter() - started)


@contextmanager
def _watched(key: str, watch: Watch) -> Iterator[None]:
    """Tell a watcher of the job that this thread is at."""
    if watch is nobody:
        yield
        return
    started, ended = time.monotonic(), threading.Event()

    def speak() -> None:
        while not ended.wait(PULSE_S):
            watch({key: time.monotonic() - started})

    thread = threading.Thread(target=speak, daemon=True, name="odernn-watch")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
