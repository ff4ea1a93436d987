"""Train on the tasks of the papers what fits in about an hour on two cores; what came of it, beside what is printed.

    python benchmarks/training_runs.py                        all runs that the record lacks, then the page
    python benchmarks/training_runs.py "adding, T = 200"      those whose names begin so, and no others
    python benchmarks/training_runs.py --list                 the names, and what is recorded of them
    python benchmarks/training_runs.py --again NAME …         also those that are recorded
    python benchmarks/training_runs.py --jobs 2               two runs at a time, each on one thread (default: 1)
    python benchmarks/training_runs.py --seconds 600          stops after that time; the same command goes on
    python benchmarks/training_runs.py --device cuda          the further runs, which --list --further names, there
    python benchmarks/training_runs.py --as-they-are NAME …   test what stopped runs have reached, on the CPU
    python benchmarks/training_runs.py --take RECORD          add the runs of another machine's record
    python benchmarks/training_runs.py --page                 only the page, from the record

``_training_plan`` names the runs: a file of verification/training/configurations, seeds, epochs. Each is a run of
``odernn train``: the same loop, the same folder with checkpoints, so that one that was killed goes on where it was and
ends with the same bits. The weights that are best on the validation split are tested, once, at the end. Trials, by
which settings were chosen, are runs that never load the test split.

A run is recorded under its configuration: a change of a file that changes what is trained makes the record of it void,
and the run is made again. One that stopped is recorded as far as it has come once it is tested, ``--as-they-are``, and
goes on all the same when it is called again where its folder is. results/training_runs.json is written after every
run, docs/training_runs.md from it alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import _adding_readouts
import _exponents
import _training_page
import _training_plan
import numpy as np
import torch
from _harness import RESULTS, machine
from _normalisers import completed, scores
from _training_plan import Planned, Trial
from _training_record import RECORD, add, curve, is_recorded, opened, published, take, write
from torch import nn

from verification.tasks.images import DataError
from verification.training import TrainingError, checkpoints, configuration, loop, network, splits
from verification.training.configuration import Configuration
from verification.training.determinism import determinism
from verification.training.processes import processes

CHECKPOINTS = Path(__file__).resolve().parent.parent / "build" / "training_runs"
CPU = "cpu_seconds.json"
"""In a run's folder: the processor's time so far."""

SNAPSHOTS = 24
"""Weights that are kept on the way of a run, beside the first ones."""


# What is to be run.


@dataclass(frozen=True)
class Job:
    """One training: ``key`` is its place in the record."""

    key: str
    plan: Planned | Trial
    configuration: Configuration

    @property
    def is_tested(self) -> bool:
        return isinstance(self.plan, Planned)

    @property
    def is_further(self) -> bool:
        return isinstance(self.plan, Planned) and self.plan.is_further


def jobs(device: str = "cpu") -> Iterator[Job]:
    """All trials and runs, in the order of the plan, each on the fused execution of that device."""
    for trial in _training_plan.TRIALS:
        for seed in trial.seeds:
            tables = {**trial.tables, "training": {**trial.tables["training"], "seed": seed}}
            made = fused(configuration.from_mapping(tables), device)
            yield Job(f"trial, {trial.name} / {made.digest()[:12]}", trial, made)
    elsewhere = "" if device == "cpu" else f" / {device}"
    for planned in _training_plan.RUNS:
        for seed in planned.seeds:
            read = configuration.read(planned.configuration, planned.row).replaced(**planned.training, seed=seed)
            yield Job(f"{planned.name} / seed {seed}{elsewhere}", planned, fused(read, device))


def chosen(names: Sequence[str], device: str = "cpu", *, further: bool = False) -> list[Job]:
    """Those whose keys begin with one of the names; without names all, but further ones only if asked.

    The record of the others is of the CPU, so that elsewhere there are only further ones.
    """
    named = (job for job in jobs(device) if not names or job.key.startswith(tuple(names)))
    if device != "cpu":
        return [job for job in named if job.is_further]
    return [job for job in named if further or not job.is_further or _is_named(job, names)]


def _is_named(job: Job, names: Sequence[str]) -> bool:
    """Whether a further run is meant: its whole name is there, as the beginning of it is also that of others."""
    return isinstance(job.plan, Planned) and any(name.startswith(job.plan.name) for name in names)


def fused(plan: Configuration, device: str, *, instead: bool = False) -> Configuration:
    """The same on the fused execution of that device, if the cell has it and none is named, or ``instead`` of it."""
    if "execution" in plan.network.options and not instead:
        return plan
    execution = torch.device(device).type
    try:
        return replace(plan, network=network.with_option(plan.network, "execution", execution))
    except TrainingError:
        return plan


# One run.


class Untested(loop.TrainingRun):
    """A run that ends before the test."""

    def _finish(self) -> loop.TrainingResult:
        return loop.TrainingResult({}, self.progress.best_epoch, self.progress, self.folder, self.own.writes)


class Stopwatch:
    """The processor's time of a run over all calls that it took, kept in its folder every so many steps."""

    def __init__(self, folder: Path, every: int = 50) -> None:
        self._path, self._every, self._start = folder / CPU, every, time.process_time()
        self._before = json.loads(self._path.read_text("utf-8")) if self._path.exists() else 0.0

    def __call__(self, model: nn.Module, step: int) -> None:
        if step % self._every == 0:
            self.keep()

    def keep(self) -> float:
        total = self._before + time.process_time() - self._start
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(total), encoding="utf-8")
        os.replace(part, self._path)
        return total


