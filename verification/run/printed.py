"""What jobs, and files of others, print: to stderr, a mark before each line, so that stdout has results alone."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

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
