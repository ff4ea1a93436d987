"""The second back-end for cyclic graphs: enumeration of simple cycles and an explicit unfolding, in plain integers.

It reads a graph's JSON text and imports nothing of odernn; ``odernn.architecture`` decides the same by potentials and
by reachability. With K nodes, S the largest |σ|, 𝒞 the simple cycles and Q the least common multiple of their σ-sums:

- (3): a closed walk of σ-sum 0 exists iff one stays within sums of 4KS. If a component has simple cycles of sum > 0 and
  of sum < 0, go round through both again and again, and turn in each until the sum is of the other sign: it stays
  within 4KS, so a pair (node, sum) comes back. A simple cycle of sum 0 stays within KS.
- (U), longest paths: a walk is a simple path and simple cycles, each of sum > 0. So no prefix and no suffix has a sum
  below −KS, and the unfolding between the times i − KS and i + n + KS holds every path from time i to time i + n.
- D_i(n) for large n: of each kind of cycle but the best of the walk, Q/σ(c) copies have the sum Q, and may be replaced
  by the Q/σ(c*) copies of the best one, the rest staying connected; so beyond n₀ = KS + (|𝒞| + 2)Q a path is one of sum
  n − Q and Q/σ(c*) more copies of c*. In a class modulo Q, D_i is for n ≥ n₀ the largest of lines of base ≤ n₀, whose
  slopes are multiples of 1/Q and whose intercepts are in [−K n₀, K(1 + n₀ + KS) + K²S]: beyond n* = QK(1 + 2n₀ + 2KS)
  it is one line, and its slope is read off over one Q. The same with the shortest.
- D_i(n) without (U): a path with more than K(1 + |n| + KS) edges has cycles of both signs, so there are longer ones.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

Arc = tuple[str, str, int]
MOST_CYCLES = 20_000
MOST_STATES = 2_000_000
"""Nodes of an explicit unfolding; more is refused, not cut off."""
WIDEST = 2**12


class TooLargeError(ValueError):
    """The enumeration would not end in reasonable time: the graph is too large for this back-end."""


@dataclass(frozen=True)
class Graph:
    """(m, V, time, E, V_in, V_out) as read; nothing is checked but the form."""

    period: int
    times: Mapping[str, int]
    edges: tuple[Arc, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    most_states: int = MOST_STATES

    @cached_property
    def after(self) -> dict[str, list[Arc]]:
        """The edges that leave each node."""
        leaving: dict[str, list[Arc]] = {node: [] for node in self.times}
        for edge in self.edges:
            leaving[edge[0]].append(edge)
        return leaving

    @property
    def size(self) -> int:
        """K."""
        return len(self.times)

    @property
    def reach(self) -> int:
        """KS."""
        return self.size * max((abs(sigma) for _, _, sigma in self.edges), default=0)

    # Conditions.

    @property
    def has_residues(self) -> bool:
        """(1)."""
        return all((self.times[u] + sigma) % self.period == self.times[v] for u, v, sigma in self.edges)

    @cached_property
    def cycles(self) -> tuple[tuple[Arc, ...], ...]:
        """Every cycle without repeated nodes, once; parallel edges make different cycles."""
        order = {node: place for place, node in enumerate(self.times)}
        cycles: list[tuple[Arc, ...]] = []
        for root in self.times:
            stack: list[tuple[str, tuple[Arc, ...], frozenset[str]]] = [(root, (), frozenset([root]))]
            while stack:
                node, walk, met = stack.pop()
                for edge in self.after[node]:
                    if edge[1] == root:
                        cycles.append((*walk, edge))
                    elif edge[1] not in met and order[edge[1]] > order[root]:
                        stack.append((edge[1], (*walk, edge), met | {edge[1]}))
                if len(cycles) + len(stack) > MOST_CYCLES:
                    raise TooLargeError(f"There are more than {MOST_CYCLES:,} simple cycles or paths to follow.")
        return tuple(cycles)

    @property
    def sums(self) -> tuple[int, ...]:
        """Σσ of every simple cycle."""
        return tuple(sigma(cycle) for cycle in self.cycles)

    @property
    def is_acyclic_in_time(self) -> bool:
        """(3), by following every walk whose sums stay within 4KS."""
        bound = 4 * self.reach
        return self.sorted_window(-bound, bound, all_times=True) is not None

    @cached_property
    def has_one_sign(self) -> bool:
        """(3) by the cycles: in every strongly connected component all sums are positive, or all are negative."""
        component = {
            node: frozenset(v for v in self.reached([node]) if node in self.reached([v])) for node in self.times
        }
        signs: dict[frozenset[str], set[int]] = {}
        for cycle in self.cycles:
            total = sigma(cycle)
            signs.setdefault(component[cycle[0][0]], set()).add((total > 0) - (total < 0))
        return all(in_component in ({1}, {-1}) for in_component in signs.values())

    @cached_property
    def is_unidirectional(self) -> bool:
        """(U)."""
        return all(sigma(cycle) > 0 for cycle in self.cycles)

    def reached(self, sources: Iterable[str]) -> set[str]:
        """The nodes that walks from these lead to, themselves included."""
        nodes, waiting = set(sources), list(sources)
        while waiting:
            for _, head, _ in self.after[waiting.pop()]:
                if head not in nodes:
                    nodes.add(head)
                    waiting.append(head)
        return nodes

    @property
    def is_open(self) -> bool:
        """An output is reached from an input."""
        return bool(self.reached(self.inputs) & set(self.outputs))

    # Measures, by enumeration.

    @cached_property
    def rates(self) -> tuple[Fraction, ...]:
        """l/Σσ of every simple cycle."""
        return tuple(rate(cycle) for cycle in self.cycles)

    @cached_property
    def simple_paths(self) -> tuple[tuple[int, int], ...]:
        """(l, Σσ) of every path without repeated nodes from an input to an output."""
        paths = []
        for start in self.inputs:
            stack: list[tuple[str, int, int, frozenset[str]]] = [(start, 0, 0, frozenset([start]))]
            while stack:
                node, length, total, met = stack.pop()
                if node in self.outputs:
                    paths.append((length, total))
                stack += [(v, length + 1, total + s, met | {v}) for _, v, s in self.after[node] if v not in met]
                if len(stack) + len(paths) > MOST_CYCLES:
                    raise TooLargeError(f"There are more than {MOST_CYCLES:,} simple paths to follow.")
        return tuple(paths)

    @property
    def depth(self) -> Fraction | None:
        """max l − d_r Σσ over the simple paths from an input to an output."""
        top = max(self.rates)
        return max((length - top * total for length, total in self.simple_paths), default=None)

    @property
    def longest_path(self) -> Fraction | None:
        """max l over them."""
        return max((Fraction(length) for length, _ in self.simple_paths), default=None)

    # The unfolding.

    @cached_property
    def jumps(self) -> list[list[int]]:
        """With (t, v) numbered tK + place(v): by how much each edge that leaves v raises the number."""
        place = {node: k for k, node in enumerate(self.times)}
        return [[step * self.size + place[head] - place[v] for _, head, step in self.after[v]] for v in self.times]

    @cached_property
    def room(self) -> int:
        """A multiple of K: more than any edge raises or lowers a number."""
        return self.size * (1 + max((abs(step) for *_, step in self.edges), default=0))

    def _reading(self, first: int, last: int, *, all_times: bool = False) -> tuple[list[int], list[range], list[int]]:
        """How many nodes each node of the unfolding with first ≤ t ≤ last reads there; the numbers of the copies of
        each v; and those that read nothing. Here (t, v) has the number (t − first)K + place(v) + ``room``, and what
        lies beyond an end counts as −1, so that it never comes to 0.
        """
        size, count = self.size, (last - first + 1) * self.size
        if count > self.most_states:
            raise TooLargeError(f"The unfolding from {first} to {last} has more than {self.most_states:,} nodes.")
        copies = []
        for v, time in enumerate(self.times.values()):
            step = 1 if all_times else self.period
            begin = 0 if all_times else (time - first) % self.period
            copies.append(range(self.room + begin * size + v, self.room + count, step * size))
        waiting = [0] * (count + 2 * self.room)
        for numbers, jumps in zip(copies, self.jumps, strict=True):
            for jump in jumps:
                heads = slice(numbers.start + jump, numbers.stop + jump, numbers.step)
                waiting[heads] = [read + 1 for read in waiting[heads]]
        outside = [-1] * self.room
        waiting[: self.room] = waiting[self.room + count :] = outside
        return waiting, copies, sorted(number for numbers in copies for number in numbers if not waiting[number])

    def sorted_window(self, first: int, last: int, *, all_times: bool = False) -> list[int] | None:
        """The numbers (t − first)K + place(v) of the unfolding's nodes with first ≤ t ≤ last, each before those that
        read it; None if there is a cycle. ``all_times``: copies of v at every time, not only at those that m sees.
        """
        waiting, copies, order = self._reading(first, last, all_times=all_times)
        size, jumps_of = self.size, self.jumps
        for number in order:
            for jump in jumps_of[number % size]:
                waiting[number + jump] -= 1
                if not waiting[number + jump]:
                    order.append(number + jump)
        is_whole = len(order) == sum(map(len, copies))
        return [number - self.room for number in order] if is_whole else None

    def window(self, first: int, last: int, *, all_times: bool = False) -> list[tuple[int, str]] | None:
        """The same as pairs (t, v)."""
        order = self.sorted_window(first, last, all_times=all_times)
        names = tuple(self.times)
        if order is None:
            return None
        return [(first + number // self.size, names[number % self.size]) for number in order]

    def lengths(
        self,
        start: int,
        steps: int,
        choose: Callable[..., int] = max,
        *,
        between: bool = False,
        margin: int | None = None,
    ) -> dict[int, int]:
        """D_i(n) for i = start and every n ≤ steps (d_i(n) with min, D*_i(n) with ``between``), n < 0 included.

        Exact under (U); else with ``margin``, what paths reach that stay within so much of the times i and i + n.
        """
        wide = self.reach if margin is None else margin
        waiting, copies, order = self._reading(start - wide, start + steps + wide)
        size, jumps_of, sign, none = self.size, self.jumps, 1 if choose is max else -1, -(10**18)
        known = [none] * len(waiting)  # sign · length, the largest; what no path reaches stays far below
        for v, (name, time) in enumerate(self.times.items()):
            if (not between or name in self.inputs) and (start - time) % self.period == 0:
                known[self.room + wide * size + v] = 0
        for number in order:
            reached = known[number] + sign
            for jump in jumps_of[number % size]:
                other = number + jump
                if reached > known[other]:
                    known[other] = reached
                waiting[other] -= 1
                if not waiting[other]:
                    order.append(other)
        assert len(order) == sum(map(len, copies)), "(3)"
        last = self.room + (wide + steps + 1) * size
        ends = [v for v, name in enumerate(self.times) if not between or name in self.outputs]
        columns = [known[self.room + v : last : size] for v in ends]
        best = map(max, *columns, itertools.repeat(none)) if columns else ()
        return {n: sign * length for n, length in zip(range(-wide, steps + 1), best, strict=False) if 2 * length > none}

    @cached_property
    def modulus(self) -> int:
        """Q."""
        return math.lcm(*(sigma(cycle) for cycle in self.cycles))

    @property
    def settled(self) -> int:
        """n₀."""
        return self.reach + (len(self.cycles) + 2) * self.modulus

    @property
    def decisive(self) -> int:
        """n* + 2Q. Beyond n* every class modulo Q is one line, so that two graphs' D_i(n), of the same Q, are equal for
        all n if they are up to here.
        """
        return self.modulus * (2 + self.size * (1 + 2 * self.settled + 2 * self.reach))

    def slopes(self, start: int, choose: Callable[..., int] = max, *, between: bool = False) -> dict[int, Fraction]:
        """residue modulo Q → the rate at which D_i(n) (or d_i(n), D*_i(n)) grows in that class; no paths, no entry."""
        key = (start, choose is max, between)
        if key not in self._slopes:
            period = self.modulus
            last = self.decisive - 2 * period
            lengths = self.lengths(start, self.decisive, choose, between=between)
            self._slopes[key] = {
                n % period: Fraction(lengths[n + period] - lengths[n], period)
                for n in range(last + 1, last + period + 1)
                if n in lengths
            }
        return self._slopes[key]

    @cached_property
    def _slopes(self) -> dict[Any, dict[int, Fraction]]:
        return {}

    @cached_property
    def excess(self) -> Fraction | None:
        """sup over i and n of D*_i(n) − n d_r, under (U): attained at some n ≤ n₀, as no line is steeper than d_r."""
        p, q = max(self.rates).as_integer_ratio()
        values = (
            q * length - p * n
            for start in range(self.period)
            for n, length in self.lengths(start, self.settled, between=True).items()
        )
        largest = max(values, default=None)
        return None if largest is None else Fraction(largest, q)

    def is_unbounded(self, start: int, steps: int, *, between: bool = False) -> bool:
        """Whether a path from time i to time i + n is so long that there are longer ones without end."""
        bound = self.size * (1 + abs(steps) + self.reach)
        margin = self.reach + 1
        while margin <= WIDEST:
            if self.lengths(start, max(steps, 0), between=between, margin=margin).get(steps, 0) > bound:
                return True
            margin *= 2
        return False


def parse(text: str, *, most_states: int = MOST_STATES) -> Graph:
    """From the JSON form. Raises ValueError if it is none; the conditions are not looked at."""
    plain: Any = json.loads(text)
    if not isinstance(plain, dict) or not isinstance(plain.get("nodes"), dict):
        raise ValueError("The text is no graph: it has no table of nodes.")
    times: dict[str, int] = plain["nodes"]
    edges = tuple((u, v, s) for u, v, s in plain.get("edges", ()))
    period = plain.get("period", 1)
    inputs, outputs = tuple(plain.get("inputs", ())), tuple(plain.get("outputs", ()))
    numbers = (period, *times.values(), *(s for _, _, s in edges))
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers) or period < 1:
        raise ValueError("The period, the times and every σ are integers, the period at least 1.")
    named = {*inputs, *outputs, *(end for u, v, _ in edges for end in (u, v))}
    if not named <= set(times) or len(set(edges)) < len(edges) or not all(0 <= t < period for t in times.values()):
        raise ValueError("A node is unknown, an edge is given twice, or a time is not one of 0 … m − 1.")
    return Graph(period, times, edges, inputs, outputs, most_states)


def sigma(walk: Iterable[Arc]) -> int:
    """The σ-sum."""
    return sum(step for _, _, step in walk)


def rate(cycle: tuple[Arc, ...]) -> Fraction:
    """l/Σσ of a cycle of nonzero sum."""
    return Fraction(len(cycle), sigma(cycle))


def visits(cycle: tuple[Arc, ...], start: int) -> Iterator[int]:
    """The times at which a lift of the cycle from time ``start`` is at its nodes, over one turn."""
    return itertools.accumulate((step for _, _, step in cycle[:-1]), initial=start)


def is_cycle(graph: Graph, edges: tuple[Arc, ...]) -> bool:
    """Whether these are edges of the graph, one after the other, closed and none repeated."""
    joined = all(one[1] == other[0] for one, other in itertools.pairwise((*edges, *edges[:1])))
    return bool(edges) and joined and set(edges) <= set(graph.edges) and len(set(edges)) == len(edges)


def meets_every_time(cycle: tuple[Arc, ...], start: int, modulus: int) -> bool:
    """Whether the times of one turn take every value modulo |modulus|: Σσ for one lift, m for all shifted copies."""
    return len({time % abs(modulus) for time in visits(cycle, start)}) == abs(modulus)


def joined(graph: Graph, edges: tuple[Arc, ...]) -> bool:
    """Whether these are edges of the graph, one after the other."""
    return set(edges) <= set(graph.edges) and all(one[1] == other[0] for one, other in itertools.pairwise(edges))


def attains(
    graph: Graph, measure: str, value: Fraction, rate: Fraction, walk: Iterable[Arc], potential: Iterable[int | None]
) -> bool:
    """Whether the walk has the value of d_r, j or d_f, and no walk a better one, by the potential h.

    d_r, j: the walk is closed, l/Σσ = value = p/q, and h(u) ≥ h(v) ± (q − pσ) along every edge: summed over a cycle,
    ±(q l − p Σσ) ≤ 0. d_f: it leads from an input to an output, l − rate Σσ = value; with rate = p/q the same
    inequalities, h ≥ 0 at outputs and h ≤ q·value at inputs. None: no walk leads on from there.
    """
    edges, heights = tuple(walk), dict(zip(graph.times, potential, strict=True))
    if not edges or not joined(graph, edges):
        return False
    length, total = len(edges), sigma(edges)
    if measure == "d_f":
        reaches = edges[0][0] in graph.inputs and edges[-1][1] in graph.outputs and length - rate * total == value
    else:
        reaches = edges[0][0] == edges[-1][1] and rate == value and total != 0 and Fraction(length, total) == value
    p, q = rate.numerator * (-1 if measure == "j" else 1), rate.denominator * (-1 if measure == "j" else 1)
    lowest = -(10**18)
    at = {node: lowest if height is None else height for node, height in heights.items()}
    falls = all(at[v] == lowest or at[u] - at[v] >= q - p * step for u, v, step in graph.edges)
    if measure != "d_f":
        return reaches and falls and lowest not in at.values()
    ends = min(at[node] for node in graph.outputs) >= 0 and max(at[node] for node in graph.inputs) <= q * value
    return reaches and falls and ends
