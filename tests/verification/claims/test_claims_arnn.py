"""Theorems 2 and 3 of Niu, Chuang, Horesh on trial: what comes out, and that planted falsehoods do not pass."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from flint import fmpq

from odernn import ARNN12, ARNN22
from odernn.bounds.arnn import resonant_word, step_matrix
from tests.tiers import slow, where
from tests.verification.claims import claim_rows as rows
from verification.cases import affine_reversal, arnn_modes, decision, frozen_slopes
from verification.certify import float_replay
from verification.certify.second import arnn as arnn_again
from verification.claims.odernn import arnn_reversibility, arnn_stability
from verification.claims.odernn.arnn_stability import IN_PAIRS
from verification.measure import reversals
from verification.measure.reversals import ReversalSetting
from verification.parameters import RefusedError

REFUTED, PROVED, NOT_REFUTED = rows.REFUTED, rows.PROVED, rows.NOT_REFUTED

FAMILIES = (arnn_stability, arnn_reversibility)
ROWS = rows.rows_of(FAMILIES)
EXPECTED = {
    "ode-T2": [PROVED, PROVED, NOT_REFUTED, NOT_REFUTED, *[REFUTED] * 7],
    "ode-T2-input": [REFUTED] * 5,
    "ode-2-stable": [PROVED, PROVED, REFUTED],
    "ode-4-chang": [PROVED, REFUTED, REFUTED, REFUTED, PROVED],
    "ode-T2-proof": [REFUTED, REFUTED, PROVED],
    "thm-ARNN": [PROVED] * 3,
    "thm-ARNN-drive": [PROVED] * 2,
    "ode-T3": [
        PROVED,
        PROVED,
        REFUTED,
        REFUTED,
        REFUTED,
        REFUTED,
        PROVED,
        PROVED,
        REFUTED,
        REFUTED,
        PROVED,
        PROVED,
        PROVED,
    ],
    "ode-T3-fp": [REFUTED] * 2,
    "ode-T3-order": [PROVED, REFUTED, REFUTED, REFUTED],
    "ode-T3-mid": [REFUTED, PROVED, PROVED],
    "thm-rev": [PROVED] * 12,
}
"""In the order of the cases."""
ONE, HALF = Fraction(1), Fraction(1, 2)


def test_every_row_is_expected():
    rows.assert_every_row_is_expected(FAMILIES, EXPECTED)


LONG = {
    *("ode-T2-symplectic Euler-powers bounded, random weights and slopes below the threshold",),
    *("thm-ARNN-drive-symplectic Euler-for every a > 0 slopes in {0, s} with an eigenvalue outside the unit circle",),
    *("ode-T3-order-2-2-ARNN, implicit midpoint-order 1", "thm-rev-2-2-ARNN, implicit midpoint-order 2"),
}
"""Beside the leapfrog and the 1-2-ARNN, of which the same is asked."""


@pytest.mark.parametrize(
    ("claim", "case"), where(ROWS, lambda row: rows.name_of(row) in LONG), ids=map(rows.name_of, ROWS)
)
def test_verdict(claim, case):
    rows.assert_verdict(claim, case, EXPECTED)


@pytest.mark.parametrize("first", [0, slow(5)])
def test_names_do_not_matter(first):
    for claim, case in ROWS[first::10]:
        rows.assert_names_do_not_matter(claim, case, "ode-T3" if claim.id != "ode-T3" else "ode-T2")


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
    assert rows.verdict_of(arnn_modes.modes_case(scheme, threshold)).verdict == verdict


@pytest.mark.parametrize(("scheme", "level"), [("symplectic_euler", 3), ("symplectic_euler", 1)])
def test_a_word_that_is_too_short_for_some_step_is_refuted(scheme, level):
    """The least m with m a² > 3 leaves a = 1 at m = 4, of trace −2."""
    assert rows.verdict_of(arnn_modes.drive_case(scheme, level)).verdict == REFUTED
    assert rows.verdict_of(arnn_modes.drive_case(scheme)).verdict == PROVED


def test_another_shift_reverses_nothing():
    """S d = 2 (b_p − b_q)."""
    assert rows.verdict_of(affine_reversal.affine_case("planted", 2)).verdict == REFUTED


def test_a_network_with_tanh_is_reversed_by_the_affine_exchange():
    """In float64, with biases that differ; the plain exchange misses."""
    generator = torch.Generator().manual_seed(2)
    S, b, c, p, q = (torch.randn(*size, generator=generator, dtype=torch.float64) for size in ((3, 3), *[(3,)] * 4))
    S = S + S.T
    shift = torch.linalg.solve(S, b - c)

    def returned(d):
        one, other = p, q
        for _ in range(2):
            one = one - torch.tanh(S @ other + b) / 4
            one, other = other + torch.tanh(S @ one + c) / 4 + d, one - d
        return float((torch.stack((one, other)) - torch.stack((p, q))).abs().max())

    assert returned(shift) < 1e-13 * float(1 + shift.norm() * torch.linalg.cond(S))
    assert returned(0 * shift) > 1e-3


def test_a_leapfrog_that_is_stepped_wrongly_is_an_error(monkeypatch):
    monkeypatch.setattr(arnn_modes, "_stepped_trace", lambda a, letters: Fraction(2))
    assert rows.verdict_of(arnn_modes.drive_case("leapfrog")).verdict == rows.ERROR


def test_two_computations_that_contradict_each_other_prove_nothing(monkeypatch):
    """trace 2 − 2a² in one of them."""
    monkeypatch.setitem(frozen_slopes.TRACES, "symplectic_euler", [Fraction(2), Fraction(0), Fraction(-2)])
    judgement = rows.verdict_of(arnn_modes.modes_case("symplectic_euler", Fraction(2)))
    assert judgement.verdict == rows.ERROR and "fractions finds" in judgement.because


def test_a_word_that_does_not_grow_is_no_proof_for_all_words():
    case = arnn_stability.word_case("symplectic_euler", ("1",), (((ONE, ONE),),))
    assert rows.verdict_of(case).verdict == NOT_REFUTED


def test_a_step_beyond_the_premise_refutes_nothing():
    case = arnn_modes.mode_case("symplectic_euler", "bounded", ("1",), Fraction(2), closed=False)
    assert 'Parameter "a" is "3"' in rows.doubt_of(case, {"a": "3"})
    assert rows.verdict_of(case).verdict == NOT_REFUTED


FORGED = {
    "another threshold": (arnn_modes.modes_case("leapfrog", ONE), {"modes": "all", "threshold": "2"}, "threshold"),
    "a step that is too large": (arnn_stability.relu_case(), {"a": "2", "q": "1", "p": "0"}, "a"),
    "another slope": (
        arnn_stability.word_case("leapfrog", ("3/4",)), {"a": "1/2", "slopes": "1 1/2"}, "slopes",
    ),
    "half a step": (
        arnn_stability.word_case("symplectic_euler", ("1",)), {"a": "1", "slopes": "1 0 1"}, IN_PAIRS,
    ),
    "no drift": (arnn_stability.drift_case(), {"eta": "1", "b": "0"}, "b"),
    "a weight that is not symmetric": (
        arnn_modes.networks_case("symplectic_euler"),
        {"slopes": "1 1 1 1", "weight": "0 1 0 0", "eta": "1"},
        "weight",
    ),
    "another γ": (
        arnn_stability.damped_step_case(), {"eta": "1/2", "gamma": "1/1000", "lambda": "1"}, "gamma",
    ),
    "another text": (arnn_stability.mentions_case(), {"theorem 5": "stable"}, "theorem 5"),
    "another numbering": (arnn_stability.numbering_case("theorems"), {"theorems": "1 1"}, "theorems"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_what_a_case_is_not_about_is_refused(name):
    case, parameters, named = FORGED[name]
    with pytest.raises(RefusedError, match=named):
        case.check(parameters)


def test_random_networks_beyond_the_threshold_are_found(monkeypatch):
    """The sample with the threshold of symplectic Euler in place of the leapfrog's, half as large."""
    monkeypatch.setattr(arnn_modes, "THRESHOLDS", {"leapfrog": 2.0})
    monkeypatch.setattr(frozen_slopes, "THRESHOLDS", {"leapfrog": 2.0})
    assert rows.verdict_of(arnn_modes.networks_case("leapfrog")).verdict == REFUTED


