"""Two orbits of a driven oscillator whose inputs differ in x₁ alone, and the growth of the Jacobian product, enclosed.

One neuron a layer, layer q fed by the position of layer q − 1 (definitions 1.2, index convention icml), h the effective
step. ``in_balls`` is Arb arithmetic, ``in_intervals`` mpmath's intervals: they share the data and the answer's type
only. Both raise the precision until the separation is known to be at least half its upper end, or to be no more than
``eps`` (orbits that do not part are never told apart by more digits), or give up.

A loop is an orbit chosen first: s_n = tanh(A_{n−1}) is prescribed, rational, so that the orbit is rational and the
input x_n = artanh(s_n) − w y_{n−1} follows. With the signs of all s_n reversed the orbit is mirrored and every Jacobian
is the same. So a loop from (0, 0) back to (0, 0) may be run again and again, with a sign of its own each time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import mpmath
from flint import arb, fmpq, fmpq_mat

from verification.certify.second.intervals import iv, tanh

FIRST_BITS = 1024
MAX_BITS = 16384


@dataclass(frozen=True)
class Stack:
    """alpha, and w, h, V, b of every layer, one neuron each; ``input`` is u_1, u_2, …, repeated periodically."""

    alpha: Fraction
    w: tuple[Fraction, ...]
    h: tuple[Fraction, ...]
    V: tuple[Fraction, ...]
    b: tuple[Fraction, ...]
    input: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not len(self.w) == len(self.h) == len(self.V) == len(self.b) > 0 or not self.input:
            raise ValueError("w, h, V and b have one value a layer, and the input has at least one value.")


@dataclass(frozen=True)
class Divergence:
    """Enclosed numbers, rounded outwards to floats.

    separation   lower end of log(distance of the two top states after N steps in the maximum norm / eps)
    half, full   upper end of log‖Φ(N/2, 0)‖ and lower end of log‖Φ(N, 0)‖, Φ of the top layer, spectral norm
    radius       upper end of the largest |y|, |z| of both orbits, all layers and steps
    is_together  the distance is certainly at most eps
    """

    separation: float
    half: float
    full: float
    radius: float
    bits: int
    is_together: bool = False

    @property
    def is_certain(self) -> bool:
        """Every number is finite: the enclosures stayed tight."""
        return all(map(math.isfinite, (self.separation, self.half, self.full, self.radius)))

    @property
    def is_settled(self) -> bool:
        """More precision changes no answer."""
        return self.is_certain or self.is_together


LOST = Divergence(-math.inf, math.inf, -math.inf, math.inf, MAX_BITS)


def _first_bits(steps: int) -> int:
    """An interval step loses about one bit."""
    return max(FIRST_BITS, 512 + steps)


# --- Arb balls


def in_balls(stack: Stack, eps: Fraction, steps: int) -> Divergence:
    """The two orbits and the product in Arb balls."""
    bits = _first_bits(steps)
    while bits <= MAX_BITS:
        with flint.ctx.workprec(bits):
            divergence = _balls(stack, eps, steps, bits)
        if divergence.is_settled:
            return divergence
        bits *= 2
    return LOST


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def _balls(stack: Stack, eps: Fraction, steps: int, bits: int) -> Divergence:
    alpha = _ball(stack.alpha)
    layers = [tuple(map(_ball, layer)) for layer in zip(stack.w, stack.h, stack.V, stack.b, strict=True)]
    inputs = [_ball(value) for value in stack.input]
    orbits = [[[arb(0), arb(0)] for _ in layers] for _ in range(2)]
    product = [[arb(1), arb(0)], [arb(0), arb(1)]]
    radius, half = 0.0, math.inf
    for n in range(1, steps + 1):
        for number, orbit in enumerate(orbits):
            below = inputs[(n - 1) % len(inputs)] + (_ball(eps) if number and n == 1 else 0)
            for state, (w, h, V, b) in zip(orbit, layers, strict=True):
                s = (w * state[0] + V * below + b).tanh()
                kappa = alpha + w * (1 - s * s)
                state[1] = state[1] - h * (s + alpha * state[0])
                state[0] = state[0] + h * state[1]
                below = state[0]
                radius = max(radius, *(float(part.abs_upper()) for part in state))
            if not number:
                product[1] = [z - h * kappa * y for y, z in zip(*product, strict=True)]
                product[0] = [y + h * z for y, z in zip(*product, strict=True)]
        if n == steps // 2:
            square = sum((x * x for row in product for x in row), arb(0))
            half = _up(square.log() / 2)
    gaps = [abs(a - b) for a, b in zip(orbits[0][-1], orbits[1][-1], strict=True)]
    gap = max(gaps, key=lambda size: float(size.mid()))
    entry = max((abs(x) for row in product for x in row), key=lambda x: float(x.mid().log()))
    together = all(size <= _ball(eps) for size in gaps)
    return Divergence(_down((gap / _ball(eps)).log()), half, _down(entry.log()), radius, bits, together)


def _down(value: Any) -> float:
    """A float below the whole ball; −inf if it is wide or nothing is known."""
    if not value.is_finite() or float(value.rad()) > 0.7:
        return -math.inf
    return math.nextafter(float(value.lower()), -math.inf)


def _up(value: Any) -> float:
    if not value.is_finite() or float(value.rad()) > 0.7:
        return math.inf
    return math.nextafter(float(value.upper()), math.inf)


# --- mpmath's intervals, written a second time


def in_intervals(stack: Stack, eps: Fraction, steps: int) -> Divergence:
    """The same in mpmath's intervals."""
    bits = _first_bits(steps)
    while bits <= MAX_BITS:
        with iv.workprec(bits):
            divergence = _intervals(stack, eps, steps, bits)
        if divergence.is_settled:
            return divergence
        bits *= 2
    return LOST


