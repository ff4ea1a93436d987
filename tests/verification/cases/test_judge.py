"""The rules that turn evidence into verdicts, each shown on made evidence, with the evidence that must not trigger
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from odernn.bounds import icml, sharp
from odernn.published.sources import Source
from tests.tiers import only
from tests.verification.state_claims import with_bound
from verification import verdict
from verification.adversary import chain
from verification.cases.state_bound import refute
from verification.cases.state_bound.judge import judge
from verification.cases.state_bound.ratios import Evidence, Trial, ratio_of, reading_of
from verification.certify import balls
from verification.certify.second import intervals as second
from verification.claim import Claim, Hypothesis, Part, StateBound
from verification.domains import FREE, SearchPoint
from verification.measure.hidden_state import envelope, run_instance
from verification.registry import Registry
from verification.system import UNICORNN
from verification.witness.file import from_json

PASSED = {"passed": True, "group": "made", "reports": [{"best": 0.99}]}
FAILED = {
    "passed": False,
    "group": "made",
    "reports": [{"best": 0.42, "passed": False, "sentence": "beam 0.420 of the optimum"}],
}


def free_point(dt: str, *, alpha: str = "1/4", horizon: int = 40) -> SearchPoint:
    steps = Fraction(horizon) / Fraction(dt)
    group = f"α = {alpha}, T = {horizon}"
    return SearchPoint(FREE, Fraction(alpha), (Fraction(dt),), int(steps), 1, 1, group)


def resonant(point: SearchPoint, quantity: str = "position", factor: float = 1.0) -> Trial:
    """The trial of the optimal square wave (thm-S) at w = 0, its measured envelope multiplied by ``factor``."""
    alpha, h = float(point.alpha), float(point.dt[0])
    theta = 2 * math.asin(h * math.sqrt(alpha) / 2)
    until_end = torch.arange(point.steps, 0, -1, dtype=torch.float64)
    wave = torch.sin(theta * until_end) if quantity == "position" else torch.cos(theta * (until_end - 0.5))
    instance = chain(point, 1, 0.0, -10.0 * torch.where(wave >= 0, 1.0, -1.0), "unicornn")
    y, z, _ = run_instance(UNICORNN, instance, 1)
    values = envelope(y if quantity == "position" else z, "max").numpy()
    return Trial(point, "made", quantity, instance, factor * values, 10, True)


def claim_with(
    bound: Callable[..., Any],
    second: Callable[..., Any],
    *,
    asymptotic: bool = False,
    hypotheses: tuple[Hypothesis, ...] = (),
) -> Claim:
    part = Part("position", "max", bound, second)
    bound = StateBound((part,), hypotheses, asymptotic)
    return Claim("made", Source("made", "-"), "made", "real", state_bound=bound)


def constant(value: str, **options: Any) -> Claim:
    """|y_n| ≤ value."""
    exact = Fraction(value)
    return claim_with(
        lambda s, numbers: numbers.log(numbers.exact(exact)) + 0 * s.time,
        lambda s, iv: iv.log(iv.mpf(exact.numerator) / iv.mpf(exact.denominator)),
        **options,
    )


def evidence(*points: SearchPoint, controls: tuple[dict[str, Any], ...] = (PASSED,), **options: Any) -> Evidence:
    trials = tuple(resonant(point) for point in points)
    return Evidence(points[0].domain, 1, points, options.pop("trials", trials), controls=controls, **options)


@pytest.fixture(scope="module")
def coarse() -> SearchPoint:
    return free_point("1/10")


def test_certified_violation_is_refuted_and_its_witness_replays(coarse: SearchPoint) -> None:
    (found,) = judge(constant("3"), evidence(coarse))
    assert found.verdict == verdict.REFUTED
    assert found.slack is not None and found.slack < 0
    again = from_json(found.witness)
    assert again.parameters.step == found.step and again.parameters.instance.steps == found.step


def test_true_bound_is_not_refuted_and_says_what_was_tried(coarse: SearchPoint) -> None:
    (found,) = judge(constant("1000"), evidence(coarse))
    assert found.verdict == verdict.NOT_REFUTED
    assert "10 evaluations" in found.because and "0.990" in found.because


def test_failed_power_control_makes_the_search_worthless(coarse: SearchPoint) -> None:
    (found,) = judge(constant("1000"), evidence(coarse, controls=(PASSED, FAILED)))
    assert found.verdict == verdict.INCONCLUSIVE and "control-failed" in found.because
    (none_run,) = judge(constant("1000"), evidence(coarse, controls=()))
    assert none_run.verdict == verdict.INCONCLUSIVE


def test_failed_control_does_not_undo_a_certified_refutation(coarse: SearchPoint) -> None:
    (found,) = judge(constant("3"), evidence(coarse, controls=(FAILED,)))
    assert found.verdict == verdict.REFUTED


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_never_pass(coarse: SearchPoint, bad: float) -> None:
    trial = resonant(coarse)
    values = trial.values.copy()
    values[7] = bad
    broken = replace(trial, values=values, finite=False)
    (found,) = judge(constant("1000"), evidence(coarse, trials=(broken,)))
    assert found.verdict == verdict.INCONCLUSIVE
    (beside_a_good_one,) = judge(constant("1000"), evidence(coarse, trials=(trial, broken)))
    assert beside_a_good_one.verdict == verdict.INCONCLUSIVE


@pytest.mark.parametrize("text", ["inf", "nan"])
def test_bound_that_is_not_finite_is_an_error_not_a_pass(coarse: SearchPoint, text: str) -> None:
    claim = claim_with(lambda s, numbers: float(text) + 0 * s.time, lambda s, iv: iv.mpf(1))
    (found,) = judge(claim, evidence(coarse))
    assert found.verdict == verdict.ERROR and text in found.because


def test_claim_whose_formula_raises_is_an_error(coarse: SearchPoint) -> None:
    def bound(s: Any, numbers: Any) -> Any:
        raise ZeroDivisionError("planted")

    (found,) = judge(claim_with(bound, bound), evidence(coarse))
    assert found.verdict == verdict.ERROR and "planted" in found.because


def test_float_violation_that_the_exact_run_does_not_show_is_suspect(coarse: SearchPoint) -> None:
    """A measurement that is 1.5 times too large: the balls prove that it violates nothing, and someone is wrong."""
    limit = float(resonant(coarse).values.max())
    claim = constant(str(round(1.2 * limit, 3)))
    (found,) = judge(claim, evidence(coarse, trials=(resonant(coarse, factor=1.5),)))
    assert found.verdict == verdict.SUSPECT and "disagree" in found.because and not found.witness


def test_spoilt_sample_does_not_hide_a_violation_elsewhere(coarse: SearchPoint) -> None:
    """One sample is far too large at n = 51, where nothing is violated; at n = N the bound really fails."""
    trial = resonant(coarse)
    values = trial.values.copy()
    values[50] = 1e4
    (found,) = judge(constant("30"), evidence(coarse, trials=(replace(trial, values=values),)))
    assert found.verdict == verdict.SUSPECT


@pytest.mark.parametrize("other", [lambda s, iv: iv.log(iv.mpf(10**6)), lambda s, iv: iv.log(3 + iv.mpf(2) ** -100)])
def test_two_typings_of_a_bound_that_differ_are_an_error(coarse: SearchPoint, other: Any) -> None:
    claim = constant("3")
    part = replace(claim.bound.parts[0], second_bound=other)
    (found,) = judge(with_bound(claim, parts=(part,)), evidence(coarse))
    assert found.verdict == verdict.ERROR and "the two typings of the bound on max abs(yₙ) differ at" in found.because


def test_two_typings_of_a_premise_that_differ_are_an_error(coarse: SearchPoint) -> None:
    premise = Hypothesis("dt < 1", lambda s: 1 - s.dt, second_margin=lambda s: 1 - s.dt**2)
    (found,) = judge(constant("3", hypotheses=(premise,)), evidence(coarse))
    assert found.verdict == verdict.ERROR and 'typings of the hypothesis "dt < 1" differ at' in found.because


def test_a_second_back_end_that_decides_otherwise_leaves_a_suspicion(
    coarse: SearchPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typings that agree, and a run that does not."""
    monkeypatch.setattr(refute, "second_opinion", lambda *_, **__: {"status": "undecided", "premises": []})
    (found,) = judge(constant("3"), evidence(coarse))
    assert found.verdict == verdict.SUSPECT and "second back-end" in found.because and not found.witness
    ladder = (coarse, free_point("1/20"), free_point("1/40"))
    (found,) = judge(asymptotic_icml(), evidence(*ladder))
    assert found.verdict == verdict.SUSPECT and "second back-end" in found.because


