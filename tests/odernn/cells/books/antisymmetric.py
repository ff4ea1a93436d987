"""AntisymmetricRNN once more: the equations of Chang et al. 2019, neuron by neuron."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.antisymmetric import AntisymmetricRNN

HIDDEN = 3
INVERTIBLE = False


def _case(**options):
    def build(*, num_layers=1, **manners):
        network = AntisymmetricRNN(2, HIDDEN, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(4)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.9, generator=generator)
        return network

    return build


CASES = {
    "plain": _case(dt=0.3, gamma=0.4),
    "gated": _case(dt=0.3, gamma=0.4, gated=True),
    "without diffusion": _case(dt=0.2, gamma=0.0),
    "plain without bias": _case(dt=0.3, gamma=0.4, bias=False),
    "gated without bias": _case(dt=0.3, gamma=0.4, bias=False, gated=True),
}


def layer(network, number, parameters, below, state):
    p = parameters
    dt, gamma = float(p["dt"]), float(p["gamma"])
    W = [[0.0] * HIDDEN for _ in range(HIDDEN)]
    free = iter(p["free"])
    for i in range(HIDDEN):
        for j in range(i + 1, HIDDEN):
            W[i][j] = float(next(free))
    h = list(map(float, state[0]))
    hs = []
    for u in below:
        new = []
        for i in range(HIDDEN):
            recurrent = sum((W[i][j] - W[j][i]) * h[j] for j in range(HIDDEN)) - gamma * h[i]
            force = math.tanh(recurrent + _input(p, "V", "b", i, u))
            if "V_g" in p:
                force *= 1.0 / (1.0 + math.exp(-recurrent - _input(p, "V_g", "b_g", i, u)))
            new.append(h[i] + dt * force)
        h = new
        hs.append(h)
    return [np.array(hs).reshape(-1, HIDDEN)]


def _input(p, matrix, bias, i, u):
    return sum(p[matrix][i, k] * u[k] for k in range(len(u))) + (float(p[bias][i]) if bias in p else 0.0)
