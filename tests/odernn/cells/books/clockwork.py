"""The clockwork RNN once more: neuron by neuron, at the times that its period divides."""

from __future__ import annotations

import math

import numpy as np
import torch

from odernn.cells.clockwork import ClockworkRNN

INVERTIBLE = False


def resume(steps):
    """What forward takes, beside the state, to go on after that many steps: in all cases the first call is at 0."""
    return {"start": steps}


def _case(hidden, *, seed=7, **options):
    def build(*, num_layers=1, **manners):
        network = ClockworkRNN(2, hidden, num_layers, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.7, generator=generator)
        return network

    return build


CASES = {
    "periods 1, 2": _case(4, periods=(1, 2)),
    "three groups of other sizes": _case(5, periods=(1, 2, 4), sizes=(1, 3, 1)),
    "periods that divide no other": _case(4, periods=(2, 3)),
    "without bias": _case(4, periods=(1, 3), bias=False),
    "one group": _case(3, periods=(1,)),
}


def layer(network, number, parameters, below, state):
    p, n = parameters, network.hidden_size
    group_of = [a for a, size in enumerate(network.sizes) for _ in range(size)]
    first = [group_of.index(a) for a in range(len(network.sizes))]
    h, rows = [float(entry) for entry in state[0]], []
    for t, u in enumerate(below, network.start):
        before = list(h)
        for i in range(n):
            a = group_of[i]
            if t % network.periods[a] != 0:
                continue
            row = p[f"W_{a + 1}"][i - first[a]]  # from the first neuron of its own group to the last of the slowest
            total = sum(row[j - first[a]] * before[j] for j in range(n) if group_of[j] >= a)
            total += sum(p["V"][i, k] * u[k] for k in range(len(u))) + (p["b"][i] if "b" in p else 0.0)
            h[i] = math.tanh(total)
        rows.append(list(h))
    return [np.array(rows).reshape(-1, n)]
