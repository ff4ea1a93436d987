# Claims: cplx-B.1
"""cplx-B.1: what the printed equation of networks on graphs says, and leaves open.

It names the nodes that v reads, In(v), and one matrix W(u) for each; edges and their σ are not in it.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import networkx
import numpy as np
import torch

from odernn.architecture import catalogue
from odernn.architecture.graph import GraphError, RNNGraph
from odernn.architecture.network import GraphRNN
from odernn.architecture.network.parameters import edge_name, name
from odernn.bounds.numbers import BALLS
from odernn.published.complexity import EQUAL_SIZES
from odernn.published.sources import Source
from verification.cases.graph_kinds import Graphs
from verification.cases.inequality import BITS
from verification.cases.parameter_counts import ROUGHLY_THE_SAME, equal_case
from verification.cases.random_networks import INPUTS, SEEDS, STEPS, UNITS
from verification.cases.related import OneOf
from verification.certify.second import intervals as second
from verification.certify.second.graph import Graph, parse
from verification.claim import BOTH, Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import numbers, rational
from verification.kinds import Integer, Listed, Rational, Values
from verification.measure.graph_facts import GraphFacts, facts_of
from verification.parameters import Parameter, declared

# --- B.1: h_v = tanh(Σ_{u ∈ In(v)} W(u) h_u)

Data: TypeAlias = Callable[[Graph], Hashable]
"""What an equation is printed in terms of."""


def in_sets(graph: Graph) -> Hashable:
    """In(v) of every node v of the cyclic graph."""
    return frozenset((v, frozenset(u for u, head, _ in graph.edges if head == v)) for v in graph.times)


def all_edges(graph: Graph) -> Hashable:
    """The edges with their σ."""
    return frozenset(graph.edges)


LOOPS = (1, 2, 3)
WEIGHTS = {"in": Fraction(1), "h1": Fraction(1, 2)}
IMPULSE = (1, 0, 0, 0)
APART = 1e-9
"""Two floats this far apart nominate a pair of graphs: the order in which edges are summed makes less."""


def _looped() -> Iterator[str]:
    """in -> h1 -> out with loops of h1 of every choice of σ ≤ 3, each in both orders of its edges; as JSON."""
    for count in range(1, len(LOOPS) + 1):
        for chosen in itertools.combinations(LOOPS, count):
            edges = [["in", "h1", 0], *(["h1", "h1", sigma] for sigma in chosen), ["h1", "out", 0]]
            for order in (edges, edges[::-1]):
                yield json.dumps(
                    {
                        "period": 1,
                        "nodes": {"in": 0, "h1": 0, "out": 0},
                        "inputs": ["in"],
                        "outputs": ["out"],
                        "edges": order,
                    }
                )


def _is_multigraph(graph: Graph) -> bool:
    pairs = [(u, v) for u, v, _ in graph.edges]
    return len(set(pairs)) < len(pairs)


def unfolded_value(
    graph: Graph, node: str, time: int, W: Mapping[str, Any], x: Sequence[Any], tanh: Any, *, fades: bool = False
) -> Any:
    """h_v(t) over the edges of the unfolding, each with the matrix W(u) of its tail; 0 before the first input.

    ``fades``: one matrix an edge, W(u)/2^σ.
    """
    if node in graph.inputs:
        return x[time] if 0 <= time < len(x) else 0 * x[0]
    total = 0 * x[0]
    for u, v, sigma in graph.edges:
        if v == node and time >= sigma:
            value = W[u] * unfolded_value(graph, u, time - sigma, W, x, tanh, fades=fades)
            total = total + (value / 2**sigma if fades and sigma > 0 else value * 2**-sigma if fades else value)
    return tanh(total)


def unfolded_expression(graph: Graph, node: str, time: int, *, fades: bool) -> str:
    """h_v(t) as written out over the edges: sums of the same terms are one text, in whatever order they are added."""
    if node in graph.inputs:
        return f"x({time})"
    reads = [(u, sigma) for u, v, sigma in graph.edges if v == node and time >= sigma]
    terms = [
        f"W({u}{f', {sigma}' * fades}) {unfolded_expression(graph, u, time - sigma, fades=fades)}" for u, sigma in reads
    ]
    return f"tanh({' + '.join(sorted(terms))})"


def swept_expressions(graph: RNNGraph, last: int, *, fades: bool) -> dict[tuple[int, str], str]:
    """The same for all nodes at once, in a topological order of the library's unfolding."""
    unfolding = graph.unfolding(0, last + 1)
    written: dict[tuple[int, str], str] = {}
    for time, node in networkx.topological_sort(unfolding):
        if node in graph.inputs:
            written[time, node] = f"x({time})"
            continue
        reads = unfolding.predecessors((time, node))
        terms = [f"W({u}{f', {time - before}' * fades}) {written[before, u]}" for before, u in reads]
        written[time, node] = f"tanh({' + '.join(sorted(terms))})"
    return written


