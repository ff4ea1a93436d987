"""Stages that depend on each other: their equations.

For one group of slopes k_p, p = (block β, stage i), with everything computed before it in ``base``:

    r_p(k) = k_p − f_β(Y_i; drive_i) = 0,     Y_i of block γ = base_iγ + h Σ_{q = (γ, j)} a_ij k_q
    r'(k)_pq = δ_pq I − J_i[β, γ] h a_ij                                        Hairer, Wanner 1996, Section IV.8

They are solved, and the solution is differentiated, in ``implicit_function``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.fields.field import Field, State
from odernn.integrators._layout import blockwise, joined, per_column, split
from odernn.integrators.coefficients import FloatCoefficients, SlopeGroup
from odernn.integrators.explicit import Slopes, stage_value
from odernn.integrators.implicit_function import solution
from odernn.integrators.newton import Equations, Newton


@dataclass(frozen=True, eq=False)
class GroupTables:
    """The coefficients that couple the n slopes of a group, and where in its S stages each of them lives.

    weights[γ]    (S, n_γ), the stage values of block γ from its slopes in the group
    places[γ]     (n_γ,), the stage of each of these, from 0 among the S
    stage, block  (n,), of all slopes
    coupling      (n, n), a_ij for p = (β, i), q = (γ, j)
    """

    weights: tuple[Tensor, ...]
    places: tuple[Tensor, ...]
    stage: Tensor
    block: Tensor
    coupling: Tensor


def group_tables(
    coefficients: FloatCoefficients, group: SlopeGroup, dtype: torch.dtype, device: torch.device
) -> GroupTables:
    """The group's coefficients as tensors."""
    A, place = coefficients.A, {i: place for place, i in enumerate(group.stages)}
    members = [[i for other, i in group.nodes if other == block] for block in range(len(A))]

    def integers(values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    def floats(rows: list[list[float]], width: int) -> Tensor:
        return torch.tensor(rows, dtype=dtype, device=device).reshape(len(rows), width)

    return GroupTables(
        tuple(floats([[A[c][i][j] for j in own] for i in group.stages], len(own)) for c, own in enumerate(members)),
        tuple(integers([place[i] for i in own]) for own in members),
        integers([place[i] for _, i in group.nodes]),
        integers([block for block, _ in group.nodes]),
        floats([[A[gamma][i][j] for gamma, j in group.nodes] for _, i in group.nodes], len(group.nodes)),
    )


def tables_of(coefficients: FloatCoefficients, field: Field) -> tuple[GroupTables | None, ...]:
    """For each group its tables if it is implicit, in dtype and on the device of the weights.

    As ordinary tensors, also in inference mode. They are kept with the step they belong to and nowhere else: what is
    made while torch traces a program are no tensors outside of it.
    """
    weight = next(iter(field.tensors().values()), torch.zeros(()))
    with torch.inference_mode(False):
        return tuple(
            group_tables(coefficients, group, weight.dtype, weight.device) if group.is_implicit else None
            for group in coefficients.groups
        )


def stage_matrix(table: GroupTables, jacobian: Tensor, step_size: Tensor | float, field: Field) -> Tensor:
    """r'(k), one matrix a unit, (units, n·w, n·w), from J_i[β, γ] (units, S, B, B, w, w)."""
    n, w = len(table.stage), jacobian.shape[-1]
    blocks = jacobian[..., table.stage[:, None], table.block[:, None], table.block, :, :]
    blocks = blocks * table.coupling[:, :, None, None] * per_column(step_size, field, 3)
    matrix = blocks.movedim(-3, -2).reshape(*blocks.shape[:-4], n * w, n * w)
    return torch.eye(n * w, dtype=matrix.dtype, device=matrix.device) - matrix


@dataclass(frozen=True, eq=False)
class StageEquations(Equations):
    """r(k) = k − f(Y(k)) of one group.   k: (n, ..., hidden)   base: B times (S, ..., hidden)   drive: (S, ..., d)"""

    method: str
    table: GroupTables
    field: Field
    step_size: Tensor | float
    drive: Tensor
    base: State

    @property
    def subject(self) -> str:
        return f'Tableau "{self.method}" on the field {type(self.field).__name__}: the stage equations'

    def because(self) -> str:
        """max |h| times the Lipschitz constant of the field, which is a number for finite weights."""
        h = self.step_size
        largest = float(h.detach().abs().max()) if isinstance(h, Tensor) else abs(h)
        stiffness = largest * self.field.constants().lipschitz
        return f"h L = {stiffness:.3g}, with L the Lipschitz constant of the field."

    def leaves(self) -> dict[str, Tensor]:
        step_size = {"the step size": self.step_size} if isinstance(self.step_size, Tensor) else {}
        weights = {f"{name} of the field": value for name, value in self.field.tensors().items()}
        base = {
            f"{name} at the beginning or in an earlier stage": block
            for name, block in zip(self.field.blocks, self.base, strict=True)
        }
        return {**weights, "the drive": self.drive, **base, **step_size}

    def with_leaves(self, leaves: Sequence[Tensor]) -> StageEquations:
        names, remaining = tuple(self.field.tensors()), iter(leaves)
        field = self.field.with_tensors({name: next(remaining) for name in names})
        drive, base = next(remaining), tuple(next(remaining) for _ in self.base)
        step_size = next(remaining) if isinstance(self.step_size, Tensor) else self.step_size
        return dataclasses.replace(self, field=field, drive=drive, base=base, step_size=step_size)

    def start(self) -> Tensor:
        return torch.zeros_like(self.base[0][:1]).expand(len(self.table.stage), *self.base[0].shape[1:])

    def states(self, k: Tensor) -> State:
        """Y_i, block by block, (S, ..., hidden)."""
        parts = k.split([len(places) for places in self.table.places])
        return tuple(
            start + self.step_size * torch.tensordot(weights, part, dims=1) if len(part) else start
            for start, weights, part in zip(self.base, self.table.weights, parts, strict=True)
        )

    def slopes(self, k: Tensor) -> Tensor:
        """f(Y(k)), the components in the group, (n, ..., hidden)."""
        blocks = self.field(self.states(k), self.drive)
        return torch.cat(
            [
                block.expand_as(start)[places]
                for block, start, places in zip(blocks, self.base, self.table.places, strict=True)
            ]
        )

    def matrix(self, k: Tensor) -> Tensor:
        """r'(k), one matrix a unit."""
        jacobian = blockwise(self.field.jacobian(self.states(k), self.drive), self.field)
        units = self.base[0].shape[:-1] if self.field.couples_neurons else self.base[0].shape
        jacobian = jacobian.expand(*units, *jacobian.shape[-4:])
        return stage_matrix(self.table, jacobian.movedim(0, -5), self.step_size, self.field)

    @property
    def unknowns(self) -> int:
        return len(self.table.stage) * (self.base[0].shape[-1] if self.field.couples_neurons else 1)

    def residual(self, k: Tensor) -> Tensor:
        return k - self.slopes(k)

    def correction(self, k: Tensor, residual: Tensor) -> Tensor:
        solved = torch.linalg.solve_ex(self.matrix(k), -joined(residual, self.field).unsqueeze(-1))
        delta = torch.where((solved.info == 0)[..., None, None], solved.result, math.nan)
        return split(delta.squeeze(-1), len(k), self.field)

    def multiplier(self, k: Tensor, cotangent: Tensor) -> Tensor:
        solved = torch.linalg.solve(self.matrix(k).mT, joined(cotangent, self.field))
        return split(solved, len(k), self.field)

    def size(self, k: Tensor) -> Tensor:
        return (self.step_size * k).abs().amax(self._within_unit)

    def norm(self, residual: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(self.step_size * residual, dim=self._within_unit)
        return norm

    def scale(self, k: Tensor) -> Tensor:
        return self._scale_of_data + self.size(k)

    @functools.cached_property
    def _scale_of_data(self) -> Tensor:
        """|y| + |h|, one a unit."""
        return torch.cat(self.base).abs().amax(self._within_unit) + self.size(torch.ones_like(self.base[0]))

    def spread(self, unit: Tensor) -> Tensor:
        return unit.unsqueeze(-1) if self.field.couples_neurons else unit

    def samples(self, residual: Tensor, converged: Tensor) -> tuple[Tensor, Tensor]:
        return (residual, converged) if self.field.couples_neurons else (residual.amax(-1), converged.all(-1))

    @property
    def _within_unit(self) -> tuple[int, ...]:
        """The axes of k that one unit has."""
        return (0, -1) if self.field.couples_neurons else (0,)


def solve_group(
    coefficients: FloatCoefficients,
    field: Field,
    group: SlopeGroup,
    table: GroupTables,
    state: State,
    drives: Sequence[Tensor],
    slopes: Slopes,
    step_size: Tensor | float,
    newton: Newton,
) -> tuple[Tensor, Tensor, int]:
    """Add the slopes of an implicit group; return residual (...), converged (...) and the number of iterations."""
    shape = torch.broadcast_shapes(
        *(block.shape for block in state),
        *((*drive.shape[:-1], 1) for drive in drives),
        step_size.shape if isinstance(step_size, Tensor) else (),
        (field.hidden_size,),
    )
    base = tuple(
        torch.stack([stage_value(coefficients, block, i, state, slopes, step_size).expand(shape) for i in group.stages])
        for block in range(len(state))
    )
    seen = [drives[i].expand(*shape[:-1], -1) for i in group.stages]
    is_held = all(drives[i] is drives[group.stages[0]] for i in group.stages)
    drive = seen[0].expand(len(seen), *seen[0].shape) if is_held else torch.stack(seen)
    if (table.coupling.dtype, table.coupling.device) != (base[0].dtype, base[0].device):
        table = group_tables(coefficients, group, base[0].dtype, base[0].device)
    outcome = solution(StageEquations(coefficients.name, table, field, step_size, drive, base), newton)
    for (block, i), slope in zip(group.nodes, outcome.k.unbind(), strict=True):
        slopes[block][i] = slope
    return outcome.residual, outcome.converged, outcome.iterations
