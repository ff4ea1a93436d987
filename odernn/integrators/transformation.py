"""Butcher's transformation: the matrix A of a method by its eigenvalues, for one factorisation an eigenvalue.

With A = Σ_i λ_i Π_i, the Π_i projectors of rank one, Π_i Π_j = δ_ij Π_i and Σ_i Π_i = I, for every square X

    (A ⊗ I)(I − A ⊗ X)⁻¹ = Σ_i λ_i Π_i ⊗ (I − λ_i X)⁻¹        Butcher 1976; Hairer, Wanner 1996, Section IV.8

No A⁻¹ occurs, so that an eigenvalue 0 of a singular A costs nothing; of a pair of complex conjugates one is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint

from odernn.exact.algebraic import Scalar, enclosure

BITS = 128
MOST_STAGES = 8
LARGEST_PROJECTOR = 1e3
"""Beyond that sum of the |entries| of all Π_i rounding errors are magnified as much: the dense matrix is factored."""


@dataclass(frozen=True, eq=False)
class Mode:
    """λ with its projector Π, row by row, real and imaginary parts; ``weight`` is 2 for one of a conjugate pair."""

    eigenvalue: tuple[float, float]
    projector: tuple[tuple[tuple[float, float], ...], ...]
    weight: float


def modes_of(A: Sequence[Sequence[Scalar]]) -> tuple[Mode, ...] | None:
    """The eigenvalues other than 0 with their projectors, from balls of 128 bits around the exact entries.

    None where eigenvalues are not told apart (a double one other than 0 need not have its eigenvectors), where
    projectors are large, and of more than ``MOST_STAGES`` stages.
    """
    s = len(A)
    if s > MOST_STAGES:
        return None
    with flint.ctx.workprec(BITS):
        matrix = flint.acb_mat([[flint.acb(enclosure(entry, BITS)) for entry in row] for row in A])
        try:
            eigenvalues, left, right = matrix.eig(left=True, right=True)
        except ValueError:
            return None
        modes, size = [], 0.0
        for i, value in enumerate(eigenvalues):
            projector = tuple(tuple(_parts(right[j, i] * left[i, k]) for k in range(s)) for j in range(s))
            size += sum(abs(complex(*entry)) for row in projector for entry in row)
            is_real = value.imag.contains(0)  # isolated from its conjugate otherwise
            if value.contains(0) or (not is_real and float(value.imag.mid()) < 0):
                continue
            modes.append(Mode(_parts(value), projector, 1.0 if is_real else 2.0))
    return tuple(modes) if size <= LARGEST_PROJECTOR else None


def _parts(value: Any) -> tuple[float, float]:
    """The midpoint of a complex ball; an imaginary part that may be zero is zero."""
    imaginary = 0.0 if value.imag.contains(0) else float(value.imag.mid())
    return float(value.real.mid()), imaginary
