"""Exact linear algebra over the rationals and over a real number field: nothing here is ever compared with a tolerance.

Matrices are tuples of rows, entries are exact scalars (``exact.algebraic``). Rational matrices go to FLINT. For the
others elimination takes the first nonzero pivot: entries are exact, so its size does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flint import fmpq, fmpq_mat

from odernn.exact.algebraic import Algebraic, sign

ZERO, ONE = fmpq(0), fmpq(1)
Vector: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = tuple[Vector, ...]


@dataclass(frozen=True)
class Inertia:
    """How many eigenvalues of a symmetric matrix are positive, negative, zero."""

    positive: int
    negative: int
    zero: int

    @property
    def is_semidefinite(self) -> bool:
        """No eigenvalue is negative."""
        return self.negative == 0

    def __str__(self) -> str:
        return f"({self.positive}, {self.negative}, {self.zero})"


@dataclass(frozen=True)
class Diagonalisation:
    """Wᵀ S W = diag(pivots), W invertible: the evidence for the inertia of the symmetric matrix S.

    pivots    diagonal of the congruent matrix, as many as S has rows
    basis     the columns of W as vectors: basis[k]ᵀ S basis[k] = pivots[k], and basis[j]ᵀ S basis[k] = 0 for j ≠ k
    """

    pivots: Vector
    basis: Rows

    @property
    def inertia(self) -> Inertia:
        """By Sylvester's law the signs of the pivots are the signs of the eigenvalues."""
        signs = [sign(pivot) for pivot in self.pivots]
        return Inertia(signs.count(1), signs.count(-1), signs.count(0))

    @property
    def violation(self) -> tuple[Vector, Any] | None:
        """A vector v with vᵀSv < 0, and vᵀSv; ``None`` if S ≥ 0."""
        return next(((v, d) for v, d in zip(self.basis, self.pivots, strict=True) if sign(d) < 0), None)


def dot(u: Sequence[Any], v: Sequence[Any]) -> Any:
    """Σ u_i v_i."""
    total: Any = ZERO
    for x, y in zip(u, v, strict=True):
        if x != 0 and y != 0:
            total = total + x * y
    return total


def matrix_vector(S: Sequence[Sequence[Any]], v: Sequence[Any]) -> Vector:
    return tuple(dot(row, v) for row in S)


def quadratic_form(S: Sequence[Sequence[Any]], v: Sequence[Any]) -> Any:
    """vᵀSv."""
    return dot(v, matrix_vector(S, v))


def transposed(S: Sequence[Sequence[Any]]) -> Rows:
    return tuple(zip(*S, strict=True))


def identity(size: int) -> Rows:
    return tuple(tuple(ONE if i == j else ZERO for j in range(size)) for i in range(size))


def product(S: Sequence[Sequence[Any]], T: Sequence[Sequence[Any]]) -> Rows:
    """S T."""
    if S and T and is_rational(*S, *T):
        return _rows(_flint(S) * _flint(T))
    columns = transposed(T)
    return tuple(tuple(dot(row, column) for column in columns) for row in S)


def entrywise(operation: Callable[..., Any], *matrices: Sequence[Sequence[Any]]) -> Rows:
    """The matrix of operation(s_ij, t_ij, …)."""
    return tuple(
        tuple(operation(*entries) for entries in zip(*rows, strict=True)) for rows in zip(*matrices, strict=True)
    )


def outer(u: Sequence[Any], v: Sequence[Any]) -> Rows:
    """u vᵀ."""
    return tuple(tuple(x * y for y in v) for x in u)


def is_rational(*rows: Iterable[Any]) -> bool:
    return not any(isinstance(x, Algebraic) for row in rows for x in row)


def _flint(S: Sequence[Sequence[Any]]) -> Any:
    return fmpq_mat([list(row) for row in S])


def _rows(matrix: Any) -> Rows:
    return tuple(map(tuple, matrix.tolist()))


def diagonalise(S: Sequence[Sequence[Any]]) -> Diagonalisation:
    """Diagonalise a symmetric matrix by congruence: LDLᵀ, with a 2×2 block split where the diagonal vanishes.

    Pivots come in the order of the rows; a row whose diagonal entry is 0 waits until nothing else is left. If then
    s_ij ≠ 0 with s_ii = s_jj = 0, the vectors e_i ± e_j give the pivots ±2 s_ij: such a matrix is indefinite.
    A single negative diagonal entry is shown first, for its vector is a unit vector.
    """
    size = len(S)
    rest = [list(row) for row in S]
    frame = [list(row) for row in identity(size)]  # frame[i]ᵀ S frame[j] = rest[i][j] on the waiting rows
    waiting = sorted(range(size), key=lambda i: sign(rest[i][i]) >= 0)
    pivots, basis = [], []
    while waiting:
        pivot = next((i for i in waiting if rest[i][i] != 0), None)
        if pivot is None:
            pair = next(((i, j) for i in waiting for j in waiting if i < j and rest[i][j] != 0), None)
            if pair is None:
                break
            _rotate(rest, frame, waiting, *pair)
            continue
        waiting.remove(pivot)
        pivots.append(rest[pivot][pivot])
        basis.append(tuple(frame[pivot]))
        _eliminate(rest, frame, waiting, pivot)
    pivots += [ZERO] * len(waiting)
    basis += [tuple(frame[i]) for i in waiting]
    return Diagonalisation(tuple(pivots), tuple(basis))


