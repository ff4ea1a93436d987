"""uRNN: what stays unitary and by which updates, what its Jacobians are bounded by, how many numbers it has."""

from __future__ import annotations

import math

import pytest
import torch

from odernn.cells.urnn import URNN, FullURNNLayer
from odernn.orthogonal.unitary import MultiplicativeCayley, unitarity_score

F64 = torch.float64
EPS = torch.finfo(F64).eps
CAPACITIES = ("restricted", "full")

every_capacity = pytest.mark.parametrize("capacity", CAPACITIES)


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def urnn(*sizes: int, seed: int = 2, **options) -> URNN:
    return URNN(*sizes, generator=torch.Generator().manual_seed(seed), dtype=F64, **options)


def with_bias(network: URNN, *values: float) -> URNN:
    with torch.no_grad():
        for layer in network.layers:
            layer.b.copy_(torch.tensor(values, dtype=F64).expand(network.hidden_size))
    return network


# --- the recurrence


@every_capacity
def test_without_bias_and_input_the_modulus_of_the_state_is_kept(capacity):
    network = urnn(2, 5, capacity=capacity, bias=False)
    h = normal(1, 3, 10)
    output, _ = network(torch.zeros(200, 3, 2, dtype=F64), h)
    sizes = output.detach().norm(dim=-1)
    assert float((sizes / h[0].norm(dim=-1) - 1).abs().max()) <= 200 * 8 * 5 * EPS
    assert all(defect.defect <= 32 * 5 * EPS for defect in network.hidden_jacobians())


def test_the_factors_and_the_matrix_give_the_same_network_and_gradients():
    one, other = (urnn(2, 6, 2, capacity="restricted", product=product) for product in ("factors", "matrix"))
    assert all(map(torch.equal, one.state_dict().values(), other.state_dict().values()))
    u = normal(20, 3, 2)
    results = [network(u)[0] for network in (one, other)]
    torch.testing.assert_close(*results, rtol=0, atol=1e-12)
    gradients = [
        torch.autograd.grad(result.square().sum(), list(network.parameters()))
        for result, network in zip(results, (one, other), strict=True)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)
    assert "product='matrix'" in repr(other) and "product" not in repr(one)


def test_states_and_outputs_are_pairs_of_real_numbers():
    network = urnn(3, 4, 2, capacity="full", bidirectional=True)
    output, state = network(normal(5, 2, 3))
    assert output.shape == (5, 2, network.output_size) == (5, 2, 16) and state.shape == (4, 2, 8)
    assert network.layers[2].input_size == 16


# --- the Jacobian


def jacobian_and_moduli(network: URNN, h: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """∂h_t/∂h_{t−1}, and |z_i| from W h + V u."""
    (layer,) = network.layers
    (step,) = (layer.stepper(),)
    x = layer.drives(u)
    n = network.hidden_size
    J = torch.autograd.functional.jacobian(lambda h: step((h,), x)[0], h)[0, :, 0]
    W, before = layer.recurrent_matrix(), torch.complex(h[0, :n], h[0, n:])
    z = W @ before + torch.complex(x[0, :n], x[0, n:])
    return J, z.detach().abs()


@every_capacity
def test_singular_values_of_the_jacobian_keep_their_bounds_and_reach_them(capacity):
    for values in ((-0.4, -0.1, 0.0), (0.0, 0.2, 0.5), (-0.3, 0.4, 0.1)):
        network = with_bias(urnn(2, 3, capacity=capacity), *values)
        (bounds,) = network.hidden_jacobians()
        assert bounds.is_lipschitz == (max(values) <= 0) and bounds.largest() == (bounds.largest(0.0))
        for seed in range(20):
            h, u = normal(1, 6, seed=seed), normal(1, 2, seed=100 + seed)
            J, moduli = jacobian_and_moduli(network, h, u)
            found, allowed = torch.linalg.svdvals(J), 1 + 64 * EPS
            assert float(found[0]) <= bounds.largest(float(moduli.min())) * allowed
            assert float(found[-1]) >= bounds.smallest * (1 - 64 * EPS)
            b = torch.tensor(values, dtype=F64)
            across = torch.where(moduli + b > 0, 1 + b / moduli, torch.zeros_like(b))
            along = (moduli + b > 0).double()
            wanted = torch.sort(torch.cat((along, across)), descending=True).values
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)  # what ComplexJacobian says of E_t, W unitary


