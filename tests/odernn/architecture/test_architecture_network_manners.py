"""A network of a graph lives as the other torch modules do: layouts, lengths, states, copies, dtypes, compilation."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from odernn.architecture import Edge, GraphRNN, RNNGraph, get
from tests.odernn.architecture.graph_network_book import random_graph
from tests.tiers import only

F64 = torch.float64
TOLERANCE = 1e-13
"""Times 1 + the largest value: the same sums in another order; see ``test_architecture_network``."""
LSTM = "multidimensional-lstm"

TWO_WAYS = RNNGraph(
    "two ways",
    1,
    dict.fromkeys(["in", "f", "b", "top", "out"], 0),
    (
        *(Edge("in", "f", 0), Edge("in", "b", 0), Edge("f", "f", 1), Edge("b", "b", -1), Edge("f", "top", 2)),
        *(Edge("b", "top", -1), Edge("top", "top", 3), Edge("f", "out", 0), Edge("top", "out", 0)),
    ),
    ("in",),
    ("out",),
)
AHEAD = RNNGraph(
    "ahead. of time",
    2,
    {"in.a": 0, "in.b": 1, "p": 0, "q": 1},
    (
        *(Edge("in.a", "p", 0), Edge("in.b", "q", 0), Edge("p", "q", -1), Edge("q", "p", 3), Edge("p", "p", 2)),
        *(Edge("q", "q", 4), Edge("in.a", "q", 3)),
    ),
    ("in.a", "in.b"),
    ("p", "q"),
)
CASES = {
    "td": (get("td"), "tanh", {}),
    "clockwork": (get("clockwork(1,2,4)"), "tanh", {"output_size": 3}),
    "two ways": (TWO_WAYS, "tanh", {}),
    "ahead": (AHEAD, "tanh", {}),
    "lstm": (get("4.5(2)-3"), LSTM, {"carry": "all", "forget_reads": "own"}),
    "lstm ahead": (AHEAD, LSTM, {"cell_output": "identity", "bias": False}),
}
every_case = pytest.mark.parametrize("case", CASES)


def build(case: str, **changes) -> GraphRNN:
    graph, unit, options = CASES[case]
    generator = torch.Generator().manual_seed(3)
    return GraphRNN(graph, 4, 3, unit, **({"dtype": F64, "generator": generator} | options | changes))


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def windows_of(state) -> tuple[dict[str, torch.Tensor], ...]:
    return state if isinstance(state, tuple) else (state,)


def each(state, change):
    """The state with a function of every window."""
    found = tuple({node: change(rows) for node, rows in windows.items()} for windows in windows_of(state))
    return found if isinstance(state, tuple) else found[0]


def start(network: GraphRNN, batch: int):
    seeds = iter(range(100, 200))
    return each(network.initial_state(batch), lambda rows: 0.7 * normal(*rows.shape, seed=next(seeds)))


def close(found, wanted, tolerance: float = TOLERANCE) -> None:
    if isinstance(found, torch.Tensor):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        assert largest(found - wanted) <= tolerance * (1 + largest(wanted))
        return
    for one, other in zip(windows_of(found), windows_of(wanted), strict=True):
        assert set(one) == set(other)
        for node in one:
            close(one[node], other[node], tolerance)


def largest(values: torch.Tensor) -> float:
    return float(values.detach().abs().max()) if values.numel() else 0.0


# Sequences.


@pytest.mark.parametrize("seed", range(40))
def test_every_sample_is_alone_in_its_batch_and_ends_on_its_own(seed: int) -> None:
    """Also where edges look ahead: what is at or after a sample's own end is zero, whatever the padding holds."""
    unit = LSTM if seed % 3 == 0 else "tanh"
    torch.manual_seed(seed)
    network = GraphRNN(random_graph(seed), 2, 3, unit, dtype=F64)
    lengths = [3, 6, 0, 1, 5, 2, 4]
    x, state, begin = normal(6, 7, 3), start(network, 7), seed % 4
    padded = torch.where(torch.arange(6)[:, None, None] < torch.tensor(lengths)[:, None], x, torch.nan)
    padded.requires_grad_()
    output, end = network(padded, state, lengths=lengths, start=begin)
    for b, length in enumerate(lengths):
        one = slice(b, b + 1)
        alone, last = network(x[:length, one], each(state, lambda rows, one=one: rows[:, one]), start=begin)
        close(output[:length, one], alone)
        assert not output[length:, b].any()
        close(each(end, lambda rows, one=one: rows[:, one]), last)
    total = output.square().sum() + sum(rows.square().sum() for windows in windows_of(end) for rows in windows.values())
    if total.requires_grad:
        gradients = torch.autograd.grad(total, [padded, *network.parameters()], allow_unused=True)
        assert all(gradient is None or torch.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("seed", range(24))
def test_a_cut_sequence_is_the_whole_one_if_no_edge_looks_ahead(seed: int) -> None:
    torch.manual_seed(seed)
    network = GraphRNN(random_graph(seed, negative=False), 2, 3, LSTM if seed % 3 == 0 else "tanh", dtype=F64)
    assert not network.looks_ahead
    x, state = normal(7, 2, 3), start(network, 2)
    with torch.no_grad():
        whole, end = network(x, state, start=1)
        for cut in range(8):
            first, middle = network(x[:cut], state, start=1)
            second, found = network(x[cut:], middle, start=1 + cut)
            close(torch.cat([first, second]), whole)
            close(found, end)


def test_a_cut_sequence_is_another_if_an_edge_looks_ahead() -> None:
    network = build("two ways")
    assert network.looks_ahead
    x = normal(7, 2, 3)
    first, middle = network(x[:4])
    whole = network(x)[0]
    assert largest(torch.cat([first, network(x[4:], middle)[0]]) - whole) > 1e-3


@every_case
def test_layouts_are_transpositions_and_unbatched_is_a_batch_of_one(case: str) -> None:
    network, turned = build(case), build(case, batch_first=True)
    x, state = normal(5, 2, 3), start(network, 2)
    output, end = network(x, state)
    other, other_end = turned(x.transpose(0, 1), state)
    close(other.transpose(0, 1), output)
    close(other_end, end)
    alone, last = network(x[:, 0], each(state, lambda rows: rows[:, 0]))
    close(alone, output[:, 0])
    close(last, each(end, lambda rows: rows[:, 0]))
    nobody = normal(4, 0, 3)
    assert network(nobody)[0].shape == network(nobody, lengths=[])[0].shape == (4, 0, network.output_width)
    assert network(x[:0])[0].shape == (0, 2, network.output_width)
    close(network(x[:0], state)[1], state)
    close(network(x)[0], network(x, network.initial_state(2))[0], 0.0)


@every_case
@pytest.mark.parametrize("is_sorted", [False, True])
def test_a_packed_sequence_is_its_padded_one(case: str, is_sorted: bool) -> None:
    network = build(case)
    lengths = torch.tensor([5, 4, 4, 1] if is_sorted else [4, 1, 5, 4])
    x, state = normal(5, 4, 3), start(network, 4)
    packed = pack_padded_sequence(x, lengths, enforce_sorted=is_sorted)
    output, end = network(packed, state)
    wanted, wanted_end = network(x, state, lengths=lengths)
    assert isinstance(output, PackedSequence) and torch.equal(output.batch_sizes, packed.batch_sizes)
    close(pad_packed_sequence(output)[0], wanted, 0.0)
    close(end, wanted_end, 0.0)


def test_outputs_of_different_times_share_columns_and_silent_rows_are_zero() -> None:
    graph = RNNGraph(
        "three times",
        3,
        {"x": 0, "a": 0, "b": 1},
        (Edge("x", "a", 0), Edge("a", "a", 3), Edge("a", "b", 1), Edge("b", "a", 2)),
        ("x",),
        ("a", "b"),
    )
    network = GraphRNN(graph, {"a": 2, "b": 3}, 1, dtype=F64)
    assert network.output_layout == ({"a": slice(0, 2)}, {"b": slice(0, 3)}, {}) and network.output_width == 3
    output, _ = network(normal(7, 1, 1), start=2)
    is_used = output[:, 0] != 0
    columns = [0, 2, 3, 0, 2, 3, 0]  # times 2, 3, …, 8
    assert is_used.tolist() == [[k < count for k in range(3)] for count in columns]


def test_a_period_that_fills_the_memory_is_refused() -> None:
    graph = RNNGraph("slow", 10**12, {"in": 0, "h": 0}, (Edge("in", "h", 0), Edge("h", "h", 10**12)), ("in",), ("h",))
    with pytest.raises(ValueError, match="has the period 1000000000000; a network has at most 1000000"):
        GraphRNN(graph, 2)


# A torch module.


@every_case
def test_a_state_dict_and_a_copy_restore_the_network(case: str) -> None:
    network, other = build(case), build(case, generator=None)
    x = normal(5, 2, 3)
    wanted = network(x)[0]
    assert not torch.equal(other(x)[0], wanted)
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(x)[0], wanted)
    file = io.BytesIO()
    torch.save(network.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    copies = copy.deepcopy(network), pickle.loads(pickle.dumps(network))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.25)
    assert all(torch.equal(each(x)[0], wanted) for each in (other, *copies)) and not torch.equal(network(x)[0], wanted)


