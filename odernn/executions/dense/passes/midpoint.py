"""Y = y_{n−1} + ½ dt σ(W y_{n−1} + x_n),   y_n = y_{n−1} + dt σ(W Y + x_n):   the explicit midpoint rule.

    g_2 = dt P σ'_2,   R = Wᵀ g_2,     g_1 = ½ dt R σ'_1,   P_{n−1} = P + R + Wᵀ g_1,   by x: g_1 + g_2

Two stages. Record: y, Y, σ_1, σ_2. c: dt, whether σ is relu and not tanh.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.activation import activation, slope
from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(
    states=1,
    kept=3,
    drives=(2,),
    gradients=3,
    numbers=2,
    stages=(DenseStage(), DenseStage(source=1, gradient=1, is_added=False)),
)


def _forward_1(p: Any, c: Any, count: int) -> None:
    zero, half_step, is_relu = c[0], c[2] * c[3], c[4]
    for j in range(0, count, width(p)):
        s = activation(get(p, 0, j) + get(p, 1, j), is_relu, zero)
        put(p, 4, j, get(p, 2, j) + half_step * s)
        put(p, 5, j, s)


def _forward_2(p: Any, c: Any, count: int) -> None:
    zero, dt, is_relu = c[0], c[3], c[4]
    for j in range(0, count, width(p)):
        s = activation(get(p, 0, j) + get(p, 1, j), is_relu, zero)
        put(p, 3, j, get(p, 2, j) + dt * s)
        put(p, 6, j, s)


def _backward_1(p: Any, c: Any, count: int) -> None:
    zero, one, half_step, is_relu = c[0], c[1], c[2] * c[3], c[4]
    for j in range(0, count, width(p)):
        R = get(p, 6, j)
        g = half_step * R * slope(get(p, 3, j), is_relu, zero, one)
        put(p, 5, j, get(p, 5, j) + R)
        put(p, 7, j, g)
        put(p, 9, j, g + get(p, 8, j))


def _backward_2(p: Any, c: Any, count: int) -> None:
    zero, one, dt, is_relu = c[0], c[1], c[3], c[4]
    for j in range(0, count, width(p)):
        put(p, 8, j, dt * get(p, 5, j) * slope(get(p, 4, j), is_relu, zero, one))


forward, backward = (_forward_1, _forward_2), (_backward_1, _backward_2)
