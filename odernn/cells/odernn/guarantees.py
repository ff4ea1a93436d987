"""What is known about a step with matrix coefficients: the premises of its contraction theorem, with a weight G.

``properties.matrix_coefficients`` has the theorem, in ``contraction``, and the search for G, in ``contraction_weight``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from flint import fmpq
from torch import Tensor

from odernn.cells.odernn.coefficients import LayerCoefficients, ScalarCoefficients
from odernn.cells.odernn.parts import Stage, dense
from odernn.cells.odernn.tableau import MatrixTableau
from odernn.certificate import Certificate
from odernn.exact.algebraic import exact_rational, nearest_float
from odernn.exact.linear_algebra import Rows
from odernn.fields.spectra import spectral_norm
from odernn.integrators.guarantees import ROUNDING, SOLVABLE, Guarantees, order_on_inputs, stage_growth
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.contraction import contraction
from odernn.properties.matrix_coefficients.contraction_weight import NegativeCoupling, contraction_weight
from odernn.properties.matrix_coefficients.stage_monotonicity import SlopeRestricted
from odernn.tableaus.tableau import ButcherTableau

SLOPES: dict[str, fmpq | None] = {"tanh": fmpq(1), "sigmoid": fmpq(1, 4), "relu": fmpq(1), "identity": None}
"""Largest slopes of the monotone functions of stages; ``None``: always 1. "square" is not monotone."""
LARGEST = 1024
"""Rows of M up to which the coefficients are made exact, which takes a second for 10⁶ entries."""


class WeighedStages(Protocol):
    """What is asked of a layer: stages with their weights, coefficients, and the scalar method they were made from."""

    structure: MatrixTableau
    coefficients: LayerCoefficients
    method: ButcherTableau | None
    eta: Tensor

    def tableau(self) -> MatrixTableau:
        """The structure with the coefficients as they are now."""

    def weight(self, letter: str, i: int) -> Tensor:
        """K, U or b of stage i."""


@torch.no_grad()
def layer_guarantees(layer: WeighedStages) -> Guarantees:
    """What is known of the step of one layer with its weights and coefficients as they are now, in exact arithmetic."""
    tableau = layer.tableau()
    if tableau.is_gated:
        text = "a coefficient is gated: it depends on the state, and the theorems are about constant coefficients"
        gated = Certificate("contraction", None, False, None, text)
        return _guarantees(gated, _solvability(tableau, GrowthBounds(None, None)))
    growth = _growth(layer, tableau)
    solvable = _solvability(tableau, growth)
    guarantees = _guarantees(_contraction(layer, tableau, growth, solvable), solvable)
    return replace(guarantees, invertibility=_invertibility(growth, solvable), order=_order(layer, tableau))


def _contraction(
    layer: WeighedStages, tableau: MatrixTableau, growth: GrowthBounds, solvable: Certificate
) -> Certificate:
    """mc-4 of docs/derivations/matrix_coefficients.md: G > 0, stages G-monotone, M + 2Λ/(ηL) ≥ 0, for a G that is
    sought. The stages' drives may be anything; that there is no such G is shown for all of them."""
    name, size = "contraction", sum(stage.size for stage in tableau.stages.values())
    factor = growth.factor
    stages = [_stage_field(layer, i, stage) for i, stage in tableau.stages.items()]
    if any(stage is None for stage in stages):
        text = "a stage has the function square, which is not monotone"
        return Certificate(name, None, False, None, text, value=factor)
    if size > LARGEST:
        text = f"M has {size} > {LARGEST} rows: its theorem is not tried"
        return Certificate(name, None, False, None, text, value=factor)
    eta, note = exact_rational_of(layer.eta), ""
    fields = [stage for stage in stages if stage is not None]
    certificate = contraction_weight(BlockTableau.from_matrix_tableau(tableau, floats="exact"), fields, eta)
    # roundings of multiples of the identity do not change the signs that a NegativeCoupling is about
    weighted = isinstance(layer.coefficients, ScalarCoefficients) and layer.coefficients.is_weighted
    signs = isinstance(certificate.witness, NegativeCoupling) and not weighted
    meant = None if certificate or signs else _meant(layer, tableau)
    if meant is not None and layer.method is not None and (other := contraction_weight(meant, fields, eta)):
        certificate, note = (
            other,
            f', for the exact coefficients of "{layer.method.name}", which those of the layer round',
        )
    if certificate:
        condition = "" if solvable else f", {SOLVABLE}"
        stable = _bn_stable(layer, tableau, fields, certificate.witness)
        text = f"in ‖x‖² = xᵀGx: {certificate.because}{note}{stable}{condition}"
        return Certificate(name, True, certificate.exact, certificate.witness, text, margin=certificate.margin)
    words = "no weight G satisfies the premises: " if certificate.holds is False else ""
    text = f"{words}{certificate.because}"
    if factor is not None:
        text += f"; two states move apart by at most a factor {factor:.3g} a step"
    return Certificate(name, None, False, certificate.witness, text, margin=certificate.margin, value=factor)


