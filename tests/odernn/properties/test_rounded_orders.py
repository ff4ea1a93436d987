"""Orders of methods that are known to some digits, of printed compositions, and what follows from orders."""

from __future__ import annotations

import random
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any

import pytest
from flint import fmpq

from odernn import tableaus
from odernn.exact.algebraic import enclosure, nearest_float
from odernn.exact.linear_algebra import dot
from odernn.properties.elementary_weights import ElementaryWeights
from odernn.properties.order import embedded_order, order
from odernn.properties.principal_error import principal_error
from odernn.properties.stage_spaces import BallSpace, StageSpace
from odernn.properties.stiff_accuracy import first_same_as_last, stiff_accuracy
from odernn.properties.trees import trees
from odernn.tableaus.families import FAMILIES, gauss, lobatto_pair, radau_iia
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau
from tests.processes import loaded_after
from tests.tiers import slow

RK4 = ButcherTableau([[0, 0, 0, 0], ["1/2", 0, 0, 0], [0, "1/2", 0, 0], [0, 0, 1, 0]], ["1/6", "1/3", "1/3", "1/6"])
DOPRI = ButcherTableau(
    [[0, 0, 0, 0, 0, 0, 0], ["1/5", 0, 0, 0, 0, 0, 0], ["3/40", "9/40", 0, 0, 0, 0, 0],
     ["44/45", "-56/15", "32/9", 0, 0, 0, 0], ["19372/6561", "-25360/2187", "64448/6561", "-212/729", 0, 0, 0],
     ["9017/3168", "-355/33", "46732/5247", "49/176", "-5103/18656", 0, 0],
     ["35/384", 0, "500/1113", "125/192", "-2187/6784", "11/84", 0]],
    ["35/384", 0, "500/1113", "125/192", "-2187/6784", "11/84", 0], name="dormand-prince",
    b_hat=["5179/57600", 0, "7571/16695", "393/640", "-92097/339200", "187/2100", "1/40"])  # fmt: skip
TSIT_B = [
    "0.09646076681806523",
    "0.01",
    "0.4798896504144996",
    "1.379008574103742",
    "-3.290069515436081",
    "2.324710524099774",
    0,
]
TSIT_ERROR = [
    "-0.00178001105222577714",
    "-0.0008164344596567469",
    "0.007880878010261995",
    "-0.1447110071732629",
    "0.5823571654525552",
    "-0.45808210592918697",
    "0.015151515151515152",
]
TSIT_A = [
    [0] * 7, ["0.161", *[0] * 6], ["-0.008480655492356989", "0.335480655492357", *[0] * 5],
    ["2.8971530571054935", "-6.359448489975075", "4.3622954328695815", *[0] * 4],
    ["5.325864828439257", "-11.748883564062828", "7.4955393428898365", "-0.09249506636175525", 0, 0, 0],
    ["5.86145544294642", "-12.92096931784711", "8.159367898576159", "-0.071584973281401",
     "-0.028269050394068383", 0, 0],
    TSIT_B,
]  # fmt: skip
VERLET = PartitionedTableau(
    "stoermer verlet",
    None,
    ButcherTableau([[0, 0], ["1/2", "1/2"]], ["1/2", "1/2"]),
    ButcherTableau([["1/2", 0], ["1/2", 0]], ["1/2", "1/2"]),
)
MIDPOINT = ButcherTableau([["1/2"]], [1])
EXACT = {"rk4": RK4, "dormand-prince": DOPRI, "gauss 3": gauss(3).butcher(), "radau iia 3": radau_iia(3).butcher()}


def decimal(value: Any, digits: int, rounding: str) -> str:
    """The decimal with so many places that is printed for a number."""
    with localcontext() as context:
        context.prec = digits + 40
        mid = Decimal(enclosure(value, 60 + 4 * digits).mid().str(digits + 20, radius=False))
        return str(mid.quantize(Decimal(1).scaleb(-digits), rounding=rounding))


def printed(method: ButcherTableau, digits: int, rounding: str = ROUND_HALF_EVEN) -> ButcherTableau:
    def text(entry: Any) -> Any:
        return 0 if entry == 0 else decimal(entry, digits, rounding)

    return ButcherTableau([list(map(text, row)) for row in method.A], list(map(text, method.b)), digits=digits)


@pytest.mark.parametrize("rounding", [ROUND_HALF_EVEN, ROUND_DOWN])
@pytest.mark.parametrize("name", EXACT)
def test_printed_digits_are_consistent_with_the_order_of_what_was_printed(name: str, rounding: str):
    exactly = order(EXACT[name]).value
    for digits in (2, 4, 8, 12, 16, 30, 60):
        found = order(printed(EXACT[name], digits, rounding))
        assert found.value >= exactly and (found.value == exactly or digits < 8)
        assert (found.holds, found.exact) == (None, False) and found.margin < 100 * 10.0**-digits
        assert f"consistent with order {found.value} to {digits} digits" in found.because


