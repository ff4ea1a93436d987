"""What the slack of LinOSS's step is compared with; bounds on states are those of ``verification.measure``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from odernn.cells.linoss import LinOSS
from verification.measure.own_equations import log_coupled, log_linear, log_norms

__all__ = ["log_coupled", "log_linear", "log_norms", "log_powers"]

Array = NDArray[np.float64]


def log_powers(network: LinOSS, steps: int) -> Iterator[tuple[Array, Array]]:
    """Of every layer, by neuron: log √cond of the form Q that LinOSS's step M keeps, and log max_{n≤N} ‖M^n‖₂ below it.

    ‖M^n‖₂ ≤ √(λ₊/λ₋), λ± the eigenvalues of [[A, −dt A/2], [−dt A/2, 1]]; of an A = 0 no power is bounded.
    """
    for layer in network.layers:
        A, dt = layer.frequencies().detach().double(), float(layer.dt)
        one = torch.ones_like(A)
        M = torch.stack([one - dt * dt * A, dt * one, -dt * A, one], dim=-1).reshape(-1, 2, 2)
        form = torch.stack([A, -dt * A / 2, -dt * A / 2, one], dim=-1).reshape(-1, 2, 2)
        ends = torch.linalg.eigvalsh(form)
        moving, power, largest = A > 0, M.clone(), torch.zeros_like(A)
        for _ in range(steps):
            largest = torch.maximum(largest, torch.linalg.matrix_norm(power, 2))
            power = power @ M
        if bool(moving.any()):
            bound = ((ends[:, 1] / ends[:, 0]).log() / 2)[moving].numpy()
            yield bound, largest.log()[moving].numpy()
