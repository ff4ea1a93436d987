"""A run: plan the jobs of the chosen claims, do those that the store lacks, judge, and hand back the judgements.

A job's key is the hash of what fixes its result: parameters, budget, seed, package version and the source text of the
code that computes it. Equal keys mean equal results, so a killed run resumes, and a changed claim is tried again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import odernn
from verification import engine
from verification.claim import Registered, RegisteredQuestion, Registry, registry_of
from verification.controls import CONTROL_POINTS, deep_control_point
from verification.domains import (
    BUDGETS,
    FREE,
    SearchPoint,
    free_points,
    point_from_plain,
    point_to_plain,
    printed_name,
    printed_point,
    printed_rows,
)
from verification.engine import Engine
from verification.question import Case
from verification.shards import Share
from verification.store import Extract, Results, Store, failed
from verification.system import UNICORNN
from verification.verdict import ERROR, Judgement

_ROOT = Path(__file__).parent
_MEASURING = (
    "instance.py",
    "system.py",
    "domains.py",
    "jobs.py",
    "adversary",
    "measure",
    "tasks",
    "controls.py",
    "certify",
    "claim.py",
    "question.py",
    "witness.py",
)
_CALLED = (
    "_integers.py", "autocast.py", "bounds", "published.py", "recurrence.py", "executions", "cells", "fields",
    "integrators",
)  # fmt: skip
_ASKING = (
    "question.py",
    "answer.py",
    "orders.py",
    "counterexample.py",
    "verdict.py",
    "instance.py",
    "system.py",
    "domains.py",
    "claim.py",
    "adversary",
    "measure",
    "tasks",
    "certify",
)
_JUDGING = (
    "ratios.py",
    "refute.py",
    "judge.py",
    "verdict.py",
    "witness.py",
    "claim.py",
    "question.py",
    "instance.py",
    "system.py",
    "certify",
)


@dataclass(frozen=True)
class Settings:
    """What the user chose. Not part of it: the number of workers and the store, which may not change a result.

    ``device`` is where states are searched and measured ("cpu", "cuda", "cuda:1"): roundings differ, so results made
    elsewhere than on the CPU have keys of their own, the same for every card. Seeds and drawn numbers do not depend on
    it. Questions and certificates run on the CPU.
    """

    budget: str = "smoke"
    seed: int = 0
    task: str = "digits"
    claims: tuple[str, ...] = ()
    claims_dirs: tuple[str, ...] = ()
    data: str | None = None
    device: str = "cpu"

    def to_plain(self) -> dict[str, Any]:
        return {
            "budget": self.budget, "seed": self.seed, "task": self.task, "claims": list(self.claims),
            "claims_dirs": list(self.claims_dirs), "data": self.data, "device": self.device,
        }  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One unit of work; ``needs`` are the keys of the jobs whose results a judge job reads."""

    key: str
    spec: dict[str, Any]
    needs: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return str(self.spec["kind"])

    @property
    def seed(self) -> int:
        """Of everything random in the job; fixed by its spec alone, so it outlives a change of the source text.

        The two measurements of a row share theirs: real and worst in-range input meet the same network.
        """
        drawn_from = {name: value for name, value in self.spec.items() if name not in ("input", "task", "device")}
        return int(hashlib.sha256(json.dumps(drawn_from, sort_keys=True).encode()).hexdigest()[:15], 16)


@dataclass(frozen=True)
class Plan:
    """First ``measuring`` jobs in any order, then ``judging`` jobs; the table has the judging order."""

    settings: Settings
    measuring: tuple[Job, ...]
    judging: tuple[Job, ...]

    @property
    def name(self) -> str:
        """The same for the same jobs: their keys are in it, those of measuring jobs by way of the judging jobs."""
        return hashlib.sha256(json.dumps([job.key for job in self.judging]).encode()).hexdigest()

    @property
    def independent(self) -> tuple[Job, ...]:
        """The jobs that need no other: measuring, and questions."""
        return (*self.measuring, *(job for job in self.judging if job.kind == "question"))


