"""The energy over one step of one neuron, H_n ≤ growth · H_{n−1} + added, H = α y² + z²: sam (38), icml S(10).

z' = z − h(s + αy), y' = y + h z', with h = dt σ̂ ≤ dt and |s| < 1. Where ``growth`` and ``added`` rise with dt ≥ h
(their derivatives are nonnegative polynomials) and added ≥ 0, h = dt, s = ±1 is the worst of all, and the difference is
a quadratic form in (y, z, s).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from flint import fmpq

from odernn.exact.linear_algebra import diagonalise
from verification.cases.inequality import (
    ALPHA_POSITIVE,
    SIGMA_INSIDE,
    STEP_BELOW_ONE,
    Inequality,
    Sides,
    attempt,
    semidefinite_pieces,
)
from verification.certify.positivity import Side, is_nonnegative
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import rational
from verification.measure.polynomials import variables
from verification.parameters import declared, rationals

Growth: TypeAlias = Callable[[Any, Any], Any]
"""A polynomial in α and h."""


def form(growth: Any, added: Any, alpha: Any, h: Any) -> list[list[Any]]:
    """The symmetric matrix of growth·(αy² + z²) + added·s² − (αy'² + z'²) in (y, z, s) for one step of size h."""
    zero = 0 * alpha
    z_new = (-h * alpha, 1 + zero, -h)
    y_new = (1 - h * h * alpha, h + zero, -h * h)
    diagonal = (growth * alpha, growth + zero, added + zero)
    return [
        [(diagonal[i] if i == j else zero) - alpha * y_new[i] * y_new[j] - z_new[i] * z_new[j] for j in range(3)]
        for i in range(3)
    ]


def proof(growth: tuple[Growth, Growth], added: Growth) -> Attempt:
    """Of the step for 0 ≤ α ≤ 1 (the first ``growth``) and for α ≥ 1 (the second), 0 ≤ h ≤ 1; or states against it."""
    candidates: list[Parameters] = []
    count = 0
    texts: list[str] = []
    for matrix, box in _ranges(growth, added):
        minors = attempt(semidefinite_pieces(matrix, box), f"α in {_interval_text(box[0])}, 0 ≤ h ≤ 1")
        count, texts = count + minors.evaluations, [*texts, minors.proof]
        candidates += [_state_where_negative(matrix, point) for point in minors.candidates]
    rising, boxes = _rises(growth, added)
    count, texts = count + boxes, [*texts, rising]
    text = "; ".join(texts) if all(texts) else ""
    return Attempt(text or "minors", count, candidates=tuple(candidates), proof=text)


def case(
    domain: str,
    growth: tuple[Growth, Growth],
    added: Growth,
    balls: Callable[[Any], Sides],
    intervals: Callable[[Any], Sides],
) -> Case:
    """``balls`` and ``intervals`` give (growth, added) at p.alpha, p.dt for the check; both are typed by the claim."""

    def ask(_: Budget, __: int) -> Attempt:
        minors = proof(growth, added)
        text = f"the difference is a positive semidefinite form in (y, z, s), its minors: {minors.proof}"
        proved = text if minors.proof else ""
        return Attempt(proved or "minors", minors.evaluations, candidates=minors.candidates, proof=proved)

    def in_balls(p: Any) -> Sides:
        h = p.sigma * p.dt
        z = p.z - h * (p.s + p.alpha * p.y)
        y = p.y + h * z
        factor, constant = balls(p)
        return p.alpha * y**2 + z**2, factor * (p.alpha * p.y**2 + p.z**2) + constant

    def in_intervals(p: Any) -> Sides:
        step = p.dt * p.sigma
        momentum = p.z - (p.alpha * p.y + p.s) * step
        position = momentum * step + p.y
        factor, constant = intervals(p)
        return position**2 * p.alpha + momentum**2, constant + (p.z**2 + p.y**2 * p.alpha) * factor

    premises = (
        ALPHA_POSITIVE,
        STEP_BELOW_ONE,
        SIGMA_INSIDE,
        Hypothesis("|s| < 1", lambda p: 1 - p.s * p.s),
    )
    parameters = declared(
        *rationals("alpha", above=0),
        *rationals("dt", "sigma", above=0, below=1),
        *rationals("y", "z"),
        *rationals("s", above=-1, below=1),
    )
    return Case(domain, "H_n", ask, Inequality(in_balls, in_intervals, premises, parameters=parameters).check)


def _rises(growth: tuple[Growth, Growth], added: Growth) -> tuple[str, int]:
    """That growth and added rise with h on [0, 1], and added ≥ 0; "" if it fails; and the number of boxes."""
    alpha, h = variables("alpha", "h")
    positivities = []
    for factor, side in zip(growth, _SIDES, strict=True):
        plain = added(alpha, h)
        polynomials = (factor(alpha, h).derivative("h"), plain.derivative("h"), plain)
        positivities += [is_nonnegative(p, (side, (0, 1))) for p in polynomials]
    boxes = sum(positivity.boxes for positivity in positivities)
    if not all(positivity.holds for positivity in positivities):
        return "", boxes
    return "growth and the added term rise with h: their derivatives are polynomials ≥ 0 there, exactly", boxes


_SIDES: tuple[Side, Side] = ((0, 1), (1, None))


def _ranges(growth: tuple[Growth, Growth], added: Growth) -> Iterator[tuple[list[list[Any]], tuple[Side, ...]]]:
    alpha, h = variables("alpha", "h")
    for factor, side in zip(growth, _SIDES, strict=True):
        yield form(factor(alpha, h), added(alpha, h), alpha, h), (side, (0, 1))


def _interval_text(side: Side) -> str:
    return f"[{side[0]}, {'∞)' if side[1] is None else f'{side[1]}]'}"


def _state_where_negative(matrix: list[list[Any]], point: Parameters) -> Parameters:
    """A state and a control at which the form is negative, from its diagonalisation at (α, h)."""
    alpha, h = (Fraction(point[name]) for name in ("alpha", "h"))
    at = tuple(fmpq(x.numerator, x.denominator) for x in (alpha, h))
    violation = diagonalise(tuple(tuple(entry(*at) for entry in row) for row in matrix)).violation
    assert violation is not None
    y, z, s = (Fraction(int(x.p), int(x.q)) for x in violation[0])
    control = Fraction(999, 1000)
    scale = control / s if s else Fraction(1000)
    state = [(scale * x).limit_denominator(1000) for x in (y, z)]
    sigma = Fraction(999, 1000)
    return {
        "alpha": rational(alpha),
        "dt": rational(min(h / sigma, (1 + h) / 2)),
        "sigma": rational(sigma),
        "y": rational(state[0]),
        "z": rational(state[1]),
        "s": rational(control if s else Fraction(0)),
    }


def below_exponential(coefficients: Mapping[int, int], fourth_power: int) -> str:
    """A proof of Σ_k a_k dt^k max{1, √α}^k ≤ e^{c r}, r = dt max{1, √α}, c⁴ = ``fourth_power``; "" if it fails.

    Term by term against the Taylor series, whose terms are positive: a_k ≤ c^k/k!, that is (a_k k!)⁴ ≤ (c⁴)^k in whole
    numbers. 1 + dt + 2α dt² + 4α² dt⁴ is at most the left side with a_1 = 1, a_2 = 2, a_4 = 4. Nothing is proved of no
    terms, of negative orders, or of negative c⁴.
    """
    if not coefficients or min(coefficients) < 0 or min(coefficients.values()) < 0 or fourth_power < 0:
        return ""
    terms = [(k, (a * math.factorial(k)) ** 4, fourth_power**k) for k, a in sorted(coefficients.items())]
    if coefficients.get(0, 0) > 1 or any(left > right for k, left, right in terms if k > 0):
        return ""
    return "term by term, r = dt max{1, √α}: " + ", ".join(
        f"{coefficients[k]} ≤ c{_power(k)}/{k}! as {left} ≤ {right}" for k, left, right in terms if k > 0
    )


def _power(k: int) -> str:
    return "" if k == 1 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[k]
