"""The drive x = V u + b of a layer with few inputs, a tile of steps at a time, and the derivative by V.

``table`` is [V b]ᵀ (below + 1, hidden), ``u`` (time, batch · below), and hidden a multiple of the elements of a
register.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from odernn.executions.cpu.kernels.compilation import CONTRACT, PLAIN, compiled, full_width
from odernn.executions.cpu.kernels.lanes import PITCH
from odernn.executions.cpu.kernels.vector import (
    element,
    elements_1,
    elements_4,
    every_1,
    every_4,
    load,
    load_row,
    store,
    store_row,
)


@compiled(PLAIN)
def scratch(rows: int, size: int, like: Any) -> Any:
    """(rows, size) that begins with a line of the cache, as nothing else in numba does."""
    room = np.empty(rows * size + 64 // like.itemsize, like.dtype)
    skipped = (-room.ctypes.data) % 64 // like.itemsize
    return room[skipped : skipped + rows * size].reshape((rows, size))


@compiled(CONTRACT)
def project(X: Any, j: int, every: Any, u: Any, n: int, at: int, table: Any, neuron: int, count: int) -> None:
    """X[k, j..] = Σ_i u[n+k, at+i] V_i + b for a vector of neurons of one sample."""
    full_width()
    inputs = table.shape[0] - 1
    bias, weight = load_row(table, inputs, neuron, every), load_row(table, 0, neuron, every)
    fours = count // 4 * 4 if inputs > 1 else 0
    for k in range(0, fours, 4):  # so that four steps share the loads of V
        first, second = bias + weight * element(u, n + k, at), bias + weight * element(u, n + k + 1, at)
        third, fourth = bias + weight * element(u, n + k + 2, at), bias + weight * element(u, n + k + 3, at)
        for i in range(1, inputs):
            other = load_row(table, i, neuron, every)
            first = first + other * element(u, n + k, at + i)
            second = second + other * element(u, n + k + 1, at + i)
            third = third + other * element(u, n + k + 2, at + i)
            fourth = fourth + other * element(u, n + k + 3, at + i)
        store_row(X, k, j, first, every)
        store_row(X, k + 1, j, second, every)
        store_row(X, k + 2, j, third, every)
        store_row(X, k + 3, j, fourth, every)
    for k in range(fours, count):
        x = bias + weight * element(u, n + k, at)
        for i in range(1, inputs):
            x = x + load_row(table, i, neuron, every) * element(u, n + k, at + i)
        store_row(X, k, j, x, every)


@compiled(CONTRACT)
def project_wide(X: Any, width: int, u: Any, n: int, column: int, table: Any, count: int) -> None:
    """X[k] for ``width`` columns from that one on: four registers at a time where these are of one sample."""
    inputs, hidden = table.shape[0] - 1, table.shape[1]
    short, long = elements_1(X), elements_4(X)
    sample = column // hidden
    neuron = column - sample * hidden
    j = 0
    while j < width:
        if neuron + long <= hidden and j + long <= X.shape[1]:
            project(X, j, every_4(), u, n, sample * inputs, table, neuron, count)
            done = long
        else:
            project(X, j, every_1(), u, n, sample * inputs, table, neuron, count)
            done = short
        j += done
        neuron += done
        if neuron == hidden:
            neuron, sample = 0, sample + 1


@compiled(CONTRACT)
def collect(G: Any, j: int, g: Any, u: Any, n: int, at: int, inputs: int, count: int) -> None:
    """Lane i of G takes Σ_k g[k] u[n+k, at+i], the part of the tile in dE/dV_i."""
    full_width()
    pairs = inputs // 2 * 2
    for i in range(0, pairs, 2):  # so that two inputs share the loads of g
        first, second = load(G, i * PITCH + j, every_1()), load(G, (i + 1) * PITCH + j, every_1())
        for k in range(count):
            row = load_row(g, k, 0, every_1())
            first = first + row * element(u, n + k, at + i)
            second = second + row * element(u, n + k, at + i + 1)
        store(G, i * PITCH + j, first, every_1())
        store(G, (i + 1) * PITCH + j, second, every_1())
    if pairs < inputs:
        total = load(G, pairs * PITCH + j, every_1())
        for k in range(count):
            total = total + load_row(g, k, 0, every_1()) * element(u, n + k, at + pairs)
        store(G, pairs * PITCH + j, total, every_1())
