"""What jobs, and files of others, print: to stderr, a mark before each line, so that stdout has results alone."""

from __future__ import annotations

import codecs
import ctypes
import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO

PULSE_S = 0.5
MOST_KEPT = 2**26
"""Bytes of a job's output past Python that wait to be said; what comes while they are thrown away is lost."""

MARK = "printed by a job or a file that was loaded: "


class MarkedStream(io.TextIOBase):
    """Stands in the place of ``results``, where the program itself still writes; None where stdout is closed."""

    def __init__(self, results: TextIO | None) -> None:
        self.results = results
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._say(line)
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

    def _say(self, line: str) -> None:
        if sys.stderr is not None:
            print(MARK + line, file=sys.stderr, flush=True)


@contextmanager
def apart() -> Iterator[None]:
    """Inside, whoever prints to ``sys.stdout`` is heard on stderr."""
    if isinstance(sys.stdout, MarkedStream):
        yield
        return
    stream = MarkedStream(sys.stdout)
    with redirect_stdout(stream):
        try:
            yield
        finally:
            stream.end()


@contextmanager
def descriptor_apart() -> Iterator[None]:
    """Inside, what C code and other processes write to stdout, past ``sys.stdout``, is heard on stderr.

    Into a file that a thread reads, not a pipe: C code that holds Python's lock could fill one, and wait for ever.
    """
    try:
        saved = os.dup(1)
    except OSError:  # closed by whoever started this
        yield
        return
    with tempfile.TemporaryFile(buffering=0) as written:
        _flush()
        os.dup2(written.fileno(), 1)
        try:
            with _said(written.fileno()):
                yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)


@contextmanager
def _said(file: int) -> Iterator[None]:
    """Now and then, and at the end, say what has been written since."""
    stream, ended, begun = MarkedStream(None), threading.Event(), os.getpid()
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    said = 0

    def look() -> None:
        nonlocal said
        while content := os.pread(file, 2**16, said):  # which leaves the place alone where the others write on
            said += len(content)
            stream.write(decoder.decode(content))
        if said > MOST_KEPT:
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            said = 0

    def watch() -> None:
        while not ended.wait(PULSE_S):
            look()

    thread = threading.Thread(target=watch, daemon=True, name="odernn-printed")
    thread.start()
    try:
        yield
    finally:
        if os.getpid() == begun:  # and not in what a job forked
            _flush()
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
