"""Adversaries: float searches for the largest state. Each returns Found instances; none decides anything.

Thousands of trajectories are one tensor, on the ``device`` that the caller names; functions of tensors work where
their arguments are. What is drawn comes from the CPU's generator and, like waves and other inputs that are made once,
is then moved: every device searches from the same numbers, and only roundings differ. A user's ``System.step`` makes
its own tensors on the device of ``y``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch

from verification.domains import SearchPoint
from verification.instance import Group, Inputs, Instance, Layer

CPU = torch.device("cpu")

AMPLITUDE = 10.0
"""|x| of a saturating drive: tanh(10) = 1 − 4.1e-9, so a run of the first layer stays below thm-S by more than
rounding. In deeper layers RELAY_WEIGHT saturates tanh to 1, and a run may exceed thm-S by rounding: the balls decide.
"""

RELAY_WEIGHT = 1024.0
"""V between the adversary's layers: turns the layer below into a switch (its sign drives the next layer)."""


@dataclass(frozen=True)
class Found:
    """The best instance of one adversary for one quantity at one layer; trajectories it ran, and if all were finite."""

    adversary: str
    quantity: str
    instance: Instance
    evaluations: int
    finite: bool


def chain(point: SearchPoint, layer: int, w: float, values: torch.Tensor, system: str) -> Instance:
    """A network in which every layer is one group of m equal neurons, driven by ``values`` (time,) in every channel.

    Layer 1 sees x_n = values[n] (V = 1 in the first channel, else 0); layer l > 1 sees RELAY_WEIGHT · y^{l-1}.
    Layers below the target are linear (w = 0).
    """
    m, d = point.hidden_size, point.input_size
    layers = []
    for number in range(1, layer + 1):
        recurrent = Fraction(w) if number == layer else Fraction(0)
        below = (Fraction(1),) + (Fraction(0),) * (d - 1) if number == 1 else (Fraction(RELAY_WEIGHT) / m,)
        group = Group(m, recurrent, point.c)
        layers.append(Layer(point.dt[number - 1], (group,), (below,)))
    return Instance(point.alpha, tuple(layers), Inputs.from_values(values.tolist(), d), system)


def effective_steps(point: SearchPoint) -> list[float]:
    """h of every layer, in float64: numbers, the same for every device."""
    sigma = float(torch.sigmoid(torch.tensor(float(point.c), dtype=torch.float64, device=CPU)))
    return [float(dt) * sigma for dt in point.dt]


def resonance(alpha: float, step_size: float) -> float:
    """θ of the free oscillator: cos θ = 1 − αh²/2, or π beyond αh² = 4 (the response alternates in sign)."""
    half = step_size * alpha**0.5 / 2
    return 2 * float(torch.asin(torch.tensor(min(half, 1.0), dtype=torch.float64, device=CPU)))
