"""Configurations: what is wrong is refused with its line, and what would be right."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from odernn import cells
from tests.verification.training.plans import TEXT, plan
from verification.training import TrainingError, configuration, loop, optimizers

RECORD = Path(__file__).resolve().parents[3] / "benchmarks" / "results" / "training_runs.json"
WRONG = {
    "cell missing": ('cell = "unicornn"\n', "", r"cell is missing in \[network\]"),
    "unknown cell": ('"unicornn"', '"unicorn"', r'line 8, cell: No cell is called "unicorn"\. Did you mean "unicornn"'),
    "unknown option": ("alpha = 1.0", "alfa = 1.0", r'line 12, alfa: unicornn takes no "alfa"\. Did you mean "alpha"'),
    "impossible option": ("dt = 0.2", "dt = 2.0", r"line 11, dt: unicornn: dt of layer 1 is 2\.0"),
    "unknown key": ("batch_size", "batchsize", r'line 26, batchsize: .* Did you mean "batch_size"'),
    "negative": ("batch_size = 16", "batch_size = -1", r"line 26, batch_size: is -1; it must be an integer from 1 on"),
    "true as a number": ("epochs = 3", "epochs = true", r"line 25, epochs: is True"),
    "optimizer": ('"adamw"', '"adan"', r"line 16, name: is 'adan'; it must be one of adam, adamw, rmsprop, sgd"),
    "its option": ("weight_decay", "weight_decai", r'line 18, weight_decai: .* Did you mean "weight_decay"'),
    "its value": ("lr = 0.01", "lr = -0.01", r"line 17, lr: adamw: Invalid learning rate: -0\.01\.$"),
    "pattern": ('"readout.*"', '"readin.*"', r'line 21, parameters: the pattern "readin\.\*" of group 1 matches no'),
    "option of a group": ("lr = 0.003", "lrr = 0.003", r'line 22, lrr: "lrr" means nothing here'),
    "milestones": ("[[2, 0.1]]", "[[2, 0.1], [1, 0.1]]", r"line 29, milestones: .*rising epochs"),
    "table": ("[training]", "[trainin]", r'"trainin" means nothing here\. Did you mean "training"'),
    "task": ('"adding"', '"addition"', r'line 3, name: No task is called "addition"\. Did you mean "adding"'),
    "option of a task": ("steps = 12", "step = 12", r'line 4, step: adding takes no "step"\. Did you mean "steps"'),
    "value of a task": ("steps = 12", "steps = 2", r"line 4, steps: adding: steps is 2; it must be an integer of 3"),
    "split of a task": ("steps = 12", "split = 'test'", r'line 4, split: adding takes no "split"\. It takes: steps, '),
    "true as a rate": ("lr = 0.01", "lr = true", r"line 17, lr: is True; it must be a finite number\.$"),
    "rate without end": ("lr = 0.01", "lr = inf", r"line 17, lr: is inf; it must be a finite number"),
    "number as a truth": ("weight_decay = 0.01", "amsgrad = 3", r"line 18, amsgrad: is 3; it must be true or false"),
    "one of two": ("weight_decay = 0.01", "betas = [0.9]", r"line 18, betas: is \[0\.9\]; it must be 2 numbers, such"),
    "second of two": ("weight_decay = 0.01", "betas = [0.9, 1.5]", r"line 18, betas: adamw: Invalid beta parameter at"),
    "rate of a group": ("lr = 0.003", "lr = -0.003", r"line 22, lr: adamw: Invalid learning rate: -0\.003"),
    "too large": ("hidden_size = 6", "hidden_size = 99999999999", r"line 7: unicornn: .*allocate memory"),
    "signs": ("seed = 3", "re_sign_every = 1", r"line 30, re_sign_every: UnICORNN has no scaled Cayley"),
    "a time": ("steps = 12", "steps = [1, {at = 07:32:00}]", r"line 4, steps: holds a date or a time"),
    "deep": ("[training]", "a = " + "[" * 5000 + "\n[training]", "is nested too deeply"),
    "twice": (
        "[training]",
        "[network]\n[training]",
        r"is not valid TOML: Cannot declare \('network',\) twice \(line 24",
    ),
    "no toml": ("epochs = 3", "epochs 3", r"is not valid TOML: .*line 25"),
}


@pytest.mark.parametrize("old, new, message", WRONG.values(), ids=WRONG)
def test_wrong_configurations(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TrainingError, match=message) as error:
        loop.train(plan(tmp_path, TEXT.replace(old, new, 1)), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("spelling", ["UnICORNN", "UNICORNN", "Unicornn"])
def test_the_class_of_a_cell_is_the_same_configuration(tmp_path: Path, spelling: str) -> None:
    """Everything that is kept of it, and the digest, are those of the name."""
    named, by_class = plan(tmp_path, TEXT), plan(tmp_path, TEXT.replace('"unicornn"', f'"{spelling}"', 1))
    assert by_class == named and by_class.network.cell == "unicornn"
    assert by_class.digest() == named.digest() and by_class.to_plain() == named.to_plain()
    assert by_class.replaced(epochs=1).digest() == named.replaced(epochs=1).digest()


def test_a_cell_of_ones_own_by_its_class_is_the_same_configuration(tmp_path: Path) -> None:
    tmp_path.joinpath("leaky.py").write_text("from odernn.cells.lem import LEM as Leak\n\nCELL = Leak\n", "utf-8")
    plans = [plan(tmp_path, TEXT.replace('"unicornn"', f'"{name}"', 1)) for name in ("leaky", "Leaky", "leak", "Leak")]
    found = [each.found_in(cells=[tmp_path]) for each in plans]
    assert {each.network.cell for each in found} == {"leaky"} and len({each.digest() for each in found}) == 1


def test_recorded_digests_are_still_those_of_their_configurations() -> None:
    """Of the runs in benchmarks/results: their cells were written by name, and the name is what is kept."""
    recorded = json.loads(RECORD.read_text("utf-8"))["runs"]
    runs = list(recorded.values() if isinstance(recorded, dict) else recorded)
    assert len(runs) >= 50
    for run in runs:
        made = configuration.from_mapping(run["configuration"])
        assert made.network.cell == run["configuration"]["network"]["cell"] and made.digest() == run["digest"]


def test_every_configuration_of_the_package_names_its_cell_as_it_is_kept() -> None:
    texts = [path.read_text("utf-8") for path in sorted(configuration.FOLDER.glob("*.toml"))]
    written = {cell for text in texts for cell in re.findall(r'^(?:network\.)?cell *= *"([^"]+)"', text, re.MULTILINE)}
    assert len(written) >= 10 and {cells.name_of(name) for name in written} == written


def test_a_parameter_is_in_one_group() -> None:
    groups = (
        configuration.ParameterGroup(parameters=("a*",), options={}),
        configuration.ParameterGroup(parameters=("*b",), options={}),
    )
    made = configuration.Optimizer(name="sgd", options={"lr": 1.0}, groups=groups)
    with pytest.raises(TrainingError, match="groups 1 and 2 both have ab"):
        optimizers.make(made, [("ab", nn.Parameter(torch.zeros(1))), ("c", nn.Parameter(torch.zeros(1)))])


def test_the_learning_rate_falls_after_its_epoch() -> None:
    milestones = ((2, 0.1), (4, 0.5))
    assert [optimizers.factor(milestones, epoch) for epoch in range(5)] == [1, 1, 0.1, 0.1, 0.05]


# --- rows of a table --------------------------------------------------------------------------------------------

ROWS = (
    TEXT.replace("hidden_size = 6\n", "")
    + """
