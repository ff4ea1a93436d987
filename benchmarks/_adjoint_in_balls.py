"""A row of dX^L_n/dX^l_1 of a trained UnICORNN, carried back through the recurrence in python-flint's balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np

Layers = list[dict[str, np.ndarray]]


def by_balls(layers: Layers, u: np.ndarray, moved: int, neuron: int, of_y: bool, *, dt: Fraction, alpha: int) -> Any:
    """Σ|∂/∂X^moved_1 of y or z of a neuron of X^L_n|, n the length of u, as a ball of the working precision."""
    arb, size, L = flint.arb, len(layers[0]["w"]), len(layers)
    exact = [{k: [arb(float(x)) for x in v] for k, v in layer.items() if k != "V"} for layer in layers]
    V = [flint.arb_mat([[arb(float(x)) for x in row] for row in layer["V"]]) for layer in layers]
    h = [[arb(dt.numerator) / dt.denominator / (1 + (-c).exp()) for c in layer["c"]] for layer in exact]
    y, z, slopes = [[arb(0)] * size for _ in V], [[arb(0)] * size for _ in V], []
    for x in u:
        at = []
        for q, layer in enumerate(exact):
            below = y[q - 1] if q else [arb(float(value)) for value in x]
            A = (V[q] * flint.arb_mat(len(below), 1, below)).entries()
            s = [(w * a + p + b).tanh() for w, a, p, b in zip(layer["w"], y[q], A, layer["b"], strict=True)]
            z[q] = [c - e * (t + alpha * a) for c, e, t, a in zip(z[q], h[q], s, y[q], strict=True)]
            y[q] = [a + e * c for a, e, c in zip(y[q], h[q], z[q], strict=True)]
            at.append([1 - t * t for t in s])
        slopes.append(at)
    P, R = [[arb(0)] * size for _ in V], [[arb(0)] * size for _ in V]
    (P if of_y else R)[-1][neuron] = arb(1)
    for n in range(len(u) - 1, -1, -1):
        for q in range(L - 1, moved - (2 if n else 1), -1):
            kick = [r + e * p for r, e, p in zip(R[q], h[q], P[q], strict=True)]
            pushed = [-e * s * k for e, s, k in zip(h[q], slopes[n][q], kick, strict=True)]
            if q >= moved:
                down = (flint.arb_mat(1, size, pushed) * V[q]).entries()
                P[q - 1] = [p + d for p, d in zip(P[q - 1], down, strict=True)]
            terms = zip(P[q], pushed, exact[q]["w"], h[q], kick, strict=True)
            P[q], R[q] = [p + g * w - e * alpha * k for p, g, w, e, k in terms], kick
    return sum((abs(x) for x in (*P[moved - 1], *R[moved - 1])), arb(0))
