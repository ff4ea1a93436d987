"""benchmarks/choosing_a_cell.py: six settings a cell, chosen without the test split; the page from the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from odernn import cells
from tests.benchmarks.scripts import BENCHMARKS, imported
from tests.tiers import spread
from verification import tasks
from verification.training import loop, network, splits

RECORD = BENCHMARKS / "results" / "choosing_a_cell.json"
plan = imported("_choosing_plan")
page = imported("_choosing_page")


def test_the_tables_of_the_page_are_what_the_record_gives() -> None:
    """`python benchmarks/choosing_a_cell.py --page` writes them."""
    text = page.PAGE.read_text("utf-8")
    record = json.loads(RECORD.read_text("utf-8"))["runs"] if RECORD.exists() else {}
    assert text == page.page(text, record)


def test_the_record_is_of_the_plan() -> None:
    script = imported("choosing_a_cell")
    record = json.loads(RECORD.read_text("utf-8"))["runs"] if RECORD.exists() else {}
    planned = {job.key for task, each in plan.pairs() for job in script.trials(task, each)}
    planned |= {f"{task.name} / {each.name} / seed {seed}" for task, each in plan.pairs() for seed in plan.SEEDS}
    assert set(record) <= planned
    assert all("/" not in each["on"]["processor"] for each in record.values())


def test_every_cell_of_the_library_is_in_the_plan_and_has_six_settings() -> None:
    planned = {each.cell for each in plan.CONTESTANTS}
    own = {"odernn": "midpoint_odernn", "integrator": "monotone_kutta", "qunn": "sized_qunn"}
    assert set(plan.LATER) <= set(cells.names())
    compared = {own.get(name, name) for name in cells.names()} - set(plan.LATER)
    assert compared | {"torch.lstm", "torch.gru"} == planned
    for task, each in plan.pairs():
        settings = plan.settings(task, each)
        assert len(settings) == page.SETTINGS == len({(s.rate, s.label) for s in settings})
        digests = {plan.configured(task, each, setting, 0).digest() for setting in settings}
        assert len(digests) == 6


@pytest.mark.parametrize("number", spread(range(len(plan.CONTESTANTS)), 10))
def test_every_network_of_the_plan_is_made_and_has_gradients(number: int) -> None:
    contestant = plan.CONTESTANTS[number]
    _, _, spec = tasks.get("sequential_digits").load("test", pixels=8)
    for task, size in zip(plan.TASKS, (8, 1, 129), strict=True):
        for setting in plan.settings(task, contestant)[:: len(contestant.rates)]:
            configured = plan.configured(task, contestant, setting, 0)
            made = network.build(configured.network, replace(spec, input_size=size), seed=0, dtype=torch.float32)
            outputs = made(torch.rand(6, 2, size))
            assert outputs.shape == (2, 10)
            outputs.sum().backward()
            assert any(p.grad is not None and bool(p.grad.abs().max() > 0) for p in made.recurrent.parameters())


@pytest.mark.parametrize(
    ("scores", "place"),
    [
        ([(0.9, 1.0), (0.95, 2.0), (0.8, 0.1)], 1),
        ([(0.9, 1.0), (0.9, 0.5), (0.9, 0.5)], 1),
        ([None, (0.1, 3.0)], 1),
        ([None, None], None),
    ],
)
def test_the_best_validation_accuracy_is_chosen_then_the_smaller_loss(
    scores: list[tuple[float, float] | None], place: int | None
) -> None:
    tried = [
        {"failed": "x"} if score is None else {"validation": {"accuracy": score[0], "loss": score[1]}}
        for score in scores
    ]
    assert page.best(tried) == place


# --- the script, on a plan of two small cells ---------------------------------------------------------------------


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A GRU of three units on 64 images of 8 × 8, two epochs, two seeds."""
    module = imported("choosing_a_cell")
    task = replace(plan.TASKS[0], epochs=2)
    gru = next(each for each in plan.CONTESTANTS if each.name == "GRU")
    monkeypatch.setattr(plan, "HIDDEN", 3)
    monkeypatch.setattr(plan, "TASKS", (task,))
    monkeypatch.setattr(plan, "SEEDS", (0, 1))
    monkeypatch.setattr(plan, "CONTESTANTS", (gru,))
    load = splits.load

    def few(chosen: Any, split: str, *rest: Any, **named: Any) -> Any:
        data = load(chosen, split, *rest, **named)
        count = 64
        return replace(
            data,
            sequences=data.sequences[:, :count],
            targets=data.targets[:count],
            spec=replace(data.spec, count=count),
        )

    monkeypatch.setattr(splits, "load", few)
    return module


