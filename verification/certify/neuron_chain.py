"""A chain of single neurons in Arb balls: states, total derivatives carried forward, gradients and their parts.

Layers q = 1..L of one neuron with c = 0, so h = dt/2, index convention icml, from zero states:

    A = w_q y_{n−1} + V_q y^{q−1}_n + b_q,   z_n = z_{n−1} − h (tanh A + α y_{n−1}),   y_n = y_{n−1} + h z_n

y^0_n = u_n, and E = (1/N) Σ_n (y^L_n − ȳ_n)²/2. ``u`` and ``target`` hold one number for all steps, or one for each.
``second.neuron_chain`` is the same in fixed point, typed again, with all derivatives carried backward.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from flint import arb

LISTS = ("w", "V", "b", "u", "target", "form")
"""The parameters that are lists: one number a layer, or a step."""


class NeuronChain:
    """The run of p.alpha, p.dt, p.N, p.w, p.V, p.b, p.u, p.target: numbers are balls. ``slopes[n][q]`` from n = 1."""

    def __init__(self, p: Any) -> None:
        self.N, self.depth = round(float(p.N)), len(p.w)
        self.h, self.alpha, self.w, self.V = p.dt / 2, p.alpha, p.w, p.V
        self.u = p.u * self.N if len(p.u) == 1 else p.u
        self.target = p.target * self.N if len(p.target) == 1 else p.target
        self.y = [[arb(0)] * self.depth]
        self.z = [[arb(0)] * self.depth]
        self.slopes: list[list[Any]] = [[]]
        z = [arb(0)] * self.depth
        for n in range(1, self.N + 1):
            below, row, slopes = self.u[n - 1], [], []
            for q, (w, V, b) in enumerate(zip(p.w, p.V, p.b, strict=True)):
                old = self.y[-1][q]
                s = (w * old + V * below + b).tanh()
                z[q] = z[q] - self.h * (s + self.alpha * old)
                below = old + self.h * z[q]
                row.append(below)
                slopes.append(1 - s * s)
            self.y.append(row)
            self.z.append(list(z))
            self.slopes.append(slopes)

    def largest(self, rows: list[list[Any]], layer: int) -> Any:
        """max_n |·| of ``rows`` = y or z, of layer 1..L."""
        size = arb(0)
        for row in rows:
            size = size.max(abs(row[layer - 1]))
        return size

    def push(self, n: int, dy: list[Any], dz: list[Any], layer: int, kick: Any) -> None:
        """(dy, dz) of step n − 1 become those of step n, in place; A of ``layer`` is moved by ``kick`` at this step."""
        moved, h, kappas, slopes = kick, self.h, self.kappas[n - 1], self.slopes[n]  # the layers below are at rest
        for q in range(layer - 1, self.depth):
            if q >= layer:
                moved = self.V[q] * dy[q - 1]
            dz[q] = dz[q] - h * (kappas[q] * dy[q] + slopes[q] * moved)
            dy[q] = dy[q] + h * dz[q]

    @cached_property
    def kappas(self) -> list[list[Any]]:
        """α + w σ′ of every step and layer: summed first, since w dy + α dy apart would widen the balls."""
        return [[self.alpha + w * slope for w, slope in zip(self.w, row, strict=True)] for row in self.slopes[1:]]

    def direct(self, n: int, layer: int, theta: str) -> Any:
        """∂A/∂θ at step n of ``layer``: y_{n−1} for w, 1 for b, y^{l−1}_n for V."""
        if theta == "b":
            return arb(1)
        if theta == "w":
            return self.y[n - 1][layer - 1]
        return self.u[n - 1] if layer == 1 else self.y[n][layer - 2]

    def gradient(self, layer: int, theta: str) -> Any:
        """|dE/dθ|."""
        dy, dz, total = [arb(0)] * self.depth, [arb(0)] * self.depth, arb(0)
        for n in range(1, self.N + 1):
            self.push(n, dy, dz, layer, self.direct(n, layer, theta))
            total += (self.y[n][-1] - self.target[n - 1]) * dy[-1]
        return abs(total / self.N)

    def last_gradient(self, layer: int, theta: str) -> Any:
        """|dE_N/dθ|, of the error at the last step alone."""
        dy, dz = [arb(0)] * self.depth, [arb(0)] * self.depth
        for n in range(1, self.N + 1):
            self.push(n, dy, dz, layer, self.direct(n, layer, theta))
        return abs((self.y[-1][-1] - self.target[-1]) * dy[-1])

    def contribution(self, layer: int, theta: str, k: int) -> Any:
        """|∂E^{(N,L)}_{k,l}/∂θ|: θ is moved at step k only."""
        dy, dz = [arb(0)] * self.depth, [arb(0)] * self.depth
        for n in range(k, self.N + 1):
            self.push(n, dy, dz, layer, self.direct(n, layer, theta) if n == k else arb(0))
        return abs((self.y[-1][-1] - self.target[-1]) * dy[-1])

    def jacobian_norm(self, layer: int, k: int) -> Any:
        """‖dX^L_N/dX^l_k‖_∞, k ≥ 1, all routes; at step k itself the layers above already see y^l_k."""
        columns = []
        for start in (0, 1):
            dy, dz = [arb(0)] * self.depth, [arb(0)] * self.depth
            dy[layer - 1], dz[layer - 1] = arb(1 - start), arb(start)
            for q in range(layer, self.depth):
                dz[q] = -self.h * self.slopes[k][q] * self.V[q] * dy[q - 1]
                dy[q] = self.h * dz[q]
            for n in range(k + 1, self.N + 1):
                self.push(n, dy, dz, layer, arb(0))
            columns.append((abs(dy[-1]), abs(dz[-1])))
        return (columns[0][0] + columns[1][0]).max(columns[0][1] + columns[1][1])