@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_a_matrix_that_has_left_the_group_widens_the_bounds(scale):
    """W = c U: W*W − I = (c² − 1) I, so the singular values reach c, and 1 itself would be no bound on one side."""
    network = with_bias(urnn(2, 3, capacity="full"), 0.0, 0.0, 0.0)
    with torch.no_grad():
        network.layers[0].W.mul_(scale)
    (bounds,) = network.hidden_jacobians()
    assert bounds.defect == pytest.approx(abs(scale**2 - 1) * 3**0.5, rel=1e-12)
    J, _ = jacobian_and_moduli(network, normal(1, 6), normal(1, 2, seed=2))
    found = torch.linalg.svdvals(J)
    assert bounds.smallest <= float(found[-1]) and float(found[0]) <= bounds.largest()
    assert bounds.smallest < 1 < bounds.largest()
    torch.testing.assert_close(found, torch.full_like(found, scale), rtol=0, atol=1e-12)  # some u = 1.1e-16


def test_for_a_positive_bias_no_number_bounds_the_jacobian_and_states_part():
    """z = 1e-6 and b = 1: across z the derivative is 1e6. The real modReLU of scoRNN has none above 1."""
    network = with_bias(urnn(1, 1, capacity="full"), 1.0)
    (bounds,) = network.hidden_jacobians()
    assert bounds.largest() == math.inf and "no bound near z = 0" in str(bounds) and not bounds.is_lipschitz
    h = torch.tensor([[1e-6, 0.0]], dtype=F64)
    J, moduli = jacobian_and_moduli(network, h, torch.zeros(1, 1, dtype=F64))
    assert float(torch.linalg.svdvals(J)[0]) == pytest.approx(1 + 1e6, rel=1e-9)
    assert bounds.largest(float(moduli)) == pytest.approx(1 + 1e6, rel=1e-9)
    one, other = (network(torch.zeros(1, 1, 1, dtype=F64), sign * h.unsqueeze(0))[0].detach() for sign in (1, -1))
    assert float((one - other).norm()) == pytest.approx(2.0, rel=1e-5)


def test_for_biases_that_are_not_positive_two_states_do_not_part():
    network = with_bias(urnn(2, 4, capacity="full"), -0.2)
    u = normal(60, 5, 2)
    one, other = (network(u, normal(1, 5, 8, seed=seed))[0].detach() for seed in (3, 4))
    first = (normal(1, 5, 8, seed=3) - normal(1, 5, 8, seed=4)).norm(dim=-1)
    gaps = torch.cat((first, (one - other).norm(dim=-1)))
    assert bool((gaps[1:] <= gaps[:-1] * (1 + 64 * EPS)).all())


# --- training


