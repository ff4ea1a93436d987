"""The pictures of docs/tables_on_tasks.md with their numbers, and its tables: what training does to the networks.

    python docs/pictures/tables_on_tasks.py --root data   # train, then numbers, pictures, tables: six minutes
    python docs/pictures/tables_on_tasks.py --draw        # pictures and tables from the numbers that are there

The numbers are in docs/pictures/{gradient_norms,orthogonality_drift,time_steps}.json, each with what was trained.
MNIST's files are needed for one panel (``--root``, else ODERNN_DATA). One core; the same numbers on the same machine.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import math
import re
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from odernn.cells.unicornn import UnICORNN
from verification.measure import scaling
from verification.measure.trained_network import orthogonality
from verification.report.formats import github
from verification.report.numbers import size
from verification.report.pictures import run_curves
from verification.report.pictures import training as training_pictures
from verification.report.pictures.run_curves import rounded
from verification.report.table import Column, Table
from verification.training import configuration, loop, network, runs, splits
from verification.training.configuration import Configuration
from verification.training.network import TaskNetwork
from verification.training.processes import Processes

PICTURES = Path(__file__).resolve().parent
PAGE = PICTURES.parent / "tables_on_tasks.md"

# --- orthogonality, as in Figure 4 of Helfrich, Willmott, Ye 2018


@dataclass
class Scores:
    """‖W*W − I‖_F of the first layer after these updates, as training goes on."""

    at: Collection[int]
    updates: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def __call__(self, model: nn.Module, step: int) -> None:
        if step in self.at:
            self.updates.append(step)
            self.scores.append(orthogonality(model.recurrent.layers[0]).error)  # type: ignore[union-attr, index, arg-type]


def powers_of_two(last: int) -> tuple[int, ...]:
    """1, 2, 4, … and the last."""
    return (*(2**k for k in range(40) if 2**k < last), last)


ORTHOGONAL: dict[str, dict[str, Any]] = {
    "scoRNN": {"cell": "scornn", "rho": lambda n: n // 10, "signs": "prefix"},
    "expRNN": {"cell": "exprnn"},
    "full-capacity uRNN": {"cell": "urnn", "capacity": "full", "learn_initial_state": True},
}
"""Scaled Cayley transform; matrix exponential; multiplicative updates."""


def orthogonal_plan(
    label: str, task: Mapping[str, Any], n: int, training: Mapping[str, Any], lr: float
) -> Configuration:
    """RMSprop as in Table 1 of that paper; ``lr`` for the recurrent matrix; of the unitary one 10⁻³, ours."""
    options = {key: value(n) if callable(value) else value for key, value in ORTHOGONAL[label].items()}
    group: dict[str, Any] = {"parameters": ["recurrent.layers.*.free"], "lr": lr}
    if options["cell"] == "urnn":
        group = {"parameters": ["recurrent.layers.*.W"], "name": "multiplicative_cayley", "lr": 1e-3}
    return configuration.from_mapping(
        {
            "task": task,
            "network": {**options, "hidden_size": n},
            "optimizer": {"name": "rmsprop", "lr": 1e-3, "alpha": 0.9, "eps": 1e-10, "groups": [group]},
            "training": training,
        }
    )


def digits_plan(label: str, n: int = 116, epochs: int = 54) -> Configuration:
    """A real training, 38 updates an epoch."""
    training = {"epochs": epochs, "batch_size": 32, "evaluate_every": 6, "clip_norm": 1.0}
    return orthogonal_plan(label, {"name": "sequential_digits"}, n, training, 1e-4)


def mnist_plan(label: str, n: int = 512) -> Configuration:
    """The network and the sequences of the paper's figure; batches of 5 in place of 50."""
    training = {"epochs": 1, "batch_size": 5, "clip_norm": 1.0}
    return orthogonal_plan(label, {"name": "sequential_mnist"}, n, training, 1e-5)


def trained_drift(folder: Path, *, n: int = 116, epochs: int = 54) -> dict[str, Any]:
    """On the sequential digits."""
    curves = []
    for label in ORTHOGONAL:
        plan = digits_plan(label, n, epochs)
        scores = Scores(powers_of_two(38 * epochs))
        result = loop.train(plan, folder / label, watchers=[scores])
        curves.append(
            {
                "label": label,
                "updates": scores.updates,
                "scores": rounded(scores.scores),
                "test_accuracy": result.test["accuracy"],
                "configuration": plan.to_plain(),
            }
        )
    return {"title": f"sequential digits, n = {n}, T = 64, trained", "curves": curves}