@pytest.mark.parametrize(
    "point", [{"a": "1/2", "q": "-1", "p": "0"}, {"a": "1/2", "q": "1", "p": "1"}, {"a": "1/2", "q": "0", "p": "0"}]
)
def test_relu_without_a_fall_is_no_witness(point):
    """At rest, moving back first, and nothing at all: neither typing sees growth."""
    case = arnn_stability.relu_case()
    assert not any(opinion.violated for opinion in case.check(point).opinions)


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
        ("symplectic_euler", 1),
        ("leapfrog", 2),
        ("explicit_midpoint", 2),
        ("implicit_midpoint", 2),
    ):
        steps, errors = arnn_again.global_errors(scheme, 5)
        from verification.measure import scaling

        assert abs(scaling.fit(steps, errors).finest - power) < 0.05


def test_a_reversal_that_holds_for_every_weight_is_proved_for_another_one():
    """The exchange needs the same S in both halves and the same bias, no symmetry of S."""
    setting = ReversalSetting("antisymmetric", tied=True)
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
    case = arnn_reversibility.Reversal("leapfrog", "invertible", ReversalSetting("antisymmetric")).case(
        "planted", "inverse"
    )
    assert rows.verdict_of(case).verdict == rows.ERROR  # one typing alone refutes nothing
    monkeypatch.setattr(arnn_again, "distance", lambda *a, **k: right_again(*a, **k) + 1)
    assert rows.verdict_of(case).verdict == REFUTED


