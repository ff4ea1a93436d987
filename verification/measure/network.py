"""The network of a printed row, as the paper initialises it and untrained, on real input and on the worst input in
[0, 1].

Envelopes are returned for every layer as arrays over n with key "<layer>/<quantity>/<norm>": the largest norm over the
batch of the layer's state at step n. float64, the torch execution; weights and inputs are made on the CPU, then moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import PublishedRow
from verification.claim import NORMS, QUANTITIES
from verification.domains import Budget
from verification.measure.hidden_state import envelope
from verification.tasks import digits, sequences
from verification.tasks.images import ImageSource

CPU = torch.device("cpu")
BATCH = 32
CHUNK_BYTES = 96 * 2**20
"""Largest array of one layer's states; the batch is cut so that no chunk exceeds it."""

_QUANTITY_OF = {"position": "y", "momentum": "z"}


def build(row: PublishedRow, seed: int) -> UnICORNN:
    """The row's network in float64 on the CPU: the paper's shape, initialisation, dt per layer and α."""
    return UnICORNN(
        row.input_size,
        row.hidden_size,
        row.num_layers,
        dt=[float(dt) for dt in row.dt],
        alpha=float(row.alpha),
        dtype=torch.float64,
        generator=torch.Generator().manual_seed(seed % 2**63),
    )


def load_source(task: str, folder: str | None) -> ImageSource:
    """The images named by ``task``: "digits" or "mnist". Raises DataError if they are not to be had."""
    if task != "mnist":
        return digits.load()
    from verification.tasks import mnist

    return mnist.load(folder)


def on_data(
    row: PublishedRow, task: str, folder: str | None, seed: int, device: torch.device = CPU
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Envelopes on real input, and what was read: {"source", "finite"}."""
    source = load_source(task, folder)
    u = sequences.build(
        source, steps=row.steps, input_size=row.input_size, batch=BATCH, kind=row.kind, seed=seed % 2**32
    )
    arrays = _envelopes(build(row, seed).to(device), torch.from_numpy(u).to(device))
    return {"source": source.describe(), "finite": _all_finite(arrays)}, arrays


def on_range(
    row: PublishedRow, budget: Budget, seed: int, device: torch.device = CPU
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Envelopes under ``budget.range_inputs`` inputs in [0, 1]^d: square waves near every neuron's resonance.

    Wave k switches the channels between 0 and 1 so that the drive of one first-layer neuron (largest row sums of |V|
    first) is as large as the range allows; frequencies sweep the resonances of the layers, with 0 and π.
    """
    network = build(row, seed)
    u = waves_in_range(network, row, budget.range_inputs)
    arrays = _envelopes(network.to(device), u.to(device))
    return {"inputs": budget.range_inputs, "finite": _all_finite(arrays)}, arrays


def waves_in_range(network: UnICORNN, row: PublishedRow, count: int) -> torch.Tensor:
    with torch.no_grad():
        first = network.layers[0].V
        rows = torch.argsort(first.abs().sum(dim=1), descending=True)
        signs = torch.sign(first[rows[torch.arange(count) % len(rows)]])  # (count, d)
        frequencies = _resonances(network.effective_steps(), float(row.alpha), count)
    until_end = torch.arange(row.steps, 0, -1, dtype=torch.float64)
    phase = torch.where(torch.arange(count) % 2 == 0, 0.0, math.pi / 2).to(torch.float64)
    tone = torch.sin(until_end[:, None] * frequencies[None, :] + phase)
    square = torch.where(tone >= 0, 1.0, -1.0).to(torch.float64)
    return (1 + square[:, :, None] * signs[None, :, :]) / 2


def _resonances(steps: torch.Tensor, alpha: float, count: int) -> torch.Tensor:
    """``count`` angular frequencies a step: 0, π and a sweep over [0.9 θ_min, 1.1 θ_max] of all layers' neurons."""
    theta = 2 * torch.asin(torch.clamp(steps * alpha**0.5 / 2, max=1.0))
    low, high = 0.9 * float(theta.min()), min(1.1 * float(theta.max()), math.pi)
    if high == 0.0:  # no restoring force: slow waves, 1/2 to count/2 periods over the horizon's scale
        high = 0.05
    sweep = torch.linspace(low, high, max(count - 2, 1), dtype=torch.float64)
    return torch.cat([torch.tensor([0.0, math.pi], dtype=torch.float64), sweep])[:count]


def _envelopes(network: UnICORNN, u: torch.Tensor) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for chunk in _chunks(u, network.hidden_size):
        with torch.no_grad():
            results = network.states(chunk)
        for number, result in enumerate(results, 1):
            for quantity in QUANTITIES:
                values = getattr(result, _QUANTITY_OF[quantity])
                for norm in NORMS:
                    key = f"{number}/{quantity}/{norm}"
                    peaks = envelope(values, norm).cpu().numpy()
                    arrays[key] = np.maximum(arrays[key], peaks) if key in arrays else peaks
    for number, steps in enumerate(network.effective_steps().detach().cpu().numpy(), 1):
        arrays[f"{number}/step_sizes"] = steps
    return arrays


def _chunks(u: torch.Tensor, hidden_size: int) -> Iterator[torch.Tensor]:
    size = max(1, CHUNK_BYTES // (8 * max(1, u.shape[0]) * hidden_size))
    for start in range(0, u.shape[1], size):
        yield u[:, start : start + size]


def _all_finite(arrays: dict[str, np.ndarray]) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays.values())
