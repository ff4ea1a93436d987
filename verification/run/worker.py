"""A worker: one spawned process, one BLAS and torch thread, one job at a time; it may be killed at any moment.

It shares no lock and no channel with another. A thread of the parent speaks with it, so that a worker that is stopped
in the middle of its answer keeps nobody else waiting. Each message has a number, and so has its answer: what a process
that a job forked says is the answer to nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from verification.run.printed import Relay, apart, descriptor_apart

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PATIENCE_S = 1.0
GRACE_S = 0.5
"""A job past its time is stopped so much later: this process may have been stopped itself while an answer came."""

NUMBER = 8
"""Bytes of the number of a message."""


class Worker:
    """The parent's side: ``key`` is the job that it has since ``started``. Its answers come into ``events`` as
    (worker, answer), and (worker, None) when its pipe has ended.
    """

    def __init__(self, events: queue.SimpleQueue[tuple[Worker, bytes | None]]) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        heard, words = context.Pipe(duplex=False)
        self.process = context.Process(target=_serve, args=(theirs, words), name="odernn-worker", daemon=True)
        with _one_thread_each():
            self.process.start()
        theirs.close()
        words.close()
        self._relay = Relay(heard)
        self.key, self.started, self.looked_dead = "", 0.0, False
        self._late, self._looked = 0.0, 0.0
        self._group = self.process.pid or 0
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        speak = (ours, self._messages, events)
        threading.Thread(target=self._speak, args=speak, daemon=True, name="odernn-worker-pipe").start()

    def _speak(
        self, pipe: Connection, messages: queue.SimpleQueue[bytes | None], events: queue.SimpleQueue[Any]
    ) -> None:
        number = 0
        try:
            while (message := self._messages.get()) is not None:
                number += 1
                of_message = number.to_bytes(NUMBER, "big")
                pipe.send_bytes(of_message + message)
                while not (answer := pipe.recv_bytes()).startswith(of_message):
                    pass
                events.put((self, answer[NUMBER:]))
        except (EOFError, OSError):
            events.put((self, None))
        finally:
            pipe.close()

    def give(self, key: str, message: bytes) -> None:
        self.key, self.started = key, time.monotonic()
        self._late, self._looked = 0.0, self.started
        self._relay.begin_job()
        self._messages.put(message)

    def ran(self) -> float:
        """Seconds since it was given its job."""
        return time.monotonic() - self.started

    def overran(self, seconds: float | None) -> float:
        """``ran``, once that has been seen to be past the limit for GRACE_S; 0 until then."""
        ran = self.ran()
        if seconds is None or ran < seconds:
            return 0.0
        self._late = self._late or time.monotonic()
        return ran if time.monotonic() - self._late >= GRACE_S else 0.0

    def since_look(self) -> float:
        """Seconds since its memory was looked at, or it was given its job."""
        return time.monotonic() - self._looked

    def looked_at(self) -> None:
        self._looked = time.monotonic()

    def held(self, by_group: dict[int, int]) -> int:
        """Bytes that it holds with all that it started, of what ``limits.held`` found."""
        return by_group.get(self._group, 0)

    def is_dead(self) -> bool:
        """Whether it has died and said nothing, though a process that it left may hold its pipe open."""
        looked_dead, self.looked_dead = self.looked_dead, not self.process.is_alive()
        return looked_dead and self.looked_dead  # at the first look its last words may be on their way

    def end(self) -> int | None:
        """Its exit code, after its pipe has ended: it is let end by itself first."""
        self.process.join(PATIENCE_S)
        return self.kill()

    def kill(self) -> int | None:
        """End it and what it started, if it has not ended by itself, and return its exit code."""
        self._messages.put(None)
        with suppress(AttributeError, OSError):  # no groups here; or none yet, so early in its life
            os.killpg(self._group, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self._relay.end(PATIENCE_S)
        code = self.process.exitcode
        self.process.close()
        return code


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


# --- in the worker ----------------------------------------------------------------------------------------------


def _serve(pipe: Connection, words: Connection) -> None:
    """Answer jobs until the pipe ends; what is written to stderr or stdout, past Python, too, are words.

    An interrupt is the parent's to handle.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(AttributeError, OSError):
        os.setpgid(0, 0)
    with suppress(OSError), words:
        os.dup2(words.fileno(), 2)
        os.dup2(2, 1)
    _follow_parent()
    while True:
        try:
            message = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        pipe.send_bytes(message[:NUMBER] + answer(message[NUMBER:]))


def _follow_parent() -> None:
    """Die with the parent, even if it was killed and could not say so; and what jobs have started with it."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            wait([parent.sentinel])
            with suppress(AttributeError, OSError):
                if os.getpgrp() == os.getpid():
                    os.killpg(0, signal.SIGKILL)
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
        with apart(), descriptor_apart():
            function, arguments = pickle.loads(message)
            started = time.perf_counter()  # the first job's imports are not its own time
            return called(function, arguments), "", time.perf_counter() - started
    except BaseException as error:  # SystemExit from a job is the job's failure, not the worker's end
        return None, sentence(error), time.perf_counter() - started


def called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The job's value. A process that it forked ends here, and answers nothing."""
    itself = os.getpid()
    try:
        return function(*arguments)
    finally:
        if os.getpid() != itself:
            os._exit(0)


def sentence(error: BaseException) -> str:
    """The error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
