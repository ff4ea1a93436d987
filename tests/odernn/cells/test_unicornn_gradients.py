"""The gradients of UnICORNN: finite differences, the published recursion, padding, and the second derivative."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence

from tests.odernn.cells.unicornn_book import INDICES, STACKS, VARIANTS, network, normal, previous, start
from tests.tiers import only, spread, without


def as_function(model):
    """The network as a function of u, y_0, z_0, u_0 and its parameters, and a point."""
    names = [name for name, _ in model.named_parameters()]

    def run(u, y0, z0, u0, *parameters):
        options = {"previous_input": u0} if model.index == "sam" else {}
        weights = dict(zip(names, parameters, strict=True))
        output, (y, z) = torch.func.functional_call(model, weights, (u, (y0, z0)), options)
        return output, y, z, u0.sum()

    return run, [*start(model), normal(2, 2, seed=4), *model.parameters()]


@pytest.mark.parametrize("variant", spread(VARIANTS, 1), ids=str)
@pytest.mark.parametrize(("layers", "skip"), only([(2, None), (3, 2)], (3, 2)))
def test_gradients_are_those_of_finite_differences_in_every_argument(layers, skip, variant):
    run, point = as_function(network(layers, residual_skip=skip, **variant))
    assert torch.autograd.gradcheck(run, [a.detach().requires_grad_() for a in (normal(3, 2, 2), *point)])


@pytest.mark.parametrize("variant", without(VARIANTS[:3], {"bidirectional": True}), ids=str)
def test_second_derivatives_are_those_of_finite_differences(variant):
    run, point = as_function(network(1, **variant))
    assert torch.autograd.gradgradcheck(run, [a.detach().requires_grad_() for a in (normal(2, 2, 2), *point)])


def test_padding_beyond_the_length_receives_no_gradient():
    model = network(2)
    u = normal(6, 2, 2).requires_grad_()
    output, (y, z) = model(u, lengths=[2, 5])
    (gradient,) = torch.autograd.grad((output**2).sum() + y.sum() + z.sum(), u)
    assert not gradient[2:, 0].any() and not gradient[5:, 1].any() and gradient[:2, 0].all()


@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_padding_may_hold_anything(variant):
    model, u, lengths = network(2, **variant), normal(6, 2, 2), [2, 5]
    spoilt = u.clone()
    spoilt[2:, 0], spoilt[5:, 1] = float("nan"), float("inf")
    found = []
    for rows in (u, spoilt):
        output, (y, z) = model(rows, lengths=lengths)
        loss = (output**2).sum() + y.sum() + z.sum()
        found.append((output, y, z, *torch.autograd.grad(loss, list(model.parameters()))))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


# --- the published recursion


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("bias", only([True, False], True))
@pytest.mark.parametrize(("layers", "skip", "skip_input"), STACKS)
def test_the_published_recursion_is_autograd(layers, skip, skip_input, bias, variant):
    model = network(layers, residual_skip=skip, skip_input=skip_input, **(variant | {"bias": bias}))
    u, state, extra = normal(9, 2, 2), start(model), previous(model)
    grad_output = normal(9, 2, model.output_size, seed=6)
    output, _ = model(u, state, **extra)
    expected = torch.autograd.grad((output * grad_output).sum(), list(model.parameters()))
    found = model.bptt(u, grad_output, state, **extra)
    assert list(found) == [name for name, _ in model.named_parameters()]
    for name, gradient in zip(found, expected, strict=True):
        torch.testing.assert_close(found[name], gradient, rtol=1e-12, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("variant", VARIANTS[:3], ids=str)
def test_the_recursion_stops_at_every_samples_own_end(variant):
    model = network(3, residual_skip=2, **variant)
    u, state, extra = normal(6, 4, 2), start(model, 4), previous(model, 4)
    lengths, grad_output = [3, 6, 0, 1], normal(6, 4, model.output_size, seed=6)
    output, _ = model(u, state, lengths=lengths, **extra)
    expected = torch.autograd.grad((output * grad_output).sum(), list(model.parameters()))
    found = model.bptt(u, grad_output, state, lengths=lengths, **extra)
    torch.testing.assert_close(list(found.values()), list(expected), rtol=1e-12, atol=1e-12)
    inside = torch.arange(6).unsqueeze(1) < torch.tensor(lengths)
    padded = torch.where(inside.unsqueeze(2), grad_output, torch.full_like(grad_output, float("nan")))
    again = model.bptt(u, padded, state, lengths=lengths, **extra)
    assert all(torch.equal(again[name], found[name]) for name in found)


def test_the_recursion_takes_packed_sequences():
    model, lengths, u = network(2, bidirectional=True), [3, 5, 1], normal(5, 3, 2)
    grad_output = normal(5, 3, 6, seed=6)
    packed, packed_grad = (
        pack_padded_sequence(rows, torch.tensor(lengths), enforce_sorted=False) for rows in (u, grad_output)
    )
    torch.testing.assert_close(model.bptt(packed, packed_grad), model.bptt(u, grad_output, lengths=lengths))
    with pytest.raises(TypeError, match="grad_output is a Tensor, but the output is a PackedSequence"):
        model.bptt(packed, grad_output)
    other = pack_padded_sequence(grad_output, torch.tensor([5, 3, 1]))
    with pytest.raises(ValueError, match=r"grad_output has samples of lengths \[5, 3, 1\]"):
        model.bptt(packed, other)


@pytest.mark.parametrize("index", INDICES)
def test_the_recursion_has_nothing_to_add_up_for_no_steps(index: str):
    model = network(2, index=index)
    found = model.bptt(normal(0, 2, 2), normal(0, 2, 3))
    assert all(torch.equal(found[name], torch.zeros_like(p)) for name, p in model.named_parameters())


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
