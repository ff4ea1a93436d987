"""Longest walks and extreme cycle ratios in integer arithmetic, by policy iteration (Howard) over whole arrays.

Every node chooses one outgoing edge, or stops. The value h of such a policy is found for all nodes at once by pointer
doubling; a node then takes a better edge if there is one. Two things can happen, and each is a proof:

- no node improves: h(u) ≥ w(e) + h(v) for every edge e = (u, v), so no closed walk has positive weight;
- the new choices close a cycle: its weight is positive, because w(e) + h(v) − h(u) ≥ 0 along it, and > 0 at one edge.

For the largest ratio Σa/Σσ one asks for a positive cycle of the weights q·a − p·σ, where p/q is the best ratio so far,
and starts again from the cycle that was found. Nothing is rounded: weights and potentials are integers of 64 bits, or
Python's integers where a bound shows that 64 bits might not do. A round improves at least as much as one of
Bellman and Ford, so there are at most |V| of them for one ratio, and in practice a handful.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]
"""int64, or object with Python's integers."""

STOP = -1
_SAFE = 2**61
_FEW = 24
"""Nodes for which Python's lists are quicker than arrays."""


@dataclass(frozen=True)
class Arcs:
    """The edges (tail[e], head[e], sigma[e]) of a multigraph on the nodes 0 … count − 1, sorted by tail."""

    count: int
    tail: Integers
    head: Integers
    sigma: Integers

    @classmethod
    def of(cls, count: int, tail: list[int], head: list[int], sigma: list[int]) -> Arcs:
        """From lists in any order; σ beyond 64 bits stays exact."""
        large = max(map(abs, sigma), default=0) >= _SAFE
        arcs = cls(
            count,
            np.array(tail, dtype=np.int64),
            np.array(head, dtype=np.int64),
            np.array(sigma, dtype=object if large else np.int64),
        )
        is_sorted = bool((arcs.tail[1:] >= arcs.tail[:-1]).all())
        return arcs if is_sorted else arcs.part(np.argsort(arcs.tail, kind="stable"))

    def part(self, which: Integers) -> Arcs:
        """The same nodes with these edges only, given as a mask or as indices."""
        return Arcs(self.count, self.tail[which], self.head[which], self.sigma[which])

    @cached_property
    def runs(self) -> tuple[Integers, Integers, Integers]:
        """Of every node that edges leave: the first of them, the node, and how many there are."""
        starts = np.ones(len(self.tail), dtype=bool)
        starts[1:] = self.tail[1:] != self.tail[:-1]
        first = np.flatnonzero(starts)
        return first, self.tail[first], np.diff(first, append=len(self.tail))

    @cached_property
    def lists(self) -> tuple[list[int], list[int]]:
        """Tails and heads."""
        return self.tail.tolist(), self.head.tolist()

    @cached_property
    def largest(self) -> int:
        """max |σ|, 0 without edges."""
        return max(map(abs, self.sigma.tolist()), default=0)

    def combination(self, edge: int, sigma: int) -> Integers:
        """The weights edge + sigma·σ(e), in 64 bits only if the weight of any walk the method sums up fits."""
        bound = 4 * (self.count + 1) * (abs(edge) + abs(sigma) * self.largest)
        return edge + sigma * (self.sigma if bound < _SAFE else self.sigma.astype(object))


@dataclass(frozen=True)
class Potential:
    """value[u] = weight of the heaviest walk from u to where it may stop; choice[u] = its first edge, or STOP."""

    value: Integers
    choice: Integers


