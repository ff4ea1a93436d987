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
from odernn.integrators.activations import Activation
from odernn.integrators.coefficients import FloatCoefficients, FloatMatrix
from odernn.integrators.matrices import as_units, from_units, in_units, row_count

MOST_ACTIVATIONS = 2048
"""Systems of more activations are solved stage by stage, each sample with its own matrix."""


@dataclass(frozen=True, eq=False)
class StageSystem:
    """p = φ(C y + x + K p), y₁ = R y + Q p, for s stages of q activations; m components of y.

    Matrices are dense or by neuron, see ``matrices``.

    C      (q, m), or (s q, m) where stages see y differently      K, P  (s q, s q), P without its graph
    Q      (m, s q)      R  (m, m), or None for the identity
    HU     (m, q): what an error of p moves; without its graph
    slope  d̄ of P, (), or (s q,)
    step_size  max |h|, (), without its graph
    """

    C: Tensor
    K: Tensor
    Q: Tensor
    R: Tensor | None
    P: Tensor
    slope: Tensor
    activation: Activation
    HU: Tensor
    step_size: Tensor

    def start_matrix(self, width: int) -> Tensor:
        """C as it meets drives of that width."""
        repeats = width // row_count(self.C)
        return self.C if repeats == 1 else torch.cat([self.C] * repeats)


