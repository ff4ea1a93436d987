"""Runs the blocks of a page in order, as a reader would: files, Python, commands; and compares what they print.

```python blocks share their names; a ```text block beneath one is its output. A ```console block has commands after
"$ ", each with its output beneath. A comment `<!-- file NAME -->` above a block makes it a file. In an output "…" is
anything, on a line of its own any lines. Commands run in this process, in the current folder.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.cli import main

BLOCK = re.compile(r"(?:<!-- file (?P<file>\S+) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)```\n", re.DOTALL)
WORKER_FREE = {"verify": ["--jobs", "0"]}
"""Options that change where a command works and nothing that it prints."""


@dataclass(frozen=True)
class Difference:
    """What stands under a block or a command, and what it printed."""

    typed: str
    shown: str
    printed: str


def differences(page: str) -> Iterator[Difference]:
    """The places of a page whose outputs are not what is printed."""
    names: dict[str, Any] = {"__name__": "page"}
    code, printed = "", ""
    for block in BLOCK.finditer(page):
        kind, text = block["kind"], block["text"]
        if kind != "text" and printed:
            yield Difference(code, "", printed)
        if block["file"]:
            Path(block["file"]).write_text(text, encoding="utf-8")
        elif kind == "python":
            code, printed = text, printed_by(text, names)
            continue
        elif kind == "text":
            if not matches(text, printed):
                yield Difference(code, text, printed)
        elif kind == "console":
            yield from _of_console(text)
        else:
            raise ValueError(f"a block of kind {kind!r} is neither run nor written: {text[:80]!r}")
        code, printed = "", ""
    if printed:
        yield Difference(code, "", printed)


def _of_console(text: str) -> Iterator[Difference]:
    for typed, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        printed = command(typed)
        if not matches(shown, printed):
            yield Difference(typed, shown, printed)


def printed_by(code: str, names: dict[str, Any]) -> str:
    """What a block of Python prints; ``names`` are those of the blocks before it, and gain its own."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "page", "exec"), names)
    return out.getvalue()


def command(typed: str) -> str:
    """What ``odernn …``, ``odernn … > FILE`` or ``odernn … | python -`` prints. Any other command is an error."""
    line, _, file = typed.partition(" > ")
    line, _, reader = line.partition(" | ")
    program, *arguments = shlex.split(line)
    if program != "odernn" or reader not in ("", "python -"):
        raise ValueError(f"a page has the command {typed!r}, which this does not run")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([*arguments, *(WORKER_FREE.get(arguments[0], []) if "--checkpoint" not in arguments else [])])
    if code != 0:
        raise AssertionError(f"{typed}: exit code {code}\n{out.getvalue()}")
    if file:
        Path(file).write_text(out.getvalue(), encoding="utf-8")
        return ""
    if reader:
        with contextlib.suppress(SystemExit):
            return printed_by(out.getvalue().replace("raise SystemExit", "0 and print"), {"__name__": "__main__"})
    return out.getvalue()


def matches(shown: str, printed: str) -> bool:
    """Whether an output is the one that is shown; spaces at the ends of lines do not count."""
    lines = [line.rstrip() for line in shown.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())) is not None
