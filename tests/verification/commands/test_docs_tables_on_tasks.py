"""docs/tables_on_tasks.md shows what its numbers say, and the numbers are of what the script would train."""

from __future__ import annotations

import functools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import scripts
from tests.tiers import slow, spread
from verification.cli import main
from verification.report.pictures import training as training_pictures
from verification.training import configuration, loop

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = CHECKOUT / "docs" / "tables_on_tasks.md"
SCRIPT = CHECKOUT / "docs" / "pictures" / "tables_on_tasks.py"
REGENERATE = "Run `python docs/pictures/tables_on_tasks.py --draw`, or without --draw to train again."
MOST_BYTES = 60_000


script = scripts.loaded(SCRIPT)


@functools.cache
def numbers(name: str) -> dict[str, Any]:
    found: dict[str, Any] = script.numbers_of(name)
    return found


def curves() -> dict[str, dict[str, list[float]]]:
    return {curve["label"]: curve for curve in numbers("gradient_norms")["curves"]}


def test_the_tables_of_the_page_are_those_of_the_numbers() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert script.with_tables(text) == text, REGENERATE
    with pytest.raises(ValueError, match="<!-- time_steps -->"):
        script.with_tables(text.replace("<!-- time_steps -->", ""))


def test_the_page_shows_every_picture_and_each_is_small() -> None:
    shown = re.findall(r"!\[.+?\]\(pictures/(\w+)\.svg\)", PAGE.read_text(encoding="utf-8"))
    assert shown == list(script.FILES)
    for name in shown:
        picture = (SCRIPT.parent / f"{name}.svg").read_text(encoding="utf-8")
        assert len(picture.encode()) < MOST_BYTES and "dc:date" not in picture


def labels(picture: str) -> list[str]:
    return re.findall(r"<(?:tspan|text)[^>]*>([^<]+)</", picture)


@pytest.mark.slow
@pytest.mark.parametrize("name", spread(script.FILES, 1))
def test_every_picture_is_drawn_from_its_numbers(name: str, tmp_path: Path) -> None:
    """The same text and as many curves; coordinates may move with another version of matplotlib."""
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    shown = (SCRIPT.parent / f"{name}.svg").read_text(encoding="utf-8")
    drawn = training_pictures.svg(script.FILES[name][0], numbers(name))
    assert labels(drawn) == labels(shown) and len(labels(shown)) > 20, REGENERATE
    assert drawn.count("<path") == shown.count("<path")
    assert drawn == training_pictures.svg(script.FILES[name][0], numbers(name))


def test_what_was_trained_is_what_the_script_trains() -> None:
    for trained in numbers("gradient_norms")["trained"]:
        assert trained["configuration"] == plain(script.adding_plan(trained["label"])), REGENERATE
    digits, mnist = numbers("orthogonality_drift")["panels"]
    for panel, plan in ((digits, script.digits_plan), (mnist, script.mnist_plan)):
        for curve in panel["curves"]:
            assert curve["configuration"] == plain(plan(curve["label"])), REGENERATE
    assert [curve["label"] for curve in digits["curves"]] == list(script.ORTHOGONAL)
    assert {curve["configuration"]["network"]["hidden_size"] for curve in mnist["curves"]} == {512}
    network = numbers("time_steps")["configuration"]["network"]
    assert [layer["dt"] for layer in numbers("time_steps")["layers"]] == [network["dt"]] * network["num_layers"]


def plain(plan: configuration.Configuration) -> Any:
    return json.loads(json.dumps(plan.to_plain()))


# --- what the text says


def test_scornn_is_an_isometry_before_training() -> None:
    """b = 0: every unit is active off z = 0, so ∂L/∂h_n = Wᵀ ∂L/∂h_{n+1}: one norm, to the six digits that are kept."""
    before = np.array(curves()["scoRNN"]["before"])
    assert before.shape == (500,) and before.max() / before.min() < 1 + 1e-4


