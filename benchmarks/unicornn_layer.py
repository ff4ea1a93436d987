"""How long does one UnICORNN layer take in the torch execution, beside torch's own recurrent layers?

One thread, forward plus backward, shapes (time, batch, hidden, input) of the paper's tasks. The answer is checked
against a float64 numpy loop before anything is timed.
"""

from __future__ import annotations

import numpy as np
import torch
from _harness import interleaved, report
from torch import nn

from odernn.cells.unicornn import UnICORNN

SHAPES = {"psMNIST (784, 128, 128, 1)": (784, 128, 128, 1), "EigenWorms/4 (4496, 8, 32, 6)": (4496, 8, 32, 6)}
TOLERANCE = 1e-3
"""Largest admitted float32 error of the checked run, relative to the largest state; measured errors are printed."""


def numpy_loop(layer: UnICORNN, u: np.ndarray) -> np.ndarray:
    """y_N by the formulas of the paper in float64."""
    first = layer.layers[0]
    w, c, v, b = (p.detach().double().numpy() for p in (first.w, first.c, first.V, first.b))
    h, alpha = float(layer.dt[0]) / (1 + np.exp(-c)), float(layer.alpha[0])
    y = np.zeros((u.shape[1], w.size))
    z = np.zeros_like(y)
    for row in u:
        z = z - h * (np.tanh(w * y + row @ v.T + b) + alpha * y)
        y = y + h * z
    return y


def main() -> None:
    torch.set_num_threads(1)
    cases, checks = {}, {}
    for name, (steps, batch, hidden, size) in SHAPES.items():
        generator = torch.Generator().manual_seed(0)
        u = torch.rand(steps, batch, size, generator=generator)
        cell = UnICORNN(size, hidden, dt=0.19, alpha=30.65, generator=generator)
        with torch.no_grad():
            found = cell(u)[0][-1].double().numpy()
        expected = numpy_loop(cell, u.double().numpy())
        checks[name] = float(np.abs(found - expected).max() / np.abs(expected).max())
        assert checks[name] <= TOLERANCE, f"{name}: relative error {checks[name]:.2e} exceeds {TOLERANCE}"

        def both_ways(module: nn.Module, u: torch.Tensor = u) -> None:
            module.zero_grad()
            module(u)[0].square().mean().backward()

        peers = {"nn.LSTM": nn.LSTM(size, hidden), "nn.RNN": nn.RNN(size, hidden), "UnICORNN (torch loop)": cell}
        cases[name] = interleaved({peer: (lambda m=module: both_ways(m)) for peer, module in peers.items()}, rounds=5)
    report("unicornn_layer", cases, checks)


if __name__ == "__main__":
    main()
