"""Every entry of the catalogue is what it says, and tables that are known to be wrong are found to be.

``FACTS`` repeats by hand what the literature says of each method, so a wrong digit in an entry and a wrong fact here
both show as a disagreement with what is computed.
"""

from __future__ import annotations

import importlib
from fractions import Fraction
from functools import cache

import pytest
from flint import fmpq

from odernn import tableaus
from odernn.certificate import Certificate
from odernn.properties.order import embedded_order, order
from odernn.properties.stiff_accuracy import first_same_as_last
from odernn.properties.symplecticity import symplecticity
from odernn.published.sources import Source
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau, Q, composed
from tests.tiers import without

MODULES = ("explicit", "strong_stability_preserving", "embedded", "symplectic", "composition")

# name: (stages, order, embedded order, FSAL, symplectic)
FACTS: dict[str, tuple[int, int, int | None, bool, bool]] = {
    # explicit
    "euler": (1, 1, None, False, False),
    "explicit midpoint": (2, 2, None, False, False),
    "heun 2": (2, 2, None, False, False),
    "ralston 2": (2, 2, None, False, False),
    "runge 3": (4, 3, None, False, False),
    "heun 3": (3, 3, None, False, False),
    "kutta 3": (3, 3, None, False, False),
    "ralston 3": (3, 3, None, False, False),
    "rk31": (3, 3, None, False, False),
    "williamson 3": (3, 3, None, False, False),
    "rk4": (4, 4, None, False, False),
    "kutta 3/8": (4, 4, None, False, False),
    "rk42": (4, 4, None, False, False),
    "gill 4": (4, 4, None, False, False),
    "ralston 4": (4, 4, None, False, False),
    "kutta 5": (6, 5, None, False, False),
    "nystroem 5": (6, 5, None, False, False),
    "butcher 5": (6, 5, None, False, False),
    "butcher effective 5": (5, 4, None, False, False),
    "lawson 5": (6, 5, None, False, False),
    "cassity 5": (6, 5, None, False, False),
    "luther konen 5": (6, 5, None, False, False),
    "butcher 6": (7, 6, None, False, False),
    "butcher 6b": (7, 6, None, False, False),
    "luther 6": (7, 6, None, False, False),
    "butcher 7": (9, 7, None, False, False),
    "cooper verner 8": (11, 8, None, False, False),
    # strong stability preserving
    "ssp (3,2)": (3, 2, None, False, False),
    "ssp (4,2)": (4, 2, None, False, False),
    "ssp (3,3)": (3, 3, None, False, False),
    "ssp (4,3)": (4, 3, None, False, False),
    "ssp (9,3)": (9, 3, None, False, False),
    "ssp (5,4)": (5, 4, None, False, False),
    "ssp (10,4)": (10, 4, None, False, False),
    # embedded
    "heun euler 2(1)": (2, 2, 1, False, False),
    "fehlberg 1(2)": (3, 1, 2, True, False),
    "fehlberg 2(3)": (4, 2, 3, True, False),
    "fehlberg 3(4)": (5, 3, 4, True, False),
    "bogacki shampine 3(2)": (4, 3, 2, True, False),
    "sofroniou spaletta 3(2)": (4, 3, 2, True, False),
    "owren zennaro 3(2)": (4, 3, 2, True, False),
    "merson 4(3)": (5, 4, 3, False, False),
    "zonneveld 4(3)": (5, 4, 3, False, False),
    "sofroniou spaletta 4(3)": (5, 4, 3, True, False),
    "owren zennaro 4(3)": (6, 4, 3, True, False),
    "fehlberg 4(5) first": (6, 4, 5, False, False),
    "fehlberg 4(5)": (6, 4, 5, False, False),
    "england 4(5)": (6, 4, 5, False, False),
    "cash karp 5(4)": (6, 5, 4, False, False),
    "dormand prince 5(4)": (7, 5, 4, True, False),
    "higham hall 5(4)": (7, 5, 4, True, False),
    "tsitouras 5(4)": (7, 5, 4, True, False),
    "papakostas papageorgiou 5(4)": (7, 5, 4, True, False),
    "bogacki shampine 5(4)": (8, 5, 4, True, False),
    "owren zennaro 5(4)": (8, 5, 4, True, False),
    "fehlberg 5(6)": (8, 5, 6, False, False),
    "verner 6(5)": (8, 6, 5, False, False),
    "fehlberg 7(8)": (13, 7, 8, False, False),
    "dormand prince 8(7)": (13, 8, 7, False, False),
    "dop853": (12, 8, 3, False, False),
    # symplectic; a splitting with m kicks and drifts in all has m − 1 symplectic Euler steps
    "symplectic euler vt": (1, 1, None, False, True),
    "symplectic euler tv": (1, 1, None, False, True),
    "stoermer verlet": (2, 2, None, False, True),
    "stoermer verlet tvt": (2, 2, None, False, True),
    "lobatto iiia-iiib, order 4": (3, 4, None, False, True),
    "mclachlan atela 2": (3, 2, None, False, True),
    "ruth 3": (5, 3, None, False, True),
    "mclachlan atela 3": (5, 3, None, False, True),
    "forest ruth 4": (6, 4, None, False, True),
    "mclachlan 4": (10, 4, None, False, True),
    "pefrl 4": (8, 4, None, False, True),
    "blanes moan 4": (12, 4, None, False, True),
    "blanes moan 6": (20, 6, None, False, True),
    # compositions of Störmer–Verlet, which has two stages
    "yoshida 4": (6, 4, None, False, True),
    "suzuki 4": (10, 4, None, False, True),
    "mclachlan ss 4": (10, 4, None, False, True),
    "yoshida 6": (14, 6, None, False, True),
    "kahan li 6": (18, 6, None, False, True),
    "yoshida 8": (30, 8, None, False, True),
    "suzuki umeno 8": (30, 8, None, False, True),
    "kahan li 8": (34, 8, None, False, True),
}
ROUNDED = {
    "ssp (5,4)",
    "tsitouras 5(4)",
    "dormand prince 8(7)",
    "dop853",
    "mclachlan atela 3",
    "pefrl 4",
    "blanes moan 4",
    "blanes moan 6",
    "mclachlan ss 4",
    "yoshida 6",
    "kahan li 6",
    "yoshida 8",
    "suzuki umeno 8",
    "kahan li 8",
}


