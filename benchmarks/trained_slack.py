"""What every published and every sharp bound is worth along training, task by task: docs/trained.md.

    python benchmarks/trained_slack.py                       all that the record lacks, then the page
    python benchmarks/trained_slack.py --seconds 600         stops after that time; the same command goes on
    python benchmarks/trained_slack.py --jobs 2              two runs at a time, each on one thread (default: 1)
    python benchmarks/trained_slack.py --only LSTM "seed 0"  those of the tasks, cells and seeds named
    python benchmarks/trained_slack.py --device cuda         small networks are trained there (default: cpu)
    python benchmarks/trained_slack.py --runs FOLDER         also the runs of training_runs.py that lie in FOLDER
    python benchmarks/trained_slack.py --list                what is recorded
    python benchmarks/trained_slack.py --page                only the page and its picture, from the record

The design. ``_slack_plan`` is the matrix as data; ``_slack_measures`` has one function a family of quantities, with its
formula, and knows no file; this script trains, measures and records; ``_slack_page`` makes the page of the record and
what stands beside it in results/, ``_slack_head`` its first words, ``_slack_picture`` the picture. Training is that of
``odernn train``: a killed run goes on to the same bits. A network is measured at weights kept at log-spaced updates,
after training, on the first sequences of the validation split, in float64: a monitor beside training would see other
sequences at every checkpoint. Every run is measured in the process that trained it, checkpoint after checkpoint, and
its folder goes when it is recorded; of the first seed the first, middle and last weights stay in results/trained/slack,
by which ``slack_by_hand.py`` computes numbers once more. A record holds log₁₀ of bound and measured, no text: slack,
extremes and sentences are the page's; and the processor's time where the run's folder has it. A change of what is
trained makes the record of that run void; one of how it is measured does when ``MEASURED`` is raised.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _slack_archive
import _slack_measures
import _slack_page
import _slack_picture
import _slack_plan
import numpy as np
import torch
import training_runs
from _harness import RESULTS, machine, said_not_made
from _slack_equations import published_score
from _slack_page import ZERO
from _slack_plan import MEASURED
from numpy.typing import NDArray
from torch import nn
from training_runs import Place, Stopwatch, TimeIsUpError

from verification.registry import Registry
from verification.tasks.images import DataError
from verification.tasks.task import TaskSpec
from verification.trained import CheckpointError, files, loading, runs
from verification.training import TrainingError, checkpoints, loop, splits
from verification.training.configuration import Configuration
from verification.training.determinism import determinism
from verification.training.processes import processes

RECORD = "trained_slack.json"
CHECKPOINTS = Path(__file__).resolve().parent.parent / "build" / "trained_slack"
ARCHIVE = Path("trained") / "slack"
"""Below the folder of the record."""


@dataclass(frozen=True)
class SlackJob:
    """One run: ``key`` is its place in the record.

    archive  the folder where some of its weights stay, of the first seed;  folder  of a run that was made elsewhere
    """

    key: str
    task: str
    cell: str
    seed: int
    configuration: Configuration
    sequences: int
    archive: Path | None = None
    folder: Path | None = None


def small_jobs(device: str, output: Path = RESULTS) -> Iterator[SlackJob]:
    for task, cell, seed in _slack_plan.small():
        plan = training_runs.fused(_slack_plan.configured(task, cell, seed), device)
        kept = archive_of(output, task.name, cell.name) if seed == _slack_plan.SEEDS[0] else None
        yield SlackJob(
            name_of(task.name, cell.name, seed), task.name, cell.name, seed, plan, _slack_plan.SEQUENCES, kept
        )


def name_of(task: str, cell: str, seed: int) -> str:
    return f"{task} / {cell} / seed {seed}"


def archive_of(output: Path, task: str, cell: str) -> Path:
    return output / ARCHIVE / "_".join(f"{slug(task)} {slug(cell)}".split())


def slug(name: str) -> str:
    return "_".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())


def large_jobs(folder: Path, output: Path = RESULTS) -> Iterator[SlackJob]:
    """The runs of the plan whose folders are there, with weights kept on the way."""
    by_name, archived_tasks = {each.planned: each for each in _slack_plan.LARGE}, set[str]()
    for job in training_runs.jobs("cuda"):
        large = by_name.get(getattr(job.plan, "name", ""))
        place = folder / job.configuration.digest()[:16]
        if large is None or not list(place.glob("weights_*.safetensors")):
            continue
        seed = job.configuration.training.seed
        plan = training_runs.fused(job.configuration, "cpu", instead=True)
        kept = None if large.task in archived_tasks else archive_of(output, large.task, large.cell)
        archived_tasks.add(large.task)
        key = name_of(large.task, large.cell, seed)
        yield SlackJob(key, large.task, large.cell, seed, plan, large.sequences, kept, place)


# --- one run


def run(job: SlackJob, place: Place) -> dict[str, Any]:
    """Train, if it is not there, and measure: all that is recorded. TimeIsUpError at the deadline."""
    folder = job.folder or trained(job, place)
    steps = chosen_steps(folder)
    data = splits.load(job.configuration, "validation", place.root)
    rows, seconds = measured(job, folder, steps, data, place)
    return {
        **facts(job, folder),
        **around(job, folder, data.spec, data.targets),
        "measured_cpu_seconds": round(seconds, 1),
        **archived(job, folder, steps, data),
        "checkpoints": rows,
    }


def trained(job: SlackJob, place: Place) -> Path:
    """The run's folder at the end of its training."""
    plan = job.configuration
    folder = place.checkpoints / plan.digest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with processes(place.device) as own, determinism(plan.training.deterministic, place.device):
        made = training_runs.Untested(plan, folder, own, root=place.root, device=place.device)
        clock = Stopwatch(folder)
        steps = _slack_plan.kept_steps(plan.training.epochs * made.batches)

        def keep(model: nn.Module, step: int) -> None:
            if step in steps:
                tensors = {loop.MODEL + name: value for name, value in model.state_dict().items()}
                checkpoints.write(folder / f"weights_{step:07d}.safetensors", tensors, made.facts() | {"step": step})

        def stop(model: nn.Module, step: int) -> None:
            if place.is_late:
                made.keep()
                clock.keep()
                raise TimeIsUpError(f"the time is up in epoch {made.progress.epoch + 1}", {})

        if made.progress.step == 0:
            steps = steps | {0}
            keep(made.model, 0)
        made.to_the_end(None, [clock, keep, stop])
        clock.keep()
    return folder


