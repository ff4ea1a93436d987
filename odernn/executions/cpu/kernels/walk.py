"""The walk through time of ``odernn.executions.dense``, forwards and backwards, for every cell: products and passes.

Samples do not see each other, so that ``height`` of them at a time are taken through all steps of a call, and a call
takes a range of blocks of ``TALLEST`` samples: ranges may run in threads. Where samples lie side by side, so do all
columns of a plane, and a pass is one loop over them.

Arrays of addresses, of the first element of each plane, in bytes:

    drives, before, now    rows n0 .. of x; the states n = 0; all rows 1, 2, .. of states and of what is kept
    costates               (batch, hidden) of each plane that a stage reads: dE by it, of the states from step to step
    gradients              rows n0 .. of dE/da and what else the form has
    vectors, sums          the coefficients, repeated for ``height`` samples; (batch, hidden) of dE by each of them
    asked                  rows 1, 2, .. of the caller's dE by the states, 0 where there are none

``stages`` has a row of SOURCE, SOURCES, RESULTS, GRADIENT, ADDED a stage, as ``dense.form.DenseStage``; ``weights`` the
address of its matrix, packed for ``product``, a block a pair of result and source.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from odernn.executions.cpu.kernels.addresses import (
    call,
    number_at,
    put_number_at,
    put_vector_at,
    vector_at,
)
from odernn.executions.cpu.kernels.compilation import CONTRACT, compiled, full_width, kernel
from odernn.executions.cpu.kernels.product import PANEL, TALLEST, product
from odernn.executions.cpu.kernels.vector import REGISTER, elements_1

FLUSH = 64
"""Rows after which the sums over time move on to float64: their rounding errors do not grow with the length."""

SOURCE, SOURCES, RESULTS, GRADIENT, ADDED = range(5)


@compiled(CONTRACT)
def _packed(hidden: int, size: int) -> Any:
    """Bytes of one block of a packed matrix."""
    panel = PANEL * REGISTER // size
    return (hidden + panel - 1) // panel * panel * hidden * size


@compiled(CONTRACT | {"forceinline": False})
def _pass(like: Any, address: int, table: Any, first_written: int, numbers: Any, count: int, short: Any) -> None:
    """A pass on the planes of the table; the last columns, where they do not fill a vector, on copies of them."""
    size = elements_1(like)
    full = count // size * size
    if full != 0:
        call(address, table, numbers, full)
    if full == count:
        return
    copies = np.zeros((len(table), size), like.dtype)
    for k in range(len(table)):
        short[k] = copies[k].ctypes.data
        for j in range(count - full):
            copies[k, j] = number_at(like, table[k], full + j)
    call(address, short, numbers, size)
    for k in range(first_written, len(table)):
        for j in range(count - full):
            put_number_at(like, table[k], full + j, copies[k, j])


@compiled(CONTRACT)
def _add(like: Any, to: int, given: int, count: int) -> None:
    full_width()
    size = elements_1(like)
    full = count // size * size
    for j in range(0, full, size):
        put_vector_at(like, to, j, vector_at(like, to, j) + vector_at(like, given, j))
    for j in range(full, count):
        put_number_at(like, to, j, number_at(like, to, j) + number_at(like, given, j))


@compiled(CONTRACT)
def _place(table: Any, at: int, planes: Any, offset: int) -> Any:
    """The planes' addresses, ``offset`` bytes on, into the table from ``at`` on: where the next ones go."""
    for k in range(len(planes)):
        table[at + k] = planes[k] + offset
    return at + len(planes)


