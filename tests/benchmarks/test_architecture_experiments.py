"""benchmarks/architecture_experiments.py: the protocol on tiny runs. Its page: test_architecture_page.py."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tests.benchmarks.scripts import imported

page = imported("_architecture_page")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with its four tasks at a size of a second."""
    module = imported("architecture_experiments")
    tiny = []
    for experiment in module.EXPERIMENTS:
        options = {key: value if key == "permuted" else 5 for key, value in experiment.options.items()}
        counts = dict.fromkeys(experiment.counts, 60)
        tiny.append(dataclasses.replace(experiment, batches=4, counts=counts, options=options))
    monkeypatch.setattr(module, "EXPERIMENTS", (tiny[0], tiny[1], tiny[-1]))
    monkeypatch.setattr(module, "SEEDS", (1, 2))
    monkeypatch.setattr(module, "LOOKS", 2)
    return module


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what two equal runs differ in."""
    runs = {
        key: {name: value for name, value in result.items() if not name.endswith("_seconds")}
        for key, result in record["runs"].items()
    }
    return record | {"runs": runs}


def read(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "architecture_experiments.json").read_text("utf-8"))
    return found


# --- the protocol


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_record(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    script.main(["--output", str(whole)])
    train = script.run

    def killed(*arguments: Any, **options: Any) -> Any:
        if len(read(broken)["runs"]) == 8 if (broken / "architecture_experiments.json").exists() else False:
            raise KeyboardInterrupt
        return train(*arguments, **options)

    monkeypatch.setattr(script, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        script.main(["--output", str(broken)])
    assert len(read(broken)["runs"]) == 8
    made: list[str] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(script.key_of(*arguments))
        return train(*arguments, **options)

    monkeypatch.setattr(script, "run", counted)
    script.main(["--output", str(broken)])
    assert timeless(read(broken)) == timeless(read(whole))
    assert len(read(whole)["runs"]) == (3 + 2 + 4) * (len(script.RATES) + 2)
    assert made == list(read(whole)["runs"])[8:]
    assert all(("test_loss" in run) == (run["seed"] != script.TUNING_SEED) for run in read(whole)["runs"].values())
    assert (whole / "architecture_experiments.md").read_text("utf-8") == page.page(read(whole))
    assert not list(tmp_path.rglob("*.part"))


def test_no_further_run_begins_when_the_time_is_up(script: ModuleType, tmp_path: Path) -> None:
    script.main(["--output", str(tmp_path), "--seconds", "0"])
    assert not (tmp_path / "architecture_experiments.json").exists()
    text = (tmp_path / "architecture_experiments.md").read_text("utf-8")
    assert all(experiment.name in text[text.index("Not run yet: ") :] for experiment in script.EXPERIMENTS)


def test_a_record_of_other_settings_is_refused_and_a_new_experiment_is_added(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "architecture_experiments.json"
    every = script.EXPERIMENTS
    monkeypatch.setattr(script, "EXPERIMENTS", every[:1] + every[2:])
    script.written(path, script.opened(path, anew=False))
    monkeypatch.setattr(script, "EXPERIMENTS", every)
    assert script.opened(path, anew=False)["settings"] == script.settings()
    monkeypatch.setattr(script, "EXPERIMENTS", (dataclasses.replace(every[0], batches=5), *every[1:]))
    with pytest.raises(SystemExit, match="other settings"):
        script.opened(path, anew=False)
    monkeypatch.setattr(script, "EXPERIMENTS", every[:1])
    with pytest.raises(SystemExit, match="other settings"):  # the record has more than there is
        script.opened(path, anew=False)
    assert script.opened(path, anew=True)["runs"] == {}


def test_no_test_sequence_is_looked_at_before_the_rate_is_chosen(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    load = script.load

    def watched(experiment: Any, split: str, seed: int) -> Any:
        looked.append(split)
        return load(experiment, split, seed)

    monkeypatch.setattr(script, "load", watched)
    experiment = script.EXPERIMENTS[0]
    result = script.run(experiment, "sh", 1e-3, 0, tested=False)
    assert set(looked) == {"train", "validation"} and "test_loss" not in result
    script.run(experiment, "sh", 1e-3, 1, tested=True)
    assert looked.count("test") == 1


def test_every_tuning_run_is_before_every_tested_run_and_seeds_are_complete_one_by_one(script: ModuleType) -> None:
    keys = [script.key_of(e, a, rate, 0) for e in script.EXPERIMENTS for a in e.architectures for rate in script.RATES]
    record = {"runs": {key: {"validation_loss": 1.0} for key in keys}}
    seeds = [seed for *_, seed in script.jobs(record)]
    assert seeds == [0] * len(keys) + [1] * 9 + [2] * 9


def test_a_further_experiment_is_begun_when_all_others_are_complete(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = script.EXPERIMENTS
    monkeypatch.setattr(script, "EXPERIMENTS", (dataclasses.replace(first, is_further=True), *others))
    monkeypatch.setattr(script, "chosen_rate", lambda *_: 1e-2)
    order = [experiment.name for experiment, *_ in script.jobs({})]
    runs = 3 * (len(script.RATES) + len(script.SEEDS))  # of three architectures
    assert order.count(first.name) == runs and set(order[-runs:]) == {first.name}


@pytest.mark.parametrize(
    ("losses", "expected"),
    [((3.0, 1.0, 2.0), 3e-3), ((1.0, 1.0, 2.0), 1e-2), ((None, 5.0, 4.0), 1e-3), ((None, None, None), 1e-2)],
)
def test_the_rate_is_that_of_the_least_validation_loss(
    script: ModuleType, losses: tuple[float | None, ...], expected: float
) -> None:
    experiment = script.EXPERIMENTS[0]
    runs = {
        script.key_of(experiment, "sh", rate, 0): {"validation_loss": loss, "test_loss": -index}
        for index, (rate, loss) in enumerate(zip(script.RATES, losses, strict=True))
    }
    assert script.chosen_rate({"runs": runs}, experiment, "sh") == expected


def test_the_weights_that_are_tested_are_those_of_the_least_validation_loss(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made losses: the second look is the best of four, so the test sees the weights of that moment."""
    monkeypatch.setattr(script, "LOOKS", 4)
    made, seen = iter([4.0, 2.0, math.nan, 3.0, 7.0]), []

    def evaluate(network: Any, data: Any) -> Any:
        seen.append(torch.cat([p.detach().flatten().clone() for p in network.parameters()]))
        return script.Evaluation(next(made), None, None)

    monkeypatch.setattr(script, "evaluate", evaluate)
    result = script.run(script.EXPERIMENTS[0], "skip-6", 1e-2, 1, tested=True)
    assert (result["validation_loss"], result["best_batch"], result["test_loss"]) == (2.0, 2, 7.0)
    assert torch.equal(seen[4], seen[1]) and not torch.equal(seen[4], seen[3])
    assert [look["validation"] for look in result["curve"]] == [4.0, 2.0, None, 3.0]


