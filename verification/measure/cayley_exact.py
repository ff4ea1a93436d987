"""Unitary and orthogonal matrices over Q(i) and Q in FLINT, for statements about W = C(A) D: the first back-end.

X + iY is held as the real matrix [[X, −Y], [Y, X]]: products, inverses and Cayley transforms of the one are those of
the other, and determinants are |det|². The second back-end is ``certify.second.cayley``.

Parameters as text, row by row: "W" for a real matrix, "W_re" and "W_im" for a complex one.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat

from verification.claim import ClaimError, Parameters
from verification.exact_text import numbers
from verification.measure.exact_cayley import cayley, identity

LARGEST = 6
"""Rows of a typed matrix: determinants by the second back-end are sums over permutations, for every signature."""


def signatures(n: int) -> Iterator[tuple[int, ...]]:
    """All of {1, −1}ⁿ."""
    return itertools.product((1, -1), repeat=n)


def square(values: Sequence[Fraction | int], name: str = "the matrix") -> fmpq_mat:
    """Row by row."""
    n = math.isqrt(len(values))
    if n * n != len(values) or not n:
        raise ClaimError(f"{name} has {len(values)} entries, but a square matrix has n²: list it row by row.")
    return fmpq_mat(n, n, [fmpq(Fraction(v).numerator, Fraction(v).denominator) for v in values])


def typed(parameters: Parameters, name: str = "W") -> fmpq_mat:
    """A real matrix among the parameters. Raises ClaimError if it is not square."""
    return square(numbers(parameters, name), name)


def typed_complex(parameters: Parameters, name: str = "W") -> fmpq_mat:
    """A complex matrix among the parameters, as a real one of twice the size."""
    return embedded(typed(parameters, f"{name}_re"), typed(parameters, f"{name}_im"))


def embedded(X: fmpq_mat, Y: fmpq_mat) -> fmpq_mat:
    """[[X, −Y], [Y, X]]."""
    n = X.nrows()
    big = fmpq_mat(2 * n, 2 * n)
    for i in range(n):
        for j in range(n):
            big[i, j] = big[n + i, n + j] = X[i, j]
            big[n + i, j], big[i, n + j] = Y[i, j], -Y[i, j]
    return big


def parts(Z: fmpq_mat) -> tuple[fmpq_mat, fmpq_mat]:
    """X and Y of an embedded matrix."""
    n = Z.nrows() // 2
    pick = [[Z[i + below * n, j] for i in range(n) for j in range(n)] for below in (0, 1)]
    return fmpq_mat(n, n, pick[0]), fmpq_mat(n, n, pick[1])


def text(M: fmpq_mat) -> str:
    """Row by row, as a parameter."""
    return " ".join(f"{x.p}/{x.q}" if x.q != 1 else str(x.p) for x in M.entries())


def complex_text(Z: fmpq_mat, name: str = "W") -> dict[str, str]:
    X, Y = parts(Z)
    return {f"{name}_re": text(X), f"{name}_im": text(Y)}


def is_orthogonal(W: fmpq_mat) -> bool:
    """Of an embedded matrix: is unitary."""
    return bool(W.transpose() * W == identity(W.nrows()))


def scaling(real: Sequence[Fraction | int], imaginary: Sequence[Fraction | int] | None = None) -> fmpq_mat:
    """diag of real numbers, or embedded diag of complex ones."""

    def diagonal(values: Sequence[Fraction | int]) -> fmpq_mat:
        n = len(values)
        return square([values[i] if i == j else 0 for i in range(n) for j in range(n)])

    return diagonal(real) if imaginary is None else embedded(diagonal(real), diagonal(imaginary))


def moduli_squared(A: fmpq_mat, is_complex: bool) -> list[fmpq]:
    """|a_jk|² of all entries."""
    if not is_complex:
        return [x * x for x in A.entries()]
    X, Y = parts(A)
    return [x * x + y * y for x, y in zip(X.entries(), Y.entries(), strict=True)]


def largest_squared(W: fmpq_mat, D: fmpq_mat, is_complex: bool) -> fmpq | None:
    """max |a_jk|² of A = C(W D); None where W D has the eigenvalue −1."""
    Z = W * D
    if (identity(Z.nrows()) + Z).det() == 0:
        return None
    return max(moduli_squared(cayley(Z), is_complex))


def least_largest_squared(W: fmpq_mat, is_complex: bool) -> fmpq:
    """min over D in {±1}ⁿ of max |a_jk|², by trying all."""
    n = W.nrows() // (2 if is_complex else 1)
    imaginary = [0] * n if is_complex else None
    squares = [largest_squared(W, scaling(d, imaginary), is_complex) for d in signatures(n)]
    return min(x for x in squares if x is not None)


def rational_skew(n: int, rng: random.Random, most: int = 6) -> fmpq_mat:
    A = fmpq_mat(n, n)
    for i, j in itertools.combinations(range(n), 2):
        A[i, j] = fmpq(rng.randint(-most, most), rng.randint(1, 4))
        A[j, i] = -A[i, j]
    return A


def rational_orthogonal(n: int, rng: random.Random) -> fmpq_mat:
    """P C(A) D with a random signed permutation in front: every determinant, and the eigenvalue −1 now and then."""
    return cayley(rational_skew(n, rng)) * signed_permutation(n, rng)


def signed_permutation(n: int, rng: random.Random) -> fmpq_mat:
    P, order = fmpq_mat(n, n), list(range(n))
    rng.shuffle(order)
    for i, j in enumerate(order):
        P[i, j] = rng.choice((1, -1))
    return P


def signed_permutations(n: int) -> Iterator[fmpq_mat]:
    """All 2ⁿ n! of them."""
    for order in itertools.permutations(range(n)):
        for signs in signatures(n):
            P = fmpq_mat(n, n)
            for i, j in enumerate(order):
                P[i, j] = signs[i]
            yield P


def rational_unitary(n: int, rng: random.Random) -> fmpq_mat:
    """Embedded C(K) of a random skew-Hermitian K over Q(i), times a diagonal of 1, i, −1, −i."""
    X, Y = rational_skew(n, rng, 3), fmpq_mat(n, n)
    for i in range(n):
        for j in range(i + 1):
            Y[i, j] = Y[j, i] = fmpq(rng.randint(-3, 3), rng.randint(1, 3))
    turns = [rng.choice(((1, 0), (0, 1), (-1, 0), (0, -1))) for _ in range(n)]
    return cayley(embedded(X, Y)) * scaling(*map(list, zip(*turns, strict=True)))
