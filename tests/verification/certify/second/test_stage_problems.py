"""The second computation of nonlinear stability: methods and problems whose answers are in the books."""

from __future__ import annotations

import pytest

from verification.certify.second import stage_problems

GAUSS_1, TRAPEZOIDAL, EULER = ([["1/2"]], ["1"]), ([["0", "0"], ["0.5", "0.5"]], ["0.5", "0.5"]), ([["0"]], ["1"])
RADAU_IIA_2 = ([["5/12", "-1/12"], ["3/4", "1/4"]], ["3/4", "1/4"])
TWICE_GAUSS = ([["0.25", "0.25"], ["0.25", "0.25"]], ["0.5", "0.5"])
NEGATIVE_WEIGHT = ([["1", "0"], ["0", "-3"]], ["2", "-1"])


def decimals(method):
    A, b = method
    return [[_decimal(x) for x in row] for row in A], [_decimal(x) for x in b]


def _decimal(text):
    from mpmath import mp, mpf

    with mp.workdps(90):
        above, _, below = text.partition("/")
        return mp.nstr(mpf(above) / mpf(below or 1), 88)


@pytest.mark.parametrize(
    ("method", "stable"),
    [
        (GAUSS_1, True),
        (RADAU_IIA_2, True),
        (TWICE_GAUSS, True),
        (TRAPEZOIDAL, False),
        (EULER, False),
        (NEGATIVE_WEIGHT, False),
    ],
)
def test_the_form_is_semidefinite_for_algebraically_stable_methods(method, stable):
    assert stage_problems.has_nonnegative_form(*decimals(method)) == stable


def test_equal_stages_are_taken_together_and_others_are_not():
    """Two copies of the midpoint with the weights 2 and −1 are the midpoint; with 2 and −3 its weight is negative."""
    copies = [["1/2", "0"], ["1/2", "0"]]
    assert stage_problems.has_nonnegative_form(*decimals((copies, ["2", "-1"])))
    assert not stage_problems.has_nonnegative_form(*decimals((copies, ["2", "-3"])))
    assert not stage_problems.has_nonnegative_form(*decimals(([["1/2", "0"], ["1/2", "1/9"]], ["2", "-1"])))


def test_a_solution_grows_where_the_linear_problem_says_so():
    """Euler at λ = −3: |1 − 3| > 1; at −1 not; the trapezoidal rule with λ of its two ends: (1 + a/2)/(1 − b/2)."""
    A, b = decimals(EULER)
    assert stage_problems.grows(A, b, [["-3", "0"]], [["0"]])
    assert not stage_problems.grows(A, b, [["-1", "0"]], [["0"]])
    assert stage_problems.grows(A, b, [["0", "1"]], [["0"]])  # λ = i: |1 + i| > 1
    assert not stage_problems.grows(A, b, [["1", "0"]], [["0"]])  # Re λ > 0 is not admitted
    A, b = decimals(TRAPEZOIDAL)
    rates = [["-9", "0"], ["-1", "0"]]
    assert stage_problems.grows(A, b, rates, [["0"], ["1"]])
    assert not stage_problems.grows(A, b, rates, [["1"], ["1"]])  # λ is no function of c
    assert not stage_problems.grows(A, b, rates[::-1], [["0"], ["1"]])


def test_a_field_on_points_is_monotone_or_not():
    """One stage at x = x₀ + a g; slopes against the direction of the points are monotone, along it they are not."""
    A, _ = decimals(GAUSS_1)
    asked = {"positions": [["0"]], "slopes": [["1"]], "radius_squared": "1"}
    assert stage_problems.is_monotone(A, [["-1", "5"]], **asked)
    assert not stage_problems.is_monotone(A, [["1", "5"]], **asked)
    A = [["0", "0"], ["1", "0"]]
    moving = {"rates": [["-1", "0"], ["-1", "0"]], "radius_squared": "1"}
    falling = {"positions": [["0"], ["-3"]], "slopes": [["-3"], ["3"]]}
    assert stage_problems.is_monotone(A, **falling, **moving)
    rising = {"positions": [["0"], ["3"]], "slopes": [["3"], ["9"]]}
    assert not stage_problems.is_monotone(A, **rising, **moving)
    elsewhere = {"positions": [["0"], ["-2"]], "slopes": [["-3"], ["3"]]}
    assert not stage_problems.is_monotone(A, **elsewhere, **moving)