@pytest.mark.slow
def test_architectures_see_the_same_sequences_in_the_same_order_and_seeds_do_not(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    step = script.step

    def watched(network: Any, optimizer: Any, sequences: torch.Tensor, *rest: Any) -> float:
        seen.append(sequences.numpy().tobytes())
        return float(step(network, optimizer, sequences, *rest))

    monkeypatch.setattr(script, "step", watched)
    for experiment in script.EXPERIMENTS:
        orders = {}
        for name in experiment.architectures:
            for seed in (1, 2):
                seen.clear()
                script.run(experiment, name, 1e-3, seed, tested=False)
                orders[name, seed] = tuple(seen)
        assert all(len(order) == len(set(order)) == 4 for order in orders.values())
        by_seed = [{orders[name, seed] for name in experiment.architectures} for seed in (1, 2)]
        assert [len(several) for several in by_seed] == [1, 1] and by_seed[0] != by_seed[1]


def test_the_digits_are_split_in_the_same_way_for_every_seed(script: ModuleType) -> None:
    """Else the images on which the rate was chosen would be among those of another seed's test."""
    for split in ("train", "validation", "test"):
        assert len({script.load(script.EXPERIMENTS[-1], split, seed).spec.sha256 for seed in (0, 1, 2)}) == 1
        assert len({script.load(script.EXPERIMENTS[0], split, seed).spec.sha256 for seed in (0, 1, 2)}) == 3


def test_a_batch_takes_every_sequence_once_a_round_and_leaves_a_rest(script: ModuleType) -> None:
    data = script.load(script.EXPERIMENTS[-1], "train", 1)  # 1197 images: 23 batches and 47 left
    numbered = dataclasses.replace(data, sequences=torch.arange(1197.0).reshape(1, -1, 1), targets=torch.arange(1197))
    made = list(script.batches(numbered, 46, torch.Generator().manual_seed(0)))
    assert len(made) == 46 and all(len(targets) == 50 for _, targets in made)
    assert all(torch.equal(sequences[0, :, 0].long(), targets) for sequences, targets in made)
    for rounds in (made[:23], made[23:]):
        assert len({int(i) for _, targets in rounds for i in targets}) == 1150


def test_losses_and_accuracies_are_those_written_out(script: ModuleType) -> None:
    chance = np.random.default_rng(0)
    copying, adding, digits = (script.load(e, "validation", 1).spec for e in script.EXPERIMENTS)
    output = chance.normal(size=(25, 6, 10))
    for spec, targets in ((copying, chance.integers(0, 10, (25, 6))), (digits, chance.integers(0, 10, 6))):
        rows = [(n, j) for n in range(25) for j in range(6)] if spec is copying else [(24, j) for j in range(6)]
        label = {(n, j): int(targets[n, j] if spec is copying else targets[j]) for n, j in rows}
        nats = [math.log(sum(math.exp(v) for v in output[r])) - output[r][label[r]] for r in rows]
        found = script.loss_of(torch.tensor(output), torch.tensor(targets), spec)
        assert float(found) == pytest.approx(sum(nats) / len(nats), rel=1e-12)  # float64, 150 terms
        counted = [r for r in rows if r[0] >= 15] if spec is copying else rows
        hits = script.hits_of(torch.tensor(output), torch.tensor(targets), spec)
        assert int(hits.sum()) == sum(int(np.argmax(output[r])) == label[r] for r in counted)
        assert hits.numel() == len(counted)
    sums = chance.random(6)
    expected = sum((output[24, j, 0] - sums[j]) ** 2 for j in range(6)) / 6
    found = script.loss_of(torch.tensor(output[..., :1]), torch.tensor(sums), adding)
    assert float(found) == pytest.approx(expected, rel=1e-12)
    assert script.hits_of(torch.tensor(output[..., :1]), torch.tensor(sums), adding) is None


def test_a_run_has_the_number_of_right_classes_and_of_those_asked(script: ModuleType) -> None:
    """The share is torch's mean in float64, the number its sum of integers."""
    for experiment, asked in zip(script.EXPERIMENTS, ((600, 600), (None, None), (300, 300)), strict=True):
        result = script.run(experiment, experiment.architectures[0], 1e-3, 1, tested=True)
        assert (result["validation_asked"], result["test_asked"]) == asked
        for right, of, share in (
            *((look["right"], asked[0], look["accuracy"]) for look in result["curve"]),
            (result["test_right"], asked[1], result["test_accuracy"]),
        ):
            assert (right, share) == (None, None) if of is None else type(right) is int and right / of == share