def called(script: ModuleType, folder: Path, *arguments: str) -> Mapping[str, Any]:
    script.main(["--output", str(folder), "--checkpoints", str(folder / "checkpoints"), *arguments])
    path = folder / "choosing_a_cell.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))["runs"] if path.exists() else {}
    return found


def test_a_call_tries_six_settings_and_tests_the_chosen_one_with_all_seeds_once(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    load = splits.load

    def watched(chosen: Any, split: str, *rest: Any, **named: Any) -> Any:
        asked.append(split)
        return load(chosen, split, *rest, **named)

    monkeypatch.setattr(splits, "load", watched)
    record = called(script, tmp_path)
    settings = [f"digits by rows / GRU / setting {number}" for number in range(1, 7)]
    seeds = [f"digits by rows / GRU / seed {seed}" for seed in (0, 1)]
    assert list(record) == [*settings, *seeds]
    assert asked.count("test") == 2
    best = record[settings[page.best([record[key] for key in settings])]]
    assert all(record[key]["rate"] == best["rate"] and "test" in record[key] for key in seeds)
    assert all("test" not in record[key] for key in settings)
    assert not any((tmp_path / "checkpoints").iterdir())
    monkeypatch.setattr(script, "run", None)
    assert called(script, tmp_path) == record


def test_the_time_is_up_and_the_next_call_goes_on(script: ModuleType, tmp_path: Path) -> None:
    assert called(script, tmp_path, "--seconds", "0") == {}
    assert len(called(script, tmp_path)) == 8


def test_what_diverges_is_recorded_and_not_chosen(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = loop.TrainingRun.step

    def diverging(self: loop.TrainingRun, *arguments: Any) -> None:
        if self.configuration.optimizer.options["lr"] == 0.05:
            raise loop.TrainingError(f"The loss is nan in step 1 (epoch 1). The checkpoints in {tmp_path} are older.")
        step(self, *arguments)

    monkeypatch.setattr(loop.TrainingRun, "step", diverging)
    record = called(script, tmp_path)
    failed = record["digits by rows / GRU / setting 6"]
    assert failed["failed"] == "The loss is nan in step 1 (epoch 1)" and str(tmp_path) not in json.dumps(record)
    assert record["digits by rows / GRU / seed 0"]["rate"] != 0.05
    assert "1 of which diverged" in "\n".join(page._notes(record))


def test_another_setting_makes_its_record_void(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = called(script, tmp_path)
    task = plan.TASKS[0]
    first = script.trials(task, plan.CONTESTANTS[0])[0]
    assert script.is_recorded(record, first)
    monkeypatch.setattr(plan, "TASKS", (replace(task, epochs=3),))
    assert not script.is_recorded(record, script.trials(plan.TASKS[0], plan.CONTESTANTS[0])[0])


def test_a_name_that_is_none_is_refused(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no task and no cell is called so"):
        called(script, tmp_path, "--only", "nothing")


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks one of the marks"):
        page.page("# no marks\n", {})


def test_a_rate_at_the_end_of_its_range_is_said() -> None:
    task, contestant = plan.TASKS[0], plan.CONTESTANTS[0]
    rates = [setting.rate for setting in plan.settings(task, contestant)]
    scores = {"loss": 1.0, "accuracy": 0.5}
    for best, said in ((min(rates), "the smallest"), (max(rates), "the largest"), (sorted(rates)[2], "")):
        record = {
            f"{task.name} / {contestant.name} / setting {number}": {
                "rate": rate,
                "label": "",
                "validation": scores | {"accuracy": 0.9 if rate == best else 0.5},
            }
            for number, rate in enumerate(rates, 1)
        }
        line = f"Chosen at {said} of their rates: {contestant.name}. What lies beyond was not tried.\n"
        assert list(page._edges(task, record)) == ([line] if said else [])
