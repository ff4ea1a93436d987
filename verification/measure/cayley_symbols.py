"""Identities of the Cayley transform, decided in symbols: polynomials in the entries, or rational functions.

Every function answers whether an identity holds, for matrices of one size with free entries, or for all sizes at once
where the matrices are functions of one: a skew A with A* = −A, a unitary Z with Z* = Z⁻¹. Those of one matrix commute,
so an identity between them is one between rational functions of a single variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from flint import Ordering, fmpq, fmpq_mpoly_ctx, fmpq_poly

Rows: TypeAlias = list[list[Any]]


def symbols(*names: str) -> tuple[Any, ...]:
    return tuple(fmpq_mpoly_ctx.get(names, Ordering.degrevlex).gens())


def general(n: int, letter: str = "w", more: Sequence[str] = ()) -> tuple[Rows, list[Any]]:
    """An n × n matrix with free entries, and further variables of the same ring."""
    names = [f"{letter}{i}_{j}" for i in range(n) for j in range(n)]
    variables = symbols(*names, *more)
    return [list(variables[i * n : (i + 1) * n]) for i in range(n)], list(variables[n * n :])


def skew(n: int, more: Sequence[str] = ()) -> tuple[Rows, list[Any], list[Any]]:
    """A skew-symmetric matrix with free entries, these entries row by row, and further variables of the same ring."""
    places = list(itertools.combinations(range(n), 2))
    variables = symbols(*(f"a{i}_{j}" for i, j in places), *more) if places or more else symbols("unused")
    zero = 0 * variables[0]
    A = [[zero for _ in range(n)] for _ in range(n)]
    for (i, j), a in zip(places, variables, strict=False):
        A[i][j], A[j][i] = a, -a
    return A, list(variables[: len(places)]), list(variables[len(places) :]) if more else []


def product(A: Rows, B: Rows) -> Rows:
    return [
        [sum((x * row[j] for x, row in zip(line, B, strict=True)), 0 * line[0]) for j in range(len(B[0]))] for line in A
    ]


def transposed(A: Rows) -> Rows:
    return [list(column) for column in zip(*A, strict=True)]


def shifted(A: Rows, factor: int) -> Rows:
    """I + factor A."""
    return [[factor * x + int(i == j) for j, x in enumerate(row)] for i, row in enumerate(A)]


def times_columns(A: Rows, factors: Sequence[Any]) -> Rows:
    """A D, D diagonal."""
    return [[x * d for x, d in zip(row, factors, strict=True)] for row in A]


def determinant(A: Rows) -> Any:
    """By expansion along rows, every minor once: 2ⁿ n products."""
    n = len(A)

    @cache
    def minor(columns: int) -> Any:
        """Of the last rows and these columns."""
        chosen = [j for j in range(n) if columns >> j & 1]
        row = A[n - len(chosen)]
        if len(chosen) == 1:
            return row[chosen[0]]
        parts = ((-1) ** place * row[j] * minor(columns & ~(1 << j)) for place, j in enumerate(chosen) if row[j] != 0)
        return sum(parts, 0 * A[0][0])

    return minor(2**n - 1)


def adjugate(A: Rows) -> Rows:
    n = len(A)
    if n == 1:
        return [[0 * A[0][0] + 1]]
    return [
        [
            (-1) ** (i + j) * determinant([[*row[:i], *row[i + 1 :]] for r, row in enumerate(A) if r != j])
            for j in range(n)
        ]
        for i in range(n)
    ]


def subsets(n: int) -> list[tuple[int, ...]]:
    return [S for size in range(n + 1) for S in itertools.combinations(range(n), size)]


def minor(A: Rows, S: Sequence[int]) -> Any:
    return determinant([[A[i][j] for j in S] for i in S]) if S else 0 * A[0][0] + 1


def pfaffian(A: Rows, S: tuple[int, ...]) -> Any:
    """Of A_SS: 1 for the empty set, 0 for an odd one."""
    if not S:
        return 0 * A[0][0] + 1
    first, rest = S[0], S[1:]
    parts = ((-1) ** k * A[first][j] * pfaffian(A, rest[:k] + rest[k + 1 :]) for k, j in enumerate(rest))
    return sum(parts, 0 * A[0][0]) if len(S) % 2 == 0 else 0 * A[0][0]


# --- for all sizes: rational functions of one variable


class Function:
    """A rational function p/q of one variable x."""

    def __init__(self, above: Sequence[int], under: Sequence[int] = (1,)) -> None:
        self.above, self.under = fmpq_poly(list(above)), fmpq_poly(list(under))

    def cayley(self) -> Function:
        """(1 − f)/(1 + f)."""
        return _made(self.under - self.above, self.under + self.above)

    def negative(self) -> Function:
        return _made(-self.above, self.under)

    def inverse(self) -> Function:
        return _made(self.under, self.above)

    def plus(self, constant: int) -> Function:
        return _made(self.above + constant * self.under, self.under)

    def times(self, other: Function) -> Function:
        return _made(self.above * other.above, self.under * other.under)

    def at(self, inner: Function) -> Function:
        """f(g(x)), by Horner's scheme on both polynomials."""
        degree = max(self.above.degree(), self.under.degree())
        both = []
        for polynomial in (self.above, self.under):
            total = fmpq_poly([0])
            for k in range(degree + 1):
                total += polynomial[k] * inner.above**k * inner.under ** (degree - k)
            both.append(total)
        return _made(*both)

    def equals(self, other: Function) -> bool:
        return bool(self.above * other.under == other.above * self.under)


