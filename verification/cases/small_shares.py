"""Contributions with k/n → 0: n = j⁴, k = j³, so k/n = n^(−1/4), for j and 2j. Nothing rests on k in proportion to n.

A quantity is claimed to be at most C dt^power. Its slope is measured along j, 2j, …, n growing by 16 each time; it is
excluded where a slope, enclosed by both back-ends, falls short of the power by more than ``SHORT``. Exponents of such a
family are multiples of a quarter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import flint

from odernn.bounds.numbers import BALLS, FLOATS, Numbers
from verification.certify import scalar_stack
from verification.certify.scalar_stack import ScalarStack
from verification.certify.second import scalar_stack as scalar_stack_second
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.kinds import Constant, Integer, Kind, Rational
from verification.parameters import Parameter, declared

Quantity: TypeAlias = Literal["remainder", "factor"]
"""The remainder of sam (16), of one layer; or how far the factor of −h σ′(A_{k−1}) y_{k−1} (y^L_n − ȳ), of one layer
[B_n ⋯ B_k]_12, is from that at k = 2."""
SHORT = Fraction(1, 8)
BITS = 192
LADDER = {"smoke": (2, 3, 4), "standard": (2, 3, 4, 5, 6), "deep": (2, 3, 4, 5, 6, 8)}
CERTIFIED = 4
"""j of the coarser of the two certified lengths, n = 256 and 4096."""
FIELDS = ("alpha", "w", "b", "target", "horizon")


def case(stack: ScalarStack, quantity: Quantity, power: Fraction, *, domain: str, symbol: str) -> Case:
    """The quantity is at most C dt^power, at the T of the stack."""

    def ask(budget: Budget, _: int) -> Attempt:
        ladder = LADDER[budget.name]
        values = [abs(float(_first(stack, j, quantity, FLOATS))) for j in ladder]
        sizes = [4 * math.log(j) for j in ladder]  # log 1/dt, but for a constant
        slopes = [
            (math.log(values[i]) - math.log(values[i + 1])) / (sizes[i + 1] - sizes[i]) for i in range(len(values) - 1)
        ]
        shown = f"slope {slopes[-1]:.3f} at the finest, {slopes[0]:.3f} at the coarsest"
        between = f"L = {stack.layers}, V = {stack.v}, " if stack.layers > 1 else ""
        given = {name: str(getattr(stack, name)) for name in FIELDS} | {"j": str(CERTIFIED)}
        return Attempt(
            tried=f"n = j⁴, k = j³, j = {', '.join(map(str, ladder))}: α = {stack.alpha}, w = {stack.w}, "
            f"b = {stack.b}, {between}c = 0, ȳ = {stack.target}, zero input and states, T = {stack.horizon}: {shown}",
            evaluations=len(ladder),
            found=shown,
            claimed=f"slope {power} or more",
            candidates=(given,) if slopes[-1] < power - SHORT else (),
        )

    def check(parameters: Parameters) -> Check:
        given = ScalarStack.from_text({**stack.to_text(), **{name: parameters[name] for name in FIELDS}})
        j = int(parameters["j"])
        opinions = (
            _opinion("balls", lambda: _ball_slope(given, j, quantity), power),
            _opinion("mpmath", lambda: _interval_slope(given, j, quantity), power),
        )
        dt = given.horizon / j**4
        return Check(
            opinions=opinions,
            premises=(
                Premise("0 < dt < 1", str(min(dt, 1 - dt)), 0 < dt < 1),
                Premise("k = n^(3/4): k/n → 0", str(Fraction(1, j)), j > 1),
            ),
            limit=carried(given),
            words=f"{given.describe().rpartition(', k =')[0]}, k = n^(3/4), n = {j**4} and {(2 * j) ** 4}: "
            f"{opinions[0].text}, claimed {power} or more",
        )

    weights: dict[str, Kind] = {
        "alpha": Rational(above=0, most=100),
        "w": Rational(least=-10, most=10),
        "b": Rational(nonzero=True, least=-10, most=10),
        "target": Rational(),
        "horizon": Constant(stack.horizon),
    }
    parameters = declared(
        *(Parameter(name, weights[name]) for name in FIELDS),
        Parameter("j", Integer(2, CERTIFIED)),
        is_costly=True,
    )

    can_refute = quantity == "remainder" and power >= 2

    def carried(given: ScalarStack) -> str:
        return _remainder_limit(given) if can_refute else ""

    def look(p: Parameters) -> bool | None:
        """The estimate first, without which nothing certifies."""
        given, j = ScalarStack.from_text({**stack.to_text(), **{name: p[name] for name in FIELDS}}), int(p["j"])
        if not (j > 1 and 0 < given.horizon / j**4 < 1):
            return None
        return bool(carried(given)) and _opinion("balls", lambda: _ball_slope(given, j, quantity), power).violated

    return Case(domain, symbol, ask, parameters.guards(check, look, can_refute=can_refute), reading="limit")


# --- forward in floats and balls, backward in intervals


def _first(stack: ScalarStack, j: int, quantity: Quantity, numbers: Numbers) -> Any:
    states = scalar_stack.run(replace(stack, offset=j**3, ratio=Fraction(0)), j**4, numbers)
    if quantity == "remainder":
        return scalar_stack.remainder_of_one_layer(states)
    if stack.layers > 1:
        return scalar_stack.kernel(states) - scalar_stack.kernel(replace(states, stack=replace(states.stack, offset=2)))
    late, early = (scalar_stack.jacobian_product(states, k)[0][1] for k in (j**3, 2))
    return late - early


def _second(stack: ScalarStack, j: int, quantity: Quantity) -> Any:
    text = {**stack.to_text(), "ratio": "0", "offset": str(j**3)}
    if quantity == "remainder":
        return scalar_stack_second.value(text, j**4, "remainder, L = 1")
    late, early = scalar_stack_second.kernels(text, j**4, (j**3, 2))
    return late - early


def _ball_slope(stack: ScalarStack, j: int, quantity: Quantity) -> tuple[float, float]:
    with flint.ctx.workprec(BITS + _lost(stack)):
        coarse, fine = (abs(_first(stack, each, quantity, BALLS)) for each in (j, 2 * j))
        if coarse.contains(0) or fine.contains(0):
            raise ValueError("a ball contains 0")
        slope = (coarse / fine).log() / flint.arb(16).log()
        return float(slope.lower()), float(slope.upper())


def _interval_slope(stack: ScalarStack, j: int, quantity: Quantity) -> tuple[float, float]:
    with iv.workprec(BITS + _lost(stack)):
        coarse, fine = (abs(_second(stack, each, quantity)) for each in (j, 2 * j))
        if 0 in coarse or 0 in fine:
            raise ValueError("an enclosure contains 0")
        slope = iv.log(coarse / fine) / iv.log(iv.mpf(16))
        return float(slope.a), float(slope.b)


def _lost(stack: ScalarStack) -> int:
    """Bits by which enclosures widen: some e^{√(α + |w|) τ} and its square in all."""
    return math.ceil(4 * math.sqrt(stack.alpha + abs(stack.w)) * stack.horizon)


def _opinion(backend: str, slope: Callable[[], tuple[float, float]], power: Fraction) -> Opinion:
    try:
        low, high = slope()
    except ValueError as error:
        return Opinion(backend, False, str(error))
    return Opinion(backend, high < power - SHORT, f"slope {(low + high) / 2:.6f}")


def _remainder_limit(stack: ScalarStack) -> str:
    """Of w = 0: y_{k−1} ~ −tanh(b) τ_k²/2 with τ_k = τ n^(−1/4), and S(τ) = sin(√α τ)/√α < τ; τ = T/2."""
    if stack.w != 0 or not stack.alpha > 0 or stack.b == 0:
        return ""
    with flint.ctx.workprec(BITS):
        root, time = BALLS.exact(stack.alpha).sqrt(), BALLS.exact(stack.horizon / 2)
        gap = (root * time).sin() / root - time
        force = BALLS.exact(stack.b).tanh()
        miss = -(1 - (root * time).cos()) * force / BALLS.exact(stack.alpha) - BALLS.exact(stack.target)
        if gap.contains(0) or miss.contains(0):
            return ""
        return (
            f"thm-R: the remainder is −h σ′(A_{{k−1}}) y_{{k−1}} (y_n − ȳ)(S(τ_n, τ_{{k−1}}) − τ_n) + O(dt²); as "
            f"dt → 0, k = n^(3/4), S − τ_n tends to sin(√α τ)/√α − τ = {gap.str(6, radius=False)}, y_n − ȳ to "
            f"{miss.str(6, radius=False)}, and y_{{k−1}} is of order n^(−1/2): it is of order dt^(3/2)"
        )
