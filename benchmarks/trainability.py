"""Which architectural measure predicts trainability? Trains 500 random cyclic graphs: docs/trainability.md.

    python benchmarks/trainability.py                  all runs that the record lacks, then the page
    python benchmarks/trainability.py --seconds 600    begins no further run after that time; the same command goes on
    python benchmarks/trainability.py --jobs 2         two runs at a time, each on one thread (default: 1)
    python benchmarks/trainability.py --list           what is recorded
    python benchmarks/trainability.py --page           only the page and its picture, from the record

``_trainability_plan`` says what is drawn, trained and asked, and was complete before the first run. A run takes some
seconds and is not resumed within: results/trainability.json is written after each, so that a call that is killed loses
the runs it was in. Every run has the digest of all that decides it; one of another plan is made anew.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import _trainability_page
import _trainability_plan as plan
import torch
from _harness import RESULTS, machine
from _trainability_plan import PlannedGraph, PlannedRun
from torch import Tensor
from torch.nn import functional

from odernn.architecture import GraphRNN, measures_of, parameter_count
from verification.tasks import sequential_digits

RECORD = "trainability.json"


# One run.


@functools.cache
def data(split: str) -> tuple[Tensor, Tensor]:
    """Sequences (time, count, 1) and digits (count,)."""
    sequences, targets, _ = sequential_digits.load(split, None, permuted=True)
    return torch.from_numpy(sequences), torch.from_numpy(targets)


@torch.no_grad()
def evaluate(network: GraphRNN, split: str) -> tuple[float, float]:
    """Mean loss and accuracy over a whole split, read at the last step."""
    sequences, targets = data(split)
    output, _ = network(sequences)
    rows = output[-1]
    return float(functional.cross_entropy(rows, targets)), float((rows.argmax(-1) == targets).double().mean())


def train(network: GraphRNN, rate: float, order: torch.Generator) -> None:
    """EPOCHS epochs in batches of a new order each; a rest smaller than a batch is left out."""
    sequences, targets = data("train")
    optimizer = torch.optim.Adam(network.parameters(), rate)
    for _ in range(plan.EPOCHS):
        shuffled = torch.randperm(len(targets), generator=order)
        for first in range(0, len(targets) - plan.BATCH + 1, plan.BATCH):
            chosen = shuffled[first : first + plan.BATCH]
            output, _ = network(sequences[:, chosen])
            loss = functional.cross_entropy(output[-1], targets[chosen])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), plan.CLIP)
            optimizer.step()


def run(job: PlannedRun) -> dict[str, Any]:
    """Train one graph once. A trial is validated, another tested; a loss that is not finite is that of chance."""
    wall, cpu = time.perf_counter(), time.process_time()
    # two generators: networks draw different numbers of weights, and a seed's batches are to be the same
    weights, order = (torch.Generator().manual_seed(2 * job.seed + part) for part in (0, 1))
    graph = job.graph
    network = GraphRNN(graph.graph, graph.hidden_size, plan.INPUTS, output_size=plan.CLASSES, generator=weights)
    train(network, job.rate, order)
    loss, _ = evaluate(network, "train")
    _, accuracy = evaluate(network, "validation" if job.is_trial else "test")
    failed = not math.isfinite(loss)
    return {
        "graph": graph.number,
        "rate": job.rate,
        "seed": job.seed,
        "validation_accuracy" if job.is_trial else "test_accuracy": 1 / plan.CLASSES if failed else accuracy,
        "train_loss": math.log(plan.CLASSES) if failed else loss,
        **({"failed": True} if failed else {}),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "wall_seconds": round(time.perf_counter() - wall, 2),
        "digest": digest(job),
    }


# The record.


def settings() -> dict[str, Any]:
    """All that decides what runs are."""
    return {
        "task": "sequential digits, permuted, 64 steps",
        "unit": "tanh",
        "parameters": plan.PARAMETERS,
        "epochs": plan.EPOCHS,
        "batch": plan.BATCH,
        "clip": plan.CLIP,
        "optimizer": "Adam",
        "betas": [0.9, 0.999],
        "dtype": "float32",
        "threads": 1,
        "rates": list(plan.RATES),
    }


def digest(job: PlannedRun) -> str:
    """Of the settings, the graph with its size, the rate and the seed."""
    decided = [settings(), job.graph.said, _size(job.graph), job.rate, job.seed]
    return hashlib.sha256(json.dumps(decided).encode()).hexdigest()[:16]


@functools.cache
def _size(graph: PlannedGraph) -> int:
    return graph.hidden_size


def facts(graph: PlannedGraph) -> dict[str, Any]:
    """A graph as the record has it."""
    made, units = graph.graph, graph.stratum[0]
    values = measures_of(made)
    return {
        "stratum": list(graph.stratum),
        "edges": graph.said,
        "s": str(values.s),
        "d_r": str(values.d_r),
        "d_f": str(values.d_f),
        "mean_delay": sum(edge.sigma for edge in made.edges) / graph.stratum[1],
        "nodes": len(made.nodes),
        "edge_count": len(made.edges),
        "units": units * _size(graph),
        "hidden_size": _size(graph),
        "parameters": parameter_count(made, _size(graph), plan.INPUTS, plan.CLASSES),
    }


def opened(path: Path) -> dict[str, Any]:
    """The record, or a new one; graphs and settings are those of the plan, runs of another plan are left out."""
    runs: dict[str, Any] = {}
    machines: list[Any] = []
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        runs, machines = found["runs"], found["machines"]
    graphs = {str(each.number): facts(each) for each in (*plan.trial_graphs(), *plan.graphs())}
    record = {"benchmark": "trainability", "settings": settings(), "machines": machines, "graphs": graphs, "runs": runs}
    planned = {job.key: digest(job) for job in every(runs)}
    record["runs"] = {key: run for key, run in runs.items() if planned.get(key) == run["digest"]}
    return record


def every(runs: Mapping[str, Any]) -> Iterator[PlannedRun]:
    """The trials; all others too, once the trials say the rate."""
    yield from plan.trials()
    rate = chosen_rate(runs)
    if rate is not None:
        yield from plan.runs(rate)


def chosen_rate(runs: Mapping[str, Any]) -> float | None:
    """The plan's rate, from those trials that are of this plan."""
    known = {job.key: runs[job.key] for job in plan.trials() if job.key in runs}
    current = {job.key for job in plan.trials() if job.key in known and known[job.key]["digest"] == digest(job)}
    return plan.chosen_rate({key: known[key]["validation_accuracy"] for key in current})


