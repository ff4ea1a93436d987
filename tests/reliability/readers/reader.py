"""The readers of files that somebody may give: of each a few true files, how it is asked, and the errors it documents.

What is read is used as a command uses it: a run's folder becomes a record, weights a network, numbers of a model
tensors of finite size. ``touched`` is called by the pickles among the seeds; nobody may ever run it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
WITNESSES = ROOT / "docs" / "witnesses"
CONFIGURATIONS = ROOT / "verification" / "training" / "configurations"
TOUCHED: list[str] = []


def touched(*arguments: Any) -> Any:
    """What a pickle would run."""
    TOUCHED.append(repr(arguments))
    return {}


class Bait:
    def __reduce__(self) -> Any:
        return touched, ("executed",)


@dataclass(frozen=True)
class Reader:
    """name; ``read`` puts the bytes where the reader finds them, in a folder of its own, and reads them; true files.

    kind        how inputs are changed: json, toml, text, bytes, pt
    errors      names of the classes that its documentation has, "module:Class", with blanks between them
    modules     whose text decides: if it changes, what was counted before counts no more
    names_file  whether an error says which file; otherwise who calls it does
    """

    name: str
    kind: str
    read: Callable[[Path, bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    errors: str
    modules: str
    names_file: bool = True

    def classes(self) -> tuple[type[Exception], ...]:
        names = [name.partition(":") for name in self.errors.split()]
        return tuple(getattr(importlib.import_module(module), kind) for module, _, kind in names)

    def digest(self) -> str:
        hasher = hashlib.sha256()
        for name in (*self.modules.split(), "odernn.foreign", "tests.reliability.mutants", *self._changes()):
            hasher.update(Path(inspect.getsourcefile(importlib.import_module(name)) or "").read_bytes())
        return hasher.hexdigest()[:16]

    def _changes(self) -> tuple[str, ...]:
        return ("tests.reliability.pickled",) if self.kind == "pt" else ()


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path
