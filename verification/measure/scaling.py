"""Slopes: how a quantity scales with a step. Log-log fits with their errors, and the slopes between neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import stdtrit

LEAST_REFINEMENTS = 5
HALF_A_POWER = 0.5
"""Claimed exponents are integers: a slope further than this from one is nearer to another."""
CONFIDENCE = 0.95


class SlopeError(ValueError):
    """Values that have no slope: too few, not positive or not finite."""


@dataclass(frozen=True)
class Slope:
    """The exponent p of |quantity| ~ C x^p, fitted on ``local`` + 1 points.

    value, error    least squares on logarithms and its standard error
    low, high       the confidence interval by Student's t
    local           log ratios between neighbouring points, coarsest first; the last is the nearest to the limit
    """

    value: float
    error: float
    low: float
    high: float
    local: tuple[float, ...]

    @property
    def finest(self) -> float:
        return self.local[-1]

    def is_near(self, power: float) -> bool:
        """Whether the finest local slope is within half a power: the coarse ones may not have converged."""
        return abs(self.finest - power) <= HALF_A_POWER

    def describe(self) -> str:
        """ "slope 1.02 ± 0.01 over 6 refinements, 1.00 at the finest"."""
        return (
            f"slope {_two_digits(self.value)} ± {self.error:.2f} over {len(self.local)} refinements, "
            f"{_two_digits(self.finest)} at the finest"
        )


def _two_digits(value: float) -> str:
    """Without the sign of a rounded zero."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def local_slopes(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, ...]:
    """log|v_i / v_{i+1}| / log(x_i / x_{i+1}) between neighbours."""
    x, y = _logs(sizes, values)
    return tuple(map(float, np.diff(y) / np.diff(x)))


def fit(sizes: Sequence[float], values: Sequence[float]) -> Slope:
    """The log-log slope over at least five refinements. Raises SlopeError for values that have none."""
    x, y = _logs(sizes, values)
    if len(x) <= LEAST_REFINEMENTS:
        raise SlopeError(f"{len(x)} points are {len(x) - 1} refinements; a slope needs {LEAST_REFINEMENTS}.")
    centred = x - x.mean()
    spread = float(centred @ centred)
    value = float(centred @ y) / spread
    residual = y - y.mean() - value * centred
    freedom = len(x) - 2
    error = math.sqrt(float(residual @ residual) / freedom / spread)
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    return Slope(value, error, value - reach, value + reach, tuple(map(float, np.diff(y) / np.diff(x))))


def _logs(sizes: Sequence[float], values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(sizes, dtype=float), np.abs(np.asarray(values, dtype=float))
    if len(x) != len(y) or len(x) < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise SlopeError("A slope needs two or more finite sizes and as many finite values.")
    if not ((x > 0).all() and (y > 0).all()):
        raise SlopeError("A slope needs sizes and values other than 0; a quantity that vanishes has none.")
    return np.log(x), np.log(y)


@dataclass(frozen=True)
class Ladder:
    """Refinements of dt: N doubles at fixed T, or T halves at fixed N. ``rungs`` are (T, N), dt = T/N."""

    rungs: tuple[tuple[Fraction, int], ...]

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """dt of every rung."""
        return tuple(horizon / count for horizon, count in self.rungs)


def fixed_horizon(horizon: Fraction, coarsest: int, refinements: int) -> Ladder:
    """T fixed, N = coarsest · 2^i."""
    return Ladder(tuple((horizon, coarsest * 2**i) for i in range(refinements + 1)))


def fixed_steps(horizon: Fraction, count: int, refinements: int) -> Ladder:
    """N fixed, T = horizon / 2^i."""
    return Ladder(tuple((horizon / 2**i, count) for i in range(refinements + 1)))
