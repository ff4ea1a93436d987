"""From evidence to judgements: the rules, in the order in which they are asked. None of them knows a claim's id.

A float ratio never refutes by itself: it nominates a candidate, which ``refute`` has certified by both back-ends.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from odernn.bounds import sharp
from verification import verdict
from verification.cases.state_bound import refute, typings
from verification.cases.state_bound.proof import proof
from verification.cases.state_bound.ratios import (
    Evidence,
    Ratio,
    Trial,
    failing_premises,
    finest_rungs,
    is_admissible,
    log_bounds,
    norm_factor,
    point_setting,
    ratio_of,
    reading_of,
    safe_log,
)
from verification.claim import Claim, Part
from verification.domains import FREE
from verification.verdict import LOG_10, LOG_FLOAT32_MAX, Findings, Judgement, Sides
from verification.witness.state_run import given_of


def judge(claim: Claim, evidence: Evidence) -> list[Judgement]:
    """One judgement a part of the claim. Never raises for what a claim's formula does: that becomes ``error``."""
    judgements = []
    for part in claim.bound.parts:
        blank = blank_of(claim, part, evidence.domain, evidence.layer)
        try:
            if apart := typings.contradiction(claim, part, evidence):
                raise ArithmeticError(apart)
            judgements.append(_judge_part(claim, part, evidence, blank))
        except Exception as error:  # the claim's own code may do anything; the ledger says so and goes on
            judgements.append(replace(blank, because=f"{type(error).__name__}: {error}"))
    return judgements


def blank_of(claim: Claim, part: Part, domain: str, layer: int, because: str = "") -> Judgement:
    """The judgement before anything is known: an error, with the names filled in."""
    return Judgement(
        claim=claim.id,
        domain=domain,
        layer=layer,
        quantity=part.quantity,
        norm=part.norm,
        symbol=part.symbol,
        reading=reading_of(claim, domain),
        verdict=verdict.ERROR,
        because=because,
        origin=claim.origin,
        system=claim.bound.system.name,
        dominated_by=claim.dominated_by,
    )


def _judge_part(claim: Claim, part: Part, evidence: Evidence, blank: Judgement) -> Judgement:
    points = [point for point in evidence.points if is_admissible(claim, point, evidence.layer)]
    if not points:
        return _settled(blank, _without_points(claim, evidence))
    admitted = set(points)
    trials = [t for t in evidence.trials if t.quantity == part.quantity and t.point in admitted]
    bounds = {point: log_bounds(part, point, evidence.layer) for point in {t.point for t in trials if t.finite}}
    ratios = sorted((ratio_of(part, t, bounds[t.point]) for t in trials if t.finite), key=lambda r: -r.log)
    relevant = finest_rungs(ratios, evidence) if blank.reading == "limit" else ratios
    filled = _described(blank, part, evidence, relevant, trials)
    attempted = refute.attempt(claim, part, evidence, ratios)
    if isinstance(attempted, refute.Refutation):
        refuted = _at(filled, part, evidence, [attempted.ratio], attempted.ratio.step)
        refuted = replace(refuted, witness=attempted.witness, given=given_of(attempted.witness))
        return _settled(refuted, Findings(certified=attempted.because))
    failed = [control for control in evidence.controls if not control["passed"]]
    findings = Findings(
        doubt="" if attempted is None else attempted.because,
        sides=(*_sides_of(relevant, evidence), *_sides_of_network(part, evidence)),
        not_finite=_not_finite(trials, ratios),
        log_promised=ratios[0].log_final_bound if ratios else None,
        log_largest=None if evidence.domain == FREE else LOG_FLOAT32_MAX,
        dtype="float32",
        proof=lambda: proof(claim, part, evidence),
        untried="" if relevant else "no ladder of admissible points reaches its finest dt: nothing speaks about dt → 0",
        power=_control_text(failed) if failed or not evidence.controls else "",
        tried=_tried_text(filled),
    )
    return _settled(filled, findings)


def _settled(judgement: Judgement, findings: Findings) -> Judgement:
    said, because = verdict.decided(findings)
    return replace(judgement, verdict=said, because=because)


