"""∂E/∂X_n is the total derivative, of every layer, step and sample; four wrong readings of it are noticed."""

from __future__ import annotations

import copy
import functools
import importlib
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from odernn import UnICORNN, cells
from odernn.cells import scornn
from tests.tiers import spread
from tests.verification.monitors import written_again
from verification.monitors import measuring
from verification.monitors.calls import Call
from verification.monitors.oscillators import trace as oscillators_trace
from verification.monitors.unrolled import LayerTrace

F64 = torch.float64
ROUNDINGS = 1e-11
"""Largest relative difference of two float64 evaluations of at most 9 steps with weights of order 1: 1e5 roundings."""
BOOKS = {name: importlib.import_module(f"tests.odernn.cells.books.{name}") for name in cells.names()}


def normal(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def loss(rows: Tensor, last: list[Tensor]) -> Tensor:
    """Reads all rows and the last state, and is not linear in them."""
    weights = normal(*rows.shape, seed=7)
    ends = [(normal(*block.shape, seed=8 + i) * block).sum() for i, block in enumerate(last)]
    return (weights * rows**2 + rows).sum() + torch.stack(ends).sum()


def called(module: nn.Module, *arguments: Any, read=loss, **keywords: Any) -> Call:
    """What the monitor's hooks keep of a call and its derivative."""
    call = Call.begin(module, arguments, keywords)
    output, last = module(*arguments, **keywords)
    call.end((output, last))
    blocks = [last] if isinstance(last, Tensor) else list(last)
    read(output, blocks).backward()
    return call


def traces_of(module: nn.Module, call: Call) -> list[LayerTrace]:
    """As ``measuring`` gets them, in the order of the module's layers."""
    found: list[LayerTrace] = []

    def keep(_: Any, trace: LayerTrace, *__: Any) -> list[Any]:
        found.append(trace)
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "_of_layer", keep)
        patch.setattr(measuring.oscillators, "trace", functools.partial(oscillators_trace, keep=True))
        list(measuring.measure(1, "", module, call, scale=1.0))
    return found


def flat(blocks: dict[str, Tensor] | None) -> Tensor:
    """(time, batch, all blocks side by side)."""
    assert blocks is not None
    return torch.cat(list(blocks.values()), dim=2)


def agree(found: list[Tensor], expected: list[Tensor]) -> bool:
    if [each.shape for each in found] != [each.shape for each in expected]:
        return False
    scale = max(float(each.abs().max()) for each in expected)
    return all(float((a - b).abs().max()) <= ROUNDINGS * scale for a, b in zip(found, expected, strict=True))


# --- UnICORNN ---------------------------------------------------------------------------------------------------------

OSCILLATORS: dict[str, dict[str, Any]] = {
    "three layers": {"num_layers": 3},
    "sam": {"num_layers": 2, "index": "sam"},
    "residual": {"num_layers": 4, "residual_skip": 2},
    "sam, residual": {"num_layers": 4, "residual_skip": 2, "index": "sam"},
    "both directions": {"num_layers": 2, "bidirectional": True},
    "residual, both directions": {"num_layers": 4, "residual_skip": 2, "bidirectional": True},
}


def oscillators(**options: Any) -> UnICORNN:
    network = UnICORNN(3, 4, dt=0.4, alpha=1.5, dtype=F64, generator=torch.Generator().manual_seed(1), **options)
    with torch.no_grad():
        for index, parameter in enumerate(network.parameters()):
            parameter.copy_(0.8 * normal(*parameter.shape, seed=20 + index))
    return network


@pytest.mark.parametrize("label", OSCILLATORS)
def test_costates_of_a_unicornn_are_the_gradients_of_states_that_autograd_keeps(label):
    network, u = oscillators(**OSCILLATORS[label]), normal(7, 5, 3)
    traces = traces_of(network, called(network, u))
    expected, states = written_again.unicornn(network, u, loss)
    assert agree([flat(each.blocks) for each in traces], states)
    assert agree([flat(each.costates) for each in traces], expected)


def wrong_readings(traces: list[LayerTrace], network: UnICORNN) -> dict[str, list[Tensor]]:
    right = [flat(each.costates) for each in traces]
    inside = []  # q_n in place of q_{n+1}: the derivative by the z_n inside the step
    for index, trace in enumerate(traces):
        assert trace.costates is not None
        p, r = trace.costates["y"], trace.costates["z"]
        inside.append(torch.cat([p, r + network.coefficients(index)["step_size"] * p], dim=2).detach())
    return {
        "off by one in n": [each.roll(1, 0) for each in right],
        "the direct part": [flat(each.direct_costates) for each in traces],
        "another order of layers": right[::-1],
        "a sample is missing": [torch.cat([each[:, :-1], torch.zeros_like(each[:, -1:])], dim=1) for each in right],
        "z inside the step": inside,
    }


