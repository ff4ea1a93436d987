"""What a node of a network computes from the products with what it reads: tanh, or a multidimensional LSTM.

A unit of H components with K carried edges, those whose cell state comes along, has a number of gates, each of H rows.
Rows are ordered gate by gate; the forget gates come last, in the order of the carried edges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import torch
from torch import Tensor

from odernn.architecture.walks import Edge
from odernn.cells.common import arguments

UnitName: TypeAlias = Literal["tanh", "multidimensional-lstm"]
Carry: TypeAlias = Literal["delayed", "all"]
ForgetReads: TypeAlias = Literal["all", "own"]
CellOutput: TypeAlias = Literal["tanh", "identity"]


class Unit(ABC):
    """h (and c, for a unit with cells) of nodes side by side; K is the number of carried edges of each."""

    has_cells: bool

    @abstractmethod
    def carries(self, edge: Edge) -> bool:
        """Whether the cell state of a unit at the tail comes along this edge."""

    @abstractmethod
    def gate_names(self, carried: Sequence[Edge]) -> tuple[str, ...]:
        """The gates in the order of their rows."""

    @abstractmethod
    def gates_of_edge(self, carried: int, is_carried: bool) -> int:
        """How many gates an edge feeds: its matrix has as many times H rows."""

    @abstractmethod
    def all_gates(self, weight: Tensor, place: int | None, carried: int) -> Tensor:
        """The matrix of an edge with zero rows for the gates that it does not feed; place among the carried edges."""

    @abstractmethod
    def step(self, preactivation: Tensor, cells: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """(h, c) from (…, gates · H) and what the carried edges bring, K tensors (…, H)."""


@final
class Tanh(Unit):
    """h = tanh(a)."""

    has_cells = False

    def carries(self, edge: Edge) -> bool:
        return False

    def gate_names(self, carried: Sequence[Edge]) -> tuple[str, ...]:
        return ("state",)

    def gates_of_edge(self, carried: int, is_carried: bool) -> int:
        return 1

    def all_gates(self, weight: Tensor, place: int | None, carried: int) -> Tensor:
        return weight

    def step(self, preactivation: Tensor, cells: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        return torch.tanh(preactivation), None


@final
@dataclass(frozen=True)
class MultidimensionalLSTM(Unit):
    """c = σ(i) tanh(z) + Σ_e σ(f_e) c_e,  h = σ(o) tanh(c) or σ(o) c; gates in the order z, i, o, f_1 … f_K.

    carry         "delayed": the edges with σ ≠ 0 from other units bring their cell state; "all": those with σ = 0, too
    forget_reads  "all": a forget gate reads every edge; "own": of the carried edges only its own
    cell_output   "tanh" or "identity"
    """

    carry: Carry = "delayed"
    forget_reads: ForgetReads = "all"
    cell_output: CellOutput = "tanh"

    has_cells = True

    def __post_init__(self) -> None:
        arguments.one_of("carry", self.carry, ("delayed", "all"))
        arguments.one_of("forget_reads", self.forget_reads, ("all", "own"))
        arguments.one_of("cell_output", self.cell_output, ("tanh", "identity"))

    def carries(self, edge: Edge) -> bool:
        return self.carry == "all" or edge.sigma != 0

    def gate_names(self, carried: Sequence[Edge]) -> tuple[str, ...]:
        return ("cell", "input", "output", *(f"forget {edge.tail}:{edge.sigma}" for edge in carried))

    def gates_of_edge(self, carried: int, is_carried: bool) -> int:
        return 4 if is_carried and self.forget_reads == "own" else 3 + carried

    def all_gates(self, weight: Tensor, place: int | None, carried: int) -> Tensor:
        if place is None or self.forget_reads == "all" or carried == 1:
            return weight
        size = len(weight) // 4
        before, after = (weight.new_zeros(size * count, weight.shape[1]) for count in (place, carried - 1 - place))
        return torch.cat((weight[: 3 * size], before, weight[3 * size :], after))

    def step(self, preactivation: Tensor, cells: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        gates = 3 + len(cells)
        size = preactivation.shape[-1] // gates
        i, o, *forget = torch.sigmoid(preactivation[..., size:]).chunk(gates - 1, dim=-1)
        c = i * torch.tanh(preactivation[..., :size])
        for f, cell in zip(forget, cells, strict=True):
            c = torch.addcmul(c, f, cell)
        return o * (torch.tanh(c) if self.cell_output == "tanh" else c), c


def unit_of(name: UnitName, *, carry: Carry, forget_reads: ForgetReads, cell_output: CellOutput) -> Unit:
    """The unit of that name. Raises ValueError for a name or an option that there is not, or that does nothing."""
    lstm = MultidimensionalLSTM(carry, forget_reads, cell_output)
    if arguments.one_of("unit", name, ("tanh", "multidimensional-lstm")) == "multidimensional-lstm":
        return lstm
    if lstm != MultidimensionalLSTM():
        raise ValueError('carry, forget_reads and cell_output are options of unit="multidimensional-lstm". Drop them.')
    return Tanh()
