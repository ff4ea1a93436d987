"""The scaled Cayley transform over the rationals: image, representation with bounded entries, gradient; no rounding.

    W = C(A) D,   C(A) = (I + A)⁻¹(I − A),   Aᵀ = −A,   D = diag(±1)

Matrices are ``flint.fmpq_mat``. The float code is ``orthogonal.cayley``; proofs in docs/derivations/scaled_cayley.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flint import fmpq, fmpq_mat


class ExactRepresentation(NamedTuple):
    """W = C(A) D with |a_ij| ≤ 1; ``flips`` exchanges were needed, and det(I + W D) was ``potential[k]`` after k."""

    A: fmpq_mat
    signs: tuple[int, ...]
    flips: int
    potential: tuple[fmpq, ...]


def identity(n: int) -> fmpq_mat:
    return fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def diagonal(entries: Sequence[int]) -> fmpq_mat:
    n = len(entries)
    return fmpq_mat(n, n, [entries[i] if i == j else 0 for i in range(n) for j in range(n)])


def cayley(A: fmpq_mat) -> fmpq_mat:
    """C(A) = (I + A)⁻¹(I − A), which is its own inverse. Raises ValueError where det(I + A) = 0."""
    one = identity(_size(A))
    if (one + A).det() == 0:
        raise ValueError("det(I + A) is 0: A has the eigenvalue -1 and no Cayley transform. Change signs of columns.")
    return (one + A).inv() * (one - A)


def image_determinant(W: fmpq_mat, signs: Sequence[int]) -> fmpq:
    """det(I + W D): W = C(A) D for some skew-symmetric A if and only if it is not 0.   thm-SC-comp

    It lies in [0, 2ⁿ], and is 0 whenever det W ≠ det D. Raises ValueError for W that is not orthogonal, wrong signs.
    """
    D = diagonal(_checked(W, signs))
    return (identity(len(signs)) + W * D).det()


def lu_signs(W: fmpq_mat) -> tuple[int, ...]:
    """Signs with |det(W + D)| ≥ 1, by elimination without a search: d_k = sign(s_kk), sign(0) = +1.   thm-SC-lu"""
    n = _orthogonal(W)
    rows = W.tolist()
    signs = []
    for k in range(n):
        signs.append(1 if rows[k][k] >= 0 else -1)
        pivot = rows[k][k] + signs[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return tuple(signs)


def bounded_representation(W: fmpq_mat) -> ExactRepresentation:
    """A and D with W = C(A) D and all |a_ij| ≤ 1.   thm-SC-exist; O'Dorney 2014

    From ``lu_signs`` on, while some |a_jk| > 1 the signs of the columns j and k of the largest are exchanged: that
    multiplies det(I + W D) by a_jk². It cannot exceed 2ⁿ, and no signature comes twice.
    """
    signs = list(lu_signs(W))
    potential = []
    while True:
        potential.append(image_determinant(W, signs))
        A = cayley(W * diagonal(signs))
        size, j, k = max((abs(A[j, k]), j, k) for j in range(len(signs)) for k in range(j + 1))
        if size <= 1:
            return ExactRepresentation(A, tuple(signs), len(potential) - 1, tuple(potential))
        signs[j], signs[k] = -signs[j], -signs[k]


def gradient(A: fmpq_mat, signs: Sequence[int], G: fmpq_mat) -> fmpq_mat:
    """Vᵀ − V, V = (I + A)⁻ᵀ G (D + Wᵀ), for G = ∂L/∂W: entry (i, j), i < j, is the derivative by a_ij = −a_ji.
    thm-SC-grad; Helfrich, Willmott, Ye 2018, Thm. 3.2

    As a matrix of partial derivatives it is twice the gradient in the Frobenius product: dL = ½ ⟨Vᵀ − V, dA⟩.
    """
    n = _size(A)
    if A.transpose() != fmpq_mat(n, n) - A:
        raise ValueError("A is not skew-symmetric: A + Aᵀ is not 0. The gradient is that by a_ij = −a_ji.")
    D = diagonal(_signs(signs, n))
    W = cayley(A) * D
    V = (identity(n) + A).inv().transpose() * G * (D + W.transpose())
    return V.transpose() - V


def _size(A: fmpq_mat) -> int:
    if A.nrows() != A.ncols() or A.nrows() < 1:
        raise ValueError(f"The matrix has shape ({A.nrows()}, {A.ncols()}), but it is square, (n, n) with n >= 1.")
    return int(A.nrows())


def _orthogonal(W: fmpq_mat) -> int:
    n = _size(W)
    if W.transpose() * W != identity(n):
        raise ValueError("W is not orthogonal: WᵀW − I is not 0. Give exact entries, such as those of cayley(A).")
    return n


def _signs(signs: Sequence[int], n: int) -> tuple[int, ...]:
    if len(signs) != n or any(d not in (1, -1) for d in signs):
        raise ValueError(f"signs are {list(signs)}, but they are {n} numbers, each 1 or -1: one for a column.")
    return tuple(signs)


def _checked(W: fmpq_mat, signs: Sequence[int]) -> tuple[int, ...]:
    return _signs(signs, _orthogonal(W))
