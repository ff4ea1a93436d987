"""y_n = y_{n−1} + dt σ(a + x_n),   a = W y_{n−1}:   explicit Euler.

    g = dt P σ',     P_{n−1} = P + Wᵀ g

Record: y, σ. c: dt, whether σ is relu and not tanh.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.activation import activation, slope
from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=1, kept=1, drives=(0,), gradients=1, numbers=2, stages=(DenseStage(),))


def _forward(p: Any, c: Any, count: int) -> None:
    zero, dt, is_relu = c[0], c[3], c[4]
    for j in range(0, count, width(p)):
        s = activation(get(p, 0, j) + get(p, 1, j), is_relu, zero)
        put(p, 3, j, get(p, 2, j) + dt * s)
        put(p, 4, j, s)


def _backward(p: Any, c: Any, count: int) -> None:
    zero, one, dt, is_relu = c[0], c[1], c[3], c[4]
    for j in range(0, count, width(p)):
        put(p, 4, j, dt * get(p, 3, j) * slope(get(p, 2, j), is_relu, zero, one))


forward, backward = (_forward,), (_backward,)