def drift_at_full_size(folder: Path, root: Path | None, *, n: int = 512, updates: int = 48) -> dict[str, Any]:
    """On MNIST by pixels; a few updates."""
    curves = []
    for label in ORTHOGONAL:
        plan = mnist_plan(label, n)
        run = loop.TrainingRun(plan, folder / f"{label} {n}", Processes(), root=root)
        order = np.random.default_rng(0).permutation(run.train_data.count)
        scores = Scores(powers_of_two(updates))
        for step in range(1, updates + 1):
            run.step(order)
            scores(run.model, step)
        curves.append(
            {
                "label": label,
                "updates": scores.updates,
                "scores": rounded(scores.scores),
                "configuration": plan.to_plain(),
            }
        )
    return {"title": f"MNIST by pixels, n = {n}, T = 784", "curves": curves}


def orthogonality_numbers(folder: Path, root: Path | None) -> dict[str, Any]:
    panels = [trained_drift(folder), drift_at_full_size(folder, root)]
    return {"quantity": "Frobenius norm of W*W - I, float32, before rounding of the norm", "panels": panels}


# --- gradients, as in Figure 5 of Helfrich, Willmott, Ye 2018

STEPS, ITERATIONS, BATCH = 500, 300, 50
"""T of the adding problem, updates as in the paper, sequences of an update."""

ADDING: dict[str, tuple[str | None, dict[str, Any]]] = {
    "scoRNN": ("scornn-170-t400", {"execution": "cpu"}),
    "LSTM": ("lstm-60-t400", {}),
    "UnICORNN": (
        None,
        {"cell": "unicornn", "hidden_size": 128, "num_layers": 2, "dt": 0.1, "alpha": 1.0, "execution": "cpu"},
    ),
}
"""Rows of Section 5.2 for T = 400, the nearest to 500; UnICORNN is not in that paper: sizes and rates are ours."""


def adding_plan(label: str) -> Configuration:
    """The configuration of that network for T = 500."""
    row, options = ADDING[label]
    task = {"name": "adding", "steps": STEPS, "count": ITERATIONS * BATCH}
    training = {"epochs": 1, "batch_size": BATCH}
    if row is None:
        optimizer = {"name": "adam", "lr": 2e-3}
        return configuration.from_mapping(
            {"task": task, "network": options, "optimizer": optimizer, "training": training}
        )
    printed = configuration.read("scornn_section52_adding", row).to_plain()
    network = {**printed["network"], **options}
    return configuration.from_mapping({**printed, "task": task, "network": network, "training": training})


def gradient_numbers(folder: Path, root: Path | None) -> dict[str, Any]:
    """Before training and after 300 updates, on 50 sequences of the test split."""
    curves, trained = [], []
    for label in ADDING:
        plan = adding_plan(label)
        few = dataclasses.replace(plan.task, options={"steps": STEPS, "count": BATCH})
        test = splits.load(dataclasses.replace(plan, task=few), "test", root)
        run = loop.TrainingRun(plan, folder / label, Processes(), root=root)
        before = copy.deepcopy(run.model)
        order = np.random.default_rng(0).permutation(run.train_data.count)
        for _ in range(ITERATIONS):
            run.step(order)
        curves += run_curves.gradient_curves(label, before, run.model, test, BATCH)
        losses = {
            when: run_curves.rounded([loss_on(model, test)])[0]
            for when, model in (("before", before), ("after", run.model))
        }
        trained.append({"label": label, "loss": losses, "configuration": plan.to_plain()})
    return {
        "quantity": "norm of dL/dX_n over 50 test sequences together, L their mean squared error",
        "curves": curves,
        "updates": ITERATIONS,
        "trained": trained,
    }


@torch.no_grad()
def loss_on(model: TaskNetwork, data: splits.SplitData) -> float:
    """Of all sequences."""
    sequences, targets, _ = data.batch(np.arange(data.count))
    return float(network.loss_sum(model(sequences), targets, data.spec)) / data.count


# --- time steps and weights, as in the figures of Rusch & Mishra 2021


@dataclass
class Largest:
    """max |w| of every layer at the end of each epoch."""

    updates: int
    values: list[list[float]] = field(default_factory=list)

    def __call__(self, model: nn.Module, step: int) -> None:
        if step % self.updates == 0:
            self.values.append(run_curves.largest_weights(model.recurrent))  # type: ignore[arg-type]


def neuron_numbers(folder: Path, root: Path | None) -> dict[str, Any]:
    """The example of the README: sequential digits, m = 64, two layers."""
    plan = configuration.read("sequential_digits_unicornn")
    plan = dataclasses.replace(plan, network=network.with_option(plan.network, "execution", "cpu"))
    run = loop.TrainingRun(plan, folder / "neurons", Processes())
    recurrent = run.model.recurrent
    assert isinstance(recurrent, UnICORNN)
    largest = Largest(run.batches, [run_curves.largest_weights(recurrent)])
    result = loop.train(plan, folder / "neurons", watchers=[largest])
    found = run_curves.of_neurons([runs.read(folder / "neurons")], root)
    norms = {
        "epochs": list(range(len(largest.values))),
        "largest": [list(layer) for layer in zip(*largest.values, strict=True)],
    }
    return {**found, "norms": norms, "test_accuracy": result.test["accuracy"], "configuration": plan.to_plain()}


