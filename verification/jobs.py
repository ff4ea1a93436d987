"""Jobs: the units of work that a worker performs and the store keeps. Plain data in, plain data (and arrays) out.

Three kinds are searched and measured first: ``measure`` (a row's own network on real and on worst in-range input),
``search`` (the adversaries at one point and layer) and ``control``. ``judge`` then turns their results into judgements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch

from odernn.published import row as published_row
from verification import controls
from verification.adversary import CPU, Found, beam, effective_steps, pontryagin, structured
from verification.certify import second
from verification.claim import QUANTITIES, Claim, registry_of
from verification.domains import BUDGETS, Budget, SearchPoint, point_from_plain
from verification.instance import Instance, to_plain
from verification.measure import network
from verification.measure.hidden_state import envelope, run_instance
from verification.system import System
from verification.witness import first_opinion, second_opinion

SURPLUS = 1e-9
"""A share of the optimum above 1 + SURPLUS: the system's own arithmetics (``step``, ``exact_step``) contradict each
other.
"""

Search: TypeAlias = Callable[[System, SearchPoint, int, Budget, torch.device], list[Found]]
ADVERSARIES: dict[str, Search] = {"structured": structured.search, "beam": beam.search, "pontryagin": pontryagin.search}


@dataclass(frozen=True)
class Result:
    """What a job leaves in the store: JSON data and named float64 arrays."""

    data: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def perform(spec: dict[str, Any], seed: int, claims_dirs: tuple[str, ...], data_folder: str | None) -> Result:
    """Run one job. ``spec["kind"]`` is "measure", "search" or "control" (judging is ``judge.perform``).

    ``spec["device"]`` says where, if that is not the CPU.
    """
    torch.set_num_threads(1)
    if spec["kind"] == "measure":
        return measure(spec, seed, data_folder)
    registry = registry_of(claims_dirs)
    system = registry.system(spec["system"])
    if spec["kind"] == "search":
        return search(spec, system)
    if spec["kind"] == "control":
        return control(spec, system)
    raise ValueError(f'Unknown kind of job "{spec["kind"]}".')


def measure(spec: dict[str, Any], seed: int, data_folder: str | None) -> Result:
    """Envelopes over n of the row's untrained network, every layer: key "<layer>/<quantity>/<norm>"."""
    budget, device = BUDGETS[spec["budget"]], device_of(spec)
    if spec["input"] == "data":
        data, arrays = network.on_data(published_row(spec["row"]), spec["task"], data_folder, seed, device)
    else:
        data, arrays = network.on_range(published_row(spec["row"]), budget, seed, device)
    return Result(data, arrays)


def device_of(spec: dict[str, Any]) -> torch.device:
    """Where the job's tensors live."""
    return torch.device(spec.get("device", "cpu"))


def find(system: System, point: SearchPoint, layer: int, budget_name: str, device: torch.device = CPU) -> list[Found]:
    """All adversaries of the budget at one point and layer."""
    budget = BUDGETS[budget_name]
    return [found for each in ADVERSARIES.values() for found in each(system, point, layer, budget, device)]


def search(spec: dict[str, Any], system: System) -> Result:
    """The best instance of every adversary for both quantities; arrays hold |quantity| of one neuron over n."""
    point, device = point_from_plain(spec["point"]), device_of(spec)
    entries, arrays = [], {}
    for number, found in enumerate(find(system, point, spec["layer"], spec["budget"], device)):
        y, z, _ = run_instance(system, found.instance, spec["layer"], device)
        values = y if found.quantity == "position" else z
        arrays[str(number)] = envelope(values, "max").cpu().numpy()
        entries.append(
            {
                "adversary": found.adversary,
                "quantity": found.quantity,
                "evaluations": found.evaluations,
                "finite": found.finite and bool(np.isfinite(arrays[str(number)]).all()),
                "instance": to_plain(found.instance),
            }
        )
    return Result({"found": entries}, arrays)


def control(spec: dict[str, Any], system: System) -> Result:
    """Power and soundness at one control point and layer (1 if none is named), for every quantity and every adversary
    by itself.

    "best" is the smallest share of the known optimum that an adversary reached, "passed" whether for each of them the
    certificates refuted 0.9 × optimum and did not refute (1 + 1e-12) × optimum.
    """
    point, layer, device = point_from_plain(spec["point"]), spec.get("layer", 1), device_of(spec)
    found = find(system, point, layer, spec["budget"], device)
    reports = [_control_report(system, point, layer, quantity, found, device) for quantity in QUANTITIES]
    return Result({"passed": all(r["passed"] for r in reports), "reports": reports, "group": point.group})


def _control_report(
    system: System, point: SearchPoint, layer: int, quantity: str, found: list[Found], device: torch.device
) -> dict[str, Any]:
    step_size = effective_steps(point)[layer - 1]
    shares: dict[str, float] = {}
    certified = {}
    for each in (each for each in found if each.quantity == quantity):
        y, z, _ = run_instance(system, each.instance, layer, device)
        values = (y if quantity == "position" else z)[:, 0, 0].abs()
        step = int(values.argmax()) + 1
        known = controls.float_optimum(system, point, step_size, quantity, step)
        shares[each.adversary] = float(values[step - 1]) / known
        power, sound = (
            controls.control_claim(system, factor, "control") for factor in (controls.POWER, controls.SOUNDNESS)
        )
        where = {"layer": layer, "step": step, "steps": point.steps}
        refuted = [_is_refuted(claim, quantity, each.instance, **where) for claim in (power, sound)]
        certified[each.adversary] = refuted == [True, False]
    silent = [name for name in ADVERSARIES if name not in shares]
    sentence = ", ".join(f"{name} {share:.3f} of the optimum" for name, share in shares.items())
    return {
        "quantity": quantity,
        "shares": shares,
        "best": min(shares.values(), default=0.0),
        "passed": bool(shares) and not silent and all(certified.values()) and max(shares.values()) <= 1 + SURPLUS,
        "sentence": "; ".join(filter(None, [sentence, *(f"{name} found nothing" for name in silent)])),
    }


def _is_refuted(claim: Claim, quantity: str, instance: Instance, *, layer: int, step: int, steps: int) -> bool:
    part = next(part for part in claim.parts if part.quantity == quantity)
    first = first_opinion(claim, part, instance, layer=layer, step=step, steps=steps)
    if first.status != "violates":
        return False
    return second.is_refutation(second_opinion(claim, part, instance, layer=layer, step=step, steps=steps))
