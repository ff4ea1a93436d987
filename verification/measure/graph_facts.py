"""What the library says of a cyclic graph: conditions, measures, rates of growth, paths. The first back-end."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Collection
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import networkx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from odernn.architecture.files import from_json
from odernn.architecture.graph import GraphError, RNNGraph
from odernn.architecture.growth import Growth, Kind, growth_limit
from odernn.architecture.measures import (
    feedforward_depth,
    longest_paths,
    recurrent_depth,
    shortest_paths,
    smallest_rate,
)
from odernn.architecture.walks import Edge
from odernn.certificate import Certificate

MOST_TRAILED = 6
"""Edges of a graph whose closed walks without repeated edges are all listed: 6 loops have some 2,000."""


class Slice(NamedTuple):
    """One time of an unfolding: its nodes, and the edges (u, v, σ) that leave them."""

    nodes: tuple[str, ...]
    leaving: tuple[Edge, ...]


class GraphFacts:
    """A graph that satisfies (1), (2) and (3), with everything about it computed once."""

    def __init__(self, graph: RNNGraph) -> None:
        self.graph = graph
        self._lengths: dict[tuple[int, int, str, bool], dict[int, int]] = {}

    @cached_property
    def is_unidirectional(self) -> bool:
        """(U)."""
        return bool(self.graph.is_unidirectional())

    @cached_property
    def d_r(self) -> Fraction:
        """max l/Σσ; only under (U)."""
        return _value(recurrent_depth(self.graph))

    @cached_property
    def j(self) -> Fraction:
        """min l/Σσ; only under (U)."""
        return _value(smallest_rate(self.graph))

    @cached_property
    def d_f(self) -> Fraction | None:
        """max l − d_r Σσ over walks from an input to an output; only under (U)."""
        certificate = feedforward_depth(self.graph)
        return certificate.value if certificate else None

    @cached_property
    def longest(self) -> tuple[Growth, ...]:
        """The rates of D_i(n), i = 0 … m − 1."""
        return _growths(self.graph, "longest")

    @cached_property
    def shortest(self) -> tuple[Growth, ...]:
        """The rates of d_i(n)."""
        return _growths(self.graph, "shortest")

    @cached_property
    def is_open(self) -> bool:
        """An output is reached from an input."""
        return any(networkx.has_path(self.multigraph, u, v) for u in self.graph.inputs for v in self.graph.outputs)

    @cached_property
    def multigraph(self) -> networkx.MultiDiGraph[str]:
        return self.graph.to_networkx()

    @cached_property
    def reach(self) -> int:
        """|V| max |σ|: no path goes further outside of its two times, under (U)."""
        return len(self.graph.nodes) * max(abs(edge.sigma) for edge in self.graph.edges)

    @cached_property
    def window(self) -> frozenset[tuple[tuple[int, str], tuple[int, str]]]:
        """The edges of the unfolding, wherever a path leads that begins at a time 0 … m − 1 and repeats no node."""
        wide = self.reach + self.graph.period
        return frozenset(self.graph.window(-wide, self.graph.period + wide + 1)[1])

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """What the unfolding has at the times 0 … 4m − 1; equal ones are one object."""
        last, wide = 4 * self.graph.period, max(abs(edge.sigma) for edge in self.graph.edges)
        leaving: dict[int, list[Edge]] = {t: [] for t in range(last)}
        nodes: dict[int, list[str]] = {t: [] for t in range(last)}
        unfolded_nodes, unfolded_edges = self.graph.window(-wide, last + wide + 1)
        for t, u in unfolded_nodes:
            if t in nodes:
                nodes[t].append(u)
        for (t, u), (s, v) in unfolded_edges:
            if t in leaving:
                leaving[t].append(Edge(u, v, s - t))
        known: dict[Slice, Slice] = {}
        found = (Slice(tuple(sorted(nodes[t])), tuple(sorted(leaving[t]))) for t in range(last))
        return tuple(known.setdefault(one, one) for one in found)

    def paths(self, start: int, steps: int, kind: Kind = "longest", *, between: bool = False) -> dict[int, int]:
        """D_i(n), d_i(n) or D*_i(n) for i = start and n ≤ steps; only under (U)."""
        key = (start, steps, kind, between)
        if key not in self._lengths:
            measure = longest_paths if kind == "longest" else shortest_paths
            self._lengths[key] = measure(self.graph, start, steps, between=between)
        return self._lengths[key]

    @cached_property
    def signs(self) -> dict[str, int]:
        """The sign of the cycles of each node's component, for the nodes that are on a cycle."""
        signs: dict[str, int] = {}
        for nodes in networkx.strongly_connected_components(self.multigraph):
            edges = tuple(edge for edge in self.graph.edges if edge.tail in nodes and edge.head in nodes)
            if edges:
                times = {node: self.graph.nodes[node] for node in nodes}
                part = RNNGraph(f"{self.graph.name}, a component", self.graph.period, times, edges)
                signs |= dict.fromkeys(nodes, 1 if part.is_unidirectional() else -1)
        return signs

    @cached_property
    def ratios(self) -> tuple[Fraction, Fraction]:
        """(max, min) of l/Σσ over cycles of either sign: with σ → −σ, a component of sums < 0 satisfies (U)."""
        extremes = []
        for sign in set(self.signs.values()):
            nodes = {node: self._time(node, sign) for node, own in self.signs.items() if own == sign}
            edges = (edge for edge in self.graph.edges if edge.tail in nodes and edge.head in nodes)
            turned = tuple(Edge(edge.tail, edge.head, sign * edge.sigma) for edge in edges)
            part = RNNGraph(f"{self.graph.name}, sign {sign}", self.graph.period, nodes, turned)
            extremes += [sign * _value(recurrent_depth(part)), sign * _value(smallest_rate(part))]
        return max(extremes), min(extremes)

    def _time(self, node: str, sign: int) -> int:
        return sign * self.graph.nodes[node] % self.graph.period

    @cached_property
    def simple_cycles(self) -> tuple[tuple[Edge, ...], ...]:
        """Every cycle without repeated nodes, by networkx. Each begins with the first of its edges."""
        cycles = []
        for nodes in networkx.simple_cycles(networkx.DiGraph(self.multigraph)):
            steps = [
                [Edge(u, v, sigma) for sigma in sorted(self.multigraph[u][v])]
                for u, v in zip(nodes, [*nodes[1:], nodes[0]], strict=True)
            ]
            cycles += [from_first(cycle) for cycle in itertools.product(*steps)]
        return tuple(sorted(cycles))

    @cached_property
    def directed_cycles(self) -> tuple[tuple[Edge, ...], ...]:
        """Closed walks without repeated edges, as the source defines a cycle: the simple ones, then, of a graph with at
        most ``MOST_TRAILED`` edges, all others. Each begins with the first of its edges.
        """
        edges = tuple(sorted(self.graph.edges))
        trails: list[tuple[Edge, ...]] = []
        waiting: list[tuple[Edge, ...]] = [(edge,) for edge in edges] if len(edges) <= MOST_TRAILED else []
        while waiting:
            walk = waiting.pop()
            if walk[-1].head == walk[0].tail and len({edge.tail for edge in walk}) < len(walk):
                trails.append(walk)
            waiting += [
                (*walk, edge) for edge in edges if edge.tail == walk[-1].head and edge > walk[0] and edge not in walk
            ]
        return (*self.simple_cycles, *sorted(trails))

    @cached_property
    def simple_paths(self) -> tuple[int, ...]:
        """The lengths of the paths without repeated nodes from an input to an output, by networkx."""
        simple = networkx.DiGraph(self.multigraph)
        lengths = [0 for node in self.graph.inputs if node in self.graph.outputs]
        for start in self.graph.inputs:
            for end in set(self.graph.outputs) - {start}:
                lengths += [len(path) - 1 for path in networkx.all_simple_paths(simple, start, end)]
        return tuple(lengths)

    def unbounded(self, *, between: bool = False) -> tuple[int, int] | None:
        """Some (i, n) with D_i(n) = ∞ (D*_i(n) with ``between``); n is ≥ 0 and small if it can be."""
        infinite = [
            (total < 0, abs(total), start, total)
            for start in range(self.graph.period)
            for total in self._pumped(start, 2 * self.reach, between)
        ]
        return min(infinite)[2:] if infinite else None

    def is_unbounded(self, start: int, steps: int, *, between: bool = False) -> bool:
        """Whether D_i(n) = ∞, as far as walks show it whose sums stay within 2|V| max |σ| + |n|."""
        return steps in self._pumped(start, 2 * self.reach + abs(steps), between)

    def _pumped(self, start: int, bound: int, between: bool) -> set[int]:
        """σ-sums of walks from time i that meet a cycle of sum > 0 and one of sum < 0.

        Both cycles may be added as often as the sum stays the same, so there are walks of that sum without end.
        """
        if set(self.signs.values()) != {-1, 1}:
            return set()
        sources = self.graph.inputs if between else tuple(self.graph.nodes)
        targets = self.graph.outputs if between else tuple(self.graph.nodes)
        known = {
            (v, 0, self._mark(v, frozenset()))
            for v in sources
            if (self.graph.nodes[v] - start) % self.graph.period == 0
        }
        waiting = deque(known)
        sums = set()
        while waiting:
            node, total, signs = waiting.popleft()
            if len(signs) == 2 and node in targets:
                sums.add(total)
            for edge in self.graph.edges:
                following = (edge.head, total + edge.sigma, self._mark(edge.head, signs))
                if edge.tail == node and following not in known and abs(following[1]) <= bound:
                    known.add(following)
                    waiting.append(following)
        return sums

    def _mark(self, node: str, signs: frozenset[int]) -> frozenset[int]:
        return signs | {self.signs[node]} if node in self.signs else signs


