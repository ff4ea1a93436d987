"""Norms of hidden states over time: the measured side of every state bound."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from verification.instance import Instance, Layer
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
        least, largest = values.flatten(1).aminmax(dim=1)
        return torch.maximum(-least, largest)
    if multiplicity is None:
        norms: torch.Tensor = torch.linalg.vector_norm(values, dim=2)
        return norms.amax(dim=1)
    return (values.square() @ multiplicity.to(values.dtype)).amax(dim=1).sqrt()


def run_layer(
    system: System, drive: torch.Tensor, *, w: Any, step_size: Any, alpha: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """All states of one layer from zero: drive (time, batch, hidden) -> y, z of the same shape; row n − 1 is step n."""
    if drive.shape[0] == 0:
        return torch.empty_like(drive), torch.empty_like(drive)
    y, z = torch.zeros_like(drive[:1])[0], torch.zeros_like(drive[:1])[0]
    positions, momenta = [], []
    with torch.no_grad():
        for x in drive.unbind():
            y, z = system.step(y, z, x, w=w, step_size=step_size, alpha=alpha)
            positions.append(y)
            momenta.append(z)
    return torch.stack(positions), torch.stack(momenta)


def run_layers(
    system: System, drive: torch.Tensor, *, w: torch.Tensor, step_sizes: Sequence[float], alpha: float, relay: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """All states of a chain of single neurons, one a layer, from zero: y, z (1 + time, layers, batch); row 0 is zero.

    Layer 1 sees drive (time, batch), layer q > 1 ``relay`` · y^{q−1}; w is (layers, batch) or (layers, 1).
    """
    start = drive.new_zeros(len(step_sizes), drive.shape[1])
    rows = advance(system, start, start, drive, w=w, step_sizes=step_sizes, alpha=alpha, relay=relay)
    positions, momenta = (torch.stack(component) for component in zip((start, start), *rows, strict=True))
    count, depth = drive.shape[0] + 1, range(len(step_sizes))
    if len(depth) == 1:
        return positions, momenta
    return (
        torch.stack([positions[q : q + count, q] for q in depth], dim=1),
        torch.stack([momenta[q : q + count, q] for q in depth], dim=1),
    )


def advance(
    system: System,
    y: torch.Tensor,
    z: torch.Tensor,
    drive: torch.Tensor,
    *,
    w: torch.Tensor,
    step_sizes: Sequence[float],
    alpha: float,
    relay: float,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The states (layers, batch) of such a chain from (y, z), along a slanted front: row r has layer q (from 0) after
    step r − q, so that all layers take their steps at once, time + layers − 1 of them; the last row is the end.

    y^{q−1}_n, which layer q needs for its step n, is in the row before.
    """
    time, depth = drive.shape[0], len(step_sizes)
    h = torch.tensor(step_sizes, dtype=drive.dtype, device=drive.device)[:, None]
    with torch.no_grad():
        for row, x in enumerate((*drive[:, None].unbind(), *(None,) * (depth - 1)), start=1):
            low, high = max(0, row - time), min(depth, row)
            seen = [] if x is None else [x]
            if high > 1:
                seen.append(relay * y[max(low - 1, 0) : high - 1])
            inputs = seen[0] if len(seen) == 1 else torch.cat(seen)
            if high - low == depth:
                y, z = system.step(y, z, inputs, w=w, step_size=h, alpha=alpha)
            else:
                at = slice(low, high)
                moved = system.step(y[at], z[at], inputs, w=w[at], step_size=h[at], alpha=alpha)
                y, z = (torch.cat([old[:low], new, old[high:]]) for old, new in zip((y, z), moved, strict=True))
            yield y, z


