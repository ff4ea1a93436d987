"""The recurrence of a component: what its blocks have computed, and one step of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from odernn.architecture.network.parameters import GraphWeights
from odernn.architecture.network.plan import Component
from odernn.architecture.walks import Edge


class History:
    """The values of a block: a window before the start, then one row (batch, size) for each of its own times.

    Rows that are computed at once lie below each other, (times · batch, size), and are kept so: the next step may read
    just them.
    """

    def __init__(self, past: Tensor, count: int) -> None:
        self.window, self.batch = past.shape[:2]
        self._zeros = past.new_zeros(past.shape[1:])
        self._single: list[Tensor | None] = [*past.unbind(), *([None] * count)]
        self._together: dict[tuple[int, int], Tensor] = {}
        if self.window > 1:
            self._together[0, self.window] = past.flatten(0, 1)

    def write(self, first: int, last: int, values: Tensor) -> None:
        """The values at the block's times first … last − 1."""
        first, last = self.window + first, self.window + last
        if last - first == 1:
            self._single[first] = values
            return
        self._together[first, last] = values
        self._single[first:last] = values.unflatten(0, (last - first, self.batch)).unbind()

    def read(self, first: int, last: int) -> Tensor:
        """The rows first … last − 1, counted from the first of the window; zero for what lies beyond the end."""
        if last - first == 1:
            row = self._single[first] if first < len(self._single) else self._zeros
            assert row is not None  # the plan
            return row
        if (first, last) in self._together:
            return self._together[first, last]
        there = [row for row in self._single[first:last] if row is not None]
        assert len(there) == len(self._single[first:last])
        return torch.cat(there + [self._zeros] * (last - first - len(there)))

    def rows(self) -> Tensor:
        """(times, batch, size), without the window."""
        ends = {first: last for first, last in self._together if first >= self.window}
        pieces, k = [], self.window
        while k < len(self._single):
            row, last = self._single[k], ends.get(k, k + 1)
            assert row is not None  # the plan
            together = self._together[k, last].unflatten(0, (last - k, self.batch)) if k in ends else row.unsqueeze(0)
            pieces.append(together if ends else row)
            k = last
        if not pieces:
            return self._zeros.new_zeros(0, *self._zeros.shape)
        return torch.cat(pieces) if ends else torch.stack(pieces)


class BlockSteps:
    """The steps of a block: all that depends on weights and on edges alone is evaluated once.

    ranges   the times first … last − 1 of its steps, in any order
    shift    (edge, window of its tail) → the row of that window that the head reads at its first own time
    carried  the cell states that come along an edge from outside the component, at every time of its head
    inside   (activations, batch, 1), true at the times before each sample's own end; None where nothing is masked
    """

    def __init__(
        self,
        network: GraphWeights,
        component: Component,
        z: int,
        drive: Tensor,
        ranges: Sequence[tuple[int, int]],
        shift: Callable[[Edge, int], int],
        carried: Callable[[Edge], Tensor],
        inside: Tensor | None,
    ) -> None:
        node = component.blocks[z].nodes[0]
        self.network, self.unit = network, network.unit
        self.shift, self.carried = shift, carried
        self.copies = len(component.blocks[z].nodes)
        self.weight = network.block_weight(component, z).T
        self.ranges = sorted(ranges)
        self.drives = self._pieces(drive)
        self.reads = []
        for x, sigma in component.blocks[z].reads:
            source = component.blocks[x]
            self.reads.append((x, shift(Edge(source.nodes[0], node, sigma), network.block_window(source))))
        self.cells = [self._cell(component, edge) for edge in network.wiring.carried[node]]
        self.inside = None if inside is None else self._pieces(inside)

    def _pieces(self, rows: Tensor) -> dict[int, Tensor]:
        """The rows of each step below each other, by its first time; one operation takes all apart: one gradient."""
        firsts = [first for first, _ in self.ranges]
        if all(last - first == 1 for first, last in self.ranges):
            return dict(zip(firsts, rows.unbind(), strict=True))
        pieces = rows.split([last - first for first, last in self.ranges])
        return {first: piece.flatten(0, 1) for first, piece in zip(firsts, pieces, strict=True)}

    def _cell(self, component: Component, edge: Edge) -> tuple[int, int, slice] | dict[int, Tensor]:
        """Where a carried cell state is found: block, shift and columns inside, or its rows from outside."""
        for x, source in enumerate(component.blocks):
            if edge.tail in source.nodes:
                window, columns = self.network.block_window(source), self.network.columns(source)
                return x, self.shift(edge, window), columns[edge.tail]
        return self._pieces(self.carried(edge))

    def __call__(
        self, first: int, last: int, h: Sequence[History], c: Sequence[History]
    ) -> tuple[Tensor, Tensor | None]:
        """(h, c) of the block at its times first … last − 1, which do not read each other, below each other."""
        values = [h[x].read(shift + first, shift + last) for x, shift in self.reads]
        value = values[0] if len(values) == 1 else torch.cat(values, dim=1)
        cells = [self._carried(cell, first, last, c) for cell in self.cells]
        new_h, new_c = self.unit.step(torch.addmm(self.drives[first], value, self.weight), cells)
        if self.inside is None:
            return new_h, new_c
        inside = self.inside[first]
        return masked(inside, new_h), None if new_c is None else masked(inside, new_c)

    def _carried(
        self, cell: tuple[int, int, slice] | dict[int, Tensor], first: int, last: int, c: Sequence[History]
    ) -> Tensor:
        if isinstance(cell, dict):
            carried = cell[first]
        else:
            x, shift, columns = cell
            carried = c[x].read(shift + first, shift + last)
            if carried.shape[1] != columns.stop - columns.start:
                carried = carried[:, columns]
        return carried if self.copies == 1 else torch.cat([carried] * self.copies, dim=1)


def masked(inside: Tensor, rows: Tensor) -> Tensor:
    """rows where inside is true, else zero."""
    return torch.where(inside, rows, rows.new_zeros(()))
