"""All stages of a step on a field in dense form as one equation for its activations, for every method alike.

A field y' = L y + U φ(W y + B x) meets a method with the table (A, b) of each block of y and the steps h. The linear
part of the stages is eliminated, and what is left to be solved for are the activations p = (p_1, …, p_s) alone:

    Y = 1 ⊗ y + (A ⊗ H L) Y + (A ⊗ H U) p,     H = diag(h), each component with the table of its block
    p = φ(z),     z = C y + x + K p,     y₁ = R y + Q p

    (C | K) = (I ⊗ W)(I − A ⊗ H L)⁻¹ (1 ⊗ I | A ⊗ H U),     (R | Q) = (I | 0) + Σ_i b_i H (L Y_i | U p_i)

Without L these are C = W, K = A ⊗ W H U, R = I. They depend on weights alone and are made once a pass, in
differentiable operations; ``batch_rows`` solves and differentiates the rest.

The matrix that serves a whole batch is P = (I − d̄ K)⁻¹ K, the derivative of z by the error of p where all slopes φ'
are d̄. With X = H (L + d̄ U W) and Butcher's transformation of A (``transformation``)

    P = Σ_i λ_i Π_i ⊗ W (I − λ_i X)⁻¹ H U:     one factorisation an eigenvalue of A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.fields.field import DenseForm, Field
from odernn.integrators._coefficients import FloatCoefficients, FloatMatrix

MOST_ACTIVATIONS = 2048
"""Systems of more activations are solved stage by stage, each sample with its own matrix."""


@dataclass(frozen=True, eq=False)
class StageSystem:
    """p = φ(C y + x + K p), y₁ = R y + Q p, for s stages of q activations; m components of y.

    C      (q, m), or (s q, m) where stages see y differently      K, P  (s q, s q), P without its graph
    Q      (m, s q), or (s, 1, m) if p_i moves component i only    R     (m, m), or None for the identity
    HU     (m, q), or (m,) of a diagonal one: what an error of p moves; without its graph
    step_size  max |h|, (), without its graph
    """

    form: DenseForm
    stages: int
    C: Tensor
    K: Tensor
    Q: Tensor
    R: Tensor | None
    P: Tensor
    HU: Tensor
    step_size: Tensor

    def drives(self, given: list[Tensor]) -> tuple[Tensor, Tensor | None]:
        """x and the shift of the gate, (..., q) of one drive for all stages, else (..., s q).

        given  one drive, or one a stage, each (..., drive)
        """
        pairs = [self.form.arguments(drive) for drive in given]
        if len(pairs) == 1 and len(self.C) > len(self.form.W):
            pairs = pairs * self.stages
        x = torch.cat([x for x, _ in pairs], -1)
        return x, torch.cat([shift for _, shift in pairs if shift is not None], -1) if self.form.is_gated else None

    def start_matrix(self, width: int) -> Tensor:
        """C as it meets drives of that width."""
        return self.C if len(self.C) == width else self.C.repeat(self.stages, 1)


def stage_system(
    coefficients: FloatCoefficients, field: Field, form: DenseForm | None, step_size: Tensor | float
) -> StageSystem | None:
    """The system of an implicit method, or None where there is no form, or it would be too large for one matrix."""
    s = len(coefficients.c)
    if form is None or s * len(form.W) > MOST_ACTIVATIONS:
        return None
    W, blocks = form.W, len(field.blocks)
    h = torch.as_tensor(step_size, dtype=W.dtype, device=W.device).expand(field.hidden_size).repeat(blocks)
    tables = [_table(A, W) for A in coefficients.A]
    b = torch.stack([_table((row,), W)[0] for row in coefficients.b], -1).repeat_interleave(field.hidden_size, -1)
    HU = torch.diag(h) if form.U is None else h.unsqueeze(-1) * form.U
    weights = (b * h).unsqueeze(1)  # (s, 1, m)
    if form.L is None:
        C, R, K = W, None, _coupled(coefficients.A, tables, HU, W)
        Q = weights if form.U is None else (weights.mT * form.U).movedim(0, 1).flatten(1)
    else:
        try:
            C, K, R, Q = _eliminated(coefficients.A, tables, form, h, HU, weights)
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # its module does not list it
            return None  # a pole of the stability function for the linear part, where the step may exist all the same
    with torch.no_grad():
        P = _shared_factor(coefficients, form, h, HU, K)
        moves = (h if form.U is None else HU).detach()
        largest = h.detach().abs().max()
    return StageSystem(form, s, C, K, Q, R, P.detach(), moves, largest)


def _table(A: FloatMatrix, like: Tensor) -> Tensor:
    return torch.tensor(A, dtype=like.dtype, device=like.device)


def _kron(A: Tensor, X: Tensor) -> Tensor:
    """A ⊗ X."""
    return (A[:, None, :, None] * X[None, :, None, :]).reshape(len(A) * X.shape[0], len(A) * X.shape[1])


def _coupled(A: tuple[FloatMatrix, ...], tables: list[Tensor], right: Tensor, left: Tensor | None) -> Tensor:
    """Σ_β A_β ⊗ left_β right_β over the blocks β of the state: columns of left, rows of right. left None: I."""
    size = len(right) // len(A)
    if all(each == A[0] for each in A):
        return _kron(tables[0], right if left is None else left @ right)
    total = right.new_zeros(())
    for block, table in enumerate(tables):
        rows = right[block * size : (block + 1) * size]
        if left is None:
            product = torch.nn.functional.pad(rows, (0, 0, block * size, len(right) - (block + 1) * size))
        else:
            product = left[:, block * size : (block + 1) * size] @ rows
        total = total + _kron(table, product)
    return total


def _eliminated(
    A: tuple[FloatMatrix, ...], tables: list[Tensor], form: DenseForm, h: Tensor, HU: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """C, K, R, Q with the linear part solved for: Y by y and p from one factorisation of I − A ⊗ H L."""
    W, L = form.W, form.L
    assert L is not None
    s, m = len(tables[0]), len(L)
    one = torch.eye(m, dtype=L.dtype, device=L.device)
    matrix = torch.eye(s * m, dtype=L.dtype, device=L.device) - _coupled(A, tables, h.unsqueeze(-1) * L, None)
    right = torch.cat((one.repeat(s, 1), _coupled(A, tables, HU, None)), -1)
    Y = torch.linalg.solve(matrix, right).unflatten(0, (s, m))
    z = (W @ Y).flatten(0, 1)
    moved = (weights.mT * (L @ Y)).sum(0)
    U = one if form.U is None else form.U
    Q = moved[:, m:] + (weights.mT * U).movedim(0, 1).flatten(1)
    return z[:, :m], z[:, m:], one + moved[:, :m], Q


def _shared_factor(coefficients: FloatCoefficients, form: DenseForm, h: Tensor, HU: Tensor, K: Tensor) -> Tensor:
    """P = (I − d̄ K)⁻¹ K: by the eigenvalues of A, or, where it has no such form, as it is written."""
    W = form.W
    if coefficients.modes is None:
        return shared_factor(K, form.shared_slope)
    UW = W if form.U is None else form.U @ W
    X = h.unsqueeze(-1) * (form.shared_slope * UW if form.L is None else form.L + form.shared_slope * UW)
    one, total = torch.eye(len(X), dtype=X.dtype, device=X.device), torch.zeros_like(K)
    for mode in coefficients.modes:
        real, imaginary = mode.eigenvalue
        re_projector = _table(tuple(tuple(entry[0] for entry in row) for row in mode.projector), W)
        if imaginary == 0.0:
            total = total + _kron(real * re_projector, W @ _solved(one - real * X, HU))
            continue
        im_projector = _table(tuple(tuple(entry[1] for entry in row) for row in mode.projector), W)
        solved = _solved(torch.complex(one - real * X, -imaginary * X), torch.complex(HU, 0 * HU))
        re, im = W @ solved.real, W @ solved.imag
        # 2 Re of λ Π ⊗ W (I − λ X)⁻¹ H U
        total = total + 2 * (
            _kron(real * re_projector - imaginary * im_projector, re)
            - _kron(real * im_projector + imaginary * re_projector, im)
        )
    return total


def shared_factor(K: Tensor, slope: Tensor | float) -> Tensor:
    """(I − K D̄)⁻¹ K for D̄ = diag(slope), or a number."""
    one = torch.eye(len(K), dtype=K.dtype, device=K.device)
    return _solved(one - K * slope, K)


def _solved(matrix: Tensor, right: Tensor) -> Tensor:
    """NaN where the matrix is singular: no sample is solved with it then, and each takes a matrix of its own."""
    solved = torch.linalg.solve_ex(matrix, right)
    return torch.where(solved.info == 0, solved.result, math.nan)