@cache
def _source_digest(parts: tuple[str, ...], called: tuple[str, ...] = _CALLED) -> str:
    """SHA-256 over the source text of files and folders of this package, and of the odernn modules they call."""
    digest = hashlib.sha256()
    odernn_root = Path(odernn.__file__).parent
    folders = [_ROOT / part for part in parts] + [odernn_root / part for part in called]
    files = [path for folder in folders for path in _files(folder)]
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


@cache
def versions() -> dict[str, str]:
    """The packages whose arithmetic a result rests on."""
    return {
        name: importlib.metadata.version(name) for name in ("numpy", "torch", "python-flint", "mpmath", "scikit-learn")
    }


def source_text() -> str:
    """SHA-256 over the source text of all of odernn."""
    return _source_digest((".",), (".",))


def _key(spec: dict[str, Any], source: str) -> str:
    if "device" in spec:
        spec = spec | {"device": spec["device"].partition(":")[0]}
    facts = {"spec": spec, "version": odernn.__version__, "source": source, "dtype": "float64", "with": versions()}
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _measuring_job(spec: dict[str, Any], source: str) -> Job:
    return Job(_key(spec, source), spec)


def plan(settings: Settings, registry: Registry) -> Plan:
    """All jobs of the settings. Claims keep the registry's order unless named; the table's order follows it."""
    chosen, questions = _chosen(settings, registry)
    budget = BUDGETS[settings.budget]
    measuring: dict[str, Job] = {}
    judging: list[Job] = []

    def need(spec: dict[str, Any], source: str) -> str:
        job = _measuring_job(spec, source)
        measuring.setdefault(job.key, job)
        return job.key

    base = {"budget": budget.name, "seed": settings.seed}
    place = {} if settings.device == "cpu" else {"device": settings.device}
    for registered in chosen:
        system = registered.claim.system.name
        source = _source_digest(_MEASURING) + (registered.digest if system != UNICORNN.name else "")

        def search(point: SearchPoint, layer: int, system: str = system, source: str = source) -> str:
            return need(
                {"kind": "search", "system": system, "layer": layer, "point": point_to_plain(point), **base, **place},
                source,
            )

        controls = tuple(
            need({"kind": "control", "system": system, "point": point_to_plain(point), **base, **place}, source)
            for point in CONTROL_POINTS
        )

        def deep_control(layer: int, system: str = system, source: str = source) -> str:
            point = point_to_plain(deep_control_point(layer))
            spec = {"kind": "control", "system": system, "layer": layer, "point": point, **base, **place}
            return need(spec, source)

        for domain, layer, points, row in _cells(budget.name):
            needs = {"search": [search(point, layer) for point in points], "control": list(controls)}
            if layer > 1:
                needs["control"].append(deep_control(layer))
            if row is not None and system == UNICORNN.name:
                data = {"kind": "measure", "row": row, "input": "data", "task": settings.task, **base, **place}
                in_range = {"kind": "measure", "row": row, "input": "range", **base, **place}
                needs |= {"data": [need(data, source)], "range": [need(in_range, source)]}
            judging.append(_judge_job(registered, domain, layer, points, needs))
    judging += [_question_job(each, case, base) for each in questions for case in each.question.cases]
    return Plan(settings, tuple(measuring.values()), tuple(judging))


def _chosen(settings: Settings, registry: Registry) -> tuple[list[Registered], list[RegisteredQuestion]]:
    """The claims and the questions that the settings name, each once; all of them if they name none."""
    if not settings.claims:
        return list(registry), list(registry.questions())
    found = {id(each): each for each in map(registry.find, settings.claims)}.values()
    return (
        [each for each in found if isinstance(each, Registered)],
        [each for each in found if isinstance(each, RegisteredQuestion)],
    )


def _question_job(registered: RegisteredQuestion, case: Case, base: dict[str, Any]) -> Job:
    question = registered.question
    spec = {
        "kind": "question", "claim": question.id, "version": question.version, "domain": case.domain,
        "quantity": case.quantity, **base,
    }  # fmt: skip
    return Job(_key(spec, registered.digest + _source_digest(_ASKING, (".",))), spec)


