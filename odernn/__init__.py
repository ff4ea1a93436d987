"""odernn: ODE-derived recurrent networks as vector fields times numerical integrators.

Importing this package does no work: every public name is fetched from its module at first use, so exact
tableau algebra never pays for torch. No function has the name of a module of the package: importing
``odernn.x`` sets the attribute x, which would then be the module.

    >>> from odernn import algebraic_stability, order, tableaus
    >>> order(tableaus.GAUSS_2).value
    4
    >>> print(algebraic_stability(tableaus.GAUSS_2))
    Certificate(algebraically stable: yes, exact, M = 0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odernn import (
        architecture,
        cells,
        executions,
        families,
        fields,
        integrators,
        nystrom_catalogue,
        recurrence,
        tableau_files,
        tableaus,
    )
    from odernn.absolute_monotonicity import radius_of_absolute_monotonicity
    from odernn.adjoints import adjoint, composition, symmetry, symplectic_conjugate, transpose
    from odernn.cells.antisymmetric import AntisymmetricRNN
    from odernn.cells.arnn_1_2 import ARNN12
    from odernn.cells.arnn_2_2 import ARNN22
    from odernn.cells.clockwork import ClockworkRNN
    from odernn.cells.cornn import CoRNN
    from odernn.cells.exprnn import ExpRNN
    from odernn.cells.indrnn import IndRNN
    from odernn.cells.integrator import IntegratorRNN
    from odernn.cells.lem import LEM
    from odernn.cells.linoss import LinOSS
    from odernn.cells.lipschitz import LipschitzRNN
    from odernn.cells.odernn import ODERNN, MatrixTableau
    from odernn.cells.qunn import QUNN
    from odernn.cells.scornn import ScoRNN
    from odernn.cells.unicornn import UnICORNN
    from odernn.cells.urnn import URNN
    from odernn.certificate import Certificate
    from odernn.effective_order_conditions import effective_order
    from odernn.fact_sheet import facts
    from odernn.fields.oscillator import Oscillator
    from odernn.guarantees import Guarantees, guarantees_of
    from odernn.nonlinear_stability import algebraic_stability, an_stability, b_stability, bn_stability, burrage_butcher
    from odernn.nystrom import NystromTableau, nystrom_method
    from odernn.nystrom_conditions import nystrom_facts
    from odernn.order_conditions import embedded_order, first_same_as_last, order, principal_error, stiff_accuracy
    from odernn.orthogonal import ScaledCayley, scaled_cayley, scaled_cayley_inverse
    from odernn.realisations import as_odernn
    from odernn.reducibility import are_equivalent, dj_reduction, hs_reduction, reduction
    from odernn.simplifying_assumptions import quadrature_order, stage_order
    from odernn.stability import (
        a_stability,
        i_stability,
        imaginary_stability_interval,
        l_stability,
        limit_at_infinity,
        real_stability_interval,
        stability_function,
    )
    from odernn.symplectic_conditions import symplecticity
    from odernn.tableau import ButcherTableau, Composition, PartitionedTableau, Q, Source
    from odernn.unitary import MultiplicativeCayley, SkewExponential

__all__ = [
    "ARNN12",
    "ARNN22",
    "LEM",
    "ODERNN",
    "QUNN",
    "URNN",
    "AntisymmetricRNN",
    "ButcherTableau",
    "Certificate",
    "ClockworkRNN",
    "CoRNN",
    "Composition",
    "ExpRNN",
    "Guarantees",
    "IndRNN",
    "IntegratorRNN",
    "LinOSS",
    "LipschitzRNN",
    "MatrixTableau",
    "MultiplicativeCayley",
    "NystromTableau",
    "Oscillator",
    "PartitionedTableau",
    "Q",
    "ScaledCayley",
    "ScoRNN",
    "SkewExponential",
    "Source",
    "UnICORNN",
    "__version__",
    "a_stability",
    "adjoint",
    "algebraic_stability",
    "an_stability",
    "architecture",
    "are_equivalent",
    "as_odernn",
    "b_stability",
    "bn_stability",
    "burrage_butcher",
    "cells",
    "composition",
    "dj_reduction",
    "effective_order",
    "embedded_order",
    "executions",
    "facts",
    "families",
    "fields",
    "first_same_as_last",
    "guarantees_of",
    "hs_reduction",
    "i_stability",
    "imaginary_stability_interval",
    "integrators",
    "l_stability",
    "limit_at_infinity",
    "nystrom_catalogue",
    "nystrom_facts",
    "nystrom_method",
    "order",
    "principal_error",
    "quadrature_order",
    "radius_of_absolute_monotonicity",
    "real_stability_interval",
    "recurrence",
    "reduction",
    "scaled_cayley",
    "scaled_cayley_inverse",
    "stability_function",
    "stage_order",
    "stiff_accuracy",
    "symmetry",
    "symplectic_conjugate",
    "symplecticity",
    "tableau_files",
    "tableaus",
    "transpose",
]  # fmt: skip

_NAMES = {
    "odernn.tableau": ("ButcherTableau", "Composition", "PartitionedTableau", "Q", "Source"),
    "odernn.certificate": ("Certificate",),
    "odernn.fields.oscillator": ("Oscillator",),
    "odernn.guarantees": ("Guarantees", "guarantees_of"),
    "odernn.orthogonal": ("ScaledCayley", "scaled_cayley", "scaled_cayley_inverse"),
    "odernn.realisations": ("as_odernn",),
    "odernn.cells.antisymmetric": ("AntisymmetricRNN",),
    "odernn.cells.arnn_1_2": ("ARNN12",),
    "odernn.cells.arnn_2_2": ("ARNN22",),
    "odernn.cells.clockwork": ("ClockworkRNN",),
    "odernn.cells.cornn": ("CoRNN",),
    "odernn.cells.exprnn": ("ExpRNN",),
    "odernn.cells.indrnn": ("IndRNN",),
    "odernn.cells.integrator": ("IntegratorRNN",),
    "odernn.cells.lem": ("LEM",),
    "odernn.cells.linoss": ("LinOSS",),
    "odernn.cells.lipschitz": ("LipschitzRNN",),
    "odernn.cells.odernn": ("ODERNN", "MatrixTableau"),
    "odernn.cells.qunn": ("QUNN",),
    "odernn.cells.scornn": ("ScoRNN",),
    "odernn.cells.unicornn": ("UnICORNN",),
    "odernn.cells.urnn": ("URNN",),
    "odernn.unitary": ("MultiplicativeCayley", "SkewExponential"),
    "odernn.fact_sheet": ("facts",),
    "odernn.order_conditions": ("embedded_order", "first_same_as_last", "order", "principal_error", "stiff_accuracy"),
    "odernn.effective_order_conditions": ("effective_order",),
    "odernn.nystrom": ("NystromTableau", "nystrom_method"),
    "odernn.nystrom_conditions": ("nystrom_facts",),
    "odernn.simplifying_assumptions": ("quadrature_order", "stage_order"),
    "odernn.stability": (
        "a_stability", "i_stability", "imaginary_stability_interval", "l_stability", "limit_at_infinity",
        "real_stability_interval", "stability_function",
    ),
    "odernn.absolute_monotonicity": ("radius_of_absolute_monotonicity",),
    "odernn.nonlinear_stability": (
        "algebraic_stability", "an_stability", "b_stability", "bn_stability", "burrage_butcher",
    ),
    "odernn.reducibility": ("are_equivalent", "dj_reduction", "hs_reduction", "reduction"),
    "odernn.symplectic_conditions": ("symplecticity",),
    "odernn.adjoints": ("adjoint", "composition", "symmetry", "symplectic_conjugate", "transpose"),
}  # fmt: skip
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = (
    "architecture", "cells", "executions", "families", "fields", "integrators", "nystrom_catalogue", "recurrence",
    "tableau_files", "tableaus",
)  # fmt: skip


def _version() -> str:
    import importlib.metadata  # it takes longer than a verdict about a tableau

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
