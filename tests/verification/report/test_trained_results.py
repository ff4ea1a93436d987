"""What was trained here stands beside the printed rows that it is of, with its epochs, and beside no others."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from odernn.published.results import RESULTS
from tests.benchmarks.scripts import BENCHMARKS
from verification.cli import main
from verification.readings import reading as readings
from verification.registry import Registry
from verification.report.html import tables
from verification.report.rows import trained_results
from verification.report.rows.claims import Facts
from verification.report.rows.ledger import LedgerEntry, LedgerPages
from verification.report.rows.trained_results import beside, sections
from verification.training.configuration import Configuration
from verification.verdict import PROVED, Judgement

RECORD: dict[str, Any] = json.loads((BENCHMARKS / "results" / "training_runs.json").read_text("utf-8"))
RUNS: list[dict[str, Any]] = list(RECORD["runs"].values())
WITHOUT_RESULTS = {"icml Table 5", "scornn Table 2", "complexity Table 1 right"}
"""Tables of which ``odernn.published.results`` has no rows: IMDB, TIMIT, and the nine architectures by depth."""
TABLES = [table for each in readings.all_readings().values() for table in each.trained]


@cache
def known() -> Sequence[Configuration]:
    """The configurations of the papers' rows, read once."""
    return trained_results.configurations()


def shown(source: str, runs: list[dict[str, Any]]) -> dict[str, tuple[list[int], int]]:
    """By printed row: the epochs of its runs, and of its configuration."""
    rows = beside(source, runs, known())
    return {each.name: ([run["epochs"] for run in each.runs], each.of) for each in rows if each.runs}


def psmnist(**changed: tuple[str, Any]) -> dict[str, Any]:
    """The recorded run of UnICORNN-128 on permuted MNIST, with other settings: table=(key, value)."""
    (run,) = [copy.deepcopy(each) for each in RUNS if each["name"] == "psMNIST, UnICORNN-128"]
    for table, (key, value) in changed.items():
        run["configuration"][table][key] = value
    return run


def test_every_table_of_a_claim_is_known_and_claims_on_trained_figures_name_theirs() -> None:
    assert set(TABLES) - {each.source for each in RESULTS} == WITHOUT_RESULTS
    about = {name for name, each in readings.all_readings().items() if each.trained}
    assert about >= {f"both-4-T{number}-tab" for number in range(1, 6)} | {
        "icml-D-T7-tab",
        "sco-5.3-tab",
        "cplx-4.5-tab",
    }
    assert {each.source for each in RESULTS} - set(TABLES) == {"complexity Table 2, previous results"}


def test_the_record_stands_beside_the_rows_it_is_of() -> None:
    def trained(*names: str) -> list[int]:
        return [run["epochs"] for run in RUNS if run["name"] in names]

    network = "UnICORNN, m = 128, L = 3"
    digits, cifar = "psMNIST, UnICORNN-128", "noise-padded CIFAR-10, one batch of five, UnICORNN-128"
    assert shown("icml Table 1", RUNS) == {network: (trained(digits, f"{digits}, longer"), 2600)}
    assert shown("icml Table 2", RUNS) == {network: (trained(cifar), 500)}
    assert shown("icml Table 4", RUNS) == {
        f"UnICORNN, L = 3, target = {rate}": (trained(f"BIDMC {rate}, UnICORNN, GPU"), 500) for rate in ("HR", "RR")
    }
    scornn = "permuted MNIST, scoRNN-170"
    assert shown("scornn Table 1", RUNS) == {
        "scoRNN, m = 170, L = 1, permuted = True": (trained(scornn, f"{scornn}, GPU"), 70)
    }
    assert min(len(trained(name)) for name in (f"{digits}, longer", cifar, f"{scornn}, GPU")) == 3
    assert shown("scornn Sec. 5.2", RUNS)["scoRNN, m = 170, L = 1, steps = 200"] == ([5, 5, 5], 10)
    assert len(shown("icml Table 7", RUNS)) == 4
    assert set(shown("icml Table 8", RUNS)) == {
        f"UnICORNN, m = 128, L = 3, {task}" for task in ("sequential_mnist", "noise_padded_cifar10")
    }


