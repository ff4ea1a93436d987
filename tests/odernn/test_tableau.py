"""A tableau is exact, agrees with itself, and says which entry does not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest

from odernn import tableaus
from odernn.tableau import ButcherTableau, PartitionedTableau, Q, Source, subscript
from odernn.tableaus.explicit import EULER, KUTTA_3_8, RK4
from odernn.tableaus.implicit import IMPLICIT_EULER, IMPLICIT_MIDPOINT
from odernn.tableaus.symplectic import STOERMER_VERLET, SYMPLECTIC_EULER, SYMPLECTIC_EULER_VT

BOOK = Source("butcher2016", "p. 102")
NAMES = (
    "euler", "implicit euler", "implicit midpoint", "kutta 3/8", "rk4", "stoermer verlet",
    "symplectic euler tv", "symplectic euler vt",
)  # fmt: skip


def single(tableau: ButcherTableau | PartitionedTableau) -> list[ButcherTableau]:
    """The tables of which a method consists."""
    return [tableau] if isinstance(tableau, ButcherTableau) else [tableau.position, tableau.momentum]


def test_the_catalogue_has_the_methods_it_should():
    assert set(NAMES) <= set(tableaus.names())


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_consistent_and_declares_an_order(name: str):
    tableau = tableaus.get(name)
    assert tableau.is_consistent and tableau.order is not None
    for table in single(tableau):
        assert [sum(map(Fraction, map(str, row))) for row in table.A] == [Fraction(str(c)) for c in table.c]


def test_entries_of_every_kind_mean_the_same_number():
    A = [[0, 0], [Fraction(1, 2), 0]]
    same = [[0, "0"], ["1/2", Q(0)]]
    one = ButcherTableau("midpoint", BOOK, A, [0, 1], [0, "0.5"])
    other = ButcherTableau("midpoint", BOOK, same, ["0", Q(1)])
    assert one == other and hash(one) == hash(other)
    assert one.c == (Q(0), Q(1, 2))


def test_a_float_is_refused_because_it_is_already_rounded():
    with pytest.raises(TypeError, match=r'Tableau "third": a₂₁ is 0\.333.* exact string such as \'1/3\''):
        ButcherTableau("third", BOOK, [[0, 0], [1 / 3, 0]], [0, 1])


def test_text_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r'Tableau "x": b₁ is \'one\', which is not a rational number'):
        ButcherTableau("x", BOOK, [[0]], ["one"])


def test_the_misprinted_last_row_of_rk42_is_found():
    rows = [[0, 0, 0, 0], [Q(1, 4), 0, 0, 0], [0, Q(1, 2), 0, 0]]
    b, c = [Q(1, 6), 0, Q(2, 3), Q(1, 6)], [0, Q(1, 4), Q(1, 2), 1]
    with pytest.raises(ValueError) as error:
        ButcherTableau("rk42", BOOK, [*rows, [1, -2, 1, 0]], b, c)
    assert str(error.value) == (
        'Tableau "rk42": row 4 of A sums to 0 but c₄ = 1. Compare with the source: butcher2016, p. 102.'
    )
    assert ButcherTableau("rk42", BOOK, [*rows, [1, -2, 2, 0]], b, c).stages == 4


@pytest.mark.parametrize(
    ("A", "b", "c", "message"),
    [
        ([], [], None, "b is empty"),
        ([[0]], [Q(1, 2), Q(1, 2)], None, "A has 1 rows but b has 2 entries; A must be 2 × 2"),
        ([[0, 0], [1]], [Q(1, 2), Q(1, 2)], None, "row 2 of A has 1 entries but b has 2"),
        ([[0]], [1], [0, 0], "c has 2 entries but b has 1"),
    ],
)
def test_wrong_shapes_are_named(A, b, c, message: str):
    with pytest.raises(ValueError, match=message):
        ButcherTableau("bad", BOOK, A, b, c)


def test_an_inconsistent_method_is_reported_and_not_refused():
    assert not ButcherTableau("half", BOOK, [[0]], [Q(1, 2)]).is_consistent


def test_a_tableau_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        RK4.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("tableau", "explicit", "diagonal"),
    [
        (EULER, True, True),
        (KUTTA_3_8, True, True),
        (IMPLICIT_EULER, False, True),
        (IMPLICIT_MIDPOINT, False, True),
    ],
)
def test_explicit_and_diagonally_implicit_are_read_off_the_zeros(tableau, explicit: bool, diagonal: bool):
    assert (tableau.is_explicit, tableau.is_diagonally_implicit) == (explicit, diagonal)


def test_a_full_matrix_is_neither():
    full = ButcherTableau("full", BOOK, [[Q(1, 4), Q(1, 4)], [Q(1, 2), Q(1, 2)]], [Q(1, 2), Q(1, 2)])
    assert not full.is_explicit and not full.is_diagonally_implicit


def test_a_partitioned_pair_may_be_explicit_though_a_half_is_implicit():
    assert SYMPLECTIC_EULER.is_explicit and not SYMPLECTIC_EULER.momentum.is_explicit
    assert STOERMER_VERLET.is_explicit
    midpoint_pair = PartitionedTableau("pair", BOOK, IMPLICIT_MIDPOINT, IMPLICIT_MIDPOINT)
    assert not midpoint_pair.is_explicit


def test_the_stages_of_a_pair_come_after_what_they_need():
    order = STOERMER_VERLET.separable_order()
    assert order is not None and sorted(order) == [("y", 0), ("y", 1), ("z", 0), ("z", 1)]
    assert order.index(("z", 0)) > order.index(("y", 0)) and order[-1] == ("y", 1)


def test_a_pair_needs_equal_stage_counts():
    with pytest.raises(ValueError, match="position has 1 stages but momentum has 4"):
        PartitionedTableau("pair", BOOK, EULER, RK4)


def test_get_finds_by_name_and_suggests_the_nearest():
    assert tableaus.get("RK4") is RK4 is tableaus.RK4
    assert SYMPLECTIC_EULER is SYMPLECTIC_EULER_VT
    with pytest.raises(KeyError, match=r'No tableau is called "eulr"\. Did you mean "euler"'):
        tableaus.get("eulr")
    with pytest.raises(AttributeError, match="no constant RK5"):
        _ = tableaus.RK5


def test_subscripts_are_separated_only_where_needed():
    assert subscript(2, 1) == "₂₁" and subscript(1, 12) == "₁,₁₂"


def test_exact_algebra_imports_no_torch():
    code = (
        "import sys; from odernn import tableaus; from odernn.symplecticity import symplecticity; "
        "assert symplecticity(tableaus.STOERMER_VERLET); "
        "print(sorted({'torch', 'sympy', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
