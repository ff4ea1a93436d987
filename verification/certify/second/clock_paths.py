"""Paths of a clock once more, in fractions and integers: pivots along the path in place of characteristic polynomials.

P_w has the diagonal 1 + 2w, 2, …, 2, 1 and −1 beside it. Elimination from the far end without exchanges has as many
negative pivots below a level as there are eigenvalues below it.
"""

from __future__ import annotations

from fractions import Fraction

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


def smallest_is(steps: int, value: Fraction) -> tuple[bool, str]:
    """No eigenvalue of P_1 below 2·value (1 − 10⁻⁹), one below 2·value (1 + 10⁻⁹), and of P_0 the one 0 below both."""
    levels = [2 * value * (1 + sign * Fraction(1, DIGITS)) for sign in (-1, 1)]
    free, priced = ([_below(steps, wrong, level)[0] for level in levels] for wrong in (0, 1))
    return not (free == [1, 1] and priced == [0, 1]), f"{priced[0]} eigenvalues of P_1 just below, {priced[1]} above"


def part_on_the_end(steps: int, share: int) -> tuple[bool, str]:
    """Every row of P_0 sums to 0; of the T + 1 equal entries of its kernel the last has one part of the square."""
    rows = [
        [(1 if i in (0, steps) else 2) if i == j else -int(abs(i - j) == 1) for j in range(steps + 1)]
        for i in range(steps + 1)
    ]
    ones = [1] * (steps + 1)
    part = Fraction(ones[-1] ** 2, sum(ones))
    return any(map(sum, rows)) or part != Fraction(share, steps + 1), f"{part} of the square"


def independent_terms(steps: int, more: int) -> tuple[bool, str]:
    """Only term l has an entry between l − 1 and l: the entries there are a matrix with one −1 a row and column."""
    table = [[-int(gate == place) for place in range(1, steps + 1)] for gate in range(1, steps + 1)]
    rank = sum(1 for row in table if any(row))
    return rank != steps + more, f"{rank} terms, each with places of its own"