def _cells(budget_name: str) -> Iterator[tuple[str, int, tuple[SearchPoint, ...], str | None]]:
    """(domain, layer, its points, row name or None): the free domain first, then Table 6 in its order."""
    budget = BUDGETS[budget_name]
    points = free_points(budget)
    for layer in range(1, budget.free_layers + 1):
        yield FREE, layer, points, None
    for row in printed_rows():
        for layer in range(1, row.num_layers + 1):
            yield printed_name(row), layer, (printed_point(row),), row.name


def _judge_job(
    registered: Registered, domain: str, layer: int, points: tuple[SearchPoint, ...], needs: dict[str, list[str]]
) -> Job:
    claim = registered.claim
    spec = {
        "kind": "judge", "claim": claim.id, "version": claim.version, "domain": domain, "layer": layer,
        "points": [point_to_plain(point) for point in points], "needs": needs,
    }  # fmt: skip
    flat = tuple(key for keys in needs.values() for key in keys)
    return Job(_key(spec, registered.digest + _source_digest(_JUDGING)), spec, flat)


def work_on(job: Job, settings: Settings) -> Any:
    """In a worker: one measuring job."""
    from verification import jobs

    return jobs.perform(job.spec, job.seed, settings.claims_dirs, settings.data)


def judge_one(job: Job, results: str | Extract, claims_dirs: tuple[str, ...]) -> list[dict[str, Any]]:
    """In a worker: judge by what the job needs, from the store of that path or sent along."""
    from verification.judge import judge
    from verification.ratios import Evidence, trial_from_plain

    if job.kind == "question":
        return _answer_one(job, claims_dirs)
    registry = registry_of(claims_dirs)
    claim = registry.get(job.spec["claim"]).claim
    points = tuple(point_from_plain(plain) for plain in job.spec["points"])
    needs, layer = job.spec["needs"], job.spec["layer"]
    with nullcontext(results) if isinstance(results, Extract) else Store(Path(results), writable=False) as store:
        failures = [data["error"] for key in job.needs if "error" in (data := store.data(key))]
        if failures:
            return _error_cells(job, failures[0], claims_dirs)
        trials = []
        for point, key in zip(points, needs["search"], strict=True):
            arrays = store.arrays(key)
            entries = store.data(key)["found"]
            trials += [trial_from_plain(point, entry, arrays[str(i)]) for i, entry in enumerate(entries)]
        data = _of_layer(store, needs.get("data"), layer)
        evidence = Evidence(
            domain=job.spec["domain"],
            layer=layer,
            points=points,
            trials=tuple(trials),
            data=data,
            step_sizes=data.get("step_sizes"),
            in_range=_of_layer(store, needs.get("range"), layer),
            controls=tuple(store.data(key) for key in needs["control"]),
        )
    return [judgement.to_plain() for judgement in judge(claim, evidence)]


def _answer_one(job: Job, claims_dirs: tuple[str, ...]) -> list[dict[str, Any]]:
    import torch

    from verification.answer import answer

    torch.set_num_threads(1)
    question = registry_of(claims_dirs).get_question(job.spec["claim"]).question
    case = question.case(job.spec["domain"], job.spec["quantity"])
    return [answer(question, case, BUDGETS[job.spec["budget"]], job.seed).to_plain()]


def _of_layer(store: Results, keys: list[str] | None, layer: int) -> dict[str, Any]:
    """{"<quantity>/<norm>": envelope} of one layer from a measure job."""
    if not keys:
        return {}
    prefix = f"{layer}/"
    return {name[len(prefix) :]: array for name, array in store.arrays(keys[0]).items() if name.startswith(prefix)}


def _error_cells(job: Job, because: str, claims_dirs: tuple[str, ...]) -> list[dict[str, Any]]:
    """What a judge job leaves that could not judge: one cell a part of its claim, with the verdict ``error``."""
    from verification.answer import blank_of
    from verification.ratios import reading_of

    if job.kind == "question":
        question = registry_of(claims_dirs).get_question(job.spec["claim"]).question
        blank = blank_of(question, question.case(job.spec["domain"], job.spec["quantity"]))
        return [replace(blank, because=because).to_plain()]
    claim = registry_of(claims_dirs).get(job.spec["claim"]).claim
    domain = job.spec["domain"]
    cells = [
        Judgement(
            claim=claim.id, domain=domain, layer=job.spec["layer"], quantity=part.quantity, norm=part.norm,
            symbol=part.symbol, reading=reading_of(claim, domain), verdict=ERROR, because=because, origin=claim.origin,
            system=claim.system.name,
        )
        for part in claim.parts
    ]  # fmt: skip
    return [cell.to_plain() for cell in cells]