def test_scornn_loses_little_and_only_goes_down() -> None:
    """D_n is a projection, so the norm cannot grow on its way back, but for roundings in the sixth digit."""
    after = np.array(curves()["scoRNN"]["after"])
    assert (np.diff(after) > -1e-5 * after[1:]).all()
    assert 3.5 < after[-1] / after[0] < 4.5 and after[400] < 0.4 * after[-1]


def test_the_lstm_grows_before_and_vanishes_after() -> None:
    before, after = (np.array(curves()["LSTM"][when]) for when in ("before", "after"))
    assert before[0] > 100 * before[399] and after.min() < 0.01 * after[-1]
    for when in ("before", "after"):  # h alone is a part of (h, c)
        whole, part = (np.array(curves()[label][when]) for label in ("LSTM", "LSTM, h alone"))
        assert (part <= whole * (1 + 1e-5)).all()


def test_unicornn_keeps_its_gradient() -> None:
    for when in ("before", "after"):
        last, first = (np.array(curves()[f"UnICORNN, layer {number}"][when]) for number in (2, 1))
        assert last.max() / last.min() < 1.3
        assert first[-1] < 1e-2 * last[-1] and first[0] > last[0]


def test_training_taught_something() -> None:
    """Below the loss of who sees nothing, 1/6, after 300 updates."""
    losses = {each["label"]: each["loss"] for each in numbers("gradient_norms")["trained"]}
    assert all(loss["before"] > 1.0 and loss["after"] < 1 / 6 for loss in losses.values()) and len(losses) == 3


def test_what_is_multiplied_drifts_and_what_is_made_anew_does_not() -> None:
    for panel in numbers("orthogonality_drift")["panels"]:
        found = {curve["label"]: curve for curve in panel["curves"]}
        assert list(found) == list(script.ORTHOGONAL)
        for label, curve in found.items():
            assert all(0 < score < 1e-2 for score in curve["scores"]) and curve["updates"][0] == 1
            exponent = script.scaling.fit(curve["updates"], curve["scores"]).value
            if label == "full-capacity uRNN":
                assert 0.25 < exponent < 1.1, (panel["title"], label, exponent)
            else:
                assert exponent < 0.25, (panel["title"], label, exponent)


def test_time_steps_spread_and_weights_stay_bounded() -> None:
    found = numbers("time_steps")
    alpha = found["configuration"]["network"]["alpha"]
    for layer, largest in zip(found["layers"], found["norms"]["largest"], strict=True):
        spread = {when: max(layer["steps"][when]) / min(layer["steps"][when]) for when in ("before", "after")}
        assert spread["after"] > 1.5 * spread["before"] and max(layer["steps"]["after"]) < layer["dt"]
        assert layer["dt"] / min(layer["steps"]["after"]) < 28
        assert -alpha < min(layer["weights"]["after"]) < 0 < min(layer["weights"]["before"])
        assert max(largest) < 2.5 * largest[0] and max(largest[-15:]) < 1.05 * min(largest[-15:])


# --- the script


def test_scores_are_taken_when_they_are_due(tmp_path: Path) -> None:
    assert script.powers_of_two(48) == (1, 2, 4, 8, 16, 32, 48) and script.powers_of_two(8) == (1, 2, 4, 8)
    training = {"epochs": 2, "batch_size": 5}
    task = {"name": "adding", "steps": 4, "count": 20}
    plan = script.orthogonal_plan("full-capacity uRNN", task, 3, training, 1e-4)
    scores = script.Scores((1, 2, 5))
    loop.train(plan, tmp_path / "run", watchers=[scores])
    assert scores.updates == [1, 2, 5] and all(0 < score < 1e-5 for score in scores.scores)


@pytest.mark.slow
def test_a_short_training_of_the_three(tmp_path: Path) -> None:
    panel = script.trained_drift(tmp_path, n=4, epochs=1)
    for curve in panel["curves"]:
        assert curve["updates"] == [1, 2, 4, 8, 16, 32, 38] and 0 < min(curve["scores"]) < max(curve["scores"]) < 1e-5


# --- the command


