"""Problems that show a method is not B-stable: monotone, with two numerical solutions that move apart. All exact.

Put λ(t_0 + c_i h) = z_i, h = 1, in y' = λ(t) y. With Z = diag(z), w = (I − AZ)⁻¹1 and u = Zw,

    y₁ = K(Z) y₀,      K(Z) = 1 + bᵀu,      |K|² − 1 = 2 Σ b_i Re z_i |w_i|² − ūᵀMu.

If Σ b_i v_i² < 0, take z = −εv²; if vᵀMv < 0, take z = iεv: for small ε > 0 then |K| > 1, and Re λ ≤ 0. The problem
is monotone, for z = iεv even a rotation y' = εv(t)Jy of the plane. Hairer, Wanner 1996, Section IV.12.

Stages with equal c_i but different z_i are told apart by more components: ``odernn.properties.monotone_data``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from odernn.exact.algebraic import Scalar, sign
from odernn.exact.linear_algebra import (
    ONE,
    ZERO,
    Diagonalisation,
    Rows,
    Vector,
    diagonalise,
    matrix_vector,
    product,
    quadratic_form,
    solve,
    transposed,
)
from odernn.exact.text import brief
from odernn.properties.algebraic_stability import burrage_butcher
from odernn.properties.amplification import grown, growth_text
from odernn.properties.monotone_data import MonotoneData, monotone_data
from odernn.tableaus.methods import Method, form_of
from odernn.tableaus.stages import StageForm


def unstable_problem(
    method: Method, weights: Diagonalisation | None = None, matrix: Diagonalisation | None = None
) -> UnstableProblem | None:
    """A problem that the method pushes apart, ``None`` if there is none: for methods without equal stages.

    y' = λ(t) y where the c_i tell the stages apart that λ must; else data of an autonomous field. In the basis of
    polynomials the latter is not built: ``None`` also there. ``weights`` and ``matrix`` are diag(b) and M
    diagonalised, if known.
    """
    form = form_of(method)
    weights = weights or diagonalise(form.gram)
    matrix = matrix or diagonalise(burrage_butcher(form))
    rates = _rates(form, weights, matrix)
    if rates is None:
        return None
    if form.modulus is not None:
        return _rotation(form, *rates) if _abscissae_generate(form) else an_problem(method)
    c = form.apply(form.one)
    value_at: dict[Any, Any] = {}
    for abscissa, rate in zip(c, zip(*rates, strict=True), strict=True):
        if value_at.setdefault(abscissa, rate) != rate:
            return monotone_data(form, *rates)
    return _rotation(form, *rates)


def an_problem(method: Method) -> RotationProblem | None:
    """A problem y' = λ(t) y with |y₁| > |y₀|, sought among the λ that directions of negative b or M allow."""
    form = form_of(method)
    basis = _functions_of_abscissae(form)
    columns = transposed(basis)
    gram, M = (product(basis, product(S, columns)) for S in (form.gram, burrage_butcher(form)))
    lifted = [
        Diagonalisation(d.pivots, tuple(matrix_vector(columns, v) for v in d.basis))
        for d in (diagonalise(gram), diagonalise(M))
    ]
    rates = _rates(form, *lifted)
    return None if rates is None else _rotation(form, *rates)


@dataclass(frozen=True)
class RotationProblem:
    """y' = λ(t) y, λ(c_i) = re_i + i·im_i with re_i ≤ 0, one step of size 1: |y₁|² = growth·|y₀|², growth > 1.

    In the basis of polynomials ``real`` and ``imaginary`` are the coordinates of polynomials in t.
    """

    abscissae: Vector
    real: Vector
    imaginary: Vector
    growth: Scalar
    in_polynomials: bool = False

    def __str__(self) -> str:
        rates = self.real if any(x != 0 for x in self.real) else self.imaginary
        unit = "" if rates is self.real else "i·"
        argument = "coefficients of λ" if self.in_polynomials else "λ(cᵢ)"
        return (
            f"y' = λ(t)y, {argument} = {unit}({', '.join(map(brief, rates))}): |y₁|²/|y₀|² = {growth_text(self.growth)}"
        )


UnstableProblem = RotationProblem | MonotoneData


def _functions_of_abscissae(form: StageForm) -> Rows:
    """A basis of the stage vectors that are functions of c = A·1."""
    c = form.apply(form.one)
    if form.modulus is None:
        return tuple(tuple(ONE if x == value else ZERO for x in c) for value in dict.fromkeys(c))
    powers = [form.one]
    while True:
        following = form.product(powers[-1], c)
        if solve(transposed(powers), [[x] for x in following]) is not None:
            return tuple(powers)
        powers.append(following)


def _abscissae_generate(form: StageForm) -> bool:
    return len(_functions_of_abscissae(form)) == form.dimension


def _rates(form: StageForm, weights: Diagonalisation, matrix: Diagonalisation) -> tuple[Vector, Vector] | None:
    """(Re z, Im z) of size 1 that make |K(εZ)| > 1 for small ε; ``None`` if neither b nor M has a negative direction.

    Where the coefficients are irrational the direction is rounded to a rational one, which keeps the sign of the
    form.
    """
    zeros = (ZERO,) * form.dimension
    violation = weights.violation
    if violation is not None:
        u = violation[0]
        return tuple(-x for x in form.product(u, u)), zeros
    violation = matrix.violation
    if violation is None:
        return None
    return zeros, _rationalised(burrage_butcher(form), violation[0]) if form.modulus is None else violation[0]


def _rationalised(M: Rows, v: Vector) -> Vector:
    """A rational vector near v with vᵀMv < 0, equal where v is."""
    bits = 8
    while True:
        near = tuple(fmpq(round(float(x) * 2**bits), 2**bits) if not isinstance(x, fmpq) else x for x in v)
        if sign(quadratic_form(M, near)) < 0:
            return near
        bits += 8
        if bits > 48:
            return v


def _rotation(form: StageForm, real: Vector, imaginary: Vector) -> RotationProblem:
    real, imaginary, _, growth = grown(form, real, imaginary)
    return RotationProblem(form.apply(form.one), real, imaginary, growth, form.modulus is not None)
