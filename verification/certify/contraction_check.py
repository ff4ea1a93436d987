"""Whether a typed step pushes two solutions apart although the premises of a reading of Theorem 1 hold: both back-ends.

Niu, Chuang, Horesh 2019, Definition 2 and Theorem 1; the readings are those of ``typed_step.ContractionReading``.
"""

from __future__ import annotations

import math
from dataclasses import asdict

from verification.certify import typed_step_exact as first
from verification.certify.second import typed_step as second
from verification.certify.typed_step import ContractionReading, parsed
from verification.claim import GIVEN, Check, Opinion, Parameters, Premise
from verification.parameters import Declaration, Guarded


def check(parameters: Parameters, reading: ContractionReading) -> Check:
    """The statement of the reading at these numbers: every premise and the violation, by both back-ends."""
    step = parsed(parameters)
    ones, others = first.facts(step, reading), second.facts(parameters, **asdict(reading))
    growth = first.growth(step, reading)
    premises = tuple(
        Premise(text, one.margin, one.holds and held)
        for text, one, (held, _) in zip(_premises(reading), ones, others, strict=True)
    )
    return Check(
        opinions=(
            Opinion("flint", *first.violation(step, reading)),
            Opinion("fractions", *second.violation(parameters, norm=reading.norm)),
        ),
        premises=premises,
        words=f"{GIVEN}: {first.violation(step, reading)[1]}",
        log_measured=None if growth is None else math.log(growth),
        log_claimed=None if growth is None else 0.0,
    )


def look(parameters: Parameters, reading: ContractionReading) -> bool | None:
    """Whether the first back-end alone finds the violation; None where it finds that a premise fails."""
    step = parsed(parameters)
    if not all(fact.holds for fact in first.facts(step, reading)):
        return None
    return first.violation(step, reading)[0]


def guarded(parameters: Declaration, reading: ContractionReading) -> Guarded:
    """The check of a case that is asked about these parameters."""
    return parameters.guards(lambda given: check(given, reading), lambda given: look(given, reading))


def _premises(reading: ContractionReading) -> list[str]:
    tensors = {"transposed": "M ≥ 0", "printed": "xᵀMx ≥ 0, M without transposes", "any": ""}
    weight = "ᵀG B_i" if reading.weighted else "ᵀ"
    signs = {-1: f"(u−v){weight}(f_i(u)−f_i(v)) ≤ 0", 1: f"(u−v){weight}(f_i(u)−f_i(v)) ≥ 0", 0: ""}
    weights = "B_i = B_iᵀ ≥ 0" if reading.semidefinite else ""
    premises = [tensors[reading.tensor], weights, signs[reading.sign], "one solution of the stage equations"]
    premises += ["stages of equal abscissa share their field"] if reading.shared else []
    premises += ["G > 0"] if reading.norm == "weighted" else []
    return [text for text in premises if text]
