"""From search results to judgements: ratios in floats, refutations and proofs in balls, and the order of the rules.

A float ratio above 1 never refutes by itself: it nominates a candidate, which both back-ends must certify, premises
included. Rules are asked in the order of ``_judge_part``; none of them knows a claim's id.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from odernn.bounds import sharp
from odernn.bounds.numbers import BALLS, FLOATS
from verification import verdict, witness
from verification.adversary import AMPLITUDE, STEP_PARAMETER
from verification.certify import balls, limit
from verification.claim import Claim, Part, Setting, admissible
from verification.domains import FREE, SearchPoint
from verification.instance import Instance, from_plain
from verification.verdict import Judgement

LOG_10 = math.log(10.0)
LOG_FLOAT32_MAX = math.log(float(np.finfo(np.float32).max))
NEAR = 1e-9
"""A ratio above 1 − NEAR is looked at by the certificates: float64 cannot tell it from 1 over 1e4 steps."""

CERTIFIED_CANDIDATES = 3


@dataclass(frozen=True)
class Trial:
    """One run that was measured: an instance at a point and its float64 envelope of one neuron over n = 1..N."""

    point: SearchPoint
    adversary: str
    quantity: str
    instance: Instance
    values: np.ndarray
    evaluations: int
    finite: bool


@dataclass(frozen=True)
class Evidence:
    """Everything known about one domain and layer when its claims are judged.

    ``data`` and ``in_range`` map "<quantity>/<norm>" to the network's envelope over n (empty for the free domain).
    ``controls`` are the results of the power and soundness controls of the system.
    """

    domain: str
    layer: int
    points: tuple[SearchPoint, ...]
    trials: tuple[Trial, ...]
    data: dict[str, np.ndarray] = field(default_factory=dict)
    in_range: dict[str, np.ndarray] = field(default_factory=dict)
    controls: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Ratio:
    """A trial against a bound: logs of worst and bound at the critical step; the peak over n; bound and value at n =
    N.
    """

    trial: Trial
    step: int
    log_worst: float
    log_bound: float
    log_peak: float
    log_final_bound: float
    log_final: float

    def at_end(self) -> Ratio:
        """The same trial looked at at n = N."""
        return replace(self, step=self.trial.point.steps, log_worst=self.log_final, log_bound=self.log_final_bound)

    @property
    def log(self) -> float:
        return self.log_worst - self.log_bound


def judge(claim: Claim, evidence: Evidence) -> list[Judgement]:
    """One judgement a part of the claim. Never raises for what a claim's formula does: that becomes ``error``."""
    judgements = []
    for part in claim.parts:
        blank = Judgement(
            claim=claim.id, domain=evidence.domain, layer=evidence.layer, quantity=part.quantity, norm=part.norm,
            symbol=part.symbol, reading=reading_of(claim, evidence.domain), verdict=verdict.ERROR, because="",
            origin=claim.origin, dominated_by=claim.dominated_by,
        )  # fmt: skip
        try:
            judgements.append(_judge_part(claim, part, evidence, blank))
        except Exception as error:  # the claim's own code may do anything; the ledger says so and goes on
            judgements.append(replace(blank, because=f"{type(error).__name__}: {error}"))
    return judgements


def reading_of(claim: Claim, domain: str) -> str:
    """Asymptotic hypotheses are read at the published values on the paper's rows, and in the limit elsewhere."""
    if not claim.asymptotic:
        return ""
    return "limit" if domain == FREE else "printed"


def _judge_part(claim: Claim, part: Part, evidence: Evidence, blank: Judgement) -> Judgement:
    points = [point for point in evidence.points if _is_admissible(claim, point, evidence.layer)]
    if not points:
        because = "; ".join(_failing_premises(claim, evidence))
        empty = verdict.VACUOUS if evidence.domain == FREE else verdict.INAPPLICABLE
        return replace(blank, verdict=empty, because=f"no admissible instance: {because} fails")
    trials = [t for t in evidence.trials if t.quantity == part.quantity and t.point in points]
    ratios = sorted((_ratio(part, trial, evidence.layer) for trial in trials if trial.finite), key=lambda r: -r.log)
    filled = _described(blank, part, evidence, ratios, trials)
    refutation = _refutation(claim, part, evidence, ratios)
    if refutation is not None:
        refuted = _at(filled, part, evidence, refutation.ratio, refutation.ratio.step)
        return replace(refuted, verdict=verdict.REFUTED, because=refutation.because, witness=refutation.witness)
    if not all(trial.finite for trial in trials) or not ratios:
        return replace(filled, verdict=verdict.INCONCLUSIVE, because="a search returned numbers that are not finite")
    if excess := _uncertified(claim, part, evidence, ratios):
        return replace(filled, verdict=verdict.SUSPECT, because=excess)
    if _is_vacuous(evidence, ratios):
        digits = ratios[0].log_final_bound / LOG_10
        return replace(
            filled, verdict=verdict.VACUOUS, because=f"the bound 10^{digits:.1f} exceeds the largest float32"
        )
    if proof := _proof(claim, part, evidence):
        return replace(filled, verdict=verdict.PROVED, because=proof)
    failed = [control for control in evidence.controls if not control["passed"]]
    if failed or not evidence.controls:
        return replace(filled, verdict=verdict.INCONCLUSIVE, because="control-failed: " + _control_text(failed))
    return replace(filled, verdict=verdict.NOT_REFUTED, because=_tried_text(filled))


