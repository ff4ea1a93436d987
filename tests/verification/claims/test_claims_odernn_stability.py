"""Theorem 1 of the ODERNN paper on trial, reading by reading: what comes out, that every refutation is seen by a third
computation in floats, that both back-ends agree on random steps, and that planted falsehoods fall and truths stand.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import asdict, replace
from fractions import Fraction

import numpy as np
import pytest

from odernn import tableaus
from odernn.properties.algebraic_stability import algebraic_stability, burrage_butcher
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.published.sources import Source
from odernn.tableaus.methods import in_stages
from tests.tiers import only, spread, without
from tests.verification.claims import claim_rows as rows
from verification.adversary import monotone_fields
from verification.adversary.monotone_fields import BlockStep, rational_member, worst
from verification.answer import answer
from verification.cases.energy_balance import Balance, implied_case
from verification.cases.pointwise_pieces import piece_case
from verification.cases.pointwise_steps import pointwise_case
from verification.cases.typed_steps import step_of
from verification.certify import contraction_check
from verification.certify import typed_step_exact as typed_step_first
from verification.certify.pointwise_step import linear_piece, typed
from verification.certify.second import pointwise_step as pointwise_again
from verification.certify.second import typed_step as typed_step_second
from verification.certify.typed_step import ContractionReading, MatrixTable, parsed, written
from verification.claim import Claim
from verification.claims.odernn import burrage_butcher as tensors
from verification.claims.odernn import odernn_contraction as contraction
from verification.claims.odernn import odernn_stability as stability
from verification.claims.odernn import qunn_conditions
from verification.domains import BUDGETS
from verification.parameters import RefusedError
from verification.registry import Registry
from verification.verdict import doubt_about
from verification.witness.check import check
from verification.witness.file import from_json

FAMILIES = (stability, contraction, tensors, qunn_conditions)
CLAIMS = {claim.id: claim for family in FAMILIES for claim in family.CLAIMS}
SMOKE = BUDGETS["smoke"]
REFUTED, PROVED, NOT_REFUTED = "refuted", "proved", "not-refuted"

EXPECTED = {
    "ode-T1": {
        "S = 1, f(y) = ReLU(b − y) | ‖Δy₊‖₂ ≤ ‖Δy‖₂": REFUTED,
        "S = 1, f(y) = ReLU(b + y), the printed sign | ‖Δy₊‖₂ ≤ ‖Δy‖₂": REFUTED,
        "S = 2, f_i(y) = ReLU(b_i − y) | some norm": REFUTED,
        "S = 1 | ‖Δy₊‖₂ ≤ ‖Δy‖₂": REFUTED,
        "S = 2 | some norm": REFUTED,
        "S = 2, B_i = I, M without transposes | some norm": REFUTED,
        "‖Δy₊‖₂ ≤ ‖Δy‖₂": PROVED,
    },
    "ode-T1-1st": {"‖Δy₊‖₂ ≤ ‖Δy‖₂": REFUTED, "some norm": REFUTED},
    "ode-T1-sign": {"|Δy₊| ≤ |Δy|": REFUTED},
    "ode-T1-diff": {"|Δy₊| ≤ |Δy|": REFUTED, "‖y₊‖ ≤ ‖y‖": PROVED},
    "ode-T1-dyn": {
        "‖Δy₊‖ ≤ ‖Δy‖ at each step": PROVED,
        "some norm": REFUTED,
        "|Δy₊| ≤ |Δy|, gate relu(y)": REFUTED,
    },
    "ode-T1-nec": {"|Δy₊| ≤ |Δy|": REFUTED, "M ≱ 0 ⇒ |Δy₁| > |Δy₀|": PROVED},
    "ode-T1-scalar": {"‖Δy₊‖ ≤ ‖Δy‖": PROVED, "‖Δy₊‖/‖Δy‖": NOT_REFUTED},
    "thm-1*": {
        "‖Δy₊‖_G ≤ ‖Δy‖_G": PROVED,
        "‖y₊‖_G ≤ ‖y‖_G": PROVED,
        "‖Δy₊‖_G/‖Δy‖_G, G = P⁻¹": NOT_REFUTED,
        "‖Δy₊‖/‖Δy‖": NOT_REFUTED,
        "M and G B_i for G = det(P) P⁻¹": PROVED,
        "wᵀ B_i Δf = −Σ (Kw)_r Δσ_r": PROVED,
    },
    "ode-T1-relu": {
        "relu, σ(y) | (u−v)ᵀ(f(u)−f(v)) ≥ 0": PROVED,
        "tanh, σ(y) | (u−v)ᵀ(f(u)−f(v)) ≥ 0": PROVED,
        "(u−v)ᵀ(f(u)−f(v)) ≥ 0": REFUTED,
        "(u−v)ᵀ(f(u)−f(v)) ≤ 0": REFUTED,
    },
    "ode-eq5": {
        "S = 1, any blocks | M without transposes": REFUTED,
        "S = 2, symmetric blocks | M without transposes": REFUTED,
        "M without transposes": PROVED,
        "M with transposes and G": PROVED,
    },
    "thm-E": {"energy identity": PROVED},
    "thm-1-expl": {"M_ii + B_iᵀ G B_i": PROVED},
    "ode-T1-expl": {
        "I: M ≥ 0 for some G > 0": REFUTED,
        "URNN, leak form | II: B_i ≥ 0": PROVED,
        "II: B_i ≥ 0": REFUTED,
    },
    "ode-Q3": {
        "conditions I and II: M ≥ 0, every B_i ≥ 0": PROVED,
        "condition I: M ≥ 0 for some G > 0": REFUTED,
        "condition I: M ≥ 0": REFUTED,
        "‖W z‖ ≤ ‖z‖": REFUTED,
        "every layer is non-expansive": PROVED,
    },
}
"""Verdict by quantity, or by "domain | quantity" where the quantity alone does not tell."""

CASES = [(q.id, c.domain, c.quantity) for q in CLAIMS.values() for c in q.cases]


def judged(case):
    judgement = answer(Claim("planted", Source("odernn", "p"), "planted", "real", (case,)), case, SMOKE, 3)
    assert judgement.verdict != "error", judgement.because
    return judgement


@pytest.fixture(scope="module")
def judgements():
    return {
        (name, case.domain, case.quantity): answer(claim, case, SMOKE, 1)
        for name, claim in CLAIMS.items()
        for case in claim.cases
    }


def test_every_question_is_registered_and_pinned():
    ids = {each.claim.id for each in Registry()}
    assert set(CLAIMS) <= ids and set(EXPECTED) == set(CLAIMS)
    assert len(CLAIMS) == 14 and len(CASES) == 93


@pytest.mark.parametrize(("name", "domain", "quantity"), CASES)
def test_verdict(judgements, name, domain, quantity):
    judgement = judgements[name, domain, quantity]
    assert judgement.verdict == rows.pinned(EXPECTED[name], domain, quantity), judgement.because
    assert judgement.because


def test_every_refutation_is_checked_again_from_its_text(judgements):
    registry, checked = Registry(), 0
    for judgement in judgements.values():
        if judgement.verdict == REFUTED:
            replayed = check(from_json(judgement.witness), registry)
            assert replayed.certified and sum("violates" in line for line in replayed.lines) == 2, replayed.lines
            checked += 1
    assert checked == sum(rows.pinned(EXPECTED[name], *place) == REFUTED for name, *place in CASES) == 53


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__.rpartition(".")[2])
def test_a_family_names_no_verdict(family):
    rows.assert_names_no_verdict(family)


@pytest.mark.parametrize("name", spread(CLAIMS, 4))
def test_names_do_not_matter(judgements, name):
    claim = CLAIMS[name]
    other = replace(claim, id=next(each for each in CLAIMS if each != name))
    for case in claim.cases:
        mine, theirs = judgements[name, case.domain, case.quantity], answer(other, case, SMOKE, 1)
        assert (mine.verdict, mine.because) == (theirs.verdict, theirs.because)


# --- a third computation: floats, the stages solved together


def float_step(step):
    """R of all tables, by one dense solve a table in doubles."""
    D, S, eta = step.size, step.stages, float(step.eta)
    total = np.eye(D)
    for table in step.tables:
        A, B, N = (np.array(x, dtype=float) for x in (table.A, table.B, step.N))
        rows = np.block([[A[i][j] for j in range(S)] for i in range(S)])
        fields = np.zeros((S * D, S * D))
        for i in range(S):
            fields[i * D : i * D + D, i * D : i * D + D] = N[i]
        k = np.linalg.solve(np.eye(S * D) - eta * fields @ rows, fields @ np.tile(np.eye(D), (S, 1)))
        total = (np.eye(D) + eta * np.hstack(list(B)) @ k) @ total
    return total


def typed_witnesses(judgements):
    for (name, domain, quantity), judgement in judgements.items():
        if judgement.verdict == REFUTED and name.startswith("ode-T1"):
            parameters = json.loads(judgement.witness)["parameters"]
            if "N" in parameters:
                yield name, domain, quantity, parameters


def test_floats_see_every_refutation_of_theorem_1(judgements):
    seen = 0
    for name, domain, quantity, parameters in typed_witnesses(judgements):
        R = float_step(parsed(parameters))
        if "some norm" in quantity or "|Δy₊|" in quantity:
            assert np.abs(np.linalg.eigvals(R)).max() > 1.01, (name, domain)
        else:
            assert np.linalg.norm(R, 2) > 1.01, (name, domain)
        seen += 1
    assert seen == 15


def test_the_printed_tensor_is_zero_where_two_solutions_move_apart_without_bound(judgements):
    """Every block of M as printed is 0, B_i = I, and the distance grows by √(37/13) a step in every direction."""
    place = ("ode-T1", "S = 2, B_i = I, M without transposes", "some norm")
    step = parsed(json.loads(judgements[place].witness)["parameters"])
    (table,) = step.tables
    A, B = np.array(table.A, dtype=float), np.array(table.B, dtype=float)
    for i in range(2):
        assert np.array_equal(B[i], np.eye(2))
        assert all(np.linalg.eigvalsh(np.array(N, dtype=float) + np.array(N, dtype=float).T).max() <= 0 for N in step.N)
        for j in range(2):
            assert np.abs(B[i] @ A[i][j] + B[j] @ A[j][i] - B[i] @ B[j]).max() == 0
    transposed = B[0].T @ A[0][1] + A[1][0].T @ B[1] - B[0].T @ B[1]
    assert np.linalg.norm(transposed) > 1
    R = np.linalg.matrix_power(float_step(step), 20)
    assert np.linalg.svd(R)[1] == pytest.approx([(37 / 13) ** 10] * 2, rel=1e-12)


def test_one_stage_can_be_unbounded_in_every_norm(judgements):
    place = ("ode-T1-1st", "A = P/2 + kP⁻¹J, B = P", "some norm")
    step = parsed(json.loads(judgements[place].witness)["parameters"])
    A, B = (np.array(x, dtype=float) for x in (step.tables[0].A[0][0], step.tables[0].B[0]))
    assert np.abs(B @ A + A.T @ B - B @ B).max() < 1e-15 and np.linalg.eigvalsh(B).min() > 0
    assert sorted(np.abs(np.linalg.eigvals(float_step(step)))) == pytest.approx([0.5, 2.0])


def fixed_point(A, b, y, slope, rounds=400):
    """Y of the implicit stage in floats, by damped iteration: no linear regions."""
    Y = np.array(y)
    for _ in range(rounds):
        Y = Y + 0.25 * (y + A @ np.maximum(slope * Y + b, 0.0) - Y)
    return Y


@pytest.mark.parametrize(
    ("domain", "slope"), [("S = 1, f(y) = ReLU(b − y)", -1), ("S = 1, f(y) = ReLU(b + y), the printed sign", 1)]
)
def test_floats_see_relu_networks_move_apart(judgements, domain, slope):
    """A third computation, which knows no linear region; and the field is monotone at random pairs and nonlinear."""
    parameters = json.loads(judgements["ode-T1", domain, "‖Δy₊‖₂ ≤ ‖Δy‖₂"].witness)["parameters"]
    D = int(parameters["D"])
    A, B = (np.array([float(Fraction(x)) for x in parameters[n].split()]).reshape(D, D) for n in ("A", "B"))
    b, u, v = (np.array([float(Fraction(x)) for x in parameters[n].split()]) for n in ("b", "u", "v"))
    assert parameters["eta"] == "1" and np.abs(B.T @ A + A.T @ B - B.T @ B).max() == 0
    assert np.array_equal(B, B.T) and np.linalg.eigvalsh(B).min() > 0
    ends = []
    for y in (u, v):
        Y = fixed_point(A, b, y, slope)
        assert np.abs(Y - y - A @ np.maximum(slope * Y + b, 0.0)).max() < 1e-9
        ends.append(y + B @ np.maximum(slope * Y + b, 0.0))
    assert np.linalg.norm(ends[0] - ends[1]) > 1.01 * np.linalg.norm(u - v)
    pairs = np.random.default_rng(0).normal(size=(2, 500, D)) * 20
    forces = [np.maximum(slope * y + b, 0.0) for y in pairs]
    assert (slope * (pairs[0] - pairs[1]) * (forces[0] - forces[1])).sum(axis=1).min() >= 0
    assert np.maximum(slope * pairs[0] + b, 0.0).min() == 0.0 < np.maximum(slope * pairs[0] + b, 0.0).max()


def test_ordinary_tanh_networks_with_antisymmetric_weights_have_both_signs():
    """Random pairs, not the witness: σ(Jy) is monotone in neither sense."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 2000, 2))
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    for sigma in (np.tanh, lambda x: np.maximum(x, 0.0)):
        values = ((u - v) * (sigma(u @ J.T) - sigma(v @ J.T))).sum(axis=1)
        assert values.min() < -0.1 and values.max() > 0.1


