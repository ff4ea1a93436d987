"""States of the ODE y″ = f − αy, |f| ≤ 1, from rest: their suprema over all controls against printed bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import ALPHA_POSITIVE, Inequality
from verification.certify import linear_flow
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import rational
from verification.kinds import Constant, Rational
from verification.measure import ode
from verification.measure.polynomials import coefficient
from verification.parameters import Parameter, declared

PIECES = 4096
FAR = 64
"""Suprema over x = √α t are enclosed on (0, FAR] in PIECES balls, and beyond by ∫_0^x |sin|, |cos| ≤ 2(x/π + 1)."""


@dataclass(frozen=True)
class StateQuantity:
    """A quantity per neuron: its squared supremum is at most c·t^power, c = sup over x = √α t of ``of_ball``(x)².

    ``of_float``(x)² t^power is reached by some control, in the limit; ``value``(y, z, α) is the quantity itself.
    ``tail`` times 2/π + 2/FAR bounds of_ball beyond FAR; 0 where of_ball is constant.
    """

    name: str
    power: int
    of_float: Callable[[Any], Any]
    of_ball: Callable[[Any], Any]
    value: Callable[[Any, Any, Any], Any]
    tail: Fraction = Fraction(1)


def _mean_sine(x: Any) -> Any:
    """(1/x)∫_0^x |sin| ≤ this, a ball: exact up to π, then the integral at the upper end over the lower end."""
    if x < 3:
        return x / 2 * (x / 2).sinc() ** 2
    lower, upper = x.lower(), x.upper()
    k = math.floor(float(upper) / math.pi)
    return (2 * k + 1 - (upper - k * flint.arb.pi()).cos()) / lower


def _mean_cosine(x: Any) -> Any:
    if x < 1.5:
        return x.sinc()
    lower, upper = x.lower(), x.upper()
    moved = upper + flint.arb.pi() / 2
    k = math.floor(float(moved) / math.pi)
    return (2 * k - (moved - k * flint.arb.pi()).cos()) / lower


def _mean_square(x: Any) -> Any:
    """∫_0^x |sin| / x²."""
    return (x / 2).sinc() ** 2 / 2 if x < 3 else _mean_sine(x) / x


POSITION = StateQuantity("α|y|²", 2, lambda x: ode.sine_area(x) / x, _mean_sine, lambda y, z, alpha: alpha * y * y)
MOMENTUM = StateQuantity("|z|²", 2, lambda x: ode.cosine_area(x) / x, _mean_cosine, lambda y, z, alpha: z * z)
ENERGY = StateQuantity(
    "α|y|² + |z|²",
    2,
    lambda x: np.abs(np.sinc(x / (2 * np.pi))),
    lambda x: 1 + 0 * x,
    lambda y, z, alpha: alpha * y * y + z * z,
    Fraction(0),
)
UNDAMPED_POSITION = StateQuantity(
    "|y|²", 4, lambda x: 0.5 + 0 * x, lambda x: flint.arb(1) / 2, lambda y, z, alpha: y * y, Fraction(0)
)
UNDAMPED_MOMENTUM = StateQuantity(
    "|z|²", 2, lambda x: 1.0 + 0 * x, lambda x: flint.arb(1), lambda y, z, alpha: z * z, Fraction(0)
)
POSITION_ALONE = StateQuantity(
    "|y|²", 4, lambda x: ode.sine_area(x) / x**2, _mean_square, lambda y, z, alpha: y * y, Fraction(1, FAR)
)


def supremum_ball(shape: StateQuantity) -> Any:
    """An upper bound on c, in balls, over all x > 0."""
    with flint.ctx.workprec(96):
        worst = BALLS.exact(shape.tail) * (2 / flint.arb.pi() + flint.arb(2) / FAR)
        width = Fraction(FAR, PIECES)
        for k in range(PIECES):
            x = BALLS.exact(k * width).union(BALLS.exact((k + 1) * width))
            worst = worst.max(shape.of_ball(x).abs_upper())
        return worst * worst


@dataclass(frozen=True)
class Bound:
    """The right side per neuron, (factor)·e^{rate}·t^power·e^{growth·t}."""

    factor: Fraction = Fraction(1)
    rate: Fraction = Fraction(0)
    power: int = 0
    growth: Fraction = Fraction(0)

    def float(self, t: Any) -> Any:
        return float(self.factor) * np.exp(float(self.rate) + float(self.growth) * t) * t**self.power

    def ball(self, t: Any) -> Any:
        exponent = coefficient(self.rate) + coefficient(self.growth) * t
        return coefficient(self.factor) * exponent.exp() * t**self.power

    def interval(self, t: Any) -> Any:
        constant = second.iv.mpf(self.rate.numerator) / self.rate.denominator
        exponent = t * self.growth.numerator / self.growth.denominator + constant
        return t**self.power * second.iv.exp(exponent) * self.factor.numerator / self.factor.denominator

    def exceeds(self, c: Any, power: int, horizon: int) -> bool:
        """c t^power ≤ right side for 0 < t ≤ horizon, proved in balls: both divided by t^(own power)."""
        rest = power - self.power
        if rest < 0:
            return False
        pieces = 256 * horizon
        for k in range(pieces):
            t = BALLS.exact(Fraction(k, 256)).union(BALLS.exact(Fraction(k + 1, 256)))
            exponent = coefficient(self.rate) + coefficient(self.growth) * t
            if not c * t.upper() ** rest <= coefficient(self.factor) * exponent.exp():
                return False
        return True


ALPHA_ZERO = Hypothesis("α = 0", lambda p: -abs(p.alpha), strict=False)
LARGEST, LATEST = 10**6, 10**4
_BIASES = tuple(map(Fraction, (1, 2, 3, 5, 8, 20)))


def state_case(domain: str, shape: StateQuantity, bound: Bound, *, horizon: int | None, undamped: bool = False) -> Case:
    """sup of the quantity ≤ right side for 0 < t ≤ ``horizon``, or for all t > 0 if that is None; m = 1."""

    def balls(p: Any) -> tuple[Any, Any]:
        y, z = linear_flow.in_balls(0 * p.t, 0 * p.t, p.alpha, p.b.tanh(), p.t)
        return shape.value(y, z, p.alpha), bound.ball(p.t)

    def intervals(p: Any) -> tuple[Any, Any]:
        zero = second.iv.mpf(0)
        y, z = linear_flow.in_intervals(zero, zero, p.alpha, second.tanh(p.b), p.t)
        return shape.value(y, z, p.alpha), bound.interval(p.t)

    premises = [Hypothesis("t > 0", lambda p: p.t)]
    if horizon is not None:
        premises.append(Hypothesis(f"t ≤ {horizon}", lambda p: horizon - p.t, strict=False))
    premises.append(ALPHA_ZERO if undamped else ALPHA_POSITIVE)
    parameters = declared(
        Parameter("alpha", Constant(0) if undamped else Rational(above=0, most=LARGEST)),
        Parameter("t", Rational(above=0, most=LATEST if horizon is None else horizon)),
        Parameter("b", Rational(least=-LARGEST, most=LARGEST)),
    )
    check = Inequality(balls, intervals, tuple(premises), parameters=parameters).check

    def ask(budget: Budget, _: int) -> Attempt:
        size = {"smoke": 256, "standard": 1024, "deep": 4096}[budget.name]
        longest = 32 if horizon is None else horizon
        t = np.concatenate([np.geomspace(1e-3, longest, size), np.arange(1, 4 * longest + 1) / 4])[:, None]
        x = np.geomspace(1e-3, 20.0, size)
        left = shape.of_float(x) ** 2 * t**shape.power
        gap = np.log(left) - np.log(bound.float(t))
        worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
        known = ode.largest_mean_sine()
        violated = bool(gap[worst] > 1e-9)
        candidates = _constant_controls(shape, bound, t[:, 0], x, gap, horizon, undamped) if violated else ()
        proof = "" if candidates else _proof(shape, bound, horizon)
        return Attempt(
            tried=f"{gap.size} pairs (t, √αt), the supremum over all controls in closed form",
            evaluations=gap.size,
            log_measured=float(np.log(left[worst])),
            log_claimed=float(np.log(bound.float(t[worst[0], 0]))),
            candidates=candidates,
            proof=proof,
            control=float((ode.sine_area(x) / x).max() / known),
        )

    return Case(domain, shape.name, ask, check, is_search=True)


def _proof(shape: StateQuantity, bound: Bound, horizon: int | None) -> str:
    c = supremum_ball(shape)
    if horizon is None:
        is_same = shape.power == bound.power and bound.growth == 0 <= bound.rate
        if not (is_same and c <= coefficient(bound.factor)):
            return ""
        return f"over all t, every α, control and m: {shape.name} ≤ m c t^{shape.power} (thm-C), c ≤ {bound.factor}"
    if not bound.exceeds(c, shape.power, horizon):
        return ""
    return (
        f"over 0 < t ≤ {horizon}, every α, control and m: {shape.name} ≤ m c t^{shape.power} (thm-C), c ≤ "
        f"{float(c.upper()):.4f} in {PIECES} balls of x = √αt ≤ {FAR} and by ∫_0^x |sin|, |cos| ≤ 2(x/π + 1) beyond; "
        f"and c t^{shape.power} is below the right side in {256 * horizon} balls of t"
    )


def _constant_controls(
    shape: StateQuantity, bound: Bound, t: Any, x: Any, gap: Any, horizon: int | None, undamped: bool
) -> tuple[Parameters, ...]:
    """Readable t, α and bias for which the constant control violates in floats."""
    worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
    near = Fraction(float(t[worst[0]]))
    whole = map(Fraction, range(1, (horizon or 32) + 1))
    times = sorted({near.limit_denominator(4) or Fraction(1, 4), near.limit_denominator(1000), *whole})
    limit = math.inf if horizon is None else horizon
    for b in _BIASES:
        for time in times:
            if not 0 < time <= limit:
                continue
            wanted = Fraction((float(x[worst[1]]) / float(time)) ** 2).limit_denominator(100)
            for alpha in (Fraction(0),) if undamped else (wanted or Fraction(1, 100), Fraction(1)):
                y, z = ode.flow(0.0, 0.0, float(alpha), math.tanh(-float(b)), float(time))
                if shape.value(y, z, float(alpha)) > (1 + 1e-9) * bound.float(float(time)):
                    return ({"alpha": rational(alpha), "t": rational(time), "b": rational(-b)},)
    return (
        {
            "alpha": "0" if undamped else rational(Fraction(float(x[worst[1]]) ** 2).limit_denominator(100)),
            "t": rational(times[-1]),
            "b": "-20",
        },
    )
