"""Norms of hidden states over time: the measured side of every state bound."""

from __future__ import annotations

from typing import Any

import torch

from verification.instance import Instance
from verification.system import System


def envelope(values: torch.Tensor, norm: str, multiplicity: torch.Tensor | None = None) -> torch.Tensor:
    """Largest norm over the batch at every step: (time, batch, hidden) -> (time,), float64, on the same device.

    ``norm`` is "max" (largest modulus over neurons) or "euclidean" (over neurons, each counted ``multiplicity`` times).
    NaN is kept: a run that is not finite stays visible.
    """
    values = values.to(torch.float64)
    if values.shape[1] == 0 or values.shape[2] == 0:
        return values.new_zeros(values.shape[0])
    if norm == "max":
        return values.abs().flatten(1).amax(dim=1)
    weights = values.new_ones(values.shape[2]) if multiplicity is None else multiplicity
    return (values.square() * weights).sum(dim=2).sqrt().amax(dim=1)


def run_layer(
    system: System, drive: torch.Tensor, *, w: Any, step_size: Any, alpha: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """All states of one layer from zero: drive (time, batch, hidden) -> y, z of the same shape; row n − 1 is step n."""
    y, z = torch.zeros_like(drive[:1])[0], torch.zeros_like(drive[:1])[0]
    positions, momenta = torch.empty_like(drive), torch.empty_like(drive)
    with torch.no_grad():
        for n in range(drive.shape[0]):
            y, z = system.step(y, z, drive[n], w=w, step_size=step_size, alpha=alpha)
            positions[n], momenta[n] = y, z
    return positions, momenta


def run_instance(
    system: System, instance: Instance, layer: int, device: torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """y, z (time, 1, groups) of ``layer`` (from 1) and the groups' multiplicities, float64, by default on the CPU."""
    on = device or torch.device("cpu")

    def numbers(values: Any) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float64, device=on)

    below = numbers([[float(v) for v in values] for values in instance.inputs])[:, None, :]
    counts = torch.ones_like(below[0, 0])
    alpha = float(instance.alpha)
    for one_layer in instance.layers[:layer]:
        weights = numbers([[float(v) for v in row] for row in one_layer.input_weights])
        drive = (below * counts) @ weights.T + numbers([float(g.bias) for g in one_layer.groups])
        w = numbers([float(g.w) for g in one_layer.groups])
        h = float(one_layer.dt) * torch.sigmoid(numbers([float(g.c) for g in one_layer.groups]))
        below, momenta = run_layer(system, drive, w=w, step_size=h, alpha=alpha)
        counts = numbers([float(g.multiplicity) for g in one_layer.groups])
    return below, momenta, counts
