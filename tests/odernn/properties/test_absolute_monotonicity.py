"""R(A, b): published values; bisection on the definition; linear programs for Shu–Osher forms; refusals."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from odernn import tableaus
from odernn.exact.algebraic import sqrt
from odernn.exact.polynomials import RealRoot
from odernn.properties.absolute_monotonicity import (
    LARGEST,
    _becomes_negative,
    absolutely_monotonic,
    radius_bounds,
    radius_of_absolute_monotonicity,
)
from odernn.tableaus import families
from odernn.tableaus.methods import resolve
from odernn.tableaus.tableau import ButcherTableau, Q
from odernn.written.formulas import typeset

SINGLE = [name for name in tableaus.names() if isinstance(resolve(tableaus.get(name)), ButcherTableau)]

PUBLISHED = {
    # Gottlieb, Ketcheson, Shu, Strong Stability Preserving Runge–Kutta and Multistep Time Discretizations, 2011, and
    # for (s, 2) with s stages s − 1, (n², 3) n² − n, (10, 4) 6: Ketcheson 2008. Ferracina, Spijker 2008: sdirk 1 + √3.
    "ssp (3,3)": 1,
    "heun 2": 1,
    "ssp (3,2)": 2,
    "ssp (4,2)": 3,
    "ssp (4,3)": 2,
    "ssp (9,3)": 6,
    "ssp (10,4)": 6,
    "implicit midpoint": 2,
    "trapezoidal": 2,
    "euler": 1,
    "qin zhang": 4,
    "ssp sdirk 2 3": 1 + sqrt(3),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_radii_are_found_exactly(name: str) -> None:
    found = radius_of_absolute_monotonicity(tableaus.get(name))
    assert found.holds is True and found.exact and found.value == PUBLISHED[name]


@pytest.mark.parametrize(("name", "place"), [("heun 2", (3, 1)), ("lobatto iiia 2", (2,)), ("ssp (10,4)", (3, 1))])
def test_of_several_entries_that_turn_at_once_the_first_is_named(name: str, place: tuple[int, ...]) -> None:
    """And it is negative beyond R: the definition, asked there, names the same one first."""
    found = radius_of_absolute_monotonicity(tableaus.get(name))
    assert found.witness == place
    beyond = absolutely_monotonic(tableaus.get(name), Q(found.value) + Q(1, 100))
    assert beyond.holds is False and beyond.witness == place and beyond.margin < 0


def test_the_printed_digits_of_ssp_5_4_do_not_give_all_digits_of_its_radius() -> None:
    """1.508 is published. Entry (5, 1) of P has a triple root there: an error of 10⁻¹⁵ moves it by 10⁻⁵."""
    found = radius_of_absolute_monotonicity(tableaus.SSP_5_4)
    assert found.holds is None and not found.exact and found.witness == (5, 1)
    assert isinstance(found.value, RealRoot) and 1.508 < float(found.value) < 1.509


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("rk4", "a₃₁ = 0, but Σ a₃ₖaₖ₁ = 1/4"),
        ("gauss 2", "a₁₂ = 1/4 - 1/6*sqrt(3) < 0"),
        ("gauss 5", "a₁₂ ≈ -0.0195704 < 0"),
        ("dormand prince 5(4)", "< 0"),
        ("lobatto iiia 6", "< 0"),
    ],
)
def test_a_radius_of_zero_has_a_reason(name: str, because: str) -> None:
    found = radius_of_absolute_monotonicity(tableaus.get(name))
    assert found.holds is False and found.exact and found.value == 0 and because in found.because


def test_implicit_euler_has_no_bound() -> None:
    found = radius_of_absolute_monotonicity(tableaus.get("implicit euler"))
    assert found.value == "∞" and radius_bounds(tableaus.get("implicit euler")) == (LARGEST, None)


@pytest.mark.parametrize("name", SINGLE)
def test_bisection_on_the_definition_encloses_every_radius_of_the_catalogue(name: str) -> None:
    """Exact decisions at rational r by one inverse, against roots of polynomials."""
    method = tableaus.get(name)
    found = radius_of_absolute_monotonicity(method)
    low, high = radius_bounds(method, 30)
    if found.value == "∞":
        assert high is None
        return
    assert high is not None
    value = found.value
    lower, upper = (value.lower, value.upper) if isinstance(value, RealRoot) else (value, value)
    if isinstance(value, RealRoot):
        value = value.within(Q(1, 2**40))
        lower, upper = value.lower, value.upper
    assert lower <= high and low <= upper


def lower_triangular(draw: random.Random, s: int) -> ButcherTableau:
    A = [[Q(draw.randint(1, 9), draw.randint(1, 9)) if j <= i else Q(0) for j in range(s)] for i in range(s)]
    return ButcherTableau(A, [Q(draw.randint(1, 9), draw.randint(4, 20)) for _ in range(s)])


def shu_osher_is_possible(method: ButcherTableau, r: float) -> bool:
    """Whether an explicit method has a Shu–Osher form (I − α)K = β with α ≥ rβ ≥ 0 and rows of α with sum ≤ 1.

    Then every stage is a convex combination of Euler steps no longer than h/r; there is one if and only if r ≤ R(A, b):
    Ferracina, Spijker, SIAM J. Numer. Anal. 42 (2004); Higueras, ibid. 43 (2005).
    """
    s = method.stages + 1
    K = np.zeros((s, s))
    K[:-1, :-1] = [[float(a.p) / float(a.q) for a in row] for row in method.A]
    K[-1, :-1] = [float(x.p) / float(x.q) for x in method.b]
    for i in range(1, s):  # each row for itself: β_i = K_i − Σ_{j<i} α_ij K_j
        earlier = K[:i].T
        above = np.vstack([earlier, -np.eye(s)[:, :i] - r * earlier, np.ones((1, i))])
        right = np.concatenate([K[i], -r * K[i], [1.0]])
        found = linprog(np.zeros(i), A_ub=above, b_ub=right, bounds=(0, None), method="highs")
        assert found.status in (0, 2), found.message
        if found.status == 2:
            return False
    return True


@pytest.mark.parametrize("name", ["heun 2", "ssp (3,2)", "ssp (3,3)", "ssp (4,3)", "ssp (10,4)", "ralston 2"])
def test_a_shu_osher_form_exists_just_below_the_radius_and_not_above(name: str) -> None:
    """By linear programming. 10⁻³ is far above the solver's feasibility tolerance of 10⁻⁷."""
    method = tableaus.get(name)
    R = float(radius_of_absolute_monotonicity(method).value)
    assert shu_osher_is_possible(method, R * (1 - 1e-3)) and not shu_osher_is_possible(method, R * (1 + 1e-3))


