# Claims: sam-D.1-elem
"""sam-D.1-elem: the elementary inequalities and identities from which the state bounds are built, sam (34)-(38)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
from flint import arb, fmpq

from odernn.exact.linear_algebra import diagonalise
from odernn.published.sources import Source
from verification.cases import energy_step
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, rational
from verification.measure.energy_growth import GROWTH, growth_sum, growth_sum_again
from verification.measure.polynomials import coefficient
from verification.parameters import declared, rationals

BITS = 192


def squares_case(diagonal: tuple[int, int, int] = (4, 4, 2)) -> Case:
    """(a + b + c)² ≤ 4a² + 4b² + 2c², or with other coefficients."""
    check = declared(*rationals("a", "b", "c")).guards(lambda given: _squares_check(given, diagonal))
    return Case("all a, b, c", "(a+b+c)²", lambda _, __: _squares(diagonal), check)


def _squares(diagonal: tuple[int, int, int]) -> Attempt:
    """4a² + 4b² + 2c² − (a + b + c)² as a quadratic form: its matrix is diag(4, 4, 2) − 11ᵀ."""
    form = tuple(tuple(fmpq(diagonal[i] * (i == j) - 1) for j in range(3)) for i in range(3))
    pivots = diagonalise(form).pivots
    text = f"for all a, b, c: the difference is a quadratic form with pivots {', '.join(map(str, pivots))}"
    proved = all(pivot >= 0 for pivot in pivots)
    candidates: tuple[Parameters, ...] = ()
    if not proved:
        violation = diagonalise(form).violation
        assert violation is not None
        candidates = (dict(zip("abc", map(str, violation[0]), strict=True)),)
    return Attempt(text, 1, candidates=candidates, proof=text if proved else "")


def _squares_check(parameters: Parameters, diagonal: tuple[int, int, int]) -> Check:
    a, b, c = (number(parameters, name) for name in "abc")
    left, right = (a + b + c) ** 2, sum(k * x * x for k, x in zip(diagonal, (a, b, c), strict=True))
    a_, b_, c_ = (iv.mpf(x.numerator) / x.denominator for x in (a, b, c))
    first, second, third = diagonal
    difference = (a_ + b_ + c_) ** 2 - (a_**2 * first + b_**2 * second + c_**2 * third)
    return Check(
        opinions=(
            Opinion("exact", left > right, f"{left} against {right}"),
            Opinion("mpmath", bool(difference.a > 0), f"difference {difference}"),
        ),
        words=f"a = {a}, b = {b}, c = {c}: {left} > {right}",
    )


def identities_case(half: Fraction = Fraction(1, 2)) -> Case:
    """b(a−b) = half (a² − b² − (a−b)²), a(a−b) = half (a² − b² + (a−b)²)."""
    check = declared(*rationals("a", "b")).guards(lambda given: _identities_check(given, half))
    return Case("all a, b", "a(a−b), b(a−b)", lambda _, __: _identities(half), check)


def _identities(half: Fraction) -> Attempt:
    """b(a−b) and a(a−b) as polynomials: coefficients of a², ab, b² on both sides."""
    square_of_difference = np.array([1, -2, 1], dtype=object)
    a2, b2 = np.array([1, 0, 0], dtype=object), np.array([0, 0, 1], dtype=object)
    first = half * a2 - half * b2 - half * square_of_difference  # b(a − b) = ab − b²
    second = half * a2 - half * b2 + half * square_of_difference  # a(a − b) = a² − ab
    holds = list(first) == [0, 1, -1] and list(second) == [1, -1, 0]
    text = "for all a, b: equal coefficients of a², ab, b² on both sides"
    if not holds:
        return Attempt("coefficients of a², ab, b²", 2, candidates=({"a": "1", "b": "2"},))
    return Attempt(text, 2, proof=text)


def _identities_check(parameters: Parameters, half: Fraction) -> Check:
    a, b = number(parameters, "a"), number(parameters, "b")
    gaps = (
        b * (a - b) - half * (a * a - b * b - (a - b) ** 2),
        a * (a - b) - half * (a * a - b * b + (a - b) ** 2),
    )
    x, y = (iv.mpf(v.numerator) / v.denominator for v in (a, b))
    share = iv.mpf(half.numerator) / half.denominator
    plus, minus = x * x - y * y, (x - y) ** 2
    second = (y * (x - y) - (plus - minus) * share, x * (x - y) - (plus + minus) * share)
    return Check(
        opinions=(
            Opinion("exact", any(gap != 0 for gap in gaps), f"differences {gaps[0]}, {gaps[1]}"),
            Opinion("mpmath", any(0 not in gap for gap in second), f"differences {second[0]}, {second[1]}"),
        ),
        words=f"a = {a}, b = {b}",
    )


def growth_case(coefficients: Mapping[int, int] = GROWTH) -> Case:
    """G ≤ exp(ᾱ dt), or with other coefficients for G."""

    def ask(budget: Budget, _: int) -> Attempt:
        return _growth(coefficients, budget)

    of_step = declared(*rationals("dt", above=0, below=1), *rationals("alpha", above=0))
    check = of_step.guards(lambda parameters: _growth_check(parameters, coefficients))
    return Case("free", "G", ask, check, is_search=True)


def _growth(coefficients: Mapping[int, int], budget: Budget) -> Attempt:
    """The largest ratio on a grid in (dt, α), dense near dt = 1 and logarithmic in α.

    The control is the same search for the largest x e^{1−x}, x = dt √α, whose supremum 1 is at x = 1.
    """
    size = {"smoke": 400, "standard": 1200, "deep": 3000}[budget.name]

    def log_growth(dt: Any, alpha: Any) -> Any:
        left, right = _log_growth_parts(coefficients, dt, alpha)
        return left - right

    worst, dt, alpha = _largest(log_growth, size)
    control, _, _ = _largest(lambda dt, alpha: dt * np.sqrt(alpha) * np.exp(1 - dt * np.sqrt(alpha)), size)
    at = _log_growth_parts(coefficients, dt, alpha)
    proof = energy_step.below_exponential(coefficients, 96)
    nearest = {"dt": rational(min(_short(dt), _LARGEST_DT)), "alpha": rational(_short(alpha))}
    return Attempt(
        tried=proof or f"{size} × {size} points in 0 < dt < 1, 1e-6 ≤ α ≤ 1e8",
        proof=proof,
        evaluations=size * size,
        log_measured=float(at[0]),
        log_claimed=float(at[1]),
        candidates=(nearest,) if worst > 0 else (),
        control=control,
    )


def _largest(function: Callable[[Any, Any], Any], size: int) -> tuple[float, float, float]:
    """(value, dt, α) of the largest value on the grid."""
    dt, alpha = 1 - np.logspace(-9, np.log10(1 - 1e-9), size), np.logspace(-6, 8, size)
    values = function(dt[:, None], alpha[None, :])
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return float(values[row, column]), float(dt[row]), float(alpha[column])


def _log_growth_parts(coefficients: Mapping[int, int], dt: Any, alpha: Any) -> tuple[Any, Any]:
    beyond_one = sum(a * alpha ** (k // 2) * dt**k for k, a in coefficients.items() if k)
    return np.log1p(coefficients.get(0, 0) - 1 + beyond_one), 96**0.25 * np.maximum(1.0, np.sqrt(alpha)) * dt


_LARGEST_DT = 1 - Fraction(1, 10**6)


def _short(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**6)


def _growth_check(parameters: Parameters, coefficients: Mapping[int, int]) -> Check:
    dt, alpha = number(parameters, "dt"), number(parameters, "alpha")
    with flint.ctx.workprec(BITS):
        h, a = (arb(fmpq(v.numerator, v.denominator)) for v in (dt, alpha))
        left = growth_sum(coefficients, a, h).log()
        rate = arb(96).root(4) * arb(1).max(a.sqrt())
        right = rate * h
        first = Opinion("balls", bool(left > right), f"log G = {left.str(12)}, ᾱ dt = {right.str(12)}")
    with iv.workprec(BITS):
        h_, a_ = (iv.mpf(v.numerator) / v.denominator for v in (dt, alpha))
        bigger = iv.sqrt(a_) if alpha > 1 else iv.mpf(1)
        root = iv.sqrt(iv.sqrt(iv.mpf(96)))
        gap = iv.log(growth_sum_again(coefficients, a_, h_)) - root * bigger * h_
        second = Opinion("mpmath", bool(gap.a > 0), f"log G − ᾱ dt = {mpmath.nstr(gap.mid, 12)}")
    return Check(
        opinions=(first, second),
        words=f"dt = {dt}, α = {alpha}: log G exceeds ᾱ dt",
        log_measured=float(left),
        log_claimed=float(right),
    )


# --- (38): H_n ≤ G H_{n−1} + 2 dt + 4 α dt⁴, H = α y² + z², one neuron


def step_case(
    linear: Fraction = Fraction(GROWTH[1]), fourth: Fraction = Fraction(GROWTH[4]), added: Fraction = Fraction(1)
) -> Case:
    """(38) with the coefficients ``linear`` of dt and ``fourth`` of α² dt⁴ in G, and ``added`` times 2 dt + 4 α dt⁴."""

    coefficients: dict[int, int | Fraction] = {**GROWTH, 1: linear, 4: fourth}

    def growth(alpha: Any, h: Any) -> Any:
        return growth_sum(coefficients, alpha, h)

    def constant(alpha: Any, h: Any) -> Any:
        return coefficient(added) * (2 * h + 4 * alpha * h**4)

    def balls(p: Any) -> tuple[Any, Any]:
        return growth(p.alpha, p.dt), constant(p.alpha, p.dt)

    def intervals(p: Any) -> tuple[Any, Any]:
        square = p.alpha * p.dt**2
        share = iv.mpf(added.numerator) / added.denominator
        return growth_sum_again(coefficients, p.alpha, p.dt), share * (p.dt + 2 * square * p.dt**2) * 2

    return energy_step.case("free", (growth, growth), constant, balls, intervals)


CLAIMS = (
    Claim(
        id="sam-D.1-elem",
        source=Source("sam", "(34)-(38)"),
        statement="b(a−b) = a²/2 − b²/2 − (a−b)²/2, a(a−b) = a²/2 − b²/2 + (a−b)²/2; (a+b+c)² ≤ 4a² + 4b² + 2c²; "
        "G = 1 + dt + 2α dt² + 4α² dt⁴ ≤ exp(ᾱ dt), ᾱ = 96^(1/4) max{1, √α}; H_n ≤ G H_{n−1} + 2dt + 4α dt⁴, "
        "H_n = α y_n² + z_n² of one neuron; 0 < dt < 1, α > 0",
        semantics="real",
        cases=(
            identities_case(),
            squares_case(),
            growth_case(),
            step_case(),
        ),
    ),
)
