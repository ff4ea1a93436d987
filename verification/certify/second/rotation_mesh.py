"""n layers of rotations of neighbours, typed once more in plain fractions; imports nothing from odernn or verification.

A pair p, q of columns or rows becomes (y p − x q, x̄ p + ȳ q), or these two exchanged, which makes one entry 0; the
squares of the factors that stand before rows and columns are kept beside the matrix, so that each turn is unitary.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from verification.certify.second.cayley import ZERO, Matrix, Number, conjugate, minus, plus, times


def _turns(n: int) -> list[tuple[bool, int, int]]:
    """Those of Clements et al. 2016, numbered from 1: whether from the right, and row and column of the entry."""
    found = []
    for i in range(1, n):
        if (n - i) % 2 == 0:
            found += [(True, n - j, i - j) for j in range(i)]
        else:
            found += [(False, n + j - i, j) for j in range(1, i + 1)]
    return found


def entries_left(W: Matrix) -> int:
    """How many entries beside the diagonal are not 0 after the turns."""
    n = len(W)
    A = [list(row) for row in W]
    rows, columns = ([Fraction(1)] * n for _ in range(2))
    for is_right, row, column in _turns(n):
        if is_right:
            _turn_columns(A, columns, row, column)
        else:
            _turn_rows(A, rows, row, column)
    return sum(z != ZERO for i, row in enumerate(A) for j, z in enumerate(row) if i != j)


def _turn_columns(A: Matrix, squares: list[Fraction], row: int, column: int) -> None:
    """The entry becomes 0 by its column and the next one."""
    left, right = column - 1, column
    x, y = A[row - 1][left], A[row - 1][right]
    whole = _squares_of_turn(squares, left, x, y)
    if whole:
        p, q = whole
        for line in A:
            z, w = line[left], line[right]
            line[left] = minus(times(y, z), times(x, w))
            line[right] = plus(times(_scaled(conjugate(x), p), z), times(_scaled(conjugate(y), q), w))
        squares[left], squares[right] = squares[right], squares[left]


def _turn_rows(A: Matrix, squares: list[Fraction], row: int, column: int) -> None:
    """The entry becomes 0 by its row and the one above."""
    above, below = row - 2, row - 1
    x, y = A[above][column - 1], A[below][column - 1]
    whole = _squares_of_turn(squares, above, x, y)
    if whole:
        p, q = whole
        for k, (z, w) in enumerate(zip(A[above], A[below], strict=True)):
            A[above][k] = plus(times(_scaled(conjugate(x), p), z), times(_scaled(conjugate(y), q), w))
            A[below][k] = minus(times(x, w), times(y, z))


def _squares_of_turn(squares: list[Fraction], place: int, x: Number, y: Number) -> tuple[Fraction, Fraction] | None:
    """Those before the pair, which become 1/r² and p q/r², r² = p |x|² + q |y|²; None if there is nothing to turn."""
    p, q = squares[place], squares[place + 1]
    square = p * times(x, conjugate(x))[0] + q * times(y, conjugate(y))[0]
    if square == 0:
        return None
    squares[place], squares[place + 1] = 1 / square, p * q / square
    return p, q


def _scaled(z: Number, factor: Fraction) -> Number:
    return factor * z[0], factor * z[1]


def layers_are_the_turns(n: int, layers: int) -> bool:
    """Whether so many layers, one rotation of each pair in it, are the same product as the factors of the turns, up to
    exchanges of what does not touch: two words are, if and only if they agree in the letters k and k + 1 for every k.
    """
    left = [row - 2 for is_right, row, _ in _turns(n) if not is_right]
    right = [column - 1 for is_right, _, column in _turns(n) if is_right]
    turns = left + right[::-1]
    whole = [k for layer in range(layers) for k in range(layer % 2, n - 1, 2)]
    pairs = [(k, k + 1) for k in range(max(1, n - 2))]
    return all([k for k in turns if k in pair] == [k for k in whole if k in pair] for pair in pairs)


def phases_move() -> bool:
    """a (k² + l²) = e l + (a k + b l) k, b (k² + l²) = −e k + (a k + b l) l and e² + (a k + b l)² = (a² + b²)(k² + l²)
    for e = a l − b k and real numbers, so for real and imaginary parts of a and b together: of degree ≤ 2 in each, they
    are identities if they hold on {0, 1, 2}⁴.
    """
    for a, b, k, l in itertools.product(range(3), repeat=4):
        e, along, square = a * l - b * k, a * k + b * l, k * k + l * l
        if a * square != e * l + along * k or b * square != -e * k + along * l:
            return False
        if e * e + along * along != (a * a + b * b) * square:
            return False
    return True


def entries_beyond(W: Matrix, layers: int) -> int:
    """How many entries are not 0 that the layers cannot reach: from i to j > i a way takes j − i layers, one after the
    other, and waits one if its first pair (i, i + 1) is not rotated in the first; to j < i likewise from (i − 1, i).
    """
    needed = {
        (i, j): abs(j - i) + (i % 2 if j > i else (i - 1) % 2) for i in range(len(W)) for j in range(len(W)) if i != j
    }
    return sum(W[i][j] != ZERO for (i, j), count in needed.items() if count > layers)
