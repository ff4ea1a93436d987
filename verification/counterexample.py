"""Witnesses against a case: exact parameters, as strict JSON, that anyone can check again. No code, no pickles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verification.parameters import Guarded
from verification.verdict import doubt_about
from verification.witness_text import WitnessError, parsed

if TYPE_CHECKING:
    from verification.registry import Registry

FORMAT = "odernn-counterexample"
VERSION = 1
LONGEST_TEXT = 2**18
"""Characters of one parameter: a matrix of 64 × 64 float64 numbers, written as fractions."""
MOST_PARAMETERS = 64


@dataclass(frozen=True)
class Counterexample:
    """Parameters at which the claim's statement is said to fail, in the case (domain, quantity)."""

    claim: str
    domain: str
    quantity: str
    parameters: dict[str, str]


def to_json(witness: Counterexample) -> str:
    """The counterexample as strict JSON text."""
    plain = {
        "format": FORMAT,
        "version": VERSION,
        "claim": witness.claim,
        "domain": witness.domain,
        "quantity": witness.quantity,
        "parameters": witness.parameters,
    }
    return json.dumps(plain, ensure_ascii=False, indent=1)


def is_counterexample(text: str) -> bool:
    """Whether the text is JSON that says it is a counterexample; nothing else about it is looked at."""
    try:
        return says_counterexample(parsed(text))
    except WitnessError:
        return False


def says_counterexample(plain: Any) -> bool:
    """The same of plain data."""
    return isinstance(plain, dict) and plain.get("format") == FORMAT


def from_json(text: str) -> Counterexample:
    """Parse strictly. Raises WitnessError for anything that is not exactly a counterexample."""
    return from_plain(parsed(text))


def from_plain(plain: Any) -> Counterexample:
    """The counterexample of plain data, just as strictly."""
    fields = {"format", "version", "claim", "domain", "quantity", "parameters"}
    if not isinstance(plain, dict) or set(plain) != fields:
        raise WitnessError(f"the file holds other fields than {', '.join(sorted(fields))}")
    if plain["format"] != FORMAT or plain["version"] != VERSION or isinstance(plain["version"], bool):
        raise WitnessError(f"format and version are not {FORMAT!r} and {VERSION}")
    names = ("claim", "domain", "quantity")
    if not all(_is_text(plain[name]) for name in names):
        raise WitnessError("claim, domain and quantity are not all short texts")
    parameters: Any = plain["parameters"]
    if (
        not isinstance(parameters, dict)
        or len(parameters) > MOST_PARAMETERS
        or not all(_is_text(value) for value in (*parameters, *parameters.values()))
    ):
        raise WitnessError("parameters are not texts by name")
    return Counterexample(plain["claim"], plain["domain"], plain["quantity"], parameters)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def write(text: str, path: Path) -> None:
    """The counterexample to a file whose folder is made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(from_json(text)) + "\n", encoding="utf-8")


def check(witness: Counterexample, registry: Registry) -> tuple[bool, list[str]]:
    """Whether it refutes, by the claim's own check at these parameters alone, and every sentence of the evidence."""
    claim = registry.get(witness.claim).claim
    case = claim.checked_at(witness.domain, witness.quantity)
    if case.check is None:
        raise WitnessError(f'"{claim.id}" cannot be checked in the case {case.domain}, {case.quantity}')
    assert isinstance(case.check, Guarded)  # the registry loads no other
    checked = case.check(witness.parameters)
    lines = [f"given    {line}" for line in case.check.declaration.described(witness.parameters)]
    lines += [
        f"premise  {premise.text}: margin {premise.margin}, {'holds' if premise.holds else 'NOT proved'}"
        for premise in checked.premises
    ]
    lines += [f"{opinion.backend:<8} {_word(opinion.violated)}: {opinion.text}" for opinion in checked.opinions]
    lines += [f"limit    {checked.limit}"] if checked.limit else []
    lines += [f"that is  {checked.words}"] if checked.words else []
    doubt = doubt_about(checked, case)
    return not doubt, [*lines, *([f"but      {doubt}"] if doubt else [])]


def _word(violated: bool) -> str:
    return "violates" if violated else "does not prove a violation"
