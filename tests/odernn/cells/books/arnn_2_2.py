"""The 2-2-ARNN once more, and the one-step methods beside it, neuron by neuron."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.arnn_2_2 import ARNN22

HIDDEN = 3
INVERTIBLE = ("leapfrog", "leapfrog relu", "leapfrog without bias")


def _case(**options):
    def build(*, num_layers=1, **manners):
        network = ARNN22(2, HIDDEN, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(6)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.6, generator=generator)
        return network

    return build


CASES = {
    "leapfrog": _case(dt=0.2),
    "leapfrog relu": _case(dt=0.2, activation="relu"),
    "leapfrog without bias": _case(dt=0.2, bias=False),
    "forward euler": _case(dt=0.3, scheme="forward_euler"),
    "explicit midpoint": _case(dt=0.3, scheme="explicit_midpoint"),
}


def layer(network, number, parameters, below, state):
    p = parameters
    dt = float(p["dt"])
    sigma = {"tanh": math.tanh, "relu": lambda a: max(a, 0.0)}[network.layers[0].activation]
    W = [[0.0] * HIDDEN for _ in range(HIDDEN)]
    free = iter(p["free"])
    for i in range(HIDDEN):
        for j in range(i + 1, HIDDEN):
            W[i][j] = float(next(free))
            W[j][i] = -W[i][j]

    def f(y, u):
        found = []
        for i in range(HIDDEN):
            a = sum(W[i][j] * y[j] for j in range(HIDDEN)) + sum(p["V"][i, k] * u[k] for k in range(len(u)))
            found.append(sigma(a + (float(p["b"][i]) if "b" in p else 0.0)))
        return found

    blocks = [list(map(float, block)) for block in state]
    rows = []
    for u in below:
        y = blocks[0]
        if network.scheme == "leapfrog":
            blocks = [[before + 2 * dt * slope for before, slope in zip(blocks[1], f(y, u), strict=True)], y]
        elif network.scheme == "forward_euler":
            blocks = [[each + dt * slope for each, slope in zip(y, f(y, u), strict=True)]]
        else:
            middle = [each + dt / 2 * slope for each, slope in zip(y, f(y, u), strict=True)]
            blocks = [[each + dt * slope for each, slope in zip(y, f(middle, u), strict=True)]]
        rows.append(blocks)
    return [np.array([row[k] for row in rows]).reshape(-1, HIDDEN) for k in range(len(state))]
