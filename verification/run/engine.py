"""The local engine: spawned processes, one BLAS and torch thread each. A dying worker costs its own job only.

Every worker has a pipe of its own and shares no lock with the others, so it may be killed at any moment, even in the
middle of an answer. (The standard library's pool breaks as a whole then, and one with a shared channel can wait for
ever on the dead worker's lock.)
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias

from verification.run.printed import apart

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PATIENCE_S = 1.0


@dataclass(frozen=True)
class Finished:
    """A job's return value, or the sentence that says why there is none."""

    key: str
    value: Any
    error: str
    wall_s: float


Jobs: TypeAlias = Iterable[tuple[str, tuple[Any, ...]]]
Engine: TypeAlias = Callable[[Callable[..., Any], Jobs], Iterator[Finished]]
"""Yields the outcome of every job, (key, arguments) for an importable function, as it ends."""


def run(
    function: Callable[..., Any],
    jobs: Jobs,
    *,
    workers: int,
    timeout_s: float | None = None,
) -> Iterator[Finished]:
    """Yield every job's outcome as it ends; ``jobs`` are (key, arguments) for the importable ``function``.

    ``workers`` = 0 runs in this process. ``timeout_s`` is a job's wall time, the start of its worker included; it needs
    a worker. Closing the iterator (an interrupt) kills the workers.
    """
    if workers == 0:
        yield from (_run_here(function, key, arguments) for key, arguments in jobs)
        return
    queue = deque(jobs)
    idle: list[_Worker] = []
    busy: list[_Worker] = []
    try:
        outcomes = _hand_out(function, queue, workers, idle, busy)
        while outcomes or busy:
            yield from outcomes
            outcomes = []
            for worker in _answering(busy, timeout_s):
                busy.remove(worker)
                outcome, lives = worker.take(timeout_s)
                outcomes.append(outcome)
                if lives:
                    idle.append(worker)
            outcomes += _hand_out(function, queue, workers, idle, busy)  # before the caller is given time to store
    finally:
        for worker in (*busy, *idle):
            worker.kill()


def _hand_out(
    function: Callable[..., Any],
    queue: deque[tuple[str, tuple[Any, ...]]],
    workers: int,
    idle: list[_Worker],
    busy: list[_Worker],
) -> list[Finished]:
    """Give jobs out until ``workers`` are busy. Returns the outcomes of jobs that could not even be sent."""
    failed = []
    while queue and len(busy) < workers:
        key, arguments = queue.popleft()
        try:
            message = pickle.dumps((function, arguments))
        except Exception as error:
            failed.append(Finished(key, None, f"the job cannot be sent: {sentence(error)}", 0.0))
            continue
        worker = _next_worker(idle)
        busy.append(worker)
        worker.give(key, message)
    return failed


@dataclass(eq=False)
class _Worker:
    """One spawned process and the parent's end of its pipe; ``key`` is the job it has since ``started``."""

    process: Any
    pipe: Connection
    key: str = ""
    started: float = field(default=0.0)

    @staticmethod
    def start() -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), name="odernn-worker", daemon=True)
        with _one_thread_each():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def give(self, key: str, message: bytes) -> None:
        self.key, self.started = key, time.monotonic()
        with suppress(OSError):  # it died meanwhile: take() finds the end of the pipe and says so
            self.pipe.send_bytes(message)

    def take(self, timeout_s: float | None) -> tuple[Finished, bool]:
        """The outcome of its job, and whether the worker lives on."""
        if not self.pipe.poll():
            self.kill()
            return Finished(self.key, None, f"the job exceeded its {timeout_s:g} s and was stopped", 0.0), False
        try:
            value, error, wall_s = pickle.loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            self.process.join(PATIENCE_S)  # its pipe has ended; let it end by itself, for its own exit code
            code = self.kill()
            return Finished(self.key, None, f"the worker process died (exit code {code})", 0.0), False
        except Exception as problem:
            return Finished(self.key, None, f"the result cannot be read: {sentence(problem)}", 0.0), True
        return Finished(self.key, value, error, wall_s), True

    def kill(self) -> int | None:
        """End the process, if it has not ended by itself, and return its exit code."""
        self.pipe.close()
        self.process.kill()
        self.process.join()
        code: int | None = self.process.exitcode
        self.process.close()
        return code


def _next_worker(idle: list[_Worker]) -> _Worker:
    """A living idle worker, or a new one; idle workers that were killed from outside are dropped."""
    while idle:
        worker = idle.pop()
        if worker.process.is_alive():
            return worker
        worker.kill()
    return _Worker.start()


def _answering(busy: list[_Worker], timeout_s: float | None) -> list[_Worker]:
    """Wait for the workers that have answered or died, or whose time is up."""
    if not busy:
        return []
    left = None
    if timeout_s is not None:
        left = max(0.0, min(worker.started for worker in busy) + timeout_s - time.monotonic())
    ready = set(wait([worker.pipe for worker in busy], left))
    now = time.monotonic()
    late = [w for w in busy if timeout_s is not None and w.pipe not in ready and now - w.started >= timeout_s]
    return [worker for worker in busy if worker.pipe in ready] + late


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """The thread variables are 1 while a worker starts: it inherits them before it imports BLAS."""
    saved = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _serve(pipe: Connection) -> None:
    """In the worker: answer jobs until the pipe ends. An interrupt is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # what is printed past Python, too
        os.dup2(2, 1)
    _follow_parent()
    while True:
        try:
            message = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        pipe.send_bytes(answer(message))


def _follow_parent() -> None:
    """Die with the parent, even if it was killed and could not say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            wait([parent.sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True, name="follow-parent").start()


def answer(message: bytes) -> bytes:
    """In a worker: do the pickled (function, arguments); returns the pickled (value, error, wall_s)."""
    value, error, wall_s = _attempt(message)
    try:
        return pickle.dumps((value, error, wall_s))
    except Exception as problem:
        return pickle.dumps((None, f"the result cannot be sent: {sentence(problem)}", wall_s))


def _attempt(message: bytes) -> tuple[Any, str, float]:
    started = time.perf_counter()
    try:
        function, arguments = pickle.loads(message)
        started = time.perf_counter()  # the first job's imports are not its own time
        with apart():
            return function(*arguments), "", time.perf_counter() - started
    except BaseException as error:  # SystemExit from a job is the job's failure, not the worker's end
        return None, sentence(error), time.perf_counter() - started


def _run_here(function: Callable[..., Any], key: str, arguments: tuple[Any, ...]) -> Finished:
    started = time.perf_counter()
    try:
        with apart():
            return Finished(key, function(*arguments), "", time.perf_counter() - started)
    except (Exception, SystemExit) as error:
        return Finished(key, None, sentence(error), time.perf_counter() - started)


def sentence(error: BaseException) -> str:
    """The error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
