"""Bounds on states of cells that no paper here bounds, from their own equations. All logarithms are natural.

coRNN                    |y_n|, |z_n| for all weights and inputs, attained
torch.nn.LSTM, GRU, RNN  |h_n| ≤ 1, |c_n| ≤ n for all weights and inputs, where h_n is a tanh or a mean of such
LinOSS, scoRNN, expRNN, RNN with relu      for the inputs at hand: they are not bounded for all
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from odernn.cells.cornn import CoRNNLayer
from odernn.cells.linoss import LinOSSLayer

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GatedBound:
    """A bound on a block of the state of torch's cells, from a start of zeros: in words, and its log at n = 1 … N."""

    text: str
    grows: bool = False

    def log(self, steps: int) -> Array:
        return np.log(np.arange(1.0, steps + 1)) if self.grows else np.zeros(steps)


GATED: Mapping[str, GatedBound] = MappingProxyType(
    {"h": GatedBound("|h_n| ≤ 1"), "c": GatedBound("|c_n| ≤ n", grows=True)}
)
"""h_n is a tanh, or less than one (LSTM), or lies between one and h_{n−1} (GRU); |c_n| ≤ |c_{n−1}| + 1."""


def is_gated(module: object) -> bool:
    """Whether GATED holds of it: torch's LSTM, GRU and tanh RNN, layers or cells, without a projection."""
    if isinstance(module, nn.RNNBase):
        return module.mode in ("LSTM", "GRU", "RNN_TANH") and module.proj_size == 0
    return isinstance(module, (nn.LSTMCell, nn.GRUCell)) or (
        isinstance(module, nn.RNNCell) and module.nonlinearity == "tanh"
    )


def log_coupled(layer: CoRNNLayer, steps: int) -> dict[str, Array]:
    """log of max |y_n|, |z_n| over all s_1 … s_n ∈ [−1, 1]: coRNN's neuron for any weights and inputs.

        z_n = p z_{n−1} + q (s_n − γ y_{n−1}),   y_n = y_{n−1} + dt z_n,      s_n = tanh(…)
        |x_n| ≤ Σ_{j<n} |(M^j k)_x|,   k = q (dt, 1),   M = [[1 − dt q γ, dt p], [−q γ, p]]

    p = 1 − dt ε and q = dt; with implicit damping both are divided by 1 + dt ε, p from 1. It is attained, by the signs.
    """
    M, kick = coupled_step(layer)
    sums = []
    for _ in range(steps):
        sums.append(np.abs(kick))
        kick = M @ kick
    totals = np.log(np.cumsum(sums, axis=0))
    return {"y": totals[:, 0], "z": totals[:, 1]}


def coupled_step(layer: CoRNNLayer) -> tuple[Array, Array]:
    """M and k of a neuron of coRNN: (y, z) ← M (y, z) + k s, s the tanh."""
    dt, gamma, epsilon = (float(value) for value in (layer.dt, layer.gamma, layer.epsilon))
    p, q = 1 - dt * epsilon, dt
    if layer.damping == "implicit":
        p, q = 1 / (1 + dt * epsilon), dt / (1 + dt * epsilon)
    return np.array([[1 - dt * q * gamma, dt * p], [-q * gamma, p]]), np.array([dt * q, q])


def log_linear(layer: LinOSSLayer, drives: Tensor) -> dict[str, Array]:
    """log of bounds on |y_n|, |z_n| of LinOSS (imex) for these drives x = B u, by neuron and sequence.

    Q(y, z) = A y² − dt A y z + z² is kept by the step without input, and Q(dt k, k) = k² for its kick k = dt x:
    √Q_n ≤ S_n = dt Σ_{j≤n} |x_j|,   |z_n| ≤ S_n/r,   |y_n| ≤ min(S_n/(√A r), dt Σ_{j≤n} S_j/r),   r² = 1 − A dt²/4
    """
    A, dt = layer.frequencies().detach().double(), float(layer.dt)
    r = (1 - A * dt * dt / 4).sqrt()
    sums = dt * drives.abs().cumsum(dim=0)
    by_energy = torch.where(A > 0, sums / (A.clamp(min=1e-300).sqrt() * r), math.inf)
    positions = torch.minimum(by_energy, dt * sums.cumsum(dim=0) / r)
    with np.errstate(divide="ignore"):
        return {"y": np.log(positions.numpy()), "z": np.log((sums / r).numpy())}


def log_norms(layer: Any, drives: Tensor) -> Array:
    """log G_n with ‖h_n‖₂ ≤ G_n = ‖W‖₂ G_{n−1} + ‖V u_n‖₂ + ‖max(b, 0)‖₂, G_0 = 0, since |modReLU(x; b)| ≤ |x| + b⁺."""
    with torch.no_grad():
        factor = float(torch.linalg.matrix_norm(layer.recurrent_matrix().detach(), 2))
        b = layer.biases()
        lifted = 0.0 if b is None else float(b.detach().clamp(min=0.0).norm())
    sources, G = drives.norm(dim=2).numpy() + lifted, []
    total = np.zeros(drives.shape[1])
    for source in sources:
        total = factor * total + source
        G.append(total)
    with np.errstate(divide="ignore"):
        logs: Array = np.log(np.array(G))
    return logs
