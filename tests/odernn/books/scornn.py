"""scoRNN once more: Helfrich, Willmott & Ye 2018, W by a plain solve and modReLU unit by unit."""

from __future__ import annotations

import numpy as np
import torch

from odernn.cells.scornn import ScoRNN

INVERTIBLE = False


def _case(hidden, *, b=(0.05, 0.4), **options):
    """b within an interval: where it is positive all units stay active, and gradients exist off z = 0."""

    def build(*, num_layers=1, **manners):
        generator = torch.Generator().manual_seed(3)
        network = ScoRNN(2, hidden, num_layers, **options, generator=generator, dtype=torch.float64, **manners)
        with torch.no_grad():
            for layer in network.layers:
                layer.free.uniform_(-1.0, 1.0, generator=generator)
                layer.U.normal_(0.0, 0.8, generator=generator)
                if layer.b is not None:
                    layer.b.uniform_(*b, generator=generator)
                if layer.h0 is not None:
                    layer.h0.normal_(0.0, 0.5, generator=generator)
        return network

    return build


CASES = {
    "aligned": _case(4, rho=2),
    "prefix, odd sizes": _case(5, rho=3, signs="prefix"),
    "random": _case(4, rho=3, signs="random"),
    "some units silent": _case(4, rho=2, b=(-0.6, 0.2)),
    "without bias": _case(3, rho=2, bias=False),
    "trained initial state": _case(4, rho=0, learn_initial_state=True),
}


def recurrent_matrix(free, signs):
    """(I + A)⁻¹(I − A) D, the entries of A counted one by one."""
    n, A, count = len(signs), np.zeros((len(signs), len(signs))), 0
    for i in range(n):
        for j in range(i + 1, n):
            A[i, j], A[j, i] = free[count], -free[count]
            count += 1
    return np.linalg.solve(np.eye(n) + A, np.eye(n) - A) @ np.diag(signs)


def layer(network, number, parameters, below, state):
    p = parameters
    W = recurrent_matrix(p["free"], p["cayley.signs"])
    h = [float(entry) for entry in state[0]]
    n, rows = len(h), []
    for u in below:
        z = [sum(W[i, j] * h[j] for j in range(n)) + sum(p["U"][i, k] * u[k] for k in range(len(u))) for i in range(n)]
        if "b" in p:
            h = [(1.0 if z[i] > 0 else -1.0) * max(abs(z[i]) + p["b"][i], 0.0) if z[i] else 0.0 for i in range(n)]
        else:
            h = z
        rows.append(h)
    return [np.array(rows).reshape(-1, n)]
