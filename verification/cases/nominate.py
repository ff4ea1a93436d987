"""The first of a list of exact parameters that violates; a violation at one dt joined with one for all smaller dt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import Inequality
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Check, Parameters, Premise
from verification.exact_text import numbers
from verification.parameters import Declaration, Guarded

GLANCE_BITS = 96
ROOM = 1e-3
"""A candidate exceeds by more than this in the logarithm, so that it will certify."""


def glance(inequality: Inequality, parameters: Parameters, bits: int = GLANCE_BITS) -> tuple[float, float] | None:
    """Logarithms of both sides, in short balls; None if one is not known to be positive."""
    with flint.ctx.workprec(bits):
        given: dict[str, Any] = {}
        for name in parameters:
            values = [BALLS.exact(value) for value in numbers(parameters, name)]
            given[name] = values if name in inequality.lists else values[0]
        left, right = inequality.balls(SimpleNamespace(**given))
        if not (left > 0 and right > 0):
            return None
        return float(left.log().mid()), float(right.log().mid())


def first_violation(
    inequalities: tuple[Inequality, ...], points: Iterable[Parameters], tried: str, bits: int = GLANCE_BITS
) -> Attempt:
    """The first point that violates all the inequalities is the candidate; the sides of the first one are reported."""
    worst: tuple[float, float] | None = None
    count = 0
    for parameters in points:
        seen = [glance(inequality, parameters, bits) for inequality in inequalities]
        count += 1
        sides = seen[0]
        if sides is None:
            continue
        if all(pair is not None and pair[0] - pair[1] > ROOM for pair in seen):
            return Attempt(tried, count, *sides, candidates=(parameters,))
        if worst is None or sides[0] - sides[1] > worst[0] - worst[1]:
            worst = sides
    if worst is None:
        return Attempt(tried, count)
    return Attempt(tried, count, *worst)


def rounded_up(size: float) -> int:
    """The least whole number ≥ ``size`` of two digits and zeros."""
    power = max(0, math.floor(math.log10(size)) - 1)
    return math.ceil(size / 10.0**power) * int(10**power)


def joined(
    finite: Inequality, uniform: Inequality, text: Callable[[Parameters], str], parameters: Declaration
) -> Guarded:
    """The check of a violation at dt by the recursion itself, and, by both back-ends, of one for every smaller dt.

    ``uniform`` has on its left a lower bound of the measured side, and on its right an upper bound of the claimed one,
    for all 0 < dt' ≤ dt at the same horizon; ``text`` names the theorem.
    """

    def further(parameters: Parameters) -> tuple[Premise, ...]:
        given = {name: numbers(parameters, name) for name in parameters}
        exact = SimpleNamespace(**{name: v if name in uniform.lists else v[0] for name, v in given.items()})
        return tuple(premise.at(exact) for premise in uniform.hypotheses)

    def look(parameters: Parameters) -> bool | None:
        """The premises of the lower bound first: few places have them, and a run is long."""
        return finite.may_fail(parameters) if all(premise.holds for premise in further(parameters)) else None

    def check(parameters: Parameters) -> Check:
        at, premises = finite.check(parameters), further(parameters)
        limit = ""
        if all(premise.holds for premise in premises):  # outside them the formulas of the lower bound mean nothing
            below = uniform.check(parameters)
            if all(opinion.violated for opinion in below.opinions):
                limit = f"{text(parameters)}; for every smaller dt: {below.opinions[0].text}"
        return replace(at, premises=(*at.premises, *premises), limit=limit)

    return parameters.guards(check, look, finite.sizes)


# --- hyperbolic growth, uniform in dt


def growth_exponent_in_balls(W: Any, h: Any, time: Any) -> Any:
    """R₀ = τ√W asinh(x)/x, x = h√W/2: at most τ/h' times the rate 2 asinh(h'√W/2) for every h' ≤ h.   thm-J(c)"""
    x = h * W.sqrt() / 2
    return time * W.sqrt() * x.asinh() / x


def growth_exponent_in_intervals(W: Any, h: Any, time: Any) -> Any:
    """The same: (2τ/h) log(x + √(1 + x²))."""
    x = iv.sqrt(W) * h / 2
    return 2 * time / h * iv.log(x + iv.sqrt(x**2 + 1))
