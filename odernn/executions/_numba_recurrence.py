"""Kernels of the cpu execution: rows of the recurrence over blocks of columns, and the tanh they use.

A column is one neuron of one sample. Blocks of at most ``WIDTH`` columns, all of samples of one length, run one after
another, each through all rows of a piece of time, so that what a block carries stays in cache; every kernel takes a
range of blocks, holds no lock and touches no other block, so that ranges may run in threads, with the same bits.

What a block carries lies in one array ``L`` at distances of ``PITCH``: LLVM then sees that its parts do not overlap,
needs few comparisons of addresses, and makes the loops over columns vector code. ``places`` (5, blocks) says where: a
block has the columns START .. STOP−1 and END steps, and its L is row ROW of ``lanes`` from AT on, so that short blocks
share a row. All kernels are top-level functions and everything they call is in this file: numba's cache on disk sees
neither closures nor changes elsewhere.

Roundings: products and sums may be fused ("contract"), but are never reordered: no full fastmath, which would remove
the two-part reduction and the rounding constant of tanh. The functions of the exact mode are compiled without any of
it: there forward and backward must compute the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

WIDTH = 1024
"""Columns a block: one page of float32 a row, and lanes that stay in L1 forwards and in L2 backwards."""

PITCH = WIDTH + 80
"""From one lane to the next. Not a power of two: lanes 4096 bytes apart would share the sets of the cache."""

SHORT = 512
"""Columns of a block up to which the backward pass asks for rows early: 1.3 to 1.7 times the speed at 256."""

ANCHOR = 16
"""Rows after which a z that is summed back is held against the rows of y."""

FLUSH = 64
"""Rows after which the sums over time move on to float64: their rounding errors do not grow with the length."""

FEW = 8
"""Steps up to which states are not rebuilt: from a state at rest such sums may be 0, and no relative error is small."""

_CONTRACT: dict[str, Any] = {"fastmath": {"contract", "arcp", "nsz"}, "error_model": "numpy"}
_PLAIN: dict[str, Any] = {"fastmath": False, "error_model": "numpy"}  # "numpy": division by zero is no branch

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(how: dict[str, Any]) -> Callable[[Function], Function]:
    """A part of kernels, compiled when a kernel needs it, for the dtypes it needs."""
    decorator: Any = numba.njit
    result: Callable[[Function], Function] = decorator(**how)
    return result


def _kernel(how: dict[str, Any]) -> Callable[[Function], Function]:
    """What Python calls: without Python's lock, and kept on disk, if there is a place for it."""

    def decorate(function: Function) -> Function:
        try:
            return _compiled(how | {"nogil": True, "cache": True})(function)
        except RuntimeError as error:  # numba's, where neither the package nor the home directory can be written to
            if "cannot cache" not in str(error):
                raise
            return _compiled(how | {"nogil": True})(function)

    return decorate


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


# --- tanh
#
# |x| < 0.6: a + a s P(s), s = a²;  else 1 − 2/(exp(2a) + 1), with exp(v) = 2^k (1 + r + r² E(r)), k = round(v / ln 2),
# r = v − k ln 2 in two parts. P and E minimise the largest weighted relative error (Lawson's iteration in 50 digits on
# Chebyshev points); approximation errors are at most 0.06 u each. Odd, and NaN for NaN.

_F = np.float32
_P0, _P1, _P2, _P3, _P4 = (
    _F(c) for c in (-0.333332979952, 0.133319239612, -0.0537838173295, 0.0207959308296, -0.00589511310224)
)
_E0, _E1, _E2, _E3, _E4 = (
    _F(c) for c in (0.499999934112, 0.16666520095, 0.0416683944756, 0.00836878159999, 0.00138144543864)
)
_ONE, _TWO, _SMALL, _TOP = _F(1), _F(2), _F(0.6), _F(9.02)  # tanh 9.02 rounds to 1
_ROUND, _PER_LN2 = _F(12582912.0), _F(1.44269504)  # 1.5·2²³: the sum's last bits are k
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)
_SHIFT, _BIAS = np.int32(23), np.int32(127 << 23)