def chosen_steps(folder: Path) -> list[int]:
    """The updates of the weights in a folder: all, or of very many twelve, evenly; first and last among them."""
    there = sorted(int(path.stem.rpartition("_")[2]) for path in folder.glob("weights_*.safetensors"))
    most = _slack_plan.CHECKPOINTS
    places = np.linspace(0, len(there) - 1, most if len(there) > most + 2 else len(there))
    return [there[round(place)] for place in places]


def measured(
    job: SlackJob, folder: Path, steps: Sequence[int], data: splits.SplitData, place: Place
) -> tuple[list[dict[str, Any]], float]:
    """One entry a checkpoint, and the processor's time. Each is kept in the run's place as it is made, so that a killed
    measurement goes on.
    """
    kept = place.checkpoints / f"measured_{job.configuration.digest()[:16]}_{MEASURED}.json"
    done: dict[str, Any] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    sample, registry = runs.sample(data, job.sequences), Registry()
    for step in steps:
        if str(step) in done:
            continue
        if place.is_late:
            raise TimeIsUpError(f"the time is up before the weights after {step} updates are measured", {})
        start = time.process_time()
        stored = files.read(folder / f"weights_{step:07d}.safetensors")
        network = loading.load(stored, data.spec)
        rows = compact(_slack_measures.findings(network, sample, registry))
        done[str(step)] = rows | scored(rows, job)
        done["seconds"] = done.get("seconds", 0.0) + time.process_time() - start
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(done), encoding="utf-8")
    kept.unlink(missing_ok=True)
    return [{"step": step, "rows": done[str(step)]} for step in steps], done["seconds"]


def scored(rows: Mapping[str, list[Any]], job: SlackJob) -> dict[str, list[Any]]:
    """sco-5.5.1-A of W, which all scoRNNs here have in float32."""
    return published_score(rows, size=job.configuration.network.hidden_size, eps=torch.finfo(torch.float32).eps)


def compact(findings: Sequence[_slack_measures.Finding]) -> dict[str, list[Any]]:
    """{key: [verdict's letter, log₁₀ bound, log₁₀ measured]}; of a margin [letter, value]; without a bound None in its
    place; the letter alone where a premise fails.
    """
    found: dict[str, list[Any]] = {}
    for each in findings:
        letter = _slack_measures.LETTERS[each.verdict]
        if each.verdict == "inapplicable":
            found[each.key] = [letter]
        elif each.value is not None:
            found[each.key] = [letter, rounded(each.value)]
        else:
            found[each.key] = [letter, rounded(each.bound), rounded(each.measured)]
    return found


def rounded(value: float | None) -> float | str | None:
    """Eight digits after the point; ZERO of the logarithm of 0; None of what is no number or infinite."""
    if value == -math.inf:
        return ZERO
    return None if value is None or not math.isfinite(value) else round(value, 8)


