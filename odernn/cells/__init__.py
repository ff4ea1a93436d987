"""The published cells: one file a cell, its stem is the name, and it exports the class as ``CELL``.

    >>> from odernn import cells
    >>> cells.get("unicornn").__name__
    'UnICORNN'

Names come from the folder, so listing them imports no cell; files whose name starts with an underscore are
helpers.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def names() -> tuple[str, ...]:
    """The names of all cells, sorted."""
    return tuple(
        sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))
    )


def get(name: str) -> type[nn.Module]:
    """The class of the cell of that name. Raises KeyError with the nearest name."""
    if name not in names():
        near = difflib.get_close_matches(name.casefold(), names(), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names())}."
        raise KeyError(f'No cell is called "{name}". {advice}')
    cell: type[nn.Module] = importlib.import_module(f"{__name__}.{name}").CELL
    return cell
