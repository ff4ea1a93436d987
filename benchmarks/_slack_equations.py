"""Sharp bounds of cells that no paper here bounds, from their own equations: coRNN, LinOSS, scoRNN, expRNN."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from odernn.cells.cornn import CoRNNLayer
from odernn.cells.linoss import LinOSS, LinOSSLayer

Array = NDArray[np.float64]


def log_coupled(layer: CoRNNLayer, steps: int) -> dict[str, Array]:
    """log of max |y_n|, |z_n| over all s_1 … s_n ∈ [−1, 1]: coRNN's neuron for any weights and inputs.

        z_n = p z_{n−1} + q (s_n − γ y_{n−1}),   y_n = y_{n−1} + dt z_n,      s_n = tanh(…)
        |x_n| ≤ Σ_{j<n} |(M^j k)_x|,   k = q (dt, 1),   M = [[1 − dt q γ, dt p], [−q γ, p]]

    p = 1 − dt ε and q = dt; with implicit damping both are divided by 1 + dt ε, p from 1. It is attained, by the signs.
    """
    dt, gamma, epsilon = (float(value) for value in (layer.dt, layer.gamma, layer.epsilon))
    p, q = 1 - dt * epsilon, dt
    if layer.damping == "implicit":
        p, q = 1 / (1 + dt * epsilon), dt / (1 + dt * epsilon)
    M = np.array([[1 - dt * q * gamma, dt * p], [-q * gamma, p]])
    kick, sums = np.array([dt * q, q]), []
    for _ in range(steps):
        sums.append(np.abs(kick))
        kick = M @ kick
    totals = np.log(np.cumsum(sums, axis=0))
    return {"y": totals[:, 0], "z": totals[:, 1]}


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
        lifted = 0.0 if layer.b is None else float(layer.b.detach().clamp(min=0.0).norm())
    sources, G = drives.norm(dim=2).numpy() + lifted, []
    total = np.zeros(drives.shape[1])
    for source in sources:
        total = factor * total + source
        G.append(total)
    with np.errstate(divide="ignore"):
        return np.log(np.array(G))


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