@pytest.mark.parametrize("name", EXACT)
def test_a_misprint_larger_than_the_digits_is_seen(name: str):
    table, rng = printed(EXACT[name], 16), random.Random(1)
    for _ in range(10):
        i, j = rng.randrange(table.stages), rng.randrange(table.stages)
        if table.A[i][j] == 0 or table.b[i] == 0:
            continue
        rows = [list(row) for row in table.A]
        rows[i][j] += fmpq(1, 10**9)
        wrong = ButcherTableau(rows, table.b, digits=16)
        meant = [list(row) for row in EXACT[name].A]
        meant[i][j] = meant[i][j] + fmpq(1, 10**9)
        assert order(wrong).value == order(ButcherTableau(meant, EXACT[name].b)).value < order(EXACT[name]).value


def test_tsitouras_has_order_five_and_with_the_embedded_weights_four():
    right = ButcherTableau(TSIT_A, TSIT_B, digits=15)
    weights = [b - e for b, e in zip(right.b, ButcherTableau([[0] * 7] * 7, TSIT_ERROR).b, strict=True)]
    wrong = ButcherTableau(TSIT_A, weights, digits=15)
    assert (order(right).value, order(wrong).value) == (5, 4)
    assert abs(nearest_float(order(wrong).witness.residual)) > 1e-5
    assert order(right, as_printed=True).value < 5 and order(right, as_printed=True).exact


def test_floats_have_their_own_order_and_the_one_that_is_meant():
    floats = ButcherTableau([list(map(nearest_float, row)) for row in RK4.A], [1 / 6, 1 / 3, 1 / 3, 1 / 6])
    found = order(floats)
    assert (found.value, found.holds, found.exact) == (4, None, False) and 0 < found.margin < 1e-16
    assert "to double precision; as given exactly of order" in found.because
    assert order(floats, as_printed=True).value < 4
    halves = ButcherTableau([[0.0, 0.0], [0.5, 0.0]], [0.0, 1.0])
    assert order(halves).value == order(halves, as_printed=True).value == 2


def test_many_stages_in_doubles_are_consistent_with_the_familys_order():
    for method in (gauss(6), gauss(8), FAMILIES["lobatto iiic"](6), lobatto_pair(4)):
        assert order(method.rounded()).value == method.order


def test_a_ball_holds_the_weights_of_every_method_within_the_digits():
    rng, unit = random.Random(2), fmpq(1, 10**6)
    table = printed(DOPRI, 6)
    weights = ElementaryWeights([""], [BallSpace(table.form, lambda a: enclosure(unit, 64), 256)])
    wanted = [tree for n in range(1, 7) for tree in trees(n)]
    for _ in range(5):
        moved = [[a + unit * fmpq(rng.randint(-9, 9), 9) if a != 0 else a for a in row] for row in (*table.A, table.b)]
        near = ButcherTableau(moved[:-1], moved[-1])
        exactly = ElementaryWeights([""], [StageSpace(near.form, lambda a: a)])
        assert all(weights(tree).contains(exactly(tree)) for tree in wanted)


# --- compositions: the decimals of Hairer, Lubich, Wanner 2006, Section V.3.2

YOSHIDA_6 = ["0.784513610477560", "0.235573213359357", "-1.17767998417887"]
SUZUKI_UMENO_8 = [
    "0.74167036435061295344822780",
    "-0.40910082580003159399730010",
    "0.19075471029623837995387626",
    "-0.57386247111608226665638773",
    "0.29906418130365592384446354",
    "0.33462491824529818378495798",
    "0.31529309239676659663205666",
    "-0.79688793935291635401978884",
]


@pytest.mark.parametrize(
    "base", [slow(VERLET), MIDPOINT, lobatto_pair(3).butcher()], ids=["verlet", "midpoint", "lobatto 3"]
)
def test_fifteen_steps_are_consistent_with_order_eight(base: Any):
    gammas = [*SUZUKI_UMENO_8, *SUZUKI_UMENO_8[-2::-1]]
    found = order(Composition(base, gammas, "suzuki-umeno 8", digits=26))
    assert (found.value, found.holds, found.exact) == (8, None, False) and found.margin < 1e-24


