"""Formats of tables: a file of this folder that defines ``render(table) -> str``; its stem is the name."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from typing import cast

from verification.report.table import Table


class FormatError(ValueError):
    """A format that does not exist."""


def names() -> tuple[str, ...]:
    """The names of all formats, sorted; none is imported."""
    return tuple(sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_")))


def renderer(name: str) -> Callable[[Table], str]:
    """The format's ``render``; FormatError with the nearest name if there is none."""
    if name in names():
        return cast(Callable[[Table], str], importlib.import_module(f"{__name__}.{name}").render)
    near = difflib.get_close_matches(name.lower(), names(), n=1)
    hint = f'Did you mean "{near[0]}"?' if near else f"Choose from: {', '.join(names())}."
    raise FormatError(f'No format is called "{name}". {hint}')
