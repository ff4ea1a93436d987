"""One step as a linear map of the state and of what is added to it in each stage.

    f = L x + v:    x_n = R x_{n−1} + Σ_i P_i v_i,    R = I + h bᵀ(I − hL ⊗ A)⁻¹(L ⊗ 1),    P = h bᵀ(I − hL ⊗ A)⁻¹

of neurons that L does not couple, in balls. v_i, what activations add in stage i, may be anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from odernn.fields.field import DenseForm, Field
from odernn.integrators.coefficients import FloatCoefficients, coefficients_for
from odernn.tableaus.methods import Method

Array: TypeAlias = NDArray[np.float64]

BITS = 128
"""Of the balls."""


@dataclass(frozen=True, eq=False)
class StepResponse:
    """R and P of every neuron, and by how much each entry may be off: the coefficients of the method are rounded.

    state (n, blocks, blocks)      added (n, blocks, blocks · stages), the stages of one block side by side
    """

    state: Array
    added: Array
    state_error: Array
    added_error: Array


def uncoupled_part(form: DenseForm, blocks: int) -> Array | None:
    """L of every neuron, (blocks, blocks, n), in float64; zeros for no L, ``None`` where L couples neurons."""
    size = form.W.shape[1] // blocks if form.W.dim() == 2 else form.W.shape[2]
    if form.L is None:
        return np.zeros((blocks, blocks, size))
    L = form.L.detach().double().cpu().numpy()
    if L.ndim == 3:
        return L
    cut = L.reshape(blocks, size, blocks, size).transpose(0, 2, 1, 3)
    diagonal = np.diagonal(cut, axis1=2, axis2=3)
    return None if np.count_nonzero(cut) > np.count_nonzero(diagonal) else diagonal.copy()


def step_response(method: Method, field: Field, L: Array, step_size: Array) -> StepResponse | None:
    """R and P of each neuron with its own h, (n,); ``None`` where some stage equations have no solution at v = 0."""
    table = coefficients_for(method, field)
    neurons, place = np.unique(
        np.concatenate((L.reshape(-1, L.shape[2]), step_size[None])), axis=1, return_inverse=True
    )
    with flint.ctx.workprec(BITS):
        try:
            found = [_of_neuron(table, neuron[:-1].reshape(L.shape[:2]), float(neuron[-1])) for neuron in neurons.T]
        except ZeroDivisionError:
            return None
    parts = (np.stack(part)[place.reshape(-1)] for part in zip(*found, strict=True))
    return StepResponse(*parts)


def _of_neuron(table: FloatCoefficients, L: Array, h: float) -> tuple[Array, Array, Array, Array]:
    """R, P, their errors: k_(a,i) = Σ_c L_ac (x_c + h Σ_j A^c_ij k_(c,j)) + v_(a,i), x'_a = x_a + h Σ_i b^a_i k_(a,i).

    ZeroDivisionError where the balls do not show that these equations have one solution.
    """
    blocks, stages = len(L), len(table.b[0])
    size = blocks * stages
    left = flint.arb_mat(size, size)
    right = flint.arb_mat(size, blocks + size)
    for row in range(size):
        a, i = divmod(row, stages)
        left[row, row], right[row, blocks + row] = flint.arb(1), flint.arb(1)
        for c in range(blocks):
            right[row, c] = flint.arb(L[a, c])
            for j in range(stages):
                left[row, c * stages + j] -= flint.arb(L[a, c]) * h * _rounded(table.A[c][i][j])
    slopes = left.solve(right)
    weights = flint.arb_mat(blocks, size)
    for a in range(blocks):
        for i in range(stages):
            weights[a, a * stages + i] = flint.arb(h) * _rounded(table.b[a][i])
    moved = weights * slopes
    for a in range(blocks):
        moved[a, a] += 1
    middle, error = _floats(moved)
    return middle[:, :blocks], middle[:, blocks:], error[:, :blocks], error[:, blocks:]


def _rounded(coefficient: float) -> Any:
    """All numbers of which this is the nearest float."""
    return flint.arb(coefficient, abs(coefficient) * 2.0**-53)


def _floats(balls: Any) -> tuple[Array, Array]:
    """The middles as floats, and by how much a number of the ball may differ from them, a little more."""
    rows, columns = balls.nrows(), balls.ncols()
    middle = np.array([[float(balls[i, j].mid()) for j in range(columns)] for i in range(rows)])
    lost = [[float((balls[i, j] - middle[i, j]).abs_upper()) for j in range(columns)] for i in range(rows)]
    return middle, np.array(lost) * (1 + 2.0**-40)


__all__ = ["StepResponse", "step_response", "uncoupled_part"]