# --- both back-ends on random steps


def random_step(rng: random.Random):
    D, S = rng.choice(((1, 1), (1, 2), (2, 1), (2, 2)))

    def block(kind="any"):
        rows = [[Fraction(rng.randint(-3, 3), rng.randint(1, 3)) for _ in range(D)] for _ in range(D)]
        if kind == "semidefinite":
            rows = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
        if kind == "skew":
            rows = [[rows[i][j] - rows[j][i] for j in range(D)] for i in range(D)]
        return tuple(map(tuple, rows))

    A = tuple(tuple(block() for _ in range(S)) for _ in range(S))
    weights = tuple(block(rng.choice(("any", "semidefinite"))) for _ in range(S))
    fields = [block(rng.choice(("any", "skew", "semidefinite"))) for _ in range(S)]
    G = rng.choice((None, block("semidefinite")))
    return written([MatrixTable(A, weights)], fields, G=G, eta=Fraction(rng.randint(1, 4), 2))


NORMS, TENSORS = ("euclidean", "weighted", "every"), ("transposed", "printed", "any")


@pytest.mark.parametrize(("norm", "tensor"), only(itertools.product(NORMS, TENSORS), *zip(NORMS, TENSORS, strict=True)))
def test_back_ends_agree_on_random_steps(tensor, norm):
    rng = random.Random(f"{tensor} {norm}")
    seen = set()
    for _ in range(120):
        parameters = random_step(rng)
        step = parsed(parameters)
        reading = ContractionReading(
            tensor, rng.choice((-1, 1)), rng.choice((False, True)), norm, rng.choice((False, True))
        )
        ones = typed_step_first.facts(step, reading)
        others = typed_step_second.facts(parameters, **asdict(reading))
        assert [each.holds for each in ones] == [holds for holds, _ in others]
        first, _ = typed_step_first.violation(step, reading)
        second, _ = typed_step_second.violation(parameters, norm=reading.norm)
        assert first == second
        seen |= {("violated", first), *(("premise", k, each.holds) for k, each in enumerate(ones))}
        R = typed_step_first.matrix(step)
        if R is not None:
            exact = [[int(x.p) / int(x.q) for x in row] for row in R.tolist()]
            assert np.allclose(exact, float_step(step), rtol=1e-9, atol=1e-9 * np.abs(exact).max())
    assert ("violated", True) in seen and ("violated", False) in seen
    assert {("premise", 0, True), ("premise", 0, False)} <= seen


