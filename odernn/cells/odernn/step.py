"""One step of a ``MatrixTableau`` with everything that depends on weights alone already evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from odernn.cells.odernn.implicit import CoupledStages
from odernn.cells.odernn.stages import StageEvaluation


class StageValues(NamedTuple):
    """What a step computes: after (batch, D), and of its stages Y_i (batch, D) and k_i (batch, p_i)."""

    after: Tensor
    Y: dict[int, Tensor]
    k: dict[int, Tensor]


@dataclass(frozen=True, eq=False)
class MatrixStep(StageEvaluation):
    """The step of ``structure``: its stages one after another, or ``coupled`` where some need each other."""

    coupled: CoupledStages | None

    def __call__(self, y: Tensor, drive: Tensor) -> StageValues:
        """y (batch, D) → y₊. Terms are added from the left: a linear stage k_0 = y with A_i0 = −I cancels y exactly."""
        if self.coupled is not None:
            after, p = self.coupled.one(y, drive)
            solved = self.coupled.slopes(p)
            return StageValues(after, {i: self.argument(i, y, solved) for i in solved}, solved)
        Y: dict[int, Tensor] = {}
        k: dict[int, Tensor] = {}
        for (i,) in self.structure.groups:
            Y[i] = self.argument(i, y, k)
            k[i] = self.slope(i, Y[i], drive)
        after = y
        for i in self.structure.B:
            after = after + self.term(f"B_{i}", i, y, k)
        return StageValues(after, Y, k)