def _tanh32(x: Any) -> Any:
    a = abs(x)
    a = _TOP if a > _TOP else a  # not min(): NaN has to stay NaN
    s = a * a
    small = a + a * s * ((((_P4 * s + _P3) * s + _P2) * s + _P1) * s + _P0)
    v = a + a
    t = v * _PER_LN2 + _ROUND
    k = t - _ROUND
    r = (v - k * _LN2_HIGH) - k * _LN2_LOW
    e = _ONE + (r + r * r * ((((_E4 * r + _E3) * r + _E2) * r + _E1) * r + _E0))
    bits = np.int32((np.float32(t).view(np.int32) << _SHIFT) + _BIAS)
    large = _ONE - _TWO / (e * bits.view(np.float32) + _ONE)
    return math.copysign(small if a < _SMALL else large, x)


_p0, _p1, _p2, _p3 = -0.33333333333333124954, 0.13333333333299653465, -0.053968253949291926404, 0.02186948800248593535
_p4, _p5, _p6 = -0.0088632267765384646035, 0.0035920373724547614539, -0.0014552153298524209311
_p7, _p8, _p9, _p10 = (
    0.00058718830085189705362, -0.00023039660270356192218, 0.000079313714085638009962, -0.00001717860839762439832,
)  # fmt: skip
_e0, _e1, _e2, _e3 = 0.5000000000000010734, 0.16666666666666410159, 0.041666666666529085351, 0.0083333333334955971055
_e4, _e5, _e6 = 0.001388888894394779994, 0.00019841269504924662118, 0.00002480149273857247716
_e7, _e8, _e9 = 2.7557587138536548296e-6, 2.7630386691005017444e-7, 2.5000043681004279596e-8
_round, _per_ln2 = 6755399441055744.0, 1.4426950408889634  # 1.5·2⁵²
_ln2_high, _ln2_low = 0.693147180369123816490, 1.90821492927058770002e-10  # the high part has 33 bits: k high is exact
_shift, _bias = np.int64(52), np.int64(1023 << 52)


def _tanh64(x: Any) -> Any:
    a = abs(x)
    a = 19.1 if a > 19.1 else a  # tanh 19.1 rounds to 1
    s = a * a
    p = (((((_p10 * s + _p9) * s + _p8) * s + _p7) * s + _p6) * s + _p5) * s + _p4
    small = a + a * s * ((((p * s + _p3) * s + _p2) * s + _p1) * s + _p0)
    v = a + a
    t = v * _per_ln2 + _round
    k = t - _round
    r = (v - k * _ln2_high) - k * _ln2_low
    q = ((((_e9 * r + _e8) * r + _e7) * r + _e6) * r + _e5) * r + _e4
    e = 1.0 + (r + r * r * ((((q * r + _e3) * r + _e2) * r + _e1) * r + _e0))
    bits = np.int64((np.float64(t).view(np.int64) << _shift) + _bias)
    large = 1.0 - 2.0 / (e * bits.view(np.float64) + 1.0)
    return math.copysign(small if a < 0.6 else large, x)


def tanh_contracted(x: Any) -> Any:
    raise NotImplementedError


def tanh_plain(x: Any) -> Any:
    raise NotImplementedError


def _chosen_tanh(x: Any) -> Any:
    return _tanh32 if x == types.float32 else _tanh64


for _name, _how in ((tanh_contracted, _CONTRACT), (tanh_plain, _PLAIN)):
    overload(_name, jit_options=cast(Any, _how))(_chosen_tanh)


def _ask_for_full_width(_context: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # llvmlite writes attributes out as they are, but its own ``add`` knows only those without a value.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), codegen


full_width: Any = intrinsic(_ask_for_full_width)
"""In a function: vectors of 512 bits where the processor has them. LLVM takes half of that unless it is asked."""


@_kernel(_CONTRACT)
def tanh(x: Any, out: Any, is_plain: bool) -> None:
    """out[k] = tanh x[k], as the kernels compute it; ``is_plain``: as in the exact mode."""
    full_width()
    if is_plain:
        for k in range(len(x)):
            out[k] = tanh_plain(x[k])
    else:
        for k in range(len(x)):
            out[k] = tanh_contracted(x[k])


# --- memory


def _ask_for_line(_context: Any, row: Any, j: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], fnty=kind)
        builder.call(prefetch, [address, number(0), number(3), number(1)])  # to read, into all levels, data
        return context.get_dummy_value()

    return types.none(row, types.intp), codegen


