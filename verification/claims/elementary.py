"""sam-D.1-elem: the elementary inequalities and identities from which the state bounds are built, sam (34)-(38)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
from flint import arb, fmpq

from odernn.linear_algebra import diagonalise
from odernn.tableau import Source
from verification.certify import energy_step
from verification.certify.inequality import coefficient
from verification.domains import Budget
from verification.question import Attempt, Case, Check, Hypothesis, Opinion, Parameters, Question, number, rational

BITS = 192


def _squares(_: Budget, __: int) -> Attempt:
    """4a² + 4b² + 2c² − (a + b + c)² as a quadratic form: its matrix is diag(4, 4, 2) − 11ᵀ."""
    diagonal = (4, 4, 2)
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


def _squares_check(parameters: Parameters) -> Check:
    a, b, c = (number(parameters, name) for name in "abc")
    left, right = (a + b + c) ** 2, 4 * a * a + 4 * b * b + 2 * c * c
    context = mpmath.iv
    a_, b_, c_ = (context.mpf(x.numerator) / x.denominator for x in (a, b, c))
    difference = (a_ + b_ + c_) ** 2 - (4 * a_**2 + 4 * b_**2 + 2 * c_**2)
    return Check(
        opinions=(
            Opinion("exact", left > right, f"{left} against {right}"),
            Opinion("mpmath", bool(difference.a > 0), f"difference {difference}"),
        ),
        words=f"a = {a}, b = {b}, c = {c}: {left} > {right}",
    )


def _identities(_: Budget, __: int) -> Attempt:
    """b(a−b) and a(a−b) as polynomials: coefficients of a², ab, b² on both sides."""
    half = Fraction(1, 2)
    square_of_difference = np.array([1, -2, 1], dtype=object)
    a2, b2 = np.array([1, 0, 0], dtype=object), np.array([0, 0, 1], dtype=object)
    first = half * a2 - half * b2 - half * square_of_difference  # b(a − b) = ab − b²
    second = half * a2 - half * b2 + half * square_of_difference  # a(a − b) = a² − ab
    holds = list(first) == [0, 1, -1] and list(second) == [1, -1, 0]
    text = "for all a, b: equal coefficients of a², ab, b² on both sides"
    if not holds:
        return Attempt("coefficients of a², ab, b²", 2, candidates=({"a": "1", "b": "2"},))
    return Attempt(text, 2, proof=text)


def _identities_check(parameters: Parameters) -> Check:
    a, b = number(parameters, "a"), number(parameters, "b")
    gaps = (
        b * (a - b) - (a * a / 2 - b * b / 2 - (a - b) ** 2 / 2),
        a * (a - b) - (a * a / 2 - b * b / 2 + (a - b) ** 2 / 2),
    )
    x, y = (mpmath.iv.mpf(v.numerator) / v.denominator for v in (a, b))
    second = (y * (x - y) - (x * x - y * y - (x - y) ** 2) / 2, x * (x - y) - (x * x - y * y + (x - y) ** 2) / 2)
    return Check(
        opinions=(
            Opinion("exact", any(gap != 0 for gap in gaps), f"differences {gaps[0]}, {gaps[1]}"),
            Opinion("mpmath", any(0 not in gap for gap in second), f"differences {second[0]}, {second[1]}"),
        ),
        words=f"a = {a}, b = {b}",
    )


# --- G = 1 + dt + 2 α dt² + 4 α² dt⁴ ≤ exp(ᾱ dt), ᾱ = 96^(1/4) max{1, √α}, 0 < dt < 1, α > 0


def _growth(budget: Budget, seed: int) -> Attempt:
    """The largest ratio on a grid in (dt, α), dense near dt = 1 and logarithmic in α.

    The control is the same search for the largest x e^{1−x}, x = dt √α, whose supremum 1 is at x = 1.
    """
    size = {"smoke": 400, "standard": 1200, "deep": 3000}[budget.name]
    worst, dt, alpha = _largest(_log_growth, size)
    control, _, _ = _largest(lambda dt, alpha: dt * np.sqrt(alpha) * np.exp(1 - dt * np.sqrt(alpha)), size)
    at = _log_growth_parts(dt, alpha)
    proof = energy_step.below_exponential({0: 1, 1: 1, 2: 2, 4: 4}, 96)
    return Attempt(
        tried=proof or f"{size} × {size} points in 0 < dt < 1, 1e-6 ≤ α ≤ 1e8",
        proof=proof,
        evaluations=size * size,
        log_measured=float(at[0]),
        log_claimed=float(at[1]),
        candidates=({"dt": rational(_short(dt)), "alpha": rational(_short(alpha))},) if worst > 0 else (),
        control=control,
    )


def _largest(function: Callable[[Any, Any], Any], size: int) -> tuple[float, float, float]:
    """(value, dt, α) of the largest value on the grid."""
    dt, alpha = 1 - np.logspace(-9, np.log10(1 - 1e-9), size), np.logspace(-6, 8, size)
    values = function(dt[:, None], alpha[None, :])
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return float(values[row, column]), float(dt[row]), float(alpha[column])


def _log_growth_parts(dt: Any, alpha: Any) -> tuple[Any, Any]:
    return (
        np.log1p(dt + 2 * alpha * dt**2 + 4 * alpha**2 * dt**4),
        96**0.25 * np.maximum(1.0, np.sqrt(alpha)) * dt,
    )


def _log_growth(dt: Any, alpha: Any) -> Any:
    left, right = _log_growth_parts(dt, alpha)
    return left - right


def _short(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**6)


def _growth_check(parameters: Parameters) -> Check:
    dt, alpha = number(parameters, "dt"), number(parameters, "alpha")
    with flint.ctx.workprec(BITS):
        h, a = (arb(fmpq(v.numerator, v.denominator)) for v in (dt, alpha))
        left = (1 + h + 2 * a * h**2 + 4 * a**2 * h**4).log()
        rate = arb(96).root(4) * arb(1).max(a.sqrt())
        right = rate * h
        first = Opinion("balls", bool(left > right), f"log G = {left.str(12)}, ᾱ dt = {right.str(12)}")
    context = mpmath.iv
    context.prec = BITS
    h_, a_ = (context.mpf(v.numerator) / v.denominator for v in (dt, alpha))
    bigger = context.sqrt(a_) if alpha > 1 else context.mpf(1)
    root = context.sqrt(context.sqrt(context.mpf(96)))
    gap = context.log(1 + h_ + 2 * a_ * h_**2 + 4 * a_**2 * h_**4) - root * bigger * h_
    second = Opinion("mpmath", bool(gap.a > 0), f"log G − ᾱ dt = {mpmath.nstr(gap.mid, 12)}")
    return Check(
        opinions=(first, second),
        premises=(
            Hypothesis("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
            Hypothesis("α > 0", str(alpha), alpha > 0),
        ),
        words=f"dt = {dt}, α = {alpha}: log G exceeds ᾱ dt",
        log_measured=float(left),
        log_claimed=float(right),
    )


# --- (38): H_n ≤ G H_{n−1} + 2 dt + 4 α dt⁴, H = α y² + z², one neuron


def step_case(linear: Fraction = Fraction(1), fourth: Fraction = Fraction(4), added: Fraction = Fraction(1)) -> Case:
    """(38) with the coefficients ``linear`` of dt and ``fourth`` of α² dt⁴ in G, and ``added`` times 2 dt + 4 α dt⁴."""

    def growth(alpha: Any, h: Any) -> Any:
        return 1 + coefficient(linear) * h + 2 * alpha * h**2 + coefficient(fourth) * alpha**2 * h**4

    def constant(alpha: Any, h: Any) -> Any:
        return coefficient(added) * (2 * h + 4 * alpha * h**4)

    def balls(p: Any) -> tuple[Any, Any]:
        return growth(p.alpha, p.dt), constant(p.alpha, p.dt)

    def intervals(p: Any) -> tuple[Any, Any]:
        square = p.alpha * p.dt**2
        first, last, share = (mpmath.iv.mpf(k.numerator) / k.denominator for k in (linear, fourth, added))
        return 1 + first * p.dt + square * (2 + last * square), share * (p.dt + 2 * square * p.dt**2) * 2

    return energy_step.case("free", (growth, growth), constant, balls, intervals)


QUESTIONS = (
    Question(
        id="sam-D.1-elem",
        source=Source("sam", "(34)-(38)"),
        statement="b(a−b) = a²/2 − b²/2 − (a−b)²/2, a(a−b) = a²/2 − b²/2 + (a−b)²/2; (a+b+c)² ≤ 4a² + 4b² + 2c²; "
        "G = 1 + dt + 2α dt² + 4α² dt⁴ ≤ exp(ᾱ dt), ᾱ = 96^(1/4) max{1, √α}; H_n ≤ G H_{n−1} + 2dt + 4α dt⁴, "
        "H_n = α y_n² + z_n² of one neuron; 0 < dt < 1, α > 0",
        semantics="real",
        cases=(
            Case("all a, b", "a(a−b), b(a−b)", _identities, _identities_check),
            Case("all a, b, c", "(a+b+c)²", _squares, _squares_check),
            Case("free", "G", _growth, _growth_check, is_search=True),
            step_case(),
        ),
    ),
)
