"""What ``odernn train`` left in a folder, read without torch: what was trained, a row an evaluation, what came of it.

A folder may hold an unfinished run: then it has no result. Whatever does not fit together is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

from odernn import foreign
from odernn.foreign import ForeignError
from verification.training import TrainingError
from verification.training.folder import LOG, MONITOR, RESULT, RUN

Evaluation: TypeAlias = Mapping[str, float | None]
"""An evaluation: the columns of log.csv; None where the task has no such number, or it is not finite."""
_AGAIN = "It is damaged; train again into another folder."
NEEDED = ("epoch", "step", "train_loss", "validation_loss", "validation_accuracy", "seconds")


@dataclass(frozen=True)
class Monitored:
    """What a monitor wrote down during the run.

    steps     of training that were recorded
    compared  measurements that were compared with a bound, or margins that others need
    failing   those that do not hold, "layer: quantity (bound)", each once, with the step where it first failed
    """

    steps: int
    compared: int
    failing: Mapping[str, int]


@dataclass(frozen=True)
class RunRecord:
    """One run: its folder, the tables of its configuration, all evaluations, and result.json if it is finished.

    monitored  None for a run without ``--monitor``
    """

    folder: Path
    configuration: Mapping[str, Mapping[str, Any]]
    parameters: int
    data: Mapping[str, Any]
    versions: Mapping[str, str]
    history: tuple[Evaluation, ...]
    result: Mapping[str, Any] | None
    monitored: Monitored | None = None

    @property
    def task(self) -> str:
        return str(self.configuration["task"]["name"])

    @property
    def arithmetic(self) -> str:
        """IEEE 754, or what is not its; "" for a run of an odernn that did not ask."""
        return str(self.versions.get("arithmetic", ""))

    @property
    def seed(self) -> int:
        return int(self.configuration["training"]["seed"])

    @property
    def epochs(self) -> int:
        """Epochs trained, up to the last evaluation."""
        return int(self.history[-1]["epoch"] or 0) if self.history else 0

    @property
    def planned(self) -> int:
        """Epochs asked for; a run whose patience ended stopped earlier."""
        return int(self.configuration["training"]["epochs"])

    @property
    def best(self) -> Evaluation | None:
        """The first evaluation that no other one beats: by accuracy where there is one, else by loss."""
        if not self.history:
            return None
        accurate = self.history[0]["validation_accuracy"] is not None
        return min(self.history, key=lambda row: _score(row, accurate=accurate))


def _score(row: Evaluation, *, accurate: bool) -> float:
    value = row["validation_accuracy" if accurate else "validation_loss"]
    return math.inf if value is None else -value if accurate else value


def find(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The folders of runs: each of these that is one, and those anywhere below it. TrainingError where there is none.

    In the order of the names, each once.
    """
    run_folders: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            raise TrainingError(f'"{folder}" is no folder. Name the one that `odernn train --into` was given.')
        below = sorted(path.parent for path in folder.rglob(RUN) if path.is_file())
        if not below:
            raise TrainingError(f'Folder "{folder}" has no {RUN}, nor has one below it: it holds no run.')
        run_folders |= dict.fromkeys(below)
    return tuple(run_folders)


def read(folder: Path) -> RunRecord:
    """Raises TrainingError for a file that is missing, damaged, or of another run than the others.

    StoreError where it is the monitor's.
    """
    facts = _facts(folder / RUN)
    history = _history(folder / LOG)
    path = folder / RESULT
    result = _facts(path) if path.exists() else None
    record = RunRecord(
        folder,
        facts["configuration"],
        facts["parameters"],
        facts["data"],
        facts["versions"],
        history,
        result,
        _monitored(folder / MONITOR),
    )
    if result is not None:
        _check_result(path, facts, record)
    return record


