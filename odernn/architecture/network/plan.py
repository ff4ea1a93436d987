"""How the network of a graph is evaluated: what each node is, in which order, and what can be computed at once.

Strongly connected components come one after the other, each for all times, so that what enters a component from
outside is one product for all times. Inside, edges cross time, and the potential that proves the recurrent depth of
the component, d_r = p/q with h(u) ≥ h(v) + q − pσ on every edge (u, v, σ), is also its schedule: give v at time t the
level

    L(v, t) = ⌊(p t − h(v)) / q⌋,   then along an edge L(v, t + σ) − L(u, t) ≥ ⌊q/q⌋ = 1,

so that evaluating level by level never reads what is not there yet, whatever the signs of σ, and T steps take
T · d_r levels and a constant: no order has fewer, since a walk of the unfolding is as long. A component whose cycles
have negative σ-sums is the mirror image: it runs from the last time to the first.

What is computed at once: the times of a node that share a level (a loop of σ = k only: k steps in one product), and
the nodes of a component that are entered by the same edges, the same tails and σ, which form a block. The nodes of a
block never wait for each other: a walk from one to the other would, with its last edge moved, be closed, of σ-sum 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from odernn.architecture.graph import RNNGraph
from odernn.architecture.network.units import Unit
from odernn.architecture.potentials import Arcs, components, largest_ratio
from odernn.architecture.walks import Edge

Kind: TypeAlias = Literal["source", "unit", "reader"]


@final
@dataclass(frozen=True)
class Wiring:
    """The roles of nodes and edges for a unit.

    kinds    "source": an input that nothing enters, it is the input x; "reader": an output that is no input and that
             nothing leaves, it passes on what it reads; "unit": every other node
    into     the edges into each node, in the order of ``graph.edges``
    carried  of these, those that bring a cell state
    """

    graph: RNNGraph
    kinds: Mapping[str, Kind]
    into: Mapping[str, tuple[Edge, ...]]
    carried: Mapping[str, tuple[Edge, ...]]

    @classmethod
    def of(cls, graph: RNNGraph, unit: Unit) -> Wiring:
        if not isinstance(graph, RNNGraph):
            raise TypeError(f"graph is a {type(graph).__name__}, not an RNNGraph. See odernn.architecture.get.")
        entered, left = {edge.head for edge in graph.edges}, {edge.tail for edge in graph.edges}
        kinds: dict[str, Kind] = {}
        for node in graph.nodes:
            if node in graph.inputs and node not in entered:
                kinds[node] = "source"
            elif node in graph.outputs and node not in graph.inputs and node not in left:
                kinds[node] = "reader"
            else:
                kinds[node] = "unit"
        into: dict[str, list[Edge]] = {node: [] for node in graph.nodes}
        for edge in graph.edges:
            into[edge.head].append(edge)
        carried = {
            node: tuple(e for e in edges if kinds[node] == kinds[e.tail] == "unit" and unit.carries(e))
            for node, edges in into.items()
        }
        return cls(graph, kinds, {node: tuple(edges) for node, edges in into.items()}, carried)

    def nodes(self, kind: Kind) -> tuple[str, ...]:
        """The nodes of a kind, in the order of the graph."""
        return tuple(node for node, node_kind in self.kinds.items() if node_kind == kind)

    def takes_input(self, node: str) -> bool:
        """Whether the node is a unit that reads the input x beside what its edges bring."""
        return node in self.graph.inputs and self.kinds[node] == "unit"

    def windows(self, *, cells: bool = False) -> dict[str, int]:
        """How many past values of each node are ever read: of the last max σ times, one in m is the node's."""
        longest = dict.fromkeys(self.graph.nodes, 0)
        for edge in self.graph.edges:
            if not cells or edge in self.carried[edge.head]:
                longest[edge.tail] = max(longest[edge.tail], edge.sigma)
        return {node: -(-sigma // self.graph.period) for node, sigma in longest.items()}


@final
@dataclass(frozen=True)
class Block:
    """Nodes of one time label that the same edges of their component enter; their states lie side by side.

    reads  (block of the component, σ), in the order in which their states are put side by side for the product
    """

    nodes: tuple[str, ...]
    time: int
    reads: tuple[tuple[int, int], ...]


@final
@dataclass(frozen=True)
class Component:
    """A strongly connected component as blocks.

    direction  1: its cycles have σ-sums > 0; −1: < 0, it runs backward in time; 0: one node without a loop
    rate       (p, q) with d_r = p/q of the component, of its mirror image if it runs backward
    potential  h of each block
    """

    blocks: tuple[Block, ...]
    direction: int
    rate: tuple[int, int]
    potential: tuple[int, ...]
    looks_ahead: bool

    def level(self, z: int, time: int) -> int:
        """L(z, t): a block at a time reads lower levels only."""
        p, q = self.rate
        return (p * self.direction * time - self.potential[z]) // q

    def order(self, offsets: Sequence[int], counts: Sequence[int], period: int) -> list[tuple[int, int, int]]:
        """(block, first, last + 1) in an order in which everything is there when it is read.

        Block z acts at the times offsets[z] + k · period, k = 0 … counts[z] − 1. Its times of one level are neighbours
        and do not read each other: they come as one range of k, more than one where d_r < 1.
        """
        levels = sorted(
            (self.level(z, offset + k * period), z, k)
            for z, (offset, count) in enumerate(zip(offsets, counts, strict=True))
            for k in range(count)
        )
        ranges: list[tuple[int, int, int]] = []
        last = None
        for level, z, k in levels:
            if (level, z) == last:
                ranges[-1] = (z, ranges[-1][1], k + 1)
            else:
                ranges.append((z, k, k + 1))
            last = (level, z)
        return ranges


def components_of(wiring: Wiring) -> tuple[Component, ...]:
    """The components in an order in which each comes after those that it reads."""
    graph = wiring.graph
    names = tuple(graph.nodes)
    return tuple(
        _component(wiring, tuple(names[place] for place in sorted(members)))
        for members in reversed(components(graph.arcs))
    )


def _component(wiring: Wiring, nodes: tuple[str, ...]) -> Component:
    members = set(nodes)
    inside = {node: tuple(e for e in wiring.into[node] if e.tail in members) for node in nodes}
    gathered: dict[object, list[str]] = {}
    for node in nodes:
        # The same reads have the same times, by condition (1), and the same carried edges the same sizes.
        reads = tuple((edge.tail, edge.sigma) for edge in inside[node])
        carried = tuple((edge.tail, edge.sigma) for edge in wiring.carried[node])
        gathered.setdefault((reads, carried), []).append(node)
    place = {node: z for z, group in enumerate(gathered.values()) for node in group}
    blocks = tuple(
        Block(
            tuple(group),
            wiring.graph.nodes[group[0]],
            tuple(dict.fromkeys((place[edge.tail], edge.sigma) for edge in inside[group[0]])),
        )
        for group in gathered.values()
    )
    edges = [(x, z, sigma) for z, block in enumerate(blocks) for x, sigma in block.reads]
    ahead = any(sigma < 0 for _, _, sigma in edges)
    if not edges:
        return Component(blocks, 0, (1, 1), (0,), ahead)
    direction = _direction(edges)
    columns = zip(*((x, z, direction * sigma) for x, z, sigma in edges), strict=True)
    ratio = largest_ratio(Arcs.of(len(blocks), *(list(column) for column in columns)), 1)
    assert ratio is not None  # it is strongly connected and has an edge
    h = tuple(int(value) for value in ratio.potential.value)
    return Component(blocks, direction, ratio.value.as_integer_ratio(), h, ahead)


def _direction(edges: Sequence[tuple[int, int, int]]) -> int:
    """The sign of the σ-sums of the cycles, which all have the same by condition (3): of the first that is met."""
    leaving = {x: (z, sigma) for x, z, sigma in edges}
    sums: dict[int, int] = {}
    node, total = edges[0][0], 0
    while node not in sums:
        sums[node] = total
        node, sigma = leaving[node]
        total += sigma
    return 1 if total > sums[node] else -1
