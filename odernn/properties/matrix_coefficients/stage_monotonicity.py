"""Which stage fields are monotone in the weight G that a step with matrix coefficients is measured in.

    (u − v)ᵀ G B_i (f(u) − f(v)) ≤ 0 for all u, v

    all monotone fields f:                            ⟺  G B_i = β I,  β ≥ 0
    f(Y) = σ(K Y + drive), slopes of σ_r in [0, L_r]:  ⟸  G B_i e_r = −λ_r k_r,  λ_r ≥ 0,  k_r the r-th row of K

Without linear components the second is necessary too. Theorem mc-3 of ``docs/derivations/matrix_coefficients.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import Algebraic, sign
from odernn.exact.coefficients import subscript
from odernn.exact.definiteness import Matrix, semidefiniteness, written
from odernn.exact.linear_algebra import (
    ZERO,
    Rows,
    Vector,
    dot,
    entrywise,
    identity,
    matrix_vector,
    outer,
    product,
    transposed,
)
from odernn.exact.text import equals
from odernn.properties.matrix_coefficients.block_tableau import DOUBLE, BlockTableau
from odernn.tableaus.methods import AS_PRINTED


def multiplier(g: Vector, k: Vector, slope: Any) -> Any:
    """The λ of g = −λ k, if there is one: −gᵀk/kᵀk; 0 of a linear component (no slope) and of k = 0."""
    return -dot(g, k) / dot(k, k) if slope is not None and any(k) else ZERO


def dissipation(X: Rows, K: Rows, linear: Sequence[int]) -> Rows:
    """−(X K + (X K)ᵀ) over the linear components, X = G B_i: whatever the others do, for their slopes may be 0."""
    XK = product(tuple(tuple(row[r] for r in linear) for row in X), tuple(K[r] for r in linear))
    return entrywise(lambda x, y: -x - y, XK, transposed(XK))


def stage_monotonicity(blocks: BlockTableau, G: Any, i: int, stage: SlopeRestricted | None = None) -> Certificate:
    """Whether (u − v)ᵀ G B_i (f(u) − f(v)) ≤ 0 for all u, v: for one stage with any drive, or all monotone fields.

    i        the stage, from 0.   stage   ``None``: all fields with (u − v)ᵀ(f(u) − f(v)) ≤ 0
    All monotone fields: iff G B_i = β I, β ≥ 0. A stage: if each nonlinear component r has G B_i e_r = −λ_r k_r, λ_r ≥
    0, with k_r the r-th row of K, or k_r = 0, and the linear ones together have G B_i K + (G B_i K)ᵀ ≤ 0; without
    linear components that is also necessary, as far as the slopes of components can be chosen one by one (theorem
    mc-3). ``None`` if linear components may make up for a nonlinear one. ``value`` β, or the λ_r, 0 for linear ones;
    ``margin`` the size of what would have to vanish; ``witness`` of a "no" ΔY with ΔYᵀ G B_i Δf > 0, with Δf for all
    monotone fields. Of rounded coefficients a "no" stands if it holds for all numbers that round to them, else it is
    ``None``; a "yes" is about the numbers as given and not ``exact``.
    """
    scaled = product(blocks.weight(G), blocks.B[i])
    name = f"stage {i + 1} G-monotone with weight B{subscript(i + 1)}"
    certificate, slope = _all_monotone(scaled, name) if stage is None else _stage_monotone(scaled, stage, name)
    if blocks.is_exact or certificate.holds is None:
        return certificate
    if certificate.holds:
        return replace(certificate, exact=False, because=certificate.because + AS_PRINTED)
    x, f = slope
    sizes = product(entrywise(abs, blocks.weight(G)), entrywise(abs, blocks.B[i]))
    slack = DOUBLE * dot(matrix_vector(transposed(sizes), tuple(map(abs, x))), tuple(map(abs, f)))
    if sign(dot(matrix_vector(transposed(scaled), x), f) - slack) > 0:
        return certificate
    return replace(certificate, holds=None, exact=False, because=certificate.because + AS_PRINTED)


@dataclass(frozen=True)
class SlopeRestricted:
    """A stage field f(Y) = σ(K Y + drive), σ entrywise, whose slopes are restricted: all (σ_r(a) − σ_r(b))/(a − b).

    K        (p × D), exact
    slopes   (p,): of component r between 0 and slopes[r] > 0; or, for a linear component, ``None``: always 1
    """

    K: Rows
    slopes: tuple[fmpq | None, ...]

    def __post_init__(self) -> None:
        if len(self.K) != len(self.slopes):
            raise ValueError(f"SlopeRestricted: K has {len(self.K)} rows but there are {len(self.slopes)} slopes.")
        if any(slope is not None and sign(slope) <= 0 for slope in self.slopes):
            raise ValueError("SlopeRestricted: a largest slope is not positive. Leave constant components out.")


Fields: TypeAlias = Literal["weighted", "monotone"] | Sequence[SlopeRestricted]
"""Which stage fields are meant: "weighted", those that are G-monotone with weight B_i whatever that says; "monotone",
all with (u − v)ᵀ(f_i(u) − f_i(v)) ≤ 0; or those of given stages with any drives."""


def _stage_monotone(scaled: Rows, stage: SlopeRestricted, name: str) -> tuple[Certificate, Any]:
    """The decision for X = G B_i, and of a "no" (ΔY, Δf) with ΔYᵀ X Δf > 0."""
    columns = transposed(scaled)
    linear = [r for r, slope in enumerate(stage.slopes) if slope is None]
    dissipated: Rows = dissipation(scaled, stage.K, linear) if linear else ()
    if linear:
        linear_part = semidefiniteness(dissipated, name="−GBK − (GBK)ᵀ")
        if not linear_part:
            x = linear_part.witness
            moved = (
                ()
                if x is None
                else tuple(dot(k, x) if s is None else ZERO for k, s in zip(stage.K, stage.slopes, strict=True))
            )
            return replace(linear_part, property=name), (x, moved)
    multipliers = []
    for r, (g, k, slope) in enumerate(zip(columns, stage.K, stage.slopes, strict=True)):
        factor = multiplier(g, k, slope)
        multipliers.append(factor)
        rest = tuple(x + factor * y for x, y in zip(g, k, strict=True))
        if slope is None or not any(k) or not (any(rest) or sign(factor) < 0):
            continue
        x, value = _pushing(g, k)  # neither g nor k is zero
        text = f"component {r + 1}: G B e ≠ −λ k, x = {written(x)}: (xᵀG B e)(kᵀx) {equals(value)} > 0"
        margin = _largest((rest, (min(factor, ZERO),)))
        if linear:
            pushed = entrywise(lambda d, a, b, s=slope: d - s * (a + b), dissipated, outer(g, k), outer(k, g))
            worst = semidefiniteness(pushed)
            if worst.holds is not False:
                text += ", which the linear components may make up for"
                return Certificate(name, None, False, x, text, margin=margin), None
            x = worst.witness
            text = f"component {r + 1} with its largest slope, and the linear ones: x = {written(x)} has xᵀG B Δf > 0"
        moved = tuple(
            dot(row, x) if s is None else (s * dot(row, x) if q == r else ZERO)
            for q, (row, s) in enumerate(zip(stage.K, stage.slopes, strict=True))
        )
        return Certificate(name, False, True, x, text, margin=margin), (x, moved)
    return Certificate(name, True, True, None, "G B = −KᵀΛ, Λ ≥ 0", margin=ZERO, value=tuple(multipliers)), None


def _all_monotone(scaled: Rows, name: str) -> tuple[Certificate, Any]:
    """The decision for X = G B_i, and of a "no" (ΔY, Δf) with ΔYᵀ X Δf > 0."""
    size = len(scaled)
    if len(scaled[0]) != size:
        text = f"the stage has {len(scaled[0])} components, the state {size}: a monotone field maps D to D components"
        return Certificate(name, None, False, None, text), None
    beta = scaled[0][0]
    rest = entrywise(lambda x, y: x - beta * y, scaled, identity(size))
    if any(x != 0 for row in rest for x in row) or sign(beta) < 0:
        x, f, value = _monotone_violation(scaled)
        text = f"G B ≠ β I: ΔY = {written(x)}, Δf = {written(f)} have ΔYᵀΔf ≤ 0 and ΔYᵀ G B Δf {equals(value)} > 0"
        return Certificate(name, False, True, (x, f), text, margin=max(_largest(rest), -beta)), (x, f)
    return Certificate(name, True, True, None, f"G B = {beta} I", margin=ZERO, value=beta), None


def _monotone_violation(X: Rows) -> tuple[Vector, Vector, Any]:
    """x, f with xᵀf ≤ 0 and xᵀXf > 0 for X that is not βI with β ≥ 0.

    If there is an x with y = Xᵀx no multiple of x, then f = y − (xᵀy/xᵀx) x has xᵀf = 0 and xᵀXf = |f|² > 0. If there
    is none among e_i, e_i + e_j, then X = βI with β < 0, and f = −x.
    """
    back, size = transposed(X), len(X)
    units = identity(size)
    pairs = (tuple(a + b for a, b in zip(units[i], units[j], strict=True)) for i in range(size) for j in range(i))
    for x in (*units, *pairs):
        y = matrix_vector(back, x)
        ratio = dot(x, y) / dot(x, x)
        f = tuple(a - ratio * b for a, b in zip(y, x, strict=True))
        if any(f):
            return x, f, dot(f, f)
    x = units[0]
    f = tuple(-a for a in x)
    return x, f, dot(matrix_vector(back, x), f)


def _pushing(g: Vector, k: Vector) -> tuple[Vector, Any]:
    """x with (xᵀg)(kᵀx) > 0 for g, k ≠ 0 that are not opposite: x = s g + k, s near |k|/|g|."""
    squares = dot(k, k) / dot(g, g)
    for bits in (8, 24, 48, 96, 192):
        s = _square_root(squares, bits)
        x = tuple(s * a + b for a, b in zip(g, k, strict=True))
        value = dot(x, g) * dot(k, x)
        if sign(value) > 0:
            return x, value
    raise ArithmeticError("The two vectors are opposite to within 192 bits. Check the weight G for a rounding slip.")


def _square_root(value: Any, bits: int) -> fmpq:
    """√value, a little off."""
    rational = value if not isinstance(value, Algebraic) else fmpq(*Fraction(float(value)).as_integer_ratio())
    scaled = (rational * 4**bits).floor()
    return fmpq(max(int(scaled.isqrt()), 1), 2**bits)


def _largest(rows: Matrix) -> Any:
    return max((abs(x) for row in rows for x in row), default=ZERO)
