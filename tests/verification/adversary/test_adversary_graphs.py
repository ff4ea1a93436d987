"""The graphs that are tried: complete, each once, and made smaller as far as they go."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import networkx
import pytest

from odernn.architecture.files import from_json
from tests.tiers import slow
from verification.adversary import graphs
from verification.adversary.graphs import Sketch, SketchBox, climb, enumerated, minimised, text
from verification.measure.graph_facts import without_cycle


def as_networkx(sketch: Sketch) -> networkx.MultiDiGraph:
    found = networkx.MultiDiGraph()
    for node, time in enumerate(sketch.times):
        found.add_node(node, colour=(sketch.period, time, node in sketch.inputs, node in sketch.outputs))
    for u, v, sigma in sketch.edges:
        found.add_edge(u, v, sigma=sigma)
    return found


def same(one: Sketch, other: Sketch) -> bool:
    return networkx.is_isomorphic(
        as_networkx(one),
        as_networkx(other),
        node_match=lambda a, b: a["colour"] == b["colour"],
        edge_match=lambda a, b: sorted(e["sigma"] for e in a.values()) == sorted(e["sigma"] for e in b.values()),
    )


@pytest.mark.parametrize(
    "box", [SketchBox(2, 1, 0, 2, 2), slow(SketchBox(2, 2, -1, 1, 2)), SketchBox(2, 1, 0, 1, 2, ends=True)]
)
def test_a_box_holds_every_graph_once(box: SketchBox):
    found = enumerated(box)
    assert not any(same(one, other) for one, other in itertools.combinations(found, 2))
    counted = 0
    for count in range(1, box.nodes + 1):
        for period in range(1, box.period + 1):
            for times in itertools.combinations_with_replacement(range(period), count):
                possible = [
                    (u, v, s)
                    for u, v in itertools.product(range(count), repeat=2)
                    for s in range(box.low, box.high + 1)
                    if (times[u] + s - times[v]) % period == 0
                ]
                for size in range(1, box.edges + 1):
                    for edges in itertools.combinations(possible, size):
                        roles = itertools.product(range(count), repeat=2) if box.ends else [()]
                        for role in roles:
                            ends = [(role[0],), (role[1],)] if role else [(), ()]
                            given = Sketch(period, times, edges, *ends)
                            counted += any(same(given, other) for other in found if len(other.edges) == size) is False
    assert counted == 0


def test_small_graphs_come_first():
    sizes = [(len(each.times), len(each.edges)) for each in enumerated(SketchBox(2, 2, -1, 1, 2))]
    assert sizes == sorted(sizes)


def test_what_is_shown_is_what_the_library_reads():
    chance = random.Random(1)
    read = 0
    for _ in range(100):
        sketch = graphs.at_random(chance, ends=True)
        try:
            graph = from_json(text(sketch))
        except ValueError as error:
            assert "condition (2)" in str(error)  # there may be no cycle
            continue
        assert len(graph.edges) == len(sketch.edges) and tuple(graph.nodes.values()) == sketch.times
        read += 1
    assert read > 50


def test_a_box_in_words_has_no_hyphen_for_a_minus():
    assert str(SketchBox(2, 2, -1, 2, 3)) == "at most 2 nodes and 3 edges, m ≤ 2, −1 ≤ σ ≤ 2"


def test_minimised_drops_everything_that_does_not_matter():
    """Fails iff there are two loops whose σ differ: from a large graph to one node with two loops."""

    def fails(sketch: Sketch) -> bool:
        loops = {sigma for u, v, sigma in sketch.edges if u == v}
        return len(loops) > 1

    start = Sketch(2, (0, 1, 1), ((0, 0, 2), (0, 1, 3), (1, 1, 4), (1, 2, 0), (2, 2, 8)), (0,), (2,))
    found = minimised(start, fails)
    assert not found.inputs and not found.outputs
    assert len(found.edges) == 2 and sum(abs(sigma) for *_, sigma in found.edges) == 1


def test_a_climb_reaches_a_known_optimum_and_stops_there():
    seen = []

    def edges(sketch: Sketch) -> Fraction:
        seen.append(sketch)
        return Fraction(-abs(sum(sigma for *_, sigma in sketch.edges) - 17))

    best = climb(edges, 3, 2_000, enough=lambda gap: gap == 0)
    assert best is not None and edges(best) == 0 and len(seen) < 2_000


def test_a_climb_is_the_same_for_a_seed():
    def score(sketch: Sketch) -> Fraction:
        return Fraction(len(sketch.edges))

    assert climb(score, 5, 100) == climb(score, 5, 100)
    assert climb(lambda _: None, 5, 100) is None


def test_changed_graphs_keep_the_residues():
    chance = random.Random(2)
    sketch = graphs.at_random(chance)
    for _ in range(300):
        sketch = graphs.changed(sketch, chance, 5)
        assert sketch.edges and len(sketch.times) <= 5
        for u, v, sigma in sketch.edges:
            assert (sketch.times[u] + sigma - sketch.times[v]) % sketch.period == 0


def test_the_json_has_only_what_the_reader_knows():
    plain = json.loads(text(Sketch(1, (0, 0), ((0, 0, 1),), (0,), (1,))))
    assert plain["allow_unreachable"] is True
    assert "allow_unreachable" not in json.loads(text(Sketch(1, (0,), ((0, 0, 1),), (0,), (0,))))


def test_scipy_and_networkx_see_the_same_cycles():
    """Loops and longer cycles among random edges, and none: each at least a hundred times."""
    chance = random.Random(3)
    seen = {True: 0, False: 0}
    for _ in range(600):
        count = chance.randint(1, 6)
        edges = [(chance.randrange(count), chance.randrange(count)) for _ in range(chance.randint(0, 5))]
        graph = networkx.DiGraph(edges)
        is_acyclic = networkx.is_directed_acyclic_graph(graph)
        assert without_cycle(count, edges) == is_acyclic, edges
        seen[is_acyclic] += 1
    assert min(seen.values()) > 100
