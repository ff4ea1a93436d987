"""coRNN once more: eq. (3) of Rusch & Mishra 2021, neuron by neuron."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.cornn import CoRNN

HIDDEN = 3
INVERTIBLE = False


def _case(**options):
    def build(*, num_layers=1, **manners):
        network = CoRNN(2, HIDDEN, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.8, generator=generator)
        return network

    return build


CASES = {
    "explicit damping": _case(dt=0.3, gamma=1.7, epsilon=0.9),
    "implicit damping": _case(dt=0.3, gamma=1.7, epsilon=0.9, damping="implicit"),
    "implicit, stiff": _case(dt=0.5, gamma=20.0, epsilon=6.0, damping="implicit", bias=False),
    "without bias": _case(dt=0.3, gamma=1.7, epsilon=0.9, bias=False),
}


def layer(network, number, parameters, below, state):
    p = parameters
    dt, gamma, epsilon = float(p["dt"]), float(p["gamma"]), float(p["epsilon"])
    y, z = (list(map(float, block)) for block in state)
    ys, zs = [], []
    for u in below:
        new_y, new_z = [], []
        for i in range(HIDDEN):
            a = float(p["b"][i]) if "b" in p else 0.0
            a += sum(p["V"][i, k] * u[k] for k in range(len(u)))
            a += sum(p["W"][i, j] * y[j] + p["W_z"][i, j] * z[j] for j in range(HIDDEN))
            without_damping = z[i] + dt * (math.tanh(a) - gamma * y[i])
            if network.layers[0].damping == "implicit":  # z = without_damping − dt ε z
                new_z.append(without_damping / (1.0 + dt * epsilon))
            else:
                new_z.append(without_damping - dt * epsilon * z[i])
            new_y.append(y[i] + dt * new_z[i])
        y, z = new_y, new_z
        ys.append(y)
        zs.append(z)
    return [np.array(ys).reshape(-1, HIDDEN), np.array(zs).reshape(-1, HIDDEN)]
