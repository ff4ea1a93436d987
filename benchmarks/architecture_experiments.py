"""Does the ordering of Zhang et al. 2016, Sections 4.4 and 4.5, show at a small size? Trains, tests, compares.

    python benchmarks/architecture_experiments.py                  all runs that the record lacks, then the page
    python benchmarks/architecture_experiments.py --seconds 600    begins no further run after that time
    python benchmarks/architecture_experiments.py --anew           forgets the record first
    python benchmarks/architecture_experiments.py --page           only the page, from the record

Writes results/architecture_experiments.json after every run, so that a call that is killed loses the run it was in and
nothing else; the next call goes on. docs/architecture_experiments.md is made from that file and nothing else. A record
of other settings is refused, one that lacks an experiment is gone on with.

The protocol is the same for every architecture, and was fixed before the first of these runs:

- As many parameters as the architecture that sizes its experiment, by ``hidden_size_for``.
- Adam, batches of 50, gradients clipped to the norm 1, as many batches for each; the same initial law.
- The learning rate: each of ``RATES`` is tried on seed 0, and the one with the least validation loss is taken. No
  test sequence is looked at for that: the runs on seed 0 are not tested at all.
- Then one run for each of ``SEEDS``. The weights with the least validation loss, which is looked at ``LOOKS`` times,
  are tested, once.
- Where a task has classes, the record has the number of right ones and of those asked; what is compared is that number.
- What a seed decides: initial weights, order of the batches, and the sequences of synthetic tasks. So architectures are
  compared seed by seed on the same sequences.

Runs go through the experiments seed by seed: if the time is short, seeds are missing, and no architecture is. One that
is further begins when the others are complete.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import _architecture_page
import torch
from _harness import RESULTS, machine
from torch import Tensor
from torch.nn import functional

from odernn.architecture import GraphRNN, get, hidden_size_for, measures_of, parameter_count
from verification.tasks import adding, copying_memory, sequential_digits
from verification.tasks.task import TaskSpec

RATES = (1e-2, 3e-3, 1e-3)
TUNING_SEED = 0
SEEDS = tuple(range(1, 11))
BATCH = 50
CLIP = 1.0
LOOKS = 20
"""Looks at the validation loss in one run."""

TASKS: Mapping[str, Callable[..., Any]] = {
    "adding": adding.load,
    "copying memory": copying_memory.load,
    "sequential digits": sequential_digits.load,
}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One comparison.

    architectures  by their names in the catalogue;  sized_by   the one whose parameters all others have, and its size
    options        of the task;  counts   how many sequences of each split, {} for all that there are
    batches        that a run trains on: through the training sequences as often as that takes
    new_data       whether a seed has sequences of its own
    claimed        (better, worse): what the source says of these architectures
    is_further     whether it is begun only when those that are not are complete
    """

    name: str
    task: str
    architectures: tuple[str, ...]
    sized_by: tuple[str, int]
    batches: int
    unit: str = "tanh"
    options: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    new_data: bool = True
    metric: str = "loss"
    claimed: tuple[tuple[str, str], ...] = ()
    is_further: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """Of GraphRNN and its sizes, by unit. The sizes that the source prints are those of "own"."""
        return {"unit": self.unit} | ({"forget_reads": "own"} if self.unit != "tanh" else {})


def _four(k: int) -> tuple[str, ...]:
    return ("4.5(1)", f"4.5(2)-{k}", f"4.5(3)-{k}", f"4.5(4)-{k}")


