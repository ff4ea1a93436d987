"""scoRNN: orthogonal W, its gradients, where modReLU passes them on, first weights, re-signing, the paper."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch
from flint import fmpq, fmpq_mat
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from odernn import tableaus
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.scornn import HiddenJacobian, ScoRNN, ScoRNNLayer
from odernn.executions.recurrence import UNIT_ROUNDOFF
from odernn.orthogonal.cayley import DEFAULT_TAU, free_entries, skew
from odernn.published import networks as published
from tests.tiers import only

F64 = torch.float64
U64 = UNIT_ROUNDOFF[F64]


pytestmark = pytest.mark.usefixtures("one_thread")


def normal(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def network(hidden_size: int = 6, num_layers: int = 1, *, seed: int = 0, scale: float = 1.0, **options) -> ScoRNN:
    """A dense A with entries in ±scale, U ~ N(0, 1), and b in (0.05, 0.4) unless set otherwise."""
    generator = torch.Generator().manual_seed(seed)
    options = {"rho": 2, "dtype": F64} | options
    model = ScoRNN(3, hidden_size, num_layers, generator=generator, **options)
    with torch.no_grad():
        for layer in model.layers:
            layer.free.uniform_(-scale, scale, generator=generator)
            layer.U.normal_(generator=generator)
            if layer.b is not None:
                layer.b.uniform_(0.05, 0.4, generator=generator)
    return model


def largest_entry(layer: ScoRNNLayer) -> float:
    """max |a_ij|."""
    return float(layer.free.detach().abs().max())


def states(model: ScoRNN, u: Tensor, h: Tensor) -> list[Tensor]:
    """h_0 .. h_N of the first layer, each a node of the graph whose gradient is kept."""
    layer = model.layers[0]
    step, found = layer.stepper(), [h.requires_grad_()]
    for drive in layer.drives(u):
        found.append(step((found[-1],), drive)[0])
        found[-1].retain_grad()
    return found


def jacobian(model: ScoRNN, u: Tensor, h: Tensor) -> Tensor:
    """∂h_N/∂h_0 for inputs (N, 1, ·) at h (1, n), by autograd."""
    found = torch.autograd.functional.jacobian(lambda h: model(u, h.unsqueeze(0))[1][0], h)
    return found.reshape(h.shape[1], h.shape[1])


def with_biases(model: ScoRNN, low: float, high: float, seed: int = 5) -> ScoRNN:
    """The same network with b in (low, high)."""
    with torch.no_grad():
        model.layers[0].b.uniform_(low, high, generator=torch.Generator().manual_seed(seed))
    return model


# --- W


@pytest.mark.parametrize(
    ("layers", "bidirectional"), only(itertools.product((1, 2), (False, True)), (1, False), (2, True))
)
def test_forward_and_backward_factor_once_a_layer_and_direction(layers, bidirectional):
    model = network(8, layers, bidirectional=bidirectional)
    with warnings.catch_warnings(action="ignore"), profile(activities=[ProfilerActivity.CPU]) as events:
        model(normal(20, 2, 3))[0].square().sum().backward()
    names = [event.name for event in events.events()]
    assert not any("inv" in name or "linalg_solve" in name for name in names)
    assert names.count("aten::linalg_lu_factor_ex") == layers * (1 + bidirectional)


def test_the_count_of_factorisations_sees_a_network_that_evaluates_W_each_step():
    model, u = network(), normal(20, 2, 3)
    with warnings.catch_warnings(action="ignore"), profile(activities=[ProfilerActivity.CPU]) as events:
        state = None
        for n in range(20):
            _, state = model(u[n : n + 1], state)
    assert [event.name for event in events.events()].count("aten::linalg_lu_factor_ex") == 20


@pytest.mark.parametrize(("n", "scale"), [(2, 1.0), (64, 1.0), (170, 1.0), (64, 100.0)])
def test_in_float32_W_is_orthogonal_to_the_bound_of_the_theorem(n, scale):
    layer = network(n, scale=scale, dtype=torch.float32).layers[0]
    W = layer.recurrent_matrix().detach().double()
    kappa = float(torch.linalg.cond(torch.eye(n, dtype=F64) + skew(layer.free.detach().double(), n)))
    bound = 5 * math.sqrt(n) * 2 * UNIT_ROUNDOFF[torch.float32] * kappa
    assert float((W.T @ W - torch.eye(n, dtype=F64)).norm()) <= bound
    assert layer.hidden_jacobian().defect <= bound


def test_autocast_touches_neither_W_nor_the_recurrence():
    model, silence = network(32, dtype=torch.float32), torch.zeros(50, 2, 3)
    h, free, W = normal(1, 2, 32).float(), model.layers[0].free, model.recurrent_matrices()[0]
    wanted, _ = model(silence, h)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(model.recurrent_matrices()[0], W)
        output, _ = model(silence, h)
    assert torch.equal(output, wanted) and output.dtype == torch.float32
    gradients = [torch.autograd.grad(rows.square().sum(), free)[0] for rows in (output, wanted)]
    assert torch.equal(*gradients)


@pytest.mark.slow
def test_a_compiled_network_has_the_gradients_of_the_plain_one():
    model, u = network(num_layers=2), normal(5, 2, 3)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    parameters = list(model.parameters())
    wanted = torch.autograd.grad(model(u)[0].square().sum(), parameters)
    found = torch.autograd.grad(compiled(u)[0].square().sum(), parameters)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-11)


def test_a_single_unit_has_no_entries_and_keeps_or_turns_its_sign():
    for rho in (0, 1):
        model = ScoRNN(1, 1, rho=rho, signs="prefix", dtype=F64)
        assert model.layers[0].free.numel() == 0
        output, _ = model(torch.zeros(3, 1, 1, dtype=F64), torch.ones(1, 1, 1, dtype=F64))
        assert output.flatten().tolist() == [1 - 2 * rho, 1, 1 - 2 * rho]


# --- the gradient with respect to A


def by_hand(model: ScoRNN, u: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, D, W and dL/dW for L = |h_N|²/2, backwards through time in numpy."""
    layer = model.layers[0]
    free, D = layer.free.detach().numpy(), np.diag(layer.cayley.signs.numpy().astype(float))
    n = len(D)
    A = np.zeros((n, n))
    A[np.triu_indices(n, 1)] = free
    A -= A.T
    W = np.linalg.inv(np.eye(n) + A) @ (np.eye(n) - A) @ D
    b, past, active = layer.b.detach().numpy(), [h], []
    for x in u @ layer.U.detach().numpy().T:
        z = W @ past[-1] + x
        active.append(np.abs(z) + b > 0)
        past.append(np.where(active[-1], z + b * np.sign(z), 0.0))
    G, delta = np.zeros((n, n)), past[-1]
    for before, is_active in zip(past[-2::-1], active[::-1], strict=True):
        delta = delta * is_active
        G += np.outer(delta, before)
        delta = W.T @ delta
    return A, D, W, G