[published]
table = "icml Table 1"

[rows.small]
published.row = "UnICORNN, m = 6"
network.hidden_size = 6
training.epochs = 1

[rows."0.5"]
task.steps = 9
[rows."0.5".network]
hidden_size = 7
alpha = 0.5
[rows."0.5".published]
row = "other"
"""
)


def test_a_row_changes_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    path.write_text(ROWS, encoding="utf-8")
    assert configuration.rows(path) == ("small", "0.5")
    small, other = configuration.read(path, "small"), configuration.read(path, "0.5")
    assert (small.network.hidden_size, small.training.epochs, small.task.options["steps"]) == (6, 1, 12)
    assert (other.network.hidden_size, other.training.epochs, other.task.options["steps"]) == (7, 3, 9)
    assert (small.network.options["alpha"], other.network.options["alpha"]) == (1.0, 0.5)
    assert small.published == configuration.AsPrinted(table="icml Table 1", row="UnICORNN, m = 6")
    plain = plan(tmp_path, TEXT).replaced(epochs=1)
    assert small.digest() == plain.digest()  # what is printed of a network is no part of it
    assert small.replaced(epochs=4).published == small.published


WRONG_ROWS = {
    "none named": (None, "", "", r"has 2 rows\. Name one with --row: small, 0\.5\."),
    "another": ("smal", "", "", r'has no row "smal"\. Did you mean "small"\?'),
    "dotted": ("small", "hidden_size = 6", "hidden_size = 0", r"line 36, hidden_size: is 0; it must be an integer"),
    "in a table of its own": ("0.5", "hidden_size = 7", "hidden_size = 0", r"line 42, hidden_size: is 0; it must"),
    "in no row": ("small", "batch_size = 16", "batch_size = 0", r"line 25, batch_size: is 0; it must be an integer"),
    "a table that there is not": ("small", "network.hid", "netwrk.hid", r'line 36, netwrk: .* Did you mean "network"'),
    "an unknown key": ("small", "training.epochs", "training.epoch", r'line 37, epoch: .* Did you mean "epochs"'),
    "no table": ("small", "training.epochs = 1", "training = 1", r"line 37, training: is 1; it must be a table, as in"),
    "printed": ("small", "published.row", "published.roww", r'line 35, roww: .* Did you mean "row"'),
}


@pytest.mark.parametrize("row, old, new, message", WRONG_ROWS.values(), ids=WRONG_ROWS)
def test_wrong_rows(tmp_path: Path, row: str | None, old: str, new: str, message: str) -> None:
    path = tmp_path / "rows.toml"
    assert old in ROWS
    path.write_text(ROWS.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TrainingError, match=message):
        configuration.read(path, row)


def test_a_row_of_a_file_without_any(tmp_path: Path) -> None:
    plan(tmp_path, TEXT)
    with pytest.raises(TrainingError, match=r'has no row "small"\. It has: none; leave --row out'):
        configuration.read(tmp_path / "plan.toml", "small")


def test_the_beginning_of_the_readout_is_in_the_digest_only_where_it_is_another() -> None:
    """So that the folders of runs that were begun before there was a choice are found again."""
    found = configuration.read("unicornn_table1_psmnist", "unicornn-256")
    assert "readout_init" not in found.to_plain()["network"]
    plain = found.to_plain()
    same = configuration.from_mapping({**plain, "network": {**plain["network"], "readout_init": "uniform"}})
    other = configuration.from_mapping({**plain, "network": {**plain["network"], "readout_init": "kaiming normal"}})
    assert same.digest() == found.digest() != other.digest()
    assert configuration.from_mapping(other.to_plain()).network.readout_init == "kaiming normal"
    with pytest.raises(TrainingError, match="readout_init: is 'zeros'; it must be"):
        configuration.from_mapping({**plain, "network": {**plain["network"], "readout_init": "zeros"}})