# --- the tables of the page, from the numbers


def shown(value: float) -> str:
    """Three digits."""
    return size(math.log(value)) if value > 0 else f"{value:.3g}"


def gradient_table(numbers: Mapping[str, Any]) -> Table:
    """The ends of every curve, and how far apart its extremes are."""
    parts = [f"{what}, {when}" for when in ("before", "after") for what in ("n = 1", "n = N", "largest/smallest")]
    columns = [Column("state"), *(Column(part, "right") for part in parts)]
    rows = []
    for curve in numbers["curves"]:
        cells = [curve["label"]]
        for when in ("before", "after"):
            values = curve[when]
            cells += [shown(values[0]), shown(values[-1]), shown(max(values) / min(values))]
        rows.append(tuple(cells))
    return Table("", tuple(columns), tuple(rows))


def orthogonality_table(numbers: Mapping[str, Any]) -> Table:
    """First and last scores, and the exponent of the score in the number of updates."""
    columns = (
        Column("run"),
        Column("W"),
        Column("updates", "right"),
        Column("after the first", "right"),
        Column("after the last", "right"),
        Column("exponent", "right"),
    )
    rows = []
    for panel in numbers["panels"]:
        for curve in panel["curves"]:
            slope = scaling.fit(curve["updates"], curve["scores"])
            first, last = curve["scores"][0], curve["scores"][-1]
            exponent = f"{slope.value:.2f} ± {slope.error:.2f}".replace("-", "−")
            rows.append(
                (panel["title"], curve["label"], str(curve["updates"][-1]), shown(first), shown(last), exponent)
            )
    return Table("", columns, tuple(rows))


def neuron_table(numbers: Mapping[str, Any]) -> Table:
    """Extremes over the neurons of every layer."""
    columns = (
        Column("layer"),
        Column("when"),
        Column("smallest h", "right"),
        Column("largest h", "right"),
        Column("Δt/smallest h", "right"),
        Column("smallest w", "right"),
        Column("largest w", "right"),
    )
    rows = []
    for layer in numbers["layers"]:
        for when in ("before", "after"):
            h, w = layer["steps"][when], layer["weights"][when]
            signed = [f"{value:.3g}".replace("-", "−") for value in (min(w), max(w))]
            rows.append((layer["label"], when, shown(min(h)), shown(max(h)), shown(layer["dt"] / min(h)), *signed))
    return Table("", columns, tuple(rows))


TABLES: dict[str, Callable[[Mapping[str, Any]], Table]] = {
    "gradient_norms": gradient_table,
    "orthogonality_drift": orthogonality_table,
    "time_steps": neuron_table,
}
"""What stands between <!-- name --> and <!-- /name --> on the page."""


def numbers_of(name: str, folder: Path = PICTURES) -> dict[str, Any]:
    """What was measured."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def with_tables(text: str) -> str:
    """The page with its tables. ValueError where the place of one is missing."""
    for name, table in TABLES.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if len(place.findall(text)) != 1:
            raise ValueError(f"{PAGE.name}: write <!-- {name} --> and <!-- /{name} --> once, on lines of their own.")
        made = github.render(table(numbers_of(name))).replace("\\", "\\\\")
        text = place.sub(rf"\g<1>{made}\g<2>", text)
    return text


# --- all


FILES: dict[str, tuple[str, Callable[[Path, Path | None], dict[str, Any]]]] = {
    "gradient_norms": ("gradients", gradient_numbers),
    "orthogonality_drift": ("orthogonality", orthogonality_numbers),
    "time_steps": ("neurons", neuron_numbers),
}
"""Name of the files, kind of the picture, and where the numbers come from."""


def write_numbers(path: Path, numbers: Mapping[str, Any]) -> None:
    """As JSON; NaN is refused."""
    path.write_text(json.dumps(numbers, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def draw(folder: Path, name: str) -> Path:
    """The picture, from its numbers."""
    path = folder / f"{name}.svg"
    path.write_text(training_pictures.svg(FILES[name][0], numbers_of(name, folder)), encoding="utf-8")
    return path


def main() -> None:
    """Train and draw, or only draw; then the tables of the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, help="the folder of MNIST's files, else $ODERNN_DATA")
    parser.add_argument("--draw", action="store_true", help="nothing is trained: only what follows from the numbers")
    parser.add_argument("--only", choices=list(FILES), help="only this picture")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name, (_, found) in FILES.items():
        if arguments.only not in (None, name):
            continue
        if not arguments.draw:
            started = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                numbers = found(Path(folder), arguments.root)
            write_numbers(PICTURES / f"{name}.json", numbers)
            print(f"{name}: {time.process_time() - started:.0f} s of CPU time")
        draw(PICTURES, name)
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
