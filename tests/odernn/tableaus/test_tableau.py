"""A tableau is exact, agrees with itself, and says which entry does not."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy
import pytest

from odernn import tableaus
from odernn.exact.algebraic import root_of, sqrt
from odernn.published.sources import Source
from odernn.tableaus.catalogue.explicit import EULER, KUTTA_3_8, RK4
from odernn.tableaus.catalogue.implicit import IMPLICIT_EULER, IMPLICIT_MIDPOINT
from odernn.tableaus.catalogue.symplectic import STOERMER_VERLET, SYMPLECTIC_EULER, SYMPLECTIC_EULER_VT
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau, Q, composed, subscript
from tests.processes import loaded_after

BOOK = Source("butcher2016", "p. 102")
NAMES = (
    "euler",
    "implicit euler",
    "implicit midpoint",
    "kutta 3/8",
    "rk4",
    "stoermer verlet",
    "symplectic euler tv",
    "symplectic euler vt",
)


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
    one = ButcherTableau(A, [0, 1], [0, "0.5"], name="midpoint", source=BOOK)
    other = ButcherTableau(same, ["0", Q(1)], name="midpoint", source=BOOK)
    assert one == other and hash(one) == hash(other)
    assert one.c == (Q(0), Q(1, 2))


def test_a_float_stands_for_the_exact_double_and_the_tableau_says_so():
    third = ButcherTableau([[0, 0], [1 / 3, 0]], [0, 1], [0, 1 / 3], "third")
    assert third.is_float and not third.is_exact
    assert third.A[1][0] == Q(6004799503160661, 2**54) != Q(1, 3)
    assert not ButcherTableau([[0, 0], ["1/3", 0]], [0, 1]).is_float


def test_text_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"Tableau .x.: b₁ is 'one', which is not an exact number: 'one' has"):
        ButcherTableau([[0]], ["one"], name="x")


def test_irrational_entries_are_exact_however_they_are_written():
    text = ButcherTableau([["1/4", "1/4-sqrt(3)/6"], ["1/4+sqrt(3)/6", 0.25]], ["1/2", "0.5"])
    numbers = [[Q(1, 4), Q(1, 4) - sqrt(3) / 6], [Q(1, 4) + sqrt(3) / 6, Q(1, 4)]]
    assert text.A == ButcherTableau(numbers, [Q(1, 2), Q(1, 2)]).A and text.is_float
    gamma = root_of([Q(-1, 6), Q(3, 2), -3, 1], 0.4358665)
    assert ((gamma,),) == ButcherTableau([["root(x^3-3*x^2+3/2*x-1/6, 0.4358665)"]], [1]).A


def test_numpy_arrays_are_tables_of_doubles_or_integers():
    floats = ButcherTableau(numpy.array([[0.0, 0.0], [0.5, 0.0]]), numpy.array([0.0, 1.0]), numpy.array([0, 0.5]))
    assert floats.is_float and ((0, 0), (Q(1, 2), 0)) == floats.A
    single = ButcherTableau(numpy.array([[0, 0], [0.1, 0]], dtype=numpy.float32), [0, 1])
    assert single.is_float and single.A[1][0] == Q(13421773, 2**27)
    assert not ButcherTableau(numpy.array([[0, 0], [1, 0]]), numpy.array([0, 1])).is_float


def test_row_sums_of_doubles_agree_to_rounding_and_no_further():
    thirds = [[0.1, 0.2], [1 / 3, 1 / 3]]
    assert sum(map(Fraction, thirds[0])) != Fraction(0.3)
    assert ButcherTableau(thirds, [0.5, 0.5], [0.3, 2 / 3]).is_consistent
    with pytest.raises(ValueError, match=r"row 2 of A sums to .* but c₂ = .*, not even to 1e-15"):
        ButcherTableau(thirds, [0.5, 0.5], [0.3, 2 / 3 + 1e-14])


def test_row_sums_of_printed_decimals_agree_to_the_last_digit():
    A, b = [["0.167", "0.167"], ["0.333", "0.333"]], ["0.5", "0.5"]
    table = ButcherTableau(A, b, ["0.333", "0.667"], digits=3)
    assert table.c == (Q(334, 1000), Q(666, 1000)) and not table.is_exact and not table.is_float
    with pytest.raises(ValueError, match=r"row 1 of A sums to 167/500 but c₁ = 331/1000, not even to 0\.002"):
        ButcherTableau(A, b, ["0.331", "0.667"], digits=3)
    with pytest.raises(ValueError, match="row 1 of A sums to 167/500 but c₁ = 333/1000"):
        ButcherTableau(A, b, ["0.333", "0.667"])
    assert ButcherTableau([[0]], ["0.999"], digits=3).is_consistent
    assert not ButcherTableau([[0]], ["0.998"], digits=3).is_consistent


def test_numbers_of_two_fields_are_put_into_one():
    table = ButcherTableau([["sqrt(2)", "sqrt(3)"], [0, "sqrt(6)"]], ["1/2", "1/2"], ["sqrt(2)+sqrt(3)", "sqrt(6)"])
    assert table.A[0][0] * table.A[0][1] == table.A[1][1]
    pair = PartitionedTableau(
        "p", None, ButcherTableau([["sqrt(2)"]], [1]), ButcherTableau([["sqrt(3)"]], [1], b_hat=["sqrt(5)"])
    )
    product = pair.position.A[0][0] * pair.momentum.A[0][0]
    assert product * product == 6 and pair.momentum.b_hat is not None and pair.momentum.b_hat[0] ** 2 == 5


@pytest.mark.parametrize(
    ("A", "b", "error", "message"),
    [
        ([[float("nan")]], [1], ValueError, r'Tableau "bad": row 1 of A, a₁₁ is nan, which is not a finite number'),
        ([[0, 0], [float("inf"), 0]], [1, 0], ValueError, r"row 2 of A, a₂₁ is inf, which is not a finite number"),
        ([[0]], [float("-inf")], ValueError, "b₁ is -inf"),
        ([["1/0"]], [1], ValueError, "row 1 of A, a₁₁ is '1/0', which is not an exact number: it divides by zero"),
        ([["2sqrt(3)"]], [1], ValueError, r"products need a \*, as in 2\*sqrt\(3\)\. Write it as '1/3'"),
        ([[True]], [1], TypeError, "row 1 of A, a₁₁ is True of type bool"),
        ([[None]], [1], TypeError, "row 1 of A, a₁₁ is None of type NoneType"),
        ([[1j]], [1], TypeError, "row 1 of A, a₁₁ is 1j of type complex"),
        ([0], [1], TypeError, "row 1 of A is 0, which is not a list of numbers"),
        ("0", [1], TypeError, "A is '0', which is not a list of numbers"),
        ([[0]], 1, TypeError, "b is 1, which is not a list of numbers"),
        (numpy.zeros((1, 1)), numpy.array(1.0), TypeError, "b is .* which is not a list"),
        (numpy.zeros((2, 3)), [1, 0], ValueError, "row 1 of A has 3 entries but b has 2; A must be 2 × 2"),
    ],
)
def test_what_is_no_table_of_numbers_is_named_with_its_row(A, b, error, message: str):
    with pytest.raises(error, match=message):
        ButcherTableau(A, b, name="bad")


def test_the_name_is_not_the_first_argument():
    with pytest.raises(TypeError, match=r"The order is ButcherTableau\(A, b, c, name\)"):
        ButcherTableau([[0]], [1], None, [0])  # type: ignore[arg-type]


def test_embedded_weights_are_a_method_of_their_own():
    heun = ButcherTableau([[0, 0], [1, 0]], ["1/2", "1/2"], name="heun", order=2, b_hat=[1, 0], order_hat=1)
    embedded = heun.embedded
    assert embedded is not None and embedded.A == heun.A and embedded.b == (1, 0)
    assert (embedded.order, embedded.name, embedded.embedded) == (1, "heun, embedded", None)
    assert EULER.embedded is None
    with pytest.raises(ValueError, match="b̂ has 1 entries but b has 2"):
        ButcherTableau([[0, 0], [1, 0]], ["1/2", "1/2"], b_hat=[1])


@pytest.mark.parametrize(
    ("name", "fsal", "stiffly_accurate", "singly"),
    [
        ("rk4", False, False, False),
        ("trapezoidal", True, True, True),
        ("tr-bdf2", True, True, True),
        ("implicit euler", False, True, True),
        ("radau iia 2", False, True, False),
        ("gauss 2", False, False, False),
        ("alexander 3", False, True, True),
        ("kvaerno 4", True, True, True),
        ("crouzeix 3", False, False, True),
        ("pareschi russo 332", False, True, False),
    ],
)
def test_fsal_stiff_accuracy_and_one_diagonal_entry(name: str, fsal: bool, stiffly_accurate: bool, singly: bool):
    table = tableaus.get(name)
    assert isinstance(table, ButcherTableau)
    assert (table.is_fsal, table.is_stiffly_accurate, table.is_singly_diagonally_implicit) == (
        fsal,
        stiffly_accurate,
        singly,
    )


def test_two_halves_of_explicit_euler_are_composed():
    twice = Composition(EULER, ["1/2", "1/2"], "twice")
    assert ((0, 0), (Q(1, 2), 0)) == twice.tableau.A and twice.tableau.b == (Q(1, 2), Q(1, 2))
    assert twice.stages == 2 and twice.is_consistent and twice.is_symmetric_sequence
    assert not Composition(EULER, ["1/2", "1/3"]).is_consistent
    with pytest.raises(ValueError, match='Composition "none": there are no steps to compose'):
        Composition(EULER, [], "none")


def test_a_composed_table_is_the_method_applied_step_by_step():
    """On y' = y: R(z) of the composition is the product of the R(γz). Oracle: the steps themselves, over Q."""
    for base in (RK4, KUTTA_3_8):
        gammas = [Q(1, 3), Q(-1, 2), Q(2, 5)]
        table = Composition(base, gammas, "c").tableau
        z, product = Q(3, 7), Q(1)
        for gamma in gammas:
            product *= explicit_growth(base, gamma * z)
        assert explicit_growth(table, z) == product != explicit_growth(table, z + 1)


