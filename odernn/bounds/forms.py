"""Which invariant form to measure in: choices of a in (0, 4/h²), all admissible, some better. Floats, vectorised.

A bound of docs/derivations/jacobian_products.md holds for every a, so nothing here can make it wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SMALLEST, LARGEST = 2.0**-300, 1 - 2.0**-40
"""Forms stay between these multiples of 4/h²: a neuron without restoring force needs a very small one."""


def inside(form: Any, step_size: Any) -> Any:
    """``form`` moved into [SMALLEST, LARGEST] · 4/h²."""
    end = 4.0 / (step_size * step_size)
    return np.clip(form, SMALLEST * end, LARGEST * end)[()]


def best_form(*, kappa_low: Any, kappa_high: Any, step_size: Any) -> Any:
    """The a in (0, 4/h²) that makes max(‖B(κ₋)‖_a, ‖B(κ₊)‖_a) smallest, in closed form.   thm-J (b)

    Each norm falls and then rises in a: with c = 4/h², ‖B(κ)‖_a is smallest at a = κ if 0 < κ < c, and otherwise at
    κc/(2κ − c). The larger of two such functions is smallest at the lowest point of one of them or where they cross,
    a = (κ₋ + κ₊)/2.
    """
    low, high, h = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (kappa_low, kappa_high, step_size)))
    candidates = [inside(_lowest(kappa, h), h) for kappa in (low, high)] + [inside((low + high) / 2, h)]
    worst = [np.maximum(_shear(low, a, h), _shear(high, a, h)) for a in candidates]
    return np.take_along_axis(np.array(candidates), np.argmin(np.array(worst), axis=0)[None], axis=0)[0][()]


def form_within(*, rate: Any, kappa_low: Any, kappa_high: Any, step_size: Any) -> Any:
    """The a nearest 2/h², where r_a = 1/h is largest, with ‖B(κ)‖_a ≤ e^rate at both ends; else ``best_form``.

    ‖B(κ)‖_a ≤ e^ω is the quadratic inequality h²(1 + S)a² − 2(h²κ + 2S)a + h²κ² ≤ 0 with S = sinh²ω.
    """
    low, high, h = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (kappa_low, kappa_high, step_size)))
    square = np.sinh(np.minimum(rate, 100.0)) ** 2  # larger ones would overflow, and allow every form anyway
    starts, ends = zip(*(_interval(kappa, h, square) for kappa in (low, high)), strict=True)
    start, end = np.maximum(*starts), np.minimum(*ends)
    wanted = inside(np.clip(2.0 / (h * h), start, np.maximum(start, end)), h)
    return np.where(start <= end, wanted, best_form(kappa_low=low, kappa_high=high, step_size=h))[()]


def _interval(kappa: np.ndarray, h: np.ndarray, square: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both roots of the quadratic of ``form_within``; an empty interval (1, 0) if there are none."""
    scaled = h * h * kappa
    discriminant = square * (4 * square + scaled * (4 - scaled))
    half_width = np.sqrt(np.maximum(discriminant, 0.0))
    below = (scaled + 2 * square - half_width) / (h * h * (1 + square))
    above = (scaled + 2 * square + half_width) / (h * h * (1 + square))
    return np.where(discriminant < 0, 1.0, below), np.where(discriminant < 0, 0.0, above)


def _lowest(kappa: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Where ‖B(κ)‖_a is smallest in a."""
    end = 4.0 / (h * h)
    rotates = (kappa > 0) & (kappa < end)
    return np.where(rotates, kappa, kappa * end / np.where(rotates, 1.0, 2 * kappa - end))


def _shear(kappa: np.ndarray, form: np.ndarray, h: np.ndarray) -> np.ndarray:
    """(2 sinh log ‖B(κ)‖_a)² / 4 = h²(κ − a)² / (4 a (1 − ah²/4)): increasing in the norm."""
    shear: np.ndarray = (h * (kappa - form)) ** 2 / (4 * form * (1 - form * h * h / 4))
    return shear
