"""What is said of rounded coefficients is never the opposite of what is true of the numbers meant."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import pytest

from odernn.certificate import Certificate
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.fact_sheet import facts
from odernn.properties.linear_stability import a_stability, i_stability, l_stability, limit_at_infinity
from odernn.properties.nonlinear_stability import an_stability, b_stability, bn_stability
from odernn.properties.stability_intervals import imaginary_stability_interval, real_stability_interval
from odernn.properties.stiff_accuracy import first_same_as_last, stiff_accuracy
from odernn.properties.symmetry import symmetry
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus import families
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau
from tests.tiers import only

DECISIONS = (
    a_stability,
    i_stability,
    l_stability,
    limit_at_infinity,
    imaginary_stability_interval,
    real_stability_interval,
    algebraic_stability,
    b_stability,
    bn_stability,
    an_stability,
    symplecticity,
    symmetry,
    stiff_accuracy,
    first_same_as_last,
)
METHODS = [
    (name, s)
    for name, first in (("gauss", 1), ("radau_iia", 1), ("lobatto_iiia", 2), ("lobatto_iiib", 2), ("lobatto_iiic", 2))
    for s in range(first, 6)
]
THIRDS = ([["1/3", "1/6"], ["7/10", "-1/5"]], ["1/4", "3/4"])
"""The implicit midpoint rule, written with two equal stages."""


def printed(table: Any, digits: int) -> ButcherTableau:
    """The coefficients as decimals with so many places."""

    def text(ball: Any) -> str:
        if ball.contains(0):
            return "0"
        with localcontext() as context:
            context.prec = 60
            return str(Decimal(ball.mid().str(50, radius=False)).quantize(Decimal(1).scaleb(-digits)))

    numbers = table.enclosures(256)
    return ButcherTableau([[text(a) for a in row] for row in numbers.A], [text(w) for w in numbers.b], digits=digits)


WRITE: dict[str, Callable[[Any], ButcherTableau]] = {
    "doubles": lambda table: table.rounded(),
    "16 digits": lambda table: printed(table, 16),
}


def agree(said: Certificate, true: Certificate) -> None:
    assert said.holds is None or true.holds is None or said.holds is true.holds, (said, true)
    assert not (said.exact and said.holds is not False), said
    if said.holds:
        assert said.because.endswith("for the coefficients as printed"), said


@pytest.mark.parametrize("way", only(WRITE, "doubles"))
@pytest.mark.parametrize(("name", "s"), METHODS)
def test_no_verdict_is_the_opposite_of_the_one_about_the_numbers_meant(name: str, s: int, way: str) -> None:
    method = getattr(families, name)(s)
    rounded = WRITE[way](method)
    assert not rounded.is_exact
    for decide in DECISIONS:
        agree(decide(rounded), decide(method))


@pytest.mark.parametrize(("name", "s"), [(name, s) for name, s in METHODS if s <= 3])
def test_no_fact_on_the_sheet_is_the_opposite_either(name: str, s: int) -> None:
    method = getattr(families, name)(s)
    true = {fact.property: fact for fact in facts(method)}
    for fact in facts(method.rounded()):
        other = true[fact.property]
        assert fact.holds is None or other.holds is None or fact.holds is other.holds, (fact, other)
        assert not (fact.exact and fact.holds is not False), fact


def thirds() -> list[ButcherTableau]:
    floats = ButcherTableau([[1 / 3, 1 / 6], [0.7, -0.2]], [0.25, 0.75])
    four = ButcherTableau([["0.3333", "0.1666"], ["0.7000", "-0.2000"]], ["0.2500", "0.7500"], digits=4)
    return [floats, four]


@pytest.mark.parametrize("table", thirds(), ids=["doubles", "4 digits"])
@pytest.mark.parametrize("decide", [b_stability, bn_stability, an_stability, symplecticity])
def test_stages_that_are_equal_within_the_roundings_may_be_equal(
    decide: Callable[[Any], Certificate], table: ButcherTableau
) -> None:
    assert decide(ButcherTableau(*THIRDS)).holds is True
    found = decide(table)
    assert found.holds is None and not found.exact and found.margin is not None
    assert "stages 1, 2 are equal within the roundings" in found.because


@pytest.mark.parametrize("table", thirds(), ids=["doubles", "4 digits"])
def test_such_stages_are_not_called_different(table: ButcherTableau) -> None:
    found = {fact.property: fact for fact in facts(table)}["HS-irreducible"]
    assert found.holds is None and "stages 1, 2 are equal within the roundings" in found.because


def test_clear_cases_stay_decided() -> None:
    wrong = ButcherTableau([[1 / 3, 1 / 6], [0.7, -0.3]], [0.25, 0.75])
    for decide in (b_stability, bn_stability, an_stability, symplecticity):
        found = decide(wrong)
        assert found.holds is False and found.exact
    assert b_stability(wrong).because.endswith("for the coefficients as printed")
    assert an_stability(wrong).because.endswith("for the coefficients as printed")
    merged = ButcherTableau([[1 / 3, 1 / 3], [0.7, 2 / 3 - 0.7]], [0.25, 0.75])  # c = 2/3 twice: merged, not symplectic
    assert symplecticity(merged).holds is False
    assert limit_at_infinity(ButcherTableau([[0.7]], [1.0])).holds is True
    assert limit_at_infinity(ButcherTableau([[0.3]], [1.0])).holds is False
    assert limit_at_infinity(families.gauss(4).rounded()).holds is None


def test_intervals_of_rounded_coefficients_are_those_of_the_numbers_given() -> None:
    found = imaginary_stability_interval(families.gauss(4).rounded())
    assert found.holds is None and not found.exact and found.because.endswith("for the coefficients as printed")


def test_the_last_row_is_compared_within_the_roundings() -> None:
    near = ButcherTableau([["0.3333", "0.1667"], ["0.2500", "0.7500"]], ["0.2501", "0.7500"], digits=4)
    assert stiff_accuracy(near).holds is None and stiff_accuracy(near).margin is not None
    far = ButcherTableau([["0.3333", "0.1667"], ["0.2500", "0.7500"]], ["0.2501", "0.7600"], digits=4)
    assert stiff_accuracy(far).holds is False and stiff_accuracy(far).witness[0] == 2
    explicit = ButcherTableau([["0", "0"], ["0.2500", "0.7500"]], ["0.2501", "0.7500"], digits=4)
    assert first_same_as_last(explicit).holds is None


def test_equal_stages_of_one_half_of_a_pair_are_compared_within_the_roundings() -> None:
    exact = ButcherTableau(*THIRDS)
    pair = PartitionedTableau("thirds", None, thirds()[0], thirds()[0])
    assert symplecticity(PartitionedTableau("thirds", None, exact, exact)).holds is True
    assert symplecticity(pair).holds is None and symplecticity(pair, separable=True).holds is None
