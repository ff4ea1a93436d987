"""The published cells: one file a cell (a large one a folder); its stem is the name, the class is its ``CELL``.

    >>> from odernn import cells
    >>> cells.get("unicornn").__name__
    'UnICORNN'

``recurrent`` and ``clocked`` hold the base classes to write a cell with, ``common`` what all cells share. Names come
from the texts of the folder, so listing them imports no cell.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

_EXPORTS_CELL = re.compile(r"^(CELL\b|from .* import .*\bCELL\b)", re.MULTILINE)


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all cells, sorted."""
    folder = Path(__file__).parent
    faces = {
        found.name: folder / found.name / "__init__.py" if found.ispkg else folder / f"{found.name}.py"
        for found in pkgutil.iter_modules(__path__)
    }
    return tuple(sorted(name for name, face in faces.items() if _EXPORTS_CELL.search(face.read_text("utf-8"))))


def get(name: str) -> type[nn.Module]:
    """The class of the cell of that name. Raises KeyError with the nearest name."""
    if name not in names():
        near = difflib.get_close_matches(name.casefold(), names(), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names())}."
        raise KeyError(f'No cell is called "{name}". {advice}')
    cell: type[nn.Module] = importlib.import_module(f"{__name__}.{name}").CELL
    return cell
