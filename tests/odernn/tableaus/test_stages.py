"""The same method in two bases: everything that is decided must not depend on the basis."""

from __future__ import annotations

import functools
import itertools

import pytest
from flint import fmpq, fmpq_mat, fmpq_poly

from odernn.tableaus import families
from odernn.tableaus.catalogue.explicit import RK4
from odernn.tableaus.stages import StageForm, stagewise

Q = fmpq
MEMBERS = [
    family(s)
    for name, family in families.FAMILIES.items()
    for s in (2, 3)
    if name != "gauss" or s == 2  # one field, Q(√3)
]


def elementary_weight(form: StageForm, tree: tuple) -> object:
    """bᵀΦ(tree), a tree being the tuple of its children."""

    @functools.cache
    def stage(node: tuple):
        value = form.one
        for child in node:
            value = form.product(value, form.apply(stage(child)))
        return value

    return form.weigh(stage(tree))


TREES = [(), ((),), ((), ()), (((),),), ((), (), ()), (((),), ()), (((), ()),), ((((),),),), (((), ()), ((),), ())]


def test_the_number_of_methods_compared():
    assert len(MEMBERS) == 2 * 13 - 1


@pytest.mark.parametrize("method", MEMBERS, ids=lambda method: method.name)
def test_elementary_weights_do_not_depend_on_the_basis(method):
    stages = method.butcher().form
    for tree in TREES:
        assert elementary_weight(method.form, tree) == elementary_weight(stages, tree)


@pytest.mark.parametrize("method", MEMBERS, ids=lambda method: method.name)
def test_the_gram_matrix_is_that_of_the_weights(method):
    table = method.butcher()
    nodes = [a for a in _quadrature_nodes(method)]
    for k, l in itertools.product(range(method.stages), repeat=2):
        assert sum((b * x ** (k + l) for b, x in zip(table.b, nodes, strict=True)), Q(0)) == method.form.gram[k][l]


def _quadrature_nodes(method):
    found = families._quadratic_nodes(method.modulus)
    assert found is not None
    return found


def test_a_wrong_node_polynomial_is_seen():
    """The planted fault: the product modulo another polynomial belongs to no method."""
    right = families.gauss(2)
    wrong = StageForm(
        right.form.operator, right.form.weights, right.form.one, right.form.gram, fmpq_poly([Q(1, 5), -1, 1])
    )
    bushy = ((), (), ())
    assert elementary_weight(wrong, bushy) != elementary_weight(right.form, bushy) == Q(1, 4)


def test_the_stage_basis_is_the_table():
    form = RK4.form
    assert form.dimension == 4 and form.modulus is None and form.one == (1, 1, 1, 1)
    assert form.apply(form.one) == RK4.c and form.weigh(form.one) == 1
    assert form.product(RK4.c, RK4.c) == tuple(c * c for c in RK4.c)
    assert fmpq_mat(form.gram) == fmpq_mat([[RK4.b[i] if i == j else 0 for j in range(4)] for i in range(4)])


def test_products_in_the_polynomial_basis_are_modulo_the_nodes():
    form = families.gauss(2).form  # x² = x − 1/6
    assert form.product((Q(0), Q(1)), (Q(0), Q(1))) == (Q(-1, 6), Q(1))


def test_irrational_entries_are_allowed_in_the_stage_basis():
    table = families.gauss(3).butcher()
    form = stagewise(table.A, table.b)
    assert form == table.form and form.weigh(form.apply(form.one)) == Q(1, 2)
