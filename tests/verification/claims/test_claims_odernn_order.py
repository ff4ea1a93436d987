"""Definition 1 and equation (1) of the ODERNN paper on trial: degrees, coupled variables, Verlet steps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from odernn.published.sources import Source
from tests.tiers import where
from tests.verification.claims import claim_rows as rows
from verification.answer import answer
from verification.claim import Claim
from verification.claims.odernn import odernn_order as orders
from verification.claims.odernn import odernn_verlet as verlet
from verification.domains import BUDGETS
from verification.registry import Registry
from verification.witness.check import check
from verification.witness.file import from_json

FAMILIES = (orders, verlet)
CLAIMS = {claim.id: claim for family in FAMILIES for claim in family.CLAIMS}
SMOKE = BUDGETS["smoke"]
REFUTED, PROVED, NOT_REFUTED = "refuted", "proved", "not-refuted"

EXPECTED = {
    "ode-D1-n": {
        "a_{i+1,i} ≠ 0 for all i, b_n ≠ 0 | degree qⁿ": PROVED,
        "degree n": REFUTED,
        "every explicit table of n stages | degree qⁿ": REFUTED,
        "degree 1": PROVED,
    },
    "ode-D1-t": {
        "x_l of the first-order system of t blocks": PROVED,
        "y of the first-order system of t-fold length": PROVED,
        "x'' = F(x, x') for the first variable": REFUTED,
    },
    "thm-deg": {
        "degree qⁿ": PROVED,
        "degree 1": PROVED,
        "degree q^n of the longest chain": PROVED,
        "x_l of the first-order system of t blocks": PROVED,
    },
    "ode-eq1": {
        "every K, η | powers of the linearised step": REFUTED,
        "η σ_max(K) ≤ 2 | powers of the linearised step": REFUTED,
        "η L_s σ_max(K) < 2, one K for all layers, constant slopes in (0, L_s] | powers of the linearised step": PROVED,
        "η σ_max(K_j) < 2, K_j of its own in every layer, slopes 1 | powers of the linearised step": REFUTED,
    },
}
CASES = [(q.id, c.domain, c.quantity) for q in CLAIMS.values() for c in q.cases]


def judged(case, budget=SMOKE):
    judgement = answer(Claim("planted", Source("odernn", "p"), "planted", "alg", (case,)), case, budget, 3)
    assert judgement.verdict != "error", judgement.because
    return judgement


def test_every_question_is_registered_and_pinned():
    ids = {each.claim.id for each in Registry()}
    assert set(CLAIMS) <= ids and set(EXPECTED) == set(CLAIMS) and len(CASES) == 16


# the one with a K of its own in every layer is searched in seconds; three others of ode-eq1 are asked
@pytest.mark.parametrize(("name", "domain", "quantity"), where(CASES, lambda each: "K_j of its own" in each[1]))
def test_verdict(name, domain, quantity):
    claim = CLAIMS[name]
    case = claim.case(domain, quantity)
    judgement = answer(claim, case, SMOKE, 1)
    assert judgement.verdict == rows.pinned(EXPECTED[name], domain, quantity), judgement.because
    other = answer(replace(claim, id="another"), case, SMOKE, 1)
    assert (other.verdict, other.because) == (judgement.verdict, judgement.because)
    if judgement.verdict == REFUTED:
        replayed = check(from_json(judgement.witness), Registry())
        assert replayed.certified and sum("violates" in line for line in replayed.lines) == 2


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__.rpartition(".")[2])
def test_a_family_names_no_verdict(family):
    rows.assert_names_no_verdict(family)


# --- planted falsehoods, and truths beside them

FALSEHOODS = {
    "degree q^(n+1)": orders.chain_case(lambda n, q: q ** (n + 1), "degree q^(n+1)"),
    "degree n q": orders.chain_case(lambda n, q: n * q, "degree n q"),
    "linear fields have the degree 0": orders.linear_case(0),
    "the first-order system in another order": orders.companion_case((2, 3), shift=1),
    "y_1' = y_2 − y_1": orders.derivative_case(2, 4, damping=1),
    "Q with the other sign": verlet.invariant_case(1),
    "Q without its mixed term": verlet.invariant_case(0),
    "stable up to 5/2": verlet.verlet_case("p", Fraction(5, 2), verlet.PAIRS),
}


@pytest.mark.parametrize("name", FALSEHOODS)
def test_a_planted_falsehood_is_refuted(name):
    judgement = judged(FALSEHOODS[name])
    assert judgement.verdict == REFUTED, judgement.because


TRUTHS = {
    "one variable more, k = 1, 3": orders.converse_case((1, 3)),
    "stable up to 19/10": verlet.verlet_case("p", Fraction(19, 10), [*verlet.PAIRS, ("19/10", "1"), ("-19", "1/10")]),
    "t = 5": orders.companion_case((5,)),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_true_sibling_is_not_refuted(name):
    judgement = judged(TRUTHS[name])
    assert judgement.verdict in (PROVED, NOT_REFUTED), judgement.because


def test_doubt_remains_off_the_hypotheses():
    case = CLAIMS["ode-D1-n"].case("a_{i+1,i} ≠ 0 for all i, b_n ≠ 0", "degree n")
    good = {"a": "0 0 1 0", "b": "0 1", "f": "0 0 1"}
    assert not rows.doubt_of(case, good)
    assert "≠ 0" in rows.doubt_of(case, {**good, "a": "0 0 0 0"})
    assert "≠ 0" in rows.doubt_of(case, {**good, "b": "1 0"})
    case = CLAIMS["ode-eq1"].case("η σ_max(K) ≤ 2", "powers of the linearised step")
    assert not rows.doubt_of(case, {"K": "2", "eta": "1"})
    assert "≤ 2" in rows.doubt_of(case, {"K": "5/2", "eta": "1"})
    assert "does not certify" in rows.doubt_of(case, {"K": "199/100", "eta": "1"})
    assert 'Parameter "eta" is "-1"' in rows.doubt_of(case, {"K": "2", "eta": "-1"})


def test_weights_that_do_not_change_drive_nothing_apart():
    case = verlet.own_weights_case()
    assert not rows.doubt_of(case, {"eta": "1", "K": "1 -1"})
    for K in ("1", "1 1 1", "-3/2", "1/2 -1/100"):
        assert not any(opinion.violated for opinion in case.check({"eta": "1", "K": K}).opinions)
    assert "< 2" in rows.doubt_of(case, {"eta": "1", "K": "3 -3"})


def test_slopes_are_absorbed_by_the_singular_values():
    """The step with slopes D₁, D₂ has the eigenvalues of the modes of D₁^½ K D₂^½."""
    rng, eta = np.random.default_rng(3), 0.3
    K, one, other = rng.normal(size=(3, 3)), np.diag(rng.uniform(0.1, 1, 3)), np.diag(rng.uniform(0.1, 1, 3))
    kick = np.block([[np.eye(3), np.zeros((3, 3))], [-eta * other @ K.T, np.eye(3)]])
    move = np.block([[np.eye(3), eta * one @ K], [np.zeros((3, 3)), np.eye(3)]])
    scaled = np.sqrt(one) @ K @ np.sqrt(other)
    traces = 2 - (eta * np.linalg.svd(scaled)[1]) ** 2
    assert np.trace(move @ kick) == pytest.approx(traces.sum())
    assert np.allclose(sorted(np.linalg.eigvals(move @ kick).real), sorted(np.repeat(traces / 2, 2)))
    assert np.linalg.norm(scaled, 2) <= np.linalg.norm(K, 2)


# --- both back-ends

DEGREE_GRID = [
    {"a": f"0 0 {a} 0", "b": b, "f": f}
    for a in ("0", "1")
    for b in ("1 0", "1/2 1/2", "0 1")
    for f in ("1 1 1", "0 0 2", "1 0 0 1")
]
PAIR_GRID = [{"k": str(k), "y": y} for k in (1, 2, 3, 4) for y in ("1 -1", "2 1", "0 1", "-2 2", "1/2 -1/2")]
WEIGHT_GRID = [{"t": "2", "weights": w} for w in ("1 1", "1 2", "0 0", "0 1", "3 0", "1/2 0")]
VERLET_GRID = [
    {"K": K, "eta": eta} for K in ("1/2", "-1", "19/10", "2", "-2", "201/100", "4") for eta in ("1/2", "1", "3")
]
GRIDS = {
    "degree": (orders.chain_case(), DEGREE_GRID),
    "two variables": (orders.converse_case(), PAIR_GRID),
    "companion": (orders.companion_case((2, 3), 1), WEIGHT_GRID),
    "verlet": (verlet.verlet_case("p", None, verlet.PAIRS), VERLET_GRID),
}


@pytest.mark.parametrize("name", GRIDS)
def test_both_back_ends_have_one_opinion(name):
    case, grid = GRIDS[name]
    opinions = [[each.violated for each in case.check(parameters).opinions] for parameters in grid]
    assert all(first == second for first, second in opinions)
    assert {first for first, _ in opinions} == {True, False}


# --- oracles


@pytest.mark.parametrize(("a", "bounded"), [(0.5, True), (1.999, True), (2.0, False), (2.01, False), (2.5, False)])
def test_powers_of_the_linearised_network_with_a_full_weight_matrix(a, bounded):
    """The whole step of a 3 × 3 matrix K with largest singular value a/η, in floats: 4000 powers."""
    rng, eta = np.random.default_rng(1), 0.1
    U, _, V = np.linalg.svd(rng.normal(size=(3, 3)))
    K = U @ np.diag([a / eta, 0.3 * a / eta, 0.1 * a / eta]) @ V
    unit = np.eye(3)
    kick = np.block([[unit, 0 * unit], [-eta * K.T, unit]])  # (y, z)
    drift = np.block([[unit, eta * K], [0 * unit, unit]])
    power, largest = np.eye(6), 0.0
    for _ in range(4000):
        power = drift @ kick @ power
        largest = max(largest, float(np.abs(power).max()))
        if largest > 1000:
            break
    # (1 − a/2)(y² + z²) ≤ Q ≤ (1 + a/2)(y² + z²): powers stay below √((2 + a)/(2 − a)), or grow like n
    if bounded:
        assert largest <= np.sqrt((2 + a) / (2 - a)) * (1 + 1e-6)
    else:
        assert largest > 1000


def test_degrees_by_differences():
    """The pins 2, 4, 8 and 3, 9, 27: at q^n + 2 integers, the differences of order q^n are equal and not 0."""
    for q in (2, 3):
        for n in (1, 2, 3):
            degree = q**n

            def step(y, n=n, q=q):
                k = Fraction(0)
                for _ in range(n):
                    k = (y + k) ** q
                return y + k

            values = [step(Fraction(x)) for x in range(degree + 2)]
            for _ in range(degree):
                values = [b - a for a, b in itertools.pairwise(values)]
            assert values[0] == values[1] != 0
            named = orders._chain(n, q)
            assert orders._degree(named) == orders._degree_again(named) == degree == orders._leading(n, q)[0]
