"""The stages of a ``MatrixTableau``, evaluated where everything that depends on weights alone is given as numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from odernn.cells.odernn.parts import applied, dense, spread
from odernn.cells.odernn.tableau import MatrixTableau

Slopes: TypeAlias = Mapping[int, Tensor]


@dataclass(frozen=True, eq=False)
class StageEvaluation:
    """The stages of ``structure`` with their numbers in ``values``, in one dtype:

    K_i    (p_i × components read), in one of the three forms of ``Coefficient``
    b_i    (p_i), only of stages with a bias and no input: the other biases are in the drive
    A_i_j, B_i    times η; their gates as in ``odernn.coefficients``, without η
    eta    η itself, ()

    drive  (batch, Σ p_i over the stages with input): U_i u + b_i side by side, in the order of the labels
    """

    structure: MatrixTableau
    values: Mapping[str, Tensor]

    def argument(self, i: int, y: Tensor, k: Slopes) -> Tensor:
        """Y_i = y + η Σ_j A_ij k_j."""
        Y = y
        for j in self.structure.columns[i]:
            Y = Y + self.term(f"A_{i}_{j}", j, y, k)
        return Y

    def slope(self, i: int, Y: Tensor, drive: Tensor) -> Tensor:
        """k_i = σ_i(K_i Y_i + U_i u + b_i)."""
        return self.structure.stages[i].sigma(self.preactivation(i, Y, drive))

    def preactivation(self, i: int, Y: Tensor, drive: Tensor) -> Tensor:
        """K_i Y_i + U_i u + b_i."""
        stage = self.structure.stages[i]
        x = applied(self.values[f"K_{i}"], self._read(i, Y), self.structure.hidden_size)
        if stage.sees_input:
            return x + drive[..., self.structure.drive_slices[i]]
        return x + self.values[f"b_{i}"] if stage.bias else x

    def weighted(self, i: int, matrix: Tensor) -> Tensor:
        """K_i M for M (D × columns)."""
        return dense(self.values[f"K_{i}"], self.structure.stages[i].size) @ self._read(i, matrix.mT).mT

    def _read(self, i: int, Y: Tensor) -> Tensor:
        """The blocks of Y (..., D) that stage i reads."""
        reads, d = self.structure.stages[i].reads, self.structure.hidden_size
        if reads is None:
            return Y
        read = [Y[..., block * d : (block + 1) * d] for block in reads]
        return read[0] if len(read) == 1 else torch.cat(read, dim=-1)

    def term(self, name: str, j: int, y: Tensor, k: Slopes) -> Tensor:
        """η A_ij k_j, or η B_j k_j, by its name."""
        gate = self.gate(name, j, y, k)
        return applied(self.values[name], k[j] if gate is None else k[j] * gate, self.structure.hidden_size)

    def gate(self, name: str, j: int, y: Tensor, k: Slopes) -> Tensor | None:
        """The factor g(y, k) of k_j in the coefficient of that name, ``None`` if it has none."""
        stages = self.structure.gate_stages.get(name)
        if stages is None:
            return None
        width = self.structure.hidden_size
        parts = [applied(self.values[f"{name}_gate_k_{q}"], k[q], width) for q in stages]
        if f"{name}_gate_y" in self.values:
            parts.append(applied(self.values[f"{name}_gate_y"], y, width))
        if f"{name}_gate" in self.values:
            parts.append(spread(self.values[f"{name}_gate"], self.structure.stages[j].size))
        return functools.reduce(torch.add, parts)