ONE_STAGE = {"D": "1", "S": "1", "eta": "1", "A": "1/2", "B": "1", "N": "-1"}
WEIGHTED = ContractionReading(norm="weighted")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"eta": "0"}, "eta"),
        ({"D": "3", "S": "3", "A": " ".join("0" * 81), "B": " ".join("0" * 27), "N": " ".join("0" * 27)}, "at most 8"),
        ({"A": "1 2"}, "A"),
        ({"B": "1 2"}, "B"),
        ({"N": "1 2"}, "N"),
        ({"D": "3/2"}, "D"),
        ({"P": "1"}, "P"),
        ({"D": "2", "A": "0 0 0 0", "B": "0 0 0 0", "N": "0 0 0 0", "G": "1 1 0 1"}, "Aᵀ = A"),
    ],
)
def test_parameters_that_do_not_fit_are_named(change, named):
    guarded = step_of(WEIGHTED).guards(lambda typed: contraction_check.check(typed, WEIGHTED))
    assert guarded(ONE_STAGE).premises
    with pytest.raises(RefusedError, match=named):
        guarded({**ONE_STAGE, **change})


TURN = {"D": "2", "S": "1", "eta": "1", "A": "1/2 0 0 1", "B": "1 0 0 2", "N": "0 1 -1 0"}
"""Against Theorem 1 with matrix coefficients, and against nothing else."""
FORGED = {
    "matrices for the numbers of a method": ("ode-T1-scalar", "implicit midpoint, monotone fields", TURN, "A"),
    "another method": (
        "ode-T1-nec", "euler", {"D": "2", "S": "1", "eta": "1", "a": "0", "b": "3", "N": "0 1 -1 0"}, "b",
    ),
    "more stages": (
        "ode-T1-sign", "implicit midpoint", {"D": "1", "S": "2", "eta": "1", "A": "1/2 0 0 0", "B": "1 0", "N": "1 1"},
        "S",
    ),
    "the norm without its weight": (
        "thm-1*", "radau iia 2, P = ((1, 0), (0, 4)), weighted fields", TURN, "A",
    ),
    "another weight": (
        "thm-1*", "radau iia 2, P = ((1, 0), (0, 4)), weighted fields", {"P": "1 0 0 1", "N": "0 1 -1 0 0 1 -1 0"}, "P",
    ),
    "A that is not P/2": ("ode-T1-1st", "A = P/2, B = P", {**TURN, "A": "1/2 0 0 3"}, "A = P/2"),
    "A that is not turned": ("ode-T1-1st", "A = P/2 + kP⁻¹J, B = P", {**TURN, "A": "1/2 1 1 1"}, "kP⁻¹J"),
    "weights beside I": (
        "ode-T1", "S = 2, B_i = I, M without transposes",
        {"D": "1", "S": "2", "eta": "1", "A": "1 1 1 1", "B": "1 2", "N": "-1 -1"}, "every B_i is I",
    ),
    "another f": ("ode-T1-diff", "implicit midpoint, y f(y) ≤ 0", {"c": "3", "Y": "1/2 1"}, "c"),
    "a gate below 0": (
        "ode-T1-dyn", "class (c): coefficients gated by the state", {"g": "-1", "c": "1", "u": "0", "v": "1"}, "g",
    ),
    "a matrix that is not skew": ("ode-T1-relu", "relu, σ(Ky + b), K = −Kᵀ", {"K": "-1", "u": "1", "v": "0"}, "K"),
    "a matrix beside σ": ("ode-T1-relu", "tanh, σ(y)", {"K": "-1", "u": "1", "v": "0"}, "K"),
    "another chain": (
        "ode-Q3", "ResNet form, N = 1", {"D": "1", "S": "1", "eta": "1", "a": "1/4", "b": "1", "N": "0"}, "a",
    ),
    "no component": ("ode-T1-expl", "URNN, leak form", {"stage": "1", "component": "0", "z": "1/2"}, "component"),
    "a gate outside": ("ode-T1-expl", "GRU, gated", {"stage": "0", "component": "1", "z": "2"}, "z"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_what_a_case_is_not_about_is_refused(name):
    claim, domain, parameters, named = FORGED[name]
    cases = [case for case in CLAIMS[claim].cases if case.domain == domain]
    assert cases
    for case in cases:
        with pytest.raises(RefusedError, match=named):
            case.check(parameters)


@pytest.mark.parametrize(
    ("domain", "N"),
    [
        ("radau iia 2, P = ((1, 0), (0, 4)), weighted fields", "0 1 -1 0 -1 2 -2 -3"),
        ("lobatto iiic 2, P = ((1, 0), (0, 4)), diagonal fields", "-1 0 0 0 0 0 0 -5"),
        ("radau iia 2, P = ((1, 2), (-1, 1)), gradient fields", "-1/3 2/3 -1/3 -1/3 -3 3 0 0"),
    ],
)
def test_fields_of_the_class_obey_every_premise_of_the_library_theorem(domain, N):
    """And contract. Of the third, P N_1 = −I and P N_2 = −3 (1 −1; −1 1)."""
    (case,) = (case for case in CLAIMS["thm-1*"].cases if case.domain == domain)
    check = case.check({"D": "2", "S": "2", "eta": "3", "N": N})
    assert all(premise.holds for premise in check.premises), check.premises
    assert not any(opinion.violated for opinion in check.opinions)
    assert "≤ 0" in rows.doubt_of(case, {"eta": "3", "N": "1 0 0 1 1 0 0 1"})


@pytest.mark.parametrize("name", ["gauss 2", "radau iia 3"])
def test_a_method_with_irrational_numbers_cannot_be_typed_in(name):
    assert contraction.worst_case(name).check is None


@pytest.mark.parametrize(
    ("change", "premise"),
    [
        ({"N": "0 1 -1 1/8"}, "(f_i(u)"),
        ({"B": "1 1 0 2"}, "B_i"),
        ({"B": "1 0 0 -2"}, "B_i"),
        ({"A": "1/4 0 0 1"}, "M ≥ 0"),
        ({"A": "1/2 0 0 3/4"}, "M ≥ 0"),
        ({"N": "2 0 0 1"}, "one solution"),
    ],
)
def test_no_refutation_without_its_hypotheses(change, premise):
    case = CLAIMS["ode-T1"].case("S = 1", "‖Δy₊‖₂ ≤ ‖Δy‖₂")
    good = {"D": "2", "S": "1", "eta": "1", "A": "1/2 0 0 1", "B": "1 0 0 2", "N": "0 1 -1 0"}
    assert not rows.doubt_of(case, good)
    check = case.check({**good, **change})
    assert any(premise in each.text and not each.holds for each in check.premises)
    assert doubt_about(check, case)


def test_stages_of_one_abscissa_must_share_their_field():
    case = CLAIMS["ode-T1-nec"].case("rk4", "|Δy₊| ≤ |Δy|")
    (good,) = case.ask(SMOKE, 0).candidates
    assert not rows.doubt_of(case, good)
    fields = good["N"].split()
    fields[4:8] = ["0", "1", "-1", "0"]  # stages 2 and 3 of RK4 have c = 1/2
    assert "share their field" in rows.doubt_of(case, {**good, "N": " ".join(fields)})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"A": "1 1/2 1/2 1/4"}, "M ≥ 0"),
        ({"B": "2 1 0 1"}, "B = Bᵀ ≥ 0"),
        ({"B": "0 1 1 0", "A": "0 1/2 1/2 0"}, "B = Bᵀ ≥ 0"),
        ({"B": "-4 0 0 -4", "A": "-2 0 0 -2"}, "B = Bᵀ ≥ 0"),
        ({"A": "-1 0 0 -1"}, "one solution"),
    ],
)
def test_a_pointwise_step_refutes_nothing_without_its_hypotheses(change, named):
    case = CLAIMS["ode-T1"].case("S = 1, f(y) = ReLU(b − y)", "‖Δy₊‖₂ ≤ ‖Δy‖₂")
    good = {"D": "2", "eta": "1", "A": "1 1/2 1/2 1/2", "B": "2 1 1 1", "b": "10 -10", "u": "0 0", "v": "-1 1"}
    assert not rows.doubt_of(case, good)
    checked = case.check({**good, **change})
    assert any(named in each.text and not each.holds for each in checked.premises)
    assert rows.doubt_of(case, {**good, **change})


