"""Largest Lyapunov exponents in floats, by renormalised products of exact Jacobians (Benettin): many systems at once.

The exponent of a driven stack is that of its top layer, λ = lim (1/τ_n) log‖Φ(n, 0)‖ per unit of its effective time
(definitions 1.10); of Lorenz 96, per unit of time, by one solution of the variational equation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

Field = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Exponents:
    """``late``: over the second half of the steps, per unit of effective time. ``radius``: largest |y|, |z| of any
    layer.
    """

    late: torch.Tensor
    radius: torch.Tensor


def of_stacks(
    alpha: torch.Tensor, w: torch.Tensor, h: torch.Tensor, V: torch.Tensor, b: torch.Tensor, u: torch.Tensor, steps: int
) -> Exponents:
    """alpha: (batch,); w, h, V, b: (layers, batch); u: (period, batch), repeated. float64, all on one device.

    Two orthonormal tangent vectors are carried and the pair is orthogonalised after every step (Gram, Schmidt), the
    first one giving the largest exponent; the second is its negative, since det B = 1, and is not carried.
    """
    layers, batch = w.shape
    y, z = torch.zeros_like(w), torch.zeros_like(w)
    tangent_y, tangent_z = w.new_full((batch,), 0.6), w.new_full((batch,), 0.8)
    late, radius = w.new_zeros(batch), w.new_zeros(batch)
    half = steps // 2
    for n in range(steps):
        below = u[n % len(u)]
        for q in range(layers):
            s = torch.tanh(w[q] * y[q] + V[q] * below + b[q])
            if q == layers - 1:
                tangent_z = tangent_z - h[q] * (alpha + w[q] * (1 - s * s)) * tangent_y
                tangent_y = tangent_y + h[q] * tangent_z
            z[q] -= h[q] * (s + alpha * y[q])
            y[q] += h[q] * z[q]
            below = y[q]
        stretch = torch.hypot(tangent_y, tangent_z)
        tangent_y, tangent_z = tangent_y / stretch, tangent_z / stretch
        if n >= half:
            late += torch.log(stretch)
        radius = torch.maximum(radius, torch.maximum(y.abs(), z.abs()).amax(dim=0))
    return Exponents(late / ((steps - half) * h[-1]), radius)


def saddle_exponent(alpha: float, w: float, h: float) -> float:
    """Exact, for W = −(α + w) > 0 and the input that keeps the pre-activation at 0: 2 asinh(h √W / 2) / h."""
    return float(2 * np.arcsinh(h * np.sqrt(-(alpha + w)) / 2) / h)


# --- Lorenz 96


def lorenz96(forcing: float, size: int = 5) -> tuple[Field, Field]:
    """The field x_i' = (x_{i+1} − x_{i−2}) x_{i−1} − x_i + F and its Jacobian, (size, size, …), at x: (size, …)."""
    ahead, behind, second = ((np.arange(size) + shift) % size for shift in (1, -1, -2))
    place = np.arange(size)

    def field(x: np.ndarray) -> np.ndarray:
        return np.asarray((x[ahead] - x[second]) * x[behind] - x + forcing)

    def jacobian(x: np.ndarray) -> np.ndarray:
        J = np.zeros((size, *x.shape))
        J[place, place] = -1.0
        J[place, ahead] += x[behind]
        J[place, second] -= x[behind]
        J[place, behind] += x[ahead] - x[second]
        return J

    return field, jacobian


def _extended(field: Field, jacobian: Field, pair: np.ndarray) -> np.ndarray:
    """x' = f(x) and v' = f'(x) v of a pair (x, v): (2, size, starts)."""
    x, v = pair
    return np.stack([field(x), np.einsum("ij...,j...->i...", jacobian(x), v)])


def _with_tangents(starts: np.ndarray) -> np.ndarray:
    tangents = np.zeros_like(starts)
    tangents[0] = 1.0
    return np.stack([starts, tangents])


def by_runge_kutta(
    field: Field, jacobian: Field, starts: np.ndarray, *, dt: float, transient: float, horizon: float
) -> np.ndarray:
    """Largest exponent from each of ``starts``, (size, starts): classical Runge-Kutta for x' = f, v' = f'(x) v
    together, v renormalised after every step.
    """
    pair = _with_tangents(starts)
    skipped, total = round(transient / dt), np.zeros(starts.shape[1:])
    steps = skipped + round(horizon / dt)
    for n in range(steps):
        k1 = _extended(field, jacobian, pair)
        k2 = _extended(field, jacobian, pair + dt / 2 * k1)
        k3 = _extended(field, jacobian, pair + dt / 2 * k2)
        k4 = _extended(field, jacobian, pair + dt * k3)
        pair = pair + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        stretch = np.sqrt(np.square(pair[1]).sum(axis=0))
        pair[1] /= stretch
        if n >= skipped:
            total += np.log(stretch)
    return np.asarray(total / ((steps - skipped) * dt))


def by_dop853(
    field: Field, jacobian: Field, starts: np.ndarray, *, every: float, transient: float, horizon: float
) -> np.ndarray:
    """Largest exponent from each of ``starts``, (size, starts), by SciPy's DOP853 (order 8, adaptive, one step size
    for all of them): one tangent vector each, renormalised after each ``every``.
    """
    from scipy.integrate import solve_ivp  # half a second, and few runs ask

    pair = _with_tangents(starts)

    def slope(_: float, flat: np.ndarray) -> np.ndarray:
        return _extended(field, jacobian, flat.reshape(pair.shape)).ravel()

    total = np.zeros(starts.shape[1:])
    skipped = round(transient / every)
    pieces = skipped + round(horizon / every)
    for n in range(pieces):
        end = solve_ivp(slope, (0.0, every), pair.ravel(), method="DOP853", rtol=1e-7, atol=1e-9).y[:, -1]
        pair = end.reshape(pair.shape)
        stretch = np.linalg.norm(pair[1], axis=0)
        pair[1] /= stretch
        if n >= skipped:
            total += np.log(stretch)
    return np.asarray(total / ((pieces - skipped) * every))
