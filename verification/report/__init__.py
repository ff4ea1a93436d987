"""Reports: pure functions of judgements. A format is a file of this folder that defines ``render(table) -> str``."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import MappingProxyType

from verification.report.table import Table


class FormatError(ValueError):
    """A format that does not exist."""


@functools.cache
def formats() -> Mapping[str, Callable[[Table], str]]:
    """Every format by its name, which is the stem of its file."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        render = vars(importlib.import_module(f"{__name__}.{info.name}")).get("render")
        if render is not None:
            found[info.name] = render
    return MappingProxyType(found)


def renderer(name: str) -> Callable[[Table], str]:
    """The format's ``render``; FormatError with the nearest name if there is none."""
    if name in formats():
        return formats()[name]
    near = difflib.get_close_matches(name.lower(), formats(), n=1)
    hint = f'Did you mean "{near[0]}"?' if near else f"Choose from: {', '.join(formats())}."
    raise FormatError(f'No format is called "{name}". {hint}')
