"""How long do the measures of a large RNN graph take, exactly: d_r, d_f, s, and the decisions about a graph?

Random graphs of period 1 with five edges a node, σ = 0 … 5 (0 only upward, so that condition (3) holds), one thread;
and rings, where the cycle that decides goes through every node, the worst that we know. Asked: d_r of 10³ nodes in
0.2 s, of 10⁵ nodes and 5·10⁵ edges in 60 s; "exact at the end", so what is timed ends with the check of the evidence in
Python's integers. Building the graph, with its conditions, is timed apart.

The answer is checked before anything is timed. Small graphs: against the longest and shortest returns to every node
in the unfolding, by dynamic programming over time. All graphs: by another algorithm, Lawler's test for positive cycles
with Bellman and Ford in integers just above and just below the value, nearer than any other ratio; the error on the
page is that enclosure's. The d_r of a ring is known. And every certificate is confirmed once more.
"""

from __future__ import annotations

import random
import time
from fractions import Fraction

import numpy as np
import torch
from _harness import interleaved, report
from numpy.typing import NDArray

from odernn.architecture import RNNGraph, growth_limit, measures_of, recurrent_depth, smallest_rate
from odernn.certificate import Certificate

SIZES = (1_000, 10_000, 100_000)
EDGES_A_NODE = 5
LARGEST_SIGMA = 5
LIMITS = {1_000: 0.2, 10_000: 60.0, 100_000: 60.0}
"""Seconds of one core that d_r may take: CPU time, which does not blame the method for a busy machine."""
SMALL = 200
"""Graphs of up to seven nodes that are compared with every return in the unfolding."""

Integers = NDArray[np.int64]


def random_graph(nodes: int, edges: int, seed: int) -> RNNGraph:
    """Of period 1; σ = 0 only from a node to a later one. The input is the first node, the output the last."""
    chance = random.Random(seed)
    found: set[tuple[str, str, int]] = set()
    while len(found) < edges:
        u, v = chance.randrange(nodes), chance.randrange(nodes)
        found.add((f"v{u}", f"v{v}", chance.randint(0 if u < v else 1, LARGEST_SIGMA)))
    loop = {("v0", "v0", 1)}  # condition (2), also of the smallest
    labels = {f"v{k}": 0 for k in range(nodes)}
    return RNNGraph(f"random {nodes}", 1, labels, tuple(sorted(found | loop)), ("v0",), (f"v{nodes - 1}",), True)  # type: ignore[arg-type]


def ring(nodes: int, edges: int, seed: int) -> RNNGraph:
    """A cycle through all nodes with Σσ = 1, and chords of σ ≥ 1: no cycle has more edges or less Σσ, so d_r = |V|."""
    chance = random.Random(seed)
    found = {(f"v{k}", f"v{(k + 1) % nodes}", int(k == nodes - 1)) for k in range(nodes)}
    while len(found) < edges:
        chord = (f"v{chance.randrange(nodes)}", f"v{chance.randrange(nodes)}", chance.randint(1, LARGEST_SIGMA))
        found.add(chord)
    labels = {f"v{k}": 0 for k in range(nodes)}
    return RNNGraph(f"ring {nodes}", 1, labels, tuple(sorted(found)), ("v0",), (f"v{nodes - 1}",))  # type: ignore[arg-type]


def returns(graph: RNNGraph) -> tuple[Fraction, Fraction]:
    """The largest and the smallest l/Σσ of a closed walk of Σσ ≤ |V| max σ, which every simple cycle is one of."""
    index, count = graph.index, len(graph.nodes)
    horizon = count * max(edge.sigma for edge in graph.edges)
    waiting = [(index[e.tail], index[e.head]) for e in graph.edges if e.sigma == 0]  # u < v: in order of the nodes
    ratios = []
    for start in range(count):
        for sign in (1, -1):
            best: list[list[int | None]] = [[None] * count for _ in range(horizon + 1)]
            best[0][start] = 0
            for t in range(horizon + 1):
                for u, v in sorted(waiting):
                    _raise(best[t], v, best[t][u], sign)
                for e in graph.edges:
                    if e.sigma and t + e.sigma <= horizon:
                        _raise(best[t + e.sigma], index[e.head], best[t][index[e.tail]], sign)
            ratios += [Fraction(abs(row[start]), t) for t, row in enumerate(best) if t and row[start] is not None]  # type: ignore[arg-type]
    return max(ratios), min(ratios)


def _raise(row: list[int | None], node: int, before: int | None, sign: int) -> None:
    if before is not None and (row[node] is None or before + sign > row[node]):
        row[node] = before + sign


def lawler(graph: RNNGraph, guess: Fraction) -> float:
    """AssertionError unless max l/Σσ is ``guess``; the half-width of the interval around it that was decided.

    Ratios of simple cycles have denominators ≤ |V| max σ, so two of them differ by 1/(|V| max σ)² at least. At half of
    that above the guess no cycle has l − λ Σσ > 0, and at half of that below it one has: the guess is the maximum.
    """
    index = graph.index
    tail, head = (np.array([index[getattr(e, end)] for e in graph.edges]) for end in ("tail", "head"))
    sigma = np.array([e.sigma for e in graph.edges], dtype=object)
    bound = (len(graph.nodes) * max(e.sigma for e in graph.edges)) ** 2
    above, below = (guess + Fraction(s, 2 * bound) for s in (1, -1))
    for rate, expected in ((above, False), (below, True)):
        weight = rate.denominator - rate.numerator * sigma
        assert bellman_ford(len(graph.nodes), tail, head, weight) is expected, f"{graph}: d_r is not {guess}"
    return 1 / (2 * bound)