def _bn_stable(layer: WeighedStages, tableau: MatrixTableau, fields: Sequence[SlopeRestricted], G: Rows) -> str:
    """Whether the same G does for every η > 0 (mc-2: M ≥ 0 itself), for the coefficients held or those they round."""
    if contraction(BlockTableau.from_matrix_tableau(tableau, floats="exact"), G, fields):
        return "; M itself is positive semi-definite: BN-stable, whatever η > 0 is"
    meant = _meant(layer, tableau)
    if meant is not None and layer.method is not None and contraction(meant, G, fields):
        return f'; BN-stable, whatever η > 0 is, with the exact coefficients of "{layer.method.name}"'
    return "; for this η and smaller ones, M itself is not known to be positive semi-definite"


def _meant(layer: WeighedStages, tableau: MatrixTableau) -> BlockTableau | None:
    """The exact coefficients of the scalar method whose correct rounding the layer has, if those are other numbers."""
    held, method = layer.coefficients, layer.method
    if method is None or not isinstance(held, ScalarCoefficients) or not _rounds(held, method):
        return None
    if all(x == exact_rational_of(nearest_float(x)) for x in method.entries):
        return None
    P = None
    if held.is_weighted:
        lower = [[exact_rational_of(x) for x in row] for row in held.held("L").tril().double()]
        P = [[sum((x * y for x, y in zip(p, q, strict=True)), fmpq(0)) for q in lower] for p in lower]
    return BlockTableau.from_scalar(method, P, size=tableau.size)


def _rounds(held: ScalarCoefficients, method: ButcherTableau) -> bool:
    if method.digits is not None or method.is_float or len(held.places) != method.stages:
        return False
    A = [[nearest_float(a) for a in row] for row in method.A]
    b = [nearest_float(weight) for weight in method.b]
    return held.held("A").double().tolist() == A and held.held("B").double().tolist() == b


def exact_rational_of(value: Any) -> fmpq:
    """A double, or a tensor with one number, as the rational number it is."""
    numerator, denominator = float(value).as_integer_ratio()
    return exact_rational(numerator) / denominator


def _stage_field(layer: WeighedStages, i: int, stage: Stage) -> SlopeRestricted | None:
    slopes = []
    for function, size in stage.segments:
        if function not in SLOPES:
            return None
        slopes += [SLOPES[function]] * size
    K: Rows = tuple(tuple(exact_rational_of(x) for x in row) for row in _full_K(layer, i, stage).tolist())
    return SlopeRestricted(K, tuple(slopes))


def _full_K(layer: WeighedStages, i: int, stage: Stage) -> Tensor:
    """K_i (p_i × D) in float64, zero on the blocks that the stage does not read."""
    K = dense(layer.weight("K", i).detach().double().cpu(), stage.size)
    d, D = layer.structure.hidden_size, layer.structure.size
    if stage.reads is None:
        return K
    full = K.new_zeros(stage.size, D)
    for place, block in enumerate(stage.reads):
        full[:, block * d : (block + 1) * d] = K[:, place * d : (place + 1) * d]
    return full


# --- solvability, invertibility and growth, from norms


