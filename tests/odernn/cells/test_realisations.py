"""LSTM, GRU and simple layers as ODERNNs are those of torch, to rounding: Niu, Chuang, Horesh 2019, Claims 1-3."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from odernn.cells.clockwork import ClockworkRNN
from odernn.cells.odernn import ODERNN
from odernn.cells.odernn.realisations import as_odernn, clockwork, gru, lstm, simple
from tests.tiers import only, spread

F64 = torch.float64
KINDS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}
FORMS = ("gated", "constant")
STACKS = [(1, False), (2, True), (3, False), (3, True)]
STEPS = 40

every_form = pytest.mark.parametrize("form", FORMS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def normal(*shape: int, seed: int = 1, dtype: torch.dtype = F64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def reference(kind: str, *sizes: int, **options) -> torch.nn.Module:
    """torch's module with weights of size 0.5 and biases that differ."""
    module = KINDS[kind](*(sizes or (3, 5)), **({"dtype": F64} | options))
    with torch.no_grad():
        for place, parameter in enumerate(module.parameters()):
            parameter.copy_(0.5 * normal(*parameter.shape, seed=100 + place))
    return module


def start(kind: str, count: int, batch: int = 4, hidden: int = 5):
    """An initial state away from zero in torch's form."""
    blocks = tuple(normal(count, batch, hidden, seed=seed) for seed in (5, 6))
    return blocks if kind == "lstm" else blocks[0]


def blocks_of(state) -> tuple[torch.Tensor, ...]:
    return (state,) if isinstance(state, torch.Tensor) else state