class Snapshots:
    """The weights on the way: before the first step, and after steps that lie evenly on a logarithmic scale."""

    def __init__(self, made: loop.TrainingRun) -> None:
        self._made = made
        last = made.configuration.training.epochs * made.batches
        self._steps = {round(last ** (i / SNAPSHOTS)) for i in range(SNAPSHOTS + 1)}
        if made.progress.step == 0:
            self._keep(0)

    def __call__(self, model: nn.Module, step: int) -> None:
        if step in self._steps:
            self._keep(step)

    def _keep(self, step: int) -> None:
        tensors = {loop.MODEL + name: value for name, value in self._made.model.state_dict().items()}
        facts = self._made.facts() | {"step": step}
        checkpoints.write(self._made.folder / f"weights_{step:07d}.safetensors", tensors, facts)


class TimeIsUpError(Exception):
    """Where the run was, in words; ``reached`` is what is recorded of it."""

    def __init__(self, words: str, reached: Mapping[str, Any]) -> None:
        super().__init__(words)
        self.reached = reached


@dataclass(frozen=True)
class Place:
    """Where and until when a run is made.

    checkpoints  the folder of the runs' folders;  root  of the tasks' files, None for the default
    anew         whether what is in the run's folder is thrown away
    jobs         runs at a time: they share the device, so that seconds are theirs together
    deadline     of ``time.monotonic``: then a checkpoint is kept, and the run stops
    """

    checkpoints: Path
    root: Path | None
    device: str = "cpu"
    anew: bool = False
    jobs: int = 1
    deadline: float = math.inf

    @property
    def is_late(self) -> bool:
        return time.monotonic() >= self.deadline


def run(job: Job, place: Place) -> dict[str, Any]:
    """Train and, unless it is a trial, test; all that is recorded of it. TimeIsUpError at the deadline."""
    plan = job.configuration
    folder = place.checkpoints / plan.digest()[:16]
    if place.anew:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with processes(place.device) as own, determinism(plan.training.deterministic, place.device):
        kind = loop.TrainingRun if job.is_tested else Untested
        made = kind(plan, folder, own, root=place.root, device=place.device)
        clock = Stopwatch(folder)

        def stop(model: nn.Module, step: int) -> None:
            if place.is_late:
                made.keep()
                raise TimeIsUpError(*stopped(made, trained(made, clock.keep(), place)))

        found = made.to_the_end(None, [clock, Snapshots(made), stop])
        result = trained(made, clock.keep(), place)
    if isinstance(job.plan, Planned):
        result |= tested(job.plan, plan, found, place)
    return result


