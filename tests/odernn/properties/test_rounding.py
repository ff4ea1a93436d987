"""Tableaus in floating-point numbers: rounding against NumPy and torch, eigenvalues against balls, verdicts by hand."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from flint import arb, arb_mat, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from odernn import tableaus
from odernn.exact.algebraic import sqrt
from odernn.properties.algebraic_stability import burrage_butcher
from odernn.properties.facts_as_given import condition_residuals, facts_as_given
from odernn.properties.rounding import FORMATS, as_given, nearest, rounded
from odernn.properties.smallest_eigenvalue import smallest_eigenvalue
from odernn.tableaus import families
from odernn.tableaus.methods import in_stages
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Q
from verification.measure.catalogue_distance import distance, nearest_methods


def as_fraction(x: Any) -> Fraction:
    return Fraction(int(x.p), int(x.q))


# --- rounding ---------------------------------------------------------------------------------------------------

EDGES = [
    1.0,
    -0.1,
    2.0**-1074,
    2.0**-1022 * (1 - 2.0**-52),
    1 + 2.0**-24,
    1 + 3 * 2.0**-24,
    65519.0,
    2.0**-25,
    2.0**-24,
    1.5 * 2.0**-149,
    2.0**-150,
    3 * 2.0**-150,
    1 / 3,
    1e-40,
    6e-8,
    257.0,
    259.0,
]
"""Ties, the ends of the normal and of the subnormal numbers of the narrow formats."""


@pytest.mark.parametrize("x", EDGES)
def test_doubles_round_to_narrow_formats_as_numpy_and_torch_round_them(x: float) -> None:
    exact = fmpq(*x.as_integer_ratio())
    assert as_fraction(nearest(exact, "float64")) == Fraction(x)
    assert as_fraction(nearest(exact, "float32")) == Fraction(float(np.float32(x)))
    assert as_fraction(nearest(exact, "float16")) == Fraction(float(np.float16(x)))
    if float(np.float32(x)) == x:  # torch rounds doubles to bfloat16 by way of float32, twice
        assert as_fraction(nearest(exact, "bfloat16")) == Fraction(torch.tensor(x).to(torch.bfloat16).double().item())


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(-(10**30), 10**30), st.integers(1, 10**30))
def test_rationals_round_to_doubles_as_python_divides_integers(p: int, q: int) -> None:
    """Python's division of integers is correctly rounded, by an algorithm of its own."""
    assert as_fraction(nearest(fmpq(p, q), "float64")) == Fraction(p / q)


@pytest.mark.parametrize("d", [2, 3, 5, 1_000_003])
def test_square_roots_round_as_the_correctly_rounded_square_root(d: int) -> None:
    assert as_fraction(nearest(sqrt(d), "float64")) == Fraction(float(np.sqrt(np.float64(d))))
    assert as_fraction(nearest(-sqrt(d), "float32")) == Fraction(-float(np.sqrt(np.float32(d))))


def test_a_number_beyond_the_largest_is_refused_and_the_largest_is_not() -> None:
    assert nearest(fmpq(65504), "float16") == 65504
    with pytest.raises(ValueError, match="beyond the largest float16"):
        nearest(fmpq(65520), "float16")
    with pytest.raises(ValueError, match='No floating-point format is called "float8"'):
        rounded(tableaus.GAUSS_2, "float8")
    with pytest.raises(TypeError, match="has no coefficients to round"):
        rounded(tableaus.GAUSS_2.form, "float32")


@pytest.mark.parametrize("name", ["gauss 3", "gauss 5", "radau iia 4", "lobatto iiic 4", "lobatto iiid 6"])
def test_members_of_families_round_to_the_doubles_of_their_enclosures(name: str) -> None:
    exact = tableaus.get(name)
    doubles = (
        exact.rounded()
        if hasattr(exact, "rounded")
        else ButcherTableau(
            [[float(a) if not isinstance(a, fmpq) else int(a.p) / int(a.q) for a in row] for row in exact.A],
            [float(x) if not isinstance(x, fmpq) else int(x.p) / int(x.q) for x in exact.b],
        )
    )
    found = rounded(exact, "float64")
    assert found.A == doubles.A and found.b == doubles.b and found.is_exact


# --- the smallest eigenvalue ------------------------------------------------------------------------------------


def eigenvalue_by_balls(S: Any) -> Any:
    """λ_min by FLINT's certified eigenvalues of a complex matrix: no characteristic polynomial, no inertia."""
    from flint import acb_mat

    ctx.prec, before = 300, ctx.prec
    try:
        found = acb_mat(arb_mat([[arb(x) for x in row] for row in S])).eig(multiple=True)
        return min((value.real for value in found), key=lambda x: float(x.mid()))
    finally:
        ctx.prec = before