def entries_of(*modules: str) -> dict[str, ButcherTableau | PartitionedTableau | Composition]:
    found = [vars(importlib.import_module(f"odernn.tableaus.catalogue.{module}")).values() for module in modules]
    kinds = (ButcherTableau, PartitionedTableau, Composition)
    return {value.name: value for values in found for value in values if isinstance(value, kinds)}


def table(method):
    return method.tableau if isinstance(method, Composition) else method


def halves(method) -> list[ButcherTableau]:
    method = table(method)
    return [method] if isinstance(method, ButcherTableau) else [method.position, method.momentum]


def test_the_catalogue_is_as_large_as_it_was_asked_to_be():
    assert set(FACTS) == set(entries_of(*MODULES)) and len(FACTS) == 81
    assert set(FACTS) < set(tableaus.names()) and len(tableaus.names()) >= 100


@cache
def order_of(name: str) -> Certificate:
    """Two tests ask for it; of 15 composed steps it takes half a second."""
    return order(tableaus.get(name))


FIFTEEN_STEPS = ("kahan li 8", "yoshida 8")  # suzuki umeno 8 stays


@pytest.mark.parametrize("name", without(tableaus.names(), *FIFTEEN_STEPS))
def test_the_declared_order_is_the_computed_one(name: str):
    method = tableaus.get(name)
    certificate = order_of(name)
    assert certificate.value == method.order
    rounded = [half.digits for half in halves(method) if half.digits is not None]
    if rounded:
        size = max(1, *(abs(float(entry)) for half in halves(method) for entry in half.entries))
        assert certificate.holds is None
        assert certificate.margin <= method.stages * size * 10.0 ** -min(rounded)
    else:
        assert certificate.holds is True and certificate.exact


PAIRS = [name for name in tableaus.names() if getattr(tableaus.get(name), "b_hat", None) is not None]


@pytest.mark.parametrize("name", PAIRS)
def test_the_declared_order_of_the_embedded_method_is_the_computed_one(name: str):
    method = tableaus.get(name)
    assert method.order_hat is not None and embedded_order(method).value == method.order_hat


@pytest.mark.parametrize("name", tableaus.names())
def test_every_entry_names_its_source(name: str):
    source = tableaus.get(name).source
    assert source is not None and source.key.isalnum() and source.key == source.key.lower() and source.where.strip()


