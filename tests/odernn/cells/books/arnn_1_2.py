"""The 1-2-ARNN once more: one half after the other, neuron by neuron."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.arnn_1_2 import ARNN12

HIDDEN = 3
INVERTIBLE = True


def _case(seed=5, **options):
    def build(*, num_layers=1, **manners):
        network = ARNN12(2, HIDDEN, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.7, generator=generator)
        return network

    return build


CASES = {
    "two drives": _case(dt=0.3),
    "shared drive": _case(dt=0.3, shared=True),
    "relu": _case(seed=11, dt=0.2, activation="relu"),
    "without bias": _case(dt=0.3, bias=False),
    "shared without bias": _case(dt=0.3, bias=False, shared=True),
}


def layer(network, number, parameters, below, state):
    p = parameters
    dt = float(p["dt"])
    sigma = {"tanh": math.tanh, "relu": lambda a: max(a, 0.0)}[network.layers[0].activation]
    S = [[0.0] * HIDDEN for _ in range(HIDDEN)]
    free = iter(p["free"])
    for i in range(HIDDEN):
        for j in range(i, HIDDEN):
            S[i][j] = S[j][i] = float(next(free))
    of_q = "p" if "V_q" not in p else "q"

    def slopes(x, half, u):
        return [sigma(sum(S[i][j] * x[j] for j in range(HIDDEN)) + _input(p, half, i, u)) for i in range(HIDDEN)]

    q, r = (list(map(float, block)) for block in state)  # r is the paper's p
    qs, rs = [], []
    for u in below:
        r = [each - dt * slope for each, slope in zip(r, slopes(q, "p", u), strict=True)]
        q = [each + dt * slope for each, slope in zip(q, slopes(r, of_q, u), strict=True)]
        qs.append(q)
        rs.append(r)
    return [np.array(qs).reshape(-1, HIDDEN), np.array(rs).reshape(-1, HIDDEN)]


def _input(p, half, i, u):
    bias = float(p[f"b_{half}"][i]) if f"b_{half}" in p else 0.0
    return sum(p[f"V_{half}"][i, k] * u[k] for k in range(len(u))) + bias
