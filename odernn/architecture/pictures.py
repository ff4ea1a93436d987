"""Pictures of an RNN graph and its unfolding as SVG, with the walks that decide its measures; needs ``odernn[plots]``.

    critical cycle   of d_r   vermilion and solid
    skip cycle       of s     blue and dashed; vermilion with blue dashes where an edge is on both cycles
    critical path    of d_f   a pale green band
    closed walk               of σ-sum < 0, where condition (U) fails: vermilion and solid, instead of the others

In the unfolding a path has one of its lifts coloured, a cycle one that goes on through the whole window.
The SVG is text that a style sheet or a program can use: every edge is one element of the class "edge", every node one
of the class "node" with its role; "critical-cycle", "skip-cycle", "critical-path" and "closed-walk" are further classes
of theirs, and each has a <title>. Equal graphs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from odernn.architecture.drawing import Box, Line, Sheet, Spot, moved
from odernn.architecture.graph import RNNGraph
from odernn.architecture.layout import Point, positions, rows, unfolded_curves
from odernn.architecture.layout import curves as routed
from odernn.architecture.measures import Measures, measures_of
from odernn.architecture.walks import Edge, Walk

MOST_NODES: Final = 60
MOST_EDGES: Final = 240
MOST_COLUMNS: Final = 48
MOST_UNFOLDED: Final = 1500
"""Of a picture that is still read: nodes and edges of the graph, times and edges of the unfolding."""

MOST_ZEROS: Final = 40
"""With more edges σ = 0 is not written."""


class PictureError(ValueError):
    """The graph is too large to be drawn, in one line with the numbers."""


@final
@dataclass(frozen=True)
class Highlight:
    """A walk that is drawn as one of the four classes, with its line in the legend."""

    kind: str
    walk: Walk
    words: str

    @property
    def steps(self) -> list[tuple[int, Edge]]:
        """The (t, edge) of the walk from time 0 on."""
        steps, time = [], 0
        for edge in self.walk.edges:
            steps.append((time, edge))
            time += edge.sigma
        return steps

    def start(self, graph: RNNGraph) -> int:
        """The first time at which the walk may start without going back before 0."""
        lowest = min((t + min(0, e.sigma) for t, e in self.steps), default=0)
        time = graph.nodes[self.walk.start]
        return time + graph.period * max(0, -((lowest + time) // graph.period))

    def columns(self, graph: RNNGraph) -> int:
        """Times from 0 on that the walk needs."""
        return self.start(graph) + max((max(t, t + e.sigma) for t, e in self.steps), default=0) + 1

    def lift(self, graph: RNNGraph, columns: int) -> frozenset[tuple[int, Edge]]:
        """The (t, edge) of a path, or of a cycle without end, as far as both ends are in 0 … columns − 1."""
        start, turn = self.start(graph), self.walk.sigma
        lifted = set()
        for t, edge in self.steps:
            times: Iterable[int] = (start + t,)
            if self.kind != "critical-path":
                times = range((start + t) % abs(turn), columns, abs(turn))
            lifted |= {(time, edge) for time in times if 0 <= time < columns and 0 <= time + edge.sigma < columns}
        return frozenset(lifted)


def _number(value: object) -> str:
    """With a minus sign as wide as a plus sign."""
    return str(value).replace("-", "−")


def highlights(measures: Measures) -> tuple[Highlight, ...]:
    """The critical cycle, the skip cycle and the critical path, or the closed walk that breaks condition (U)."""
    certificates = {
        "critical-cycle": measures.recurrent_depth,
        "skip-cycle": measures.skip_coefficient,
        "critical-path": measures.feedforward_depth,
    }
    depth = measures.recurrent_depth
    if not depth:
        walk = depth.witness
        return (Highlight("closed-walk", walk, f"closed walk with Σσ = {_number(walk.sigma)}: condition (U) fails"),)
    names = {"critical-cycle": "d_r", "skip-cycle": "s", "critical-path": "d_f"}
    highlighted = []
    for kind, certificate in certificates.items():
        if certificate:
            walk = certificate.witness.walk
            what = "path" if kind == "critical-path" else "cycle"
            words = (
                f"{what} of {names[kind]} = {_number(certificate.value)}: l = {walk.length}, Σσ = {_number(walk.sigma)}"
            )
            highlighted.append(Highlight(kind, walk, words))
    return tuple(highlighted)


@final
@dataclass(frozen=True)
class Subject:
    """What one picture is about: the graph as it is drawn, its highlights, and what was left out."""

    graph: RNNGraph
    whole: RNNGraph
    highlights: tuple[Highlight, ...]
    values: str

    @classmethod
    def of(cls, graph: RNNGraph, measures: Measures | None = None) -> Subject:
        """The whole graph if it is small enough, else its highlights only; PictureError if even these are too large."""
        measures = measures_of(graph) if measures is None else measures
        highlighted = highlights(measures)
        drawn = graph
        if len(graph.nodes) > MOST_NODES or len(graph.edges) > MOST_EDGES:
            drawn = _only(graph, [highlight.walk for highlight in highlighted])
        if len(drawn.nodes) > MOST_NODES:
            raise PictureError(
                f"{graph} has {len(graph.nodes)} nodes and {len(graph.edges)} edges, and the cycles and the path that "
                f"decide its measures alone have {len(drawn.nodes)} nodes: a picture shows at most {MOST_NODES}. Write "
                "the graph to a .dot file and give it to a program for large graphs."
            )
        return cls(drawn, graph, highlighted, str(measures))

    @property
    def caption(self) -> str:
        """What the reader must know of what is left out; empty if nothing is."""
        words = [] if self.has_zeros else ["An edge without a number has σ = 0."]
        if self.graph is not self.whole:
            words.append(
                f"Only these walks are drawn: {len(self.graph.nodes)} of {len(self.whole.nodes)} nodes, "
                f"{len(self.graph.edges)} of {len(self.whole.edges)} edges."
            )
        return " ".join(words)

    @property
    def has_zeros(self) -> bool:
        """Whether σ = 0 is written out, too."""
        return len(self.graph.edges) <= MOST_ZEROS

    def classes(self, edge: Edge) -> tuple[str, ...]:
        """Of an edge of the cyclic graph."""
        return tuple(highlight.kind for highlight in self.highlights if edge in highlight.walk.edges)

    def columns(self) -> int:
        """Times that the unfolding shows: enough for every highlight, as far as that can be read."""
        graph = self.graph
        wanted = max([4, graph.period + 2, *(highlight.columns(graph) + 1 for highlight in self.highlights)])
        affordable = MOST_UNFOLDED * graph.period // max(len(graph.edges), 1)
        return max(2, min(wanted, MOST_COLUMNS, affordable))


def _only(graph: RNNGraph, walks: Sequence[Walk]) -> RNNGraph:
    """The part of the graph on these walks."""
    edges = {edge for walk in walks for part, _ in walk.parts for edge in part}
    kept = {node for edge in edges for node in edge[:2]} | {walk.start for walk in walks}
    nodes = {node: time for node, time in graph.nodes.items() if node in kept}
    inputs, outputs = (tuple(node for node in role if node in kept) for role in (graph.inputs, graph.outputs))
    return RNNGraph(f"{graph.name}, its critical part", graph.period, nodes, tuple(edges), inputs, outputs, True)


def svg(graph: RNNGraph, *, measures: Measures | None = None) -> str:
    """The cyclic graph, and beside it its unfolding, as SVG.

    Raises ImportError without matplotlib, PictureError if the graph is too large.
    """
    subject = Subject.of(graph, measures)
    sheet = Sheet()
    graph_box, unfolding_box = _cyclic(sheet, subject), _unfolding(sheet, subject)
    beside = graph_box.width + unfolding_box.width < 26
    arrangement = [[graph_box, unfolding_box]] if beside else [[graph_box], [unfolding_box]]
    legend = [(highlight.kind, highlight.words) for highlight in subject.highlights]
    about = f"{graph}, {subject.values}"
    return sheet.drawn(arrangement, legend, title=about, description=_described(subject), caption=subject.caption)


def gallery(shown: Sequence[Sequence[tuple[RNNGraph, str]]], *, title: str) -> str:
    """Several graphs in one picture, by rows: with "graph" the cyclic graph, with "unfolding" its unfolding."""
    sheet, arrangement, descriptions = Sheet(), [], []
    for line in shown:
        boxes = []
        for graph, which in line:
            if which not in {"graph", "unfolding"}:
                raise ValueError(f'"{which}" is not a way to show {graph}. Pass "graph" or "unfolding".')
            subject = Subject.of(graph)
            heading = f"{graph.name}\n{subject.values}" if which == "graph" else f"{graph.name}, unfolded"
            draw = _cyclic if which == "graph" else _unfolding
            boxes.append(draw(sheet, subject, heading))
            descriptions.append(_described(subject))
        arrangement.append(boxes)
    legend = [("critical-cycle", "cycle of d_r"), ("skip-cycle", "cycle of s"), ("critical-path", "path of d_f")]
    return sheet.drawn(arrangement, legend, title=title, description=" ".join(dict.fromkeys(descriptions)))


def _described(subject: Subject) -> str:
    """The picture in words."""
    walks = "; ".join(f"{highlight.words}, {highlight.walk}" for highlight in subject.highlights)
    graph = subject.whole
    size = f"{graph}: period {graph.period}, {len(graph.nodes)} nodes, {len(graph.edges)} edges"
    return " ".join(part for part in (f"{size}; {walks}.", subject.caption) if part)


def _cyclic(sheet: Sheet, subject: Subject, heading: str = "") -> Box:
    graph = subject.graph
    sheet.panels += 1
    place = positions(graph)
    box = Box(heading or f"{subject.whole.name}: the cyclic graph, period {graph.period}")
    drawn = routed([(place[e.tail], place[e.head]) for e in graph.edges], place.values())
    for number, (edge, curve) in enumerate(zip(graph.edges, drawn, strict=True)):
        classes = subject.classes(edge)
        name = sheet.named(sheet.panels, f"edge-{number}", " ".join(("edge", *classes)), str(edge))
        box.lines.append(Line(name, curve, classes, _number(edge.sigma) if edge.sigma or subject.has_zeros else ""))
    for number, node in enumerate(graph.nodes):
        title = f"{node}, time {graph.nodes[node]}" if graph.period > 1 else node
        name = sheet.named(sheet.panels, f"node-{number}", f"node {graph.role(node)}", title)
        box.spots.append(Spot(name, place[node], graph.role(node), node))
    return box


def _unfolding(sheet: Sheet, subject: Subject, heading: str = "") -> Box:
    graph, columns = subject.graph, subject.columns()
    sheet.panels += 1
    row = rows(graph)
    step = 1.25

    def at(t: int, node: str) -> Point:
        return (step * t, 1.0 * row[node])

    template = unfolded_curves(graph, at, columns)
    lifts = {highlight.kind: highlight.lift(graph, columns) for highlight in subject.highlights}
    lost = [highlight.words.split(" =")[0] for highlight in subject.highlights if highlight.columns(graph) > columns]
    note = f"; the {' and the '.join(lost)} would need more" if lost else ""
    box = Box(heading or f"its unfolding at the times 0 … {columns - 1}{note}")
    for number, edge in enumerate(graph.edges):
        start = graph.nodes[edge.tail]
        for t in range(start, columns, graph.period):
            if not 0 <= t + edge.sigma < columns:
                continue
            lifted = moved(template[edge], step * (t - start), 0.0)
            classes = tuple(kind for kind, members in lifts.items() if (t, edge) in members)
            title = f"({t}, {edge.tail}) -> ({t + edge.sigma}, {edge.head})"
            name = sheet.named(sheet.panels, f"edge-{number}-at-{t}", " ".join(("edge", *classes)), title)
            box.lines.append(Line(name, lifted, classes, ""))
    for number, (node, time) in enumerate(graph.nodes.items()):
        for t in range(time, columns, graph.period):
            name = sheet.named(sheet.panels, f"node-{number}-at-{t}", f"node {graph.role(node)}", f"({t}, {node})")
            box.spots.append(Spot(name, at(t, node), graph.role(node), node))
    box.times = [(step * t, str(t)) for t in range(columns)]
    return box
