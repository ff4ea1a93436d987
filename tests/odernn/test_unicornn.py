"""UnICORNN is the equations of the paper: invertible, symplectic, with the gradients of its recursion."""

from __future__ import annotations

import copy
import itertools
import math

import pytest
import torch

from odernn import cells
from odernn.cells.unicornn import UnICORNN
from odernn.executions import ExecutionUnavailable

F64 = torch.float64
INDICES = ("icml", "sam")
#           layers, residual_skip, skip_input
STACKS = [(1, None, True), (2, None, True), (3, None, True), (4, 2, True), (4, 2, False), (5, 3, True)]


def network(layers: int = 2, *, seed: int = 0, **options) -> UnICORNN:
    """A network with weights away from their initial values, so that nothing is hidden by a zero."""
    generator = torch.Generator().manual_seed(seed)
    options = {"dt": 0.3, "alpha": 0.9, "dtype": F64} | options
    model = UnICORNN(2, 3, layers, generator=generator, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.4 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return model


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def start(model: UnICORNN, batch: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (model.num_layers, batch, model.hidden_size)
    return normal(*shape, seed=2), normal(*shape, seed=3)


def previous(model: UnICORNN, batch: int = 2) -> dict[str, torch.Tensor]:
    return {"previous_input": normal(batch, 2, seed=4)} if model.index == "sam" else {}


def book(model: UnICORNN, u, y0, z0, u0) -> tuple[dict, dict]:
    """(y^l_n)_i of one sample as nested loops over scalars; keys are (n, l, i), l = 0 is the input."""
    S, L, m = model.residual_skip, model.num_layers, model.hidden_size
    y, z = {}, {}
    for n in range(len(u) + 1):
        for j in range(len(u0)):
            y[n, 0, j] = float(u0[j]) if n == 0 else float(u[n - 1][j])
    for l, i in itertools.product(range(1, L + 1), range(m)):
        y[0, l, i], z[0, l, i] = float(y0[l - 1][i]), float(z0[l - 1][i])
    for n, l, i in itertools.product(range(1, len(u) + 1), range(1, L + 1), range(m)):
        p = {name: value.tolist() for name, value in model.layers[l - 1].named_parameters()}
        seen = n if model.index == "icml" else n - 1
        x = p.get("b", [0.0] * m)[i] + sum(V * y[seen, l - 1, j] for j, V in enumerate(p["V"][i]))
        if S is not None and l > S and not (l == S + 1 and not model.skip_input):
            x += sum(V * y[seen, l - S - 1, j] for j, V in enumerate(p["Lambda"][i]))
        h = float(model.dt[l - 1]) / (1 + math.exp(-p["c"][i]))
        s = math.tanh(p["w"][i] * y[n - 1, l, i] + x)
        z[n, l, i] = z[n - 1, l, i] - h * (s + float(model.alpha[l - 1]) * y[n - 1, l, i])
        y[n, l, i] = y[n - 1, l, i] + h * z[n, l, i]
    return y, z


# --- the forward map
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(("layers", "skip", "skip_input"), STACKS)
def test_the_network_is_the_equations_over_scalars(layers, skip, skip_input, index):
    model = network(layers, residual_skip=skip, skip_input=skip_input, index=index)
    u, state, extra = normal(4, 2, 2), start(model), previous(model)
    with torch.no_grad():
        output, (y_end, z_end) = model(u, state, **extra)
    u0 = extra.get("previous_input", torch.zeros(2, 2, dtype=F64))
    for b in range(2):
        y, z = book(model, u[:, b].tolist(), state[0][:, b].tolist(), state[1][:, b].tolist(), u0[b].tolist())
        for n, i in itertools.product(range(1, 5), range(3)):
            assert float(output[n - 1, b, i]) == pytest.approx(y[n, layers, i], rel=1e-12, abs=1e-13)
        for l, i in itertools.product(range(1, layers + 1), range(3)):
            assert float(y_end[l - 1, b, i]) == pytest.approx(y[4, l, i], rel=1e-12, abs=1e-13)
            assert float(z_end[l - 1, b, i]) == pytest.approx(z[4, l, i], rel=1e-12, abs=1e-13)


def test_the_two_index_conventions_differ_but_for_one_layer_they_shift_the_input():
    icml, sam = network(1), network(1, index="sam")
    u = normal(5, 2, 2)
    shifted, _ = sam(u[1:], previous_input=u[0])
    torch.testing.assert_close(shifted, icml(u[:-1])[0], rtol=0, atol=1e-14)
    assert not torch.allclose(network(2)(u)[0], network(2, index="sam")(u)[0])


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 17])
def test_two_half_sequences_are_one(index: str, steps: int):
    model = network(3, index=index)
    u, state, extra = normal(steps, 2, 2), start(model), previous(model)
    whole, end = model(u, state, **extra)
    assert whole.shape == (steps, 2, 3) and end[0].shape == (3, 2, 3)
    for cut in range(steps + 1):
        first, middle = model(u[:cut], state, **extra)
        later = {"previous_input": u[cut - 1]} if index == "sam" and cut else extra
        second, found = model(u[cut:], middle, **later)
        # Not equal bits: a matrix product may add in another order when it has fewer rows.
        torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-13)
        torch.testing.assert_close(found, end, rtol=0, atol=1e-13)


