"""The record of training_runs.py: runs and trials by their key, in one JSON file that is replaced whole; its parts."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from odernn.published import results as published_results
from verification import tasks
from verification.report.rows.trained_results import is_as_printed
from verification.training import TrainingError, configuration
from verification.training.configuration import Configuration

RECORD = "training_runs.json"
NEEDED = frozenset({"task", "seed", "epochs", "steps", "curve", "validation"})
"""What the page asks of a run or trial."""

POINTS = 12
"""Evaluations that are kept of a run, evenly chosen; the last and the best one always are."""


class Recorded(Protocol):
    """What a training is recorded under."""

    @property
    def key(self) -> str: ...
    @property
    def configuration(self) -> Configuration: ...
    @property
    def is_tested(self) -> bool: ...


def opened(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"benchmark": "training_runs", "runs": {}, "trials": {}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def is_recorded(record: Mapping[str, Any], job: Recorded) -> bool:
    """Whether the record has this training, as it would be made now."""
    there = record["runs" if job.is_tested else "trials"].get(job.key)
    if there is None or "stopped" in there:
        return False
    try:  # the digest of the same tables can change with the library: it has all fields, also new ones
        then = configuration.from_mapping(there["configuration"])
    except TrainingError:
        return False
    return then.digest() == job.configuration.digest()


def add(path: Path, job: Recorded, result: Mapping[str, Any], *, is_stopped: bool = False) -> dict[str, Any]:
    """The record on the disk with one result more: read again first, as another call may have written meanwhile.

    is_stopped  whether it is a run that goes on: what it had reached goes when it is done
    """
    record = opened(path)
    unfinished = record.pop("stopped", {})
    unfinished.pop(job.key, None)
    if is_stopped:
        unfinished[job.key] = result
    else:
        record["runs" if job.is_tested else "trials"][job.key] = result
    if unfinished:
        record["stopped"] = unfinished
    write(path, record)
    return record


def take(path: Path, other: Path) -> list[str]:
    """Add the runs and trials of a record from another machine, in place of ours of the same key; their keys.

    Raises SystemExit, and leaves the record as it is, if the other is no such record.
    """
    reason = "there is no such file"
    try:
        text = other.read_text(encoding="utf-8")
        reason = "it is no record of training runs"
        taken = json.loads(text)
        for kind in ("runs", "trials"):
            for each in taken[kind].values():
                configuration.from_mapping(each["configuration"])
                if not set(each) >= NEEDED or (kind == "runs" and "test" not in each):
                    raise KeyError(kind)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, TrainingError) as error:
        words = f"--take {other}: {reason} ({type(error).__name__}). Give the {RECORD} of the other machine."
        raise SystemExit(words) from None
    record = opened(path)
    for kind in ("runs", "trials"):
        record[kind] |= taken[kind]
    write(path, record)
    return [*taken["runs"], *taken["trials"]]


def write(path: Path, record: Mapping[str, Any]) -> None:
    """In place of the old one, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)


def published(plan: Configuration) -> list[dict[str, str]]:
    """What is printed for this cell at this size on this task; no number beside a variant of the task that is ours."""
    among = published_results.results(plan.task.name, _task_options(plan))
    sizes = {"hidden_size": plan.network.hidden_size, "num_layers": plan.network.num_layers}
    nearest = published_results.nearest(among, cell=plan.network.cell, network=plan.network.options, **sizes)
    return [
        {
            "model": each.model,
            "text": each.text,
            "source": each.source,
            "size": f"m = {each.hidden_size or '?'}, L = {each.num_layers or '?'}",
        }
        for each in nearest
        if is_as_printed(each, plan)
    ]


def _task_options(plan: Configuration) -> dict[str, Any]:
    """With those that are not written but have a default value in the task."""
    taken = inspect.signature(tasks.get(plan.task.name).load).parameters.values()
    defaults = {each.name: each.default for each in taken if each.kind is each.KEYWORD_ONLY}
    return {**defaults, **plan.task.options}


def curve(rows: Sequence[Mapping[str, Any]], best: int) -> list[dict[str, Any]]:
    """Some evaluations of the run, the best and the last among them."""
    step = max(1, math.ceil(len(rows) / POINTS))
    names = ("epoch", "step", "train_loss", "validation_loss", "validation_accuracy")
    chosen = [row for i, row in enumerate(rows, 1) if i % step == 0 or row["epoch"] == best or i == len(rows)]
    return [{name: row[name] for name in names} for row in chosen]
