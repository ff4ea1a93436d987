"""LEM once more: the four formulas neuron by neuron, as convex combinations."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.lem import LEM

HIDDEN = 3
INVERTIBLE = False
ORDER = {"1": 0, "2": 1, "z": 2, "y": 3}


def _case(seed=5, **options):
    def build(*, num_layers=1, **manners):
        network = LEM(2, HIDDEN, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.7, generator=generator)
        return network

    return build


CASES = {"dt 0.7": _case(dt=0.7), "dt 1": _case(dt=1.0), "without bias": _case(dt=0.3, bias=False)}


def layer(network, number, parameters, below, state):
    p, dt = parameters, float(parameters["dt"])
    y, z = ([float(entry) for entry in block] for block in state)

    def argument(index, i, read, u):
        row = ORDER[index] * HIDDEN + i
        W = p["W_y"][i] if index == "y" else p["W"][row]
        bias = float(p["b"][row]) if "b" in p else 0.0
        return sum(W[j] * read[j] for j in range(HIDDEN)) + sum(p["V"][row, k] * u[k] for k in range(len(u))) + bias

    def share(index, i, u):
        return dt / (1.0 + math.exp(-argument(index, i, y, u)))

    ys, zs = [], []
    for u in below:
        D, D_prime = ([share(index, i, u) for i in range(HIDDEN)] for index in "12")
        z = [(1 - D[i]) * z[i] + D[i] * math.tanh(argument("z", i, y, u)) for i in range(HIDDEN)]
        y = [(1 - D_prime[i]) * y[i] + D_prime[i] * math.tanh(argument("y", i, z, u)) for i in range(HIDDEN)]
        ys.append(y)
        zs.append(z)
    return [np.array(rows).reshape(-1, HIDDEN) for rows in (ys, zs)]