class GrowthBounds:
    """Upper bounds, rounded to the safe side; ``None`` where there is none.

    coupling   (S, S): η ‖A_ij‖ L_j ‖K_j‖, by how much stage j moves Y_i if Y_j moves by 1
    increment  Lipschitz constant of y₊ − y in y;     factor  1 + increment
    """

    def __init__(self, coupling: Any, increment: float | None) -> None:
        self.coupling, self.increment = coupling, increment
        self.factor = None if increment is None else (1.0 + increment) * (1 + ROUNDING)


def _growth(layer: WeighedStages, tableau: MatrixTableau) -> GrowthBounds:
    labels, eta = list(tableau.stages), float(layer.eta)
    slopes = []
    for i, stage in tableau.stages.items():
        if any(function not in SLOPES for function, _ in stage.segments):
            return GrowthBounds(None, None)
        largest = max(nearest_float(SLOPES[function] or fmpq(1)) for function, _ in stage.segments)
        slopes.append(largest * spectral_norm(_full_K(layer, i, stage)))
    A = np.array([[spectral_norm(tableau.matrix(i, j)) for j in labels] for i in labels])
    coupling = eta * A * np.array(slopes) * (1 + ROUNDING)
    stages = stage_growth(coupling)
    if stages is None:
        return GrowthBounds(coupling, None)
    B = np.array([spectral_norm(tableau.matrix(i)) for i in labels])
    increment = float(eta * (B * np.array(slopes)) @ stages * (1 + ROUNDING))
    return GrowthBounds(coupling, increment if np.isfinite(increment) else None)


def _solvability(tableau: MatrixTableau, growth: GrowthBounds) -> Certificate:
    name = "solvability"
    if tableau.is_explicit:
        return Certificate(name, True, True, None, "explicit: there is nothing to solve")
    if growth.coupling is None:
        return Certificate(name, None, False, None, "a coefficient is gated, or a function has no bounded slope")
    margin = 1.0 - float(growth.coupling.sum(axis=1).max()) * (1 + ROUNDING)
    if margin > 0.0:
        text = f"fixed-point iteration contracts: 1 − η max Σ ‖A_ij‖ L_j ‖K_j‖ = {margin:.3g}"
        return Certificate(name, True, True, None, text, margin)
    text = f"η max Σ ‖A_ij‖ L_j ‖K_j‖ = {1.0 - margin:.3g} ≥ 1; the solver reports its residual"
    return Certificate(name, None, False, None, text, margin)


def _invertibility(growth: GrowthBounds, solvable: Certificate) -> Certificate:
    """y ↦ y + φ(y) is a bijection where φ has a Lipschitz constant below 1."""
    name = "invertibility"
    if growth.increment is None or not solvable:
        return Certificate(
            name, None, False, None, "no bound of the increment is known, or the step is not known to be"
        )
    margin = 1.0 - growth.increment
    text = f"the increment has the Lipschitz constant {growth.increment:.3g} {'<' if margin > 0 else '≥'} 1"
    return Certificate(name, True if margin > 0 else None, margin > 0, None, text, margin)


def _order(layer: WeighedStages, tableau: MatrixTableau) -> Certificate:
    """Of a scalar method whose stages all have the weights of the first, which makes them stages of one field."""
    shared = all(stage.same_as is not None for i, stage in tableau.stages.items() if i != min(tableau.stages))
    held, method = layer.coefficients, layer.method
    if method is None or not shared or not isinstance(held, ScalarCoefficients) or not _rounds(held, method):
        text = "the stages are no Runge–Kutta stages of one field: there is no differential equation to compare with"
        return Certificate("order", None, False, None, text)
    text = "the method's, with inputs that are held: at most 1"
    return Certificate("order", True, True, None, text, value=order_on_inputs(method, "hold"))


def _guarantees(contraction: Certificate, solvability: Certificate) -> Guarantees:
    """With nothing implied about the rest."""
    nothing = {
        name: Certificate(name, None, False, None, "no theorem about matrix coefficients is used")
        for name in ("energy", "symplecticity", "reversibility", "invertibility", "order", "sensitivity")
    }
    return Guarantees(contraction=contraction, solvability=solvability, **nothing)