def test_both_typings_of_a_pointwise_step_agree_on_random_ones():
    rng, grown = random.Random(4), set()
    for _ in range(150):
        D, slope = rng.choice((1, 2, 2, 3)), rng.choice((-1, 1))

        def draw(count, rng=rng):
            return " ".join(str(Fraction(rng.randint(-4, 4), rng.randint(1, 3))) for _ in range(count))

        place = {"D": str(D), "eta": "1/2"} | {name: draw(D * D) for name in "AB"} | {name: draw(D) for name in "buv"}
        checked = pointwise_case("p", slope).check(place)
        first, second = typed(place, slope).squares(), pointwise_again.distances(place, slope)
        assert (first is None) == (second is None)
        if first is not None:
            assert [Fraction(int(x.p), int(x.q)) for x in first] == list(second)
        assert not checked.contradiction
        grown.add(checked.opinions[0].violated)
    assert grown == {True, False}


PIECE = {
    "D": "2", "S": "2", "eta": "4", "A": "1/2 1/2 1/2 1 0 0 0 0 1 1 1 2 1 -1/2 -1/2 1/2", "B": "1 1 1 2 2 -1 -1 1",
    "b": "9 -9 -9 18", "y": "0 0",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"A": "1/2 1/2 1/2 1 0 0 0 0 1 1 1 2 1 -1/2 -1/2 1/4"}, "M ≥ 0"),
        ({"A": "1/2 1/2 1/2 1 0 0 0 0 0 0 0 0 1 -1/2 -1/2 1/2"}, "M ≥ 0 without transposes"),
        ({"B": "1 1 0 2 2 -1 -1 1"}, "B_i = B_iᵀ ≥ 0"),
        ({"b": "0 0 0 0"}, "at its kink"),
        ({"eta": "1", "A": "-1 0 0 0 0 0 0 0 1 1 1 2 1 -1/2 -1/2 1/2"}, "one solution"),
    ],
)
def test_a_linear_piece_refutes_nothing_without_its_hypotheses(change, named):
    case = CLAIMS["ode-T1"].case("S = 2, f_i(y) = ReLU(b_i − y)", "some norm")
    good = case.check(PIECE)
    assert "det R = 1/9, tr R = -22/9" in good.words and not rows.doubt_of(case, PIECE)
    checked = case.check({**PIECE, **change})
    assert any(named in each.text and not each.holds for each in checked.premises)
    assert rows.doubt_of(case, {**PIECE, **change}) and not checked.contradiction


