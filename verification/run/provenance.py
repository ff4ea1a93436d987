"""What a verdict is cited by: the version, the commit if there is one, and the hash of the run.

The hash of a run is the name of its plan (``Plan.name``), the hash of its jobs' keys: of the sources of all its claims,
the packages, the budget and the seed. It names the question: searches in floats may end elsewhere on another processor.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import odernn

DIGITS_OF_RUN, DIGITS_OF_COMMIT = 16, 12
CHANGED = "+"
"""Behind a commit: sources differ from it."""

BESIDE = "RUNS.txt"
"""In a folder of witnesses: a line for each file, its name and, after a tab, the words of the run that wrote it."""
MOST_BYTES = 2**22

_WORDS = re.compile(r"odernn ([0-9A-Za-z.+]{1,32})(?:, commit ([0-9a-f]{7,40}\+?))?(?:, run ([0-9a-f]{16}))?")
ROOT = Path(odernn.__file__).resolve().parents[1]
SOURCES = ("odernn", "verification", "cuda")
SECONDS = 10


@dataclass(frozen=True)
class Provenance:
    """``commit``: twelve digits, with a + if sources were changed; ``run``: sixteen; "" where it is not known."""

    version: str = odernn.__version__
    commit: str = ""
    run: str = ""

    @property
    def words(self) -> str:
        """ "odernn 0.1.0, commit 0123456789ab, run 0123456789abcdef"; what is not known is left out."""
        parts = [f"odernn {self.version}"]
        parts += [f"commit {self.commit}"] if self.commit else []
        parts += [f"run {self.run}"] if self.run else []
        return ", ".join(parts)


def here() -> Provenance:
    """Of this program, and of no run."""
    return Provenance(odernn.__version__, commit())


def of_run(name: str, settings: Mapping[str, Any]) -> Provenance:
    """Of a run in a store, as its settings record it: ``commit`` is not in those of an older odernn."""
    digits = name.removeprefix("checkpoint ")[:DIGITS_OF_RUN]
    return Provenance(str(settings.get("version", odernn.__version__)), str(settings.get("commit", "")), digits)


def parsed(text: str) -> Provenance | None:
    """From the words; None for anything else: a file from anywhere is not to put text into a program."""
    found = _WORDS.fullmatch(text)
    return None if found is None else Provenance(found[1], found[2] or "", found[3] or "")


def beside(witness: Path) -> Provenance:
    """Of the run that wrote this witness, if the file beside it says so; else of this program."""
    return _recorded(witness.parent).get(witness.name) or here()


def record(source: Provenance, folder: Path, names: Iterable[str]) -> None:
    """Say beside the witnesses of these names that they are of the source; those of others stay while they are there.

    OSError if it cannot be written.
    """
    known = _recorded(folder) | dict.fromkeys(names, source)
    lines = [f"{name}\t{of.words}\n" for name, of in sorted(known.items()) if (folder / name).exists()]
    if lines or (folder / BESIDE).exists():
        (folder / BESIDE).write_text("".join(lines), "utf-8")


def _recorded(folder: Path) -> dict[str, Provenance]:
    """By name of the file; nothing of a line, or a file, that is not what ``record`` writes."""
    try:
        with (folder / BESIDE).open("rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.rpartition("\t") for line in text.split("\n"))
    return {name: of for name, _, words in pairs if (of := parsed(words)) is not None}


@functools.cache
def commit(root: Path = ROOT) -> str:
    """The commit that the library's folder is checked out at, a + behind it if its sources differ; "" if unknown.

    Unknown where the folder is no checkout, as after an installation, or where git does not answer.
    """
    if not (root / ".git").exists():
        return ""
    found = _git(root, "rev-parse", f"--short={DIGITS_OF_COMMIT}", "HEAD")
    if found is None or not re.fullmatch("[0-9a-f]{7,40}", found):
        return ""
    changes = _git(root, "status", "--porcelain", "--", *SOURCES)
    return found if changes == "" else found + CHANGED


def _git(root: Path, *arguments: str) -> str | None:
    """What git says, None if it cannot be asked."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=SECONDS, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