def _facts(path: Path) -> Mapping[str, Any]:
    """run.json, or result.json, which begins with the same."""
    try:
        facts = foreign.read_json(path, non_finite=True)
    except FileNotFoundError:
        raise TrainingError(f'"{path}" does not exist: `odernn train` writes it first.') from None
    except (OSError, ForeignError) as error:
        raise TrainingError(f'"{path}" cannot be read: {foreign.said(error)}. {_AGAIN}') from None
    configuration = facts.get("configuration") if isinstance(facts, dict) else None
    whole = (
        isinstance(configuration, dict)
        and configuration.keys() >= {"task", "network", "optimizer", "training"}
        and all(isinstance(table, dict) for table in configuration.values())
        and isinstance(configuration["task"].get("name"), str)
        and isinstance(configuration["network"].get("cell"), str)
        and all(_is_count(configuration["network"].get(key)) for key in ("hidden_size", "num_layers"))
        and all(_is_count(configuration["training"].get(key)) for key in ("seed", "epochs"))
        and _is_count(facts.get("parameters"))
        and isinstance(facts.get("data"), dict)
        and all(isinstance(split, dict) for split in facts["data"].values())
        and isinstance(facts.get("versions"), dict)
    )
    if not whole:
        raise TrainingError(f'"{path}" is not what `odernn train` writes: it lacks a part of what was trained.')
    return dict(facts)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _history(path: Path) -> tuple[Evaluation, ...]:
    """The rows of log.csv; none before the first evaluation, when there is no file yet."""
    if not path.exists():
        return ()
    try:
        lines = list(foreign.rows_of_csv(path))
    except (OSError, ForeignError) as error:
        raise TrainingError(f'"{path}" cannot be read: {foreign.said(error)}. {_AGAIN}') from None
    if not lines or not set(NEEDED) <= set(lines[0]):
        raise TrainingError(f'"{path}" does not begin with the names of its columns: {", ".join(NEEDED)}.')
    rows: list[Evaluation] = []
    for line, cells in enumerate(lines[1:], 2):
        try:
            named = zip(lines[0], cells, strict=True)
            row = {name: float(cell) if cell else None for name, cell in named}
        except ValueError:
            raise TrainingError(f'"{path}", line {line}: is not a row of {len(lines[0])} numbers.') from None
        row = {name: value if value is not None and math.isfinite(value) else None for name, value in row.items()}
        epoch, before = row["epoch"], rows[-1]["epoch"] if rows else 0.0
        if epoch is None or before is None or epoch <= before or row["step"] is None:
            raise TrainingError(f'"{path}", line {line}: it is about epoch {epoch}, the one before it about {before}.')
        rows.append(row)
    return tuple(rows)


def _monitored(path: Path) -> Monitored | None:
    if not path.exists():
        return None
    from verification.run.store import Store

    with Store(path, writable=False) as store:
        rows = store.measurements()
    failing: dict[str, int] = {}
    compared = 0
    for _, step, layer, quantity, bound, _, _, _, _, _, holds, *_ in rows:
        compared += holds is not None
        if holds == 0:
            failing.setdefault(f"{layer}: {quantity} ({bound})", step)
    return Monitored(len({row[1] for row in rows}), compared, failing)


def _check_result(path: Path, facts: Mapping[str, Any], run: RunRecord) -> None:
    result = run.result
    assert result is not None
    test = result.get("test")
    figures = (
        isinstance(test, dict)
        and isinstance(test.get("loss"), float)
        and "accuracy" in test
        and isinstance(test["accuracy"], (float, int, NoneType))
        and isinstance(result.get("baseline"), float)
        and result["baseline"] >= 0
    )
    if not figures:
        raise TrainingError(
            f'"{path}" has no figures of the test split, or none that a loss and an accuracy can be: it is damaged. '
            "Take it away, and the same `odernn train` makes it again from the checkpoints."
        )
    if result["configuration"] != facts["configuration"]:
        raise TrainingError(f'"{path}" is the result of another configuration than that of {RUN} beside it.')
    best = int(run.best["epoch"] or 0) if run.best else 0
    if (result.get("epochs"), result.get("best_epoch")) != (run.epochs, best):
        said = [foreign.short(str(result.get(name)), 60) for name in ("epochs", "best_epoch")]
        raise TrainingError(
            f'"{path}" speaks of {said[0]} epochs, the best {said[1]}, but {LOG} beside '
            f"it of {run.epochs}, the best {best}. They are of two runs; train again, or put the right files together."
        )
