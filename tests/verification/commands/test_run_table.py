"""The table of training runs: medians and ranges by hand, the printed row beside them, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.verification.commands.made_runs import configured, write
from verification.commands import run_table
from verification.commands.terminal import UsageError
from verification.report.rows import runs as run_rows
from verification.training import TrainingError, folder, loop, runs

ACCURACIES = {0: (0.95, 0.96, 0.955), 1: (0.94, 0.93, 0.92), 2: (0.9, 0.97, 0.97)}
TESTS = {0: 0.951, 1: 0.93, 2: 0.968}


def three_seeds(tmp_path: Path) -> Path:
    """Best epochs 2, 1 and 2 (the first of two equal ones)."""
    for seed, values in ACCURACIES.items():
        rows = [(0.1 * (epoch + 1), value) for epoch, value in enumerate(values)]
        write(tmp_path / "runs" / f"seed {seed}", configured(training__seed=seed), rows, (0.2, TESTS[seed]))
    return tmp_path / "runs"


def printed(capsys: pytest.CaptureFixture[str], where: Path, **options: Any) -> str:
    given: dict[str, Any] = {"task": "sequential_mnist", "format": "text", "full": False, "by_epoch": False} | options
    assert run_table.run(folders=[where], **given) == 0
    return capsys.readouterr().out


def records(capsys: pytest.CaptureFixture[str], where: Path, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(printed(capsys, where, format="json", **options))["rows"]
    return found


def cells(text: str) -> list[dict[str, str]]:
    """The rows of GitHub's Markdown."""
    head, _, *body = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return [dict(zip(head, row, strict=True)) for row in body]


def test_seeds_are_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = cells(printed(capsys, three_seeds(tmp_path), format="github"))
    assert row == {
        "network": "unicornn",
        "m": "128",
        "L": "3",
        "parameters": "35,000",
        "seeds": "0, 1, 2",
        "epochs": "3",
        "validation": "96.00%",
        "test": "95.10%",
        "range of test": "93.00% to 96.80%",
        "without input": "–",
        "published": "97.8% (icml Table 1); 97.7 ± 0.09% (icml Table 8, 10 runs)",
    }


def test_records_have_every_run_at_full_precision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group, *own = [each for each in records(capsys, three_seeds(tmp_path)) if each["kind"] != "printed"]
    assert (group["test"], group["test_smallest"], group["test_largest"]) == (0.951, 0.93, 0.968)
    assert group["validation"] == 0.96 and group["seeds"] == [0, 1, 2]
    assert [(each["seed"], each["best_epoch"], each["test"]) for each in own] == [
        (0, 2, 0.951),
        (1, 1, 0.93),
        (2, 2, 0.968),
    ]
    assert {each["test_loss"] for each in own} == {0.2} and {each["sequences"] for each in own} == {55_000}
    assert [each["folder"] for each in own] == ["seed 0", "seed 1", "seed 2"]


def test_an_even_number_of_seeds_has_the_mean_of_the_middle_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = three_seeds(tmp_path)
    write(where / "more", configured(training__seed=7), [(0.1, 0.9)] * 3, (0.2, 0.959))
    (row,) = cells(printed(capsys, where, format="github"))
    assert row["test"] == "95.50%" and row["seeds"] == "0, 1, 2, 7"


def test_another_setting_is_another_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = three_seeds(tmp_path)
    write(where / "other", configured(network__dt=0.1), [(0.1, 0.9)], (0.2, 0.5))
    lstm = configured(network__cell="torch.lstm", network__dt=None, network__alpha=None, network__hidden_size=256)
    write(where / "lstm", lstm, [(0.1, 0.9)], (0.2, 0.5))
    found = {row["settings"]: row for row in cells(printed(capsys, where, format="github"))}
    assert set(found) == {"network.dt = 0.482", "network.dt = 0.1", "–"}  # alpha is common; the LSTM has neither
    assert found["network.dt = 0.1"]["test"] == "50.00%" and found["–"]["published"].startswith("92.9% ")