def test_parameters_have_the_names_of_edges_and_nodes() -> None:
    assert list(dict(build("td").named_parameters())) == [
        *("weight.in->h1:0", "weight.h1->h1:1", "weight.h2->h1:1", "weight.h1->h2:0", "weight.h2->h2:1"),
        *("bias.h1", "bias.h2"),
    ]
    shapes = {key: tuple(value.shape) for key, value in build("lstm").state_dict().items()}
    assert shapes["weight.in->h1:0"] == (16, 3) and shapes["bias.h2"] == (24,)  # h2: z, i, o and three forget gates
    assert shapes["weight.h1->h2:3"] == shapes["weight.h1->h2:0"] == (16, 4)  # one of them: its own
    ahead = build("ahead").state_dict()
    assert "weight.in·a->p:0" in ahead and "weight.p->q:-1" in ahead
    graph = RNNGraph("g", 1, {"a.b": 0, "a·b": 0}, (Edge("a.b", "a.b", 1), Edge("a·b", "a·b", 1)), (), ("a.b",), True)
    with pytest.raises(ValueError, match="two edges or nodes have the same name as parameters"):
        GraphRNN(graph, 2)


def test_gates_are_where_they_are_said_to_be() -> None:
    network = build("lstm")
    assert list(network.gates("h2")) == ["cell", "input", "output", "forget h1:0", "forget h1:3", "forget h2:1"]
    with torch.no_grad():
        for node in ("h1", "h2"):
            network.bias[node].zero_()[network.gates(node)["output"]] = -torch.inf
    assert not network(normal(5, 2, 3))[0].any()
    assert network.gates("h1")["forget h1:1"] == slice(12, 16) and list(build("td").gates("h1")) == ["state"]
    with pytest.raises(KeyError, match=r"has no unit .*out.*\. It has: h1, h2"):
        network.gates("out")


