"""z_n = p z_{n−1} + q (tanh(a + x_n) − γ y_{n−1}),  y_n = y_{n−1} + dt z_n,   a = [W W_z] (y_{n−1}, z_{n−1}).

    explicit damping: p = 1 − dt ε, q = dt; implicit: p = 1/(1 + dt ε), q = dt/(1 + dt ε)

    Q ← Q + dt P,   g = q Q (1 − tanh²),   P_{n−1} = P − q γ Q + Wᵀ g,   Q_{n−1} = p Q + W_zᵀ g

Record: y, z, tanh. c: dt, γ, p, q.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.cpu.kernels.tanh import tanh_contracted as tanh
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=2, kept=1, drives=(0,), gradients=1, numbers=4, stages=(DenseStage(sources=2),))


def _forward(p: Any, c: Any, count: int) -> None:
    dt, gamma, kept, kick = c[3], c[4], c[5], c[6]
    for j in range(0, count, width(p)):
        s, y = tanh(get(p, 0, j) + get(p, 1, j)), get(p, 2, j)
        z = kept * get(p, 3, j) + kick * (s - gamma * y)
        put(p, 4, j, y + dt * z)
        put(p, 5, j, z)
        put(p, 6, j, s)


def _backward(p: Any, c: Any, count: int) -> None:
    one, dt, gamma, kept, kick = c[1], c[3], c[4], c[5], c[6]
    for j in range(0, count, width(p)):
        P, s = get(p, 5, j), get(p, 4, j)
        Q = get(p, 6, j) + dt * P
        by_force = kick * Q
        put(p, 5, j, P - gamma * by_force)
        put(p, 6, j, kept * Q)
        put(p, 7, j, by_force * (one - s * s))


forward, backward = (_forward,), (_backward,)