_ONE, _TWO, _THREE, _FOUR = _four(5)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="copying memory",
        task="copying memory",
        architectures=("sh", "skip-3", "skip-6"),
        sized_by=("skip-6", 48),
        options={"silence": 20},
        batches=1500,
        counts={"train": 50_000, "validation": 500, "test": 2000},
        claimed=(("skip-6", "sh"), ("skip-3", "sh"), ("skip-6", "skip-3")),
    ),
    Experiment(
        name="adding",
        task="adding",
        architectures=("sh", "skip-5"),
        sized_by=("skip-5", 24),
        unit="multidimensional-lstm",
        options={"steps": 50},
        batches=1000,
        counts={"train": 50_000, "validation": 500, "test": 2000},
        claimed=(("skip-5", "sh"),),
    ),
    Experiment(
        name="adding, twice as long",
        task="adding",
        architectures=("sh", "skip-10"),
        sized_by=("skip-10", 24),
        unit="multidimensional-lstm",
        options={"steps": 100},
        batches=1200,
        counts={"train": 60_000, "validation": 500, "test": 2000},
        claimed=(("skip-10", "sh"),),
        is_further=True,
    ),
    Experiment(
        name="sequential digits",
        task="sequential digits",
        architectures=(_ONE, _TWO, _THREE, _FOUR),
        sized_by=(_FOUR, 32),
        batches=460,
        new_data=False,
        metric="accuracy",
        claimed=((_FOUR, _THREE), (_THREE, _TWO), (_THREE, _ONE), (_FOUR, _TWO), (_FOUR, _ONE)),
    ),
    Experiment(
        name="permuted sequential digits",
        task="sequential digits",
        architectures=(_ONE, _TWO, _THREE, _FOUR),
        sized_by=(_FOUR, 32),
        batches=460,
        options={"permuted": True},
        new_data=False,
        metric="accuracy",
        claimed=((_FOUR, _THREE), (_THREE, _TWO), (_TWO, _ONE), (_FOUR, _TWO), (_FOUR, _ONE), (_THREE, _ONE)),
    ),
)


@dataclass(frozen=True)
class Data:
    """One split as tensors (time, count, input) and targets, with what it is."""

    sequences: Tensor
    targets: Tensor
    spec: TaskSpec


def load(experiment: Experiment, split: str, seed: int) -> Data:
    options = dict(experiment.options)
    if experiment.new_data:
        options["seed"] = seed
    if split in experiment.counts:
        options["count"] = experiment.counts[split]
    sequences, targets, spec = TASKS[experiment.task](split, None, **options)
    return Data(torch.from_numpy(sequences), torch.from_numpy(targets), spec)


def loss_of(output: Tensor, targets: Tensor, spec: TaskSpec) -> Tensor:
    """The mean loss of the rows that count: output (time, batch, outputs)."""
    rows = output if spec.reads == "every" else output[-1]
    if spec.loss == "cross entropy":
        return functional.cross_entropy(rows.flatten(0, -2), targets.flatten())
    return functional.mse_loss(rows.squeeze(-1), targets)


def hits_of(output: Tensor, targets: Tensor, spec: TaskSpec) -> Tensor | None:
    """Which classes are right, of copying memory among the ten symbols; None where there are no classes."""
    if spec.loss != "cross entropy":
        return None
    rows = output[-copying_memory.SYMBOLS :] if spec.reads == "every" else output[-1]
    wanted = targets[-copying_memory.SYMBOLS :] if spec.reads == "every" else targets
    return rows.argmax(-1) == wanted


@dataclass(frozen=True)
class Evaluation:
    """Of a whole split: the loss, how many classes are right, and their share, which is computed apart."""

    loss: float
    right: int | None
    accuracy: float | None


@torch.no_grad()
def evaluate(network: GraphRNN, data: Data) -> Evaluation:
    output, _ = network(data.sequences)
    loss = float(loss_of(output, data.targets, data.spec))
    hits = hits_of(output, data.targets, data.spec)
    if hits is None:
        return Evaluation(loss, None, None)
    return Evaluation(loss, int(hits.sum()), float(hits.double().mean()))


def asked_of(data: Data) -> int | None:
    """How many classes a whole split asks for."""
    if data.spec.loss != "cross entropy":
        return None
    return data.sequences.shape[1] * (copying_memory.SYMBOLS if data.spec.reads == "every" else 1)


