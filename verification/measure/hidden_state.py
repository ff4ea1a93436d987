"""Norms of hidden states over time: the measured side of every state bound."""

from __future__ import annotations

from typing import Any

import torch

from verification.instance import Instance
from verification.system import System


def envelope(values: torch.Tensor, norm: str, multiplicity: torch.Tensor | None = None) -> torch.Tensor:
    """Largest norm over the batch at every step: (time, batch, hidden) -> (time,), float64.

    ``norm`` is "max" (largest modulus over neurons) or "euclidean" (over neurons, each counted ``multiplicity`` times).
    NaN is kept: a run that is not finite stays visible.
    """
    values = values.to(torch.float64)
    if values.shape[1] == 0 or values.shape[2] == 0:
        return torch.zeros(values.shape[0], dtype=torch.float64)
    if norm == "max":
        return values.abs().flatten(1).amax(dim=1)
    weights = torch.ones(values.shape[2], dtype=torch.float64) if multiplicity is None else multiplicity
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


def run_instance(system: System, instance: Instance, layer: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """y, z (time, 1, groups) of ``layer`` (from 1) and the groups' multiplicities, in float64."""
    below = torch.tensor([[float(v) for v in values] for values in instance.inputs], dtype=torch.float64)[:, None, :]
    counts = torch.ones(instance.inputs.size, dtype=torch.float64)
    alpha = float(instance.alpha)
    for each in instance.layers[:layer]:
        weights = torch.tensor([[float(v) for v in row] for row in each.input_weights], dtype=torch.float64)
        drive = (below * counts) @ weights.T + torch.tensor([float(g.bias) for g in each.groups], dtype=torch.float64)
        w = torch.tensor([float(g.w) for g in each.groups], dtype=torch.float64)
        h = float(each.dt) * torch.sigmoid(torch.tensor([float(g.c) for g in each.groups], dtype=torch.float64))
        below, momenta = run_layer(system, drive, w=w, step_size=h, alpha=alpha)
        counts = torch.tensor([float(g.multiplicity) for g in each.groups], dtype=torch.float64)
    return below, momenta, counts
