"""From what asking a case brought to light to a judgement, by rules that know no claim's id."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from verification import verdict
from verification.claim import BOTH, Attempt, Case, Check, Claim, ClaimError, Parameters
from verification.domains import Budget, is_printed
from verification.parameters import Guarded
from verification.spread import Spread
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
from verification.witness.file import Witness, to_json

MOST_CANDIDATES = 5
DRAWN = {"smoke": 1, "standard": 8, "deep": 50}
DRAWN_IF_COSTLY = {"smoke": 1, "standard": 1, "deep": 5}
"""At how many places, drawn from the declaration of a case by seed, both back-ends are heard beside what it asks."""
SPREAD = {"smoke": 20, "standard": 250, "deep": 2000}
SPREAD_IF_SLOW = {"smoke": 1, "standard": 10, "deep": 100}
"""At how many places, spread over the declaration, a case is tried that nothing else has decided; fewer where a check
is costly and there is no quicker look. docs/power.md says how often that finds what is false in a small region only.
"""
BOTH_EVERY, BOTH_EVERY_IF_SLOW = 10, 50
"""Of the spread places at which the quicker look finds nothing, one in so many is shown to both back-ends; fewer where
a check is costly, or the second back-end slow beside the look.
"""
MOST_DRAWS = 10
"""For each of them, where a premise fails at some that are drawn."""


@dataclass(frozen=True)
class Heard:
    """A drawn place at which every premise holds, and what both back-ends say there."""

    parameters: Parameters
    check: Check

    @property
    def obeys(self) -> bool:
        """Whether no back-end finds a violation there."""
        return not any(opinion.violated for opinion in self.check.opinions)


def answer(claim: Claim, case: Case, budget: Budget, seed: int) -> Judgement:
    """The judgement of one case. Never raises for what the claim's own code does: that becomes ``error``."""
    blank = blank_of(claim, case)
    try:
        heard = _heard(case, budget, seed)
        attempt = case.ask(budget, seed)
        judged = _judged(claim, case, attempt, heard, _described(blank, attempt))
        return _searched(claim, case, judged, budget, seed) if judged.verdict == verdict.NOT_REFUTED else judged
    except Exception as error:  # the claim's own code may do anything; the ledger says so and goes on
        return replace(blank, because=f"{type(error).__name__}: {error}")


def _heard(case: Case, budget: Budget, seed: int) -> list[Heard]:
    """Both back-ends at drawn places. ArithmeticError if they say what cannot both be true: one of them is wrong, and
    nothing that they prove is worth anything.
    """
    if not isinstance(case.check, Guarded):
        return []
    rng = random.Random(f"{seed} {case.domain} {case.quantity}")
    declaration = case.check.declaration
    places = (DRAWN_IF_COSTLY if declaration.is_costly else DRAWN)[budget.name]
    if not declaration.is_open:
        places = 1
    heard: list[Heard] = []
    for _ in range(places * MOST_DRAWS):
        drawn = declaration.draw(rng)
        if case.check.may_fail(drawn) is None:  # a premise fails: only the quicker look is spent on that
            continue
        check = case.check(drawn)
        if not all(premise.holds for premise in check.premises):
            continue  # says nothing about the statement
        _agree(drawn, check)
        heard.append(Heard(drawn, check))
        if len(heard) == places:
            break
    return heard


def _agree(parameters: Parameters, check: Check) -> None:
    if check.contradiction:
        where = ", ".join(f"{name} = {text}" for name, text in parameters.items())
        raise ArithmeticError(f"the back-ends contradict each other at {where}: {check.contradiction}")


def spread_over(case: Case, budget: Budget, seed: int) -> tuple[int, Iterator[Parameters]]:
    """At how many places ``answer`` tries a case that nothing else decides, 0 if it has no open parameters or nothing
    can refute it there; and the places, more of them, as premises fail at some.
    """
    if not isinstance(case.check, Guarded) or not (case.check.declaration.is_open and case.check.can_refute):
        return 0, iter(())
    declaration = case.check.declaration
    is_slow = declaration.is_costly and case.check.look is None
    places = (SPREAD_IF_SLOW if is_slow else SPREAD)[budget.name]
    source = Spread(f"{seed} {case.domain} {case.quantity}", places)
    return places, (declaration.draw(source) for _ in range(places * MOST_DRAWS))


