"""The files outside of the package that a run needs, its own cell and task: recorded, and compared when it goes on.

Only their paths are recorded. A record never makes anything load them: who goes on names their folders again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odernn import cells, foreign
from odernn.folders import digest
from odernn.foreign import ForeignError
from verification import tasks
from verification.training import TrainingError
from verification.training.configuration import Configuration

KEY = "own_files"
"""Of run.json and of checkpoints; runs that need nothing beside the package have no such key."""


def recorded(configuration: Configuration) -> dict[str, Any]:
    """{"own_files": {"cell": {"name", "file", "sha256"}, "task": …}}, as far as there are any."""
    network, task = configuration.network, configuration.task
    files = {
        "cell": (network.cell, cells.file_of(network.cell, network.folders)),
        "task": (task.name, tasks.file_of(task.name, task.folders)),
    }
    own = {
        kind: {"name": name, "file": str(path.resolve()), "sha256": digest(path)}
        for kind, (name, path) in files.items()
        if path is not None
    }
    return {KEY: own} if own else {}


def of(facts: Any) -> dict[str, Any]:
    """That part of run.json or of a checkpoint's facts; {} where there is none."""
    return {KEY: facts[KEY]} if isinstance(facts, Mapping) and isinstance(facts.get(KEY), Mapping) else {}


def check_record(path: Path, configuration: Configuration) -> None:
    """``check`` with what run.json says, if it can be read: what else is wrong with it is found later."""
    try:
        facts = foreign.read_json(path, non_finite=True)
    except (OSError, ForeignError):
        return
    check(facts, configuration, f'Folder "{path.parent}"')


def check(facts: Any, configuration: Configuration, where: str) -> None:
    """TrainingError if a file that these facts name is not at hand, or is another one now."""
    then, now = of(facts).get(KEY, {}), recorded(configuration).get(KEY, {})
    names = {"cell": configuration.network.cell, "task": configuration.task.name}
    for kind, name in names.items():
        file = then.get(kind)
        if not isinstance(file, Mapping) or file.get("name") != name:
            continue
        if kind not in now:
            raise TrainingError(
                f'{where}: its {kind} "{name}" is in no folder that was given; it was in "{file.get("file")}". Name '
                f"the folder of that file with --{kind}s."
            )
        if now[kind]["sha256"] != file.get("sha256"):
            raise TrainingError(
                f'{where}: its {kind} "{name}" has changed: "{now[kind]["file"]}" has SHA-256 '
                f"{now[kind]['sha256'][:16]}…, then it had {str(file.get('sha256'))[:16]}…. Put that file back, or "
                "train into another folder."
            )