def test_premise_that_fails_at_every_point_leaves_nothing_to_judge(coarse: SearchPoint) -> None:
    """On a printed row the claim does not apply; in the free domain nobody has shown that no instance exists."""
    premise = Hypothesis("α > 1", lambda s: s.alpha - 1)
    (free,) = judge(constant("3", hypotheses=(premise,)), evidence(coarse))
    assert free.verdict == verdict.INCONCLUSIVE and "α > 1 fails" in free.because
    printed = replace(coarse, domain="printed made")
    (row,) = judge(constant("3", hypotheses=(premise,)), evidence(printed))
    assert row.verdict == verdict.INAPPLICABLE and "α > 1 fails" in row.because


def test_premise_that_the_balls_cannot_prove_refutes_nothing(coarse: SearchPoint) -> None:
    """0 ≥ 0 holds in floats; as (√dt)² − dt ≥ 0 no ball proves it, so the violation stays a suspicion."""
    premise = Hypothesis("0 ≥ 0", lambda s: (s.dt**0.5) ** 2 - s.dt, strict=False)
    (found,) = judge(constant("3", hypotheses=(premise,)), evidence(coarse))
    assert found.verdict == verdict.SUSPECT and "premise 0 ≥ 0 is not proved" in found.because
    above = constant("100000", hypotheses=(premise,))
    (row,) = judge(above, evidence(replace(coarse, domain="printed made")))
    assert row.verdict == verdict.NOT_REFUTED  # not "proved"