def test_wrong_readings_of_the_derivative_are_noticed():
    network, u = oscillators(num_layers=3), normal(7, 5, 3)
    expected, _ = written_again.unicornn(network, u, loss)
    wrong = wrong_readings(traces_of(network, called(network, u)), network)
    assert len(wrong) == 5
    for label, found in wrong.items():
        assert not agree(found, expected), label


def test_the_derivative_is_that_with_the_dropout_of_the_call():
    network, u = oscillators(num_layers=3, dropout=0.4), normal(7, 5, 3)
    torch.manual_seed(3)
    call = called(network, u)
    torch.rand(5)  # what the caller draws meanwhile has no influence
    traces = traces_of(network, call)
    torch.manual_seed(3)
    masks = [nn.functional.dropout(torch.ones(5, 4, dtype=F64), 0.4) for _ in range(2)]
    assert any(bool((mask == 0).any()) for mask in masks)
    expected, _ = written_again.unicornn(network, u, loss, masks)
    assert agree([flat(each.costates) for each in traces], expected)
    undropped, _ = written_again.unicornn(network, u, loss)
    assert not agree([flat(each.costates) for each in traces], undropped)


# --- torch.nn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_costates_of_torch_modules_are_the_gradients_of_states_that_autograd_keeps(kind):
    torch.manual_seed(2)
    module, u = kind(3, 4, 2, dtype=F64), normal(6, 5, 3)
    traces = traces_of(module, called(module, u))
    expected, states = written_again.recurrent(module, u, loss)
    assert agree([flat(each.blocks) for each in traces], states)
    assert agree([flat(each.costates) for each in traces], expected)
    assert not agree([flat(each.direct_costates) for each in traces], expected)


def test_a_projected_lstm_and_relu_units_are_repeated_as_torch_runs_them():
    for module in (nn.LSTM(3, 4, 2, proj_size=2, dtype=F64), nn.RNN(3, 4, 2, nonlinearity="relu", dtype=F64)):
        traces = traces_of(module, called(module, normal(6, 5, 3)))  # a difference would be NotRepeatable
        assert len(traces) == 2 and all(each.costates is not None for each in traces)


# --- scoRNN -----------------------------------------------------------------------------------------------------------


def orthogonal(network: nn.Module, u: Tensor, mask: Tensor) -> list[Tensor]:
    """∂E/∂h_n of every layer by autograd, with that mask between the first layer and the second."""
    rows, nodes = u, []
    for layer in network.layers:
        W, h, column = layer.recurrent_matrix(), torch.zeros(u.shape[1], network.hidden_size, dtype=F64), []
        for row in rows:
            z = row @ layer.U.T + h @ W.T
            h = torch.sign(z) * torch.relu(z.abs() + layer.b)
            h.retain_grad()
            column.append(h)
        nodes.append(column)
        rows = torch.stack(column) * (mask if layer is network.layers[0] else 1)
    loss(rows, [torch.stack([column[-1] for column in nodes])]).backward()
    return [torch.stack([h.grad for h in column]) for column in nodes]


def test_the_dropout_of_a_cell_that_goes_step_by_step_is_in_the_derivative():
    generator = torch.Generator().manual_seed(1)
    network = scornn.ScoRNN(3, 4, 2, rho=2, initial="glorot", dropout=0.5, dtype=F64, generator=generator)
    u = normal(6, 5, 3)
    torch.manual_seed(3)
    traces = traces_of(network, called(network, u))
    torch.manual_seed(3)
    mask = nn.functional.dropout(torch.ones(5, 4, dtype=F64), 0.5)
    found = [flat(each.costates) for each in traces]
    assert agree(found, orthogonal(network, u, mask))
    assert not agree(found, orthogonal(network, u, torch.ones_like(mask)))


# --- every cell -------------------------------------------------------------------------------------------------------

CASES = [(name, label) for name, book in BOOKS.items() for label in book.CASES if name != "unicornn"]


def alone(network: nn.Module, index: int) -> nn.Module:
    """The network of one layer that is ``layers[index]``."""
    single = copy.copy(network)
    single._modules = dict(network._modules)
    single.layers = nn.ModuleList([network.layers[index]])
    single.num_layers = 1
    return single


def continued(
    case: tuple[str, str], network: nn.Module, u: Tensor, state: tuple[Tensor, ...], n: int
) -> tuple[Tensor, Any]:
    """What a network of one layer returns for u_{n+1} .. from its state after step n."""
    book = BOOKS[case[0]]
    more = book.resume(n) if hasattr(book, "resume") else {}
    if case[1] in getattr(book, "LOOKS_BACK", ()):
        more["previous_input"] = u[n - 1]
    return network(u[n:], state[0].unsqueeze(0) if len(state) == 1 else tuple(b.unsqueeze(0) for b in state), **more)


