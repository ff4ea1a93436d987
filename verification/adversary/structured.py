"""Structured inputs: square waves ("telegraph") and tones, phased to peak at the last step, near and at resonance.

Two square waves are *matched*: the signs of the system's own response to a small kick, read backwards in time, which is
the best control of any recurrence that is linear in tanh. The others sweep the neighbourhood of the oscillator's
resonance and nonzero w, and look for what linear theory would have missed. All variants run as one batch.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch

from verification.adversary import AMPLITUDE, CPU, RELAY_WEIGHT, Found, chain, effective_steps, resonance
from verification.domains import Budget, SearchPoint
from verification.measure.hidden_state import run_layer, run_layers
from verification.system import System

RECURRENT_WEIGHTS = (0.0, 1.0, -1.0, -4.0)
KICK = 1e-4
TIE = 1e-6
"""Variants within this share of the best count as equal; the first one (square wave before tone, w = 0 before
others) is kept.
"""


@lru_cache(maxsize=8)  # pontryagin starts from what this finds
def search(system: System, point: SearchPoint, layer: int, budget: Budget, device: torch.device = CPU) -> list[Found]:
    """The best instance for each quantity at ``layer`` (from 1), over all waves × recurrent weights."""
    waves = torch.cat([matched(system, point, layer, device), _waves(point, budget, layer).to(device)], dim=1)
    weights = (*RECURRENT_WEIGHTS, float(point.w)) if point.w else RECURRENT_WEIGHTS
    w = torch.tensor(weights, dtype=torch.float64, device=device).repeat_interleave(waves.shape[1])
    inputs = waves.repeat(1, len(weights))
    y, z = run_layers(
        system,
        inputs,
        w=torch.cat([w.new_zeros(layer - 1, w.numel()), w[None]]),
        step_sizes=effective_steps(point)[:layer],
        alpha=float(point.alpha),
        relay=RELAY_WEIGHT,
    )
    worst = []
    for quantity, values in (("position", y), ("momentum", z)):
        peaks = values[:, -1].abs().amax(dim=0)
        finite = bool(torch.isfinite(peaks).all())
        peaks = torch.nan_to_num(peaks, nan=-1.0, posinf=math.inf)
        best = int(torch.argmax((peaks >= (1 - TIE) * peaks.max()).to(torch.int8)))  # the plainest of equals
        instance = chain(point, layer, float(w[best]), inputs[:, best], system.name)
        worst.append(Found("structured", quantity, instance, inputs.shape[1], finite))
    return worst


def matched(system: System, point: SearchPoint, layer: int, device: torch.device = CPU) -> torch.Tensor:
    """(time, 2): −A sgn of the response of y and of z to a kick of size KICK at w = 0, the last step first."""
    drive = torch.zeros(point.steps, 1, 1, dtype=torch.float64, device=device)
    drive[0] = KICK
    step_size = effective_steps(point)[layer - 1]
    responses = run_layer(system, drive, w=torch.zeros_like(drive[0, 0]), step_size=step_size, alpha=float(point.alpha))
    signs = torch.cat([response[:, :, 0] for response in responses], dim=1).flip(0) >= 0
    return -AMPLITUDE * torch.where(signs, 1.0, -1.0).to(torch.float64)


def _waves(point: SearchPoint, budget: Budget, layer: int) -> torch.Tensor:
    """(time, variants) on the CPU: ±A square waves and A-tones at detuned resonances, constant and alternating, two
    phases each.
    """
    theta = resonance(float(point.alpha), effective_steps(point)[layer - 1])
    frequencies = sorted({0.0, math.pi, *(min(theta * factor, math.pi) for factor in budget.detunings)})
    until_end = torch.arange(point.steps, 0, -1, dtype=torch.float64, device=CPU)  # N − n + 1
    tones = []
    for frequency in frequencies:
        for phase in (0.0, math.pi / 2 - frequency / 2, math.pi / 2):
            tones.append(torch.sin(frequency * until_end + phase))
    smooth = torch.stack(tones, dim=1)
    square = torch.where(smooth >= 0, 1.0, -1.0).to(torch.float64)
    return -AMPLITUDE * torch.cat([square, smooth], dim=1)