_prefetch: Any = intrinsic(_ask_for_line)


@_compiled(_PLAIN)
def _soon(row: Any, width: int) -> None:
    """Ask for a row that will be read: where rows are short and taken last to first, processors guess wrong."""
    for j in range(0, width, 16):
        _prefetch(row, j)


# --- lanes


@_compiled(_PLAIN)
def _block(lanes: Any, places: Any, k: int) -> Any:
    return lanes[places[ROW, k], places[AT, k] :]


@_kernel(_PLAIN)
def pack(lanes: Any, lane: int, values: Any, places: Any) -> None:
    """values (columns,) into a lane of all blocks, in the dtype of the lane."""
    for k in range(places.shape[1]):
        L, lo, hi = _block(lanes, places, k), places[START, k], places[STOP, k]
        for j in range(hi - lo):
            L[lane + j] = values[lo + j]


@_kernel(_PLAIN)
def unpack(lanes: Any, lane: int, values: Any, places: Any) -> None:
    """A lane of all blocks into values (columns,), in their dtype."""
    for k in range(places.shape[1]):
        L, lo, hi = _block(lanes, places, k), places[START, k], places[STOP, k]
        for j in range(hi - lo):
            values[lo + j] = L[lane + j]


# --- forwards


@_compiled(_CONTRACT)
def _forward_row(L: Any, x: Any, y: Any, width: int) -> None:
    full_width()
    for j in range(width):
        before, h = L[Y + j], L[H + j]
        z = L[Z + j] - h * (tanh_contracted(L[W + j] * before + x[j]) + L[A + j] * before)
        after = before + h * z
        L[Z + j] = z
        L[Y + j] = after
        y[j] = after


@_compiled(_PLAIN)
def _copy(L: Any, lane: int, row: Any, width: int) -> None:
    for j in range(width):
        row[j] = L[lane + j]