def test_runs_that_no_paper_prints_stand_beside_nothing() -> None:
    """Sequential digits, UnICORNN on the adding problem, copying with T = 200 and 500, windows scaled one by one."""
    placed = {
        id(run)
        for source in {each.source for each in RESULTS}
        for row in beside(source, RUNS, known())
        for run in row.runs
    }
    left = {run["name"] for run in RUNS if id(run) not in placed}
    assert left == {
        "sequential digits, UnICORNN",
        *(f"adding, T = {steps}, UnICORNN" for steps in (200, 400, 750)),
        "copying, T = 200, scoRNN",
        "copying, T = 200, LSTM",
        "copying, T = 500, scoRNN",
        "BIDMC HR, UnICORNN, every window scaled",
        *(f"BIDMC {rate}, UnICORNN, every window scaled, GPU" for rate in ("HR", "RR")),
    }


def test_data_that_was_not_all_there_is_named() -> None:
    line = next(line for line in sections(RECORD, ["icml Table 2"])["icml Table 2"] if "300 of 500" in line)
    assert line.startswith("| UnICORNN, m = 128, L = 3, on 1 of 5 files |")
    whole = [copy.deepcopy(run) for run in RUNS if "CIFAR" in run["name"]]
    for run in whole:
        run["data"]["train"]["origin"] = "5 of 5 files (…), MD5 verified, noise of seed 0"
    of_whole = {"runs": {run["name"] + str(run["seed"]): run for run in whole}}
    assert ", on " not in "".join(sections(of_whole, ["icml Table 2"])["icml Table 2"])


@pytest.mark.parametrize(
    "other",
    [
        {"network": ("dt", 0.481)},
        {"network": ("alpha", 12.5)},
        {"network": ("hidden_size", 256)},
        {"network": ("num_layers", 2)},
        {"network": ("dropout", 0.2)},
        {"task": ("permuted", False)},
        {"task": ("permutation", "urnn")},
        {"task": ("validation", 5000)},
        {"optimizer": ("lr", 0.001)},
        {"optimizer": ("name", "adamw")},
        {"training": ("batch_size", 128)},
        {"training": ("clip_norm", 1.0)},
        {"training": ("dtype", "float64")},
        {"training": ("no such setting", 1)},
    ],
    ids=str,
)
def test_a_run_of_another_configuration_is_not_shown(other: dict[str, tuple[str, Any]]) -> None:
    assert shown("icml Table 1", [psmnist(**other)]) == {}


def test_how_long_and_with_which_seed_is_free_and_is_said() -> None:
    longer = psmnist(training=("epochs", 400))
    longer |= {"seed": 7, "epochs": 400, "best_epoch": 390}
    longer["configuration"]["network"]["execution"] = "torch"
    assert shown("icml Table 1", [longer, psmnist()]) == {"UnICORNN, m = 128, L = 3": ([4, 400], 2600)}
    record = {"runs": {"a": longer, "b": psmnist(), "c": psmnist() | {"seed": 1}}}
    assert [line for line in sections(record, ["icml Table 1"])["icml Table 1"] if "97.8" in line] == [
        "| UnICORNN, m = 128, L = 3 | 97.8% | 82.4% (82.4% to 82.4%) | 4 of 2600 | 3 | 0, 1 |",
        "| UnICORNN, m = 128, L = 3 | 97.8% | 82.4% | 400 of 2600 | 390 | 7 |",
    ]


def test_the_report_has_a_line_for_each_length_of_training() -> None:
    """The median of three runs, two of which stopped early, would be that of the stopped ones."""
    one = psmnist() | {"planned_epochs": 400}
    figures = {0: (0.968, 400), 1: (0.934, 100), 2: (0.936, 100), 3: (0.97, 400)}
    runs = {
        str(seed): one
        | {"seed": seed, "epochs": epochs, "test": {"figure": figure}}
        | ({"stopped": "the time is up"} if epochs < 400 else {})
        for seed, (figure, epochs) in figures.items()
    }
    table = tables.of_record({"runs": runs})
    assert [(row[3], row[6], row[7]) for row in table.rows] == [
        ("93.5% (93.4% to 93.6%)", "stopped at 100 of 400", "1, 2"),
        ("96.9% (96.8% to 97.0%)", "400 of 400", "0, 3"),
    ]
    assert table.title == "1 network in 4 runs" and table.caption == (tables.ENDED, tables.STOPPED)
    of_ended = tables.of_record({"runs": {seed: run for seed, run in runs.items() if "stopped" not in run}})
    assert len(of_ended.rows) == 1 and of_ended.caption == (tables.ENDED,)


def test_the_recorded_runs_of_400_epochs_are_not_mixed_with_those_that_stopped() -> None:
    rows = [row for row in tables.of_record(RECORD).rows if row[0] == "psMNIST, UnICORNN-128, longer"]
    (ended,) = [row for row in rows if row[6] == "400 of 400"]
    assert "0" in ended[7].split(", ")
    assert all("0" not in row[7].split(", ") for row in rows if "stopped" in row[6])