@pytest.mark.parametrize("name", tableaus.names())
def test_the_abscissae_are_the_row_sums_computed_another_way(name: str):
    for half in halves(tableaus.get(name)):
        if all(isinstance(entry, fmpq) for entry in half.entries):
            sums = [sum((Fraction(int(a.p), int(a.q)) for a in row), Fraction()) for row in half.A]
            assert sums == [Fraction(int(c.p), int(c.q)) for c in half.c]
        else:
            assert [sum(map(float, row)) for row in half.A] == pytest.approx(list(map(float, half.c)), abs=1e-13)


@pytest.mark.parametrize("name", without(FACTS, *FIFTEEN_STEPS))
def test_the_facts_typed_from_the_literature_are_the_computed_ones(name: str):
    method = tableaus.get(name)
    stages, p, p_hat, fsal, symplectic = FACTS[name]
    assert method.stages == stages and order_of(name).value == p
    assert (embedded_order(method).value if name in PAIRS else None) == p_hat
    assert bool(symplecticity(table(method))) == symplectic
    assert table(method).is_explicit == (name != "lobatto iiia-iiib, order 4")
    assert (not all(half.is_exact for half in halves(method))) == (name in ROUNDED)
    if isinstance(method, ButcherTableau):
        assert method.is_fsal == fsal == bool(first_same_as_last(method))


def test_how_many_facts_were_confirmed():
    """Stages, order, explicitness, exactness and symplecticity of each; the pairs' second order; FSAL of the tables."""
    tables = sum(isinstance(tableaus.get(name), ButcherTableau) for name in FACTS)
    pairs = sum(p_hat is not None for _, _, p_hat, _, _ in FACTS.values())
    assert (len(FACTS), tables, pairs, 5 * len(FACTS) + tables + pairs) == (81, 60, 26, 491)


PARTITIONED = [name for name in FACTS if not isinstance(tableaus.get(name), ButcherTableau)]


@pytest.mark.parametrize("name", PARTITIONED)
def test_a_partitioned_entry_has_its_order_on_separable_systems_as_well(name: str):
    """A splitting has an order on H = V + T iff its composition with the adjoint has it on all H. McLachlan 1995."""
    assert order(tableaus.get(name), separable=True).value == tableaus.get(name).order


