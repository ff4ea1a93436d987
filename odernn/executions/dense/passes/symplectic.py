"""p_n = p_{n−1} − dt σ(S q_{n−1} + x_p),   q_n = q_{n−1} + dt σ(S p_n + x_q):   kick, then drift.

    g_q = dt Q σ'_q,   P ← P + Sᵀ g_q,     g_p = −dt P σ'_p,   Q_{n−1} = Q + Sᵀ g_p;     Q, P are dE by q, p

Two stages. Record: q, p, σ_p, σ_q. Drives and gradients: p, q. c: dt, whether σ is relu and not tanh.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.activation import activation, slope
from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(
    states=2,
    kept=2,
    drives=(0, 1),
    gradients=2,
    numbers=2,
    stages=(DenseStage(), DenseStage(source=1, gradient=1)),
)


def _forward_p(p: Any, c: Any, count: int) -> None:
    zero, dt, is_relu = c[0], c[3], c[4]
    for j in range(0, count, width(p)):
        s = activation(get(p, 0, j) + get(p, 1, j), is_relu, zero)
        put(p, 6, j, get(p, 4, j) - dt * s)
        put(p, 7, j, s)


def _forward_q(p: Any, c: Any, count: int) -> None:
    zero, dt, is_relu = c[0], c[3], c[4]
    for j in range(0, count, width(p)):
        s = activation(get(p, 0, j) + get(p, 2, j), is_relu, zero)
        put(p, 5, j, get(p, 3, j) + dt * s)
        put(p, 8, j, s)


def _backward_p(p: Any, c: Any, count: int) -> None:
    zero, one, back, is_relu = c[0], c[1], c[0] - c[3], c[4]
    for j in range(0, count, width(p)):
        put(p, 8, j, back * get(p, 7, j) * slope(get(p, 4, j), is_relu, zero, one))


def _backward_q(p: Any, c: Any, count: int) -> None:
    zero, one, dt, is_relu = c[0], c[1], c[3], c[4]
    for j in range(0, count, width(p)):
        put(p, 9, j, dt * get(p, 6, j) * slope(get(p, 5, j), is_relu, zero, one))


forward, backward = (_forward_p, _forward_q), (_backward_p, _backward_q)
