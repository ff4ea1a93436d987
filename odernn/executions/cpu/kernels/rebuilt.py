"""Kernels of the cpu execution that step states back: the mode "reversible", and the inverse.

Lanes and blocks as in ``kernels.lanes``; each block goes through all rows of a piece before the next one does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from odernn.executions.cpu.kernels.compilation import CONTRACT, PLAIN, compiled, full_width, kernel
from odernn.executions.cpu.kernels.lanes import (
    ABS_G,
    ABS_GY,
    ABS_H,
    ABS_P,
    ABS_Q,
    ABS_QY,
    DOUBT,
    END,
    GA,
    GH,
    GW,
    GX,
    LANES,
    PITCH,
    START,
    STOP,
    WIDTH,
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
)
from odernn.executions.cpu.kernels.recurrence import forward_block, stored_block
from odernn.executions.cpu.kernels.tanh import tanh_contracted

FEW = 8
"""Steps up to which states are not rebuilt: from a state at rest such sums may be 0, and no relative error is small."""


@compiled(CONTRACT)
def _add(L: Any, lane: int, row: Any, width: int) -> None:
    for j in range(width):
        L[lane + j] += row[j]


@compiled(CONTRACT)
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


@compiled(PLAIN)
def _ratio(error: Any, size: Any, one: Any) -> Any:
    return one - one if error == one - one else error / size


@compiled(PLAIN)
def _larger(a: Any, b: Any) -> Any:
    """max(a, b), and NaN if one of them is."""
    return a if a > b or a != a else b


@compiled(CONTRACT)
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


@compiled(PLAIN)
def _copy_lanes(to: Any, source: Any, width: int) -> None:
    for lane in range(0, LANES * PITCH, PITCH):
        for j in range(width):
            to[lane + j] = source[lane + j]


@compiled(PLAIN)
def _clear(L: Any, lane: int, width: int, zero: Any) -> None:
    for j in range(width):
        L[lane + j] = zero


@compiled(PLAIN)
def _set_state(L: Any, state: Any, lo: int, width: int) -> None:
    for j in range(width):
        L[Y + j] = state[0, lo + j]
        L[Z + j] = state[1, lo + j]


@compiled(CONTRACT)
def _rebuilt_piece(
    L: Any,
    saved: Any,
    x: Any,
    start: int,
    stop: int,
    lo: int,
    width: int,
    state: Any,
    grad_y: Any,
    every: int,
    grad_z: Any,
    grad_x: Any,
    least: Any,
    one: Any,
) -> Any:
    """Steps stop .. start+1 with states that are stepped back, after the lanes are ``saved``; the largest doubt."""
    full_width()
    for lane in (ABS_G, ABS_GY, ABS_Q, ABS_QY, ABS_P, ABS_H):
        _clear(L, lane, width, one - one)
    _copy_lanes(saved, L, width)
    for n in range(stop - 1, start - 1, -1):
        if len(grad_z) != 0:
            _add(L, Q, grad_z[n, lo : lo + width], width)
        grad = grad_y[n * every, lo : lo + width]
        _rebuilt_row(L, x[n, lo : lo + width], grad, grad_x[n, lo : lo + width], width, one)
    kept_y, kept_z = state[0, lo : lo + width], state[1, lo : lo + width]
    _doubt_row(L, saved, kept_y, kept_z, x[start, lo : lo + width], width, stop - start, least, one)
    doubt = one - one
    for j in range(width):
        doubt = _larger(doubt, L[DOUBT + j])
    return doubt


@compiled(CONTRACT)
def _stored_piece(
    L: Any,
    x: Any,
    start: int,
    stop: int,
    lo: int,
    width: int,
    state: Any,
    rows: Any,
    momenta: Any,
    grad_y: Any,
    grad_z: Any,
    grad_x: Any,
    one: Any,
) -> None:
    """The same steps with states that are computed forwards, into ``rows`` and ``momenta``, from the kept one."""
    full_width()
    forward_block(L, width, x, start, lo, rows, momenta, 0, 0, stop - start)
    for n in range(stop - 1, start - 1, -1):
        for j in range(width):
            L[Z + j] = momenta[n - start, j]
        stored_block(L, width, x, n, lo, state[0], rows, n - start, 0, grad_y, grad_z, grad_x, 1, 0, 0, one)


@kernel(CONTRACT)
def rebuilt_backward(
    x: Any,
    kept: Any,
    grad_y: Any,
    grad_z: Any,
    grad_x: Any,
    keep_every: int,
    n0: int,
    lanes: Any,
    sums: Any,
    places: Any,
    tolerance: Any,
    least: Any,
    found: Any,
    first: int,
    last: int,
    one: Any,
) -> None:
    """As ``stored_backward``, with the states rebuilt from the last one, ``keep_every`` steps at a time.

    n0 is a multiple of ``keep_every``. Where the rebuilt state at the start of such a piece shows an error that is not
    at most ``tolerance``, see ``_doubt_row``, the piece is done again from states that are computed forwards. So is one
    of at most ``FEW`` steps, at once.
    found (blocks, 3) receives how many pieces there were, how many were done again, and the largest error.
    """
    full_width()
    every = 0 if len(grad_y) == 1 else 1
    zero = one - one
    rows, momenta = np.empty((keep_every, WIDTH), lanes.dtype), np.empty((keep_every, WIDTH), lanes.dtype)
    saved = np.empty(LANES * PITCH, lanes.dtype)
    for k in range(first, last):
        L, T = block(lanes, places, k), block(sums, places, k)
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
                doubt = _rebuilt_piece(
                    L, saved, x, start, stop, lo, width, state, grad_y, every, grad_z, grad_x, least, one
                )
                found[k, 2] = _larger(found[k, 2], np.float64(doubt))
                is_done = doubt <= tolerance
                if not is_done:
                    found[k, 1] += 1
                    _copy_lanes(L, saved, width)
            if not is_done:
                _set_state(L, state, lo, width)
                _stored_piece(L, x, start, stop, lo, width, state, rows, momenta, grad_y, grad_z, grad_x, one)
            _set_state(L, state, lo, width)  # what was kept is the truth for the piece before
            flush(L, T, width, zero)


@kernel(CONTRACT)
def inverse(x: Any, y: Any, z: Any, lanes: Any, places: Any, first: int, last: int) -> None:
    """Rows N−1 .. 0 of y and z from the state in the lanes, which then hold the first one."""
    full_width()
    for k in range(first, last):
        L, lo, hi = block(lanes, places, k), places[START, k], places[STOP, k]
        width = hi - lo
        for n in range(len(x) - 1, -1, -1):
            copy(L, Y, y[n, lo:hi], width)
            copy(L, Z, z[n, lo:hi], width)
            _inverse_row(L, x[n, lo:hi], width)


@compiled(CONTRACT)
def _inverse_row(L: Any, x: Any, width: int) -> None:
    full_width()
    for j in range(width):
        h, z = L[H + j], L[Z + j]
        y = L[Y + j] - h * z
        L[Z + j] = z + h * (tanh_contracted(L[W + j] * y + x[j]) + L[A + j] * y)
        L[Y + j] = y
