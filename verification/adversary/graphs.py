"""Graphs to try a statement on: all small ones, random ones, a climb from random ones, and how to make one smaller.

Nothing here decides anything: a graph is a :class:`Sketch`, plain numbers; what is said of it is certified elsewhere.
"""

from __future__ import annotations

import itertools
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from odernn.architecture import catalogue


class Sketch(NamedTuple):
    """A graph on the nodes 0 … K − 1: period, times, edges (tail, head, σ), inputs, outputs. Nothing is checked."""

    period: int
    times: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()


def text(sketch: Sketch) -> str:
    """The graph in its JSON form on one line, nodes a, b, c, …: what a reader can type in or save as a file."""
    names = [string.ascii_lowercase[k] if k < 26 else f"v{k}" for k in range(len(sketch.times))]
    plain: dict[str, Any] = {"period": sketch.period, "nodes": dict(zip(names, sketch.times, strict=True))}
    for role, members in (("inputs", sketch.inputs), ("outputs", sketch.outputs)):
        if members:
            plain[role] = [names[k] for k in members]
    plain["edges"] = [[names[u], names[v], sigma] for u, v, sigma in sketch.edges]
    if not set(sketch.outputs) <= _reached(sketch):
        plain["allow_unreachable"] = True
    return json.dumps(plain)


def _reached(sketch: Sketch) -> set[int]:
    reached, waiting = set(sketch.inputs), list(sketch.inputs)
    while waiting:
        node = waiting.pop()
        fresh = {v for u, v, _ in sketch.edges if u == node} - reached
        reached |= fresh
        waiting += fresh
    return reached


@dataclass(frozen=True)
class SketchBox:
    """All graphs with at most so many nodes and edges, m ≤ period and low ≤ σ ≤ high; with ``ends`` also every choice
    of one input and one output.
    """

    nodes: int
    period: int
    low: int
    high: int
    edges: int
    ends: bool = False

    def __str__(self) -> str:
        text = f"at most {self.nodes} nodes and {self.edges} edges, m ≤ {self.period}, {self.low} ≤ σ ≤ {self.high}"
        return (text + ", one input, one output" * self.ends).replace("-", "−")


@cache
def enumerated(box: SketchBox) -> tuple[Sketch, ...]:
    """The graphs of the box that satisfy (1) and have an edge, small ones first, one of each up to names of nodes."""
    sketches: list[Sketch] = []
    for count in range(1, box.nodes + 1):
        for period in range(1, box.period + 1):
            for times in itertools.combinations_with_replacement(range(period), count):
                possible = [
                    (u, v, sigma)
                    for u in range(count)
                    for v in range(count)
                    for sigma in range(box.low, box.high + 1)
                    if (sigma - times[v] + times[u]) % period == 0
                ]
                orders = _orders_in_time(times)
                for size in range(1, box.edges + 1):
                    for edges in itertools.combinations(possible, size):
                        sketches += (
                            sketch
                            for sketch in _with_ends(period, times, edges, box.ends)
                            if not any(_renamed(sketch, order) < sketch for order in orders)
                        )
    return tuple(sorted(sketches, key=_size))