def _made(above: fmpq_poly, under: fmpq_poly) -> Function:
    function = Function((0,))
    function.above, function.under = above, under
    return function


X = Function((0, 1))
"""The variable."""


def image_is_unitary(sign: int = 1) -> bool:
    """A* = −A: W = C(A) has W* = sign W⁻¹. For x = A, W* is C(x) at −x."""
    W = X.cayley()
    starred = W.at(X.negative())
    return starred.equals(W.inverse() if sign == 1 else W.inverse().negative())


def misses_minus_one(factor: int = 2) -> bool:
    """I + C(A) = factor (I + A)⁻¹, which is invertible."""
    return X.cayley().plus(1).equals(_made(fmpq_poly([factor]), fmpq_poly([1, 1])))


def inverse_is_skew() -> bool:
    """Z* = Z⁻¹ without eigenvalue −1: A = C(Z) has A* = −A. For x = Z, A* is C(x) at 1/x."""
    A = X.cayley()
    return A.at(X.inverse()).equals(A.negative())


def is_involution() -> bool:
    """C(C(x)) = x, either way."""
    return X.cayley().cayley().equals(X)


# --- for one size: polynomials


def squares_of_pfaffians(n: int, smallest: int = 1) -> bool:
    """det(I + A) = 1 + Σ over nonempty S of Pf(A_SS)², so it is at least 1 for real skew A."""
    A, _, _ = skew(n)
    rest = [pfaffian(A, S) ** 2 for S in subsets(n) if S]
    return bool(determinant(shifted(A, 1)) - smallest - sum(rest, 0 * A[0][0]) == 0)


def average_is(n: int, mean: int = 1) -> bool:
    """Σ over D in {±1}ⁿ of det(I + W D) = 2ⁿ mean, every W."""
    W, _ = general(n)
    total = sum(
        (determinant(shifted(times_columns(W, d), 1)) for d in itertools.product((1, -1), repeat=n)), 0 * W[0][0]
    )
    return bool(total - 2**n * mean == 0)


def exchange(n: int, factor: int = 1) -> bool:
    """det(I + C(A) E) det(I + A) = factor 2ⁿ det(A_SS), E = −1 on S and 1 elsewhere; every S, every A."""
    A, _ = general(n, "a")
    for S in subsets(n):
        E = [-1 if j in S else 1 for j in range(n)]
        joined = [
            [x + y for x, y in zip(p, q, strict=True)]
            for p, q in zip(shifted(A, 1), times_columns(shifted(A, -1), E), strict=True)
        ]
        if determinant(joined) - factor * 2**n * minor(A, S) != 0:
            return False
    return True