def swept_values(
    graph: RNNGraph, last: int, W: Mapping[str, Any], x: Sequence[Any], *, fades: bool = False
) -> dict[tuple[int, str], Any]:
    """The same in balls, for all nodes at once, in a topological order of the library's unfolding."""
    unfolding = graph.unfolding(0, last + 1)
    values: dict[tuple[int, str], Any] = {}
    for time, node in networkx.topological_sort(unfolding):
        if node in graph.inputs:
            values[time, node] = BALLS.exact(x[time]) if time < len(x) else BALLS.exact(0)
            continue
        reads = [
            BALLS.exact(W[u] * Fraction(1, 2) ** ((time - before) * fades)) * values[before, u]
            for before, u in unfolding.predecessors((time, node))
        ]
        values[time, node] = BALLS.tanh(sum(reads, start=BALLS.exact(0)))
    return values


LARGEST = 1000


class LoopedGraphs(Graphs):
    """Small graphs; those that are drawn are the looped ones of the search."""

    def draw(self, rng: random.Random, values: Values) -> Graph:
        return self.read(rng.choice(tuple(_looped())), values)


def determined_case(
    domain: str, data: Data, quantity: str = "h_v determined by In and W", *, fades: bool = False
) -> Case:
    """Two networks that agree in the data of the equation, and in W, have the same hidden states.

    W(u) is one matrix a node; with ``fades`` there is one an edge.
    """
    times = range(len(IMPULSE))

    def differing(one: Graph, other: Graph) -> int | None:
        values = [
            [unfolded_value(graph, "h1", t, WEIGHTS, list(map(float, IMPULSE)), math.tanh, fades=fades) for t in times]
            for graph in (one, other)
        ]
        return next((t for t in times if abs(values[0][t] - values[1][t]) > APART), None)

    def is_one_expression(texts: Sequence[str]) -> bool:
        """By both back-ends, at every time. ArithmeticError if they do not write the same."""
        known = []
        for text in texts:
            facts = facts_of(text)
            assert facts is not None
            swept = swept_expressions(_without_outputs(facts.graph), times[-1], fades=fades)
            known.append([swept[t, "h1"] for t in times])
            if known[-1] != [unfolded_expression(parse(text), "h1", t, fades=fades) for t in times]:
                raise ArithmeticError(f"{text}: h1 is written in two ways")
        return known[0] == known[1]

    def ask(_: Budget, __: int) -> Attempt:
        candidates, compared, same = [], 0, 0
        for one, other in itertools.combinations(_looped(), 2):
            graphs = parse(one), parse(other)
            if data(graphs[0]) != data(graphs[1]) or not any(map(_is_multigraph, graphs)):
                continue
            compared += 1
            same += is_one_expression((one, other))
            if (time := differing(*graphs)) is not None:
                point = {
                    "graph": one,
                    "other": other,
                    "node": "h1",
                    "time": str(time),
                    "x": " ".join(map(str, IMPULSE)),
                }
                candidates.append(point | {f"W({u})": rational(value) for u, value in WEIGHTS.items()})
        text = (
            f"{compared} pairs of graphs with loops of h1 of σ ≤ {max(LOOPS)}, one with parallel edges, x = 1, 0, 0, 0"
        )
        shown = f"{len(candidates)} pairs have other hidden states"
        proof = (
            f"{text}: each pair is one expression in W and x, written out over the edges" if same == compared else ""
        )
        return Attempt(
            text, compared, found=shown, claimed="none", candidates=tuple(candidates), proof=proof, twice=BOTH
        )

    def check(parameters: Parameters) -> Check:
        return _two_networks(parameters, data, fades)

    value = Rational(least=-LARGEST, most=LARGEST)
    parameters = declared(
        *(Parameter(name, LoopedGraphs(6, 12, 2, 8)) for name in ("graph", "other")),
        Parameter("node", OneOf(lambda values: sorted(values["graph"].times))),
        Parameter("x", Listed(value, (1, 8))),
        Parameter("time", Integer(0, 7)),
        *(Parameter(f"W({u})", value) for u in WEIGHTS),
    )
    return Case(domain, quantity, ask, parameters.guards(check))


