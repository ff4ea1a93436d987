"""Symplecticity is decided exactly; the oracle is the area carried through one step over the rationals."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import pytest

from odernn import tableaus
from odernn.certificate import Certificate
from odernn.properties.symmetry import symplectic_conjugate
from odernn.properties.symplecticity import symplecticity
from odernn.published.sources import Source
from odernn.tableaus.catalogue.symplectic import STOERMER_VERLET
from odernn.tableaus.families import FAMILIES, PolynomialPair, gauss, lobatto_iiia, lobatto_iiib, lobatto_pair
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau, Q
from tests.odernn.properties.gauss_jordan import solve

NOWHERE = Source("none", "made up")
SYMPLECTIC = ("implicit midpoint", "stoermer verlet", "symplectic euler tv", "symplectic euler vt")
NOT_SYMPLECTIC = ("euler", "implicit euler", "kutta 3/8", "rk4")

Vector = list[Fraction]


def area_after_one_step(tableau: ButcherTableau | PartitionedTableau, coupling: Fraction) -> Fraction:
    """det of one step, h = 1/7, on y' = H_z, z' = −H_y with H = (3 y² + 2 coupling y z + 5 z²)/2."""
    pair = [tableau, tableau] if isinstance(tableau, ButcherTableau) else [tableau.position, tableau.momentum]
    A, A_hat = ([[Fraction(str(a)) for a in row] for row in table.A] for table in pair)
    b, b_hat = ([Fraction(str(a)) for a in table.b] for table in pair)
    s, h = len(b), Fraction(1, 7)
    f, g = (coupling, Fraction(5)), (Fraction(-3), -coupling)
    columns = []
    for start in ((1, 0), (0, 1)):
        system = [[Fraction(int(i == j)) for j in range(2 * s)] for i in range(2 * s)]
        for i in range(s):
            for j in range(s):
                for part in range(2):  # unknowns Y_1..Y_s, Z_1..Z_s
                    system[i][part * s + j] -= h * A[i][j] * f[part]
                    system[s + i][part * s + j] -= h * A_hat[i][j] * g[part]
        stages = solve(system, [Fraction(start[0])] * s + [Fraction(start[1])] * s)
        Y, Z = stages[:s], stages[s:]
        columns.append(
            (
                start[0] + h * sum(b[i] * (f[0] * Y[i] + f[1] * Z[i]) for i in range(s)),
                start[1] + h * sum(b_hat[i] * (g[0] * Y[i] + g[1] * Z[i]) for i in range(s)),
            )
        )
    return columns[0][0] * columns[1][1] - columns[0][1] * columns[1][0]


@pytest.mark.parametrize("name", SYMPLECTIC)
def test_these_methods_are_symplectic(name: str):
    certificate = symplecticity(tableaus.get(name))
    assert certificate.holds is True and certificate.exact and certificate.value == 0
    assert str(certificate) == "Certificate(symplectic: yes, exact, defect = 0)"


@pytest.mark.parametrize("name", NOT_SYMPLECTIC)
def test_these_methods_are_not_symplectic_and_an_entry_shows_it(name: str):
    tableau = tableaus.get(name)
    certificate = symplecticity(tableau)
    assert certificate.holds is False and not certificate and isinstance(tableau, ButcherTableau)
    i, j = (k - 1 for k in certificate.witness)
    b, A = tableau.b, tableau.A
    assert certificate.value == b[i] * A[i][j] + b[j] * A[j][i] - b[i] * b[j] != 0


@pytest.mark.parametrize("name", SYMPLECTIC + NOT_SYMPLECTIC)
def test_the_decision_agrees_with_area_in_the_plane(name: str):
    tableau = tableaus.get(name)
    areas = {area_after_one_step(tableau, coupling) for coupling in (Fraction(0), Fraction(1, 2))}
    assert (areas == {Fraction(1)}) == bool(symplecticity(tableau))


def test_every_entry_of_the_catalogue_is_in_one_of_the_two_lists():
    new = set(tableaus.names()) - set(SYMPLECTIC + NOT_SYMPLECTIC)
    assert all(symplecticity(tableaus.get(name)).holds is not None for name in new)


def test_the_explicit_euler_witness_is_printed_as_a_formula():
    assert str(symplecticity(tableaus.EULER)) == ("Certificate(symplectic: no, exact, b₁a₁₁ + b₁a₁₁ − b₁b₁ = -1)")


def test_a_planted_error_in_stoermer_verlet_is_found():
    good = tableaus.STOERMER_VERLET
    rows = [list(row) for row in good.momentum.A]
    rows[1] = [Q(1, 4), Q(1, 4)]
    bad = dataclasses.replace(good, momentum=ButcherTableau(rows, good.momentum.b, name="bad", source=NOWHERE))
    certificate = symplecticity(bad)
    assert certificate.holds is False and len(certificate.witness) == 2
    assert "â" in certificate.because


def test_different_weights_are_symplectic_on_separable_systems_only():
    position = ButcherTableau([[0, 0], [1, 0]], [1, 0], name="p", source=NOWHERE)
    momentum = ButcherTableau([[0, 0], [0, 0]], [0, 1], name="m", source=NOWHERE)
    # b_i â_ij + b̂_j a_ji − b_i b̂_j vanishes only at chosen places; complete the pair from the condition.
    rows = [[0, 1 - position.A[1][0]], [0, 0]]
    pair = PartitionedTableau("p", NOWHERE, position, ButcherTableau(rows, momentum.b, name="m", source=NOWHERE))
    certificate = symplecticity(pair)
    assert certificate.holds is False and certificate.witness == (1,)
    assert certificate.because.endswith("symplectic on separable systems only")
    assert area_after_one_step(pair, Fraction(0)) == 1 != area_after_one_step(pair, Fraction(1, 2))


def test_a_method_written_with_equal_stages_is_still_symplectic():
    doubled = ButcherTableau([["1/2", 0], [0, "1/2"]], ["1/3", "2/3"], name="doubled midpoint", source=NOWHERE)
    certificate = symplecticity(doubled)
    assert certificate.holds is True and certificate.because == "defect = 0 after merging equal stages"
    assert area_after_one_step(doubled, Fraction(1, 2)) == 1


def test_random_methods_are_not_symplectic_and_diagonally_symplectic_ones_are():
    generator = random.Random(5)
    for _ in range(20):
        b = [Q(generator.randint(1, 9), 10) for _ in range(3)]
        full = [[Q(generator.randint(-9, 9), 7) for _ in range(3)] for _ in range(3)]
        assert not symplecticity(ButcherTableau(full, b, name="random", source=NOWHERE))
        sdirk = [[b[j] / (2 if i == j else 1) if j <= i else Q(0) for j in range(3)] for i in range(3)]
        assert symplecticity(ButcherTableau(sdirk, b, name="composed midpoint", source=NOWHERE))


@pytest.mark.parametrize("s", [2, 3, 4, 6, 9])
def test_which_families_are_symplectic(s: int):
    symplectic = {name for name, family in FAMILIES.items() if symplecticity(family(s))}
    always = {"gauss", "lobatto iiid", "lobatto iiie", "lobatto iiig"}
    assert symplectic == (always | {"lobatto iiib"} if s == 2 else always)  # Lobatto IIIB 2 is the midpoint rule
    assert symplecticity(gauss(s)).because == "defect = 0"
    refused = symplecticity(lobatto_iiia(s))
    assert refused.holds is False and refused.value != 0 and len(refused.witness) == 2


@pytest.mark.parametrize("s", [2, 3, 4, 6, 9])
def test_lobatto_pairs_are_symplectic_in_this_order_and_in_the_other(s: int):
    pair = lobatto_pair(s)
    turned = PolynomialPair("turned", pair.momentum, pair.position, 2 * s - 2, pair.source)
    twice = PolynomialPair("twice", pair.position, pair.position, 2 * s - 2, pair.source)
    assert symplecticity(pair) and symplecticity(turned) and symplecticity(pair, separable=True)
    assert symplecticity(twice).holds is False


@pytest.mark.parametrize("s", [4, 6])
def test_a_pair_of_polynomials_with_a_planted_fault_is_refused(s: int):
    pair = lobatto_pair(s)
    form = pair.momentum.form
    rows = [list(row) for row in form.operator]
    rows[s - 1][0] += Q(1, 10**30)
    wrong = dataclasses.replace(pair.momentum, form=dataclasses.replace(form, operator=tuple(map(tuple, rows))))
    assert symplecticity(dataclasses.replace(pair, momentum=wrong)).holds is False


def test_the_symplectic_conjugate_completes_any_method():
    pair = PartitionedTableau("pair", None, lobatto_iiia(3).butcher(), lobatto_iiib(3).butcher())
    assert symplecticity(pair)
    rk4 = tableaus.get("rk4")
    assert isinstance(rk4, ButcherTableau)
    assert symplecticity(PartitionedTableau("pair", None, rk4, symplectic_conjugate(rk4)))


def test_a_composition_of_symplectic_steps_is_symplectic_whatever_the_steps():
    assert symplecticity(Composition(STOERMER_VERLET, ["1.3512", "-1.7024", "1.3512"], digits=4))
    assert symplecticity(Composition(STOERMER_VERLET, ["cbrt(2)", "sqrt(2)"]))
    assert symplecticity(Composition(tableaus.get("rk4"), ["1/2", "1/2"])).holds is False


def test_on_separable_systems_the_stages_of_either_half_may_be_equal_alone():
    position = ButcherTableau([[0, 0], ["1/2", "1/2"]], ["1/2", "1/2"])
    momentum = ButcherTableau([["1/3", 0], ["2/3", 0]], ["1/2", "1/2"])  # with 1/2, 1/2 this is Störmer–Verlet
    pair = PartitionedTableau("p", NOWHERE, position, momentum)
    assert symplecticity(pair).holds is False and symplecticity(pair, separable=True).holds is False
    # Only â₂₁ + â₂₂ and â₁₁ + â₁₂ matter if Y₁ = Y₂; here A = 0, so both positions are y₀.
    position = ButcherTableau([[0, 0], [0, 0]], ["1/2", "1/2"])
    rows = [["3/4", "1/4"], ["1/2", "1/2"]]
    kick = PartitionedTableau("p", NOWHERE, position, ButcherTableau(rows, ["1/2", "1/2"]))
    assert symplecticity(kick).because.endswith("defect = 0 after merging equal stages")
    unequal = PartitionedTableau("p", NOWHERE, position, ButcherTableau([["3/4", "1/4"], [1, 0]], ["1/3", "2/3"]))
    assert symplecticity(unequal, separable=True).holds is True
    assert symplecticity(unequal).holds is True  # Z₁ = Z₂ too
    for pair in (kick, unequal):
        assert area_after_one_step(pair, Fraction(0)) == 1


def test_the_verdict_on_separable_systems_agrees_with_area():
    generator = random.Random(6)
    verdicts = set()
    for _ in range(150):
        s = generator.randint(1, 2)
        halves = [
            ButcherTableau(
                [[Q(generator.choice((0, 1, 1)), s) for _ in range(s)] for _ in range(s)], [Q(1, s) for _ in range(s)]
            )
            for _ in range(2)
        ]
        pair = PartitionedTableau("p", NOWHERE, *halves)
        holds = bool(symplecticity(pair, separable=True))
        try:
            area = area_after_one_step(pair, Fraction(0))
        except StopIteration:
            continue
        if holds:
            assert area == 1
        elif s == 1:
            assert area != 1
        verdicts.add((holds, bool(symplecticity(pair))))
    assert {(True, True), (False, False)} <= verdicts


def test_rounded_coefficients_leave_a_small_defect_open():
    rounded = ButcherTableau([["0.333"]], ["0.667"], digits=3)
    assert symplecticity(rounded).holds is None and not symplecticity(rounded).exact
    assert abs(symplecticity(rounded).margin) < Q(1, 1000)
    assert symplecticity(ButcherTableau([["0.330"]], ["0.667"], digits=3)).holds is False
    assert symplecticity(ButcherTableau([[0.5]], [1.0]))
    assert symplecticity(ButcherTableau([[1 / 3]], [0.6666666666666667])).holds is None


def test_a_certificate_is_true_only_if_the_property_is_known_to_hold():
    undecided = Certificate("a-stable", None, False, None, "pivot in [-1e-9, 1e-9]", margin=1e-9)
    assert not undecided
    assert str(undecided) == ("Certificate(a-stable: undecided, not exact, pivot in [-1e-9, 1e-9], margin 1e-09)")
