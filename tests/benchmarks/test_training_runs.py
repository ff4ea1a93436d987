"""benchmarks/training_runs.py: made once, gone on with after a kill, not tested to choose; the page from the record."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tests.benchmarks.scripts import BENCHMARKS, imported
from verification.training import checkpoints, configuration, loop, network, splits

RECORD = BENCHMARKS / "results" / "training_runs.json"


page = imported("_training_page")
plan = imported("_training_plan")
readouts = imported("_adding_readouts")

TABLES: dict[str, dict[str, Any]] = {
    "task": {"name": "adding", "steps": 5, "count": 20},
    "network": {"cell": "unicornn", "hidden_size": 3, "dt": 0.5, "alpha": 1.0, "execution": "torch"},
    "optimizer": {"name": "adam", "lr": 0.01},
    "training": {"epochs": 3, "batch_size": 10, "checkpoint_every": 1},
}
TOML = """
[task]
name = "adding"
steps = 5
count = 20
[network]
cell = "torch.lstm"
hidden_size = 3
[optimizer]
name = "adam"
lr = 0.01
[training]
epochs = 3
batch_size = 10
checkpoint_every = 1
"""
TRIAL, RUN = "trial, adding, unicornn", "a run"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script with one trial, one run of a second, and a further one."""
    module = imported("training_runs")
    file = tmp_path / "adding.toml"
    file.write_text(TOML, encoding="utf-8")
    planned = plan.Planned(name=RUN, configuration=str(file), training={"epochs": 2}, seeds=(0, 1))
    further = plan.Planned(name="further", configuration=str(file), is_further=True)
    monkeypatch.setattr(plan, "TRIALS", (plan.Trial(tables=TABLES),))
    monkeypatch.setattr(plan, "RUNS", (planned, further))
    monkeypatch.setattr(readouts, "COUNTS", {"train": 40, "validation": 10})
    monkeypatch.setattr(readouts, "UNITS", 3)
    return module