def _interval(value: Fraction) -> Any:
    return iv.mpf(value.numerator) / value.denominator


def _intervals(stack: Stack, eps: Fraction, steps: int, bits: int) -> Divergence:
    a = _interval(stack.alpha)
    depth = range(len(stack.w))
    w, h, V, b = ([_interval(number) for number in row] for row in (stack.w, stack.h, stack.V, stack.b))
    drive = [_interval(number) for number in stack.input]
    tiny = _interval(eps)
    zero, one = iv.mpf(0), iv.mpf(1)
    y, z, yy, zz = ([zero for _ in depth] for _ in range(4))  # the orbit, and the one whose first input differs
    first, second = (one, zero), (zero, one)  # the columns of Φ
    largest, half = zero, math.inf
    for n in range(steps):
        x, xx = drive[n % len(drive)], drive[n % len(drive)] + (tiny if n == 0 else 0)
        for q in depth:
            s, ss = tanh(w[q] * y[q] + V[q] * x + b[q]), tanh(w[q] * yy[q] + V[q] * xx + b[q])
            if q == depth[-1]:
                kick = h[q] * (a + w[q] * (1 - s**2))
                first, second = (_sheared(column, kick, h[q]) for column in (first, second))
            z[q], zz[q] = z[q] - h[q] * (s + a * y[q]), zz[q] - h[q] * (ss + a * yy[q])
            y[q], yy[q] = y[q] + h[q] * z[q], yy[q] + h[q] * zz[q]
            x, xx = y[q], yy[q]
            for state in (y[q], z[q], yy[q], zz[q]):
                largest = max(largest, abs(state).b)
        if n + 1 == steps // 2:
            half = _outward(iv.log(first[0] ** 2 + first[1] ** 2 + second[0] ** 2 + second[1] ** 2) / 2, +1)
    apart = [abs(y[-1] - yy[-1]), abs(z[-1] - zz[-1])]
    entries = [abs(size) for size in (*first, *second)]
    separation = max(_log_below(size / tiny) for size in apart)
    full = max(_log_below(size) for size in entries)
    together = all(size.b <= tiny.a for size in apart)
    return Divergence(separation, half, full, _outward(iv.mpf(largest), +1), bits, together)


def _sheared(column: tuple[Any, Any], kick: Any, h: Any) -> tuple[Any, Any]:
    dz = column[1] - kick * column[0]
    return column[0] + h * dz, dz


def _log_below(size: Any) -> float:
    """A float below log(size), −inf if the interval touches 0 or is wide."""
    if not size.a > 0 or not size.b < 4 * size.a:
        return -math.inf
    return _outward(iv.log(size), -1)


def _outward(value: Any, sign: int) -> float:
    end = value.b if sign > 0 else value.a
    number = float(mpmath.mpf(end.mid if hasattr(end, "mid") else end))
    return math.nextafter(number, sign * math.inf) if math.isfinite(number) else sign * math.inf


# --- a loop: exact for all time


@dataclass(frozen=True)
class Loop:
    """One neuron (α, w, h) with the prescribed s_1 … s_p."""

    alpha: Fraction
    w: Fraction
    h: Fraction
    s: tuple[Fraction, ...]


@dataclass(frozen=True)
class LoopGrowth:
    """``closes``: (0, 0) returns to (0, 0) exactly. ``trace`` of Φ over one loop. ``rate``: a lower end of the exponent
    λ = log(spectral radius)/(p h) per unit of effective time, −inf unless |trace| > 2 is certain. ``radius``: largest
    |y|, |z|.
    """

    closes: bool
    trace: Fraction
    rate: float
    radius: Fraction


