"""URNNs of several layers, and implicit beside explicit methods: planted falsehoods, and a third computation."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.cells.odernn import Coefficient, realisations
from tests.verification.claims import claim_rows as rows
from verification.claims.odernn import cell_realisations, implicit_steps
from verification.measure import cell_formulas, gated_nesting, tableau_algebra

REFUTED, PROVED, ERROR = rows.REFUTED, rows.PROVED, rows.ERROR
EXPECTED = {"ode-2.1-implicit": [PROVED, PROVED]}


def test_every_row_is_expected():
    rows.assert_every_row_is_expected((implicit_steps,), EXPECTED)
    rows.assert_names_no_verdict(implicit_steps)


@pytest.mark.parametrize(
    ("claim", "case"), rows.rows_of((implicit_steps,)), ids=map(rows.name_of, rows.rows_of((implicit_steps,)))
)
def test_verdict(claim, case):
    rows.assert_verdict(claim, case, EXPECTED)


# --- URNN


def test_a_wrong_coefficient_of_a_urnn_is_found(monkeypatch):
    """By the table alone the back-ends contradict each other; with the modulus broken as well it falls."""
    right = realisations.simple

    def wrong(d):
        tableau = right(d)
        return replace(tableau, B={**tableau.B, 1: Coefficient(tableau.B[1].matrix * 2, tableau.B[1].gate)})

    monkeypatch.setattr(realisations, "simple", wrong)
    assert rows.verdict_of(cell_realisations.unitary_case()).verdict == ERROR
    monkeypatch.setattr(cell_formulas, "_turned", lambda z, by: (z[0] * by[0], z[1] * by[0]))
    assert rows.verdict_of(cell_realisations.unitary_case()).verdict == REFUTED


def test_a_second_layer_that_reads_something_else_is_found(monkeypatch):
    """A table whose second layer is given −u in the place of what the first one made: one layer cannot tell."""
    right, steps = tableau_algebra.step, []

    def above(tableau, weights, y, u, functions):
        steps.append(u)
        return right(tableau, weights, y, u if len(steps) == 1 else [-x for x in u], functions)

    monkeypatch.setattr(tableau_algebra, "step", above)
    assert not tableau_algebra.simple_differs(realisations.simple(2), 1, 2)
    steps.clear()
    assert tableau_algebra.simple_differs(realisations.simple(2), 2, 2)


def test_the_labels_of_a_urnn_count_its_layers(monkeypatch):
    assert [tableau_algebra.depth(realisations.simple(2), L) for L in (1, 2, 3)] == [1, 2, 3]
    monkeypatch.setattr(tableau_algebra, "depth", lambda *_: 0)
    assert rows.verdict_of(cell_realisations.unitary_case(counted=True)).verdict == ERROR
    monkeypatch.setattr(gated_nesting, "chain_again", lambda *_: 0)
    assert rows.verdict_of(cell_realisations.unitary_case(counted=True)).verdict == REFUTED
    assert rows.verdict_of(cell_realisations.unitary_case()).verdict == PROVED


def test_two_layers_of_torch_are_the_odernn():
    torch.manual_seed(2)
    network = torch.nn.RNN(3, 2, 2, dtype=torch.float64)
    x = torch.randn(5, 4, 3, dtype=torch.float64)
    with torch.no_grad():
        found, wanted = realisations.as_odernn(network)(x)[0], network(x)[0]
    torch.testing.assert_close(found, wanted, rtol=0.0, atol=1e-14)  # 5 steps of 2 layers, |h| ≤ 1, u = 1.1e-16


def test_the_complex_product_of_the_formulas_is_that_of_python():
    z, w = (Fraction(3, 5), Fraction(-4, 5)), (Fraction(1, 2), Fraction(7, 4))
    assert complex(*cell_formulas._turned(z, w)) == pytest.approx(complex(*z) * complex(*w))


# --- implicit and explicit steps


def test_a_first_stage_that_reads_itself_can_be_stable_at_large_steps():
    judgement = rows.verdict_of(implicit_steps.explicit_case(own=1))
    assert judgement.verdict == REFUTED and "bounded for some coefficients" in judgement.because


def test_an_explicit_method_is_not_stable_at_every_step():
    assert rows.verdict_of(implicit_steps.implicit_case("implicit euler", "euler")).verdict == REFUTED


@pytest.mark.parametrize("name", implicit_steps.TYPED)
def test_floats_see_the_implicit_methods_stay_in_the_disc_and_explicit_ones_leave_it(name):
    """R(z) = 1 + z bᵀ(I − zA)⁻¹1 by numpy at drawn z; as a third computation."""
    A, b = (np.array(x, dtype=float) for x in implicit_steps.TYPED[name])
    rng = np.random.default_rng(1)
    sizes, one, eye = 10.0 ** rng.uniform(-3, 3, 200), np.ones(len(b)), np.eye(len(b))
    for z in sizes * np.exp(1j * rng.uniform(np.pi / 2, 3 * np.pi / 2, 200)):
        assert abs(1 + z * (b @ np.linalg.solve(eye - z * A, one))) <= 1 + 1e-12
        explicit = np.tril(A, -1)
        large = -1e6
        assert abs(1 + large * (b @ np.linalg.solve(eye - large * explicit, one))) > 1
