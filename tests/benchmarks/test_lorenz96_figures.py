"""What stands beside the trained networks of Lorenz 96: the error divided by two things, and their exponents."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.benchmarks.scripts import BENCHMARKS, imported
from verification import tasks
from verification.measure import lyapunov
from verification.measure.trained_network import effective_steps
from verification.training import configuration, network, splits

normalisers = imported("_normalisers")
exponents = imported("_exponents")
page = imported("_training_page")
plan = imported("_training_plan")

SMALL = {"forcing": 0.9, "steps": 30, "count": 3, "transient": 0.0}
TABLES: dict[str, dict[str, Any]] = {
    "task": {"name": "lorenz96", "standardise": True, **SMALL},
    "network": {"cell": "unicornn", "hidden_size": 4, "num_layers": 2, "dt": 0.2, "alpha": 1.0},
    "optimizer": {"name": "adam", "lr": 0.01},
    "training": {"epochs": 1, "batch_size": 2},
}


# --- two normalisers


def test_both_figures_are_those_of_a_loop_over_the_targets() -> None:
    plain = configuration.from_mapping(TABLES)
    data = splits.load(plain, "test", None)
    targets = data.targets.astype(float)
    columns = targets.reshape(-1, 5)
    squares = sum(float(x) ** 2 for row in columns for x in row) / columns.size
    variance = sum(float((column - column.mean()) @ (column - column.mean())) for column in columns.T) / columns.size
    found = normalisers.scores(data, 0.04, None)
    assert found["figure"] == pytest.approx(math.sqrt(0.04 / variance), rel=1e-12)
    assert found["over_rms"] == pytest.approx(0.2 / math.sqrt(squares), rel=1e-12)
    assert found["over_rms"] < 0.25 * found["figure"]  # the states stay near F
    assert normalisers.scores(data, None, None) == {"loss": None, "accuracy": None, "figure": None}


def test_other_figures_have_one_normaliser() -> None:
    data = SimpleNamespace(spec=SimpleNamespace(published_as="loss", published=lambda loss, accuracy: loss))
    assert normalisers.scores(data, 2.0, None) == {"loss": 2.0, "accuracy": None, "figure": 2.0}


def entry() -> dict[str, Any]:
    """A record as it was before there were two figures."""
    found: dict[str, Any] = {"task": "lorenz96", "task_options": SMALL, "figure": "normalised root", "data": {}}
    for split in ("validation", "test"):
        spec = tasks.get("lorenz96").load(split, **SMALL)[2]
        found[split] = {"loss": 0.01, "accuracy": None, "figure": spec.published(0.01)}
        found["data"][split] = {"sha256": spec.sha256}
    return found | {"test_data": found["data"]["test"], "beside": {"without input": 1.0}}


def test_an_older_record_gets_the_figure_that_it_lacks_from_the_same_data() -> None:
    before = {"runs": {"a": entry()}, "trials": {"b": {**entry(), "test": None}, "c": {"figure": "loss"}}, "other": 1}
    kept = copy.deepcopy(before)
    after, changed = normalisers.completed(before)
    assert changed and before == kept and after["other"] == 1 and after["trials"]["c"] == {"figure": "loss"}
    for run in (after["runs"]["a"], after["trials"]["b"]):
        targets = tasks.get("lorenz96").load("validation", **SMALL)[1].astype(float)
        assert run["validation"]["over_rms"] == pytest.approx(0.1 / math.sqrt(np.mean(targets**2)), rel=1e-12)
    run = after["runs"]["a"]
    assert normalisers.primary(run) == run["test"]["over_rms"]
    deviation = tasks.get("lorenz96").load("test", **SMALL)[1].reshape(-1, 5).astype(float).var(axis=0).mean()
    square = (tasks.get("lorenz96").load("test", **SMALL)[1].astype(float) ** 2).mean()
    assert normalisers.beside(run)["without input"] == pytest.approx(math.sqrt(deviation / square))
    assert normalisers.completed(after) == (after, False)


def test_a_record_of_other_data_is_refused() -> None:
    other = entry()
    other["test_data"] = {"sha256": "0" * 64}
    with pytest.raises(ValueError, match="is not what was recorded"):
        normalisers.completed({"runs": {"a": other}})


def test_the_committed_record_has_both_and_they_are_one_loss() -> None:
    record = json.loads((BENCHMARKS / "results" / "training_runs.json").read_text("utf-8"))
    found = [run for run in record["runs"].values() if run["task"] == "lorenz96"]
    assert len(found) >= 4
    for run in found:
        assert run["test"]["over_rms"] < run["test"]["figure"]


def test_how_near_each_normaliser_comes_to_what_is_printed_is_as_the_pages_say() -> None:
    """Medians over seeds, beside Table 7: within a fifth four of eight rows over the root mean square, else one."""
    record = json.loads((BENCHMARKS / "results" / "training_runs.json").read_text("utf-8"))
    rows: dict[str, list[dict[str, Any]]] = {}
    for run in record["runs"].values():
        if run["task"] == "lorenz96":
            rows.setdefault(run["name"], []).append(run)
    near, apart = {}, {}
    for figure in ("over_rms", "figure"):
        medians = {name: float(np.median([run["test"][figure] for run in runs])) for name, runs in rows.items()}
        printed = {name: float(runs[0]["published"][0]["text"]) for name, runs in rows.items()}
        near[figure] = sum(abs(medians[name] / printed[name] - 1) <= 0.2 for name in rows)
        apart[figure] = medians
    assert len(rows) == 8 and near == {"over_rms": 4, "figure": 1}
    for name, times in (
        ("F = 0.9, UnICORNN", 8.8),
        ("F = 0.9, UnICORNN, transient kept", 7.0),
        ("F = 8, UnICORNN, transient kept", 1.2),
    ):
        ratio = apart["figure"][f"Lorenz 96, {name}"] / apart["over_rms"][f"Lorenz 96, {name}"]
        assert round(ratio, 1) == times
    words = " ".join((plan.TEXTS["lorenz96"] + (BENCHMARKS.parent / "docs" / "tasks.md").read_text("utf-8")).split())
    assert words.count("four of eight") == 2 and "8.8 times" in words and "7.0 times" in words and "1.2 times" in words


# --- exponents


def small(**options: Any) -> tuple[network.TaskNetwork, splits.SplitData]:
    read = configuration.from_mapping({**TABLES, "network": {**TABLES["network"], **options}})
    data = splits.load(read, "test", None)
    return network.build(read.network, data.spec, seed=0, dtype=torch.float64), data


def test_the_states_are_those_of_the_network() -> None:
    model, _ = small()
    u = torch.randn(20, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    below = u
    with torch.no_grad():
        for number in range(2):
            _, below = exponents._of_layer(model.recurrent, number, below, 0.01)
        torch.testing.assert_close(below, model.recurrent(u)[0], rtol=1e-10, atol=1e-12)


def test_a_saddle_has_its_exact_exponent_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A neuron without input rests at 0, where w = −5 makes a saddle: 2 asinh(h √4/2)/h per unit of its time."""
    monkeypatch.setattr(exponents, "STEPS", 400)
    monkeypatch.setattr(exponents, "_of_system", lambda forcing: forcing)
    model, data = small()
    before = exponents.of_lorenz96(model, data, SMALL)
    assert before["saddles"] == 0 and before["of the system"] == 0.9
    with torch.no_grad():
        layer = model.recurrent.layers[1]
        layer.w[2], layer.V[2], layer.b[2] = -5.0, 0.0, 0.0
    found = exponents.of_lorenz96(model, data, SMALL)
    h = float(effective_steps(model.recurrent.coefficients(1))[2])
    assert found["largest"] == pytest.approx(lyapunov.saddle_exponent(1.0, -5.0, h) * h / 0.01, rel=1e-6)
    assert (found["layer"], found["neuron"], found["saddles"]) == (2, 3, 1)
    assert found["growing"] >= 1 and before["largest"] < found["largest"]