def test_seven_steps_are_consistent_with_order_six_and_a_changed_digit_is_not():
    middle = 1 - 2 * sum((fmpq(int(Decimal(g).scaleb(16)), 10**16) for g in YOSHIDA_6), fmpq(0))
    gammas = [*YOSHIDA_6, middle, *YOSHIDA_6[::-1]]
    found = order(Composition(VERLET, gammas, "yoshida 6", digits=14))
    assert found.value == 6 and "exactly of order 2" in found.because
    gammas[1] = gammas[-2] = "0.235573213369357"
    assert order(Composition(VERLET, gammas, "yoshida 6, misprinted", digits=14)).value < 2


# --- embedded methods, principal errors, last stages


def test_embedded_orders():
    assert (order(DOPRI).value, embedded_order(DOPRI).value, embedded_order(DOPRI).property) == (5, 4, "embedded order")
    with pytest.raises(ValueError, match="has no embedded method"):
        embedded_order(RK4)


def test_principal_errors_of_the_literature():
    heun = principal_error(ButcherTableau([[0, 0], [1, 0]], ["1/2", "1/2"])).value
    assert [(str(tree), error) for tree, error in heun.terms] == [("[τ,τ]", fmpq(1, 12)), ("[[τ]]", fmpq(-1, 6))]
    assert heun.norm_squared == fmpq(5, 144) and (heun.norm**2).contains(heun.norm_squared)
    assert abs(float(principal_error(RK4).value.norm.mid()) - 1.45e-2) < 5e-5
    assert abs(float(principal_error(DOPRI).value.norm.mid()) - 3.99e-4) < 5e-7  # Dormand, Prince 1980


@pytest.mark.parametrize("method", [RK4, DOPRI, gauss(2), radau_iia(2)], ids=["rk4", "dopri", "gauss", "radau"])
def test_the_tall_tree_is_the_error_on_the_linear_equation(method: Any):
    """y' = y: the coefficient of h^{p+1} in bᵀ(1 + hA + h²A² + …)1 h minus that of e^h."""
    error = principal_error(method).value
    u, factorial = method.form.one, 1
    for k in range(2, error.order + 1):
        u, factorial = method.form.apply(u), factorial * k
    assert error.terms[-1][1] == method.form.weigh(u) - fmpq(1, factorial)


def test_error_coefficients_are_not_computed_by_the_million():
    found = principal_error(gauss(10))
    assert found.holds is None and found.value is None and "trees of order 21" in found.because
    assert len(principal_error(gauss(6)).value.terms) == 12486


def test_last_stages():
    assert stiff_accuracy(DOPRI) and first_same_as_last(DOPRI)
    assert not stiff_accuracy(RK4) and stiff_accuracy(RK4).witness == (1, fmpq(-1, 6))
    expected = {"gauss": (0, 0), "radau iia": (1, 0), "radau ia": (0, 0), "lobatto iiia": (1, 1)}
    for family, (stiff, fsal) in {**expected, "lobatto iiic": (1, 0)}.items():
        for method in (FAMILIES[family](3), FAMILIES[family](3).butcher()):
            assert (bool(stiff_accuracy(method)), bool(first_same_as_last(method))) == (bool(stiff), bool(fsal))
    assert not first_same_as_last(ButcherTableau([[1]], [1])) and stiff_accuracy(ButcherTableau([[1]], [1]))


def test_differences_of_rows_change_nothing():
    """A composition's rows are continued; the space agrees with the plain products, transposed ones included."""
    method = Composition(RK4, ["1/3", "1/2", "1/6"], "three steps").tableau
    space, u = StageSpace(method.form, lambda a: a), tuple(fmpq(k, k + 1) for k in range(12))
    assert space.apply(u) == method.form.apply(u)
    assert space.pull_back(u) == tuple(dot(column, u) for column in zip(*method.A, strict=True))


def test_orders_are_decided_without_the_heavy_packages():
    code = (
        "from odernn.properties.order import order; from odernn.tableaus.families import gauss; "
        "assert order(gauss(6)).value == 12"
    )
    assert loaded_after(code, ("torch", "sympy", "scipy", "numpy")) == []


def test_triple_jump_in_doubles_is_consistent_with_order_4_and_says_that_it_is_rounded():
    gamma = 1 / (2 - 2 ** (1 / 3))
    jump = Composition(tableaus.STOERMER_VERLET, [gamma, 1 - 2 * gamma, gamma], "triple jump in doubles")
    found = order(jump)
    assert jump.is_float and jump.tableau.position.is_float
    assert found.holds is None and not found.exact and "consistent with order 4" in found.because
    off = Composition(tableaus.STOERMER_VERLET, [gamma + 1e-9, 1 - 2 * gamma - 1e-9, gamma], "a planted slip of 1e-9")
    assert "consistent with order 4" not in order(off).because