def loop_by_steps(loop: Loop) -> LoopGrowth:
    """The orbit and Φ step by step in Python's fractions; the rate in Arb balls."""
    y = z = radius = Fraction(0)
    first, second = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    for s in loop.s:
        kick = loop.h * (loop.alpha + loop.w * (1 - s * s))
        first, second = (_sheared(column, kick, loop.h) for column in (first, second))
        z -= loop.h * (s + loop.alpha * y)
        y += loop.h * z
        radius = max(radius, abs(y), abs(z))
    trace = first[0] + second[1]
    rate = -math.inf
    if abs(trace) > 2:
        with flint.ctx.workprec(128):
            rate = _down((_ball(abs(trace)) / 2).acosh() / (len(loop.s) * _ball(loop.h)))
    return LoopGrowth(y == 0 == z, trace, rate, radius)


def loop_by_matrices(loop: Loop) -> LoopGrowth:
    """The same by FLINT's rational matrices: an affine map in homogeneous coordinates; the rate by mpmath's intervals.

    The state (y, z, 1) is transported by [[1 − h²α, h, −h² s], [−h α, 1, −h s], [0, 0, 1]].
    """
    h, alpha, w = (fmpq(x.numerator, x.denominator) for x in (loop.h, loop.alpha, loop.w))
    state, product, largest = fmpq_mat(3, 1, [0, 0, 1]), fmpq_mat(2, 2, [1, 0, 0, 1]), fmpq(0)
    for value in loop.s:
        s = fmpq(value.numerator, value.denominator)
        kappa = alpha + w * (1 - s * s)
        product = fmpq_mat(2, 2, [1 - h * h * kappa, h, -h * kappa, 1]) * product
        state = fmpq_mat(3, 3, [1 - h * h * alpha, h, -h * h * s, -h * alpha, 1, -h * s, 0, 0, 1]) * state
        largest = max(largest, abs(state[0, 0]), abs(state[1, 0]))
    trace = Fraction(int((product[0, 0] + product[1, 1]).p), int((product[0, 0] + product[1, 1]).q))
    rate = -math.inf
    if abs(trace) > 2:
        half = _interval(abs(trace)) / 2
        exponent = iv.log(half + iv.sqrt(half**2 - 1)) / (len(loop.s) * _interval(loop.h))
        rate = _outward(exponent, -1)
    return LoopGrowth(state[0, 0] == 0 == state[1, 0], trace, rate, Fraction(int(largest.p), int(largest.q)))


def signs(count: int) -> list[int]:
    """±1 after Thue and Morse: a sequence that never becomes periodic."""
    return [1 - 2 * (n.bit_count() % 2) for n in range(count)]


def loop_in_balls(loop: Loop, eps: Fraction, loops: int) -> float:
    """Lower end of log(separation / eps) after that many loops with the signs of Thue and Morse, x_1 changed by eps.

    The orbit is known exactly, so with t = tanh(w (y' − y)) the perturbed one has s' = (s + t)/(1 + s t).
    """
    with flint.ctx.workprec(FIRST_BITS):
        alpha, w, h = map(_ball, (loop.alpha, loop.w, loop.h))
        y, z, gap = arb(0), arb(0), [arb(0), arb(0)]  # the exact orbit, and its distance to the perturbed one
        for number, sign in enumerate(signs(loops)):
            for n, value in enumerate(loop.s):
                s = sign * _ball(value)
                t = (w * gap[0] + (_ball(eps) if number == 0 == n else 0)).tanh()
                change = (s + t) / (1 + s * t) - s
                gap[1] = gap[1] - h * (change + alpha * gap[0])
                gap[0] = gap[0] + h * gap[1]
                z = z - h * (s + alpha * y)
                y = y + h * z
        return max(_down((abs(part) / _ball(eps)).log()) for part in gap)


def loop_in_intervals(loop: Loop, eps: Fraction, loops: int) -> float:
    """The same in mpmath's intervals, from the input x_n = artanh(s_n) − w y_{n−1} itself: both orbits are stepped."""
    with iv.workprec(FIRST_BITS):
        a, w, h, tiny = (_interval(number) for number in (loop.alpha, loop.w, loop.h, eps))
        zero = iv.mpf(0)
        one, other = (zero, zero), (zero, zero)
        for number, sign in enumerate(signs(loops)):
            for n, value in enumerate(loop.s):
                s = sign * _interval(value)
                x = iv.log((1 + s) / (1 - s)) / 2 - w * one[0]
                xx = x + (tiny if number == 0 == n else 0)
                one = _stepped(a, h, tanh(w * one[0] + x), one)
                other = _stepped(a, h, tanh(w * other[0] + xx), other)
        return max(_log_below(abs(p - q) / tiny) for p, q in zip(one, other, strict=True))


def _stepped(a: Any, h: Any, s: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
    z = state[1] - h * (s + a * state[0])
    return state[0] + h * z, z
