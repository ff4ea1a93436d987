"""d_r, s, d_f, paths and limits equal what the unfolding shows, on random graphs and on every path of time.

The oracle unfolds the raw data in time, without the package: a window wide enough that no walk in question leaves it.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from odernn.architecture import (
    GraphError,
    RNNGraph,
    feedforward_depth,
    get,
    growth_limit,
    longest_paths,
    measures_of,
    recurrent_depth,
    shortest_paths,
    skip_coefficient,
    smallest_rate,
)
from odernn.architecture.growth import Growth, SlowClass
from odernn.architecture.measures import MeasureEvidence
from odernn.architecture.potentials import Arcs, largest_ratio
from tests.tiers import only

# The random graphs.


def random_graph(seed: int, *, sparse: bool = False) -> RNNGraph:
    """Seed ≡ 0 modulo 3: some σ < 0, by a shift of time at every node; even seeds: period 2 or 3.

    ``sparse``: few edges, half of them loops, so that many components have cycles and some times meet only a few.
    """
    chance = random.Random(seed)
    negative = seed % 3 == 0
    while True:
        count = chance.randint(2 if negative else 1, 5)
        period = chance.randint(2, 3) if seed % 2 == 0 else 1
        times = [chance.randrange(period) for _ in range(count)]
        shift = [chance.randint(0, 2) if negative else 0 for _ in range(count)]
        edges = set()
        for _ in range(chance.randint(count, count + 2 if sparse else 2 * count + 1)):
            u, v = chance.randrange(count), chance.randrange(count)
            if sparse and chance.random() < 0.5:
                v = u
            sigma = chance.randint(0 if u < v else 1, 4 if sparse else 2) + shift[v] - shift[u]
            sigma += (times[v] - times[u] - sigma) % period
            edges.add((f"v{u}", f"v{v}", sigma))
        if negative and min(sigma for _, _, sigma in edges) >= 0:
            continue
        nodes = [f"v{k}" for k in range(count)]
        inputs = chance.sample(nodes, chance.randint(1, count))
        outputs = chance.sample(nodes, chance.randint(1, count))
        try:
            labels = dict(zip(nodes, times, strict=True))
            return RNNGraph(f"random {seed}", period, labels, sorted(edges), inputs, outputs, True)
        except GraphError as error:
            assert error.condition == "2"


# The oracle.


class Unfolded:
    """The nodes (t, v) of a window of time with their successors, and the lengths of paths by one sweep."""

    def __init__(self, graph: RNNGraph, first: int, last: int) -> None:
        self.nodes = [
            (t, v) for t in range(first, last + 1) for v, time in graph.nodes.items() if t % graph.period == time
        ]
        known = set(self.nodes)
        self.after = {
            (t, v): [(t + s, w) for u, w, s in graph.edges if u == v and (t + s, w) in known] for t, v in self.nodes
        }
        waiting = dict.fromkeys(self.nodes, 0)
        for successors in self.after.values():
            for node in successors:
                waiting[node] += 1
        self.order = [node for node in self.nodes if not waiting[node]]
        for node in self.order:
            for successor in self.after[node]:
                waiting[successor] -= 1
                if not waiting[successor]:
                    self.order.append(successor)
        self.is_acyclic = len(self.order) == len(self.nodes)

    def lengths(self, sources: list[tuple[int, str]], choose) -> dict[tuple[int, str], int]:
        found = dict.fromkeys(sources, 0)
        for node in self.order:
            if node in found:
                for successor in self.after[node]:
                    length = found[node] + 1
                    found[successor] = choose(found.get(successor, length), length)
        return found


def reach(graph: RNNGraph) -> int:
    """No prefix or suffix of a walk has a σ-sum beyond this on the far side of time."""
    return (len(graph.nodes) + 1) * max(abs(edge.sigma) for edge in graph.edges)


def ratios(graph: RNNGraph) -> list[Fraction]:
    """The length over duration of the longest and of the shortest return of every node, for every short duration."""
    margin = reach(graph)
    unfolded = Unfolded(graph, -margin, graph.period + 2 * margin)
    assert unfolded.is_acyclic
    found = []
    for v, start in graph.nodes.items():
        for choose in (max, min):
            lengths = unfolded.lengths([(start, v)], choose)
            found += [Fraction(l, t - start) for (t, w), l in lengths.items() if w == v and start < t <= start + margin]
    return found


def paths(graph: RNNGraph, start: int, steps: int, choose, *, between: bool) -> dict[int, int]:
    margin = reach(graph)
    unfolded = Unfolded(graph, start - margin, start + steps + margin)
    sources = [(t, v) for t, v in unfolded.nodes if t == start and (not between or v in graph.inputs)]
    found: dict[int, int] = {}
    for (t, v), length in unfolded.lengths(sources, choose).items():
        if start - margin < t <= start + steps and (not between or v in graph.outputs):
            found[t - start] = choose(found.get(t - start, length), length)
    return found


def agrees(seed: int) -> None:
    graph = random_graph(seed)
    found = measures_of(graph)
    all_ratios = ratios(graph)
    assert (found.d_r, 1 / found.s) == (max(all_ratios), min(all_ratios)), graph.edges
    depths = []
    for start in range(graph.period):
        for between in (False, True):
            for choose, ours in ((max, longest_paths), (min, shortest_paths)):
                theirs = paths(graph, start, reach(graph), choose, between=between)
                assert ours(graph, start, reach(graph), between=between) == theirs, (graph.edges, start, between)
                if between and choose is max:
                    depths += [length - n * found.d_r for n, length in theirs.items()]
    assert found.d_f == (max(depths) if depths else None), graph.edges


FAST = range(300)
ALL = range(2000)


@pytest.mark.parametrize("block", only(range(0, 300, 100), 100))
def test_measures_and_paths_equal_the_unfolding(block: int) -> None:
    seeds = [seed for seed in FAST if block <= seed < block + 100]
    for seed in seeds:
        agrees(seed)
    assert len(seeds) == 100


@pytest.mark.slow
@pytest.mark.parametrize("block", range(300, 2000, 100))
def test_measures_and_paths_equal_the_unfolding_on_2000_graphs(block: int) -> None:
    for seed in range(block, block + 100):
        agrees(seed)


def test_the_random_graphs_are_the_ones_asked_for() -> None:
    graphs = [random_graph(seed) for seed in ALL]
    assert len(graphs) == 2000
    assert sum(any(edge.sigma < 0 for edge in graph.edges) for graph in graphs) >= 2000 // 3
    assert sum(graph.period > 1 for graph in graphs) == 1000
    assert sum(measures_of(graph).d_f is None for graph in graphs[:300]) < 100
    assert len({measures_of(graph).d_r for graph in graphs[:300]}) >= 10


def cycle_sums(graph: RNNGraph) -> Iterator[int]:
    """σ-sums of the simple cycles, by depth-first search from their first node."""
    nodes = list(graph.nodes)

    def search(first: int, node: str, seen: frozenset[str], total: int) -> Iterator[int]:
        for tail, head, sigma in graph.edges:
            if tail != node:
                continue
            if head == nodes[first]:
                yield total + sigma
            elif nodes.index(head) > first and head not in seen:
                yield from search(first, head, seen | {head}, total + sigma)

    for first, node in enumerate(nodes):
        yield from search(first, node, frozenset({node}), 0)


@pytest.mark.parametrize(
    ("kind", "paths_of"), [("longest", longest_paths), pytest.param("shortest", shortest_paths, marks=pytest.mark.slow)]
)
def test_limits_are_the_slopes_of_long_paths(kind, paths_of) -> None:
    """D(n + P) − D(n) = rate · P for large n, P a multiple of all cycle sums; n has a path iff its class has a rate."""
    tried = {True: 0, False: 0}
    for seed in range(1000):
        graph = random_graph(seed, sparse=seed >= 100)
        period = math.lcm(*cycle_sums(graph))
        if period > 60:
            continue
        extreme = (recurrent_depth if kind == "longest" else smallest_rate)(graph).value
        found = growth_limit(graph, kind)
        holds = True
        for growth in found.value:
            rates = {residue: rate for rate, several in growth.residues.items() for residue in several}
            lengths = paths_of(graph, growth.start, 120 + 2 * period)
            for n in range(120, 120 + period):
                rate = rates.get(n % growth.modulus)
                assert (n in lengths) == (rate is not None), (graph.edges, growth, n)
                if rate is not None:
                    assert lengths[n + period] - lengths[n] == rate * period, (graph.edges, growth, n)
                    holds = holds and rate == extreme
        assert found.holds is holds and found.exact
        if not holds:
            witness = found.witness
            assert isinstance(witness, SlowClass) and witness.walk is not None and witness.rate != extreme
            assert graph.nodes[witness.walk.start] == witness.start
            assert (witness.walk.sigma - witness.residue) % witness.modulus == 0
        tried[holds] += 1
    assert min(tried.values()) >= 30 and sum(tried.values()) >= 800, tried


def test_skip_k_has_the_shortest_paths_of_the_theorem() -> None:
    """d_0(n) = ⌊n/k⌋ + (n mod k) between states; the loop and the input make no other difference."""
    for k in (1, 2, 5, 21):
        graph = RNNGraph("loop", 1, {"h": 0}, [("h", "h", s) for s in {1, k}])
        assert shortest_paths(graph, 0, 100) == {n: n // k + n % k for n in range(101)}
        assert longest_paths(graph, 0, 100) == {n: n for n in range(101)}
        assert growth_limit(graph, "shortest").value == (Growth(0, 1, {Fraction(1, k): (0,)}),)


def test_a_limit_may_fail_at_one_time_and_hold_at_the_other() -> None:
    """Two rings of period 2, one at even times with a longer walk a turn: from odd times only the other is met."""
    edges = [("a", "b", 0), ("b", "a", 2), ("c", "c", 2)]
    graph = RNNGraph("rings", 2, {"a": 0, "b": 0, "c": 1}, edges)
    found = growth_limit(graph)
    assert found.holds is False and recurrent_depth(graph).value == 1
    assert [growth.limit for growth in found.value] == [1, Fraction(1, 2)]
    assert (found.witness.start, found.witness.rate, found.witness.walk.start) == (1, Fraction(1, 2), "c")
    assert "from time 1" in found.because


def test_a_limit_may_fail_in_one_class_of_n() -> None:
    """Odd n have only the paths that end at d; they meet the loop of ratio 1/2 but not the ring of ratio 1."""
    edges = [("a", "a", 2), ("b", "c", 0), ("c", "b", 2), ("a", "d", 1)]
    graph = RNNGraph("classes", 1, {node: 0 for node in "abcd"}, edges)
    found = growth_limit(graph)
    assert found.holds is False
    (growth,) = found.value
    assert growth == Growth(0, 2, {Fraction(1): (0,), Fraction(1, 2): (1,)}) and growth.limit is None
    assert (found.witness.residue, str(found.witness.walk)) == (1, "a -(1)-> d")


def test_limits_with_a_huge_period_are_undecided() -> None:
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23)
    graph = RNNGraph("primes", 1, {f"v{p}": 0 for p in primes}, [(f"v{p}", f"v{p}", p) for p in primes])
    found = growth_limit(graph)
    assert found.holds is None and found.margin == math.prod(primes) and not found


@pytest.mark.parametrize("seed", range(40))
def test_covers_have_the_same_measures(seed: int) -> None:
    graph = random_graph(seed)
    found = measures_of(graph)
    for folds in (1, 2, 3):
        cover = measures_of(graph.cover(folds))
        assert (cover.d_r, cover.d_f, cover.s) == (found.d_r, found.d_f, found.s)
        assert growth_limit(graph.cover(folds)).holds is growth_limit(graph).holds


# Evidence.


@pytest.mark.parametrize("seed", range(60))
def test_evidence_confirms_the_value_and_no_other(seed: int) -> None:
    graph = random_graph(seed)
    for certificate in (recurrent_depth(graph), smallest_rate(graph), feedforward_depth(graph)):
        if not certificate:
            continue
        evidence = certificate.witness
        assert isinstance(evidence, MeasureEvidence) and certificate.exact and certificate.value == evidence.value
        assert evidence.confirms(graph)
        off = evidence.value + Fraction(1, 7)
        assert not dataclasses.replace(evidence, value=off).confirms(graph)
        assert not dataclasses.replace(evidence, value=off, rate=off).confirms(graph)
        assert not dataclasses.replace(evidence, potential=evidence.potential[1:]).confirms(graph)


def test_evidence_with_a_worse_cycle_or_a_broken_potential_is_seen() -> None:
    graph = get("td")
    evidence = recurrent_depth(graph).witness
    loop = next(edge for edge in graph.edges if edge.tail == edge.head)
    walk = type(evidence.walk).along([loop])
    assert not dataclasses.replace(evidence, value=Fraction(1), rate=Fraction(1), walk=walk).confirms(graph)
    assert not dataclasses.replace(evidence, potential=(0,) * len(graph.nodes)).confirms(graph)
    foreign = type(evidence.walk).along([loop._replace(sigma=7)])
    assert not dataclasses.replace(evidence, value=Fraction(1, 7), rate=Fraction(1, 7), walk=foreign).confirms(graph)


def test_the_skip_coefficient_is_the_inverse_of_j() -> None:
    for seed in range(50):
        graph = random_graph(seed)
        assert skip_coefficient(graph).value * smallest_rate(graph).value == 1


def test_between_its_ends_a_graph_may_grow_more_slowly() -> None:
    """A ring that no output reads counts for d_r and not for D*: the bound n d_r + d_f is then not the growth."""
    edges = [("in", "h", 0), ("h", "h", 1), ("h", "out", 0), ("h", "a", 0), ("a", "b", 0), ("b", "a", 1)]
    graph = RNNGraph("side", 1, dict.fromkeys(["in", "h", "out", "a", "b"], 0), edges, ["in"], ["out"])
    assert (recurrent_depth(graph).value, recurrent_depth(graph.between_ends()).value) == (2, 1)
    between = longest_paths(graph, 0, 50, between=True)
    assert between == {n: n + 2 for n in range(51)} == longest_paths(graph.between_ends(), 0, 50, between=True)


def test_without_a_walk_from_input_to_output_there_is_no_feedforward_depth() -> None:
    graph = RNNGraph("apart", 1, {"in": 0, "h": 0, "out": 0}, [("in", "h", 0), ("h", "h", 1)], ["in"], ["out"], True)
    found = feedforward_depth(graph)
    assert found.value is None and not found and "no walk" in found.because
    assert str(measures_of(graph)) == "d_r = 1, d_f = –, s = 1"


def test_one_edge_that_leads_to_no_output_is_no_obstacle() -> None:
    graph = RNNGraph("loop", 1, {"h": 0, "out": 0}, [("h", "h", 1)], ["h"], ["out"], True)
    assert feedforward_depth(graph).value is None
    graph = RNNGraph("loop", 1, {"h": 0, "out": 0}, [("h", "h", 1)], ["h", "out"], ["out"], True)
    assert feedforward_depth(graph).value == 0


def test_an_input_that_is_an_output_has_the_empty_path() -> None:
    graph = RNNGraph("one", 1, {"h": 0}, [("h", "h", 1)], ["h"], ["h"])
    assert feedforward_depth(graph).value == 0
    assert longest_paths(graph, 0, 3, between=True) == {0: 0, 1: 1, 2: 2, 3: 3}


def test_a_graph_that_runs_backward_somewhere_has_no_measures_but_the_walk() -> None:
    """A bidirectional network satisfies (1), (2), (3), not (U)."""
    edges = [("in", "f", 0), ("in", "b", 0), ("f", "f", 1), ("b", "b", -1), ("f", "out", 0), ("b", "out", 0)]
    graph = RNNGraph("both ways", 1, {"in": 0, "f": 0, "b": 0, "out": 0}, edges, ["in"], ["out"])
    for certificate in (
        *(f(graph) for f in (recurrent_depth, smallest_rate, skip_coefficient)),
        feedforward_depth(graph),
        growth_limit(graph),
    ):
        assert certificate.holds is False and certificate.value is None
        assert str(certificate.witness) == "b -(-1)-> b" and "condition (U) fails" in certificate.because
    with pytest.raises(GraphError, match=r"condition \(U\) fails: .* b -\(-1\)-> b has σ-sum -1") as raised:
        longest_paths(graph, 0, 3)
    assert raised.value.condition == "U"


# Large numbers, large graphs.


def test_sigmas_beyond_64_bits_stay_exact() -> None:
    big = 10**30
    edges = [("a", "a", big), ("a", "b", 0), ("b", "a", big + 1), ("b", "b", 3 * big)]
    graph = RNNGraph("big", 1, {"a": 0, "b": 0}, edges, ["a"], ["b"])
    found = measures_of(graph)
    assert (found.d_r, found.s, found.d_f) == (Fraction(2, big + 1), 3 * big, 1)


def test_a_ring_with_a_chord_needs_the_whole_ring() -> None:
    """The best ratio is on the longest cycle: the worst case of a search that looks at short ones first."""
    n = 3000
    ring = [(f"v{k}", f"v{(k + 1) % n}", 1 if k % 2 else 2) for k in range(n)]
    graph = RNNGraph("ring", 1, {f"v{k}": 0 for k in range(n)}, [*ring, ("v0", f"v{n - 1}", 5)])
    assert recurrent_depth(graph).value == Fraction(n, 3 * n // 2)
    assert smallest_rate(graph).value == Fraction(1, 3)
    assert recurrent_depth(graph).witness.walk.length == n


def large_graph(count: int, edges: int, seed: int) -> RNNGraph:
    chance = random.Random(seed)
    times = [chance.randrange(2) for _ in range(count)]
    shift = [chance.randrange(20) for _ in range(count)]
    found = set()
    while len(found) < edges:
        u, v = chance.randrange(count), chance.randrange(count)
        sigma = chance.randint(0 if u < v else 1, 4) + shift[v] - shift[u]
        found.add((f"v{u}", f"v{v}", sigma + (times[v] - times[u] - sigma) % 2))
    nodes = {f"v{k}": time for k, time in enumerate(times)}
    return RNNGraph("large", 2, nodes, tuple(found), ("v0",), (f"v{count - 1}",), True)


def test_the_cycle_of_a_thousand_nodes_is_confirmed() -> None:
    graph = large_graph(1000, 5000, 0)
    assert recurrent_depth(graph).witness.confirms(graph)


@pytest.mark.slow
def test_the_cycle_of_a_hundred_thousand_nodes_is_confirmed() -> None:
    graph = large_graph(100_000, 500_000, 0)
    found = measures_of(graph)
    assert found.recurrent_depth.witness.confirms(graph)


def test_a_graph_without_cycles_has_no_ratio() -> None:
    assert largest_ratio(Arcs.of(3, [0, 1], [1, 2], [0, -5]), 1) is None
    assert largest_ratio(Arcs.of(0, [], [], []), -1) is None
