"""Jobs: the units of work that a worker performs and the store keeps. Plain data in, plain data (and arrays) out.

Three kinds are searched and measured first: ``measure`` (a row's own network on real and on worst in-range input),
``search`` (the adversaries at one point and layer) and ``control``. ``judge`` then turns their results into judgements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch

from verification import controls
from verification.adversary import Found, beam, effective_steps, structured
from verification.certify import balls
from verification.claim import QUANTITIES, Claim, Registry
from verification.domains import BUDGETS, SearchPoint
from verification.instance import Instance, to_plain
from verification.measure import network
from verification.measure.hidden_state import envelope, run_instance
from verification.system import UNICORNN, System
from verification.tasks.published import row as published_row
from verification.witness import second_opinion

ADVERSARIES = {"structured": structured.search, "beam": beam.search}


@dataclass(frozen=True)
class Result:
    """What a job leaves in the store: JSON data and named float64 arrays."""

    data: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def point_to_plain(point: SearchPoint) -> dict[str, Any]:
    return {
        "domain": point.domain,
        "alpha": str(point.alpha),
        "dt": [str(dt) for dt in point.dt],
        "steps": point.steps,
        "hidden_size": point.hidden_size,
        "input_size": point.input_size,
        "group": point.group,
    }


def point_from_plain(plain: dict[str, Any]) -> SearchPoint:
    dt = tuple(Fraction(text) for text in plain["dt"])
    rest = {name: plain[name] for name in ("domain", "steps", "hidden_size", "input_size", "group")}
    return SearchPoint(alpha=Fraction(plain["alpha"]), dt=dt, **rest)


def system_named(name: str, registry: Registry) -> System:
    """The built-in system or the one that a claim file brings."""
    for registered in registry:
        if registered.claim.system.name == name:
            return registered.claim.system
    if name == UNICORNN.name:
        return UNICORNN
    raise ValueError(f'No claim file brings a system named "{name}".')


def perform(spec: dict[str, Any], seed: int, claims_dirs: tuple[str, ...], data_folder: str | None) -> Result:
    """Run one job. ``spec["kind"]`` is "measure", "search" or "control" (judging is ``judge.perform``)."""
    torch.set_num_threads(1)
    if spec["kind"] == "measure":
        return measure(spec, seed, data_folder)
    registry = Registry(tuple(Path(folder) for folder in claims_dirs))
    system = system_named(spec["system"], registry)
    if spec["kind"] == "search":
        return search(spec, system)
    if spec["kind"] == "control":
        return control(spec, system)
    raise ValueError(f'Unknown kind of job "{spec["kind"]}".')


def measure(spec: dict[str, Any], seed: int, data_folder: str | None) -> Result:
    """Envelopes over n of the row's untrained network, every layer: key "<layer>/<quantity>/<norm>"."""
    budget = BUDGETS[spec["budget"]]
    if spec["input"] == "data":
        data, arrays = network.on_data(published_row(spec["row"]), spec["task"], data_folder, seed)
    else:
        data, arrays = network.on_range(published_row(spec["row"]), budget, seed)
    return Result(data, arrays)


def find(system: System, point: SearchPoint, layer: int, budget_name: str) -> list[Found]:
    """All adversaries of the budget at one point and layer."""
    budget = BUDGETS[budget_name]
    return [found for each in ADVERSARIES.values() for found in each(system, point, layer, budget)]


def search(spec: dict[str, Any], system: System) -> Result:
    """The best instance of every adversary for both quantities; arrays hold |quantity| of one neuron over n."""
    point = point_from_plain(spec["point"])
    entries, arrays = [], {}
    for number, found in enumerate(find(system, point, spec["layer"], spec["budget"])):
        y, z, _ = run_instance(system, found.instance, spec["layer"])
        values = y if found.quantity == "position" else z
        arrays[str(number)] = envelope(values, "max").numpy()
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
    """Power and soundness at one control point: fractions of the known optimum, and what the certificates said."""
    point = point_from_plain(spec["point"])
    found = [each for each in find(system, point, 1, spec["budget"]) if _is_linear(each.instance)]
    step_size = effective_steps(point)[0]
    reports, passed = [], True
    for quantity in QUANTITIES:
        known = controls.float_optimum(system, point, step_size, quantity)
        fractions: dict[str, float] = {}
        best: tuple[float, Instance | None] = (-1.0, None)
        for each in found:
            if each.quantity == quantity:
                y, z, _ = run_instance(system, each.instance, 1)
                value = float((y if quantity == "position" else z)[-1].abs())
                fractions[each.adversary] = value / known
                best = max(best, (value / known, each.instance), key=lambda pair: pair[0])
        report = {"quantity": quantity, "fractions": fractions, "best": best[0]}
        if best[1] is None:
            report |= {"power": False, "sound": False}
        else:
            report |= _verdicts_of_control(system, point, quantity, best[1])
        passed = passed and bool(report["power"]) and bool(report["sound"])
        reports.append(report)
    return Result({"passed": passed, "reports": reports, "group": point.group})


def _is_linear(instance: Instance) -> bool:
    return all(group.w == 0 for group in instance.layers[-1].groups)


def _verdicts_of_control(system: System, point: SearchPoint, quantity: str, instance: Instance) -> dict[str, bool]:
    """Whether 0.9 × optimum is refuted by both back-ends, and (1 + 1e-12) × optimum by neither."""
    power = controls.control_claim(system, controls.POWER, "control-power")
    sound = controls.control_claim(system, controls.SOUNDNESS, "control-soundness")
    return {
        "power": _is_refuted(power, quantity, instance, point.steps),
        "sound": not _is_refuted(sound, quantity, instance, point.steps),
    }


def _is_refuted(claim: Claim, quantity: str, instance: Instance, steps: int) -> bool:
    part = next(part for part in claim.parts if part.quantity == quantity)
    first = balls.decide(claim, part, instance, layer=1, step=steps, steps=steps)
    if first.status != "violates":
        return False
    return bool(second_opinion(claim, part, instance, layer=1, step=steps, steps=steps)["status"] == "violates")
