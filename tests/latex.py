"""LaTeX as people have it: pdflatex, if it is installed. Tests that use it are marked `latex`.

Without pdflatex they skip and say so, and with ODERNN_LATEX=required, as under `make latex-test`, they fail.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REQUIRED = "ODERNN_LATEX"
PROGRAM = "pdflatex"
OVERFULL = re.compile(r"^Overfull \\[hv]box \(([0-9.]+)pt", re.MULTILINE)
MISSING = re.compile(r"^Missing character: .*", re.MULTILINE)


def needed() -> None:
    """Skips the test where there is no pdflatex; fails it where there has to be."""
    if shutil.which(PROGRAM) is None:
        reason = "there is no pdflatex here: `make latex` installs it, `make latex-test` runs these tests"
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(reason)


def compiled(text: str, folder: Path, seconds: int = 300) -> str:
    """The log of a document that compiles; a test with another fails."""
    needed()
    (folder / "x.tex").write_text(text, encoding="utf-8")
    command = [PROGRAM, "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="latin-1", timeout=seconds)
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / "x.log").read_text("latin-1")


def flaws(log: str, points: float = 0.0) -> list[str]:
    """Lines that go further past the margin than so many points, and glyphs that a font lacks."""
    return [m[0] for m in OVERFULL.finditer(log) if float(m[1]) > points] + MISSING.findall(log)
