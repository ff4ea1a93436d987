"""One forward pass of a network of a graph: component after component, each for all times."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import linear, pad

from odernn.architecture.network.parameters import GraphWeights, edge_name, input_name, name
from odernn.architecture.network.plan import Block, Component
from odernn.architecture.network.steps import BlockSteps, History, masked
from odernn.architecture.walks import Edge
from odernn.cells.common.sequences import Sequences
from odernn.executions.autocast import without_autocast

Windows = dict[str, Tensor]


class ForwardPass:
    """The values of all nodes at the times start … start + N − 1, where row k of the input is time start + k.

    ``h`` and ``c`` hold, for each node that has been evaluated, (window + activations, batch, size): its past values,
    then one row for each of its own times. What would lie at start + N or later reads as zero.
    """

    def __init__(
        self, network: GraphWeights, sequences: Sequences, past_h: Windows, past_c: Windows, start: int
    ) -> None:
        self.network, self.found = network, sequences
        self.wiring, self.unit, self.period = network.wiring, network.unit, network.graph.period
        self.steps, self.batch = sequences.u.shape[:2]
        self.offsets = {node: (time - start) % self.period for node, time in network.graph.nodes.items()}
        self.counts = {node: len(range(offset, self.steps, self.period)) for node, offset in self.offsets.items()}
        self.past_h, self.past_c = past_h, past_c
        self.h: dict[str, Tensor] = {}
        self.c: dict[str, Tensor] = {}
        self.read_out: dict[str, Tensor] = {}
        # What lies beyond a sample's own end is never read, unless an edge looks ahead.
        self.is_masked = sequences.lengths is not None and network.looks_ahead

    def evaluate(self, component: Component) -> None:
        """The values of the nodes of a component, once those of all components before it are there."""
        node = component.blocks[0].nodes[0]
        kind = self.wiring.kinds[node]
        if kind == "source":
            self._keep(node, self.found.u[self.offsets[node] :: self.period], None)
        elif kind == "reader":
            self.read_out[node] = self._read_out(node)
        else:
            drives = [self._block_drive(block) for block in component.blocks]
            with without_autocast(self.found.u):
                if component.direction == 0:
                    cells = [self.read(self.c, edge) for edge in self.wiring.carried[node]]
                    self._keep(node, *self.unit.step(drives[0], cells))
                else:
                    self._recur(component, drives)

    def _recur(self, component: Component, drives: list[Tensor]) -> None:
        """The steps of a component, each in the place that the plan gives it."""
        blocks, has_cells = component.blocks, self.unit.has_cells
        offsets = [self.offsets[block.nodes[0]] for block in blocks]
        counts = [self.counts[block.nodes[0]] for block in blocks]
        order = component.order(offsets, counts, self.period)
        h = [self._begun(block, self.past_h) for block in blocks]
        c = [self._begun(block, self.past_c) for block in blocks] if has_cells else []
        is_masked = self.is_masked and component.looks_ahead
        inside = [self.inside(block.nodes[0]) if is_masked else None for block in blocks]
        steps = []

        def carried(edge: Edge) -> Tensor:
            return self.read(self.c, edge)

        for z, drive in enumerate(drives):
            ranges = [(first, last) for block, first, last in order if block == z]
            steps.append(BlockSteps(self.network, component, z, drive, ranges, self.shift, carried, inside[z]))
        for z, first, last in order:
            new_h, new_c = steps[z](first, last, h, c)
            h[z].write(first, last, new_h)
            if new_c is not None:
                c[z].write(first, last, new_c)
        for z, block in enumerate(blocks):
            rows_h, rows_c = h[z].rows(), c[z].rows() if has_cells else None
            for node, columns in self.network.columns(block).items():
                self._keep(
                    node,
                    rows_h if len(block.nodes) == 1 else rows_h[..., columns],
                    rows_c if rows_c is None or len(block.nodes) == 1 else rows_c[..., columns],
                )

    def _begun(self, block: Block, past: Windows) -> History:
        """The past values of a block, nodes side by side; nodes may be read up to different delays, or not at all."""
        window = self.network.block_window(block)
        rows = [pad(past[node], (0, 0, 0, 0, window - len(past[node]), 0)) for node in block.nodes]
        return History(rows[0] if len(rows) == 1 else torch.cat(rows, dim=-1), self.counts[block.nodes[0]])

    def _keep(self, node: str, h: Tensor, c: Tensor | None) -> None:
        """The rows of a node after its past; zero beyond each sample's end where somebody looks ahead."""
        if self.is_masked:
            inside = self.inside(node)
            h, c = masked(inside, h), None if c is None else masked(inside, c)
        self.h[node] = torch.cat((self.past_h[node], h)) if len(self.past_h[node]) else h
        if c is not None:
            self.c[node] = torch.cat((self.past_c[node], c)) if len(self.past_c[node]) else c

    def inside(self, node: str) -> Tensor:
        """(activations, batch, 1), true at the times before each sample's own end."""
        assert self.found.lengths is not None
        times = torch.arange(self.offsets[node], self.steps, self.period, device=self.found.u.device)
        return (times.unsqueeze(1) < self.found.lengths).unsqueeze(2)

    def shift(self, edge: Edge, window: int) -> int:
        """The row of the tail that the head reads at its first own time, counted from the first row of its window."""
        return window + (self.offsets[edge.head] - edge.sigma - self.offsets[edge.tail]) // self.period

    def read(self, values: Mapping[str, Tensor], edge: Edge) -> Tensor:
        """What comes along an edge at every time of its head: (activations of the head, batch, size of the tail)."""
        past = self.past_h if values is self.h else self.past_c
        rows, count = values[edge.tail], self.counts[edge.head]
        first = self.shift(edge, len(past[edge.tail]))
        there = rows[first : first + count]
        return pad(there, (0, 0, 0, 0, 0, count - len(there))) if len(there) < count else there

    def _block_drive(self, block: Block) -> Tensor:
        """What enters from outside the component, for all times: (activations, batch, gates · size), gate by gate."""
        drives = [self._drive(node, block) for node in block.nodes]
        if len(drives) == 1:
            return drives[0]
        gates = self.network.gate_count(block.nodes[0])
        return torch.cat([drive.unflatten(-1, (gates, -1)) for drive in drives], dim=-1).flatten(-2)

    def _drive(self, node: str, block: Block) -> Tensor:
        """Σ W_e h_u + W_x x + b over the edges from outside, as one product for all times."""
        network, weights, values = self.network, [], []
        for edge in network.outside[node]:
            weights.append(network.edge_weight(edge))
            values.append(self.read(self.h, edge))
        if self.wiring.takes_input(node):
            weights.append(network.weight[input_name(node)])
            values.append(self.found.u[self.offsets[node] :: self.period])
        bias = network.bias[name(node)] if network.has_bias else None
        if not weights:
            size = network.gate_count(node) * network.sizes[node]
            shape = (self.counts[node], self.batch, size)
            return self.found.u.new_zeros(shape) if bias is None else bias.expand(shape)
        return self._product(values, weights, bias)

    def _product(self, values: list[Tensor], weights: list[Tensor], bias: Tensor | None) -> Tensor:
        """In fewer digits under autocast, as every product with inputs, and in those of the parameters after it."""
        if len(values) == 1:
            return linear(values[0], weights[0], bias).to(self.found.u.dtype)
        return linear(torch.cat(values, dim=-1), torch.cat(weights, dim=-1), bias).to(self.found.u.dtype)

    def _read_out(self, node: str) -> Tensor:
        """An output that nothing leaves: what it reads side by side, or an affine function of it."""
        network, edges = self.network, self.wiring.into[node]
        values = [self.read(self.h, edge) for edge in edges]
        if network.output_size is None:
            return torch.cat(values, dim=-1) if values else self.found.u.new_zeros(self.counts[node], self.batch, 0)
        bias = network.bias[name(node)] if network.has_bias else None
        if not values:
            shape = (self.counts[node], self.batch, network.output_size)
            return self.found.u.new_zeros(shape) if bias is None else bias.expand(shape)
        return self._product(values, [network.weight[edge_name(edge)] for edge in edges], bias)

    def output(self) -> Tensor:
        """(time, batch, output): at every time the outputs that act then, side by side; zero columns after them."""
        width, m = self.network.output_width, self.period
        columns = []
        for offset in range(min(m, self.steps)):
            nodes = [node for node in self.network.graph.outputs if self.offsets[node] == offset]
            count = len(range(offset, self.steps, m))
            blocks = [self._own_rows(node) for node in nodes]
            rows = torch.cat(blocks, dim=-1) if blocks else self.found.u.new_zeros(count, self.batch, 0)
            columns.append(pad(rows, (0, width - rows.shape[-1], 0, 0, 0, -(-self.steps // m) - count)))
        if not columns:
            return self.found.u.new_zeros(0, self.batch, width)
        return columns[0] if m == 1 else torch.stack(columns, dim=1).flatten(0, 1)[: self.steps]

    def _own_rows(self, node: str) -> Tensor:
        if node in self.read_out:
            return self.read_out[node]
        return self.h[node][len(self.past_h[node]) :]

    def final(self, values: Mapping[str, Tensor], past: Windows) -> Windows:
        """The last rows of each window, up to each sample's own end."""
        return {node: self._window(node, values[node], len(rows)) for node, rows in past.items() if len(rows)}

    def _window(self, node: str, rows: Tensor, window: int) -> Tensor:
        if self.found.lengths is None:
            return rows[len(rows) - window :]
        acted = (self.found.lengths - self.offsets[node] + self.period - 1) // self.period
        index = acted + torch.arange(window, device=rows.device).unsqueeze(1)
        return rows.gather(0, index.unsqueeze(2).expand(-1, -1, rows.shape[2]))
