"""Things of one's own: a cell, a task or a method in one file of a folder outside of the package.

A file is imported as ``odernn.folders.NAME``, where NAME spells its path: whoever imports that name, such as a child
process that unpickles an object of the file, finds the file again. A file that has changed is run anew.

    >>> from odernn import cells
    >>> cells.get("mine", extra=["my_cells"])  # doctest: +SKIP
    <class 'odernn.folders._2fhome_2fme_2fmy_5fcells_2fmine_2epy.Mine'>
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

__path__: list[str] = []
"""Makes submodules possible: ``_Finder`` finds them, wherever they lie."""

Folders: TypeAlias = Iterable[str | Path]
PYTHON = frozenset({".py"})


class FolderError(Exception):
    """A folder or a file of it is not what it must be: the thing, the reason and the next step in one line."""


def files(kind: str, folders: Folders, endings: Collection[str] = PYTHON) -> tuple[Path, ...]:
    """The files of the folders, each once, by folder and name; those that begin with "_" or "." belong to others."""
    if isinstance(folders, str | Path):
        raise FolderError(f'"{folders}" is one {kind}s folder where a list of them is asked for: give ["{folders}"].')
    paths: dict[Path, Path] = {}
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise FolderError(
                f'{kind.capitalize()}s folder "{folder}" does not exist. Give a folder of {kind} files to --{kind}s.'
            )
        try:
            listed = sorted(folder.iterdir())
        except OSError as error:
            raise _unreadable(folder, error) from None
        for path in listed:
            if path.suffix.casefold() in endings and path.name[0] not in "_." and path.is_file():
                paths.setdefault(path.resolve(), path)
    return tuple(paths.values())


def by_stem(
    kind: str, folders: Folders, package: Path, spelling: Callable[[str], str] = lambda stem: stem
) -> Mapping[str, Path]:
    """The files by the names of what they bring, their stems in that spelling.

    FolderError for a name that a file or a folder of the package, or another of these files, has.
    """
    named: dict[str, Path] = {}
    for path in files(kind, folders):
        name = spelling(path.stem)
        taken = next((own for own in (package / f"{name}.py", package / name) if own.exists()), named.get(name))
        if taken is not None:
            raise is_taken(kind, name, path, f'"{taken}"')
        named[name] = path
    return named


def is_taken(kind: str, name: str, path: Path, by: str) -> FolderError:
    """The error for a name that something else has: both are named."""
    return FolderError(f'{kind.capitalize()} "{name}" in "{path}": the name is taken by {by}. Choose another name.')


def digest(path: Path) -> str:
    """SHA-256 of the file."""
    return _sha256(_read(path))


def load(kind: str, path: Path) -> ModuleType:
    """The file as a module. It is run once, and once more when its text has changed; FolderError if it fails."""
    name = _spelt(path.resolve())
    known = sys.modules.get(name)
    try:
        if known is not None and known.__dict__[_DIGEST] != digest(path):
            del sys.modules[name]
        return importlib.import_module(name)
    except FolderError:
        raise
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split()) or "without a reason"
        raise FolderError(
            f'{kind.capitalize()} file "{path}" fails on import: {type(error).__name__}: {reason.rstrip(".")}. '
            "Correct the file, or take it out of the folder."
        ) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> FolderError:
    return FolderError(f'"{path}" cannot be read: {(error.strerror or str(error)).lower()}. Make it readable.')


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


# --- importing a path by its spelling -------------------------------------------------------------------------------

_DIGEST = "__sha256__"


def _spelt(path: Path) -> str:
    """The name of the module: letters and digits as they are, every other byte of the path as "_" and two digits."""
    spelling = re.sub(rb"[^0-9a-zA-Z]", lambda byte: b"_%02x" % byte[0][0], os.fsencode(path))
    return f"{__name__}.{spelling.decode()}"


def _path_of(name: str) -> Path:
    spelling = name.removeprefix(f"{__name__}.").encode()
    return Path(os.fsdecode(re.sub(rb"_([0-9a-f]{2})", lambda code: bytes([int(code[1], 16)]), spelling)))


class _FileLoader(SourceFileLoader):
    """Without bytecode beside the file: that would be stale where a file changes twice in a second."""

    def exec_module(self, module: ModuleType) -> None:
        text = _read(Path(self.path))
        module.__dict__[_DIGEST] = _sha256(text)
        exec(self.source_to_code(text, self.path), module.__dict__)


class _Finder:
    """Python asks it for ``odernn.folders.NAME`` in any process: unpickling knows nothing but the name."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{__name__}."):
            return None
        file = _path_of(name)
        if not (file.is_absolute() and file.is_file()):
            return None
        return spec_from_file_location(name, file, loader=_FileLoader(name, str(file)))


sys.meta_path.append(_Finder)  # at import, which unpickling does first
