"""UnICORNN once more: eq. (6) of the paper neuron by neuron, kick then drift."""

from __future__ import annotations

import numpy as np
import torch

from odernn.cells.unicornn import UnICORNN

HIDDEN = 3


def _case(**options):
    def build(**manners):
        generator = torch.Generator().manual_seed(5)
        layers = manners.get("num_layers", 1)
        steps, alphas = [0.3, 0.45][:layers], [0.9, 0.4][:layers]
        network = UnICORNN(
            2, HIDDEN, dt=steps, alpha=alphas, generator=generator, dtype=torch.float64, **options, **manners
        )
        with torch.no_grad():
            for parameter in network.parameters():
                parameter += 0.4 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        return network

    return build


CASES = {
    "icml": _case(),
    "sam": _case(index="sam"),
    "one scale": _case(multiscale=False),
    "no bias": _case(bias=False),
}
INVERTIBLE = True
ONE_DIRECTION = ("sam",)
LOOKS_BACK = ("sam",)


def layer(network, number, parameters, below, state, previous):
    p, dt, alpha = parameters, float(network.dt[number - 1]), float(network.alpha[number - 1])
    y, z = (np.array(block) for block in state)
    ys, zs = np.zeros((len(below), HIDDEN)), np.zeros((len(below), HIDDEN))
    for n in range(len(below)):
        seen = below[n] if network.index == "icml" else below[n - 1] if n else previous
        for i in range(HIDDEN):
            h = dt * 0.5 * (1.0 + np.tanh(p["c"][i] / 2.0)) if "c" in p else dt
            x = sum(p["V"][i, j] * seen[j] for j in range(len(seen))) + (p["b"][i] if "b" in p else 0.0)
            z[i] -= h * (np.tanh(p["w"][i] * y[i] + x) + alpha * y[i])
            y[i] += h * z[i]
        ys[n], zs[n] = y, z
    return [ys, zs]
