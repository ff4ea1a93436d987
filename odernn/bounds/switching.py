"""The growth rate of one neuron whose stiffness switches at the worst moments: an upper bound, sharp as h → 0.

thm-J (f) of docs/derivations/jacobian_products.md. In the coordinates (y − hz/2, z) a step is a flow over the time h,

    B(κ) = exp(h M(κ)),   M(κ) = [[0, p], [−q, 0]],   p = (θ/2) cot(θ/2),   q = (2θ/h²) tan(θ/2),   sin²(θ/2) = κh²/4,

so that products of B(κ₋) and B(κ₊) are solutions of X' = M(κ(t)) X that switch at multiples of h, and grow no faster
than the worst solution that may switch at any time. That one switches on two lines, and its rate λ is where

    F(λ) = log g(λ) − λ T(λ) = 0,     g the growth, T the time of half a turn between the lines that belong to λ.

Every λ > 0 with F(λ) ≤ 0 is an upper bound, and products of n steps have ‖Φ‖_a ≤ K_a(λ) e^{nhλ}. Floats, vectorised
over neurons, rounded outward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from odernn.bounds import forms, jacobian

Array: TypeAlias = NDArray[np.float64]

RELATIVE = 1e-9
"""Added to λ, twice, relative: more than rounding does where κ₊ − κ₋ is at least ``APART`` of the larger one."""

APART = 1e-4
"""κ₋ and κ₊ nearer than that, relative to the larger one, are left to thm-J (b), where no digits cancel."""

HALVINGS = 60

LOST = 2 * 2.0**-53
"""By so much 1 − ah²/4 may be off; log K_a by no more than LOST/(1 − ah²/4), twice what the logarithm of ‖·‖_a is."""

SAFE = 1e-6
"""Of 1 + r m² of a saddle, a difference: where it is smaller no constant is given."""


@dataclass(frozen=True)
class _Flow:
    """p > 0 and q of M(κ), elementwise; q < 0 for a saddle."""

    p: Array
    q: Array

    @classmethod
    def of(cls, kappa: Array, step_size: Array) -> _Flow:
        x = kappa * step_size**2 / 4
        root = np.sqrt(np.abs(x))
        turning, saddle = np.arcsin(np.minimum(root, 1.0)), np.arcsinh(root)
        rest = np.sqrt(np.maximum(1 - x, 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            half = np.where(x > 0, turning, saddle) / root  # θ/2 by sin(θ/2), which is 1 at κ = 0
        half = np.where(root > 0, half, 1.0)
        with np.errstate(divide="ignore"):
            return cls(half * rest, kappa * half / rest)

    @property
    def ratio(self) -> Array:
        """r of the invariant z² + r (y − hz/2)²."""
        return self.q / self.p

    def time(self, start: Array, end: Array) -> Array:
        """∫ dm/(p + q m²): from one slope m = (y − hz/2)/z to another; +inf beyond the asymptote of a saddle."""
        root = np.sqrt(np.abs(self.ratio))
        speed = self.p * root
        low, high = root * start, root * end
        with np.errstate(invalid="ignore", divide="ignore"):
            turning = (np.arctan(high) - np.arctan(low)) / speed
            saddle = np.where(high < 1, (np.arctanh(high) - np.arctanh(low)) / speed, np.inf)
            drifting = (end - start) / self.p
        return np.where(self.q > 0, turning, np.where(self.q < 0, saddle, drifting))


@dataclass(frozen=True)
class _HalfTurn:
    """The slow field between the slopes first = m₋ and second = m₊, the fast one beyond, and the times of both."""

    slow: _Flow
    fast: _Flow
    first: Array
    second: Array
    slow_time: Array
    fast_time: Array
    rate: Array

    @classmethod
    def of(cls, rate: Array, low: Array, high: Array, h: Array) -> _HalfTurn:
        slow, fast = _Flow.of(low, h), _Flow.of(high, h)
        wronskian = slow.p * fast.q - fast.p * slow.q
        spread, fall = fast.q - slow.q, slow.p - fast.p
        root = np.sqrt(wronskian**2 + 4 * rate**2 * spread * fall)
        first, second = -2 * rate * fall / (wronskian + root), (wronskian + root) / (2 * rate * spread)
        fast_time = np.pi / np.sqrt(fast.p * fast.q) - fast.time(first, second)
        return cls(slow, fast, first, second, slow.time(first, second), fast_time, rate)

    def excess(self) -> Array:
        """F(λ), NaN where λ is too small for a saddle."""
        with np.errstate(invalid="ignore", divide="ignore"):
            slow, fast = (
                np.log1p(flow.ratio * self.first**2) - np.log1p(flow.ratio * self.second**2)
                for flow in (self.slow, self.fast)
            )
            found = (slow - fast) / 2 - self.rate * (self.slow_time + self.fast_time)
        return np.where(np.isfinite(self.slow_time), found, np.nan)

    def log_constant(self, form: Array, rest: Array) -> Array:
        """log of sup V/‖·‖_a less that of inf V/‖·‖_a, rounded up; +inf where too many digits cancel.   thm-J (f) (iv)

        ‖·‖_a² = ``rest`` z² + a ŷ², rest = 1 − ah²/4. V/‖·‖_a along the slopes m is monotone on both arcs but for the
        roots of λa m² + (q rest − ap) m + λ rest, p and q those of the field at hand.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            slow, fast = [self.first, self.second], [self.first, self.second]
            for flow, places in ((self.slow, slow), (self.fast, fast)):
                linear, free = flow.q * rest - form * flow.p, self.rate * form
                root = np.sqrt(linear**2 - 4 * free * self.rate * rest)  # NaN: monotone on all of the arc
                far = (root + np.abs(linear)) / (2 * free) * -np.sign(linear)
                places += [far, rest / (form * far)]
            inner = [self._log_on_slow(np.clip(np.where(np.isfinite(m), m, 0.0), *slow[:2]), form, rest) for m in slow]
            is_beyond = [(m <= self.first) | (m >= self.second) for m in fast]
            outer = [
                self._log_on_fast(np.where(beyond & np.isfinite(m), m, self.second), form, rest)
                for m, beyond in zip(fast, is_beyond, strict=True)
            ]
            values = np.broadcast_arrays(*inner, *outer)
            found = np.maximum.reduce(values) - np.minimum.reduce(values)
            left = np.minimum(*(1 + self.slow.ratio * m**2 for m in (self.first, self.second)))
        return np.where(left > SAFE, found + RELATIVE * (1 + np.abs(found)), np.inf)

    def _log_on_slow(self, m: Array, form: Array, rest: Array) -> Array:
        """log V/‖·‖_a at a slope between m₋ and m₊: the invariant of the slow field and the time left to m₊."""
        return self._log_invariant(self.slow, m, form, rest) - self.rate * self.slow.time(m, self.second)

    def _log_on_fast(self, m: Array, form: Array, rest: Array) -> Array:
        """The same at a slope beyond: the time since m₊, through z = 0 for m ≤ m₋."""
        before_turning = self.fast.time(self.second, m)
        after_turning = self.fast_time - self.fast.time(m, self.first)
        time = np.where(m >= self.second, before_turning, after_turning)
        return self._log_invariant(self.fast, m, form, rest) + self.rate * time

    def _log_invariant(self, flow: _Flow, m: Array, form: Array, rest: Array) -> Array:
        """log √((z² + r ŷ²)/(1 + r m₊²)) less log ‖·‖_a on the ray ŷ = m z."""
        size = np.log1p(flow.ratio * m**2) - np.log1p(flow.ratio * self.second**2)
        found: Array = (size - np.log(rest + form * m**2)) / 2
        return found


