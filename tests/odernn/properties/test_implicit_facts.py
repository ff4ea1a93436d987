"""What the literature says of the implicit entries, typed from it, against what is decided; every entry has its row.

``None`` where no statement is known to the writer. Hairer, Wanner 1996, Sections IV.3, IV.5, IV.6, IV.12; Jay 2015.
"""

from __future__ import annotations

import pytest

from odernn import tableaus
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.linear_stability import a_stability, l_stability
from odernn.properties.order import order
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus.catalogue import diagonally_implicit, implicit
from odernn.tableaus.tableau import ButcherTableau

YES, NO = True, False
# name: (stages, order, A-stable, L-stable, algebraically stable, symplectic)
FACTS: dict[str, tuple[int, int, bool | None, bool | None, bool | None, bool | None]] = {
    "implicit euler": (1, 1, YES, YES, YES, NO),
    "implicit midpoint": (1, 2, YES, NO, YES, YES),
    "trapezoidal": (2, 2, YES, NO, NO, NO),
    "gauss 2": (2, 4, YES, NO, YES, YES),
    "gauss 3": (3, 6, YES, NO, YES, YES),
    "radau i 2": (2, 3, NO, NO, NO, NO),
    "radau i 3": (3, 5, NO, NO, NO, NO),
    "radau ia 2": (2, 3, YES, YES, YES, NO),
    "radau ia 3": (3, 5, YES, YES, YES, NO),
    "radau ii 2": (2, 3, NO, NO, NO, NO),
    "radau ii 3": (3, 5, NO, NO, NO, NO),
    "radau iia 2": (2, 3, YES, YES, YES, NO),
    "radau iia 3": (3, 5, YES, YES, YES, NO),
    "lobatto iiia 2": (2, 2, YES, NO, NO, NO),
    "lobatto iiia 3": (3, 4, YES, NO, NO, NO),
    "lobatto iiia 4": (4, 6, YES, NO, NO, NO),
    "lobatto iiib 2": (2, 2, YES, NO, NO, None),  # merges to the midpoint rule
    "lobatto iiib 3": (3, 4, YES, NO, NO, NO),
    "lobatto iiib 4": (4, 6, YES, NO, NO, NO),
    "lobatto iiic 2": (2, 2, YES, YES, YES, NO),
    "lobatto iiic 3": (3, 4, YES, YES, YES, NO),
    "lobatto iiic 4": (4, 6, YES, YES, YES, NO),
    "lobatto iiic* 2": (2, 2, NO, NO, NO, NO),  # Heun's explicit method
    "lobatto iiic* 3": (3, 4, NO, NO, NO, NO),
    "lobatto iiid 2": (2, 2, YES, NO, YES, YES),
    "lobatto iiid 3": (3, 4, YES, NO, YES, YES),
    "crouzeix 2": (2, 3, YES, NO, YES, NO),
    "crouzeix 3": (3, 4, YES, NO, YES, NO),
    "ssp sdirk 2 3": (2, 3, NO, NO, NO, NO),  # γ = (3 − √3)/6, the other root: Crouzeix 2 with the sign changed
    "alexander 2": (2, 2, YES, YES, None, NO),
    "alexander 3": (3, 3, YES, YES, None, NO),
    "qin zhang": (2, 2, YES, NO, YES, YES),
    "sanz-serna abia 3": (3, 4, NO, NO, NO, YES),
    "pareschi russo 222": (2, 2, YES, YES, None, NO),
    "pareschi russo 332": (3, 2, YES, YES, None, NO),
    "ascher ruuth spiteri 443": (4, 3, YES, YES, None, NO),
    "norsett thomsen 1": (4, 3, YES, None, None, NO),
    "hairer wanner sdirk4": (5, 4, YES, YES, None, NO),
    "cash 5": (5, 4, None, None, None, None),  # printed to 11 digits: decided with their margin
    "tr-bdf2": (3, 2, YES, YES, None, NO),
    "trx2": (3, 2, YES, None, None, NO),
    "kvaerno 3": (4, 3, YES, YES, None, NO),
    "kvaerno 4": (5, 4, YES, YES, None, NO),
    "kennedy carpenter esdirk3": (4, 3, None, None, None, None),  # printed to 24 digits
    "kennedy carpenter esdirk4": (6, 4, YES, YES, None, NO),
}


def test_every_implicit_entry_has_its_row() -> None:
    entries = {
        value.name
        for module in (implicit, diagonally_implicit)
        for value in vars(module).values()
        if isinstance(value, ButcherTableau)
    }
    assert entries == set(FACTS)
    assert len(FACTS) == 45


@pytest.mark.parametrize("name", FACTS)
def test_what_the_literature_says_is_what_is_decided(name: str) -> None:
    entry = tableaus.get(name)
    stages, declared, *said = FACTS[name]
    assert isinstance(entry, ButcherTableau)
    assert (entry.stages, entry.order, order(entry).value) == (stages, declared, declared)
    decisions = (a_stability, l_stability, algebraic_stability, symplecticity)
    for decide, fact in zip(decisions, said, strict=True):
        if fact is not None:
            found = decide(entry)
            assert (found.holds, found.exact) == (fact, True), f"{decide.__name__}: {found}"


def test_the_facts_are_not_all_alike() -> None:
    """Each column has both answers, so no decision that always says the same could pass."""
    for column in zip(*(row[2:] for row in FACTS.values()), strict=True):
        assert {YES, NO} <= set(column)
