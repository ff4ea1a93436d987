"""R(z) at the numbers of Python and NumPy, beside 1 + z bᵀ(I − zA)⁻¹1 by numpy's solver."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from odernn import tableaus
from odernn.exact.algebraic import sqrt
from odernn.properties.stability_function import StabilityFunction, stability_function

METHODS = (
    "euler",
    "heun 3",
    "rk4",
    "dormand prince 5(4)",
    "implicit euler",
    "implicit midpoint",
    "trapezoidal",
    "gauss 3",
    "radau iia 3",
    "lobatto iiic 4",
    "gauss 8",
    "alexander 2",
)
UNIT = 2.0**-53
GRID = np.array([complex(x, y) for x in (-6.5, -2.25, -0.75, 0.0, 0.5, 1.75, 5.25) for y in (-3.5, 0.0, 0.125, 2.5)])


def typed(method, z):
    """The resolvent, and how far it may be off: of a backward stable solver, s³ u times the condition of I − zA."""
    table = method if hasattr(method, "A") else method.butcher() if method.stages <= 5 else method.rounded()
    A, b = np.array([[float(a) for a in row] for row in table.A]), np.array([float(w) for w in table.b])
    system, one = np.eye(len(b)) - z * A, np.ones(len(b))
    stages = np.linalg.solve(system, one)
    condition = np.linalg.cond(system, np.inf)
    size = np.abs(z) * np.abs(b).sum() * np.abs(stages).max()
    return 1 + z * (b @ stages), 4 * len(b) ** 3 * UNIT * (1 + condition * size)


def horner(R: StabilityFunction, z, value):
    """The error of P and Q by Horner's rule, and of their rounded coefficients, relative to both."""
    error = 0.0
    for side in (R.numerator, R.denominator):
        p = [float(fmpq(x)) if isinstance(x, fmpq) else float(x) for x in side]
        total = sum(abs(x) * abs(z) ** k for k, x in enumerate(p))
        error += 8 * len(p) * UNIT * total / abs(sum(x * z**k for k, x in enumerate(p)))
    return error * abs(value)


@pytest.mark.parametrize("name", METHODS)
def test_the_value_is_that_of_the_resolvent(name):
    method = tableaus.get(name)
    R = stability_function(method)
    values = R(GRID)
    assert values.dtype == np.complex128 and values.shape == GRID.shape
    compared = 0
    for z, value in zip(GRID, values, strict=True):
        expected, slack = typed(method, z)
        slack += horner(R, z, expected)
        assert abs(value - expected) <= slack < 1e-4 * max(1, abs(expected)), (z, value, expected)
        scalar = R(complex(z))
        assert type(scalar) is complex and abs(scalar - value) <= slack
        compared += 1
    assert compared == 28


@pytest.mark.parametrize("name", ["rk4", "gauss 3", "alexander 2"])
def test_a_wrong_weight_is_seen(name):
    """A planted fault: the comparison above fails for a coefficient that is off by 10⁻⁵."""
    method = tableaus.get(name)
    R = stability_function(method)
    wrong = StabilityFunction((*R.numerator[:-1], R.numerator[-1] + fmpq(1, 10**5)), R.denominator)
    z = complex(0.5, 2.5)
    expected, slack = typed(method, z)
    assert abs(wrong(z) - expected) > slack + horner(R, z, expected)


def test_the_answer_is_of_the_kind_of_the_question():
    R = stability_function(tableaus.get("implicit midpoint"))
    for exact in (fmpq(1, 2), Fraction(1, 2)):
        assert R(exact) == fmpq(5, 3) and isinstance(R(exact), fmpq)
    assert R(1) == 3 and isinstance(R(1), fmpq) and isinstance(R(np.int64(1)), fmpq)
    assert R(sqrt(2)) == (1 + sqrt(2) / 2) / (1 - sqrt(2) / 2)
    assert R(arb(1)).contains(arb(3))
    assert type(R(0.5)) is float and type(R(0.5j)) is complex
    assert type(R(np.float32(0.5))) is np.float64 and type(R(np.complex64(0.5))) is np.complex128
    assert R([[0.5, 1], [1j, 0]]).shape == (2, 2) and R(np.array(0.5)) == R(0.5)
    assert R(np.array([1, 4])).dtype == np.float64 and R(np.zeros((0, 3))).shape == (0, 3)
    objects = R(np.array([Fraction(1, 2), 1], dtype=object))
    assert list(objects) == [fmpq(5, 3), fmpq(3)]
    for wrong in ("1/2", None, np.array(["a"]), {}):
        with pytest.raises(TypeError, match=r"of type \w+\. Give an int"):
            R(wrong)


def test_irrational_coefficients_have_values_in_floats():
    """Coefficients in Q(√3), of a method with γ = 1/2 + √3/6."""
    R = stability_function(tableaus.get("crouzeix 2"))
    assert any(not isinstance(x, fmpq) for x in R.denominator)
    g = 0.5 + math.sqrt(3) / 6
    for z in (-1.5, 0.25, 2j):
        expected = (1 + (1 - 2 * g) * z + (0.5 - 2 * g + g * g) * z * z) / (1 - g * z) ** 2
        assert abs(R(z) - expected) <= 64 * UNIT * abs(expected)


def test_a_pole_is_inf_in_floats_and_an_error_exactly():
    R = stability_function(tableaus.get("implicit euler"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isinf(R(1.0)) and R(1 + 0j) == complex(math.inf, 0)
        assert list(np.isinf(R(np.array([1.0, 2.0])))) == [True, False]
        assert math.isnan(R(math.nan)) and np.isnan(R(complex(math.nan, 0)))
    with pytest.raises(ZeroDivisionError, match=r"R\(z\) = 1/\(1 - z\) has a pole at z = 1\."):
        R(1)


def test_far_away_the_value_is_the_limit():
    """Where powers of z overflow as well, and at ∞ itself."""
    ends = (1e300, -1e300, math.inf, -math.inf, 1e300j, complex(math.inf, 0), complex(0, -math.inf))
    for name, limit in (("implicit midpoint", -1), ("radau iia 3", 0), ("gauss 2", 1), ("lobatto iiia 3", 1)):
        assert all(abs(stability_function(tableaus.get(name))(z) - limit) < 1e-15 for z in ends), name
    explicit = stability_function(tableaus.get("heun 3"))
    assert all(np.isinf(explicit(z)) for z in ends)
    assert explicit(math.inf) == math.inf and explicit(-math.inf) == -math.inf
    assert abs(explicit(1e100) / (1e300 / 6) - 1) < 1e-14
