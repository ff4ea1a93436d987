"""An unrelated surd in the embedded weights puts A and b in a larger number field, and changes no decision."""

from __future__ import annotations

import pytest

from odernn import tableaus
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.linear_stability import a_stability, l_stability
from odernn.properties.nonlinear_stability import b_stability
from odernn.properties.order import order
from odernn.properties.reducibility import are_equivalent
from odernn.properties.symmetry import symmetry
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus.tableau import ButcherTableau

ENTRIES = ("gauss 2", "radau iia 3", "crouzeix 2", "tr-bdf2", "lobatto iiia 4")
DECISIONS = (order, a_stability, l_stability, algebraic_stability, b_stability, symplecticity, symmetry)


def in_a_larger_field(name: str) -> tuple[ButcherTableau, ButcherTableau]:
    """The entry, and the same A and b beside embedded weights that hold √7."""
    entry = tableaus.get(name)
    assert isinstance(entry, ButcherTableau)
    b_hat = ["sqrt(7)", "1-sqrt(7)", *["0"] * (entry.stages - 2)]
    return entry, ButcherTableau(entry.A, entry.b, name=f"{name} beside √7", b_hat=b_hat)


def test_the_larger_field_is_really_another_one() -> None:
    entry, larger = in_a_larger_field("gauss 2")
    assert entry.A[0][1].field is not larger.A[0][1].field
    assert float(entry.A[0][1]) == float(larger.A[0][1])


@pytest.mark.parametrize("name", ENTRIES)
def test_the_method_is_the_same_in_both_fields(name: str) -> None:
    entry, larger = in_a_larger_field(name)
    assert are_equivalent(entry, larger) and are_equivalent(larger, entry)
    slipped = [[a + (1 if (i, j) == (1, 0) else 0) for j, a in enumerate(row)] for i, row in enumerate(larger.A)]
    assert not are_equivalent(entry, ButcherTableau(slipped, larger.b, name="a planted slip"))


@pytest.mark.parametrize("name", ENTRIES)
def test_every_decision_is_the_same_in_both_fields(name: str) -> None:
    entry, larger = in_a_larger_field(name)
    for decide in DECISIONS:
        found, again = decide(entry), decide(larger)
        assert (found.holds, found.exact) == (again.holds, again.exact), decide.__name__
    assert order(entry).value == order(larger).value


def test_abscissae_of_another_field_are_the_same_clock() -> None:
    entry, larger = in_a_larger_field("gauss 2")
    clock = ["1/2-sqrt(3)/6", "1/2+sqrt(3)/6"]
    assert order(larger, c=clock).value == order(entry, c=clock).value == 4
    assert order(larger, c=["1/2-sqrt(3)/6", "1/2-sqrt(3)/6"]).value == 1  # both nodes equal: a misprint once shipped
