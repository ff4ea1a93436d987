"""The QUNN: linear attention, what it remembers, how large it is, when it does not expand, where the clock matters."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.cells.qunn import QUNN, QUNNLayer
from tests.odernn.cells.books import qunn as book

F64 = torch.float64


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def loud(*sizes: int, scale: float = 0.7, **options) -> QUNN:
    network = QUNN(*sizes, **options, dtype=F64)
    with torch.no_grad():
        for place, parameter in enumerate(network.parameters()):
            parameter.copy_(scale * normal(*parameter.shape, seed=100 + place))
    return network


def numbers(parameter: torch.Tensor) -> list[float]:
    return parameter.detach().tolist()


def gap(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).detach().abs().max())


# --- thm-QUNN: linear σ


def attention(weights: list[float], x: torch.Tensor, T: int) -> torch.Tensor:
    """o_l = Σ_{i ≤ min(k, N)} w_i ⟨x_{l−i}, x_l⟩ x_{l−i+1}, term by term."""
    rows = []
    for l in range(len(x)):
        row = torch.zeros_like(x[0])
        for i, w in enumerate(weights, 1):
            if i <= l % T:
                row += w * (x[l - i] * x[l]).sum(dim=-1, keepdim=True) * x[l - i + 1]
        rows.append(row)
    return torch.stack(rows)


def weights_of(layer: QUNNLayer) -> list[float]:
    """w_i = β_i Π_{j ≠ i} α_j."""
    beta = numbers(layer.beta)
    alpha = [1.0] * len(beta) if layer.alpha is None else numbers(layer.alpha)
    return [b * float(np.prod(alpha[:i] + alpha[i + 1 :])) for i, b in enumerate(beta)]


@pytest.mark.parametrize(("T", "depth"), [(2, None), (5, None), (5, 2), (5, 4), (4, 9)])
@pytest.mark.parametrize("residual", [False, True])
def test_linear_it_is_attention_with_keys_one_step_before_their_values(T, depth, residual):
    network = loud(3, block_length=T, depth=depth, activation="identity", residual=residual)
    x = normal(2 * T + 1, 4, 3)
    weights = weights_of(network.layers[0])
    wanted = attention(weights, x, T)
    assert gap(network(x)[0], wanted) <= 1e-12 * (1 + float(wanted.abs().max()))
    (found,) = network.attention_weights()
    np.testing.assert_allclose(numbers(found), weights[: min(len(weights), T - 1)], rtol=1e-13)
    shifted = [0.0, *weights[:-1]]  # the false row beside the true one: keys a step earlier
    assert T == 2 or gap(network(x)[0], attention(shifted, x, T)) > 1e-3


def exact_outputs(x: list[list[Fraction]], T: int, alpha: list[Fraction], beta: list[Fraction]) -> list[list[Fraction]]:
    """The definition over ℚ, entry by entry: z as a dictionary (component, clock) → value."""
    rows, d = [], len(x[0])
    for l, now in enumerate(x):
        k = l % T
        z = {(a, c): now[a] if c == k else Fraction(0) for a in range(d) for c in range(T + 1)}
        for i, (a_i, b_i) in enumerate(zip(alpha, beta, strict=True), 1):
            new = {place: a_i * value for place, value in z.items()}
            if i <= k:
                for c in range(T + 1):
                    inner = sum(x[l - i][a] * z[a, c] for a in range(d))
                    for a in range(d):
                        new[a, (c + 1) % (T + 1)] += b_i * x[l - i + 1][a] * inner
            z = new
        rows.append([z[a, k + 1] for a in range(d)])
    return rows


def test_the_identity_holds_over_the_rationals():
    """With dyadic numbers of few digits float64 makes no rounding: cell, definition and formula agree exactly."""
    chance = np.random.default_rng(3)
    T, d, N = 4, 2, 4
    network = QUNN(d, block_length=T, activation="identity", dtype=F64)
    (layer,) = network.layers
    draw = [[Fraction(int(n), 4) for n in row] for row in chance.integers(-6, 7, (9, d))]
    alpha, beta = ([Fraction(int(n), 2) for n in row] for row in chance.integers(-3, 4, (2, N)))
    with torch.no_grad():
        layer.alpha.copy_(torch.tensor([float(a) for a in alpha]))
        layer.beta.copy_(torch.tensor([float(b) for b in beta]))
    found = network(torch.tensor([[float(n) for n in row] for row in draw], dtype=F64))[0]
    wanted = exact_outputs(draw, T, alpha, beta)
    assert [[Fraction(n) for n in row] for row in found.tolist()] == wanted
    products = [b * np.prod([Fraction(1), *alpha[:i], *alpha[i + 1 :]]) for i, b in enumerate(beta)]
    for l, row in enumerate(wanted):
        terms = [
            (w * sum(p * q for p, q in zip(draw[l - i], draw[l], strict=True)), draw[l - i + 1])
            for i, w in enumerate(products, 1)
            if i <= l % T
        ]
        assert row == [sum(factor * value[a] for factor, value in terms) for a in range(d)]
    assert any(any(row) for row in wanted)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_one_layer_predicts_a_periodic_orthonormal_sequence(p):
    """Only β_p ≠ 0 and α = 1: o_l = x_{l+1} for k ≥ p, when x_{l−p} = x_l and other keys are orthogonal."""
    T = 8
    network = QUNN(3, block_length=T, activation="identity", residual=True, dtype=F64)
    with torch.no_grad():
        network.layers[0].beta.zero_()[p - 1] = 1.0
    x = torch.eye(3, dtype=F64)[torch.arange(T) % p]
    output = network(x)[0]
    assert torch.equal(output[p : T - 1], x[p + 1 :]) and not output[:p].any()


def test_attention_weights_where_an_alpha_is_zero():
    network = loud(2, block_length=4, activation="identity")
    (layer,) = network.layers
    with torch.no_grad():
        layer.alpha[1] = 0.0
    (found,) = network.attention_weights()
    assert found[0] == 0 and found[1] != 0 and found[2] == 0
    (gradient,) = torch.autograd.grad(found.sum(), layer.alpha)
    assert torch.isfinite(gradient).all() and gradient[1] != 0


@pytest.mark.parametrize("options", [{}, {"activation": "identity", "skew": True}])
def test_only_a_linear_one_without_skew_has_attention_weights(options):
    with pytest.raises(ValueError, match="only a linear QUNN is attention"):
        loud(2, block_length=3, **options).attention_weights()


# --- the clock


OPTIONS = [
    dict(zip(("activation", "normalised"), each, strict=True))
    for each in itertools.product(("tanh", "identity"), (False, True))
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("states", [2, 3, 7])
def test_without_skew_two_states_of_the_clock_are_as_good_as_any_number(options, states):
    """The book with a clock of ``states`` instead of T + 1 for every place k of a block: column 0 is e_k."""
    T, d = 5, 2
    network = loud(d, block_length=T, **options)
    x = normal(T, d)
    (layer,) = network.layers
    parameters = {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}
    sigma = {"tanh": np.tanh, "identity": lambda a: a}[layer.activation]
    move = np.eye(states, k=-1)  # no wrap: what would leave is dropped
    for k in range(T):
        window = x[: k + 1].flip(0).numpy()
        z = sigma(np.kron(window[0], np.eye(states)[0]))
        for i in range(1, layer.depth + 1):
            W = parameters["alpha"][i - 1] * np.eye(d * states)
            if i <= k:
                R = np.outer(window[i - 1], window[i])
                R = R / np.linalg.norm(R, 2) if layer.normalised else R
                W = W + parameters["beta"][i - 1] * np.kron(R, move)
            z = sigma(W @ z)
        np.testing.assert_allclose(network(x)[0][k].detach().numpy(), z.reshape(d, states)[:, 1], rtol=0, atol=1e-12)


def test_with_skew_the_other_states_of_the_clock_matter():
    plain, skew = (loud(2, block_length=5, skew=is_skew) for is_skew in (False, True))
    skew.load_state_dict(plain.state_dict())
    x = normal(5, 3, 2)
    assert gap(plain(x)[0][1], skew(x)[0][1]) <= 1e-14  # one R only: nothing can come back
    assert gap(plain(x)[0][3], skew(x)[0][3]) > 1e-3


# --- memory


@pytest.mark.parametrize("skew", [False, True])
def test_outputs_depend_on_their_block_alone_and_on_no_more_than_n_inputs_before(skew):
    T, N = 5, 2
    network = loud(2, block_length=T, depth=N, skew=skew)
    x = normal(2 * T + 2, 1, 2)
    jacobian = torch.autograd.functional.jacobian(lambda u: network(u)[0].sum(dim=(1, 2)), x).abs().sum(dim=(2, 3))
    for l, m in itertools.product(range(len(x)), repeat=2):
        # Even x_l itself has no effect at k = 0, where o = 0.
        assert bool(jacobian[l, m] > 0) == (l % T > 0 and l - min(N, l % T) <= m <= l), (l, m)


def test_a_block_forgets_what_the_state_holds():
    network = loud(2, block_length=4)
    x, state = normal(4, 3, 2), normal(1, 3, 8, seed=2)
    assert torch.equal(network(x, state)[0], network(x)[0])
    assert gap(network(x, state, start=1)[0], network(x, start=1)[0]) > 1e-3
    beyond = state.clone()
    beyond[..., 2:] += 1.0  # at the place 1 of a block only one input before it is remembered
    assert torch.equal(network(x[:1], beyond, start=1)[0], network(x[:1], state, start=1)[0])


def test_every_sample_may_be_at_a_place_of_its_own():
    network = loud(2, 2, block_length=4)
    x, state, starts = normal(7, 5, 2), normal(2, 5, 8, seed=3), [0, 1, 2, 3, 6]
    found, end = network(x, state, start=starts)
    for b, start in enumerate(starts):
        alone, last = network(x[:, b : b + 1], state[:, b : b + 1], start=start)
        assert gap(found[:, b : b + 1], alone) <= 1e-14 and torch.equal(end[:, b : b + 1], last)


def test_samples_that_ended_at_different_places_go_on_where_they_were():
    network = loud(2, 2, block_length=4)
    x, lengths = normal(9, 3, 2), torch.tensor([5, 0, 2])
    _, middle = network(x, lengths=lengths)
    rest = torch.stack([x[length : length + 4, b] for b, length in enumerate(lengths)], dim=1)
    found, _ = network(rest, middle, start=lengths)
    for b, length in enumerate(lengths):
        assert gap(found[:, b], network(x[: length + 4, b : b + 1])[0][length:, 0]) <= 1e-14


def test_layers_from_t_on_have_parameters_without_effect():
    network = loud(2, block_length=3, depth=5)
    x = normal(7, 2, 2)
    (gradient,) = torch.autograd.grad(network(x)[0].square().sum(), network.layers[0].beta)
    assert torch.equal(gradient != 0, torch.tensor([True, True, False, False, False]))


# --- counts


@pytest.mark.parametrize("options", [{}, {"depth": 3}, {"residual": True}, {"num_layers": 2}])
def test_parameters_are_two_a_layer_for_every_dimension_of_the_data(options):
    for d, T in itertools.product((1, 7, 30), (2, 5, 11)):
        network = QUNN(d, block_length=T, **options)
        count = sum(parameter.numel() for parameter in network.parameters())
        N = options.get("depth", T)
        assert count == N * options.get("num_layers", 1) * (1 if options.get("residual") else 2)
        assert count == QUNN.parameter_count(T, **options)


# --- non-expansion


def largest_norm(network: QUNN, window: np.ndarray, k: int) -> float:
    (layer,) = network.layers
    parameters = {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}
    return max(np.linalg.norm(W, 2) for W in book.matrices(network, parameters, window, k))


@pytest.mark.parametrize("skew", [False, True])
@pytest.mark.parametrize("normalised", [False, True])
def test_norms_of_the_layers_stay_below_the_bound_and_nearly_reach_it(skew, normalised):
    """Parallel inputs of length r, α and β of one sign: ‖αI + β R ⊗ P‖ = |α| + |β| r², as P has the eigenvalue 1. Of
    the skew one, R = r² v vᵀ, it is √(α² + β² r⁴ ‖P − Pᵀ‖²), ‖P − Pᵀ‖ = 2 sin of an angle near a right one."""
    T, d, r = 7, 2, 0.8
    network = loud(d, block_length=T, depth=3, scale=0.4, skew=skew, normalised=normalised)
    (layer,) = network.layers
    with torch.no_grad():
        layer.alpha.abs_()
        layer.beta.abs_()
    (found,) = network.non_expansion(r)
    bound = float(1 - found.margin) ** (0.5 if skew else 1.0)
    chance = np.random.default_rng(0)
    seen = []
    for _ in range(50):
        window = chance.normal(size=(4, d))
        window *= r / np.linalg.norm(window, axis=1, keepdims=True)
        seen.append(largest_norm(network, window, 3))
    parallel = np.tile([r, 0.0], (4, 1))
    assert max(seen) <= bound * (1 + 1e-12)
    nearly = 0.97 if skew else 1 - 1e-12
    assert bound * nearly <= largest_norm(network, parallel, 3) <= bound * (1 + 1e-12)
    assert found.exact and found.witness in (1, 2, 3)


def test_where_no_layer_expands_outputs_are_no_larger_than_inputs():
    network = loud(3, 2, block_length=5, scale=0.2)
    found = network.non_expansion(1.0)
    assert all(found) and len(found) == 2
    x = normal(40, 8, 3)
    x = x / x.norm(dim=-1, keepdim=True)
    assert bool((network(x)[0].norm(dim=-1) <= 1.0).all())


def test_the_certificate_decides_at_the_border_exactly_and_names_the_layer():
    network = QUNN(2, block_length=3, dtype=F64)
    (layer,) = network.layers
    with torch.no_grad():
        layer.alpha.fill_(0.5)
        layer.beta.copy_(torch.tensor([0.125, 0.5, 4.0]))  # the third has no R
    (border,) = network.non_expansion(1.0)
    assert border.holds is True and border.margin == 0 and border.witness == 2
    with torch.no_grad():
        layer.beta[1] = float(np.nextafter(0.5, 1.0))
    (above,) = network.non_expansion(1.0)
    assert above.holds is None and above.margin == -Fraction(1, 2**53) and not above
    (smaller,) = network.non_expansion(0.5)
    assert smaller.holds is True


def test_a_residual_one_is_never_known_not_to_expand():
    network = loud(2, block_length=4, residual=True, scale=1e-9)
    assert network.non_expansion(1.0)[0].holds is None
    with torch.no_grad():
        network.layers[0].beta.zero_()
    assert network.non_expansion(1.0)[0].holds is True


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_nothing_is_decided_about_a_number_that_is_not_finite(name):
    network = QUNN(2, block_length=3, depth=2)
    with torch.no_grad():
        getattr(network.layers[0], name)[1] = float("inf")
    with pytest.raises(ValueError, match=f"{name} has the entry inf at 1"):
        network.non_expansion(1.0)


def test_a_radius_is_any_number_and_taken_exactly():
    network = loud(2, block_length=4, scale=0.2)
    (wanted,) = network.non_expansion(0.5)
    for radius in (Fraction(1, 2), np.float32(0.5), np.array(0.5), torch.tensor(0.5)):
        assert network.non_expansion(radius) == (wanted,)
    third, rounded = (network.non_expansion(radius)[0].margin for radius in (Fraction(1, 3), 1 / 3))
    assert third != rounded and float(third) == pytest.approx(float(rounded), rel=1e-15)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf")])
def test_a_radius_is_finite_and_positive(radius):
    with pytest.raises(ValueError, match="radius is"):
        loud(2, block_length=4).non_expansion(radius)


# --- zeros and refusals


@pytest.mark.parametrize("skew", [False, True])
def test_a_zero_input_leaves_gradients_finite_when_products_are_normalised(skew):
    network = loud(2, 2, block_length=8, normalised=True, skew=skew)  # the second sees 0 at the start of each block
    x = normal(10, 2, 2)
    x[4] = 0.0
    x.requires_grad_()
    gradients = torch.autograd.grad(network(x)[0].square().sum(), [x, *network.parameters()])
    assert all(torch.isfinite(gradient).all() for gradient in gradients) and gradients[0].any()


def test_the_reverse_direction_is_refused():
    with pytest.raises(ValueError, match="both directions side by side are 2 d"):
        QUNN(2, block_length=3, bidirectional=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_length": 1}, "alone in its block"),
        ({"block_length": 0}, "block_length is 0"),
        ({"block_length": 3.0}, "block_length is 3.0"),
        ({"block_length": 3, "depth": 0}, "depth is 0"),
        ({"block_length": 3, "activation": "relu"}, "activation is 'relu'"),
    ],
)
def test_other_sizes_and_functions_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        QUNN(2, **options)


def test_it_says_what_it_is():
    words = repr(QUNN(2, block_length=3, depth=2, residual=True, skew=True, start=1))
    for each in ("block_length=3", "depth=2", "activation='tanh'", "residual=True", "skew=True", "start=1"):
        assert each in words
    assert "normalised" not in words
