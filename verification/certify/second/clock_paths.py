"""Paths of a clock once more, in fractions and integers: pivots along the path in place of characteristic polynomials.

P_w has the diagonal 1 + 2w, 2, …, 2, 1 and −1 beside it. Elimination from the far end without exchanges has as many
negative pivots below a level as there are eigenvalues below it.
"""

from __future__ import annotations

from fractions import Fraction

from verification.certify.second.intervals import iv

DIGITS = 10**9
"""A closed form is told from other numbers by as much as its share of this."""


def _below(steps: int, wrong: int, level: Fraction) -> tuple[int, Fraction]:
    """(eigenvalues of P_w below ``level``, the last pivot)."""
    count, pivot = 0, Fraction(0)
    for l in range(steps, -1, -1):
        diagonal = (1 if l in (0, steps) else 2) + (2 * wrong if l == 0 else 0)
        pivot = diagonal - level - (1 / pivot if l < steps else 0)
        count += pivot < 0
    return count, pivot


def one_ground_state(steps: int) -> tuple[bool, str]:
    """At level 0 the pivots of P_w are 1, …, 1 and then 2w: 0 for w = 0 alone."""
    ends = [_below(steps, wrong, Fraction(0)) for wrong in (0, 1, 2, 3)]
    holds = ends == [(0, Fraction(2 * wrong)) for wrong in (0, 1, 2, 3)]
    return not holds, f"last pivots {', '.join(str(pivot) for _, pivot in ends)} for 0 to 3 wrong bits"


def smallest_is(steps: int, stretch: int) -> tuple[bool, str]:
    """No eigenvalue of P_1 below 2·gap (1 − 10⁻⁹), one below 2·gap (1 + 10⁻⁹), and of P_0 the one 0 below both.

    The gap is 1 − cos(π/(2(T+1))), times ``stretch``.
    """
    value = stretch * Fraction(float((1 - iv.cos(iv.pi / (2 * steps + 2))).mid))
    levels = [2 * value * (1 + sign * Fraction(1, DIGITS)) for sign in (-1, 1)]
    free, priced = ([_below(steps, wrong, level)[0] for level in levels] for wrong in (0, 1))
    return not (free == [1, 1] and priced == [0, 1]), f"{priced[0]} eigenvalues of P_1 just below, {priced[1]} above"


def _rows(steps: int) -> list[list[int]]:
    """P_0, row by row."""
    size = range(steps + 1)
    return [[(1 if i in (0, steps) else 2) if i == j else -int(abs(i - j) == 1) for j in size] for i in size]


def part_on_the_end(steps: int, share: int) -> tuple[bool, str]:
    """The kernel of P_0 by its rows, each giving the next entry from x_0 = 1; the last entry's part of the square."""
    rows, kernel = _rows(steps), [Fraction(1)]
    for l in range(steps):
        known = sum((rows[l][j] * x for j, x in enumerate(kernel)), Fraction(0))
        kernel.append(-known / rows[l][l + 1])
    left = sum((entry * x for entry, x in zip(rows[-1], kernel, strict=True)), Fraction(0))
    part = kernel[-1] ** 2 / sum(x * x for x in kernel)
    return left != 0 or part != Fraction(share, steps + 1), f"{part} of the square"


def independent_terms(steps: int, more: int) -> tuple[bool, str]:
    """The rank of the T terms |l⟩⟨l| + |l−1⟩⟨l−1| − |l⟩⟨l−1| − |l−1⟩⟨l|, as vectors, by elimination."""
    places = [(i, j) for i in range(steps + 1) for j in range(steps + 1)]
    terms = [
        [Fraction((i == j) - (i != j)) if {i, j} <= {l - 1, l} else Fraction(0) for i, j in places]
        for l in range(1, steps + 1)
    ]
    rank = 0
    for column in range(len(places)):
        pivot = next((row for row in terms[rank:] if row[column]), None)
        if pivot is None:
            continue
        terms.remove(pivot)
        terms = [
            row if k < rank else [x - row[column] / pivot[column] * y for x, y in zip(row, pivot, strict=True)]
            for k, row in enumerate(terms)
        ]
        terms.insert(rank, pivot)
        rank += 1
    return rank != steps + more, f"{rank} independent terms"
