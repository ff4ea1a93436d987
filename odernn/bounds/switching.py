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

    def log_constant(self, form: Array, h: Array) -> Array:
        """log of sup V/‖·‖_a less that of inf V/‖·‖_a, rounded up; +inf where too many digits cancel.   thm-J (f) (iv)

        V² is (z² + r ŷ²)/(1 + r m₊²) of the field at hand, up to the time since m₊; over ‖·‖_a² = (1 − ah²/4) z² + a ŷ²
        it is monotone in m² = (ŷ/z)².
        """
        ends = self.first**2, self.second**2
        rest = 1 - form * h * h / 4
        with np.errstate(invalid="ignore", divide="ignore"):
            slow, fast = (
                [np.log1p(flow.ratio * m) - np.log(rest + form * m) - np.log1p(flow.ratio * ends[1]) for m in squares]
                for flow, squares in ((self.slow, (0.0, *ends)), (self.fast, ends))
            )
            fast.append(np.log(self.fast.ratio / form) - np.log1p(self.fast.ratio * ends[1]))
            above = np.maximum(_largest(slow), _largest(fast) + 2 * self.rate * self.fast_time)
            below = np.minimum(_least(slow) - 2 * self.rate * self.slow_time, _least(fast))
            left = np.minimum(*(1 + self.slow.ratio * m for m in ends))
        found = (above - below) / 2
        return np.where(left > SAFE, found + RELATIVE * (1 + np.abs(found)), np.inf)


def _largest(arrays: list[Array]) -> Array:
    found: Array = np.maximum.reduce(np.broadcast_arrays(*arrays))
    return found


def _least(arrays: list[Array]) -> Array:
    return -_largest([-each for each in arrays])


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
    low, high, h = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (kappa_low, kappa_high, step_size)))
    form = forms.best_form(kappa_low=low, kappa_high=high, step_size=h)
    known = np.asarray(jacobian.rate_bound(kappa_low=low, kappa_high=high, form=form, step_size=h))
    return np.minimum(_switched(low, high, h, known), _switched(*_mirrored(low, high, h), h, known))[()]


def log_product_bound(*, kappa_low: Any, kappa_high: Any, step_size: Any, form: Any, steps: int) -> Any:
    """log of a bound on ‖Φ‖_a, Φ any product of that many steps: hλ a step, and a constant; +inf where none applies.

    a = ``form`` in (0, 4/h²), also forms (k, m) for m neurons. The constant compares the function V that grows by hλ
    with ‖·‖_a.   thm-J (f) (iv)
    """
    low, high, h = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (kappa_low, kappa_high, step_size)))
    best, form = forms.best_form(kappa_low=low, kappa_high=high, step_size=h), np.asarray(form, dtype=float)
    known = np.asarray(jacobian.rate_bound(kappa_low=low, kappa_high=high, form=best, step_size=h))
    found = []
    for (slow, fast), a in (((low, high), form), (_mirrored(low, high, h), 4 / h**2 - form)):
        rate = _switched(slow, fast, h, known)
        applies = np.isfinite(rate)
        rate, slow, fast, safe_h = (
            np.where(applies, value, other) for value, other in ((rate, 1.0), (slow, 0.5), (fast, 1.0), (h, 1.0))
        )
        turn = _HalfTurn.of(rate / safe_h, slow, fast, safe_h)
        bound = steps * rate + turn.log_constant(np.where(applies, a, 1.0), safe_h)
        found.append(np.where(applies, bound, np.inf))
    return np.minimum(*found)[()]


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
