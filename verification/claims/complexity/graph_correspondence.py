# Claims: cplx-2-corr
"""cplx-2-corr: do a cyclic graph and its unfolding determine each other?

The source writes a node of G_un as (t, p) and a period as the least shift of time that maps G_un on itself. So here a
node has a time and a label p, by which two nodes of one time differ.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from odernn.published.sources import Source
from verification.cases.graph_kinds import Cover, LabelsOf, NodeImages, TimeOf
from verification.cases.graph_statements import EVERY, AtGraph, GraphStatement, Side, box_case, free_case
from verification.certify.second.graph import Graph, parse
from verification.claim import Claim, Hypothesis, Parameters
from verification.measure.graph_facts import GraphFacts, facts_of
from verification.parameters import Parameter, declared

# --- with labels, and m least

LABELS = declared(Parameter("labels", LabelsOf()))
FEW = 8
"""Choices of labels of one graph, in a search."""


def label_places(facts: GraphFacts) -> Iterator[Parameters]:
    """All labels different; and 0, 1, … at each time in several orders, so that times may look alike."""
    nodes = facts.graph.nodes
    yield {"labels": " ".join(map(str, range(len(nodes))))}
    by_time = [[v for v in nodes if nodes[v] == t] for t in sorted(set(nodes.values()))]
    orders = itertools.product(*(itertools.permutations(range(len(group))) for group in by_time))
    for order in itertools.islice(orders, FEW):
        label = {v: p for group, ranks in zip(by_time, order, strict=True) for v, p in zip(group, ranks, strict=True)}
        yield {"labels": " ".join(str(label[v]) for v in nodes)}


def _labels(names: Any, parameters: Parameters) -> dict[str, int]:
    return dict(zip(names, map(int, parameters["labels"].split()), strict=True))


class LabelledWindow:
    """The labelled unfolding at 4m times, one after the other, by the library: no node of G_c is looked at."""

    def __init__(self, facts: GraphFacts, parameters: Parameters) -> None:
        label = _labels(facts.graph.nodes, parameters)
        labelled = {
            one: (frozenset(label[v] for v in one.nodes), frozenset((label[u], label[v], s) for u, v, s in one.leaving))
            for one in set(facts.slices)
        }
        self.slices = [labelled[one] for one in facts.slices]

    def maps_on_itself(self, shift: int) -> bool:
        """Whether (t, p) → (t + shift, p) does, as far as the window shows it."""
        return self.slices[shift:] == self.slices[:-shift]

    def folded(self, period: int) -> set[tuple[int, int, int, int]]:
        """The edges (t, p, q, σ) that start at 0 ≤ t < period."""
        return {(t, p, q, sigma) for t in range(period) for p, q, sigma in self.slices[t][1]}


def shifts(facts: GraphFacts, parameters: Parameters) -> list[int]:
    """Those of 1 … 2m that map the labelled G_un on itself, by the library."""
    window = LabelledWindow(facts, parameters)
    return [shift for shift in range(1, 2 * facts.graph.period + 1) if window.maps_on_itself(shift)]


def shifts_again(graph: Graph, parameters: Parameters) -> list[int]:
    """The same on residues modulo m."""
    m, label = graph.period, _labels(graph.times, parameters)
    place = {v: (time, label[v]) for v, time in graph.times.items()}
    nodes = set(place.values())
    edges = {(place[u], place[v], sigma) for u, v, sigma in graph.edges}

    def maps(shift: int) -> bool:
        def moved(at: tuple[int, int]) -> tuple[int, int]:
            return (at[0] + shift) % m, at[1]

        return set(map(moved, nodes)) == nodes and {(moved(a), moved(b), s) for a, b, s in edges} == edges

    return [shift for shift in range(1, 2 * m + 1) if maps(shift)]


LEAST = Hypothesis(
    "m is the least shift that maps the labelled G_un on itself",
    lambda at: _is_least(shifts, at, at.known.graph.period),
    second_margin=lambda at: _is_least(shifts_again, at, at.known.period),
)


def _is_least(shifts_of: Any, at: AtGraph, period: int) -> bool:
    return bool(shifts_of(at.known, at.parameters)[0] == period)


def least_divides(*, is_m: bool = False) -> GraphStatement:
    """The least shift that maps G_un on itself divides every one that does, m among them: so there is a least period.

    ``is_m`` says that it is m itself, a planted falsehood.
    """

    def side(known: list[int], m: int) -> Side:
        least = known[0]
        others = [shift for shift in known if shift % least] if not is_m else [m] * (least < m)
        return Side(len(others), f"m = {m}; shifts {', '.join(map(str, known))}")

    return GraphStatement(
        lambda facts, p: side(shifts(facts, p), facts.graph.period),
        lambda graph, p: side(shifts_again(graph, p), graph.period),
        label_places,
        parameters=LABELS,
    )


def folds(*, least: bool = True) -> GraphStatement:
    """G_un, its times and labels, and nothing of m, give G_c back: fold by the least shift.

    So two graphs with m least and the same labelled unfolding are one. ``least`` = False drops that: planted.
    """

    def side(found: int, edges: set[Any], m: int, wanted: set[Any]) -> Side:
        same = found == m and edges == wanted
        return Side(int(not same), f"m = {m}, {len(wanted)} edges; the least shift is {found}, {len(edges)} edges")

    def first(facts: GraphFacts, parameters: Parameters) -> Side:
        label, times = _labels(facts.graph.nodes, parameters), facts.graph.nodes
        found = shifts(facts, parameters)[0]
        wanted = {(times[u], label[u], label[v], sigma) for u, v, sigma in facts.graph.edges}
        return side(found, LabelledWindow(facts, parameters).folded(found), facts.graph.period, wanted)

    def second(graph: Graph, parameters: Parameters) -> Side:
        found, label = shifts_again(graph, parameters)[0], _labels(graph.times, parameters)
        wanted = {(graph.times[u], label[u], label[v], sigma) for u, v, sigma in graph.edges}
        edges = {
            (t % found, label[u], label[v], sigma)
            for t, u in graph.window(0, found - 1) or ()
            for _, v, sigma in graph.after[u]
        }
        return side(found, edges, graph.period, wanted)

    return GraphStatement(first, second, label_places, (LEAST,) if least else (), parameters=LABELS)


# --- as Definition 2.1 has it, m any period


def least_period() -> GraphStatement:
    """m is the smallest number such that G_un is mapped on itself by a shift in time."""

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        graph = facts.graph
        names = tuple(graph.nodes)
        for p in range(1, graph.period):
            if graph.period % p:
                continue
            for images in itertools.permutations(names):
                moved = dict(zip(names, images, strict=True))
                if all((graph.nodes[b] - graph.nodes[a] - p) % graph.period == 0 for a, b in moved.items()):
                    yield {"shift": str(p), "images": " ".join(images)}

    def first(facts: GraphFacts, parameters: Parameters) -> Side:
        graph, p = facts.graph, int(parameters["shift"])
        moved = dict(zip(graph.nodes, parameters["images"].split(), strict=True))
        long = 2 * facts.reach + 2 * graph.period
        (nodes, edges), (other_nodes, other_edges) = graph.window(0, long), graph.window(p, long + p)
        image = {((t + p, moved[u]), (s + p, moved[v])) for (t, u), (s, v) in edges}
        same = image == set(other_edges) and {(t + p, moved[u]) for t, u in nodes} == set(other_nodes)
        return _shifted(graph.period, p, moved, same)

    def second(graph: Graph, parameters: Parameters) -> Side:
        p, images = int(parameters["shift"]), parameters["images"].split()
        moved = dict(zip(graph.times, images, strict=True))
        bijective = set(images) == set(graph.times)
        later = all(graph.times[b] == (graph.times[a] + p) % graph.period for a, b in moved.items())
        edges = {(moved[u], moved[v], sigma) for u, v, sigma in graph.edges}
        return _shifted(graph.period, p, moved, bijective and later and edges == set(graph.edges))

    moved = declared(Parameter("shift", TimeOf()), Parameter("images", NodeImages()))
    return GraphStatement(first, second, places, parameters=moved)


def _shifted(m: int, p: int, moved: dict[str, str], same: bool) -> Side:
    images = ", ".join(f"{a} → {b}" for a, b in moved.items())
    if not 0 < p < m:
        return Side(0, f"the shift {p} is not less than m = {m}")
    text = f"m = {m}, and G_un shifted by {p} with {images} is {'G_un' if same else 'another graph'}"
    return Side(int(same), text)


def one_to_one() -> GraphStatement:
    """Different G_c have different G_un; the other graph is the two-fold cover."""

    def places(facts: GraphFacts) -> Iterator[Parameters]:
        cover = facts.graph.cover(2)
        plain = {"period": cover.period, "nodes": dict(cover.nodes), "edges": cover.edges}
        if cover.inputs or cover.outputs:
            plain |= {"inputs": cover.inputs, "outputs": cover.outputs}
        if cover.allow_unreachable:
            plain["allow_unreachable"] = True
        yield {"other": json.dumps(plain)}

    def first(facts: GraphFacts, parameters: Parameters) -> Side:
        other = facts_of(parameters["other"])
        if other is None:
            return Side(0, "the other is no graph with (1)-(3)")
        long = 2 * facts.reach + 2 * other.graph.period
        renamed = {
            ((t, u.partition("@")[0]), (s, v.partition("@")[0])) for (t, u), (s, v) in other.graph.window(0, long)[1]
        }
        same = renamed == set(facts.graph.window(0, long)[1])
        return _two(len(facts.graph.nodes), len(other.graph.nodes), same, parameters)

    def second(graph: Graph, parameters: Parameters) -> Side:
        other = parse(parameters["other"])
        folds = other.period // graph.period
        named = {f"{v}@{time + r * graph.period}" for v, time in graph.times.items() for r in range(folds)}
        edges = {
            (f"{u}@{t}", f"{v}@{(t + sigma) % other.period}", sigma)
            for u, v, sigma in graph.edges
            for t in range(graph.times[u], other.period, graph.period)
        }
        same = other.has_residues and set(other.times) == named and set(other.edges) == edges
        return _two(graph.size, other.size, same, parameters)

    return GraphStatement(first, second, places, parameters=declared(Parameter("other", Cover())))


def _two(nodes: int, others: int, same: bool, parameters: Parameters) -> Side:
    text = f"it has {nodes} nodes, {parameters['other']} has {others}"
    unfoldings = "their unfolding is the same, (t, v) being (t, v@t)" if same else "their unfoldings differ"
    return Side(int(same and nodes != others), f"{text}; {unfoldings}")


def folded(with_sigma: bool = True) -> GraphStatement:
    """G_un with its labels and m give G_c back: fold time modulo m; ``with_sigma=False`` keeps one edge for each pair
    of nodes, which is the planted falsehood.
    """

    def first(facts: GraphFacts, _: Parameters) -> Side:
        graph = facts.graph
        edges: set[Any] = set()
        for (t, u), (s, v) in graph.window(-facts.reach, graph.period + facts.reach + 1)[1]:
            if 0 <= t < graph.period:
                edges.add((u, v, s - t) if with_sigma else (u, v))
        return Side(int(len(edges) != len(graph.edges)), f"{len(edges)} of {len(graph.edges)} edges come back")

    def second(graph: Graph, _: Parameters) -> Side:
        reach = max(abs(sigma) for *_, sigma in graph.edges)
        order = graph.window(-reach, graph.period + reach)
        inside = set(order or ())
        edges = {
            (u, v, sigma) if with_sigma else (u, v)
            for t, u in inside
            for _, v, sigma in graph.after[u]
            if 0 <= t < graph.period and (t + sigma, v) in inside
        }
        return Side(int(len(edges) != len(graph.edges)), f"{len(edges)} edges come back")

    return GraphStatement(first, second)


_LEAST_PERIOD = "the least shift of G_un divides every one"
_FOLDS = "m least: G_un and its labels give G_c, without m"

CLAIMS = (
    Claim(
        id="cplx-2-corr",
        source=Source("complexity", "Sec. 2"),
        statement="G_c and G_un determine each other, m being the least period: G_un is the unfolding of G_c, G_c is "
        "G_un folded modulo m",
        semantics="comb",
        cases=(
            free_case(EVERY, _FOLDS, folds(), planted=folds(least=False)),
            box_case(EVERY, _FOLDS, folds()),
            free_case(EVERY, _LEAST_PERIOD, least_divides(), planted=least_divides(is_m=True)),
            box_case(EVERY, _LEAST_PERIOD, least_divides()),
            free_case(EVERY, "m is the smallest period of G_un", least_period()),
            free_case(EVERY, "different G_c have different G_un", one_to_one()),
            free_case(EVERY, "G_un, its labels and m give G_c", folded(), planted=folded(False)),
            box_case(EVERY, "G_un, its labels and m give G_c", folded()),
        ),
    ),
)
