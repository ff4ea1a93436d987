"""IndRNN: neurons alone, the sharp condition for non-expansion, and the interval of the weights."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.cells.indrnn import IndRNN

F64 = torch.float64


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def test_a_neuron_sees_no_other_of_its_layer_and_its_derivative_is_a_power():
    """Where all slopes are 1, as those of ReLU above 0: ∂h_n/∂h_0 = diag(wⁿ)."""
    network = IndRNN(1, 3, dtype=F64)
    (layer,) = network.layers
    with torch.no_grad():
        layer.w.copy_(torch.tensor([0.5, 0.9, 1.1]))
        layer.b.fill_(3.0)
        layer.V.zero_()
    u, n = torch.zeros(6, 1, 1, dtype=F64), 6
    jacobian = torch.autograd.functional.jacobian(lambda h: network(u, h)[1], torch.ones(1, 1, 3, dtype=F64))
    torch.testing.assert_close(jacobian[0, 0, :, 0, 0], torch.diag(layer.w.detach() ** n), rtol=1e-14, atol=0)


def test_it_is_torchs_network_with_a_diagonal_matrix():
    network, module = IndRNN(2, 4, dtype=F64), torch.nn.RNN(2, 4, nonlinearity="relu", dtype=F64)
    (layer,) = network.layers
    with torch.no_grad():
        module.weight_hh_l0.copy_(torch.diag(layer.w))
        module.weight_ih_l0.copy_(layer.V)
        module.bias_ih_l0.copy_(layer.b)
        module.bias_hh_l0.zero_()
        u = normal(40, 3, 2)
        torch.testing.assert_close(network(u)[0], module(u)[0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_it_is_non_expansive_iff_no_weight_is_above_one(activation):
    network = IndRNN(2, 3, activation=activation, dtype=F64)
    (layer,) = network.layers
    u = normal(9, 5, 2)
    one, other = (network(u, 3 * normal(1, 5, 3, seed=seed))[0].detach() for seed in (2, 3))
    start = (3 * (normal(1, 5, 3, seed=2) - normal(1, 5, 3, seed=3))).abs()
    gaps = torch.cat((start, (one - other).abs()))
    assert network.non_expansion()[0] and bool((gaps[1:] <= gaps[:-1] * (1 + 1e-12)).all())
    with torch.no_grad():
        layer.w.copy_(torch.tensor([0.5, -1.0, 1.0]))
    (border,) = network.non_expansion()
    assert border.holds is True and border.margin == 0 and border.witness == 2
    with torch.no_grad():
        layer.w[2] = float(np.nextafter(1.0, 2.0))
    (above,) = network.non_expansion()
    assert above.holds is False and above.margin == -Fraction(1, 2**52) and above.witness == 3
    with torch.no_grad():
        layer.w[2] = 1.25  # the claim of the certificate: some drive expands. Here one with V u + b = 0
        layer.b.zero_()
    h = torch.tensor([0.0, 1e-3], dtype=F64).reshape(1, 2, 1).expand(1, 2, 3)
    after = network(torch.zeros(1, 2, 2, dtype=F64), h)[1][0, :, 2]
    assert float((after[1] - after[0]).detach()) > 1.2e-3


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_nothing_is_decided_about_a_weight_that_is_not_finite(value):
    network = IndRNN(1, 3, dtype=F64)
    with torch.no_grad():
        network.layers[0].w[2] = value
    with pytest.raises(ValueError, match=f"w has the entry {value} at 2"):
        network.non_expansion()


@pytest.mark.parametrize("growth", [2.0, 0.5])
def test_clipping_keeps_the_growth_over_a_sequence(growth):
    network = IndRNN(2, 4, 2, dtype=F64)
    with torch.no_grad():
        for layer in network.layers:
            layer.w.copy_(torch.tensor([3.0, -3.0, 0.25, -0.25]))
    network.clip_(100, growth)
    for layer in network.layers:
        powers = (layer.w.detach() ** 100).tolist()
        assert powers[:2] == pytest.approx([growth, growth], rel=1e-12)
        assert layer.w.detach()[2:].tolist() == [0.25, -0.25] and float(layer.w[1].detach()) < 0
    with pytest.raises(ValueError, match="growth is 0"):
        network.clip_(100, 0.0)
    with pytest.raises(ValueError, match="steps is 0"):
        network.clip_(0)
