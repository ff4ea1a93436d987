"""The smallest eigenvalue of a symmetric matrix of exact scalars, and how far it is from M ≥ 0.

    λ_min(S) ≥ t  ⟺  S − tI has no negative eigenvalue;      dist(M, {≥ 0}) = max(0, −λ_min(M)) in the spectral norm

N. J. Higham, Computing a nearest symmetric positive semidefinite matrix, Linear Algebra Appl. 103 (1988) 103–118,
Theorem 3.1. Each end of the enclosure is a decision in exact arithmetic: the signs of the eigenvalues are read off the
coefficients of the characteristic polynomial (Descartes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from odernn.exact.algebraic import Algebraic, sign
from odernn.exact.definiteness import inertia
from odernn.exact.linear_algebra import ZERO
from odernn.properties.rounding import as_float, dyadic

SIGNIFICANT_BITS = 40
"""An eigenvalue is enclosed to this relative accuracy: twelve digits."""


def shifted(S: Sequence[Sequence[Any]], t: fmpq) -> list[list[Any]]:
    """S − tI."""
    return [[x - t if i == j else x for j, x in enumerate(row)] for i, row in enumerate(S)]


def smallest_eigenvalue(S: Sequence[Sequence[Any]]) -> Interval:
    """An enclosure of λ_min of a symmetric matrix of exact scalars, with ``SIGNIFICANT_BITS`` correct bits; 0 exactly.

    Each end is a decision in exact arithmetic: λ_min ≥ t if and only if S − tI has no negative eigenvalue, and the
    signs of all eigenvalues of S − tI are read off the coefficients of its characteristic polynomial (Descartes).
    """
    counted = inertia(S)
    if counted.negative == 0 and counted.zero > 0:
        return Interval(ZERO, ZERO)
    sense = -1 if counted.negative else 1
    norm = max(sum((_above(x) for x in row), ZERO) for row in S)  # ≥ |λ| for every eigenvalue
    outer = fmpq(1)
    while outer < norm:
        outer *= 2
    while _reaches(S, sense * outer / 2, sense):
        outer /= 2
    low, high = sorted((sense * outer, sense * outer / 2))
    for _ in range(SIGNIFICANT_BITS):
        middle = (low + high) / 2
        low, high = (middle, high) if inertia(shifted(S, middle)).negative == 0 else (low, middle)
    return Interval(low, high)


@dataclass(frozen=True)
class Interval:
    """A real number between two rational ones; ``lower == upper`` is the number. Printed to six digits."""

    lower: fmpq
    upper: fmpq

    def __str__(self) -> str:
        low, high = (f"{as_float(end):.6g}" for end in (self.lower, self.upper))
        return low if low == high else f"[{low}, {high}]"


def _reaches(S: Sequence[Sequence[Any]], t: fmpq, sense: int) -> bool:
    """Whether λ_min lies between 0 and t, or at t."""
    count = inertia(shifted(S, t))
    return count.negative == 0 if sense < 0 else count.negative + count.zero > 0


def _above(x: Any) -> fmpq:
    """A rational number ≥ |x|."""
    if sign(x) == 0:
        return ZERO
    return dyadic(abs(x).ball(64).upper()) if isinstance(x, Algebraic) else abs(x)