def called(script: ModuleType, folder: Path, *arguments: str) -> dict[str, Any]:
    script.main(["--output", str(folder), "--checkpoints", str(folder / "checkpoints"), *arguments])
    found: dict[str, Any] = json.loads((folder / "training_runs.json").read_text("utf-8"))
    return found


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what two equal runs differ in."""
    found = copy.deepcopy(record)
    for part in ("runs", "trials"):
        for each in found[part].values():
            each.pop("wall_seconds"), each.pop("cpu_seconds")
    return found


def test_a_call_makes_what_is_planned_and_the_next_call_nothing(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = called(script, tmp_path)
    assert list(record["runs"]) == ["a run / seed 0", "a run / seed 1"]
    assert len(record["trials"]) == 1
    assert (tmp_path / "training_runs.md").exists()
    monkeypatch.setattr(script, "run", None)
    assert called(script, tmp_path) == record


@pytest.mark.slow
def test_a_run_is_what_odernn_train_makes_of_its_file(script: ModuleType, tmp_path: Path) -> None:
    found = called(script, tmp_path)["runs"]["a run / seed 1"]
    other = configuration.read(tmp_path / "adding.toml").replaced(seed=1, epochs=2)
    alone = loop.train(other, tmp_path / "alone")
    assert found["test"]["loss"] == alone.test["loss"]
    assert found["digest"] == other.digest()
    assert (found["epochs"], found["steps"], found["planned_epochs"]) == (2, 4, 2)


def test_a_trial_never_sees_the_test_split(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    load = splits.load

    def watched(chosen: Any, split: str, *rest: Any, **named: Any) -> Any:
        asked.append(split)
        return load(chosen, split, *rest, **named)

    monkeypatch.setattr(splits, "load", watched)
    called(script, tmp_path, TRIAL)
    assert "test" not in asked
    called(script, tmp_path, RUN)
    assert "test" in asked


def test_a_run_that_was_killed_goes_on_to_the_same_record(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = called(script, tmp_path / "whole")
    step, steps = loop.TrainingRun.step, 0

    def killed(self: loop.TrainingRun, *arguments: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == 4:
            raise KeyboardInterrupt
        step(self, *arguments)

    monkeypatch.setattr(loop.TrainingRun, "step", killed)
    with pytest.raises(KeyboardInterrupt):
        called(script, tmp_path / "broken")
    assert timeless(called(script, tmp_path / "broken")) == timeless(whole)


def test_another_configuration_makes_the_record_void(script: ModuleType, tmp_path: Path) -> None:
    before = called(script, tmp_path, RUN)["runs"]["a run / seed 0"]
    (tmp_path / "adding.toml").write_text(TOML.replace("lr = 0.01", "lr = 0.02"), encoding="utf-8")
    after = called(script, tmp_path, RUN)["runs"]["a run / seed 0"]
    assert after["digest"] != before["digest"]
    assert after["test"] != before["test"]


def test_again_begins_anew(script: ModuleType, tmp_path: Path) -> None:
    before = called(script, tmp_path, RUN)
    (checkpoint,) = (
        path
        for path in (tmp_path / "checkpoints").iterdir()
        if before["runs"]["a run / seed 0"]["digest"][:16] == path.name
    )
    stamp = (checkpoint / "run.json").stat().st_mtime_ns
    assert timeless(called(script, tmp_path, RUN, "--again")) == timeless(before)
    assert (checkpoint / "run.json").stat().st_mtime_ns != stamp


@pytest.mark.slow
def test_two_runs_at_a_time_make_the_same_record(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))  # the processes of the runs import the script by its name
    both = called(script, tmp_path / "both", "--jobs", "2")
    assert timeless(both) == timeless(called(script, tmp_path / "alone"))
    assert called(script, tmp_path / "both", "--jobs", "2") == both


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_when_the_time_is_up_no_run_begins(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    place = ["--output", str(tmp_path), "--checkpoints", str(tmp_path / "c")]
    assert script.main([*place, "--seconds", "0", "--jobs", jobs, RUN]) == 1
    said = capsys.readouterr().out
    assert said.count("the time is up") == 2
    assert "0 runs" in said


def test_when_the_time_is_up_a_run_stops_at_a_checkpoint_and_the_same_command_goes_on(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints of its own are further apart here than the steps between the calls."""
    (tmp_path / "adding.toml").write_text(TOML.replace("checkpoint_every = 1", "checkpoint_every = 100"), "utf-8")
    whole = called(script, tmp_path / "whole", RUN)
    asked = 0

    def is_late(_: object) -> bool:
        nonlocal asked
        asked += 1
        return asked % 3 == 0  # before the run, after its first step, after its second step: late

    monkeypatch.setattr(script.Place, "is_late", property(is_late))
    calls, times = 0, [0.0]
    while script.main(["--output", str(tmp_path), "--checkpoints", str(tmp_path / "c"), RUN + " / seed 0"]):
        assert "the time is up in epoch" in (out := capsys.readouterr().out) and "uncaptured: cpu has no graphs" in out
        reached = json.loads((tmp_path / "training_runs.json").read_text("utf-8"))["stopped"][RUN + " / seed 0"]
        assert reached["steps"] == 2 * (calls + 1) and reached["stopped"] in out and "test" not in reached
        assert calls < 2, "no call goes on where the last one stopped"
        (clock,) = (tmp_path / "c").glob("*/cpu_seconds.json")
        times.append(json.loads(clock.read_text("utf-8")))
        calls, asked = calls + 1, 0
    assert calls == 2  # four steps
    assert times[0] < times[1] < times[2]  # all calls count
    key = RUN + " / seed 0"
    record = json.loads((tmp_path / "training_runs.json").read_text("utf-8"))
    found = record["runs"][key]
    assert found["steps"] == 4 and "stopped" not in record
    assert found["test"] == whole["runs"][key]["test"]


