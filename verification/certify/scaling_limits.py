"""Estimates uniform in dt for the scalar stack with w = 0: from one certified evaluation to the limit dt → 0.

Each returns a ``TwoSided``: c dt^e ≤ |quantity| ≤ C dt^e for **every** N ≥ N₀, with balls for c and C. They are thm-R
and thm-ML with w = 0, where all that the kernels are made of is known: with h ≤ h₀, τ = N h, θ = 2 asin(√α h/2),

    [B^m]_12 = h U_{m−1} = sin(mθ)/r,  between s m h and m h,  s = sin(a)/a,  a = τ θ₀/h₀ < π,
    a route of p hops contributes (−1)^p v^p R,  R between s^{p+1} g^p and 1 times h^{2p+1} C(N − k + 2p + 1, 2p + 1),

g the smallest σ′ that a layer above the first can meet, since |y| ≤ τ(τ + h)/2 there. Raises NoLimitError where a
hypothesis (w = 0, α ≥ 0, v > 0, a < π) fails or the lower estimate is not positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
from flint import arb

from odernn.bounds.numbers import BALLS
from odernn.bounds.routes import route_counts
from verification.certify.scalar_stack import ScalarStack

BITS = 192


class NoLimitError(ValueError):
    """The hypotheses of the uniform estimate are not certified at these parameters."""


@dataclass(frozen=True)
class TwoSided:
    """c dt^e ≤ |quantity| ≤ C dt^e for every N ≥ ``steps`` (or every smaller dt at that N); c > 0 certified."""

    power: int
    low: Any
    high: Any
    steps: int
    theorem: str
    fixed_steps: bool = False

    def contradicts(self, power: Fraction, side: str) -> bool:
        """Whether it excludes ≤ C′ dt^power ("at most"), ≥ c′ dt^power ("at least") or both of them, for small dt."""
        smaller, larger = self.power < power, self.power > power
        return {"at most": smaller, "at least": larger, "exactly": smaller or larger}[side]

    def describe(self) -> str:
        low, high = f"{float(self.low.lower()) * 0.999:.3g}", f"{float(self.high.upper()) * 1.001:.3g}"
        unit = {0: "", 1: " dt"}.get(self.power, f" dt^{self.power}")
        where = f"N = {self.steps} and every smaller dt" if self.fixed_steps else f"every N ≥ {self.steps}"
        return f"{self.theorem}: {low}{unit} ≤ |·| ≤ {high}{unit} for {where}"


@dataclass(frozen=True)
class _Setting:
    """What all estimates need, as balls."""

    stack: ScalarStack
    steps: int

    def __post_init__(self) -> None:
        if self.stack.w != 0 or self.stack.alpha < 0 or self.stack.v <= 0 or self.stack.b == 0:
            raise NoLimitError("the estimate is for w = 0, α ≥ 0, V > 0 and b ≠ 0")
        if not bool(self.angle < arb.pi()):
            raise NoLimitError("√α T′ is not below π")

    @property
    def h(self) -> Any:
        """h₀, the largest step."""
        return BALLS.exact(self.stack.horizon / (2 * self.steps))

    @property
    def time(self) -> Any:
        """τ = T/2."""
        return BALLS.exact(self.stack.horizon / 2)

    @property
    def alpha(self) -> Any:
        return BALLS.exact(self.stack.alpha)

    @property
    def rate(self) -> Any:
        """θ₀/h₀, the largest angle a unit of time; θ/h ≥ √α."""
        if self.stack.alpha == 0:
            return arb(0)
        half = self.alpha.sqrt() * self.h / 2
        if not bool(half < 1):
            raise NoLimitError("α h² is not below 4")
        return 2 * half.asin() / self.h

    @property
    def angle(self) -> Any:
        return self.time * self.rate

    @property
    def sine(self) -> Any:
        """s."""
        return arb(1) if self.stack.alpha == 0 else self.angle.sin() / self.angle

    @property
    def least_slope(self) -> Any:
        """g."""
        edges = 2 if self.stack.skip else 1
        largest = edges * BALLS.exact(self.stack.v) * self.time * (self.time + self.h) / 2
        return 1 - largest.tanh() ** 2

    def early(self) -> tuple[int, Any, Any]:
        """e, c, C with c h^e ≤ |y^1_{k−1}| ≤ C h^e."""
        bias = abs(BALLS.exact(self.stack.b).tanh())
        if self.stack.ratio:
            if self.stack.offset != 1:
                raise NoLimitError("the estimate is for k = 1 + ρ N")
            part = BALLS.exact(self.stack.ratio) * self.time
            return 0, bias * self.sine * part**2 / 2, bias * part * (part + self.h) / 2
        k = self.stack.offset
        if k < 2:
            raise NoLimitError("y_0 = 0: there is no contribution")
        return 2, bias * self.sine * (k * (k - 1)) / 2, bias * (k * (k - 1)) / 2

    def delay(self) -> tuple[Any, Any]:
        """Ends of (N − k + 1) h."""
        if self.stack.ratio:
            exact = (1 - BALLS.exact(self.stack.ratio)) * self.time
            return exact, exact
        return self.time - (self.stack.offset - 1) * self.h, self.time

    def miss(self) -> tuple[Any, Any]:
        """Ends of |y^L_N − ȳ|."""
        target = abs(BALLS.exact(self.stack.target))
        largest = self.time * (self.time + self.h) / 2
        return target - largest, target + largest

    def response(self, count_time: tuple[Any, Any]) -> Any:
        """A ball that holds sin(mθ)/r for every h ≤ h₀, m h between the ends."""
        low, high = count_time
        if self.stack.alpha == 0:
            return low.union(high)
        root = self.alpha.sqrt()
        angle = (low * root).union(high * self.rate)
        return angle.sin() / root.union(root * (1 - self.alpha * self.h**2 / 4).sqrt())


def contribution(stack: ScalarStack, steps: int) -> TwoSided:
    """|∂E^{(n,L)}_{k,1}/∂w^1|, k a fixed part of N or fixed, at fixed T.   thm-ML (1)"""
    with flint.ctx.workprec(BITS):
        here = _Setting(stack, steps)
        low, high = _kernel(here)
        return _assembled(here, low, high, "thm-R" if stack.layers == 1 else "thm-ML")


def remainder_of_one_layer(stack: ScalarStack, steps: int) -> TwoSided:
    """The contribution less the printed leading term: τ takes the place of the kernel S, and the gap stays."""
    with flint.ctx.workprec(BITS):
        here = _Setting(stack, steps)
        gap = here.time - here.response(here.delay())
        return _assembled(here, gap.lower(), gap.upper(), "thm-R, kernel S against τ")


def remainder_of_one_layer_at_fixed_steps(stack: ScalarStack, steps: int) -> TwoSided:
    """The same at fixed n and k, dt → 0: |nh − h U_{n−k}| is between (k − 1) h and (n − s(n − k + 1)) h."""
    with flint.ctx.workprec(BITS):
        here = _Setting(stack, steps)
        k = stack.step(steps)
        low, high = arb(k - 1), steps - here.sine * (steps - k + 1)
        bias = abs(BALLS.exact(stack.b).tanh())
        early = (bias * here.sine * (k * (k - 1)) / 2, bias * (k * (k - 1)) / 2)
        slope = 1 - bias**2
        low, high = _product(slope, early, here.miss(), (low, high))
        return _positive(TwoSided(4, low / 2**4, high / 2**4, steps, "thm-R at fixed n", fixed_steps=True))


def remainder_of_three_layers(stack: ScalarStack, steps: int) -> TwoSided:
    """The contribution less the one path that climbs at time n, which is at most τ v² h⁴ in place of the kernel."""
    with flint.ctx.workprec(BITS):
        here = _Setting(stack, steps)
        low, high = _kernel(here)
        one = here.time * BALLS.exact(stack.v) ** 2 * here.h**4
        return _assembled(here, low - one, high + one, "thm-ML, all paths against one")


def product_remainder(stack: ScalarStack, steps: int, first: int, form: str) -> TwoSided:
    """Max norm of the product of N − first + 1 Jacobians less (80) or (84): its entry (1, 2) does not tend to 0.

    (1, 2): |[B^m]_12 − m h| or |[B^m]_12 − τ|. Every entry is bounded as well, so the norm is of exact order 1.
    """
    with flint.ctx.workprec(BITS):
        here = _Setting(stack, steps)
        ends = (here.time - (first - 1) * here.h, here.time)
        shear = 1 / (1 - here.alpha * here.h**2 / 4).sqrt()
        if form == "(84)":
            low = (here.time - here.response(ends)).lower()
        else:  # sin(mθ)/(r m h) ≤ (sin a/a)(θ/h)/r at the smallest a = √α m h: the quotient falls on (0, π)
            root = here.alpha.sqrt()
            quotient = (root * ends[0]).sin() / (root * ends[0]) if here.stack.alpha else arb(1)
            low = ends[0] * (1 - quotient * (here.rate / root if here.stack.alpha else arb(1)) * shear)
        high = (3 + shear + 2 * here.time) * (1 + here.alpha)
        return _positive(TwoSided(0, low, high, steps, "thm-R, products of B solve S″ = −αS as dt → 0"))


def same_time(stack: ScalarStack, steps: int, block: str) -> TwoSided:
    """∂y^L_n/∂y^1_n ("y by y") or the norm of dX^L_n/dX^1_n: the shortest routes lead.   thm-ML (5)"""
    with flint.ctx.workprec(BITS):
        here = _Setting(stack, steps)
        counts = route_counts(stack.layers, stack.skip or None)
        shortest = min(counts)
        v = BALLS.exact(stack.v)
        longer = [(p, count) for p, count in counts.items() if p > shortest]
        others = sum((count * v**p * here.h ** (2 * (p - shortest)) for p, count in longer), arb(0))
        leading = counts[shortest] * v**shortest
        power = 2 * shortest - (block == "norm")
        scale = arb(2) ** -power
        low, high = leading * here.least_slope**shortest - others, leading + others
        return _positive(TwoSided(power, scale * low, scale * high, steps, f"thm-ML (5), {shortest} hops"))


def _kernel(here: _Setting) -> tuple[Any, Any]:
    """Ends of |K^{(L)}(N, k)|, all routes with their signs."""
    total_low, total_high = arb(0), arb(0)
    delay = here.delay()
    v = BALLS.exact(here.stack.v)
    for p, count in route_counts(here.stack.layers, here.stack.skip or None).items():
        q = 2 * p + 1
        low = here.sine ** (p + 1) * here.least_slope**p * delay[0] ** q / math.factorial(q)
        high = (delay[1] + (q - 1) * here.h) ** q / math.factorial(q)
        size = (count * v**p * low, count * v**p * high)
        if p % 2:
            total_low, total_high = total_low - size[1], total_high - size[0]
        else:
            total_low, total_high = total_low + size[0], total_high + size[1]
    if bool(total_low > 0):
        return total_low, total_high
    if bool(total_high < 0):
        return -total_high, -total_low
    raise NoLimitError("routes of opposite sign are not separated")


def _assembled(here: _Setting, low: Any, high: Any, theorem: str) -> TwoSided:
    """h σ′(b) |y_{k−1}| |y_N − ȳ| times a kernel between ``low`` and ``high``, in powers of dt = 2h."""
    extra, *early = here.early()
    slope = 1 - BALLS.exact(here.stack.b).tanh() ** 2
    power = 1 + extra
    low, high = _product(slope, tuple(early), here.miss(), (low, high))
    return _positive(TwoSided(power, low / 2**power, high / 2**power, here.steps, theorem))


def _product(scale: Any, *factors: tuple[Any, Any]) -> tuple[Any, Any]:
    """Ends of a product of positive factors."""
    low = high = scale
    for ends in factors:
        if not bool(ends[0] > 0):
            raise NoLimitError("a factor is not certified to be positive")
        low, high = low * ends[0], high * ends[1]
    return low, high


def _positive(estimate: TwoSided) -> TwoSided:
    if not (bool(estimate.low > 0) and bool(estimate.high > estimate.low)):
        raise NoLimitError("the lower estimate is not positive")
    return estimate
