"""Unused and equal stages; the oracle tries every partition, and polynomials are compared with stages."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from flint import fmpq_poly

from odernn import tableaus
from odernn.exact.linear_algebra import diagonalise, identity, matrix_vector, product, solve, transposed
from odernn.properties.algebraic_stability import burrage_butcher
from odernn.properties.reducibility import are_equivalent, dj_reduction, equal_stages, hs_reduction, reduction
from odernn.properties.stability_function import stability_function
from odernn.tableaus.catalogue.implicit import IMPLICIT_MIDPOINT
from odernn.tableaus.families import FAMILIES, lobatto_iiia, lobatto_iiib, lobatto_pair
from odernn.tableaus.stages import StageForm
from odernn.tableaus.tableau import ButcherTableau, Q


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for smaller in partitions(items[1:]):
        yield [[items[0]], *smaller]
        for k, members in enumerate(smaller):
            yield [*smaller[:k], [items[0], *members], *smaller[k + 1 :]]


def coarsest(A: list[list[Q]]) -> set[frozenset[int]]:
    """Of all partitions with equal row sums over classes, the one with the fewest classes."""
    fitting = [
        classes
        for classes in partitions(list(range(len(A))))
        if all(len({str(sum((A[i][j] for j in c), Q(0))) for i in d}) == 1 for d in classes for c in classes)
    ]
    return {frozenset(members) for members in min(fitting, key=len)}


def in_polynomials(tableau: ButcherTableau, nodes: list[Q]) -> StageForm:
    """The same method on polynomials modulo Π(x − node), for any distinct rational nodes."""
    s = tableau.stages
    V = tuple(tuple(node**k for k in range(s)) for node in nodes)
    operator = solve(V, product(tableau.A, V))
    weights = matrix_vector(transposed(V), tableau.b)
    gram = product(transposed(V), product(tableau.form.gram, V))
    modulus = fmpq_poly([1])
    for node in nodes:
        modulus *= fmpq_poly([-node, 1])
    assert operator is not None
    return StageForm(operator, weights, identity(s)[0], gram, modulus)


def random_method(generator: random.Random, s: int) -> ButcherTableau:
    """Few different entries, and some rows that repeat: stages often coincide or are not used."""
    A = [[Q(generator.choice((0, 0, 0, 1, 2)), 2) for _ in range(s)] for _ in range(s)]
    A = [A[generator.randrange(i + 1)] if generator.random() < 0.4 else row for i, row in enumerate(A)]
    return ButcherTableau(A, [Q(generator.choice((0, 1, 1, -1)), 2) for _ in range(s)])


def test_equal_stages_are_those_of_the_coarsest_partition():
    generator = random.Random(1)
    sizes = set()
    for _ in range(150):
        tableau = random_method(generator, generator.randint(1, 4))
        found = equal_stages([tableau.A])
        assert {frozenset(members) for members in found} == coarsest([list(row) for row in tableau.A])
        sizes.add((tableau.stages, len(found)))
    assert {(4, 1), (4, 2), (4, 3), (4, 4)} <= sizes


def test_a_reduced_method_is_equivalent_irreducible_and_has_the_same_stability_function():
    generator = random.Random(2)
    reduced = 0
    for _ in range(100):
        tableau = random_method(generator, generator.randint(2, 4))
        small = reduction(tableau)
        assert are_equivalent(tableau, small.method) and reduction(small.method).is_trivial
        assert stability_function(tableau) == stability_function(small.method)
        reduced += not small.is_trivial
    assert reduced >= 20


def test_the_reductions_say_which_stages_went():
    A = [["1/4", "1/4", 0, 0], ["1/4", "1/4", 0, 0], [1, 2, 3, 4], [0, 0, 0, 1]]
    tableau = ButcherTableau(A, ["1/2", "1/2", 0, 0])
    assert dj_reduction(tableau).unused == (3, 4) and dj_reduction(tableau).method.stages == 2
    assert hs_reduction(tableau).classes == ((1, 2),) and hs_reduction(tableau).method.stages == 3
    both = reduction(tableau)
    assert both.unused == (3, 4) and both.classes == ((1, 2),) and both.stages == 4
    assert str(both) == "stages 1, 2 are equal; unused: 3, 4"
    assert (both.method.A, both.method.b) == (IMPLICIT_MIDPOINT.A, IMPLICIT_MIDPOINT.b)
    assert str(reduction(IMPLICIT_MIDPOINT)) == "irreducible" and reduction(IMPLICIT_MIDPOINT).is_trivial


def test_merging_can_leave_a_stage_unused():
    A = [[1, 0, 0], [0, 1, 0], [0, 0, "1/2"]]
    tableau = ButcherTableau(A, [1, -1, 1])
    assert dj_reduction(tableau).is_trivial and not hs_reduction(tableau).is_trivial
    found = reduction(tableau)
    assert found.unused == (1, 2) and found.classes == () and found.method.stages == 1


def test_a_method_without_weights_keeps_its_stages():
    assert dj_reduction(ButcherTableau([[1, 0], [0, 2]], [0, 0])).is_trivial


def test_unused_stages_add_zero_rows_to_m():
    generator = random.Random(3)
    compared = 0
    for _ in range(150):
        tableau = random_method(generator, 4)
        small = dj_reduction(tableau)
        if not small.is_trivial:
            whole, part = (diagonalise(burrage_butcher(t)).inertia for t in (tableau, small.method))
            assert (whole.positive, whole.negative) == (part.positive, part.negative)
            compared += 1
    assert compared >= 10


def test_reductions_on_polynomials_agree_with_those_on_stages():
    generator = random.Random(4)
    changed = 0
    for _ in range(80):
        s = generator.randint(1, 4)
        tableau = random_method(generator, s)
        form = in_polynomials(tableau, [Q(k, 3) for k in generator.sample(range(-5, 6), s)])
        assert are_equivalent(tableau, form) and are_equivalent(form, tableau)
        for reduce in (hs_reduction, dj_reduction):
            on_stages, on_polynomials = reduce(tableau).method, reduce(form).method
            assert isinstance(on_polynomials, StageForm) and on_polynomials.dimension == on_stages.stages
            assert are_equivalent(on_stages, on_polynomials)
            inertias = {str(diagonalise(burrage_butcher(m)).inertia) for m in (on_stages, on_polynomials)}
            assert len(inertias) == 1
            changed += on_stages.stages < s
        assert are_equivalent(tableau, reduction(form).method)
    assert changed >= 20


def test_lobatto_iiib_with_two_stages_is_the_midpoint_rule():
    assert are_equivalent(lobatto_iiib(2), IMPLICIT_MIDPOINT) and not are_equivalent(lobatto_iiia(2), IMPLICIT_MIDPOINT)
    assert hs_reduction(lobatto_iiib(2)).method.dimension == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_no_other_family_is_reducible(family: str):
    sizes = [s for s in (2, 3, 4, 6) if (family, s) != ("lobatto iiib", 2)]
    assert all(reduction(FAMILIES[family](s)).is_trivial for s in sizes)


def test_equivalence_does_not_see_the_numbering_of_stages_and_sees_every_coefficient():
    generator = random.Random(5)
    for _ in range(30):
        s = generator.randint(2, 4)
        A = [[Q(generator.randint(-9, 9), 7) for _ in range(s)] for _ in range(s)]
        b = [Q(generator.randint(1, 9), 7) for _ in range(s)]
        order = generator.sample(range(s), s)
        tableau = ButcherTableau(A, b)
        shuffled = ButcherTableau([[A[i][j] for j in order] for i in order], [b[i] for i in order])
        assert are_equivalent(tableau, shuffled)
        i, j = generator.randrange(s), generator.randrange(s)
        A[i][j] += Q(1, 10**30)
        assert not are_equivalent(ButcherTableau(A, b), shuffled)


def test_the_methods_of_the_catalogue_are_told_apart():
    single = [t for t in map(tableaus.get, tableaus.names()) if isinstance(t, ButcherTableau) and t.stages <= 3]
    same = [(a.name, b.name) for a, b in itertools.combinations(single, 2) if are_equivalent(a, b)]
    assert len(single) >= 3 and ("euler", "implicit euler") not in same
    assert not are_equivalent(lobatto_pair(3), lobatto_iiia(3))