def test_an_equality_is_decided_on_exact_numbers(coarse: SearchPoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """dt = 1/10 is no binary number: no ball around it proves the equality, the fraction does."""
    tenth = Hypothesis("dt = 1/10", lambda s: -abs(10 * s.dt - 1), False, lambda s: -abs(s.dt * 10 - 1))
    other = Hypothesis("dt = 1/9", lambda s: -abs(9 * s.dt - 1), False, lambda s: -abs(s.dt * 9 - 1))
    (found,) = judge(constant("3", hypotheses=(tenth,)), evidence(coarse))
    assert found.verdict == verdict.REFUTED
    assert from_json(found.witness).parameters.instance.layers[0].dt == coarse.dt[0]
    (elsewhere,) = judge(constant("3", hypotheses=(other,)), evidence(coarse))
    assert elsewhere.verdict == verdict.INCONCLUSIVE and "dt = 1/9 fails" in elsewhere.because

    def in_balls(hypothesis: Hypothesis, instance: Any, layer: int, step: int, steps: int) -> Any:
        return hypothesis.margin(balls.setting_of(instance, layer=layer, step=step, steps=steps))

    for module, name, without in ((balls, "_margin", in_balls), (second, "_exact", lambda *_: None)):
        with monkeypatch.context() as patch:  # without the fractions neither back-end proves it
            patch.setattr(module, name, without)
            (doubted,) = judge(constant("3", hypotheses=(tenth,)), evidence(coarse))
            assert doubted.verdict == verdict.SUSPECT, doubted.because


def test_premises_are_asked_of_the_layers_below(coarse: SearchPoint) -> None:
    two = replace(coarse, dt=(Fraction(9, 10), Fraction(1, 10)))
    premise = Hypothesis("dt < 1/2", lambda s: 1 - 2 * s.dt)
    second_layer = Evidence(FREE, 2, (two,), (replace(resonant(coarse), point=two),), controls=(PASSED,))
    (found,) = judge(constant("3", hypotheses=(premise,)), second_layer)
    assert found.verdict == verdict.INCONCLUSIVE and "dt < 1/2 fails" in found.because


def test_norm_of_equal_neurons_grows_with_the_root_of_their_number(coarse: SearchPoint) -> None:
    four = replace(coarse, hidden_size=4)
    trial = replace(resonant(coarse), point=four)
    claim = constant("1000")
    euclidean = with_bound(claim, parts=(replace(claim.bound.parts[0], norm="euclidean"),))
    (wide,) = judge(euclidean, evidence(four, trials=(trial,)))
    (narrow,) = judge(claim, evidence(four, trials=(trial,)))
    assert wide.log_worst == pytest.approx(narrow.log_worst + math.log(2), abs=1e-12)
    assert wide.log_exact == pytest.approx(narrow.log_exact + math.log(2), abs=1e-12)


def test_bound_beyond_float32_is_vacuous_on_a_printed_row_only(coarse: SearchPoint) -> None:
    claim = claim_with(lambda s, numbers: 89 + 0 * s.time, lambda s, iv: iv.mpf(89))
    (row,) = judge(claim, evidence(replace(coarse, domain="printed made")))
    assert row.verdict == verdict.VACUOUS and "10^38.7 exceeds the largest float32" in row.because
    (free,) = judge(claim, evidence(coarse))
    assert free.verdict == verdict.NOT_REFUTED


def test_printed_row_is_proved_when_the_theorem_lies_below_the_bound(coarse: SearchPoint) -> None:
    printed = replace(coarse, domain="printed made")
    h = float(coarse.dt[0])
    invariant = sharp.log_invariant_bound(alpha=0.25, step_size=h, step=coarse.steps, quantity="position")
    above = constant(str(math.ceil(math.exp(invariant))))
    (found,) = judge(above, evidence(printed))
    assert found.verdict == verdict.PROVED
    below = constant(str(math.floor(math.exp(invariant))))  # still above the exact supremum: true, but not proved
    (tried,) = judge(below, evidence(printed))
    assert tried.verdict == verdict.NOT_REFUTED


def test_proof_needs_every_step_and_not_the_last_one_alone(coarse: SearchPoint) -> None:
    """Below thm-S at n = 1, above it from n = 100 on; h² > 1/1000 at n = 1, so "for all n" is false."""
    printed = replace(coarse, domain="printed made")
    claim = claim_with(
        lambda s, numbers: numbers.log(s.time * s.time * s.time) + numbers.log(numbers.exact(Fraction(9))),
        lambda s, iv: iv.log(9 * s.time**3),
    )
    (found,) = judge(claim, evidence(printed))
    assert found.verdict == verdict.REFUTED and found.step == 1


def test_proof_of_a_euclidean_norm_counts_the_neurons(coarse: SearchPoint) -> None:
    """A constant between thm-S-Q and √16 times it: proved for the largest neuron, not for the norm of sixteen."""
    printed = replace(coarse, domain="printed made", hidden_size=16)
    invariant = sharp.log_invariant_bound(alpha=0.25, step_size=0.1, step=coarse.steps, quantity="position")
    claim = constant(str(math.ceil(2 * math.exp(invariant))))
    euclidean = with_bound(claim, parts=(replace(claim.bound.parts[0], norm="euclidean"),))
    trial = replace(resonant(coarse, factor=1e-3), point=printed)
    (largest,) = judge(claim, evidence(printed, trials=(trial,)))
    (norm,) = judge(euclidean, evidence(printed, trials=(trial,)))
    assert largest.verdict == verdict.PROVED
    assert norm.verdict == verdict.NOT_REFUTED


@pytest.mark.parametrize(("which", "said"), [("data", "real input"), ("in_range", "in the data's range")])
def test_network_above_the_bound_is_never_passed_over(coarse: SearchPoint, which: str, said: str) -> None:
    runs = {which: {"position/max": np.full(coarse.steps, 2000.0)}}
    (found,) = judge(constant("1000"), evidence(replace(coarse, domain="printed made"), **runs))
    assert found.verdict == verdict.SUSPECT and said in found.because


def test_network_that_is_not_finite_is_inconclusive(coarse: SearchPoint) -> None:
    data = {"position/max": np.full(coarse.steps, np.nan)}
    (found,) = judge(constant("1000"), evidence(replace(coarse, domain="printed made"), data=data))
    assert found.verdict == verdict.INCONCLUSIVE


def asymptotic_icml() -> Claim:
    """icml S(7) for the position at α ≤ 1/2 or so, where β = 1 + 2α."""
    return claim_with(
        lambda s, numbers: icml.log_position(alpha=s.alpha, time=s.time, numbers=numbers),
        lambda s, iv: iv.log(2 / s.alpha * (1 + 2 * (1 + 2 * s.alpha) * s.time)) / 2,
        asymptotic=True,
        hypotheses=(
            Hypothesis("α > 0", lambda s: s.alpha, second_margin=lambda s: s.alpha),
            Hypothesis("α ≤ 1/2", lambda s: 1 - 2 * s.alpha, False, lambda s: 1 - 2 * s.alpha),
        ),
    )


def test_asymptotic_claim_is_refuted_in_the_limit_by_theorem(coarse: SearchPoint) -> None:
    ladder = (coarse, free_point("1/20"), free_point("1/40"))
    (found,) = judge(asymptotic_icml(), evidence(*ladder))
    assert found.verdict == verdict.REFUTED and found.reading == "limit"
    assert "thm-S-limit" in found.because
    assert from_json(found.witness).parameters.limit is not None


def test_one_small_step_alone_says_nothing_about_the_limit(coarse: SearchPoint) -> None:
    """A single rung is no ladder: nothing passes for a verdict about dt → 0, and no number looks like one."""
    (found,) = judge(asymptotic_icml(), evidence(coarse))
    assert found.verdict == verdict.INCONCLUSIVE and "dt → 0" in found.because and found.slack is None


def test_ladder_whose_finest_rung_is_not_admissible_says_nothing_about_the_limit(coarse: SearchPoint) -> None:
    premise = Hypothesis("dt > 1/30", lambda s: 30 * s.dt - 1)
    claim = with_bound(asymptotic_icml(), hypotheses=(*asymptotic_icml().bound.hypotheses, premise))
    ladder = (coarse, free_point("1/20"), free_point("1/40"))
    (found,) = judge(claim, evidence(*ladder))
    assert found.verdict == verdict.INCONCLUSIVE and found.slack is None


def test_violation_without_a_limit_argument_is_suspect(coarse: SearchPoint) -> None:
    """A bound that depends on the step count has no uniform estimate, though every rung is violated."""
    claim = claim_with(
        lambda s, numbers: numbers.log(numbers.exact(1)) + 0 * s.time + 0 * s.steps,
        lambda s, iv: iv.mpf(0) * s.steps,
        asymptotic=True,
    )
    ladder = (coarse, free_point("1/20"), free_point("1/40"))
    (found,) = judge(claim, evidence(*ladder))
    assert found.verdict == verdict.SUSPECT and "no limit argument" in found.because


def test_claim_that_holds_at_coarse_steps_only_is_refuted_in_the_limit(coarse: SearchPoint) -> None:
    """|y| ≤ 20 + 400 dt holds at dt = 1/10 (the supremum is 50.3) and fails at every dt ≤ 1/40."""
    claim = claim_with(
        lambda s, numbers: numbers.log(20 + 400 * s.dt) + 0 * s.time,
        lambda s, iv: iv.log(20 + 400 * s.dt),
        asymptotic=True,
    )
    ladder = (coarse, free_point("1/20"), free_point("1/40"))
    (found,) = judge(claim, evidence(*ladder))
    assert found.verdict == verdict.REFUTED and found.reading == "limit"


def test_violation_at_coarse_steps_only_says_nothing_about_the_limit(coarse: SearchPoint) -> None:
    fine = free_point("1/40")
    trials = (resonant(coarse), resonant(fine, factor=0.1))
    (found,) = judge(asymptotic_icml(), evidence(coarse, fine, trials=trials))
    assert found.verdict == verdict.NOT_REFUTED
    assert found.slack is not None and found.slack > 0


@pytest.mark.parametrize("value", only(["3", "20", "45", "51", "1000"], "20", "51"))
@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("asymptotic", [False, True])
def test_no_passing_verdict_stands_beside_a_negative_slack(
    coarse: SearchPoint, value: str, factor: float, asymptotic: bool
) -> None:
    points = (coarse, free_point("1/20"))
    trials = tuple(resonant(point, factor=factor) for point in points)
    (found,) = judge(constant(value, asymptotic=asymptotic), evidence(*points, trials=trials))
    passing = (verdict.NOT_REFUTED, verdict.PROVED, verdict.VACUOUS, verdict.INAPPLICABLE)
    assert found.slack is not None and (found.slack >= -1e-9 or found.verdict not in passing)


def test_reading_follows_domain_and_hypothesis_only() -> None:
    claim = asymptotic_icml()
    assert [reading_of(claim, domain) for domain in (FREE, "printed RR")] == ["limit", "printed"]
    assert reading_of(with_bound(claim, asymptotic=False), FREE) == ""


def test_judgement_does_not_depend_on_the_claims_name(coarse: SearchPoint) -> None:
    registry = Registry()
    ids = [registered.claim.id for registered in registry.state_bounds()]
    shuffled = dict(zip(ids, reversed(ids), strict=True))
    for registered in registry.state_bounds():
        claim = registered.claim
        renamed = replace(claim, id=shuffled[claim.id])
        found = judge(claim, evidence(coarse))
        assert [replace(j, claim="", witness="") for j in found] == [
            replace(j, claim="", witness="") for j in judge(renamed, evidence(coarse))
        ]
    assert len(ids) == len(set(ids)) >= 5


def test_bound_that_depends_on_the_effective_step_is_not_proved_for_all_of_them(coarse: SearchPoint) -> None:
    """At h = dt thm-S lies below this bound; at a smaller h it does not, and "for all c" would be false."""
    printed = replace(coarse, domain="printed made")
    claim = claim_with(
        lambda s, numbers: 20 * numbers.log(s.step_sizes[0]) + numbers.log(numbers.exact(10**30)) + 0 * s.time,
        lambda s, iv: 20 * iv.log(s.step_sizes[0]) + iv.log(iv.mpf(10**30)),
    )
    (found,) = judge(claim, evidence(printed))
    assert found.verdict == verdict.NOT_REFUTED


def test_a_ratio_holds_the_critical_step_and_the_last_one_each_with_its_own_bound(coarse: SearchPoint) -> None:
    """Steps count from 1; of equal ratios the last is critical; the end is n = N, whatever was critical."""
    point = replace(coarse, steps=6, hidden_size=9)
    part = Part("position", "euclidean", lambda s, n: 0, lambda s, iv: 0)
    values, bounds = np.array([30.0, 8.0, 2.0, 16.0, 6.0, 3.0]), np.log([64.0, 4.0, 1.0, 8.0, 16.0, 32.0])
    found = ratio_of(part, replace(resonant(coarse), point=point, values=values), bounds)
    norm = math.log(3)  # of 9 equal neurons
    assert found.step == 4 and found.log == pytest.approx(math.log(2) + norm)
    assert (found.log_worst, found.log_bound) == pytest.approx((math.log(16) + norm, math.log(8)))
    assert found.log_peak == pytest.approx(math.log(30) + norm)
    assert (found.log_final, found.log_final_bound) == pytest.approx((math.log(3) + norm, math.log(32)))
    end = found.at_end()
    assert end.step == 6 and end.log == pytest.approx(math.log(3 / 32) + norm)