def test_initial_weights_are_torchs_and_follow_the_generator() -> None:
    network, again = build("two ways"), build("two ways")
    assert all(map(torch.equal, network.parameters(), again.parameters()))
    large = GraphRNN(get("td"), 50, 2)
    for parameter in large.parameters():
        assert 0.12 < largest(parameter) <= 50**-0.5


@every_case
def test_a_replica_of_data_parallel_computes_the_same(case: str) -> None:
    network = build(case)
    copies = {module: module._replicate_for_data_parallel() for module in network.modules()}
    for module, copied in copies.items():
        for key, child in module._modules.items():
            setattr(copied, key, copies[child])
        for key, parameter in module._parameters.items():
            setattr(copied, key, parameter.clone())
    copied = copies[network]
    assert not list(copied.parameters())
    x = normal(4, 2, 3)
    output, wanted = copied(x)[0], network(x)[0]
    assert torch.equal(output, wanted)
    found, known = (
        torch.autograd.grad(total.square().sum(), list(network.parameters()), allow_unused=True)
        for total in (output, wanted)
    )
    assert all(a is b is None or torch.equal(a, b) for a, b in zip(found, known, strict=True))
    assert any(gradient is not None and gradient.any() for gradient in known)


@every_case
def test_float32_is_close_to_float64_and_bfloat16_is_refused(case: str) -> None:
    network = build(case)
    single = copy.deepcopy(network).float()
    x = normal(8, 2, 3)
    output = single(x.float())[0]
    assert output.dtype == torch.float32
    distance = largest(output.double() - network(x)[0])
    assert 0 < distance < TOLERANCE * (2**-23 / 2**-52)  # the same count of roundings, each larger
    with pytest.raises(TypeError, match=r"input has dtype torch\.float32"):
        network(x.float())
    with pytest.raises(TypeError, match="float32 or float64"):
        copy.deepcopy(network).bfloat16()(x.bfloat16())


