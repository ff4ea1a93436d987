"""The RNN cyclic graph (m, V, time, E, V_in, V_out), its conditions decided exactly, and its unfolding.

An edge (u, v, σ) says: v at time t + σ reads u at time t. The conditions, after Zhang et al. 2016, Definition 2.1:

    (1)  σ = time(v) − time(u) modulo the period m, for every edge (u, v, σ)
    (2)  there is a directed cycle
    (3)  no closed walk has σ-sum 0: nothing waits for itself, the unfolding has no cycle
    (R)  every output is reached from some input (of this library; ``allow_unreachable=True`` does without it)
    (U)  every directed cycle has σ-sum > 0: the network runs forward in time. The measures need it, the graph does not

A graph that breaks one of the first four is not built: :class:`GraphError` has the name of the condition and the walk
that breaks it. ``measures`` has what follows from them, ``files`` reads and writes a graph.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from odernn import notebook
from odernn.architecture.potentials import (
    STOP,
    Arcs,
    Potential,
    components,
    followed,
    positive_cycle,
    towards,
)
from odernn.architecture.walks import Edge, Walk
from odernn.certificate import Certificate

if TYPE_CHECKING:
    import networkx

_TRIED: Final = 120
"""Walks of which the longest shows that no input reaches an output."""
_FEW: Final = 24
"""Nodes for which a condition is looked at in plain integers first."""

_CONDITIONS: Final = {
    "1": "σ = time(head) − time(tail) modulo the period",
    "2": "there is a directed cycle",
    "3": "no closed walk has σ-sum 0",
    "U": "every directed cycle has σ-sum > 0",
    "R": "every output is reached from some input",
}


class GraphError(ValueError):
    """A condition of the definition fails: its name (``"1"``, ``"2"``, ``"3"``, ``"U"``, ``"R"``) and the walk."""

    def __init__(self, message: str, condition: str, walk: Walk | None) -> None:
        super().__init__(message)
        self.condition = condition
        self.walk = walk

    def __reduce__(self) -> tuple[Any, ...]:
        return (GraphError, (str(self), self.condition, self.walk))


@final
@dataclass(frozen=True)
class RNNGraph:
    """A weighted cyclic multigraph with time labels; see the top of this file for the conditions.

    name     what messages call it
    period   m ≥ 1
    nodes    name → time label in {0, …, m − 1}
    edges    (tail, head, σ), kept sorted by tail, head and σ; parallel edges differ in σ
    inputs   V_in;  outputs  V_out;  the other nodes are ``hidden``. A node may be an input and an output

    Raises GraphError if a condition fails, ValueError or TypeError if the data are no graph at all.
    """

    name: str
    period: int
    nodes: Mapping[str, int]
    edges: tuple[Edge, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    allow_unreachable: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise TypeError(f"The name of a graph is a text, not {self.name!r}.")
        self._integer(self.period, "the period m")
        if self.period < 1:
            raise ValueError(f"{self}: the period m is {self.period}. It must be at least 1.")
        if not isinstance(self.allow_unreachable, bool):
            raise TypeError(f"{self}: allow_unreachable is {self.allow_unreachable!r}, not True or False.")
        nodes = dict(self.nodes)
        for node, time in nodes.items():
            if not isinstance(node, str) or not node:
                raise TypeError(f"{self}: the node {node!r} is not named by a text.")
            self._integer(time, f'the time of node "{node}"')
            if not 0 <= time < self.period:
                raise ValueError(f'{self}: node "{node}" has time {time}, not one of 0 … {self.period - 1}.')
        object.__setattr__(self, "nodes", MappingProxyType(nodes))
        index = {node: place for place, node in enumerate(nodes)}
        object.__setattr__(self, "edges", self._sorted(index))
        for role in ("inputs", "outputs"):
            given = getattr(self, role)
            if isinstance(given, str):
                raise TypeError(f"{self}: {role} is the text {given!r}. Pass a sequence of nodes.")
            members = tuple(given)
            for node in members:
                if not isinstance(node, str) or node not in index:
                    raise ValueError(f"{self}: {node!r} in {role} is no node.")
            if len(set(members)) < len(members):
                raise ValueError(f"{self}: a node is named twice in {role}.")
            object.__setattr__(self, role, tuple(sorted(members, key=index.__getitem__)))
        conditions = [self.has_residues, self.has_cycle, self.is_acyclic_in_time, self.is_reached]
        if self._settles(1, 0) is False:  # its certificate has a cycle to show, which nobody has asked for
            conditions.remove(self.has_cycle)
        for condition in conditions:
            certificate = condition()
            if not certificate and not (self.allow_unreachable and condition == self.is_reached):
                name = certificate.property[1:2]
                raise GraphError(f"{self}: {certificate.because} {_ADVICE[name]}", name, certificate.witness)

    def _integer(self, value: object, what: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{self}: {what} is {value!r}, not an integer.")

    def _sorted(self, index: Mapping[str, int]) -> tuple[Edge, ...]:
        edges = []
        for given in self.edges:
            if not isinstance(given, tuple | list) or len(given) != 3:
                raise TypeError(f"{self}: {given!r} is not an edge (tail, head, σ).")
            tail, head, sigma = given
            for node in (tail, head):
                if not isinstance(node, str) or node not in index:
                    raise ValueError(f"{self}: the edge {given!r} names {node!r}, which is no node.")
            self._integer(sigma, f"σ of the edge {given!r}")
            edges.append(Edge(tail, head, sigma))
        edges.sort(key=lambda edge: (index[edge.tail], index[edge.head], edge.sigma))
        for one, other in itertools.pairwise(edges):
            if one == other:
                raise ValueError(f"{self}: the edge {one} is given twice. Parallel edges must differ in σ.")
        return tuple(edges)

    def __hash__(self) -> int:
        return hash((self.name, self.period, tuple(self.nodes.items()), self.edges, self.inputs, self.outputs))

    def __reduce__(self) -> tuple[Any, ...]:
        """A read-only mapping cannot be pickled; the conditions are checked again."""
        return (
            RNNGraph,
            (self.name, self.period, dict(self.nodes), self.edges, self.inputs, self.outputs, self.allow_unreachable),
        )

    def __str__(self) -> str:
        return f'Graph "{self.name}"'

    def __repr__(self) -> str:
        return f'RNNGraph("{self.name}", period {self.period}, {len(self.nodes)} nodes, {len(self.edges)} edges)'

    def _repr_html_(self) -> str:
        return notebook.html("graphs", self)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The nodes that are neither inputs nor outputs."""
        named = {*self.inputs, *self.outputs}
        return tuple(node for node in self.nodes if node not in named)

    @functools.cached_property
    def index(self) -> Mapping[str, int]:
        """The place of each node in ``nodes``."""
        return MappingProxyType({node: place for place, node in enumerate(self.nodes)})

    @functools.cached_property
    def arcs(self) -> Arcs:
        """The edges as arrays, in the order of ``edges``, nodes by their place."""
        index = self.index
        return Arcs.of(
            len(index),
            [index[edge.tail] for edge in self.edges],
            [index[edge.head] for edge in self.edges],
            [edge.sigma for edge in self.edges],
        )

    def walk(self, edges: Iterable[int]) -> Walk:
        """The walk along the edges of these numbers."""
        return Walk.along(self.edges[edge] for edge in edges)

    # The conditions: each a Certificate whose witness is the walk that breaks it.

    def has_residues(self) -> Certificate:
        """(1): σ = time(head) − time(tail) modulo m on every edge."""
        for edge in self.edges:
            start, end = self.nodes[edge.tail], self.nodes[edge.head]
            if (edge.sigma - end + start) % self.period:
                because = (
                    f"condition (1) fails: the edge {edge} has σ = {edge.sigma}, but time({edge.head}) − "
                    f"time({edge.tail}) = {end} − {start} and the period is {self.period}."
                )
                return _failed("1", Walk.along([edge]), because)
        return _passed("1", None, f"all {len(self.edges)} edges")

    def has_cycle(self) -> Certificate:
        """(2): a directed cycle, which is the witness; without one, the longest walk is."""
        return self._cyclic

    @functools.cached_property
    def _cyclic(self) -> Certificate:
        import numpy as np

        cycle_or_potential = positive_cycle(self.arcs, np.ones(len(self.edges), dtype=np.int64))
        if not isinstance(cycle_or_potential, Potential):
            walk = self.walk(cycle_or_potential)
            return _passed("2", walk, f"{walk}")
        if not self.nodes:
            return _failed("2", None, "condition (2) fails: the graph has no node.")
        longest = int(cycle_or_potential.value.argmax())
        walk = Walk.along(
            (self.edges[e] for e in followed(self.arcs, cycle_or_potential.choice, longest)),
            start=tuple(self.nodes)[longest],
        )
        because = f"condition (2) fails: there is no directed cycle; every walk ends, a longest one is {walk}."
        return _failed("2", walk, because)

    def is_unidirectional(self) -> Certificate:
        """(U): every directed cycle has σ-sum > 0; the witness against it is a closed walk of σ-sum ≤ 0."""
        return self._unidirectional

    @functools.cached_property
    def _unidirectional(self) -> Certificate:
        cycle = None if self._settles(1, -len(self.nodes) - 1) else _cycle_at_most_zero(self.arcs)
        if cycle is None:
            return _passed("U", None, "no cycle of σ-sum ≤ 0, shown by a potential")
        walk = self.walk(cycle)
        return _failed("U", walk, f"condition (U) fails: the closed walk {walk} has σ-sum {walk.sigma}.")

    def is_acyclic_in_time(self) -> Certificate:
        """(3): no closed walk has σ-sum 0, which holds iff the cycles of each component have sums of one sign."""
        return self._acyclic

    @functools.cached_property
    def _acyclic(self) -> Certificate:
        if not self.is_unidirectional() and not self._settles(1, len(self.nodes) + 1):
            for component in components(self.arcs):
                walk = self._zero_walk(component)
                if walk is not None:
                    return _failed("3", walk, f"condition (3) fails: the closed walk {walk} has σ-sum 0.")
        return _passed("3", None, "in every component the cycles have σ-sums of one sign")

    def _settles(self, edge: int, sigma: int) -> bool | None:
        """Whether no cycle has a positive weight, edge + sigma·σ summed up; None for more than a few nodes.

        Bellman and Ford in plain integers, quicker for few than a certificate: without such a cycle no heaviest walk
        has more than |V| − 1 edges.
        """
        if len(self.nodes) > _FEW:
            return None
        weights = [(self.index[tail], self.index[head], edge + sigma * step) for tail, head, step in self.edges]
        heights = [0] * len(self.nodes)
        for _ in heights:
            before = heights.copy()
            for u, v, weight in weights:
                if heights[v] + weight > heights[u]:
                    heights[u] = heights[v] + weight
            if heights == before:
                return True
        return not weights

    def _zero_walk(self, component: list[int]) -> Walk | None:
        """A closed walk of σ-sum 0 in this strongly connected component."""
        import numpy as np

        inside = np.zeros(len(self.nodes), dtype=bool)
        inside[component] = True
        kept = np.flatnonzero(inside[self.arcs.tail] & inside[self.arcs.head])
        if not len(kept):
            return None
        arcs = self.arcs.part(kept)
        if (down := _cycle_at_most_zero(arcs)) is None or (up := _cycle_at_least_zero(arcs)) is None:
            return None
        low, high = self.walk(kept[down]), self.walk(kept[up])
        for walk in (low, high):
            if walk.sigma == 0:
                return walk
        there = followed(arcs, towards(arcs, [self.index[high.start]]), self.index[low.start])
        back = followed(arcs, towards(arcs, [self.index[low.start]]), self.index[high.start])
        around = [self.edges[kept[e]] for e in (*there, *back)]  # closed, through a node of each cycle
        total = sum(edge.sigma for edge in around)
        if not around:  # both cycles start at the same node
            step = math.gcd(low.sigma, high.sigma)
            return Walk(((low.edges, high.sigma // step), (high.edges, -low.sigma // step)), low.start)
        if total == 0:
            return Walk.along(around)
        if total > 0:
            step = math.gcd(total, low.sigma)
            return Walk(((tuple(around), -low.sigma // step), (low.edges, total // step)), low.start)
        around = [self.edges[kept[e]] for e in (*back, *there)]
        step = math.gcd(total, high.sigma)
        return Walk(((tuple(around), high.sigma // step), (high.edges, -total // step)), high.start)

    def is_reached(self) -> Certificate:
        """(R): every output is reached from an input; the witness is a walk into one that is not."""
        import numpy as np

        if not self.outputs:
            return _passed("R", None, "all 0 outputs")
        backward = Arcs.of(len(self.nodes), *(a.tolist() for a in (self.arcs.head, self.arcs.tail, self.arcs.sigma)))
        reached = towards(backward, [self.index[node] for node in self.inputs]) >= STOP
        for node in self.outputs:
            if reached[self.index[node]]:
                continue
            if not self.inputs:
                walk = Walk.along((), start=node)
                return _failed("R", walk, f"condition (R) fails: there is no input that reaches the output {node}.")
            choice = towards(self.arcs, [self.index[node]])
            walks = [followed(self.arcs, choice, int(u)) for u in np.flatnonzero(choice >= STOP)[:_TRIED]]
            walk = Walk.along((self.edges[e] for e in max(walks, key=len)), start=node)
            because = (
                f"condition (R) fails: the output {node} is reached from none of the {len(self.inputs)} inputs; "
                f"{int((choice >= 0).sum())} other nodes lead to it, none of them an input, for example by {walk}."
            )
            return _failed("R", walk, because)
        return _passed("R", None, f"all {len(self.outputs)} outputs")

    def conditions(self) -> dict[str, Certificate]:
        """All five by name."""
        checks = (self.has_residues, self.has_cycle, self.is_acyclic_in_time, self.is_unidirectional, self.is_reached)
        return {certificate.property[1:2]: certificate for certificate in (check() for check in checks)}

    # The same graph in another form.

    def cover(self, folds: int) -> RNNGraph:
        """The q-fold cover: period q·m, nodes "v@t" for the q times t = time(v) + r·m. It has the same unfolding."""
        if folds < 1:
            raise ValueError(f"{self}: {folds} folds. Pass at least 1.")
        long = folds * self.period
        copies = {
            node: tuple(f"{node}@{time + r * self.period}" for r in range(folds)) for node, time in self.nodes.items()
        }
        times = {copy: int(copy.rpartition("@")[2]) for several in copies.values() for copy in several}
        edges = tuple(
            Edge(f"{e.tail}@{t}", f"{e.head}@{(t + e.sigma) % long}", e.sigma)
            for e in self.edges
            for t in range(self.nodes[e.tail], long, self.period)
        )
        inputs, outputs = (tuple(c for n in role for c in copies[n]) for role in (self.inputs, self.outputs))
        return RNNGraph(f"{self.name}, {folds} folds", long, times, edges, inputs, outputs, self.allow_unreachable)

    def between_ends(self) -> RNNGraph:
        """The part on walks from an input to an output. Its d_r is the growth rate of D*_i(n), which may be smaller.

        Raises GraphError (2) if no cycle is on such a walk.
        """
        import numpy as np

        backward = Arcs.of(len(self.nodes), *(a.tolist() for a in (self.arcs.head, self.arcs.tail, self.arcs.sigma)))
        leads = towards(self.arcs, [self.index[node] for node in self.outputs]) >= STOP
        follows = towards(backward, [self.index[node] for node in self.inputs]) >= STOP
        names = tuple(self.nodes)
        kept = {names[k]: self.nodes[names[k]] for k in np.flatnonzero(leads & follows)}
        edges = tuple(edge for edge in self.edges if edge.tail in kept and edge.head in kept)
        inputs, outputs = (tuple(node for node in role if node in kept) for role in (self.inputs, self.outputs))
        return RNNGraph(f"{self.name}, between its ends", self.period, kept, edges, inputs, outputs)

    def unfolding(self, start: int, stop: int) -> networkx.DiGraph[Any]:
        """The unfolding at the times start ≤ t < stop: nodes (t, v), edges (t, u) → (t + σ, v). It has no cycle."""
        import networkx

        nodes, edges = self.window(start, stop)
        unfolded = networkx.DiGraph(name=self.name)
        unfolded.add_nodes_from((node, {"role": self.role(node[1])}) for node in nodes)
        unfolded.add_edges_from((tail, head, {"sigma": head[0] - tail[0]}) for tail, head in edges)
        return unfolded

    def window(
        self, start: int, stop: int
    ) -> tuple[list[tuple[int, str]], list[tuple[tuple[int, str], tuple[int, str]]]]:
        """The nodes and the edges of the unfolding at the times start ≤ t < stop as plain lists, the nodes by time."""
        present: list[list[str]] = [[] for _ in range(self.period)]
        for node, time in self.nodes.items():
            present[time].append(node)
        nodes = [(t, node) for t in range(start, stop) for node in present[t % self.period]]
        edges = []
        for tail, head, sigma in self.edges:
            first = max(start, start - sigma)
            times = range(first + (self.nodes[tail] - first) % self.period, min(stop, stop - sigma), self.period)
            edges += [((t, tail), (t + sigma, head)) for t in times]
        return nodes, edges

    def role(self, node: str) -> str:
        """ "input", "output", "input output" or "hidden"."""
        return self._roles.get(node, "hidden")

    @functools.cached_property
    def _roles(self) -> Mapping[str, str]:
        roles = dict.fromkeys(self.inputs, "input")
        for node in self.outputs:
            roles[node] = "input output" if node in roles else "output"
        return roles

    def to_networkx(self) -> networkx.MultiDiGraph[Any]:
        """The multigraph with the attributes period (graph), time, role (nodes), sigma (edges; also the key)."""
        import networkx

        multigraph = networkx.MultiDiGraph(name=self.name, period=self.period)
        for node, time in self.nodes.items():
            multigraph.add_node(node, time=time, role=self.role(node))
        multigraph.add_edges_from((e.tail, e.head, e.sigma, {"sigma": e.sigma}) for e in self.edges)
        return multigraph

    @classmethod
    def from_networkx(
        cls, multigraph: networkx.DiGraph[Any], *, name: str | None = None, allow_unreachable: bool = False
    ) -> RNNGraph:
        """From a directed (multi)graph: sigma on each edge; time (else 0) and role (else hidden) on the nodes."""
        if not multigraph.is_directed():
            raise TypeError("An RNN graph is directed; this networkx graph is not.")
        name = name or multigraph.graph.get("name") or "graph"
        edges = []
        for tail, head, data in multigraph.edges(data=True):
            if "sigma" not in data:
                raise ValueError(f'Graph "{name}": the edge ({tail!r}, {head!r}) has no attribute "sigma".')
            edges.append((tail, head, data["sigma"]))
        roles: dict[str, list[str]] = {"input": [], "output": [], "hidden": []}
        for node, role in multigraph.nodes(data="role", default="hidden"):
            for part in str(role).split():
                if part not in roles:
                    raise ValueError(f'Graph "{name}": node {node!r} has the role {role!r}, not input, output, hidden.')
                roles[part].append(node)
        times = dict(multigraph.nodes(data="time", default=0))
        period = multigraph.graph.get("period", 1)
        return cls(name, period, times, edges, roles["input"], roles["output"], allow_unreachable)  # type: ignore[arg-type]


_ADVICE: Final = {
    "1": "Change σ or a time.",
    "2": "A recurrent network has one: add a connection to an earlier node.",
    "3": "Every node on it would wait for itself: change a σ.",
    "R": "Add a connection, or pass allow_unreachable=True.",
}


def _passed(condition: str, witness: Walk | None, because: str) -> Certificate:
    return Certificate(f"({condition}) {_CONDITIONS[condition]}", True, True, witness, because)


def _failed(condition: str, witness: Walk | None, because: str) -> Certificate:
    return Certificate(f"({condition}) {_CONDITIONS[condition]}", False, True, witness, because)


def _cycle_at_most_zero(arcs: Arcs) -> list[int] | None:
    """A cycle of σ-sum ≤ 0: positive for the weights 1 − Mσ, M = |V| + 1, since a simple cycle has l < M edges."""
    import numpy as np

    if len(arcs.sigma) and int(arcs.sigma.min()) >= 0:  # then all its edges have σ = 0
        kept = np.flatnonzero(arcs.sigma == 0)
        if not len(kept):
            return None
        cycle_or_potential = positive_cycle(arcs.part(kept), np.ones(len(kept), dtype=np.int64))
        return None if isinstance(cycle_or_potential, Potential) else kept[cycle_or_potential].tolist()
    cycle_or_potential = positive_cycle(arcs, arcs.combination(1, -(arcs.count + 1)))
    return None if isinstance(cycle_or_potential, Potential) else cycle_or_potential


def _cycle_at_least_zero(arcs: Arcs) -> list[int] | None:
    """A cycle of σ-sum ≥ 0."""
    if len(arcs.sigma) and int(arcs.sigma.max()) < 0:
        return None
    cycle_or_potential = positive_cycle(arcs, arcs.combination(1, arcs.count + 1))
    return None if isinstance(cycle_or_potential, Potential) else cycle_or_potential
