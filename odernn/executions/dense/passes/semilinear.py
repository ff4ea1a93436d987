"""h_n = h_{n−1} + dt (a_A + tanh(a_W + x_n)),   (a_A, a_W) = [A; W] h_{n−1}:   explicit Euler.

    g_A = dt P,   g_W = dt P (1 − tanh²),     P_{n−1} = P + Aᵀ g_A + Wᵀ g_W

Record: h, tanh. Gradients: g_A, g_W. c: dt.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.cpu.kernels.tanh import tanh_contracted as tanh
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=1, kept=1, drives=(1,), gradients=2, stages=(DenseStage(results=2),))


def _forward(p: Any, c: Any, count: int) -> None:
    dt = c[3]
    for j in range(0, count, width(p)):
        s = tanh(get(p, 1, j) + get(p, 2, j))
        put(p, 4, j, get(p, 3, j) + dt * (get(p, 0, j) + s))
        put(p, 5, j, s)


def _backward(p: Any, c: Any, count: int) -> None:
    one, dt = c[1], c[3]
    for j in range(0, count, width(p)):
        s, g = get(p, 2, j), dt * get(p, 3, j)
        put(p, 4, j, g)
        put(p, 5, j, g * (one - s * s))


forward, backward = (_forward,), (_backward,)