def excess(rate: Any, *, kappa_low: Any, kappa_high: Any, step_size: Any) -> Any:
    """F(λ) = log g(λ) − λ T(λ) at λ = ``rate`` > 0 per unit of effective time; nothing grows faster where it is ≤ 0.

    κ₋ < κ₊, 0 < κ₊ < 4/h², and λ > (2/h) asinh(h √−κ₋ / 2) if κ₋ < 0; NaN where λ is not.   thm-J (f)
    """
    low, high, h, lam = np.broadcast_arrays(
        *(np.asarray(v, dtype=float) for v in (kappa_low, kappa_high, step_size, rate))
    )
    return _HalfTurn.of(lam, low, high, h).excess()[()]


def rate_bound(*, kappa_low: Any, kappa_high: Any, step_size: Any) -> Any:
    """An upper bound, a step, on the growth rate over all inputs, by κ or by 4/h² − κ; +inf where neither helps.

    It helps where 0 < κ₊ < 4/h² or 0 < 4/h² − κ₋ < 4/h², unless thm-J (b) has a smaller bound.   thm-J (f)
    """
    return ProductGrowth.of(kappa_low=kappa_low, kappa_high=kappa_high, step_size=step_size).rate[()]


@dataclass(frozen=True)
class ProductGrowth:
    """‖Φ‖_a ≤ K_a e^{n · rate} of all products of n steps, neuron by neuron, for every form a.   thm-J (f) (iv)

    ways  (hλ, κ₋, κ₊) by κ and by 4/h² − κ; hλ is +inf where it does not apply, and then κ₋ < κ₊ stand for nothing
    """

    ways: tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]
    step_size: Array

    @classmethod
    def of(cls, *, kappa_low: Any, kappa_high: Any, step_size: Any) -> ProductGrowth:
        """Of the ends of κ and the step of every neuron."""
        low, high, h = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (kappa_low, kappa_high, step_size)))
        form = forms.best_form(kappa_low=low, kappa_high=high, step_size=h)
        known = np.asarray(jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=h))
        return cls((_way(low, high, h, known), _way(*_mirrored(low, high, h), h, known)), h)

    @property
    def rate(self) -> Array:
        """hλ, the smaller of both ways; +inf where neither applies."""
        return np.minimum(self.ways[0][0], self.ways[1][0])

    def in_form(self, form: Any) -> tuple[Array, Array]:
        """hλ and log K_a, a = ``form`` in (0, 4/h²), also forms (k, m) for m neurons; both +inf where none applies.

        K_a compares the function V that grows by hλ with ‖·‖_a. Of two ways the one with the smaller constant. Both
        take one float for 1 − ah²/4, which has few digits where a is near 4/h², and allow for what it lost.
        """
        h, form = self.step_size, np.asarray(form, dtype=float)
        share = form * h * h / 4
        left = 1 - share
        measures = (form, left), (4 / h**2 * left, share)
        found = []
        for (rate, low, high), (a, rest) in zip(self.ways, measures, strict=True):
            applies = np.isfinite(rate)
            safe_h = np.where(applies, h, 1.0)
            turn = _HalfTurn.of(np.where(applies, rate, 1.0) / safe_h, low, high, safe_h)
            with np.errstate(divide="ignore"):
                log_constant = turn.log_constant(np.where(applies, a, 1.0), np.where(applies, rest, 1.0)) + LOST / left
            applies = applies & np.isfinite(log_constant) & (left > 0)
            found.append([np.where(applies, value, np.inf) for value in (rate, log_constant)])
        plain, mirrored = found
        is_plain = plain[1] <= mirrored[1]
        return np.where(is_plain, plain[0], mirrored[0]), np.where(is_plain, plain[1], mirrored[1])


