"""Complex rational matrices in plain fractions, typed once more: the second back-end of the scaled Cayley statements.

Imports nothing from odernn, verification or flint. A number is a pair (x, y) of fractions, x + iy; a matrix a list of
rows. Inverses are adjugates over determinants, determinants are sums over permutations.
"""

from __future__ import annotations

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


def conjugate(z: Number) -> Number:
    return z[0], -z[1]


def over(z: Number, w: Number) -> Number:
    size = w[0] * w[0] + w[1] * w[1]
    x, y = times(z, conjugate(w))
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
    """Σ over permutations, row by row: what begins with 0 is not gone through."""

    def expanded(row: int, columns: tuple[int, ...]) -> Number:
        if not columns:
            return ONE
        total = ZERO
        for place, j in enumerate(columns):
            if A[row][j] != ZERO:
                term = times(A[row][j], expanded(row + 1, columns[:place] + columns[place + 1 :]))
                total = minus(total, term) if place % 2 else plus(total, term)
        return total

    return expanded(0, tuple(range(len(A))))


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


def reflected_to_signs(W: Matrix) -> int | None:
    """The last sign of W = H_n(u_n) … H_2(u_2) diag(1, .., 1, ±1), W real; None if reflections do not take it there.

    Column after column is mirrored onto e_k, in the plane of both: x → x − 2 (v·x)/(v·v) v, v = w − e_k; if w is e_k
    already, at the last coordinate, which keeps it.
    """
    n = len(W)
    rows = [[z[0] for z in row] for row in W]
    for k in range(n - 1):
        v = [Fraction(0)] * k + [rows[i][k] - int(i == k) for i in range(k, n)]
        if not any(v):
            v[n - 1] = Fraction(1)
        square = sum((x * x for x in v), Fraction(0))
        for j in range(n):
            share = 2 * sum((v[i] * rows[i][j] for i in range(n)), Fraction(0)) / square
            for i in range(n):
                rows[i][j] -= share * v[i]
    last = rows[n - 1][n - 1]
    good = all(rows[i][j] == int(i == j) for i in range(n) for j in range(n) if (i, j) != (n - 1, n - 1))
    return int(last) if good and abs(last) == 1 else None


def least_band(W: Matrix) -> int:
    """The least bandwidth of A over all D in {±1}ⁿ with W = C(A) D, W real."""
    bands = []
    for mask in range(2 ** len(W)):
        A = cayley(scaled(W, [(Fraction(1 - 2 * (mask >> k & 1)), Fraction(0)) for k in range(len(W))]))
        if A is not None:
            bands.append(max(abs(i - j) for i, row in enumerate(A) for j, z in enumerate(row) if z != ZERO or i == j))
    return min(bands)


def gradient_differences(A: Matrix, D: Sequence[int], G: Matrix, factor: int = 1) -> list[Fraction]:
    """∂L/∂a_ij − ``factor`` (Vᵀ − V)_ij, i < j, L = ΣΣ g_kl w_kl, W = C(A) D, V = (I + A)⁻ᵀ G (D + Wᵀ); real, n ≤ 4.

    Along a_ij + ε both det(I + A) and det(I + A) L are polynomials in ε of degree ≤ 4, whose derivatives at 0 the
    central difference of five points gives: f' = (f(−2) − 8 f(−1) + 8 f(1) − f(2))/12.
    """
    n = len(A)
    signs = [(Fraction(sign), Fraction(0)) for sign in D]

    def both(i: int, j: int, step: int) -> tuple[Fraction, Fraction]:
        moved = [list(row) for row in A]
        moved[i][j], moved[j][i] = plus(A[i][j], (Fraction(step), ZERO[0])), minus(A[j][i], (Fraction(step), ZERO[0]))
        below, W = determinant(combined(unit(n), moved, 1))[0], cayley(moved)
        assert W is not None
        turned = scaled(W, signs)
        return below, below * sum(
            times(g, w)[0] for p, q in zip(G, turned, strict=True) for g, w in zip(p, q, strict=True)
        )

    W = scaled(cayley(A) or [], signs)
    right = [[plus(signs[l] if l == j else ZERO, W[j][l]) for j in range(n)] for l in range(n)]
    V = solved(adjoint(combined(unit(n), A, 1)), product(G, right)) or []
    differences = []
    for i in range(n):
        for j in range(i + 1, n):
            at = {step: both(i, j, step) for step in (-2, -1, 0, 1, 2)}
            below, above = ((at[-2][k] - 8 * at[-1][k] + 8 * at[1][k] - at[2][k]) / 12 for k in range(2))
            slope = (above * at[0][0] - at[0][1] * below) / at[0][0] ** 2
            differences.append(slope - factor * (V[j][i][0] - V[i][j][0]))
    return differences


def turns_of_columns(A: Matrix, e: Number, mean: int = 1) -> list[Number]:
    """What a factor e in one column, and −1 in two, make of det(I + Z), Z = C(A): (1 + a_jj + e(1 − a_jj))/2, det A_SS;
    and how far Σ over D in {±1}ⁿ of det(I + Z D) is from ``mean`` 2ⁿ.
    """
    Z, n = cayley(A), len(A)
    assert Z is not None
    half, turned_sign = (Fraction(1, 2), Fraction(0)), (Fraction(-1), Fraction(0))

    def shifted(factors: Sequence[Number]) -> Number:
        return determinant(combined(unit(n), scaled(Z, factors), 1))

    whole = shifted([ONE] * n)
    total = summed(shifted([turned_sign if mask >> k & 1 else ONE for k in range(n)]) for mask in range(2**n))
    differences = [minus(total, (Fraction(mean * 2**n), Fraction(0)))]
    for j in range(n):
        factor = times(half, plus(plus(ONE, A[j][j]), times(e, minus(ONE, A[j][j]))))
        turned = shifted([e if k == j else ONE for k in range(n)])
        differences.append(minus(turned, times(whole, factor)))
        for k in range(j):
            turned = shifted([turned_sign if l in (j, k) else ONE for l in range(n)])
            block = [[A[row][column] for column in (j, k)] for row in (j, k)]
            differences.append(minus(turned, times(whole, determinant(block))))
    return differences


def complex_gradient_difference(
    A: Matrix, dA: Matrix, G: Matrix, D: Sequence[Number], factor: Fraction, conjugated: bool
) -> Fraction:
    """Re tr(G* dW) − factor Re tr((V* − V)* dA), V = (I + A)⁻* G (D* + W*), (I + A) dW = −dA (D + W), W = C(A) D.

    D itself stands in V where it is not ``conjugated``.
    """
    shifted, image = combined(unit(len(A)), A, 1), cayley(A)
    assert image is not None
    scale = scaled(unit(len(A)), D)
    W = product(image, scale)
    slope = solved(shifted, product(dA, combined(scale, W, 1)))
    V = solved(adjoint(shifted), product(G, combined(adjoint(scale) if conjugated else scale, adjoint(W), 1)))
    assert slope is not None and V is not None

    def real_inner(X: Matrix, Y: Matrix) -> Fraction:
        return sum(
            (x[0] * y[0] + x[1] * y[1] for p, q in zip(X, Y, strict=True) for x, y in zip(p, q, strict=True)), ZERO[0]
        )

    return -real_inner(G, slope) - factor * real_inner(combined(adjoint(V), V, -1), dA)
