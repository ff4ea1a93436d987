"""max |ŴᵀŴ − I| of a computed Ŵ, exactly: floats are rational numbers.

Two ways to Ŵ ≈ (I + A)⁻¹(I − A) D, which share no code:

    library    ``verification.measure.computed_cayley``: LAPACK through torch, in the dtype
    replay     here: Gaussian elimination with partial pivoting, every operation rounded once to nearest, over fractions

They need not round alike, and a defect counts only if both have it; that of the first is formed by FLINT, that of the
second over Python's fractions.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from flint import fmpq, fmpq_mat

from verification.certify.float_replay import FORMATS, Format, rounded


def unit_roundoff(name: str) -> Fraction:
    """u = 2^−precision of the format."""
    return Fraction(1, 2 ** FORMATS[name].precision)


def is_of_format(values: list[Fraction], name: str) -> bool:
    """Whether all are numbers of the format."""
    return all(rounded(value, FORMATS[name]) == value for value in values)


def replayed(free: list[Fraction], signs: list[int], name: str) -> list[list[Fraction]]:
    """Ŵ by elimination with partial pivoting, one rounding an operation. RoundingError where a number overflows."""
    form, n = FORMATS[name], len(signs)
    M = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    right = [list(row) for row in M]
    for value, (i, j) in zip(free, itertools.combinations(range(n), 2), strict=True):
        M[i][j], M[j][i] = value, -value
        right[i][j], right[j][i] = -value, value
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(M[i][k]))
        M[k], M[pivot], right[k], right[pivot] = M[pivot], M[k], right[pivot], right[k]
        for i in range(k + 1, n):
            factor = rounded(M[i][k] / M[k][k], form)
            M[i] = _less(M[i], factor, M[k], form, k + 1)
            right[i] = _less(right[i], factor, right[k], form, 0)
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            right[k] = _less(right[k], M[k][j], right[j], form, 0)
        right[k] = [rounded(entry / M[k][k], form) for entry in right[k]]
    return [[entry * sign for entry, sign in zip(row, signs, strict=True)] for row in right]


def _less(row: list[Fraction], factor: Fraction, other: list[Fraction], form: Format, first: int) -> list[Fraction]:
    """row − factor · other from column ``first`` on, product and difference rounded."""
    return row[:first] + [
        rounded(x - rounded(factor * y, form), form) for x, y in zip(row[first:], other[first:], strict=True)
    ]


def defect(W: list[list[Fraction]]) -> Fraction:
    """max |WᵀW − I| over FLINT's rationals."""
    n = len(W)
    exact = fmpq_mat(n, n, [fmpq(value.numerator, value.denominator) for row in W for value in row])
    gap = exact.transpose() * exact - fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    largest = max(abs(entry) for entry in gap.entries())
    return Fraction(int(largest.p), int(largest.q))


def defect_again(W: list[list[Fraction]]) -> Fraction:
    """The same over Python's fractions, one pair of columns after the other."""
    columns = list(zip(*W, strict=True))
    largest = Fraction(0)
    for (i, a), (j, b) in itertools.product(enumerate(columns), repeat=2):
        gap = sum((x * y for x, y in zip(a, b, strict=True)), Fraction(-int(i == j)))
        largest = max(largest, abs(gap))
    return largest


def squared_residual(free: list[Fraction], signs: list[int], W: list[list[Fraction]]) -> fmpq:
    """‖(I − A)D − (I + A)W‖_F² exactly."""
    n = len(signs)
    A = fmpq_mat(n, n)
    for value, (i, j) in zip(free, itertools.combinations(range(n), 2), strict=True):
        A[i, j] = fmpq(value.numerator, value.denominator)
        A[j, i] = -A[i, j]
    one = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    D = fmpq_mat(n, n, [sign * int(i == j) for i, sign in enumerate(signs) for j in range(n)])
    exact = fmpq_mat(n, n, [fmpq(value.numerator, value.denominator) for row in W for value in row])
    R = (one - A) * D - (one + A) * exact
    return sum((entry * entry for entry in R.entries()), fmpq(0))


def squared_score(W: list[list[Fraction]]) -> fmpq:
    """‖WᵀW − I‖_F² exactly."""
    n = len(W)
    exact = fmpq_mat(n, n, [fmpq(value.numerator, value.denominator) for row in W for value in row])
    gap = exact.transpose() * exact - fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    return sum((entry * entry for entry in gap.entries()), fmpq(0))
