"""What the books of the orthogonal cells share: their weights, A entry by entry, and modReLU unit by unit."""

from __future__ import annotations

import numpy as np
import torch


def case(cell, hidden, *, drive, reach=0.0, b=(0.05, 0.4), **options):
    """A network with free entries in ±reach. b within an interval: where it is positive all units stay active, and
    gradients exist off z = 0.
    """

    def build(*, num_layers=1, **manners):
        generator = torch.Generator().manual_seed(3)
        network = cell(2, hidden, num_layers, **options, generator=generator, dtype=torch.float64, **manners)
        with torch.no_grad():
            for layer in network.layers:
                if reach:
                    layer.free.uniform_(-reach, reach, generator=generator)
                getattr(layer, drive).normal_(0.0, 0.8, generator=generator)
                if layer.b is not None:
                    layer.b.uniform_(*b, generator=generator)
                if layer.h0 is not None:
                    layer.h0.normal_(0.0, 0.5, generator=generator)
        return network

    return build


def skew_matrix(free, n):
    """A, its entries above the diagonal counted one by one."""
    A, count = np.zeros((n, n)), 0
    for i in range(n):
        for j in range(i + 1, n):
            A[i, j], A[j, i] = free[count], -free[count]
            count += 1
    return A


def hidden_states(W, drive, b, below, h):
    """(time, n): modReLU(W h + drive u; b) for each u of below; without b the identity."""
    h, rows = [float(entry) for entry in h], []
    n = len(h)
    for u in below:
        z = [sum(W[i, j] * h[j] for j in range(n)) + sum(drive[i, k] * u[k] for k in range(len(u))) for i in range(n)]
        if b is not None:
            z = [(1.0 if x > 0 else -1.0) * max(abs(x) + c, 0.0) if x else 0.0 for x, c in zip(z, b, strict=True)]
        h = z
        rows.append(h)
    return np.array(rows).reshape(-1, n)
