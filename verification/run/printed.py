"""What jobs, and files of others, print: to stderr, a mark before each line, so that stdout has results alone."""

from __future__ import annotations

import codecs
import ctypes
import io
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, TextIO

if sys.platform == "linux":
    import fcntl

PULSE_S, LOOKS = 0.5, 10
"""Between two times that output past Python is said; its size is looked at so often meanwhile."""

MOST_SAID, MOST_KEPT = 2**20, 2**26
"""Bytes of output past Python that are said in a pulse, and those that may wait; how many are left out is said."""

MOST_OF_JOB = 2**24
"""Bytes of what a worker writes to stderr while it does a job; it is said that there was more."""

MARK = "printed by a job or a file that was loaded: "


class MarkedStream(io.TextIOBase):
    """Stands in the place of ``results``, where the program itself still writes; None where stdout is closed."""

    def __init__(self, results: TextIO | None) -> None:
        self.results = results
        self.inside = 0
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        if lines:
            self._say(*lines)
        return len(text)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(sys.stderr, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return getattr(sys.stderr, "errors", None)

    def fileno(self) -> int:
        return super().fileno() if sys.stderr is None else sys.stderr.fileno()

    def flush(self) -> None:
        if sys.stderr is not None:
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        """Its bytes and settings (``buffer``, ``reconfigure``) are those of stderr, where what is printed goes."""
        return getattr(sys.stderr, name)

    def end(self) -> None:
        """Say what has no end of its line yet."""
        if self._begun:
            self._say(self._begun)
            self._begun = ""

    def _say(self, *lines: str) -> None:
        if sys.stderr is not None:
            print("\n".join(MARK + line for line in lines), file=sys.stderr, flush=True)


class Relay:
    """What a worker writes to stderr, through a pipe that a thread here reads, MOST_OF_JOB bytes of each job.

    The pipe is read to its end, so that no worker waits, and the last words of one that dies are heard.
    """

    def __init__(self, pipe: Connection) -> None:
        self._room = MOST_OF_JOB
        self._thread = threading.Thread(target=self._listen, args=(pipe,), daemon=True, name="odernn-worker-stderr")
        self._thread.start()

    def begin_job(self) -> None:
        self._room = MOST_OF_JOB

    def end(self, seconds: float) -> None:
        """Wait for the last words; not for those of a process that a job left."""
        self._thread.join(seconds)

    def _listen(self, pipe: Connection) -> None:
        with pipe, suppress(OSError):
            while words := os.read(pipe.fileno(), 2**16):
                if self._room >= 0:  # at 0, too: it is to be said that there was more
                    kept = words[: self._room]
                    self._room -= len(words)
                    more = f"\n… and more than {MOST_OF_JOB:,} bytes, which are left out\n" if self._room < 0 else ""
                    _write(kept + more.encode())
                else:
                    time.sleep(0.001)  # who prints without end does not keep this process at work


def _write(words: bytes) -> None:
    """To stderr, past Python, as the worker would have; nowhere if it is closed."""
    with suppress(OSError):
        while words:
            words = words[os.write(2, words) :]


_lock = threading.RLock()
_of_descriptor, _inside = ExitStack(), 0
"""Of threads that overlap the first in redirects, and the last out restores."""


@contextmanager
def apart() -> Iterator[None]:
    """Inside, whoever prints to ``sys.stdout`` is heard on stderr."""
    with _lock:
        stream = sys.stdout if isinstance(sys.stdout, MarkedStream) else MarkedStream(sys.stdout)
        stream.inside += 1
        sys.stdout = stream
    try:
        yield
    finally:
        with _lock:
            stream.inside -= 1
            if not stream.inside:
                sys.stdout = stream.results
                stream.end()


@contextmanager
def descriptor_apart() -> Iterator[None]:
    """Inside, what C code and other processes write to stdout, past ``sys.stdout``, is heard on stderr.

    Into a file that a thread reads, not a pipe: C code that holds Python's lock could fill one, and wait for ever.
    """
    global _inside
    with _lock:
        if not _inside:
            _of_descriptor.enter_context(_redirected())
        _inside += 1
    begun = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == begun:  # and not in what was forked meanwhile
            with _lock:
                _inside -= 1
                if not _inside:
                    _of_descriptor.close()


@contextmanager
def _redirected() -> Iterator[None]:
    try:
        saved = os.dup(1)
    except OSError:  # closed by whoever started this
        yield
        return
    with _file() as file, _said(file):
        _flush()
        os.dup2(file, 1)
        try:
            yield
        finally:
            _flush()
            os.dup2(saved, 1)
            os.close(saved)


@contextmanager
def _file() -> Iterator[int]:
    """In memory where the system has such files; there a process that a job left can write no more at the end."""
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        file = os.memfd_create("odernn-printed", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)  # who writes while it is emptied, writes at its new end
            yield file
        finally:
            os.ftruncate(file, 0)
            with suppress(AttributeError, OSError):
                fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
            os.close(file)
        return
    with tempfile.TemporaryFile(buffering=0) as in_folder:
        yield in_folder.fileno()
        in_folder.truncate(0)


@contextmanager
def _said(file: int) -> Iterator[None]:
    """Now and then, and at the end, say what has been written since."""
    stream, ended = MarkedStream(None), threading.Event()
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    said, room = 0, MOST_SAID

    def look() -> None:
        nonlocal said, room
        size = os.fstat(file).st_size
        said = 0 if size < said else said  # another has emptied it
        content = os.pread(file, min(room, size - said), said)  # which leaves the place alone where the others write on
        stream.write(decoder.decode(content))
        if left_out := size - said - len(content):
            decoder.reset()
            stream.end()
            stream.write(f"… and {left_out:,} bytes more, which are left out\n")
        said, room = size, room - len(content)
        if size > MOST_KEPT:
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            said = 0

    def watch() -> None:
        nonlocal room
        for number in count(1):
            if ended.wait(PULSE_S / LOOKS):
                return
            if is_time := number % LOOKS == 0:
                room = MOST_SAID
            if is_time or os.fstat(file).st_size > MOST_KEPT:
                look()

    thread = threading.Thread(target=watch, daemon=True, name="odernn-printed")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        look()
        stream.end()


def _flush() -> None:
    """Have Python and C's library write what they still hold, before stdout becomes another file."""
    with suppress(AttributeError, OSError, ValueError):
        sys.__stdout__.flush()  # type: ignore[union-attr]
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).fflush(None)
