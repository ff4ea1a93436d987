"""The network of a graph is what its unfolding says, torch's own are among them, and time may be relabelled."""

from __future__ import annotations

import copy
import itertools
import random
import re
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

from odernn.architecture import Edge, GraphError, GraphRNN, RNNGraph, get, measures_of
from odernn.architecture.network.torch_modules import state_dict_of
from tests.odernn.architecture.graph_network_book import Book, random_graph
from tests.tiers import only, spread, where

F64 = torch.float64
TOLERANCE = 1e-13
"""Times 1 + the largest value. At most 30 steps of sums of at most 20 products, each rounded by ε = 2.2e-16, in two
evaluations: 30 · 20 · 2ε = 2.7e-13 if no error decayed or cancelled. Against the book the runs here reach 2.3e-16."""
LSTM = "multidimensional-lstm"
GRAPHS = 240


@pytest.fixture(autouse=True)
def same_weights_every_time() -> None:
    torch.manual_seed(0)


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def pair(state) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    return state if isinstance(state, tuple) else (state, {})


def like(network, h, c):
    return (h, c) if network.unit.has_cells else h


def random_state(network, batch: int, seed: int = 5):
    """Past values away from zero, in the form that the network takes."""
    filled = [
        {node: 0.7 * normal(*rows.shape, seed=seed + 31 * k + 7 * i) for i, (node, rows) in enumerate(windows.items())}
        for k, windows in enumerate(pair(network.initial_state(batch)))
    ]
    return like(network, *filled)


def random_network(graph: RNNGraph, unit: str, seed: int) -> GraphRNN:
    """Every option of a unit in turn."""
    draw = random.Random(f"{unit} {seed}")
    options = {"output_size": draw.choice([None, 2]), "bias": draw.random() < 0.8}
    if unit == LSTM:
        options |= {"carry": draw.choice(["delayed", "all"]), "forget_reads": draw.choice(["all", "own"])}
        options |= {"cell_output": draw.choice(["tanh", "identity"])}
    generator = torch.Generator().manual_seed(seed)
    return GraphRNN(graph, 2, 3, unit, generator=generator, dtype=F64, **options)


def gap(found, wanted) -> float:
    found = found.detach().numpy() if isinstance(found, torch.Tensor) else found
    assert found.shape == wanted.shape
    return float(np.abs(found - wanted).max(initial=0.0))


def gap_to_the_book(network: GraphRNN, steps: int, start: int) -> float:
    """The largest difference of outputs and last states, against 1 + what is largest, from a random state."""
    x, state = normal(steps, 1, network.input_size), random_state(network, 1)
    with torch.no_grad():
        output, end = network(x, state, start=start)
    past = [{node: rows[:, 0].numpy() for node, rows in windows.items()} for windows in pair(state)]
    book = Book(network, x[:, 0].numpy(), *past, start=start)
    gaps = [gap(output[:, 0], book.output())]
    for known, before, last in zip((book.h, book.c), past, pair(end), strict=True):
        wanted = book.final(known, before)
        assert set(last) == set(wanted)
        gaps += [gap(last[node][:, 0], rows) for node, rows in wanted.items()]
    largest = max(float(np.abs(rows).max(initial=0.0)) for rows in (*book.h.values(), *book.c.values(), np.zeros(1)))
    return max(gaps) / (1.0 + largest)


def traits(network: GraphRNN) -> list[str]:
    graph, parts = network.graph, network.components
    found = {
        "negative σ": any(edge.sigma < 0 for edge in graph.edges),
        "negative σ on a cycle of positive sum": any(part.direction > 0 and part.looks_ahead for part in parts),
        "backward": any(part.direction < 0 for part in parts),
        "m > 1": graph.period > 1,
        "parallel edges": len({edge[:2] for edge in graph.edges}) < len(graph.edges),
        "several times at once": any(part.direction and part.rate[0] < part.rate[1] for part in parts),
        "entered input": any(network.wiring.takes_input(node) for node in graph.nodes),
        "read-out": bool(network.wiring.nodes("reader")),
        "carried from outside": any(
            edge in network.outside[node] for node, edges in network.wiring.carried.items() for edge in edges
        ),
    }
    return [trait for trait, holds in found.items() if holds]


# The unfolding.


