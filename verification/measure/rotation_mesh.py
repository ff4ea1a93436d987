"""A unitary matrix as n layers of rotations of neighbours and n phases, EURNN at full capacity: W = F⁽¹⁾ … F⁽ⁿ⁾ D.

Layer l rotates the pairs (k, k + 1) of places with k ≡ l mod 2 by [[e^{iφ} cos θ, −e^{iφ} sin θ], [sin θ, cos θ]]. As
Clements et al. 2016 (Optica 3, 1460) have it: the entries below the diagonal are made 0 along its parallels, from the
right along one and from the left along the next, so that the last n layers fit; then all phases are moved to the right.
Places and layers count from 0.
"""

from __future__ import annotations

from typing import NamedTuple

from flint import fmpq, fmpq_mat

from verification.measure import cayley_exact as exact
from verification.measure.cayley_symbols import adjoint, complex_product, difference, symbols
from verification.measure.exact_cayley import identity


class Turn(NamedTuple):
    """The entry (row, column) is made 0 by the places ``place`` and ``place`` + 1: of the columns if ``is_right``."""

    is_right: bool
    place: int
    row: int
    column: int


def turns(n: int) -> list[Turn]:
    """One for each entry below the diagonal, in their order."""
    found = []
    for parallel in range(1, n):
        for j in range(parallel):
            if (parallel + n) % 2 == 0:
                column = parallel - 1 - j
                found.append(Turn(True, column, n - 1 - j, column))
            else:
                row = n - parallel + j
                found.append(Turn(False, row - 1, row, j))
    return found


def ends_triangular(n: int) -> bool:
    """Whether all entries below the diagonal are 0 at the end, whatever W is: a turn changes two rows or columns, and
    of those keeps 0 where both entries were 0.
    """
    null: set[tuple[int, int]] = set()
    for turn in turns(n):
        pair = (turn.place, turn.place + 1)
        lines = [[(i, k) if turn.is_right else (k, i) for k in pair] for i in range(n)]
        null -= {entry for line in lines if not null.issuperset(line) for entry in line}
        null.add((turn.row, turn.column))
    return null.issuperset((i, j) for i in range(n) for j in range(i))


def layers(n: int) -> int:
    """How many layers the factors of W have: those from the left in their order, those from the right after them, the
    last turn first, each in the first layer that rotates its pair and comes after all that it shares a place with.
    """
    found = turns(n)
    factors = [t.place for t in found if not t.is_right] + [t.place for t in reversed(found) if t.is_right]
    busy = [0] * n
    for place in factors:
        layer = max(busy[place : place + 2])
        layer += (layer - place) % 2
        busy[place : place + 2] = [layer + 1] * 2
    return max(busy)


def turns_to_zero() -> bool:
    """G (x, y)ᵀ = (r², 0)ᵀ and G*G = r² I for G = [[x̄, ȳ], [−y, x]], r² = |x|² + |y|²: G/r is unitary. Likewise
    (x, y) H = (0, r²) for H = [[y, x̄], [−x, ȳ]].
    """
    a, b, c, d = symbols("a", "b", "c", "d")
    square, zero = a**2 + b**2 + c**2 + d**2, 0 * a
    G = [[a, c], [-c, a]], [[-b, -d], [-d, b]]
    H = [[c, a], [-a, c]], [[d, -b], [-b, -d]]
    unit = [[square, zero], [zero, square]], [[zero, zero], [zero, zero]]
    column, row = ([[a], [c]], [[b], [d]]), ([[a, c]], [[b, d]])
    pairs = (
        (complex_product(adjoint(G), G), unit),
        (complex_product(adjoint(H), H), unit),
        (complex_product(G, column), ([[square], [zero]], [[zero], [zero]])),
        (complex_product(row, H), ([[zero, square]], [[zero, zero]])),
    )
    return all(x == 0 for left, right in pairs for part in difference(left, right) for line in part for x in line)


def phases_move() -> bool:
    """A unitary [[a, b], [k σ, l τ]] with k, l ≥ 0 and |σ| = |τ| = 1 is [[e l, −e k], [k, l]] diag(σ, τ), |e| = 1.

    With a, b for a σ̄, b τ̄, rows of modulus 1 at right angles have k² + l² = |a|² + |b|² = 1 and a k + b l = 0. For
    e = a l − b k:  a (k² + l²) = e l + (a k + b l) k,  b (k² + l²) = −e k + (a k + b l) l,  and
    |e|² + |a k + b l|² = (|a|² + |b|²)(k² + l²).
    """
    k, l, x, y, u, v = symbols("k", "l", "x", "y", "u", "v")  # a = x + iy, b = u + iv
    turned, square = [], k**2 + l**2
    for a, b in ((x, u), (y, v)):
        e, along = a * l - b * k, a * k + b * l
        if a * square - e * l - along * k != 0 or b * square + e * k - along * l != 0:
            return False
        turned.append(e**2 + along**2)
    return bool(sum(turned) - (x**2 + y**2 + u**2 + v**2) * square == 0)


def beyond(n: int, count: int) -> list[tuple[int, int]]:
    """The entries of F⁽¹⁾ … F⁽ᴸ⁾ D that are 0 for all angles, L = ``count``: no way leads there."""
    reach = [{i} for i in range(n)]
    for layer in range(count):
        pairs = {k: {k, k + 1} for k in range(layer % 2, n - 1, 2)}
        reach = [set().union(*(pairs.get(j, pairs.get(j - 1, {j})) for j in places)) for places in reach]
    return [(i, j) for i in range(n) for j in range(n) if j not in reach[i]]


def is_turned_diagonal(W: fmpq_mat) -> bool:
    """Whether the turns make a diagonal matrix of W, embedded, each of them unitary: so it is if W is unitary.

    Without square roots: W = √R M √C with rational R, C > 0. A turn of two rows by G/r, r² = c (p |x|² + q |y|²), for
    entries x, y of M with the factors p, q of R, leaves x̄ p M₁ + ȳ q M₂ with 1/(p |x|² + q |y|²) and −y M₁ + x M₂ with
    p q/(p |x|² + q |y|²); of two columns likewise.
    """
    n = W.nrows() // 2
    rows, columns = ([fmpq(1)] * n for _ in range(2))
    for turn in turns(n):
        k, sizes = turn.place, columns if turn.is_right else rows
        (a, b), (c, d) = (
            (W[i, j], W[n + i, j])
            for i, j in (((turn.row, k + j) if turn.is_right else (k + j, turn.column)) for j in (0, 1))
        )
        p, q = sizes[k : k + 2]
        square = p * (a * a + b * b) + q * (c * c + d * d)
        if square == 0:
            continue
        if turn.is_right:
            block = ((c, p * a), (-a, q * c), (d, -p * b), (-b, -q * d))
            sizes[k : k + 2] = [p * q / square, 1 / square]
            W = W * _embedded(n, k, block)
        else:
            block = ((p * a, q * c), (-c, a), (-p * b, -q * d), (-d, b))
            sizes[k : k + 2] = [1 / square, p * q / square]
            W = _embedded(n, k, block) * W
    return all(W[i, j] == 0 and W[n + i, j] == 0 for i in range(n) for j in range(n) if i != j)


def _embedded(n: int, place: int, block: tuple[tuple[fmpq, fmpq], ...]) -> fmpq_mat:
    """The identity with a complex block at ``place``: the rows of its real part, then those of its imaginary one."""
    X, Y = identity(n), fmpq_mat(n, n)
    for part, rows in ((X, block[:2]), (Y, block[2:])):
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                part[place + i, place + j] = value
    return exact.embedded(X, Y)