def test_what_is_printed_stands_beside_what_was_trained_with_its_table() -> None:
    """Of the record as it is; a network that nobody printed a number of has a dash."""
    table = tables.of_record(RECORD)
    printed = {row[0]: row[[column.name for column in table.columns].index("printed")] for row in table.rows}
    assert printed["permuted MNIST, scoRNN-170"] == "94.3% (scornn Table 1)"
    assert printed["psMNIST, UnICORNN-128"] == "97.8% (icml Table 1); 97.7 ± 0.09% (icml Table 8)"
    assert printed["sequential digits, UnICORNN"] == "–"


def test_a_run_that_was_not_tested_is_not_shown() -> None:
    untested = psmnist()
    untested.pop("test")
    assert shown("icml Table 1", [untested]) == {}


def test_where_there_is_no_record_it_says_so() -> None:
    found = sections({"runs": {}}, TABLES)
    assert set(found) == set(TABLES)
    assert all(any(trained_results.NOBODY in line for line in lines) for lines in found.values())
    lines = sections(RECORD, ["icml Table 1"])["icml Table 1"]
    assert any(line.startswith("Nobody measured here yet: LSTM, m = 256, L = 1 (92.9%)") for line in lines)
    assert any("no verdict; fewer epochs refute nothing" in line for line in lines)


def test_the_ledger_has_it_under_the_claim_and_its_verdict_is_as_before() -> None:
    claim = Registry().get("both-4-T1-tab").claim
    (case,) = claim.cases
    cell = Judgement(
        claim=claim.id,
        domain=case.domain,
        layer=0,
        quantity=case.quantity,
        norm="",
        symbol=case.quantity,
        reading="",
        verdict=PROVED,
        because="",
    )
    entry = LedgerEntry(claim.id, "icml", claim.source.where, claim.statement, "published, reading")
    book = LedgerPages([cell], {claim.id: entry}, Facts("0", "smoke", 0))
    plain = book.page()
    with_runs = replace(book, trained=sections(RECORD, TABLES)).page()
    assert "Trained here" not in plain and "| 97.8% | 96.8% | 400 of 2600 | 365 | 0 |" in with_runs
    assert with_runs.count("**1 tried on 1 domain, 1 cell: 1 proved**") == plain.count("1 proved**") == 1


@pytest.mark.slow
def test_the_command_takes_a_record(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "both-4-T1-tab", "--jobs", "0"]) == 0
    capsys.readouterr()
    record = tmp_path / "record.json"
    record.write_text(json.dumps(RECORD), "utf-8")
    assert main(["ledger", "--trained", str(record)]) == 0
    assert "4 of 2600" in capsys.readouterr().out
    record.write_text("[]", "utf-8")
    assert main(["ledger", "--trained", str(record)]) == 2
    assert "no record of training runs" in capsys.readouterr().err


def test_lorenz_96_stands_beside_its_row_divided_by_the_root_mean_square_a_line_for_each_variant() -> None:
    """With the transient and without it: other tasks, so no median over both."""
    (run,) = [
        copy.deepcopy(each) for each in RUNS if each["name"] == "Lorenz 96, F = 8, UnICORNN" and each["seed"] == 0
    ]
    run["test"] |= {"figure": 0.55, "over_rms": 0.46}
    kept = copy.deepcopy(run)
    kept["configuration"] = trained_results.configuration.read(
        "unicornn_table7_lorenz96", "unicornn-90-f8.0-kept"
    ).to_plain()
    kept["task_options"] = {**run["task_options"], "transient": 0.0}
    kept["test"] |= {"figure": 0.37, "over_rms": 0.31}
    lines = sections({"runs": {"a": run, "b": kept}}, ["icml Table 7"])["icml Table 7"]
    assert [line.split(" | ")[:3] for line in lines if "3.1e-1" in line] == [
        ["| UnICORNN, m = 90, L = 2, forcing = 8.0", "3.1e-1", "0.46"],
        ["| UnICORNN, m = 90, L = 2, forcing = 8.0, transient = 0.0", "3.1e-1", "0.31"],
    ]
    rows = tables.of_record({"runs": {"a": run | {"name": "a"}, "b": kept | {"name": "b"}}}).rows
    assert [(row[3], row[4]) for row in rows] == [
        ("0.46", "normalised root (over the root mean square)"),
        ("0.31", "normalised root (over the root mean square)"),
    ]