@pytest.mark.parametrize("low", [0.05, -0.6])
def test_the_gradient_of_A_through_the_whole_cell_is_theorem_3_2_and_none_of_the_slips(low):
    model = with_biases(network(5, rho=3, signs="prefix"), low, 0.4)
    u, h = normal(12, 1, 3), normal(1, 1, 5, seed=2)
    _, end = model(u, h)
    (found,) = torch.autograd.grad(end.square().sum() / 2, model.layers[0].free)
    A, D, W, G = by_hand(model, u[:, 0].numpy(), h[0, 0].numpy())
    inverse, upper = np.linalg.inv(np.eye(5) + A), np.triu_indices(5, 1)
    V = inverse.T @ G @ (D + W.T)
    expected = (V.T - V)[upper]
    assert np.abs(found.numpy() - expected).max() <= 1e-12 * np.abs(expected).max()
    slips = {
        "the other sign": V - V.T,
        "D forgotten": (S := inverse.T @ G @ (np.eye(5) + W.T)).T - S,
        "no transpose": (S := inverse @ G @ (D + W.T)).T - S,
        "half": (V.T - V) / 2,
        "rows for columns": (S := inverse.T @ G.T @ (D + W.T)).T - S,
    }
    assert all(np.abs(found.numpy() - slip[upper]).max() > 1e-3 for slip in slips.values())


# --- gradients of hidden states


def gradient_norms(model: ScoRNN, steps: int, seed: int) -> np.ndarray:
    """|dL/dh_t|, t = 0..N, for a linear loss of the last state."""
    n = model.hidden_size
    found = states(model, normal(steps, 1, 3, seed=seed), normal(1, n, seed=seed + 1))
    (found[-1] * normal(1, n, seed=seed + 2)).sum().backward()
    return np.array([float(h.grad.norm()) for h in found])


@pytest.mark.parametrize("rho", [0, 8, 16])
def test_with_b_not_negative_gradients_keep_their_norm_over_300_steps(rho):
    norms = gradient_norms(network(16, rho=rho), 300, seed=rho)
    assert np.abs(norms / norms[-1] - 1).max() <= 4 * 300 * 16 * U64


