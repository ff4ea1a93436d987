"""The complexity measures of an RNN graph as exact fractions, each with the evidence for both directions.

With l the number of edges and Σσ the σ-sum of a walk, after Zhang et al. 2016, Theorems 3.2, 3.4 and 3.6:

    recurrent depth               d_r = max l/Σσ over cycles              = max_i limsup D_i(n)/n
    recurrent skip coefficient    s = 1/j, j = min l/Σσ over cycles       = min_i liminf d_i(n)/n
    feedforward depth             d_f = max l − d_r Σσ over walks V_in → V_out = sup_{i,n} D*_i(n) − n d_r

D_i(n) and d_i(n) are the lengths of the longest and the shortest path of the unfolding from time i to time i + n,
D*_i(n) that of the longest from an input to an output. All this needs condition (U): every cycle has σ-sum > 0; where
it fails the certificate says so, has the closed walk, and no value.

Evidence: a walk that attains the value, and an integer potential h on the nodes that no walk can beat. For d_r = p/q
it satisfies h(u) ≥ h(v) + q − pσ on every edge, so that q l ≤ p Σσ on every closed walk; for j = p/q,
h(u) ≥ h(v) − q + pσ; for d_f the first inequality on the nodes that lead to an output, with h ≥ 0 at the outputs and
h ≤ q d_f at the inputs. The potential of d_r proves (U) as well: Σσ ≥ l/d_r > 0 on every closed walk.
:meth:`MeasureEvidence.confirms` checks all of it in Python's integers, without the algorithm that found it, and no
value leaves this module unconfirmed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

from odernn.architecture.graph import GraphError, RNNGraph
from odernn.architecture.potentials import (
    STOP,
    Arcs,
    Potential,
    followed,
    largest_ratio,
    longest,
    positive_cycle,
    towards,
)
from odernn.architecture.walks import Walk
from odernn.certificate import Certificate

if TYPE_CHECKING:
    from torch import nn


@final
@dataclass(frozen=True)
class MeasureEvidence:
    """value of ``measure``; the walk that attains it; h by node, None where no walk leads on to an output."""

    measure: Literal["d_r", "j", "d_f"]
    value: Fraction
    walk: Walk
    potential: tuple[int | None, ...] = field(repr=False)
    rate: Fraction
    """d_r where the measure is d_f, else the value itself."""

    def confirms(self, graph: RNNGraph) -> bool:
        """Whether walk and potential prove the value; plain integers, one pass over the edges."""
        edges, (p, q) = self.walk.edges, self.rate.as_integer_ratio()
        known = set(graph.edges)
        joined = all(one.head == other.tail for one, other in itertools.pairwise(edges))
        if not joined or not known.issuperset(edges) or len(self.potential) != len(graph.nodes):
            return False
        if self.measure == "d_f":
            ends = self.walk.start in graph.inputs and self.walk.end in graph.outputs
            if not ends or self.walk.length - self.rate * self.walk.sigma != self.value:
                return False
        elif not self.walk.is_closed or Fraction(self.walk.length, self.walk.sigma) != self.value:
            return False
        sign = -1 if self.measure == "j" else 1
        h = dict(zip(graph.nodes, self.potential, strict=True))
        for tail, head, sigma in graph.edges:
            here, there = h[tail], h[head]
            if there is None:
                continue
            if here is None or here < there + sign * (q - p * sigma):
                return False
        if self.measure == "d_f":
            outputs = [h[node] for node in graph.outputs]
            inputs = [h[node] for node in graph.inputs]
            return all(v is not None and v >= 0 for v in outputs) and all(
                v is None or v <= q * self.value for v in inputs
            )
        return None not in self.potential


def not_unidirectional(what: str, graph: RNNGraph) -> Certificate | None:
    condition = graph.is_unidirectional()
    return None if condition else Certificate(what, False, True, condition.witness, condition.because)


def _confirmed(evidence: MeasureEvidence, graph: RNNGraph) -> MeasureEvidence:
    if not evidence.confirms(graph):
        raise ArithmeticError(f"{graph}: the evidence for {evidence.measure} = {evidence.value} does not hold.")
    return evidence


def _extreme(graph: RNNGraph, what: str, measure: Literal["d_r", "j"]) -> Certificate:
    failed = not_unidirectional(what, graph)
    if failed is not None:
        return failed
    sign = 1 if measure == "d_r" else -1
    ratio = largest_ratio(graph.arcs, sign)
    assert ratio is not None  # condition (2)
    value = sign * ratio.value
    walk = graph.walk(ratio.cycle)
    evidence = _confirmed(MeasureEvidence(measure, value, walk, tuple(ratio.potential.value.tolist()), value), graph)
    because = f"{measure} = {value}: the cycle {walk} has l = {walk.length}, Σσ = {walk.sigma}"
    return Certificate(what, True, True, evidence, because, value=value)


def recurrent_depth(graph: RNNGraph) -> Certificate:
    """d_r, the largest l/Σσ of a cycle; the witness is MeasureEvidence."""
    return _extreme(graph, "recurrent depth d_r", "d_r")


def smallest_rate(graph: RNNGraph) -> Certificate:
    """j, the smallest l/Σσ of a cycle; the witness is MeasureEvidence."""
    return _extreme(graph, "smallest rate j", "j")


def skip_coefficient(graph: RNNGraph) -> Certificate:
    """s = 1/j; the witness is the MeasureEvidence for j."""
    j = smallest_rate(graph)
    what = "recurrent skip coefficient s"
    if not j:
        return Certificate(what, False, True, j.witness, j.because)
    return Certificate(what, True, True, j.witness, f"s = {1 / j.value}, {j.because}", value=1 / j.value)


def feedforward_depth(graph: RNNGraph) -> Certificate:
    """d_f, the largest l − d_r Σσ of a walk from an input to an output; without one there is no value."""
    what = "feedforward depth d_f"
    depth = recurrent_depth(graph)
    if not depth:
        return Certificate(what, False, True, depth.witness, depth.because)
    rate: Fraction = depth.value
    choice = towards(graph.arcs, [graph.index[node] for node in graph.outputs])
    leads = choice >= STOP
    inputs = [graph.index[node] for node in graph.inputs if leads[graph.index[node]]]
    if not inputs:
        return Certificate(what, False, True, None, "no walk leads from an input to an output")
    import numpy as np

    kept = np.flatnonzero(leads[graph.arcs.head])
    arcs = graph.arcs.part(kept)
    renumbered = np.full(len(graph.edges), STOP, dtype=np.int64)
    renumbered[kept] = np.arange(len(kept))
    weight = arcs.combination(rate.denominator, -rate.numerator)
    moves = choice >= 0
    start = np.full(arcs.count, STOP, dtype=np.int64)
    start[moves] = renumbered[choice[moves]]
    longest_walks = longest(arcs, weight, stop=choice == STOP, choice=start)
    assert isinstance(longest_walks, Potential)  # no cycle has a larger ratio than d_r
    best = max(inputs, key=lambda node: int(longest_walks.value[node]))
    value = Fraction(int(longest_walks.value[best]), rate.denominator)
    edges = (graph.edges[kept[e]] for e in followed(arcs, longest_walks.choice, best))
    walk = Walk.along(edges, start=tuple(graph.nodes)[best])
    potential = tuple(
        h if known else None for h, known in zip(longest_walks.value.tolist(), leads.tolist(), strict=True)
    )
    evidence = _confirmed(MeasureEvidence("d_f", value, walk, potential, rate), graph)
    because = f"d_f = {value}: the path {walk} has l = {walk.length}, Σσ = {walk.sigma}, and d_r = {rate}"
    return Certificate(what, True, True, evidence, because, value=value)


@final
@dataclass(frozen=True)
class Measures:
    """The three measures of a graph as certificates, and as values: None where one does not exist."""

    graph: RNNGraph
    recurrent_depth: Certificate
    feedforward_depth: Certificate
    skip_coefficient: Certificate

    @property
    def d_r(self) -> Fraction | None:
        value: Fraction | None = self.recurrent_depth.value
        return value

    @property
    def d_f(self) -> Fraction | None:
        value: Fraction | None = self.feedforward_depth.value
        return value

    @property
    def s(self) -> Fraction | None:
        value: Fraction | None = self.skip_coefficient.value
        return value

    def __str__(self) -> str:
        values = {"d_r": self.d_r, "d_f": self.d_f, "s": self.s}
        return ", ".join(f"{name} = {'–' if value is None else value}" for name, value in values.items())


def measures_of(network: RNNGraph | nn.Module, **probe: Any) -> Measures:
    """d_r, d_f and s with their evidence, of a graph or of a torch module, ``graph_of(module, **probe)``."""
    if not isinstance(network, RNNGraph):
        from odernn.architecture.probe import graph_of  # a graph alone never pays for torch

        network = graph_of(network, **probe)
    elif probe:
        raise TypeError(f"{network}: {', '.join(probe)} is for a module, which has to be probed. Leave it out.")
    return Measures(network, recurrent_depth(network), feedforward_depth(network), skip_coefficient(network))


# Paths of the unfolding, for every length of time.


def longest_paths(graph: RNNGraph, start: int, steps: int, *, between: bool = False) -> dict[int, int]:
    """D_i(n) for i = start and every n ≤ steps for which it is defined (n < 0 too, with negative σ), n ascending.

    ``between=True`` gives D*_i(n): from an input to an output only. Raises GraphError unless (U) holds.
    """
    return _paths(graph, start, steps, between, 1)


def shortest_paths(graph: RNNGraph, start: int, steps: int, *, between: bool = False) -> dict[int, int]:
    """d_i(n) in the same way."""
    return _paths(graph, start, steps, between, -1)


def _paths(graph: RNNGraph, start: int, steps: int, between: bool, sign: int) -> dict[int, int]:
    """Dynamic programming over time.

    A negative σ would have a path come back from later times; measured from lowest(v), the least σ-sum of a walk that
    ends at v, every edge has a duration σ + lowest(u) − lowest(v) ≥ 0, and those of duration 0 form no cycle.
    """
    condition = graph.is_unidirectional()
    if not condition:
        raise GraphError(f"{graph}: {condition.because} Paths are not bounded then.", "U", condition.witness)
    nodes = tuple(graph.nodes)
    lowest = _lowest(graph)
    into: list[list[tuple[int, int]]] = [[] for _ in nodes]
    still: list[tuple[int, int]] = []
    for tail, head, sigma in graph.edges:
        u, v = graph.index[tail], graph.index[head]
        duration = sigma + lowest[u] - lowest[v]
        into[v].append((u, duration))
        if duration == 0:
            still.append((u, v))
    order = _topological(len(nodes), still)
    first, last = (set(r) if between else set(nodes) for r in (graph.inputs, graph.outputs))
    starts: dict[int, list[int]] = {-low: [] for low in lowest}
    for v, node in enumerate(nodes):
        if node in first and (graph.nodes[node] - start) % graph.period == 0:
            starts[-lowest[v]].append(v)
    horizon = steps - min(lowest)
    best: list[list[int | None]] = [[None] * (horizon + 1) for _ in nodes]
    path_lengths: dict[int, int] = {}
    for t in range(horizon + 1):
        begin = starts.get(t, [])
        for v in order:
            lengths = [0] if v in begin else []
            for u, duration in into[v]:
                if duration <= t and (before := best[u][t - duration]) is not None:
                    lengths.append(before + sign)
            if not lengths:
                continue
            best[v][t] = length = max(lengths)
            n = t + lowest[v]
            if n <= steps and nodes[v] in last:
                path_lengths[n] = max(length, path_lengths.get(n, length))
    return {n: sign * path_lengths[n] for n in sorted(path_lengths)}


def _lowest(graph: RNNGraph) -> list[int]:
    """The least σ-sum of a walk that ends at the node; at most 0, that of the empty walk."""
    arcs = graph.arcs
    backward = Arcs.of(arcs.count, arcs.head.tolist(), arcs.tail.tolist(), arcs.sigma.tolist())
    potential = positive_cycle(backward, backward.combination(0, -1))
    assert isinstance(potential, Potential)  # (U)
    return [-int(value) for value in potential.value.tolist()]


def _topological(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """The nodes, each after those with an edge to it."""
    import numpy as np

    arcs = Arcs.of(count, [u for u, _ in edges], [v for _, v in edges], [0] * len(edges))
    potential = positive_cycle(arcs, np.ones(len(edges), dtype=np.int64))
    assert isinstance(potential, Potential)
    order: list[int] = np.argsort(-potential.value, kind="stable").tolist()
    return order