def test_both_typings_find_the_same_linear_piece_and_it_is_that_of_the_step():
    rng, found = random.Random(5), []
    for _ in range(120):
        D, slope = rng.choice((1, 2)), rng.choice((-1, 1))

        def draw(count, rng=rng):
            return " ".join(str(Fraction(rng.randint(-4, 4), rng.randint(1, 3))) for _ in range(count))

        sizes = {"A": 4 * D * D, "B": 2 * D * D, "b": 2 * D, "y": D}
        place = {"D": str(D), "S": "2", "eta": "1/2"} | {name: draw(count) for name, count in sizes.items()}
        piece = linear_piece(place, slope)
        assert piece == pointwise_again.piece(place, slope)
        found.append(piece)
        if piece is not None:
            y, eta = np.array([float(Fraction(x)) for x in place["y"].split()]), 0.5
            A, b = (np.array([float(Fraction(x)) for x in place[name].split()]) for name in ("A", "b"))
            A = A.reshape(2, 2, D, D).transpose(0, 2, 1, 3).reshape(2 * D, 2 * D)
            on = np.diag(piece)
            Y = np.linalg.solve(np.eye(2 * D) - slope * eta * A @ on, np.tile(y, 2) + eta * A @ on @ b)
            np.testing.assert_allclose(Y, np.tile(y, 2) + eta * A @ np.maximum(slope * Y + b, 0), atol=1e-9)
    assert None in found and len(set(found)) > 8