def explicit_growth(table, z):
    """R(z) of an explicit method on y' = y."""
    slopes: list = []
    for entries in table.A:
        slopes.append(1 + z * sum((a * k for a, k in zip(entries, slopes, strict=False)), Q(0)))
    return 1 + z * sum((b * k for b, k in zip(table.b, slopes, strict=True)), Q(0))


def test_a_triple_jump_has_cube_roots_and_is_a_pair_if_the_base_is():
    jump = Composition(STOERMER_VERLET, ["1/(2-cbrt(2))", "-cbrt(2)/(2-cbrt(2))", "1/(2-cbrt(2))"], "yoshida")
    table = jump.tableau
    assert isinstance(table, PartitionedTableau) and table.stages == 6 and table.is_consistent and table.is_exact
    assert table.position.name == "yoshida, position" and sum(table.momentum.b, Q(0)) == 1
    assert composed([(EULER, 1), (SYMPLECTIC_EULER, "1/2")], "mixed").stages == 2


def test_a_composition_with_printed_decimals_is_not_exact():
    triple = Composition(IMPLICIT_MIDPOINT, ["1.3512", "-1.7024", "1.3512"], "rounded", digits=4)
    assert triple.is_consistent and triple.tableau.digits == 4 and not triple.tableau.is_exact
    assert not Composition(IMPLICIT_MIDPOINT, ["1.3512", "-1.7024", "1.3512"]).tableau.digits


