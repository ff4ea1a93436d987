"""From what asking a case brought to light to a judgement, by rules that know no claim's id."""

from __future__ import annotations

import random
from dataclasses import replace

from verification import verdict
from verification.claim import Attempt, Case, Check, Claim
from verification.counterexample import Counterexample, to_json
from verification.domains import Budget, is_printed
from verification.parameters import Guarded
from verification.verdict import (
    LEAST_CONTROL,
    LOG_10,
    LOG_FLOAT32_MAX,
    Findings,
    Judgement,
    Sides,
    decided,
    doubt_about,
)

MOST_CANDIDATES = 5
COMPARISONS = {"smoke": 1, "standard": 1, "deep": 5}
"""At how many drawn parameters the two back-ends of a case are compared."""


def answer(claim: Claim, case: Case, budget: Budget, seed: int) -> Judgement:
    """The judgement of one case. Never raises for what the claim's own code does: that becomes ``error``."""
    blank = blank_of(claim, case)
    try:
        _compare(case, budget, seed)
        attempt = case.ask(budget, seed)
        return _judged(claim, case, attempt, _described(blank, attempt))
    except Exception as error:  # the claim's own code may do anything; the ledger says so and goes on
        return replace(blank, because=f"{type(error).__name__}: {error}")


def _compare(case: Case, budget: Budget, seed: int) -> None:
    """The two back-ends at drawn parameters. ArithmeticError if they say what cannot both be true: one of them is
    wrong, and nothing that they prove is worth anything.
    """
    if not isinstance(case.check, Guarded):
        return
    rng = random.Random(f"{seed} {case.domain} {case.quantity}")
    for _ in range(COMPARISONS[budget.name]):
        drawn = case.check.declaration.draw(rng)
        check = case.check(drawn)
        if check.apart and all(premise.holds for premise in check.premises):
            where = ", ".join(f"{name} = {text}" for name, text in drawn.items())
            raise ArithmeticError(f"the back-ends contradict each other at {where}: {check.apart}")


def blank_of(claim: Claim, case: Case) -> Judgement:
    """The judgement before anything is known: an error, with the names filled in."""
    return Judgement(
        claim=claim.id,
        domain=case.domain,
        layer=0,
        quantity=case.quantity,
        norm="",
        symbol=case.quantity,
        reading=case.reading,
        verdict=verdict.ERROR,
        because="",
        origin=claim.origin,
        system="",
        dominated_by=claim.dominated_by,
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


def _judged(claim: Claim, case: Case, attempt: Attempt, filled: Judgement) -> Judgement:
    doubts = []
    for parameters in () if attempt.inapplicable else attempt.candidates[:MOST_CANDIDATES]:
        if case.check is None:
            raise ValueError(f"{claim.id}: a case without check named a candidate, which nobody could certify")
        check = case.check(parameters)
        doubt = doubt_about(check, case)
        if not doubt:
            witness = Counterexample(claim.id, case.domain, case.quantity, dict(parameters))
            because = "; ".join(filter(None, [check.words, check.limit])) or "certified by two back-ends"
            return _settled(_certified(filled, check, to_json(witness)), Findings(certified=because))
        doubts.append(doubt)
    return _settled(filled, _findings(case, attempt, next(iter(doubts), "")))


def _findings(case: Case, attempt: Attempt, doubt: str) -> Findings:
    sides: tuple[Sides, ...] = ()
    if attempt.log_measured is not None and attempt.log_claimed is not None:
        sides = (Sides(attempt.log_measured, attempt.log_claimed),)
    power = ""
    if case.is_search and (attempt.control is None or attempt.control < LEAST_CONTROL):
        power = "no control was run" if attempt.control is None else f"{attempt.control:.3f} of a known optimum"
    return Findings(
        inapplicable=attempt.inapplicable,
        doubt=doubt,
        sides=sides,
        log_promised=attempt.log_claimed,
        log_largest=LOG_FLOAT32_MAX if is_printed(case.domain) else None,
        dtype="float32",
        vacuous=attempt.vacuous,
        proof=attempt.proof,
        untried="" if attempt.evaluations else "nothing was tried",
        power=power,
        tried=attempt.tried,
    )


def _settled(filled: Judgement, findings: Findings) -> Judgement:
    said, because = decided(findings)
    return replace(filled, verdict=said, because=because)


def _certified(filled: Judgement, check: Check, witness: str) -> Judgement:
    """With the numbers of the violation, where it has sizes."""
    if check.log_measured is None or check.log_claimed is None:
        return replace(filled, witness=witness)
    slack = (check.log_claimed - check.log_measured) / LOG_10
    return replace(filled, witness=witness, log_bound=check.log_claimed, log_worst=check.log_measured, slack=slack)
