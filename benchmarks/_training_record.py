"""The record of training_runs.py: runs and trials by their key, in one JSON file that is replaced whole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from verification.training import TrainingError, configuration
from verification.training.configuration import Configuration

RECORD = "training_runs.json"


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


def write(path: Path, record: Mapping[str, Any]) -> None:
    """In place of the old one, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)