def longest(arcs: Arcs, weight: Integers, *, stop: Integers, choice: Integers) -> Potential | list[list[int]]:
    """The heaviest walks from every node to a node where ``stop`` holds, or some cycles of positive weight.

    ``choice`` is the policy to start from: edge indices, or STOP where that is allowed. It must lead every node to a
    stop, so nodes that reach none must not be among the arcs' nodes.
    """
    if arcs.count <= _FEW:
        return _longest_of_few(arcs, weight, stop.tolist(), choice.tolist())
    choice = choice.copy()
    first, movers, sizes = arcs.runs
    while True:
        value, end = _evaluate(arcs, weight, choice)
        if (end != arcs.count).any():
            return _cycles(arcs, choice, np.unique(end[end != arcs.count]))
        improved = False
        if len(first):
            offer = weight + value[arcs.head]
            best = np.maximum.reduceat(offer, first)
            better = best > value[movers]
            if better.any():
                improved = True
                candidates = np.flatnonzero((offer == np.repeat(best, sizes)) & np.repeat(better, sizes))[::-1]
                choice[arcs.tail[candidates]] = candidates
                value[movers[better]] = best[better]
        give_up = stop & (value < 0)
        if give_up.any():
            improved = True
            choice[give_up] = STOP
        if not improved:
            return Potential(value, choice)


def _from_rest(arcs: Arcs, weight: Integers) -> Potential | list[list[int]]:
    """``longest`` where every node may stop, from the policy that stops everywhere."""
    if arcs.count <= _FEW:
        return _longest_of_few(arcs, weight, [True] * arcs.count, [STOP] * arcs.count)
    everywhere = np.ones(arcs.count, dtype=bool)
    return longest(arcs, weight, stop=everywhere, choice=np.full(arcs.count, STOP, dtype=np.int64))


def _longest_of_few(
    arcs: Arcs, weight: Integers, may_stop: list[bool], chosen: list[int]
) -> Potential | list[list[int]]:
    """``longest`` where lists are quicker than arrays: the same policies, in the same order. ``chosen`` is altered."""
    weights = weight.tolist()
    edges = tuple(enumerate(zip(*arcs.lists, weights, strict=True)))
    while True:
        value, cycles = _followed_of_few(arcs, weights, chosen)
        if cycles:
            return cycles
        improved, better = False, list(value)
        for edge, (tail, head, more) in edges:
            if more + value[head] > better[tail]:
                better[tail], chosen[tail], improved = more + value[head], edge, True
        for node, size in enumerate(better):
            if size < 0 and may_stop[node]:
                chosen[node], improved = STOP, True
        if not improved:
            return Potential(np.array(value, dtype=weight.dtype), np.array(chosen, dtype=np.int64))


def _followed_of_few(arcs: Arcs, weights: list[int], chosen: list[int]) -> tuple[list[int], list[list[int]]]:
    """What ``_evaluate`` and ``_cycles`` find: the weight collected from every node, and the cycles of the choices."""
    heads = arcs.lists[1]
    value = [0] * arcs.count
    is_known = [False] * arcs.count
    cycles: list[tuple[int, list[int]]] = []
    for start in range(arcs.count):
        walk: list[int] = []
        node = start
        while not is_known[node]:
            is_known[node] = True
            if chosen[node] == STOP:
                break
            walk.append(node)
            node = heads[chosen[node]]
        else:
            if node in walk:
                nodes = walk[walk.index(node) :]
                first = nodes.index(min(nodes))
                cycles.append((nodes[first], [chosen[v] for v in nodes[first:] + nodes[:first]]))
        for v in reversed(walk):
            value[v] = weights[chosen[v]] + value[heads[chosen[v]]]
    return value, [cycle for _, cycle in sorted(cycles)]


def _evaluate(arcs: Arcs, weight: Integers, choice: Integers) -> tuple[Integers, Integers]:
    """The weight collected by following the choices, and where they lead: ``count`` if to a stop, else onto a cycle."""
    moves = choice != STOP
    target = np.full(arcs.count + 1, arcs.count, dtype=np.int64)
    value = np.zeros(arcs.count + 1, dtype=weight.dtype)
    target[:-1][moves] = arcs.head[choice[moves]]
    value[:-1][moves] = weight[choice[moves]]
    for _ in range(int(arcs.count).bit_length()):
        if (target == arcs.count).all():
            break
        value = value + value[target]
        target = target[target]
    return value[:-1], target[:-1]


