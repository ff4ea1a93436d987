"""What kernels carry for every column, and where it lies.

A column is one neuron of one sample. Blocks of at most ``WIDTH`` columns, all of samples of one length, are taken one
after another; every kernel takes a range of blocks, holds no lock and touches no other block, so that ranges may run in
threads, with the same bits.

What a block carries lies in one array ``L`` at distances of ``PITCH``: LLVM then sees that its parts do not overlap,
needs few comparisons of addresses, and makes loops over columns vector code. ``places`` (5, blocks) says where: a block
has the columns START .. STOP−1 and END steps, and its L is row ROW of ``lanes`` from AT on, so that short blocks share
a row.
"""

from __future__ import annotations

from typing import Any

from odernn.executions.cpu.kernels.addresses import number_at
from odernn.executions.cpu.kernels.compilation import PLAIN, compiled, kernel

WIDTH = 1024
"""Columns a block: one page of float32 a row."""

PITCH = WIDTH + 80
"""From one lane to the next. Not a power of two: lanes 4096 bytes apart would share the sets of the cache."""

FLUSH = 64
"""Rows after which the sums over time move on to float64: their rounding errors do not grow with the length."""

# Rows of ``places``.
START, STOP, END, ROW, AT = range(5)

# Lanes of L, in the dtype of x.
W, H, A, Y, Z = 0 * PITCH, 1 * PITCH, 2 * PITCH, 3 * PITCH, 4 * PITCH
P, Q, GX, GW, GH, GA = 5 * PITCH, 6 * PITCH, 7 * PITCH, 8 * PITCH, 9 * PITCH, 10 * PITCH
S, B = 11 * PITCH, 12 * PITCH  # s_n and y_{n-1}, from one loop to the next in the exact mode
MAX_Y, MAX_Z = 5 * PITCH, 6 * PITCH  # in the forward pass of the exact mode, which has no costates
# Where states are rebuilt, with g_n = dE/dx_n: Σ|g|, Σ|g y|, Σ|q|, Σ|q y|, Σ|p| and Σ|p z − q (s + αy)| over a piece.
ABS_G, ABS_GY, ABS_Q, ABS_QY, ABS_P, ABS_H = 11 * PITCH, 12 * PITCH, 13 * PITCH, 14 * PITCH, 15 * PITCH, 16 * PITCH
DOUBT = ABS_G  # after the piece: how far the column is from being trusted
LANES = 17

# Lanes of D, in float64, of the exact mode: the state, its grids g, 1/g, and the largest |y| and |z|.
EXACT_Y, EXACT_Z, GRID_Y, GRID_Z, PER_Y, PER_Z, TOP_Y, TOP_Z = (k * PITCH for k in range(8))
EXACT_LANES = 8

# Lanes of T, in float64: sums over time of the derivatives by x, w, h and α.
SUM_X, SUM_W, SUM_H, SUM_A = (k * PITCH for k in range(4))
SUM_LANES = 4


@compiled(PLAIN)
def block(lanes: Any, places: Any, k: int) -> Any:
    """L of a block."""
    return lanes[places[ROW, k], places[AT, k] :]


@kernel(PLAIN)
def pack(lanes: Any, lane: int, values: Any, places: Any) -> None:
    """values (columns,) into a lane of all blocks, in the dtype of the lane."""
    for k in range(places.shape[1]):
        L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
        for j in range(hi - lo):
            L[lane + j] = values[lo + j]


@kernel(PLAIN)
def spread(lanes: Any, table: Any, hidden: int, places: Any) -> None:
    """Arrays (batch, hidden) of the lanes' dtype into lanes of all blocks: a lane, an address and two strides each."""
    for k in range(places.shape[1]):
        L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
        for g in range(len(table)):
            lane, address, apart, step = table[g, 0], table[g, 1], table[g, 2], table[g, 3]
            i, m = lo // hidden, lo % hidden
            for j in range(hi - lo):
                L[lane + j] = number_at(lanes, address, i * apart + m * step)
                m += 1
                if m == hidden:
                    i, m = i + 1, 0


@kernel(PLAIN)
def unpack(lanes: Any, lane: int, values: Any, places: Any) -> None:
    """A lane of all blocks into values (columns,), in their dtype."""
    for k in range(places.shape[1]):
        L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
        for j in range(hi - lo):
            values[lo + j] = L[lane + j]


@kernel(PLAIN)
def add_samples(sums: Any, out: Any, places: Any) -> None:
    """The first lanes of all blocks added to the rows of out (lanes, hidden), one sample after the other."""
    hidden = out.shape[1]
    for k in range(places.shape[1]):
        T, lo, hi = block(sums, places, k), places[START, k], places[STOP, k]
        for g in range(len(out)):
            m = lo % hidden
            for j in range(hi - lo):
                out[g, m] += T[g * PITCH + j]
                m += 1
                if m == hidden:
                    m = 0


@compiled(PLAIN)
def copy(L: Any, lane: int, row: Any, width: int) -> None:
    """A lane into a row."""
    for j in range(width):
        row[j] = L[lane + j]


@compiled(PLAIN)
def move(L: Any, T: Any, width: int, zero: Any) -> None:
    """A lane of L, from its first element, is added to one of T and cleared."""
    for j in range(width):
        T[j] += L[j]
        L[j] = zero


@compiled(PLAIN)
def flush(L: Any, T: Any, width: int, zero: Any) -> None:
    """The sums over time go on to float64."""
    move(L[GX:], T[SUM_X:], width, zero)
    move(L[GW:], T[SUM_W:], width, zero)
    move(L[GH:], T[SUM_H:], width, zero)
    move(L[GA:], T[SUM_A:], width, zero)
