"""benchmarks/architecture_experiments.py: the protocol on tiny runs, statistics against scipy, what is committed."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.benchmarks.scripts import BENCHMARKS, imported

RECORD = BENCHMARKS / "results" / "architecture_experiments.json"


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

    def evaluate(network: Any, data: Any) -> tuple[float, None]:
        seen.append(torch.cat([p.detach().flatten().clone() for p in network.parameters()]))
        return next(made), None

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
        right = sum(int(np.argmax(output[r])) == label[r] for r in counted) / len(counted)
        assert script.accuracy_of(torch.tensor(output), torch.tensor(targets), spec) == pytest.approx(right, rel=1e-12)
    sums = chance.random(6)
    expected = sum((output[24, j, 0] - sums[j]) ** 2 for j in range(6)) / 6
    found = script.loss_of(torch.tensor(output[..., :1]), torch.tensor(sums), adding)
    assert float(found) == pytest.approx(expected, rel=1e-12)
    assert script.accuracy_of(torch.tensor(output[..., :1]), torch.tensor(sums), adding) is None


# --- the statistics


def comparison(*differences: float) -> Any:
    return page.Comparison("b", "a", differences)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_signs_and_flips_are_those_of_scipy(differences: list[int]) -> None:
    c = comparison(*map(float, differences))
    if c.wins + c.losses:
        binomial = stats.binomtest(c.wins, c.wins + c.losses, alternative="greater").pvalue
        assert float(c.signs) == pytest.approx(binomial, rel=1e-12)
        back = stats.binomtest(c.losses, c.wins + c.losses, alternative="greater").pvalue
        assert float(c.signs_reversed) == pytest.approx(back, rel=1e-12)
    else:
        assert c.signs == c.signs_reversed == 1
    every = [np.dot(s, np.abs(differences)) for s in itertools.product((-1, 1), repeat=len(differences))]
    assert c.flips == Fraction(int(np.sum(np.array(every) >= sum(differences))), len(every))


def test_flips_agree_with_the_permutation_test_of_scipy_on_a_known_sample() -> None:
    differences = [0.3, -0.1, 0.25, 0.4, 0.05, -0.2]
    found = stats.permutation_test(
        (np.array(differences), np.zeros(6)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        vectorized=True,
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
    )
    assert float(comparison(*differences).flips) == pytest.approx(found.pvalue, rel=1e-12)


def test_the_correction_is_holms_on_a_worked_example() -> None:
    given_, expected = ("0.01", "0.04", "0.03", "0.005"), ("0.03", "0.06", "0.06", "0.02")
    assert page.corrected([Fraction(p) for p in given_]) == [Fraction(p) for p in expected]
    assert page.corrected([Fraction(1, 2)] * 3) == [1, 1, 1]


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ((1.0,) * 5, "shows"),  # 1/32
        ((1.0,) * 4, "leans"),  # 1/16
        ((1.0,) * 9 + (-1.0,), "shows"),  # 11/1024
        ((1.0,) * 8 + (-9.0,) * 2, "leans"),  # 56/1024
        ((-1.0,) * 5, "reversed"),
        ((1.0, -2.0, -3.0), "leans the other way"),
        ((0.0, 1.0, -1.0), "no difference"),
        ((1.0, 1.0), "not run"),
    ],
)
def test_the_word_for_a_pair(differences: tuple[float, ...], word: str) -> None:
    assert page.words([comparison(*differences)]) == [word]


def test_a_word_of_several_pairs_is_corrected() -> None:
    five, ten = comparison(*(1.0,) * 5), comparison(*(1.0,) * 10)
    assert page.words([five] * 2) == ["leans"] * 2
    assert page.words([ten] * 6) == ["shows"] * 6
    assert page.words([five, ten]) == ["shows"] * 2  # 1/1024 twice, then 1/32 once


@pytest.mark.parametrize(
    ("pairs", "share"),
    [(["ab", "bc", "cd"], Fraction(1, 24)), (["ab", "bc", "bd"], Fraction(1, 12)), (["ab"], Fraction(1, 2))],
)
def test_the_share_of_rankings_that_keep_an_ordering(pairs: list[str], share: Fraction) -> None:
    assert page.share_of_rankings("abcd", pairs) == share


def test_less_loss_and_more_accuracy_are_better() -> None:
    found = {
        "good": {1: {"test_loss": 0.1, "test_accuracy": 0.9}, 2: {"test_loss": 0.2, "test_accuracy": 0.8}},
        "bad": {1: {"test_loss": 0.3, "test_accuracy": 0.7}, 2: {"test_loss": 0.1, "test_accuracy": 0.9}},
    }
    for metric in ("loss", "accuracy"):
        c = page.compared(found, ("good", "bad"), metric)
        assert c.differences == pytest.approx((0.2, -0.1)) and (c.wins, c.losses) == (1, 1)
        assert page.in_order(found, [("good", "bad")], metric) == (1, 2)
        assert page.medians_in_order(found, [("good", "bad")], metric)
        assert not page.medians_in_order(found, [("bad", "good")], metric)


def test_the_pairs_that_are_not_claimed_are_the_others() -> None:
    experiment = {"architectures": ["a", "b", "c"], "claimed": [["c", "b"], ["a", "c"]]}
    assert page.not_claimed(experiment) == [("b", "a")]


# --- what is committed


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return found


def test_the_page_is_the_one_of_the_record(record: dict[str, Any]) -> None:
    """`python benchmarks/architecture_experiments.py --page` writes it again."""
    assert page.PAGE.read_text("utf-8") == page.page(record)


def test_the_record_is_of_the_settings_in_the_script(record: dict[str, Any]) -> None:
    module = imported("architecture_experiments")
    assert record["settings"] == module.settings()
    for experiment in module.EXPERIMENTS:
        if experiment.is_further and not any(page.results_of(record, module._plain(experiment)).values()):
            continue
        for architecture in experiment.architectures:
            rate = module.chosen_rate(record, experiment, architecture)
            tested = {
                key
                for key, result in record["runs"].items()
                if key.startswith(f"{experiment.name} / {architecture} / ") and "test_loss" in result
            }
            expected = {module.key_of(experiment, architecture, rate, seed) for seed in module.SEEDS}
            assert tested <= expected and (len(tested) >= 5 or experiment.is_further)


def test_equal_parameters_are_within_three_per_cent(record: dict[str, Any]) -> None:
    for experiment in record["settings"]["experiments"]:
        found = page.results_of(record, experiment)
        counts = {run["parameters"] for runs in found.values() for run in runs.values()}
        assert max(counts, default=1) < 1.03 * min(counts, default=1)


def test_the_record_has_the_checksums_of_todays_tasks(record: dict[str, Any]) -> None:
    module = imported("architecture_experiments")
    seen = 0
    for experiment in module.EXPERIMENTS:
        for result in page.results_of(record, module._plain(experiment))[experiment.architectures[0]].values():
            if result["seed"] == module.SEEDS[0]:
                for split in ("validation", "test"):
                    assert module.load(experiment, split, result["seed"]).spec.sha256 == result["data"][split]
                seen += 1
    assert seen >= 4
