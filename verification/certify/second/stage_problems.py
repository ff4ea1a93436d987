"""Nonlinear stability of a Runge-Kutta method once more, in mpmath with 80 digits, from its coefficients as decimals.

    M_ij = b_i a_ij + b_j a_ji − b_i b_j;   y' = λ y, one step of size 1:  Y = 1 + A Λ Y,  y₁ = 1 + bᵀ Λ Y

Agreement to 60 digits is no proof; it is a computation that shares nothing with the exact one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import mpmath

DIGITS = 80
CLOSE = mpmath.mpf(10) ** -60
Words = Sequence[str]


def _numbers(words: Words) -> list[Any]:
    return [mpmath.mpf(word) for word in words]


def _are_equal(x: Sequence[Any], y: Sequence[Any]) -> bool:
    return all(abs(a - b) < CLOSE for a, b in zip(x, y, strict=True))


def has_nonnegative_form(A: Sequence[Words], b: Words) -> bool:
    """b ≥ 0 and M ≥ 0 where stages with equal rows of A are taken together: weights and entries of M add up."""
    with mpmath.workdps(DIGITS):
        rows, weights = [_numbers(row) for row in A], _numbers(b)
        classes: list[list[int]] = []
        for i, row in enumerate(rows):
            fitting = [members for members in classes if _are_equal(rows[members[0]], row)]
            if fitting:
                fitting[0].append(i)
            else:
                classes.append([i])

        def entry(i: int, j: int) -> Any:
            return weights[i] * rows[i][j] + weights[j] * rows[j][i] - weights[i] * weights[j]

        M = mpmath.matrix([[mpmath.fsum(entry(i, j) for i in p for j in q) for q in classes] for p in classes])
        least = min(mpmath.eigsy(M, eigvals_only=True))
        return bool(least > -CLOSE and min(mpmath.fsum(weights[i] for i in p) for p in classes) > -CLOSE)


def grows(A: Sequence[Words], b: Words, rates: Sequence[Words], points: Sequence[Words]) -> bool:
    """|y₁| > |y₀| for λ = re + i·im, re ≤ 0, at the stages; λ is a function of the points where they are."""
    with mpmath.workdps(DIGITS):
        z = [mpmath.mpc(*_numbers(rate)) for rate in rates]
        at = [_numbers(point) for point in points]
        pairs = list(itertools.combinations(range(len(z)), 2))
        is_function = all(abs(z[i] - z[j]) < CLOSE or not _are_equal(at[i], at[j]) for i, j in pairs)
        after = 1 + mpmath.fsum(mpmath.mpf(w) * x * y for w, x, y in zip(b, z, _stages(A, z), strict=True))
        return bool(is_function and max(x.real for x in z) < CLOSE and abs(after) > 1 + CLOSE)


def _stages(A: Sequence[Words], z: Sequence[Any]) -> list[Any]:
    s = range(len(z))
    system = mpmath.matrix([[int(i == j) - mpmath.mpf(A[i][j]) * z[j] for j in s] for i in s])
    return list(mpmath.lu_solve(system, mpmath.matrix([1] * len(z))))


def is_monotone(
    A: Sequence[Words], rates: Sequence[Words], positions: Sequence[Words], slopes: Sequence[Words], radius_squared: str
) -> bool:
    """Of the field with the slopes (g_i, z_i r Y_i) at (x_i, r Y_i) and (g_i, 0) at (x_i, 0): (f − f')ᵀ(p − p') ≤ 0 for
    all of these points, and x_i = x₀ + Σ_j a_ij g_j with the same x₀ for all i.
    """
    with mpmath.workdps(DIGITS):
        z = [mpmath.mpc(*_numbers(rate)) for rate in rates]
        x, g = ([_numbers(row) for row in rows] for rows in (positions, slopes))
        starts = [
            [x[i][k] - mpmath.fsum(mpmath.mpf(a) * g[j][k] for j, a in enumerate(A[i])) for k in range(len(x[0]))]
            for i in range(len(z))
        ]
        if not all(_are_equal(start, starts[0]) for start in starts):
            return False
        Y, r = _stages(A, z), mpmath.sqrt(mpmath.mpf(radius_squared))
        points = [(x[i], g[i], r * y, z[i] * r * y) for i in range(len(z)) for y in (Y[i], mpmath.mpc(0))]
        for (p, f, y, k), (q, e, u, l) in itertools.combinations(points, 2):
            rest = mpmath.fsum((a - b) * (c - d) for a, b, c, d in zip(p, q, f, e, strict=True))
            if rest + mpmath.re((k - l) * mpmath.conj(y - u)) > CLOSE:
                return False
        return True