def log_product_bound(*, kappa_low: Any, kappa_high: Any, step_size: Any, form: Any, steps: int) -> Any:
    """log of a bound on ‖Φ‖_a, Φ any product of that many steps: hλ a step, and a constant; +inf where none applies.

    a = ``form`` in (0, 4/h²), also forms (k, m) for m neurons.   thm-J (f) (iv)
    """
    growth = ProductGrowth.of(kappa_low=kappa_low, kappa_high=kappa_high, step_size=step_size)
    rate, log_constant = growth.in_form(form)
    return (steps * rate + log_constant)[()] if steps else log_constant[()]


def _way(low: Array, high: Array, h: Array, known: Array) -> tuple[Array, Array, Array]:
    rate = _switched(low, high, h, known)
    applies = np.isfinite(rate)
    return rate, np.where(applies, low, 0.5), np.where(applies, high, 1.0)


def _mirrored(low: Array, high: Array, h: Array) -> tuple[Array, Array]:
    """4/h² − κ₊ and 4/h² − κ₋, which have the same rate; the interval is made wider by what rounding may lose."""
    mirror = 4 / h**2
    lost = 4 * 2.0**-53 * mirror
    return mirror - high - lost, mirror - low + lost


def _switched(low: Array, high: Array, h: Array, known: Array) -> Array:
    """hλ of thm-J (f), +inf where it does not apply or is no better than the rate ``known``."""
    applies = (high > 0) & (high * h * h < 4 * (1 - 1e-9)) & (high - low > APART * np.maximum(high, -low))
    low, high, safe_h = np.where(applies, low, 0.5), np.where(applies, high, 1.0), np.where(applies, h, 1.0)
    saddle = np.asarray(jacobian.constant_rate(kappa=np.minimum(low, 0.0), step_size=safe_h)) / safe_h
    known = np.where(applies, known, 1.0)
    bottom = np.maximum(saddle, RELATIVE * known / safe_h) * (1 + RELATIVE)
    top = np.maximum(known / safe_h, bottom)

    def is_bound(rate: Array) -> NDArray[np.bool_]:
        return np.asarray(excess(rate, kappa_low=low, kappa_high=high, step_size=safe_h) <= 0)

    applies = applies & is_bound(top)
    top = np.where(is_bound(bottom), bottom, top)
    for _ in range(HALVINGS):
        middle = (bottom + top) / 2
        lower = is_bound(middle)
        bottom, top = np.where(lower, bottom, middle), np.where(lower, middle, top)
    return np.where(applies, safe_h * top * (1 + RELATIVE), np.inf)
