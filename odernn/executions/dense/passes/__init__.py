"""The elementwise arithmetic of the dense recurrences, one file each: the equation, the form, one pass a stage and way.

A file has ``FORM``, and ``forward`` and ``backward``, one function a stage, each ``(p, c, count)``: a table of planes,
numbers, and how many columns. c begins with 0, 1 and ½; what follows is the recurrence's own. The planes are, in order,

    forward    a of this stage; x; vectors; states of step n − 1; record of step n, which it writes
    backward   vectors; states of step n − 1; record of step n; and, which it writes, costates; gradients; sums

dE/da and dE/dx are written, costates and sums are changed: costates come in as derivatives by planes of step n and go
out as those by planes of step n − 1, but for what the matrix of the stage adds afterwards; sums gather dE by vectors.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def passes_of(name: str) -> ModuleType:
    """The file of that name."""
    return import_module(f"{__name__}.{name}")