def _two_networks(parameters: Parameters, data: Data, fades: bool) -> Check:
    """The hidden states of the node at the time in both graphs, by both back-ends."""
    texts = [parameters[key] for key in ("graph", "other")]
    node, time, x = parameters["node"], int(parameters["time"]), numbers(parameters, "x")
    W = {key[2:-1]: Fraction(value) for key, value in parameters.items() if key.startswith("W(")}
    graphs, facts = [parse(text) for text in texts], [_facts(text) for text in texts]
    read = {u for graph in graphs for u, v, _ in graph.edges if v not in graph.outputs}
    inside = all(node in graph.times and node not in graph.outputs for graph in graphs) and 0 <= time < len(x)
    premises = tuple(
        Premise(text, str(int(holds)), holds)
        for text, holds in (
            ("both graphs satisfy (1) to (3), with period 1", None not in facts and {g.period for g in graphs} == {1}),
            ("what the equation is printed in is the same in both", data(graphs[0]) == data(graphs[1])),
            ("W(u) for every u that is read", read <= set(W)),
            ("a hidden node, at a time of the input", inside),
        )
    )
    if not all(premise.holds for premise in premises):
        return Check((), premises)
    with flint.ctx.workprec(BITS):
        swept = [
            swept_values(_without_outputs(fact.graph), time, W, x, fades=fades)[time, node] for fact in facts if fact
        ]
        first = abs(swept[0] - swept[1]) > 0
        shown = [value.str(8, radius=False) for value in swept]
    with second.iv.workprec(BITS):
        weights = {u: second.number(str(value)) for u, value in W.items()}
        inputs = [second.number(str(value)) for value in x]
        again = [unfolded_value(graph, node, time, weights, inputs, second.tanh, fades=fades) for graph in graphs]
        apart = bool(again[0].a > again[1].b or again[1].a > again[0].b)
        shown_again = [f"{float(value.mid):.8g}" for value in again]
    return Check(
        opinions=(
            Opinion("balls", bool(first), " against ".join(shown)),
            Opinion("mpmath", apart, " against ".join(shown_again)),
        ),
        premises=premises,
        words=f"{node} at t = {time} is {shown[0]} with the edges {_edges(graphs[0])} and {shown[1]} with "
        f"{_edges(graphs[1])}, W = {', '.join(f'{u}: {value}' for u, value in W.items())}"
        f"{' over 2^σ' * fades}, x = {parameters['x']}",
    )


def _facts(text: str) -> GraphFacts | None:
    """What the library knows of the graph; None if it is no graph of Definition 2.1 from its input to its output."""
    try:
        return facts_of(text)
    except GraphError:
        return None


def _without_outputs(graph: RNNGraph) -> RNNGraph:
    """Read-outs have no matrix here."""
    nodes = {node: time for node, time in graph.nodes.items() if node not in graph.outputs}
    edges = tuple(edge for edge in graph.edges if edge.head in nodes and edge.tail in nodes)
    return RNNGraph(graph.name, graph.period, nodes, edges, graph.inputs, ())


def _edges(graph: Graph) -> str:
    return ", ".join(f"{u}->{v}:{sigma}" for u, v, sigma in graph.edges if v not in graph.outputs)


GRAPHS = ("skip-2", "skip-3", "bu", "td", "4.5(2)-3", "4.5(3)-3", "4.5(4)-3", "clockwork(1,2,4)", "figure 1(a)")


