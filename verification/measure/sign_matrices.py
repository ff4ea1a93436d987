"""The largest ‖A‖₂ of skew-symmetric A with |a_ij| ≤ 1, by enumeration: cot(π/(2n)), at a_ij = sign(j − i).

The norm is convex, so only sign matrices have to be tried; changing signs of rows and columns together keeps the norm,
so the first row may be all +1. Norms are compared exactly: iS is Hermitian, its characteristic polynomial p has integer
coefficients and real roots, and all roots lie below c if and only if every Taylor coefficient of p at c is positive,
which balls decide. The one polynomial with the root cot(π/(2n)) itself is that of a_ij = sign(j − i),

    det(xI − S) = ((x + 1)ⁿ + (x − 1)ⁿ)/2,   roots i cot((2k − 1)π/(2n)).
"""

from __future__ import annotations

import itertools
from functools import cache

import flint
from flint import arb, fmpz_mat, fmpz_poly

BITS = 128


def sign_matrix(n: int) -> fmpz_mat:
    """a_ij = sign(j − i)."""
    return fmpz_mat(n, n, [(j > i) - (j < i) for i in range(n) for j in range(n)])


def has_cotangents(n: int) -> bool:
    """Whether the characteristic polynomial of ``sign_matrix`` is ((x + 1)ⁿ + (x − 1)ⁿ)/2."""
    plus, minus = fmpz_poly([1, 1]) ** n, fmpz_poly([-1, 1]) ** n
    return bool(2 * sign_matrix(n).charpoly() == plus + minus)


def hermitian_polynomial(S: fmpz_mat) -> tuple[int, ...]:
    """det(xI − iS): coefficients from the constant one on; that of xⁿ⁻²ᵏ is (−1)ᵏ that of det(xI − S)."""
    n = S.nrows()
    plain = S.charpoly()
    return tuple((-1) ** ((n - k) // 2) * int(plain[k]) if (n - k) % 2 == 0 else 0 for k in range(n + 1))


def cotangent(n: int) -> arb:
    """cot(π/(2n)) as a ball at the precision in force."""
    return (arb.pi() / (2 * n)).cot()


def is_below(coefficients: tuple[int, ...], c: arb) -> bool:
    """All roots of the real-rooted polynomial are surely less than c."""
    shifted = flint.arb_poly([arb(k) for k in coefficients])(flint.arb_poly([c, 1]))
    return all(bool(shifted[k] > 0) for k in range(len(coefficients)))


def is_above(coefficients: tuple[int, ...], c: arb) -> bool:
    """Some root is surely greater than c: a Taylor coefficient at c is negative."""
    shifted = flint.arb_poly([arb(k) for k in coefficients])(flint.arb_poly([c, 1]))
    return any(bool(shifted[k] < 0) for k in range(len(coefficients)))


@cache
def polynomials(n: int) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """How many sign matrices with first row +1 there are, and their different polynomials."""
    places = list(itertools.combinations(range(1, n), 2))
    different = set()
    for signs in itertools.product((1, -1), repeat=len(places)):
        S = fmpz_mat(n, n)
        for j in range(1, n):
            S[0, j], S[j, 0] = 1, -1
        for (i, j), sign in zip(places, signs, strict=True):
            S[i, j], S[j, i] = sign, -sign
        different.add(hermitian_polynomial(S))
    return 2 ** len(places), tuple(sorted(different))


def largest_is_cotangent(n: int) -> bool:
    """‖A‖₂ ≤ cot(π/(2n)) for all |a_ij| ≤ 1, with equality at ``sign_matrix``."""
    if n < 2 or not has_cotangents(n):
        return False
    _, known = polynomials(n)
    own = hermitian_polynomial(sign_matrix(n))
    with flint.ctx.workprec(BITS):
        c, bit = cotangent(n), arb(2) ** -64
        at = is_below(own, c * (1 + bit)) and is_above(own, c * (1 - bit))
        return at and all(p == own or is_below(p, c) for p in known)