def _cycles(arcs: Arcs, choice: Integers, on_cycles: Integers) -> list[list[int]]:
    """The cycles of the policy through these nodes, as lists of edges."""
    cycles = []
    seen: set[int] = set()
    for start in on_cycles.tolist():
        cycle: list[int] = []
        node = start
        while node not in seen:
            seen.add(node)
            cycle.append(int(choice[node]))
            node = int(arcs.head[cycle[-1]])
        if cycle:
            cycles.append(cycle)
    return cycles


def positive_cycle(arcs: Arcs, weight: Integers) -> list[int] | Potential:
    """A cycle of positive weight, or the potential that shows that there is none."""
    cycles_or_potential = _from_rest(arcs, weight)
    return cycles_or_potential if isinstance(cycles_or_potential, Potential) else min(cycles_or_potential, key=len)


@dataclass(frozen=True)
class CycleRatio:
    """max Σa/Σσ over cycles, a cycle that has it, and h with h(u) ≥ h(v) + q·a − p·σ on every edge (value = p/q)."""

    value: Fraction
    cycle: list[int]
    potential: Potential


def largest_ratio(arcs: Arcs, a: int) -> CycleRatio | None:
    """The largest Σa/Σσ over the cycles, a = 1 or −1 on every edge; None without cycles. Every cycle has Σσ > 0."""
    value = Fraction(0) if a > 0 else Fraction(-arcs.count - 1)
    best: list[int] | None = None
    while True:
        weight = arcs.combination(value.denominator * a, -value.numerator)
        cycles_or_potential = _from_rest(arcs, weight)
        if isinstance(cycles_or_potential, Potential):
            return None if best is None else CycleRatio(value, best, cycles_or_potential)
        for cycle in cycles_or_potential:
            ratio = Fraction(a * len(cycle), sum(int(s) for s in arcs.sigma[cycle]))
            if best is None or ratio > value:
                value, best = ratio, cycle


def towards(arcs: Arcs, targets: list[int]) -> Integers:
    """For every node the first edge of a shortest walk to a target: STOP at the targets, STOP − 1 where none leads."""
    choice = np.full(arcs.count, STOP - 1, dtype=np.int64)
    into: list[list[int]] = [[] for _ in range(arcs.count)]
    for edge, node in enumerate(arcs.head.tolist()):
        into[node].append(edge)
    tails = arcs.tail.tolist()
    queue = deque(dict.fromkeys(targets))
    choice[list(queue)] = STOP
    while queue:
        for edge in into[queue.popleft()]:
            if choice[tails[edge]] == STOP - 1:
                choice[tails[edge]] = edge
                queue.append(tails[edge])
    return choice


def followed(arcs: Arcs, choice: Integers, start: int) -> list[int]:
    """The edges of the walk that the choices make from this node to where it stops."""
    walk: list[int] = []
    node = start
    while choice[node] >= 0:
        walk.append(int(choice[node]))
        node = int(arcs.head[walk[-1]])
    return walk


def components(arcs: Arcs) -> list[list[int]]:
    """The strongly connected components, each after those it can reach (Tarjan's algorithm, without recursion)."""
    starts = np.searchsorted(arcs.tail, np.arange(arcs.count + 1)).tolist()
    heads = arcs.head.tolist()
    position = starts[:-1]
    number = [0] * arcs.count
    low = [0] * arcs.count
    placed = [False] * arcs.count
    completed: list[list[int]] = []
    waiting: list[int] = []
    count = 0
    for root in range(arcs.count):
        if number[root]:
            continue
        path = [root]
        while path:
            node = path[-1]
            if not number[node]:
                count += 1
                number[node] = low[node] = count
                waiting.append(node)
            if position[node] < starts[node + 1]:
                other = heads[position[node]]
                position[node] += 1
                if not number[other]:
                    path.append(other)
                elif not placed[other]:
                    low[node] = min(low[node], number[other])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == number[node]:
                component = []
                while True:
                    component.append(waiting.pop())
                    placed[component[-1]] = True
                    if component[-1] == node:
                        break
                completed.append(component[::-1])
    return completed