def test_in_float32_the_norm_stays_to_1e_5():
    model = network(64, rho=32, dtype=torch.float32)
    h = normal(1, 64, seed=3).float()
    found = states(model, normal(300, 1, 3).float(), h)
    (found[-1] * normal(1, 64, seed=4).float()).sum().backward()
    assert abs(float(found[0].grad.norm() / found[-1].grad.norm()) - 1) <= 1e-5


def test_with_some_b_negative_gradients_fade_backwards_and_never_grow():
    """The false row of the one above, and what the theorem says instead."""
    norms = gradient_norms(with_biases(network(16, rho=8), -0.8, 0.3), 300, seed=3)
    assert norms[0] < 0.5 * norms[-1]
    assert (np.diff(norms) >= -4 * 16 * U64 * norms[-1]).all()


def exact_cayley(free: list[Fraction], signs: list[int]) -> fmpq_mat:
    n, entries = len(signs), iter(free)
    A = fmpq_mat(n, n)
    for i in range(n):
        for j in range(i + 1, n):
            value = next(entries)
            A[i, j], A[j, i] = fmpq(value.numerator, value.denominator), -fmpq(value.numerator, value.denominator)
    one = diagonal([1] * n)
    return (one + A).inv() * (one - A) * diagonal(signs)


def diagonal(entries: list[int]) -> fmpq_mat:
    n = len(entries)
    return fmpq_mat(n, n, [entries[i] if i == j else 0 for i in range(n) for j in range(n)])


@pytest.mark.parametrize("seed", range(8))
def test_at_least_n_minus_all_silent_units_of_the_singular_values_are_1_by_exact_ranks(seed):
    n, steps = 6, 4
    model = network(n, rho=3, signs="prefix", seed=seed)
    with_biases(model, *((-0.5, 0.1), (-0.9, -0.2), (-0.25, 0.0))[seed % 3], seed=seed)
    layer = model.layers[0]
    with torch.no_grad():  # quarters: exact in floats and small in fractions
        layer.free.copy_((4 * layer.free).round() / 4)
    u, h = normal(steps, 1, 3, seed=seed), normal(1, n, seed=seed + 50)
    found = states(model, u, h.clone())
    masks = [(state[0] != 0).int().tolist() for state in found[1:]]
    silent = sum(mask.count(0) for mask in masks)

    free = [Fraction(entry).limit_denominator(4) for entry in layer.free.tolist()]
    W, J = exact_cayley(free, layer.cayley.signs.tolist()), diagonal([1] * n)
    for mask in masks:
        J = diagonal(mask) * W * J
    kept = n - (diagonal([1] * n) - J.transpose() * J).rank()
    assert kept >= n - silent and (kept == n) == (silent == 0)

    autograd = jacobian(model, u, h)
    singular = torch.linalg.svdvals(autograd)
    assert int((singular > 1 - 1e-12).sum()) == kept and float(singular.max()) <= 1 + 1e-13
    expected = np.array([[int(x.p) / int(x.q) for x in row] for row in J.tolist()])
    assert np.abs(autograd.numpy() - expected).max() <= 1e-13


def test_the_ranks_above_cover_silent_and_active_networks():
    counts = []
    for seed in range(8):
        model = with_biases(network(6, rho=3, signs="prefix", seed=seed), -0.9, -0.2, seed=seed)
        found = states(model, normal(4, 1, 3, seed=seed), normal(1, 6, seed=seed + 50))
        counts.append(sum(int((state == 0).sum()) for state in found[1:]))
    assert max(counts) >= 6 and min(counts) < 6


# --- modReLU and its point of discontinuity


@pytest.mark.parametrize("b", [0.7, 0.0, -0.7])
def test_at_z_0_the_state_is_0_and_passes_no_gradient_whatever_b(b):
    model = with_biases(network(), b, b)
    layer, u = model.layers[0], torch.zeros(1, 1, 3, dtype=F64, requires_grad=True)
    h = torch.zeros(1, 1, 6, dtype=F64, requires_grad=True)
    output, _ = model(u, h)
    assert not output.any()
    gradients = torch.autograd.grad(output.sum(), [u, h, layer.free, layer.U, layer.b])
    assert not any(gradient.any() for gradient in gradients)


def test_beside_z_0_the_state_jumps_by_2b_for_positive_b_and_is_0_for_negative_b():
    for b in (0.7, -0.7):
        model = with_biases(network(1, rho=0), b, b)
        with torch.no_grad():
            model.layers[0].U.fill_(1.0)
            for tiny in (1e-300, -1e-300):
                output, _ = model(torch.tensor([[[tiny, 0.0, 0.0]]], dtype=F64))
                assert output.item() == math.copysign(max(b, 0.0), tiny)


