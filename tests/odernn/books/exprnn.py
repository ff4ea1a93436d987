"""expRNN once more: exp(A) from the eigenvectors of the Hermitian matrix iA, and modReLU unit by unit."""

from __future__ import annotations

import numpy as np
import torch

from odernn.cells.exprnn import ExpRNN

INVERTIBLE = False


def _case(hidden, *, b=(0.05, 0.4), **options):
    """b within an interval: where it is positive all units stay active, and gradients exist off z = 0."""

    def build(*, num_layers=1, **manners):
        generator = torch.Generator().manual_seed(3)
        network = ExpRNN(2, hidden, num_layers, **options, generator=generator, dtype=torch.float64, **manners)
        with torch.no_grad():
            for layer in network.layers:
                layer.free.uniform_(-1.5, 1.5, generator=generator)
                layer.V.normal_(0.0, 0.8, generator=generator)
                if layer.b is not None:
                    layer.b.uniform_(*b, generator=generator)
                if layer.h0 is not None:
                    layer.h0.normal_(0.0, 0.5, generator=generator)
        return network

    return build


CASES = {
    "even": _case(4),
    "odd": _case(5, initial="henaff"),
    "some units silent": _case(4, b=(-0.6, 0.2)),
    "without bias": _case(3, bias=False),
    "trained initial state": _case(3, learn_initial_state=True),
}


def recurrent_matrix(free, n):
    """exp(A), the entries of A counted one by one: A = −i (iA), and iA is Hermitian."""
    A, count = np.zeros((n, n)), 0
    for i in range(n):
        for j in range(i + 1, n):
            A[i, j], A[j, i] = free[count], -free[count]
            count += 1
    values, vectors = np.linalg.eigh(1j * A)
    return (vectors @ np.diag(np.exp(-1j * values)) @ vectors.conj().T).real


def layer(network, number, parameters, below, state):
    p, n = parameters, len(state[0])
    W = recurrent_matrix(p["free"], n)
    h, rows = [float(entry) for entry in state[0]], []
    for u in below:
        z = [sum(W[i, j] * h[j] for j in range(n)) + sum(p["V"][i, k] * u[k] for k in range(len(u))) for i in range(n)]
        if "b" in p:
            h = [(1.0 if z[i] > 0 else -1.0) * max(abs(z[i]) + p["b"][i], 0.0) if z[i] else 0.0 for i in range(n)]
        else:
            h = z
        rows.append(h)
    return [np.array(rows).reshape(-1, n)]
