"""The published cells: one file a cell (a large one a folder); its stem is the name, the class is its ``CELL``.

    >>> from odernn import cells
    >>> cells.get("unicornn").__name__
    'UnICORNN'
    >>> cells.name_of("AntisymmetricRNN")
    'antisymmetric'

The name of the class is another spelling of that of the cell, and case does not matter: ``name_of`` has the one that
files and digests hold. A cell of one's own is such a file in any folder: ``cells.get("mine", extra=["my_cells"])``.

``recurrent`` and ``clocked`` hold the base classes to write a cell with, ``common`` what all cells share. Names come
from the texts of the folder, so listing them imports no cell.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

    from odernn.folders import Folders

_EXPORTS_CELL = re.compile(r"^(CELL\b|from .* import .*\bCELL\b)", re.MULTILINE)
_CLASS = re.compile(r"^CELL *= *(\w+)", re.MULTILINE)


def names(extra: Folders = ()) -> tuple[str, ...]:
    """The names of all cells of the package, and of the extra folders' files; sorted."""
    return tuple(sorted((*_of_the_package(), *_own(extra))))


@functools.cache
def _of_the_package() -> tuple[str, ...]:
    folder = Path(__file__).parent
    faces = {
        module.name: folder / module.name / "__init__.py" if module.ispkg else folder / f"{module.name}.py"
        for module in pkgutil.iter_modules(__path__)
    }
    return tuple(sorted(name for name, face in faces.items() if _EXPORTS_CELL.search(face.read_text("utf-8"))))


@functools.cache
def _by_any_spelling() -> Mapping[str, str]:
    """The names of the cells of the package by every name that they go by, without capitals: their own, their class."""
    folder = Path(__file__).parent
    spellings = {name: name for name in _of_the_package()}
    for name in _of_the_package():
        paths = sorted((folder / name).glob("*.py")) or [folder / f"{name}.py"]
        for kind in (_class_in(path) for path in paths):
            if kind:
                spellings.setdefault(kind.casefold(), name)
    return spellings


def _class_in(path: Path) -> str:
    """What the file says that CELL is, read and not run; "" if it says nothing."""
    found = _CLASS.search(path.read_text("utf-8", errors="replace"))
    return found[1] if found else ""


def _own(extra: Folders) -> Mapping[str, Path]:
    """The cells of these folders by name, with their files. FolderError for a name that is taken, in any spelling."""
    folders = tuple(extra)
    if not folders:
        return {}
    from odernn.folders import by_stem, is_taken

    own = by_stem("cell", folders, Path(__file__).parent)
    for name, path in own.items():
        taken = _by_any_spelling().get(name.casefold())
        if taken is not None:
            raise is_taken("cell", name, path, f'the cell "{taken}", whatever its case')
    return own


def name_of(name: str, extra: Folders = ()) -> str:
    """The one name of the cell that is called so: "cornn" for "CoRNN", "lipschitz" for "LipschitzRNN", in any case.

    A file of the extra folders may be called by its stem or by the class that it exports, too, if no other one is
    called the same. What is the name of no cell is returned as it is. FolderError as ``get``.
    """
    mine = _own(extra)
    if name in mine:
        return name
    wanted = name.casefold()
    package = _by_any_spelling().get(wanted)
    if package is not None:
        return package
    found = [stem for stem, path in mine.items() if wanted in (stem.casefold(), _class_in(path).casefold())]
    return found[0] if len(found) == 1 else name


def file_of(name: str, extra: Folders) -> Path | None:
    """The file of that cell in the extra folders; None for a cell of the package."""
    folders = tuple(extra)
    return _own(folders).get(name_of(name, folders))


def get(name: str, extra: Folders = ()) -> type[nn.Module]:
    """The class of the cell of that name, or of that class, in the package or in a file of the extra folders.

    Raises KeyError with the nearest name; FolderError for a folder or a file that is not what it must be.
    """
    folders = tuple(extra)
    mine = _own(folders)
    known = name_of(name, folders)
    if known in mine:
        return _exported(mine[known])
    if known not in _of_the_package():
        near = difflib.get_close_matches(name.casefold(), names(folders), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names(folders))}."
        raise KeyError(f'No cell is called "{name}". {advice}')
    cell: type[nn.Module] = importlib.import_module(f"{__name__}.{known}").CELL
    return cell


def suggest(
    name: str, steps: int, *, memory: float | None = None, hidden_size: int | None = None, extra: Folders = ()
) -> dict[str, Any]:
    """Arguments to begin with for a cell on sequences of ``steps``, by the formulas of its ``suggest``, and why there.

        >>> cells.suggest("lem", 400)
        {'dt': 0.1}

    memory       over how many steps a unit is to remember, 1..steps; all of them if not given
    hidden_size  for the cells whose arguments depend on it

    ValueError for impossible numbers, KeyError as ``get``, NotImplementedError for a cell that has no suggestions.
    """
    own = getattr(get(name, extra), "suggest", None)
    if own is None:
        raise NotImplementedError(f'The cell "{name}" has no suggestions: its class has no method suggest.')
    suggested: dict[str, Any] = own(steps, memory=memory, hidden_size=hidden_size)
    return suggested


def _exported(path: Path) -> type[nn.Module]:
    """The CELL of somebody's file."""
    from torch import nn

    from odernn.folders import FolderError, load

    cell = vars(load("cell", path)).get("CELL")
    if not isinstance(cell, type) or not issubclass(cell, nn.Module):
        raise FolderError(
            f'Cell file "{path}" exports no CELL, or one that is no class of torch.nn.Module. Write CELL = and the '
            "class of the cell at its end; see docs/adding.md."
        )
    return cell
