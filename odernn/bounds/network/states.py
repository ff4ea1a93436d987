"""State bounds of every neuron of a network, rounded outward: of the exact recurrence, and of the computed one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from odernn.bounds import forms, jacobian, reconstruction, sharp
from odernn.bounds.gradient import StackLayer, StateLogs
from odernn.bounds.reconstruction import Precision

ROUNDOFF = 2.0**-53
ALLOWANCE = 2.0**-48
"""Added to a logarithm for each unit of what it was computed from: 32 units of roundoff."""


def outward(log_bound: Any, *magnitudes: Any) -> Any:
    """``log_bound`` plus ALLOWANCE for itself, one, and each of the magnitudes that entered it; floats or arrays."""
    return log_bound + ALLOWANCE * (1 + np.abs(log_bound) + sum(np.abs(magnitude) for magnitude in magnitudes))


def exact_state_logs(layer: StackLayer, steps: int) -> StateLogs:
    """thm-S with each neuron's own h: upper ends of log sup |y_n| and log sup |z_n|, n ≤ N, any input."""
    h, place = np.unique(layer.step_size, return_inverse=True)
    position, momentum = np.empty_like(h), np.empty_like(h)
    stiff = layer.alpha * h * h >= 4 * (1 - 2.0**-50)  # what may be beyond 4 before rounding
    for where, bound in ((stiff, _stiff_logs), (~stiff, _rotating_logs)):
        if where.any():
            position[where], momentum[where] = bound(layer.alpha, h[where], steps)
    return StateLogs(position[place], momentum[place])


def _rotating_logs(alpha: float, h: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """αh² < 4, by the recursion of the response and a bound on its rounding."""
    log_y, log_z = sharp.log_suprema_at(alpha=alpha, step_size=h, steps=steps)
    p, q = np.exp(log_y) / h, np.exp(log_z) / h
    lost_y = steps + 2 * q + 2 * h * alpha * p + h * q * q / p
    lost_z = steps + q + 3 * h * alpha * p + alpha * p * p / q
    logs = []
    # |U_{j-1}| ≤ j and |U_{j-1} − U_{j-2}| ≤ 2j − 1 need no recursion
    crude = (2 * np.log(h) + math.log(steps) + math.log((steps + 1) / 2), np.log(h) + 2 * math.log(steps))
    for log_bound, lost, limit in zip((log_y, log_z), (lost_y, lost_z), crude, strict=True):
        slack = 8 * ROUNDOFF * lost
        logs.append(outward(np.where(slack < 0.01, np.minimum(log_bound + 2 * slack, limit), limit)))
    return logs[0], logs[1]


def _stiff_logs(alpha: float, h: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """αh² ≥ 4, or just below, in closed form with cosh μ = αh²/2 − 1; increasing in μ, which is rounded up.

    sup |y| = h² sinh(Nμ/2) sinh((N+1)μ/2) / (sinh(μ/2) sinh μ),   sup |z| = h sinh²(Nμ/2) / sinh²(μ/2).
    """
    half = np.arcsinh(np.sqrt((alpha * h * h / 4) * (1 + 16 * ROUNDOFF) - 1))
    log_h, single = np.log(h), _log_sinh(half)
    position = 2 * log_h + _log_sinh(steps * half) + _log_sinh((steps + 1) * half) - single - _log_sinh(2 * half)
    momentum = log_h + 2 * _log_sinh(steps * half) - 2 * single
    spread = 4 * steps * half + 4 * np.abs(single) + np.abs(log_h)
    return outward(position, spread), outward(momentum, spread)


def _log_sinh(x: np.ndarray) -> np.ndarray:
    log_sinh: np.ndarray = x + np.log(-np.expm1(-2 * x)) - math.log(2)
    return log_sinh


def computed_state_logs(layer: StackLayer, steps: int, precision: Precision) -> StateLogs:
    """Bounds on the states that a run in this precision computes, n ≤ N, rounding included.   thm-S-float

    |ŷ_n| ≤ (1 + δz/h) S_y + (δy/h) S_z,   |ẑ_n| ≤ (1 + δz/h) S_z + α (δy/h) S_y,   S_y, S_z those of thm-S,

    δz, δy what one step rounds off states within thm-F (a), and then once more within these bounds.
    """
    exact, bound = exact_state_logs(layer, steps), invariant_state_logs(layer, steps, precision)
    log_h = np.log(layer.step_size)
    for _ in range(2):
        log_kick, log_drift = reconstruction.step_noise(
            w=layer.w,
            step_size=layer.step_size,
            alpha=layer.alpha,
            log_position=bound.positions,
            log_momentum=bound.momenta,
            unit_roundoff=precision.unit_roundoff,
            underflow=precision.underflow,
        )
        wider, drift = np.logaddexp(0.0, log_kick - log_h), log_drift - log_h
        with np.errstate(divide="ignore"):  # of log α at α = 0: the drift leaves the momentum alone
            stiffness = np.log(layer.alpha)
        positions = np.logaddexp(wider + exact.positions, drift + exact.momenta)
        momenta = np.logaddexp(wider + exact.momenta, stiffness + drift + exact.positions)
        bound = StateLogs(
            np.minimum(bound.positions, outward(positions, log_h, 64.0)),
            np.minimum(bound.momenta, outward(momenta, log_h, 64.0)),
        )
    return bound


def invariant_state_logs(layer: StackLayer, steps: int, precision: Precision) -> StateLogs:
    """The same by thm-F (a), magnitudes: nothing is known of the states beforehand."""
    best = [np.full_like(layer.step_size, np.inf) for _ in range(2)]
    h, alpha = layer.step_size, layer.alpha
    ends = {"kappa_low": alpha, "kappa_high": alpha, "step_size": h}
    for form in (forms.best_form(**ends), forms.form_within(rate=1.0 / steps, **ends)):
        growth = reconstruction.state_growth(
            w=layer.w,
            step_size=h,
            alpha=alpha,
            form=form,
            unit_roundoff=precision.unit_roundoff,
            underflow=precision.underflow,
        )
        log_size = growth.log_after(steps)
        root = jacobian.root(form=form, step_size=h)
        log_size = outward(log_size, steps * growth.log_factor, steps * conditioning(layer, form), 64.0)
        readings = (log_size - np.log(root), log_size - np.log(root) + np.log(form) / 2)
        best = [np.minimum(*pair) for pair in zip(best, readings, strict=True)]
    return StateLogs(*best)


def conditioning(layer: StackLayer, form: np.ndarray) -> np.ndarray:
    """How many units of roundoff a rate in this form may be off, at most: h(|w| + α + a)/(2r), plus one."""
    root = jacobian.root(form=form, step_size=layer.step_size)
    units: np.ndarray = 1 + layer.step_size * (np.abs(layer.w) + layer.alpha + form) / (2 * root)
    return units
