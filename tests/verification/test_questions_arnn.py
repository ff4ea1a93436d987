"""Theorems 2 and 3 of Niu, Chuang, Horesh on trial: what comes out, and that planted falsehoods do not pass."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from odernn import ARNN12, ARNN22
from odernn.bounds.arnn import resonant_word
from tests.verification import odernn_rows as rows
from verification.answer import doubt_about
from verification.claims import arnn_reversibility, arnn_stability
from verification.measure import arnn_again, frozen_slopes, reversals
from verification.measure.reversals import Setting

REFUTED, PROVED, NOT_REFUTED = rows.REFUTED, rows.PROVED, rows.NOT_REFUTED

FAMILIES = (arnn_stability, arnn_reversibility)
ROWS = rows.rows_of(FAMILIES)
EXPECTED = {
    "ode-T2": [PROVED, PROVED, NOT_REFUTED, NOT_REFUTED, *[REFUTED] * 7],
    "ode-T2-input": [REFUTED] * 5,
    "ode-4-chang": [PROVED, REFUTED, REFUTED, REFUTED, PROVED],
    "ode-T2-proof": [REFUTED, REFUTED, PROVED],
    "thm-ARNN": [PROVED] * 3,
    "ode-T3": [
        PROVED, PROVED, REFUTED, REFUTED, REFUTED, REFUTED, PROVED, PROVED, REFUTED, REFUTED, PROVED, PROVED,
    ],
    "ode-T3-fp": [REFUTED] * 2,
    "ode-T3-order": [PROVED, REFUTED, REFUTED, REFUTED],
    "ode-T3-mid": [REFUTED, PROVED, PROVED],
    "thm-rev": [PROVED] * 11,
}  # fmt: skip
"""In the order of the cases."""
ONE, HALF = Fraction(1), Fraction(1, 2)


def test_every_row_is_expected():
    assert {q.id: len(q.cases) for family in FAMILIES for q in family.QUESTIONS} == {
        name: len(verdicts) for name, verdicts in EXPECTED.items()
    }


@pytest.mark.parametrize(("question", "case"), ROWS, ids=map(rows.name_of, ROWS))
def test_verdict(question, case):
    judgement = rows.judged(question, case)
    assert judgement.verdict == EXPECTED[question.id][question.cases.index(case)], judgement.because
    if judgement.verdict == REFUTED:
        rows.assert_every_candidate_certifies(case)


def test_names_do_not_matter():
    for question, case in ROWS[::5]:
        rows.assert_names_do_not_matter(question, case, "ode-T3" if question.id != "ode-T3" else "ode-T2")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_claim_file_names_no_verdict(family):
    rows.assert_names_no_verdict(family)


# --- planted falsehoods, and truths beside them


@pytest.mark.parametrize(
    ("scheme", "threshold", "verdict"),
    [
        ("symplectic_euler", Fraction(201, 100), REFUTED),
        ("symplectic_euler", Fraction(3, 2), PROVED),
        ("leapfrog", Fraction(2), REFUTED),
        ("leapfrog", Fraction(101, 100), REFUTED),
        ("leapfrog", HALF, PROVED),
    ],
)
def test_a_threshold_too_large_is_refuted(scheme, threshold, verdict):
    assert rows.verdict_of(arnn_stability.modes_case(scheme, threshold)).verdict == verdict


def test_two_computations_that_contradict_each_other_prove_nothing(monkeypatch):
    """trace 2 − 2a² in one of them."""
    monkeypatch.setitem(frozen_slopes.TRACES, "symplectic_euler", [Fraction(2), Fraction(0), Fraction(-2)])
    judgement = rows.verdict_of(arnn_stability.modes_case("symplectic_euler", Fraction(2)))
    assert judgement.verdict == rows.ERROR and "fractions finds" in judgement.because


def test_a_word_that_does_not_grow_is_no_proof_for_all_words():
    case = arnn_stability.word_case("symplectic_euler", ("1",), (((ONE, ONE),),))
    assert rows.verdict_of(case).verdict == NOT_REFUTED


def test_a_step_beyond_the_premise_refutes_nothing():
    case = arnn_stability.mode_case("symplectic_euler", "bounded", ("1",), Fraction(2), closed=False)
    assert "premise" in doubt_about(case.check({"a": "3"}), case)
    assert rows.verdict_of(case).verdict == NOT_REFUTED


def test_random_networks_beyond_the_threshold_are_found(monkeypatch):
    """The sample with the threshold of symplectic Euler in place of the leapfrog's, half as large."""
    monkeypatch.setattr(arnn_stability, "THRESHOLDS", {"leapfrog": 2.0})
    monkeypatch.setattr(frozen_slopes, "THRESHOLDS", {"leapfrog": 2.0})
    assert rows.verdict_of(arnn_stability.networks_case("leapfrog")).verdict == REFUTED