@pytest.mark.parametrize("seed", range(8))
def test_random_methods_agree_with_bisection(seed: int) -> None:
    method = lower_triangular(random.Random(seed), 2 + seed % 3)
    value: Any = radius_of_absolute_monotonicity(method).value
    low, high = radius_bounds(method, 30)
    if value == "∞" or high is None:
        assert value == "∞" and high is None
    elif isinstance(value, RealRoot):
        value = value.within(Q(1, 2**40))
        assert value.lower <= high and low <= value.upper
    else:
        assert low <= value <= high


def test_the_definition_at_one_point() -> None:
    midpoint = tableaus.get("implicit midpoint")
    assert absolutely_monotonic(midpoint, 2)
    beyond = absolutely_monotonic(midpoint, "9/4")
    assert beyond.holds is False and beyond.witness == (2,)
    assert beyond.margin == (1 - Q(9, 8)) / (1 + Q(9, 8))  # w₂ is the stability function at −r
    assert absolutely_monotonic(ButcherTableau([[-1]], [1]), 1).because == "I + rA is singular"
    with pytest.raises(ValueError, match="Give a number ≥ 0"):
        absolutely_monotonic(midpoint, -1)
    with pytest.raises(ValueError, match="not written out"):
        absolutely_monotonic(families.gauss(6), 1)
    with pytest.raises(TypeError, match="partitioned"):
        radius_of_absolute_monotonicity(tableaus.get("stoermer verlet"))


def test_rounded_coefficients_say_no_only_for_all_numbers_meant() -> None:
    def midpoint(a: str) -> ButcherTableau:
        return ButcherTableau([[a, "0.5"], ["0.5", "0.5"]], ["0.5", "0.5"], digits=1)

    assert radius_of_absolute_monotonicity(midpoint("-0.5")).holds is False
    doubtful = radius_of_absolute_monotonicity(midpoint("-0.1"))
    assert doubtful.holds is None and not doubtful.exact and "rounded" in doubtful.because

    def path(a: str, digits: int) -> ButcherTableau:  # a₃₁ = 0, but a₃₂a₂₁ > 0 unless a₂₁ or a₃₂ may be 0
        return ButcherTableau([[0, 0, 0], [a, 0, 0], [0, a, 0]], ["0.5", "0.25", "0.25"], digits=digits)

    assert radius_of_absolute_monotonicity(path("0.10", 2)).holds is False
    assert radius_of_absolute_monotonicity(path("0.1", 1)).holds is None


def test_a_root_that_only_touches_zero_is_passed() -> None:
    """(1 − r)²(2 − r) is zero at 1 and negative only beyond 2; (1 − r)² never is."""
    found = _becomes_negative((Q(2), Q(-5), Q(4), Q(-1)))
    assert found is not None and found.lower <= 2 <= found.upper and found.lower > 1
    assert _becomes_negative((Q(1), Q(-2), Q(1))) is None


def test_a_root_of_higher_degree_is_isolated() -> None:
    """w₄ = R(−r) = 1 − r + r²/2 − r³/6 here, whose one real root is 1.596…"""
    third = ButcherTableau([[0, 0, 0], ["1/3", 0, 0], ["2/9", "4/9", 0]], ["1/4", "3/8", "3/8"])
    found = radius_of_absolute_monotonicity(third)
    low, high = radius_bounds(third)
    assert high is not None and float(low) <= float(found.value) <= float(high)


def test_the_table_in_the_document_is_current() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "tableaus.md").read_text(encoding="utf-8")
    section = text.partition("## Absolute monotonicity\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in section.splitlines() if line[:2] == "| "
    ]
    assert len(rows) > 20
    for name, value, *reason in rows[1:]:
        found = radius_of_absolute_monotonicity(tableaus.get(name))
        rounded = " (rounded)" if found.holds is None else ""
        assert value == typeset(str(found.value)) + rounded, name
        why = typeset(found.because).removeprefix("R = 0: ") if found.holds is False else ""
        assert "".join(reason).strip(" |") == why, name
