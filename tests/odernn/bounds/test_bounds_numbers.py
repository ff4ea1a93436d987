"""The two number namespaces of the bounds: each function against the standard library, on floats, arrays and balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import pytest

from odernn.bounds.numbers import BALLS, FLOATS

ONE: dict[str, tuple[Callable[[float], float], tuple[float, ...]]] = {
    "log": (math.log, (0.25, 3.0)),
    "exp": (math.exp, (-1.5, 0.75)),
    "expm1": (math.expm1, (-1.5, 2.0**-40, 0.75)),
    "sqrt": (math.sqrt, (0.5, 3.0)),
    "root_of_positive_part": (lambda x: math.sqrt(max(x, 0.0)), (-2.0, 0.0, 0.5, 3.0)),
    "asinh": (math.asinh, (-2.0, 0.125)),
    "cos": (math.cos, (-2.0, 0.125)),
    "tanh": (math.tanh, (-2.0, 0.125)),
    "absolute": (abs, (-2.0, 0.0, 0.125)),
}
TWO: dict[str, Callable[[float, float], float]] = {
    "maximum": max,
    "log_add_exp": lambda x, y: math.log(math.exp(x) + math.exp(y)),
}


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name: str) -> None:
    plain, points = ONE[name]
    expected = [plain(x) for x in points]
    assert getattr(FLOATS, name)(np.array(points)) == pytest.approx(expected, rel=1e-15)
    for x, value in zip(points, expected, strict=True):
        assert float(getattr(FLOATS, name)(x)) == pytest.approx(value, rel=1e-15)
        with flint.ctx.workprec(128):
            assert float(getattr(BALLS, name)(BALLS.exact(x)).mid()) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name: str) -> None:
    for x, y in ((0.5, -2.0), (-2.0, 0.5), (1.25, 1.5)):
        value = TWO[name](x, y)
        assert float(getattr(FLOATS, name)(x, y)) == pytest.approx(value, rel=1e-15)
        with flint.ctx.workprec(128):
            found = getattr(BALLS, name)(BALLS.exact(x), BALLS.exact(y))
            assert float(found.mid()) == pytest.approx(value, rel=1e-15)


def test_constants_are_exact_in_balls_and_nearest_in_floats() -> None:
    third = Fraction(1, 3)
    assert FLOATS.exact(third) == 1 / 3 and FLOATS.exact(7) == 7.0 and FLOATS.pi() == math.pi
    with flint.ctx.workprec(256):
        assert (BALLS.exact(third) * 3).contains(1) and BALLS.exact(third).rad() < 1e-70
        assert BALLS.exact(0.1) == flint.arb(0.1) and BALLS.exact(0.1).is_exact()
        assert BALLS.cos(BALLS.pi()).contains(-1) and 3 < float(BALLS.pi().mid()) < 4


def test_the_root_of_a_ball_that_contains_zero_is_that_of_its_part_above() -> None:
    """[−1/4, 1/16] → [0, 1/4]; all below zero → 0; no number at all → none."""
    found = BALLS.root_of_positive_part(flint.arb(-1 / 4).union(flint.arb(1 / 16)))
    assert float(found.lower()) == pytest.approx(0.0, abs=1e-8)
    assert 0.25 <= float(found.upper()) < 0.2501
    assert BALLS.root_of_positive_part(flint.arb(-1 / 4).union(flint.arb(-1 / 16))) == 0
    assert not BALLS.root_of_positive_part(flint.arb.nan()).is_finite()


@pytest.mark.parametrize("trace", [-3.5, -2.5, -2.0, -1.5, 0.0, 1.999, 2.0 + 2.0**-30, 2.5, 2.75, 40.0])
def test_the_growth_of_a_recursion_is_the_largest_eigenvalue_of_its_matrix(trace: float) -> None:
    """[[trace, −1], [1, 0]] has trace and determinant 1: eigenvalues on the unit circle for |trace| ≤ 2."""
    eigenvalues = np.linalg.eigvals(np.array([[trace, -1.0], [1.0, 0.0]]))
    assert float(FLOATS.growth(trace)) == pytest.approx(float(np.abs(eigenvalues).max()), rel=1e-7)
    assert FLOATS.growth(np.array([trace]))[0] == FLOATS.growth(trace)
    assert BALLS.growth(BALLS.exact(trace)) == 1  # nothing to scale: their exponents are unbounded