def facts(job: SlackJob, folder: Path) -> dict[str, Any]:
    """What was trained, how long and how well: of the run's own log."""
    with (folder / loop.LOG).open(encoding="utf-8", newline="") as file:
        log = list(csv.DictReader(file))
    has_accuracy = bool(log[0]["validation_accuracy"])
    name = "validation_accuracy" if has_accuracy else "validation_loss"
    best = (max if has_accuracy else min)(log, key=lambda row: float(row[name]))
    plan = job.configuration
    described = json.loads((folder / loop.RUN).read_text("utf-8"))
    return {
        "task": job.task,
        "cell": job.cell,
        "seed": job.seed,
        "measured_by": MEASURED,
        "digest": plan.digest(),
        "network": plan.to_plain()["network"],
        "parameters": described["parameters"],
        "epochs": int(log[-1]["epoch"]),
        "updates": int(log[-1]["step"]),
        "sequences": job.sequences,
        "validation": {"what": name, "first": float(log[0][name]), "best": float(best[name])},
        "on": {each: machine()[each] for each in ("processor", "cores", "threads", "python", "torch", "odernn")},
    }


def around(job: SlackJob, folder: Path | None, spec: TaskSpec, targets: NDArray[Any]) -> dict[str, Any]:
    """What is known without the run: epochs planned, what an answer without input reaches on the validation split; and,
    where the run's folder is, the processor's seconds of its training (on a GPU: of the process that drives it).

    without_input  the task's own loss; of classes the share of the most frequent one, the mean over rows that are read
    """
    level = {"loss": spec.baseline, "means": spec.baseline_means}
    if spec.loss == "cross entropy":
        rows = np.asarray(targets).reshape(-1, targets.shape[-1])
        level["accuracy"] = float(np.mean([np.bincount(row).max() for row in rows]) / rows.shape[1])
    seconds = None if folder is None else folder / training_runs.CPU
    there = seconds is not None and seconds.exists()
    return {
        "epochs_planned": job.configuration.training.epochs,
        "steps": spec.steps,
        "without_input": level,
        "cpu_seconds": round(json.loads(seconds.read_text("utf-8")), 1) if seconds and there else None,
    }


