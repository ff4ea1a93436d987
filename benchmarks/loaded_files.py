"""Which files of the project a command loads, in one process, and which file asked for each first.

    python benchmarks/loaded_files.py verify icml-C.1 --budget smoke --store new.sqlite

The command runs with ``--jobs 0``, where it has such an option; its output goes to stderr, the list to stdout.
"""

from __future__ import annotations

import contextlib
import sys
from types import FrameType
from typing import Any

PROJECT = ("odernn", "verification", "cuda")


class Importers:
    """Asked by Python before it looks for a module: finds nothing, and remembers who asked for what."""

    def __init__(self) -> None:
        self.first: dict[str, str] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in PROJECT and name not in self.first:
            self.first[name] = _asking(sys._getframe(1))


def _asking(frame: FrameType | None) -> str:
    """The module and the line of the import, below Python's own machinery."""
    while frame is not None and "importlib" in frame.f_globals.get("__name__", ""):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_globals['__name__']}, line {frame.f_lineno}"


def main(arguments: list[str]) -> None:
    importers = Importers()
    sys.meta_path.insert(0, importers)
    from verification import cli

    with contextlib.redirect_stdout(sys.stderr):
        cli.main([*arguments, "--jobs", "0"] if arguments[:1] == ["verify"] else arguments)
    loaded = {name: by for name, by in importers.first.items() if getattr(sys.modules.get(name), "__file__", None)}
    for name, by in loaded.items():
        print(f"{name}  <- {by}")
    print(f"{len(loaded)} files of the project")


if __name__ == "__main__":
    main(sys.argv[1:])
