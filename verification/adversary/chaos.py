"""Adversaries that look for growing perturbations: driven stacks drawn at random, and loops of prescribed s_n.

All values drawn are hundredths, so that what is found in floats is exact already.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from verification.adversary import CPU
from verification.certify.divergence import Loop, Stack, loop_by_steps
from verification.measure import lyapunov

MOST_RADIUS = 1000.0
LEAST_RADIUS = 0.05
"""An orbit that never leaves this box is taken for one at rest: unstable, perhaps, but not what is looked for here."""


@dataclass(frozen=True)
class StackRange:
    """Where stacks are drawn from; w in (low, high) of every layer, α log-uniform, the input constant or a square wave
    of amplitude up to ``amplitude`` with one of the half periods.
    """

    layers: int
    w: tuple[float, float]
    alpha: tuple[float, float]
    amplitude: float
    half_periods: tuple[int, ...]

    @property
    def is_constant(self) -> bool:
        return not self.half_periods


@dataclass(frozen=True)
class Grown:
    """A stack, its late exponent per unit of effective time in floats, and the steps that e^32 = 8e13 takes."""

    stack: Stack
    exponent: float
    steps: int


def stacks(where: StackRange, count: int, steps: int, seed: int, device: torch.device = CPU) -> tuple[list[Grown], int]:
    """The bounded orbits with the largest growth a step, best first; and how many were tried."""
    generator = np.random.default_rng(seed)
    groups = where.half_periods or (1,)
    grown: list[Grown] = []
    for half_period in groups:
        grown += _group(where, half_period, count // len(groups), steps, generator, device)
    grown.sort(key=lambda orbit: orbit.steps)
    return grown[:5], count // len(groups) * len(groups)


def _group(
    where: StackRange, half_period: int, count: int, steps: int, generator: np.random.Generator, device: torch.device
) -> list[Grown]:
    def drawn(low: float, high: float, rows: int = where.layers) -> np.ndarray:
        inside = np.clip(np.round(generator.uniform(low, high, (rows, count)) * 100), math.floor(low * 100) + 1, None)
        return np.asarray(np.minimum(inside, math.ceil(high * 100) - 1))

    alpha = np.maximum(
        np.round(100 * np.exp(generator.uniform(math.log(where.alpha[0]), math.log(where.alpha[1]), count))), 1
    )
    w, h = drawn(*where.w), drawn(0.05, 0.5)
    V, b = drawn(-8, 8), drawn(-1, 1)
    V[0], b[0] = 100, 0  # the input itself is arbitrary
    amplitude = drawn(0, where.amplitude, 1)
    if where.is_constant:
        amplitude = drawn(-where.amplitude, where.amplitude, 1)
        u = amplitude
    else:
        u = np.concatenate([np.repeat(amplitude, half_period, 0), -np.repeat(amplitude, half_period, 0)])
    drawn_alpha, *rows = (torch.from_numpy(hundredths / 100.0).to(device) for hundredths in (alpha, w, h, V, b, u))
    exponents = lyapunov.of_stacks(drawn_alpha, rows[0], rows[1], rows[2], rows[3], rows[4], steps)
    late, radius = exponents.late.cpu().numpy(), exponents.radius.cpu().numpy()
    good = np.isfinite(late) & (radius < MOST_RADIUS) & (radius > LEAST_RADIUS)
    a_step = np.where(good, late * h[-1] / 100, -np.inf)

    def exact(values: np.ndarray) -> tuple[Fraction, ...]:
        return tuple(Fraction(int(value), 100) for value in values)

    return [
        Grown(
            Stack(
                Fraction(int(alpha[i]), 100),
                exact(w[:, i]),
                exact(h[:, i]),
                exact(V[:, i]),
                exact(b[:, i]),
                exact(u[:, i]),
            ),
            float(late[i]),
            2 * math.ceil(16 / a_step[i]),
        )
        for i in np.argsort(-a_step)[:5]
        if a_step[i] > 0.005
    ]


def stack_control(steps: int, device: torch.device = CPU) -> float:
    """The share of the exact exponent that the estimate reaches where thm-J(c) gives it: the saddle of α + w < 0."""
    cases = ((2.0, -7.0, 0.05), (4.0, -12.0, 0.2), (0.0, -1.0, 0.0343))
    alpha, w, h = (torch.tensor(column, dtype=torch.float64, device=device) for column in zip(*cases, strict=True))
    zero = torch.zeros(1, len(cases), dtype=torch.float64, device=device)
    late = lyapunov.of_stacks(alpha, w[None], h[None], zero, zero, zero, steps).late
    shares = [float(exponent) / lyapunov.saddle_exponent(*case) for exponent, case in zip(late, cases, strict=True)]
    return min(min(share, 1 / share) for share in shares)


# --- loops


def loops(alphas: tuple[Fraction, ...], w: Fraction, h: Fraction) -> tuple[list[Loop], int]:
    """Blocks of saturated steps, then of steps with s = 0, near a quarter of the slow and of the fast period each, the
    saturated ones with either sign; moved as little as possible to close. Fastest growth first; how many were tried.
    """
    rated: list[tuple[float, Loop]] = []
    tried = 0
    for alpha in alphas:
        slow = _quarter(alpha, h)
        fast = _quarter(alpha + w, h) if alpha + w > 0 else 4
        saturated, zero = (range(max(quarter - 2, 0), quarter + 3) for quarter in (slow, fast))
        for p, q, blocks in itertools.product((0, *saturated), zero, (2, 3, 4)):
            for rest in itertools.product((1, -1), repeat=blocks - 1):
                pattern = np.concatenate([np.r_[np.full(p, 0.95 * sign), np.zeros(q)] for sign in (1, *rest)])
                if len(pattern) < 3:
                    continue
                tried += 1
                loop = _closed(alpha, w, h, pattern)
                if loop is not None and (rate := _float_rate(loop)) > 0:
                    rated.append((rate, loop))
    rated.sort(key=lambda pair: -pair[0])
    return [loop for _, loop in rated[:3]], tried


def _quarter(kappa: Fraction, h: Fraction) -> int:
    return round(math.pi / 2 / math.sqrt(kappa) / h) if kappa > 0 else 4


def _closed(alpha: Fraction, w: Fraction, h: Fraction, pattern: np.ndarray) -> Loop | None:
    """The nearest rational s that return (0, 0) to (0, 0) exactly: thousandths but for the last two; None if some
    |s_n| ≥ 1.
    """
    step, count = float(h), len(pattern)
    free = np.array([[1 - step * step * float(alpha), step], [-step * float(alpha), 1.0]])
    response = np.zeros((2, count))
    column = np.array([-step * step, -step])
    for n in reversed(range(count)):
        response[:, n] = column
        column = free @ column
    near = pattern - np.linalg.pinv(response) @ (response @ pattern)
    if np.abs(near).max() > 0.99:
        return None
    s = [Fraction(round(1000 * value), 1000) for value in near[:-2]]
    y = z = Fraction(0)
    for slope in s:
        z -= h * (slope + alpha * y)
        y += h * z
    # the last two steps must lead from (y, z) to (0, 0): z'' = 0 and y'' = y' = 0, so z' = −y/h
    first = (z + y / h) / h - alpha * y
    second = -y / h / h
    s += [first, second]
    return Loop(alpha, w, h, tuple(s)) if all(abs(slope) < 1 for slope in s) else None


def _float_rate(loop: Loop) -> float:
    product, h = np.eye(2), float(loop.h)
    for s in loop.s:
        kappa = float(loop.alpha + loop.w * (1 - s * s))
        product = np.array([[1 - h * h * kappa, h], [-h * kappa, 1.0]]) @ product
    half = abs(np.trace(product)) / 2
    return float(np.arccosh(half)) / (len(loop.s) * h) if half > 1 else 0.0


def loop_control() -> float:
    """The same search where thm-J(c) gives the supremum: α = 2, w = −7, h = 1/20; the share that it reaches."""
    best, _ = loops((Fraction(2),), Fraction(-7), Fraction(1, 20))
    return max((loop_by_steps(loop).rate for loop in best), default=0.0) / lyapunov.saddle_exponent(2, -7, 0.05)