@pytest.mark.parametrize("seed", range(12))
def test_the_smallest_eigenvalue_holds_that_of_another_algorithm(seed: int) -> None:
    draw = random.Random(seed)
    s = 1 + seed % 5
    S = [[fmpq(0)] * s for _ in range(s)]
    for i, j in itertools.combinations_with_replacement(range(s), 2):
        S[i][j] = S[j][i] = fmpq(draw.randint(-99, 99), draw.randint(1, 99))
    for shift in (0, 500):  # indefinite, and positive definite
        T = [[x + shift if i == j else x for j, x in enumerate(row)] for i, row in enumerate(S)]
        found, other = smallest_eigenvalue(T), eigenvalue_by_balls(T)
        assert arb(found.lower) <= other.upper() and other.lower() <= arb(found.upper)
        assert found.upper - found.lower <= abs(found.upper) * fmpq(1, 2**38)


def test_zero_is_found_exactly_and_closed_forms_are_held() -> None:
    assert str(smallest_eigenvalue([[Q(1), Q(1)], [Q(1), Q(1)]])) == "0"
    assert str(smallest_eigenvalue([[Q(0)]])) == "0"
    golden = smallest_eigenvalue([[Q(1), Q(1)], [Q(1), Q(0)]])  # (1 − √5)/2
    assert golden.lower <= (1 - sqrt(5)) / 2 <= golden.upper
    irrational = smallest_eigenvalue([[sqrt(2), Q(0)], [Q(0), sqrt(2) / 2]])
    assert irrational.lower <= sqrt(2) / 2 <= irrational.upper


# --- verdicts ---------------------------------------------------------------------------------------------------


def test_gauss_2_in_float32_by_hand() -> None:
    """b and a_ii are dyadic, so M has the one entry ½ (a₁₂ + a₂₁) − ¼ off the diagonal and eigenvalues ± it."""
    found = facts_as_given(rounded(tableaus.GAUSS_2, "float32"))
    a12, a21 = (Fraction(float(np.float32(1 / 4 + sign * 3**0.5 / 6))) for sign in (-1, 1))
    off = (a12 + a21) / 2 - Fraction(1, 4)
    assert off != 0
    low = found.smallest_eigenvalue
    assert low is not None and as_fraction(low.lower) <= -abs(off) <= as_fraction(low.upper)
    assert found.algebraic_stability is not None and found.algebraic_stability.holds is False
    assert found.algebraic_stability.exact
    assert found.symplecticity.holds is False and abs(as_fraction(found.symplecticity.value)) == abs(off)
    missed = found.distance_to_semidefinite
    assert missed is not None and missed.lower == -low.upper > 0


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("name", ["implicit midpoint", "lobatto iiic 2", "qin zhang", "implicit euler"])
def test_dyadic_coefficients_lose_nothing(name: str, format: str) -> None:
    exact = tableaus.get(name)
    found = rounded(exact, format)
    assert (found.A, found.b) == (exact.A, exact.b) and distance(found, exact).is_equal
    assert facts_as_given(found).algebraic_stability


@pytest.mark.parametrize("format", ["float32", "float64"])
def test_compositions_of_symplectic_steps_stay_symplectic_and_lose_their_order(format: str) -> None:
    found = facts_as_given(rounded(tableaus.get("yoshida 4"), format))
    assert isinstance(found.method, PartitionedTableau) and found.algebraic_stability is None
    assert found.symplecticity.holds is True and found.symplecticity.value == 0
    assert found.order.value == 0 and found.residuals[0].residual == sum(found.method.position.b) - 1 != 0


@pytest.mark.parametrize("name", ["radau iia 3", "gauss 4", "lobatto iiid 3", "crouzeix 3"])
def test_the_verdict_agrees_with_the_sign_of_the_smallest_eigenvalue(name: str) -> None:
    for format in FORMATS:
        found = facts_as_given(rounded(tableaus.get(name), format))
        low, weight = found.smallest_eigenvalue, found.smallest_weight
        assert low is not None and found.algebraic_stability is not None
        assert found.algebraic_stability.holds is bool(low.lower >= 0 and weight >= 0)
        other = eigenvalue_by_balls(burrage_butcher(found.method))
        assert arb(low.lower) <= other.upper() and other.lower() <= arb(low.upper)


