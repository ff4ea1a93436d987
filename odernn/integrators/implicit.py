"""Stages that depend on each other: their equations, and the gradient of their solution.

For one group of slopes k_p, p = (block β, stage i), with everything computed before it in ``base``:

    r_p(k) = k_p − f_β(Y_i; drive_i) = 0,     Y_i of block γ = base_iγ + h Σ_{q = (γ, j)} a_ij k_q
    r'(k)_pq = δ_pq I − J_i[β, γ] h a_ij                                        Hairer, Wanner 1996, Section IV.8

The gradient is that of the implicit function theorem, at the solution and not through the iteration: for the cotangent
g of k, λ = r'(k)⁻ᵀ g, and the cotangent of whatever else f(Y) is a function of is λᵀ ∂f(Y)/∂(it) with k held fixed. It
is written in differentiable operations in which k is the output of this very node, so it is right to all orders.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from odernn.fields.field import Field, State
from odernn.integrators._coefficients import Coefficients, Group
from odernn.integrators._layout import blockwise, joined, per_column, split
from odernn.integrators.explicit import Slopes, stage_value
from odernn.integrators.newton import ConvergenceError, ConvergenceWarning, Equations, Newton, Outcome, complain, solve


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


def group_tables(coefficients: Coefficients, group: Group, dtype: torch.dtype, device: torch.device) -> GroupTables:
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


@functools.lru_cache(maxsize=1024)
def _kept_tables(coefficients: Coefficients, group: Group, dtype: torch.dtype, device: torch.device) -> GroupTables:
    """The same, kept; as ordinary tensors, also where the first to ask is in inference mode."""
    with torch.inference_mode(False):
        return group_tables(coefficients, group, dtype, device)


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

    table: GroupTables
    field: Field
    step_size: Tensor | float
    drive: Tensor
    base: State

    def leaves(self) -> tuple[Tensor, ...]:
        """Every tensor that f(Y) is a function of besides k."""
        step_size = (self.step_size,) if isinstance(self.step_size, Tensor) else ()
        return (*self.field.tensors().values(), self.drive, *self.base, *step_size)

    def with_leaves(self, leaves: Sequence[Tensor]) -> StageEquations:
        """The same equations in other tensors."""
        names, remaining = tuple(self.field.tensors()), iter(leaves)
        field = self.field.with_tensors({name: next(remaining) for name in names})
        drive, base = next(remaining), tuple(next(remaining) for _ in self.base)
        step_size = next(remaining) if isinstance(self.step_size, Tensor) else self.step_size
        return dataclasses.replace(self, field=field, drive=drive, base=base, step_size=step_size)

    def states(self, k: Tensor) -> State:
        """Y_i, block by block, (S, ..., hidden)."""
        parts = k.split([len(places) for places in self.table.places])
        return tuple(
            start + self.step_size * torch.tensordot(weights, part, dims=1) if len(part) else start
            for start, weights, part in zip(self.base, self.table.weights, parts, strict=True)
        )

    def slopes(self, k: Tensor) -> Tensor:
        """f(Y(k)), the components in the group, (n, ..., hidden)."""
        found = self.field(self.states(k), self.drive)
        return torch.cat(
            [
                block.expand_as(start)[places]
                for block, start, places in zip(found, self.base, self.table.places, strict=True)
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

    @property
    def _within_unit(self) -> tuple[int, ...]:
        """The axes of k that one unit has."""
        return (0, -1) if self.field.couples_neurons else (0,)


class _Solution(torch.autograd.Function):
    """The identity on a solution k, differentiable in the leaves of its equations."""

    @staticmethod
    def forward(ctx: Any, equations: StageEquations, k: Tensor, *leaves: Tensor) -> Tensor:
        ctx.equations = equations
        output = k.clone()
        ctx.save_for_backward(output, *leaves)
        return output

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        k, *leaves = ctx.saved_tensors
        equations: StageEquations = ctx.equations
        field = equations.field
        matrix = equations.with_leaves(leaves).matrix(k)
        multiplier = split(torch.linalg.solve(matrix.mT, joined(cotangents[0], field)), len(k), field)
        needed = ctx.needs_input_grad[2:]
        with torch.enable_grad():
            # New nodes for the leaves: k depends on them, too, and that part is in the multiplier already.
            own = [leaf.view_as(leaf) if need else leaf for leaf, need in zip(leaves, needed, strict=True)]
            slopes = equations.with_leaves(own).slopes(k)
        wanted = [leaf for leaf, need in zip(own, needed, strict=True) if need]
        found = iter(
            torch.autograd.grad(slopes, wanted, multiplier, create_graph=torch.is_grad_enabled(), allow_unused=True)
        )
        return (None, None, *(next(found) if need else None for need in needed))


@torch.compiler.disable  # type: ignore[untyped-decorator]  # how many iterations it takes depends on the data
def solve_group(
    coefficients: Coefficients,
    field: Field,
    frozen: Field,
    group: Group,
    state: State,
    drives: Sequence[Tensor],
    slopes: Slopes,
    step_size: Tensor | float,
    newton: Newton,
) -> tuple[Tensor, Tensor, int]:
    """Add the slopes of an implicit group; return residual (...), converged (...) and the number of iterations.

    ``frozen`` is the field without history, so that what it has computed of its weights serves every step.
    """
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
    table = _kept_tables(coefficients, group, base[0].dtype, base[0].device)
    equations = StageEquations(table, field, step_size, drive, base)
    still = StageEquations(
        table,
        frozen,
        step_size.detach() if isinstance(step_size, Tensor) else step_size,
        drive.detach(),
        tuple(block.detach() for block in base),
    )
    outcome = solve(still, torch.zeros_like(base[0][:1]).expand(len(group.nodes), *shape), newton)
    k = outcome.k
    leaves = equations.leaves()
    if torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves):
        k = cast(Tensor, _Solution.apply(still, k, *leaves))  # type: ignore[no-untyped-call]
    for (block, i), slope in zip(group.nodes, k.unbind(), strict=True):
        slopes[block][i] = slope
    return _reported(outcome, newton, coefficients, frozen, step_size)


def _reported(
    outcome: Outcome, newton: Newton, coefficients: Coefficients, field: Field, step_size: Tensor | float
) -> tuple[Tensor, Tensor, int]:
    """Residual and convergence of samples; raises or warns as ``newton`` says."""
    residual, converged = outcome.residual, outcome.converged
    if not field.couples_neurons:
        residual, converged = residual.amax(-1), converged.all(-1)
    if not bool(converged.all()):
        message = complain(
            outcome, newton, tableau=coefficients.name, field=type(field).__name__, converged=converged,
            residual=residual, stiffness=_stiffness(field, step_size),
        )  # fmt: skip
        if newton.on_failure == "raise":
            raise ConvergenceError(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return residual, converged, outcome.iterations


def _stiffness(field: Field, step_size: Tensor | float) -> float:
    """max |h| times the Lipschitz constant of the field."""
    largest = float(step_size.detach().abs().max()) if isinstance(step_size, Tensor) else abs(step_size)
    try:
        return largest * field.constants().lipschitz
    except RuntimeError:  # weights that are not finite have no singular values, and that is not the news
        return math.nan