def test_a_sequence_cut_without_its_previous_input_is_another_one():
    model = network(2, index="sam")
    u = normal(6, 2, 2)
    whole, _ = model(u)
    _, middle = model(u[:3])
    assert not torch.allclose(model(u[3:], middle)[0], whole[3:])


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_batches_may_be_empty(batch: int):
    output, (y, z) = network(2)(normal(4, batch, 2))
    assert output.shape == (4, batch, 3) and y.shape == z.shape == (2, batch, 3)


@pytest.mark.parametrize("index", INDICES)
def test_unbatched_is_a_batch_of_one(index: str):
    model = network(2, index=index)
    u, state = normal(5, 1, 2), start(model, 1)
    output, (y, z) = model(u, state)
    alone, (y_alone, z_alone) = model(u[:, 0], (state[0][:, 0], state[1][:, 0]))
    torch.testing.assert_close(
        (alone, y_alone, z_alone), (output[:, 0], y[:, 0], z[:, 0]), rtol=0, atol=1e-14
    )
    if index == "sam":
        assert not torch.equal(model(u[:, 0], previous_input=normal(2))[0], alone)


def test_batch_first_is_a_transposition_of_input_and_output_only():
    model = network(2)
    turned = network(2, batch_first=True)
    u, state = normal(5, 2, 2), start(model)
    output, end = model(u, state)
    other, other_end = turned(u.transpose(0, 1), state)
    torch.testing.assert_close(other, output.transpose(0, 1), rtol=0, atol=1e-14)
    torch.testing.assert_close(other_end, end, rtol=0, atol=1e-14)


@pytest.mark.parametrize("index", INDICES)
def test_with_lengths_every_sample_ends_on_its_own(index: str):
    model = network(3, index=index)
    u, state, extra = normal(6, 4, 2), start(model, 4), previous(model, 4)
    lengths = [3, 6, 0, 1]
    output, (y, z) = model(u, state, lengths=lengths, **extra)
    for b, length in enumerate(lengths):
        alone_extra = {key: value[b : b + 1] for key, value in extra.items()}
        alone, (y_b, z_b) = model(
            u[:length, b : b + 1], (state[0][:, b : b + 1], state[1][:, b : b + 1]), **alone_extra
        )
        torch.testing.assert_close(output[:length, b], alone[:, 0], rtol=0, atol=1e-14)
        assert not output[length:, b].any()
        torch.testing.assert_close(y[:, b], y_b[:, 0], rtol=0, atol=1e-14)
        torch.testing.assert_close(z[:, b], z_b[:, 0], rtol=0, atol=1e-14)
    assert torch.equal(output, model(u, state, lengths=torch.tensor(lengths), **extra)[0])


