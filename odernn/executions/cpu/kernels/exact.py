"""Kernels of the mode "exact" of the cpu execution.

The state is a float64 multiple of a grid g with |state| ≤ 2⁵³ g. An increment is computed in the dtype of x from the
state rounded to it, and rounded to the grid, a power of two; so every sum is exact, and the step back, which computes
the same increment, takes away exactly what was added. (Adding and subtracting 1.5·2⁵² g would round increments below
−2⁵¹ g to g/2.) Forward and backward must compute the same bits: no fused products here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from odernn.executions.cpu.kernels.compilation import CONTRACT, PLAIN, compiled, full_width, kernel
from odernn.executions.cpu.kernels.lanes import (
    END,
    EXACT_Y,
    EXACT_Z,
    FLUSH,
    GA,
    GH,
    GRID_Y,
    GRID_Z,
    GW,
    GX,
    MAX_Y,
    MAX_Z,
    PER_Y,
    PER_Z,
    START,
    STOP,
    TOP_Y,
    TOP_Z,
    A,
    B,
    H,
    P,
    Q,
    S,
    W,
    Y,
    Z,
    block,
    copy,
    flush,
)
from odernn.executions.cpu.kernels.recurrence import forward_block
from odernn.executions.cpu.kernels.tanh import tanh_plain


@compiled(PLAIN)
def _kick(L: Any, j: int, x: Any, y: Any) -> tuple[Any, Any]:
    """s_n and −h (s_n + α y_{n-1})."""
    s = tanh_plain(L[W + j] * y + x)
    return s, -(L[H + j] * (s + L[A + j] * y))


_EVERY_INTEGER = 2.0**53  # from there on a float64 is an integer anyway


@compiled(PLAIN)
def _on_grid(increment: Any, g: Any, per_g: Any) -> Any:
    exact = np.float64(increment)
    multiple = exact * per_g
    return np.rint(multiple) * g if abs(multiple) < _EVERY_INTEGER else exact  # 1/g may be so large that it overflows


@compiled(PLAIN)
def _exact_row(L: Any, D: Any, x: Any, y: Any, width: int) -> None:
    full_width()
    for j in range(width):
        L[B + j] = D[EXACT_Y + j]  # storing into L rounds to the dtype of x
        _, kick = _kick(L, j, x[j], L[B + j])
        z = D[EXACT_Z + j] + _on_grid(kick, D[GRID_Z + j], D[PER_Z + j])
        D[EXACT_Z + j] = z
        L[Z + j] = z
        after = D[EXACT_Y + j] + _on_grid(L[H + j] * L[Z + j], D[GRID_Y + j], D[PER_Y + j])
        D[EXACT_Y + j] = after
        y[j] = after
        big_y, big_z = abs(after), abs(z)
        D[TOP_Y + j] = big_y if big_y > D[TOP_Y + j] else D[TOP_Y + j]
        D[TOP_Z + j] = big_z if big_z > D[TOP_Z + j] else D[TOP_Z + j]


@compiled(PLAIN)
def _exact_row_back(L: Any, D: Any, x: Any, width: int) -> None:
    full_width()
    for j in range(width):
        L[Z + j] = D[EXACT_Z + j]
        y = D[EXACT_Y + j] - _on_grid(L[H + j] * L[Z + j], D[GRID_Y + j], D[PER_Y + j])
        D[EXACT_Y + j] = y
        L[B + j] = y
        s, kick = _kick(L, j, x[j], L[B + j])
        L[S + j] = s
        D[EXACT_Z + j] = D[EXACT_Z + j] - _on_grid(kick, D[GRID_Z + j], D[PER_Z + j])


@compiled(CONTRACT)
def _costate_row(L: Any, grad_y: Any, grad_x: Any, width: int, one: Any) -> None:
    full_width()
    for j in range(width):
        w, h, alpha, s, y, z = L[W + j], L[H + j], L[A + j], L[S + j], L[B + j], L[Z + j]
        slope = one - s * s
        p = L[P + j] + grad_y[j]
        q = L[Q + j] + h * p
        hq = h * q
        g = -hq * slope
        grad_x[j] = g
        L[GX + j] += g
        L[GW + j] += g * y
        L[GH + j] += p * z - q * (s + alpha * y)
        L[GA + j] -= hq * y
        L[P + j] = p - hq * (alpha + w * slope)
        L[Q + j] = q


@kernel(CONTRACT)
def maxima(x: Any, n0: int, lanes: Any, places: Any, first: int, last: int) -> None:
    """Steps n0+1 .. n0+len(x), which only leave the largest |y_n| and |z_n| in their lanes."""
    full_width()
    for k in range(first, last):
        L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
        width = hi - lo
        row, none = np.empty((1, width), L.dtype), np.empty((0, width), L.dtype)
        for n in range(max(min(len(x), places[END, k] - n0), 0)):
            forward_block(L, width, x, n, lo, row, none, 0, 0, 1)
            for j in range(width):
                y, z = abs(L[Y + j]), abs(L[Z + j])
                L[MAX_Y + j] = y if y > L[MAX_Y + j] else L[MAX_Y + j]
                L[MAX_Z + j] = z if z > L[MAX_Z + j] else L[MAX_Z + j]


@kernel(PLAIN)
def exact_forward(x: Any, y: Any, z: Any, n0: int, lanes: Any, states: Any, places: Any, first: int, last: int) -> None:
    """As ``forward``, on the grid: the state is in ``states``, and its largest sizes."""
    full_width()
    for k in range(first, last):
        L, D = block(lanes, places, k), block(states, places, k)
        lo, hi = places[START, k], places[STOP, k]
        width = hi - lo
        steps = max(min(len(x), places[END, k] - n0), 0)
        for n in range(steps):
            _exact_row(L, D, x[n, lo:hi], y[n0 + n, lo:hi], width)
            if len(z) != 0:
                copy(L, Z, z[n0 + n, lo:hi], width)
        for n in range(n0 + steps, n0 + len(x)):
            y[n, lo:hi] = 0
            if len(z) != 0:
                z[n, lo:hi] = 0


@kernel(CONTRACT)
def exact_backward(
    x: Any,
    grad_y: Any,
    grad_z: Any,
    grad_x: Any,
    n0: int,
    lanes: Any,
    states: Any,
    sums: Any,
    places: Any,
    first: int,
    last: int,
    one: Any,
) -> None:
    """As ``stored_backward``, with the states taken back on the grid."""
    full_width()
    every = 0 if len(grad_y) == 1 else 1
    for k in range(first, last):
        L, D, T = block(lanes, places, k), block(states, places, k), block(sums, places, k)
        lo, hi = places[START, k], places[STOP, k]
        width = hi - lo
        steps = max(min(len(x), places[END, k] - n0), 0)
        for n in range(steps, len(x)):
            grad_x[n, lo:hi] = 0
        for n in range(steps - 1, -1, -1):
            if len(grad_z) != 0:
                for j in range(width):
                    L[Q + j] += grad_z[n, lo + j]
            _exact_row_back(L, D, x[n, lo:hi], width)
            _costate_row(L, grad_y[n * every, lo:hi], grad_x[n, lo:hi], width, one)
            if (n0 + n) % FLUSH == 0:
                flush(L, T, width, one - one)