def written(path: Path, record: Mapping[str, Any]) -> None:
    """The whole record in place of the old one, at once; a line a graph and a line a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = []
    for name, value in record.items():
        if name in ("graphs", "runs"):
            lines = [f"  {json.dumps(key)}: {json.dumps(each, ensure_ascii=False)}" for key, each in value.items()]
            parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value)}")
    part = path.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    os.replace(part, path)


def here() -> dict[str, Any]:
    return machine() | {name: version(name) for name in ("numpy", "scikit-learn")}


def gone_on(record: dict[str, Any], path: Path, *, seconds: float, jobs: int) -> None:
    """Make the runs that the record lacks until the time is up: first the trials, then what their rate makes of it."""
    deadline, place = time.monotonic() + seconds, here()
    if place not in record["machines"]:
        record["machines"].append(place)
    for _ in range(2):
        todo = [job for job in every(record["runs"]) if job.key not in record["runs"]]
        for job, result in made(todo, deadline, jobs):
            record["runs"][job.key] = result | {"on": record["machines"].index(place)}
            written(path, record)
            score = result.get("test_accuracy", result.get("validation_accuracy"))
            sys.stdout.write(
                f"{job.key}: {score:.3f}; loss {result['train_loss']:.4f}; {result['cpu_seconds']:.1f} s\n"
            )
            sys.stdout.flush()


def made(todo: Sequence[PlannedRun], deadline: float, jobs: int) -> Iterator[tuple[PlannedRun, dict[str, Any]]]:
    """Each run with its result; none begins after the deadline."""
    if jobs == 1:
        for job in todo:
            if time.monotonic() >= deadline:
                return
            yield job, run(job)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        waiting = list(reversed(todo))
        running: dict[Future[dict[str, Any]], PlannedRun] = {}
        while running or (waiting and time.monotonic() < deadline):
            while waiting and len(running) < jobs and time.monotonic() < deadline:
                job = waiting.pop()
                running[pool.submit(run, job)] = job
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()


def listed(record: Mapping[str, Any]) -> Iterator[str]:
    runs, rate = record["runs"], chosen_rate(record["runs"])
    groups = {"trials of the rate": list(plan.trials())}
    if rate is not None:
        groups[f"graphs at rate {rate:g}"] = list(plan.main_runs(rate))
        groups["further seeds"] = list(plan.seed_runs(rate))
        groups["other rates"] = list(plan.rate_runs(rate))
    for name, jobs in groups.items():
        yield f"{name}: {sum(job.key in runs for job in jobs)} of {len(jobs)}\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further run after that time")
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at a time")
    parser.add_argument("--list", action="store_true", help="train nothing, say what is recorded")
    parser.add_argument("--page", action="store_true", help="train nothing, only write page and picture")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the record (default: results/)")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        raise SystemExit(f"--jobs is {options.jobs}; give 1 or more.")
    torch.set_num_threads(1)
    path = options.output / RECORD
    record = opened(path)
    if options.list:
        sys.stdout.writelines(listed(record))
        return 0
    if not options.page:
        gone_on(record, path, seconds=options.seconds, jobs=options.jobs)
    folder = _trainability_page.DOCS if options.output == RESULTS else options.output
    _trainability_page.write(record, folder)
    total = len(record["runs"])
    sys.stdout.write(f"{total} of {plan.TOTAL} runs\n")
    return 0 if total == plan.TOTAL else 1


if __name__ == "__main__":
    sys.exit(main())