@_kernel(_CONTRACT)
def forward(
    x: Any, y: Any, z: Any, kept: Any, keep_every: int, n0: int, lanes: Any, places: Any,
    first: int, last: int,
) -> None:  # fmt: skip
    """Steps n0+1 .. n0+len(x) of blocks first..last−1: rows of y, of z if it has any, zero beyond a block's end.

    kept (·, 2, columns) receives the state before every ``keep_every``-th step, if that is not 0.
    """
    full_width()
    for k in range(first, last):
        L, lo, hi = _block(lanes, places, k), places[START, k], places[STOP, k]
        width = hi - lo
        steps = max(min(len(x), places[END, k] - n0), 0)
        for n in range(steps):
            if keep_every != 0 and (n0 + n) % keep_every == 0:
                _copy(L, Y, kept[(n0 + n) // keep_every, 0, lo:hi], width)
                _copy(L, Z, kept[(n0 + n) // keep_every, 1, lo:hi], width)
            _forward_row(L, x[n, lo:hi], y[n0 + n, lo:hi], width)
            if len(z) != 0:
                _copy(L, Z, z[n0 + n, lo:hi], width)
        for n in range(n0 + steps, n0 + len(x)):
            y[n, lo:hi] = 0
            if len(z) != 0:
                z[n, lo:hi] = 0


# --- backwards


@_compiled(_CONTRACT)
def _add(L: Any, lane: int, row: Any, width: int) -> None:
    for j in range(width):
        L[lane + j] += row[j]


@_compiled(_CONTRACT)
def _stored_row(L: Any, x: Any, before: Any, grad_y: Any, grad_x: Any, width: int, one: Any) -> None:
    """One step of the costates with y_{n-1} given; z_{n-1} = z_n + h (s_n + α y_{n-1}) is a plain sum."""
    full_width()
    for j in range(width):
        w, h, alpha, y, z = L[W + j], L[H + j], L[A + j], before[j], L[Z + j]
        s = tanh_contracted(w * y + x[j])
        slope = one - s * s
        force = s + alpha * y
        p = L[P + j] + grad_y[j]
        q = L[Q + j] + h * p
        hq = h * q
        g = -hq * slope
        grad_x[j] = g
        L[GX + j] += g
        L[GW + j] += g * y
        L[GH + j] += p * z - q * force
        L[GA + j] -= hq * y
        L[P + j] = p - hq * (alpha + w * slope)
        L[Q + j] = q
        L[Z + j] = z + h * force


@_compiled(_CONTRACT)
def _rebuilt_row(L: Any, x: Any, grad_y: Any, grad_x: Any, width: int, one: Any) -> None:
    """The same with y_{n-1} = y_n − h z_n, the inverse of the drift, and with the sums of absolute values."""
    full_width()
    for j in range(width):
        w, h, alpha, z = L[W + j], L[H + j], L[A + j], L[Z + j]
        y = L[Y + j] - h * z
        s = tanh_contracted(w * y + x[j])
        slope = one - s * s
        force = s + alpha * y
        p = L[P + j] + grad_y[j]
        q = L[Q + j] + h * p
        hq = h * q
        g = -hq * slope
        grad_x[j] = g
        by_w, by_h, qy = g * y, p * z - q * force, q * y
        L[GX + j] += g
        L[GW + j] += by_w
        L[GH + j] += by_h
        L[GA + j] -= h * qy
        L[P + j] = p - hq * (alpha + w * slope)
        L[Q + j] = q
        L[Y + j] = y
        L[Z + j] = z + h * force
        L[ABS_G + j] += abs(g)
        L[ABS_GY + j] += abs(by_w)
        L[ABS_Q + j] += abs(q)
        L[ABS_QY + j] += abs(qy)
        L[ABS_P + j] += abs(p)
        L[ABS_H + j] += abs(by_h)


@_compiled(_PLAIN)
def _flush(L: Any, T: Any, width: int, zero: Any) -> None:
    for j in range(width):
        T[SUM_X + j] += L[GX + j]
        L[GX + j] = zero
    for j in range(width):
        T[SUM_W + j] += L[GW + j]
        L[GW + j] = zero
    for j in range(width):
        T[SUM_H + j] += L[GH + j]
        L[GH + j] = zero
    for j in range(width):
        T[SUM_A + j] += L[GA + j]
        L[GA + j] = zero


@_compiled(_PLAIN)
def _anchor(L: Any, before: Any, after: Any, width: int, u: Any) -> None:
    """z_n, a sum back from the last state, within what y_n = y_{n-1} + h z_n and its roundings say of it.

    With d = (y_n − y_{n-1})/h:  |z_n − d| ≤ 2u |y_n|/h + 4u |d|. On a long saddle, where z grows from 10⁻⁷ to 1, the
    sum alone keeps the rounding of the largest z, and dE/dh is lost. Where h is 0 or a number is NaN nothing is done.
    """
    for j in range(width):
        h, z = L[H + j], L[Z + j]
        d = (after[j] - before[j]) / h
        room = (u + u) * (abs(after[j] / h) + abs(d) + abs(d))
        low, high = d - room, d + room
        L[Z + j] = low if z < low else (high if z > high else z)


@_kernel(_CONTRACT)
def stored_backward(
    x: Any, y0: Any, y: Any, grad_y: Any, grad_z: Any, grad_x: Any, n0: int, lanes: Any, sums: Any,
    places: Any, first: int, last: int, one: Any, u: Any,
) -> None:  # fmt: skip
    """Steps n0+len(x) .. n0+1 of blocks first..last−1, from the rows of y (time, columns) and the state in the lanes.

    grad_y, grad_z have as many rows as x; or grad_y one row for all of them, and grad_z none.
    """
    full_width()
    every = 0 if len(grad_y) == 1 else 1
    for k in range(first, last):
        L, T = _block(lanes, places, k), _block(sums, places, k)
        lo, hi = places[START, k], places[STOP, k]
        width = hi - lo
        steps = max(min(len(x), places[END, k] - n0), 0)
        for n in range(steps, len(x)):
            grad_x[n, lo:hi] = 0
        for n in range(steps - 1, -1, -1):
            before = y[n0 + n - 1, lo:hi] if n0 + n > 0 else y0[lo:hi]
            if len(grad_z) != 0:
                _add(L, Q, grad_z[n, lo:hi], width)
            if n > 1 and width <= SHORT:
                _soon(x[n - 1, lo:hi], width)
                _soon(y[n0 + n - 2, lo:hi], width)
                _soon(grad_y[(n - 1) * every, lo:hi], width)
            _stored_row(L, x[n, lo:hi], before, grad_y[n * every, lo:hi], grad_x[n, lo:hi], width, one)
            if (n0 + n) % FLUSH == 0:
                _flush(L, T, width, one - one)
            if (n0 + n) % ANCHOR == 0 and n0 + n > 1:
                _anchor(L, y[n0 + n - 2, lo:hi], before, width, u)


@_compiled(_PLAIN)
def _ratio(error: Any, size: Any, one: Any) -> Any:
    return one - one if error == one - one else error / size


@_compiled(_PLAIN)
def _larger(a: Any, b: Any) -> Any:
    """max(a, b), and NaN if one of them is."""
    return a if a > b or a != a else b


@_compiled(_CONTRACT)
def _doubt_row(
    L: Any, before: Any, kept_y: Any, kept_z: Any, x: Any, width: int, steps: int, least: Any, one: Any
) -> None:
    """DOUBT, the largest error of a column that its rebuilt states show, relative to what it is an error of; or NaN.

    The gaps between the rebuilt state in L and the kept one, at the start of a piece, are compared with
    (1) what one rounding of each step would move, from the state ``before`` (the lanes at the end of the piece);
    (2) the sums dE/dw, dE/dα and dE/dh of the piece, all terms in absolute value, as far as they move these.
    (1) leaves out that y_{n-1} is also a factor in those sums: a state that grew from 10⁻⁶ to 1 passes with any value.
    Inside a piece gaps are taken to be at most gap_y + T gap_z, and gap_z + √(|α| + |w|) gap_y: those of drifts, waves
    and saddles, which all are largest at the start or turn y into z. T is steps h, or less where α + min(w, 0), the
    weakest restoring force there is, makes waves: its −1/2 power, the reach of one with speed 1. ``least`` times
    the first step is what (2) never asks to be better than: with y0 = 0 dE/dw of one step is 0, and no relative error
    is small.
    """
    full_width()
    for j in range(width):
        w, h, alpha, y, z = L[W + j], L[H + j], abs(L[A + j]), kept_y[j], kept_z[j]
        duration = steps * abs(h)
        big_y, big_z = max(abs(y), abs(before[Y + j])), max(abs(z), abs(before[Z + j]))
        gap_y, gap_z = abs(L[Y + j] - y), abs(L[Z + j] - z)
        doubt = _ratio(gap_y, big_y + duration * big_z, one)
        doubt = _larger(doubt, _ratio(gap_z, big_z + duration * (one + alpha * big_y), one))
        rate = alpha + abs(w)
        weakest = L[A + j] + min(L[W + j], one - one)
        reach = min(duration, one / math.sqrt(weakest)) if weakest > one - one else duration
        all_y, all_z = gap_y + reach * gap_z, gap_z + math.sqrt(rate) * gap_y
        next_z = z - h * (tanh_contracted(w * y + x[j]) + L[A + j] * y)
        first = least * (abs(y) + abs(h) * (abs(z) + abs(next_z)))
        by_w = _ratio(all_y * L[ABS_G + j], L[ABS_GY + j] + first * L[ABS_G + j], one)
        by_a = _ratio(all_y * L[ABS_Q + j], L[ABS_QY + j] + first * L[ABS_Q + j], one)
        by_h = _ratio(all_z * L[ABS_P + j] + rate * all_y * L[ABS_Q + j], L[ABS_H + j], one)
        L[DOUBT + j] = _larger(_larger(doubt, by_w), _larger(by_a, by_h))


@_compiled(_PLAIN)
def _copy_lanes(to: Any, source: Any, width: int) -> None:
    for lane in range(0, LANES * PITCH, PITCH):
        for j in range(width):
            to[lane + j] = source[lane + j]


@_compiled(_PLAIN)
def _clear(L: Any, lane: int, width: int, zero: Any) -> None:
    for j in range(width):
        L[lane + j] = zero


@_kernel(_CONTRACT)
def rebuilt_backward(
    x: Any, kept: Any, grad_y: Any, grad_z: Any, grad_x: Any, keep_every: int, n0: int, lanes: Any, sums: Any,
    places: Any, tolerance: Any, least: Any, found: Any, first: int, last: int, one: Any,
) -> None:  # fmt: skip
    """As ``stored_backward``, with the states rebuilt from the last one, ``keep_every`` steps at a time.

    n0 is a multiple of ``keep_every``. Where the rebuilt state at the start of such a piece shows an error that is not
    at most ``tolerance``, see ``_doubt_row``, the piece is done again from states that are computed forwards. So is one
    of at most ``FEW`` steps, at once.
    found (blocks, 3) receives how many pieces there were, how many were done again, and the largest error.
    """
    full_width()
    every = 0 if len(grad_y) == 1 else 1
    zero = one - one
    scratch, momenta = np.empty((keep_every, WIDTH), lanes.dtype), np.empty((keep_every, WIDTH), lanes.dtype)
    saved = np.empty(LANES * PITCH, lanes.dtype)
    for k in range(first, last):
        L, T = _block(lanes, places, k), _block(sums, places, k)
        lo, hi = places[START, k], places[STOP, k]
        width = hi - lo
        steps = max(min(len(x), places[END, k] - n0), 0)
        for n in range(steps, len(x)):
            grad_x[n, lo:hi] = 0
        if steps == 0:
            continue
        for piece in range((steps - 1) // keep_every, -1, -1):
            start = piece * keep_every
            stop = min(start + keep_every, steps)
            state = kept[n0 // keep_every + piece]
            found[k, 0] += 1
            is_done = False
            if stop - start > FEW:
                for lane in (ABS_G, ABS_GY, ABS_Q, ABS_QY, ABS_P, ABS_H):
                    _clear(L, lane, width, zero)
                _copy_lanes(saved, L, width)
                for n in range(stop - 1, start - 1, -1):
                    if len(grad_z) != 0:
                        _add(L, Q, grad_z[n, lo:hi], width)
                    _rebuilt_row(L, x[n, lo:hi], grad_y[n * every, lo:hi], grad_x[n, lo:hi], width, one)
                kept_y, kept_z = state[0, lo:hi], state[1, lo:hi]
                _doubt_row(L, saved, kept_y, kept_z, x[start, lo:hi], width, stop - start, least, one)
                doubt = zero
                for j in range(width):
                    doubt = _larger(doubt, L[DOUBT + j])
                found[k, 2] = _larger(found[k, 2], np.float64(doubt))
                is_done = doubt <= tolerance
                if not is_done:
                    found[k, 1] += 1
                    _copy_lanes(L, saved, width)
            if not is_done:
                for j in range(width):
                    L[Y + j] = state[0, lo + j]
                    L[Z + j] = state[1, lo + j]
                for n in range(start, stop):
                    _forward_row(L, x[n, lo:hi], scratch[n - start], width)
                    _copy(L, Z, momenta[n - start], width)
                for n in range(stop - 1, start - 1, -1):
                    before = scratch[n - start - 1] if n > start else state[0, lo:hi]
                    for j in range(width):
                        L[Z + j] = momenta[n - start, j]
                    if len(grad_z) != 0:
                        _add(L, Q, grad_z[n, lo:hi], width)
                    _stored_row(L, x[n, lo:hi], before, grad_y[n * every, lo:hi], grad_x[n, lo:hi], width, one)
            for j in range(width):  # what was kept is the truth for the piece before
                L[Y + j] = state[0, lo + j]
                L[Z + j] = state[1, lo + j]
            _flush(L, T, width, zero)


@_kernel(_CONTRACT)
def inverse(x: Any, y: Any, z: Any, lanes: Any, places: Any, first: int, last: int) -> None:
    """Rows N−1 .. 0 of y and z from the state in the lanes, which then hold the first one."""
    full_width()
    for k in range(first, last):
        L, lo, hi = _block(lanes, places, k), places[START, k], places[STOP, k]
        width = hi - lo
        for n in range(len(x) - 1, -1, -1):
            _copy(L, Y, y[n, lo:hi], width)
            _copy(L, Z, z[n, lo:hi], width)
            _inverse_row(L, x[n, lo:hi], width)


@_compiled(_CONTRACT)
def _inverse_row(L: Any, x: Any, width: int) -> None:
    full_width()
    for j in range(width):
        h, z = L[H + j], L[Z + j]
        y = L[Y + j] - h * z
        L[Z + j] = z + h * (tanh_contracted(L[W + j] * y + x[j]) + L[A + j] * y)
        L[Y + j] = y


# --- the exact mode
#
# The state is a float64 multiple of a grid g with |state| ≤ 2⁵³ g. An increment is computed in the dtype of x from the
# state rounded to it, and rounded to the grid, a power of two; so every sum is exact, and the step back, which computes
# the same increment, takes away exactly what was added. (Adding and subtracting 1.5·2⁵² g would round increments below
# −2⁵¹ g to g/2.)


@_compiled(_PLAIN)
def _kick(L: Any, j: int, x: Any, y: Any) -> tuple[Any, Any]:
    """s_n and −h (s_n + α y_{n-1})."""
    s = tanh_plain(L[W + j] * y + x)
    return s, -(L[H + j] * (s + L[A + j] * y))


_EVERY_INTEGER = 2.0**53  # from there on a float64 is an integer anyway


@_compiled(_PLAIN)
def _on_grid(increment: Any, g: Any, per_g: Any) -> Any:
    exact = np.float64(increment)
    multiple = exact * per_g
    return np.rint(multiple) * g if abs(multiple) < _EVERY_INTEGER else exact  # 1/g may be so large that it overflows


@_compiled(_PLAIN)
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


@_compiled(_PLAIN)
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


@_compiled(_CONTRACT)
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


@_kernel(_CONTRACT)
def maxima(x: Any, n0: int, lanes: Any, places: Any, first: int, last: int) -> None:
    """Steps n0+1 .. n0+len(x), which only leave the largest |y_n| and |z_n| in their lanes."""
    full_width()
    for k in range(first, last):
        L, lo, hi = _block(lanes, places, k), places[START, k], places[STOP, k]
        width = hi - lo
        row = np.empty(width, L.dtype)
        for n in range(max(min(len(x), places[END, k] - n0), 0)):
            _forward_row(L, x[n, lo:hi], row, width)
            for j in range(width):
                y, z = abs(L[Y + j]), abs(L[Z + j])
                L[MAX_Y + j] = y if y > L[MAX_Y + j] else L[MAX_Y + j]
                L[MAX_Z + j] = z if z > L[MAX_Z + j] else L[MAX_Z + j]


@_kernel(_PLAIN)
def exact_forward(x: Any, y: Any, z: Any, n0: int, lanes: Any, states: Any, places: Any, first: int, last: int) -> None:
    """As ``forward``, on the grid: the state is in ``states``, and its largest sizes."""
    full_width()
    for k in range(first, last):
        L, D = _block(lanes, places, k), _block(states, places, k)
        lo, hi = places[START, k], places[STOP, k]
        width = hi - lo
        steps = max(min(len(x), places[END, k] - n0), 0)
        for n in range(steps):
            _exact_row(L, D, x[n, lo:hi], y[n0 + n, lo:hi], width)
            if len(z) != 0:
                _copy(L, Z, z[n0 + n, lo:hi], width)
        for n in range(n0 + steps, n0 + len(x)):
            y[n, lo:hi] = 0
            if len(z) != 0:
                z[n, lo:hi] = 0


@_kernel(_CONTRACT)
def exact_backward(
    x: Any, grad_y: Any, grad_z: Any, grad_x: Any, n0: int, lanes: Any, states: Any, sums: Any,
    places: Any, first: int, last: int, one: Any,
) -> None:  # fmt: skip
    """As ``stored_backward``, with the states taken back on the grid."""
    full_width()
    every = 0 if len(grad_y) == 1 else 1
    for k in range(first, last):
        L, D, T = _block(lanes, places, k), _block(states, places, k), _block(sums, places, k)
        lo, hi = places[START, k], places[STOP, k]
        width = hi - lo
        steps = max(min(len(x), places[END, k] - n0), 0)
        for n in range(steps, len(x)):
            grad_x[n, lo:hi] = 0
        for n in range(steps - 1, -1, -1):
            if len(grad_z) != 0:
                _add(L, Q, grad_z[n, lo:hi], width)
            _exact_row_back(L, D, x[n, lo:hi], width)
            _costate_row(L, grad_y[n * every, lo:hi], grad_x[n, lo:hi], width, one)
            if (n0 + n) % FLUSH == 0:
                _flush(L, T, width, one - one)