def test_padding_beyond_the_length_receives_no_gradient():
    model = network(2)
    u = normal(6, 2, 2).requires_grad_()
    output, (y, z) = model(u, lengths=[2, 5])
    (gradient,) = torch.autograd.grad((output**2).sum() + y.sum() + z.sum(), u)
    assert not gradient[2:, 0].any() and not gradient[5:, 1].any() and gradient[:2, 0].all()


def test_steps_and_alpha_may_differ_from_layer_to_layer():
    model = network(2, dt=[0.3, 0.05], alpha=(0.0, 2.0))
    assert model.dt.tolist() == [0.3, 0.05] and model.alpha.tolist() == [0.0, 2.0]
    steps = model.effective_steps()
    assert steps.shape == (2, 3)
    for l in range(2):
        torch.testing.assert_close(steps[l], model.dt[l] * torch.sigmoid(model.layers[l].c))
    u = normal(3, 1, 2)
    y, _ = book(model, u[:, 0].tolist(), *[torch.zeros(2, 3).tolist()] * 2, [0.0, 0.0])
    assert float(model(u)[0][2, 0, 1].detach()) == pytest.approx(y[3, 2, 1], rel=1e-12)


def test_states_are_those_of_forward_and_ignore_dropout():
    model = network(3, dropout=0.5)
    u = normal(5, 2, 2)
    results = model.states(u)
    model.eval()
    output, (y, z) = model(u)
    assert len(results) == 3 and torch.equal(results[-1].y, output)
    for l, result in enumerate(results):
        assert torch.equal(result.y_last, y[l]) and torch.equal(result.z_last, z[l])
        assert result.execution == "torch"


# --- symplecticity and the inverse
# -------------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(("layers", "skip", "skip_input"), STACKS)
def test_the_inverse_gives_back_the_initial_state(layers, skip, skip_input, index):
    model = network(layers, residual_skip=skip, skip_input=skip_input, index=index)
    state, extra = start(model), previous(model)
    for steps in (0, 1, 2, 17):
        u = normal(steps, 2, 2)
        _, end = model(u, state, **extra)
        for found, wanted in zip(model.inverse(end, u, **extra), state, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("forwards", "backwards"), [("icml", "sam"), ("sam", "icml")])
def test_the_inverse_of_the_other_convention_is_not_an_inverse(forwards: str, backwards: str):
    model, other = network(2, index=forwards), network(2, index=backwards)
    u, state = normal(5, 2, 2), start(model)
    _, end = model(u, state)
    assert (other.inverse(end, u)[0] - state[0]).abs().max() > 1e-3


def jacobian(model: UnICORNN, u: torch.Tensor, layer_state: torch.Tensor) -> torch.Tensor:
    L, m = model.num_layers, model.hidden_size

    def flow(v: torch.Tensor) -> torch.Tensor:
        y, z = v.reshape(2, L, m)
        return torch.cat([part.flatten() for part in model(u, (y, z))[1]])

    return torch.autograd.functional.jacobian(flow, layer_state)


def test_one_layer_is_a_symplectic_map():
    model = network(1)
    D = jacobian(model, normal(6, 2), normal(6, seed=5))
    zero, one = torch.zeros(3, 3, dtype=F64), torch.eye(3, dtype=F64)
    J = torch.cat([torch.cat([zero, one], 1), torch.cat([-one, zero], 1)])
    torch.testing.assert_close(D.T @ J @ D, J, rtol=0, atol=1e-12)


@pytest.mark.parametrize("index", INDICES)
def test_a_stack_preserves_volume_but_two_layers_together_are_not_symplectic(index: str):
    model = network(2, index=index)
    D = jacobian(model, normal(6, 2), normal(12, seed=5))
    assert float(torch.linalg.det(D)) == pytest.approx(1.0, abs=1e-11)
    zero, one = torch.zeros(6, 6, dtype=F64), torch.eye(6, dtype=F64)
    J = torch.cat([torch.cat([zero, one], 1), torch.cat([-one, zero], 1)])
    assert (D.T @ J @ D - J).abs().max() > 1e-3