def _found_by_search(case: Case, budget: Budget, seed: int) -> tuple[Heard | None, int]:
    """The first of the spread places that certifies, and how many were tried. ArithmeticError as in ``_heard``.

    Where the quicker look finds nothing both back-ends are asked all the same at every tenth place: a typing that is
    wrong where drawn places do not come is seen.
    """
    places, spread = spread_over(case, budget, seed)
    tried = 0
    for parameters in spread:
        assert isinstance(case.check, Guarded)
        may_fail = case.check.may_fail(parameters)
        check = case.check(parameters) if may_fail or _is_for_both(case.check, may_fail, tried) else None
        if may_fail is None or (check is not None and not all(premise.holds for premise in check.premises)):
            continue  # says nothing about the statement
        tried += 1
        if check is not None:
            _agree(parameters, check)
            if not doubt_about(check, case):
                return Heard(parameters, check), tried
        if tried == places:
            break
    return None, tried


def _is_for_both(guarded: Guarded, may_fail: bool | None, tried: int) -> bool:
    """Whether a place at which the look finds nothing is one that both back-ends decide."""
    is_slow = guarded.is_slow or guarded.declaration.is_costly
    every = BOTH_EVERY_IF_SLOW if is_slow else BOTH_EVERY
    return may_fail is False and tried % every == every - 1


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
    return replace(
        blank,
        **_sizes(attempt.log_measured, attempt.log_claimed),
        evaluations=attempt.evaluations,
        control=attempt.control,
        found=attempt.found,
        claimed=attempt.claimed,
    )


def _judged(claim: Claim, case: Case, attempt: Attempt, heard: list[Heard], filled: Judgement) -> Judgement:
    """What was nominated is checked first, then what was drawn: a violation there refutes, whatever was proved."""
    doubts = []
    for parameters in () if attempt.inapplicable else attempt.candidates[:MOST_CANDIDATES]:
        if case.check is None:
            raise ValueError(f"{claim.id}: a case without check named a candidate, which nobody could certify")
        check = case.check(parameters)
        doubt = doubt_about(check, case)
        if not doubt:
            return _refuted(claim, case, Heard(parameters, check), filled)
        doubts.append(doubt)
    for drawn in () if attempt.inapplicable else heard:
        if not doubt_about(drawn.check, case):
            return _refuted(claim, case, drawn, filled)
    return _settled(filled, _findings(case, attempt, heard, next(iter(doubts), "")))


def _searched(claim: Claim, case: Case, judged: Judgement, budget: Budget, seed: int) -> Judgement:
    """What nothing refuted so far, tried at the spread places."""
    violation, tried = _found_by_search(case, budget, seed)
    if violation is not None:
        return _refuted(claim, case, violation, judged)
    spread = f"; {tried} places spread over the declaration" if tried else ""
    return replace(judged, because=f"{judged.because}{spread}")


def _refuted(claim: Claim, case: Case, heard: Heard, filled: Judgement) -> Judgement:
    witness = Witness(claim.id, case.domain, case.quantity, dict(heard.parameters))
    because = "; ".join(filter(None, [heard.check.words, heard.check.limit])) or "certified by two back-ends"
    given = case.check.declaration.laid_out(heard.parameters) if isinstance(case.check, Guarded) else ""
    certified = replace(_certified(filled, heard.check, to_json(witness)), given=given)
    return _settled(certified, Findings(certified=because))


def _proof(attempt: Attempt, heard: list[Heard]) -> str:
    """The proof, and who confirms it: both back-ends at the drawn places that satisfy every premise, or a second
    computation of the whole. ClaimError if nobody does: what was decided once is not proved.
    """
    if not attempt.proof:
        return ""
    if not heard and not attempt.twice:
        raise ClaimError(
            "the proof was decided once. Give the case a check at declared parameters, or decide it again with other "
            "code and say so in Attempt.twice."
        )
    agreed = sum(drawn.obeys for drawn in heard)
    places = f"and at {agreed} drawn place{'s' * (agreed != 1)}, by both back-ends"
    twice = "" if heard and attempt.twice == BOTH else attempt.twice
    return f"{attempt.proof} ({'; '.join(filter(None, [places if heard else '', twice]))})"


def _findings(case: Case, attempt: Attempt, heard: list[Heard], doubt: str) -> Findings:
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
        proof=_proof(attempt, heard),
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
    return replace(filled, witness=witness, **_sizes(check.log_measured, check.log_claimed))


def _sizes(log_measured: float | None, log_claimed: float | None) -> dict[str, Any]:
    """Both sides of a judgement, and how many decades lie between them."""
    slack = None if log_measured is None or log_claimed is None else (log_claimed - log_measured) / LOG_10
    return {"log_bound": log_claimed, "log_worst": log_measured, "slack": slack}
