"""benchmarks/trained_slack.py: what it measures against the definitions, the plan, the record, the page."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from odernn.cells.cornn import CoRNN
from odernn.cells.linoss import LinOSS
from odernn.cells.scornn import ScoRNN
from odernn.cells.unicornn import UnICORNN
from tests.benchmarks.scripts import BENCHMARKS, imported
from tests.benchmarks.slack_runs import run_of
from verification.monitors import BoundMonitor
from verification.tasks.task import TaskSpec
from verification.trained.row import Row
from verification.trained.runs import Sample
from verification.training import network
from verification.training.network import TaskNetwork

plan = imported("_slack_plan")
measures = imported("_slack_measures")
script = imported("trained_slack")
archive = imported("_slack_archive")
page = imported("_slack_page")
words = imported("_slack_words")
products = imported("_slack_products")
RECORD = BENCHMARKS / "results" / "trained_slack.json"


def sample(steps: int = 12, count: int = 3, features: int = 2, reads: Any = "last") -> Sample:
    torch.manual_seed(0)
    spec = TaskSpec(
        name="waves",
        split="validation",
        loss="squared error",
        reads=reads,
        steps=steps,
        count=count,
        input_size=features,
        output_size=1,
        baseline=1.0,
        baseline_means="",
        origin="",
        sha256="",
    )
    rows = (count, 1) if reads == "last" else (steps, count, 1)
    inputs = torch.randn(steps, count, features, dtype=torch.float64)
    return Sample(inputs, torch.randn(*rows, dtype=torch.float64), None, spec)


def read_out(recurrent: torch.nn.Module, reads: str = "last") -> TaskNetwork:
    torch.manual_seed(1)
    size = recurrent.hidden_size
    return TaskNetwork(recurrent, torch.nn.Linear(int(size), 1, dtype=torch.float64), reads)  # type: ignore[arg-type]


def small_unicornn() -> UnICORNN:
    torch.manual_seed(2)
    made = UnICORNN(2, 5, 2, dt=0.4, alpha=1.5, dtype=torch.float64)
    with torch.no_grad():
        for layer in made.layers:
            layer.w.mul_(3.0)
            layer.V.mul_(2.0)
    return made


@pytest.mark.parametrize("reads", ["last", "every"])
def test_gradients_of_states_by_hand_are_those_of_the_monitor(reads: Any) -> None:
    given, model = sample(reads=reads), read_out(small_unicornn(), reads)
    again = measures.oscillator_gradients(model, given)
    with BoundMonitor(model, every=1) as monitor:
        network.loss_sum(model(given.inputs), given.targets, given.spec).backward()
        known = [each.series for each in monitor.step() if each.quantity == "gradient_norm"]
    assert len(again) == len(known) == 2
    for one, other in zip(again, known, strict=True):
        assert np.allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("damping", ["explicit", "implicit"])
def test_the_bound_of_a_coupled_neuron_is_attained_by_some_signs_and_exceeded_by_none(damping: Any) -> None:
    layer = CoRNN(1, 1, dt=0.5, gamma=2.0, epsilon=0.7, damping=damping, dtype=torch.float64).layers[0]
    bounds = {name: np.exp(logs) for name, logs in measures.log_coupled(layer, 7).items()}
    dt, gamma, epsilon = 0.5, 2.0, 0.7
    most = {"y": 0.0, "z": 0.0}
    for signs in itertools.product((-1.0, 1.0), repeat=7):
        y = z = 0.0
        for s in signs:
            if damping == "explicit":
                z = z + dt * (s - gamma * y - epsilon * z)
            else:
                z = (z + dt * (s - gamma * y)) / (1 + dt * epsilon)
            y = y + dt * z
        most = {"y": max(most["y"], abs(y)), "z": max(most["z"], abs(z))}
    assert {name: bounds[name][-1] for name in most} == pytest.approx(most, rel=1e-12)


def test_bounds_from_the_cells_own_equations_hold_on_data_and_fall_with_a_planted_fault() -> None:
    torch.manual_seed(3)
    given = sample(steps=40)
    linear = LinOSS(2, 6, dt=0.8, dtype=torch.float64)
    turning = ScoRNN(2, 6, rho=2, dtype=torch.float64)
    for recurrent in (linear, turning):
        found = [each for each in measures.hidden_states(read_out(recurrent), given, None) if each.bound is not None]
        assert found and all(each.verdict == "holds" and each.slack >= -1e-9 for each in found)
    ((layer, blocks, drives),) = measures.traced(turning, given)
    logs = measures.log_norms(layer, drives)
    shorter = drives.clone()
    shorter[0] = 0.0  # a bound that forgets the first input, and states that do not
    wrong = measures.log_norms(layer, shorter)
    measured = np.log(blocks["h"].norm(dim=2).numpy())
    assert measures.of_bound("states", "norm h", "own equation", logs, measured).verdict == "holds"
    assert measures.of_bound("states", "norm h", "own equation", wrong, measured).verdict == "exceeded"


@pytest.mark.parametrize("size", [math.inf, math.nan])
def test_an_overflow_exceeds_a_finite_bound(size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for measured in (np.array([0.0, size]), np.array([size, size])):
        found = measures.of_bound("states", "norm h", "own equation", np.array([1.0, 2.0]), measured)
        assert found.verdict == "exceeded" and found.slack == -math.inf
    beside = measures.of_bound("f", "q", "s", 12.0, size, math.log(65504.0))
    assert beside.verdict == "vacuous"
    monkeypatch.setattr(measures, "rebuilding_errors", lambda network, *_: [(0.0, size)] * network.num_layers)
    rows = script.compact(list(measures.worst(measures.inverse(read_out(small_unicornn()), sample()))))
    key = "inverse | bound in float32 | thm-F (a)"
    assert rows[key][0] == "x" and rows[key][2] is None
    text = " ".join(page.page({"a": run_of({key: rows[key]}, {key: ["h", 1.0, 0.5]})}).split())
    assert "stepping back in float32 (thm-F (a)) at 1 of 2 checkpoints, by an overflow (" in text


def test_a_bound_above_the_largest_number_of_its_dtype_says_nothing() -> None:
    found = [measures.of_bound("f", "q", "s", math.log(bound), 0.0, math.log(65504.0)) for bound in (6e4, 7e4)]
    assert [each.verdict for each in found] == ["holds", "vacuous"]
    with pytest.raises(ValueError, match="no number"):
        measures.of_bound("f", "q", "s", math.nan, 0.0)


def test_a_margin_that_is_not_positive_fails_whatever_its_row_says() -> None:
    row = Row("margin", 1, "1 − max|a_ij|", "sco-T3.1", "", "published", value=-0.35)
    assert measures.of_row("margins", row).verdict == "FAILS"


def test_the_product_of_all_steps_is_that_of_blocks_and_a_bound_below_it_fails() -> None:
    model, given = small_unicornn(), sample(steps=9)
    run = measures.runs.trajectory(model, given)
    kappa, h = run.kappa(1), model.coefficients(0)["step_size"].detach().double()
    M, log_scale = products.product(kappa, h)
    straight = torch.eye(2, dtype=torch.float64)
    for value in kappa[:, 0, 3]:
        k, own = float(value), float(h[3])
        straight = torch.tensor([[1 - own * own * k, own], [-own * k, 1]], dtype=torch.float64) @ straight
    assert torch.allclose(M[0, 3] * log_scale[0, 3].exp(), straight, rtol=1e-12)
    found = list(measures.products(model, run))
    assert len(found) == 6 and all(each.verdict == "holds" for each in found)
    assert found[2].quantity == products.IN_FORM and found[2].bound >= found[2].measured >= 0.0
    wrong = measures.of_bound("f", "q", "s", found[0].measured * math.log(10) - 0.1, found[0].measured * math.log(10))
    assert wrong.verdict == "exceeded"


def test_powers_of_the_linear_step_stay_below_the_condition_of_their_form() -> None:
    torch.manual_seed(4)
    ((bound, measured),) = measures.log_powers(LinOSS(2, 6, dt=0.8, dtype=torch.float64), 400)
    assert (measured <= bound + 1e-12).all() and (bound - measured).min() < 0.1


@pytest.mark.parametrize("kind", ["unicornn", "linoss"])
def test_stepping_back_in_float64_rebuilds_every_state_and_in_few_digits_does_not(kind: str) -> None:
    made: Any = small_unicornn() if kind == "unicornn" else LinOSS(2, 5, 2, dt=0.5, dtype=torch.float64)
    given = sample(steps=30)
    sizes = {
        dtype: max(max(pair) for pair in measures.rebuilding_errors(made, given.inputs, dtype))
        for dtype in (torch.float64, torch.float32, torch.bfloat16)
    }
    assert sizes[torch.float64] < 1e-12 < sizes[torch.float32] < 1e-3 < sizes[torch.bfloat16]


def test_the_worst_of_a_key_is_what_fails_then_the_least_slack_and_never_an_inapplicable_row() -> None:
    def finding(**more: Any) -> Any:
        return measures.Finding("f", "q", "s", **more)

    rows = [finding(verdict="inapplicable"), finding(bound=2.0, measured=1.0), finding(bound=1.0, measured=3.0)]
    (least,) = measures.worst(rows)
    assert least.slack == -2.0
    (margin,) = measures.worst([finding(value=0.5, verdict="holds"), finding(value=-0.5, verdict="FAILS")])
    assert margin.value == -0.5
    (size,) = measures.worst([finding(measured=1.0), finding(measured=2.0), finding(measured=math.nan)])
    assert math.isnan(size.measured)


def test_the_plan_has_the_runs_that_it_promises() -> None:
    every = [plan.configured(task, cell, seed) for task, cell, seed in plan.small()]
    assert len({each.digest() for each in every}) == len(every) == 8 * 6 * 3
    assert len({task.name for task in plan.TASKS} | {each.task for each in plan.LARGE}) >= 7
    assert all(len(plan.kept_steps(last)) >= 12 for last in (320, 400, 2000))
    names = {job.plan.name for job in imported("training_runs").jobs("cuda") if hasattr(job.plan, "name")}
    assert {each.planned for each in plan.LARGE} <= names


def test_a_record_is_read_as_it_was_written(tmp_path: Any) -> None:
    record = {"a / b / seed 0": {"digest": "d", "checkpoints": [{"step": 0, "rows": {"f | q | ": ["-", None, 1.5]}}]}}
    script.write(tmp_path / "r.json", record)
    assert script.opened(tmp_path / "r.json") == record
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["benchmark"] == "trained_slack"


def test_weights_are_archived_below_the_folder_of_the_record(tmp_path: Path) -> None:
    for output in (tmp_path, script.RESULTS):
        kept = [job.archive for job in script.small_jobs("cpu", output) if job.archive is not None]
        assert len(kept) == 48 and all(path.parent == output / "trained" / "slack" for path in kept)


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    nowhere, here = str(tmp_path / "nowhere"), str(tmp_path)
    asked = (["--device", "tpu"], ["--runs", nowhere], ["--page", "--output", here], ["--jobs", "0"])
    for arguments, said in zip(asked, ("cpu, cuda", "no such folder", "leave --output out", "1 or more"), strict=True):
        with pytest.raises(SystemExit, match=said):
            script.main(arguments)


def test_every_recorded_run_has_twelve_checkpoints_and_the_configuration_of_the_plan() -> None:
    record = script.opened(RECORD)
    digests = {job.key: job.configuration.digest() for job in script.small_jobs("cpu")}
    for key, run in record.items():
        kept = 9 if key == "psMNIST / UnICORNN-128 / seed 0" else 12  # of that run no more weights were kept
        assert len(run["checkpoints"]) >= kept and run["checkpoints"][0]["step"] == 0, key
        assert key not in digests or run["digest"] == digests[key]
        has_new = [any(name.startswith("chain rule") for name in each["rows"]) for each in run["checkpoints"]]
        assert all(has_new) == (run["network"]["cell"] == "unicornn" and run["measured_by"] == plan.MEASURED), key
        lost = "UnICORNN-128" in key and key != "psMNIST / UnICORNN-128 / seed 0"  # but for archived weights
        assert (run["measured_by"] != plan.MEASURED) == lost and (not lost or any(has_new) == ("archive" in run)), key
    assert RECORD.stat().st_size < 5_000_000


def test_a_zero_is_recorded_as_zero_and_an_overflow_as_not_finite() -> None:
    sizes = [measures.of_size("inverse", f"error {number}", size) for number, size in enumerate((0.0, math.inf, 10.0))]
    rows = list(script.compact(sizes).values())
    assert [row[2] for row in rows] == [script.ZERO, None, 1.0]
    assert [words.power(row[2]) for row in rows] == ["0", "overflow", "10"]
    assert page._largest([script.ZERO, 1.0]) == 1.0 and page._largest([None, 1.0]) is None


def test_names_choose_tasks_cells_and_seeds_and_an_unknown_one_is_refused() -> None:
    jobs = list(script.small_jobs("cpu"))
    assert [job.key for job in script.chosen(["LinOSS", "seed 1", "adding, T = 100"], jobs)] == [
        "adding, T = 100 / LinOSS / seed 1"
    ]
    assert len(script.chosen([], jobs)) == 144
    with pytest.raises(SystemExit, match="no task, cell or seed is called so"):
        script.chosen(["GRU"], jobs)
    assert script.main(["--list", "--only", "LinOSS", "seed 1", "--only", "adding, T = 100"]) == 0


def test_what_is_known_without_a_run_is_taken_from_its_configuration_and_the_split(tmp_path: Path) -> None:
    job = next(job for job in script.small_jobs("cpu") if job.task.startswith("copying"))
    spec = dataclasses.replace(sample().spec, loss="cross entropy", baseline=0.25)
    targets = np.array([[0, 0, 0, 1], [2, 3, 2, 2]])  # the most frequent class of a row is 3 of 4, of all 3 of 8
    found = script.around(job, None, spec, targets)
    assert found["without_input"]["accuracy"] == 0.75 and found["without_input"]["loss"] == 0.25
    assert (found["epochs_planned"], found["steps"], found["cpu_seconds"]) == (8, 12, None)
    (tmp_path / "cpu_seconds.json").write_text("12.34", encoding="utf-8")
    assert script.around(job, tmp_path, spec, targets)["cpu_seconds"] == 12.3


@pytest.mark.parametrize("planted", [0.0, 1e-3])
def test_what_an_older_record_lacks_is_measured_with_archived_weights_of_the_same_network(planted: float) -> None:
    key = "sequential digits / UnICORNN / seed 0"
    run = script.opened(RECORD)[key]
    chosen = [each for each in run["checkpoints"] if each["step"] in archive.archived_weights(run, script.RESULTS)]
    assert len(chosen) == 3

    def older(rows: dict[str, Any]) -> dict[str, Any]:
        kept = {name: row for name, row in rows.items() if not archive_alone(name)}
        for name, row in kept.items():
            if name.startswith("through layers"):
                kept[name] = [row[0], row[1] - row[2] + planted, 0.0]
        return kept

    def archive_alone(name: str) -> bool:
        return name.startswith("chain rule") or (name.startswith(archive.LARGEST) and name.endswith("| "))

    known = [{"step": each["step"], "rows": older(each["rows"])} for each in chosen[:1]]
    stale = {**run, "measured_by": plan.MEASURED - 1, "checkpoints": known}
    if planted:
        with pytest.raises(ValueError, match="another network"):
            archive.completed(stale, script.RESULTS, script.compact)
        return
    made = archive.completed(stale, script.RESULTS, script.compact)
    assert made["measured_by"] == plan.MEASURED and archive.completed(made, script.RESULTS, script.compact) == made
    (found,) = made["checkpoints"]
    assert set(found["rows"]) == set(chosen[0]["rows"])
    for name, row in chosen[0]["rows"].items():
        assert found["rows"][name][0] == row[0] and found["rows"][name][1:] == pytest.approx(row[1:], abs=1e-6), name


def test_an_archive_belongs_to_one_run() -> None:
    record = {"a": {"archive": "x", "seed": 1}, "b": {"archive": "y"}}
    assert script.without_archive(record, "x") == {"a": {"seed": 1}, "b": {"archive": "y"}}
    assert script.without_archive(record, None) == record
    names = [run["archive"] for run in script.opened(RECORD).values() if "archive" in run]
    assert len(names) == len(set(names)) >= 48


def test_the_page_sums_the_time_that_is_known() -> None:
    known = run_of({}) | {"cpu_seconds": 3600.0, "measured_cpu_seconds": 1800.0}
    text = page._cost({"a": known, "b": run_of({}, seed=1)})
    assert "training 1 of the 2 small ones 1.00 hours" in text and "together 1.50 hours" in text
    assert page._cost({"a": run_of({})}) == ""
