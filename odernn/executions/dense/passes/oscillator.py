"""z_n = S (z_{n−1} + dt (x_n − A y_{n−1})),   y_n = y_{n−1} + dt z_n:   linear, and no unit sees another.

    Q ← Q + dt P,   g = S Q,     by x: dt g,   ∂E/∂A = −Σ dt g y_{n−1},   ∂E/∂S = Σ Q z_n / S
    P_{n−1} = P − dt A g,   Q_{n−1} = g

Record: y, z. Vectors: A, S > 0. c: dt.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=2, kept=0, drives=(0,), gradients=1, stages=(DenseStage(sources=0, results=0),), vectors=2)


def _forward(p: Any, c: Any, count: int) -> None:
    dt = c[3]
    for j in range(0, count, width(p)):
        y = get(p, 3, j)
        z = get(p, 2, j) * (get(p, 4, j) + dt * (get(p, 0, j) - get(p, 1, j) * y))
        put(p, 5, j, y + dt * z)
        put(p, 6, j, z)


def _backward(p: Any, c: Any, count: int) -> None:
    dt = c[3]
    for j in range(0, count, width(p)):
        A, S, P = get(p, 0, j), get(p, 1, j), get(p, 6, j)
        Q = get(p, 7, j) + dt * P
        g = S * Q
        by_x = dt * g
        put(p, 6, j, P - A * by_x)
        put(p, 7, j, g)
        put(p, 8, j, by_x)
        put(p, 9, j, get(p, 9, j) - by_x * get(p, 2, j))
        put(p, 10, j, get(p, 10, j) + Q * (get(p, 5, j) / S))


forward, backward = (_forward,), (_backward,)
