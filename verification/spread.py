"""Places spread over what a case declares: every number evenly over its range, in linear and in logarithmic scale.

    α in (0, 100]:  half of the places evenly in α, half evenly in log α from 1/1000 on

A search that draws independently leaves holes; here the n places of a run are a Latin hypercube: of each number, one
place in every n-th part of its range, and what goes with what is drawn. A kind of numbers asks for its share of the
range (``Spread.share``); any other kind draws from the same source as it does from ``random.Random``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

FEW, MANY, FINE = 4, 1000, 1e-3
"""A number without a limit is spread up to ``FEW`` in linear and up to ``MANY`` in logarithmic scale; a logarithmic
scale begins at ``FINE``, or at that part of a range below 1.
"""
MOST_SHARES = 64
"""Numbers of a place that are spread; those after them are drawn."""


@dataclass(frozen=True)
class Scale:
    """From a share of the range, 0 … 1, to a number: evenly, or evenly in the logarithm of its distance from
    ``origin``, on both sides of it where ``below`` is more than 0.
    """

    origin: float
    below: float
    above: float
    is_log: bool

    def at(self, share: float) -> float:
        """The number there; a share of 0 is the lower end."""
        if not self.is_log:
            return self.origin - self.below + share * (self.below + self.above)
        part = self.below / (self.below + self.above)
        if share < part or not self.above:
            return self.origin - _logarithmic(self.below, 1 - share / part)
        return self.origin + _logarithmic(self.above, (share - part) / (1 - part))


def _logarithmic(most: float, share: float) -> float:
    """From the finest to ``most``."""
    finest = FINE * min(most, 1.0)
    return float(finest * (most / finest) ** share)


@lru_cache(maxsize=256)
def scales(low: float | None, high: float | None) -> tuple[Scale, Scale]:
    """The linear and the logarithmic scale of the numbers between two limits, either of which may be missing."""
    if low is None and high is None:
        return Scale(0.0, FEW, FEW, False), Scale(0.0, MANY, MANY, True)
    if high is None:
        assert low is not None
        return Scale(low, 0.0, FEW, False), Scale(low, 0.0, MANY, True)
    if low is None:
        return Scale(high, FEW, 0.0, False), Scale(high, MANY, 0.0, True)
    linear = Scale(low, 0.0, high - low, False)
    if low < 0 < high:
        return linear, Scale(0.0, -low, high, True)
    if high <= 0:
        return linear, Scale(high, high - low, 0.0, True)
    return linear, Scale(low, 0.0, high - low, True)


class Spread(random.Random):
    """The source of n places, and of as many more as are asked for: the same from the same seed."""

    def __init__(self, seed: str, count: int) -> None:
        super().__init__(seed)
        self.count = count
        self._name = seed
        self._place = -1
        self._asked = 0
        self._orders: dict[int, list[int]] = {}

    def advance(self) -> None:
        """To the next place."""
        self._place += 1
        self._asked = 0
        if self._place % self.count == 0:
            self._orders.clear()  # the next n places are spread for themselves

    def share(self) -> float:
        """Of the range of the next number of this place: evenly spread over the n places."""
        number = self._asked
        self._asked += 1
        if number >= MOST_SHARES:
            return self.random()
        if number not in self._orders:
            rng = random.Random(f"{self._name} {self._place // self.count} {number}")
            self._orders[number] = rng.sample(range(self.count), self.count)
        return (self._orders[number][self._place % self.count] + self.random()) / self.count


def short(value: float, digits: int = 3) -> Fraction:
    """A number of so many digits, short to write and to compute with."""
    leading, _, power = f"{value:.{digits - 1}e}".partition("e")
    whole, shift = int(leading.replace(".", "")), int(power) - digits + 1
    return Fraction(whole * 10**shift) if shift >= 0 else Fraction(whole, 10**-shift)


def spread_number(
    source: Spread, low: Fraction | int | None, high: Fraction | int | None, admits: Callable[[Fraction], bool]
) -> Fraction | None:
    """A short number at the next share of its range, None if none is admitted near it: half of them in each scale."""
    share = source.share()
    linear, logarithmic = scales(None if low is None else float(low), None if high is None else float(high))
    scale, part = (linear, 2 * share) if share < 0.5 else (logarithmic, 2 * share - 1)
    distance = scale.at(part) - scale.origin
    if not math.isfinite(distance):
        return None
    for digits in (3, 6):
        value = short(distance, digits)
        if scale.origin:
            value += Fraction(scale.origin)
        if admits(value):
            return value
    return None


def spread_whole(source: Spread, low: int, high: int) -> int:
    """A whole number at the next share of its range, half of them in each scale: every one of low … high may come."""
    share = source.share()
    if share < 0.5:
        return min(high, low + int(2 * share * (high - low + 1)))
    return min(high, low - 1 + int((high - low + 2) ** (2 * share - 1)))
