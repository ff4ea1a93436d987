"""The published cells: one file a cell (a large one a folder); its stem is the name, the class is its ``CELL``.

    >>> from odernn import cells
    >>> cells.get("unicornn").__name__
    'UnICORNN'

A cell of one's own is such a file in any folder: ``cells.get("mine", extra=["my_cells"])``.

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


def _own(extra: Folders) -> Mapping[str, Path]:
    """The cells of these folders by name, with their files. FolderError for a name that is taken."""
    folders = tuple(extra)
    if not folders:
        return {}
    from odernn.folders import by_stem

    return by_stem("cell", folders, Path(__file__).parent)


def file_of(name: str, extra: Folders) -> Path | None:
    """The file of that cell in the extra folders; None for a cell of the package."""
    return _own(extra).get(name)


def get(name: str, extra: Folders = ()) -> type[nn.Module]:
    """The class of the cell of that name, in the package or in a file of the extra folders.

    Raises KeyError with the nearest name; FolderError for a folder or a file that is not what it must be.
    """
    folders = tuple(extra)
    mine = _own(folders)
    if name in mine:
        return _exported(mine[name])
    if name not in _of_the_package():
        near = difflib.get_close_matches(name.casefold(), names(folders), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names(folders))}."
        raise KeyError(f'No cell is called "{name}". {advice}')
    cell: type[nn.Module] = importlib.import_module(f"{__name__}.{name}").CELL
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
