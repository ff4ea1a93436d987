"""The matrices of stage systems: dense ones, and those that act on each neuron by itself.

    dense      M (r, c)       (M v)_i = Σ_j M_ij v_j
    by neuron  M (r, c, n)    (M v)_ik = Σ_j M_ijk v_jk, v (..., c n) with n neurons side by side for each j

Seen as units, (u, r, c) with vectors (..., u, c), both are u matrices of their own: one, or one a neuron.
"""

from __future__ import annotations

import torch
from torch import Tensor


def row_count(M: Tensor) -> int:
    """How many entries M v has."""
    return M.shape[0] * (M.shape[2] if M.dim() == 3 else 1)


def product(M: Tensor, v: Tensor) -> Tensor:
    """M v, (..., columns) → (..., rows)."""
    return v @ M.mT if M.dim() == 2 else transposed_product(M.transpose(0, 1), v)


def transposed_product(M: Tensor, v: Tensor, out: Tensor | None = None) -> Tensor:
    """Mᵀ v, (..., rows) → (..., columns); into ``out`` where v is (batch, rows)."""
    if M.dim() == 2:
        found: Tensor = v @ M if out is None else torch.mm(v, M, out=out)
        return found
    rows, columns, neurons = M.shape
    terms: Tensor
    if rows == columns == 1:
        terms = torch.mul(v, M[0, 0], out=out)
        return terms
    terms = v.reshape(*v.shape[:-1], rows, 1, neurons) * M
    if out is None:
        return terms.sum(-3).reshape(*v.shape[:-1], columns * neurons)
    torch.sum(terms, -3, out=out.view(-1, columns, neurons))
    return out


def outer_sum(left: Tensor, right: Tensor, M: Tensor) -> Tensor:
    """Σ left rightᵀ over all leading axes, the derivative by M of Σ leftᵀ M right."""
    if M.dim() == 2:
        return left.reshape(-1, left.shape[-1]).mT @ right.reshape(-1, right.shape[-1])
    rows, columns, neurons = M.shape
    a, b = left.reshape(-1, rows, neurons), right.reshape(-1, columns, neurons)
    return torch.stack([torch.stack([(a[:, i] * b[:, j]).sum(0) for j in range(columns)]) for i in range(rows)])


# --- as units


def as_units(M: Tensor) -> Tensor:
    """(u, r, c)."""
    return M.unsqueeze(0) if M.dim() == 2 else M.movedim(-1, 0)


def from_units(units: Tensor, *, by_neuron: bool) -> Tensor:
    """The other way."""
    return units.movedim(0, -1).contiguous() if by_neuron else units.squeeze(0)


def in_units(v: Tensor, M: Tensor) -> Tensor:
    """v (..., rows of M) → (..., u, r)."""
    return v.unsqueeze(-2) if M.dim() == 2 else v.unflatten(-1, (-1, M.shape[2])).mT


def from_vectors(units: Tensor) -> Tensor:
    """(..., u, r) → (..., r u), the other way."""
    return units.mT.flatten(-2)


def own_matrices(K: Tensor, slope: Tensor) -> Tensor:
    """I − diag(slope) K for every row of slope (..., s q): (..., u, r, r)."""
    one = torch.eye(K.shape[0], dtype=K.dtype, device=K.device)
    return one - in_units(slope, K).unsqueeze(-1) * as_units(K)