# --- admissibility, ratios, description -------------------------------------------------------------------------


def _point_setting(point: SearchPoint, layer: int, *, step: Any, numbers: Any = FLOATS) -> Setting:
    """The setting of a point for the adversaries' neurons, c = STEP_PARAMETER."""
    dt = point.dt[layer - 1]
    h = numbers.exact(dt) / (1 + numbers.exp(-numbers.exact(STEP_PARAMETER)))
    sizes = [h] if isinstance(step, int) else np.array([h])
    return Setting.of(
        numbers, alpha=point.alpha, dt=dt, step=step, steps=point.steps, hidden_size=point.hidden_size, step_sizes=sizes
    )


def _is_admissible(claim: Claim, point: SearchPoint, layer: int) -> bool:
    return all(holds for *_, holds in admissible(claim, _point_setting(point, layer, step=point.steps), FLOATS))


def _failing_premises(claim: Claim, evidence: Evidence) -> list[str]:
    point = evidence.points[0]
    found = admissible(claim, _point_setting(point, evidence.layer, step=point.steps), FLOATS)
    return [premise.text for premise, _, holds in found if not holds]


def _log_bounds(part: Part, point: SearchPoint, layer: int) -> np.ndarray:
    """The bound's logarithm for n = 1..N in float64. Raises FloatingPointError if it is not finite: inf is never a
    bound.
    """
    steps = np.arange(1, point.steps + 1)
    logs = np.asarray(part.bound(_point_setting(point, layer, step=steps.astype(np.float64)), FLOATS), dtype=np.float64)
    logs = np.broadcast_to(logs, steps.shape)
    if not np.isfinite(logs).all():
        raise FloatingPointError(f"the bound on {part.symbol} is {logs[~np.isfinite(logs)][0]} at {point.label(layer)}")
    return logs


def _norm_factor(part: Part, hidden_size: int) -> float:
    """log of ‖(v, …, v)‖/|v| over m equal neurons."""
    return 0.5 * math.log(hidden_size) if part.norm == "euclidean" else 0.0


def _safe_log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        logs: np.ndarray = np.log(values)
    return logs


def _ratio(part: Part, trial: Trial, layer: int) -> Ratio:
    """The ratio at the critical step: the last n within ``NEAR`` of the largest worst/bound."""
    logs = _safe_log(trial.values) + _norm_factor(part, trial.point.hidden_size)
    bounds = _log_bounds(part, trial.point, layer)
    ratios = logs - bounds
    n = int(np.flatnonzero(ratios >= np.max(ratios) - NEAR)[-1])
    ends = float(np.max(logs)), float(bounds[-1]), float(logs[-1])
    return Ratio(trial, n + 1, float(logs[n]), float(bounds[n]), *ends)


def _described(blank: Judgement, part: Part, evidence: Evidence, ratios: list[Ratio], trials: list[Trial]) -> Judgement:
    """The judgement with every number that is known, and no verdict yet."""
    key = f"{part.quantity}/{part.norm}"
    spent = sum(trial.evaluations for trial in trials)
    powers = [report["best"] for control in evidence.controls for report in control["reports"]]
    found = replace(
        blank,
        log_data=_log_peak(evidence.data.get(key)),
        log_range=_log_peak(_larger(evidence.in_range.get(key), evidence.data.get(key))),
        evaluations=spent,
        control=min(powers) if powers else None,
    )
    relevant = _in_the_limit(ratios, evidence) if blank.reading == "limit" else ratios
    return _at(found, part, evidence, relevant[0], None) if relevant else found


def _in_the_limit(ratios: list[Ratio], evidence: Evidence) -> list[Ratio]:
    """Only the finest rung of every ladder speaks about dt → 0."""
    finest: dict[str, Fraction] = {}
    for point in evidence.points:
        dt = point.dt[evidence.layer - 1]
        finest[point.group] = min(dt, finest.get(point.group, dt))
    return [r for r in ratios if r.trial.point.dt[evidence.layer - 1] == finest[r.trial.point.group]]


