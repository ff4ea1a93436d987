"""Bounds on states for tests: made of parts, and others with something changed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from odernn.published.sources import Source
from verification.certify.limit import LimitData
from verification.claim import SYMBOLS, Claim, Part, StateBound
from verification.instance import Instance
from verification.witness.file import Witness
from verification.witness.state_run import FREE, StateRun


def planted(*parts: Part, **options: Any) -> Claim:
    """The claim of these parts; ``options`` are those of ``StateBound``."""
    return Claim("planted", Source("planted", ""), "", "real", state_bound=StateBound(parts, **options))


def with_bound(claim: Claim, **changes: Any) -> Claim:
    """The claim with another bound on states."""
    return replace(claim, state_bound=replace(claim.bound, **changes))


def state_witness(
    claim: str,
    quantity: str,
    norm: str,
    layer: int,
    step: int,
    steps: int,
    instance: Instance,
    log_measured: str = "0",
    log_bound: str = "0",
    domain: str = FREE,
    limit: LimitData | None = None,
) -> Witness:
    """A witness against a bound on states, as if somebody had written it."""
    run = StateRun(layer, step, steps, instance, log_measured, log_bound, limit)
    return Witness(claim, domain, SYMBOLS[quantity, norm], run)


def of_version_1(text: str) -> str:
    """The text of a witness against a bound on states as version 1 wrote it."""
    plain = json.loads(text)
    quantity, norm = next(named for named, symbol in SYMBOLS.items() if symbol == plain["quantity"])
    reading = "" if plain["domain"] == FREE else plain["domain"]
    header = {"format": "odernn-witness", "version": 1, "claim": plain["claim"], "quantity": quantity}
    return json.dumps(header | {"norm": norm, "reading": reading} | plain["parameters"])
