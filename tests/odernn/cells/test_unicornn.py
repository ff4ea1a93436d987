"""UnICORNN is the equations of the paper: the forward map, its layouts and lengths, and its inverse."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from odernn.cells.unicornn import UnICORNN
from tests.odernn.cells.unicornn_book import F64, INDICES, STACKS, VARIANTS, book, network, normal, previous, start

# --- the forward map


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize(("layers", "skip", "skip_input"), STACKS)
def test_the_network_is_the_equations_over_scalars(layers, skip, skip_input, variant):
    model = network(layers, residual_skip=skip, skip_input=skip_input, **variant)
    u, state, extra = normal(4, 2, 2), start(model), previous(model)
    with torch.no_grad():
        output, (y_end, z_end) = model(u, state, **extra)
        runs = model.states(u, state, **extra)
    assert output.shape == (4, 2, 3 * model.directions) and len(runs) == layers * model.directions
    u0 = extra.get("previous_input", torch.zeros(2, 2, dtype=F64))
    for b in range(2):
        y, z = book(model, u[:, b].tolist(), state[0][:, b].tolist(), state[1][:, b].tolist(), u0[b].tolist())
        for n, i in itertools.product(range(1, 5), range(output.shape[2])):
            assert float(output[n - 1, b, i]) == pytest.approx(y[n, layers, i], rel=1e-12, abs=1e-13)
        for index, i in itertools.product(range(len(runs)), range(3)):
            l, k = index // model.directions + 1, index % model.directions
            last = (1 if k else 4, l, i + 3 * k)
            assert float(y_end[index, b, i]) == pytest.approx(y[last], rel=1e-12, abs=1e-13)
            assert float(z_end[index, b, i]) == pytest.approx(z[last], rel=1e-12, abs=1e-13)
            for row in range(4):  # the reverse direction's runs are in its own direction of time
                key = (4 - row if k else row + 1, l, i + 3 * k)
                assert float(runs[index].y[row, b, i]) == pytest.approx(y[key], rel=1e-12, abs=1e-13)
                assert float(runs[index].z[row, b, i]) == pytest.approx(z[key], rel=1e-12, abs=1e-13)


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


def test_a_bidirectional_layer_is_two_networks_of_which_one_sees_the_sequence_backwards():
    model = network(1, bidirectional=True)
    u = normal(6, 2, 2)
    halves = []
    for direction in range(2):
        alone = network(1)
        alone.layers[0].load_state_dict(model.layers[direction].state_dict())
        output, _ = alone(u.flip(0) if direction else u)
        halves.append(output.flip(0) if direction else output)
    torch.testing.assert_close(model(u)[0], torch.cat(halves, dim=-1), rtol=0, atol=1e-14)


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


def test_both_directions_of_a_layer_have_its_step_and_without_multiscale_it_is_dt_of_every_neuron():
    model = network(2, dt=[0.3, 0.05], alpha=[1.0, 2.0], bidirectional=True)
    c = torch.stack([layer.c for layer in model.layers])
    expected = torch.tensor([0.3, 0.3, 0.05, 0.05], dtype=F64).unsqueeze(1) * torch.sigmoid(c)
    torch.testing.assert_close(model.effective_steps(), expected)
    assert [float(model.coefficients(index)["alpha"]) for index in range(4)] == [1.0, 1.0, 2.0, 2.0]
    plain = network(2, dt=[0.3, 0.05], multiscale=False)
    assert plain.effective_steps().tolist() == [[0.3] * 3, [0.05] * 3]


# --- layouts and lengths


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch", [0, 1, 2])
def test_batches_may_be_empty(batch: int, bidirectional: bool):
    model = network(2, bidirectional=bidirectional)
    output, (y, z) = model(normal(4, batch, 2))
    layers = len(model.layers)
    assert output.shape == (4, batch, model.output_size) and y.shape == z.shape == (layers, batch, 3)


@pytest.mark.parametrize("index", INDICES)
def test_unbatched_is_a_batch_of_one(index: str):
    model = network(2, index=index)
    u, state = normal(5, 1, 2), start(model, 1)
    output, (y, z) = model(u, state)
    alone, (y_alone, z_alone) = model(u[:, 0], (state[0][:, 0], state[1][:, 0]))
    torch.testing.assert_close((alone, y_alone, z_alone), (output[:, 0], y[:, 0], z[:, 0]), rtol=0, atol=1e-14)
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


@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_with_lengths_every_sample_ends_on_its_own(variant):
    model = network(3, **variant)
    u, state, extra = normal(6, 4, 2), start(model, 4), previous(model, 4)
    lengths = [3, 6, 0, 1]
    output, (y, z) = model(u, state, lengths=lengths, **extra)
    runs = model.states(u, state, lengths=lengths, **extra)
    for b, length in enumerate(lengths):
        alone_extra = {key: value[b : b + 1] for key, value in extra.items()}
        alone_state = (state[0][:, b : b + 1], state[1][:, b : b + 1])
        alone, (y_b, z_b) = model(u[:length, b : b + 1], alone_state, **alone_extra)
        torch.testing.assert_close(output[:length, b], alone[:, 0], rtol=0, atol=1e-14)
        assert not output[length:, b].any()
        torch.testing.assert_close(y[:, b], y_b[:, 0], rtol=0, atol=1e-14)
        torch.testing.assert_close(z[:, b], z_b[:, 0], rtol=0, atol=1e-14)
        for run, run_b in zip(runs, model.states(u[:length, b : b + 1], alone_state, **alone_extra), strict=True):
            torch.testing.assert_close(run.y[:length, b], run_b.y[:, 0], rtol=0, atol=1e-14)
            torch.testing.assert_close(run.z[:length, b], run_b.z[:, 0], rtol=0, atol=1e-14)
            assert not run.y[length:, b].any() and not run.z[length:, b].any()
    assert torch.equal(output, model(u, state, lengths=torch.tensor(lengths), **extra)[0])


@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_a_packed_sequence_is_a_padded_one_with_lengths(variant):
    model, lengths = network(2, **variant), [3, 5, 1]
    u, state, extra = normal(5, 3, 2), start(model, 3), previous(model, 3)
    packed = pack_padded_sequence(u, torch.tensor(lengths), enforce_sorted=False)
    output, end = model(packed, state, **extra)
    padded, padded_end = model(u, state, lengths=lengths, **extra)
    rows, found = pad_packed_sequence(output)
    assert found.tolist() == lengths
    torch.testing.assert_close(rows, padded, rtol=0, atol=1e-14)
    torch.testing.assert_close(end, padded_end, rtol=0, atol=1e-14)
    torch.testing.assert_close(
        model.inverse(end, packed, **extra), model.inverse(end, u, lengths=lengths, **extra), rtol=0, atol=1e-14
    )


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


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize(("layers", "skip", "skip_input"), STACKS)
def test_the_inverse_gives_back_the_initial_state(layers, skip, skip_input, variant):
    model = network(layers, residual_skip=skip, skip_input=skip_input, **variant)
    state, extra = start(model), previous(model)
    for steps in (0, 1, 2, 17):
        u = normal(steps, 2, 2)
        _, end = model(u, state, **extra)
        for found, wanted in zip(model.inverse(end, u, **extra), state, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_the_inverse_goes_back_from_every_samples_own_end(variant):
    model = network(3, residual_skip=2, **variant)
    u, state, extra = normal(6, 4, 2), start(model, 4), previous(model, 4)
    lengths = [3, 6, 0, 1]
    _, end = model(u, state, lengths=lengths, **extra)
    torch.testing.assert_close(model.inverse(end, u, lengths=lengths, **extra), state, rtol=0, atol=1e-12)
    assert (model.inverse(end, u, **extra)[0] - state[0]).abs().max() > 1e-3


def test_the_inverse_takes_the_layouts_of_forward():
    for variant in VARIANTS[:3]:
        model, turned = network(2, **variant), network(2, batch_first=True, **variant)
        u, state = normal(5, 2, 2), start(model)
        torch.testing.assert_close(turned.inverse(state, u.transpose(0, 1)), model.inverse(state, u))
        alone = model.inverse((state[0][:, 1], state[1][:, 1]), u[:, 1])
        for block, whole in zip(alone, model.inverse(state, u), strict=True):
            torch.testing.assert_close(block, whole[:, 1], rtol=0, atol=1e-14)


@pytest.mark.parametrize(("forwards", "backwards"), [("icml", "sam"), ("sam", "icml")])
def test_the_inverse_of_the_other_convention_is_not_an_inverse(forwards: str, backwards: str):
    model, other = network(2, index=forwards), network(2, index=backwards)
    u, state = normal(5, 2, 2), start(model)
    _, end = model(u, state)
    assert (other.inverse(end, u)[0] - state[0]).abs().max() > 1e-3


def test_the_map_printed_as_7_in_sam_inverts_the_icml_step_and_not_that_of_sam():
    icml, sam = network(3, residual_skip=2), network(3, residual_skip=2, index="sam")
    u, state = normal(5, 2, 2), start(sam)
    _, end = icml(u, state)
    torch.testing.assert_close(sam.inverse(end, u, scheme="sam7"), state, rtol=0, atol=1e-12)
    _, end = sam(u, state)
    assert (sam.inverse(end, u, scheme="sam7")[0] - state[0]).abs().max() > 1e-3
    torch.testing.assert_close(sam.inverse(end, u, scheme="exact"), state, rtol=0, atol=1e-12)


def jacobian(model: UnICORNN, u: torch.Tensor, layer_state: torch.Tensor) -> torch.Tensor:
    L, m = len(model.layers), model.hidden_size

    def flow(v: torch.Tensor) -> torch.Tensor:
        y, z = v.reshape(2, L, m)
        return torch.cat([part.flatten() for part in model(u, (y, z))[1]])

    return torch.autograd.functional.jacobian(flow, layer_state)


def canonical(half: int) -> torch.Tensor:
    zero, one = torch.zeros(half, half, dtype=F64), torch.eye(half, dtype=F64)
    return torch.cat([torch.cat([zero, one], 1), torch.cat([-one, zero], 1)])


@pytest.mark.parametrize("multiscale", [True, False])
def test_one_layer_is_a_symplectic_map(multiscale: bool):
    model = network(1, multiscale=multiscale)
    D, J = jacobian(model, normal(6, 2), normal(6, seed=5)), canonical(3)
    torch.testing.assert_close(D.T @ J @ D, J, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_a_stack_preserves_volume_but_two_layers_together_are_not_symplectic(variant):
    model = network(2, **variant)
    half = 3 * len(model.layers)
    D, J = jacobian(model, normal(6, 2), normal(2 * half, seed=5)), canonical(half)
    assert float(torch.linalg.det(D)) == pytest.approx(1.0, abs=1e-11)
    assert (D.T @ J @ D - J).abs().max() > 1e-3
