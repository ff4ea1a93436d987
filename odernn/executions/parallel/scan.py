"""All states of an affine recurrence s_n = A_n s_{n-1} + b_n of 2×2 maps at once, in 2 log₂ T sweeps.

Composition of affine maps is associative, so a tree does it: the way up composes neighbours, (A, b)∘(A', b') = (AA',
Ab' + b), until one map is left; the way down gives every map the state before it. In all T − 1 compositions of maps and
as many applications to a state, a constant times the work of a loop, against T log₂ T for a scan without a way down.

In floating point a composition has an error of a few roundings of |A| |A'|. Where one block expands what the next
contracts, |A| |A'| is larger than |AA'|, and so is the error than that of a loop; a product may even overflow where the
states do not. The scan neither rescales nor hides that: it is used for *corrections*, whose residual tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.executions.recurrence import Coefficients

ELEMENTS = 2**20
"""Steps times columns scanned together at most: a scan needs some thirty numbers for each. More columns take turns."""

LARGEST_BLOCKS = 8
"""Products are returned for blocks of at least T/8 maps, fewer than 16 of them."""


@dataclass(frozen=True)
class Scan:
    """States s_1 .. s_T, (T, 2, columns), and A_n … A_{k+1} over the largest dyadic blocks, (blocks, 2, 2, columns)."""

    states: Tensor
    products: Tensor


def affine_scan(A: Tensor, b: Tensor) -> Scan:
    """s_n = A_n s_{n-1} + b_n, n = 1..T, from s_0 = 0; T ≥ 1.

    A (T, 2, 2, columns), or (1, 2, 2, columns) for the same matrix in every step; b (T, 2, columns).
    A state before the first step is A_1 s_0, added to b_1 by the caller.
    """
    levels = [(A, b)]
    while len(b) > 1:
        pairs = len(b) // 2
        later, earlier = (A[1 : 2 * pairs : 2], A[0 : 2 * pairs : 2]) if len(A) > 1 else (A, A)
        b = _applied(later, b[0 : 2 * pairs : 2]).add_(b[1 : 2 * pairs : 2])
        A = _product(later, earlier)
        levels.append((A, b))
    states = b
    for A, b in reversed(levels[:-1]):
        whole = torch.empty_like(b)
        whole[0] = b[0]
        whole[1::2] = states
        if len(b) > 2:
            maps = A[2::2] if len(A) > 1 else A
            torch.add(_applied(maps, states[: (len(b) - 1) // 2]), b[2::2], out=whole[2::2])
        states = whole
    return Scan(states, torch.cat([A for A, b in levels if len(b) <= LARGEST_BLOCKS]))


def _product(later: Tensor, earlier: Tensor) -> Tensor:
    product = later[:, :, :1] * earlier[:, :1]
    return product.addcmul_(later[:, :, 1:], earlier[:, 1:])


def _applied(maps: Tensor, states: Tensor) -> Tensor:
    images = maps[:, :, 0] * states[:, :1]
    return images.addcmul_(maps[:, :, 1], states[:, 1:])


def jacobians(kappa: Tensor, h: Tensor) -> Tensor:
    """B(κ), (time, 2, 2, columns), of κ (time, columns)."""
    B = kappa.new_empty(len(kappa), 2, 2, kappa.shape[1])
    torch.mul(kappa, -h, out=B[:, 1, 0])
    torch.mul(B[:, 1, 0], h, out=B[:, 0, 0])
    B[:, 0, 0] += 1
    B[:, 0, 1] = h
    B[:, 1, 1] = 1
    return B


def one_a_column(coefficients: Coefficients, like: Tensor) -> Coefficients:
    """One value a column."""
    return Coefficients(*(torch.broadcast_to(c, like.shape).reshape(-1) for c in coefficients))
