"""From what asking a question brought to light to a judgement, by rules that know no question's id."""

from __future__ import annotations

from dataclasses import replace

from verification import verdict
from verification.counterexample import Counterexample, to_json
from verification.domains import Budget
from verification.question import Attempt, Case, Check, Parameters, Question
from verification.verdict import LEAST_CONTROL, LOG_10, NEAR, Judgement, doubt_about

MOST_CANDIDATES = 5


def answer(question: Question, case: Case, budget: Budget, seed: int) -> Judgement:
    """The judgement of one case. Never raises for what the question's own code does: that becomes ``error``."""
    blank = blank_of(question, case)
    try:
        attempt = case.ask(budget, seed)
        return _judged(question, case, attempt, _described(blank, attempt))
    except Exception as error:  # the question's own code may do anything; the ledger says so and goes on
        return replace(blank, because=f"{type(error).__name__}: {error}")


def blank_of(question: Question, case: Case) -> Judgement:
    """The judgement before anything is known: an error, with the names filled in."""
    return Judgement(
        claim=question.id,
        domain=case.domain,
        layer=0,
        quantity=case.quantity,
        norm="",
        symbol=case.quantity,
        reading=case.reading,
        verdict=verdict.ERROR,
        because="",
        origin=question.origin,
        system="",
        dominated_by=question.dominated_by,
    )


def _described(blank: Judgement, attempt: Attempt) -> Judgement:
    slack = None
    if attempt.log_measured is not None and attempt.log_claimed is not None:
        slack = (attempt.log_claimed - attempt.log_measured) / LOG_10
    return replace(
        blank,
        log_bound=attempt.log_claimed,
        log_worst=attempt.log_measured,
        slack=slack,
        evaluations=attempt.evaluations,
        control=attempt.control,
        found=attempt.found,
        claimed=attempt.claimed,
    )


def _judged(question: Question, case: Case, attempt: Attempt, filled: Judgement) -> Judgement:
    if attempt.inapplicable:
        return replace(filled, verdict=verdict.INAPPLICABLE, because=attempt.inapplicable)
    doubts = []
    for parameters in attempt.candidates[:MOST_CANDIDATES]:
        if case.check is None:
            raise ValueError(f"{question.id}: a case without check named a candidate, which nobody could certify")
        check = case.check(parameters)
        doubt = doubt_about(check, case)
        if not doubt:
            return _refuted(question, case, parameters, check, filled)
        doubts.append(doubt)
    if doubts:
        return replace(filled, verdict=verdict.SUSPECT, because=doubts[0])
    if attempt.vacuous:
        return replace(filled, verdict=verdict.VACUOUS, because=attempt.vacuous)
    if filled.slack is not None and filled.slack < -NEAR:
        because = "floats violate the statement, and no exact candidate was named to be certified"
        return replace(filled, verdict=verdict.SUSPECT, because=because)
    if attempt.proof:
        return replace(filled, verdict=verdict.PROVED, because=attempt.proof)
    if case.is_search and (attempt.control is None or attempt.control < LEAST_CONTROL):
        share = "no control was run" if attempt.control is None else f"{attempt.control:.3f} of a known optimum"
        return replace(filled, verdict=verdict.INCONCLUSIVE, because=f"control-failed: {share}")
    if not attempt.evaluations:
        return replace(filled, verdict=verdict.INCONCLUSIVE, because="nothing was tried")
    return replace(filled, verdict=verdict.NOT_REFUTED, because=attempt.tried)


def _refuted(question: Question, case: Case, parameters: Parameters, check: Check, filled: Judgement) -> Judgement:
    witness = Counterexample(question.id, case.domain, case.quantity, dict(parameters))
    because = "; ".join(filter(None, [check.words, check.limit]))
    numbers = {}
    if check.log_measured is not None and check.log_claimed is not None:
        slack = (check.log_claimed - check.log_measured) / LOG_10
        numbers = {"log_bound": check.log_claimed, "log_worst": check.log_measured, "slack": slack}
    return replace(filled, verdict=verdict.REFUTED, because=because, witness=to_json(witness), **numbers)  # type: ignore[arg-type]