def _without_points(claim: Claim, evidence: Evidence) -> Findings:
    because = "; ".join(failing_premises(claim, evidence.points[0], evidence.layer))
    if evidence.domain != FREE:
        return Findings(inapplicable=f"no admissible instance: {because} fails")
    searched = len(evidence.points)
    return Findings(
        untried=f"none of the search's {searched} points satisfies every premise (the first: {because} fails)"
    )


def _not_finite(trials: list[Trial], ratios: list[Ratio]) -> str:
    if ratios and all(trial.finite for trial in trials):
        return ""
    return "a search returned numbers that are not finite"


def _sides_of(ratios: list[Ratio], evidence: Evidence) -> list[Sides]:
    return [
        Sides(ratio.log_worst, ratio.log_bound, f"at {ratio.trial.point.label(evidence.layer)}, n = {ratio.step}")
        for ratio in ratios
    ]


def _sides_of_network(part: Part, evidence: Evidence) -> list[Sides]:
    """The row's own network, where measured/bound of its own effective steps is largest (or the row is refuted)."""
    key = f"{part.quantity}/{part.norm}"
    runs = {"real input": evidence.data.get(key), "an input in the data's range": evidence.in_range.get(key)}
    sides = []
    for name, values in runs.items():
        if values is None:
            continue
        logs, bounds = safe_log(values), log_bounds(part, evidence.points[0], evidence.layer, evidence.step_sizes)
        worst = int(np.argmax(logs - bounds))  # nan, if there is one
        sides.append(Sides(float(logs[worst]), float(bounds[worst]), f"of the row's own network on {name}"))
    return sides


def _described(
    blank: Judgement, part: Part, evidence: Evidence, relevant: list[Ratio], trials: list[Trial]
) -> Judgement:
    """The judgement with every number that is known, and no verdict yet. ``relevant``: in the limit reading only the
    finest rungs of the ladders.
    """
    key = f"{part.quantity}/{part.norm}"
    spent = sum(trial.evaluations for trial in trials)
    powers = [report["best"] for control in evidence.controls for report in control["reports"]]
    described = replace(
        blank,
        log_data=_log_peak(evidence.data.get(key)),
        log_range=_log_peak(_larger(evidence.in_range.get(key), evidence.data.get(key))),
        evaluations=spent,
        control=min(powers) if powers else None,
    )
    return _at(described, part, evidence, relevant, None) if relevant else described


def _at(judgement: Judgement, part: Part, evidence: Evidence, ratios: list[Ratio], step: int | None) -> Judgement:
    """The numbers of the point of the first ratio: at ``step`` for a refutation; else bound and exact value at n =
    N, and the largest value that any trial at that point reached.
    """
    ratio = ratios[0]
    trial, point = ratio.trial, ratio.trial.point
    peak = max(other.log_peak for other in ratios if other.trial.point == point)
    shown = point.steps if step is None else step
    exact = None
    if trial.instance.system == "unicornn":
        setting = point_setting(point, evidence.layer, step=shown)
        log_exact = sharp.log_supremum_at(
            alpha=setting.alpha, step_size=setting.step_sizes[0], steps=shown, quantity=part.quantity
        )
        exact = float(log_exact) + norm_factor(part, point.hidden_size)
    return replace(
        judgement,
        point=point.label(evidence.layer),
        step=shown,
        critical_step=ratio.step,
        log_bound=ratio.log_final_bound if step is None else ratio.log_bound,
        log_worst=peak if step is None else ratio.log_worst,
        log_exact=exact,
        slack=-ratio.log / LOG_10,
        adversary=trial.adversary,
    )


def _larger(in_range: np.ndarray | None, data: np.ndarray | None) -> np.ndarray | None:
    """Real input is an input in the data's range, too."""
    return in_range if data is None or in_range is None else np.maximum(in_range, data)


def _log_peak(values: np.ndarray | None) -> float | None:
    if values is None:
        return None
    peak = float(np.max(values))
    return math.log(peak) if peak > 0 and math.isfinite(peak) else None


# --- sentences --------------------------------------------------------------------------------------------------


def _control_text(failed: list[dict[str, Any]]) -> str:
    if not failed:
        return "no control was run"
    return "; ".join(f"{c['group']}: {r['sentence']}" for c in failed for r in c["reports"] if not r["passed"])


def _tried_text(judgement: Judgement) -> str:
    control = f", power control {judgement.control:.3f}" if judgement.control is not None else ""
    return f"{judgement.evaluations} evaluations{control}"
