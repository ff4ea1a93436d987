"""What choosing_a_cell.py trains: tasks, cells, and six settings of each. Fixed before the first run.

Every cell has 64 units and one layer, but two where the neurons of a layer do not see one another. It is tuned on the
validation split, one seed, with six settings: three learning rates of Adam, the same for all, times two values of one
option that says how long its units remember (``suggest``: all steps, or a quarter of them) or, where none does, of
another one. A GRU has no option and six learning rates. The best validation accuracy chooses, of equal ones the smaller
loss; then five other seeds are trained and tested. Nothing else is tuned, for no cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odernn import cells
from verification.training import configuration
from verification.training.configuration import Configuration

HIDDEN = 64
RATES = (0.003, 0.01, 0.03)
RATES_ALONE = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
TRIAL_SEED = 100
SEEDS = (0, 1, 2, 3, 4)
LATER = ("damped_unicornn",)
"""Cells that came after the runs, and were not compared."""
OWN_CELLS = Path(__file__).resolve().parent / "choosing_cells"

Options = Mapping[str, Any]


@dataclass(frozen=True)
class ChosenTask:
    """``tables`` is [task]; ``steps`` are those that suggestions are made for, the longest sequences of training."""

    name: str
    steps: int
    tables: Options
    batch_size: int = 32
    epochs: int = 30


@dataclass(frozen=True)
class Contestant:
    """A cell under the name of the table.

    cell      the name for configurations;  notes  what is not as its name says
    settings  of the option that is tuned, by the number of steps: its label and the arguments
    """

    name: str
    cell: str
    settings: Callable[[int], tuple[tuple[str, Options], ...]]
    layers: int = 1
    rates: tuple[float, ...] = RATES
    fixed: Options = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """One of the six."""

    rate: float
    label: str
    options: Options


TASKS = (
    ChosenTask("digits by rows", 8, {"name": "sequential_digits", "pixels": 8}, epochs=15),
    ChosenTask("permuted digits by pixels", 64, {"name": "sequential_digits", "permuted": True}),
    ChosenTask(
        "spoken digits", 34, {"name": "spoken_digits", "standardise": True, "classes": True, "hop": 256}, batch_size=20
    ),
)


def _remembering(name: str) -> Callable[[int], tuple[tuple[str, Options], ...]]:
    """The suggestion for all steps, and for a quarter of them."""

    def settings(steps: int) -> tuple[tuple[str, Options], ...]:
        memories = (steps, max(1, steps // 4))
        return tuple((f"M = {M}", cells.suggest(name, steps, memory=M, hidden_size=HIDDEN)) for M in memories)

    return settings


def _memory_of(steps: int) -> tuple[tuple[str, Options], ...]:
    return tuple((f"M = {M}", {"memory": M}) for M in (steps, max(1, steps // 4)))


def _fixed(*labelled: tuple[str, Options]) -> Callable[[int], tuple[tuple[str, Options], ...]]:
    return lambda steps: labelled


def _rho(steps: int) -> tuple[tuple[str, Options], ...]:
    shares = ((0.5, "n/2"), (0.1, "n/10"))
    kind: Any = cells.get("scornn")
    return tuple((f"ρ = {said}", kind.suggest(steps, hidden_size=HIDDEN, share=share)) for share, said in shares)


def _forget(steps: int) -> tuple[tuple[str, Options], ...]:
    """The bias of the forget gate: 1, or ln(N − 1), at which a cell forgets in N steps."""
    return (("forget bias 1", {"forget_bias": 1.0}), ("forget bias ln(N − 1)", {"forget_bias": math.log(steps - 1)}))


APART = "Two layers, as neurons of one do not see one another"
CONTESTANTS = (
    Contestant("LSTM", "torch.lstm", _forget),
    Contestant("GRU", "torch.gru", _fixed(("", {})), rates=RATES_ALONE),
    Contestant("UnICORNN", "unicornn", _remembering("unicornn"), layers=2, notes=(APART,)),
    Contestant("CoRNN", "cornn", _remembering("cornn")),
    Contestant("LEM", "lem", _remembering("lem")),
    Contestant("AntisymmetricRNN", "antisymmetric", _remembering("antisymmetric")),
    Contestant("AntisymmetricRNN, gated", "antisymmetric", _remembering("antisymmetric"), fixed={"gated": True}),
    Contestant("LipschitzRNN", "lipschitz", _remembering("lipschitz")),
    Contestant("ScoRNN", "scornn", _rho, notes=("One Adam for all weights, where the paper has two optimizers",)),
    Contestant("ExpRNN", "exprnn", _fixed(("cayley", {"initial": "cayley"}), ("henaff", {"initial": "henaff"}))),
    Contestant(
        "URNN, restricted",
        "urnn",
        _fixed(("h0 = 0", {}), ("h0 trained", {"learn_initial_state": True})),
        fixed={"capacity": "restricted"},
    ),
    Contestant(
        "IndRNN",
        "indrnn",
        _fixed(("relu", {"activation": "relu"}), ("tanh", {"activation": "tanh"})),
        layers=2,
        notes=(APART,),
    ),
    Contestant(
        "LinOSS",
        "linoss",
        _remembering("linoss"),
        layers=2,
        fixed={"guard": "clamp"},
        notes=(APART, "Linear, but for the read-out's classes"),
    ),
    Contestant("ARNN12", "arnn_1_2", _remembering("arnn_1_2")),
    Contestant("ARNN22", "arnn_2_2", _remembering("arnn_2_2")),
    Contestant("ClockworkRNN", "clockwork", _remembering("clockwork")),
    Contestant("ODERNN, explicit midpoint", "midpoint_odernn", _memory_of),
    Contestant("IntegratorRNN, monotone × rk4", "monotone_kutta", _memory_of),
    Contestant("QUNN", "sized_qunn", _remembering("qunn"), notes=("As wide as the input, not 64 units",)),
)


def settings(task: ChosenTask, contestant: Contestant) -> tuple[Setting, ...]:
    """The six, in the order in which they are tried."""
    labelled = contestant.settings(task.steps)
    return tuple(Setting(rate, label, options) for label, options in labelled for rate in contestant.rates)


def configured(task: ChosenTask, contestant: Contestant, setting: Setting, seed: int) -> Configuration:
    """The run of that setting and seed."""
    options = {**contestant.fixed, **setting.options}
    if contestant.cell == "midpoint_odernn":
        options["steps"] = task.steps
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
    made = configuration.from_mapping(
        {
            "task": dict(task.tables),
            "network": {
                "cell": contestant.cell,
                "hidden_size": HIDDEN,
                "num_layers": contestant.layers,
                **plain,
            },
            "optimizer": {"name": "adam", "lr": setting.rate},
            "training": {
                "epochs": task.epochs,
                "batch_size": task.batch_size,
                "clip_norm": 1.0,
                "milestones": [[2 * task.epochs // 3, 0.1]],
                "checkpoint_every": 1000,
                "seed": seed,
            },
        }
    )
    return made.found_in(cells=(OWN_CELLS,))


def pairs() -> Iterator[tuple[ChosenTask, Contestant]]:
    """In the order in which they are run: one task after the other."""
    return ((task, contestant) for task in TASKS for contestant in CONTESTANTS)
