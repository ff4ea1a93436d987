"""LEM: its bound for dt ≤ 1, and what it integrates."""

from __future__ import annotations

import itertools

import pytest
import torch

from odernn.cells.lem import LEM

F64 = torch.float64


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def loud(scale: float, dt: float, hidden: int = 4) -> LEM:
    network = LEM(2, hidden, dt=dt, dtype=F64)
    with torch.no_grad():
        for place, parameter in enumerate(network.parameters()):
            parameter.copy_(scale * normal(*parameter.shape, seed=100 + place))
    return network


@pytest.mark.parametrize("dt", [0.1, 1.0])
@pytest.mark.parametrize("size", [0.0, 0.5, 3.0])
def test_states_stay_below_one_or_their_initial_values(dt, size):
    network = loud(20.0, dt)
    u, state = normal(60, 50, 2), tuple(size * normal(1, 50, 4, seed=seed).clamp(-1, 1) for seed in (2, 3))
    output, end = network(u, state)
    bound = max(1.0, size) * (1 + 60 * 4 * torch.finfo(F64).eps)  # four roundings in each of 60 steps
    assert float(output.detach().abs().max()) <= bound and all(float(b.detach().abs().max()) <= bound for b in end)
    assert float(output.detach().abs().max()) > 0.9


def test_for_larger_dt_the_bound_is_false():
    """A saturated σ̂ and dt = 2.5: y ↦ −1.5 y + 2.5 tanh(..), beside the true rows above."""
    network = loud(0.0, 2.5, hidden=1)
    with torch.no_grad():
        network.layers[0].b[:2] = 40.0
    y0 = torch.full((1, 1, 1), 0.5, dtype=F64)
    output, _ = network(torch.zeros(10, 1, 2, dtype=F64), (y0, y0))
    torch.testing.assert_close(output[-1, 0, 0].detach(), torch.tensor(0.5 * 1.5**10, dtype=F64), rtol=1e-12, atol=0)


def test_it_is_of_first_order_for_its_equations():
    """y' = σ̂(..) ⊙ (tanh(..) − y), z' likewise, from the same weights by classical Runge–Kutta steps of 1/200."""
    network = loud(0.7, 1.0)
    (layer,) = network.layers
    u = normal(1, 1, 2)
    x, n = layer.drives(u)[0].detach(), 4

    def slope(y, z):
        a = torch.addmm(x[:, : 3 * n], y, layer.W.detach().T).chunk(3, dim=1)
        target = torch.tanh(torch.addmm(x[:, 3 * n :], z, layer.W_y.detach().T))
        return torch.sigmoid(a[1]) * (target - y), torch.sigmoid(a[0]) * (torch.tanh(a[2]) - z)

    start = tuple(0.5 * normal(1, n, seed=seed) for seed in (2, 3))
    state, h = start, 1 / 200
    for _ in range(200):
        stages = []
        for share in (0, h / 2, h / 2, h):
            at = [s + share * k for s, k in zip(state, stages[-1], strict=True)] if stages else state
            stages.append(slope(*at))
        state = [s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, *stages, strict=True)]
    errors = []
    for steps in (40, 80, 160):
        layer.dt.fill_(1 / steps)
        end = network(u.expand(steps, 1, 2), tuple(block.unsqueeze(0) for block in start))[1]
        errors.append(max(float((e[0] - s).detach().abs().max()) for e, s in zip(end, state, strict=True)))
    slopes = [one / other for one, other in itertools.pairwise(errors)]
    assert all(1.9 < found < 2.1 for found in slopes) and errors[0] > 1e-4