def _rotate(rest: list[list[Any]], frame: list[list[Any]], waiting: Sequence[int], i: int, j: int) -> None:
    """Replace vector i by vector i − σ vector j, σ the sign of s_ij: its diagonal entry becomes −2|s_ij|."""
    sigma = sign(rest[i][j])
    frame[i] = [x - sigma * y for x, y in zip(frame[i], frame[j], strict=True)]
    for k in waiting:
        rest[i][k] = rest[i][k] - sigma * rest[j][k]
    for k in waiting:
        rest[k][i] = rest[k][i] - sigma * rest[k][j]


def _eliminate(rest: list[list[Any]], frame: list[list[Any]], waiting: Sequence[int], pivot: int) -> None:
    """Make the waiting vectors orthogonal to the pivot's."""
    for i in waiting:
        if rest[i][pivot] == 0:
            continue
        factor = rest[i][pivot] / rest[pivot][pivot]
        frame[i] = [x - factor * y if y != 0 else x for x, y in zip(frame[i], frame[pivot], strict=True)]
        for k in waiting:
            if rest[pivot][k] != 0:
                rest[i][k] = rest[i][k] - factor * rest[pivot][k]


def reduced_echelon(S: Sequence[Sequence[Any]]) -> tuple[Rows, tuple[int, ...]]:
    """Reduced row echelon form without its zero rows, and the columns of its leading ones."""
    if S and S[0] and is_rational(*S):
        reduced, rank_ = _flint(S).rref()
        rows = list(_rows(reduced))[:rank_]
        return tuple(rows), tuple(next(k for k, x in enumerate(row) if x != 0) for row in rows)
    rest, done, columns = [list(row) for row in S], 0, []
    for column in range(len(S[0]) if S else 0):
        pivot = next((i for i in range(done, len(rest)) if rest[i][column] != 0), None)
        if pivot is None:
            continue
        rest[done], rest[pivot] = rest[pivot], rest[done]
        lead = rest[done][column]
        rest[done] = [x / lead if x != 0 else x for x in rest[done]]
        for i, row in enumerate(rest):
            if i != done and row[column] != 0:
                factor = row[column]
                rest[i] = [x - factor * y if y != 0 else x for x, y in zip(row, rest[done], strict=True)]
        columns.append(column)
        done += 1
    return tuple(map(tuple, rest[:done])), tuple(columns)


def rank(S: Sequence[Sequence[Any]]) -> int:
    return len(reduced_echelon(S)[1])


def nullspace(S: Sequence[Sequence[Any]]) -> Rows:
    """A basis of {x: S x = 0}, one vector for each column without a leading one."""
    rows, leading = reduced_echelon(S)
    size = len(S[0]) if S else 0
    basis = []
    for free in (k for k in range(size) if k not in leading):
        vector = [ZERO] * size
        vector[free] = ONE
        for row, column in zip(rows, leading, strict=True):
            vector[column] = -row[free]
        basis.append(tuple(vector))
    return tuple(basis)


def solve(S: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> Rows | None:
    """A matrix X with S X = right, with zeros where X is free; ``None`` if there is none."""
    size = len(S[0])
    rows, leading = reduced_echelon([[*row, *values] for row, values in zip(S, right, strict=True)])
    if any(column >= size for column in leading):
        return None
    width = len(right[0])
    solution: list[Vector] = [(ZERO,) * width] * size
    for row, column in zip(rows, leading, strict=True):
        solution[column] = tuple(row[size:])
    return tuple(solution)


def inverse(S: Sequence[Sequence[Any]]) -> Rows:
    """S⁻¹. Raises ZeroDivisionError if S is singular."""
    if rank(S) < len(S):
        raise ZeroDivisionError(f"The {len(S)} × {len(S)} matrix has rank {rank(S)}: it has no inverse.")
    return solve(S, identity(len(S))) or ()


def characteristic_polynomial(S: Sequence[Sequence[Any]]) -> Vector:
    """The coefficients of det(x I − S), constant term first.

    Over a number field by Berkowitz' recursion, which never divides: S. J. Berkowitz, On computing the determinant in
    small parallel time using a small number of processors, Inform. Process. Lett. 18 (1984) 147–150.
    """
    if not S:
        return (ONE,)
    if is_rational(*S):
        return tuple(_flint(S).charpoly().coeffs())
    descending: list[Any] = [ONE]
    for k in range(len(S)):
        block = [row[:k] for row in S[:k]]
        column: Vector = tuple(row[k] for row in S[:k])
        toeplitz = [ONE, -S[k][k]]  # 1, −a, −r c, −r B c, −r B² c, …
        for _ in range(k):
            toeplitz.append(-dot(S[k][:k], column))
            column = matrix_vector(block, column)
        descending = [dot(descending[: i + 1], toeplitz[max(0, i - k) : i + 1][::-1]) for i in range(k + 2)]
    return tuple(reversed(descending))


def determinant(S: Sequence[Sequence[Any]]) -> Any:
    if S and is_rational(*S):
        return _flint(S).det()
    return characteristic_polynomial(S)[0] * (-1) ** len(S)
