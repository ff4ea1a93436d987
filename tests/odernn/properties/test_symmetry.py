"""Adjoint, transposed, conjugate and composed methods: theorems, and one step in Fractions as the oracle."""

from __future__ import annotations

import random

import pytest

from odernn import tableaus
from odernn.exact.polynomials import polynomial, scale_variable
from odernn.properties.reducibility import are_equivalent
from odernn.properties.stability_function import stability_function
from odernn.properties.symmetry import adjoint, composition, symmetry, symplectic_conjugate, transpose
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus.catalogue.explicit import EULER, RK4
from odernn.tableaus.catalogue.implicit import IMPLICIT_EULER, IMPLICIT_MIDPOINT
from odernn.tableaus.catalogue.symplectic import STOERMER_VERLET, SYMPLECTIC_EULER_TV, SYMPLECTIC_EULER_VT
from odernn.tableaus.families import (
    FAMILIES,
    PolynomialTableau,
    gauss,
    lobatto_iiia,
    lobatto_iiib,
    lobatto_iiic,
    lobatto_pair,
    radau_i,
    radau_ia,
    radau_ii,
    radau_iia,
)
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau, Q

TRAPEZOIDAL = ButcherTableau([[0, 0], ["1/2", "1/2"]], ["1/2", "1/2"], name="trapezoidal rule")
HALVES = ("1/2", "1/2")


def random_method(generator: random.Random, s: int) -> ButcherTableau:
    A = [[Q(generator.randint(-9, 9), 7) for _ in range(s)] for _ in range(s)]
    return ButcherTableau(A, [Q(generator.randint(1, 9), 7) for _ in range(s)], name="random", order=1)


def test_adjoint_of_explicit_euler_is_implicit_euler():
    assert (adjoint(EULER).A, adjoint(EULER).b) == (IMPLICIT_EULER.A, IMPLICIT_EULER.b)
    assert are_equivalent(adjoint(SYMPLECTIC_EULER_VT), SYMPLECTIC_EULER_TV)
    assert not are_equivalent(SYMPLECTIC_EULER_VT, SYMPLECTIC_EULER_TV)


def test_the_adjoint_of_the_adjoint_is_the_method():
    generator = random.Random(1)
    for _ in range(20):
        method = random_method(generator, generator.randint(1, 4))
        twice = adjoint(adjoint(method))
        assert (twice.A, twice.b, twice.order) == (method.A, method.b, None)
    for family in FAMILIES.values():
        assert are_equivalent(adjoint(adjoint(family(3))), family(3))
    pair = adjoint(adjoint(lobatto_pair(4)))
    assert are_equivalent(pair, lobatto_pair(4))


def test_the_adjoint_inverts_the_method_with_the_opposite_step():
    generator = random.Random(2)
    methods = [random_method(generator, generator.randint(1, 4)) for _ in range(20)]
    for method in (*methods, radau_iia(4), lobatto_iiic(5), RK4):
        R, mirrored = stability_function(method), stability_function(adjoint(method))
        top, bottom = (scale_variable(side, Q(-1)) for side in (R.denominator, R.numerator))  # 1/R(−z)
        assert (mirrored.numerator, mirrored.denominator) == (polynomial(top), polynomial(bottom))


@pytest.mark.parametrize("s", [2, 3, 4, 5, 8])
def test_which_families_are_symmetric_and_which_are_each_others_adjoints(s: int):
    symmetric = {name for name, family in FAMILIES.items() if symmetry(family(s))}
    assert symmetric == {"gauss", *(f"lobatto iii{letter}" for letter in "abdefg")}
    assert are_equivalent(adjoint(radau_i(s)), radau_iia(s)) and are_equivalent(adjoint(radau_ia(s)), radau_ii(s))
    assert not are_equivalent(adjoint(radau_ia(s)), radau_iia(s))
    assert are_equivalent(adjoint(lobatto_iiic(s)), FAMILIES["lobatto iiic*"](s))
    assert symmetry(lobatto_pair(s))


def test_a_symmetry_shows_which_stages_are_partners():
    certificate = symmetry(gauss(3))
    assert certificate.witness == (3, 2, 1) and certificate.because.startswith("a_ij + a_σ(i)σ(j) = b_j")
    A = gauss(2).butcher().A
    shuffled = ButcherTableau([A[1][::-1], A[0][::-1]], ["1/2", "1/2"])
    assert symmetry(shuffled).witness == (2, 1)
    assert symmetry(IMPLICIT_MIDPOINT).witness == (1,)
    assert symmetry(TRAPEZOIDAL) and not symmetry(EULER) and symmetry(EULER).witness == (1,)


