"""Bounded powers, Sturm's theorem: matrices and polynomials of which the answer is known."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from verification.certify import power_bounded, sturm

F = Fraction


def rows(*values):
    return [[F(x) for x in row] for row in values]


KNOWN = [
    (rows((1, 0), (0, -1)), False),
    (rows((1, 1), (0, 1)), True),  # Jordan block at 1
    (rows((1, 1), (0, "1/2")), False),
    (rows((0, -1), (1, 0)), False),  # ±i
    (rows((0, -1, 1, 0), (1, 0, 0, 1), (0, 0, 0, -1), (0, 0, 1, 0)), True),  # Jordan blocks at ±i
    (rows(("3/5", "-4/5"), ("4/5", "3/5")), False),  # no root of unity
    (rows((2, 0), (0, "1/3")), True),
    (rows((0, 1, 0), (0, 0, 1), (1, -1, 1)), False),  # (x − 1)(x² + 1)
    (rows((0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (-1, 3, -3, 3)), True),  # a palindrome, one pair off
    (rows((0, 0), (0, 0)), False),
]


@pytest.mark.parametrize(("matrix", "unbounded"), KNOWN)
def test_known_matrices(matrix, unbounded):
    assert power_bounded.powers(matrix).violated == unbounded


@pytest.mark.parametrize(("matrix", "unbounded"), KNOWN)
def test_growth_is_never_shown_where_there_is_none(matrix, unbounded):
    assert unbounded or not power_bounded.grows(matrix).violated


def test_growth_is_shown_by_traces_and_by_jordan_blocks():
    assert power_bounded.grows(rows((2, 0), (0, "1/3"))).violated
    assert power_bounded.grows(rows((1, 1), (0, 1))).violated
    assert power_bounded.grows(rows((-1, 1), (0, -1))).violated


def test_random_matrices_agree_with_numpy():
    """Entries are halves of integers; radii nearer to 1 than 1e-6 are left out."""
    rng, compared = random.Random(1), 0
    for _ in range(300):
        size = rng.randint(1, 4)
        matrix = [[F(rng.randint(-2, 2), 2) for _ in range(size)] for _ in range(size)]
        radius = np.abs(np.linalg.eigvals(np.array(matrix, dtype=float))).max()
        if abs(radius - 1) > 1e-6:
            compared += 1
            assert power_bounded.powers(matrix).violated == (radius > 1)
            assert radius > 1 or not power_bounded.grows(matrix, 64).violated
    assert compared > 150


@pytest.mark.parametrize(
    ("polynomial", "low", "high", "count"),
    [
        ([-2, 0, 1], 0, 2, 1),
        ([-2, 0, 1], -2, 2, 2),
        ([0, 0, -4, 0, 1], 0, 2, 0),  # x²(x² − 4): roots at both ends
        ([0, 0, -4, 0, 1], -1, 3, 2),
        ([1, -2, 1], 0, 2, 1),  # a double root
        ([1, -2, 1], 1, 2, 0),
        ([1, 0, 1], -9, 9, 0),
        ([5], -1, 1, 0),
    ],
)
def test_roots_are_counted(polynomial, low, high, count):
    assert sturm.roots_between(polynomial, F(low), F(high)) == count


def test_random_products_of_linear_factors():
    rng = random.Random(2)
    for _ in range(200):
        roots = [F(rng.randint(-6, 6), rng.randint(1, 3)) for _ in range(rng.randint(1, 5))]
        polynomial = [F(rng.choice((-2, 1, 3)))]
        for root in roots:
            polynomial = sturm.times(polynomial, [-root, F(1)])
        low, high = sorted(rng.sample([F(k, 2) for k in range(-14, 15)], 2))
        assert sturm.roots_between(polynomial, low, high) == len({r for r in roots if low < r < high})


def test_wrong_questions_are_refused():
    with pytest.raises(ValueError, match="zero polynomial"):
        sturm.roots_between([0, 0], F(0), F(1))
    with pytest.raises(ValueError, match="is empty"):
        sturm.roots_between([1, 1], F(1), F(1))
