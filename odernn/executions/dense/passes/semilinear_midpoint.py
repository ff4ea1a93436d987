"""H = h_{n−1} + ½ dt f(h_{n−1}),  h_n = h_{n−1} + dt f(H),  f(h) = A h + tanh(W h + x_n):  explicit midpoint rule.

    g_A2 = dt P,   g_W2 = dt P (1 − tanh_2²),   R = Aᵀ g_A2 + Wᵀ g_W2
    g_A1 = ½ dt R,   g_W1 = ½ dt R (1 − tanh_1²),     P_{n−1} = P + R + Aᵀ g_A1 + Wᵀ g_W1,   by x: g_W1 + g_W2

Two stages, both of the matrix [A; W]. Record: h, H, tanh_1, tanh_2. Gradients: A1, W1, A2, W2, x. c: dt.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.cpu.kernels.tanh import tanh_contracted as tanh
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(
    states=1,
    kept=3,
    drives=(4,),
    gradients=5,
    stages=(DenseStage(results=2), DenseStage(source=1, results=2, gradient=2, is_added=False)),
)


def _forward_1(p: Any, c: Any, count: int) -> None:
    half_step = c[2] * c[3]
    for j in range(0, count, width(p)):
        s = tanh(get(p, 1, j) + get(p, 2, j))
        put(p, 5, j, get(p, 3, j) + half_step * (get(p, 0, j) + s))
        put(p, 6, j, s)


def _forward_2(p: Any, c: Any, count: int) -> None:
    dt = c[3]
    for j in range(0, count, width(p)):
        s = tanh(get(p, 1, j) + get(p, 2, j))
        put(p, 4, j, get(p, 3, j) + dt * (get(p, 0, j) + s))
        put(p, 7, j, s)


def _backward_1(p: Any, c: Any, count: int) -> None:
    one, half_step = c[1], c[2] * c[3]
    for j in range(0, count, width(p)):
        s, R = get(p, 3, j), get(p, 6, j)
        g = half_step * R
        by_W = g * (one - s * s)
        put(p, 5, j, get(p, 5, j) + R)
        put(p, 7, j, g)
        put(p, 8, j, by_W)
        put(p, 11, j, by_W + get(p, 10, j))


def _backward_2(p: Any, c: Any, count: int) -> None:
    one, dt = c[1], c[3]
    for j in range(0, count, width(p)):
        s, g = get(p, 4, j), dt * get(p, 5, j)
        put(p, 9, j, g)
        put(p, 10, j, g * (one - s * s))


forward, backward = (_forward_1, _forward_2), (_backward_1, _backward_2)