def test_a_run_that_stopped_is_tested_as_it_is_and_still_goes_on(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ["--output", str(tmp_path), "--checkpoints", str(tmp_path / "c"), RUN + " / seed 0"]
    asked = iter([False, False, False, True])  # before the run, after the two steps of an epoch, after the third step
    with monkeypatch.context() as patch:
        patch.setattr(script.Place, "is_late", property(lambda _: next(asked)))
        assert script.main(place) == 1
    assert script.main([*place, "--as-they-are"]) == 0
    key = RUN + " / seed 0"
    reached = json.loads((tmp_path / "training_runs.json").read_text("utf-8"))["runs"][key]
    assert (reached["epochs"], reached["steps"]) == (1, 3) and "epoch 2 of 2" in reached["stopped"]

    (folder,) = [path.parent for path in (tmp_path / "c").glob("*/best.safetensors")]
    plan = configuration.from_mapping(json.loads((folder / "run.json").read_text("utf-8"))["configuration"])
    data = splits.load(plan, "test", None)
    model = network.build(plan.network, data.spec, seed=7, dtype=torch.float32)
    best = checkpoints.read(folder / "best.safetensors")
    model.load_state_dict(best.part("model."))
    model.eval()
    sequences, targets, _ = data.batch(np.arange(data.count))
    with torch.no_grad():
        loss = float(torch.nn.functional.mse_loss(model(sequences).squeeze(-1), targets.squeeze(-1)))
    assert reached["test"]["loss"] == pytest.approx(loss, rel=1e-5)

    assert script.main(place) == 0  # to its end, from where it was
    found = json.loads((tmp_path / "training_runs.json").read_text("utf-8"))["runs"][key]
    assert found["steps"] == 4 and "stopped" not in found


def test_runs_of_another_machine_are_taken_into_the_record(script: ModuleType, tmp_path: Path) -> None:
    here = called(script, tmp_path)
    there = {"benchmark": "training_runs", "runs": {"a run / seed 1": {**here["runs"]["a run / seed 1"], "steps": 9}}}
    there["runs"]["a run / seed 2"] = here["runs"]["a run / seed 0"]
    (tmp_path / "other.json").write_text(json.dumps(there | {"trials": {}, "stopped": {"a run / seed 3": {}}}))
    found = called(script, tmp_path, "--take", str(tmp_path / "other.json"))
    assert found == {**here, "runs": here["runs"] | there["runs"]}
    with pytest.raises(SystemExit, match="there is no such file"):
        script.main(["--output", str(tmp_path), "--take", str(tmp_path / "none.json")])
    for text in ("no JSON", "[]", "{}", '{"runs": {"x": {}}, "trials": {}}', '{"runs": {}}'):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(SystemExit, match="it is no record"):
            script.main(["--output", str(tmp_path), "--take", str(tmp_path / "other.json")])
    assert json.loads((tmp_path / "training_runs.json").read_text("utf-8")) == found


def test_another_device_has_only_the_further_runs_on_its_own_execution(script: ModuleType) -> None:
    assert [job.key for job in script.chosen((), "cuda")] == ["further / seed 0 / cuda"]
    assert "further / seed 0" not in [job.key for job in script.chosen(())]
    assert "further / seed 0" in [job.key for job in script.chosen((), further=True)]
    tables = {**TABLES, "network": {key: value for key, value in TABLES["network"].items() if key != "execution"}}
    fused = script.fused(configuration.from_mapping(tables), "cuda:1")
    assert fused.network.options["execution"] == "cuda"
    with pytest.raises(SystemExit, match="No further run, as are made on cuda"):
        script.main(["--device", "cuda", RUN])
    with pytest.raises(SystemExit, match="--device tpu"):
        script.main(["--device", "tpu"])


def test_a_further_run_needs_its_whole_name(script: ModuleType, tmp_path: Path) -> None:
    assert [job.key for job in script.chosen(["further"])] == ["further / seed 0"]
    assert not script.chosen(["furth"])
    with pytest.raises(SystemExit, match="every call would begin anew"):
        script.main(["--again", "--seconds", "5", "--output", str(tmp_path)])


def test_what_cannot_be_made_is_said(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "adding.toml").write_text(TOML.replace("hidden_size = 3", "hidden_size = 3\nproj_size = 9"), "utf-8")
    assert script.main(["--output", str(tmp_path), "--checkpoints", str(tmp_path / "c"), RUN]) == 1
    assert "not made: a run / seed 0" in capsys.readouterr().out


def test_a_name_that_nothing_has_is_refused(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="No run begins with"):
        script.main(["nonsense", "--output", str(tmp_path)])


def test_the_error_of_a_readout_is_that_of_the_normal_equations() -> None:
    draw = np.random.default_rng(0)
    train, other = draw.standard_normal((50, 4)), draw.standard_normal((20, 4))
    wanted, truth = draw.standard_normal(50) + 3, draw.standard_normal(20) + 3
    for ridge in (0.0, 0.3):
        solution = np.linalg.solve(train.T @ train / 50 + ridge * np.eye(4), train.T @ (wanted - wanted.mean()) / 50)
        error = ((other @ solution + wanted.mean() - truth) ** 2).mean()
        tensors = (torch.from_numpy(each) for each in (train, wanted, other, truth))
        assert readouts.mean_error(*tensors, ridge) == pytest.approx(error, rel=1e-10)


# --- the page


def run(figure: float, kind: str = "accuracy", seconds: float = 10.0) -> dict[str, Any]:
    return {"figure": kind, "test": {"figure": figure}, "cpu_seconds": seconds}


@pytest.mark.parametrize(
    ("figures", "kind", "goal", "met"),
    [
        ([0.96, 0.94, 0.97], "accuracy", {"median": 0.95, "each": 0.93, "seeds": 3}, True),
        ([0.96, 0.92, 0.97], "accuracy", {"median": 0.95, "each": 0.93, "seeds": 3}, False),
        ([0.94, 0.94, 0.97], "accuracy", {"median": 0.95, "each": 0.93, "seeds": 3}, False),
        ([0.96, 0.94], "accuracy", {"median": 0.95, "each": 0.93, "seeds": 3}, False),
        ([0.009], "loss", {"each": 0.01}, True),
        ([0.011], "loss", {"each": 0.01}, False),
    ],
)
def test_a_goal_is_met_where_all_it_says_holds(
    figures: list[float], kind: str, goal: dict[str, Any], met: bool
) -> None:
    assert page.goal_met([run(figure, kind) for figure in figures], goal) is met


def test_a_goal_can_bound_the_time() -> None:
    assert page.goal_met([run(0.9, seconds=179)], {"minutes": 3})
    assert not page.goal_met([run(0.9, seconds=179), run(0.9, seconds=181)], {"minutes": 3})


def test_a_run_that_is_planned_no_longer_keeps_its_row() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    facts = plan.facts()
    name = "sequential digits, UnICORNN"
    del facts["runs"][name]
    (row,) = [line for line in page.page(record, facts).splitlines() if line.startswith(f"| {name} ")]  # no goal's row
    assert "60 of 60" in row


def planted(*runs: dict[str, Any], **beside: Any) -> str:
    """The page of runs of one name, those of the record's run on psMNIST with these changes."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    (one,) = [each for each in record["runs"].values() if each["name"] == "psMNIST, UnICORNN-128"]
    made = {str(place): {**one, "name": "planted", "seed": place, **each} for place, each in enumerate(runs)}
    facts: dict[str, Any] = {"runs": {"planted": {"goal": {}, "note": "A note.", "epochs": 8, **beside}}, "texts": {}}
    text: str = page.page({"runs": made, "trials": {}}, facts)
    return text


def cells(text: str) -> list[list[str]]:
    """Below the first table."""
    lines = text.partition("\n## ")[2].splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:3] == "| p"]


def figure(value: float, epochs: int = 4, **more: Any) -> dict[str, Any]:
    return {"test": {"figure": value}, "epochs": epochs, "planned_epochs": 4, "cpu_seconds": 60.0, **more}


def test_a_median_is_over_seeds_of_one_length_and_stopped_runs_say_how_far_they_came() -> None:
    text = planted(
        figure(0.9), figure(0.5, 2, stopped="…"), figure(0.92), figure(0.6, 2, stopped="…"), figure(0.3, 1, stopped="…")
    )
    assert [row[1:5] for row in cells(text)] == [
        ["1", "30.0", "–", "1 of 8, stopped"],
        ["2", "55.0", "50.0 … 60.0", "2 of 8, stopped"],
        ["2", "91.0", "90.0 … 92.0", "4 of 8"],
    ]
    note = "- planted: A note. Seed 4 stopped at 1 of 4. Seeds 1, 3 stopped at 2 of 4."
    epochs = "4 (seed 0), 2 (seed 1), 4 (seed 2), 2 (seed 3), 1 (seed 4)"
    assert f"{note} All 5 seeds together: median 60.0, after epochs {epochs}." in text.splitlines()
    assert "stopped at" not in planted(figure(0.9), figure(0.92))


def test_a_run_that_stopped_in_its_last_epoch_is_apart_from_one_at_its_end() -> None:
    assert [row[2] for row in cells(planted(figure(0.9), figure(0.5, stopped="…")))] == ["90.0", "50.0"]


def test_a_goal_is_not_met_by_a_run_that_stopped() -> None:
    goal = {"text": "at least 80 %", "each": 0.8}
    assert ["planted", "at least 80 %", "reached", "90.0"] in cells(planted(figure(0.9), goal=goal))
    stopped = planted(figure(0.9, stopped="…"), goal=goal)
    assert ["planted", "at least 80 %", "**not reached**", "–"] in cells(stopped)
    assert "0 of the 1 [goals]" in stopped and "All 1 [goals]" in planted(figure(0.9), goal=goal)
    or_stopped = goal | {"or_stopped": True, "seeds": 2}
    for second, word, median in ((0.9, "reached", "90.0"), (0.7, "**not reached**", "80.0")):
        both = planted(figure(0.9), figure(second, stopped="…"), goal=or_stopped)
        assert ["planted", "at least 80 %", word, median] in cells(both)


def test_seeds_of_several_lengths_have_one_median_and_their_epochs() -> None:
    three = planted(figure(0.9), figure(0.5, 2, stopped="…"), figure(0.7, 1, stopped="…"))
    assert "All 3 seeds together: median 70.0, after epochs 4 (seed 0), 2 (seed 1), 1 (seed 2)." in three
    assert "together" not in planted(figure(0.9), figure(0.5), figure(0.7))


def test_the_first_table_has_what_is_printed_beside_the_median_and_the_epochs_of_each_seed() -> None:
    first = planted(figure(0.9), figure(0.5, 2, stopped="…"), figure(0.7, 1, stopped="…")).partition("\n## ")[0]
    (row,) = [line for line in first.splitlines() if line.startswith("| planted")]
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "planted",
        "accuracy in %",
        "97.8% or 97.7 ± 0.09%",
        "70.0",
        "4, 2, 1 of 8",
    ]
    assert "| planted" not in planted(figure(0.9, published=[])).partition("\n## ")[0]


def test_minutes_of_a_core_are_of_runs_on_a_core() -> None:
    device = {"device": "a GPU"}
    text = planted(
        figure(0.9), figure(0.8, 3, **device), figure(0.7, 2, **device, runs_at_a_time=5), figure(0.6, 1, stopped="…")
    )
    assert [row[6:8] for row in cells(text)] == [
        ["a core", "1.0"],
        ["a GPU, shared by 5", "–"],
        ["a GPU", "–"],
        ["a core", "1.0"],
    ]
    assert "2 runs and 0 trials on cores, 2 minutes of one core's time." in text
    assert "2 further runs on a GPU, up to 5 at a time" in text and "on a GPU, up to" not in planted(figure(0.9))


def test_no_name_promises_an_end_and_no_number_is_printed_of_what_is_ours() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    module = imported("training_runs")
    made = {job.key: job for device in ("cpu", "cuda") for job in module.jobs(device)}
    of_ours = set()
    for key, run in record["runs"].items():
        assert key.startswith(run["name"] + " / seed ") and "to the end" not in key
        assert run["published"] == module.published(made[key].configuration)
        if run["configuration"]["task"].get("scale") == "window":
            of_ours.add(key)
            assert run["published"] == [] and "every window scaled" in key
    assert len(of_ours) == 3
    fresh = [job for job in made.values() if "fresh noise" in job.key]
    assert fresh and all(module.published(job.configuration) == [] for job in fresh)


def test_the_committed_page_is_that_of_the_committed_record() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert page.page(record, plan.facts()) == page.PAGE.read_text(encoding="utf-8")


def test_everything_planned_is_recorded_under_its_configuration() -> None:
    """So that `make bench` trains nothing; the figures are those that the losses of the record give."""
    module = imported("training_runs")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    for job in module.chosen(()):
        assert module.is_recorded(record, job), job.key
    for each in record["runs"].values():
        if each["figure"] == "normalised root":
            assert each["test"]["figure"] == pytest.approx((each["test"]["loss"] / each["baseline"]) ** 0.5)
        assert each["test"]["loss"] >= 0


@pytest.mark.parametrize(
    ("key", "digest"),
    [
        ("psMNIST, UnICORNN-128, longer / seed 1 / cuda", "cc956a12dc69350e"),
        ("BIDMC RR, UnICORNN, GPU / seed 1 / cuda", "4a9b6e770286de7a"),
        ("permuted MNIST, scoRNN-170, GPU / seed 0 / cuda", "b4db74bd799ea31e"),
    ],
)
def test_long_runs_are_found_where_they_stopped(key: str, digest: str) -> None:
    """The digest names a run's folder: what is added to configurations must not change that of a run that goes on."""
    (job,) = imported("training_runs").chosen([key], "cuda")
    assert job.configuration.digest().startswith(digest)
