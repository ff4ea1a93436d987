"""Beam search over held controls: the input is ±A or 0, held for a while; the beam keeps the states of largest norm.

Score = the invariant norm Q_a of the target layer's state block (theorem thm-Q), plus a small share of the layers
below, so that a layer that is not excited yet still draws the beam on. Knows nothing of the optimal control.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch

from verification.adversary import AMPLITUDE, CPU, RELAY_WEIGHT, Found, chain, effective_steps, resonance
from verification.domains import Budget, SearchPoint
from verification.system import System

CONTROLS = (-AMPLITUDE, 0.0, AMPLITUDE)
RECURRENT_WEIGHTS = (0.0, -1.0)
HOLDS_PER_HALF_PERIOD = 6
LOWER_LAYER_SHARE = 1e-3


@lru_cache(maxsize=8)  # pontryagin starts from what this finds
def search(system: System, point: SearchPoint, layer: int, budget: Budget, device: torch.device = CPU) -> list[Found]:
    """The best instance for each quantity at ``layer`` over the recurrent weights tried; [] beyond the budget's
    horizon.
    """
    if point.steps > budget.beam_steps:
        return []
    per_weight = [_search_one(system, point, layer, budget.beam_width, w, device) for w in RECURRENT_WEIGHTS]
    evaluations = sum(count for _, count, _ in per_weight)
    finite = all(ok for *_, ok in per_weight)
    worst = []
    for quantity in ("position", "momentum"):
        index = max(range(len(per_weight)), key=lambda i: per_weight[i][0][quantity][0])
        controls = per_weight[index][0][quantity][1]
        instance = chain(point, layer, RECURRENT_WEIGHTS[index], controls, system.name)
        worst.append(Found("beam", quantity, instance, evaluations, finite))
    return worst


def _search_one(
    system: System, point: SearchPoint, layer: int, width: int, w: float, device: torch.device = CPU
) -> tuple[dict[str, tuple[float, torch.Tensor]], int, bool]:
    """({quantity: (largest modulus at a stage's end, controls (time,))}, trajectories run, all finite)."""
    steps = effective_steps(point)
    hold = _hold(point, layer)
    controls = torch.tensor(CONTROLS, dtype=torch.float64, device=device)
    recurrent = torch.tensor([*[0.0] * (layer - 1), w], dtype=torch.float64, device=device)
    y = torch.zeros(layer, 1, dtype=torch.float64, device=device)
    z = torch.zeros_like(y)
    parents: list[torch.Tensor] = []
    choices: list[torch.Tensor] = []
    best: dict[str, tuple[float, int, int]] = {q: (-1.0, 0, 0) for q in ("position", "momentum")}
    evaluations, finite = 0, True
    with torch.no_grad():
        for start in range(0, point.steps, hold):
            count = y.shape[1]
            y, z = y.repeat_interleave(len(CONTROLS), dim=1), z.repeat_interleave(len(CONTROLS), dim=1)
            control = controls.repeat(count)
            for _ in range(min(hold, point.steps - start)):
                y, z = _advance(system, y, z, control, steps, float(point.alpha), recurrent)
            evaluations += control.numel()
            keep = torch.topk(_score(y, z, point, steps), min(width, control.numel())).indices
            finite = finite and bool(torch.isfinite(y).all() and torch.isfinite(z).all())
            parents.append(keep // len(CONTROLS))
            choices.append(keep % len(CONTROLS))
            y, z = y[:, keep], z[:, keep]
            for quantity, values in (("position", y[-1]), ("momentum", z[-1])):
                value, index = values.abs().max(dim=0)
                if float(value) > best[quantity][0]:
                    best[quantity] = (float(value), len(parents) - 1, int(index))
    parents, choices = ([indices.cpu() for indices in of_stages] for of_stages in (parents, choices))
    return (
        {
            quantity: (value, _controls(parents, choices, stage, index, hold, point.steps))
            for quantity, (value, stage, index) in best.items()
        },
        evaluations,
        finite,
    )


def _advance(
    system: System,
    y: torch.Tensor,
    z: torch.Tensor,
    control: torch.Tensor,
    steps: list[float],
    alpha: float,
    w: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of every layer, bottom up; rows are layers, and w has an entry for each."""
    positions, momenta = [], []
    drive = control
    for number in range(y.shape[0]):
        new_y, new_z = system.step(y[number], z[number], drive, w=w[number], step_size=steps[number], alpha=alpha)
        positions.append(new_y)
        momenta.append(new_z)
        drive = RELAY_WEIGHT * new_y
    return torch.stack(positions), torch.stack(momenta)


def _score(y: torch.Tensor, z: torch.Tensor, point: SearchPoint, steps: list[float]) -> torch.Tensor:
    """Q_a(y, z) = a y² + z² − a h y z with a = α where that is definite; α = 0 takes the scale of the horizon."""
    total = torch.zeros_like(y[0])
    for number in range(y.shape[0]):
        h = steps[number]
        a = max(float(point.alpha), 1.0 / (point.steps * h) ** 2)
        a = min(a, 2.0 / h**2)
        share = 1.0 if number == y.shape[0] - 1 else LOWER_LAYER_SHARE
        total = total + share * (a * y[number] ** 2 + z[number] ** 2 - a * h * y[number] * z[number])
    return torch.nan_to_num(total, nan=-math.inf)


def _hold(point: SearchPoint, layer: int) -> int:
    """Steps a control is held: a sixth of the half-period of the target layer, at least 1; at most 1/24 of the
    horizon.
    """
    theta = resonance(float(point.alpha), effective_steps(point)[layer - 1])
    by_period = math.pi / (HOLDS_PER_HALF_PERIOD * theta) if theta > 0 else math.inf
    return max(1, int(min(by_period, point.steps / 24)))


def _controls(
    parents: list[torch.Tensor], choices: list[torch.Tensor], stage: int, index: int, hold: int, steps: int
) -> torch.Tensor:
    """The control sequence (time,) that leads to beam entry ``index`` after ``stage``; 0 afterwards."""
    values = torch.zeros(steps, dtype=torch.float64, device=CPU)
    for number in range(stage, -1, -1):
        values[number * hold : min((number + 1) * hold, steps)] = CONTROLS[int(choices[number][index])]
        index = int(parents[number][index])
    return values