def batches(data: Data, count: int, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """``count`` batches: the sequences in a new order each time all were seen; a rest smaller than a batch is left."""
    total = data.sequences.shape[1]
    made = 0
    while True:
        order = torch.randperm(total, generator=generator)
        for first in range(0, total - BATCH + 1, BATCH):
            if made == count:
                return
            chosen = order[first : first + BATCH]
            targets = data.targets[:, chosen] if data.spec.reads == "every" else data.targets[chosen]
            yield data.sequences[:, chosen], targets
            made += 1


def build(experiment: Experiment, architecture: str, spec: TaskSpec, generator: torch.Generator) -> GraphRNN:
    """The network of equal parameters."""
    sizes = (spec.input_size, spec.output_size)
    name, hidden = experiment.sized_by
    parameters = parameter_count(get(name), hidden, *sizes, **experiment.arguments)
    size = hidden_size_for(get(architecture), parameters, *sizes, **experiment.arguments)
    return GraphRNN(
        get(architecture),
        size,
        spec.input_size,
        output_size=spec.output_size,
        generator=generator,
        **experiment.arguments,
    )


def run(experiment: Experiment, architecture: str, rate: float, seed: int, *, tested: bool) -> dict[str, Any]:
    """Train one network; what came out, in plain data. Not ``tested``: the test split is not even loaded.

    A loss that is not finite is None, and no weights are kept for it; those from before the first batch are, if there
    are no others.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    train, validation = load(experiment, "train", seed), load(experiment, "validation", seed)
    # two generators: networks draw different numbers of weights, and their batches are to be the same
    weights, order = (torch.Generator().manual_seed(2 * seed + part) for part in (0, 1))
    network = build(experiment, architecture, train.spec, weights)
    optimizer = torch.optim.Adam(network.parameters(), rate)
    every = max(1, experiment.batches // LOOKS)
    best, at, kept, trained = math.inf, 0, copy.deepcopy(network.state_dict()), 0.0
    curve = []
    for number, (sequences, targets) in enumerate(batches(train, experiment.batches, order), 1):
        trained += step(network, optimizer, sequences, targets, train.spec) / every
        if number % every == 0:
            found = evaluate(network, validation)
            look = {"batch": number, "train": finite(trained), "validation": finite(found.loss)}
            curve.append(look | {"accuracy": found.accuracy, "right": found.right})
            trained = 0.0
            if found.loss < best:  # False for a loss that is not a number
                best, at, kept = found.loss, number, copy.deepcopy(network.state_dict())
    result: dict[str, Any] = {
        "rate": rate,
        "seed": seed,
        "parameters": sum(p.numel() for p in network.parameters()),
        "hidden_size": network.hidden_size,
        "validation_loss": finite(best),
        "best_batch": at,
        "validation_asked": asked_of(validation),
        "curve": curve,
        "data": {"train": train.spec.sha256, "validation": validation.spec.sha256},
    }
    if tested:
        test = load(experiment, "test", seed)
        network.load_state_dict(kept)
        tried = evaluate(network, test)
        result["test_loss"], result["test_accuracy"] = tried.loss, tried.accuracy
        result["test_right"], result["test_asked"] = tried.right, asked_of(test)
        result["baseline"] = test.spec.baseline
        result["data"]["test"] = test.spec.sha256
    return result | {"wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


def step(
    network: GraphRNN, optimizer: torch.optim.Optimizer, sequences: Tensor, targets: Tensor, spec: TaskSpec
) -> float:
    """One batch; its loss before."""
    output, _ = network(sequences)
    loss = loss_of(output, targets, spec)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
    optimizer.step()
    return float(loss.detach())


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# The record.


def settings() -> dict[str, Any]:
    """All that decides what the runs are. A record is gone on with only if its settings are these."""
    protocol = {
        "rates": RATES,
        "tuning_seed": TUNING_SEED,
        "seeds": SEEDS,
        "batch": BATCH,
        "clip": CLIP,
        "looks": LOOKS,
        "optimizer": "Adam",
        "betas": (0.9, 0.999),
        "dtype": "float32",
        "threads": 1,
    }
    found: dict[str, Any] = json.loads(
        json.dumps({"protocol": protocol, "experiments": [_plain(e) for e in EXPERIMENTS]})
    )
    return found


def _plain(experiment: Experiment) -> dict[str, Any]:
    """The experiment as data, with skip coefficients."""
    values = asdict(experiment)
    values["skip_coefficients"] = {name: str(measures_of(get(name)).s) for name in experiment.architectures}
    return values


def key_of(experiment: Experiment, architecture: str, rate: float, seed: int) -> str:
    return f"{experiment.name} / {architecture} / {rate:g} / {seed}"


def chosen_rate(record: Mapping[str, Any], experiment: Experiment, architecture: str) -> float:
    """The rate with the least validation loss on the tuning seed; of equal ones the first, the largest."""
    keys = [key_of(experiment, architecture, rate, TUNING_SEED) for rate in RATES]
    found = [record["runs"][key]["validation_loss"] for key in keys]
    losses = [math.inf if loss is None else loss for loss in found]
    return RATES[losses.index(min(losses))]


def jobs(record: Mapping[str, Any]) -> Iterator[tuple[Experiment, str, float, int]]:
    """Every run in order, tuning first; the rate of a later one is known once its tuning runs are in the record."""
    for is_further in (False, True):
        chosen = [experiment for experiment in EXPERIMENTS if experiment.is_further == is_further]
        for experiment in chosen:
            for architecture in experiment.architectures:
                for rate in RATES:
                    yield experiment, architecture, rate, TUNING_SEED
        for seed in SEEDS:
            for experiment in chosen:
                for architecture in experiment.architectures:
                    yield experiment, architecture, chosen_rate(record, experiment, architecture), seed


def opened(path: Path, *, anew: bool) -> dict[str, Any]:
    """The record to go on with; SystemExit if it is of other settings. Experiments that it does not know are added."""
    now = settings()
    if not path.exists() or anew:
        return {"benchmark": "architecture_experiments", "settings": now, "machine": machine(), "runs": {}}
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    then = record["settings"]
    known = {experiment["name"] for experiment in then["experiments"]}
    kept = [experiment for experiment in now["experiments"] if experiment["name"] in known]
    if then["protocol"] != now["protocol"] or then["experiments"] != kept:
        raise SystemExit(f"{path.name} is of other settings. Pass --anew to begin again, or another --output.")
    record["settings"] = now
    return record


def written(path: Path, record: Mapping[str, Any]) -> None:
    """The whole record in place of the old one, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)


