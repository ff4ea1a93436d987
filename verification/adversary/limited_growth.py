"""Neurons of a UnICORNN with a limit of growth, trained to grow as much as they can, and the slopes that they saw.

    loss = −mean y_N²,   inputs learned as well as weights, by Adam at a rate that throws weights far

The limit makes w of what is learned (thm-J (g)); the neurons come back as (h, α, share of the interval, slopes of tanh
along the run), numbers that a theorem about every share and every slope has to stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from odernn.cells.unicornn import UnICORNN


@dataclass(frozen=True)
class LimitedNeuron:
    """Of one trained neuron, in floats: w = w₋ + share (w₊ − w₋); slopes of σ' at the N steps of the last run."""

    step_size: float
    alpha: float
    share: float
    slopes: tuple[float, ...]


def trained(growth: float, steps: int, seed: int, *, updates: int = 25, width: int = 3) -> Iterator[LimitedNeuron]:
    """The neurons after so many updates; deterministic for a seed."""
    generator = torch.Generator().manual_seed(seed)
    model = UnICORNN(1, width, dt=0.5, alpha=4.0, growth=growth, steps=steps, generator=generator, dtype=torch.float64)
    u = torch.randn(steps, 1, 1, generator=generator, dtype=torch.float64).requires_grad_()
    optimizer = torch.optim.Adam([u, *model.parameters()], lr=0.3)
    for _ in range(updates):
        optimizer.zero_grad()
        (-(model(u)[0][-1] ** 2).mean()).backward()
        optimizer.step()
    with torch.no_grad():
        layer, found = model.layers[0], model.coefficients(0)
        rows = model.states(u)[0].y[:, 0]
        before = torch.cat((torch.zeros_like(rows[:1]), rows[:-1]))
        slopes = torch.cosh(found["w"] * before + layer.drive(u, None)[:, 0]).pow(-2)
        shares = torch.sigmoid(layer.free_w) if layer.free_w is not None else before[0]
    for k in range(width):
        yield LimitedNeuron(
            float(found["step_size"][k]), float(found["alpha"]), float(shares[k]), tuple(slopes[:, k].tolist())
        )