def one_turn(n: int) -> bool:
    """With e in place of one sign: det(I + C(A) E) det(I + A) = 2ⁿ⁻¹ (1 + a_jj + e (1 − a_jj)), every j, every A."""
    A, (e,) = general(n, "a", ("e",))
    for j in range(n):
        E = [e if k == j else 1 + 0 * e for k in range(n)]
        joined = [
            [x + y for x, y in zip(p, q, strict=True)]
            for p, q in zip(shifted(A, 1), times_columns(shifted(A, -1), E), strict=True)
        ]
        if determinant(joined) - 2 ** (n - 1) * (1 + A[j][j] + e * (1 - A[j][j])) != 0:
            return False
    return True


def derivative_of_entry(n: int, signs: Sequence[int], k: int, l: int) -> tuple[list[Any], Any]:
    """The partial derivatives of W_kl by the free a_ij, each times det(I + A)², and det(I + A)."""
    A, free, _ = skew(n)
    below = determinant(shifted(A, 1))
    numerators = product(adjugate(shifted(A, 1)), times_columns(shifted(A, -1), signs))
    above = numerators[k][l]
    names = [str(a) for a in free]
    return [above.derivative(a) * below - above * below.derivative(a) for a in names], below


def gradient_formula(n: int, signs: Sequence[int], k: int, l: int, factor: int | fmpq, sign_of_D: int = 1) -> list[Any]:
    """factor (Vᵀ − V)_ij for i < j and G = E_kl, times det(I + A)²; V = (I + A)⁻ᵀ G (±D + Wᵀ)."""
    A, _, _ = skew(n)
    inverse, below = adjugate(shifted(A, 1)), determinant(shifted(A, 1))
    W = product(inverse, times_columns(shifted(A, -1), signs))  # times det(I + A)
    right = [[sign_of_D * int(l == j) * signs[l] * below + W[j][l] for j in range(n)]]
    left = [[inverse[k][i]] for i in range(n)]
    V = product(left, right)
    return [factor * (V[j][i] - V[i][j]) for i, j in itertools.combinations(range(n), 2)]


@cache
def gradient_holds(n: int, signs: Sequence[int], factor: int | fmpq = 1, sign_of_D: int = 1) -> bool:
    """For every entry W_kl as the loss, and so by linearity of dL in G for every differentiable one."""
    for k, l in itertools.product(range(n), repeat=2):
        derivatives, _ = derivative_of_entry(n, signs, k, l)
        formula = gradient_formula(n, signs, k, l, factor, sign_of_D)
        if any(x - y != 0 for x, y in zip(derivatives, formula, strict=True)):
            return False
    return True


# --- complex matrices as pairs of real ones


Pair: TypeAlias = tuple[Rows, Rows]


def complex_general(n: int, *letters: str) -> list[Pair]:
    """Complex matrices with free entries in one ring, one for each letter."""
    names = [f"{letter}{part}{i}_{j}" for letter in letters for part in "xy" for i in range(n) for j in range(n)]
    variables = symbols(*names)
    blocks = [
        [list(variables[place + i * n : place + (i + 1) * n]) for i in range(n)]
        for place in range(0, len(variables), n * n)
    ]
    return list(zip(blocks[::2], blocks[1::2], strict=True))


def complex_product(A: Pair, B: Pair) -> Pair:
    (a, b), (c, d) = A, B
    return entrywise(lambda x, y: x - y, product(a, c), product(b, d)), entrywise(
        lambda x, y: x + y, product(a, d), product(b, c)
    )


def adjoint(A: Pair) -> Pair:
    return transposed(A[0]), [[-x for x in row] for row in transposed(A[1])]


def entrywise(operation: Callable[[Any, Any], Any], A: Rows, B: Rows) -> Rows:
    return [[operation(x, y) for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def difference(A: Pair, B: Pair) -> Pair:
    return entrywise(lambda x, y: x - y, A[0], B[0]), entrywise(lambda x, y: x - y, A[1], B[1])


def real_trace(A: Pair) -> Any:
    return sum((A[0][i][i] for i in range(len(A[0]))), 0 * A[0][0][0])


def squared_norm(A: Pair) -> Any:
    return sum((x * x for part in A for row in part for x in row), 0 * A[0][0][0])
