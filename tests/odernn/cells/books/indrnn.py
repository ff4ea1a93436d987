"""IndRNN once more, neuron by neuron."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.indrnn import IndRNN

HIDDEN = 3
INVERTIBLE = False


def _case(seed=5, **options):
    def build(*, num_layers=1, **manners):
        network = IndRNN(2, HIDDEN, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.7, generator=generator)
        return network

    return build


CASES = {
    "tanh": _case(activation="tanh"),
    "relu": _case(seed=11),
    "without bias": _case(activation="tanh", bias=False),
}


def layer(network, number, parameters, below, state):
    p, h, rows = parameters, [float(entry) for entry in state[0]], []
    sigma = {"tanh": math.tanh, "relu": lambda a: max(a, 0.0)}[network.layers[0].activation]
    for u in below:
        for i in range(HIDDEN):
            total = p["w"][i] * h[i] + (p["b"][i] if "b" in p else 0.0)
            h[i] = sigma(total + sum(p["V"][i, k] * u[k] for k in range(len(u))))
        rows.append(list(h))
    return [np.array(rows).reshape(-1, HIDDEN)]