def trained(made: loop.TrainingRun, cpu: float, place: Place) -> dict[str, Any]:
    """What is recorded of a run without the test, as far as it has come."""
    plan, facts, spec, progress = made.configuration, made.facts(), made.validation.spec, made.progress
    rows = progress.history
    best = next((row for row in rows if row["epoch"] == progress.best_epoch), None)
    result = {
        "task": plan.task.name,
        "task_options": dict(plan.task.options),
        "cell": plan.network.cell,
        "configuration": facts["configuration"],
        "digest": facts["digest"],
        "seed": plan.training.seed,
        "parameters": facts["parameters"],
        "data": facts["data"],
        "epochs": rows[-1]["epoch"] if rows else 0,
        "planned_epochs": plan.training.epochs,
        "best_epoch": progress.best_epoch,
        "steps": progress.step,
        "wall_seconds": round(progress.seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "figure": spec.published_as,
        "loss": spec.loss,
        "validation": best and scores(made.validation, best["validation_loss"], best["validation_accuracy"]),
        "curve": curve(rows, progress.best_epoch),
        "versions": facts["versions"],
        "machine": machine(),
    }
    if place.device != "cpu":
        result |= {"device": torch.cuda.get_device_name(place.device), "stepping": made.captured.words}
        if place.jobs > 1:
            result |= {"runs_at_a_time": place.jobs}
    return result


def stopped(made: loop.TrainingRun, result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Where the run was when the time was up, in words and for the record."""
    here, rows = made.progress, made.progress.history
    words = f"the time is up in epoch {here.epoch + 1} of {made.configuration.training.epochs}, step {here.step}"
    if rows:
        last = rows[-1]
        score = last["validation_loss"] if last["validation_accuracy"] is None else last["validation_accuracy"]
        what = "loss" if last["validation_accuracy"] is None else "accuracy"
        words += f"; validation {what} {score:.5g} after epoch {last['epoch']}, the best was epoch {here.best_epoch}"
    words += f"; {here.seconds:.0f} s of training, {made.captured.words}"
    return words, result | {"stopped": words}


def tested(planned: Planned, plan: Configuration, found: loop.TrainingResult, place: Place) -> dict[str, Any]:
    """The test figure, and what stands beside it."""
    data = splits.load(plan, "test", place.root)
    beside = _beside(planned, plan, data, found.test)
    return beside | _exponents.of_run(plan, place.checkpoints / plan.digest()[:16], data)


def _beside(planned: Planned, plan: Configuration, data: splits.SplitData, test: Mapping[str, Any]) -> dict[str, Any]:
    spec = data.spec
    beside = {"without input": spec.published(spec.baseline, _largest_share(data))}
    if plan.task.name == "lorenz96":
        error = np.asarray(data.sequences, dtype=np.float64) - np.asarray(data.targets, dtype=np.float64)
        beside["persistence"] = spec.published(float((error**2).mean()))
    return {
        "name": planned.name,
        "test": scores(data, test["loss"], test["accuracy"]),
        "test_data": {"count": spec.count, "sha256": spec.sha256, "origin": spec.origin},
        "baseline": spec.baseline,
        "baseline_means": spec.baseline_means,
        "beside": beside,
        "published": published(plan),
    }


def tested_as_they_are(wanted: Sequence[Job], path: Path, place: Place) -> list[str]:
    """Test, on the CPU, the best weights of runs that stopped, and record those runs; what could not be tested.

    The record keeps ``stopped``, by which such a run is told from one at its end.
    """
    left = []
    for job in wanted:
        reached = opened(path).get("stopped", {}).get(job.key)
        if reached is None or not isinstance(job.plan, Planned):
            continue
        plan = fused(job.configuration, "cpu", instead=True)
        try:
            best = checkpoints.read(place.checkpoints / job.configuration.digest()[:16] / loop.BEST)
        except (TrainingError, OSError) as error:
            left.append(f"{job.key}: {error}")
            continue
        data = splits.load(plan, "test", place.root)
        dtype = getattr(torch, plan.training.dtype)
        model = network.build(plan.network, data.spec, seed=plan.training.seed, dtype=dtype)
        model.load_state_dict(best.part(loop.MODEL))
        found = network.sums(model, data, np.arange(data.count), plan.training.evaluation_batch)
        result = {**reached, **_beside(job.plan, plan, data, network.means(found, data.count))}
        add(path, job, result)
        sys.stdout.write(f"{job.key}: {said(result)}\n")
    return left


def _largest_share(data: splits.SplitData) -> float | None:
    """The accuracy of whoever always says the most frequent class."""
    if data.spec.loss != "cross entropy":
        return None
    return float(np.bincount(data.targets.reshape(-1)).max() / data.targets.size)


# All of them.


def gone_on(wanted: Sequence[Job], path: Path, place: Place) -> list[str]:
    """Make the runs; what could not be made, and why. Only this process writes the record."""
    left = []
    todo = [job for job in wanted if place.anew or not is_recorded(opened(path), job)]
    for job, result in made(todo, place):
        if isinstance(result, Mapping) and "stopped" in result:
            add(path, job, result, is_stopped=True)
            left.append(f"{job.key}: {result['stopped']}")
        elif isinstance(result, Mapping):
            add(path, job, result)
            sys.stdout.write(f"{job.key}: {said(result)}\n")
            sys.stdout.flush()
        else:
            left.append(f"{job.key}: {result}")
    return left


def made(
    todo: Sequence[Job], place: Place, attempt: Callable[[Job, Place], dict[str, Any] | str] | None = None
) -> Iterator[tuple[Job, dict[str, Any] | str]]:
    """Each job with its result, or why it has none, as they end; ``place.jobs`` at a time, each in its process.

    attempt  makes the result, ``attempted`` if not given
    """
    attempt = attempt or attempted
    if place.jobs == 1:
        yield from ((job, attempt(job, place)) for job in todo)
        return
    with ProcessPoolExecutor(
        place.jobs, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        waiting = list(reversed(todo))
        running: dict[Future[dict[str, Any] | str], Job] = {}
        while waiting or running:
            while waiting and len(running) < place.jobs:  # what waits inside the pool would outlive an interrupt
                job = waiting.pop()
                running[pool.submit(attempt, job, place)] = job
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()


def attempted(job: Job, place: Place) -> dict[str, Any] | str:
    """The result, or why there is none."""
    if place.is_late:
        return "the time is up"
    try:
        return run(job, place)
    except TimeIsUpError as error:
        return dict(error.reached)
    except (DataError, TrainingError, OSError) as error:
        return str(error)


def said(result: Mapping[str, Any]) -> str:
    """One line of a result."""
    parts = [
        f"{split} {result['figure']} {result[split]['figure']:.5g}"
        for split in ("validation", "test")
        if split in result
    ]
    return f"{', '.join(parts)}; epoch {result['best_epoch']} of {result['epochs']}; {result['cpu_seconds']:.0f} s"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="beginnings of names; none: all")
    parser.add_argument("--list", action="store_true", help="train nothing, list the runs")
    parser.add_argument("--further", action="store_true", help="also those that are not made without their names")
    parser.add_argument("--again", action="store_true", help="also what is recorded, from the start")
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at a time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after that time, at a checkpoint")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--root", type=Path, help="folder of the tasks' files (default: ODERNN_DATA)")
    parser.add_argument("--checkpoints", type=Path, default=CHECKPOINTS, help="folder of the runs (default: build/…)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the record (default: results/)")
    parser.add_argument("--as-they-are", action="store_true", help="train nothing, test runs that stopped")
    parser.add_argument("--take", type=Path, metavar="RECORD", help="train nothing, add another machine's runs")
    parser.add_argument("--page", action="store_true", help="train nothing, only write the page")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        raise SystemExit(f"--jobs is {options.jobs}; give 1 or more.")
    if options.again and options.seconds < math.inf:
        raise SystemExit("--again with --seconds: every call would begin anew, and none go on. Leave one of them out.")
    torch.set_num_threads(1)
    path = options.output / RECORD
    try:
        wanted = chosen(options.names, options.device, further=options.further)
    except RuntimeError as error:  # of a name that torch does not know
        raise SystemExit(f"--device {options.device}: {str(error).splitlines()[0]}") from None
    if options.names and not wanted:
        which = "No run" if options.device == "cpu" else f"No further run, as are made on {options.device},"
        raise SystemExit(f"{which} begins with {' or '.join(map(repr, options.names))}. --list --further names them.")
    if options.list:
        record = opened(path)
        for job in wanted:
            sys.stdout.write(f"{job.key}: {'recorded' if is_recorded(record, job) else 'not recorded'}\n")
        return 0
    left: list[str] = []
    if options.as_they_are:
        left = tested_as_they_are(wanted, path, Place(options.checkpoints, options.root))
    elif options.take is not None:
        sys.stdout.write("".join(f"taken: {key}\n" for key in take(path, options.take)))
    elif not options.page:
        try:
            loop.check_device(options.device)
        except TrainingError as error:
            raise SystemExit(str(error)) from None
        deadline = time.monotonic() + options.seconds
        place = Place(options.checkpoints, options.root, options.device, options.again, options.jobs, deadline)
        left = gone_on(wanted, path, place)
        if not options.names and (options.again or "readouts" not in opened(path)):
            write(path, opened(path) | {"readouts": _adding_readouts.measured()})
    record, is_new = completed(opened(path))
    if is_new:
        write(path, record)
    page = _training_page.PAGE if options.output == RESULTS else options.output / _training_page.PAGE.name
    page.write_text(_training_page.page(record, _training_plan.facts()), encoding="utf-8")
    for line in left:
        sys.stdout.write(f"not made: {line}\n")
    sys.stdout.write(f"{page.name}: {len(record['runs'])} runs, {len(record['trials'])} trials\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
