"""The scalar stack once more, in fixed point: the states forward, all derivatives backward (adjoints).

Typed independently of ``scalar_stack``; parameters are exact numbers as text. Nothing from odernn. Results leave as
intervals of ``intervals``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from verification.certify.second import fixed_point, oscillator_flow
from verification.certify.second.fixed_point import WHOLE, BeyondLargestError, Fixed, fixed, interval, or_nothing, tanh
from verification.certify.second.intervals import iv, number

MORE_BITS = 64
"""Of fixed point, beyond the precision that intervals have."""
MOST_TIMES_AS_WIDE = 4
"""The precision that is tried for a number too small, beside the one in force."""
SHARP = 40
"""Bits of a number that need no more precision."""


class ScalarStates:
    """The states of all layers, rows n = 0..N of ``y`` and of ``gain`` = 1 − tanh² of the step that leads to row n.

    Numbers are in fixed point, at the precision in force there.
    """

    def __init__(self, text: Mapping[str, str], steps: int) -> None:
        self.text = text
        self.depth, self.jump = int(text["layers"]), int(text["skip"])
        self.alpha, self.w, self.v, bias, self.target = (
            fixed(Fraction(text[name])) for name in ("alpha", "w", "v", "b", "target")
        )
        self.N = steps
        self.exact_h = Fraction(text["horizon"]) / (2 * steps)
        self.h = fixed(self.exact_h)
        k = int(text["offset"]) + Fraction(text["ratio"]) * steps
        if k.denominator != 1:
            raise ValueError("k is no integer")
        self.k = int(k)
        one = fixed(1)
        sway = self.h * self.alpha
        self.y = [[fixed(0)] * self.depth]
        self.gain = [[one] * self.depth]
        momentum = [fixed(0)] * self.depth
        for _ in range(steps):
            before = self.y[-1]
            row: list[Fixed] = []
            gains: list[Fixed] = []
            for q in range(self.depth):
                drive = self.v * self.total(row, q) if q else bias
                t = tanh(self.w * before[q] + drive)
                momentum[q] = momentum[q] - self.h * t - sway * before[q]
                row.append(before[q] + self.h * momentum[q])
                gains.append(one - t * t)
            self.y.append(row)
            self.gain.append(gains)

    def seen(self, q: int) -> list[int]:
        """The layers, from 0, whose position drives layer q."""
        return [p for p in (q - 1, q - 1 - self.jump if self.jump else -1) if p >= 0]

    def total(self, row: Sequence[Fixed], q: int) -> Fixed:
        """The positions of them together."""
        first, *others = (row[p] for p in self.seen(q))
        return first + others[0] if others else first

    def kernels(self) -> list[Fixed]:
        """Derivatives of y^L_N with respect to the momentum of layer 1 within step n, before the drift: n = N .. k.

        p, q are derivatives with respect to position and momentum of every layer after step n; ``late`` is q + hp.
        """
        p = [fixed(0)] * (self.depth - 1) + [fixed(1)]
        q = [fixed(0)] * self.depth
        h, sway, coupling = self.h, self.h * self.alpha, self.h * self.v
        turn = self.h * self.w
        found = []
        for n in range(self.N, self.k - 1, -1):
            gain, late = self.gain[n], list(q)
            # within row n, from the top layer down: p of a layer is total when its turn comes
            for i in range(self.depth - 1, -1, -1):
                late[i] = q[i] + h * p[i]
                if i:
                    passed = coupling * gain[i] * late[i]
                    for j in self.seen(i):
                        p[j] = p[j] - passed
            found.append(late[0])
            p = [p[i] - (sway + turn * gain[i]) * late[i] for i in range(self.depth)]
            q = late
        return found

    def contribution(self) -> Fixed:
        """Derivative of (y^L_N − ȳ)²/2 with respect to w of layer 1, used at step k only."""
        kick = self.h * (self.gain[self.k][0] * self.y[self.k - 1][0])
        return -((self.y[self.N][-1] - self.target) * kick * self.kernels()[-1])

    def leading(self) -> Fixed:
        """Of the kernel at fixed N − k: all shortest ways down, from the top, times the number of paths of each."""
        fewest = [self.depth] * (self.depth - 1) + [0]
        weight = [fixed(0)] * (self.depth - 1) + [fixed(1)]
        for i in range(self.depth - 1, 0, -1):
            for j in self.seen(i):
                way = -(self.v * self.gain[self.k][i] * weight[i])
                if fewest[i] + 1 < fewest[j]:
                    fewest[j], weight[j] = fewest[i] + 1, way
                elif fewest[i] + 1 == fewest[j]:
                    weight[j] = weight[j] + way
        odd = 2 * fewest[0] + 1
        count = Fraction(1)
        for i in range(1, odd + 1):
            count = count * (self.N - self.k + i) / i
        size = count * self.exact_h**odd
        return weight[0].times(size.numerator, size.denominator)

    def flow(self, first: int) -> list[list[Any]]:
        """The fundamental matrix of the differential equation from the time of row ``first`` to that of row N."""
        alpha, w, bias = (number(self.text[name]) for name in ("alpha", "w", "b"))
        h = number(str(self.exact_h))
        return oscillator_flow.fundamental(alpha, w, bias, first * h, self.N * h)


def value(text: Mapping[str, str], steps: int, quantity: str) -> Any:
    """The interval of a quantity: a name of ``verification.cases.order.quantity_of``, at N = ``steps``.

    Where few bits of it are known, twice as many are tried; where a number is too large for fixed point, nothing is.
    """
    bits = iv.prec
    while True:
        with fixed_point.precision(bits):
            found = or_nothing(lambda: _value(ScalarStates(text, steps), quantity))
        is_last = found is WHOLE or quantity in ("remainder, S", "Φ") or bits >= MOST_TIMES_AS_WIDE * iv.prec
        if is_last or _is_sharp(found):
            return found
        bits *= 2


def _is_sharp(found: Any) -> bool:
    return bool(found.delta.b * 2**SHARP < abs(found).a) or (found.a == 0 and found.b == 0)


def in_intervals(text: Mapping[str, str], steps: int) -> Any:
    """k, and h, v, the rows of ``y`` and ``gain`` of ``ScalarStates`` as intervals. Raises BeyondLargestError."""
    with fixed_point.precision(iv.prec + MORE_BITS):
        run = ScalarStates(text, steps)
        y, gain = ([[interval(each) for each in row] for row in rows] for rows in (run.y, run.gain))
        return SimpleNamespace(k=run.k, h=interval(run.h), v=interval(run.v), y=y, gain=gain)


def kernels(text: Mapping[str, str], steps: int, at: Sequence[int]) -> list[Any]:
    """Derivatives of y^L_N with respect to the momentum of layer 1 within these steps, before the drift."""
    first = min(at)
    with fixed_point.precision(iv.prec + MORE_BITS):
        try:
            found = ScalarStates({**text, "offset": str(first), "ratio": "0"}, steps).kernels()
        except BeyondLargestError:
            return [WHOLE for _ in at]
        return [interval(found[steps - n]) for n in at]


def _value(run: ScalarStates, quantity: str) -> Any:
    h, n, k = run.h, run.N, run.k
    miss = run.y[n][-1] - run.target
    if quantity == "contribution":
        return interval(run.contribution())
    if quantity == "remainder, L = 1":
        printed = (h * h).times(n) * (run.gain[k][0] * run.y[k - 1][0]) * miss
        return interval(run.contribution() + printed)
    if quantity == "remainder, S":
        factor = h * (run.gain[k][0] * run.y[k - 1][0]) * miss
        return interval(run.contribution()) + interval(factor) * run.flow(k - 1)[0][1]
    if quantity == "kernel, leading":
        return interval(run.kernels()[-1] - run.leading())
    if quantity == "remainder, L = 3":
        hop = h * h * run.v
        path = hop * run.gain[n][1] * (hop * run.gain[n][2])
        return interval(run.contribution() + (h * h).times(n) * (run.gain[k][0] * run.y[k - 1][0]) * path * miss)
    if quantity in ("y by y", "norm"):
        total = [fixed(0)] * (run.depth - 1) + [fixed(1)]
        for i in range(run.depth - 1, 0, -1):  # backward: what the top position owes to every layer below
            passed = h * h * run.v * run.gain[n][i] * total[i]
            for j in run.seen(i):
                total[j] = total[j] - passed
        if quantity == "y by y":
            return interval(total[0])
        momentum = total[0].times(run.exact_h.denominator, run.exact_h.numerator)
        return _largest((interval(total[0]), interval(momentum)))
    return _product_remainder(run, k + 1, quantity)


def _product_remainder(run: ScalarStates, first: int, form: str) -> Any:
    """Rows of the product from the left: e^T B_N ⋯ B_first."""
    h, count, one = run.h, run.N - first + 1, fixed(1)
    rows = []
    pushes = [h * (run.alpha + run.w * gains[0]) for gains in run.gain]
    for y, z in ((1, 0), (0, 1)):
        a, b = fixed(y), fixed(z)
        for j in range(run.N, first - 1, -1):
            b = b + h * a
            a, b = a - pushes[j] * b, b
        rows.append((a, b))
    if form == "Φ":
        limit = run.flow(first - 1)
        return _largest(tuple(interval(rows[i][j]) - limit[i][j] for i in (0, 1) for j in (0, 1)))
    clock = h.times(run.N if form == "(84)" else count)
    low = -(clock * run.alpha)
    for j in range(first, run.N + 1):
        low = low - h * (run.w * run.gain[j][0])
    entries = (rows[0][0] - one, rows[0][1] - clock, rows[1][0] - low, rows[1][1] - one)
    return _largest(tuple(map(interval, entries)))


def _largest(entries: tuple[Any, ...]) -> Any:
    moduli = [abs(entry) for entry in entries]
    return iv.mpf([max(modulus.a for modulus in moduli), max(modulus.b for modulus in moduli)])


def local_slope(
    coarse: Mapping[str, str], fine: Mapping[str, str], steps: tuple[int, int], quantity: str, bits: int = 192
) -> tuple[float, float]:
    """Ends of log₂ |coarse quantity| / |fine quantity|. Raises ValueError where an enclosure contains 0."""
    with iv.workprec(bits):
        first, last = abs(value(coarse, steps[0], quantity)), abs(value(fine, steps[1], quantity))
        if 0 in first or 0 in last:
            raise ValueError(f"{quantity}: an enclosure contains 0")
        slope = iv.log(first / last) / iv.log(iv.mpf(2))
        return float(slope.a), float(slope.b)