def drives_of(form: DenseForm | None, system: StageSystem, given: list[Tensor]) -> tuple[Tensor, Tensor | None]:
    """x and the shift of the gate, (..., q) of one drive for all stages, else (..., s q).

    given  one drive, or one a stage, each (..., drive)
    """
    assert form is not None
    pairs = [form.arguments(drive) for drive in given]
    if len(pairs) == 1:
        pairs = pairs * (len(system.C) // len(form.W))
    x = torch.cat([x for x, _ in pairs], -1)
    return x, torch.cat([shift for _, shift in pairs if shift is not None], -1) if form.is_gated else None


def stage_system(
    coefficients: FloatCoefficients, field: Field, form: DenseForm | None, step_size: Tensor | float
) -> StageSystem | None:
    """The system of an implicit method, or None where there is no form, many step sizes, or too much for one matrix.

    Everything is made of units (u, ·, ·): one of all components, or one a neuron with its blocks as components.
    """
    s = len(coefficients.c)
    if form is None or s * len(form.W) > MOST_ACTIVATIONS or (isinstance(step_size, Tensor) and step_size.dim() > 1):
        return None
    by_neuron, blocks, size = form.W.dim() == 3, len(field.blocks), field.hidden_size
    W = as_units(form.W)
    h = torch.as_tensor(step_size, dtype=W.dtype, device=W.device).expand(size)
    h = h.unsqueeze(-1).expand(size, blocks) if by_neuron else h.repeat(1, blocks)
    tables = [_table(A, W) for A in coefficients.A]
    b = torch.stack([_table((row,), W)[0] for row in coefficients.b], -1)
    weights = (b if by_neuron else b.repeat_interleave(size, -1)) * h.unsqueeze(1)  # (u, s, m)
    HU = torch.diag_embed(h) if form.U is None else h.unsqueeze(-1) * as_units(form.U)
    R = None
    if form.L is None:
        C, K = W, _coupled(coefficients.is_one_table, tables, HU, W)
        Q = None if form.U is None else (weights.unsqueeze(-1) * as_units(form.U).unsqueeze(1)).movedim(1, 2).flatten(2)
    else:
        try:
            C, K, R, Q = _eliminated(coefficients.is_one_table, tables, form, h, HU, weights)
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # its module does not list it
            return None  # a pole of the stability function for the linear part, where the step may exist all the same
    with torch.no_grad():
        P = _shared_factor(coefficients, form, h, HU, K)
        moves = (h.unsqueeze(0) if form.U is None else from_units(HU, by_neuron=by_neuron)).detach()
        largest = h.detach().abs().max()
    return StageSystem(
        from_units(C, by_neuron=by_neuron),
        from_units(K, by_neuron=by_neuron),
        weights if Q is None else from_units(Q, by_neuron=by_neuron),  # p_i moves component i only
        None if R is None else from_units(R, by_neuron=by_neuron),
        from_units(P, by_neuron=by_neuron).detach(),
        torch.full((), form.shared_slope, dtype=W.dtype, device=W.device),
        Activation(["tanh"], []),
        moves,
        largest,
    )


def _table(A: FloatMatrix, like: Tensor) -> Tensor:
    return torch.tensor(A, dtype=like.dtype, device=like.device)


def _kron(A: Tensor, X: Tensor) -> Tensor:
    """A ⊗ X, X (u, r, c)."""
    return (A[:, None, :, None] * X[:, None, :, None, :]).flatten(3, 4).flatten(1, 2)


def _coupled(is_one_table: bool, tables: list[Tensor], right: Tensor, left: Tensor | None) -> Tensor:
    """Σ_β A_β ⊗ left_β right_β over the blocks β of the state: columns of left, rows of right. left None: I."""
    m = right.shape[1]
    size = m // len(tables)
    if is_one_table:
        return _kron(tables[0], right if left is None else left @ right)
    total = right.new_zeros(())
    for block, table in enumerate(tables):
        rows = right[:, block * size : (block + 1) * size]
        if left is None:
            product = torch.nn.functional.pad(rows, (0, 0, block * size, m - (block + 1) * size))
        else:
            product = left[..., block * size : (block + 1) * size] @ rows
        total = total + _kron(table, product)
    return total


def _eliminated(
    is_one_table: bool, tables: list[Tensor], form: DenseForm, h: Tensor, HU: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """C, K, R, Q with the linear part solved for: Y by y and p from one factorisation of I − A ⊗ H L."""
    assert form.L is not None
    W, L = as_units(form.W), as_units(form.L)
    s, m = len(tables[0]), L.shape[-1]
    one = torch.eye(m, dtype=L.dtype, device=L.device)
    matrix = torch.eye(s * m, dtype=L.dtype, device=L.device) - _coupled(
        is_one_table, tables, h.unsqueeze(-1) * L, None
    )
    right = torch.cat((one.repeat(len(L), s, 1), _coupled(is_one_table, tables, HU, None)), -1)
    Y = torch.linalg.solve(matrix, right).unflatten(1, (s, m))
    z = (W.unsqueeze(1) @ Y).flatten(1, 2)
    moved = (weights.unsqueeze(-1) * (L.unsqueeze(1) @ Y)).sum(1)
    U = one if form.U is None else as_units(form.U)
    Q = moved[..., m:] + (weights.unsqueeze(-1) * U.unsqueeze(-3)).movedim(1, 2).flatten(2)
    return z[..., :m], z[..., m:], one + moved[..., :m], Q


def _shared_factor(coefficients: FloatCoefficients, form: DenseForm, h: Tensor, HU: Tensor, K: Tensor) -> Tensor:
    """P = (I − d̄ K)⁻¹ K: by the eigenvalues of A, or, where it has no such form or is small, as it is written."""
    W = as_units(form.W)
    if coefficients.modes is None or len(W) > 1:
        return _solved(torch.eye(K.shape[-1], dtype=K.dtype, device=K.device) - form.shared_slope * K, K)
    UW = W if form.U is None else as_units(form.U) @ W
    X = h.unsqueeze(-1) * (form.shared_slope * UW if form.L is None else as_units(form.L) + form.shared_slope * UW)
    one, total = torch.eye(X.shape[-1], dtype=X.dtype, device=X.device), torch.zeros_like(K)
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


def shared_factor(K: Tensor, slope: Tensor) -> Tensor:
    """(I − K D̄)⁻¹ K for D̄ = diag(slope), slope (s q,)."""
    units = as_units(K)
    one = torch.eye(K.shape[0], dtype=K.dtype, device=K.device)
    return from_units(_solved(one - units * in_units(slope, K).unsqueeze(-2), units), by_neuron=K.dim() == 3)


def _solved(matrix: Tensor, right: Tensor) -> Tensor:
    """NaN where the matrix is singular: no sample is solved with it then, and each takes a matrix of its own."""
    solved = torch.linalg.solve_ex(matrix, right)
    return torch.where((solved.info == 0)[..., None, None], solved.result, math.nan)
