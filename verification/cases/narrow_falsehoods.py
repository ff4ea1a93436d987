"""Bounds that are false in a small region only: how often do the searches find them?

    |y_n| ≤ 11/10 · thm-S,  but  ≤ 9/10 · thm-S  where  (α, dt, σ̂(c), m)  lies in a box of volume v

A box restricts one to three of the parameters, each in linear or in logarithmic scale, v being its share of the range
in those scales. thm-S is attained, so that the bound fails in all of the box and nowhere else.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from odernn.bounds import sharp
from odernn.bounds.numbers import Numbers
from odernn.published.sources import Source
from verification.claim import Claim, Hypothesis, Part, Setting, StateBound

RANGES = {"alpha": (1e-3, 1000.0), "few alpha": (1e-3, 4.0), "dt": (1e-3, 0.999), "share": (0.01, 0.99), "m": (1, 32)}
"""Of α, once up to 4; of dt; of h/dt = σ̂(c); of m: where ``domains.drawn_points`` draws."""
INSIDE, OUTSIDE = Fraction(9, 10), Fraction(11, 10)


@dataclass(frozen=True)
class BoxSide:
    """low < parameter < high."""

    name: str
    low: float
    high: float

    def holds(self, alpha: Any, dt: Any, h: Any, m: int) -> bool:
        """Of floats, balls and intervals, certainly."""
        value = {"alpha": alpha, "few alpha": alpha, "dt": dt, "m": m, "share": h / dt}[self.name]
        return bool(self.low < value) and bool(value < self.high)


@dataclass(frozen=True)
class FalseBox:
    """A box of α, dt, σ̂(c), m, and its share of the volume."""

    sides: tuple[BoxSide, ...]
    volume: float

    def holds(self, alpha: Any, dt: Any, h: Any, m: int) -> bool:
        return all(side.holds(alpha, dt, h, m) for side in self.sides)


def drawn_region(rng: random.Random, volume: float) -> FalseBox:
    """A box of that volume somewhere; its sides are equal parts of the ranges of what it restricts."""
    names = rng.sample([rng.choice(("alpha", "few alpha")), "dt", "share", "m"], rng.randint(1, 3))
    part = volume ** (1 / len(names))
    sides = []
    for name in names:
        low, high = RANGES[name]
        start = rng.uniform(0, 1 - part)
        if name == "m":  # whole numbers: at least one of them
            first = 0.5 + 32 * start
            sides.append(BoxSide(name, first, max(first + 32 * part, math.floor(first + 1) + 0.25)))
        elif name == "few alpha" or rng.random() < 0.5:
            sides.append(BoxSide(name, low + (high - low) * start, low + (high - low) * (start + part)))
        else:
            scale = math.log(high / low)
            sides.append(BoxSide(name, low * math.exp(scale * start), low * math.exp(scale * (start + part))))
    return FalseBox(tuple(sides), volume)


def narrow_falsehood(region: FalseBox) -> Claim:
    """The bound on |y_n| that fails in the region alone."""

    def bound(s: Setting, numbers: Numbers) -> Any:
        sizes: Iterable[Any] = s.step_sizes
        if isinstance(s.step, int):
            (h,) = sizes
            factor = INSIDE if region.holds(s.alpha, s.dt, h, s.hidden_size) else OUTSIDE
            log = sharp.log_supremum_at(alpha=s.alpha, step_size=h, steps=s.step, quantity="position", numbers=numbers)
            return log + numbers.log(numbers.exact(factor))
        h = float(np.max(s.step_sizes))
        factor = INSIDE if region.holds(s.alpha, s.dt, h, s.hidden_size) else OUTSIDE
        return _log_suprema(float(s.alpha), h, int(s.steps)) + math.log(factor)

    def second_bound(s: Any, iv: Any) -> Any:
        (h,) = s.step_sizes
        factor = INSIDE if region.holds(s.alpha, s.dt, h, s.hidden_size) else OUTSIDE
        chebyshev, difference, total = iv.mpf(1), iv.mpf(1), iv.mpf(0)
        for _ in range(s.step):
            total += abs(chebyshev)
            difference -= s.alpha * h**2 * chebyshev
            chebyshev += difference
        return iv.log(total * h**2 * factor.numerator / factor.denominator)

    return Claim(
        id="a narrow falsehood",
        source=Source("library", "docs/power.md"),
        statement="|y_n| ≤ 11/10 thm-S, but 9/10 thm-S in a small region",
        semantics="real",
        state_bound=StateBound(
            parts=(Part("position", "max", bound, second_bound),),
            hypotheses=(Hypothesis("α ≥ 0", lambda s: s.alpha, False, lambda s: s.alpha),),
        ),
    )


@lru_cache(maxsize=10_000)
def _log_suprema(alpha: float, h: float, steps: int) -> np.ndarray:
    logs = sharp.log_supremum(alpha=alpha, step_size=np.array([h]), steps=steps, quantity="position")
    return np.array(logs).reshape(steps)