def archived(job: SlackJob, folder: Path, steps: Sequence[int], data: splits.SplitData) -> dict[str, Any]:
    """Of the first seed of a run the first, middle and last weights, and the sequences that they are measured on."""
    if job.archive is None:
        return {}
    shutil.rmtree(job.archive, ignore_errors=True)
    job.archive.mkdir(parents=True)
    for step in (steps[0], steps[len(steps) // 2], steps[-1]):
        shutil.copy(folder / f"weights_{step:07d}.safetensors", job.archive)
    sample = runs.sample(data, job.sequences)
    np.save(job.archive / "sequences.npy", sample.inputs.numpy().astype(np.float32))
    np.save(job.archive / "targets.npy", sample.targets.numpy())
    return {"archive": job.archive.name}


def attempted(job: SlackJob, place: Place) -> dict[str, Any] | str:
    """The record, or why there is none."""
    if place.is_late:
        return "the time is up"
    try:
        return run(job, place)
    except (TimeIsUpError, TrainingError, CheckpointError, DataError, OSError) as error:
        return str(error)


# --- the record


def opened(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else {}
    return found


def write(path: Path, record: Mapping[str, Any]) -> None:
    """One line a checkpoint, in place of the old file, at once."""
    lines = []
    for key, each in record.items():
        about = {name: value for name, value in each.items() if name != "checkpoints"}
        entries = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in each["checkpoints"])
        head = json.dumps(about, ensure_ascii=False)[:-1]
        lines.append(f'{json.dumps(key, ensure_ascii=False)}: {head}, "checkpoints": [\n{entries}]}}')
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text('{"benchmark": "trained_slack", "runs": {\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    os.replace(part, path)


def is_recorded(record: Mapping[str, Any], job: SlackJob) -> bool:
    """Whether this run is there, measured as now, and as far as it has come."""
    there = record.get(job.key)
    if there is None or there["digest"] != job.configuration.digest() or there["measured_by"] != MEASURED:
        return False
    if job.folder is None:
        return True
    return [each["step"] for each in there["checkpoints"]] == chosen_steps(job.folder)


AROUND = ("epochs_planned", "steps", "without_input", "cpu_seconds")


def completed(path: Path, jobs: Sequence[SlackJob], place: Place) -> None:
    """What older records lack and needs no training: ``around``, and what archived weights give (``_slack_archive``).

    Tasks without their files are left.
    """
    record, levels, before = opened(path), dict[str, Any](), opened(path)
    for job in jobs:
        there = record.get(job.key)
        if there is None or not is_recorded(record, job):
            continue
        knows_seconds = job.folder is None or there.get("cpu_seconds") is not None
        if knows_seconds and all(name in there for name in AROUND):
            continue
        try:
            if job.task not in levels:
                data = splits.load(job.configuration, "validation", place.root)
                levels[job.task] = data.spec, data.targets
        except DataError:
            continue
        checkpoints = there.pop("checkpoints")
        known = there.get("cpu_seconds")
        there |= around(job, job.folder, *levels[job.task])
        there |= {"cpu_seconds": there["cpu_seconds"] if known is None else known, "checkpoints": checkpoints}
    record = {key: _slack_archive.completed(run, path.parent, compact) for key, run in record.items()}
    if record != before:
        write(path, record)


def without_archive(record: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """The record in which no run has that folder any more: another seed's weights are in it now."""
    return {
        key: {field: value for field, value in run.items() if name is None or (field, value) != ("archive", name)}
        for key, run in record.items()
    }


def gone_on(path: Path, jobs: Sequence[SlackJob], place: Place) -> list[str]:
    """Make what the record lacks; what could not be made, and why. Only this process writes the record."""
    left: list[str] = []
    todo: Any = [job for job in jobs if not is_recorded(opened(path), job)]
    for made, result in training_runs.made(todo, place, attempted):  # type: ignore[arg-type]
        job: Any = made
        if isinstance(result, str):
            left.append(f"{job.key}: {result}")
            continue
        if job.folder is None:
            shutil.rmtree(place.checkpoints / job.configuration.digest()[:16], ignore_errors=True)
        merged = {**without_archive(opened(path), result.get("archive")), job.key: result}
        order = {each.key: number for number, each in enumerate(jobs)}
        write(path, dict(sorted(merged.items(), key=lambda pair: _slack_page.place(pair[1], order.get(pair[0], 0)))))
        sys.stdout.write(f"{job.key}: {len(result['checkpoints'])} checkpoints\n")
        sys.stdout.flush()
    return left


def chosen(names: Sequence[str], jobs: Sequence[SlackJob]) -> list[SlackJob]:
    """Those of the tasks, of the cells and of the seeds that are named; SystemExit for a name that is none of these."""
    kinds = [{of(job) for job in jobs} for of in _NAMES]
    for name in names:
        if not any(name in known for known in kinds):
            known = ", ".join(sorted(set().union(*kinds)))
            raise SystemExit(f"--only {name}: no task, cell or seed is called so. There are: {known}.")
    wanted = [set(names) & known for known in kinds]
    return [job for job in jobs if all(not some or of(job) in some for some, of in zip(wanted, _NAMES, strict=True))]


_NAMES: tuple[Callable[[SlackJob], str], ...] = (
    lambda job: job.task,
    lambda job: job.cell,
    lambda job: f"seed {job.seed}",
)


def refuse(options: argparse.Namespace) -> None:
    """SystemExit, with what to give instead, for what cannot be done."""
    if options.jobs < 1:
        raise SystemExit(f"--jobs is {options.jobs}; give 1 or more.")
    if options.device.partition(":")[0] not in ("cpu", "cuda"):
        raise SystemExit(f"--device is {options.device}; give cpu, cuda or cuda:N.")
    if options.runs is not None and not options.runs.is_dir():
        raise SystemExit(f"--runs {options.runs}: there is no such folder.")
    if options.page and options.output != RESULTS:
        raise SystemExit("--page is of the record in results/ alone; leave --output out.")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", action="extend", default=[], help="tasks, cells, seeds by name")
    parser.add_argument("--list", action="store_true", help="train nothing, say what is recorded")
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at a time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after that time, at a checkpoint")
    parser.add_argument("--device", default="cpu", help="where small networks are trained: cpu, cuda or cuda:N")
    parser.add_argument("--root", type=Path, help="folder of the tasks' files (default: ODERNN_DATA)")
    parser.add_argument("--runs", type=Path, help="folder of runs of training_runs.py on a GPU")
    parser.add_argument("--checkpoints", type=Path, default=CHECKPOINTS, help="folder of the runs (default: build/…)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the record (default: results/)")
    parser.add_argument("--page", action="store_true", help="train nothing, only write page and picture")
    options = parser.parse_args(arguments)
    refuse(options)
    torch.set_num_threads(1)
    path = options.output / RECORD
    large = large_jobs(options.runs, options.output) if options.runs else ()
    every = [*large, *small_jobs(options.device, options.output)]
    jobs = chosen(options.only, every)
    if options.list:
        record = opened(path)
        sys.stdout.writelines(f"{job.key}: {'' if is_recorded(record, job) else 'not '}recorded\n" for job in jobs)
        return 0
    left: list[str] = []
    if not options.page:
        deadline = time.monotonic() + options.seconds
        place = Place(options.checkpoints, options.root, options.device, False, options.jobs, deadline)
        left = gone_on(path, jobs, place)
        completed(path, every, place)
    if options.output == RESULTS and path.exists():
        _slack_page.write(opened(path))
        _slack_picture.draw(opened(path))
    return said_not_made(left)


if __name__ == "__main__":
    sys.exit(main())