def run_instance(
    system: System, instance: Instance, layer: int, device: torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """y, z (time, 1, groups) of ``layer`` (from 1) and the groups' multiplicities, float64, by default on the CPU."""
    on = device or torch.device("cpu")
    below = _inputs_of(instance, on)[:, None, :]
    counts = torch.ones_like(below[0, 0])
    alpha = float(instance.alpha)
    for one_layer in instance.layers[:layer]:
        drive = _drive_of(one_layer, below * counts)
        w = _numbers([float(g.w) for g in one_layer.groups], on)
        below, momenta = run_layer(system, drive, w=w, step_size=_steps_of(one_layer, on), alpha=alpha)
        counts = _numbers([float(g.multiplicity) for g in one_layer.groups], on)
    return below, momenta, counts


class NotAChainError(ValueError):
    """Networks that ``run_chains`` cannot run at once: says which one, which part of it, and what that is."""


def run_chains(
    system: System, instances: Sequence[Instance], layer: int, device: torch.device | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """y, z (time, instances) of ``layer`` of chains that differ in inputs, recurrent weights and what drives the first
    layer alone: what ``run_instance`` finds, all at once.

    A chain has one group in every layer and above the first one no bias and the same weight everywhere. NotAChainError
    for anything else.
    """
    on, layers = device or torch.device("cpu"), instances[0].layers[:layer]
    relay = _relay_of(instances, layer)
    drives = [_drive_of(instance.layers[0], _inputs_of(instance, on)) for instance in instances]
    w = _numbers([[float(i.layers[q].groups[0].w) for i in instances] for q in range(layer)], on)
    y, z = run_layers(
        system,
        torch.cat(drives, dim=1),
        w=w,
        step_sizes=[float(_steps_of(one_layer, on)) for one_layer in layers],
        alpha=float(instances[0].alpha),
        relay=relay,
    )
    return y[1:, -1], z[1:, -1]


def _relay_of(instances: Sequence[Instance], layer: int) -> float:
    """The weight between two layers, times the neurons below. NotAChainError as for ``run_chains``."""
    first, relays = instances[0], set()
    for number, instance in enumerate(instances, 1):
        for name, found, wanted in (
            ("α", instance.alpha, first.alpha),
            ("N", instance.steps, first.steps),
            ("system", instance.system, first.system),
        ):
            if found != wanted:
                raise NotAChainError(f"{name} of network {number} is {found}, but {wanted} in the first one.")
        for q, (one_layer, same) in enumerate(zip(instance.layers[:layer], first.layers, strict=False), 1):
            where = f"layer {q} of network {number}"
            if len(one_layer.groups) != 1:
                raise NotAChainError(f"There are {len(one_layer.groups)} groups in {where}; a chain has one.")
            if (one_layer.dt, one_layer.groups[0].c) != (same.dt, same.groups[0].c):
                raise NotAChainError(f"dt or c in {where} is not that of the first network.")
            if q > 1 and one_layer.groups[0].bias:
                raise NotAChainError(
                    f"The bias in {where} is {one_layer.groups[0].bias}; above the first layer it is 0."
                )
        for below, above in itertools.pairwise(instance.layers[:layer]):
            relays.add(float(below.groups[0].multiplicity) * float(above.input_weights[0][0]))
    if len(relays) > 1:
        raise NotAChainError(f"Between layers stand the weights {sorted(relays)}; a chain has the same everywhere.")
    return relays.pop() if relays else 0.0


def _inputs_of(instance: Instance, device: torch.device) -> torch.Tensor:
    """(time, channels)."""
    size, runs = instance.inputs.size, instance.inputs.runs
    rows = [[float(value) for value in values] * (size if len(values) == 1 else 1) for _, values in runs]
    counts = torch.tensor([count for count, _ in runs], device=device)
    return _numbers(rows, device).repeat_interleave(counts, dim=0)


def _drive_of(layer: Layer, below: torch.Tensor) -> torch.Tensor:
    """What a layer is driven by, (..., groups), from the groups or channels below it, each as often as it is there."""
    weights = _numbers([[float(v) for v in row] for row in layer.input_weights], below.device)
    return below @ weights.T + _numbers([float(group.bias) for group in layer.groups], below.device)


def _steps_of(layer: Layer, device: torch.device) -> torch.Tensor:
    """h of its groups."""
    return float(layer.dt) * torch.sigmoid(_numbers([float(group.c) for group in layer.groups], device))


def _numbers(values: Any, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, device=device)