def test_other_cells_and_tasks_have_none(tmp_path: Path) -> None:
    read = configuration.from_mapping({**TABLES, "network": {"cell": "torch.lstm", "hidden_size": 4}})
    data = splits.load(read, "test", None)
    model = network.build(read.network, data.spec, seed=0, dtype=torch.float32)
    assert exponents.of_lorenz96(model, data, SMALL) is None
    adding = configuration.from_mapping({**TABLES, "task": {"name": "adding"}})
    assert exponents.of_run(adding, tmp_path, data) == {}


def test_the_page_answers_from_the_exponents_whether_trained_networks_are_chaotic() -> None:
    def run(growing: int, largest: float) -> dict[str, Any]:
        found = {"growing": growing, "neurons": 8, "largest": largest, "of the system": 0.5}
        return {"name": "planted", "exponents": found}

    calm = page._is_chaotic([run(0, 0.04), run(0, 0.01)])
    assert "no neuron of 2 seeds has λ > 0.1, the largest λ are 0.010, 0.040" in calm
    growing = page._is_chaotic([run(0, 0.04), run(2, 0.3)])
    assert "planted: no; in 1 of 2 seeds 2 of 8 neurons have λ > 0.1" in growing and "0.040, 0.300" in growing


def test_notes_say_when_the_rate_falls_elsewhere_and_the_constants_of_both_rows() -> None:
    """Of every planned run with other milestones than its file; of Lorenz 96 dt with the transient and without."""
    changed = [each for each in plan.RUNS if "milestones" in each.training]
    assert len(changed) >= 8
    for each in changed:
        ((epoch, _),) = each.training["milestones"]
        assert f"the rate falls after {epoch}" in each.note, each.name
    for forcing, note in plan.CONSTANTS.items():
        rows = [f"unicornn-90-f{forcing}{end}" for end in ("-kept", "")]
        kept, other = (configuration.read("unicornn_table7_lorenz96", row).to_plain()["network"] for row in rows)
        assert f"dt = {kept['dt']:g} and" in note and f"without it dt = {other['dt']:g} and" in note
