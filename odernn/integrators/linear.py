"""Linear fields: the step in closed form.

For f(x; drive) = L x + g(drive) the step is linear, too. Its slopes solve M K = 1 ⊗ L x₀ + (g_1, …, g_s) with
M_pq = δ_pq I − L[β, γ] h a_ij for p = (β, i), q = (γ, j), hence

    x₁ = x₀ + (b ⊗ h)ᵀ K = R x₀ + Σ_i P_i g_i,     [P_1 … P_s] = (b ⊗ h)ᵀ M⁻¹,     R = I + Σ_i P_i L.

(P_1 … P_s)ᵀ solves the transposed system: group after group of slopes, the last first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.fields.field import Field, State
from odernn.integrators._layout import blockwise, joined, per_column, split
from odernn.integrators.coefficients import FloatCoefficients, Node
from odernn.integrators.implicit import group_tables, stage_matrix


@dataclass(frozen=True, eq=False)
class Propagator:
    """x₁ = R x₀ + Σ_i P_i g(drive_i), and with one drive for all stages R x₀ + held · g.   Each (units, B·w, B·w)."""

    R: Tensor
    P: tuple[Tensor, ...]
    held: Tensor

    def __call__(self, field: Field, state: State, drives: Tensor | Sequence[Tensor]) -> State:
        """The new state; one drive, or one a stage."""
        zero = tuple(torch.zeros_like(block) for block in state)
        given = [(self.held, drives)] if isinstance(drives, Tensor) else list(zip(self.P, drives, strict=True))
        terms = [(self.R, state), *((matrix, field(zero, drive)) for matrix, drive in given)]
        result = sum(
            torch.einsum("...ij,...j->...i", matrix, joined(torch.stack(torch.broadcast_tensors(*blocks)), field))
            for matrix, blocks in terms
        )
        assert isinstance(result, Tensor)
        return split(result, len(state), field).unbind()


def propagator(coefficients: FloatCoefficients, field: Field, step_size: Tensor | float) -> Propagator:
    """The matrices of a step of any method, explicit ones included; differentiable in weights and step size.

    Raises ValueError where M is singular: h λ is a pole of the method's stability function for an eigenvalue λ of L.
    """
    weight = next(iter(field.tensors().values()), torch.zeros(()))
    state = tuple(weight.new_zeros(field.hidden_size) for _ in field.blocks)
    L = blockwise(field.jacobian(state, weight.new_zeros(field.drive_size)), field)
    costates = _costates(coefficients, field, L, step_size)
    blocks = range(len(field.blocks))
    P = tuple(
        torch.cat([costates[block, i] for block in blocks], -2).mT for i in range(len(coefficients.c))
    )  # (units, B·w, B·w)
    held = torch.stack(P).sum(0)
    whole = L.movedim(-3, -2).reshape(*L.shape[:-4], *held.shape[-2:])
    return Propagator(torch.eye(held.shape[-1], dtype=held.dtype, device=held.device) + held @ whole, P, held)


def _costates(
    coefficients: FloatCoefficients, field: Field, L: Tensor, step_size: Tensor | float
) -> dict[Node, Tensor]:
    """X = M⁻ᵀ(b ⊗ h): X_q = h (b_j e_γ + Σ_p a_ij L[β, γ]ᵀ X_p), rows (units, w, B·w) for q = (γ, j), p = (β, i)."""
    w, B = L.shape[-1], L.shape[-3]
    unit = torch.eye(B * w, dtype=L.dtype, device=L.device).reshape(B, w, B * w)
    h = per_column(step_size, field, 0)
    h = h.unsqueeze(-1) if isinstance(h, Tensor) and h.dim() else h
    costates: dict[Node, Tensor] = {}
    for group in reversed(coefficients.groups):
        rows = []
        for gamma, j in group.nodes:
            row = coefficients.b[gamma][j] * unit[gamma]
            for (beta, i), x in costates.items():
                if coefficients.A[gamma][i][j] != 0:
                    row = row + coefficients.A[gamma][i][j] * (L[..., beta, gamma, :, :].mT @ x)
            rows.append(h * row)
        if group.is_implicit:
            table = group_tables(coefficients, group, L.dtype, L.device)
            stages = L.unsqueeze(-5).expand(*L.shape[:-4], len(group.stages), *L.shape[-4:])
            matrix = stage_matrix(table, stages, step_size, field)
            right = torch.cat(torch.broadcast_tensors(*rows), -2)
            rows = list(_solved(matrix.mT, right, coefficients, field).split(w, -2))
        costates.update(zip(group.nodes, rows, strict=True))
    units = torch.broadcast_shapes(*(x.shape[:-2] for x in costates.values()))
    return {node: x.expand(*units, w, B * w) for node, x in costates.items()}


def _solved(matrix: Tensor, right: Tensor, coefficients: FloatCoefficients, field: Field) -> Tensor:
    # torch takes right sides (n, n) beside n matrices (n, n, n) for n vectors, one a matrix: all units are written out.
    units = torch.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    try:
        solution: Tensor = torch.linalg.solve(matrix, right.expand(*units, *right.shape[-2:]))
        return solution
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]  # its module does not list it
        raise ValueError(
            f'Tableau "{coefficients.name}" on the field {type(field).__name__}: the stage equations have no unique '
            "solution, h times an eigenvalue of the field is a pole of the stability function. Take another step size."
        ) from error
