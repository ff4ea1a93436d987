"""Roundings typed twice: both back-ends enclose what exact rationals say, and a fault in either is noticed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import flint
import numpy as np
import pytest

from tests.tiers import without
from verification.certify import rounded
from verification.certify.second import rounding
from verification.certify.second.rounding import TANH_ERROR, tanh

BOTH = pytest.mark.parametrize("typed", [rounded, rounding], ids=["first", "second"])


def test_both_mean_the_same_machine():
    for name in ("U", "UP", "FLOOR"):
        assert getattr(rounded, name) == getattr(rounding, name)


def test_tanh_is_within_its_proved_error():
    rng = np.random.default_rng(0)
    arguments = np.concatenate(
        [
            rng.uniform(-25, 25, 4000),
            rng.uniform(-1, 1, 4000),
            10.0 ** rng.uniform(-300, 300, 200),
            [0.0, 1e300, -1e300],
        ]
    )
    values = tanh(arguments)
    with flint.ctx.workprec(200):
        errors = [
            float(abs(flint.arb(float(a)).tanh() - float(t)).upper()) for a, t in zip(arguments, values, strict=True)
        ]
    assert max(errors) <= TANH_ERROR
    assert max(errors) > TANH_ERROR / 16  # the proof is not idle


@BOTH
def test_a_bound_below_zero_is_refused(typed: ModuleType):
    assert (typed.above(np.array([0.0, 1.0])) > [0, 1]).all()
    with pytest.raises(ArithmeticError, match="a term of its formula is negative"):
        typed.above(np.array([1.0, -1e-300]))


# --- exact rationals as the oracle


def rational(matrix: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(value)) for value in row] for row in matrix]


def exact_product(left: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    columns = list(zip(*right, strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in left]


def moved(matrix: np.ndarray, radius: np.ndarray, sign: int) -> list[list[Fraction]]:
    """The corner of the box whose entries are largest (sign 1) or smallest (−1) in modulus; itself for 0."""
    own, room = rational(matrix), rational(radius)
    return [
        [x + sign * r * (1 if x >= 0 else -1) for x, r in zip(*rows, strict=True)]
        for rows in zip(own, room, strict=True)
    ]


def factors(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(A, its radius, B, its radius) whose product tells one term of the radius from nothing."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((5, 40)), rng.standard_normal((40, 3))
    none_A, none_B = np.zeros_like(A), np.zeros_like(B)
    match kind:
        case "both radii":
            return A, np.abs(A) * 1e-9, B, np.full(B.shape, 1e-10)
        case "left radius":
            return A, np.abs(A) * 1e-9, B, none_B
        case "right radius":
            return A, none_A, B, np.full(B.shape, 1e-10)
        case "wide":  # the product of the radii counts, and one corner of the box reaches the end
            return np.abs(A), np.ones_like(A), np.abs(B), np.ones_like(B)
        case "rounding":
            return A, none_A, B, none_B
    return A * 2.0**-600, none_A, B * 2.0**-600, none_B  # underflow


KINDS = ("both radii", "left radius", "right radius", "wide", "rounding", "underflow")


def product_encloses(product: Callable[..., tuple[np.ndarray, np.ndarray]], kind: str) -> bool:
    A, A_radius, B, B_radius = factors(kind)
    middle, radius = product(A, A_radius, B, B_radius)
    near, room = rational(middle), rational(radius)
    for sign_A in (1, 0, -1):
        for sign_B in (1, 0, -1):
            true = exact_product(moved(A, A_radius, sign_A), moved(B, B_radius, sign_B))
            for rows in zip(true, near, room, strict=True):
                if any(abs(t - m) > r for t, m, r in zip(*rows, strict=True)):
                    return False
    return True


def sum_is_bounded(above: Callable[[Any], Any]) -> bool:
    """Of 1 and 4,096 numbers that are too small to be seen one by one; and of a product that is flushed to 0."""
    total, small = np.array(1.0), 2.0**-54
    for _ in range(4096):
        total = total + small
    tiny = np.array(2.0**-600)
    exact_sum, exact_tiny = 1 + 4096 * Fraction(small), Fraction(float(tiny)) ** 2
    return Fraction(float(above(total))) >= exact_sum and Fraction(float(above(tiny * tiny))) >= exact_tiny


@BOTH
@pytest.mark.parametrize("kind", without(KINDS, "left radius", "right radius", "wide"))
def test_a_product_of_matrices_encloses_exact_rationals(typed: ModuleType, kind: str):
    assert product_encloses(typed.product, kind)


@BOTH
def test_a_bound_covers_its_own_roundings_and_underflows(typed: ModuleType):
    assert sum_is_bounded(typed.above)


def test_an_exact_factor_is_one_of_radius_zero():
    """Only the first back-end has the shorthand."""
    A, _, B, B_radius = factors("right radius")
    for given in (None, np.zeros_like(B)):
        short, long = rounded.product(A, None, B, given), rounding.product(A, np.zeros_like(A), B, np.zeros_like(B))
        assert all(np.array_equal(one, other) for one, other in zip(short, long, strict=True))
    assert np.allclose(rounded.product(A, None, B, B_radius)[1], rounding.product(A, 0 * A, B, B_radius)[1], rtol=1e-12)


FAULTS = [("U", 0.0, "rounding"), ("FLOOR", 0.0, "underflow"), ("above", lambda x: x * 0.999, "wide")]


@BOTH
@pytest.mark.parametrize(("name", "value", "kind"), FAULTS, ids=[name for name, *_ in FAULTS])
def test_a_fault_in_the_radius_is_noticed(typed: ModuleType, name: str, value: Any, kind: str, monkeypatch):
    monkeypatch.setattr(typed, name, value)
    other = rounding if typed is rounded else rounded
    assert not product_encloses(typed.product, kind) and product_encloses(other.product, kind)


@BOTH
@pytest.mark.parametrize(("name", "value"), [("UP", 1 + 2.0**-50), ("FLOOR", 0.0)])
def test_a_fault_in_the_room_of_a_bound_is_noticed(typed: ModuleType, name: str, value: float, monkeypatch):
    monkeypatch.setattr(typed, name, value)
    other = rounding if typed is rounded else rounded
    assert not sum_is_bounded(typed.above) and sum_is_bounded(other.above)


@BOTH
@pytest.mark.parametrize("forgotten", [1, 3], ids=["left", "right"])
def test_a_radius_that_is_forgotten_is_noticed(typed: ModuleType, forgotten: int):
    def faulty(*given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kept: tuple[np.ndarray, np.ndarray] = typed.product(
            *(0 * each if k == forgotten else each for k, each in enumerate(given))
        )
        return kept

    assert not product_encloses(faulty, "left radius" if forgotten == 1 else "right radius")