@kernel(CONTRACT)
def forward(
    like: Any,
    passes: Any,
    stages: Any,
    weights: Any,
    drives: Any,
    vectors: Any,
    before: Any,
    now: Any,
    numbers: Any,
    n0: int,
    n1: int,
    batch: int,
    hidden: int,
    height: int,
    first_block: int,
    last_block: int,
) -> None:
    """Steps n0+1 .. n1 of some blocks. A pass has the planes of a, drives, vectors, before and now, in this order."""
    full_width()
    size, results = like.itemsize, 0
    for s in range(len(stages)):
        results = max(results, stages[s, RESULTS])
    room = np.empty(results * height * hidden + 1, like.dtype)
    pair, step = _packed(hidden, size), batch * hidden * size
    table = np.empty(results + len(drives) + len(vectors) + len(before) + len(now), np.int64)
    short = np.empty(len(table), np.int64)
    old = results + len(drives) + len(vectors)
    new = old + len(before)
    stop = min(last_block * TALLEST, batch)
    for i in range(first_block * TALLEST, stop, height):
        rows = min(height, stop - i)
        at = i * hidden * size
        for k in range(results):
            table[k] = room.ctypes.data + k * rows * hidden * size
        _place(table, results + len(drives), vectors, 0)
        for n in range(n0, n1):
            _place(table, results, drives, (n - n0) * step + at)
            _place(table, new, now, n * step + at)
            if n == 0:
                _place(table, old, before, at)
            else:
                _place(table, old, now[: len(before)], (n - 1) * step + at)
            for s in range(len(stages)):
                source = (old if s == 0 else new) + stages[s, SOURCE]
                b = weights[s]
                for r in range(stages[s, RESULTS]):
                    for k in range(stages[s, SOURCES]):
                        product(like, table[r], hidden, table[source + k], hidden, b, rows, hidden, hidden, k)
                        b += pair
                _pass(like, passes[s], table, new, numbers, rows * hidden, short)


@kernel(CONTRACT)
def backward(
    like: Any,
    passes: Any,
    stages: Any,
    weights: Any,
    vectors: Any,
    before: Any,
    now: Any,
    costates: Any,
    gradients: Any,
    sums: Any,
    asked: Any,
    summed: Any,
    totals: Any,
    numbers: Any,
    n0: int,
    n1: int,
    batch: int,
    hidden: int,
    height: int,
    first_block: int,
    last_block: int,
) -> None:
    """Steps n1 .. n0+1 of some blocks. A pass has the planes of vectors, before, now, costates, gradients and sums.

    summed, totals (vectors, batch · hidden): what ``sums`` are addresses of, and the same in float64.
    """
    full_width()
    size, states = like.itemsize, len(before)
    pair, step = _packed(hidden, size), batch * hidden * size
    old = len(vectors)
    new = old + states
    by_state = new + len(now)
    by_result = by_state + len(costates)
    table = np.empty(by_result + len(gradients) + len(sums), np.int64)
    short = np.empty(len(table), np.int64)
    _place(table, 0, vectors, 0)
    stop = min(last_block * TALLEST, batch)
    for i in range(first_block * TALLEST, stop, height):
        rows = min(height, stop - i)
        at = i * hidden * size
        _place(table, by_state, costates, at)
        _place(table, by_result + len(gradients), sums, at)
        for n in range(n1 - 1, n0 - 1, -1):
            _place(table, by_result, gradients, (n - n0) * step + at)
            _place(table, new, now, n * step + at)
            if n == 0:
                _place(table, old, before, at)
            else:
                _place(table, old, now[:states], (n - 1) * step + at)
            for k in range(len(asked)):
                if asked[k] != 0:
                    _add(like, table[by_state + k], asked[k] + n * step + at, rows * hidden)
            for s in range(len(stages) - 1, -1, -1):
                _pass(like, passes[s], table, by_state, numbers, rows * hidden, short)
                b = weights[s]
                for r in range(stages[s, RESULTS]):
                    g = table[by_result + stages[s, GRADIENT] + r]
                    for k in range(stages[s, SOURCES]):
                        source = stages[s, SOURCE] + k
                        is_added = int(stages[s, ADDED] != 0 or r != 0)
                        product(like, table[by_state + source], hidden, g, hidden, b, rows, hidden, hidden, is_added)
                        b += pair
            if n % FLUSH == 0:
                for k in range(len(totals)):
                    for j in range(i * hidden, (i + rows) * hidden):
                        totals[k, j] += summed[k, j]
                        summed[k, j] = number_at(like, like.ctypes.data, 0)
