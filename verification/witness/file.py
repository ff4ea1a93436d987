"""One witness: a claim, its case, and exact parameters, as strict JSON that anyone can check again.

    {"format": "odernn-witness", "version": 2, "claim": …, "domain": …, "quantity": …, "parameters": {…}}

The parameters of a case are texts by name, as its declaration reads them; those of a bound on states are a run, its
domain says where the bound is read (``state_run.DOMAINS``). Files of version 1, which had two formats, are read too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verification.witness.text import WitnessError, parsed, replaced, text_of

if TYPE_CHECKING:
    from verification.witness.state_run import StateRun

FORMAT, VERSION = "odernn-witness", 2
FIELDS = ("format", "version", "claim", "domain", "quantity", "parameters")
OF_CASES_ONCE = "odernn-counterexample"
"""The format of version 1 for cases; "odernn-witness" was that of bounds on states."""
LONGEST_TEXT = 2**18
"""Characters of one parameter: a matrix of 64 × 64 float64 numbers, written as fractions."""
LONGEST_NAME = 1024
MOST_PARAMETERS = 64
INLINE_BYTES = 64 * 2**10


@dataclass(frozen=True)
class Witness:
    """Parameters at which the claim's statement is said to fail, in the case (domain, quantity)."""

    claim: str
    domain: str
    quantity: str
    parameters: dict[str, str] | StateRun


def to_json(witness: Witness) -> str:
    """The witness as strict JSON text."""
    return _text(witness, plain_parameters(witness))


def plain_parameters(witness: Witness) -> dict[str, Any]:
    """The parameters as they stand in the file."""
    if isinstance(witness.parameters, dict):
        return witness.parameters
    from verification.witness.state_run import plain_of

    return plain_of(witness.parameters)


def _text(witness: Witness, parameters: dict[str, Any]) -> str:
    values = (FORMAT, VERSION, witness.claim, witness.domain, witness.quantity, parameters)
    return json.dumps(dict(zip(FIELDS, values, strict=True)), ensure_ascii=False, indent=1)


def write(witness: Witness, path: Path) -> None:
    """Write atomically. If the text exceeds ``INLINE_BYTES``, long float inputs of a run go to
    ``<stem>.safetensors`` beside it.
    """
    parameters = plain_parameters(witness)
    if not isinstance(witness.parameters, dict) and len(_text(witness, parameters).encode()) > INLINE_BYTES:
        from verification.witness.state_run import moved_out

        parameters = moved_out(parameters, witness.parameters.instance, path)
    replaced(path, f"{_text(witness, parameters)}\n".encode())


def from_json(text: str) -> Witness:
    """Parse strictly. Raises WitnessError for anything that is not exactly a witness."""
    return _witness(parsed(text), None)


def read(path: Path) -> Witness:
    """The witness in a file; inputs kept in a .safetensors file beside it are put back.

    OSError if the file cannot be read, WitnessError if it holds no witness.
    """
    return _witness(parsed(text_of(path)), path)


def _witness(plain: Any, path: Path | None) -> Witness:
    fields = _of_this_version(plain)
    names = {name: fields[name] for name in ("claim", "domain", "quantity")}
    for name, text in names.items():
        if not isinstance(text, str) or len(text) > LONGEST_NAME or not text.isprintable():
            raise WitnessError(f"{name}: expected at most {LONGEST_NAME} printable characters.")
    parameters = fields["parameters"]
    if not isinstance(parameters, dict):
        raise WitnessError("parameters: expected an object.")
    if "instance" not in parameters or isinstance(parameters["instance"], str):
        return Witness(**names, parameters=_texts(parameters))
    from verification.witness.state_run import DOMAINS, restored, run_of

    if names["domain"] not in DOMAINS:
        raise WitnessError(f'domain: a bound on states is read as {", ".join(DOMAINS)}, not "{names["domain"]}".')
    return Witness(**names, parameters=run_of(parameters if path is None else restored(parameters, path)))


def _texts(parameters: dict[str, Any]) -> dict[str, str]:
    if len(parameters) > MOST_PARAMETERS:
        raise WitnessError(f"parameters: {len(parameters)} of them; expected at most {MOST_PARAMETERS}.")
    for name, text in parameters.items():
        if not isinstance(text, str) or max(len(name), len(text)) > LONGEST_TEXT:
            raise WitnessError(f"parameters: expected texts by name, of at most {LONGEST_TEXT} characters.")
    return parameters


def _of_this_version(plain: Any) -> dict[str, Any]:
    """The fields of version 2, of which those of version 1 are made first."""
    if not isinstance(plain, dict):
        raise WitnessError(f"expected an object, found {type(plain).__name__}.")
    kind, version = plain.get("format"), plain.get("version")
    if kind not in (FORMAT, OF_CASES_ONCE):
        raise WitnessError(f'format is {json.dumps(kind)[:64]}, expected "{FORMAT}".')
    if type(version) is not int or version not in ((1, VERSION) if kind == FORMAT else (1,)):
        raise WitnessError(f"version is {json.dumps(version)[:64]}, this odernn reads 1 and {VERSION}. Update odernn.")
    if (kind, version) == (FORMAT, 1):
        return _exactly(FIELDS, _of_states_once(plain))
    return _exactly(FIELDS, plain)


def _of_states_once(plain: dict[str, Any]) -> dict[str, Any]:
    from verification.claim import SYMBOLS
    from verification.witness.state_run import FIELDS as OF_RUN
    from verification.witness.state_run import FREE

    header = ("format", "version", "claim", "quantity", "norm", "reading")
    _exactly((*header, *OF_RUN), plain)
    named = str(plain["quantity"]), str(plain["norm"])
    return {
        "format": FORMAT,
        "version": VERSION,
        "claim": plain["claim"],
        "domain": plain["reading"] or FREE,
        "quantity": SYMBOLS.get(named, " ".join(named)),
        "parameters": {name: plain[name] for name in OF_RUN},
    }


def _exactly(names: tuple[str, ...], plain: dict[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(plain) - set(names)):
        raise WitnessError(f"unknown field {json.dumps(unknown[0])[:64]}; known are {', '.join(names)}.")
    if missing := [name for name in names if name not in plain]:
        raise WitnessError(f'field "{missing[0]}" is missing.')
    return plain
