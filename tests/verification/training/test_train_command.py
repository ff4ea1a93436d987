"""`odernn train` as a user meets it, in an empty folder: what it lists, trains, says and refuses; docs/training.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from tests.verification.training.plans import CHECKOUT, TEXT, spec
from tests.verification.training.test_published_rows import DISAGREE
from verification import tasks
from verification.cli import main
from verification.commands.results import rendered
from verification.commands.terminal import DONE, USAGE
from verification.training import configuration, listing, loop, network, optimizers, re_signing
from verification.training.threads import worthwhile

pytestmark = pytest.mark.usefixtures("elsewhere")
PAGE = (CHECKOUT / "docs" / "training.md").read_text(encoding="utf-8")


def test_a_run_by_its_configuration_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The task is in the file; a row of the file is named; the same command once more has nothing left to do."""
    text = TEXT + "[published]\ntable = 'icml Table 0'\nrow = 'mine'\nresult = 'loss 0.1'\n"
    text += "[rows.short]\ntraining.epochs = 1\n[rows.long]\ntraining.epochs = 9\n"
    Path("mine.toml").write_text(text, encoding="utf-8")
    command = ["train", "--config", "mine.toml", "--row", "short"]
    assert main(command) == DONE
    first = capsys.readouterr()
    assert first.out.startswith("adding, unicornn: test loss ") and "epoch 1 of 1, 4 steps" in first.out
    assert first.out.endswith("\nprinted in icml Table 0, mine: loss 0.1\n") and first.err == "wrote run\n"
    assert main([*command, "--into", "run"]) == DONE
    again = capsys.readouterr()
    assert again.out == first.out
    ended = 'The run in "run" had ended before{}. For another one name another folder with --into.\n'
    assert again.err == ended.format("")
    assert main([*command, "--monitor", "1"]) == DONE
    assert capsys.readouterr().err == ended.format(", so that there was nothing to monitor")
    assert not Path("run", "monitor.sqlite").exists()
    assert main(["train", "--config", "mine.toml"]) == USAGE
    assert "has 2 rows. Name one with --row: short, long." in capsys.readouterr().err


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--list", "--width", "250"]) == DONE
    everything = capsys.readouterr().out
    assert everything == rendered(listing.table(), "text", width=250)
    assert main(["train", "--list", "EigenWorms", "--width", "250"]) == DONE
    worms = capsys.readouterr().out
    assert len(worms.splitlines()) == 4 + 5 and all("eigenworms" in line for line in worms.splitlines()[4:])
    assert len(everything.splitlines()) == 4 + len(list(configuration.everything()))
    assert main(["train", "adding", "--width", "100"]) == USAGE
    assert capsys.readouterr().err == "odernn: --width: is of the list. Give --list, too, or leave it out.\n"


WRONG = {
    "nothing": ([], "Name a task, or a configuration with --config FILE. `odernn train --list` shows them."),
    "a task that there is not": (["addin"], 'No task is called "addin". Did you mean "adding"?'),
    "a list of one": (["addin", "--list"], 'No task is called "addin". Did you mean "adding"?'),
    "a task with none by its name": (
        ["lorenz96"], '"lorenz96" has no configurations by its name. Give --config FILE; `odernn train lorenz',
    ),
    "another task": (
        ["adding", "--config", "sequential_digits_unicornn"], 'trains on "sequential_digits", not on "adding"',
    ),
    "another cell": (
        ["--config", "sequential_digits_unicornn", "--cell", "lem"], 'trains the cell "unicornn", not "lem"',
    ),
    "another class": (
        ["--config", "sequential_digits_unicornn", "--cell", "LEM"], 'trains the cell "unicornn", not "lem"',
    ),
    "its own class": (
        ["--config", "sequential_digits_unicornn", "--cell", "UnICORNN", "--epochs", "-1"], "epochs: is -1; it must be",
    ),
    "no such row": (
        ["--config", "scornn_table1_mnist", "--row", "scornn-171"],
        'has no row "scornn-171". Did you mean "scornn-170"?',
    ),
    "no data": (
        ["--config", "scornn_table1_mnist", "--row", "scornn-170"], "To fetch the files: odernn task sequential_mnist",
    ),
    "an execution that there is not": (
        ["sequential_digits", "--execution", "cpuu"], 'No execution is called "cpuu". Did you mean "cpu"?',
    ),
    "negative epochs": (["sequential_digits", "--epochs", "-1"], "epochs: is -1; it must be an integer from 0 on"),
    "no file": (["--config", "none.toml"], 'Configuration "none.toml" cannot be read: no such file or directory.'),
}  # fmt: skip


@pytest.mark.parametrize("arguments, message", WRONG.values(), ids=WRONG)
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *arguments]) == USAGE
    found = capsys.readouterr()
    assert message in found.err and found.out == "" and found.err.count("\n") == 1
    assert not Path("run").exists()


# --- docs/training.md ---------------------------------------------------------------------------------------------


def test_the_page_has_the_table_of_the_files() -> None:
    assert listing.markdown() in PAGE, "write verification.training.listing.markdown() into docs/training.md"


def test_the_readme_has_the_numbers_of_tasks_and_rows() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    printed = [each for _, _, each in configuration.everything() if each.published]
    assert f"{len(printed)} rows of the papers' tables as configurations" in readme
    assert "# eleven tasks;" in readme and len(tasks.names()) == 11


def test_the_configuration_of_the_page_is_one() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    Path("page.toml").write_text(block, encoding="utf-8")
    found = configuration.read("page.toml")
    task = spec(input_size=2, output_size=1, reads="last")
    model = network.build(found.network, task, seed=0, dtype=torch.float32)
    parts = optimizers.make(found.optimizer, list(model.named_parameters()), model.unitary_names()).parts
    assert sorted(type(part).__name__ for part in parts) == ["Adam", "RMSprop"]
    assert len(re_signing.layers(model, found.training)) == 1 and found.training.re_sign_tau == 1.25


def test_the_page_says_which_counts_disagree() -> None:
    table = PAGE.partition("## Numbers of parameters")[2]
    assert f"{84 - len(DISAGREE)} of 84 read as printed" in table
    for name, count in DISAGREE.items():
        row = name.partition(" ")[2].removesuffix("-permuted").removesuffix("-t1000").removesuffix("-t2000")
        assert any(row in line and f"{count:,}" in line for line in table.splitlines()), name


def test_threads_are_as_many_as_a_step_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for 8192 columns each, unless a number is given; torch has its own number back."""
    Path("mine.toml").write_text(TEXT, encoding="utf-8")
    plan = configuration.read("mine.toml")
    wide = replace(plan, network=replace(plan.network, hidden_size=3 * 8192))
    assert worthwhile(plan) == 1 and worthwhile(wide, at_most=100) == 3 * plan.training.batch_size
    assert worthwhile(wide, at_most=2) == 2
    seen, was = [], torch.get_num_threads()

    def train(*_: object, **__: object) -> Ended:
        seen.append(torch.get_num_threads())
        return Ended()

    monkeypatch.setattr(loop, "train", train)
    assert main(["train", "--config", "mine.toml"]) == DONE
    assert main(["train", "--config", "mine.toml", "--threads", str(was + 1)]) == DONE
    assert seen == [1, was + 1] and torch.get_num_threads() == was


@dataclass(frozen=True)
class Ended:
    """Of a process that writes nothing."""

    writes: bool = False
