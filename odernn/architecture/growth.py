"""Whether the longest and the shortest paths of the unfolding have a rate: limits of D_i(n)/n and d_i(n)/n.

D_i(n) and d_i(n) are as in ``measures``, and limsup and liminf are d_r and j there; a limit need not exist.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, final

from odernn.architecture.graph import RNNGraph
from odernn.architecture.measures import not_unidirectional
from odernn.architecture.potentials import Arcs, components, largest_ratio
from odernn.architecture.walks import Walk
from odernn.certificate import Certificate

Kind = Literal["longest", "shortest"]

_RESIDUES: Final = 10**6
_STATES: Final = 2 * 10**6
"""How many residues the limits are decided for, and how many states are searched for a walk that shows a failure."""


@final
@dataclass(frozen=True)
class Growth:
    """How paths from time i grow: for all large n ≡ r modulo ``modulus``, the length is n·rate + O(1).

    ``residues`` has the r of each rate; for the r of none, there are no paths at all (for large n).
    """

    start: int
    modulus: int
    residues: Mapping[Fraction, tuple[int, ...]]

    @property
    def limit(self) -> Fraction | None:
        """The limit over the n for which there are paths; None if there is none, or none of unbounded n."""
        return next(iter(self.residues)) if len(self.residues) == 1 else None


@final
@dataclass(frozen=True)
class SlowClass:
    """Against a limit: from time i, for all large n ≡ residue modulo ``modulus``, the rate is this one.

    ``walk`` is one of those paths for one n; it meets a cycle, so that there is one for every large n of the class, and
    none of them meets a cycle of the extreme ratio. None if it was too long to search for.
    """

    start: int
    modulus: int
    residue: int
    rate: Fraction
    walk: Walk | None


@dataclass(frozen=True)
class _StrongComponent:
    """A strongly connected component: its nodes with their σ-distance modulo ``step``, the gcd of its cycle sums."""

    nodes: tuple[int, ...]
    distance: tuple[int, ...]
    step: int
    rate: Fraction | None


def growth_limit(graph: RNNGraph, kind: Kind = "longest") -> Certificate:
    """Whether lim D_i(n)/n = d_r (``"longest"``) or lim d_i(n)/n = j (``"shortest"``) for every i, over defined n.

    It holds iff for every i and all large n with a path from time i to time i + n, some such path meets a component
    with a cycle of the extreme ratio. Both sets of n are periodic in the end, with the least common multiple over the
    components of the gcd of their cycle sums; they are compared by reachability modulo that period.

    ``value`` is a tuple of Growth, one for each i in 0 … m − 1: the rate of every class of n, also where there is no
    limit. The witness is an SlowClass if the answer is no. Where the period exceeds a million the answer is undecided.
    """
    what = "lim D_i(n)/n = d_r for every i" if kind == "longest" else "lim d_i(n)/n = j for every i"
    failed = not_unidirectional(what, graph)
    if failed is not None:
        return failed
    parts = _parts(graph, 1 if kind == "longest" else -1)
    modulus = math.lcm(*(part.step for part in parts if part.rate is not None))
    if modulus > _RESIDUES:
        because = f"the sets of n have the period {modulus}; they are compared up to {_RESIDUES}"
        return Certificate(what, None, True, None, because, margin=modulus)
    rates = sorted({part.rate for part in parts if part.rate is not None}, reverse=kind == "longest")
    growths = tuple(_growth(graph, parts, rates, modulus, start) for start in range(graph.period))
    for growth in growths:
        for rate, residues in growth.residues.items():
            if rate != rates[0]:
                walk = _avoiding(graph, parts, rates[0], modulus, growth.start, residues[0])
                witness = SlowClass(growth.start, modulus, residues[0], rate, walk)
                because = (
                    f"from time {growth.start}, for n ≡ {residues[0]} modulo {modulus}, no path meets a cycle of ratio "
                    f"{rates[0]}; the rate there is {rate}" + ("" if walk is None else f", as along {walk}")
                )
                return Certificate(what, False, True, witness, because, value=growths)
    empty = [growth.start for growth in growths if not growth.residues]
    because = f"every path to a large n meets, or may be replaced by one that meets, a cycle of ratio {rates[0]}"
    because += f"; times {empty} have paths to finitely many n only" if empty else ""
    return Certificate(what, True, True, growths, because, value=growths)


def _parts(graph: RNNGraph, sign: int) -> list[_StrongComponent]:
    """The components, each before those it can reach."""
    arcs = graph.arcs
    leaving: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
    for u, v, sigma in zip(arcs.tail.tolist(), arcs.head.tolist(), arcs.sigma.tolist(), strict=True):
        leaving[u].append((v, sigma))
    parts = []
    for nodes in reversed(components(arcs)):
        place = {node: k for k, node in enumerate(nodes)}
        inside = [(k, place[v], sigma) for k, u in enumerate(nodes) for v, sigma in leaving[u] if v in place]
        distance, queue = {0: 0}, deque([0])
        around: list[list[tuple[int, int]]] = [[] for _ in nodes]
        for u, v, sigma in inside:
            around[u].append((v, sigma))
        while queue:
            u = queue.popleft()
            for v, sigma in around[u]:
                if v not in distance:
                    distance[v] = distance[u] + sigma
                    queue.append(v)
        step = math.gcd(*(distance[u] + sigma - distance[v] for u, v, sigma in inside))
        rate = None
        if inside:
            ratio = largest_ratio(Arcs.of(len(nodes), *(list(column) for column in zip(*inside, strict=True))), sign)
            assert ratio is not None
            rate = sign * ratio.value
        parts.append(_StrongComponent(tuple(nodes), tuple(distance[k] for k in range(len(nodes))), step, rate))
    return parts


def _growth(graph: RNNGraph, parts: list[_StrongComponent], rates: list[Fraction], modulus: int, start: int) -> Growth:
    """Sets of residues are bits of integers, turned by σ. sets[v][k]: walks to v whose best component is rates[k]."""
    everything = (1 << modulus) - 1

    def turned(bits: int, by: int) -> int:
        by %= modulus
        return ((bits << by) | (bits >> (modulus - by))) & everything

    leaving: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
    for tail, head, sigma in graph.edges:
        leaving[graph.index[tail]].append((graph.index[head], sigma))
    none = len(rates)
    sets: list[dict[int, int]] = [
        {none: 1} if (time - start) % graph.period == 0 else {} for time in graph.nodes.values()
    ]
    reached = dict.fromkeys(range(none + 1), 0)
    level = {rate: k for k, rate in enumerate(rates)}
    for part in parts:
        if part.rate is not None:
            here: dict[int, int] = {}
            for v, distance in zip(part.nodes, part.distance, strict=True):
                for k, bits in sets[v].items():
                    k = min(k, level[part.rate])
                    here[k] = here.get(k, 0) | turned(bits, -distance)
            here = {k: _closed(bits, part.step, modulus, everything) for k, bits in here.items()}
            for v, distance in zip(part.nodes, part.distance, strict=True):
                sets[v] = {k: turned(bits, distance) for k, bits in here.items()}
        members = set(part.nodes)
        for v in part.nodes:
            for k, bits in sets[v].items():
                reached[k] |= bits
            for other, sigma in leaving[v]:
                if other not in members:
                    for k, bits in sets[v].items():
                        sets[other][k] = sets[other].get(k, 0) | turned(bits, sigma)
            sets[v] = {}
    residues: dict[Fraction, tuple[int, ...]] = {}
    taken = 0
    for k, rate in enumerate(rates):
        fresh = reached[k] & ~taken
        taken |= fresh
        if fresh:
            residues[rate] = tuple(r for r in range(modulus) if fresh >> r & 1)
    return Growth(start, modulus, residues)


def _closed(bits: int, step: int, modulus: int, everything: int) -> int:
    """All residues that differ from one of the set by a multiple of step, which divides the modulus."""
    folded = 0
    for k in range(0, modulus, step):
        folded |= bits >> k
    folded &= (1 << step) - 1
    return folded * (everything // ((1 << step) - 1))


def _avoiding(
    graph: RNNGraph, parts: list[_StrongComponent], extreme: Fraction, modulus: int, start: int, residue: int
) -> Walk | None:
    """A shortest walk from time i with this σ-sum modulo the period that meets cycles, but no critical component."""
    if 2 * modulus * len(graph.nodes) > _STATES:
        return None
    cyclic = {v for part in parts if part.rate is not None for v in part.nodes}
    critical = {v for part in parts if part.rate == extreme for v in part.nodes}
    leaving: list[list[int]] = [[] for _ in graph.nodes]
    for number, edge in enumerate(graph.edges):
        if graph.index[edge.head] not in critical:
            leaving[graph.index[edge.tail]].append(number)
    State = tuple[int, int, bool]
    came: dict[State, tuple[State, int] | None] = {}
    for v, time in enumerate(graph.nodes.values()):
        if (time - start) % graph.period == 0 and v not in critical:
            came[(v, 0, v in cyclic)] = None
    queue = deque(came)
    while queue:
        state = queue.popleft()
        v, r, met = state
        if met and r == residue:
            edges = []
            while (step := came[state]) is not None:
                state, number = step
                edges.append(graph.edges[number])
            return Walk.along(reversed(edges), start=tuple(graph.nodes)[state[0]])
        for number in leaving[v]:
            edge = graph.edges[number]
            u = graph.index[edge.head]
            following = (u, (r + edge.sigma) % modulus, met or u in cyclic)
            if following not in came:
                came[following] = (state, number)
                queue.append(following)
    return None