# --- gradients
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize(("layers", "skip"), [(2, None), (3, 2)])
def test_gradients_are_those_of_finite_differences_in_every_argument(layers, skip, index):
    model = network(layers, residual_skip=skip, index=index)
    names = [name for name, _ in model.named_parameters()]
    arguments = [normal(3, 2, 2), *start(model), normal(2, 2, seed=4), *model.parameters()]

    def run(u, y0, z0, u0, *parameters):
        options = {"previous_input": u0} if index == "sam" else {}
        weights = dict(zip(names, parameters, strict=True))
        output, (y, z) = torch.func.functional_call(model, weights, (u, (y0, z0)), options)
        return output, y, z, u0.sum()

    assert torch.autograd.gradcheck(run, [a.detach().requires_grad_() for a in arguments])


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("layers", "skip", "skip_input"), STACKS)
def test_the_published_recursion_is_autograd(layers, skip, skip_input, bias, index):
    model = network(layers, residual_skip=skip, skip_input=skip_input, bias=bias, index=index)
    u, state, extra = normal(9, 2, 2), start(model), previous(model)
    grad_output = normal(9, 2, 3, seed=6)
    output, _ = model(u, state, **extra)
    expected = torch.autograd.grad((output * grad_output).sum(), list(model.parameters()))
    found = model.bptt(u, grad_output, state, **extra)
    assert list(found) == [name for name, _ in model.named_parameters()]
    for name, gradient in zip(found, expected, strict=True):
        torch.testing.assert_close(
            found[name], gradient, rtol=1e-12, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}"
        )


def test_the_recursion_of_the_other_convention_is_caught():
    model, other = network(2), network(2, index="sam")
    u, grad_output = normal(9, 2, 2), normal(9, 2, 3, seed=6)
    found, wrong = model.bptt(u, grad_output), other.bptt(u, grad_output)
    assert all((found[name] - wrong[name]).abs().max() > 1e-6 for name in found)


def test_the_recursion_takes_the_layouts_of_forward():
    u, grad_output = normal(5, 2, 2), normal(5, 2, 3, seed=6)
    found = network(2).bptt(u, grad_output)
    turned = network(2, batch_first=True).bptt(u.transpose(0, 1), grad_output.transpose(0, 1))
    alone = [network(2).bptt(u[:, b], grad_output[:, b]) for b in range(2)]
    for name in found:
        torch.testing.assert_close(turned[name], found[name])
        torch.testing.assert_close(alone[0][name] + alone[1][name], found[name])
    with pytest.raises(ValueError, match=r"grad_output has shape \(4, 2, 3\) but the output has \(5, 2, 3\)"):
        network(2).bptt(u, grad_output[1:])


# --- parameters, initialisation, dropout
# -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("L", "S", "skip_input"), [(1, None, True), (3, None, True), (5, 2, True), (5, 2, False), (2, 2, True)]
)
def test_the_number_of_parameters_is_the_formula(L: int, S: int | None, skip_input: bool):
    d, m = 4, 7
    model = UnICORNN(d, m, L, dt=0.1, alpha=1.0, residual_skip=S, skip_input=skip_input)
    expected = m * d + (L - 1) * m * m + 3 * L * m
    if S is not None:
        expected += (m * d if S + 1 <= L and skip_input else 0) + max(L - S - 1, 0) * m * m
    assert sum(p.numel() for p in model.parameters()) == expected


def test_the_initial_weights_fill_the_intervals_of_the_paper():
    model = UnICORNN(
        50, 400, 4, dt=0.1, alpha=1.0, residual_skip=2, generator=torch.Generator().manual_seed(0)
    )
    for l, layer in enumerate(model.layers):
        intervals = [(layer.w, 0.0, 1.0), (layer.c, -0.1, 0.1)]
        matrices = [layer.V] if layer.Lambda is None else [layer.V, layer.Lambda]
        intervals += [(V, -r, r) for V in matrices for r in [math.sqrt(6 / (65 * V.shape[1]))]]
        for parameter, low, high in intervals:
            values = parameter.detach()
            width = high - low
            assert low <= float(values.min()) < low + 0.02 * width
            assert high - 0.02 * width < float(values.max()) <= high
        assert layer.b is not None and not layer.b.any() and (layer.Lambda is None) == (l < 2)


