"""Characteristic polynomials of W = C(A) D at the initialisation of scoRNN, over the rationals, by two back-ends.

A = blockdiag([[0, s_j], [−s_j, 0]], ..), a last 0 if n is odd; s = tan(t/2) rational makes cos t and sin t rational.

    FLINT       (I + A)⁻¹(I − A) D as a matrix and its characteristic polynomial
    fractions   block by block: trace and determinant of [[c, −σ], [σ, c]] diag(d, e), c = cos t, σ = sin t
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat, fmpq_mpoly_ctx, fmpq_poly


def cosine(s: Fraction) -> Fraction:
    """cos t of s = tan(t/2)."""
    return (1 - s * s) / (1 + s * s)


def distinct_halves(n: int) -> list[Fraction]:
    """s_j of ⌊n/2⌋ different angles in (0, π/2)."""
    return [Fraction(1, 2 + block) for block in range(n // 2)]


def computed(halves: Sequence[Fraction], signs: Sequence[int]) -> fmpq_poly:
    """det(x I − C(A) D) by FLINT; ⌊n/2⌋ halves, n signs."""
    n = len(signs)
    A, one = fmpq_mat(n, n), fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    for block, s in enumerate(halves):
        A[2 * block, 2 * block + 1] = fmpq(s.numerator, s.denominator)
        A[2 * block + 1, 2 * block] = -fmpq(s.numerator, s.denominator)
    D = fmpq_mat(n, n, [int(signs[i]) * int(i == j) for i in range(n) for j in range(n)])
    W: fmpq_mat = (one + A).solve(one - A) * D
    return W.charpoly()


@functools.cache
def computed_block(s: Fraction, d: int, e: int) -> fmpq_poly:
    """Of one 2x2 block."""
    return computed([s], [d, e])


def by_blocks(halves: Sequence[Fraction], signs: Sequence[int]) -> list[Fraction]:
    """The same coefficients, lowest first, over fractions."""
    coefficients = [Fraction(1)]
    for block in range(len(signs) // 2):
        coefficients = _times(coefficients, block_again(halves[block], *signs[2 * block : 2 * block + 2]))
    if len(signs) % 2:
        coefficients = _times(coefficients, [-Fraction(signs[-1]), Fraction(1)])
    return coefficients


def block_again(s: Fraction, d: int, e: int) -> list[Fraction]:
    """det(x I − [[c, −σ], [σ, c]] diag(d, e)) = x² − c(d + e) x + d e."""
    c, sine = cosine(s), 2 * s / (1 + s * s)
    return [(c * c + sine * sine) * d * e, -c * (d + e), Fraction(1)]


def _times(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            result[i + j] += a * b
    return result


def as_poly(coefficients: Sequence[Fraction]) -> fmpq_poly:
    return fmpq_poly([fmpq(c.numerator, c.denominator) for c in coefficients])


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def block_identity(d: int, e: int, power: int = 2) -> bool:
    """det(x I − C([[0, s], [−s, 0]]) diag(d, e)) = x² − cos t (d + e) x + d e wherever s^power (1 + cos t) = 1 − cos t.

    As polynomials in x, s, c = cos t: det(x (I + A) − (I − A) D) − (1 + s²)(x² − c (d + e) x + d e) is a multiple of
    s^power (1 + c) − (1 − c), and det(I + A) = 1 + s². True for power = 2, s = tan(t/2), and every t.
    """
    ring = fmpq_mpoly_ctx.get(("x", "s", "c"))
    x, s, c = ring.gens()
    determinant = (x - d) * (x - e) + (x * s + s * e) * (x * s + s * d)
    target = (1 + s * s) * (x * x - (d + e) * c * x + d * e)
    _, remainder = divmod(determinant - target, s**power * (1 + c) - (1 - c))
    return bool(remainder == 0 * x)
