"""One's own cell, task and method, each in one file outside of the package, through the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verification import tasks
from verification.cli import main
from verification.commands.terminal import DONE, USAGE

pytestmark = pytest.mark.usefixtures("elsewhere")

CELL = '''
"""y_n = y_{n-1} + dt (tanh(W y_{n-1} + V u_n) - y_{n-1})."""
import torch
from torch import nn

class Leaky(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers=1, *, dt=0.5, dtype=None):
        super().__init__()
        self.V = nn.Linear(input_size, hidden_size, dtype=dtype)
        self.W = nn.Linear(hidden_size, hidden_size, bias=False, dtype=dtype)
        self.dt = dt

    def forward(self, sequences):
        y, rows = torch.zeros_like(self.V(sequences[0])), []
        for u in sequences:
            y = y + self.dt * (torch.tanh(self.W(y) + self.V(u)) - y)
            rows.append(y)
        return torch.stack(rows), y

CELL = Leaky
'''
TASK = '''"""The mean of the inputs, drawn from [0, 1)."""
import numpy as np
from verification.tasks.task import TaskSpec, checksum

def load(split, root=None, *, steps=5, count=24):
    u = np.random.default_rng(len(split)).random((steps, count, 1), dtype=np.float32)
    y = u.mean(axis=(0, 2))
    return u, y, TaskSpec(
        name="mean_of", split=split, loss="squared error", reads="last", steps=steps, count=count, input_size=1,
        output_size=1, baseline=1 / (12 * steps), baseline_means="the variance of a mean", origin="random numbers",
        sha256=checksum(u, y))
'''
PLAN = """
task.name = "mean_of"
network = {cell = "leaky", hidden_size = 3, dt = 0.25}
optimizer = {name = "adam", lr = 0.01}
training = {epochs = 2, batch_size = 8}
"""
METHOD = 'name = "my ralston"\nA = [[0, 0], ["2/3", 0]]\nb = ["1/4", "3/4"]\n'
OWN = ["--cells", "my_cells", "--tasks", "my_tasks"]


@pytest.fixture(autouse=True)
def mine(elsewhere: None) -> None:
    files = {"my_cells/leaky.py": CELL, "my_tasks/mean_of.py": TASK, "my_tableaus/mine.toml": METHOD, "plan.toml": PLAN}
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = DONE) -> tuple[str, str]:
    assert main(list(arguments)) == code
    found = capsys.readouterr()
    if code == USAGE:
        assert found.out == "" and found.err.count("\n") == 1, found.err
    return found.out, found.err


# --- each kind through its commands -------------------------------------------------------------------------------


def test_a_task_is_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    listed, _ = said(capsys, "task", "--width", "200", "--tasks", "my_tasks")
    assert len(listed.splitlines()) == len(tasks.names()) + 1 + 4
    assert any(
        line.split(None, 1) == ["mean_of", "The mean of the inputs, drawn from [0, 1)."] for line in listed.splitlines()
    )
    described, _ = said(capsys, "task", "Mean-Of", "--tasks", "my_tasks", "--set", "count=7")
    assert described.count("mean_of, ") == 3 and "7 sequences of 5 × 1 from random numbers" in described
    assert "mean_of" not in said(capsys, "task")[0]


def test_a_method_is_shown_compared_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--tableaus", "my_tableaus"]
    shown, _ = said(capsys, "tableau", "My_Ralston", *folder)
    assert shown == said(capsys, "tableau", "my_tableaus/mine.toml")[0]
    assert "my ralston" in said(capsys, "tableau", "--compare", "my ralston", "heun 3", *folder)[0]
    assert "my ralston" in said(capsys, "tableau", "my ralston", "--rounded", "float32", *folder)[0]
    before, after = (said(capsys, "tableau", "--list", "--format", "csv", *more)[0] for more in ([], folder))
    (line,) = set(after.splitlines()) - set(before.splitlines())
    assert line.startswith("my ralston,")
    _, refused = said(capsys, "tableau", "my ralstom", *folder, code=USAGE)
    assert 'Did you mean "my ralston"?' in refused
    assert 'No tableau is called "my ralston"' in said(capsys, "tableau", "my ralston", code=USAGE)[1]


def test_a_run_with_its_own_cell_and_task(capsys: pytest.CaptureFixture[str]) -> None:
    """Trained, gone on with, tabulated, and put on trial; its record says which files it needs."""
    train = ["train", "mean-of", "--cell", "leaky", "--config", "plan.toml"]
    trained, _ = said(capsys, *train, *OWN)
    assert trained.startswith("mean_of, leaky: test loss ")
    record = json.loads(Path("run/run.json").read_text(encoding="utf-8"))["own_files"]
    here = Path.cwd()
    assert {kind: (each["name"], Path(each["file"])) for kind, each in record.items()} == {
        "cell": ("leaky", here / "my_cells/leaky.py"),
        "task": ("mean_of", here / "my_tasks/mean_of.py"),
    }
    assert said(capsys, *train, *OWN)[0] == trained
    longer, _ = said(capsys, "train", "--config", "plan.toml", "--epochs", "1", "--into", "short", *OWN)
    assert longer.startswith("mean_of, leaky: ")
    table, _ = said(capsys, "table", "--task", "mean_of", "--runs", "run", "--tasks", "my_tasks")
    assert "leaky" in table
    tried, _ = said(capsys, "verify", "--checkpoint", "run", "--store", "own.sqlite", *OWN)
    assert "What holds for run" in tried and "leaky, hidden_size 3, num_layers 1, dt = 0.25" in " ".join(tried.split())
    again, _ = said(capsys, "table", "--store", "own.sqlite")
    assert again


def test_a_cell_that_takes_no_dtype_trains_to_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    first, _ = said(capsys, "train", "--config", "plan.toml", *OWN, "--into", "with")
    text = CELL.replace(", dtype=None", "").replace(", dtype=dtype", "")
    assert "dtype" not in text
    Path("my_cells/leaky.py").write_text(text, encoding="utf-8")
    again, _ = said(capsys, "train", "--config", "plan.toml", *OWN, "--into", "without")
    assert first.partition(";")[0] == again.partition(";")[0] and "test loss" in first


def test_whoever_goes_on_without_a_file_is_told_which(capsys: pytest.CaptureFixture[str]) -> None:
    train = ["train", "--config", "plan.toml"]
    said(capsys, *train, *OWN)
    verify, picture = ["verify", "--checkpoint", "run"], ["picture", "gradients", "--runs", "run"]
    for command in (train, verify):
        _, refused = said(capsys, *command, "--tasks", "my_tasks", code=USAGE)
        assert 'its cell "leaky" is in no folder that was given; it was in "' in refused
        assert refused.endswith('my_cells/leaky.py". Name the folder of that file with --cells.\n')
    assert 'its task "mean_of" is in no folder' in said(capsys, *train, "--cells", "my_cells", code=USAGE)[1]
    assert "No task is called" in said(capsys, *verify, "--cells", "my_cells", code=USAGE)[1]
    Path("my_cells/leaky.py").write_text(CELL.replace("dt=0.5", "dt=0.6"), encoding="utf-8")
    for command in (train, verify):
        _, refused = said(capsys, *command, *OWN, code=USAGE)
        assert 'its cell "leaky" has changed: "' in refused and "has SHA-256 " in refused
    pytest.importorskip("matplotlib")
    assert 'its cell "leaky" has changed' in said(capsys, *picture, *OWN, code=USAGE)[1]


def test_nothing_of_the_record_is_loaded_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """A record may come from a stranger: its paths are only ever said."""
    said(capsys, "train", "--config", "plan.toml", *OWN)
    Path("my_cells/leaky.py").write_text("raise SystemExit('loaded')", encoding="utf-8")
    _, refused = said(capsys, "verify", "--checkpoint", "run", "--tasks", "my_tasks", code=USAGE)
    assert "Name the folder of that file with --cells" in refused


# --- one line for everything that is wrong ------------------------------------------------------------------------

TRAIN = ["train", "--config", "plan.toml", *OWN]
HOSTILE: dict[str, tuple[str, str, list[str], str]] = {
    "a task of the package": (
        "my_tasks/adding.py", TASK, ["task", "--tasks", "my_tasks"],
        'Task "adding" in "my_tasks/adding.py": the name is taken by "',
    ),
    "a task of the package, spelt otherwise": (
        "my_tasks/Copying-Memory.py", TASK, ["task", "--tasks", "my_tasks"],
        'Task "copying_memory" in "my_tasks/Copying-Memory.py": the name is taken by "',
    ),
    "a cell of the package": ("my_cells/lem.py", CELL, TRAIN, '"lem" in "my_cells/lem.py": the name is taken by "'),
    "a cell by the name of graphs": (
        "my_cells/graph.py", CELL.replace("Leaky", "Graph"), [*TRAIN, "--cell", "graph"], 'trains the cell "leaky"',
    ),
    "a broken cell": ("my_cells/leaky.py", "import none_such", TRAIN, 'file "my_cells/leaky.py" fails on import: '),
    "a cell that leaves": ("my_cells/leaky.py", "raise SystemExit(0)", TRAIN, "fails on import: SystemExit: 0."),
    "no cell": ("my_cells/leaky.py", "x = 1", TRAIN, 'Cell file "my_cells/leaky.py" exports no CELL'),
    "a broken task": ("my_tasks/mean_of.py", "def load(:", TRAIN, 'Task file "my_tasks/mean_of.py" fails on import: '),
    "no task": (
        "my_tasks/mean_of.py", "def load(root): ...", ["task", "mean_of", "--tasks", "my_tasks"],
        'Task file "my_tasks/mean_of.py" exports no load(split, root, ...)',
    ),
    "an argument of the cell": (
        "plan.toml", PLAN.replace("dt =", "dtt ="), TRAIN, 'leaky takes no "dtt". Did you mean "dt"?',
    ),
    "a method of the package": (
        "my_tableaus/rk.toml", METHOD.replace("my ralston", "rk4"), ["tableau", "--list", "--tableaus", "my_tableaus"],
        'Tableau "rk4" in "my_tableaus/rk.toml": the name is taken by "',
    ),
    "a broken method": (
        "my_tableaus/rk.py", "x = ", ["tableau", "rk4", "--tableaus", "my_tableaus"],
        'Tableau file "my_tableaus/rk.py" fails on import: SyntaxError',
    ),
    "no folder of cells": ("x", "", ["train", "--config", "plan.toml", "--cells", "none"], 'Cells folder "none" does '),
    "no folder of tasks": ("x", "", ["task", "--tasks", "none"], 'Tasks folder "none" does not exist'),
    "no folder of methods": ("x", "", ["tableau", "--all", "--tableaus", "none"], 'Tableaus folder "none" does not'),
    "claims have no cells": ("x", "", ["verify", "--cells", "my_cells"], "--cells: describes a trained network"),
    "claims have no tasks": ("x", "", ["verify", "--tasks", "my_tasks"], "--tasks: describes a trained network"),
}  # fmt: skip


@pytest.mark.parametrize("name, text, arguments, message", HOSTILE.values(), ids=HOSTILE)
def test_refusals(name: str, text: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).write_text(text, encoding="utf-8")
    _, refused = said(capsys, *arguments, code=USAGE)
    assert message in refused and "internal error" not in refused
    assert not Path("run").exists()


def test_a_cell_by_a_name_that_training_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("my_cells/graph.py").write_text(CELL, encoding="utf-8")
    Path("plan.toml").write_text(PLAN.replace('"leaky"', '"graph"'), encoding="utf-8")
    assert (
        'Cell "graph" in "my_cells/graph.py": the name is taken by verification.training'
        in said(capsys, *TRAIN, code=USAGE)[1]
    )
