"""Where the nodes and edges of a picture go: the cyclic graph by layers, the unfolding by rows and times; no drawing.

A layer is the length of a longest walk along the edges that cannot go round in a circle: those between two strongly
connected components, and those inside one with σ = 0. An edge is a curve of Bézier whose bend is chosen so that it
passes no foreign node, no label and no earlier curve, as far as that goes; the choice is by cost, the same every time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from odernn.architecture.graph import RNNGraph
from odernn.architecture.potentials import Arcs, Potential, components, positive_cycle
from odernn.architecture.walks import Edge

Point = tuple[float, float]
Points = NDArray[np.float64]

RADIUS: Final = 0.23
"""Of a node; neighbours in the picture are at least 1 apart."""

_WIDEST: Final = 60
"""The longest period whose times have a column each."""
_BENDS: Final = tuple(sign * bend for bend in (0.0, 0.18, 0.32, 0.5, 0.75, 1.1) for sign in (1, -1))
_LOOP_ANGLES: Final = (0, 180, 45, 135, -45, -135, 90, -90)
_LOOP_REACH: Final = 0.95
_SAMPLING: Final = 0.15
"""Distance of the points at which a curve is compared with others."""
_CLEARANCE: Final = RADIUS + 0.09
_LABEL_ROOM: Final = 0.24
_CURVE_ROOM: Final = 0.11


@dataclass(frozen=True)
class Curve:
    """Control points of a curve of Bézier that ends at the rims of its nodes, and where its label stands."""

    control: tuple[Point, ...]
    label: Point

    def points(self) -> Points:
        """Points of it from end to end, (points, 2): an odd number, dense enough that no node fits between two."""
        control = np.array(self.control)
        length = float(np.hypot(*np.diff(control, axis=0).T).sum())
        return _bezier(control, 2 * max(10, math.ceil(length / _SAMPLING / 2)) + 1)


def layers(graph: RNNGraph) -> dict[str, int]:
    """The layer of each node, 0 at the bottom."""
    arcs = graph.arcs
    component = np.zeros(arcs.count, dtype=np.int64)
    for number, members in enumerate(components(arcs)):
        component[members] = number
    kept = np.flatnonzero((component[arcs.tail] != component[arcs.head]) | (arcs.sigma == 0))
    backward = Arcs.of(arcs.count, arcs.head[kept].tolist(), arcs.tail[kept].tolist(), [0] * len(kept))
    potential = positive_cycle(backward, np.ones(len(kept), dtype=np.int64))
    assert isinstance(potential, Potential)  # condition (3): a component has no cycle of σ = 0
    return dict(zip(graph.nodes, potential.value.tolist(), strict=True))


def positions(graph: RNNGraph) -> dict[str, Point]:
    """Of the cyclic graph: y is the layer; x the time label, and beside each other what would share a place.

    Where the period is too long for that, x is the place of the label among those that occur. Within a layer the nodes
    of one time are in the order of the mean x of what they read.
    """
    layer = layers(graph)
    level = {value: place for place, value in enumerate(sorted(set(layer.values())))}
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    labels = sorted(set(graph.nodes.values()))
    column = {time: time if graph.period <= _WIDEST else place for place, time in enumerate(labels)}
    for node, time in graph.nodes.items():
        groups[level[layer[node]], column[time]].append(node)
    width = max(len(group) for group in groups.values())
    spread = 1.0 if graph.period == 1 else 0.75
    step = max(1.3, 0.5 + width * spread)
    before: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        before[edge.head].append(edge.tail)
    points: dict[str, Point] = {}
    for (y, x), group in sorted(groups.items()):
        centre = x * step

        def wish(node: str, centre: float = centre) -> float:
            placed = [points[other][0] for other in before[node] if other in points]
            return sum(placed) / len(placed) if placed else centre

        for place, node in enumerate(sorted(group, key=lambda node: (wish(node), graph.index[node]))):
            points[node] = (centre + (place - (len(group) - 1) / 2) * spread, 1.25 * y)
    return points


def rows(graph: RNNGraph) -> dict[str, int]:
    """Of the unfolding: the row of each node, inputs lowest. Nodes that never meet at one time may share a row.

    They do where they are one thing at several times, "h@0" and "h@1", or have the same layer.
    """
    layer = layers(graph)
    taken: dict[tuple[int, int], int] = defaultdict(int)
    keys: dict[str, tuple[int, str]] = {}
    for node, time in graph.nodes.items():
        stem, at, label = node.rpartition("@")
        if at and label == str(time):
            keys[node] = (layer[node], f"@{stem}")
        else:
            keys[node] = (layer[node], f"{taken[layer[node], time]:09d}")
            taken[layer[node], time] += 1
    order = {key: place for place, key in enumerate(sorted(set(keys.values())))}
    return {node: order[key] for node, key in keys.items()}


def curves(edges: Sequence[tuple[Point, Point]], nodes: Iterable[Point]) -> list[Curve]:
    """One curve for each (from, to), straight where that passes nothing; from = to makes a loop."""
    places = np.array(sorted(set(nodes)))
    chosen: dict[int, Curve] = {}
    labels: list[Point] = []
    drawn: list[Points] = []
    order = sorted(range(len(edges)), key=lambda e: (edges[e][0] == edges[e][1], _distance(*edges[e]), e))
    for e in order:
        tail, head = edges[e]
        candidates = _loops(tail) if tail == head else _arcs(tail, head)
        others = places[(np.abs(places - tail).max(1) > 1e-9) & (np.abs(places - head).max(1) > 1e-9)]
        best = min(candidates, key=lambda pair: pair[1] + _cost(pair[0], others, labels, drawn))[0]
        chosen[e] = best
        labels.append(best.label)
        drawn.append(best.points())
    return [chosen[e] for e in range(len(edges))]


def _distance(one: Point, other: Point) -> float:
    return math.hypot(one[0] - other[0], one[1] - other[1])


def _bezier(control: Points, count: int) -> Points:
    t = np.linspace(0.0, 1.0, count)[:, None]
    degree = len(control) - 1
    return np.asarray(sum(math.comb(degree, k) * t**k * (1 - t) ** (degree - k) * p for k, p in enumerate(control)))


def _arcs(tail: Point, head: Point) -> list[tuple[Curve, float]]:
    """Curves of degree 2 with their bend as cost; the ends are drawn back to the rims."""
    start, end = np.array(tail), np.array(head)
    middle, normal = (start + end) / 2, np.array([end[1] - start[1], start[0] - end[0]])
    costed_curves = []
    length = float(np.hypot(*normal))
    for bend in _BENDS:
        # A bend is a share of the length, but no more than some units: long edges would leave the picture.
        control = (
            middle + normal * min(abs(bend), 2.2 * abs(bend) / max(length, 1.0) + 0.1) * (1 if bend > 0 else -1)
            if bend
            else middle
        )
        ends = [_rim(point, control) for point in (start, end)]
        costed_curves.append((_curve(ends[0], control, ends[1]), abs(bend)))
    across, up = end - start
    if abs(across) > 2:  # along the gap between two rows, to which a quarter of the way is lost at either end
        for y in (start[1] + share * up for share in (0.5, 0.3, 0.7)) if up else (start[1] - 0.66, start[1] + 0.66):
            turns = start[0] + math.copysign(0.5, across), end[0] - math.copysign(0.5, across)
            handles = [np.array([x, y]) for x in turns]
            costed_curves.append((_curve(_rim(start, handles[0]), *handles, _rim(end, handles[1])), 0.6))
    return costed_curves


def _curve(*control: Points) -> Curve:
    middle = _bezier(np.array(control), 3)[1]
    return Curve(tuple(map(_point, control)), _point(middle))


def _rim(centre: Points, towards: Points) -> Points:
    direction = towards - centre
    return np.asarray(centre + direction * (RADIUS / max(float(np.hypot(*direction)), RADIUS)))


def _point(values: Points) -> Point:
    return float(values[0]), float(values[1])


def _loops(node: Point) -> list[tuple[Curve, float]]:
    """Curves of degree 3 from the node to itself, in eight directions and two sizes."""
    centre = np.array(node)
    costed_curves = []
    for size in (1.0, 1.5):
        for rank, angle in enumerate(_LOOP_ANGLES):
            sides = [math.radians(angle + turn) for turn in (-32.0, 32.0)]
            ends, handles = (
                [centre + reach * np.array([math.cos(a), math.sin(a)]) for a in sides]
                for reach in (RADIUS, size * _LOOP_REACH)
            )
            costed_curves.append((_curve(ends[0], *handles, ends[1]), 0.1 * rank + 2.0 * (size - 1.0)))
    return costed_curves


def _cost(curve: Curve, others: Points, labels: Sequence[Point], drawn: Sequence[Points]) -> float:
    """What the curve comes too near to: nodes above all, labels, and stretches of earlier curves."""
    inner, label = curve.points()[2:-2], np.array([curve.label])
    cost = 8.0 * float((_gaps(others, inner) < _CLEARANCE).sum())
    if labels:
        placed = np.array(labels)
        cost += 1.5 * float((_gaps(placed, label) < _LABEL_ROOM).sum())
        cost += 0.8 * float((_gaps(placed, inner) < _LABEL_ROOM / 2).sum())
    if drawn:
        earlier = np.concatenate(drawn)
        near = earlier[((earlier > inner.min(0) - 0.2) & (earlier < inner.max(0) + 0.2)).all(1)]
        cost += _SAMPLING * float((_gaps(inner, near) < _CURVE_ROOM).sum())
    return cost


def _gaps(points: Points, others: Points) -> Points:
    """The distance of each point to the nearest of the others, (points,)."""
    if not len(points) or not len(others):
        return np.full(len(points), np.inf)
    return np.asarray(np.hypot(*(points[:, None] - others[None]).transpose(2, 0, 1)).min(1))


Grid = Callable[[int, str], Point]


def unfolded_curves(graph: RNNGraph, at: Grid, columns: int) -> Mapping[Edge, Curve]:
    """One curve from time(tail) on for each edge that fits into so many times; its other lifts are that one, moved."""
    edges = [edge for edge in graph.edges if abs(edge.sigma) < columns]
    near = min(max((abs(edge.sigma) for edge in edges), default=0) + graph.period, 24)
    first, last = -near, near + graph.period
    nodes = [
        at(t, node)
        for node, time in graph.nodes.items()
        for t in range(first + (time - first) % graph.period, last + 1, graph.period)
    ]
    ends = [(at(graph.nodes[e.tail], e.tail), at(graph.nodes[e.tail] + e.sigma, e.head)) for e in edges]
    return dict(zip(edges, curves(ends, nodes), strict=True))