PLAN = """
[task]
name = "adding"
steps = 6
count = 10
[network]
cell = "unicornn"
hidden_size = 3
num_layers = 2
dt = 0.2
alpha = 1.0
[optimizer]
name = "adam"
lr = 0.01
[training]
epochs = 1
batch_size = 5
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("runs")
    (where / "plan.toml").write_text(PLAN, encoding="utf-8")
    loop.train(configuration.read(where / "plan.toml"), where / "one")
    return where


@pytest.mark.parametrize("kind", ["gradients", slow("neurons")])
def test_a_picture_of_a_run(kind: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    file = tmp_path / f"{kind}.svg"
    own = ["--sequences", "3"] if kind == "gradients" else []
    assert main(["picture", kind, "--runs", str(run), "--out", str(file), *own]) == 0
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("wrote") == 2
    found = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    assert file.read_text(encoding="utf-8") == training_pictures.svg(kind, found)
    if kind == "gradients":
        assert [curve["label"] for curve in found["curves"]] == ["unicornn, n = 3, layer 1", "unicornn, n = 3, layer 2"]
        assert all(math.isfinite(value) for curve in found["curves"] for value in curve["after"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["picture", "gradient", "--runs", "RUN"], 'There is no picture "gradient". Choose one of: gradients'),
        (["picture", "gradients"], "--runs is missing"),
        (["picture", "gradients", "--runs", "RUN", "--out", "a.png"], "must end in .svg"),
        (["picture", "gradients", "--runs", "RUN/none"], "is no folder"),
        (["picture", "orthogonality", "--runs", "RUN", "--out", "RUN/a.svg"], "train with --monitor EVERY"),
        (["picture", "neurons", "--runs", "RUN", "--out", "RUN/none/a.svg"], "cannot be written"),
        (["table", "--task", "adding"], "--task and --runs go together"),
        (["table", "--runs", "RUN"], "--task and --runs go together"),
        (["table", "--by-epoch"], "--task and --runs go together"),
        (["table", "--task", "adding", "--runs", "RUN", "--claim", "icml-C.1"], "--claim: is about claims"),
        (["table", "--task", "adding", "--runs", "RUN", "--store", "a"], "--store: is about claims and their store"),
        (["table", "--task", "adding", "--runs", "RUN", "--by-epoch", "--full"], "--full: adds printed results"),
        (["picture", "neurons", "--runs", "RUN", "--sequences", "3"], "--sequences: means nothing for the picture"),
        (["picture", "orthogonality", "--runs", "RUN", "--root", "a"], "--root: means nothing for the picture"),
        (["table", "--task", "adding", "--runs", "RUN", "--format", "html"], "html"),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    arguments: list[str], words: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.replace("RUN", str(run)) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.err.count("\n") == 1 and not said.out


@pytest.mark.parametrize("name", ["run", "result"])
def test_a_picture_takes_no_record_of_a_run_away(name: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """run.svg in the folder of a run would have its numbers in run.json."""
    file = run / "one" / f"{name}.json"
    before = file.read_bytes()
    assert main(["picture", "neurons", "--runs", str(run), "--out", str(file.with_suffix(".svg"))]) == 2
    assert "would be lost. Choose another name." in capsys.readouterr().err
    assert file.read_bytes() == before and not file.with_suffix(".svg").exists()


def test_a_picture_is_drawn_over_an_earlier_one(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    for kind in ("gradients", "neurons"):
        assert main(["picture", kind, "--runs", str(run), "--out", str(tmp_path / "a.svg")]) == 0
    assert "layers" in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    capsys.readouterr()


def test_the_table_by_the_command_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "--task", "adding", "--runs", str(run), "--width", "200"]) == 0
    text = capsys.readouterr().out
    assert "unicornn" in text and "0.167" in text and "In all runs: task.steps = 6, task.count = 10." in text
    assert main(["table", "--task", "adding", "--runs", str(run), "--by-epoch", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("kind,task,folder,network,hidden_size,seed,epoch,step")
