"""h_n = h_{n−1} + dt σ̂(a + x_g) tanh(a + x),   a = A h_{n−1}, σ̂ the logistic function.

    by x: dt P σ̂ (1 − tanh²),   by x_g: dt P tanh σ̂ (1 − σ̂),   g their sum,     P_{n−1} = P + Aᵀ g

Record: h, tanh, σ̂. Drives: x, x_g. c: dt.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.activation import logistic
from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.cpu.kernels.tanh import tanh_contracted as tanh
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=1, kept=2, drives=(0, 1), gradients=3, stages=(DenseStage(gradient=2),))


def _forward(p: Any, c: Any, count: int) -> None:
    half, dt = c[2], c[3]
    for j in range(0, count, width(p)):
        a = get(p, 0, j)
        s, gate = tanh(a + get(p, 1, j)), logistic(a + get(p, 2, j), half)
        put(p, 4, j, get(p, 3, j) + dt * (gate * s))
        put(p, 5, j, s)
        put(p, 6, j, gate)


def _backward(p: Any, c: Any, count: int) -> None:
    one, dt = c[1], c[3]
    for j in range(0, count, width(p)):
        s, gate, by_product = get(p, 2, j), get(p, 3, j), dt * get(p, 4, j)
        by_x = by_product * gate * (one - s * s)
        by_gate = by_product * s * (gate * (one - gate))
        put(p, 5, j, by_x)
        put(p, 6, j, by_gate)
        put(p, 7, j, by_x + by_gate)


forward, backward = (_forward,), (_backward,)