def chosen(arguments, slope):
    """A drive, the same for all runs, that puts the arguments above or below the kink of ReLU."""
    return 1 - min(arguments) if slope else -1 - max(arguments)


def test_arnn12_itself_shows_the_growth_of_a_word():
    """Two runs of the cell with ReLU, a = 3/4, in float64: 15 words of radius 2."""
    layer = ARNN12(2, 1, dt=0.75, activation="relu", bias=False, dtype=torch.float64).layers[0]
    with torch.no_grad():
        layer.free.fill_(1.0)
        layer.V_p.copy_(torch.tensor([[1.0, 0.0]]))
        layer.V_q.copy_(torch.tensor([[0.0, 1.0]]))
        stepper, word = layer.stepper(), resonant_word("symplectic_euler", Fraction(3, 4))
        q, p = torch.tensor([[0.0], [1.0]]).double(), torch.tensor([[0.0], [1.0]]).double()
        for kick, drift in word * 15:
            u_p = chosen(q[:, 0].tolist(), kick)
            u_q = chosen((p - 0.75 * torch.relu(q + u_p))[:, 0].tolist(), drift)
            q, p = stepper((q, p), layer.drives(torch.tensor([[[u_p, u_q]] * 2]).double())[0])
        apart = max(float((x[0] - x[1]).abs()) for x in (q, p))
    assert apart > 1e3


def test_arnn22_itself_shows_the_growth_of_a_word():
    """The same of the leapfrog, a = 3/4: 15 words of radius 2.6."""
    layer = ARNN22(2, 2, dt=0.75, activation="relu", bias=False, dtype=torch.float64).layers[0]
    with torch.no_grad():
        layer.free.fill_(1.0)  # W = [[0, 1], [−1, 0]]
        layer.V.copy_(torch.eye(2))
        stepper = layer.stepper()
        y, previous = (torch.tensor([[0.0, 0.0], [1.0, 0.5]]).double() for _ in range(2))
        for (slope,) in resonant_word("leapfrog", Fraction(3, 4)) * 15:
            u = [chosen(y[:, 1].tolist(), slope), chosen((-y[:, 0]).tolist(), slope)]
            y, previous = stepper((y, previous), layer.drives(torch.tensor([[u, u]]).double())[0])
    assert float((y[0] - y[1]).abs().max()) > 1e3


@pytest.mark.parametrize(("claimed", "verdict"), [(1, PROVED), (2, REFUTED)])
def test_another_order_of_symplectic_euler(claimed, verdict):
    again = arnn_reversibility.euler_order_again
    case = arnn_reversibility.order_case("planted", claimed, lambda: 1, again, "leapfrog")
    assert rows.verdict_of(case).verdict == verdict


def test_slopes_of_global_errors_are_the_orders():
    for scheme, power in (
        ("symplectic_euler", 1), ("leapfrog", 2), ("explicit_midpoint", 2), ("implicit_midpoint", 2),
    ):  # fmt: skip
        steps, errors = arnn_again.global_errors(scheme, 5)
        from verification.measure import scaling

        assert abs(scaling.fit(steps, errors).finest - power) < 0.05


def test_a_reversal_that_holds_for_every_weight_is_proved_for_another_one():
    """The exchange needs the same S in both halves and the same bias, no symmetry of S."""
    setting = Setting("antisymmetric", tied=True)
    case = arnn_reversibility.Reversal("symplectic_euler", "exchange", setting).case("any S", "exchange")
    assert rows.verdict_of(case).verdict == PROVED


def test_a_wrong_inverse_is_refuted(monkeypatch):
    """Both typings of the leapfrog's inverse with η in place of 2η."""
    right, right_again = reversals.residual, arnn_again.distance

    def wrong(scheme, kind, data, sigma):
        found = right(scheme, kind, data, sigma)
        force = reversals._pushed(data["weight"], data["y"], data["first"], sigma)
        return [*(x + data["eta"] * f for x, f in zip(found, force, strict=False)), *found[len(force) :]]

    monkeypatch.setattr(reversals, "residual", wrong)
    case = arnn_reversibility.Reversal("leapfrog", "invertible", Setting("antisymmetric")).case("planted", "inverse")
    assert rows.verdict_of(case).verdict == rows.SUSPECT  # one typing alone refutes nothing
    monkeypatch.setattr(arnn_again, "distance", lambda *a, **k: right_again(*a, **k) + 1)
    assert rows.verdict_of(case).verdict == REFUTED


def test_exact_arithmetic_returns_what_floats_miss():
    """The replay without rounding gives every state back: the distance is rounding and nothing else."""
    state = [Fraction(1, 3), Fraction(-2, 7), Fraction(5, 11), Fraction(1, 13)]
    for scheme, size in (("symplectic_euler", 2), ("leapfrog", 4)):
        back = arnn_again.replayed(scheme, state[:size], Fraction(1, 8), lambda x: x, lambda x: x / (1 + abs(x)))
        assert back == state[:size]
