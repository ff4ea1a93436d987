"""Power and soundness of the adversaries at one control point and layer, where the optimum is known."""

from __future__ import annotations

from typing import Any

import torch

from verification.adversary import Found, effective_steps, portfolio
from verification.cases import controls
from verification.certify.second import intervals
from verification.claim import QUANTITIES, Claim
from verification.domains import SearchPoint, point_from_plain
from verification.instance import Instance
from verification.measure.hidden_state import run_instance
from verification.registry import system_of
from verification.run.job import Job, Result, Settings
from verification.system import System
from verification.witness.state_check import first_opinion, second_opinion

SURPLUS = 1e-9
"""A share of the optimum above 1 + SURPLUS: the system's own arithmetics (``step``, ``exact_step``) contradict each
other.
"""


def perform(job: Job, settings: Settings, _: Any = None) -> Result:
    """With the system that the specification names."""
    return control(job.spec, system_of(job.spec.get("owner"), settings.claims_dirs))


def control(spec: dict[str, Any], system: System) -> Result:
    """Every quantity and every adversary by itself, at layer 1 if none is named.

    "best" is the smallest share of the known optimum that an adversary reached, "passed" whether for each of them the
    certificates refuted 0.9 × optimum and did not refute (1 + 1e-12) × optimum.
    """
    device = torch.device(spec.get("device", "cpu"))
    point, layer = point_from_plain(spec["point"]), spec.get("layer", 1)
    instances = portfolio.find(system, point, layer, spec["budget"], device)
    reports = [_report(system, point, layer, quantity, instances, device) for quantity in QUANTITIES]
    return Result({"passed": all(r["passed"] for r in reports), "reports": reports, "group": point.group})


def _report(
    system: System, point: SearchPoint, layer: int, quantity: str, answers: list[Found], device: torch.device
) -> dict[str, Any]:
    step_size = effective_steps(point)[layer - 1]
    shares: dict[str, float] = {}
    certified = {}
    for best in (best for best in answers if best.quantity == quantity):
        y, z, _ = run_instance(system, best.instance, layer, device)
        values = (y if quantity == "position" else z)[:, 0, 0].abs()
        step = int(values.argmax()) + 1
        known = controls.float_optimum(system, point, step_size, quantity, step)
        shares[best.adversary] = float(values[step - 1]) / known
        power, sound = (
            controls.control_claim(system, factor, "control") for factor in (controls.POWER, controls.SOUNDNESS)
        )
        where = {"layer": layer, "step": step, "steps": point.steps}
        refuted = [_is_refuted(claim, quantity, best.instance, **where) for claim in (power, sound)]
        certified[best.adversary] = refuted == [True, False]
    silent = [name for name in portfolio.ADVERSARIES if name not in shares]
    sentence = ", ".join(f"{name} {share:.3f} of the optimum" for name, share in shares.items())
    return {
        "quantity": quantity,
        "shares": shares,
        "best": min(shares.values(), default=0.0),
        "passed": bool(shares) and not silent and all(certified.values()) and max(shares.values()) <= 1 + SURPLUS,
        "sentence": "; ".join(filter(None, [sentence, *(f"{name} found nothing" for name in silent)])),
    }


def _is_refuted(claim: Claim, quantity: str, instance: Instance, *, layer: int, step: int, steps: int) -> bool:
    part = next(part for part in claim.bound.parts if part.quantity == quantity)
    first = first_opinion(claim, part, instance, layer=layer, step=step, steps=steps)
    if first.status != "violates":
        return False
    return intervals.is_refutation(second_opinion(claim, part, instance, layer=layer, step=step, steps=steps))