def without_cycle(count: int, edges: Collection[tuple[int, int]]) -> bool:
    """Whether these edges between the nodes 0 … count − 1 make no directed cycle, by scipy: no node reads itself, and
    every strongly connected component is one node.
    """
    if not edges:
        return True
    ends = np.array(tuple(edges))
    if (ends[:, 0] == ends[:, 1]).any():
        return False
    matrix = csr_array((np.ones(len(ends), dtype=bool), (ends[:, 0], ends[:, 1])), shape=(count, count))
    parts, _ = connected_components(matrix, connection="strong")
    return bool(parts == count)


def from_first(cycle: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """The same closed walk, begun with the first of its edges."""
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def _value(certificate: Certificate) -> Fraction:
    if not certificate:
        raise ArithmeticError(f"{certificate.property}: {certificate.because}")
    value: Fraction = certificate.value
    return value


def _growths(graph: RNNGraph, kind: Kind) -> tuple[Growth, ...]:
    certificate = growth_limit(graph, kind)
    if certificate.value is None:
        raise ArithmeticError(f"{certificate.property} of {graph.name}: {certificate.because}")
    growths: tuple[Growth, ...] = certificate.value
    return growths


@lru_cache(maxsize=20_000)
def facts_of(text: str) -> GraphFacts | None:
    """The facts of a graph in its JSON form; None if it violates (1), (2) or (3). ValueError if it is no graph."""
    try:
        return GraphFacts(from_json(text))
    except GraphError as error:
        if error.condition in {"1", "2", "3"}:
            return None
        raise


class Raw:
    """A weighted multigraph with (1) and (2), which may violate (3): what the library and networkx say of that."""

    def __init__(self, text: str) -> None:
        plain = json.loads(text)
        self.text = text
        self.period: int = plain.get("period", 1)
        self.times: dict[str, int] = plain["nodes"]
        self.edges = [(str(u), str(v), int(sigma)) for u, v, sigma in plain["edges"]]
        self.multigraph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
        self.multigraph.add_nodes_from(self.times)
        self.multigraph.add_edges_from((u, v, sigma, {"sigma": sigma}) for u, v, sigma in self.edges)

    @property
    def has_residues(self) -> bool:
        """(1)."""
        return all((sigma - self.times[v] + self.times[u]) % self.period == 0 for u, v, sigma in self.edges)

    @property
    def has_cycle(self) -> bool:
        """(2)."""
        return not networkx.is_directed_acyclic_graph(self.multigraph)

    @property
    def is_admitted(self) -> bool:
        """(3) as the library decides it."""
        return facts_of(self.text) is not None

    @cached_property
    def unfolds(self) -> bool:
        """Whether the unfolding over 8|V| max |σ| + m + 1 times has no cycle; one anywhere else may be moved there."""
        reach = 8 * len(self.times) * max(abs(sigma) for *_, sigma in self.edges) + self.period
        places: dict[tuple[int, str], int] = {}
        edges = [
            (places.setdefault((t, u), len(places)), places.setdefault((t + sigma, v), len(places)))
            for u, v, sigma in self.edges
            for t in range(self.times[u], reach + 1, self.period)
            if 0 <= t + sigma <= reach
        ]
        return without_cycle(len(places), edges)

    @cached_property
    def cycle_sums(self) -> frozenset[int]:
        """The σ-sums of the cycles without repeated nodes."""
        sums = set()
        for nodes in networkx.simple_cycles(networkx.DiGraph(self.multigraph)):
            steps = [sorted(self.multigraph[u][v]) for u, v in zip(nodes, [*nodes[1:], nodes[0]], strict=True)]
            sums |= {sum(sigmas) for sigmas in itertools.product(*steps)}
        return frozenset(sums)


@lru_cache(maxsize=20_000)
def raw_of(text: str) -> Raw | None:
    """The multigraph of the text; None if it violates (1) or (2)."""
    raw = Raw(text)
    return raw if raw.has_residues and raw.has_cycle else None