def edges_case(graphs: Sequence[str] = GRAPHS, change: Callable[[GraphRNN], None] | None = None) -> Case:
    """With a matrix for every edge: GraphRNN is tanh(Σ_e W_e h_u + b) on the unfolding, node by node.

    ``change`` may spoil the network after its weights were read: for tests of this check.
    """

    def ask(budget: Budget, seed: int) -> Attempt:
        worst, tolerance, compared = 0.0, math.inf, 0
        for graph, number in itertools.product(map(catalogue.get, graphs), range(SEEDS[budget.name])):
            generator = torch.Generator().manual_seed((seed * 10_007 + number) % 2**63)
            network = GraphRNN(graph, UNITS, INPUTS, dtype=torch.float64, generator=generator)
            _contract(network)
            x = 2 * torch.rand(STEPS, 1, INPUTS, dtype=torch.float64, generator=generator) - 1
            expected = direct(network, x[:, 0].numpy())
            if change is not None:
                change(network)
            with torch.no_grad():
                node_values = network.node_values(x)
            for node, time in expected:
                if network.wiring.kinds[node] == "unit":
                    gap = np.abs(node_values[node][time][0][0].numpy() - expected[node, time]).max()
                    worst, compared = max(worst, float(gap)), compared + 1
            tolerance = min(tolerance, _rounding(graph))
        return Attempt(
            f"{compared} values of units of {len(graphs)} graphs over {STEPS} steps, float64",
            compared,
            log_measured=math.log(max(worst, 5e-324)),
            log_claimed=math.log(tolerance),
            found=f"apart by at most {worst:.2g}",
            claimed=f"at most {tolerance:.2g}, which rounding may make",
        )

    return Case("one matrix an edge", "GraphRNN against its unfolding", ask)


def _contract(network: GraphRNN) -> None:
    """Scale the matrices so that no row sum of |W_e| over all edges into a node exceeds 1: errors then add up only."""
    with torch.no_grad():
        for node in network.wiring.nodes("unit"):
            matrices = [network.weight[edge_name(edge)] for edge in network.wiring.into[node]]
            largest = float(sum(matrix.abs().sum(1) for matrix in matrices).max())
            for matrix in matrices:
                matrix /= max(largest, 1.0)


def _rounding(graph: RNNGraph) -> float:
    """What rounding in both may make: on the longest path each unit adds an inner product and a tanh of rounding.

    The sum of a row has magnitude ≤ 2 with |x|, |h|, |b| ≤ 1, and up to K n + 2 terms; tanh is taken to 4 ulp.
    """
    longest = networkx.dag_longest_path_length(graph.unfolding(0, STEPS))
    terms = max(len([e for e in graph.edges if e.head == v]) for v in graph.nodes) * max(UNITS, INPUTS) + 2
    return float(2 * (longest + 1) * (2 * terms + 4) * np.finfo(np.float64).eps)


def direct(network: GraphRNN, x: Any) -> dict[tuple[str, int], Any]:
    """h_v(t) of every node by the equation, in numpy; values outside of the window are zero."""
    graph, values = network.graph, {}
    weights = {
        edge: network.weight[edge_name(edge)].detach().numpy()
        for edge in graph.edges
        if network.wiring.kinds[edge.head] == "unit"
    }
    for time, node in networkx.topological_sort(graph.unfolding(0, len(x))):
        if network.wiring.kinds[node] == "source":
            values[node, time] = x[time]
        elif network.wiring.kinds[node] == "unit":
            total = network.bias[name(node)].detach().numpy().copy()
            for edge in graph.edges:
                if edge.head == node and time - edge.sigma in range(len(x)):
                    total += weights[edge] @ values[edge.tail, time - edge.sigma]
            values[node, time] = np.tanh(total)
    return values


def _place(place: str) -> Source:
    return Source("complexity", place)


CLAIMS = (
    Claim(
        id="cplx-B.1",
        source=_place("App. B.1"),
        statement="h_v = tanh(Σ_{u ∈ In(v)} W(u) h_u), In(v) the incoming nodes of v in the unfolding, that is with "
        "one matrix for each edge of the cyclic graph into v: this defines h_v",
        semantics="reading",
        cases=(
            determined_case("one matrix an edge", all_edges, "h_v determined by the edges and W", fades=True),
            determined_case("In(v) a set of nodes", in_sets),
            equal_case(EQUAL_SIZES[0], "tanh", "tanh, by node", ROUGHLY_THE_SAME),
            edges_case(),
        ),
    ),
)
