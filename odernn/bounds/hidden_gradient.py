"""Gradients of hidden states through orthogonal matrices and modReLU.   thm-H-grad

    J = ∂h_T/∂h_t = D_T W D_{T−1} W ⋯ D_{t+1} W,   W orthogonal,   D_k = diag(1 where unit i is active at step k, or 0)

r_k is the number of zeros of D_k, the silent units. All singular values of J lie in [0, 1], at least n − Σ r_k of them
are 1, and J is orthogonal iff all r_k = 0. Nothing bounds ‖J‖ from below once Σ r_k ≥ n: it can be 0.
Proofs: docs/derivations/modrelu_gradients.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq

from odernn.bounds.numbers import FLOATS, Numbers
from odernn.exact.integers import positive_integer
from odernn.exact.linear_algebra import Inertia, diagonalise, entrywise, identity, product, rank, transposed

__all__ = [
    "contraction_inertia",
    "isometric_dimension",
    "jacobian",
    "least_isometric_dimension",
    "log_largest_gain",
    "log_least_norm",
]

Matrix = Sequence[Sequence[Any]]


def least_isometric_dimension(n: int, silent: Sequence[int]) -> int:
    """max(n − Σ r_k, 0): at least so many singular values of J are 1; r_k = ``silent``[k].   thm-H-grad

    Raises ValueError unless 0 ≤ r_k ≤ n.
    """
    positive_integer("n", n)
    if wrong := [r for r in silent if not 0 <= r <= n]:
        raise ValueError(f"silent holds {wrong[0]}, but a step silences between 0 and n = {n} units.")
    return max(n - sum(silent), 0)


def log_least_norm(n: int, silent: Sequence[int]) -> float | None:
    """0 = log ‖J‖₂ where Σ r_k < n; None where the theorem has no lower bound, and J may be 0.   thm-H-grad"""
    return 0.0 if least_isometric_dimension(n, silent) else None


def log_largest_gain(*, defect: Any, steps: Any, numbers: Numbers = FLOATS) -> Any:
    """log of (1 + defect)^{steps/2}: bounds ‖J‖₂ for a W that is not quite orthogonal, ‖WᵀW − I‖₂ ≤ defect.

    0 for an orthogonal W: gradients do not grow. ``steps`` = T − t, and defect ≥ 0 a number of the namespace.
    """
    return numbers.log(1 + defect) * steps / 2


def jacobian(W: Matrix, active: Sequence[Sequence[int]]) -> tuple[tuple[Any, ...], ...]:
    """D_T W ⋯ D_1 W exactly; ``active``[k] is the diagonal of D_{k+1}, 0s and 1s. W has exact entries (n, n)."""
    exact = _exact_rows(W)
    J = identity(len(exact))
    for diagonal in active:
        J = tuple(tuple(d * entry for entry in row) for d, row in zip(diagonal, product(exact, J), strict=True))
    return J


def isometric_dimension(J: Matrix) -> int:
    """dim {v : ‖Jv‖ = ‖v‖} = n − rank(I − JᵀJ) of a contraction J with exact entries.   thm-H-grad"""
    return len(J) - rank(_gap(J))


def contraction_inertia(J: Matrix) -> Inertia:
    """Inertia of I − JᵀJ: no negative eigenvalue iff ‖J‖₂ ≤ 1; the zeros are ``isometric_dimension``. Exact."""
    return diagonalise(_gap(J)).inertia


def _gap(J: Matrix) -> tuple[tuple[Any, ...], ...]:
    exact = _exact_rows(J)
    return entrywise(lambda one, square: one - square, identity(len(exact)), product(transposed(exact), exact))


def _exact_rows(matrix: Matrix) -> tuple[tuple[Any, ...], ...]:
    """Integers and fractions as FLINT's rationals; other exact scalars as they are."""
    return tuple(
        tuple(fmpq(x.numerator, x.denominator) if isinstance(x, Fraction | int) else x for x in row) for row in matrix
    )