def test_without_b_the_network_is_linear_and_the_identity_also_at_0():
    model = network(bias=False)
    layer, u = model.layers[0], normal(7, 2, 3)
    assert layer.b is None and len(list(layer.parameters())) == 2
    with torch.no_grad():
        torch.testing.assert_close(model(3.0 * u)[0], 3.0 * model(u)[0], rtol=1e-13, atol=0)
    J = jacobian(model, torch.zeros(1, 1, 3, dtype=F64), torch.zeros(1, 6, dtype=F64))
    torch.testing.assert_close(J, layer.recurrent_matrix().detach(), rtol=0, atol=0)


# --- what the weights say of all inputs


def test_measured_singular_values_lie_between_the_bounds_of_the_layer():
    for low, high in ((0.0, 0.4), (-0.4, 0.4)):
        model = with_biases(network(), low, high)
        said = model.layers[0].hidden_jacobian()
        assert said.keeps_all_units is (low == 0.0) and not said.is_lipschitz
        for seed in range(20):
            singular = torch.linalg.svdvals(jacobian(model, normal(1, 1, 3, seed=seed), normal(1, 6, seed=seed + 100)))
            assert said.smallest - 1e-13 <= float(singular.min()) <= float(singular.max()) <= said.largest + 1e-13


def test_with_b_at_most_0_states_never_move_apart_and_with_b_above_0_they_can():
    u = normal(40, 1, 3)

    def distances(model: ScoRNN, gap: float) -> np.ndarray:
        with torch.no_grad():
            start = torch.cat([normal(1, 1, 6), normal(1, 1, 6) + gap * normal(1, 1, 6, seed=2)], dim=1)
            h = torch.cat([start, model(u.expand(-1, 2, -1), start)[0]])
        return (h[:, 0] - h[:, 1]).norm(dim=1).numpy()

    shrinking = with_biases(network(), -0.5, 0.0)
    assert shrinking.layers[0].hidden_jacobian().is_lipschitz
    for gap in (1.0, 1e-3):
        apart = distances(shrinking, gap)
        assert (np.diff(apart) <= 1e-13).all()
    assert np.diff(distances(network(), 1.0)).max() > 0.05


def test_the_bounds_say_what_they_are():
    said = HiddenJacobian(defect=0.21, smallest_bias=-0.1, largest_bias=0.2)
    assert said.largest == pytest.approx(1.1) and said.smallest == 0.0
    text = str(said)
    assert "≤ 1.1" in text and "silent" in text and "jump by up to 0.4" in text
    plain = network(bias=False).hidden_jacobians()[0]
    assert plain.keeps_all_units and plain.is_lipschitz and "jump" not in str(plain)
    assert plain.smallest == pytest.approx(1.0, abs=1e-14) and plain.largest == pytest.approx(1.0, abs=1e-14)
    assert HiddenJacobian(defect=3.0, smallest_bias=0.0, largest_bias=0.0).smallest == 0.0


def test_a_W_that_is_not_orthogonal_would_show_in_the_defect(monkeypatch):
    layer = network().layers[0]
    W = layer.recurrent_matrix().detach()
    monkeypatch.setattr(type(layer), "recurrent_matrix", lambda self: 1.5 * W)
    assert layer.hidden_jacobian().defect == pytest.approx(1.25)


# --- first weights


def test_the_first_weights_are_those_of_the_published_codes():
    small = ScoRNN(50, 300, rho=30, generator=torch.Generator().manual_seed(0)).layers[0]
    assert 0.0099 < float(small.U.detach().abs().max()) <= 0.01 and abs(float(small.U.detach().mean())) < 5e-4
    assert not small.b.any()
    r = math.sqrt(6 / 350)
    glorot = ScoRNN(50, 300, rho=30, initial="glorot", generator=torch.Generator().manual_seed(0)).layers[0]
    assert 0.99 * r < float(glorot.U.detach().abs().max()) <= r and 0.009 < float(glorot.b.detach().abs().max()) <= 0.01
    assert torch.equal(small.free, glorot.free)


