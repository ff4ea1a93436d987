"""odernn: ODE-derived recurrent networks as vector fields times numerical integrators.

Importing this package does no work: every public name is fetched from its module at first use, so exact
tableau algebra never pays for torch.

    >>> from odernn import tableaus
    >>> from odernn.symplecticity import symplecticity
    >>> print(symplecticity(tableaus.STOERMER_VERLET))
    Certificate(symplectic: yes, exact, defect = 0)
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odernn import cells, executions, fields, integrators, recurrence, symplecticity, tableaus
    from odernn.cells.unicornn import UnICORNN
    from odernn.certificate import Certificate
    from odernn.fields.oscillator import Oscillator
    from odernn.tableau import ButcherTableau, PartitionedTableau, Q, Source

__all__ = [
    "ButcherTableau", "Certificate", "Oscillator", "PartitionedTableau", "Q", "Source", "UnICORNN",
    "__version__", "cells", "executions", "fields", "integrators", "recurrence", "symplecticity", "tableaus",
]  # fmt: skip

_HOME = {
    "ButcherTableau": "odernn.tableau",
    "PartitionedTableau": "odernn.tableau",
    "Q": "odernn.tableau",
    "Source": "odernn.tableau",
    "Certificate": "odernn.certificate",
    "Oscillator": "odernn.fields.oscillator",
    "UnICORNN": "odernn.cells.unicornn",
}
_MODULES = ("cells", "executions", "fields", "integrators", "recurrence", "symplecticity", "tableaus")


def _version() -> str:
    try:
        return importlib.metadata.version("odernn")
    except importlib.metadata.PackageNotFoundError:
        return "0.1.0+unknown"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"odernn.{name}")
    else:
        raise AttributeError(f"module 'odernn' has no attribute {name!r}. It offers: {', '.join(__all__)}.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
