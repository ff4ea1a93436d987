"""Graphs as parameters of a case, and what a file names on them: times, walks, images of nodes.

A graph is read from its JSON form by both back-ends' readers and written again on one line, so that the two see the
same text. Its limits keep enumerations short: of simple cycles and paths, and of the unfolding that decides how paths
grow.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from odernn.architecture.files import from_json
from odernn.architecture.graph import GraphError
from verification.adversary import graphs
from verification.adversary.graphs import SketchBox
from verification.certify.second.graph import Arc, Graph, TooLargeError, is_cycle, joined, parse
from verification.kinds import Integer, NotOfThisKindError, Values
from verification.parameters import Parameter, Rule

MOST_LETTERS = 2**14
MOST_CYCLES = 2_000
MOST_STATES = 400_000
"""Nodes of the unfoldings, from every time 0 … m − 1, that decide how paths of a graph with (U) grow."""
MOST_STEPS = 1_200
"""Of a path that a file names by its duration: twice the 12 · 48 that paths may go beyond both their ends, and more."""

_NAME = re.compile(r"[A-Za-z0-9_@]{1,16}")


def written(graph: Graph) -> str:
    """The JSON form on one line, as ``adversary.graphs.text`` has it."""
    plain: dict[str, Any] = {"period": graph.period, "nodes": dict(graph.times)}
    plain |= {role: list(nodes) for role, nodes in (("inputs", graph.inputs), ("outputs", graph.outputs)) if nodes}
    plain["edges"] = [list(edge) for edge in graph.edges]
    if not set(graph.outputs) <= graph.reached(graph.inputs):
        plain["allow_unreachable"] = True
    return json.dumps(plain)


def _parsed(text: str) -> Graph:
    """By the second back-end's reader; the first one's looks at it when the sizes are known."""
    if len(text) > MOST_LETTERS:
        raise NotOfThisKindError(f"it has more than {MOST_LETTERS} letters")
    try:
        graph = parse(text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NotOfThisKindError(f"no graph in JSON: {type(error).__name__}") from None
    return graph


def _is_one_of_the_library(text: str) -> None:
    """(3) may fail, which statements have as a premise; nothing else may."""
    try:
        from_json(text)
    except GraphError as error:
        if error.condition != "3":
            raise NotOfThisKindError(f"condition ({error.condition}) fails") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise NotOfThisKindError(str(error)) from None


@dataclass(frozen=True)
class Graphs:
    """A weighted cyclic multigraph with (1) and (2), as JSON: at most so many nodes and edges, m and |σ|.

    least     the smallest σ
    grows     whether statements look at how its paths grow: then its cycles and its unfolding have limits, too
    roles     the most inputs, and the most outputs
    ends      whether graphs that are drawn have an input and an output
    """

    nodes: int = 12
    edges: int = 24
    period: int = 12
    sigma: int = 48
    least: int = -48
    roles: int = 12
    grows: bool = True
    ends: bool = False

    def __str__(self) -> str:
        return (
            f"a graph in JSON with (1), (2), of at most {self.nodes} nodes and {self.edges} edges, m ≤ {self.period}, "
            f"{self.least} ≤ σ ≤ {self.sigma}"
        ).replace("-", "−")

    def read(self, text: str, _: Values) -> Graph:
        graph = _parsed(text)
        self._is_small(graph)
        _is_one_of_the_library(text)
        if self.grows and not _is_decided(graph):
            raise NotOfThisKindError("it has too many cycles, or too large an unfolding")
        return graph

    def _is_small(self, graph: Graph) -> None:
        names = [node for node in graph.times if _NAME.fullmatch(node) is None]
        for is_wrong, why in (
            (bool(names), "a node has another name than 1 to 16 letters and digits"),
            (len(graph.times) > self.nodes, "too many nodes"),
            (len(graph.edges) > self.edges, "too many edges"),
            (graph.period > self.period, "too large a period"),
            (max(len(graph.inputs), len(graph.outputs)) > self.roles, "too many inputs or outputs"),
            (any(not self.least <= sigma <= self.sigma for *_, sigma in graph.edges), "a σ is too large or too small"),
        ):
            if is_wrong:
                raise NotOfThisKindError(why)

    def write(self, value: Graph) -> str:
        return written(value)

    def draw(self, rng: random.Random, values: Values) -> Graph:
        """At random, some of them changed a little: then a cycle may have a σ-sum ≤ 0."""
        while True:
            most = min(4, self.nodes)
            sketch = graphs.at_random(rng, nodes=rng.randint(1, most), period=min(3, self.period), ends=self.ends)
            for _ in range(rng.choice((0, 0, 1, 2))):
                sketch = graphs.changed(sketch, rng, most) if sketch.edges else sketch
            try:
                return self.read(graphs.text(sketch), values)
            except NotOfThisKindError:
                continue


def within(box: SketchBox) -> Graphs:
    """The graphs of a box, and no others: the statement is proved there."""
    roles = 1 if box.ends else 0
    return Graphs(box.nodes, box.edges, box.period, box.high, box.low, roles=roles, ends=box.ends)


@lru_cache(maxsize=1_000)
def _decided(text: str) -> bool:
    graph = parse(text)
    try:
        if len(graph.cycles) > MOST_CYCLES:
            return False
    except TooLargeError:
        return False
    return not graph.is_unidirectional or (
        graph.period * graph.size * (graph.decisive + 2 * graph.reach) <= MOST_STATES
    )


def _is_decided(graph: Graph) -> bool:
    """Whether the second back-end can say how its paths grow in a second or so."""
    return _decided(written(graph))


@dataclass(frozen=True)
class Cover(Graphs):
    """Another graph, drawn as the two-fold cover of "graph": nodes v@t, t a time of v modulo twice the period."""

    nodes: int = 24
    edges: int = 48
    period: int = 24
    grows: bool = False

    def draw(self, rng: random.Random, values: Values) -> Graph:
        graph: Graph = values["graph"]
        m = 2 * graph.period
        nodes = {f"{v}@{t}": t for v, time in graph.times.items() for t in (time, time + graph.period)}
        edges = tuple(
            (f"{u}@{t}", f"{v}@{(t + sigma) % m}", sigma)
            for u, v, sigma in graph.edges
            for t in (graph.times[u], graph.times[u] + graph.period)
        )
        inputs, outputs = (
            tuple(f"{v}@{t}" for v in role for t in (graph.times[v], graph.times[v] + graph.period))
            for role in (graph.inputs, graph.outputs)
        )
        return Graph(m, nodes, edges, inputs, outputs)


@dataclass(frozen=True)
class Rewired(Graphs):
    """A graph with the nodes, inputs and outputs of another one: nothing is read from an output or into an input."""

    like: str = ""
    edges: int = 12
    sigma: int = 8
    least: int = 0

    def __str__(self) -> str:
        return f"{super().__str__()}, with nodes, inputs and outputs as in {self.like}"

    def read(self, text: str, values: Values) -> Graph:
        graph, model = super().read(text, values), parse(self.like)
        if graph.period != model.period or dict(graph.times) != dict(model.times):
            raise NotOfThisKindError("other nodes")
        if (set(graph.inputs), set(graph.outputs)) != (set(model.inputs), set(model.outputs)):
            raise NotOfThisKindError("other inputs or outputs")
        if any(u in graph.outputs or v in graph.inputs for u, v, _ in graph.edges):
            raise NotOfThisKindError("an edge leaves an output or enters an input")
        return graph

    def draw(self, rng: random.Random, values: Values) -> Graph:
        """The model with one to three loops of each hidden node."""
        model = parse(self.like)
        hidden = [node for node in model.times if node not in (*model.inputs, *model.outputs)]
        loops = {(node, node, model.period * rng.randint(1, 3)) for node in hidden for _ in range(rng.randint(1, 3))}
        edges = [*(edge for edge in model.edges if edge[0] != edge[1]), *sorted(loops)]
        rng.shuffle(edges)
        return Graph(model.period, model.times, tuple(edges), model.inputs, model.outputs)


@dataclass(frozen=True)
class OneGraph:
    """One of these graphs, in whatever spelling of its JSON; the text is then that of the case."""

    texts: tuple[str, ...]

    def __str__(self) -> str:
        return "the graph of this case" if len(self.texts) == 1 else f"one of the {len(self.texts)} graphs of this case"

    def read(self, text: str, _: Values) -> str:
        read_contents = contents(_parsed(text))
        same = next((known for known in self.texts if contents(parse(known)) == read_contents), None)
        if same is None:
            raise NotOfThisKindError("another graph")
        return same

    def write(self, value: str) -> str:
        return value

    def draw(self, rng: random.Random, _: Values) -> str:
        return rng.choice(self.texts)


def contents(graph: Graph) -> tuple[object, ...]:
    """What makes two graphs the same one: the order in which things are named does not."""
    return graph.period, dict(graph.times), set(graph.edges), set(graph.inputs), set(graph.outputs)


# --- what a file names on "graph"


@dataclass(frozen=True)
class TimeOf:
    """A time 0 … m − 1 of the graph."""

    def __str__(self) -> str:
        return "a time from 0 to m − 1"

    def _times(self, values: Values) -> Integer:
        return Integer(0, values["graph"].period - 1)

    def read(self, text: str, values: Values) -> int:
        return self._times(values).read(text, values)

    def write(self, value: int) -> str:
        return str(value)

    def draw(self, rng: random.Random, values: Values) -> int:
        return rng.randint(0, self._times(values).limit(values))


@dataclass(frozen=True)
class LabelsOf:
    """A label p for every node of the graph, in their order: nodes (t, p) of one time have different labels."""

    def __str__(self) -> str:
        return "a whole number from 0 to 99 for every node, in their order, different at one time"

    def read(self, text: str, values: Values) -> tuple[int, ...]:
        times = values["graph"].times
        words = text.split(" ")
        if len(words) != len(times) or not all(re.fullmatch("0|[1-9][0-9]?", word) for word in words):
            raise NotOfThisKindError("")
        labels = tuple(map(int, words))
        if len(set(zip(times.values(), labels, strict=True))) < len(times):
            raise NotOfThisKindError("two nodes of one time have one label")
        return labels

    def write(self, value: Sequence[int]) -> str:
        return " ".join(map(str, value))

    def draw(self, rng: random.Random, values: Values) -> tuple[int, ...]:
        times = values["graph"].times
        orders = {t: rng.sample(range(len(times)), len(times)) for t in times.values()}
        if rng.random() < 0.7:  # the same few labels at every time
            orders = {t: list(range(len(times))) for t in orders}
        return tuple(orders[t].pop(0) for t in times.values())


@dataclass(frozen=True)
class NodeImages:
    """The nodes of the graph in some order: where each one is moved to."""

    def __str__(self) -> str:
        return "every node of the graph, in some order"

    def read(self, text: str, values: Values) -> tuple[str, ...]:
        images = tuple(text.split(" "))
        if sorted(images) != sorted(values["graph"].times):
            raise NotOfThisKindError("")
        return images

    def write(self, value: Sequence[str]) -> str:
        return " ".join(value)

    def draw(self, rng: random.Random, values: Values) -> tuple[str, ...]:
        names = list(values["graph"].times)
        return tuple(rng.sample(names, len(names)))


@dataclass(frozen=True)
class WalkOf:
    """Edges of the graph one after the other, as JSON, none of them twice: ``is_closed``, or a path, which is one edge
    or meets no node twice.
    """

    is_closed: bool

    def __str__(self) -> str:
        kind = "a directed cycle" if self.is_closed else "a directed path without repeated nodes"
        return f"{kind} of the graph: [[tail, head, σ], …]"

    def read(self, text: str, values: Values) -> tuple[Arc, ...]:
        graph: Graph = values["graph"]
        edges = self._edges(text, graph)
        if not edges or not (is_cycle(graph, edges) if self.is_closed else self._is_path(graph, edges)):
            raise NotOfThisKindError("")
        return edges

    @staticmethod
    def _edges(text: str, graph: Graph) -> tuple[Arc, ...]:
        """Each as the graph itself has it: JSON has other numbers that are equal to σ."""
        if len(text) > MOST_LETTERS:
            raise NotOfThisKindError(f"it has more than {MOST_LETTERS} letters")
        try:
            known = {json.dumps(list(edge)): edge for edge in graph.edges}
            return tuple(known[json.dumps(edge)] for edge in json.loads(text))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise NotOfThisKindError("its edges are not those of the graph") from None

    @staticmethod
    def _is_path(graph: Graph, edges: tuple[Arc, ...]) -> bool:
        met = {edges[0][0], *(head for _, head, _ in edges)}
        return joined(graph, edges) and (len(edges) == 1 or len(met) == len(edges) + 1)

    def write(self, value: Iterable[Arc]) -> str:
        return json.dumps([list(edge) for edge in value])

    def draw(self, rng: random.Random, values: Values) -> tuple[Arc, ...]:
        graph: Graph = values["graph"]
        if self.is_closed:
            cycle = rng.choice(graph.cycles)
            start = rng.randrange(len(cycle))
            return (*cycle[start:], *cycle[:start])
        one = rng.choice(graph.edges)
        longer = [(one, other) for other in graph.after[one[1]] if self._is_path(graph, (one, other))]
        return rng.choice([(one,), *longer])


TIME = Parameter("i", TimeOf())
CYCLE_NAMED, PATH_NAMED = Parameter("cycle", WalkOf(is_closed=True)), Parameter("path", WalkOf(is_closed=False))
STEPS = Integer(-MOST_STEPS, MOST_STEPS)
INFINITE = (Parameter("i", TimeOf(), optional=True), Parameter("n", STEPS, optional=True))
TOGETHER = Rule("a time i comes with a number of steps n", lambda values: ("i" in values) == ("n" in values))
"""Where a path is infinite, in a graph without (U)."""