@pytest.mark.parametrize(("n", "rho", "signs"), [(400, 200, "aligned"), (400, 40, "aligned"), (400, 0, "prefix")])
def test_the_first_spectrum_is_the_drawn_angles_with_those_of_the_signed_blocks_turned(n, rho, signs):
    model = ScoRNN(1, n, rho=rho, signs=signs, generator=torch.Generator().manual_seed(rho), dtype=F64)
    layer = model.layers[0]
    A = skew(layer.free.detach(), n)
    t = 2 * torch.atan(torch.diagonal(A, 1)[::2]).numpy()
    assert int((A != 0).sum()) == n and t.min() >= 0 and t.max() <= math.pi / 2
    turned = t.copy()
    turned[: rho // 2] = np.pi - t[: rho // 2]
    found = np.angle(np.linalg.eigvals(layer.recurrent_matrix().detach().numpy()))
    np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(np.repeat(turned, 2)), rtol=0, atol=1e-10)
    # Kolmogorov, t ~ U[0, π/2]: above 1.63/√200 once in 100 draws
    cumulative = np.sort(t) / (np.pi / 2)
    count = n // 2
    distance = max((np.arange(1, count + 1) / count - cumulative).max(), (cumulative - np.arange(count) / count).max())
    assert distance <= 1.63 / math.sqrt(count)


def test_with_half_the_signs_aligned_the_eigen_angles_fill_the_circle_evenly():
    def quarters(rho: int) -> list[int]:
        model = ScoRNN(1, 400, rho=rho, generator=torch.Generator().manual_seed(0), dtype=F64)
        W = model.recurrent_matrices()[0].detach().numpy()
        return np.histogram(np.angle(np.linalg.eigvals(W)), bins=4, range=(-np.pi, np.pi))[0].tolist()

    assert quarters(200) == [100, 100, 100, 100]
    assert quarters(0) == [0, 200, 200, 0]


def test_an_odd_prefix_makes_one_block_a_reflection():
    model = ScoRNN(1, 20, rho=7, signs="prefix", generator=torch.Generator().manual_seed(0), dtype=F64)
    W = model.recurrent_matrices()[0].detach().numpy()
    assert np.sort(np.linalg.eigvals(W[6:8, 6:8]).real) == pytest.approx([-1, 1])
    assert np.linalg.det(W) == pytest.approx(-1)


def test_random_signs_come_from_the_generator_and_number_rho():
    def signs(seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return ScoRNN(1, 40, rho=11, signs="random", generator=generator).layers[0].cayley.signs

    assert torch.equal(signs(0), signs(0)) and not torch.equal(signs(0), signs(1))
    assert all(int((signs(seed) == -1).sum()) == 11 for seed in range(5))


def test_layers_and_directions_draw_their_own_weights_and_reset_draws_again():
    model = ScoRNN(2, 8, 2, rho=4, bidirectional=True, generator=torch.Generator().manual_seed(0))
    frees = [layer.free.detach().clone() for layer in model.layers]
    assert len(frees) == 4 and len({tuple(free.tolist()) for free in frees}) == 4
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(7.0)
        model.layers[0].cayley.signs.fill_(-1)
    model.reset_parameters(torch.Generator().manual_seed(0))
    assert all(torch.equal(layer.free, free) for layer, free in zip(model.layers, frees, strict=True))
    assert int((model.layers[0].cayley.signs == -1).sum()) == 4


# --- a trained initial state


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_trained_initial_state_is_the_start_where_none_is_given(bidirectional):
    model = network(num_layers=2, learn_initial_state=True, bidirectional=bidirectional)
    u = normal(5, 4, 3)
    starts = torch.stack([layer.h0 for layer in model.layers]).detach()
    assert starts.shape == (2 * (1 + bidirectional), 6) and 0 < float(starts.abs().max()) <= 0.01
    with torch.no_grad():
        given = starts.unsqueeze(1).expand(-1, 4, -1).contiguous()
        torch.testing.assert_close(model(u), model(u, given), rtol=0, atol=0)
        torch.testing.assert_close(model(u[:, 0])[0], model(u[:, :1])[0][:, 0], rtol=0, atol=1e-13)
        _, end = model(u, lengths=[0, 5, 2, 0])
        assert torch.equal(end[:, 0], starts) and torch.equal(end[:, 3], starts)
        plain = network(num_layers=2, bidirectional=bidirectional)
        plain.load_state_dict({key: value for key, value in model.state_dict().items() if "h0" not in key})
        zero = torch.zeros_like(given)
        torch.testing.assert_close(model(u, zero), plain(u), rtol=0, atol=0)
    output, _ = model(u)
    output.square().sum().backward()
    assert all(layer.h0.grad.norm() > 0 for layer in model.layers)


def test_a_zero_start_would_never_be_trained_by_sequences_that_begin_with_zeros():
    """Why h0 is drawn: at h0 = 0, b = 0 and u_1 = 0, as in images with a black border, z = 0 has derivative 0."""
    u = torch.cat([torch.zeros(1, 2, 3, dtype=F64), normal(4, 2, 3)])
    norms = []
    for scale in (1.0, 0.0):
        model = ScoRNN(3, 6, rho=2, learn_initial_state=True, generator=torch.Generator().manual_seed(0), dtype=F64)
        h0 = model.layers[0].h0
        with torch.no_grad():
            h0.mul_(scale)
        model(u)[0].square().sum().backward()
        norms.append(float(h0.grad.norm()))
    assert norms[0] > 1e-3 and norms[1] == 0.0


# --- re-signing


@pytest.mark.slow
def test_re_signing_during_training_keeps_outputs_and_bounds_A():
    """The target W is C(A) with |a_12| = 40: with D = I the entries grow, and signs are exchanged on the way."""
    torch.manual_seed(0)
    model = network(4, rho=0, scale=0.9)
    goal = copy.deepcopy(model)
    with torch.no_grad():
        goal.layers[0].free.mul_(3.0)[0] = 40.0
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    u, flips, losses = normal(6, 20, 3), 0, []
    wanted = goal(u)[0].detach()
    for _ in range(500):
        optimizer.zero_grad()
        loss = (model(u)[0] - wanted).square().mean()
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        with torch.no_grad():
            before, W = model(u)[0], model.recurrent_matrices()[0]
            done = model.re_sign(optimizer)
            if done:
                torch.testing.assert_close(model.recurrent_matrices()[0], W, rtol=0, atol=1e-13)
                torch.testing.assert_close(model(u)[0], before, rtol=0, atol=1e-12)
        flips += done
        assert largest_entry(model.layers[0]) <= DEFAULT_TAU
    assert flips >= 1 and int((model.layers[0].cayley.signs == -1).sum()) > 0
    assert losses[-1] < 1e-2 * losses[0]


def test_re_signing_a_stack_visits_every_layer_and_direction_and_then_has_nothing_to_do():
    model = network(5, 2, rho=1, signs="prefix", scale=6.0, bidirectional=True)
    optimizer = torch.optim.Adam(model.parameters())
    u = normal(5, 2, 3)
    model(u)[0].square().sum().backward()
    optimizer.step()
    with torch.no_grad():
        before = model(u)[0]
        one_by_one = [layer.re_sign() for layer in copy.deepcopy(model).layers]
        found = model.re_sign(optimizer, moments="reset")
        assert found == sum(one_by_one) and min(one_by_one) >= 1
        torch.testing.assert_close(model(u)[0], before, rtol=0, atol=1e-10)
        assert all(largest_entry(layer) <= DEFAULT_TAU for layer in model.layers)
        assert model.re_sign(optimizer) == 0 and model.re_sign() == 0
    wide = network(5, scale=6.0)
    assert wide.re_sign(tau=100.0) == 0
    with pytest.raises(ValueError, match="does not hold free"):
        wide.re_sign(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0))


