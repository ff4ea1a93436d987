"""The elementwise parts of ``dense``: one pass over (batch, hidden) a step, compiled where first used, cached on disk.

Arrays are those of the whole sequence and ``n`` picks the step, so that a step is one call. Numbers come in the dtype
of the arrays. tanh is that of ``kernels.tanh``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from odernn.executions.cpu.kernels.compilation import CONTRACT, full_width, kernel
from odernn.executions.cpu.kernels.tanh import tanh_contracted as tanh

_compiled: Callable[[Any], Any] = kernel(CONTRACT)


@_compiled
def coupled_step(
    x: Any, s: Any, y_before: Any, z_before: Any, m: int, y: Any, z: Any, n: int, dt: Any, gamma: Any, p: Any, q: Any
) -> None:
    """From a − x in s[n] and the state in y_before[m], z_before[m]: tanh a into s[n], the next state into y[n], z[n]"""
    full_width()
    batch, size = s.shape[1:]
    for i in range(batch):
        drive, row, y_old, z_old, y_new, z_new = x[n, i], s[n, i], y_before[m, i], z_before[m, i], y[n, i], z[n, i]
        for j in range(size):
            row[j] = tanh(row[j] + drive[j])
        for j in range(size):
            value = p * z_old[j] + q * (row[j] - gamma * y_old[j])
            z_new[j] = value
            y_new[j] = y_old[j] + dt * value


@_compiled
def coupled_step_back(
    s: Any, g: Any, P: Any, Q: Any, grad_y: Any, grad_z: Any, n: int, dt: Any, gamma: Any, p: Any, q: Any, one: Any
) -> None:
    """P, Q are costates without ∂E/∂y, ∂E/∂z of row n, which are grad_y[n], grad_z[n], or none if these are empty.

    dE/da goes into g[n]; P, Q become those of the row before but for the products with g[n].
    """
    full_width()
    batch, size = P.shape
    for i in range(batch):
        row, out, P_row, Q_row = s[n, i], g[n, i], P[i], Q[i]
        if len(grad_y):
            added = grad_y[n, i]
            for j in range(size):
                P_row[j] += added[j]
        if len(grad_z):
            added = grad_z[n, i]
            for j in range(size):
                Q_row[j] += added[j]
        for j in range(size):
            value = q * (Q_row[j] + dt * P_row[j])
            out[j] = value * (one - row[j] * row[j])
            Q_row[j] = p * (Q_row[j] + dt * P_row[j])
            P_row[j] -= gamma * value


@_compiled
def modrelu_step(x: Any, h: Any, b: Any, n: int, zero: Any) -> None:
    """h[n] holds z − x[n] and then sign(z) max(|z| + b, 0), or z itself if b is empty; NaN stays NaN."""
    full_width()
    batch, size = h.shape[1:]
    for i in range(batch):
        drive, row = x[n, i], h[n, i]
        if len(b) == 0:
            for j in range(size):
                row[j] += drive[j]
            continue
        for j in range(size):
            z = row[j] + drive[j]
            length = abs(z) + b[j]
            value = length if z > zero else -length
            value = zero if z == zero else value
            row[j] = zero if length <= zero else value


@_compiled
def modrelu_step_back(h: Any, g: Any, grad: Any, P: Any, by_b: Any, n: int, zero: Any) -> None:
    """g[n] = P + grad[n] where the unit was active, and its sums with the sign of h[n] into by_b (float64).

    An empty by_b: there was no modReLU.
    """
    full_width()
    batch, size = P.shape
    for i in range(batch):
        row, out, added, now = h[n, i], g[n, i], grad[n, i], P[i]
        for j in range(size):
            out[j] = now[j] + added[j]
        if len(by_b):
            for j in range(size):
                out[j] = zero if row[j] == zero else out[j]
            for j in range(size):
                by_b[j] += out[j] if row[j] > zero else -out[j]