@every_case
def test_under_autocast_states_keep_their_digits(case: str) -> None:
    network = build(case).float()
    x, state = normal(8, 2, 3).float(), each(start(network, 2), torch.Tensor.float)
    wanted = network(x, state)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, end = network(x, state)
    assert output.dtype == torch.float32 and 0 < largest(output - wanted) < 0.1
    assert all(rows.dtype == torch.float32 for windows in windows_of(end) for rows in windows.values())
    rounded = copy.deepcopy(network).double()(x.double(), each(state, torch.Tensor.double))[0].float()
    assert largest(rounded - wanted) < 1e-3 * largest(output - wanted)


@pytest.mark.slow
@pytest.mark.parametrize("case", only(CASES, "two ways"))
def test_the_module_compiles_with_its_gradients(case: str) -> None:
    network = build(case)
    x, state = normal(4, 2, 3).requires_grad_(), start(network, 2)
    wanted, wanted_end = network(x, state)
    (gradient,) = torch.autograd.grad(wanted.square().sum(), x)
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    output, end = compiled(x, state)
    close(output, wanted)
    close(end, wanted_end)
    close(torch.autograd.grad(output.square().sum(), x)[0], gradient)


@pytest.mark.parametrize("case", only(CASES, "td", "two ways"))
def test_the_module_exports(case: str) -> None:
    network = build(case)
    x, state = normal(3, 2, 3), start(network, 2)
    exported = torch.export.export(network, (x, state)).module()
    output, end = exported(x, state)
    close(output, network(x, state)[0])
    close(end, network(x, state)[1])


@every_case
def test_the_module_lives_on_the_meta_device_and_says_what_it_is(case: str) -> None:
    graph, unit, options = CASES[case]
    network = build(case, device="meta", generator=None)
    output, _ = network(torch.empty(5, 2, 3, dtype=F64, device="meta"))
    assert output.device.type == "meta" and output.shape == (5, 2, network.output_width)
    shown = repr(network)
    assert graph.name in shown and f"unit='{unit}'" in shown and "hidden_size=4, input_size=3" in shown
    assert all(f"{option}={value!r}" in shown for option, value in options.items())


