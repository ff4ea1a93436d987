"""The Lipschitz RNN once more: Erichson et al. 2021, entry by entry, the midpoint rule from its tableau."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.lipschitz import LipschitzRNN

HIDDEN = 3
INVERTIBLE = False
TABLEAUS = {"euler": ([[0.0]], [1.0]), "midpoint": ([[0.0, 0.0], [0.5, 0.0]], [0.0, 1.0])}


def _case(*, dt=0.3, beta_a=0.65, gamma_a=0.2, beta_w=0.8, gamma_w=0.1, **options):
    given = {"dt": dt, "beta_a": beta_a, "gamma_a": gamma_a, "beta_w": beta_w, "gamma_w": gamma_w}

    def build(*, num_layers=1, **manners):
        network = LipschitzRNN(2, HIDDEN, num_layers, **given, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(8)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.7, generator=generator)
        return network

    return build


CASES = {
    "euler": _case(),
    "midpoint": _case(method="midpoint"),
    "symmetric W, skew A": _case(beta_a=1.0, gamma_a=0.0, beta_w=0.0, gamma_w=0.0),
    "midpoint without bias": _case(method="midpoint", bias=False, dt=0.2),
}


def layer(network, number, parameters, below, state):
    p = parameters
    dt = float(p["dt"])
    A, W = (
        _matrix(p[f"M_{name}"], float(p[f"beta_{name.lower()}"]), float(p[f"gamma_{name.lower()}"])) for name in "AW"
    )
    a, weights = TABLEAUS[network.layers[0].method]

    def slope(h, x):
        inner = [sum(W[i][j] * h[j] for j in range(HIDDEN)) + x[i] for i in range(HIDDEN)]
        return [sum(A[i][j] * h[j] for j in range(HIDDEN)) + math.tanh(inner[i]) for i in range(HIDDEN)]

    h, rows = [float(entry) for entry in state[0]], []
    for u in below:
        x = [sum(p["V"][i, k] * u[k] for k in range(len(u))) + (p["b"][i] if "b" in p else 0.0) for i in range(HIDDEN)]
        stages = []
        for row in a:
            moved = [h[i] + dt * sum(row[j] * k[i] for j, k in enumerate(stages)) for i in range(HIDDEN)]
            stages.append(slope(moved, x))
        h = [h[i] + dt * sum(w * k[i] for w, k in zip(weights, stages, strict=True)) for i in range(HIDDEN)]
        rows.append(h)
    return [np.array(rows).reshape(-1, HIDDEN)]


def _matrix(M, beta, gamma):
    """M_ij + (1 − 2β) M_ji − γ δ_ij."""
    return [
        [M[i, j] + (1.0 - 2.0 * beta) * M[j, i] - (gamma if i == j else 0.0) for j in range(HIDDEN)]
        for i in range(HIDDEN)
    ]
