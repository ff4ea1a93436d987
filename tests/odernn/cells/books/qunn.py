"""The QUNN once more: the whole vectors z_i, the matrices W_i by Kronecker products, and the clock."""

from __future__ import annotations

import numpy as np
import torch

from odernn.cells.qunn import QUNN

INVERTIBLE = False
DRIVES_ARE_INPUTS = True


def resume(steps):
    """What forward takes, beside the state, to go on after that many steps: in all cases the first call is at 0."""
    return {"start": steps}


def _case(block_length, seed=9, **options):
    def build(*, num_layers=1, **manners):
        network = QUNN(2, num_layers, block_length=block_length, **options, dtype=torch.float64, **manners)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(0.0, 0.7, generator=generator)
        return network

    return build


CASES = {
    "tanh": _case(5),
    "linear": _case(5, activation="identity"),
    "shallow": _case(6, depth=2),
    "deeper than a block": _case(3, depth=5),
    "residual": _case(4, residual=True, depth=3),
    "normalised": _case(4, normalised=True),
    "skew": _case(4, skew=True),
    "skew, normalised, linear": _case(3, skew=True, normalised=True, activation="identity"),
}
ONE_DIRECTION = tuple(CASES)


def matrices(network, parameters, window, k):
    """W_1, …, W_N for the inputs x_l, x_{l−1}, … of a window."""
    layer, d = network.layers[0], network.input_size
    C = layer.block_length + 1
    P = np.roll(np.eye(C), 1, axis=0)  # P e_c = e_{c+1}
    for i in range(1, layer.depth + 1):
        alpha = parameters["alpha"][i - 1] if "alpha" in parameters else 1.0
        move = np.zeros((d * C, d * C))
        if i <= k:
            R = np.outer(window[i - 1], window[i])
            size = np.linalg.norm(window[i - 1]) * np.linalg.norm(window[i])
            if layer.normalised:
                R = R / size if size else np.zeros((d, d))
            move = np.kron(R, P)
            if layer.skew:
                move = move - move.T
        yield alpha * np.eye(d * C) + parameters["beta"][i - 1] * move


def layer(network, number, parameters, below, state):
    d, T = network.input_size, network.block_length
    window = list(np.asarray(state[0], dtype=float).reshape(-1, d))
    rows = []
    for l, x in enumerate(below, network.start):
        window = [np.array(x), *window[:-1]]
        window = [each if age <= l % T else np.zeros(d) for age, each in enumerate(window)]
        rows.append(np.concatenate(window))
    return [np.array(rows).reshape(-1, len(window) * d)]


def output(network, parameters, blocks):
    """(I ⊗ e_{k+1}ᵀ) z_N, at each time from its window."""
    d, T, C = network.input_size, network.block_length, network.block_length + 1
    sigma = {"tanh": np.tanh, "identity": lambda a: a}[network.layers[0].activation]
    rows = []
    for l, row in enumerate(blocks[0], network.start):
        k, window = l % T, row.reshape(-1, d)
        z = sigma(np.kron(window[0], np.eye(C)[k]))
        for W in matrices(network, parameters, window, k):
            z = sigma(W @ z)
        rows.append(np.kron(np.eye(d), np.eye(C)[k + 1]) @ z)
    return np.array(rows).reshape(-1, d)
