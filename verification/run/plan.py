"""A plan: the jobs of the chosen claims, with their keys; nothing is run.

A job is planned once, whoever needs it, and only where somebody asks: a bound on states searches the points that its
hypotheses admit, with its own system.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verification.cases.controls import CONTROL_POINTS, deep_control_point
from verification.cases.state_bound.ratios import is_admissible
from verification.claim import Case, Claim
from verification.domains import (
    BUDGETS,
    FREE,
    SearchPoint,
    drawn_points,
    free_points,
    point_to_plain,
    printed_name,
    printed_point,
    printed_rows,
)
from verification.registry import Registered, Registry
from verification.run import provenance
from verification.run.job import Job, Settings
from verification.run.keys import Keys
from verification.system import UNICORNN


@dataclass(frozen=True)
class Plan:
    """First ``measuring`` jobs in any order, then ``judging`` jobs; the table has the judging order.

    ``commit``: of the sources that it was made from, see ``provenance``. Asked here, before a store is locked: a
    process that is killed while it starts git leaves its lock to that for a moment.
    """

    settings: Settings
    measuring: tuple[Job, ...]
    judging: tuple[Job, ...]
    commit: str = ""

    @property
    def name(self) -> str:
        """The same for the same jobs: their keys are in it, those of measuring jobs by way of the judging jobs."""
        return hashlib.sha256(json.dumps([job.key for job in self.judging]).encode()).hexdigest()

    @property
    def independent(self) -> tuple[Job, ...]:
        """The jobs that need no other: measuring, and cases with checks of their own."""
        return (*self.measuring, *(job for job in self.judging if job.kind == "case"))


def plan(settings: Settings, registry: Registry) -> Plan:
    """All jobs of the settings. Claims keep the registry's order unless named; the table's order follows it."""
    planner, chosen = _Planner(settings, registry), _chosen(settings, registry)
    bounds = [registered for registered in chosen if registered.claim.state_bound is not None]
    judging = [job for registered in bounds for job in planner.judgements(registered)]
    judging += [planner.case(registered, case) for registered in chosen for case in registered.claim.cases]
    return Plan(settings, tuple(planner.measuring.values()), tuple(judging), provenance.commit())


def _chosen(settings: Settings, registry: Registry) -> list[Registered]:
    """The claims that the settings name, each once; all of them if they name none."""
    if not settings.claims:
        return list(registry)
    return list({id(entry): entry for entry in map(registry.get, settings.claims)}.values())


class _Planner:
    """Makes jobs of settings; what several claims need is made once."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self.settings = settings
        self.registry = registry
        self.keys = Keys()
        self.measuring: dict[str, Job] = {}
        self.base = {"budget": settings.budget, "seed": settings.seed}
        self.place = {} if settings.device == "cpu" else {"device": settings.device}

    def judgements(self, registered: Registered) -> Iterator[Job]:
        """The judge jobs of a bound on hidden states, the free domain first, then Table 6 in its order."""
        claim = registered.claim
        for domain, layer, points, row in _cells(self.settings.budget, self.settings.seed):
            searches = [
                self._search(registered, point, layer) if _may_hold(claim, point, layer) else None for point in points
            ]
            needs: dict[str, list[str | None]] = {"search": searches, "control": []}
            if any(searches):
                needs["control"] += self._controls(registered, layer)
                if row is not None and claim.bound.system is UNICORNN:
                    needs |= {"data": [self._measured(row, "data")], "range": [self._measured(row, "range")]}
            spec = {
                "kind": "judge",
                "claim": claim.id,
                "version": claim.version,
                "domain": domain,
                "layer": layer,
                "points": [point_to_plain(point) for point in points],
                "needs": needs,
            }
            flat = tuple(key for keys in needs.values() for key in keys if key is not None)
            yield self.keys.job(spec, registered.path, flat)

    def case(self, registered: Registered, case: Case) -> Job:
        """The job of one case with a check of its own."""
        spec = {
            "kind": "case",
            "claim": registered.claim.id,
            "version": registered.claim.version,
            "domain": case.domain,
            "quantity": case.quantity,
            **self.base,
        }
        return self.keys.job(spec, registered.path)

    def _search(self, registered: Registered, point: SearchPoint, layer: int) -> str:
        return self._needed(registered, {"kind": "search", "layer": layer, "point": point_to_plain(point)})

    def _controls(self, registered: Registered, layer: int) -> list[str]:
        """The keys of the controls: two of the first layer, and one of this layer if it is a deeper one."""
        points: list[dict[str, Any]] = [{"kind": "control", "point": point_to_plain(point)} for point in CONTROL_POINTS]
        if layer > 1:
            points.append({"kind": "control", "layer": layer, "point": point_to_plain(deep_control_point(layer))})
        return [self._needed(registered, spec) for spec in points]

    def _needed(self, registered: Registered, spec: dict[str, Any]) -> str:
        """The key of a job that runs the claim's system; a system of its own brings the file that it stands in."""
        system = registered.claim.bound.system
        spec = {"system": system.name, **spec, **self.base, **self.place}
        if system is UNICORNN:
            return self._kept(self.keys.job(spec))
        return self._kept(self.keys.job(spec | {"owner": self.registry.owner(registered)}, registered.path))

    def _measured(self, row: str, on: str) -> str:
        spec = {"kind": "measure", "row": row, "input": on, **self.base, **self.place}
        if on == "data":
            spec["task"] = self.settings.task
            return self._kept(self.keys.job(spec, data=_digest_of_data(self.settings)))
        return self._kept(self.keys.job(spec))

    def _kept(self, job: Job) -> str:
        self.measuring.setdefault(job.key, job)
        return job.key


def _may_hold(claim: Claim, point: SearchPoint, layer: int) -> bool:
    """Whether the point may satisfy every premise; where the claim's own code fails, the judge says so."""
    try:
        return is_admissible(claim, point, layer)
    except Exception:
        return True


def _digest_of_data(settings: Settings) -> str:
    """SHA-256 of the file that real input is read from; "" if it comes with a package, whose version is in the key."""
    if settings.task != "mnist":
        return ""
    from verification.tasks import mnist
    from verification.tasks.images import DataError

    try:
        return hashlib.sha256(mnist.images_path(settings.data).read_bytes()).hexdigest()
    except (DataError, OSError):
        return "missing"  # the job will say so


def _cells(budget_name: str, seed: int) -> Iterator[tuple[str, int, tuple[SearchPoint, ...], str | None]]:
    """(domain, layer, its points, row name or None): the free domain first, then Table 6 in its order."""
    budget = BUDGETS[budget_name]
    points = (*free_points(budget), *drawn_points(budget, seed))
    for layer in range(1, budget.free_layers + 1):
        yield FREE, layer, points, None
    for row in printed_rows():
        for layer in range(1, row.num_layers + 1):
            yield printed_name(row), layer, (printed_point(row),), row.name
