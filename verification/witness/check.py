"""A witness checked again: the claim's own case decides, at these parameters alone, by both back-ends."""

from __future__ import annotations

from dataclasses import dataclass

from verification.claim import Claim, ClaimError, Part
from verification.parameters import Guarded
from verification.registry import Registry
from verification.verdict import doubt_about
from verification.witness.file import Witness


@dataclass(frozen=True)
class Replay:
    """Whether the witness certifies, and every sentence of the evidence."""

    certified: bool
    lines: tuple[str, ...]


def check(witness: Witness, registry: Registry) -> Replay:
    """Recompute everything with zero tolerance. Raises ClaimError if the claim or its case is not known, RefusedError,
    which is one, if the parameters are not of the case, and WitnessError if a run is too long to be replayed.
    """
    claim = registry.get(witness.claim).claim
    if claim.id != witness.claim:
        raise ClaimError(f'claim is "{witness.claim}"; write the id "{claim.id}".')
    if isinstance(witness.parameters, dict):
        return _of_case(claim, witness, witness.parameters)
    part = part_of(claim, witness.quantity)
    from verification.witness.state_check import check_run

    certified, lines = check_run(claim, part, witness.domain, witness.parameters)
    return Replay(certified, tuple(lines))


def part_of(claim: Claim, quantity: str) -> Part:
    """The part of the bound with this symbol; ClaimError if the claim is no bound, or has no such part."""
    for part in claim.bound.parts:
        if part.symbol == quantity:
            return part
    known = ", ".join(part.symbol for part in claim.bound.parts)
    raise ClaimError(f'Claim "{claim.id}" has no bound on "{quantity}"; it has: {known}.')


def _of_case(claim: Claim, witness: Witness, parameters: dict[str, str]) -> Replay:
    case = claim.checked_at(witness.domain, witness.quantity)
    if case.check is None:
        raise ClaimError(f'"{claim.id}" cannot be checked in the case {case.domain}, {case.quantity}')
    assert isinstance(case.check, Guarded)  # the registry loads no other
    checked = case.check(parameters)
    lines = [f"given    {line}" for line in case.check.declaration.described(parameters)]
    lines += [
        f"premise  {premise.text}: margin {premise.margin}, {'holds' if premise.holds else 'NOT proved'}"
        for premise in checked.premises
    ]
    lines += [f"{opinion.backend:<8} {_word(opinion.violated)}: {opinion.text}" for opinion in checked.opinions]
    lines += [f"limit    {checked.limit}"] if checked.limit else []
    lines += [f"that is  {checked.words}"] if checked.words else []
    doubt = doubt_about(checked, case)
    return Replay(not doubt, (*lines, *([f"but      {doubt}"] if doubt else [])))


def _word(violated: bool) -> str:
    return "violates" if violated else "does not prove a violation"
