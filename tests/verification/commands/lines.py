"""What a command says: all of it where it works, one line where it refuses."""

from __future__ import annotations

import re

import pytest

from verification.cli import main
from verification.commands.terminal import DONE, USAGE


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, remarks: str = "") -> str:
    """Stdout of a command that is done; ``remarks`` is all of stderr but for the lines that slow machines are told."""
    assert main(list(arguments)) == DONE
    captured = capsys.readouterr()
    assert re.sub(r"^\w+( \d+/\d+)? after \d+ s(, [\d:]+ left)?\n", "", captured.err, flags=re.MULTILINE) == remarks
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that says why; nothing on stdout, no traceback, exit code 2."""
    assert main(list(arguments)) == USAGE
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and captured.err.startswith("odernn: ")
    return captured.err
