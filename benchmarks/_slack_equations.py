"""What the slack of LinOSS's step and of scoRNN's matrix is compared with; bounds on states are those of
``verification.measure``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from odernn.bounds import cayley_rounding
from odernn.cells.linoss import LinOSS
from verification.measure.own_equations import log_coupled, log_linear, log_norms

__all__ = ["log_coupled", "log_linear", "log_norms", "log_powers", "published_score"]

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


SCORE, PUBLISHED = "orthogonality | ‖W*W − I‖_F | ", "sco-5.5.1-A"
ENTRIES = "margins | 1 − max|a_ij| | sco-T3.1"


def published_score(rows: Mapping[str, list[Any]], *, size: int, eps: float) -> dict[str, list[Any]]:
    """The row of sco-5.5.1-A of a scoRNN of one layer, from the other rows of its checkpoint; none where they are not.

    ‖WᵀW − I‖_F ≤ 5 √n eps/sin(π/2n) if all |a_ij| ≤ 1: then κ(I + A) ≤ 1/sin(π/2n) (thm-SC-norm). The paper says "of
    the order of the machine precision"; the 5 is how the ledger reads it (``cayley_rounding.log_expected_score``).
    """
    if SCORE not in rows or ENTRIES not in rows:
        return {}
    if rows[ENTRIES][1] < 0:
        return {SCORE + PUBLISHED: ["i"]}
    condition = 1 / math.sin(math.pi / (2 * size))
    bound = float(cayley_rounding.log_expected_score(size, eps=eps, condition=condition)) / math.log(10)
    measured = rows[SCORE][2]
    return {
        SCORE + PUBLISHED: [
            "x" if measured is None or (measured != "0" and measured > bound) else "h",
            round(bound, 8),
            measured,
        ]
    }