def test_training_learns() -> None:
    """Recall of the input five steps ago: the skip of five steps does it, the plain graph does not in that time."""
    losses = {}
    for name in ("skip-5", "sh"):
        torch.manual_seed(0)
        network = GraphRNN(get(name), 12, 1, output_size=1)
        optimiser = torch.optim.Adam(network.parameters(), 1e-2)
        generator = torch.Generator().manual_seed(0)
        for _ in range(60):
            x = torch.rand(12, 32, 1, generator=generator)
            loss = (network(x)[0][5:] - x[:-5]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        losses[name] = float(loss.detach())
    assert losses["skip-5"] < 1 / 12 / 4  # a quarter of the variance, the loss of the best constant
    assert losses["sh"] > 2 * losses["skip-5"]


# Refusals.


def test_arguments_that_fit_no_network_are_refused_by_name() -> None:
    td = get("td")
    for arguments, options, error, message in (
        ((td, 0), {}, ValueError, "hidden_size is 0"),
        ((td, {"h1": 3}), {}, ValueError, r"hidden_size names \['h1'\], but the units of .* are \['h1', 'h2'\]"),
        ((td, {"h1": 3, "h2": 1.5}), {}, ValueError, "hidden_size of h2 is 1.5"),
        ((td, 3, 0), {}, ValueError, "input_size is 0"),
        ((td, 3), {"output_size": 0}, ValueError, "output_size is 0"),
        ((td, 3, 1, "gru"), {}, ValueError, "unit is 'gru'"),
        ((td, 3, 1, LSTM), {"carry": "some"}, ValueError, "carry is 'some'"),
        ((td, 3, 1, LSTM), {"forget_reads": "none"}, ValueError, "forget_reads is 'none'"),
        ((td, 3, 1, LSTM), {"cell_output": "relu"}, ValueError, "cell_output is 'relu'"),
        ((td, 3), {"carry": "all"}, ValueError, "are options of unit"),
        ((td, {"h1": 3, "h2": 4}, 1, LSTM), {}, ValueError, "brings a cell state of 4 components to one of 3"),
    ):
        with pytest.raises(error, match=message):
            GraphRNN(*arguments, **options)


@every_case
def test_garbage_is_refused_by_name(case: str) -> None:
    network = build(case)
    x, good = normal(4, 2, 3), start(network, 2)
    for wrong, message in (
        (torch.zeros(4, 2, 4, dtype=F64), "its last axis is 4"),
        (torch.zeros(4, dtype=F64), "input has shape"),
        (x.to("meta"), "input is on meta"),
    ):
        with pytest.raises(ValueError, match=message):
            network(wrong)
    node = next(iter(windows_of(good)[0]))
    with pytest.raises(ValueError, match=rf"of {node} has shape"):
        network(x, each(good, lambda rows: rows[:, :1]))
    with pytest.raises(TypeError, match=rf"of {node} has dtype torch\.float32"):
        network(x, each(good, torch.Tensor.float))
    with pytest.raises(TypeError, match=rf"of {node} is a list"):
        network(x, each(good, torch.Tensor.tolist))
    fewer = tuple(dict(list(windows.items())[1:]) for windows in windows_of(good))
    with pytest.raises(ValueError, match="but the network needs"):
        network(x, fewer if isinstance(good, tuple) else fewer[0])
    with pytest.raises(
        TypeError, match="is a Tensor, but it is" if network.unit.has_cells else "is a Tensor, but it is a"
    ):
        network(x, torch.zeros(1))
    for lengths, error in (([1], ValueError), ([1, 5], ValueError), ([1.0, 2.0], TypeError)):
        with pytest.raises(error, match="lengths"):
            network(x, lengths=lengths)
    for begin in (1.0, True, "0"):
        with pytest.raises(TypeError, match="start is"):
            network(x, start=begin)


# The suite can fail.


def test_a_window_in_the_wrong_order_and_a_wrong_start_are_seen() -> None:
    network = build("clockwork")
    x, state = normal(5, 2, 3), start(network, 2)
    wanted = network(x, state)[0].detach()
    assert largest(network(x, state, start=1)[0] - wanted) > 1e-3
    skip = GraphRNN(get("skip-3"), 4, 3, dtype=F64)
    past = start(skip, 2)
    assert largest(skip(x, past)[0] - skip(x, each(past, lambda rows: rows.flip(0)))[0]) > 1e-3
