"""z_n = z_{n−1} + dt σ̂_1 (tanh_z − z_{n−1}),   y_n = y_{n−1} + dt σ̂_2 (tanh_y − y_{n−1}),   σ̂ the logistic function.

    σ̂_1 of a_1 + x_1, σ̂_2 of a_2 + x_2, tanh_z of a_z + x_z:   (a_1, a_2, a_z) = W y_{n−1};     tanh_y of W_y z_n + x_y

    by x_y: dt P σ̂_2 (1 − tanh_y²),   by x_2: dt P (tanh_y − y_{n−1}) σ̂_2 (1 − σ̂_2)
    P ← P − dt σ̂_2 P,   Q ← Q + W_yᵀ g_y
    by x_z, x_1: the same with Q, z, σ̂_1, tanh_z,     Q_{n−1} = Q − dt σ̂_1 Q,   P_{n−1} = P + Wᵀ (g_1, g_2, g_z)

Two stages. Record: y, z, σ̂_1, σ̂_2, tanh_z, tanh_y. Drives and gradients: 1, 2, z, y. c: dt.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.activation import logistic
from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.cpu.kernels.tanh import tanh_contracted as tanh
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(
    states=2,
    kept=4,
    drives=(0, 1, 2, 3),
    gradients=4,
    stages=(DenseStage(results=3), DenseStage(source=1, gradient=3)),
)

# forward: a 0, 1, 2; x 3 .. 6; y, z before 7, 8; y, z, σ̂_1, σ̂_2, tanh_z, tanh_y 9 .. 14


def _forward_z(p: Any, c: Any, count: int) -> None:
    half, dt = c[2], c[3]
    for j in range(0, count, width(p)):
        z, target = get(p, 8, j), tanh(get(p, 2, j) + get(p, 5, j))
        gate = logistic(get(p, 0, j) + get(p, 3, j), half)
        put(p, 10, j, z + dt * gate * (target - z))
        put(p, 11, j, gate)
        put(p, 12, j, logistic(get(p, 1, j) + get(p, 4, j), half))
        put(p, 13, j, target)


def _forward_y(p: Any, c: Any, count: int) -> None:
    dt = c[3]
    for j in range(0, count, width(p)):
        y, target = get(p, 7, j), tanh(get(p, 0, j) + get(p, 6, j))
        put(p, 9, j, y + dt * get(p, 12, j) * (target - y))
        put(p, 14, j, target)


# backward: y, z before 0, 1; y, z, σ̂_1, σ̂_2, tanh_z, tanh_y 2 .. 7; P, Q 8, 9; gradients 10 .. 13


def _backward_y(p: Any, c: Any, count: int) -> None:
    one, dt = c[1], c[3]
    for j in range(0, count, width(p)):
        P, gate, target = get(p, 8, j), get(p, 5, j), get(p, 7, j)
        moved = dt * gate * P
        put(p, 13, j, moved * (one - target * target))
        put(p, 11, j, moved * (target - get(p, 0, j)) * (one - gate))
        put(p, 8, j, P - moved)


def _backward_z(p: Any, c: Any, count: int) -> None:
    one, dt = c[1], c[3]
    for j in range(0, count, width(p)):
        Q, gate, target = get(p, 9, j), get(p, 4, j), get(p, 6, j)
        moved = dt * gate * Q
        put(p, 12, j, moved * (one - target * target))
        put(p, 10, j, moved * (target - get(p, 1, j)) * (one - gate))
        put(p, 9, j, Q - moved)


forward, backward = (_forward_z, _forward_y), (_backward_z, _backward_y)
