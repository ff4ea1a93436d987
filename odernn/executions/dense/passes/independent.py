"""h_n = σ(x_n + w h_{n−1}):   no unit sees another, and there is no matrix.

    g = P σ',     P_{n−1} = w g,     ∂E/∂w = Σ g h_{n−1}

Record: h. Vectors: w. c: whether σ is relu and not tanh.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.activation import activation, slope
from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=1, kept=0, drives=(0,), gradients=1, stages=(DenseStage(sources=0, results=0),), vectors=1)


def _forward(p: Any, c: Any, count: int) -> None:
    zero, is_relu = c[0], c[3]
    for j in range(0, count, width(p)):
        put(p, 3, j, activation(get(p, 0, j) + get(p, 1, j) * get(p, 2, j), is_relu, zero))


def _backward(p: Any, c: Any, count: int) -> None:
    zero, one, is_relu = c[0], c[1], c[3]
    for j in range(0, count, width(p)):
        g = get(p, 3, j) * slope(get(p, 2, j), is_relu, zero, one)
        put(p, 4, j, g)
        put(p, 5, j, get(p, 5, j) + g * get(p, 1, j))
        put(p, 3, j, g * get(p, 0, j))


forward, backward = (_forward,), (_backward,)