def execute(
    the_plan: Plan,
    store: Store,
    *,
    workers: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    remote: Engine | None = None,
    share: Share | None = None,
) -> list[Judgement]:
    """Do what the store lacks, then return the table's judgements. ``progress(kind, done, total)`` is called after
    every job.

    The cells of a job that fails get the verdict ``error``, and a later run tries it again. ``remote`` does the jobs
    where the store's file is not; otherwise ``workers`` processes here do. Of a ``share`` only its own judgements
    come back.
    """
    settings = the_plan.settings
    perform = remote or partial(_here, workers)
    keys = [job.key for job in the_plan.judging]
    store.begin_run(the_plan.name, _record(the_plan, share), keys)
    here = None if share is None else {job.key for job in share.of(the_plan.independent)}
    measuring = [job for job in the_plan.measuring if here is None or job.key in here]
    _do(store, measuring, work_on, lambda job: (job, settings), perform, progress, "searching", settings.claims_dirs)

    def arguments(job: Job) -> tuple[Any, ...]:
        return job, store.extract(job.needs) if remote else str(store.path), settings.claims_dirs

    judging = the_plan.judging if share is None or here is None else _judged_by(share, here, the_plan, store)
    _do(store, judging, judge_one, arguments, perform, progress, "judging", settings.claims_dirs)
    if share is not None:
        return judgements_of(store, [job.key for job in judging])
    store.complete_run(the_plan.name)
    return judgements_of(store, keys)


def _here(workers: int, function: Callable[..., Any], jobs: engine.Jobs) -> Iterator[engine.Finished]:
    return engine.run(function, list(jobs), workers=workers)


def _record(the_plan: Plan, share: Share | None) -> dict[str, Any]:
    """What the store keeps of a plan: enough to tell whether two stores belong together, and what they lack."""
    return the_plan.settings.to_plain() | {
        "version": odernn.__version__, "source": source_text(), "with": versions(),
        "independent": [job.key for job in the_plan.independent],
    } | ({} if share is None else {"shard": str(share)})  # fmt: skip


def _judged_by(share: Share, here: set[str], the_plan: Plan, store: Store) -> list[Job]:
    """The questions of a share, and its judgements that need nothing which the store lacks."""
    judges = share.of([job for job in the_plan.judging if job.kind == "judge"])
    ready = {job.key for job in judges if store.has(job.needs) == set(job.needs)}
    return [job for job in the_plan.judging if job.key in here or job.key in ready]


def _do(
    store: Store,
    jobs: Sequence[Job],
    function: Callable[..., Any],
    arguments: Callable[[Job], tuple[Any, ...]],
    perform: Engine,
    progress: Callable[[str, int, int], None],
    label: str,
    claims_dirs: tuple[str, ...],
) -> None:
    by_key = {job.key: job for job in jobs}
    finished = {key for key in store.has(by_key) if not failed(store.data(key))}
    todo = ((key, arguments(job)) for key, job in by_key.items() if key not in finished)
    progress(label, len(finished), len(by_key))
    for number, outcome in enumerate(perform(function, todo), len(finished) + 1):
        job = by_key[outcome.key]
        data: Any = {"error": outcome.error}
        arrays: dict[str, np.ndarray] = {}
        if job.kind in ("judge", "question"):
            data = _error_cells(job, outcome.error, claims_dirs) if outcome.error else outcome.value
        elif not outcome.error:
            data, arrays = outcome.value.data, outcome.value.arrays
        store.put(outcome.key, kind=job.kind, spec=job.spec, data=data, arrays=arrays, wall_s=outcome.wall_s)
        progress(label, number, len(by_key))


def judgements_of(store: Store, keys: list[str]) -> list[Judgement]:
    """The judgements of finished judge jobs, in the order of their keys."""
    return [Judgement(**plain) for key in keys for plain in store.data(key)]
