"""Neurons of a DampedUnICORNN with a rate, trained to forget as little as they can, and the slopes that they saw.

    loss = −log |X_N − X'_N|²,   two starts a little apart, inputs learned as well as weights, by Adam at a high rate

They come back as (h, α, γ, r, share of the interval, slopes of tanh along the run), numbers that a theorem about every
share and every slope has to stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from odernn.cells.damped_unicornn import DampedUnICORNN


@dataclass(frozen=True)
class DampedNeuron:
    """Of one trained neuron, in floats: w = share w₊, of a negative share −share w₋; slopes of σ' at the N steps."""

    step_size: float
    alpha: float
    gamma: float
    rate: float
    share: float
    slopes: tuple[float, ...]


def trained(rate: float, steps: int, seed: int, *, updates: int = 25, width: int = 3) -> Iterator[DampedNeuron]:
    """The neurons after so many updates; deterministic for a seed."""
    generator = torch.Generator().manual_seed(seed)
    given = {"dt": 0.8, "alpha": 4.0, "gamma": 1.0}
    model = DampedUnICORNN(1, width, rate=rate, **given, generator=generator, dtype=torch.float64)  # type: ignore[arg-type]
    layer = model.layers[0]
    u = torch.randn(steps, 1, 1, generator=generator, dtype=torch.float64).requires_grad_()
    starts = torch.zeros(1, 2, width, dtype=torch.float64)
    starts[0, 1] = 1e-3
    optimizer = torch.optim.Adam([u, *model.parameters()], lr=0.3)
    for _ in range(updates):
        optimizer.zero_grad()
        rows, _ = model(u.expand(-1, 2, -1), (starts, starts))
        (-(rows[-1, 0] - rows[-1, 1]).square().sum().log()).backward()
        optimizer.step()
    with torch.no_grad():
        w, h, alpha, _ = layer.coefficients()
        low, high = layer.interval()
        rows, _ = model(u)
        before = torch.cat((torch.zeros_like(rows[:1, 0]), rows[:-1, 0]))
        slopes = torch.cosh(w * before + layer.drives(u)[:, 0]).pow(-2)
        shares = torch.where(w < 0, -w / low, w / high)
    for k in range(width):
        numbers = float(h[k]), float(alpha), given["gamma"], rate, float(shares[k])
        yield DampedNeuron(*numbers, tuple(slopes[:, k].tolist()))