# --- living as a module


def test_the_state_dict_carries_the_signs_and_refuses_others():
    model = network(rho=3, signs="random", seed=4)
    saved = model.state_dict()
    assert set(saved) == {"layers.0.free", "layers.0.U", "layers.0.b", "layers.0.cayley.signs"}
    assert saved["layers.0.cayley.signs"].dtype == torch.int8
    other = network(rho=3, signs="prefix", seed=5)
    u = normal(4, 2, 3)
    with torch.no_grad():
        assert not torch.equal(other(u)[0], model(u)[0])
        other.load_state_dict(saved)
        assert torch.equal(other(u)[0], model(u)[0])
        again = pickle.loads(pickle.dumps(model))
        assert torch.equal(again(u)[0], model(u)[0])
    with pytest.raises(RuntimeError, match="signs holds 0"):
        model.load_state_dict(saved | {"layers.0.cayley.signs": torch.zeros(6, dtype=torch.int8)})


def test_without_the_signs_of_D_the_same_free_entries_are_another_network():
    """A planted fault: D lost on saving."""
    model = network(rho=2)
    with torch.no_grad():
        wanted = model(normal(4, 2, 3))[0].clone()
        model.layers[0].cayley.signs.fill_(1)
        assert float((model(normal(4, 2, 3))[0] - wanted).abs().max()) > 0.1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rho": 3}, ValueError, 'rho is 3, but signs="aligned".*signs="prefix"'),
        ({"rho": 7, "signs": "prefix"}, ValueError, r"rho is 7.* 0\.\.6"),
        ({"rho": -2}, ValueError, r"rho is -2.* 0\.\.6"),
        ({"rho": 2.0}, TypeError, "rho is 2.0.*integer"),
        ({"rho": True, "signs": "prefix"}, TypeError, "rho is True"),
        ({"rho": 2, "signs": "suffix"}, ValueError, "signs is 'suffix'"),
        ({"rho": 2, "initial": "zero"}, ValueError, "initial is 'zero'"),
        ({"rho": 2, "num_layers": 0}, ValueError, "num_layers is 0"),
    ],
)
def test_wrong_arguments_are_named(options, error, message):
    with pytest.raises(error, match=message):
        ScoRNN(3, 6, **options)


