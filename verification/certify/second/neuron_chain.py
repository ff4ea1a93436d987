"""The chain of single neurons once more, in fixed point, with adjoints; nothing from odernn or ``neuron_chain``.

With P, Q the derivatives with respect to y^q_n, z^q_n (everything later and above included), one step back is

    Q' = Q + h P,   g = −h σ′ Q',   P of the layer below += V g,   P' = P − h (α + w σ′) Q'.

What comes in and what leaves are intervals of ``intervals``; of a run whose numbers are too large for fixed point the
whole line leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verification.certify.second import fixed_point
from verification.certify.second.fixed_point import (
    WHOLE,
    BeyondLargestError,
    Fixed,
    around,
    fixed,
    interval,
    or_nothing,
    tanh,
)
from verification.certify.second.intervals import iv

MORE_BITS = 64
"""Of fixed point, beyond the precision that intervals have and the powers of h that a path upward takes."""


class Adjoints:
    """p holds intervals under the names of the parameters, and the parameters as text in ``texts``."""

    def __init__(self, p: Any) -> None:
        self.steps = int(p.texts["N"])
        self.L = len(p.w)
        h = p.dt / 2
        self.bits = iv.prec + MORE_BITS + 2 * self.L * max(0, -_power_of_two(h))
        with fixed_point.precision(self.bits):
            self.h, self.alpha = around(h), around(p.alpha)
            names = ("w", "V", "b", "u", "target")
            self.w, self.V, self.b, self.u, self.target = ([around(x) for x in getattr(p, name)] for name in names)
            try:
                self._run()
                self.is_known = True
            except BeyondLargestError:
                self.is_known = False

    def _answer(self, compute: Callable[[], Any]) -> Any:
        with fixed_point.precision(self.bits):
            return or_nothing(compute) if self.is_known else WHOLE

    def _run(self) -> None:
        """``rows`` and ``momenta``: y and z of all layers from n = 0."""
        zero, one, h = fixed(0), fixed(1), self.h
        self.rows: list[list[Fixed]] = [[zero for _ in range(self.L)]]
        self.momenta: list[list[Fixed]] = [[zero for _ in range(self.L)]]
        # h σ′ and h (α + w σ′) of every step and layer; where a neuron rests exactly, σ′ = 1
        rest = [(h, h * (w + self.alpha)) for w in self.w]
        self.local: list[list[tuple[Fixed, Fixed]]] = [rest]
        momentum = [zero for _ in range(self.L)]
        for n in range(self.steps):
            drive, row, local = self.given(self.u, n), [], []
            for q in range(self.L):
                y = self.rows[n][q]
                A = self.b[q] + self.V[q] * drive + self.w[q] * y
                if A.is_zero and y.is_zero and momentum[q].is_zero:  # it rests, exactly
                    drive = y
                    row.append(y)
                    local.append(rest[q])
                    continue
                t = tanh(A)
                momentum[q] = momentum[q] - h * (self.alpha * y + t)
                drive = h * momentum[q] + y
                row.append(drive)
                gain = one - t * t
                local.append((h * gain, h * (self.w[q] * gain + self.alpha)))
            self.rows.append(row)
            self.momenta.append(list(momentum))
            self.local.append(local)

    def peak(self, history: list[list[Fixed]], layer: int) -> Any:
        """The largest modulus over all steps of ``rows`` or ``momenta``."""
        if not self.is_known:
            return abs(WHOLE)
        values = [row[layer - 1] for row in history]
        least = max(max(0, abs(value.middle) - value.radius) for value in values)
        largest = max(abs(value.middle) + value.radius for value in values)
        with fixed_point.precision(self.bits):
            return iv.mpf([interval(Fixed(least, 0)).a, interval(Fixed(largest, 0)).b])

    @staticmethod
    def given(values: Sequence[Fixed], n: int) -> Fixed:
        """Of step n + 1."""
        return values[0] if len(values) == 1 else values[n]

    def miss(self, n: int) -> Fixed:
        return self.rows[n][-1] - self.given(self.target, n - 1)

    def back(self, seeds: dict[int, tuple[Fixed, Fixed]], last: int, layer: int) -> list[tuple[Fixed, Fixed, Fixed]]:
        """(P, Q, −g) of ``layer`` at n = N, …, last; ``seeds`` are added to (P, Q) of the top layer at step n."""
        P, Q = [fixed(0)] * self.L, [fixed(0)] * self.L
        h, adjoints = self.h, []
        for n in range(self.steps, last - 1, -1):
            if n in seeds:
                P[-1], Q[-1] = P[-1] + seeds[n][0], Q[-1] + seeds[n][1]
            for q in reversed(range(layer - 1, self.L)):
                before = (P[q], Q[q])
                Q[q] = Q[q] + h * P[q]
                kick, pull = self.local[n][q]
                lost = kick * Q[q]
                if q == layer - 1:
                    adjoints.append((*before, lost))
                else:
                    P[q - 1] = P[q - 1] - self.V[q] * lost
                P[q] = P[q] - pull * Q[q]
        return adjoints

    def source(self, n: int, layer: int, theta: str) -> Fixed:
        if theta == "w":
            return self.rows[n - 1][layer - 1]
        if theta == "V":
            return self.rows[n][layer - 2] if layer > 1 else self.given(self.u, n - 1)
        return fixed(1)

    def _total(self, seeds: dict[int, tuple[Fixed, Fixed]], layer: int, theta: str) -> Any:
        total = fixed(0)
        for i, (_, _, lost) in enumerate(self.back(seeds, 1, layer)):
            total = total + lost * self.source(self.steps - i, layer, theta)
        return interval(total)

    def gradient(self, layer: int, theta: str) -> Any:
        """|dE/dθ|."""

        def total() -> Any:
            return self._total({n: (self.miss(n), fixed(0)) for n in range(1, self.steps + 1)}, layer, theta)

        return abs(self._answer(total)) / self.steps

    def last_gradient(self, layer: int, theta: str) -> Any:
        """|dE_N/dθ|."""
        return abs(self._answer(lambda: self._total({self.steps: (self.miss(self.steps), fixed(0))}, layer, theta)))

    def contribution(self, layer: int, theta: str, k: int) -> Any:
        def lost() -> Any:
            back = self.back({self.steps: (self.miss(self.steps), fixed(0))}, k, layer)
            return interval(back[-1][2] * self.source(k, layer, theta))

        return abs(self._answer(lost))

    def jacobian_norm(self, layer: int, k: int) -> Any:
        """‖dX_N/dX^l_k‖_∞ of the top layer by this one: the larger sum of a row."""

        def row_sum(of_y: int, of_z: int) -> Any:
            P, Q, _ = self.back({self.steps: (fixed(of_y), fixed(of_z))}, k, layer)[-1]
            return abs(interval(P)) + abs(interval(Q))

        sums = [abs(self._answer(lambda: row_sum(1, 0))), abs(self._answer(lambda: row_sum(0, 1)))]
        return iv.mpf([max(x.a for x in sums), max(x.b for x in sums)])


def _power_of_two(x: Any) -> int:
    """p of 2^(p − 1) ≤ |upper end of x| < 2^p."""
    _, _, exponent, bits = x._mpi_[1]
    return int(exponent + bits)