def _at(judgement: Judgement, part: Part, evidence: Evidence, ratio: Ratio, step: int | None) -> Judgement:
    """The numbers of one trial: at ``step`` for a refutation, else over the whole run (bound and exact at n = N)."""
    trial, point = ratio.trial, ratio.trial.point
    shown = point.steps if step is None else step
    exact = None
    if trial.instance.system == "unicornn":
        setting = _point_setting(point, evidence.layer, step=shown)
        log_exact = sharp.log_supremum_at(
            alpha=setting.alpha, step_size=setting.step_sizes[0], steps=shown, quantity=part.quantity
        )
        exact = float(log_exact) + _norm_factor(part, point.hidden_size)
    return replace(
        judgement,
        point=point.label(evidence.layer),
        step=shown,
        critical_step=ratio.step,
        log_bound=ratio.log_final_bound if step is None else ratio.log_bound,
        log_worst=ratio.log_peak if step is None else ratio.log_worst,
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


# --- refutation -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refutation:
    """A certified violation: where, the witness as text, and why it counts."""

    ratio: Ratio
    witness: str
    because: str


def _refutation(claim: Claim, part: Part, evidence: Evidence, ratios: list[Ratio]) -> Refutation | None:
    candidates = [ratio for ratio in ratios if ratio.log > -NEAR]
    if reading_of(claim, evidence.domain) != "limit":
        for ratio in candidates[:CERTIFIED_CANDIDATES]:
            if outcome := _certified(claim, part, evidence, ratio):
                because = f"certified at {outcome.bits} bits by two back-ends"
                return Refutation(ratio, _witness_text(claim, part, evidence, ratio, outcome, None), because)
        return None
    for ladder in _ladders(candidates, evidence):
        finest = ladder[-1]
        outcome = _certified(claim, part, evidence, finest)
        if outcome is None:
            continue
        data = limit.LimitData(
            alpha=finest.trial.point.alpha,
            horizon=finest.trial.point.steps * finest.trial.point.dt[evidence.layer - 1],
            c=Fraction(STEP_PARAMETER),
            amplitude=Fraction(AMPLITUDE),
            layer=evidence.layer,
            dt=finest.trial.point.dt[evidence.layer - 1],
        )
        proof = limit.certify(claim, part, data)
        if proof.holds:
            return Refutation(finest, _witness_text(claim, part, evidence, finest, outcome, proof.data), proof.because)
    return None


def _ladders(candidates: list[Ratio], evidence: Evidence) -> list[list[Ratio]]:
    """Violations by group (α, T), refined in dt, with every admissible rung of the group violated at n = N; worst
    group first.
    """
    groups: dict[str, dict[Fraction, Ratio]] = {}
    for ratio in candidates:
        rung = ratio.trial.point.dt[evidence.layer - 1]
        best = groups.setdefault(ratio.trial.point.group, {})
        end = ratio.at_end()
        if end.log > -NEAR and (rung not in best or best[rung].log < end.log):
            best[rung] = end
    full = []
    for group, rungs in groups.items():
        asked = {p.dt[evidence.layer - 1] for p in evidence.points if p.group == group}
        if len(asked) > 1 and set(rungs) == asked:
            full.append([rungs[dt] for dt in sorted(rungs, reverse=True)])
    return sorted(full, key=lambda ladder: -ladder[-1].log)


def _certified(claim: Claim, part: Part, evidence: Evidence, ratio: Ratio) -> balls.Outcome | None:
    """The outcome if both back-ends prove the violation at the critical step, and every premise holds."""
    where = {"layer": evidence.layer, "step": ratio.step, "steps": ratio.trial.point.steps}
    outcome = balls.decide(claim, part, ratio.trial.instance, **where)
    if not outcome.is_refutation:
        return None
    second = witness.second_opinion(claim, part, ratio.trial.instance, **where)
    return outcome if second["status"] == "violates" else None


def _witness_text(
    claim: Claim, part: Part, evidence: Evidence, ratio: Ratio, outcome: balls.Outcome, data: limit.LimitData | None
) -> str:
    return witness.to_json(
        witness.Witness(
            claim=claim.id,
            quantity=part.quantity,
            norm=part.norm,
            layer=evidence.layer,
            step=ratio.step,
            steps=ratio.trial.point.steps,
            instance=ratio.trial.instance.truncated(ratio.step),
            log_measured=witness.record(outcome.measured[0]),
            log_bound=witness.record(outcome.bound[1]),
            reading=reading_of(claim, evidence.domain),
            limit=data,
        )
    )


def _uncertified(claim: Claim, part: Part, evidence: Evidence, ratios: list[Ratio]) -> str:
    """Why a float violation stands uncertified, or "" if none does (or the balls prove that it is none)."""
    key = f"{part.quantity}/{part.norm}"
    for name, values in (
        ("real input", evidence.data.get(key)),
        ("an input in the data's range", evidence.in_range.get(key)),
    ):
        if values is not None and np.any(_safe_log(values) > _log_bounds(part, evidence.points[0], evidence.layer)):
            return f"the row's own network exceeds the bound on {name}, and no adversary found a violation to certify"
    above = [ratio for ratio in ratios if ratio.log > 0]
    if reading_of(claim, evidence.domain) == "limit":
        for ladder in _ladders(above, evidence):
            if all(_certified(claim, part, evidence, rung) for rung in ladder):
                low, high = ladder[-1].trial.point.label(evidence.layer), math.exp(ladder[-1].log)
                return f"no limit argument: certified on the whole ladder down to {low} (ratio {high:.4g})"
        return ""
    for ratio in above[:CERTIFIED_CANDIDATES]:
        where = {"layer": evidence.layer, "step": ratio.step, "steps": ratio.trial.point.steps}
        outcome = balls.decide(claim, part, ratio.trial.instance, **where)
        if outcome.status != "holds":
            where_text = ratio.trial.point.label(evidence.layer)
            return f"float64 ratio {math.exp(ratio.log):.6g} at {where_text}, but the balls say: {outcome.status}"
    return ""


# --- vacuity and proof ------------------------------------------------------------------------------------------


def _is_vacuous(evidence: Evidence, ratios: list[Ratio]) -> bool:
    """On the paper's rows, whose networks run in float32: the bound at n = N exceeds the largest float32."""
    return evidence.domain != FREE and ratios[0].log_final_bound > LOG_FLOAT32_MAX


def _proof(claim: Claim, part: Part, evidence: Evidence) -> str:
    """On a printed row: thm-S ≤ bound for every n ≤ N, every h ≤ dt, in balls. Returns the box, or "" if not proved.

    Uses the invariant form (α > 0) or the exact supremum (α = 0): both increase with h, so h = dt covers all σ̂(c) ≤ 1.
    """
    if (
        evidence.domain == FREE
        or claim.origin == "library"
        or claim.system.name != "unicornn"
        or len(evidence.points) != 1
    ):
        return ""
    point, layer = evidence.points[0], evidence.layer
    with flint.ctx.workprec(128):
        alpha, dt = BALLS.exact(point.alpha), BALLS.exact(point.dt[layer - 1])
        if point.alpha > 0 and not alpha * dt * dt < 4:
            return ""
        factor = BALLS.exact(point.hidden_size).log() / 2 if part.norm == "euclidean" else 0
        for n in range(1, point.steps + 1):
            setting = Setting.of(
                BALLS, alpha=point.alpha, dt=point.dt[layer - 1], step=n, steps=point.steps,
                hidden_size=point.hidden_size, step_sizes=[dt],
            )  # fmt: skip
            if n == 1 and not all(holds for *_, holds in admissible(claim, setting, BALLS)):
                return ""
            if not factor + _envelope(point, dt, n, part.quantity) <= part.bound(setting, BALLS):
                return ""
    return f"for all weights, inputs, c and n ≤ {point.steps}: thm-S ≤ bound, in balls"


def _envelope(point: SearchPoint, dt: Any, n: int, quantity: str) -> Any:
    step = BALLS.exact(n)
    if point.alpha == 0:
        return sharp.log_undamped_supremum(step_size=dt, step=step, quantity=quantity, numbers=BALLS)
    return sharp.log_invariant_bound(
        alpha=BALLS.exact(point.alpha), step_size=dt, step=step, quantity=quantity, numbers=BALLS
    )


# --- sentences --------------------------------------------------------------------------------------------------


def _control_text(failed: list[dict[str, Any]]) -> str:
    if not failed:
        return "no control was run"
    worst = [f"{c['group']}: best {r['best']:.3f} of the optimum" for c in failed for r in c["reports"]]
    return "; ".join(worst)


def _tried_text(judgement: Judgement) -> str:
    control = f", power control {judgement.control:.3f}" if judgement.control is not None else ""
    return f"{judgement.evaluations} evaluations{control}"


def trial_from_plain(point: SearchPoint, entry: dict[str, Any], values: np.ndarray) -> Trial:
    """A trial of a search job's result."""
    return Trial(
        point,
        entry["adversary"],
        entry["quantity"],
        from_plain(entry["instance"]),
        values,
        entry["evaluations"],
        entry["finite"],
    )