def test_a_generator_fixes_the_weights_and_leaves_the_global_one_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, two = (
        UnICORNN(2, 3, dt=0.1, alpha=1.0, generator=torch.Generator().manual_seed(8)) for _ in range(2)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_dropout_keeps_one_mask_for_the_sequence_and_spares_the_last_layer():
    model = network(2, dropout=0.5)
    with torch.no_grad():
        model.layers[1].V.copy_(torch.eye(3, dtype=F64))
        model.layers[1].b.zero_()  # type: ignore[union-attr]
        model.layers[1].w.zero_()
        model.layers[1].c.copy_(torch.full((3,), 50.0))
    u = normal(6, 40, 2)
    torch.manual_seed(0)
    output, (y, _) = model(u)
    model.eval()
    plain, _ = model(u)
    dropped = (output == 0).all(dim=0)  # with V = 1, b = w = 0 a masked neuron is never driven
    assert 0.3 < float(dropped.double().mean()) < 0.7
    assert not (output == 0).any(dim=0)[~dropped].any() and torch.equal(model(u)[0], plain)
    assert torch.equal(y[1], output[-1])
    model.train()
    assert not torch.equal(model(u)[0], model(u)[0])


@pytest.mark.parametrize("index", INDICES)
def test_dropout_masks_are_the_same_at_every_cut_of_the_sequence(index: str):
    model = network(3, index=index, dropout=0.4)
    u, state, extra = normal(6, 2, 2), start(model), previous(model)
    torch.manual_seed(5)
    whole, _ = model(u, state, **extra)
    torch.manual_seed(5)
    first, middle = model(u[:2], state, **extra)
    torch.manual_seed(5)
    second, _ = model(u[2:], middle, **({"previous_input": u[1]} if index == "sam" else {}))
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-13)


# --- living as a torch module
# ------------------------------------------------------------------------------------


def test_a_state_dict_restores_the_network_exactly_with_its_steps():
    model = network(2, dt=[0.1, 0.2], alpha=[1 / 3, 2 / 3])
    other = UnICORNN(2, 3, 2, dt=0.5, alpha=0.0, dtype=F64)
    other.load_state_dict(model.state_dict())
    assert other.dt.tolist() == [0.1, 0.2] and other.alpha.tolist() == [1 / 3, 2 / 3]
    u = normal(5, 2, 2)
    assert torch.equal(other(u)[0], model(u)[0])


def test_steps_survive_a_visit_to_float32():
    model = network(2, dt=[0.1, 0.2])
    model.float()
    assert model.dt.dtype == F64 and model.dt.tolist() == [0.1, 0.2]
    assert model(normal(4, 2, 2).float())[0].dtype == torch.float32
    assert model.double()(normal(4, 2, 2))[0].dtype == F64 and model.dt.tolist() == [0.1, 0.2]


def test_float32_is_close_to_float64():
    model = network(2)
    u = normal(20, 2, 2)
    with torch.no_grad():
        exact = model(u)[0]
        gap = (copy.deepcopy(model).float()(u.float())[0].double() - exact).abs().max()
    assert 0 < float(gap) < 200 * 2.0**-24 * float(1 + exact.abs().max())


def test_a_deep_copy_is_independent():
    model = network(2)
    other = copy.deepcopy(model)
    u = normal(4, 2, 2)
    expected = model(u)[0]
    with torch.no_grad():
        model.layers[0].w += 1.0
    assert torch.equal(other(u)[0], expected) and not torch.equal(model(u)[0], expected)


