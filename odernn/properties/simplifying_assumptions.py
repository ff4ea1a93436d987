"""Butcher's simplifying assumptions, which say how well the stages and the weights integrate polynomials. With c = A1:

    B(p)   bᵀc^{k−1} = 1/k                           k = 1, …, p     the quadrature (b, c) has order p
    C(η)   A c^{k−1} = cᵏ/k                           k = 1, …, η     each stage is exact for polynomials of degree η
    D(ζ)   bᵀC^{k−1}A = (bᵀ − bᵀCᵏ)/k,  C = diag(c)   k = 1, …, ζ     the same for the adjoint equation

Hairer, Wanner 1996, Section IV.5; Butcher 2016, Section 321. Each is a question with its number, ``C(t, 3)``, and
without one, ``C(t)``: then ``value`` is the largest number for which it holds.

Only trivial methods satisfy C or D for every number: if C(s+1) holds then c = 0, and if D(s+1) holds then b = 0, or
bᵀA = 0 and c_i = 1 wherever b_i ≠ 0. For let x₁, …, x_d be the different abscissae, P(x) = Π(x − x_i) and F its
integral from 0. C(d+1) gives 0 = A P(c) = F(c), so that F, of degree d + 1, has d double zeros and the zero 0: d = 1
and x₁ = 0. For D take the different abscissae of nonzero weight, and F the integral from x to 1: it has d double zeros
and the zero 1. So whatever holds for s + 1 holds for every number, and ``value`` then is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import nearest_float
from odernn.exact.linear_algebra import Vector
from odernn.properties.error_radii import Rounding, rounding, vanishes
from odernn.properties.stage_spaces import FormSpace, Space
from odernn.tableaus.methods import Method, form_of
from odernn.tableaus.stages import StageForm


class Assumptions:
    """The residuals of B, C and D, each 0 where the assumption holds for k."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._powers = [space.one, space.apply(space.one)]

    def power(self, k: int) -> Vector:
        """cᵏ."""
        while len(self._powers) <= k:
            self._powers.append(self.space.product(self._powers[-1], self._powers[1]))
        return self._powers[k]

    def b(self, k: int) -> Any:
        """bᵀc^{k−1} − 1/k."""
        return self.space.weigh(self.power(k - 1)) - fmpq(1, k)

    def c(self, k: int) -> Vector:
        """A c^{k−1} − cᵏ/k."""
        left, right = self.space.apply(self.power(k - 1)), self.power(k)
        return tuple(x - y / k for x, y in zip(left, right, strict=True))

    def d(self, k: int) -> Vector:
        """bᵀC^{k−1}A − (bᵀ − bᵀCᵏ)/k, by its values on the basis."""
        left = self.space.pull_back(self.space.dual(self.power(k - 1)))
        whole, part = self.space.dual(self.space.one), self.space.dual(self.power(k))
        return tuple(x - (y - z) / k for x, y, z in zip(left, whole, part, strict=True))


def B(method: Method, p: int | None = None) -> Certificate:
    """Whether B(p) holds; without p the largest such p, the order of the quadrature. ``witness`` is (k, residual)."""
    return _decide(method, _B, p)


def C(method: Method, eta: int | None = None) -> Certificate:
    """Whether C(η) holds; without η the largest such η. ``witness`` is (k, i, residual in row i), from 1.

    For a method in a basis of polynomials i is the power of x and counted from 0.
    """
    return _decide(method, _C, eta)


def D(method: Method, zeta: int | None = None) -> Certificate:
    """Whether D(ζ) holds; without ζ the largest such ζ. ``witness`` is (k, j, residual in column j), as for C."""
    return _decide(method, _D, zeta)


def quadrature_order(method: Method) -> Certificate:
    """``value`` is the order of the quadrature (b, c), the largest p with B(p); never above 2s."""
    return replace(B(method), property="quadrature order")


def stage_order(method: Method) -> Certificate:
    """``value`` is the stage order, the largest q with B(q) and C(q). Hairer, Wanner 1996, Section IV.15."""
    quadrature, stages = B(method), C(method)
    less = quadrature if quadrature.value <= stages.value else stages
    margins = [certificate.margin for certificate in (quadrature, stages) if certificate.margin is not None]
    because = f"{quadrature.property} and {stages.property}: {less.because}"
    return Certificate(
        "stage order", less.holds, less.exact, less.witness, because, max(margins, default=None), less.value
    )