def test_both_typings_find_the_same_distance_of_a_reversal():
    """Not only both not 0: with the second wrong every reversal would seem broken to it. At 40 points each."""
    tried = 0
    for case in arnn_reversibility.REVERSALS:
        reversal = case.ask.__self__
        if reversal.scheme == "implicit_midpoint":  # there y₊ is free in one typing and computed in the other
            continue
        sigma = reversals.softsign if reversal.setting.odd else reversals.relu
        for point in reversal._points(random.Random(7)):
            point["eta"] = "1/3"  # where nothing cancels: 2η is not 1
            data = reversal.setting.typed(point, Fraction)
            found = max(map(abs, reversals.residual(reversal.scheme, reversal.kind, data, sigma)))
            assert found == arnn_again.distance(reversal.scheme, reversal.kind, point, odd=reversal.setting.odd)
            tried += found != 0
    assert tried > 120  # of 240 points of the six statements that are false


@pytest.mark.parametrize("scheme", ["symplectic_euler", "leapfrog", "forward_euler", "explicit_midpoint"])
def test_both_typings_have_the_same_step_of_a_mode(scheme):
    for a in (Fraction(1, 3), Fraction(5, 2)):
        assert frozen_slopes.mode(scheme, a) == [list(row) for row in step_matrix(scheme, a)]
    with pytest.raises(ValueError, match="no step is typed"):
        frozen_slopes.mode("heun", ONE)


@pytest.mark.parametrize("scheme", ["symplectic_euler", "leapfrog"])
def test_both_typings_have_the_same_step_of_a_network_and_the_form_is_that_of_its_weight(scheme):
    rng = random.Random(5)
    for size in (1, 2, 3, 3):
        point = frozen_slopes.random_network(scheme, size, rng)
        mine, theirs = frozen_slopes.network(scheme, point), frozen_slopes.network_again(scheme, point)
        assert [[Fraction(int(x.p), int(x.q)) for x in row] for row in mine] == theirs
        W = np.array([float(Fraction(x)) for x in point["weight"].split()]).reshape(size, size)
        form = np.array(frozen_slopes.threshold_form(scheme, point, Fraction(4)), dtype=float)
        np.testing.assert_allclose(form, 4 * np.eye(size) - float(Fraction(point["eta"])) ** 2 * W.T @ W, atol=1e-12)


@pytest.mark.parametrize(
    ("scheme", "word"),
    [("symplectic_euler", "1 1 0 1 1/2 0 1/3 1"), ("leapfrog", "1 0 1/2 1 1")],
)
def test_a_word_is_the_product_of_its_steps(scheme, word):
    """By numpy, each step from its own equations."""
    a, slopes, product = 0.75, [float(Fraction(x)) for x in word.split()], np.eye(2)
    if scheme == "symplectic_euler":
        for kick, drift in zip(slopes[::2], slopes[1::2], strict=True):
            product = np.array([[1, 0], [a * drift, 1]]) @ np.array([[1, -a * kick], [0, 1]]) @ product
    else:
        for slope in slopes:
            product = np.array([[2 * a * slope, -1], [1, 0]]) @ product
    found = frozen_slopes.word(scheme, Fraction(3, 4), [Fraction(x) for x in word.split()])
    np.testing.assert_allclose(np.array([[int(x.p) / int(x.q) for x in row] for row in found]), product, atol=1e-12)