def test_rho_has_no_default_and_the_network_says_what_it_is():
    with pytest.raises(TypeError, match="rho"):
        ScoRNN(3, 6)
    text = repr(ScoRNN(3, 6, rho=1, signs="prefix", bias=False, learn_initial_state=True))
    assert "rho=1, signs='prefix', bias=False, learn_initial_state=True" in text and "initial=" not in text
    assert "initial='glorot'" in repr(ScoRNN(3, 6, rho=2, initial="glorot"))
    meta = ScoRNN(3, 6, rho=2, device="meta")
    assert all(tensor.is_meta for tensor in (*meta.parameters(), *meta.buffers()))


def test_its_step_is_not_undone():
    with pytest.raises(NotImplementedError, match="ScoRNNLayer does not claim"):
        network().inverse(torch.zeros(1, 1, 6, dtype=F64), normal(3, 1, 3))


# --- the implicit midpoint rule


@pytest.mark.parametrize("dt", [1.0, 0.25])
def test_without_inputs_and_signs_the_linear_recurrence_is_the_implicit_midpoint_rule(dt):
    model = network(5, rho=0, bias=False)
    midpoint = IntegratorRNN(
        model.layers[0].field(dt), tableaus.IMPLICIT_MIDPOINT, dt, input_size=3, bias=False, dtype=F64
    )
    silence, h = torch.zeros(30, 2, 3, dtype=F64), normal(1, 2, 5)
    with torch.no_grad():
        found, wanted = model(silence, h)[0], midpoint(silence, h)[0]
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-13)
        flat = network(5, rho=0)
        flat.layers[0].b.zero_()
        torch.testing.assert_close(flat(silence, h)[0], wanted, rtol=0, atol=1e-13)
        wrong = IntegratorRNN(
            model.layers[0].field(2 * dt), tableaus.IMPLICIT_MIDPOINT, dt, input_size=3, bias=False, dtype=F64
        )
        assert float((wrong(silence, h)[0] - found).abs().max()) > 0.1


def test_a_field_exists_for_D_the_identity_only():
    with pytest.raises(ValueError, match="signs has 2 entries -1"):
        network(rho=2).layers[0].field()
    with pytest.raises(ValueError, match="dt is 0"):
        network(rho=0).layers[0].field(0.0)


# --- the published code and networks


def published_code(u: np.ndarray, A: np.ndarray, d: np.ndarray, U: np.ndarray, b: np.ndarray) -> np.ndarray:
    """scoRNN.py of SpartinStuff/scoRNN on rows: u U + h W, W = (I + A)⁻¹(I − A) D."""
    n = len(A)
    W = np.linalg.solve(np.eye(n) + A, np.eye(n) - A) @ np.diag(d)
    h, rows = np.zeros((u.shape[1], n)), []
    for x in u:
        z = x @ U + h @ W
        h = np.maximum(np.abs(z) + b, 0.0) * np.sign(z)
        rows.append(h)
    return np.stack(rows)


def test_the_transposed_recurrence_of_the_published_code_is_this_one_with_A_conjugated_by_D():
    model = network(6, rho=2)
    layer, u = model.layers[0], normal(20, 2, 3)
    d = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])  # last
    with torch.no_grad():
        layer.cayley.signs.copy_(torch.tensor(d))
        A, U, b = skew(layer.free, 6).numpy(), layer.U.T.numpy(), layer.b.numpy()
        wanted = published_code(u.numpy(), A, d, U, b)
        assert np.abs(model(u)[0].numpy() - wanted).max() > 0.1
        layer.free.copy_(free_entries(torch.tensor(-np.diag(d) @ A @ np.diag(d))))
        assert np.abs(model(u)[0].numpy() - wanted).max() <= 1e-12


def test_the_conjugation_changes_signs_of_entries_only_so_entrywise_optimizers_follow_the_same_path():
    d, G = torch.tensor([1, 1, -1, -1, 1], dtype=F64), normal(5, 5)
    free = normal(10, seed=3)
    sigma = -free_entries(torch.outer(d, d))

    def W(free: Tensor, *, transposed: bool) -> Tensor:
        A, eye = skew(free, 5), torch.eye(5, dtype=F64)
        found = torch.linalg.solve(eye + A, eye - A) * d
        return found.T if transposed else found

    for optimizer in (torch.optim.SGD, torch.optim.RMSprop, torch.optim.Adam):
        paths = []
        for transposed, start in ((True, free), (False, sigma * free)):
            parameter = torch.nn.Parameter(start.clone())
            steps = optimizer([parameter], lr=0.05)
            for _ in range(20):
                steps.zero_grad()
                (W(parameter, transposed=transposed) - G).square().sum().backward()
                steps.step()
            paths.append(parameter.detach())
        torch.testing.assert_close(paths[1], sigma * paths[0], rtol=0, atol=1e-12)


