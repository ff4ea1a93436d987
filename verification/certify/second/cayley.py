"""Complex rational matrices in plain fractions, typed once more: the second back-end of the scaled Cayley statements.

Imports nothing from odernn, verification or flint. A number is a pair (x, y) of fractions, x + iy; a matrix a list of
rows. Inverses are adjugates over determinants, determinants are sums over permutations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = tuple[Fraction, Fraction]
Matrix: TypeAlias = list[list[Number]]
ZERO: Number = (Fraction(0), Fraction(0))
ONE: Number = (Fraction(1), Fraction(0))


def plus(z: Number, w: Number) -> Number:
    return z[0] + w[0], z[1] + w[1]


def minus(z: Number, w: Number) -> Number:
    return z[0] - w[0], z[1] - w[1]


def times(z: Number, w: Number) -> Number:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def over(z: Number, w: Number) -> Number:
    size = w[0] * w[0] + w[1] * w[1]
    x, y = times(z, (w[0], -w[1]))
    return x / size, y / size


def read(parameters: Mapping[str, str], name: str) -> Matrix:
    """ "W" if it is there, "W_re" and "W_im" otherwise."""
    if name in parameters:
        real = [Fraction(word) for word in parameters[name].split()]
        imaginary = [Fraction(0)] * len(real)
    else:
        real = [Fraction(word) for word in parameters[f"{name}_re"].split()]
        imaginary = [Fraction(word) for word in parameters[f"{name}_im"].split()]
    n = math.isqrt(len(real))
    pairs = list(zip(real, imaginary, strict=True))
    return [pairs[i * n : (i + 1) * n] for i in range(n)]


def unit(n: int) -> Matrix:
    return [[ONE if i == j else ZERO for j in range(n)] for i in range(n)]


def product(A: Matrix, B: Matrix) -> Matrix:
    return [[summed(times(x, row[j]) for x, row in zip(line, B, strict=True)) for j in range(len(B[0]))] for line in A]


def summed(values: Iterable[Number]) -> Number:
    total = ZERO
    for value in values:
        total = plus(total, value)
    return total


def combined(A: Matrix, B: Matrix, sign: int) -> Matrix:
    """A + sign B."""
    return [
        [(x[0] + sign * y[0], x[1] + sign * y[1]) for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)
    ]


def adjoint(A: Matrix) -> Matrix:
    return [[(A[i][j][0], -A[i][j][1]) for i in range(len(A))] for j in range(len(A[0]))]


def determinant(A: Matrix) -> Number:
    """Σ over permutations."""
    n, total = len(A), ZERO
    for order in itertools.permutations(range(n)):
        inversions = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        term: Number = (Fraction(-1 if inversions % 2 else 1), Fraction(0))
        for i, j in enumerate(order):
            term = times(term, A[i][j])
            if term == ZERO:
                break
        total = plus(total, term)
    return total


def solved(A: Matrix, B: Matrix) -> Matrix | None:
    """A⁻¹B by Cramer's rule; None if det A = 0."""
    whole = determinant(A)
    if whole == ZERO:
        return None
    n = len(A)
    return [
        [over(determinant([[*A[r][:i], B[r][j], *A[r][i + 1 :]] for r in range(n)]), whole) for j in range(len(B[0]))]
        for i in range(n)
    ]


def cayley(Z: Matrix) -> Matrix | None:
    """(I + Z)⁻¹(I − Z); None if Z has the eigenvalue −1."""
    return solved(combined(unit(len(Z)), Z, 1), combined(unit(len(Z)), Z, -1))


def scaled(Z: Matrix, diagonal: Sequence[Number]) -> Matrix:
    """Z times a diagonal matrix."""
    return [[times(x, d) for x, d in zip(row, diagonal, strict=True)] for row in Z]


def is_unitary(W: Matrix) -> bool:
    return product(adjoint(W), W) == unit(len(W))


def is_skew(A: Matrix) -> bool:
    """A* = −A."""
    return combined(A, adjoint(A), 1) == combined(A, A, -1)


def sizes(A: Matrix) -> list[Fraction]:
    """|a_jk|²."""
    return [x * x + y * y for row in A for x, y in row]


def least_largest(W: Matrix) -> Fraction:
    """min over D in {±1}ⁿ of max |a_jk|²."""
    best = None
    for mask in range(2 ** len(W)):
        A = cayley(scaled(W, [(Fraction(1 - 2 * (mask >> k & 1)), Fraction(0)) for k in range(len(W))]))
        if A is not None and (best is None or max(sizes(A)) < best):
            best = max(sizes(A))
    if best is None:
        raise ArithmeticError("every W D has the eigenvalue -1")
    return best
