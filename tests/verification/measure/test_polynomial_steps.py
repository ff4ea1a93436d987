"""Degrees of explicit steps on polynomial fields, and recurrences as first-order maps."""

from __future__ import annotations

import random

import pytest
from flint import fmpq, fmpq_poly

from odernn import tableaus
from odernn.tableaus.methods import in_stages
from odernn.tableaus.tableau import ButcherTableau
from verification.measure.polynomial_steps import companion, explicit_step, nested_stages, step_degree


def table(A, b) -> ButcherTableau:
    return ButcherTableau(name="typed", A=A, b=b, c=[sum(row) for row in A])


def chain(n: int) -> ButcherTableau:
    return table([[int(j == i - 1) for j in range(n)] for i in range(n)], [0] * (n - 1) + [1])


@pytest.mark.parametrize(("q", "degrees"), [(2, (2, 4, 8)), (3, (3, 9, 27))])
def test_pins(q, degrees):
    field = fmpq_poly([0] * q + [1])
    assert tuple(explicit_step(chain(n), field).degree() for n in (1, 2, 3)) == degrees
    assert tuple(step_degree(chain(n), q) for n in (1, 2, 3)) == degrees
    assert [nested_stages(chain(n)) for n in (1, 2, 3)] == [1, 2, 3]


def explicit_methods():
    for name in tableaus.names():
        method = in_stages(tableaus.get(name))
        if not isinstance(method, ButcherTableau) or method.stages > 4:
            continue
        if all(isinstance(x, fmpq) for x in method.entries) and all(
            x == 0 for i, row in enumerate(method.A) for x in row[i:]
        ):
            yield method


def test_the_degree_of_catalogue_methods_is_that_of_their_longest_chain():
    tried = 0
    for method in explicit_methods():
        for q in (0, 1, 2, 3):
            field = fmpq_poly([1] + [0] * (q - 1) + [1]) if q else fmpq_poly([3])
            assert explicit_step(method, field).degree() == step_degree(method, q), (method.name, q)
            tried += 1
    assert tried >= 60


def test_a_step_is_what_floats_compute():
    rng, tried = random.Random(0), 0
    for method in explicit_methods():
        field = fmpq_poly([fmpq(rng.randint(-3, 3), 4) for _ in range(4)])
        step = explicit_step(method, field, fmpq(1, 8))
        for y in (-0.75, 0.5, 1.0):
            slopes: list[float] = []
            for row in method.A:
                at = y + sum(float(a.p) / float(a.q) * k for a, k in zip(row, slopes, strict=False)) / 8
                slopes.append(sum(float(field[k].p) / float(field[k].q) * at**k for k in range(4)))
            end = y + sum(float(b.p) / float(b.q) * k for b, k in zip(method.b, slopes, strict=True)) / 8
            exact = step(fmpq(*y.as_integer_ratio()))
            assert float(int(exact.p) / int(exact.q)) == pytest.approx(end, abs=1e-13)
            tried += 1
    assert tried >= 45


def test_leading_terms_can_cancel_where_two_chains_meet():
    """b_2 = −b_3 with equal stages 2 and 3: the bound 4 is not reached."""
    cancelling = table([[0, 0, 0], [1, 0, 0], [1, 0, 0]], [1, 1, -1])
    assert step_degree(cancelling, 2) == 4
    assert explicit_step(cancelling, fmpq_poly([0, 0, 1])).degree() == 2


def test_stages_without_output_do_not_count():
    unused = table([[0, 0], [1, 0]], [1, 0])
    assert nested_stages(unused) == 1 and step_degree(unused, 2) == 2
    assert nested_stages(table([[0]], [0])) == 0 and step_degree(table([[0]], [0]), 3) == 1


def test_a_recurrence_and_its_companion_agree():
    def F(*x):
        return sum((k + 1) * value for k, value in enumerate(x)) + x[0] * x[-1]

    for t in (1, 2, 3):
        values = [fmpq(k + 1, 2) for k in range(t)]
        state, step = tuple(reversed(values)), companion(F, t)
        for _ in range(6):
            values.append(F(*reversed(values[-t:])))
            state = step(state)
            assert state == tuple(reversed(values[-t:]))


def test_refusals():
    with pytest.raises(ValueError, match="row 1 of A has an entry on or right of the diagonal"):
        nested_stages(in_stages(tableaus.get("implicit midpoint")))
    with pytest.raises(ValueError, match="irrational"):
        explicit_step(in_stages(tableaus.get("gill 4")), fmpq_poly([0, 1]))
    with pytest.raises(ValueError, match="degree q ≥ 0"):
        step_degree(chain(2), -1)
    with pytest.raises(ValueError, match="t ≥ 1"):
        companion(lambda x: x, 0)
    with pytest.raises(ValueError, match="has the order 2"):
        companion(lambda x, y: x, 2)((1,))
