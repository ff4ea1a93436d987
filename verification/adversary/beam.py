"""Beam search over held controls: the input is ±A or 0, held for a while; the beam keeps the states of largest norm.

Score = the invariant norm Q_a of the target layer's state block (theorem thm-Q), plus a small share of the layers
below, so that a layer that is not excited yet still draws the beam on. Knows nothing of the optimal control.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import torch

from verification.adversary import AMPLITUDE, CPU, RELAY_WEIGHT, Found, chain, effective_steps, resonance
from verification.domains import Budget, SearchPoint
from verification.measure.hidden_state import SlantedFront
from verification.system import System

CONTROLS = (-AMPLITUDE, 0.0, AMPLITUDE)
RECURRENT_WEIGHTS = (0.0, -1.0)
HOLDS_PER_HALF_PERIOD = 6
LOWER_LAYER_SHARE = 1e-3
QUANTITIES = ("position", "momentum")
Peak: TypeAlias = tuple[float, int, int]
"""The largest modulus at the end of a stage, the stage, and the place in the beam."""


@lru_cache(maxsize=8)  # pontryagin starts from what this finds
def search(system: System, point: SearchPoint, layer: int, budget: Budget, device: torch.device = CPU) -> list[Found]:
    """The best instance for each quantity at ``layer`` over the recurrent weights tried; [] beyond the budget's
    horizon.
    """
    if point.steps > budget.beam_steps:
        return []
    peaks, controls_to, evaluations, finite = _search_all(system, point, layer, budget.beam_width, device)
    worst = []
    for quantity in QUANTITIES:
        index = max(range(len(RECURRENT_WEIGHTS)), key=lambda i: peaks[quantity][i][0])
        controls = controls_to(quantity, index)
        instance = chain(point, layer, RECURRENT_WEIGHTS[index], controls, system.name)
        worst.append(Found("beam", quantity, instance, evaluations, finite))
    return worst


def _search_all(
    system: System, point: SearchPoint, layer: int, width: int, device: torch.device = CPU
) -> tuple[dict[str, list[Peak]], Callable[[str, int], torch.Tensor], int, bool]:
    """A beam for every recurrent weight, all at once: ({quantity: the peak of every beam}, the controls (time,) to the
    peak of a quantity and beam, trajectories run, all finite).
    """
    steps, hold, beams = effective_steps(point)[:layer], _hold(point, layer), len(RECURRENT_WEIGHTS)
    controls = torch.tensor(CONTROLS, dtype=torch.float64, device=device)
    w = torch.zeros(layer, beams, dtype=torch.float64, device=device)
    w[-1] = torch.tensor(RECURRENT_WEIGHTS, dtype=torch.float64, device=device)
    y = z = torch.zeros(layer, beams, dtype=torch.float64, device=device)
    parents: list[torch.Tensor] = []
    choices: list[torch.Tensor] = []
    peaks: dict[str, list[Peak]] = {quantity: [(-1.0, 0, 0)] * beams for quantity in QUANTITIES}
    front, forms = None, _forms(point, steps, device)
    evaluations, finite = 0, True
    with torch.no_grad():
        for start in range(0, point.steps, hold):
            kept = y.shape[1] // beams
            y, z = y.repeat_interleave(len(CONTROLS), dim=1), z.repeat_interleave(len(CONTROLS), dim=1)
            held = controls.repeat(kept * beams).expand(min(hold, point.steps - start), -1)
            if front is None or front.shape != y.shape:  # as long as the beam grows
                of_beams = w.repeat_interleave(kept * len(CONTROLS), dim=1)
                front = SlantedFront(
                    system, y, w=of_beams, step_sizes=steps, alpha=float(point.alpha), relay=RELAY_WEIGHT
                )
            y, z = (rows[-1] for rows in front.advance(y, z, held))
            evaluations += y.shape[1]
            scores = _score(y, z, forms).reshape(beams, -1)
            keep = torch.topk(scores, min(width, scores.shape[1])).indices
            finite = finite and all(float(part.abs().amax()) < math.inf for part in (y, z))
            parents.append(keep // len(CONTROLS))
            choices.append(keep % len(CONTROLS))
            columns = (keep + scores.shape[1] * torch.arange(beams, device=device)[:, None]).flatten()
            y, z = y[:, columns], z[:, columns]
            for quantity, values in zip(QUANTITIES, (y[-1], z[-1]), strict=True):
                largest = values.abs().reshape(beams, -1).max(dim=1)
                for beam, (value, index) in enumerate(zip(*(part.tolist() for part in largest), strict=True)):
                    if value > peaks[quantity][beam][0]:
                        peaks[quantity][beam] = (value, len(parents) - 1, index)

    def controls_to(quantity: str, beam: int) -> torch.Tensor:
        _, stage, index = peaks[quantity][beam]
        before, chosen = ([indices[beam].cpu() for indices in of_stages] for of_stages in (parents, choices))
        return _controls(before, chosen, stage, index, hold, point.steps)

    return peaks, controls_to, evaluations, finite


def _forms(point: SearchPoint, steps: list[float], device: torch.device) -> torch.Tensor:
    """(3, layers, 1): a, a h and the share of every layer; a = α where that is definite, α = 0 takes the scale of the
    horizon.
    """
    of_layers = []
    for number, h in enumerate(steps, start=1):
        a = max(float(point.alpha), 1.0 / (point.steps * h) ** 2)
        a = min(a, 2.0 / h**2)
        of_layers.append((a, a * h, 1.0 if number == len(steps) else LOWER_LAYER_SHARE))
    return torch.tensor(of_layers, dtype=torch.float64, device=device).T[..., None]


def _score(y: torch.Tensor, z: torch.Tensor, forms: torch.Tensor) -> torch.Tensor:
    """The shares of Q_a(y, z) = a y² + z² − a h y z of all layers together."""
    a, ah, share = forms
    of_layers = share * (a * y**2 + z**2 - ah * y * z)
    return torch.nan_to_num(sum(of_layers.unbind()), nan=-math.inf)


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
