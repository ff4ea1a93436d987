"""Matrices that act on each neuron by itself are those of all neurons that are zero elsewhere."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from odernn.integrators import matrices
from odernn.integrators.stage_system import shared_factor
from tests.odernn.integrators.stepping import normal


def written_out(M: Tensor) -> Tensor:
    return torch.cat([torch.cat([torch.diag(d) for d in row], -1) for row in M])


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3), (3, 1), (2, 2)])
def test_products_and_their_derivatives_are_those_of_the_matrix_written_out(rows: int, columns: int):
    M = normal(rows, columns, 4, seed=1)
    right, left = normal(5, 2, 4 * columns, seed=2), normal(5, 2, 4 * rows, seed=3)
    dense = written_out(M)
    assert matrices.row_count(M) == matrices.row_count(dense) == 4 * rows
    torch.testing.assert_close(matrices.product(M, right), right @ dense.mT, rtol=0, atol=1e-14)
    torch.testing.assert_close(matrices.transposed_product(M, left), left @ dense, rtol=0, atol=1e-14)
    out = torch.empty(5, 4 * columns, dtype=M.dtype)
    matrices.transposed_product(M, left[:, 0].contiguous(), out=out)
    torch.testing.assert_close(out, left[:, 0] @ dense, rtol=0, atol=1e-14)
    wanted = torch.einsum("tbi,tbj->ij", left, right) * (written_out(torch.ones_like(M)) > 0)
    torch.testing.assert_close(written_out(matrices.outer_sum(left, right, M)), wanted, rtol=0, atol=1e-13)
    torch.testing.assert_close(matrices.outer_sum(left, right, dense), torch.einsum("tbi,tbj->ij", left, right))
    units = matrices.as_units(M)
    assert torch.equal(matrices.from_units(units, by_neuron=True), M)
    assert torch.equal(matrices.from_vectors(matrices.in_units(left, M)), left)


def test_systems_of_neurons_are_solved_as_the_one_of_all():
    K, slope, right = normal(2, 2, 4, seed=1), normal(3, 8, seed=2), normal(3, 8, seed=3)
    own = matrices.own_matrices(K, slope)
    solved = torch.linalg.solve(own, matrices.in_units(right, K).unsqueeze(-1)).squeeze(-1)
    dense = torch.eye(8, dtype=K.dtype) - slope.unsqueeze(-1) * written_out(K)
    torch.testing.assert_close(matrices.from_vectors(solved), torch.linalg.solve(dense, right), rtol=1e-12, atol=0)
    factor = shared_factor(written_out(K), slope[0])
    torch.testing.assert_close(written_out(shared_factor(K, slope[0])), factor, rtol=0, atol=1e-13)
