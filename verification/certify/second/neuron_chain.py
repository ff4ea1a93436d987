"""The chain of single neurons once more, in mpmath intervals, with adjoints; nothing from odernn or ``neuron_chain``.

With P, Q the derivatives with respect to y^q_n, z^q_n (everything later and above included), one step back is

    Q' = Q + h P,   g = −h σ′ Q',   P of the layer below += V g,   P' = P − h (α + w σ′) Q'.
"""

from __future__ import annotations

from typing import Any

from verification.certify.second.intervals import iv, tanh

_ZERO = iv.mpf(0)


class Adjoints:
    """p holds intervals under the names of the parameters, and the parameters as text in ``texts``."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.steps = int(p.texts["N"])
        self.L = len(p.w)
        self.step_size = p.dt / 2
        zero, one = iv.mpf(0), iv.mpf(1)
        self.rows: list[list[Any]] = [[zero for _ in range(self.L)]]
        self.momenta: list[list[Any]] = [[zero for _ in range(self.L)]]
        # −h σ′ and h (α + w σ′) of every step and layer; where a neuron rests exactly, σ′ = 1
        rest = [(-self.step_size, (w + p.alpha) * self.step_size) for w in p.w]
        self.local: list[list[tuple[Any, Any]]] = [rest]
        momentum = [zero for _ in range(self.L)]
        for n in range(self.steps):
            drive, row, local = self.given(p.u, n), [], []
            for q in range(self.L):
                y = self.rows[n][q]
                A = p.b[q] + p.V[q] * drive + y * p.w[q]
                if all(size == zero for size in (A, y, momentum[q])):  # it rests, exactly
                    drive = y
                    row.append(y)
                    local.append(rest[q])
                    continue
                t = self.sigma(A)
                momentum[q] = momentum[q] - (y * p.alpha + t) * self.step_size
                drive = momentum[q] * self.step_size + y
                row.append(drive)
                gain = one - t**2
                local.append((-self.step_size * gain, (gain * p.w[q] + p.alpha) * self.step_size))
            self.rows.append(row)
            self.momenta.append(list(momentum))
            self.local.append(local)

    def peak(self, history: list[list[Any]], layer: int) -> Any:
        """The largest modulus over all steps of ``rows`` or ``momenta``."""
        sizes = [abs(row[layer - 1]) for row in history]
        return iv.mpf([max(size.a for size in sizes), max(size.b for size in sizes)])

    @staticmethod
    def given(values: list[Any], n: int) -> Any:
        """Of step n + 1."""
        return values[0] if len(values) == 1 else values[n]

    @staticmethod
    def sigma(x: Any) -> Any:
        """tanh, with 0 kept exactly."""
        return x if x == _ZERO else tanh(x)

    def miss(self, n: int) -> Any:
        return self.rows[n][-1] - self.given(self.p.target, n - 1)

    def back(self, seeds: dict[int, tuple[Any, Any]], last: int, layer: int) -> list[tuple[Any, Any, Any]]:
        """(P, Q, g) of ``layer`` at n = N, N − 1, …, last; ``seeds`` are added to (P, Q) of the top layer at step n."""
        P, Q = [iv.mpf(0)] * self.L, [iv.mpf(0)] * self.L
        h, adjoints = self.step_size, []
        for n in range(self.steps, last - 1, -1):
            if n in seeds:
                P[-1], Q[-1] = P[-1] + seeds[n][0], Q[-1] + seeds[n][1]
            for q in reversed(range(layer - 1, self.L)):
                before = (P[q], Q[q])
                Q[q] = Q[q] + P[q] * h
                kick, pull = self.local[n][q]
                g = kick * Q[q]
                if q == layer - 1:
                    adjoints.append((*before, g))
                else:
                    P[q - 1] = P[q - 1] + self.p.V[q] * g
                P[q] = P[q] - Q[q] * pull
        return adjoints

    def source(self, n: int, layer: int, theta: str) -> Any:
        if theta == "w":
            return self.rows[n - 1][layer - 1]
        if theta == "V":
            return self.rows[n][layer - 2] if layer > 1 else self.given(self.p.u, n - 1)
        return iv.mpf(1)

    def gradient(self, layer: int, theta: str) -> Any:
        zero = iv.mpf(0)
        back = self.back({n: (self.miss(n), zero) for n in range(1, self.steps + 1)}, 1, layer)
        parts = (g * self.source(self.steps - i, layer, theta) for i, (_, _, g) in enumerate(back))
        return abs(sum(parts, zero)) / self.steps

    def last_gradient(self, layer: int, theta: str) -> Any:
        """|dE_N/dθ|."""
        back = self.back({self.steps: (self.miss(self.steps), iv.mpf(0))}, 1, layer)
        parts = (g * self.source(self.steps - i, layer, theta) for i, (_, _, g) in enumerate(back))
        return abs(sum(parts, iv.mpf(0)))

    def contribution(self, layer: int, theta: str, k: int) -> Any:
        g = self.back({self.steps: (self.miss(self.steps), iv.mpf(0))}, k, layer)[-1][2]
        return abs(g * self.source(k, layer, theta))

    def jacobian_norm(self, layer: int, k: int) -> Any:
        sums = []
        for seed in ((1, 0), (0, 1)):
            P, Q, _ = self.back({self.steps: (iv.mpf(seed[0]), iv.mpf(seed[1]))}, k, layer)[-1]
            sums.append(abs(P) + abs(Q))
        return iv.mpf([max(x.a for x in sums), max(x.b for x in sums)])