def gone_on(record: dict[str, Any], path: Path, *, seconds: float) -> bool:
    """Make the runs that the record lacks until the time is up; whether it now has all."""
    deadline = time.monotonic() + seconds
    for experiment, architecture, rate, seed in jobs(record):
        key = key_of(experiment, architecture, rate, seed)
        if key in record["runs"]:
            continue
        if time.monotonic() >= deadline:
            return False
        result = run(experiment, architecture, rate, seed, tested=seed != TUNING_SEED)
        record["runs"][key] = result | {
            "versions": {name: version(name) for name in ("torch", "numpy", "scikit-learn")}
        }
        written(path, record)
        losses = [f"{name} {result[f'{name}_loss']}" for name in ("validation", "test") if f"{name}_loss" in result]
        sys.stdout.write(f"{key}: {', '.join(losses)}; {result['cpu_seconds']:.1f} s\n")
        sys.stdout.flush()
    return True


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further run after that time")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the record (default: results/)")
    parser.add_argument("--anew", action="store_true", help="forget the record")
    parser.add_argument("--page", action="store_true", help="train nothing, only write the page")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    path = options.output / "architecture_experiments.json"
    if options.page and not path.exists():
        raise SystemExit(f"There is no {path.name} in {options.output}. Train first: call without --page.")
    record = opened(path, anew=options.anew)
    complete = options.page or gone_on(record, path, seconds=options.seconds)
    page = _architecture_page.PAGE if options.output == RESULTS else options.output / _architecture_page.PAGE.name
    page.write_text(_architecture_page.page(record), encoding="utf-8")
    sys.stdout.write(
        f"{page.name}: {len(record['runs'])} runs{'' if complete else '; the time is up, runs are missing'}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