def test_arguments_are_not_changed():
    model = network(3, index="sam")
    u, state, extra = normal(5, 2, 2), start(model), previous(model)
    before = [value.clone() for value in (u, *state, *extra.values())]
    with torch.no_grad():
        _, end = model(u, state, **extra)
        kept = [value.clone() for value in end]
        model.inverse(end, u, **extra)
        model.bptt(u, normal(5, 2, 3), state, **extra)
    assert all(
        torch.equal(a, b) for a, b in zip((u, *state, *extra.values(), *end), before + kept, strict=True)
    )


def test_the_network_lives_on_the_meta_device():
    model = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, device="meta")
    output, (y, z) = model(torch.empty(4, 5, 2, device="meta"))
    assert output.shape == (4, 5, 3) and y.shape == z.shape == (2, 5, 3) and "dt=?" in repr(model)


def test_repr_says_what_it_is():
    text = repr(network(3, dt=[0.1, 0.1, 0.1], residual_skip=2, index="sam", bias=False, dropout=0.2))
    for part in (
        "2, 3, num_layers=3",
        "dt=0.1",
        "residual_skip=2",
        "index='sam'",
        "bias=False",
        "dropout=0.2",
    ):
        assert part in text


def test_the_registry_finds_the_cell_by_its_file():
    assert "unicornn" in cells.names() and cells.get("unicornn") is UnICORNN
    with pytest.raises(KeyError, match='Did you mean "unicornn"'):
        cells.get("unicorn")


# --- stability
# ---------------------------------------------------------------------------------------------------


def test_the_stability_report_has_the_extremes_and_says_what_they_mean():
    model = UnICORNN(2, 2, 2, dt=[0.5, 0.9], alpha=[2.0, 3.9], dtype=F64)
    with torch.no_grad():
        model.layers[0].w.copy_(torch.tensor([1.0, -3.0]))
        model.layers[0].c.copy_(torch.tensor([0.0, 50.0]))
        model.layers[1].w.copy_(torch.tensor([4.0, -1.0]))
        model.layers[1].c.copy_(torch.tensor([50.0, 0.0]))
    first, second = model.stability_report().layers
    assert (first.max_h2_alpha, first.min_w_plus_alpha) == pytest.approx((0.5, -1.0))
    assert first.max_h2_kappa_plus == pytest.approx(max(0.0625 * 3.0, 0.25 * 2.0))
    assert first.margin_to_rotation_limit == pytest.approx(3.5) and first.margin_to_saddle == pytest.approx(
        -1.0
    )
    assert second.max_h2_kappa_plus == pytest.approx(0.81 * 7.9) and second.margin_to_rotation_limit < 0
    sentences = str(model.stability_report()).splitlines()
    assert "no input makes a step unstable" in sentences[0] and "saddles" in sentences[0]
    assert "some steps are unstable" in sentences[1] and "every neuron rotates" in sentences[1]


# --- what is refused
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dt": 0.0}, ValueError, r"dt of layer 1 is 0\.0, but the network is defined for 0 < dt < 1"),
        ({"dt": 1.0}, ValueError, r"dt of layer 1 is 1\.0"),
        ({"dt": [0.1, -0.2]}, ValueError, r"dt of layer 2 is -0\.2"),
        ({"dt": float("nan")}, ValueError, "dt of layer 1 is nan, which is not finite"),
        ({"dt": [0.1]}, ValueError, "dt has 1 entries but num_layers is 2"),
        ({"dt": "fast"}, TypeError, "dt is 'fast'. Give a number"),
        ({"alpha": -1.0}, ValueError, r"alpha of layer 1 is -1\.0.*alpha ≥ 0"),
        ({"alpha": [1.0, float("inf")]}, ValueError, "alpha of layer 2 is inf"),
        ({"residual_skip": 1}, ValueError, "residual_skip is 1, but.*S ≥ 2"),
        ({"dropout": 1.0}, ValueError, r"dropout is 1\.0"),
        ({"index": "paper"}, ValueError, "index is 'paper', but the conventions are"),
        ({"num_layers": 0}, ValueError, "num_layers is 0"),
        ({"input_size": 2.0}, ValueError, r"input_size is 2\.0"),
        ({"execution": "gpu"}, ValueError, 'No execution is called "gpu"'),
    ],
)
def test_a_wrong_hyperparameter_is_named(change, error, message: str):
    options = {"input_size": 2, "hidden_size": 3, "num_layers": 2, "dt": 0.1, "alpha": 1.0} | change
    with pytest.raises(error, match=message):
        UnICORNN(**options)


