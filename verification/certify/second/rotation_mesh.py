"""n layers of rotations of neighbours, typed once more in plain fractions; imports nothing from odernn or verification.

A pair p, q of columns or rows becomes (y p − x q, x̄ p + ȳ q), or these two exchanged, which makes one entry 0.
"""

from __future__ import annotations

from verification.certify.second.cayley import ZERO, Matrix, conjugate, minus, plus, times


def entries_left(W: Matrix) -> int:
    """How many entries below the diagonal are not 0 after the turns of Clements et al. 2016, numbered from 1 there."""
    n = len(W)
    A = [list(row) for row in W]
    for i in range(1, n):
        if (n - i) % 2 == 0:
            for j in range(i):
                _turn_columns(A, n - j, i - j)
        else:
            for j in range(1, i + 1):
                _turn_rows(A, n + j - i, j)
    return sum(z != ZERO for i, row in enumerate(A) for z in row[:i])


def _turn_columns(A: Matrix, row: int, column: int) -> None:
    """The entry becomes 0 by its column and the next one."""
    x, y = A[row - 1][column - 1], A[row - 1][column]
    if x == y == ZERO:
        return
    for line in A:
        p, q = line[column - 1], line[column]
        line[column - 1] = minus(times(y, p), times(x, q))
        line[column] = plus(times(conjugate(x), p), times(conjugate(y), q))


def _turn_rows(A: Matrix, row: int, column: int) -> None:
    """The entry becomes 0 by its row and the one above."""
    x, y = A[row - 2][column - 1], A[row - 1][column - 1]
    if x == y == ZERO:
        return
    for k, (p, q) in enumerate(zip(A[row - 2], A[row - 1], strict=True)):
        A[row - 2][k] = plus(times(conjugate(x), p), times(conjugate(y), q))
        A[row - 1][k] = minus(times(x, q), times(y, p))


def entries_beyond(W: Matrix, layers: int) -> int:
    """How many entries are not 0 that the layers cannot reach: from i to j > i a way takes j − i layers, one after the
    other, and waits one if its first pair (i, i + 1) is not rotated in the first; to j < i likewise from (i − 1, i).
    """
    needed = {
        (i, j): abs(j - i) + (i % 2 if j > i else (i - 1) % 2) for i in range(len(W)) for j in range(len(W)) if i != j
    }
    return sum(W[i][j] != ZERO for (i, j), count in needed.items() if count > layers)
