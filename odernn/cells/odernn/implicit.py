"""Stages of a ``MatrixTableau`` that depend on each other: their equations.

For the stages of one circle, with y, the drive and the earlier slopes given,

    r_i(k) = k_i − σ_i(x_i) = 0,    x_i = K_i (y + η Σ_j A_ij k_j) + U_i u + b_i
    r'(k)_iq = δ_iq I − diag(σ_i'(x_i)) K_i η (A_iq diag(g_iq) + Σ_j A_ij diag(k_j) Γ_ijq)

with the gates g_ij = … + Σ_q Γ_ijq k_q, where there are any. They are solved, and the solution is differentiated, in
``integrators.implicit_function``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from odernn.cells.odernn.parts import dense
from odernn.cells.odernn.stages import StageEvaluation
from odernn.integrators.implicit_function import solution
from odernn.integrators.newton import Equations, Newton


@dataclass(frozen=True, eq=False)
class Circle(Equations):
    """The equations of the stages ``group``; a unit is a sample, and its unknowns are the k_i side by side."""

    residual_text: ClassVar[str] = "max |η (k − σ(x))|"
    scale_text: ClassVar[str] = "|y| + |η k| + |η|"
    step_text: ClassVar[str] = "eta"

    step: StageEvaluation
    group: tuple[int, ...]
    y: Tensor
    drive: Tensor
    given: Mapping[int, Tensor]

    @property
    def subject(self) -> str:
        return f"ODERNN: the equations of the stages {', '.join(map(str, self.group))}"

    def because(self) -> str:
        return "That they have a solution is a hypothesis."

    def leaves(self) -> dict[str, Tensor]:
        given = {f"k_{j}": slope for j, slope in self.given.items()}
        return {"the state": self.y, "the drive": self.drive, **given, **self.step.values}

    def with_leaves(self, leaves: Sequence[Tensor]) -> Circle:
        y, drive, *rest = leaves
        given = dict(zip(self.given, rest[: len(self.given)], strict=True))
        values = dict(zip(self.step.values, rest[len(self.given) :], strict=True))
        return Circle(replace(self.step, values=values), self.group, y, drive, given)

    def start(self) -> Tensor:
        """The slopes at Y = y."""
        return torch.cat([self.step.slope(i, self.y, self.drive) for i in self.group], dim=-1)

    @functools.cached_property
    def couplings(self) -> dict[tuple[int, int], Tensor]:
        """(i, j) → K_i η A_ij, for the stages i of the group."""
        return {(i, j): self.step.coupling(i, j) for i, j in self.step.structure.A if i in self.group}

    @property
    def eta(self) -> Tensor:
        """The step size, for the norms."""
        return self.step.values["eta"].detach()

    @property
    def sizes(self) -> list[int]:
        """p_i of the stages of the group."""
        return [self.step.structure.stages[i].size for i in self.group]

    @property
    def unknowns(self) -> int:
        return sum(self.sizes)

    def slopes(self, k: Tensor) -> dict[int, Tensor]:
        """All slopes by label: those given, and k (batch, Σp) cut up."""
        return {**self.given, **dict(zip(self.group, k.split(self.sizes, dim=-1), strict=True))}

    def preactivations(self, k: Tensor) -> list[Tensor]:
        """x_i of the stages of the group."""
        slopes = self.slopes(k)
        return [self.step.preactivation(i, self.step.argument(i, self.y, slopes), self.drive) for i in self.group]

    def residual(self, k: Tensor) -> Tensor:
        stages = [self.step.structure.stages[i] for i in self.group]
        return k - torch.cat([stage.sigma(x) for stage, x in zip(stages, self.preactivations(k), strict=True)], dim=-1)

    def jacobian(self, k: Tensor) -> Tensor:
        """r'(k), (batch, Σp, Σp)."""
        slopes, step = self.slopes(k), self.step
        rows = []
        for i, x in zip(self.group, self.preactivations(k), strict=True):
            parts: dict[int, Tensor] = {}
            for j in step.structure.columns[i]:
                for q, part in self._parts(i, j, slopes).items():
                    parts[q] = parts[q] + part if q in parts else part
            slope = step.structure.stages[i].sigma_derivative(x).unsqueeze(-1)
            zeros = [x.new_zeros(x.shape[-1], size) for size in self.sizes]
            entries = [parts.get(q, zero) for q, zero in zip(self.group, zeros, strict=True)]
            rows.append(torch.cat([(slope * entry).expand(*x.shape, entry.shape[-1]) for entry in entries], dim=-1))
        return torch.eye(self.unknowns, dtype=k.dtype, device=k.device) - torch.cat(rows, dim=-2)

    def _parts(self, i: int, j: int, slopes: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """q → ∂(K_i η A_ij k_j)/∂k_q for the stages of the group."""
        step, name = self.step, f"A_{i}_{j}"
        gate = step.gate(name, j, self.y, slopes)
        coupling = self.couplings[i, j]
        parts = {}
        if j in self.group:
            parts[j] = coupling if gate is None else coupling * gate.unsqueeze(-2)
        for q in step.structure.gate_stages.get(name, ()):
            if q in self.group:
                size = step.structure.stages[j].size
                through = (coupling * slopes[j].unsqueeze(-2)) @ dense(step.values[f"{name}_gate_k_{q}"], size)
                parts[q] = parts[q] + through if q in parts else through
        return parts

    def correction(self, k: Tensor, residual: Tensor) -> Tensor:
        delta, info = torch.linalg.solve_ex(self.jacobian(k), -residual.unsqueeze(-1))
        return torch.where((info == 0).unsqueeze(-1), delta.squeeze(-1), math.nan)

    def multiplier(self, k: Tensor, cotangent: Tensor) -> Tensor:
        solved: Tensor = torch.linalg.solve(self.jacobian(k).mT, cotangent.unsqueeze(-1))
        return solved.squeeze(-1)

    def size(self, k: Tensor) -> Tensor:
        return self.eta * k.abs().amax(-1)

    def norm(self, residual: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(residual, dim=-1)
        return norm

    def scale(self, k: Tensor) -> Tensor:
        return self.y.abs().amax(-1) + self.size(k) + self.eta

    def spread(self, unit: Tensor) -> Tensor:
        return unit.unsqueeze(-1)

    def samples(self, residual: Tensor, converged: Tensor) -> tuple[Tensor, Tensor]:
        return residual, converged


def solved(
    step: StageEvaluation,
    group: tuple[int, ...],
    y: Tensor,
    drive: Tensor,
    given: Mapping[int, Tensor],
    newton: Newton,
) -> dict[int, Tensor]:
    """The slopes of the group, differentiable in y, the drive, the slopes given and all numbers of the step.

    Raises ``ConvergenceError``, or warns, as ``newton`` says.
    """
    circle = Circle(step, group, y, drive, dict(given))
    return dict(zip(group, solution(circle, newton).k.split(circle.sizes, dim=-1), strict=True))
