"""What trained_slack.py trains and measures: tasks, cells, seeds, and the runs of others. Fixed before the first run.

Eight small tasks times six cells times three seeds: 32 units, Adam, a tenth of its rate for the last third, clipped at
1. Six tasks have one setting, the rate 0.01, and nothing is tuned: what is asked is what bounds do along training, not
which cell is best. Two are tasks of ``choosing_a_cell.py``, whose record has rate and one option of each cell as it
chose them on the validation split for 64 units: ``CHOSEN``. Beside them runs of ``training_runs.py`` at the papers'
sizes, where their folders are.

Next characters are no task of these: of tiny Shakespeare (27 letters, T = 100) scoRNN and expRNN had 41 % right after 6
epochs, UnICORNN after 2 to 6 in eight settings (dt 0.4 to 0.9, α 1 to 30, 1 or 2 layers) at most 23 %, where always the
blank has 20 %: its bounds would be those of a network that has learned next to nothing. Penn Treebank's text, moreover,
must not be published, so that its sequences could not be archived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from odernn import cells
from verification.training import configuration
from verification.training.configuration import Configuration

HIDDEN = 32
RATE = 0.01
SEEDS = (0, 1, 2)
CHECKPOINTS = 12
"""Weights kept on the way, evenly on a logarithmic scale of updates, the last among them; and the first of all."""

SEQUENCES = 4
"""Of the validation split, that a small network is measured on."""

MEASURED = 5
"""Of how it is measured: a record of another number is made again, and until then the page names it."""

Options = Mapping[str, Any]


@dataclass(frozen=True)
class ChosenSetting:
    """What choosing_a_cell.py chose for a cell: rate and label as in its record, and the option of that label."""

    rate: float
    label: str
    option: Options


@dataclass(frozen=True)
class SlackTask:
    """``tables`` is [task]; ``steps`` are N; ``chosen`` by the name of the cell, empty where nothing is tuned."""

    name: str
    steps: int
    tables: Options
    batch_size: int
    epochs: int
    chosen: Mapping[str, ChosenSetting] = field(default_factory=dict)


@dataclass(frozen=True)
class SlackCell:
    """A cell under the name of the tables; ``options`` by the number of steps and what is chosen in place of defaults.

    promise  in words, what its papers among those of this library promise; "" for none
    """

    name: str
    cell: str
    layers: int = 1
    options: Callable[[int, Options], Options] = field(default=lambda steps, chosen: chosen)
    promise: str = ""


@dataclass(frozen=True)
class LargeRun:
    """A run of training_runs.py by its name there, and on how many sequences it is measured.

    weights  the folder below results/trained where weights of its first seed stay, beside those in trained/slack
    """

    planned: str
    task: str
    cell: str
    sequences: int
    weights: str = ""


CHOSEN: Mapping[str, Mapping[str, ChosenSetting]] = {
    "digits by rows": {
        "UnICORNN": ChosenSetting(0.03, "M = 2", {"memory": 2}),
        "coRNN": ChosenSetting(0.01, "M = 2", {"memory": 2}),
        "scoRNN": ChosenSetting(0.03, "ρ = n/2", {"share": 0.5}),
        "expRNN": ChosenSetting(0.03, "henaff", {"initial": "henaff"}),
        "LinOSS": ChosenSetting(0.03, "M = 2", {"memory": 2}),
        "LSTM": ChosenSetting(0.03, "forget bias ln(N − 1)", {"forget_bias": math.log(7)}),
    },
    "spoken digits": {
        "UnICORNN": ChosenSetting(0.003, "M = 34", {"memory": 34}),
        "coRNN": ChosenSetting(0.003, "M = 8", {"memory": 8}),
        "scoRNN": ChosenSetting(0.003, "ρ = n/10", {"share": 0.1}),
        "expRNN": ChosenSetting(0.003, "cayley", {"initial": "cayley"}),
        "LinOSS": ChosenSetting(0.003, "M = 8", {"memory": 8}),
        "LSTM": ChosenSetting(0.003, "forget bias 1", {"forget_bias": 1.0}),
    },
}
"""By tasks and cells: rates and labels are those of results/choosing_a_cell.json."""

SPOKEN: Options = {"name": "spoken_digits", "standardise": True, "classes": True, "hop": 256}
TASKS = (
    SlackTask("sequential digits", 64, {"name": "sequential_digits"}, 32, 12),
    SlackTask("permuted digits", 64, {"name": "sequential_digits", "permuted": True}, 32, 12),
    SlackTask("adding, T = 100", 100, {"name": "adding", "steps": 100, "count": 3200, "standardise": True}, 50, 8),
    SlackTask("copying, T = 100", 120, {"name": "copying_memory", "silence": 100, "count": 1920}, 30, 8),
    SlackTask(
        "Lorenz 96, F = 0.9", 250, {"name": "lorenz96", "forcing": 0.9, "steps": 250, "standardise": True}, 16, 50
    ),
    SlackTask("Lorenz 96, F = 8", 250, {"name": "lorenz96", "forcing": 8.0, "steps": 250, "standardise": True}, 16, 50),
    SlackTask("digits by rows", 8, {"name": "sequential_digits", "pixels": 8}, 32, 15, CHOSEN["digits by rows"]),
    SlackTask("spoken digits", 34, SPOKEN, 20, 30, CHOSEN["spoken digits"]),
)


def _suggested(name: str, **fixed: Any) -> Callable[[int, Options], Options]:
    return lambda steps, chosen: {
        **cells.suggest(name, steps, memory=chosen.get("memory", steps), hidden_size=HIDDEN),
        **fixed,
    }


def _rho(steps: int, chosen: Options) -> Options:
    kind: Any = cells.get("scornn")
    return dict(kind.suggest(steps, hidden_size=HIDDEN, share=chosen.get("share", 0.5)))


CELLS = (
    SlackCell("UnICORNN", "unicornn", 2, _suggested("unicornn"), "states, gradients, step Jacobians, inverse"),
    SlackCell("coRNN", "cornn", 1, _suggested("cornn")),
    SlackCell("scoRNN", "scornn", 1, _rho, "orthogonality, gradients of states"),
    SlackCell("expRNN", "exprnn", 1, promise="orthogonality"),
    SlackCell("LinOSS", "linoss", 2, _suggested("linoss", guard="clamp", execution="torch")),
    SlackCell("LSTM", "torch.lstm"),
)

LARGE = (
    LargeRun("psMNIST, UnICORNN-128, longer", "psMNIST", "UnICORNN-128", 2, "psmnist_unicornn_128"),
    LargeRun("permuted MNIST, scoRNN-170, GPU", "permuted MNIST", "scoRNN-170", 2),
    LargeRun("BIDMC HR, UnICORNN, GPU", "BIDMC HR", "UnICORNN-128", 1, "bidmc_hr_unicornn"),
    LargeRun("BIDMC RR, UnICORNN, GPU", "BIDMC RR", "UnICORNN-128", 1, "bidmc_rr_unicornn"),
    LargeRun(
        "noise-padded CIFAR-10, one batch of five, UnICORNN-128",
        "noise-padded CIFAR-10",
        "UnICORNN-128",
        2,
        "cifar10_unicornn_128",
    ),
)


def configured(task: SlackTask, cell: SlackCell, seed: int) -> Configuration:
    """The run of that task, cell and seed."""
    chosen = task.chosen.get(cell.name)
    made = cell.options(task.steps, {} if chosen is None else chosen.option)
    options = {key: list(value) if isinstance(value, tuple) else value for key, value in made.items()}
    return configuration.from_mapping(
        {
            "task": dict(task.tables),
            "network": {"cell": cell.cell, "hidden_size": HIDDEN, "num_layers": cell.layers, **options},
            "optimizer": {"name": "adam", "lr": RATE if chosen is None else chosen.rate},
            "training": {
                "epochs": task.epochs,
                "batch_size": task.batch_size,
                "clip_norm": 1.0,
                "milestones": [[2 * task.epochs // 3, 0.1]],
                "evaluate_every": max(1, task.epochs // 6),
                "checkpoint_every": 1000,
                "seed": seed,
            },
        }
    )


def small() -> Iterator[tuple[SlackTask, SlackCell, int]]:
    """In the order in which they are made: all tasks and cells with one seed, then with the next."""
    return ((task, cell, seed) for seed in SEEDS for task in TASKS for cell in CELLS)


def kept_steps(last: int) -> set[int]:
    """The updates after which weights are kept: last^(i/12), rounded, i = 0 … 12."""
    return {round(last ** (i / CHECKPOINTS)) for i in range(CHECKPOINTS + 1)}