def test_the_misprinted_last_row_of_rk42_is_found():
    rows = [[0, 0, 0, 0], [Q(1, 4), 0, 0, 0], [0, Q(1, 2), 0, 0]]
    b, c = [Q(1, 6), 0, Q(2, 3), Q(1, 6)], [0, Q(1, 4), Q(1, 2), 1]
    with pytest.raises(ValueError) as error:
        ButcherTableau([*rows, [1, -2, 1, 0]], b, c, name="rk42", source=BOOK)
    assert str(error.value) == (
        'Tableau "rk42": row 4 of A sums to 0 but c₄ = 1. Compare with the source: butcher2016, p. 102.'
    )
    assert ButcherTableau([*rows, [1, -2, 2, 0]], b, c, name="rk42", source=BOOK).stages == 4


@pytest.mark.parametrize(
    ("A", "b", "c", "message"),
    [
        ([], [], None, "b is empty"),
        ([[0]], [Q(1, 2), Q(1, 2)], None, "b has 2 entries but A is 1 × 1; b must have 1"),
        ([[0, 0], [1]], [Q(1, 2), Q(1, 2)], None, "row 2 of A has 1 entries but b has 2"),
        ([[0]], [1], [0, 0], "c has 2 entries but b has 1"),
    ],
)
def test_wrong_shapes_are_named(A, b, c, message: str):
    with pytest.raises(ValueError, match=message):
        ButcherTableau(A, b, c, name="bad", source=BOOK)


def test_an_inconsistent_method_is_reported_and_not_refused():
    assert not ButcherTableau([[0]], [Q(1, 2)], name="half", source=BOOK).is_consistent


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
    full = ButcherTableau([[Q(1, 4), Q(1, 4)], [Q(1, 2), Q(1, 2)]], [Q(1, 2), Q(1, 2)], name="full", source=BOOK)
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


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("nonsense", ()), ("heun", ("heun 3", "heun 2")), ("radua iia 3", ("radau iia 3",)), ("", ())],
)
def test_an_unknown_name_is_one_short_line_that_says_how_to_list_all(name, suggested):
    with pytest.raises(KeyError) as caught:
        tableaus.get(name)
    said = caught.value.args[0]
    assert len(said) < 240 and "\n" not in said and all(f'"{each}"' in said for each in suggested)
    assert ("Did you mean" in said) == bool(suggested)
    assert f"tableaus.names() has the {len(tableaus.names())} entries" in said and "odernn tableau --list" in said


def test_an_unknown_constant_is_one_short_line():
    with pytest.raises(AttributeError) as caught:
        _ = tableaus.GAUS_2
    assert '"GAUSS_2"' in str(caught.value) and len(str(caught.value)) < 160
    with pytest.raises(AttributeError, match=r"no constant ZZZ\. dir\(tableaus\) has all \d+\.$"):
        _ = tableaus.ZZZ


def test_subscripts_are_separated_only_where_needed():
    assert subscript(2, 1) == "₂₁" and subscript(1, 12) == "₁,₁₂"


def test_exact_algebra_imports_no_torch():
    code = (
        "from odernn import tableaus; from odernn.properties.symplecticity import symplecticity; "
        "assert symplecticity(tableaus.STOERMER_VERLET)"
    )
    assert loaded_after(code, ("torch", "sympy", "scipy", "numpy")) == []