def by_splitting(case: tuple[str, str], network: nn.Module, u: Tensor) -> list[Tensor]:
    """∂E/∂X_n of two layers: the call is stopped after n steps, and goes on from a state that keeps its gradient."""
    singles = [alone(network, index) for index in range(2)]
    found: list[list[Tensor]] = [[], []]
    for index, n in itertools.product(range(2), range(1, len(u) + 1)):
        below = u if index == 0 else singles[0](u)[0].detach()
        with torch.no_grad():
            rows, last = singles[index](below[:n])
        blocks = (last,) if isinstance(last, Tensor) else tuple(last)
        state = tuple(block[0].detach().requires_grad_() for block in blocks)
        at_n = network.layers[index].output(tuple(block.unsqueeze(0) for block in state))
        parts, after = [rows[: n - 1], at_n], tuple(block.unsqueeze(0) for block in state)
        if n < len(u):
            more, final = continued(case, singles[index], below, state, n)
            parts.append(more)
            after = (final,) if isinstance(final, Tensor) else tuple(final)
        rows = torch.cat(parts)
        if index == 0:
            top, final = singles[1](rows)
            other = (final,) if isinstance(final, Tensor) else tuple(final)
            ends = [torch.cat(pair) for pair in zip(after, other, strict=True)]
        else:
            top = rows
            other = tuple(torch.zeros_like(block) for block in after)
            ends = [torch.cat(pair) for pair in zip(other, after, strict=True)]
        found[index].append(torch.cat(torch.autograd.grad(loss(top, ends), state, materialize_grads=True), dim=1))
    return [torch.stack(each) for each in found]


@pytest.mark.parametrize(("name", "label"), spread(CASES, 6))
def test_costates_of_every_cell_are_derivatives_by_a_state_from_which_the_call_goes_on(name, label):
    network = BOOKS[name].CASES[label](num_layers=2).double()
    u = normal(5, 3, network.layers[0].input_size)
    traces = traces_of(network, called(network, u))
    expected = by_splitting((name, label), network, u)
    assert agree([flat(each.costates) for each in traces], expected)


def test_every_registered_cell_but_unicornn_is_among_them():
    assert {name for name, _ in CASES} == set(cells.names()) - {"unicornn"}


# --- samples that differ in length ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["unicornn", "scornn", "lstm, packed", "gru"])
def test_a_sample_of_its_own_length_has_the_derivatives_that_it_has_alone(kind, bidirectional):
    torch.manual_seed(5)
    if kind == "unicornn":
        module: nn.Module = oscillators(num_layers=2, bidirectional=bidirectional)
    elif kind == "scornn":
        module = scornn.ScoRNN(3, 4, 2, rho=2, initial="glorot", dtype=F64, bidirectional=bidirectional)
    else:
        module = {"l": nn.LSTM, "g": nn.GRU}[kind[0]](3, 4, 2, dtype=F64, bidirectional=bidirectional)
    lengths = [4, 7, 2] if "packed" in kind or not isinstance(module, nn.RNNBase) else [7, 7, 7]
    u = normal(7, 3, 3)

    def read(rows: Any, last: list[Tensor]) -> Tensor:
        flat_rows = rows if isinstance(rows, Tensor) else rows.data
        return (flat_rows**2 + flat_rows).sum() + torch.stack([(block**3).sum() for block in last]).sum()

    if kind == "lstm, packed":
        together = called(module, pack_padded_sequence(u, torch.tensor(lengths), enforce_sorted=False), read=read)
    elif isinstance(module, nn.RNNBase):
        together = called(module, u, read=read)
    else:
        together = called(module, u, lengths=lengths, read=read)
    traces = traces_of(module, together)
    for sample, length in enumerate(lengths):
        one = traces_of(module, called(module, u[:length, sample : sample + 1], read=read))
        mine = [flat(each.costates)[:, sample : sample + 1] for each in traces]
        assert agree([each[:length] for each in mine], [flat(each.costates) for each in one])
        assert all(not bool(each[length:].any()) for each in mine)


def test_batch_first_and_unbatched_calls_have_the_same_derivatives():
    u = normal(6, 4, 3)
    network = oscillators(num_layers=2)
    expected = [flat(each.costates) for each in traces_of(network, called(network, u))]

    def transposed(rows: Tensor, last: list[Tensor]) -> Tensor:
        return loss(rows.transpose(0, 1), last)

    other = oscillators(num_layers=2, batch_first=True)
    found = traces_of(other, called(other, u.transpose(0, 1), read=transposed))
    assert agree([flat(each.costates) for each in found], expected)

    def unbatched(rows: Tensor, last: list[Tensor]) -> Tensor:
        return loss(rows.unsqueeze(1), [block.unsqueeze(1) for block in last])

    single = [flat(each.costates) for each in traces_of(network, called(network, u[:, :1]))]
    assert agree([flat(e.costates) for e in traces_of(network, called(network, u[:, 0], read=unbatched))], single)
