"""B(p), C(η), D(ζ), stage order and quadrature order: the literature's numbers, the definitions, and the violations."""

from __future__ import annotations

import math
from typing import Any

import pytest
from flint import fmpq

from odernn.properties.order import order
from odernn.properties.simplifying_assumptions import B, C, D, quadrature_order, stage_order
from odernn.tableaus.families import FAMILIES, gauss, lobatto_pair
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

# Hairer, Wanner 1996, Table IV.5.13: the largest numbers for s stages.
LITERATURE = {
    "gauss": (lambda s: 2 * s, lambda s: s, lambda s: s),
    "radau ia": (lambda s: 2 * s - 1, lambda s: s - 1, lambda s: s),
    "radau iia": (lambda s: 2 * s - 1, lambda s: s, lambda s: s - 1),
    "lobatto iiia": (lambda s: 2 * s - 2, lambda s: s, lambda s: s - 2),
    "lobatto iiib": (lambda s: 2 * s - 2, lambda s: s - 2, lambda s: s),
    "lobatto iiic": (lambda s: 2 * s - 2, lambda s: s - 1, lambda s: s - 1),
    "lobatto iiid": (lambda s: 2 * s - 2, lambda s: s - 1, lambda s: s - 1),
    "lobatto iiie": (lambda s: 2 * s - 2, lambda s: s - 2, lambda s: s - 2),
    "lobatto iiif": (lambda s: 2 * s - 2, lambda s: s - 1, lambda s: s - 2),
    "lobatto iiig": (lambda s: 2 * s - 2, lambda s: s - 2, lambda s: s - 2),
}
RK4 = ButcherTableau([[0, 0, 0, 0], ["1/2", 0, 0, 0], [0, "1/2", 0, 0], [0, 0, 1, 0]], ["1/6", "1/3", "1/3", "1/6"])
EULER, IMPLICIT_EULER = ButcherTableau([[0]], [1]), ButcherTableau([[1]], [1])


@pytest.mark.parametrize("s", range(3, 8))
@pytest.mark.parametrize("family", LITERATURE)
def test_families_satisfy_what_defines_them_and_no_more(family: str, s: int):
    method = FAMILIES[family](s)
    for ask, expected in zip((B, C, D), LITERATURE[family], strict=True):
        found = ask(method)
        assert (found.value, found.exact, found.witness[0]) == (expected(s), True, expected(s) + 1)
        assert ask(method, expected(s)).holds is True and ask(method, expected(s) + 1).holds is False
    assert quadrature_order(method).value == LITERATURE[family][0](s)
    assert stage_order(method).value == LITERATURE[family][1](s)


def by_definition(A: Any, b: Any, letter: str, k: int) -> list[Any]:
    """The residuals of B, C or D for one k, index by index."""
    s = range(len(b))
    c = [sum(A[i], fmpq(0)) for i in s]
    if letter == "B":
        return [sum((b[i] * c[i] ** (k - 1) for i in s), fmpq(0)) - fmpq(1, k)]
    if letter == "C":
        return [sum((A[i][j] * c[j] ** (k - 1) for j in s), fmpq(0)) - c[i] ** k / k for i in s]
    return [sum((b[i] * c[i] ** (k - 1) * A[i][j] for i in s), fmpq(0)) - b[j] * (1 - c[j] ** k) / k for j in s]


@pytest.mark.parametrize("method", [RK4, gauss(2).butcher(), gauss(3).butcher(), FAMILIES["lobatto iiic"](3).butcher()])
@pytest.mark.parametrize("ask", [B, C, D])
def test_the_witness_is_the_first_violation_of_the_definition(method: ButcherTableau, ask: Any):
    found = ask(method)
    for k in range(1, found.value + 1):
        assert all(residual == 0 for residual in by_definition(method.A, method.b, ask.__name__, k))
    k, *index, residual = found.witness
    residuals = by_definition(method.A, method.b, ask.__name__, k)
    first = next(i for i, entry in enumerate(residuals) if entry != 0)
    assert k == found.value + 1 and residual == residuals[first] and index in ([], [first + 1])


def test_the_evidence_reads_as_a_formula():
    assert str(C(RK4, 3)) == "Certificate(C(3): no, exact, row 2 of Ac − c²/2 = -1/8)"
    assert str(B(RK4, 4)) == "Certificate(B(4): yes, exact, bᵀcᵏ⁻¹ = 1/k for k ≤ 4)"
    assert D(RK4).because == "column 2 of bᵀCA − (bᵀ − bᵀC²)/2 = -1/24"
    assert D(EULER).because == "column 1 of bᵀA − (bᵀ − bᵀC) = -1" and D(EULER).holds is False
    assert C(gauss(2)).because.startswith("coefficient of x^")


def test_only_trivial_methods_satisfy_an_assumption_for_every_number():
    assert C(EULER).value == math.inf and C(EULER, 1000).holds is True and C(EULER).because.endswith("for every k")
    assert C(IMPLICIT_EULER).value == 1
    assert D(ButcherTableau([[1, 0], [2, 3]], [0, 0])).value == math.inf


def test_stage_order_is_bounded_by_the_quadrature():
    assert stage_order(EULER).value == 1 and stage_order(EULER).because.startswith("B(1) and C(k): bᵀc − 1/2")
    assert stage_order(RK4).value == 1 and stage_order(ButcherTableau([[0]], ["1/2"])).holds is False


@pytest.mark.parametrize("digits", [9, 30])
def test_a_perturbation_is_seen(digits: int):
    method, tiny = gauss(2).butcher(), fmpq(1, 10**digits)
    changed = [[method.A[0][0] + tiny, method.A[0][1] - tiny], list(method.A[1])]
    assert (B(method).value, C(method).value, D(method).value) == (4, 2, 2)
    same_c = ButcherTableau(changed, method.b)
    assert (B(same_c).value, C(same_c).value, D(same_c).value) == (4, 1, 0)


def test_rounded_coefficients_are_consistent_and_no_more():
    found = C(gauss(4).rounded())
    assert (found.value, found.holds, found.exact) == (4, None, False) and found.margin < 1e-15
    assert "consistent with C(4) to double precision" in found.because
    assert B(gauss(4).rounded(), 9).holds is False and D(gauss(4).rounded(), 4).holds is None
    assert stage_order(gauss(4).rounded()).value == 4 and quadrature_order(gauss(4).rounded()).value == 8


def test_a_pair_is_asked_about_its_halves():
    pair = PartitionedTableau("pair", None, RK4, RK4)
    with pytest.raises(TypeError, match=r"\.position"):
        B(pair)
    assert B(pair.position).value == 4 and C(lobatto_pair(4).momentum).value == 2


@pytest.mark.parametrize("digits", [None, 12])
def test_weights_that_do_not_add_up_to_one_integrate_nothing(digits: int | None):
    """B counts from 1: bᵀ1 = 3/4 fails at once, although bᵀc = 1/2 and B(2) alone would hold."""
    b = [fmpq(1, 4), fmpq(1, 2)] if digits is None else ["0.25", "0.5"]
    method = ButcherTableau([[0, 0], [1, 0]], b, digits=digits)
    assert by_definition(method.A, method.b, "B", 2) == [0]
    for found in (B(method), B(method, 1), B(method, 2), quadrature_order(method)):
        assert (found.value, found.holds, found.witness) == (0, False, (1, fmpq(-1, 4)))
        assert found.because == "bᵀ1 − 1 = -1/4"
    assert stage_order(method).value == 0 and order(method).value == 0
    assert str(order(method).witness) == "Φ(τ) − 1 = -1/4"
