"""The second back-end for cyclic graphs against hand counts, bounded enumeration of walks, and the library."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from verification.adversary import graphs
from verification.certify.second import graph as graph_second
from verification.certify.second.graph import Graph, TooLargeError, parse
from verification.measure.graph_facts import facts_of


def loops(*steps: int) -> Graph:
    return Graph(1, {"a": 0}, tuple(("a", "a", step) for step in steps), ("a",), ("a",))


def walks(graph: Graph, most: int) -> dict[tuple[str, int, str], set[int]]:
    """(start, σ-sum, end) → the lengths of all walks of at most so many edges, one edge after the other."""
    found: dict[tuple[str, int, str], set[int]] = {(v, 0, v): {0} for v in graph.times}
    layer = {(v, 0, v) for v in graph.times}
    for length in range(1, most + 1):
        layer = {(start, total + s, w) for start, total, v in layer for u, w, s in graph.edges if u == v}
        for key in layer:
            found.setdefault(key, set()).add(length)
    return found


def sketches(count: int) -> list[graphs.Sketch]:
    chance = random.Random(5)
    return [graphs.at_random(chance, nodes=3, ends=True) for _ in range(count)]


@pytest.mark.parametrize(
    ("steps", "rates", "sums"),
    [((1,), {1}, [1]), ((2, 3), {Fraction(1, 2), Fraction(1, 3)}, [2, 3]), ((-2,), {Fraction(-1, 2)}, [-2])],
)
def test_cycles_of_one_node_are_its_loops(steps, rates, sums):
    graph = loops(*steps)
    assert (set(graph.rates), sorted(graph.sums)) == (rates, sums)


def test_parallel_edges_make_different_cycles():
    graph = Graph(1, {"a": 0, "b": 0}, (("a", "b", 0), ("a", "b", 1), ("b", "a", 1), ("b", "a", 2)), (), ())
    assert sorted(graph.sums) == [1, 2, 2, 3]


def test_zero_sums_are_found_on_walks_that_are_no_simple_cycle():
    assert not loops(2, -3).is_acyclic_in_time and not loops(2, -3).has_one_sign
    assert loops(2, 3).is_acyclic_in_time and loops(-2, -3).is_acyclic_in_time and loops(-2, -3).has_one_sign
    apart = Graph(1, {"a": 0, "b": 0}, (("a", "a", 1), ("b", "b", -1), ("a", "b", 0)), (), ())
    assert apart.is_acyclic_in_time and apart.has_one_sign and not apart.is_unidirectional


def test_lengths_are_those_of_all_walks():
    """Against every walk of at most 9 edges, on the graphs where more edges cannot reach these n."""
    compared = 0
    for sketch in sketches(200):
        graph = parse(graphs.text(sketch))
        if not graph.cycles or not graph.is_unidirectional or not graph.has_one_sign:
            continue
        every = walks(graph, 9)
        for start in range(graph.period):
            for choose in (max, min):
                found = graph.lengths(start, 2, choose)
                for n in range(-2, 3):
                    lengths = {
                        length
                        for (u, total, _), several in every.items()
                        if total == n and graph.times[u] == start
                        for length in several
                    }
                    # A walk of more than K(1 + |n| + KS) edges has a larger sum: only these are complete.
                    if graph.size * (1 + abs(n) + graph.reach) <= 9:
                        assert found.get(n) == (choose(lengths) if lengths else None), (sketch, start, n)
                        compared += 1
    assert compared > 100


def test_slopes_are_the_growth_over_many_more_periods():
    """The a-priori bound n* is large enough: ten times as far the slopes are the same."""
    compared = 0
    for sketch in sketches(120):
        graph = parse(graphs.text(sketch))
        if not graph.cycles or not graph.is_unidirectional or graph.modulus > 6 or len(graph.cycles) > 3:
            continue
        far = 10 * graph.modulus * graph.size * (1 + 2 * graph.settled + 2 * graph.reach)
        if far > 8_000:
            continue
        for choose in (max, min):
            lengths = graph.lengths(0, far + graph.modulus, choose)
            later = {
                n % graph.modulus: Fraction(lengths[n + graph.modulus] - lengths[n], graph.modulus)
                for n in range(far - graph.modulus + 1, far + 1)
                if n in lengths
            }
            assert graph.slopes(0, choose) == later
            compared += 1
    assert compared > 10


def test_both_back_ends_say_the_same_of_random_graphs():
    """d_r, j, d_f, (3), (U), paths and rates, without sharing code."""
    compared = 0
    for sketch in sketches(250):
        text = graphs.text(sketch)
        graph, facts = parse(text), facts_of(text)
        assert (facts is not None) == bool(graph.has_residues and graph.cycles and graph.has_one_sign)
        if facts is None:
            continue
        assert facts.is_unidirectional == graph.is_unidirectional and facts.is_open == graph.is_open
        assert facts.ratios == (max(graph.rates), min(graph.rates))
        if not graph.is_unidirectional:
            continue
        assert (facts.d_r, facts.j, facts.d_f) == (max(graph.rates), min(graph.rates), graph.depth)
        for start in range(graph.period):
            for between in (False, True):
                assert facts.paths(start, 12, between=between) == graph.lengths(start, 12, between=between)
        compared += 1
    assert compared > 120


def test_infinite_lengths_are_seen_and_finite_ones_are_not():
    text = (
        '{"nodes": {"a": 0, "b": 0}, "inputs": ["a"], "outputs": ["b"], '
        '"edges": [["a", "a", -1], ["a", "b", 0], ["b", "b", 1]]}'
    )
    graph, facts = parse(text), facts_of(text)
    assert facts is not None
    for n in (0, 3):
        assert graph.is_unbounded(0, n) and facts.is_unbounded(0, n)
        assert graph.is_unbounded(0, n, between=True) and facts.is_unbounded(0, n, between=True)
    other = '{"nodes": {"a": 0, "b": 0}, "edges": [["a", "a", -1], ["b", "b", 1]]}'
    assert not parse(other).is_unbounded(0, 3)
    loose = facts_of(other)
    assert loose is not None and not loose.is_unbounded(0, 3) and loose.unbounded() is None


def test_what_is_too_large_is_refused_and_not_cut_off():
    graph = parse('{"nodes": {"a": 0}, "edges": [["a", "a", 1]]}', most_states=5)
    with pytest.raises(TooLargeError):
        graph.lengths(0, 10)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"nodes": {"a": 0}, "edges": [["a", "b", 1]]}',
        '{"nodes": {"a": 1}, "edges": []}',
        '{"nodes": {"a": 0}, "edges": [["a", "a", 1], ["a", "a", 1]]}',
        '{"nodes": {"a": 0}, "edges": [["a", "a", 0.5]]}',
    ],
)
def test_texts_that_are_no_graph_are_refused(text):
    with pytest.raises(ValueError, match=r"graph|integers|unknown"):
        parse(text)


def test_a_lift_and_its_copies_are_told_apart():
    cycle = (("a", "a", 2),)
    assert graph_second.meets_every_time(cycle, 0, 1) and not graph_second.meets_every_time(cycle, 0, 2)


def test_a_closed_walk_that_repeats_an_edge_is_no_cycle():
    graph = parse('{"period": 1, "nodes": {"a": 0}, "edges": [["a", "a", 1], ["a", "a", 2]]}')
    one, two = ("a", "a", 1), ("a", "a", 2)
    assert graph_second.is_cycle(graph, (one, two)) and not graph_second.is_cycle(graph, (one, one))
    assert not graph_second.is_cycle(graph, ()) and not graph_second.is_cycle(graph, (("a", "a", 3),))