def _orders_in_time(times: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Other names of nodes whose times ascend that leave the times as they are; all others make a graph larger."""
    same, *others = itertools.permutations(range(len(times)))
    return [order for order in others if all(times[order[k]] == times[k] for k in same)]


def _with_ends(
    period: int, times: tuple[int, ...], edges: tuple[tuple[int, int, int], ...], ends: bool
) -> Iterator[Sketch]:
    if not ends:
        yield Sketch(period, times, edges)
        return
    for start, end in itertools.product(range(len(times)), repeat=2):
        yield Sketch(period, times, edges, (start,), (end,))


def _renamed(sketch: Sketch, order: tuple[int, ...]) -> Sketch:
    """Node k becomes order[k]."""
    times = [0] * len(order)
    for node, place in enumerate(order):
        times[place] = sketch.times[node]
    edges = tuple(sorted((order[u], order[v], sigma) for u, v, sigma in sketch.edges))
    inputs, outputs = (tuple(sorted(order[k] for k in role)) for role in (sketch.inputs, sketch.outputs))
    return Sketch(sketch.period, tuple(times), edges, inputs, outputs)


def _size(sketch: Sketch) -> tuple[int, ...]:
    weights = sum(abs(sigma) for *_, sigma in sketch.edges)
    return len(sketch.times), len(sketch.edges), sketch.period, weights, sum(s < 0 for *_, s in sketch.edges)


@cache
def named() -> tuple[Sketch, ...]:
    """The graphs of the library's catalogue."""
    sketches = []
    for name in catalogue.names():
        graph = catalogue.get(name)
        places = graph.index
        edges = tuple((places[u], places[v], sigma) for u, v, sigma in graph.edges)
        roles = (tuple(places[node] for node in role) for role in (graph.inputs, graph.outputs))
        sketches.append(Sketch(graph.period, tuple(graph.nodes.values()), edges, *roles))
    return tuple(sketches)


def at_random(chance: random.Random, *, nodes: int = 5, period: int = 3, ends: bool = False) -> Sketch:
    """Half of them with period > 1, a third with edges back in time; many loops, so that components differ."""
    count = chance.randint(1, nodes)
    m = chance.randint(2, period) if period > 1 and chance.random() < 0.5 else 1
    times = tuple(sorted(chance.randrange(m) for _ in range(count)))
    shift = [chance.randint(0, 2) if chance.random() < 1 / 3 else 0 for _ in range(count)]
    edges = set()
    for _ in range(chance.randint(count, 2 * count)):
        u = chance.randrange(count)
        v = u if chance.random() < 0.4 else chance.randrange(count)
        sigma = chance.randint(0 if u < v else 1, 3) + shift[v] - shift[u]
        edges.add((u, v, sigma + (times[v] - times[u] - sigma) % m))
    roles = ((chance.randrange(count),), (chance.randrange(count),)) if ends else ((), ())
    return Sketch(m, times, tuple(sorted(edges)), *roles)


def changed(sketch: Sketch, chance: random.Random, nodes: int) -> Sketch:
    """One edge more, one less, one led elsewhere, another σ, or a node put on an edge."""
    edges, times = list(sketch.edges), sketch.times
    u, v, sigma = edges.pop(chance.randrange(len(edges)))
    kind = chance.randrange(5)
    if kind == 0 and edges:
        pass
    elif kind == 1:
        edges.append((u, v, sigma + sketch.period * chance.choice((-1, 1))))
    elif kind == 2 and len(times) < nodes:
        time = chance.randrange(sketch.period)
        first = (time - times[u]) % sketch.period
        edges += [(u, len(times), first), (len(times), v, sigma - first)]
        times = (*times, time)
    else:
        edges += [(u, v, sigma)] if kind == 3 else []
        u, v = (u, chance.randrange(len(times))) if kind == 4 else (chance.randrange(len(times)) for _ in range(2))
        gap = (times[v] - times[u]) % sketch.period
        edges.append((u, v, gap + sketch.period * chance.choice((0, 0, 0, 1, 1, -1, -8))))
    return sketch._replace(times=times, edges=tuple(sorted(set(edges))))


Score = Callable[[Sketch], Fraction | None]
"""How far the statement is violated at a graph, positive if it is; None where its premises do not hold."""


def climb(
    score: Score,
    seed: int,
    evaluations: int,
    *,
    nodes: int = 5,
    period: int = 3,
    ends: bool = False,
    enough: Callable[[Fraction], bool] = lambda _: False,
) -> Sketch | None:
    """The best graph of small populations: a child is one of them with a few changes, and replaces the worst.

    No graph is kept twice, so a plateau is walked over, not sat on; a population that is stuck is given up for a new
    one. It ends at a score that is ``enough``. None if no graph has a score.
    """
    chance = random.Random(seed)
    best: tuple[Fraction, Sketch] | None = None
    kept: dict[Sketch, Fraction] = {}
    top, idle = Fraction(-1), 0
    for _ in range(evaluations):
        if idle > PATIENCE:
            kept, idle = {}, 0
        if len(kept) < POPULATION:
            candidate = at_random(chance, nodes=nodes, period=period, ends=ends)
        else:
            candidate = max(chance.sample(list(kept), 3), key=lambda sketch: kept[sketch])
            for _ in range(min(1 + int(chance.expovariate(1.0)), 4)):
                candidate = changed(candidate, chance, nodes)
        value = None if candidate in kept else score(candidate)
        idle += 1
        if value is None:
            continue
        if not kept or value > top:
            top, idle = value, 0
        kept[candidate] = value
        if best is None or value > best[0]:
            best = value, candidate
            if enough(value):
                break
        if len(kept) > POPULATION:
            del kept[min(kept, key=lambda sketch: (kept[sketch], -len(sketch.edges)))]
    return None if best is None else best[1]


POPULATION, PATIENCE = 10, 60


def minimised(sketch: Sketch, fails: Callable[[Sketch], bool]) -> Sketch:
    """A graph at which the statement still fails, such that nothing can be dropped from it and no |σ| made smaller."""
    while True:
        smaller = next((graph for graph in _reductions(sketch) if fails(graph)), None)
        if smaller is None:
            return min((_renamed(sketch, order) for order in _orders(sketch)), key=lambda graph: graph.times)
        sketch = smaller


def _orders(sketch: Sketch) -> Iterator[tuple[int, ...]]:
    """Names in the order of time."""
    places = sorted(range(len(sketch.times)), key=lambda k: sketch.times[k])
    yield tuple(places.index(k) for k in range(len(places)))


def _reductions(sketch: Sketch) -> Iterator[Sketch]:
    count = len(sketch.times)
    for node in range(count):
        if count > 1:
            yield _without(sketch, node)
    for edge in sketch.edges:
        yield sketch._replace(edges=tuple(other for other in sketch.edges if other != edge))
    for member in sketch.inputs:
        yield sketch._replace(inputs=tuple(k for k in sketch.inputs if k != member))
    for member in sketch.outputs:
        yield sketch._replace(outputs=tuple(k for k in sketch.outputs if k != member))
    for m in range(1, sketch.period):
        if sketch.period % m == 0:
            yield sketch._replace(period=m, times=tuple(time % m for time in sketch.times))
    for place, (u, v, sigma) in enumerate(sketch.edges):
        step = sketch.period if sigma > 0 else -sketch.period
        for other in (sigma % sketch.period, sigma - step):
            edge = (u, v, other)
            if abs(other) < abs(sigma) and edge not in sketch.edges:
                yield sketch._replace(edges=(*sketch.edges[:place], edge, *sketch.edges[place + 1 :]))


def _without(sketch: Sketch, node: int) -> Sketch:
    order = [k - (k > node) for k in range(len(sketch.times))]
    edges = tuple((order[u], order[v], s) for u, v, s in sketch.edges if node not in (u, v))
    roles = (tuple(order[k] for k in role if k != node) for role in (sketch.inputs, sketch.outputs))
    return Sketch(sketch.period, sketch.times[:node] + sketch.times[node + 1 :], edges, *roles)