QUARTERS = ["-2", "-1", "-1/2", "0", "1/4", "1", "2"]
TURNS = ("1 0 0 1", "0 1 -1 0", "-1 2 3 1")
SQUARE = [(u, v) for u in QUARTERS for v in QUARTERS]
GRIDS = {
    "gated": (
        stability.gated_case(),
        [{"g": g, "c": c, "u": u, "v": v} for g in ("1", "3") for c in ("0", "2") for u, v in SQUARE],
    ),
    "y f(y) ≤ 0": (stability.single_case(), [{"c": "2", "Y": f"{u} {v}"} for u, v in SQUARE if u != v]),
    "relu": (
        contraction.sign_case("relu", "K", 1),
        [{"K": K, "u": f"{u} {v}", "v": "1 -1"} for K in TURNS for u, v in SQUARE],
    ),
    "tanh": (
        contraction.sign_case("tanh", "K", -1),
        [{"K": K, "u": f"{u} {v}", "v": "1 -1"} for K in TURNS for u, v in SQUARE if (u, v) != ("1", "-1")],
    ),
    "B_i": (
        tensors.condition_case("GRU, constant", "II"),
        [{"stage": i, "component": c, "z": "1/2"} for i in ("0", "4") for c in ("1", "2")],
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_both_back_ends_have_one_opinion(name):
    case, grid = GRIDS[name]
    opinions = [[each.violated for each in case.check(parameters).opinions] for parameters in grid]
    assert all(first == second for first, second in opinions)
    assert {first for first, _ in opinions} == {True, False}


# --- planted falsehoods, and truths beside them

ANY = ContractionReading(tensor="any")
FALSEHOODS = {
    "identity with 1 for 2": Balance(2, 2, work=1).case("p", "p"),
    "identity with 2η² gᵀMg": Balance(2, 1, dissipation=2).case("p", "p"),
    "identity with the other sign of M": Balance(1, 1, dissipation=-1).case("p", "p"),
    "printed M, S = 2, symmetric B": Balance(2, 2, "symmetric B", printed=True).case("p", "p"),
    "M_ii = −2 BᵀGB": tensors.explicit_case(2, -2),
    "M_ii = BᵀGB": tensors.explicit_case(1, 1),
    "M = 2 m_ij P": contraction.weighted_tensor_case(2),
    "f = +Kᵀσ": contraction.gradient_field_case(2, 1),
    "without condition I, searched": contraction.worst_case("lobatto iiia 2", reading=ANY),
    "without condition I, explicit": contraction.worst_case("heun 3", reading=ANY),
    "layers as blocks that do not enter themselves, plain": qunn_conditions.blocks_case("plain", Fraction(0)),
    "layers as blocks that enter themselves by a quarter": qunn_conditions.blocks_case("ResNet", Fraction(1, 4)),
    "an explicit layer": qunn_conditions.one_after_another_case(),
    "outward Gauss": stability.searched("p", "p", ContractionReading(sign=1), stability.outward("implicit euler")),
    "two outward stages": piece_case("p", 1, off=0),
    "G = I for P = diag(1, p)": stability.searched("p", "p", ContractionReading(), stability.midpoints()),
}


@pytest.mark.parametrize("name", FALSEHOODS)
def test_a_planted_falsehood_is_refuted(name):
    judgement = judged(FALSEHOODS[name])
    assert judgement.verdict == REFUTED, judgement.because


@pytest.mark.parametrize(
    "balance",
    [
        Balance(2, 2),
        Balance(1, 3),
        Balance(2, 2, work=1),
        Balance(2, 2, dissipation=2),
        Balance(2, 2, printed=True),
        Balance(2, 2, "symmetric", printed=True),
        Balance(2, 1, printed=True, dissipation=3),
    ],
    ids=str,
)
def test_both_typings_of_the_balance_have_the_same_difference_of_its_sides(balance):
    """Not only whether it is 0: at random rationals the two are one number, for true identities and false ones."""
    rng = random.Random(8)
    values = []
    for _ in range(5):
        v = {name: Fraction(rng.randint(-9, 9), rng.randint(1, 4)) for name in balance.names}
        assert balance.residual(v) == balance.again(v)
        values += balance.residual(v)
    is_true = not balance.printed and (balance.work, balance.dissipation) == (2, 1)
    assert all(x == 0 for x in values) is is_true


@pytest.mark.parametrize("form", ["plain", "ResNet"])
@pytest.mark.parametrize("change", ["below the diagonal", "the last weight"])
def test_a_table_that_computes_something_else_is_seen(form, change, monkeypatch):
    """A stage that takes half of one before it, a weight that leaves the last stage out."""
    made = qunn_conditions._coefficients

    def other(*arguments):
        A, B = made(*arguments)
        if change == "the last weight":
            B[-1] = [[0 * x for x in row] for row in B[-1]]
        else:
            A[-1][0] = [[x / 2 for x in row] for row in A[-1][0]]
        return A, B

    monkeypatch.setattr(qunn_conditions, "_coefficients", other)
    check = qunn_conditions.blocks_case(form).check({"d": "1", "N": "2"})
    assert [opinion.violated for opinion in check.opinions] == [True, False]
    assert "is not the layers" in check.opinions[0].text


@pytest.mark.parametrize("own", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_both_back_ends_have_one_tensor_for_the_layers_of_a_qunn(own):
    """M of matrices is M of the numbers times the identity on four blocks."""
    numbers = qunn_conditions._typed_tensor(3, own)
    M = BlockTableau(*qunn_conditions._coefficients(3, own)).burrage_butcher()
    found = [[Fraction(str(M[4 * i][4 * j])) for j in range(3)] for i in range(3)]
    assert found == numbers
    assert all(M[r][c] == (M[r // 4 * 4][c // 4 * 4] if r % 4 == c % 4 else 0) for r in range(12) for c in range(12))


def test_an_identity_with_a_wrong_factor_proves_nothing():
    wrong = implied_case("p", "p", (Balance(1, 1, "scalar", work=1),), "nothing")
    assert judged(wrong).verdict == NOT_REFUTED


EVERY, IN_G = ContractionReading(norm="every"), ContractionReading(weighted=True, norm="weighted")
TRUTHS = {
    "P = I": stability.searched("p", "p", ContractionReading(), stability.midpoints(largest=1)),
    "in G = P⁻¹": stability.searched("p", "p", IN_G, stability.midpoints("inverse")),
    "A = P/2, some norm": stability.searched("p", "p", EVERY, stability.turned_midpoints(0)),
    "A_12 = A_21": stability.searched("p", "p", EVERY, stability.turned_couplings(0)),
    "alternating, P = I": stability.searched("p", "p", EVERY, stability.alternating(1, most=1)),
    "two tables, P = I": stability.searched("p", "p", EVERY, stability.alternating(2, most=1)),
    "a diagonal B": pointwise_case("p", -1, off=0),
    "two diagonal B_i": piece_case("p", -1, off=0),
    "an implicit layer": qunn_conditions.one_after_another_case(Fraction(1, 2)),
    "constant gate": stability.gated_case("1"),
    "f(y) = −y³": stability.single_case(0),
    "Radau IA 2": contraction.worst_case("radau ia 2"),
    "B_i ≥ 0 of Euler": tensors.condition_case("URNN, leak form", "II"),
}


SEARCHED_LONG = ("P = I", "in G = P⁻¹", "A = P/2, some norm", "two tables, P = I", "two diagonal B_i")
"""Searches of seconds, beside "A_12 = A_21", "alternating, P = I" and "a diagonal B", searched in the same way."""


@pytest.mark.parametrize("name", without(TRUTHS, *SEARCHED_LONG))
def test_a_true_sibling_is_not_refuted(name):
    judgement = judged(TRUTHS[name])
    assert judgement.verdict in (PROVED, NOT_REFUTED), judgement.because


def test_a_method_that_is_not_algebraically_stable_does_not_count_against_theorem_1():
    judgement = judged(contraction.worst_case("lobatto iiia 2"))
    assert judgement.verdict == "suspect" and "M ≥ 0" in judgement.because


# --- the search


def scalar_step(name: str, size: int) -> BlockStep:
    tableau = in_stages(tableaus.get(name))
    A, b = (np.array([[float(x) for x in row] for row in rows]) for rows in (tableau.A, [tableau.b]))
    return BlockStep(A[:, :, None, None] * np.eye(size), b[0][:, None, None] * np.eye(size), np.eye(size))


STABLE = (
    "implicit midpoint",
    "gauss 2",
    "gauss 3",
    "radau iia 2",
    "radau iia 3",
    "lobatto iiic 2",
    "lobatto iiic 3",
)


@pytest.mark.parametrize("name", STABLE)
@pytest.mark.parametrize("size", only([1, 2, 3], 2))
def test_worst_contraction_ratio_on_random_monotone_fields(name, size):
    found = worst(scalar_step(name, size), "monotone", 40, 5)
    assert 0.9 < found.ratio <= 1 + 1e-8
    assert 0.9 < found.control <= 1 + 1e-12
    assert np.linalg.eigvalsh(found.N + found.N.swapaxes(1, 2)).max() < 1e-9 * max(1.0, np.abs(found.N).max())


def nonlinear_step(A, b, f, jacobian, y):
    """One step with η = 1 by damped Newton steps on all stages: y₊."""
    S, D = len(b), len(y)
    Y = np.tile(y, (S, 1))
    for _ in range(60):
        residual = Y - y - A @ np.array([f(each) for each in Y])
        slopes = [jacobian(each) for each in Y]
        if np.abs(residual).max() < 1e-13:
            break
        matrix = np.block([[(i == j) * np.eye(D) - A[i, j] * slopes[j] for j in range(S)] for i in range(S)])
        change, share = np.linalg.solve(matrix, residual.reshape(-1)).reshape(S, D), 1.0
        while share > 1e-6:  # halved until the residual falls
            tried = Y - share * change
            if np.linalg.norm(tried - y - A @ np.array([f(each) for each in tried])) < np.linalg.norm(residual):
                break
            share /= 2
        Y = Y - share * change
    assert np.abs(Y - y - A @ np.array([f(each) for each in Y])).max() < 1e-11
    return y + b @ np.array([f(each) for each in Y])


@pytest.mark.parametrize("name", ["implicit midpoint", "gauss 2", "radau iia 2", "lobatto iiic 2"])
def test_nonlinear_monotone_fields_are_contracted_and_their_opposites_are_not(name):
    """f(y) = S y − Kᵀ tanh(K y + b), S skew: pairs never move apart; with + Kᵀ tanh some do."""
    tableau, rng = in_stages(tableaus.get(name)), np.random.default_rng(7)
    A = np.array([[float(a) for a in row] for row in tableau.A])
    weights = np.array([float(b) for b in tableau.b])
    largest = {-1: 0.0, 1: 0.0}
    for _ in range(30):
        C, K, drive = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
        u, v = rng.normal(size=(2, 3))
        for sign in largest:
            scale = 1.0 if sign < 0 else 0.1  # small enough for one solution of the stage equations

            def f(y, K=K, C=C, sign=sign, scale=scale, drive=drive):
                return scale * ((C - C.T) @ y + sign * K.T @ np.tanh(K @ y + drive))

            def jacobian(y, K=K, C=C, sign=sign, scale=scale, drive=drive):
                return scale * (C - C.T + sign * (K.T * (1 - np.tanh(K @ y + drive) ** 2)) @ K)

            ends = [nonlinear_step(A, weights, f, jacobian, each) for each in (u, v)]
            largest[sign] = max(largest[sign], np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(u - v))
    assert 0.5 < largest[-1] <= 1 + 1e-8 and largest[1] > 1.1


@pytest.mark.parametrize("fields", ["monotone", "weighted", "diagonal", "gradient"])
def test_control_never_beats_its_optimum_and_fails_when_the_search_is_cut(fields, monkeypatch):
    for seed in range(4):
        found = worst(scalar_step("radau iia 2", 2), fields, 60, seed)
        assert 0.9 < found.control <= 1 + 1e-12
    monkeypatch.setattr(monotone_fields, "POPULATION", 1)
    assert min(worst(scalar_step("radau iia 2", 2), fields, 0, seed).control for seed in range(4)) < 0.9


def test_rational_members_are_monotone_exactly():
    rng = np.random.default_rng(3)
    for _ in range(30):
        C, Q = rng.normal(size=(2, 3, 3))
        N = C - C.T - Q @ Q.T * rng.choice([0.0, 1e-6, 1.0])
        near = rational_member(N)
        assert np.abs(np.array(near, dtype=float) - N).max() < 5e-2
        twice = [
            [-(x + y) for x, y in zip(*rows, strict=True)] for rows in zip(near, zip(*near, strict=True), strict=True)
        ]
        assert typed_step_second._is_semidefinite(twice)


def test_pins_of_the_scalar_tensor():
    assert algebraic_stability(tableaus.get("implicit midpoint")).value.is_zero
    assert algebraic_stability(tableaus.get("gauss 2")).value.is_zero
    inertia = algebraic_stability(tableaus.get("radau iia 2")).value.inertia
    assert (inertia.positive, inertia.negative, inertia.zero) == (1, 0, 1)
    M = np.array([[float(x) for x in row] for row in burrage_butcher(tableaus.get("radau iia 2"))])
    assert np.linalg.eigvalsh(M) == pytest.approx([0.0, 1 / 8], abs=1e-15)


def test_radau_loses_energy_by_its_tensor():
    """‖Δy₊‖² = ‖Δy‖² − gᵀMg on skew fields, in floats, against the exact M: an independent reading of the identity."""
    step, J = scalar_step("radau iia 2", 2), np.array([[0.0, 1.0], [-1.0, 0.0]])
    N = np.array([[2 * J, -3 * J]])[0]
    system = np.block(
        [[np.eye(2) - step.A[i, j] @ N[j] if i == j else -step.A[i, j] @ N[j] for j in (0, 1)] for i in (0, 1)]
    )
    Y = np.linalg.solve(system, np.tile(np.eye(2), (2, 1)))
    g = np.vstack([N[0] @ Y[:2], N[1] @ Y[2:]])
    R = np.eye(2) + np.hstack([step.B[0], step.B[1]]) @ g
    M = np.kron([[float(x) for x in row] for row in burrage_butcher(tableaus.get("radau iia 2"))], np.eye(2))
    assert np.abs(R.T @ R - (np.eye(2) - g.T @ M @ g)).max() < 1e-14  # R of size 1, some ten operations an entry
    assert math.isclose(monotone_fields.norms(step, N[None])[0], np.linalg.norm(R, 2), rel_tol=1e-14)


@pytest.mark.parametrize(("component", "same"), [("1", True), ("2", True), ("3", False), ("4", False)])
def test_the_block_that_is_typed_again_is_that_of_the_component(component, same):
    """B_2 of the LSTM with constant coefficients has the blocks z², −z² on two pairs of components; one is compared."""
    case = next(
        case for case in CLAIMS["ode-T1-expl"].cases if case.domain == "LSTM, constant" and "M ≥ 0" in case.quantity
    )
    checked = case.check({"stage": "2", "component": component, "z": "1/3"})
    assert [premise.holds for premise in checked.premises] == [same]


def test_a_worst_ratio_is_compared_with_one(monkeypatch: pytest.MonkeyPatch):
    """Contraction claims ‖Δy₊‖ ≤ 1 ‖Δy‖, whatever the search found; only what exceeds 1 is a candidate."""
    for ratio, candidates in ((1.25, 1), (1.0, 0), (0.5, 0)):
        found = worst(BlockStep(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)), np.eye(1)), "monotone", 1, 0)
        monkeypatch.setattr(contraction, "worst", lambda *_, found=found, ratio=ratio: replace(found, ratio=ratio))
        monkeypatch.setattr(contraction, "_typed", lambda tableau, N: {"N": "0"})
        attempt = contraction.worst_case("implicit euler").ask(BUDGETS["smoke"], 0)
        assert attempt.log_claimed == 0.0 and attempt.log_measured == pytest.approx(math.log(ratio))
        assert len(attempt.candidates) == candidates
