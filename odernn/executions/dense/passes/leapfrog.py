"""y_n = y_{n−2} + 2 dt σ(a + x_n),   a = W y_{n−1}:   the state is (y_n, y_{n−1}).

    g = 2 dt P σ',     P_{n−1} = Q + Wᵀ g,   Q_{n−1} = P

Record: y, previous, σ. c: 2 dt, whether σ is relu and not tanh.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.activation import activation, slope
from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=2, kept=1, drives=(0,), gradients=1, numbers=2, stages=(DenseStage(),))


def _forward(p: Any, c: Any, count: int) -> None:
    zero, twice, is_relu = c[0], c[3], c[4]
    for j in range(0, count, width(p)):
        s = activation(get(p, 0, j) + get(p, 1, j), is_relu, zero)
        y, previous = get(p, 2, j), get(p, 3, j)
        put(p, 4, j, previous + twice * s)
        put(p, 5, j, y)
        put(p, 6, j, s)


def _backward(p: Any, c: Any, count: int) -> None:
    zero, one, twice, is_relu = c[0], c[1], c[3], c[4]
    for j in range(0, count, width(p)):
        P, Q = get(p, 5, j), get(p, 6, j)
        put(p, 7, j, twice * P * slope(get(p, 4, j), is_relu, zero, one))
        put(p, 5, j, Q)
        put(p, 6, j, P)


forward, backward = (_forward,), (_backward,)
