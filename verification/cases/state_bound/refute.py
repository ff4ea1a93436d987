"""From nominated candidates to certified refutations, or to the sentence that says why there is none.

A float ratio near or above 1 nominates; both back-ends decide. A claim that is read in the limit is refuted only by
a whole ladder of certified violations together with a theorem that covers every smaller dt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from verification.adversary import AMPLITUDE
from verification.cases.state_bound.ratios import Evidence, Ratio, finest_rungs, reading_of
from verification.certify import balls, limit
from verification.certify.second import intervals as second
from verification.claim import Claim, Part
from verification.verdict import NEAR
from verification.witness.file import Witness, to_json
from verification.witness.state_check import first_opinion, second_opinion
from verification.witness.state_run import FREE, StateRun, record


@dataclass(frozen=True)
class Refutation:
    """A certified violation: where, the witness as text, and why it counts."""

    ratio: Ratio
    witness: str
    because: str


@dataclass(frozen=True)
class Suspicion:
    """A float violation that stands uncertified, and why."""

    because: str


def attempt(claim: Claim, part: Part, evidence: Evidence, ratios: list[Ratio]) -> Refutation | Suspicion | None:
    """The first certified refutation, else a suspicion, else None. ``ratios`` come largest first."""
    if reading_of(claim, evidence.domain) == "limit":
        return _in_the_limit(claim, part, evidence, ratios)
    suspicion = None
    for ratio in ratios:
        if ratio.log <= -NEAR:
            break
        outcome, agreed = _decided(claim, part, evidence, ratio)
        if agreed:
            because = f"certified at {outcome.bits} bits by two back-ends"
            return Refutation(ratio, _witness_text(claim, part, evidence, ratio, outcome, None), because)
        if ratio.log > NEAR and suspicion is None:
            suspicion = Suspicion(_disagreement(ratio, outcome, evidence))
    return suspicion


def _in_the_limit(claim: Claim, part: Part, evidence: Evidence, ratios: list[Ratio]) -> Refutation | Suspicion | None:
    """The finest rung of a ladder is certified, where a theorem says that every smaller dt fails as well; the others
    are certified only if none of these is, to say why none refutes.
    """
    ends = [end for finest in finest_rungs(ratios, evidence) if (end := finest.at_end()).log > -NEAR]
    proofs = [limit.certify(claim, part, _data_of(end, evidence.layer)) for end in ends]
    decisions: dict[int, tuple[balls.Outcome, bool]] = {}
    for number, (end, proof) in enumerate(zip(ends, proofs, strict=True)):
        if not proof.holds:
            continue
        outcome, agreed = decisions[number] = _decided(claim, part, evidence, end)
        if agreed:
            return Refutation(end, _witness_text(claim, part, evidence, end, outcome, proof.data), proof.because)
    for number, (end, proof) in enumerate(zip(ends, proofs, strict=True)):
        outcome, agreed = decisions.get(number) or _decided(claim, part, evidence, end)
        if agreed:
            where = end.trial.point.label(evidence.layer)
            return Suspicion(
                f"no limit argument: certified at {where} (ratio {math.exp(end.log):.4g}), but {proof.because}"
            )
        if end.log > NEAR:
            return Suspicion(_disagreement(end, outcome, evidence))
    return None


def _data_of(end: Ratio, layer: int) -> limit.LimitData:
    point = end.trial.point
    dt = point.dt[layer - 1]
    return limit.LimitData(
        alpha=point.alpha,
        horizon=point.steps * dt,
        c=point.c,
        amplitude=Fraction(AMPLITUDE),
        layer=layer,
        dt=dt,
    )


def _disagreement(ratio: Ratio, outcome: balls.Outcome, evidence: Evidence) -> str:
    """Why a violation seen in float64 is not a refutation."""
    said = {
        "holds": "the balls prove that it obeys the bound there: measurement and certificate disagree",
        "undecided": "the balls cannot decide it",
        "violates": _objection(outcome),
    }[outcome.status]
    return f"float64 ratio {math.exp(ratio.log):.6g} at {ratio.trial.point.label(evidence.layer)}, but {said}"


def _decided(claim: Claim, part: Part, evidence: Evidence, ratio: Ratio) -> tuple[balls.Outcome, bool]:
    """The balls' outcome at the critical step, and whether both back-ends prove the violation and every premise
    holds.
    """
    where = {"layer": evidence.layer, "step": ratio.step, "steps": ratio.trial.point.steps}
    outcome = first_opinion(claim, part, ratio.trial.instance, **where)
    if not outcome.is_refutation:
        return outcome, False
    return outcome, second.is_refutation(second_opinion(claim, part, ratio.trial.instance, **where))


def _objection(outcome: balls.Outcome) -> str:
    unproved = [text for text, _, proved in outcome.premises if not proved]
    if unproved:
        return f"premise {unproved[0]} is not proved"
    return "the second back-end does not confirm the violation, premises included"


def _witness_text(
    claim: Claim, part: Part, evidence: Evidence, ratio: Ratio, outcome: balls.Outcome, data: limit.LimitData | None
) -> str:
    run = StateRun(
        layer=evidence.layer,
        step=ratio.step,
        steps=ratio.trial.point.steps,
        instance=ratio.trial.instance.truncated(ratio.step),
        log_measured=record(outcome.measured[0]),
        log_bound=record(outcome.bound[1]),
        limit=data,
    )
    return to_json(Witness(claim.id, reading_of(claim, evidence.domain) or FREE, part.symbol, run))