# Tables 1, 2 and Secs. 5.1, 5.2 typed a second time: n, inputs, outputs, ρ as a fraction of n, printed, name
PRINTED = """
170    1   10   1/10   16k   MNIST-170
170    1   10   1/2    16k   psMNIST-170
360    1   10   1/10   69k   MNIST-360
360    1   10   1/2    69k   psMNIST-360
512    1   10   1/10  137k   MNIST-512
512    1   10   1/2   137k   psMNIST-512
224  129  129   1/10   83k   TIMIT-224
322  129  129   1/10  135k   TIMIT-322
425  129  129   1/10  200k   TIMIT-425
190   10   10   1/2    22k   copying
170    2    1   1/2    15k   adding-200
170    2    1   7/10   15k   adding-400
170    2    1   7/10   15k   adding-750
"""
ROWS = [line.split() for line in PRINTED.strip().splitlines()]


def test_every_published_network_is_tried():
    assert [row[-1] for row in ROWS] == [each.name for each in published.networks("scornn")] and len(ROWS) == 13


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[-1])
def test_a_published_network_has_its_sizes_its_signs_and_its_printed_count(row):
    n, d, outputs = map(int, row[:3])
    *_, fraction, count, name = row
    model = ScoRNN.from_paper(name, device="meta")
    assert (model.input_size, model.hidden_size, model.num_layers) == (d, n, 1)
    rho = int(Fraction(fraction) * n + Fraction(1, 2))  # half up
    assert model.layers[0].rho == rho and model.layers[0].placement == "prefix"
    found = published.parameter_count(model, outputs)
    assert found == n * (n - 1) // 2 + n * d + n + outputs * n + outputs
    assert published.agrees(found, count)


def test_the_rounded_numbers_of_signs_are_these():
    found = {row[-1]: ScoRNN.from_paper(row[-1], device="meta").layers[0].rho for row in ROWS}
    assert found == {
        "MNIST-170": 17,
        "psMNIST-170": 85,
        "MNIST-360": 36,
        "psMNIST-360": 180,
        "MNIST-512": 51,
        "psMNIST-512": 256,
        "TIMIT-224": 22,
        "TIMIT-322": 32,
        "TIMIT-425": 43,
        "copying": 95,
        "adding-200": 85,
        "adding-400": 119,
        "adding-750": 119,
    }


def test_the_printed_counts_include_b_and_cannot_tell_about_the_other_vectors():
    """Without b the rows with n = 512 have 136k; a trained h0, or nine classes in copying, change no print."""
    variants = {"as defined": (True, 0), "no b": (False, 0), "trained h0": (True, 1), "nine classes": (True, 0)}
    missed: dict[str, dict[str, int]] = {}
    for label, (bias, starts) in variants.items():
        missed[label] = {}
        for row in ROWS:
            outputs, name = int(row[2]), row[-1]
            if label == "nine classes" and name == "copying":  # of the published code, whose targets are 0..8
                outputs = 9
            model = ScoRNN.from_paper(name, bias=bias, learn_initial_state=bool(starts), device="meta")
            found = published.parameter_count(model, outputs)
            if not published.agrees(found, row[4]):
                missed[label][name] = found
    assert missed == {
        "as defined": {},
        "no b": {"MNIST-512": 136458, "psMNIST-512": 136458},
        "trained h0": {},
        "nine classes": {},
    }


def test_arguments_win_over_the_published_row_and_a_wrong_name_has_a_neighbour():
    model = ScoRNN.from_paper("MNIST-170", rho=16, signs="aligned", learn_initial_state=True, dtype=F64)
    assert model.layers[0].rho == 16 and model.layers[0].placement == "aligned" and model.layers[0].h0 is not None
    assert int((model.layers[0].cayley.signs == -1).sum()) == 16
    with pytest.raises(ValueError, match='rho is 17, but signs="aligned"'):
        ScoRNN.from_paper("MNIST-170", signs="aligned")
    with pytest.raises(LookupError, match="Did you mean 'psMNIST-512'"):
        ScoRNN.from_paper("psmnist512")
