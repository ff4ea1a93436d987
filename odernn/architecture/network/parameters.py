"""The parameters of a network of a graph: their names, their shapes, and how the parts of the graph lie in tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn

from odernn.architecture.graph import RNNGraph
from odernn.architecture.network.plan import Block, Component, Wiring, components_of
from odernn.architecture.network.sizes import Sizes
from odernn.architecture.network.units import Carry, CellOutput, ForgetReads, UnitName, unit_of
from odernn.architecture.walks import Edge

_LONGEST_PERIOD: Final = 10**6
"""The layout of the output has an entry for each time of a period."""


class GraphWeights(nn.Module):
    """One matrix an edge and one bias a node, with the plan of the graph: what one pass of a ``GraphRNN`` reads.

    The arguments are those of ``GraphRNN``, where they are explained.
    """

    def __init__(
        self,
        graph: RNNGraph,
        hidden_size: int | Mapping[str, int],
        input_size: int = 1,
        unit: UnitName = "tanh",
        *,
        output_size: int | None = None,
        bias: bool = True,
        carry: Carry = "delayed",
        forget_reads: ForgetReads = "all",
        cell_output: CellOutput = "tanh",
        batch_first: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.unit_name: UnitName = unit
        self.unit = unit_of(unit, carry=carry, forget_reads=forget_reads, cell_output=cell_output)
        self.graph, self.wiring = graph, Wiring.of(graph, self.unit)
        self.hidden_size, self.batch_first, self.has_bias = hidden_size, batch_first, bias
        shapes = Sizes.of(self.wiring, self.unit, hidden_size, input_size, output_size)
        self.input_size, self.output_size = shapes.input_size, shapes.output_size
        self.sizes = shapes.nodes
        self.components = components_of(self.wiring)
        home = {node: i for i, part in enumerate(self.components) for block in part.blocks for node in block.nodes}
        self.outside = {
            node: tuple(edge for edge in edges if home[edge.tail] != home[node])
            for node, edges in self.wiring.into.items()
        }
        self.looks_ahead = any(edge.sigma < 0 for edge in graph.edges)
        self.output_layout = self._output_layout()
        self.output_width = max((end.stop for layout in self.output_layout for end in layout.values()), default=0)
        self.windows, self.cell_windows = (
            {
                node: window
                for node, window in self.wiring.windows(cells=cells).items()
                if self.wiring.kinds[node] in kinds
            }
            for cells, kinds in ((False, ("source", "unit")), (True, ("unit",) if self.unit.has_cells else ()))
        )
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        weights = {edge_name(edge): shape for edge, shape in shapes.weights.items()}
        weights |= {input_name(node): shape for node, shape in shapes.input_weights.items()}
        biases = {name(node): (rows,) for node, rows in shapes.biases.items()} if bias else {}
        expected = len(shapes.weights) + len(shapes.input_weights)
        if len(weights) < expected or (bias and len(biases) < len(shapes.biases)):
            raise ValueError(f"{graph}: two edges or nodes have the same name as parameters. Rename a node.")
        # pairs, since ParameterDict sorts the keys of a dictionary
        self.weight, self.bias = (
            nn.ParameterDict([(key, nn.Parameter(torch.empty(shape, **factory))) for key, shape in several.items()])
            for several in (weights, biases)
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Matrices into a node and its bias ~ U(−r, r), r = 1/√(size of the node), as in torch.nn.RNN."""
        for node in (*self.wiring.nodes("unit"), *self.wiring.nodes("reader")):
            for parameter in self.parameters_of(node):
                r = 1.0 / self.sizes[node] ** 0.5
                nn.init.uniform_(parameter, -r, r, generator=generator)

    def parameters_of(self, node: str) -> tuple[nn.Parameter, ...]:
        """The matrices of the edges into the node, that of the input, and the bias; () if it has none of them."""
        keys = [edge_name(edge) for edge in self.wiring.into[node]]
        if self.wiring.takes_input(node):
            keys.append(input_name(node))
        bias = [self.bias[name(node)]] if name(node) in self.bias else []
        return (*(self.weight[key] for key in keys if key in self.weight), *bias)

    # How the parts of the graph lie in tensors.

    def gate_count(self, node: str) -> int:
        """How many gates the unit has: its matrices have as many times its size rows."""
        return len(self.unit.gate_names(self.wiring.carried[node]))

    def gates(self, node: str) -> dict[str, slice]:
        """The rows of each gate in ``bias.node`` and in the matrices of edges that feed all gates.

            >>> rows = network.gates("h1")["forget h1:1"]
            >>> network.bias["h1"].data[rows] = 1.0

        With forget_reads="own" the matrix of a carried edge has rows for cell, input, output and its own forget gate.
        """
        if self.wiring.kinds.get(node) != "unit":
            raise KeyError(f"{self.graph} has no unit {node!r}. It has: {', '.join(self.wiring.nodes('unit'))}.")
        size = self.sizes[node]
        names = self.unit.gate_names(self.wiring.carried[node])
        return {gate: slice(k * size, (k + 1) * size) for k, gate in enumerate(names)}

    def _output_layout(self) -> tuple[dict[str, slice], ...]:
        """For each residue of time modulo the period, the columns of the output that each output node has then."""
        if self.graph.period > _LONGEST_PERIOD:
            raise ValueError(
                f"{self.graph} has the period {self.graph.period}; a network has at most {_LONGEST_PERIOD}. Take a "
                "graph of a smaller period."
            )
        layout: list[dict[str, slice]] = [{} for _ in range(self.graph.period)]
        ends = [0] * self.graph.period
        for node in self.graph.outputs:
            time = self.graph.nodes[node]
            layout[time][node] = slice(ends[time], ends[time] + self._output_size(node))
            ends[time] = layout[time][node].stop
        return tuple(layout)

    def _output_size(self, node: str) -> int:
        if self.wiring.kinds[node] == "reader" and self.output_size is None:
            return sum(self.sizes[edge.tail] for edge in self.wiring.into[node])
        return self.sizes[node]

    def columns(self, block: Block) -> dict[str, slice]:
        """Where the states of the nodes of a block lie side by side."""
        slices, end = {}, 0
        for node in block.nodes:
            slices[node] = slice(end, end + self.sizes[node])
            end += self.sizes[node]
        return slices

    def block_window(self, block: Block) -> int:
        """The longest window of the nodes of a block."""
        return max(self.windows[node] for node in block.nodes)

    def edge_weight(self, edge: Edge) -> Tensor:
        """The matrix of an edge with the rows of all gates of its head: zeros for gates that it does not feed."""
        weight = self.weight[edge_name(edge)]
        carried = self.wiring.carried[edge.head]
        place = carried.index(edge) if edge in carried else None
        return self.unit.all_gates(weight, place, len(carried))

    def block_weight(self, component: Component, z: int) -> Tensor:
        """(gates · size, Σ sizes of the blocks it reads): one matrix for the step of a block, rows gate by gate."""
        block, rows = component.blocks[z], []
        for node in block.nodes:
            gates = self.gate_count(node)
            parts = []
            for x, sigma in block.reads:
                for tail in component.blocks[x].nodes:
                    edge = Edge(tail, node, sigma)
                    is_there = edge in self.wiring.into[node]
                    shape = (gates * self.sizes[node], self.sizes[tail])
                    parts.append(self.edge_weight(edge) if is_there else self._like.new_zeros(shape))
            rows.append((parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)).unflatten(0, (gates, -1)))
        return (rows[0] if len(rows) == 1 else torch.cat(rows, dim=1)).flatten(0, 1)

    @property
    def _like(self) -> Tensor:
        """A weight whose dtype and device are the network's. There is one: a cycle passes through units."""
        weight: Tensor = next(iter(self.weight.values()))
        return weight


def name(node: str) -> str:
    """The node in a parameter's name, where torch forbids the full stop."""
    return node.replace(".", "·")


def edge_name(edge: Edge) -> str:
    """ "tail->head:σ"."""
    return f"{name(edge.tail)}->{name(edge.head)}:{edge.sigma}"


def input_name(node: str) -> str:
    """The matrix by which a unit that is an input takes x."""
    return f"x->{name(node)}"
