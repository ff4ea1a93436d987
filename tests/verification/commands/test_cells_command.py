"""``odernn cells``: every cell in the list and in full, with arguments to begin with; errors are one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from odernn import CoRNN, LinOSS, UnICORNN, cells
from verification.cli import main
from verification.commands.terminal import DONE, USAGE
from verification.report.rows import cells as rows

LEAKY = '''
import torch

class Leaky(torch.nn.Module):
    """h_n = a h_{n-1} + V u_n.   nobody"""

    def __init__(self, input_size, hidden_size, num_layers=1, *, a, dtype=None):
        super().__init__()

CELL = Leaky
'''


def test_the_list_has_every_cell_with_all_that_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cells", "--format", "json"]) == DONE
    listed = {each["cell"]: each for each in json.loads(capsys.readouterr().out)["rows"]}
    assert tuple(listed) == cells.names() and len(listed) >= 16
    for name, each in listed.items():
        assert each["equation"] and each["holds"] and each["executions"][0] == "torch"
        assert each["class"] == cells.get(name).__name__
    assert listed["unicornn"]["needs"] == ["dt", "alpha"]
    assert listed["integrator"]["needs"] == ["field", "integrator", "dt"]
    assert listed["lem"]["needs"] == []


def test_executions_are_those_that_the_constructors_take() -> None:
    assert rows.executions_of(UnICORNN) == ("torch", "cpu", "cuda", "parallel")
    assert rows.executions_of(CoRNN) == ("torch", "cpu")
    assert rows.executions_of(LinOSS) == ("torch", "cpu", "parallel")
    for kind, options in ((CoRNN, cells.suggest("cornn", 5)), (LinOSS, cells.suggest("linoss", 5))):
        for execution in rows.executions_of(kind):
            assert kind(2, 3, execution=execution, **options).layers[0].execution == execution
        with pytest.raises(ValueError, match="execution"):
            kind(2, 3, execution="cuda", **options)


@pytest.mark.parametrize("name", cells.names())
def test_a_cell_in_full_has_its_docstring_and_its_suggestion(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [] if name == "integrator" else ["--steps", "64", "--hidden", "8"]
    assert main(["cells", name, *steps]) == DONE
    said = " ".join(capsys.readouterr().out.split())
    kind = cells.get(name)
    assert all(" ".join(text.split()) in said for text in ((kind.__doc__ or "").split("\n")[0], kind.holds))
    assert all(f"{key}=" in said for key in (cells.suggest(name, 64, hidden_size=8) if steps else {}))


@pytest.mark.parametrize("name", ["lipschitz", "arnn_1_2", "unicornn"])
def test_the_class_shows_the_same_cell(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for spelling in (name, cells.get(name).__name__, cells.get(name).__name__.upper()):
        assert main(["cells", spelling, "--steps", "64"]) == DONE
        shown.append(capsys.readouterr().out)
    assert len(set(shown)) == 1 and shown[0].startswith(f"{name}: {cells.get(name).__name__}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["unicorn"], 'Did you mean "unicornn"?'),
        (["--steps", "3"], "--steps: goes with the name of a cell"),
        (["lem", "--memory", "3"], "--memory: goes with --steps"),
        (["lem", "--steps", "0"], "lem: steps is 0"),
        (["lem", "--steps", "8", "--memory", "9"], "give a number in 1..8"),
        (["scornn", "--steps", "8"], "hidden_size is needed"),
        (["integrator", "--steps", "8"], "any field"),
        (["lem", "--format", "json"], "--format: is of the list"),
        (["--format", "jsn"], 'Did you mean "json"?'),
        (["--columns", "nothing"], "--columns"),
        (["--cells", "nowhere"], '"nowhere" does not exist'),
    ],
)
def test_errors_are_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cells", *arguments]) == USAGE
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and said in captured.err


def test_a_cell_of_ones_own_is_listed_and_has_no_suggestion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "leaky.py").write_text(LEAKY, "utf-8")
    assert main(["cells", "--cells", str(tmp_path), "--format", "csv"]) == DONE
    assert "leaky,Leaky,h_n = a h_{n-1} + V u_n.,nobody,,a,torch" in capsys.readouterr().out
    assert main(["cells", "leaky", "--cells", str(tmp_path), "--steps", "8"]) == USAGE
    assert "has no suggestions" in capsys.readouterr().err