def test_a_symmetric_method_in_any_order_of_stages_with_equal_and_unused_ones_is_still_symmetric():
    generator = random.Random(3)
    for _ in range(20):
        half = random_method(generator, generator.randint(1, 2))
        good = composition(half, adjoint(half), HALVES)
        order = generator.sample(range(good.stages), good.stages)
        A = [[good.A[i][j] for j in order] for i in order]
        b = [good.b[i] for i in order]
        assert symmetry(ButcherTableau(A, b))
        unused = ButcherTableau([*[[*row, 0] for row in A], [Q(1, 3)] * (len(b) + 1)], [*b, 0])
        assert symmetry(unused).holds is True
        assert symmetry(unused).because == "adjoint = method after merging equal stages" or symmetry(unused).witness
        A[0][0] += Q(1, 10**30)
        assert symmetry(ButcherTableau(A, b)).holds is False
    assert symmetry(lobatto_iiib(2)).because == "adjoint = method after merging equal stages"


def test_no_explicit_method_of_the_catalogue_is_symmetric():
    found = [t for t in map(tableaus.get, tableaus.names()) if isinstance(t, ButcherTableau) and t.is_explicit]
    assert len(found) >= 2 and all(symmetry(t).holds is False for t in found)


def test_compositions_of_euler_steps():
    forward, backward = EULER, IMPLICIT_EULER
    assert are_equivalent(composition(backward, forward, HALVES), IMPLICIT_MIDPOINT)
    assert are_equivalent(composition(forward, backward, HALVES), TRAPEZOIDAL)
    assert not are_equivalent(composition(forward, backward, HALVES), IMPLICIT_MIDPOINT)
    kick_first = composition(SYMPLECTIC_EULER_VT, SYMPLECTIC_EULER_TV, HALVES)
    drift_first = composition(SYMPLECTIC_EULER_TV, SYMPLECTIC_EULER_VT, HALVES)
    assert symmetry(kick_first) and symmetry(drift_first) and not are_equivalent(kick_first, drift_first)
    assert are_equivalent(kick_first, STOERMER_VERLET)
    assert composition(EULER, RK4, ("1/3", "2/3")).name == "euler, then rk4"


def test_the_stability_function_of_a_composition_is_the_product():
    both = composition(RK4, IMPLICIT_MIDPOINT, ("1/3", "2/3"))
    for z in (Q(1, 2), Q(-3, 7)):
        expected = stability_function(RK4)(z / 3) * stability_function(IMPLICIT_MIDPOINT)(2 * z / 3)
        assert stability_function(both)(z) == expected


@pytest.mark.parametrize("s", [2, 3, 4, 7])
def test_symplectic_conjugates_are_the_partners_that_make_a_symplectic_pair(s: int):
    assert are_equivalent(symplectic_conjugate(lobatto_iiia(s)), lobatto_iiib(s))
    assert are_equivalent(symplectic_conjugate(radau_i(s)), radau_ia(s))
    assert are_equivalent(symplectic_conjugate(gauss(s)), gauss(s))
    assert (
        isinstance(symplectic_conjugate(gauss(s)), PolynomialTableau) and symplectic_conjugate(gauss(s)).order is None
    )


def test_conjugates_and_transposes_of_random_methods():
    generator = random.Random(4)
    for _ in range(20):
        method = random_method(generator, generator.randint(1, 4))
        other = symplectic_conjugate(method)
        pair = PartitionedTableau("pair", None, method, other)
        assert symplecticity(pair) and are_equivalent(symplectic_conjugate(other), method)
        flipped = transpose(method)
        s = range(method.stages)
        b, A = method.b, method.A
        assert all(b[i] * flipped.A[i][j] == b[j] * A[j][i] for i in s for j in s) and flipped.order is None
        assert stability_function(flipped) == stability_function(method)
        assert transpose(flipped).A == A


def test_a_weight_of_zero_has_no_conjugate():
    method = ButcherTableau([[0, 0], ["1/2", 0]], [0, 1], name="explicit midpoint")
    with pytest.raises(ValueError, match=r"explicit midpoint.*b₁ = 0.*divides by it"):
        transpose(method)


def test_rounded_coefficients_leave_a_near_symmetry_open():
    rounded = ButcherTableau([["0.25", "-0.03868"], ["0.53867", "0.25"]], ["0.5", "0.5"], digits=5)
    assert symmetry(rounded).holds is None and not symmetry(rounded).exact
    assert symmetry(ButcherTableau([["0.250", "-0.039"], ["0.539", "0.250"]], ["0.500", "0.500"], digits=3)).holds


def test_a_composition_is_asked_through_its_tableau():
    triple = Composition(STOERMER_VERLET, [1, -1, 1], "there and back")
    assert symmetry(triple) and symplecticity(triple)
    assert are_equivalent(triple, STOERMER_VERLET)  # Φ_{−h} is the inverse of Φ_h, for the method is symmetric
    assert not are_equivalent(Composition(SYMPLECTIC_EULER_VT, [1, -1, 1]), SYMPLECTIC_EULER_VT)
    assert are_equivalent(Composition(EULER, [1], "once"), EULER)