def gap(one, other) -> float:
    """The largest difference between (output, state) and (output, state)."""
    pairs = zip((one[0], *blocks_of(one[1])), (other[0], *blocks_of(other[1])), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


# --- thm-cells


@every_kind
@every_form
@pytest.mark.parametrize(("layers", "bidirectional"), only(STACKS, (1, False), (2, True)))
@pytest.mark.parametrize("bias", only([True, False], True))
def test_outputs_and_states_are_those_of_torch_over_forty_steps(kind, form, layers, bidirectional, bias):
    manners = {"num_layers": layers, "bidirectional": bidirectional, "bias": bias}
    module = reference(kind, **manners)
    cell = as_odernn(module, form)
    u, state = normal(STEPS, 4, 3), start(kind, layers * cell.directions)
    with torch.no_grad():
        wanted, found = module(u, state), cell(u, state)
        assert [block.shape for block in blocks_of(found[1])] == [block.shape for block in blocks_of(wanted[1])]
        assert gap(found, wanted) <= 1e-13
        assert gap(cell(u), module(u)) <= 1e-13


@pytest.mark.parametrize(
    ("kind", "form", "n", "t"),
    [
        ("lstm", "gated", 2, 2),
        ("lstm", "constant", 4, 2),
        ("gru", "gated", 2, 1),
        ("gru", "constant", 4, 1),
        ("rnn", "gated", 1, 1),
        ("rnn", "constant", 1, 1),
    ],
)
def test_depth_and_number_of_blocks_are_those_of_the_theorem(kind, form, n, t):
    cell = as_odernn(reference(kind), form)
    assert (cell.n, cell.t, cell.is_explicit) == (n, t, True)
    assert cell.structure.is_gated == (form == "gated" and kind != "rnn")
    assert all(float(layer.eta) == 1.0 for layer in cell.layers)


def test_only_constant_coefficients_have_a_burrage_butcher_matrix_and_no_cell_has_a_positive_one():
    """ode-T1-expl: none of the constructions meets the conditions of Theorem 1."""
    for tableau in (lstm(2, form="constant"), gru(2, form="constant"), simple(2)):
        found = tableau.burrage_butcher()
        assert float(found.eigenvalues.min()) < -found.rounding
    with pytest.raises(ValueError, match="is gated"):
        lstm(2).burrage_butcher()


def test_a_real_unitary_network_is_the_simple_one_with_an_orthogonal_matrix():
    Q = torch.linalg.qr(normal(4, 4))[0]
    cell = ODERNN(2, 4, tableau=simple(4, nonlinearity="identity", bias=False), dtype=F64)
    with torch.no_grad():
        cell.layers[0].K_1.copy_(Q)
        h = normal(1, 3, 4)
        _, end = cell(torch.zeros(100, 3, 2, dtype=F64), h)
    torch.testing.assert_close(torch.linalg.norm(end, dim=-1), torch.linalg.norm(h, dim=-1), rtol=1e-13, atol=0)


# --- gradients and weights


@every_kind
@every_form
def test_gradients_in_input_and_state_are_those_of_torch(kind, form):
    module = reference(kind, num_layers=2, bidirectional=True)
    cell = as_odernn(module, form)
    found = []
    for network in (module, cell):
        u = normal(12, 2, 3).requires_grad_()
        state = tuple(block.requires_grad_() for block in blocks_of(start(kind, 4, batch=2)))
        output, end = network(u, state if kind == "lstm" else state[0])
        used = state if kind == "lstm" else state[:1]
        total = (output**2).sum() + sum((block**3).sum() for block in blocks_of(end))
        found.append(torch.autograd.grad(total, (u, *used)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@every_kind
@every_form
def test_weights_are_copied_and_none_is_added(kind, form):
    module = reference(kind, num_layers=2)
    cell = as_odernn(module, form)
    u = normal(5, 4, 3)
    with torch.no_grad():
        wanted = cell(u)[0]
        for parameter in module.parameters():
            parameter.zero_()
        assert torch.equal(cell(u)[0], wanted)
    ours, torchs = (sum(p.numel() for p in network.parameters()) for network in (cell, module))
    summed = {"lstm": 20, "gru": 10, "rnn": 5}[kind]  # biases of which only the sum counts
    assert ours == torchs - 2 * summed and all(parameter.requires_grad for parameter in cell.parameters())


@every_kind
@every_form
def test_a_gradient_step_on_the_weights_is_one_of_torch_on_sums_of_biases(kind, form):
    module = reference(kind)
    cell = as_odernn(module, form)
    u = normal(6, 2, 3)
    for network in (module, cell):
        (network(u)[0] ** 2).sum().backward()
    torch.testing.assert_close(cell.layers[0].K_1.grad, module.weight_hh_l0.grad[: len(cell.layers[0].K_1)])
    torch.testing.assert_close(cell.layers[0].U_1.grad, module.weight_ih_l0.grad[: len(cell.layers[0].U_1)])
    torch.testing.assert_close(cell.layers[0].b_1.grad, module.bias_ih_l0.grad[: len(cell.layers[0].b_1)])


# --- manners


@every_kind
@every_form
def test_batch_first_unbatched_and_packed_sequences_are_those_of_torch(kind, form):
    module = reference(kind, num_layers=2, bidirectional=True, batch_first=True)
    cell = as_odernn(module, form)
    u, state = normal(4, 7, 3), start(kind, 4)
    with torch.no_grad():
        assert gap(cell(u, state), module(u, state)) <= 1e-13
        alone = tuple(block[:, 0] for block in blocks_of(state))
        alone = alone if kind == "lstm" else alone[0]
        assert gap(cell(u[0], alone), module(u[0], alone)) <= 1e-13
        packed = pack_padded_sequence(u, [3, 7, 1, 5], batch_first=True, enforce_sorted=False)
        (found, end), (wanted, known) = cell(packed, state), module(packed, state)
        padded = pad_packed_sequence(found)[0], pad_packed_sequence(wanted)[0]
        assert gap((padded[0], end), (padded[1], known)) <= 1e-13


def test_dropout_is_a_new_mask_every_step_and_the_mode_is_that_of_the_module():
    module = reference("gru", num_layers=2, dropout=0.25)
    cell = as_odernn(module)
    assert cell.training and cell.dropout == 0.25 and cell.dropout_mask == "step"
    resting = as_odernn(module.eval())
    u = normal(9, 4, 3)
    assert not resting.training and gap(resting(u), module(u)) <= 1e-13
    assert not torch.equal(cell(u)[0], cell(u)[0])


def test_the_nonlinearity_of_a_simple_layer_is_kept():
    module = reference("rnn", nonlinearity="relu")
    u = normal(STEPS, 4, 3)
    assert gap(as_odernn(module)(u), module(u)) <= 1e-13 * float(1 + module(u)[0].detach().abs().max())


def test_float32_modules_give_float32_networks():
    module = reference("lstm", dtype=torch.float32)
    cell = as_odernn(module)
    assert all(parameter.dtype == torch.float32 for parameter in cell.parameters())
    u = normal(STEPS, 4, 3, dtype=torch.float32)
    assert gap(cell(u), module(u)) <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("form", spread(FORMS, 1))
def test_realisations_compile_and_export(form):
    cell = as_odernn(reference("gru"), form)
    u = normal(2, 2, 3)
    torch._dynamo.reset()
    compiled = torch.compile(cell, backend="aot_eager", fullgraph=True)
    assert gap(compiled(u), cell(u)) <= 1e-14
    assert gap(torch.export.export(cell, (u,)).module()(u), cell(u)) <= 1e-14


# --- the price of constant coefficients


def one_step_errors(form: str, size: float, dtype: torch.dtype) -> torch.Tensor:
    """|c₊ − c₊ of torch in float64| of one LSTM step from cell states up to ``size``, in units of u."""
    module = reference("lstm", 3, 16, dtype=dtype)
    cell = as_odernn(module, form)
    u, h = normal(1, 64, 3, dtype=dtype), 0.5 * normal(1, 64, 16, seed=2, dtype=dtype)
    c = size * (2 * torch.rand(1, 64, 16, generator=torch.Generator().manual_seed(3), dtype=F64) - 1).to(dtype)
    with torch.no_grad():
        exact = module.double()(u.double(), (h.double(), c.double()))[1][1]
        found = cell(u, (h, c))[1][1]
    return (found.double() - exact).abs() / (torch.finfo(dtype).eps / 2)


@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_the_constant_form_loses_with_the_square_of_the_cell_state(size, dtype):
    """c₊ is a sum of four squares, at most (1 + |c|)² / 4 each, with three roundings each, and of their four partial
    sums: below 4 u (1 + |c|)², and for large c of that size. The gated form stays below a few u (1 + |c|)."""
    constant, gated = (float(one_step_errors(form, size, dtype).max()) for form in ("constant", "gated"))
    slack = 8 * (1 + size)  # gates and their exponentials: a few roundings of things of size 1, times c
    assert constant <= 4 * (1 + size) ** 2 + slack
    assert gated <= slack
    if size > 1:
        assert constant >= 0.25 * size**2 and constant > 10 * gated


# --- refusals


@pytest.mark.parametrize("module", [torch.nn.Linear(2, 2), torch.nn.LSTMCell(2, 2), torch.nn.Identity()])
def test_other_modules_are_refused_with_what_is_supported(module):
    with pytest.raises(TypeError, match=rf"no tableau for {type(module).__name__}\. Give a torch\.nn\.LSTM, a torch"):
        as_odernn(module)


def test_projections_and_unknown_forms_are_refused():
    with pytest.raises(ValueError, match="proj_size=2"):
        as_odernn(torch.nn.LSTM(3, 5, proj_size=2))
    for make in (lambda: as_odernn(reference("gru"), "polynomial"), lambda: lstm(2, form="squares")):
        with pytest.raises(ValueError, match='Choose from: "gated", "constant"'):
            make()


def test_all_kinds_forms_and_stacks_were_tried():
    assert len(list(itertools.product(KINDS, FORMS, STACKS))) == 24


@pytest.mark.parametrize(("periods", "sizes"), [((1, 2), (2, 3)), ((2, 3), (1, 2)), ((1, 2, 4), (2, 1, 2))])
def test_a_clockwork_network_steps_with_the_table_of_its_time(periods, sizes):
    """Claim 4: at every time of two periods the network whose coefficients are those of that time, and no other."""
    n = sum(sizes)
    network = ClockworkRNN(3, n, periods=periods, sizes=sizes, dtype=F64, generator=torch.Generator().manual_seed(2))
    (layer,) = network.layers
    u, h = normal(2 * math.lcm(*periods), 4, 3), normal(1, 4, n, seed=3)
    outputs = network(u, h)[0].detach()
    for time, wanted in enumerate(outputs):
        cell = ODERNN(3, n, tableau=clockwork(periods, sizes, time), dtype=F64)
        assert (cell.n, cell.t) == (1, 1)
        with torch.no_grad():
            for name, value in (("K_1", layer.recurrent_matrix()), ("U_1", layer.V), ("b_1", layer.b)):
                cell.layers[0].get_parameter(name).copy_(value)
            h = cell(u[time : time + 1], h)[1]
        torch.testing.assert_close(h[0], wanted, rtol=0, atol=1e-14)  # numbers below 4, some u = 1.1e-16 a step


def test_a_clockwork_table_needs_a_size_for_every_period():
    with pytest.raises(ValueError, match="periods has 2 groups and sizes 1"):
        clockwork((1, 2), (3,), 0)
