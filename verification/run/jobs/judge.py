"""The judgements of a bound on hidden states in one domain and layer, by the searches and measurements it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verification.cases.state_bound.judge import blank_of, judge
from verification.cases.state_bound.ratios import Evidence, trial_from_plain
from verification.domains import point_from_plain
from verification.registry import registry_of
from verification.run.job import Job, Result, Settings

if TYPE_CHECKING:
    from verification.run.store import Results


def perform(job: Job, settings: Settings, results: Results | None) -> Result:
    """By what the jobs that it needs have left; cells with the verdict ``error`` if one of them has failed."""
    claim = registry_of(settings.claims_dirs).get(job.spec["claim"]).claim
    if results is None:
        raise ValueError(f"{claim.id}: a judgement needs the results of other jobs, and none were given.")
    points = tuple(point_from_plain(plain) for plain in job.spec["points"])
    needs, layer = job.spec["needs"], job.spec["layer"]
    failures = [data["error"] for key in job.needs if "error" in (data := results.data(key))]
    if failures:
        return errors(job, settings, failures[0])
    trials = []
    for point, key in zip(points, needs["search"], strict=True):
        if key is not None:
            arrays, entries = results.arrays(key), results.data(key)["found"]
            trials += [trial_from_plain(point, entry, arrays[str(i)]) for i, entry in enumerate(entries)]
    data = _of_layer(results, needs.get("data"), layer)
    evidence = Evidence(
        domain=job.spec["domain"],
        layer=layer,
        points=points,
        trials=tuple(trials),
        data=data,
        step_sizes=data.get("step_sizes"),
        in_range=_of_layer(results, needs.get("range"), layer),
        controls=tuple(results.data(key) for key in needs["control"]),
    )
    return Result([judgement.to_plain() for judgement in judge(claim, evidence)])


def errors(job: Job, settings: Settings, because: str) -> Result:
    """What a job leaves that could not judge: one cell a part of its claim, with the verdict ``error``."""
    claim = registry_of(settings.claims_dirs).get(job.spec["claim"]).claim
    cells = [blank_of(claim, part, job.spec["domain"], job.spec["layer"], because) for part in claim.bound.parts]
    return Result([cell.to_plain() for cell in cells])


def _of_layer(results: Results, keys: list[str] | None, layer: int) -> dict[str, Any]:
    """{"<quantity>/<norm>": envelope} of one layer from a measure job."""
    if not keys:
        return {}
    prefix = f"{layer}/"
    return {name[len(prefix) :]: array for name, array in results.arrays(keys[0]).items() if name.startswith(prefix)}