@pytest.mark.parametrize("unit", only(["tanh", LSTM], "tanh"))
def test_random_graphs_are_their_unfoldings(unit: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(GRAPHS):
        network = random_network(random_graph(seed), unit, seed)
        steps, start = seed % 8, seed % 5 - 2
        assert gap_to_the_book(network, steps, start) < TOLERANCE, (seed, network)
        seen.update(traits(network))
    rare = ("carried from outside", "negative σ on a cycle of positive sum", "read-out")
    for trait in ("negative σ", "backward", "m > 1", "parallel edges", "several times at once", "entered input"):
        assert seen[trait] > GRAPHS // 8, (trait, seen)
    assert all(seen[trait] >= 5 for trait in rare if unit == LSTM or trait != rare[0]), seen


CATALOGUE = [
    "sh",
    "td",
    "bu",
    "skip-4",
    "4.5(2)-3",
    "4.5(4)-2",
    "figure 1(a)",
    "clockwork(1,2,4)",
    "dilated(1,3)",
    "(3,2)",
]


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("unit", ["tanh", LSTM])
def test_graphs_of_the_catalogue_are_their_unfoldings(name: str, unit: str) -> None:
    network = GraphRNN(get(name), 3, 2, unit, dtype=F64)
    assert gap_to_the_book(network, 13, 3) < TOLERANCE


COUPLED = RNNGraph(
    "coupled",
    1,
    dict.fromkeys(["in", "a", "b", "c", "out"], 0),
    (
        *(Edge(u, v, sigma) for u in "abc" for v in "abc" for sigma in (1, 3)),
        *(Edge("in", "a", 0), Edge("in", "b", 2), Edge("in", "c", 0), Edge("c", "out", 0), Edge("a", "out", 2)),
    ),
    ("in",),
    ("out",),
)


@pytest.mark.parametrize("unit", ["tanh", LSTM])
def test_nodes_that_read_the_same_share_a_product(unit: str) -> None:
    network = GraphRNN(COUPLED, 3, 2, unit, forget_reads="own" if unit == LSTM else "all", dtype=F64)
    (block,) = next(part for part in network.components if part.direction).blocks
    assert block.nodes == ("a", "b", "c") and block.reads == ((0, 1), (0, 3))
    assert gap_to_the_book(network, 9, 0) < TOLERANCE


def test_nodes_that_other_cells_come_to_do_not_share_a_product() -> None:
    """a and b read the same inside, but only to a comes a cell from outside: it has a forget gate more."""
    edges = [Edge(u, v, 1) for u in "ab" for v in "ab"]
    edges += [Edge("p", "p", 1), Edge("p", "a", 2), Edge("p", "b", 0), Edge("p", "p", 2)]
    graph = RNNGraph("fed", 1, dict.fromkeys("pab", 0), tuple(edges), ("p",), ("a", "b"))
    for unit, blocks in (("tanh", [("a", "b")]), (LSTM, [("a",), ("b",)])):
        network = GraphRNN(graph, 3, 2, unit, dtype=F64)
        assert [block.nodes for block in network.components[1].blocks] == blocks
        assert gap_to_the_book(network, 9, 0) < TOLERANCE


def test_nodes_of_different_sizes_share_a_product() -> None:
    network = GraphRNN(COUPLED, {"a": 2, "b": 4, "c": 3}, 2, dtype=F64)
    assert [len(part.blocks[0].nodes) for part in network.components] == [1, 3, 1]
    assert network.weight["b->c:3"].shape == (3, 4) and gap_to_the_book(network, 9, 0) < TOLERANCE


def test_a_wrong_parameter_is_seen_by_the_book() -> None:
    network = GraphRNN(COUPLED, 2, 2, LSTM, dtype=F64)
    wrong, tried = copy.deepcopy(network), 0
    x = normal(6, 1, 2)
    known = Book(network, x[:, 0].numpy()).output()
    for key, parameter in wrong.named_parameters():
        tried += 1
        with torch.no_grad():
            parameter.flatten()[0] += 1e-6
            found = wrong(x)[0][:, 0]
            parameter.copy_(network.get_parameter(key))
        assert gap(found, known) > 100 * TOLERANCE, key
    assert tried == len(COUPLED.edges) - 2 + 3


# Derivatives.


SEVERAL = [(LSTM, seed) for seed in (4, 8, 11)]
"""Half a second each; the LSTM on the graph of seed 1 stays."""


@pytest.mark.parametrize(
    ("unit", "seed"), where(spread(itertools.product(["tanh", LSTM], range(12)), 8), lambda each: each in SEVERAL)
)
def test_gradients_are_those_of_finite_differences(unit: str, seed: int) -> None:
    network = random_network(random_graph(1000 + seed, nodes=3), unit, seed)
    check_gradients(network, steps=4)


@pytest.mark.parametrize("unit", only(["tanh", LSTM], "tanh"))
def test_gradients_of_shared_products_are_those_of_finite_differences(unit: str) -> None:
    check_gradients(GraphRNN(COUPLED, 1, 1, unit, dtype=F64), steps=4)


def check_gradients(network: GraphRNN, steps: int) -> None:
    h, c = pair(random_state(network, 2))
    names = [key for key, _ in network.named_parameters()]

    def run(x, *rest):
        past_h, past_c = dict(zip(h, rest, strict=False)), dict(zip(c, rest[len(h) :], strict=False))
        weights = dict(zip(names, rest[len(h) + len(c) :], strict=True))
        state = like(network, past_h, past_c)
        output, end = torch.func.functional_call(network, weights, (x, state), {"start": 1})
        return output, *(rows for windows in pair(end) for rows in windows.values())

    arguments = [normal(steps, 2, network.input_size), *h.values(), *c.values(), *network.parameters()]
    assert torch.autograd.gradcheck(run, [a.detach().clone().requires_grad_() for a in arguments])


# torch.nn.RNN and torch.nn.LSTM.


def as_gradients(module: nn.RNNBase, network: GraphRNN) -> dict[str, torch.Tensor]:
    """The gradients of the module under the names of the network: both biases have the same, so one is left out."""
    holder = copy.deepcopy(module)
    with torch.no_grad():
        for key, parameter in holder.named_parameters():
            parameter.copy_(0 * parameter if "bias_hh" in key else module.get_parameter(key).grad)
    return state_dict_of(holder, network)


EVERY_MODULE = [
    (kind, layers, bidirectional, bias)
    for kind in (nn.RNN, nn.LSTM)
    for layers in (1, 2, 3)
    for bidirectional in (False, True)
    for bias in (True, False)
]


@pytest.mark.parametrize(("kind", "layers", "bidirectional", "bias"), where(EVERY_MODULE, lambda each: each[1] == 3))
def test_torchs_networks_are_networks_of_graphs(kind, layers, bidirectional, bias) -> None:
    torch.manual_seed(layers)
    module = kind(3, 5, layers, bidirectional=bidirectional, bias=bias, dtype=F64)
    network = GraphRNN.from_torch(module)
    x, other = (normal(30, 4, 3).requires_grad_() for _ in range(2))
    h, c = normal(layers, 4, 5, seed=2), normal(layers, 4, 5, seed=3)
    h, c = (0 * h, 0 * c) if bidirectional else (h, c)  # the reverse direction of a graph starts from zero
    known = torch.cat((h, h)) if bidirectional else h, torch.cat((c, c)) if bidirectional else c
    wanted, last = module(x, known if kind is nn.LSTM else known[0])
    windows = [{f"h{l + 1}": block[l : l + 1] for l in range(layers)} for block in (h, c)]
    output, end = network(other, like(network, *windows))
    assert gap(output, wanted.detach().numpy()) < TOLERANCE
    for block, rows in zip(last if kind is nn.LSTM else (last,), pair(end), strict=False):
        for l in range(layers):
            place = 2 * l if bidirectional else l
            assert gap(rows[f"h{l + 1}"][0], block[place].detach().numpy()) < TOLERANCE
    direction = normal(*wanted.shape, seed=4)
    (wanted * direction).sum().backward()
    (output * direction).sum().backward()
    assert gap(other.grad, x.grad.numpy()) < TOLERANCE * (1 + float(x.grad.abs().max()))
    expected = as_gradients(module, network)
    assert set(expected) == {key for key, _ in network.named_parameters()}
    for key, parameter in network.named_parameters():
        assert gap(parameter.grad, expected[key].numpy()) < TOLERANCE * (1 + float(expected[key].abs().max())), key


@pytest.mark.parametrize(("layers", "bias"), list(itertools.product((1, 2, 3), (True, False))))
def test_an_lstm_with_closed_extra_gates_is_torchs(layers: int, bias: bool) -> None:
    """Appendix B.2: extra matrices 0 and biases −∞ give the usual LSTM, and the gradients of its parameters."""
    torch.manual_seed(layers)
    module = nn.LSTM(3, 5, layers, bias=bias, dtype=F64)
    network = GraphRNN.from_torch(module, carry="all")
    extra = sum(len(edges) for edges in network.wiring.carried.values()) - layers
    assert extra == layers - 1
    x = normal(20, 4, 3)
    wanted = module(x)[0]
    output = network(x)[0]
    assert gap(output, wanted.detach().numpy()) < TOLERANCE
    wanted.square().sum().backward()
    output.square().sum().backward()
    expected = as_gradients(module, network)
    for key, parameter in network.named_parameters():
        if key.startswith("weight"):
            assert gap(parameter.grad, expected[key].numpy()) < TOLERANCE * (1 + float(expected[key].abs().max()))
        elif bias:
            open_gates = torch.isfinite(parameter)
            assert open_gates.sum() == 20 and not parameter.grad[~open_gates].any()
            assert gap(parameter.grad[open_gates], expected[key][open_gates].numpy()) < TOLERANCE * (
                1 + float(parameter.grad.abs().max())
            )


def test_the_printed_cell_output_is_not_torchs() -> None:
    """h = σ(o) c without tanh, as the claim prints it, is another function: the case that is special needs tanh."""
    module = nn.LSTM(3, 5, dtype=F64)
    network = GraphRNN.from_torch(module)
    printed = GraphRNN(network.graph, 5, 3, LSTM, cell_output="identity", dtype=F64)
    printed.load_state_dict(network.state_dict())
    x = normal(20, 4, 3)
    assert gap(printed(x)[0], module(x)[0].detach().numpy()) > 1e-4


def test_forget_gates_that_read_their_own_edge_only_are_not_those_of_a_stacked_lstm() -> None:
    with pytest.raises(ValueError, match="no forget gate of an upper layer reads the layer below"):
        GraphRNN.from_torch(nn.LSTM(3, 5, 2), carry="all", forget_reads="own")
    module = nn.LSTM(3, 5, 1, dtype=F64)
    network = GraphRNN.from_torch(module, carry="all", forget_reads="own")
    x = normal(20, 4, 3)
    assert gap(network(x)[0], module(x)[0].detach().numpy()) < TOLERANCE


def test_two_open_forget_gates_add_cells_up_like_fibonacci() -> None:
    """c(t) = c(t − 1) + c(t − 2) + 1 with gates open and z = tanh(∞): exponential, where the usual LSTM is linear."""
    cells = {}
    for name in ("skip-2", "sh"):
        network = GraphRNN(get(name), 1, 1, LSTM, dtype=F64)
        with torch.no_grad():
            for key, parameter in network.named_parameters():
                parameter.fill_(40.0 if key == "bias.h1" else 0.0)  # σ(40) = tanh(40) = 1 in float64
            cells[name] = [float(network(normal(n, 1, 1))[1][1]["h1"][-1]) for n in range(1, 9)]
    assert cells["skip-2"] == [1, 2, 4, 7, 12, 20, 33, 54] and cells["sh"] == list(range(1, 9))


def test_what_a_graph_cannot_be_is_refused() -> None:
    for module, error, message in (
        (nn.GRU(2, 3), TypeError, "A GRU is no"),
        (nn.RNN(2, 3, nonlinearity="relu"), ValueError, "nonlinearity is 'relu'"),
        (nn.LSTM(2, 3, proj_size=2), ValueError, "proj_size is 2"),
        (nn.LSTM(2, 3, 2, dropout=0.5), ValueError, r"dropout is 0\.5"),
    ):
        with pytest.raises(error, match=message):
            GraphRNN.from_torch(module)


# Time.


def copied(network: GraphRNN, graph: RNNGraph, original) -> GraphRNN:
    """The network of another graph whose edges and nodes have the parameters of the originals."""
    other = GraphRNN(
        graph, network.hidden_size, network.input_size, network.unit_name, bias=network.has_bias, dtype=F64
    )
    weights = network.state_dict()
    other.load_state_dict({key: weights[original(key)] for key in other.state_dict()})
    return other


@pytest.mark.parametrize(("folds", "seed"), list(itertools.product((2, 3), range(10))))
def test_a_cover_with_the_same_weights_is_the_same_network(folds: int, seed: int) -> None:
    """The cover has the same unfolding: node v@t is v at the times t modulo its longer period."""
    graph = random_graph(seed)
    network = GraphRNN(graph, 2, 3, dtype=F64)

    other = copied(network, graph.cover(folds), lambda key: re.sub(r"@\d+", "", key))
    x = normal(11, 2, 3)
    assert gap(other(x, start=4)[0], network(x, start=4)[0].detach().numpy()) < TOLERANCE


@pytest.mark.parametrize("seed", range(12))
def test_retimed_nodes_give_the_same_outputs(seed: int) -> None:
    """σ + r(v) − r(u) on every edge: v at time t + r(v) is what it was at t, negative σ or not.

    Without biases everything before the start is zero in both; the last max r rows would need what comes after the end.
    """
    graph = random_graph(seed, negative=False)
    draw = random.Random(seed)
    r = {node: 0 if graph.role(node) != "hidden" else draw.randint(-3, 3) for node in graph.nodes}
    low = min(r.values())
    retimed = RNNGraph(
        "retimed",
        graph.period,
        {node: (time + r[node]) % graph.period for node, time in graph.nodes.items()},
        tuple(Edge(u, v, sigma + r[v] - r[u]) for u, v, sigma in graph.edges),
        graph.inputs,
        graph.outputs,
        allow_unreachable=True,
    )
    network = GraphRNN(graph, 2, 3, bias=False, dtype=F64)

    def original(key: str) -> str:
        found = re.fullmatch(r"weight\.(v\d)->(v\d):(-?\d+)", key)
        if found is None:
            return key
        u, v, sigma = found.groups()
        return f"weight.{u}->{v}:{int(sigma) - r[v] + r[u]}"

    other = copied(network, retimed, original)
    lead = max(0, -low)  # with r < 0 a node acts before the start: let it, on inputs that are zero
    x = torch.cat((torch.zeros(lead * graph.period, 2, 3, dtype=F64), normal(15, 2, 3)))
    wanted, found = network(x)[0], other(x)[0]
    rows = len(x) - max(r.values())
    assert gap(found[:rows], wanted[:rows].detach().numpy()) < TOLERANCE


def test_every_read_is_of_a_lower_level_and_levels_are_as_many_as_the_recurrent_depth_asks() -> None:
    tried = 0
    for seed in range(100):
        graph = random_graph(seed, nodes=8)
        for part in GraphRNN(graph, 1, 1).components:
            if not part.direction:
                continue
            tried += 1
            for z, block in enumerate(part.blocks):
                for x, sigma in block.reads:
                    assert all(part.level(x, t - sigma) < part.level(z, t) for t in range(-12, 12))
            inner = {node for block in part.blocks for node in block.nodes}
            edges = tuple(e._replace(sigma=part.direction * e.sigma) for e in graph.edges if {e.tail, e.head} <= inner)
            times = {node: part.direction * time % graph.period for node, time in graph.nodes.items() if node in inner}
            depth = measures_of(RNNGraph("part", graph.period, times, edges)).d_r
            spread = part.level(0, 1000 * part.direction) - part.level(0, 0)
            assert abs(spread - 1000 * depth) <= 1
    assert tried > 100


@pytest.mark.parametrize(
    ("name", "products"),
    [
        ("sh", 240),
        ("td", 480),
        ("(3,3)", 720),
        ("skip-21", 240),
        ("dilated(4)", 60),
        ("dilated(4,8)", 90),
        ("stack-3", 720),
    ],
)
def test_products_one_after_the_other_in_240_steps(name: str, products: int) -> None:
    """240 d_r for each component: (3,3) is one of depth 3, stack-3 has three, dilated(4) does 4 steps in a product."""
    network = GraphRNN(get(name), 2, 1)
    orders = [
        part.order([0] * len(part.blocks), [240] * len(part.blocks), 1) for part in network.components if part.direction
    ]
    assert sum(map(len, orders)) == products


def test_a_graph_with_a_wrong_condition_is_named_before_there_is_a_network() -> None:
    with pytest.raises(GraphError, match=r"condition \(3\) fails: the closed walk h -\(0\)-> h has σ-sum 0"):
        GraphRNN(RNNGraph("g", 1, {"h": 0}, (Edge("h", "h", 0),), ("h",), ("h",)), 3)
    with pytest.raises(TypeError, match="graph is a str, not an RNNGraph"):
        GraphRNN("td", 3)