def test_a_size_that_is_not_printed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        tmp_path / "runs" / "one", configured(network__hidden_size=64, network__num_layers=2), [(0.1, 0.9)], (0.2, 0.5)
    )
    (row,) = cells(printed(capsys, tmp_path, format="github"))
    assert row["published"].startswith("97.8% with m = 128, L = 3 (icml Table 1)")


def test_the_row_that_the_configuration_names_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stated = {"table": "icml Table 1", "row": "UnICORNN, m = 128", "parameters": "35k", "result": "accuracy 97.8%"}
    write(tmp_path / "one", configured(), [(0.1, 0.9)], (0.2, 0.5), published=stated)
    (row,) = cells(printed(capsys, tmp_path, format="github"))
    assert row["published"] == "accuracy 97.8% (icml Table 1: UnICORNN, m = 128)"


def test_a_run_that_has_not_ended_counts_for_nothing_but_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = three_seeds(tmp_path)
    write(where / "late", configured(training__seed=9), [(0.1, 0.99)])
    text = printed(capsys, where, format="github")
    (row,) = cells(text)
    assert row["test"] == "95.10%" and row["epochs"] == "3; 1 of 3" and row["seeds"] == "0, 1, 2, 9"
    assert "1 run not ended" in text
    write(tmp_path / "new" / "begun", configured(), [])
    (row,) = cells(printed(capsys, tmp_path / "new", format="github"))
    assert (row["epochs"], row["validation"], row["test"]) == ("0 of 3", "–", "–")


def test_full_adds_what_is_printed_of_this_variant_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = cells(printed(capsys, three_seeds(tmp_path), format="github", full=True))
    assert len(rows) == 1 + 44 and rows[1]["network"] == "LSTM" and rows[1]["published"] == "92.9% (icml Table 1)"


def test_errors_are_the_printed_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Root mean squared error of the rates, and over the deviation for Lorenz 96: by hand."""
    rate = configured(task__name="bidmc", task__permuted=None, task__target="RR")
    write(tmp_path / "rate", rate, [(6.25, None), (4.0, None)], (9.0, None), baseline=25.0)
    (row,) = cells(printed(capsys, tmp_path / "rate", task="bidmc", format="github"))
    assert (row["validation"], row["test"], row["without input"]) == ("2.00", "3.00", "5.00")
    assert row["published"] == "1.06 ± 0.03 (icml Table 4, 5 runs)"
    chaos = configured(task__name="lorenz96", task__permuted=None, task__forcing=0.9)
    write(tmp_path / "chaos", chaos, [(0.01, None)], (0.04, None), baseline=4.0)
    (row,) = cells(printed(capsys, tmp_path / "chaos", task="lorenz96", format="github"))
    assert (row["validation"], row["test"], row["without input"]) == ("0.0100", "0.100", "1.00")
    assert row["published"] == "2.2e-2 with m = 90, L = 2 (icml Table 7)"


def test_defaults_of_a_task_decide_what_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No forcing given is F = 8, and nothing permuted is the other half of the table."""
    plain = configured(task__permuted=None, network__cell="scornn", network__hidden_size=170, network__num_layers=1)
    write(tmp_path / "plain", plain, [(0.1, 0.9)], (0.2, 0.5))
    (row,) = cells(printed(capsys, tmp_path / "plain", format="github"))
    assert row["published"] == "97.3% (scornn Table 1)"
    write(tmp_path / "chaos", configured(task__name="lorenz96", task__permuted=None), [(0.01, None)], (0.04, None))
    (row,) = cells(printed(capsys, tmp_path / "chaos", task="lorenz96", format="github"))
    assert row["published"].startswith("3.1e-1 ")


def test_epoch_by_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = three_seeds(tmp_path)
    write(where / "late", configured(training__seed=9), [(0.3, 0.8)])
    rows = cells(printed(capsys, where, format="github", by_epoch=True))
    assert [(row["epoch"], row["runs"]) for row in rows] == [("1", "4"), ("2", "3"), ("3", "3")]
    assert [row["validation"] for row in rows] == ["92.00%", "96.00%", "95.50%"]
    assert [row["range of validation"] for row in rows][1] == "93.00% to 97.00%"
    assert [row["training loss"] for row in rows] == ["0.200", "0.400", "0.600"]
    found = records(capsys, where, by_epoch=True)
    assert len(found) == 10 and {each["kind"] for each in found} == {"evaluation"}
    assert found[1]["validation_accuracy"] == 0.96 and found[1]["step"] == 20.0


