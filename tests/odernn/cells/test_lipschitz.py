"""The Lipschitz RNN: its decomposition, its two methods, what follows for two states, its kin."""

from __future__ import annotations

import itertools

import pytest
import torch

from odernn import fields, tableaus
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.lipschitz import LipschitzRNN, mixed

F64 = torch.float64
PLAIN = {"dt": 0.1, "beta_a": 0.7, "gamma_a": 0.2, "beta_w": 0.6, "gamma_w": 0.1}


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def loud(hidden: int, *, scale: float = 0.6, **options) -> LipschitzRNN:
    network = LipschitzRNN(2, hidden, **{**PLAIN, **options}, dtype=F64)
    with torch.no_grad():
        for place, parameter in enumerate(network.parameters()):
            parameter.copy_(scale * normal(*parameter.shape, seed=100 + place))
    return network


def number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=F64)


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
def test_the_parts_of_the_matrix_have_the_shares_stated(beta):
    M = normal(4, 4)
    found = mixed(M, number(beta), number(0.25))
    torch.testing.assert_close(found + found.T, (1 - beta) * 2 * (M + M.T) - 0.5 * torch.eye(4, dtype=F64))
    torch.testing.assert_close(found - found.T, 2 * beta * (M - M.T))
    torch.testing.assert_close(found, M + (1 - 2 * beta) * M.T - 0.25 * torch.eye(4, dtype=F64))
    eigenvalues = torch.linalg.eigvals(found).real
    if beta == 1.0:  # only the diffusion has a real part
        torch.testing.assert_close(eigenvalues, torch.full((4,), -0.25, dtype=F64), rtol=0, atol=1e-13)
    else:
        assert float((eigenvalues + 0.25).abs().max()) > 0.05


def test_without_the_linear_part_it_is_the_antisymmetric_network():
    network = loud(4, beta_a=1.0, gamma_a=0.0, beta_w=1.0, gamma_w=0.3)
    other = AntisymmetricRNN(2, 4, dt=0.1, gamma=0.3, dtype=F64)
    (layer,), (target,) = network.layers, other.layers
    rows, columns = torch.triu_indices(4, 4, 1)
    with torch.no_grad():
        layer.M_A.zero_()
        target.free.copy_((layer.M_W - layer.M_W.T)[rows, columns])
        target.V.copy_(layer.V)
        target.b.copy_(layer.b)
        u, h = normal(40, 3, 2), normal(1, 3, 4)
        torch.testing.assert_close(network(u, h)[0], other(u, h)[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("method", "table"), [("euler", tableaus.EULER), ("midpoint", tableaus.EXPLICIT_MIDPOINT)])
def test_it_is_its_field_times_its_method(method, table):
    network = loud(4, method=method)
    (layer,) = network.layers
    field = layer.field()
    general = IntegratorRNN(fields.Semilinear(field.A.detach(), field.W.detach()), table, 0.1, input_size=2).double()
    with torch.no_grad():
        general.layers[0].V.copy_(layer.V)
        general.layers[0].b.copy_(layer.b)
        u, h = normal(30, 3, 2), normal(1, 3, 4)
        torch.testing.assert_close(general(u, h)[0], network(u, h)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("midpoint", 2)])
def test_the_error_falls_with_the_order_of_the_method(method, order):
    u, h = normal(1, 1, 2), normal(1, 1, 4)

    def end(steps: int, method: str = method) -> torch.Tensor:
        network = loud(4, method=method, dt=1.0 / steps)
        with torch.no_grad():
            return network(u.expand(steps, 1, 2), h)[1]

    reference = end(3200, "midpoint")
    errors = [float((end(steps) - reference).norm()) for steps in (20, 40, 80)]
    assert all(0.85 * 2**order < one / other < 1.15 * 2**order for one, other in itertools.pairwise(errors))


def test_with_enough_diffusion_euler_contracts_and_its_states_come_together():
    network = loud(4, scale=0.2, gamma_a=2.0, dt=0.1)
    (found,) = network.guarantees()
    assert found["contraction"].holds and found["contraction"].margin > 0
    u = normal(60, 5, 2)
    one, other = (network(u, 3 * normal(1, 5, 4, seed=seed))[0].detach() for seed in (3, 4))
    gaps = (one - other).norm(dim=-1)
    assert bool((gaps[1:] <= gaps[:-1] * (1 + 1e-13)).all()) and float(gaps[-1].max()) < 1e-2
    limit = found["contraction"].margin + 0.1
    (late,) = loud(4, scale=0.2, gamma_a=2.0, dt=1.001 * limit).guarantees()
    assert late["contraction"].holds is None and late["contraction"].margin < 0
    assert loud(4, scale=0.2, gamma_a=2.0, dt=0.999 * limit).guarantees()[0]["contraction"].holds


def test_where_states_part_no_contraction_is_claimed_and_they_part_no_faster_than_the_factor():
    for method in ("euler", "midpoint"):
        network = loud(4, gamma_a=0.0, gamma_w=0.0, beta_w=0.0, method=method)
        (found,) = network.guarantees()
        assert found["contraction"].holds is None
        h = normal(1, 200, 4)
        moved = h + 1e-3 * normal(1, 200, 4, seed=5)
        u = normal(1, 200, 2, seed=6)
        with torch.no_grad():
            ratio = ((network(u, moved)[1] - network(u, h)[1]).norm(dim=-1) / (moved - h).norm(dim=-1)).max()
        assert 1.0 < float(ratio) <= found["contraction"].value


def test_initial_matrices_have_the_spread_of_the_code():
    network = LipschitzRNN(2, 200, **PLAIN, sigma_w=3.0, generator=torch.Generator().manual_seed(1))
    (layer,) = network.layers
    for M in (layer.M_A, layer.M_W):
        assert float(M.detach().std()) == pytest.approx(3.0 / 200, rel=0.02)


def test_shares_and_diffusions_out_of_range_are_refused():
    for name, value in (("beta_a", 1.5), ("beta_w", -0.1), ("gamma_a", -1.0), ("gamma_w", -0.5), ("dt", 0.0)):
        with pytest.raises(ValueError, match=f"{name} is {value}"):
            LipschitzRNN(2, 3, **{**PLAIN, name: value})
    with pytest.raises(ValueError, match="method is 'rk4'"):
        LipschitzRNN(2, 3, **PLAIN, method="rk4")
    text = repr(LipschitzRNN(2, 3, 2, **{**PLAIN, "gamma_a": [0.5, 1.0]}, method="midpoint", bias=False))
    assert "gamma_a=[0.5, 1.0]" in text and "method='midpoint'" in text and "bias=False" in text
