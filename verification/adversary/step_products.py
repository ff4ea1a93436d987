"""The largest product of step Jacobians that free inputs of a first layer make, by coordinate ascent in floats.

Layers q = 1..L of one neuron, V = 1 between them, h the same in all. The inputs are free, so that κ_n = α + w σ′ of the
first is any number in (α, α + w]; the others are near rest, κ = α + w^q and σ′ = 1. The derivative of (y^L, z^L) at the
end by (y^1, z^1) at the start is linear in each κ_n: the ends of the interval suffice, one n after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_SWEEPS = 60
_SEEDS = ((1.0, 1.0), (1.0, -1.0))
"""Of (y, z) at the start; ‖·‖_∞ of a row is its product with one of them, up to the sign."""


@dataclass(frozen=True)
class StepProduct:
    """‖dX^L_n/dX^1_k‖_∞ at least ``norm``, with κ = α + w at the steps where ``high``, else α."""

    norm: float
    high: tuple[bool, ...]


def largest(alpha: float, w: Sequence[float], h: float, count: int, *, starts: int = 6) -> StepProduct:
    """Over ``count`` steps, w of every layer; from square waves at twice the frequency of the oscillator."""
    rng, best = np.random.default_rng(0), StepProduct(0.0, ())
    frequency = 2 * math.asin(min(0.999, h * math.sqrt(alpha + w[0] / 2) / 2))
    for start in range(starts):
        waves = (np.cos(2 * frequency * np.arange(count) + rng.uniform(0, 2 * math.pi)) > 0).tolist()
        end = (0.0, 1.0) if start % 2 == 0 else (1.0, 0.0)
        for seed in _SEEDS:
            found = _ascended(alpha, w, h, list(waves), seed, end)
            best = max(best, found, key=lambda each: each.norm)
    return best


def _ascended(
    alpha: float, w: Sequence[float], h: float, high: list[bool], seed: tuple[float, float], end: tuple[float, float]
) -> StepProduct:
    last, depth = -1.0, len(w)
    for _ in range(MOST_SWEEPS):
        value, positions = _forward(alpha, w, h, high, seed, end)
        if abs(value) <= last * (1 + 1e-12):
            break
        last, sign = abs(value), math.copysign(1.0, value)
        p, q = [0.0] * depth, [0.0] * depth  # derivatives of the value by y, z of every layer
        p[-1], q[-1] = end
        for n in range(len(high) - 1, -1, -1):
            for k in range(depth - 1, 0, -1):
                q[k] += h * p[k]
                p[k - 1] -= h * q[k]
                p[k] -= h * (alpha + w[k]) * q[k]
            q[0] += h * p[0]
            high[n] = -sign * h * q[0] * positions[n] > 0
            p[0] -= h * (alpha + w[0] * high[n]) * q[0]
    return StepProduct(abs(_forward(alpha, w, h, high, seed, end)[0]), tuple(high))


def _forward(
    alpha: float,
    w: Sequence[float],
    h: float,
    high: Sequence[bool],
    seed: tuple[float, float],
    end: tuple[float, float],
) -> tuple[float, list[float]]:
    """end · (y^L, z^L) after the steps, and y^1 before each of them; layers above see y^1 of the start at once."""
    y, z = [seed[0]], [seed[1]]
    for k in range(1, len(w)):
        z.append(-h * y[k - 1])
        y.append(h * z[k])
    positions = []
    for is_high in high:
        positions.append(y[0])
        z[0] -= h * (alpha + w[0] * is_high) * y[0]
        y[0] += h * z[0]
        for k in range(1, len(w)):
            z[k] -= h * ((alpha + w[k]) * y[k] + y[k - 1])
            y[k] += h * z[k]
    return end[0] * y[-1] + end[1] * z[-1], positions