@pytest.mark.parametrize("format", ["text", "github", "latex", "csv", "json"])
def test_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str) -> None:
    for by_epoch in (False, True):
        text = printed(capsys, three_seeds(tmp_path / str(by_epoch)), format=format, full=True, by_epoch=by_epoch)
        assert "unicornn" in text
    if format == "csv":
        lines = list(csv.DictReader(io.StringIO(printed(capsys, tmp_path, format="csv"))))
        assert [line["kind"] for line in lines].count("run") == 6


def test_no_epoch_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """epochs = 0 tests the untrained network: a result without a log."""
    write(tmp_path / "none", configured(training__epochs=0), [], (2.4, 0.1))
    (row,) = cells(printed(capsys, tmp_path, format="github"))
    assert (row["epochs"], row["validation"], row["test"]) == ("0", "–", "10.00%")


def test_a_loss_that_is_no_number_is_never_the_best(tmp_path: Path) -> None:
    write(tmp_path / "one", configured(), [(math.nan, None), (0.5, None), (math.inf, None)])
    run = runs.read(tmp_path / "one")
    assert run.best is not None and run.best["epoch"] == 2 and run.history[0]["validation_loss"] is None


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_test_loss_that_is_no_number_is_the_worst_and_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], loss: float
) -> None:
    """Weights may overflow on the test split alone; the other seeds keep their row, and JSON stays JSON."""
    sums = {"task__name": "adding", "task__permuted": None}
    for seed, test in enumerate((0.1, loss, 0.3)):
        write(tmp_path / str(seed), configured(training__seed=seed, **sums), [(0.1, None)], (test, None))
    (row,) = cells(printed(capsys, tmp_path, task="adding", format="github"))
    assert (row["test"], row["range of test"]) == ("0.300", "0.100 to ∞")
    group, *own = [each for each in records(capsys, tmp_path, task="adding") if each["kind"] != "printed"]
    assert (group["test"], group["test_smallest"], group["test_largest"]) == (0.3, 0.1, None)
    assert [(each["test"], each["test_loss"]) for each in own] == [(0.1, 0.1), (None, None), (0.3, 0.3)]