@pytest.mark.parametrize("name", [name for name in FACTS if isinstance(tableaus.get(name), Composition)])
def test_a_composition_is_symmetric_and_consistent_and_raises_the_order_of_any_symmetric_base(name: str):
    method = tableaus.get(name)
    assert method.is_symmetric_sequence and method.is_consistent
    midpoint = Composition(tableaus.IMPLICIT_MIDPOINT, method.gammas, digits=method.digits)
    assert order(midpoint).value == method.order
    change = [Q(0)] * len(method.gammas)
    change[0] = change[-1] = Q(1, 10**6)
    change[len(change) // 2] = -Q(2, 10**6)
    changed = [gamma + by for gamma, by in zip(method.gammas, change, strict=True)]
    assert order(Composition(method.base, changed, digits=method.digits)).value == 2  # that of the base: Σγ³ ≠ 0


def test_the_triple_jump_is_forest_ruth_with_kicks_and_drifts_exchanged():
    """Both are exact in Q(∛2): the table of one is that of the other after the halves change places."""
    jump, ruth = tableaus.YOSHIDA_4.tableau, tableaus.FOREST_RUTH_4
    assert jump.stages == ruth.stages
    doubled = composed([(tableaus.STOERMER_VERLET_TVT, gamma) for gamma in tableaus.YOSHIDA_4.gammas], "forest ruth")
    for drift in (False, True):
        kinds = ("position", "momentum")
        assert getattr(doubled, kinds[drift]).A == getattr(jump, kinds[not drift]).A
    steps = [gamma * Q(1, 2) for gamma in tableaus.YOSHIDA_4.gammas for _ in range(2)]
    assert list(ruth.position.b) == steps == list(ruth.momentum.b)


def test_dop853_has_a_second_estimator_of_order_5():
    """The code prints it as differences to b, of which some have 27 decimals."""
    differences = {
        1: "0.01312004499419488073250102996",
        6: "-1.225156446376204440720569753",
        7: "-0.4957589496572501915214079952",
        8: "1.664377182454986536961530415",
        9: "-0.3503288487499736816886487290",
        10: "0.3341791187130174790297318841",
        11: "0.08192320648511571246570742613",
        12: "-0.02235530786388629525884427845",
    }
    weights = list(tableaus.DOP853.b)
    for stage, difference in differences.items():
        exact = Fraction(difference)
        weights[stage - 1] -= Q(exact.numerator, exact.denominator)
    assert order(ButcherTableau(tableaus.DOP853.A, weights, digits=26)).value == 5


# --- tables that are, or were, somewhere in use and are wrong

ELSEWHERE = Source("elsewhere", "a published table")
S3, S82 = "sqrt(3)", "sqrt(82)"


def false(A, b, digits: int | None = None) -> ButcherTableau:
    return ButcherTableau(A, b, name="false", source=ELSEWHERE, digits=digits)


def splitting(kicks: str, drifts: str, digits: int) -> PartitionedTableau:
    """Kick first, in turn, as many kicks as drifts or one more; the drifts are b and the kicks b̂."""
    V, T = kicks.split(), drifts.split()
    T += ["0"] * (len(V) - len(T))
    s = range(len(V))
    position = ButcherTableau([[T[j] if j < i else 0 for j in s] for i in s], T, name="drifts", digits=digits)
    momentum = ButcherTableau([[V[j] if j <= i else 0 for j in s] for i in s], V, name="kicks", digits=digits)
    return PartitionedTableau("false", ELSEWHERE, position, momentum)


RK42_MISPRINT = false(
    [[0, 0, 0, 0], [Q(1, 4), 0, 0, 0], [0, Q(1, 2), 0, 0], [1, -2, 1, 0]], [Q(1, 6), 0, Q(2, 3), Q(1, 6)]
)
LAMBERT_ROWS = [
    [0, 0, 0, 0, 0, 0],
    ["1/2", 0, 0, 0, 0, 0],
    ["1/8", "1/8", 0, 0, 0, 0],
    [0, 0, "1/2", 0, 0, 0],
    [0, "-3/16", "3/8", "9/16", 0, 0],
    ["1/7", "4/7", "6/7", "-12/7", "8/7", 0],
]
LAMBERT_WEIGHTS = ["7/90", 0, "16/45", "2/15", "16/45", "7/90"]
SS3 = tableaus.get("sofroniou spaletta 3(2)")
DP5 = tableaus.get("dormand prince 5(4)")

FALSE_TABLES = {
    # the last row of A, (1, −2, 2, 0) in Butcher 2016, p. 102
    "rk42 with a misprinted row": (RK42_MISPRINT, 4, 1),
    # the weights of the estimator continue the solution instead of the last row
    "tsitouras 5(4) with b̂ for b": (tableaus.TSITOURAS_5_4.embedded, 5, 4),
    "dormand prince 5(4) with b̂ for b": (DP5.embedded, 5, 4),
    # row 3 is (3/16, 1/16)
    "lambert 5 with a wrong row": (false(LAMBERT_ROWS, LAMBERT_WEIGHTS), 5, 2),
    # b and b̂ exchanged
    "sofroniou spaletta 3(2) exchanged": (false(SS3.A, SS3.b_hat), 3, 2),
    # 5103/18665 instead of 5103/18656: two digits exchanged
    "dormand prince 5(4) with two digits exchanged": (
        false([*DP5.A[:5], [*DP5.A[5][:4], "-5103/18665", 0, 0], DP5.A[6]], DP5.b), 5, 1,
    ),
    # the one to 14 decimals, read as if it were the one to 15
    "ssp (5,4) with the digits of another source": (
        false(
            [
                [0, 0, 0, 0, 0],
                ["0.39175222700392", 0, 0, 0, 0],
                ["0.21766909633821", "0.36841059262959", 0, 0, 0],
                ["0.08269208670950", "0.13995850206999", "0.25189177424738", 0, 0],
                ["0.06796628370320", "0.11503469844438", "0.20703489864929", "0.54497475021237", 0],
            ],
            ["0.14681187618661", "0.24848290924556", "0.10425883036650", "0.27443890091960", "0.22600748319395"],
            digits=14,
        ), 4, 0,
    ),
}  # fmt: skip

# Methods for y″ = g(y), of order 4 or 5 there; taken for splittings of any H = V + T.
NYSTROEM_TYPE = {
    "calvo sanz serna": (
        splitting(
            "0.061758858135626 0.33897802655364 0.61479130717558 -0.14054801465937 0.12501982279453",
            "0.205177661542290 0.403021281604210 -0.12092087633891 0.512721933192410",
            14,
        ),
        4,
        3,
    ),
    "mclachlan atela of order 4": (
        splitting(
            "0.134496199277431089 -0.224819803079420806 0.756320000515668291 0.334003603286321425",
            "0.515352837431122936 -0.085782019412973646 0.441583023616466524 0.128846158365384185",
            18,
        ),
        4,
        3,
    ),
    "mclachlan atela of order 5": (
        splitting(
            "0.1193900292875672758 0.6989273703824752308 -0.1713123582716007754 0.4012695022513534480"
            " 0.0107050818482359840 -0.0589796254980311632",
            "0.339839625839110000 -0.088601336903027329 0.5858564768259621188 -0.603039356536491888"
            " 0.3235807965546976394 0.4423637942197494587",
            16,
        ),
        5,
        3,
    ),
}


@pytest.mark.parametrize("name", FALSE_TABLES)
def test_a_false_table_has_its_true_order(name: str):
    method, declared, true = FALSE_TABLES[name]
    assert order(method).value == true < declared


@pytest.mark.parametrize("name", NYSTROEM_TYPE)
def test_a_method_for_second_order_equations_has_a_lower_order_on_separable_systems(name: str):
    method, declared, true = NYSTROEM_TYPE[name]
    certificate = order(method, separable=True)
    assert certificate.value == true < declared
    assert max(len(vertex.children) for vertex in vertices(certificate.witness.tree)) > 1


def vertices(tree):
    return [tree, *(vertex for child in tree.children for vertex in vertices(child))]


def test_the_corrected_rows_have_the_declared_order():
    assert order(false([*RK42_MISPRINT.A[:3], [1, -2, 2, 0]], RK42_MISPRINT.b)).value == 4
    lambert = [*LAMBERT_ROWS[:2], ["3/16", "1/16", 0, 0, 0, 0], *LAMBERT_ROWS[3:]]
    assert order(false(lambert, LAMBERT_WEIGHTS)).value == 5
    assert order(DP5).value == 5 and DP5.A[-1] == DP5.b


def test_gauss_with_equal_nodes_is_of_order_4_on_autonomous_equations_and_1_on_others():
    A = [["1/4", f"1/4 - {S3}/6"], [f"1/4 + {S3}/6", "1/4"]]
    b, misprint, c = ["1/2", "1/2"], [f"1/2 - {S3}/6"] * 2, [f"1/2 - {S3}/6", f"1/2 + {S3}/6"]
    assert order(false(A, b)).value == order(false(A, b), c=c).value == 4
    assert order(false(A, b), c=misprint).value == 1
    with pytest.raises(ValueError, match=r'Tableau "gl4": row 2 of A sums to .* but c₂ = .*elsewhere'):
        ButcherTableau(A, b, misprint, name="gl4", source=ELSEWHERE)


def test_the_misprinted_abscissa_of_rk42_is_refused():
    with pytest.raises(ValueError, match="row 4 of A sums to 0 but c₄ = 1"):
        ButcherTableau(RK42_MISPRINT.A, RK42_MISPRINT.b, [0, "1/4", "1/2", 1], name="rk42", source=ELSEWHERE)


@pytest.mark.parametrize("name", sorted(set(FACTS) - ROUNDED - set(PARTITIONED)))
def test_a_change_of_one_weight_by_1e_30_is_noticed(name: str):
    """The check that confirms the entries can fail: order 0 follows, for Σ b_i is no longer 1."""
    method = tableaus.get(name)
    changed = false(method.A, [method.b[0] + Q(1, 10**30), *method.b[1:]])
    assert order(changed).value == 0


def test_how_many_false_tables_were_tried():
    assert len(FALSE_TABLES) + len(NYSTROEM_TYPE) == 10


def test_a_splitting_whose_kicks_do_not_sum_to_the_drifts_is_refused():
    from odernn.tableaus.catalogue.symplectic import _splitting

    with pytest.raises(ValueError, match=r'Tableau "ruth": kicks and drifts have different sums.*elsewhere'):
        _splitting(
            name="ruth",
            source=ELSEWHERE,
            order=3,
            flows="VTVTVT",
            kicks=[Q(7, 24), Q(3, 4), Q(1, 24)],
            drifts=[Q(2, 3), -Q(2, 3), 1],
        )
