"""The probe gives back the graph that a network was built from, for every network whose graph is known otherwise."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from odernn import cells, tableaus
from odernn.architecture import (
    GraphRNN,
    ProbeError,
    RNNGraph,
    StepForm,
    get,
    graph_of,
    graph_of_step,
    shortest_paths,
)
from odernn.architecture.catalogue import stack, stacked_lstm, unicornn
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.cells.arnn_1_2 import ARNN12
from odernn.cells.arnn_2_2 import ARNN22
from odernn.cells.clockwork import ClockworkRNN
from odernn.cells.cornn import CoRNN
from odernn.cells.damped_unicornn import DampedUnICORNN
from odernn.cells.exprnn import ExpRNN
from odernn.cells.indrnn import IndRNN
from odernn.cells.integrator import IntegratorRNN
from odernn.cells.lem import LEM
from odernn.cells.linoss import LinOSS
from odernn.cells.lipschitz import LipschitzRNN
from odernn.cells.odernn import ODERNN
from odernn.cells.odernn.realisations import as_odernn
from odernn.cells.qunn import QUNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.unicornn import UnICORNN
from odernn.cells.urnn import URNN
from odernn.fields.antisymmetric import Antisymmetric
from tests.odernn.architecture.probed import edges, same_as, values
from tests.tiers import only, spread

TORCH = (nn.RNN, nn.GRU, nn.LSTM)


# torch's own networks.


@pytest.mark.parametrize("kind", TORCH)
@pytest.mark.parametrize("layers", only([1, 2, 4], 1, 2))
def test_layers_of_torch_are_the_stack_of_the_catalogue(kind: type[nn.RNNBase], layers: int) -> None:
    same_as(kind(3, 5, layers), stack(layers))
    same_as(kind(3, 5, layers, batch_first=True, bias=False, dtype=torch.float32), stacked_lstm(layers))


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_cell_of_torch_is_the_plain_network(kind: type[nn.RNNCellBase]) -> None:
    same_as(kind(2, 3), get("sh"))


def test_a_projection_and_dropout_change_no_reading() -> None:
    same_as(nn.LSTM(2, 4, 2, proj_size=3, dropout=0.5), stack(2))


@pytest.mark.parametrize("size", [1, 8, 9])
def test_relu_and_sizes_that_equal_the_number_of_points(size: int) -> None:
    torch.manual_seed(size)
    same_as(nn.RNN(size, size, 2, nonlinearity="relu"), stack(2), points=9)
    same_as(nn.LSTM(size, size, 2), stack(2), points=8)


@pytest.mark.parametrize("seed", range(8))
def test_single_units_of_relu_that_are_silent_at_many_points(seed: int) -> None:
    torch.manual_seed(seed)
    same_as(nn.RNN(1, 1, 3, nonlinearity="relu"), stack(3), seed=seed)


def test_the_blocks_of_an_lstm() -> None:
    """c(t) reads h and c at t − 1; h(t) reads h at t − 1 by its gates, and c(t): two edges a step."""
    found = graph_of(nn.LSTM(2, 3), nodes="blocks")
    assert edges(found) == {
        ("in", "h1", 0),
        ("in", "c1", 0),
        ("h1", "h1", 1),
        ("h1", "c1", 1),
        ("c1", "c1", 1),
        ("c1", "h1", 0),
        ("h1", "out", 0),
    }
    assert values(found) == (2, 3, 1)


@pytest.mark.parametrize("kind", TORCH)
def test_both_directions_are_refused_with_the_condition(kind: type[nn.RNNBase]) -> None:
    with pytest.raises(ProbeError, match=r"bidirectional.*condition \(U\) fails"):
        graph_of(kind(2, 3, bidirectional=True))


# The cells of this library.


def antisymmetric(size: int = 3) -> Antisymmetric:
    return Antisymmetric.random(size, gamma=0.1, generator=torch.Generator().manual_seed(0))


MIDPOINT = tableaus.get("implicit midpoint")
LIPSCHITZ = {"dt": 0.1, "beta_a": 0.7, "gamma_a": 0.1, "beta_w": 0.7, "gamma_w": 0.1}

STACKS: Mapping[str, nn.Module] = {
    "unicornn": UnICORNN(2, 3, 2, dt=0.1, alpha=1.0, multiscale=False, dropout=0.3),
    "cornn": CoRNN(2, 3, 2, dt=0.1, gamma=1.0, epsilon=1.0),
    "cornn implicit": CoRNN(2, 3, 2, dt=0.1, gamma=1.0, epsilon=1.0, damping="implicit", execution="cpu"),
    "scornn": ScoRNN(2, 4, 2, rho=2, learn_initial_state=True),
    "antisymmetric": AntisymmetricRNN(2, 3, 2, dt=0.1, gamma=0.1),
    "antisymmetric gated": AntisymmetricRNN(2, 3, 2, dt=0.1, gamma=0.1, gated=True),
    "arnn_1_2": ARNN12(2, 3, 2, dt=0.1, batch_first=True),
    "arnn_2_2": ARNN22(2, 3, 2, dt=0.1, scheme="forward_euler"),
    "arnn_2_2 midpoint": ARNN22(2, 3, 2, dt=0.1, scheme="explicit_midpoint"),
    "damped_unicornn": DampedUnICORNN(2, 3, 2, dt=0.1, alpha=1.0, gamma=0.5),
    "exprnn": ExpRNN(2, 3, 2, learn_initial_state=True),
    "indrnn": IndRNN(2, 3, 2),
    "integrator": IntegratorRNN(antisymmetric(), MIDPOINT, 0.1, input_size=2, num_layers=2),
    "lem": LEM(2, 3, 2),
    "linoss": LinOSS(2, 3, 2, dt=0.5),
    "linoss im, parallel": LinOSS(2, 3, 2, dt=0.5, scheme="im", execution="parallel"),
    "lipschitz": LipschitzRNN(2, 3, 2, **LIPSCHITZ),
    "lipschitz midpoint": LipschitzRNN(2, 3, 2, **LIPSCHITZ, method="midpoint"),
    "odernn": ODERNN(1, 2, 2, tableau=MIDPOINT, blocks=2),
    "odernn readout": ODERNN(2, 3, 2, tableau=tableaus.get("kutta 3/8"), readout=True, learn_coefficients=True),
    "urnn": URNN(2, 3, 2, capacity="restricted"),
    "urnn full": URNN(2, 3, 2, capacity="full", learn_initial_state=True),
    "as_odernn": as_odernn(nn.LSTM(2, 3, 2)),
    "as_odernn constant": as_odernn(nn.GRU(2, 3, 2), "constant"),
}


@pytest.mark.parametrize("name", spread(STACKS, 8))
def test_a_cell_of_the_library_is_a_stack_of_layers(name: str) -> None:
    same_as(STACKS[name], stack(2))


def test_every_cell_was_probed() -> None:
    """Two have steps that depend on the time, and tests of their own: the clockwork network and QUNN."""
    assert set(cells.names()) <= {name.split()[0] for name in STACKS} | {"clockwork", "qunn"}


def test_a_step_that_depends_on_the_time_is_no_step_at_time_0() -> None:
    """At time 0 every group of a clockwork network acts: the graph of that one step would have s = 1."""
    same = graph_of(ClockworkRNN(2, 4, periods=(1, 2)))
    assert values(same) == values(get("clockwork(1,2)")) == (1, 2, 2)
    with pytest.raises(ProbeError, match=r"the step of a QUNN depends on the time.*graph_of_step"):
        graph_of(QUNN(2, block_length=4, start=1))


@pytest.mark.parametrize("layers", [1, 3])
def test_leapfrog_reads_two_steps_back(layers: int) -> None:
    """y_n reads y_{n−1} and y_{n−2}: the state ``previous`` repeats y and is no node."""
    found = graph_of(ARNN22(2, 3, layers, dt=0.1))
    assert edges(found) == edges(stack(layers)) | {(f"h{l}", f"h{l}", 2) for l in range(1, layers + 1)}
    assert values(found) == (1, layers + 1, 2)
    assert graph_of(ARNN22(2, 3, dt=0.1), nodes="blocks").hidden == ("y1",)


@pytest.mark.slow
def test_linear_inputs_are_read_twice() -> None:
    network = IntegratorRNN(antisymmetric(), MIDPOINT, 0.1, input_size=2, num_layers=2, inputs="linear")
    assert edges(graph_of(network)) == edges(stack(2)) | {("in", "h1", 1), ("h1", "h2", 1)}
    given = IntegratorRNN(antisymmetric(), MIDPOINT, 0.1, input_size=2, inputs="given")
    same_as(given, stack(1))


def network_of_unicornn(layers: int, **options: Any) -> UnICORNN:
    return UnICORNN(2, 3, layers, dt=0.1, alpha=1.0, generator=torch.Generator().manual_seed(1), **options)


def test_stacks_of_unicornn_are_those_of_the_catalogue() -> None:
    same_as(network_of_unicornn(3), unicornn(3))
    same_as(network_of_unicornn(5, residual_skip=2), unicornn(5, skip=2))
    same_as(network_of_unicornn(3, index="sam"), unicornn(3, convention="sam"))
    same_as(network_of_unicornn(3), unicornn(3, states=True), nodes="blocks")
    same_as(network_of_unicornn(3, execution="cpu", backward="reversible"), unicornn(3, states=True), nodes="blocks")


def test_without_the_edge_from_the_input_that_edge_is_missing() -> None:
    found = graph_of(network_of_unicornn(4, residual_skip=2, skip_input=False))
    assert edges(found) == edges(unicornn(4, skip=2)) - {("in", "h3", 0)}


def test_neurons_of_unicornn_read_no_other_of_their_layer() -> None:
    found = edges(graph_of(network_of_unicornn(2), nodes="units"))
    assert {edge for edge in found if edge[2] == 1} == {
        (f"h{l}[{k}]", f"h{l}[{k}]", 1) for l in (1, 2) for k in range(3)
    }
    assert {edge for edge in found if edge[2] == 0} == {
        *((f"in[{k}]", f"h1[{l}]", 0) for k in range(2) for l in range(3)),
        *((f"h1[{k}]", f"h2[{l}]", 0) for k in range(3) for l in range(3)),
        *((f"h2[{k}]", "out", 0) for k in range(3)),
    }


def test_neurons_of_a_plain_layer_read_all_of_it() -> None:
    found = edges(graph_of(nn.RNN(1, 3), nodes="units"))
    assert {edge for edge in found if edge[2] == 1} == {(f"h1[{k}]", f"h1[{l}]", 1) for k in range(3) for l in range(3)}


# Networks built from a graph.

BUILT = [
    "sh",
    "st",
    "bu",
    "td",
    "(2,2)",
    "(4,1)",
    "skip-3",
    "4.5(2)-2",
    "4.5(3)-2",
    "4.5(4)-2",
    "dilated(1,2)",
    "clockwork(1,2)",
    "unicornn residual-3-2",
]


@pytest.mark.parametrize("name", spread(BUILT, 7))
def test_the_network_of_a_graph_gives_back_the_graph(name: str) -> None:
    graph = get(name)
    network = GraphRNN(graph, hidden_size=2, input_size=2)
    steps = max(edge.sigma for edge in graph.edges) + 2 * graph.period
    same_as(network, graph, example=torch.zeros(steps, 1, 2), period=graph.period)


def test_so_does_one_with_cells() -> None:
    graph = get("td")
    same_as(GraphRNN(graph, 2, 2, "multidimensional-lstm"), graph, example=torch.zeros(3, 1, 2))


def test_figure_1a_comes_back_with_other_names_for_its_ends() -> None:
    graph = get("figure 1(a)")
    found = graph_of(GraphRNN(graph, 2, 1), example=torch.zeros(6, 1, 1), period=2)
    names = {"1": "in@0", "5": "in@1", "4": "out@0", "8": "out@1"}
    assert edges(found) == {(names.get(u, u), names.get(v, v), s) for u, v, s in edges(graph)}
    assert values(found) == values(graph)


# Steps that are given as a function, from random graphs.


def random_graph(seed: int) -> RNNGraph:
    """Nodes v0 … with an input and an output; σ from 0 (only from a lower to a higher number) to 3; period 1 … 3."""
    chance = random.Random(seed)
    period, count = chance.randint(1, 3), chance.randint(1, 4)
    times = {f"v{k}": chance.randrange(period) for k in range(count)}
    found = set()
    for _ in range(2 * count + 1):
        u, v = chance.randrange(count), chance.randrange(count)
        sigma = chance.randint(0 if u < v else 1, 3)
        found.add((f"v{u}", f"v{v}", sigma + (times[f"v{v}"] - times[f"v{u}"] - sigma) % period))
    found.add(("v0", "v0", period))
    ends = {f"{end}@{r}": r for end in ("in", "out") for r in range(period)}
    found |= {(f"in@{r}", node, (time - r) % period) for r in range(period) for node, time in times.items()}
    found |= {(node, f"out@{r}", (r - time) % period) for r in range(period) for node, time in times.items()}
    inputs, outputs = ([end for end in ends if end.startswith(kind)] for kind in ("in", "out"))
    return RNNGraph(f"random {seed}", period, times | ends, tuple(found), inputs, outputs)


def step_of(graph: RNNGraph, size: int = 2) -> StepForm:
    """h_v = tanh(Σ_e W_e h_u(t − σ)) at the times of v, and what it was before at others."""
    generator = torch.Generator().manual_seed(0)
    weights = {edge: torch.randn(size, size, dtype=torch.float64, generator=generator) for edge in graph.edges}
    hidden = sorted(graph.hidden)

    def step(inputs: Mapping[int, Tensor], states: Mapping[str, Mapping[int, Tensor]], time: int) -> dict[str, Tensor]:
        now: dict[str, Tensor] = {}

        def total(head: str) -> Tensor:
            terms = []
            for edge in graph.edges:
                if edge.head == head:
                    past = inputs if edge.tail in graph.inputs else states[edge.tail]
                    value = now[edge.tail] if edge.sigma == 0 and edge.tail in now else past[edge.sigma]
                    terms.append(value @ weights[edge].T)
            return torch.tanh(torch.stack(terms).sum(0))

        for node in hidden:
            now[node] = total(node) if time == graph.nodes[node] else states[node][1].clone()
        return {**now, "out": total(f"out@{time}")}

    largest = max(edge.sigma for edge in graph.edges)
    return StepForm(step, size, dict.fromkeys(hidden, size), max(1, largest), largest, graph.period)


def asked(form: StepForm, **options: Any) -> RNNGraph:
    return graph_of_step(
        form.step,
        form.state_sizes,
        input_size=form.input_size,
        delay=form.delay,
        input_delay=form.input_delay,
        period=form.period,
        **options,
    )


def as_named(graph: RNNGraph) -> set[tuple[str, str, int]]:
    """With the probe's names: no time for period 1, the time of the node otherwise."""

    def name(node: str) -> str:
        plain = node.split("@")[0]
        return plain if graph.period == 1 else f"{plain}@{graph.nodes[node]}"

    return {(name(u), name(v), s) for u, v, s in edges(graph)}