def test_what_a_monitor_saw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three steps, two comparisons at each; one margin fails twice, and a series that is compared with nothing."""
    from verification.run.store import Store

    where = three_seeds(tmp_path)
    assert "monitored" not in printed(capsys, where)
    with Store(where / "seed 0" / folder.MONITOR, writable=True) as store:
        for step, fine in ((10, True), (20, False), (30, False)):
            rows = [
                ("layers.0", "y", "thm-S", 1.0, 3, 0, 1, 2.0, 1, "n", None),
                ("layers.0", "margin_to_saddle", "w > −α", 0.5, None, None, 0, None, int(fine), "", None),
                ("layers.0", "effective_step", "", 0.1, None, None, 0, None, None, "", None),
            ]
            store.put_measurements("training", step, rows)
    (row,) = cells(printed(capsys, where, format="github"))
    failing = "layers.0: margin_to_saddle (w > −α)"
    assert row["monitored"] == f"3 steps, 6 bounds and margins: do not hold: {failing}"
    run = next(each for each in records(capsys, where) if each["kind"] == "run" and each["seed"] == 0)
    assert (run["monitored_steps"], run["bounds_compared"]) == (3, 6)
    assert run["bounds_failing"] == [f"{failing} from step 20"]
    assert all(each["monitored_steps"] is None for each in records(capsys, where) if each.get("seed") == 1)


# --- refusals


def test_other_tasks_are_left_out_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = three_seeds(tmp_path)
    write(where / "sum", configured(task__name="adding", task__permuted=None), [(0.1, None)], (0.1, None))
    assert run_table.run(task="adding", folders=[where], format="text", full=False, by_epoch=False) == 0
    assert "3 runs of other tasks are left out: sequential_mnist" in capsys.readouterr().err
    with pytest.raises(UsageError, match="are of other tasks: adding, sequential_mnist"):
        run_table.run(task="lorenz96", folders=[where], format="text", full=False, by_epoch=False)
    with pytest.raises(UsageError, match="No task is called"):
        run_table.run(task="lorenz", folders=[where], format="text", full=False, by_epoch=False)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="is no folder"):
        runs.find([tmp_path / "missing"])
    with pytest.raises(TrainingError, match=r"has no run\.json"):
        runs.find([tmp_path])


def damaged(where: Path, name: str, old: str, new: str) -> None:
    path = where / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("run.json", '{"configuration"', '"configuration"', "cannot be read"),
        ("run.json", '"cell"', '"sell"', "is not what `odernn train` writes"),
        ("run.json", '"parameters": 35000', '"parameters": -1', "is not what `odernn train` writes"),
        ("log.csv", "2,20,1.0,0.4", "2,20,1.0", "line 3: is not a row of 8 numbers"),
        ("log.csv", "2,20,1.0,0.4", "2,20,1.0,much", "line 3: is not a row of 8 numbers"),
        ("log.csv", "\n3,", "\n2,", "line 4: it is about epoch 2.0, the one before it about 2.0"),
        ("log.csv", "epoch,step", "epoch,steps", "does not begin with the names of its columns"),
        ("result.json", '"epochs": 3, "steps"', '"epochs": 4, "steps"', "speaks of 4 epochs, the best 2"),
        ("result.json", '"best_epoch": 2', '"best_epoch": 3', "the best 3, but log.csv beside it of 3, the best 2"),
        ("result.json", '"dt": 0.482', '"dt": 0.2', "is the result of another configuration"),
        ("result.json", '"test": {"loss": 0.2', '"test": {"loss": null', "has no figures of the test split"),
        ("result.json", '"accuracy": 0.951}', '"hits": 0.951}', "has no figures of the test split"),
        ("result.json", '"baseline": 2.3', '"baseline": "2.3"', "has no figures of the test split"),
        ("result.json", '"baseline": 2.3', '"baseline": -2.3', "has no figures of the test split"),
        ("run.json", '"data": {"train": {', '"data": {"test": 3, "train": {', "is not what `odernn train` writes"),
        ("run.json", '"optimizer": {', '"more": 3, "optimizer": {', "is not what `odernn train` writes"),
    ],
)
def test_what_does_not_fit_together_is_refused_by_name(
    tmp_path: Path, name: str, old: str, new: str, message: str
) -> None:
    where = three_seeds(tmp_path) / "seed 0"
    runs.read(where)
    damaged(where, name, old, new)
    with pytest.raises(TrainingError, match=message) as error:
        runs.read(where)
    assert name in str(error.value) or name == "run.json"


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "one", configured(network__cell="uni\x1b[31mcornn"), [(0.1, 0.9)], (0.2, 0.5))
    assert "\x1b" not in printed(capsys, tmp_path)


# --- a real run


def test_a_run_of_odernn_train_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from verification.training import configuration

    plan = configuration.from_mapping(
        {
            "task": {"name": "adding", "steps": 8, "count": 20},
            "network": {"cell": "scornn", "hidden_size": 4, "rho": 2},
            "optimizer": {"name": "adam", "lr": 0.01},
            "training": {"epochs": 2, "batch_size": 10},
        }
    )
    for seed in (0, 1):
        result = loop.train(plan.replaced(seed=seed), tmp_path / "runs" / str(seed))
        there = {path.name for path in (tmp_path / "runs" / str(seed)).iterdir()}
        assert {folder.RUN, folder.LOG, folder.RESULT} <= there
        run = runs.read(tmp_path / "runs" / str(seed))
        assert run_rows.test_figure(run, "loss") == result.test["loss"] and run.seed == seed
        assert run.best is not None and run.best["epoch"] == result.best_epoch
        assert [row["validation_loss"] for row in run.history] == [
            row["validation_loss"] for row in result.progress.history
        ]
    (row,) = cells(printed(capsys, tmp_path, task="adding", format="github"))
    assert row["seeds"] == "0, 1" and row["without input"] == "0.167" and row["network"] == "scornn"
