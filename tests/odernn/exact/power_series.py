"""Methods on polynomial fields in exact power series of h: an oracle that knows stages and derivatives, and no trees.

A number is FLINT's truncated series Σ a_k hᵏ with rational a_k. Fields are sums of ridges, Σ_k C_k (l_k · y)^{d_k}:
their derivatives of any order are one line.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_series

LENGTH = 8
"""Coefficients of h⁰, …, h⁷."""


def series(x: Any) -> fmpq_series:
    """A number as a series."""
    x = Fraction(x)
    return fmpq_series([fmpq(x.numerator, x.denominator)], prec=LENGTH)


H = fmpq_series([0, 1], prec=LENGTH)

Point = list[fmpq_series]


@dataclass(frozen=True)
class Ridges:
    """f(y) = Σ_k C_k (l_k · y)^{d_k}: R^n → R^m."""

    C: tuple[tuple[int, ...], ...]
    l: tuple[tuple[int, ...], ...]
    d: tuple[int, ...]

    @classmethod
    def random(cls, seed: int, size: int, degree: int, outputs: int | None = None) -> Ridges:
        """One ridge of each degree from 0 to ``degree``."""
        draw = random.Random(seed)

        def vector(n: int) -> tuple[int, ...]:
            return tuple(draw.choice((-2, -1, 1, 2)) for _ in range(n))

        d = tuple(range(degree + 1))
        return cls(tuple(vector(outputs or size) for _ in d), tuple(vector(size) for _ in d), d)

    def __call__(self, y: Point) -> Point:
        return self.derivative(y, [])

    def derivative(self, y: Point, directions: Sequence[Point]) -> Point:
        """f^{(m)}(y)[v₁, …, v_m]."""
        found = [series(0)] * len(self.C[0])
        m = len(directions)
        for C, l, d in zip(self.C, self.l, self.d, strict=True):
            if d < m:
                continue
            value = _power(_dot(l, y), d - m)
            for factor in range(d - m + 1, d + 1):
                value = value * factor
            for v in directions:
                value = value * _dot(l, v)
            found = [x + value * c for x, c in zip(found, C, strict=True)]
        return found


def _dot(l: Sequence[int], y: Point) -> fmpq_series:
    return sum((x * a for a, x in zip(l, y, strict=True)), series(0))


def _power(x: fmpq_series, n: int) -> fmpq_series:
    found = series(1)
    for _ in range(n):
        found = found * x
    return found


def exact_flow(f: Callable[[Point], Point], y: Point) -> Point:
    """y(h), by Picard's iteration, each of which adds a power of h. y is a constant in time, and no series in h."""
    found = y
    for _ in range(LENGTH):
        found = [start + slope.integral() for start, slope in zip(y, f(found), strict=True)]
    return found


def step(A: Sequence[Sequence[Any]], b: Sequence[Any], f: Callable[[Point], Point], y: Point) -> Point:
    """One Runge–Kutta step, implicit stages by fixed-point iteration, each of which adds a power of h."""
    slopes = [f(y)] * len(b)
    for _ in range(LENGTH):
        slopes = [f(_moved(y, row, slopes)) for row in A]
    return _moved(y, b, slopes)


def _moved(y: Point, weights: Sequence[Any], slopes: Sequence[Point]) -> Point:
    """y + h Σ w_j k_j."""
    used = [(w, slope) for w, slope in zip(weights, slopes, strict=True) if w != 0]
    return [x + H * sum((slope[n] * w for w, slope in used), series(0)) for n, x in enumerate(y)]


def point(seed: int, size: int) -> Point:
    draw = random.Random(seed)
    return [series(Fraction(draw.randint(-3, 3), draw.randint(2, 4))) for _ in range(size)]


def agreement(one: Point, other: Point) -> int:
    """The largest p with one = other + O(h^{p+1})."""
    differences = [x - y for x, y in zip(one, other, strict=True)]
    return next((k - 1 for k in range(LENGTH) if any(d[k] != 0 for d in differences)), LENGTH - 1)