@pytest.mark.parametrize("least", [Fraction(0), HALF])
def test_runs_with_the_same_biases_differ_by_the_word(least):
    """Exactly: so every bias put the pre-activations of all runs on the side that it was to put them on."""
    a, rng = Fraction(3, 4), random.Random(2)
    slopes = [rng.choice((least, ONE)) for _ in range(8)]
    word = [[Fraction(int(x.p), int(x.q)) for x in row] for row in frozen_slopes.word("symplectic_euler", a, slopes)]
    assert frozen_slopes.driven_matrix("symplectic_euler", a, slopes, least) == word
    product = np.eye(4, dtype=object)
    for slope in slopes:
        step = np.zeros((4, 4), dtype=object)  # (y_l, y_{l−1}) to (y_{l+1}, y_l), W = [[0, −1], [1, 0]]
        step[0, 1], step[1, 0] = -2 * a * slope, 2 * a * slope
        step[0, 2] = step[1, 3] = step[2, 0] = step[3, 1] = 1
        product = step @ product
    assert frozen_slopes.driven_matrix("leapfrog", a, slopes, least) == product.tolist()


def test_exact_arithmetic_returns_what_floats_miss():
    """The replay without rounding gives every state back: the distance is rounding and nothing else."""
    state = [Fraction(1, 3), Fraction(-2, 7), Fraction(5, 11), Fraction(1, 13)]
    for scheme, size in (("symplectic_euler", 2), ("leapfrog", 4)):
        back = float_replay.there_and_back(
            scheme, state[:size], Fraction(1, 8), lambda x: x, lambda x: x / (1 + abs(x))
        )
        assert back == state[:size]


@pytest.mark.parametrize(("theta", "verdict"), [("1/2", PROVED), ("1", REFUTED), ("1/3", REFUTED)])
def test_only_the_rule_of_the_middle_is_its_own_reverse(monkeypatch, theta, verdict):
    """Implicit Euler and another θ in both typings; in the first alone there is no proof, and no refutation either."""
    share = Fraction(theta)
    right, right_again = reversals.residual, arnn_again._missed_midpoint

    def planted(scheme, kind, data, sigma):
        return right(scheme, kind, {**data, "theta": fmpq(*share.as_integer_ratio())}, sigma)

    case = arnn_reversibility.Reversal("implicit_midpoint", "symmetric", ReversalSetting("antisymmetric")).case(
        "planted", "θ"
    )
    monkeypatch.setattr(reversals, "residual", planted)
    assert rows.verdict_of(case).verdict == (PROVED if verdict == PROVED else rows.ERROR)
    monkeypatch.setattr(arnn_again, "_missed_midpoint", lambda *given: right_again(*given, theta=share))
    assert rows.verdict_of(case).verdict == verdict


@pytest.mark.parametrize(
    ("scheme", "kept", "lost"),
    [
        ("symplectic_euler", "-7/16 0", "-2199023255551/17592186044416 -70368744177655/281474976710656"),
        (
            "leapfrog",
            "-3/8 -1/4 -1/4 -7/16",
            "-70368744177655/281474976710656 -8796093022205/35184372088832 "
            "-351843720888241/1125899906842624 17/281474976710656",
        ),
    ],
)
def test_a_float_state_is_returned_or_one_unit_off(scheme, kept, lost):
    check = arnn_reversibility.float_case(scheme, "planted").check
    assert [opinion.text.split(",")[0] for opinion in check({"state": kept}).opinions] == ["off by 0"] * 2
    for opinion in check({"state": lost}).opinions:
        assert opinion.violated
        assert f"off by {2.0**-55:.3g}" in opinion.text


def test_a_state_that_is_no_float_is_refused():
    check = arnn_reversibility.float_case("symplectic_euler", "planted").check
    with pytest.raises(RefusedError, match='"state"'):
        check({"state": "1/3 0"})


@pytest.mark.parametrize(("eta", "holds"), [("99/100", True), ("1", False), ("14/10", False)])
def test_the_largest_mode_of_a_network_is_below_the_threshold(eta, holds):
    """W = diag(1, 2) and a threshold of 2: η max|λ| < 2 for η < 1, whatever the smaller mode does."""
    check = arnn_modes.networks_case("symplectic_euler").check
    (premise,) = check({"slopes": "1 1 1 1", "weight": "1 0 0 2", "eta": eta}).premises
    assert premise.holds == holds


def test_a_margin_of_zero_satisfies_what_is_not_strict():
    assert decision.premise("x ≥ 0", 0, strict=False).holds
    assert not decision.premise("x > 0", 0).holds