def bellman_ford(count: int, tail: Integers, head: Integers, weight: NDArray[np.object_]) -> bool:
    """Whether there is a cycle of positive weight: longest walks grow without end exactly then.

    Rounds over all edges at once. The chain of best predecessors is looked at every few rounds: a loop in it is such a
    cycle (and only such a cycle makes one), so that nobody waits for |V| rounds.
    """
    order = np.argsort(head, kind="stable")
    tail, head, weight = tail[order], head[order], weight[order]
    first = np.flatnonzero(np.r_[True, head[1:] != head[:-1]])
    sizes = np.diff(np.r_[first, len(head)])
    distance = np.zeros(count, dtype=object)
    parent = np.full(count, -1)
    for number in range(count + 1):
        offer = distance[tail] + weight
        best = np.maximum.reduceat(offer, first)
        better = (best > distance[head[first]]).astype(bool)
        if not better.any():
            return False
        chosen = np.flatnonzero((offer == np.repeat(best, sizes)).astype(bool) & np.repeat(better, sizes))[::-1]
        parent[head[chosen]] = tail[chosen]
        distance[head[first[better]]] = best[better]
        if number % 4 == 3 and _has_loop(parent):
            return True
    return True


def _has_loop(parent: Integers) -> bool:
    """Whether following the parents never ends, from some node."""
    ahead = np.r_[parent, -1]  # the last entry, which −1 points at, is the end
    for _ in range(len(ahead).bit_length()):
        ahead = ahead[ahead]
    return bool((ahead != -1).any())


def confirmed(certificate: Certificate, graph: RNNGraph) -> Fraction:
    """The value of a certificate whose evidence holds."""
    assert certificate.witness.confirms(graph), f"{graph}: {certificate.because}"
    value: Fraction = certificate.value
    return value


def d_r_in_time(graph: RNNGraph) -> Fraction:
    """d_r with its evidence confirmed; fails if that takes a core longer than asked."""
    started = time.process_time()
    certificate = recurrent_depth(graph)
    elapsed = time.process_time() - started
    limit = LIMITS[len(graph.nodes)]
    assert elapsed < limit, f"{graph}: d_r takes {elapsed:.2f} s of CPU time, not {limit} s"
    return confirmed(certificate, graph)


def checked_small() -> float:
    """The largest difference from the unfolding, of d_r and j of small graphs, which must be 0."""
    worst = Fraction(0)
    for seed in range(SMALL):
        nodes = 2 + seed % 6
        graph = random_graph(nodes, 2 * nodes, seed)
        found = confirmed(recurrent_depth(graph), graph), confirmed(smallest_rate(graph), graph)
        worst = max(worst, *(abs(one - other) for one, other in zip(found, returns(graph), strict=True)))
        lawler(graph, found[0])
    assert worst == 0, f"d_r or j differs from the unfolding by {worst}"
    return float(worst)


def main() -> None:
    torch.set_num_threads(1)
    checks = {f"{SMALL} small graphs": checked_small()}
    cases = {}
    for nodes in SIZES:
        rounds, warmup = (3, 0) if nodes > 10_000 else (7, 1)
        graph = random_graph(nodes, EDGES_A_NODE * nodes, 0)
        found = measures_of(graph)
        rate = d_r_in_time(graph)
        assert rate == found.d_r
        checks[f"{nodes} nodes, d_r = {rate}"] = lawler(graph, rate)
        for certificate in (found.feedforward_depth, found.skip_coefficient):
            confirmed(certificate, graph)
        data = (graph.name, 1, dict(graph.nodes), graph.edges, graph.inputs, graph.outputs, True)
        peers = {
            "d_r": lambda graph=graph: recurrent_depth(graph),
            "d_r, d_f and s": lambda graph=graph: measures_of(graph),
            "lim D_i(n)/n": lambda graph=graph: growth_limit(graph),
            "RNNGraph with its conditions": lambda data=data: RNNGraph(*data),
        }
        cases[f"random, {nodes} nodes, {len(graph.edges)} edges"] = interleaved(peers, rounds=rounds, warmup=warmup)
    for nodes in SIZES:
        rounds, warmup = (1, 0) if nodes > 10_000 else (3, 0)
        graph = ring(nodes, EDGES_A_NODE * nodes, 0)
        checks[f"ring of {nodes} nodes"] = float(abs(d_r_in_time(graph) - nodes))
        assert checks[f"ring of {nodes} nodes"] == 0.0, f"{graph}: d_r is not {nodes}"
        peers = {"d_r": lambda graph=graph: recurrent_depth(graph)}
        cases[f"ring, {nodes} nodes, {len(graph.edges)} edges"] = interleaved(peers, rounds=rounds, warmup=warmup)
    report("graph_measures", cases, checks)


if __name__ == "__main__":
    main()
