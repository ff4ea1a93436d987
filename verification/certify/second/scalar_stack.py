"""The scalar stack once more, in mpmath intervals: the states forward, all derivatives backward (adjoints).

Typed independently of ``scalar_stack``; parameters are exact numbers as text. Nothing from odernn.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from verification.certify.second import oscillator_flow
from verification.certify.second.intervals import iv, number, tanh


class ScalarStates:
    """The states of all layers, rows n = 0..N of ``y`` and of ``gain`` = 1 − tanh² of the step that leads to row n."""

    def __init__(self, text: Mapping[str, str], steps: int) -> None:
        self.text = text
        self.depth, self.jump = int(text["layers"]), int(text["skip"])
        self.alpha, self.w, self.v, bias, self.target = (
            number(text[name]) for name in ("alpha", "w", "v", "b", "target")
        )
        self.N = steps
        self.h = number(text["horizon"]) / (2 * steps)
        k = int(text["offset"]) + Fraction(text["ratio"]) * steps
        if k.denominator != 1:
            raise ValueError("k is no integer")
        self.k = int(k)
        self.y = [[iv.mpf(0)] * self.depth]
        self.gain = [[iv.mpf(1)] * self.depth]
        momentum = [iv.mpf(0)] * self.depth
        for n in range(1, steps + 1):
            row: list[Any] = []
            gains: list[Any] = []
            for q in range(self.depth):
                drive = bias if q == 0 else sum((self.v * row[p] for p in self.seen(q)), iv.mpf(0))
                t = tanh(self.w * self.y[n - 1][q] + drive)
                momentum[q] = momentum[q] - self.h * (t + self.alpha * self.y[n - 1][q])
                row.append(self.y[n - 1][q] + self.h * momentum[q])
                gains.append(1 - t**2)
            self.y.append(row)
            self.gain.append(gains)

    def seen(self, q: int) -> list[int]:
        """The layers, from 0, whose position drives layer q."""
        return [p for p in (q - 1, q - 1 - self.jump if self.jump else -1) if p >= 0]

    def adjoint(self) -> list[tuple[Any, Any]]:
        """(p, q) of layer 1 at n = N, N−1, .., k: derivatives of y^L_N with respect to its position and momentum."""
        p = [iv.mpf(0)] * self.depth
        q = [iv.mpf(0)] * self.depth
        rows = []
        for n in range(self.N, self.k - 1, -1):
            if n == self.N:
                p[-1] = iv.mpf(1)
            else:  # from row n + 1: q first, it is needed by p
                later = self.gain[n + 1]
                q = [q[i] + self.h * p[i] for i in range(self.depth)]
                p = [p[i] - self.h * (self.alpha + self.w * later[i]) * q[i] for i in range(self.depth)]
            # within row n, from the top layer down; (p, q) of a layer are total when its turn comes
            for i in range(self.depth - 1, 0, -1):
                kick = -self.h * self.gain[n][i] * (q[i] + self.h * p[i])
                for j in self.seen(i):
                    p[j] = p[j] + self.v * kick
            rows.append((p[0], q[0]))
        return rows

    def kernel(self) -> Any:
        """Derivative of y^L_N with respect to the momentum of layer 1 within step k, before the drift."""
        p, q = self.adjoint()[-1]
        return q + self.h * p

    def contribution(self) -> Any:
        """Derivative of (y^L_N − ȳ)²/2 with respect to w of layer 1, used at step k only."""
        kick = -self.h * self.gain[self.k][0] * self.y[self.k - 1][0]
        return (self.y[self.N][-1] - self.target) * kick * self.kernel()

    def leading(self) -> Any:
        """Of the kernel at fixed N − k: all shortest ways down, from the top, times the number of paths of each."""
        fewest = [self.depth] * (self.depth - 1) + [0]
        weight = [iv.mpf(0)] * (self.depth - 1) + [iv.mpf(1)]
        for i in range(self.depth - 1, 0, -1):
            for j in self.seen(i):
                way = -self.v * self.gain[self.k][i] * weight[i]
                if fewest[i] + 1 < fewest[j]:
                    fewest[j], weight[j] = fewest[i] + 1, way
                elif fewest[i] + 1 == fewest[j]:
                    weight[j] = weight[j] + way
        odd = 2 * fewest[0] + 1
        count = iv.mpf(1)
        for i in range(1, odd + 1):
            count = count * (self.N - self.k + i) / i
        return weight[0] * count * self.h**odd

    def flow(self, first: int) -> list[list[Any]]:
        """The fundamental matrix of the differential equation from the time of row ``first`` to that of row N."""
        bias = number(self.text["b"])
        return oscillator_flow.fundamental(self.alpha, self.w, bias, first * self.h, self.N * self.h)


def value(text: Mapping[str, str], steps: int, quantity: str) -> Any:
    """The interval of a quantity: a name of ``verification.cases.order.quantity_of``, at N = ``steps``."""
    run = ScalarStates(text, steps)
    h, n, k = run.h, steps, run.k
    miss = run.y[n][-1] - run.target
    if quantity == "contribution":
        return run.contribution()
    if quantity == "remainder, L = 1":
        return run.contribution() + h * (n * h) * run.gain[k][0] * run.y[k - 1][0] * miss
    if quantity == "remainder, S":
        response = run.flow(k - 1)[0][1]
        return run.contribution() + h * run.gain[k][0] * run.y[k - 1][0] * miss * response
    if quantity == "kernel, leading":
        return run.kernel() - run.leading()
    if quantity == "remainder, L = 3":
        path = h**4 * run.v**2 * run.gain[n][1] * run.gain[n][2]
        return run.contribution() + n * h * h * run.gain[k][0] * run.y[k - 1][0] * path * miss
    if quantity in ("y by y", "norm"):
        total = [iv.mpf(0)] * (run.depth - 1) + [iv.mpf(1)]
        for i in range(run.depth - 1, 0, -1):  # backward: what the top position owes to every layer below
            for j in run.seen(i):
                total[j] = total[j] - h**2 * run.gain[n][i] * run.v * total[i]
        return total[0] if quantity == "y by y" else _largest((total[0], total[0] / h))
    return _product_remainder(run, k + 1, quantity)


def _product_remainder(run: ScalarStates, first: int, form: str) -> Any:
    """Rows of the product from the left: e^T B_N ⋯ B_first."""
    h, count = run.h, run.N - first + 1
    rows = []
    for y, z in ((1, 0), (0, 1)):
        a, b = iv.mpf(y), iv.mpf(z)
        for j in range(run.N, first - 1, -1):
            kappa = run.alpha + run.w * run.gain[j][0]
            a, b = a * (1 - h**2 * kappa) - b * h * kappa, a * h + b
        rows.append((a, b))
    clock = (run.N if form == "(84)" else count) * h
    gains = sum((run.gain[j][0] for j in range(first, run.N + 1)), iv.mpf(0))
    if form == "Φ":
        limit = run.flow(first - 1)
        return _largest(tuple(rows[i][j] - limit[i][j] for i in (0, 1) for j in (0, 1)))
    low = -(clock * run.alpha) - h * run.w * gains
    return _largest((rows[0][0] - 1, rows[0][1] - clock, rows[1][0] - low, rows[1][1] - 1))


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
