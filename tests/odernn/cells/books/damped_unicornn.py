"""UnICORNN with friction once more, neuron by neuron; the w of a rate from ξ and g by inverse sines."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.damped_unicornn import DampedUnICORNN

HIDDEN = 3
INVERTIBLE = True


def _case(seed=5, **options):
    def build(*, num_layers=1, **manners):
        given = {"dt": 0.4, "alpha": 2.0, "gamma": 1.5} | options
        network = DampedUnICORNN(2, HIDDEN, num_layers, **given, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.7, generator=generator)
        return network

    return build


CASES = {
    "free w": _case(),
    "rate": _case(seed=11, rate=0.3),
    "rate, stiff": _case(dt=1.2, alpha=3.0, gamma=2.0, rate=0.1),
    "rate, one step, no bias": _case(rate=0.5, multiscale=False, bias=False),
}


def _slopes(h, alpha, gamma, r):
    """w₋, w₊: where ξ(α + w) is g away from ξ(α), between 0 and π/2."""
    D = 1 + h * gamma + (1 + h * r) ** 2
    xi = math.asin(math.sqrt(h * h * (alpha * (1 + h * r) - r * (gamma - r)) / (2 * D)))
    g = math.asin(h * (gamma - 2 * r - h * r * r) / D)
    ends = []
    for angle in (max(xi - g, 0.0), min(xi + g, math.pi / 2)):
        k = (2 * D * math.sin(angle) ** 2 / h**2 + r * (gamma - r)) / (1 + h * r)
        ends.append((k - alpha) * (1 - 2**-20 - 2**-50))
    return ends


def layer(network, number, parameters, below, state):
    p, rows = parameters, []
    y, z = ([float(entry) for entry in block] for block in state)
    dt, alpha, gamma, *rate = (float(entry) for entry in p["constants"])
    for u in below:
        for i in range(HIDDEN):
            h = dt * max(1 / (1 + math.exp(-p["c"][i])), 2**-8) if "c" in p else dt
            if rate:
                low, high = _slopes(h, alpha, gamma, rate[0])
                w = low + (high - low) / (1 + math.exp(-p["free_w"][i]))
            else:
                w = p["w"][i]
            x = sum(p["V"][i, k] * u[k] for k in range(len(u))) + (p["b"][i] if "b" in p else 0.0)
            z[i] = (z[i] - h * (math.tanh(w * y[i] + x) + alpha * y[i])) / (1 + h * gamma)
            y[i] += h * z[i]
        rows.append((list(y), list(z)))
    return [np.array([row[k] for row in rows]).reshape(-1, HIDDEN) for k in range(2)]
