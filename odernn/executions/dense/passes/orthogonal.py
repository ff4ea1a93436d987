"""h_n = modReLU(a + x_n; b), a = W h_{n−1};   modReLU(z; b) = sign(z) max(|z| + b, 0), 0 at z = 0.

    g = P where h_n ≠ 0, else 0,     ∂E/∂b = Σ g sign(h_n),     P_{n−1} = Wᵀ g

c: whether there is a b; without it, b = 0 and g = P everywhere.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.addresses import get, put, width
from odernn.executions.cpu.kernels.vector import everywhere, magnitude, where_smaller, with_sign
from odernn.executions.dense.form import DenseStage, Form

FORM = Form(states=1, kept=0, drives=(0,), gradients=1, stages=(DenseStage(is_added=False),), vectors=1)


def _forward(p: Any, c: Any, count: int) -> None:
    zero = c[0]
    for j in range(0, count, width(p)):
        z = get(p, 0, j) + get(p, 1, j)
        size = magnitude(z)
        length = size + get(p, 2, j)
        nothing = everywhere(zero, z)
        h = where_smaller(length, zero, nothing, with_sign(length, z))
        put(p, 4, j, where_smaller(nothing, size, h, size))  # NaN stays NaN


def _backward(p: Any, c: Any, count: int) -> None:
    zero, is_cut = c[0], c[3] != c[0]
    for j in range(0, count, width(p)):
        h, g = get(p, 2, j), get(p, 3, j)
        size, nothing = magnitude(h), everywhere(zero, h)
        if is_cut:
            g = where_smaller(nothing, size, g, size)
        put(p, 4, j, g)
        put(p, 5, j, get(p, 5, j) + where_smaller(nothing, h, g, nothing - g))


forward, backward = (_forward,), (_backward,)