def test_a_negative_weight_is_what_decides_where_m_is_semidefinite() -> None:
    """b = (5/4, −1/4) with a_ii = b_i/2 and a₂₁ = b₁: M = 0, and no."""
    found = facts_as_given(ButcherTableau([["5/8", 0], ["5/4", "-1/8"]], ["5/4", "-1/4"]))
    assert found.smallest_weight == Q(-1, 4) and str(found.smallest_eigenvalue) == "0"
    assert found.algebraic_stability is not None and found.algebraic_stability.holds is False
    assert found.symplecticity.holds is True


def test_residuals_are_those_of_sums_over_stages() -> None:
    """Σ b, Σ b c, Σ b c² and Σ b A c, written out."""
    table = rounded(tableaus.get("radau iia 3"), "float32")
    A, b = table.A, table.b
    c = [sum(row) for row in A]
    three = (
        sum(x * y * y for x, y in zip(b, c, strict=True)) - Q(1, 3),
        sum(x * sum(a * y for a, y in zip(row, c, strict=True)) for x, row in zip(b, A, strict=True)) - Q(1, 6),
    )
    found = [failed.residual for failed in condition_residuals(table, 3)]
    assert found[:2] == [sum(b) - 1, sum(x * y for x, y in zip(b, c, strict=True)) - Q(1, 2)]
    assert found[2] in three and abs(found[2]) == max(map(abs, three))


def test_floats_are_taken_as_they_are_given() -> None:
    third = ButcherTableau([[0.5]], [0.1 * 10 - 1e-17])
    assert facts_as_given(third).algebraic_stability
    off = ButcherTableau([[0.5]], [1 + 2.0**-52])
    assert off.is_float and as_given(off).is_exact
    found = facts_as_given(off)
    assert found.algebraic_stability is not None and found.algebraic_stability.holds is False
    assert str(found.smallest_eigenvalue) == f"{1 + 2.0**-52 - (1 + 2.0**-52) ** 2:.6g}"  # 2 b a − b² = b − b²
    assert found.order.value == 0
    with pytest.raises(TypeError, match="no written coefficients"):
        as_given(families.gauss(7))


# --- the nearest method -----------------------------------------------------------------------------------------


def renumbered(table: Any, p: tuple[int, ...]) -> ButcherTableau:
    return ButcherTableau([[table.A[i][j] for j in p] for i in p], [table.b[i] for i in p], name="renumbered")


@pytest.mark.parametrize(
    "name", ["gauss 3", "radau iia 3", "lobatto iiic 4", "rk4", "ssp (3,3)", "crouzeix 3", "kutta 3"]
)
def test_every_numbering_finds_the_method_that_was_rounded(name: str) -> None:
    exact = in_stages(tableaus.get(name))
    p = tuple(reversed(range(exact.stages)))
    found = nearest_methods(renumbered(rounded(exact, "float32"), p))[0]
    assert found.name == name and tuple(found.renumbering) == p
    largest = max(abs(float(nearest(x, "float32") - x)) for x in (*(a for row in exact.A for a in row), *exact.b))
    assert float(found.distance.mid()) == pytest.approx(largest, rel=1e-12)  # of doubles that hold exact differences
    assert found.is_equal is (largest == 0)


def test_large_members_of_families_and_pairs_are_found() -> None:
    found = nearest_methods(rounded(families.gauss(7), "float32"), 2)
    assert found[0].name == "gauss 7" and 0 < float(found[0].distance.mid()) < 2.0**-25 < float(found[1].distance.mid())
    assert nearest_methods(rounded(tableaus.get("ruth 3"), "float64"))[0].name == "ruth 3"


def test_weights_alone_tell_stages_apart_and_small_balls_are_no_zeros() -> None:
    zeros = [[0, 0], [0, 0]]
    one, other = ButcherTableau(zeros, ["1/3", "2/3"]), ButcherTableau(zeros, ["2/3", "1/3"])
    found = distance(one, other)
    assert tuple(found.renumbering) == (1, 0) and found.is_equal and found.distance == 0
    near = distance(ButcherTableau(zeros, ["1/3", "3/4"]), other)
    assert near.renumbering == (1, 0) and near.distance.overlaps(arb(fmpq(1, 12))) and not near.is_equal
    assert not distance(families.gauss(7), families.gauss(7)).is_equal  # balls around 0: it cannot be told


def test_methods_of_different_shape_have_no_distance() -> None:
    with pytest.raises(ValueError, match="differ in the number of stages"):
        distance(tableaus.GAUSS_2, tableaus.RK4)
    with pytest.raises(ValueError, match="one of them is a pair"):
        distance(tableaus.GAUSS_2, tableaus.get("stoermer verlet"))