def zeros(*shape: int, dtype: torch.dtype = F64, device: str = "cpu") -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=device)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"input": zeros(2)}, ValueError, r"input has shape \(2,\), but it is \(time, batch, input\)"),
        ({"input": zeros(4, 5, 3)}, ValueError, "its last axis is 3 but input_size is 2"),
        (
            {"input": zeros(4, 5, 2).float()},
            TypeError,
            "input has dtype torch.float32 but the parameters have",
        ),
        (
            {"input": zeros(4, 5, 2, device="meta")},
            ValueError,
            "input is on meta but the parameters are on cpu",
        ),
        ({"state": zeros(2, 5, 3)}, TypeError, "state is a Tensor, but it is the pair"),
        (
            {"state": (zeros(2, 4, 3), zeros(2, 5, 3))},
            ValueError,
            r"state y has shape \(2, 4, 3\).*needs \(2, 5, 3\)",
        ),
        ({"state": (zeros(2, 5, 3), zeros(2, 3))}, ValueError, "state z has shape"),
        ({"state": (zeros(2, 5, 3), zeros(2, 5, 3).float())}, TypeError, "state z has dtype"),
        ({"previous_input": zeros(5, 3)}, ValueError, r"previous_input has shape \(5, 3\).*needs \(5, 2\)"),
        ({"lengths": [1, 2]}, ValueError, r"lengths has shape \(2,\), but the batch needs \(5,\)"),
        ({"lengths": [1, 2, 3, 4, 5]}, ValueError, r"lengths reaches from 1 to 5, outside 0\.\.4"),
        ({"lengths": [-1, 2, 3, 4, 4]}, ValueError, "lengths reaches from -1"),
        ({"lengths": [1.0] * 5}, TypeError, "lengths has dtype torch.float32"),
        ({"input": zeros(4, 2), "lengths": [4]}, ValueError, "lengths is given with an unbatched input"),
        ({"execution": "troch"}, ValueError, 'Did you mean "torch"'),
    ],
)
def test_a_wrong_argument_is_named(change, error, message: str):
    arguments = {"input": zeros(4, 5, 2), "state": None} | change
    with pytest.raises(error, match=message):
        network(2, index="sam")(**arguments)


def test_a_previous_input_that_nothing_sees_is_refused():
    with pytest.raises(ValueError, match='with index="icml" no layer sees u_0'):
        network(2)(zeros(4, 5, 2), previous_input=zeros(5, 2))


def test_an_execution_that_is_missing_is_not_replaced(monkeypatch: pytest.MonkeyPatch):
    from odernn import executions

    monkeypatch.setitem(executions._MODULES, "cpu", "odernn.executions.nowhere")
    model = network(1)
    with pytest.raises(ExecutionUnavailable):
        model(zeros(4, 5, 2), execution="cpu")
    with pytest.raises(ExecutionUnavailable):
        network(1, execution="cpu")


@pytest.mark.parametrize(
    ("name", "value"), [("dt", -0.1), ("dt", 1.0), ("dt", float("nan")), ("alpha", -1.0), ("alpha", float("inf"))]
)
def test_state_dict_with_a_refused_hyperparameter_is_refused_whole(name: str, value: float) -> None:
    cell = UnICORNN(2, 3, 2, dt=0.1, alpha=1.0)
    saved = {key: tensor.clone() + (0.5 if "layers" in key else 0.0) for key, tensor in cell.state_dict().items()}
    before = {key: tensor.clone() for key, tensor in cell.state_dict().items()}
    saved[name][1] = value
    with pytest.raises(RuntimeError, match=f"{name} of layer 2"):
        cell.load_state_dict(saved)
    assert all(torch.equal(cell.state_dict()[key], before[key]) for key in ("dt", "alpha"))
