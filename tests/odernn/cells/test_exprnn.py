"""expRNN: its matrix, its start, its flow, and what it shares with scoRNN."""

from __future__ import annotations

import math

import pytest
import torch

from odernn.cells.exprnn import ExpRNN
from odernn.cells.scornn import ScoRNN
from odernn.orthogonal.cayley import cayley_inverse, free_entries
from odernn.orthogonal.unitary import unitarity_score

F64 = torch.float64
EPS = torch.finfo(F64).eps


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def exprnn(*sizes: int, seed: int = 2, **options) -> ExpRNN:
    return ExpRNN(*sizes, generator=torch.Generator().manual_seed(seed), dtype=F64, **options)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_the_recurrent_matrix_is_a_rotation_after_any_step_of_training(n):
    network = exprnn(2, n, 2)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        (network(normal(6, 3, 2))[0] - 1).square().sum().backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    for W, jacobian in zip(network.recurrent_matrices(), network.hidden_jacobians(), strict=True):
        assert float(torch.linalg.det(W.detach())) == pytest.approx(1.0, abs=1e-12)
        assert unitarity_score(W.detach()) <= 64 * n * EPS and jacobian.defect <= 64 * n * EPS
        assert jacobian.largest == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("initial", ["cayley", "henaff"])
def test_the_initial_matrix_turns_planes_by_the_stated_angles(initial):
    n = 601
    network = exprnn(2, n, initial=initial)
    eigenvalues = torch.linalg.eigvals(network.recurrent_matrices()[0].detach())
    angles = torch.sort(eigenvalues.angle().abs()).values
    assert float(angles[0]) <= 1e-12  # the odd one
    turned = angles[1::2]
    top = math.pi if initial == "henaff" else 1.0
    assert float(turned.max()) <= top + 1e-12
    t = turned if initial == "henaff" else 2 * torch.atan(turned)  # uniform in (0, π) and in (0, π/2)
    limit = math.pi if initial == "henaff" else math.pi / 2
    # Kolmogorov's distance from the uniform law for 300 draws: above 1.63/√300 with probability 1 %.
    distance = (torch.arange(1, 301, dtype=F64) / 300 - t / limit).abs().max()
    assert float(distance) <= 1.63 / math.sqrt(300) + 1 / 300


def test_it_is_the_flow_of_its_field_where_nothing_bends():
    network = exprnn(1, 5, bias=False, initial="henaff")
    (layer,) = network.layers
    field, steps = layer.field(0.25), 400
    y, h = normal(1, 5).clone(), normal(1, 5)
    drive = torch.zeros(5, dtype=F64)
    for _ in range(steps):  # classical Runge–Kutta, error (0.25/400 · 4π)⁴
        k1 = field((y,), drive)[0]
        k2 = field((y + 0.125 / steps * k1,), drive)[0]
        k3 = field((y + 0.125 / steps * k2,), drive)[0]
        k4 = field((y + 0.25 / steps * k3,), drive)[0]
        y = y + 0.25 / steps / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    found = network(torch.zeros(1, 1, 1, dtype=F64), h.unsqueeze(0))[1]
    torch.testing.assert_close(found[0].detach(), y.detach(), rtol=0, atol=1e-8)


def test_with_the_same_matrix_it_is_scornn():
    network = exprnn(2, 4)
    other = ScoRNN(2, 4, rho=0, dtype=F64)
    (layer,), (target,) = network.layers, other.layers
    with torch.no_grad():
        target.free.copy_(free_entries(cayley_inverse(layer.recurrent_matrix())))
        target.U.copy_(layer.V)
        target.b.copy_(layer.b)
        u = normal(30, 3, 2)
        torch.testing.assert_close(network(u)[0], other(u)[0], rtol=0, atol=1e-12)
        target.free.neg_()  # the transposed matrix is another network
        assert float((network(u)[0] - other(u)[0]).abs().max()) > 1e-3


@pytest.mark.parametrize(("n", "m", "p"), [(4, 2, 3), (7, 1, 1)])
def test_it_has_as_many_parameters_as_scornn(n, m, p):
    network = exprnn(m, n)
    readout = n * p + p
    assert ExpRNN.parameter_count(m, n, p) == n * (n - 1) // 2 + n * m + p * n + p + n
    assert sum(each.numel() for each in network.parameters()) + readout == ExpRNN.parameter_count(m, n, p)
    assert sum(each.numel() for each in ScoRNN(m, n, rho=0).parameters()) + readout == ExpRNN.parameter_count(m, n, p)


def test_what_it_does_not_know_is_refused():
    with pytest.raises(ValueError, match="initial is 'haar'"):
        exprnn(2, 3, initial="haar")
    with pytest.raises(NotImplementedError, match="does not claim that its step can be undone"):
        exprnn(2, 3).inverse(torch.zeros(1, 1, 3, dtype=F64), torch.zeros(2, 1, 2, dtype=F64))
    assert "initial='cayley'" in repr(exprnn(2, 3)) and "bias=False" in repr(exprnn(2, 3, bias=False))
