"""thm-R (b) typed again, one sequence, in Arb's balls: plain lists and loops, from the derivation alone.

``kept`` says whether every margin is proved to be kept within a radius by exact runs, without rounding.
"""

from __future__ import annotations

from typing import Any

import flint
from torch import Tensor, nn

Ball = Any


def balls(values: Tensor) -> Any:
    return [flint.arb(float(value)) for value in values.detach().double()]


def rows_of(matrix: Tensor) -> list[list[Ball]]:
    return [balls(row) for row in matrix]


def dot(a: list[Ball], b: list[Ball]) -> Ball:
    return sum((x * y for x, y in zip(a, b, strict=True)), flint.arb(0))


def dual(row: dict[tuple[int, int], Ball], norm: str) -> Ball:
    """Of a row {(step, input): entry}."""
    of_steps: dict[int, Ball] = {}
    for (step, _), entry in row.items():
        of_steps[step] = of_steps.get(step, flint.arb(0)) + entry * entry
    if norm == "sequence":
        return sum(of_steps.values(), flint.arb(0)).sqrt()
    return sum((square.sqrt() for square in of_steps.values()), flint.arb(0))


def combined(*parts: tuple[Ball, dict[tuple[int, int], Ball]]) -> dict[tuple[int, int], Ball]:
    found: dict[tuple[int, int], Ball] = {}
    for factor, row in parts:
        for place, entry in row.items():
            found[place] = found.get(place, flint.arb(0)) + factor * entry
    return found


def numbers_of(network: nn.Module, index: int) -> tuple[Any, Any, Any, Ball]:
    """w, h, q of every neuron, α."""
    layer: Any = network.layers[index]  # type: ignore[index,union-attr]
    if type(network).__name__ == "DampedUnICORNN":
        w, h, alpha, q = layer.coefficients()
        return balls(w), balls(h), balls(q), flint.arb(float(alpha))
    found: Any = network.coefficients(index)  # type: ignore[operator]
    ones = [flint.arb(1)] * len(found["w"])
    return balls(found["w"]), balls(found["step_size"]), ones, flint.arb(float(found["alpha"]))


def remainder(A: Ball, delta: Ball) -> Ball:
    t = A.tanh()
    s = 1 - t * t
    bends = abs(2 * t * s) / 2 * delta**2 + delta**3 / 3
    flat = 2 / (3 * flint.arb(3).sqrt()) * delta**2
    return bends.min(flat).min(s.max(1 - s) * delta)


def rows_and_errors(network: nn.Module, u: Tensor, eps: Ball, norm: str) -> list[list[tuple[Ball, Any, Ball]]]:
    """Of the last layer, step by step and neuron by neuron: y_n, its derivative by the inputs, E_n."""
    level = [
        [(flint.arb(float(x)), {(n, j): flint.arb(1)}, flint.arb(0)) for j, x in enumerate(row)]
        for n, row in enumerate(u)
    ]
    for index in range(len(network.layers)):  # type: ignore[arg-type]
        layer: Any = network.layers[index]  # type: ignore[index,union-attr]
        w, h, q, alpha = numbers_of(network, index)
        V = rows_of(layer.V)
        b = [flint.arb(0)] * len(w) if layer.b is None else balls(layer.b)
        above: list[list[tuple[Ball, Any, Ball]]] = [[] for _ in level]
        for i in range(len(w)):
            y = z = E = flint.arb(0)
            Dy: dict[tuple[int, int], Ball] = {}
            Dz: dict[tuple[int, int], Ball] = {}
            entered: list[tuple[Ball, Ball, Ball]] = []  # Φ(n, k)(h, 1) and the size of what entered at k
            for n, below in enumerate(level):
                A = w[i] * y + dot(V[i], [x for x, _, _ in below]) + b[i]
                DA = combined((w[i], Dy), *((v, row) for v, (_, row, _) in zip(V[i], below, strict=True)))
                pushed = dot([abs(v) for v in V[i]], [e for _, _, e in below])
                s = 1 - A.tanh() ** 2
                k = alpha + w[i] * s
                T = remainder(A, dual(DA, norm) * eps + abs(w[i]) * E + pushed)
                Dz = combined((q[i], Dz), (-q[i] * h[i] * s, DA), (-q[i] * h[i] * alpha, Dy))
                Dy = combined((flint.arb(1), Dy), (h[i], Dz))
                z = q[i] * (z - h[i] * (A.tanh() + alpha * y))
                y = y + h[i] * z
                moved = []
                for p, v, size in entered:
                    v = q[i] * (v - h[i] * k * p)
                    moved.append((p + h[i] * v, v, size))
                entered = [*moved, (h[i], flint.arb(1), h[i] * q[i] * (s * pushed + T))]
                E = sum((abs(p) * size for p, _, size in entered), flint.arb(0))
                above[n].append((y, Dy, E))
        level = above
    return level


def kept(network: nn.Module, readout: nn.Linear, u: Tensor, label: int, radius: float, norm: str, mean: bool) -> bool:
    """Whether m_j > ‖ρ_j 𝓛‖_* ε + |ρ_j| E for every j ≠ i, u (N, d), at 128 bits."""
    with flint.ctx.workprec(128):
        eps, R, c = flint.arb(radius), rows_of(readout.weight), balls(readout.bias)
        level = rows_and_errors(network, u, eps, norm)
        seen = level if mean else level[-1:]
        share = flint.arb(1) / len(seen)
        for j in range(len(R)):
            if j == label:
                continue
            rho = [(a - b) * share for a, b in zip(R[label], R[j], strict=True)]
            flat = [(r, one) for rows in seen for r, one in zip(rho, rows, strict=True)]
            margin = sum((r * y for r, (y, _, _) in flat), flint.arb(0)) + c[label] - c[j]
            slope = dual(combined(*((r, row) for r, (_, row, _) in flat)), norm)
            bent = sum((abs(r) * E for r, (_, _, E) in flat), flint.arb(0))
            if not margin > slope * eps + bent:
                return False
        return True