def train(network: URNN, optimizers: list[torch.optim.Optimizer], steps: int = 40) -> list[float]:
    u, wanted = normal(12, 4, 2), torch.tanh(normal(4, 2 * network.hidden_size, seed=3))
    losses = []
    for _ in range(steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = (network(u)[0][-1] - wanted).square().mean()
        loss.backward()
        losses.append(float(loss.detach()))
        for optimizer in optimizers:
            optimizer.step()
    return losses


def test_a_full_capacity_network_is_trained_on_the_manifold_by_two_optimizers():
    network = urnn(2, 5, 2, capacity="full", learn_initial_state=True)
    split = [*network.unitary_parameters(), *network.other_parameters()]
    assert {id(p) for p in split} == {id(p) for p in network.parameters()} and len(split) == 8
    losses = train(
        network,
        [
            MultiplicativeCayley(network.unitary_parameters(), lr=0.1),
            torch.optim.RMSprop(network.other_parameters(), lr=1e-3),
        ],
    )
    assert losses[-1] < 0.9 * losses[0]
    assert all(unitarity_score(W.detach()) <= 40 * 8 * 5 * EPS for W in network.recurrent_matrices())
    # The planted fault: one optimizer that adds.
    other = urnn(2, 5, 2, capacity="full")
    train(other, [torch.optim.SGD(other.parameters(), lr=1e-3)])
    assert all(unitarity_score(W.detach()) > 1e-4 for W in other.recurrent_matrices())


def test_a_restricted_one_is_unitary_after_any_optimizer():
    network = urnn(2, 5, capacity="restricted")
    assert network.unitary_parameters() == []
    losses = train(network, [torch.optim.Adam(network.parameters(), lr=1e-2)])
    assert losses[-1] < 0.9 * losses[0]
    assert all(unitarity_score(W.detach()) <= 32 * 5 * EPS for W in network.recurrent_matrices())


# --- numbers, starts, refusals


@pytest.mark.parametrize(("n", "m", "p"), [(5, 3, 2), (512, 1, 10), (128, 9, 9)])
def test_parameter_numbers_are_those_of_the_formulas(n, m, p):
    """restricted 7n + 2nm + 2np + p + 3n; full n² + 2nm + 2np + p + 3n, of which 2n² are stored for n²."""
    readout = sum(each.numel() for each in torch.nn.Linear(2 * n, p, device="meta").parameters())
    for capacity, unitary, stored in (("restricted", 7 * n, 7 * n), ("full", n * n, 2 * n * n)):
        found = URNN.parameter_count(m, n, p, capacity=capacity)
        assert found == unitary + 2 * n * m + 2 * n * p + p + 3 * n
        if n < 100:
            network = urnn(m, n, capacity=capacity, learn_initial_state=True)
            assert sum(each.numel() for each in network.parameters()) + readout == found + stored - unitary


def test_the_initial_weights_are_drawn_as_stated():
    network = urnn(4, 400, capacity="restricted", learn_initial_state=True)
    (layer,) = network.layers
    assert float(layer.angles.detach().abs().max()) <= math.pi and float(layer.reflectors.detach().abs().max()) <= 1
    assert float(layer.angles.detach().std()) == pytest.approx(math.pi / math.sqrt(3), rel=0.05)
    assert float(layer.h0.detach().square().sum()) == pytest.approx(1.0, rel=0.1)  # 800 terms, spread 0.9/√800 = 3 %
    assert float(layer.V.detach().abs().max()) <= math.sqrt(6 / 404) and not layer.b.detach().any()
    assert sorted(layer.permutation.tolist()) == list(range(400)) != layer.permutation.tolist()


def test_the_initial_full_matrix_is_haars():
    """Its first entry has E|w|² = 1/n and a uniform phase, from which QR without turning the columns departs."""
    entries = torch.stack(
        [urnn(1, 2, capacity="full", seed=seed).layers[0].recurrent_matrix()[0, 0] for seed in range(800)]
    )
    entries = entries.detach()
    assert float(entries.abs().square().mean()) == pytest.approx(0.5, abs=4 * 0.29 / math.sqrt(800))
    assert float((entries / entries.abs()).mean().abs()) <= 4 / math.sqrt(800)


def test_a_trained_initial_state_is_used_where_none_is_given():
    network = urnn(2, 3, 2, capacity="restricted", learn_initial_state=True)
    u = normal(4, 3, 2)
    given = torch.stack([layer.h0 for layer in network.layers]).unsqueeze(1).expand(-1, 3, -1)
    assert torch.equal(network(u)[0], network(u, given)[0])
    assert not torch.equal(network(u)[0], network(u, torch.zeros_like(given))[0])
    assert "learn_initial_state=True" in repr(network)


def test_a_permutation_that_is_none_is_not_loaded():
    network = urnn(2, 4, capacity="restricted")
    kept = network.state_dict()
    wrong = {**kept, "layers.0.permutation": torch.tensor([0, 0, 1, 2])}
    with pytest.raises(RuntimeError, match=r"permutation is \[0, 0, 1, 2\], but it has each of 0..3 once"):
        network.load_state_dict(wrong)
    assert torch.equal(network.layers[0].permutation, kept["layers.0.permutation"])


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="capacity is 'half'"):
        urnn(2, 3, capacity="half")
    with pytest.raises(ValueError, match="a full W has no factors"):
        urnn(2, 3, capacity="full", product="matrix")
    with pytest.raises(ValueError, match="product is 'fast'"):
        urnn(2, 3, capacity="restricted", product="fast")
    assert isinstance(urnn(2, 3, capacity="full").layers[0], FullURNNLayer)