@pytest.mark.parametrize("seed", spread(range(16), 6))
def test_the_step_of_a_random_graph_gives_back_the_graph(seed: int) -> None:
    graph = random_graph(seed)
    found = asked(step_of(graph))
    assert edges(found) == as_named(graph) and values(found) == values(graph)


@pytest.mark.parametrize("seed", only(range(8), 1, 2, 3, 6))
def test_an_edge_taken_out_or_delayed_is_seen(seed: int) -> None:
    graph = random_graph(seed)
    chance = random.Random(seed)
    edge = chance.choice([e for e in graph.edges if e.head in graph.hidden and e.tail in graph.hidden])
    kept = tuple(other for other in graph.edges if other != edge)
    delayed = edge._replace(sigma=edge.sigma + graph.period)
    for others in (kept, (*kept, delayed) if delayed not in kept else kept):
        planted = (
            RNNGraph("planted", graph.period, graph.nodes, others, graph.inputs, graph.outputs)
            if any(e.tail == e.head for e in others)
            else None
        )
        if planted is not None:
            assert edges(asked(step_of(planted))) == as_named(planted) != as_named(graph)


# An oracle: the derivatives of the network's own run through a sequence.


@pytest.mark.parametrize(
    "network",
    [
        nn.LSTM(1, 2, 2),
        network_of_unicornn(3, residual_skip=2),
        network_of_unicornn(2, index="sam"),
        STACKS["cornn"],
        ARNN22(2, 3, 2, dt=0.1),
    ],
    ids=lambda module: type(module).__name__,
)
def test_derivatives_of_a_run_are_the_walks_of_the_graph(network: nn.Module) -> None:
    """∂out(t)/∂in(t') is zero in every entry iff no walk leads from the input to the output with σ-sum t − t'."""
    module = copy.deepcopy(network).double()
    for parameter in module.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    steps = 6
    u = torch.randn(steps, 1, module.input_size, dtype=torch.float64, requires_grad=True)
    output = module(u)[0]
    graph = graph_of(network)
    reached = shortest_paths(graph, 0, steps, between=True)
    for t in range(steps):
        (slopes,) = torch.autograd.grad(output[t].sum(), u, retain_graph=True)
        for before in range(steps):
            assert bool(slopes[before].any()) == (t - before in reached), (t, before)
