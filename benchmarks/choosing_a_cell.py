"""Train every cell on three small tasks, tuned with the same small budget, beside LSTM and GRU: docs/cells.md.

    python benchmarks/choosing_a_cell.py                             all that the record lacks, then the page's table
    python benchmarks/choosing_a_cell.py --only "digits by rows"     one task, or one cell, by name; may be repeated
    python benchmarks/choosing_a_cell.py --seconds 600               stops after that time; the same command goes on
    python benchmarks/choosing_a_cell.py --jobs 2                    two runs at a time, each on one thread (default: 1)
    python benchmarks/choosing_a_cell.py --list                      what is recorded
    python benchmarks/choosing_a_cell.py --page                      only the table, from the record

``_choosing_plan`` says what is tried and how it is chosen. A run is one of ``odernn train``: killed, it goes on where
it was, and ends with the same bits; its folder goes when it is recorded. The test split is loaded for the five seeds of
the chosen setting only. results/choosing_a_cell.json is written after every run; a change of what is trained makes the
record of it void. Spoken digits are read from --root, or ODERNN_DATA.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _choosing_page
import _choosing_plan
import torch
import training_runs
from _choosing_plan import ChosenTask, Contestant, Setting
from _harness import RESULTS, machine, said_not_made
from torch import nn
from training_runs import Place, Stopwatch, TimeIsUpError, Untested

from verification.tasks.images import DataError
from verification.training import TrainingError, loop
from verification.training.configuration import Configuration
from verification.training.determinism import determinism
from verification.training.processes import processes

RECORD = "choosing_a_cell.json"
CHECKPOINTS = Path(__file__).resolve().parent.parent / "build" / "choosing_a_cell"


@dataclass(frozen=True)
class ChoiceRun:
    """One training: ``key`` is its place in the record."""

    key: str
    configuration: Configuration
    label: str
    is_tested: bool


def trials(task: ChosenTask, contestant: Contestant) -> list[ChoiceRun]:
    """The six settings, on the validation split."""
    return [
        _run_of(task, contestant, setting, _choosing_plan.TRIAL_SEED, f"setting {number}", is_tested=False)
        for number, setting in enumerate(_choosing_plan.settings(task, contestant), 1)
    ]


def finals(task: ChosenTask, contestant: Contestant, record: Mapping[str, Any]) -> list[ChoiceRun]:
    """The chosen setting with five seeds; none before all six are tried, or if none of them could be trained."""
    tried = trials(task, contestant)
    if not all(is_recorded(record, each) for each in tried):
        return []
    best = _choosing_page.best([record[each.key] for each in tried])
    if best is None:
        return []
    setting = _choosing_plan.settings(task, contestant)[best]
    return [_run_of(task, contestant, setting, seed, f"seed {seed}", is_tested=True) for seed in _choosing_plan.SEEDS]


def _run_of(
    task: ChosenTask, contestant: Contestant, setting: Setting, seed: int, name: str, *, is_tested: bool
) -> ChoiceRun:
    configured = _choosing_plan.configured(task, contestant, setting, seed)
    return ChoiceRun(f"{task.name} / {contestant.name} / {name}", configured, setting.label, is_tested)


# One run.


def run(job: ChoiceRun, place: Place) -> dict[str, Any]:
    """Train and, for the chosen setting, test; all that is recorded. TimeIsUpError at the deadline."""
    plan = job.configuration
    folder = place.checkpoints / plan.digest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with processes(place.device) as own, determinism(plan.training.deterministic, place.device):
        kind = loop.TrainingRun if job.is_tested else Untested
        made = kind(plan, folder, own, root=place.root, device=place.device)
        clock = Stopwatch(folder)

        def stop(model: nn.Module, step: int) -> None:
            if place.is_late:
                made.keep()
                clock.keep()
                raise TimeIsUpError(f"the time is up in epoch {made.progress.epoch + 1}", {})

        found = made.to_the_end(None, [clock, stop])
        result = facts(job) | {
            "parameters": made.facts()["parameters"],
            "epochs": made.progress.epoch,
            "best_epoch": made.progress.best_epoch,
            "validation": _best_validation(made.progress),
            "cpu_seconds": round(clock.keep(), 1),
            "wall_seconds": round(made.progress.seconds, 1),
        }
    if job.is_tested:
        result["test"] = {"loss": found.test["loss"], "accuracy": found.test["accuracy"]}
    shutil.rmtree(folder, ignore_errors=True)
    return result


def _best_validation(progress: loop.RunProgress) -> dict[str, float]:
    row = next(row for row in progress.history if row["epoch"] == progress.best_epoch)
    return {"loss": row["validation_loss"], "accuracy": row["validation_accuracy"]}


def facts(job: ChoiceRun) -> dict[str, Any]:
    """What every record has: what was trained, and where."""
    here = machine()
    return {
        "digest": job.configuration.digest(),
        "rate": job.configuration.optimizer.options["lr"],
        "label": job.label,
        "network": job.configuration.to_plain()["network"],
        "on": {name: here[name] for name in ("processor", "cores", "threads", "python", "torch", "odernn")},
    }


def attempted(job: ChoiceRun, place: Place) -> dict[str, Any] | str:
    """The record, that it diverged among them; or why there is none yet."""
    if place.is_late:
        return "the time is up"
    try:
        return run(job, place)
    except TimeIsUpError as error:
        return str(error)
    except TrainingError as error:
        said = str(error).partition(". ")[0]
        if said.startswith(("The loss is", "The weight", "No loss")):  # not that a folder cannot be written
            return facts(job) | {"failed": said}
        return str(error)
    except (DataError, OSError) as error:
        return str(error)


# The record.


def opened(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else {}
    return found


def write(path: Path, record: Mapping[str, Any]) -> None:
    training_runs.write(path, {"benchmark": "choosing_a_cell", "runs": record})


def is_recorded(record: Mapping[str, Any], job: ChoiceRun) -> bool:
    """Whether the record has this training, as it would be made now."""
    there = record.get(job.key)
    return there is not None and there["digest"] == job.configuration.digest()


def gone_on(path: Path, pairs: Sequence[tuple[ChosenTask, Contestant]], place: Place) -> list[str]:
    """Make what the record lacks; what could not be made, and why. Only this process writes the record."""
    left = []
    for task, contestant in pairs:
        left += _made(path, trials(task, contestant), place)
        left += _made(path, finals(task, contestant, opened(path)), place)
    return left


def _made(path: Path, jobs: Sequence[ChoiceRun], place: Place) -> Iterator[str]:
    """Records each of the jobs that is not there; what could not be made, and why."""
    todo: Any = [job for job in jobs if not is_recorded(opened(path), job)]
    for job, result in training_runs.made(todo, place, attempted):  # type: ignore[arg-type]
        if isinstance(result, str):
            yield f"{job.key}: {result}"
            continue
        write(path, opened(path) | {job.key: result})
        sys.stdout.write(f"{job.key}: {said(result)}\n")
        sys.stdout.flush()


def said(result: Mapping[str, Any]) -> str:
    if "failed" in result:
        return str(result["failed"])
    parts = [f"{split} {result[split]['accuracy']:.4f}" for split in ("validation", "test") if split in result]
    return f"{', '.join(parts)}; epoch {result['best_epoch']}; {result['cpu_seconds']:.1f} s"


def chosen(names: Sequence[str]) -> list[tuple[ChosenTask, Contestant]]:
    """Those of the tasks and of the cells that are named; SystemExit for a name that is neither."""
    tasks = {task.name for task, _ in _choosing_plan.pairs()}
    known = tasks | {contestant.name for _, contestant in _choosing_plan.pairs()}
    for name in names:
        if name not in known:
            raise SystemExit(f"--only {name}: no task and no cell is called so. There are: {', '.join(sorted(known))}.")
    of_tasks, of_cells = set(names) & tasks, set(names) - tasks
    return [
        (task, contestant)
        for task, contestant in _choosing_plan.pairs()
        if (not of_tasks or task.name in of_tasks) and (not of_cells or contestant.name in of_cells)
    ]


def listed(record: Mapping[str, Any], pairs: Sequence[tuple[ChosenTask, Contestant]]) -> Iterator[str]:
    for task, contestant in pairs:
        six, five = trials(task, contestant), finals(task, contestant, record)
        done = [sum(is_recorded(record, job) for job in jobs) for jobs in (six, five)]
        yield f"{task.name} / {contestant.name}: {done[0]} of {len(six)} settings, {done[1]} of 5 seeds\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="a task or a cell by name; may be repeated")
    parser.add_argument("--list", action="store_true", help="train nothing, say what is recorded")
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at a time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after that time, at a checkpoint")
    parser.add_argument("--root", type=Path, help="folder of the spoken digits (default: ODERNN_DATA)")
    parser.add_argument("--checkpoints", type=Path, default=CHECKPOINTS, help="folder of the runs (default: build/…)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the record (default: results/)")
    parser.add_argument("--page", action="store_true", help="train nothing, only write the table of the page")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        raise SystemExit(f"--jobs is {options.jobs}; give 1 or more.")
    torch.set_num_threads(1)
    path, pairs = options.output / RECORD, chosen(options.only)
    if options.list:
        sys.stdout.writelines(listed(opened(path), pairs))
        return 0
    left = []
    if not options.page:
        deadline = time.monotonic() + options.seconds
        left = gone_on(path, pairs, Place(options.checkpoints, options.root, "cpu", False, options.jobs, deadline))
    if options.output == RESULTS:
        _choosing_page.PAGE.write_text(
            _choosing_page.page(_choosing_page.PAGE.read_text("utf-8"), opened(path)), encoding="utf-8"
        )
    return said_not_made(left)


if __name__ == "__main__":
    sys.exit(main())
