"""Kernels of the cpu execution: the recurrence forwards, and its costates backwards from the rows of y.

Time is cut into tiles of ``TILE`` steps. Through a tile a vector of columns stays in registers with all that belongs to
it, so that nothing but rows of x, y, dE/dy is read and written, and vectors follow each other along the rows, as
processors expect it. Blocks follow each other within a tile and not the other way round for the same reason. What is
carried from tile to tile is in lanes, see ``kernels.lanes``.

A layer with few inputs has its drive made here, a tile at a time, and the derivative by V, see ``kernels.drive``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from odernn.executions.cpu.kernels.compilation import CONTRACT, PLAIN, compiled, full_width, kernel, prefetch
from odernn.executions.cpu.kernels.drive import collect, project, project_wide, scratch
from odernn.executions.cpu.kernels.lanes import (
    END,
    FLUSH,
    GA,
    GH,
    GW,
    GX,
    PITCH,
    START,
    STOP,
    A,
    H,
    P,
    Q,
    W,
    Y,
    Z,
    block,
    copy,
    flush,
    move,
)
from odernn.executions.cpu.kernels.tanh import tanh_contracted
from odernn.executions.cpu.kernels.vector import (
    elements_1,
    elements_4,
    elements_8,
    every_1,
    every_4,
    every_8,
    first_1,
    first_4,
    load,
    load_row,
    magnitude,
    smaller,
    store,
    store_row,
    where_smaller,
)

TILE = 8
"""Steps; more of them are more rows to read at a time than processors follow, and, at powers of two, the same sets of
the cache."""

SHORT = 1024
"""Columns of a row up to which the backward pass asks for what it will read a tile early: taken last to first, short
rows are guessed wrong by processors. Of long ones it asks for columns that are ``AHEAD``: processors guess those right,
but begin anew on every page, and a tile is on twice as many of them as it has rows."""

AHEAD = 64
"""Columns. In pairs on one thread 14.0 to 14.3 ns for 16 elements against 16.2 to 18.1, rows of 16384 columns; 32 and
128 are alike."""


# --- forwards


@compiled(CONTRACT)
def forward_tile(
    L: Any, j: int, mask: Any, x: Any, n: int, at: int, y: Any, z: Any, m: int, to: int, count: int
) -> None:
    """``count`` steps of the columns from j on, with x[n.., at..], into y[m.., to..], and z if it has rows."""
    full_width()
    w, h, alpha = load(L, W + j, mask), load(L, H + j, mask), load(L, A + j, mask)
    now, momentum = load(L, Y + j, mask), load(L, Z + j, mask)
    for k in range(count):
        momentum = momentum - h * (tanh_contracted(w * now + load_row(x, n + k, at, mask)) + alpha * now)
        now = now + h * momentum
        store_row(y, m + k, to, now, mask)
        if len(z) != 0:
            store_row(z, m + k, to, momentum, mask)
    store(L, Y + j, now, mask)
    store(L, Z + j, momentum, mask)


@compiled(CONTRACT)
def forward_block(L: Any, width: int, x: Any, n: int, at: int, y: Any, z: Any, m: int, to: int, count: int) -> None:
    """The same for all columns of a block."""
    full_width()
    size = elements_4(L)
    whole = width // size * size
    for j in range(0, whole, size):
        forward_tile(L, j, every_4(), x, n, at + j, y, z, m, to + j, count)
    if whole < width:
        forward_tile(L, whole, first_4(width - whole, L), x, n, at + whole, y, z, m, to + whole, count)


@compiled(PLAIN)
def _clear(rows: Any, n0: int, n1: int, lo: int, hi: int) -> None:
    for n in range(n0, n1):
        rows[n, lo:hi] = 0


@kernel(CONTRACT)
def forward(
    x: Any,
    y: Any,
    z: Any,
    kept: Any,
    keep_every: int,
    n0: int,
    lanes: Any,
    places: Any,
    first_block: int,
    last_block: int,
) -> None:
    """Steps n0+1 .. n0+len(x) of some blocks: rows of y, of z if it has any, zero beyond a block's end.

    kept (·, 2, columns) receives the state before every ``keep_every``-th step, if that is not 0; it and n0 are then
    multiples of ``TILE``.
    """
    full_width()
    for t in range(0, len(x), TILE):
        for k in range(first_block, last_block):
            L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
            stop = min(t + TILE, len(x))
            count = max(min(stop, places[END, k] - n0) - t, 0)
            if count != 0 and keep_every != 0 and (n0 + t) % keep_every == 0:
                copy(L, Y, kept[(n0 + t) // keep_every, 0, lo:hi], hi - lo)
                copy(L, Z, kept[(n0 + t) // keep_every, 1, lo:hi], hi - lo)
            forward_block(L, hi - lo, x, t, lo, y, z, n0 + t, lo, count)
            _clear(y, n0 + t + count, n0 + stop, lo, hi)
            if len(z) != 0:
                _clear(z, n0 + t + count, n0 + stop, lo, hi)


@kernel(CONTRACT)
def layer_forward(u: Any, table: Any, y: Any, lanes: Any, places: Any, first_block: int, last_block: int) -> None:
    """All steps of a layer, from what it sees: rows of y, zero beyond a block's end.

    A step is a chain of some twenty operations, each of which waits for the one before. Eight registers are eight
    chains, which fill the waiting; where rows of x are read, too, that is what is waited for, and four are enough.
    """
    full_width()
    long, size = elements_8(lanes), elements_4(lanes)
    X, none = scratch(TILE, long, lanes), np.empty((0, 0), lanes.dtype)
    for t in range(0, len(u), TILE):
        for k in range(first_block, last_block):
            L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
            stop = min(t + TILE, len(u))
            count = max(min(stop, places[END, k]) - t, 0)
            j = 0
            while j < hi - lo and count != 0:
                left = hi - lo - j
                done = long if left >= long else min(left, size)
                project_wide(X, done, u, t, lo + j, table, count)
                if done == long:
                    forward_tile(L, j, every_8(), X, 0, 0, y, none, t, lo + j, count)
                elif done == size:
                    forward_tile(L, j, every_4(), X, 0, 0, y, none, t, lo + j, count)
                else:
                    forward_tile(L, j, first_4(done, L), X, 0, 0, y, none, t, lo + j, count)
                j += done
            _clear(y, t + count, stop, lo, hi)


# --- backwards


@compiled(CONTRACT)
def _held(z: Any, before: Any, after: Any, per_h: Any, unsure: Any, least: Any, two: Any) -> Any:
    """z_n, a sum back from the last state, within what y_n = y_{n-1} + h z_n and its roundings say of it.

    With d = (y_n − y_{n-1})/h:  |z_n − d| ≤ (2u |y_n| + 4u |y_n − y_{n-1}| + m)/|h|, where m stands for what is lost
    below the normal numbers. ``unsure`` is 2u/|h|, and ``least`` m/|h| for an m of 16 times the smallest normal number:
    with a smaller one it would not be normal, and arithmetic with such is slow. On a long saddle, where z grows from
    10⁻⁷ to 1, the sum alone keeps the rounding of the largest z, and dE/dh is lost. Held at every step it is off by
    twice that bound at most, however fast states grow; at h √(−w) = 1.8 the error of a sum grows fivefold a step,
    relative to z. Where h is 0 or a number is NaN nothing is done.
    """
    gap = after - before
    room = unsure * (two * magnitude(gap) + magnitude(after)) + least
    low, high = gap * per_h - room, gap * per_h + room
    most = smaller(z, high)
    return where_smaller(most, low, low, most)


@compiled(CONTRACT)
def stored_tile(
    L: Any,
    j: int,
    mask: Any,
    x: Any,
    n: int,
    at: int,
    y0: Any,
    at0: int,
    y: Any,
    m: int,
    to: int,
    grad_y: Any,
    grad_z: Any,
    r: int,
    by: int,
    g_rows: Any,
    i: int,
    out: int,
    count: int,
    soon: int,
    ahead: int,
    one: Any,
) -> None:
    """``count`` steps of the costates of the columns from j on, last to first.

    Step k has the drive x[n+k, at..], y_n = y[m+k, to..], y_{n-1} the row before, or y0[at0..] where that is none, and
    z_{n-1} as a sum, z_n + h (s_n + α y_{n-1}), where z_n is held within what the rows of y say, see ``_held``. grad_y,
    grad_z: [r.., by..], or one row for all, and none. dE/dx goes into g_rows[i.., out..]. Unless both are 0, what lies
    ``soon`` rows before and ``ahead`` columns after is asked for, of y and grad_y.
    """
    full_width()
    w, h, alpha = load(L, W + j, mask), load(L, H + j, mask), load(L, A + j, mask)
    z, p, q = load(L, Z + j, mask), load(L, P + j, mask), load(L, Q + j, mask)
    by_x, by_w = load(L, GX + j, mask), load(L, GW + j, mask)
    by_h, by_alpha = load(L, GH + j, mask), load(L, GA + j, mask)
    minus_h = (one - one) - h
    per_h = one / h
    two = one + one
    four = two * two
    unsure = magnitude(per_h) * (one * np.finfo(L.dtype).eps)
    least = magnitude(per_h) * (four * four * np.finfo(L.dtype).tiny)
    after = load_row(y, m + count - 1, to, mask)
    for k in range(count - 1, -1, -1):
        if soon != 0 or ahead != 0:
            prefetch(y, max(m + k - 1 - soon, 0), to + ahead)
            prefetch(grad_y, max(r + k - soon, 0), by + ahead)
        before = load_row(y, m + k - 1, to, mask) if m + k > 0 else load(y0, at0, mask)
        z = _held(z, before, after, per_h, unsure, least, two)
        s = tanh_contracted(w * before + load_row(x, n + k, at, mask))
        slope = one - s * s
        force = s + alpha * before
        if len(grad_z) != 0:
            q = q + load_row(grad_z, r + k, by, mask)
        p = p + load_row(grad_y, r + k if len(grad_y) != 1 else 0, by, mask)
        q = q + h * p
        kick = minus_h * q
        g = kick * slope
        store_row(g_rows, i + k, out, g, mask)
        by_x = by_x + g
        by_w = by_w + g * before
        by_h = by_h + (p * z - q * force)
        by_alpha = by_alpha + kick * before
        p = p + kick * (alpha + w * slope)
        z = z + h * force
        after = before
    store(L, Z + j, z, mask)
    store(L, P + j, p, mask)
    store(L, Q + j, q, mask)
    store(L, GX + j, by_x, mask)
    store(L, GW + j, by_w, mask)
    store(L, GH + j, by_h, mask)
    store(L, GA + j, by_alpha, mask)


@compiled(CONTRACT)
def stored_block(
    L: Any,
    width: int,
    x: Any,
    n: int,
    lo: int,
    y0: Any,
    y: Any,
    m: int,
    to: int,
    grad_y: Any,
    grad_z: Any,
    grad_x: Any,
    count: int,
    soon: int,
    ahead: int,
    one: Any,
) -> None:
    """The same for all columns lo.. of a block; y from column ``to`` on, and dE/dx in the rows of x."""
    full_width()
    size = elements_1(L)
    whole = width // size * size
    for j in range(0, whole, size):
        at = lo + j
        stored_tile(
            L,
            j,
            every_1(),
            x,
            n,
            at,
            y0,
            at,
            y,
            m,
            to + j,
            grad_y,
            grad_z,
            n,
            at,
            grad_x,
            n,
            at,
            count,
            soon,
            ahead,
            one,
        )
    if whole < width:
        at, mask = lo + whole, first_1(width - whole, L)
        stored_tile(
            L, whole, mask, x, n, at, y0, at, y, m, to + whole, grad_y, grad_z, n, at, grad_x, n, at, count, 0, 0, one
        )


@compiled(PLAIN)
def _asked_for(y: Any, grad_y: Any) -> Any:
    """How many rows before and columns after are asked for early."""
    if len(grad_y) == 1:
        return 0, 0
    return (TILE, 0) if y.shape[1] <= SHORT else (0, AHEAD)


@kernel(CONTRACT)
def stored_backward(
    x: Any,
    y0: Any,
    y: Any,
    grad_y: Any,
    grad_z: Any,
    grad_x: Any,
    n0: int,
    lanes: Any,
    sums: Any,
    places: Any,
    first_block: int,
    last_block: int,
    one: Any,
) -> None:
    """Steps n0+len(x) .. n0+1 of some blocks, from the rows of y (time, columns) and the state in the lanes.

    grad_y, grad_z have as many rows as x; or grad_y one row for all of them, and grad_z none.
    """
    full_width()
    stop = len(x)
    soon, ahead = _asked_for(y, grad_y)
    while stop > 0:
        t = max((n0 + stop - 1) // TILE * TILE - n0, 0)
        for k in range(first_block, last_block):
            L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
            count = max(min(stop, places[END, k] - n0) - t, 0)
            _clear(grad_x, t + count, stop, lo, hi)
            if count != 0:
                stored_block(L, hi - lo, x, t, lo, y0, y, n0 + t, lo, grad_y, grad_z, grad_x, count, soon, ahead, one)
                if (n0 + t) % FLUSH == 0:
                    flush(L, block(sums, places, k), hi - lo, one - one)
        stop = t


@kernel(CONTRACT)
def layer_backward(
    u: Any,
    table: Any,
    y0: Any,
    y: Any,
    grad_y: Any,
    lanes: Any,
    sums: Any,
    by_V: Any,
    places: Any,
    first_block: int,
    last_block: int,
    one: Any,
) -> None:
    """All steps of a layer, last to first, without dE/dx; dE/dV of each sample is added to by_V (·, below · PITCH)."""
    full_width()
    size, hidden, inputs = elements_1(lanes), table.shape[1], table.shape[0] - 1
    X, g, none = scratch(TILE, size, lanes), scratch(TILE, size, lanes), np.empty((0, 0), lanes.dtype)
    totals = scratch(lanes.shape[0], by_V.shape[1], lanes)
    totals[:] = one - one
    stop = len(u)
    soon, ahead = _asked_for(y, grad_y)
    while stop > 0:
        t = (stop - 1) // TILE * TILE
        for k in range(first_block, last_block):
            L, G, lo, hi = block(lanes, places, k), block(totals, places, k), places[START, k], places[STOP, k]
            count = max(min(stop, places[END, k]) - t, 0)
            sample = lo // hidden
            neuron = lo - sample * hidden
            for j in range(0, hi - lo if count != 0 else 0, size):
                project(X, 0, every_1(), u, t, sample * inputs, table, neuron, count)
                at = lo + j
                stored_tile(
                    L, j, every_1(), X, 0, 0, y0, at, y, t, at, grad_y, none, t, at, g, 0, 0, count, soon, ahead, one
                )
                collect(G, j, g, u, t, sample * inputs, inputs, count)
                neuron += size
                if neuron == hidden:
                    neuron, sample = 0, sample + 1
            if count != 0 and t % FLUSH == 0:
                flush(L, block(sums, places, k), hi - lo, one - one)
                to = block(by_V, places, k)
                for lane in range(0, by_V.shape[1], PITCH):
                    move(G[lane:], to[lane:], hi - lo, one - one)
        stop = t