def _decide(method: Method, assumption: _Assumption, number: int | None) -> Certificate:
    form, rounded = form_of(method), rounding(method)
    last = assumption.limit(form.dimension) if number is None else min(number, assumption.limit(form.dimension))
    failed, margin = _first_violation(form, assumption, last, rounded)
    value = failed - 1 if failed else (math.inf if number is None or last < number else number)
    number_text = "k" if value == math.inf else str(number if number is not None else value)
    name = f"{assumption.letter}({number_text})"
    holds: bool | None = value >= (1 if number is None else number)
    if failed:
        residuals = assumption.residuals(Assumptions(FormSpace(form)), failed)
        index, residual = next((i, entry) for i, entry in enumerate(residuals) if entry != 0)
        witness = (failed, residual) if assumption is _B else (failed, index + (form.modulus is None), residual)
        because = assumption.violation(failed, index, residual, form)
    else:
        witness = None
        because = f"{assumption.law} for {'every k' if value == math.inf else f'k ≤ {value}'}"
    if rounded is None:
        return Certificate(name, holds, True, witness, because, value=value)
    if holds:
        holds, because = None, f"consistent with {assumption.letter}({value}) to {rounded.text}; {because}"
    return Certificate(name, holds, False, witness, because, margin=margin, value=value)


def _first_violation(
    form: StageForm, assumption: _Assumption, last: int, rounded: Rounding | None
) -> tuple[int | None, float | None]:
    """The first k ≤ last that is violated, and for rounded coefficients the largest residual before it."""
    if rounded is None:
        given = Assumptions(FormSpace(form))
        violated = (k for k in range(1, last + 1) if not all(map(vanishes, assumption.residuals(given, k))))
        return next(violated, None), None
    margin = 0.0
    with rounded.working():
        given = Assumptions(rounded.spaces([form])[0])
        for k in range(1, last + 1):
            residuals = assumption.residuals(given, k)
            if not all(map(vanishes, residuals)):
                return k, margin
            margin = max(margin, *(abs(float(residual.mid())) for residual in residuals))
    return None, margin


@dataclass(frozen=True)
class _Assumption:
    """One of B, C, D: its letter, its residuals, how often it can hold, the place of a residual, and its two sides."""

    letter: str
    residuals: Callable[[Assumptions, int], Vector]
    limit: Callable[[int], int]
    place: str
    sides: Callable[[int], tuple[str, str]]
    law: str

    def violation(self, k: int, index: int, residual: Any, form: StageForm) -> str:
        """The violated equation, "row 2 of Ac − c²/2 = -1/8"."""
        left, right = self.sides(k)
        where = ""
        if self.place:
            where = f"{self.place} {index + 1} of " if form.modulus is None else f"coefficient of x^{index} of "
        return f"{where}{left} − {right} = {short(residual)}"


_B = _Assumption(
    "B",
    lambda given, k: (given.b(k),),
    lambda s: 2 * s + 1,
    "",
    lambda k: ("bᵀ1" if k == 1 else f"bᵀ{_power('c', k - 1)}", "1" if k == 1 else f"1/{k}"),
    "bᵀcᵏ⁻¹ = 1/k",
)
_C = _Assumption(
    "C",
    Assumptions.c,
    lambda s: s + 1,
    "row",
    lambda k: ("A1", "c") if k == 1 else (f"A{_power('c', k - 1)}", f"{_power('c', k)}/{k}"),
    "Acᵏ⁻¹ = cᵏ/k",
)
_D = _Assumption(
    "D",
    Assumptions.d,
    lambda s: s + 1,
    "column",
    lambda k: ("bᵀA", "(bᵀ − bᵀC)") if k == 1 else (f"bᵀ{_power('C', k - 1)}A", f"(bᵀ − bᵀ{_power('C', k)})/{k}"),
    "bᵀCᵏ⁻¹A = (bᵀ − bᵀCᵏ)/k",
)


def short(value: Any) -> str:
    """An exact number in full if that is short, else in three digits."""
    text = str(value)
    return text if len(text) <= 24 else f"{nearest_float(value):.3g}"


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _power(base: str, k: int) -> str:
    return base if k == 1 else f"{base}{str(k).translate(_SUPERSCRIPTS)}"
