"""Inputs with mean 0 and deviation 1 on the training split, by the functions of statistics."""

from __future__ import annotations

import statistics
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from verification import tasks
from verification.training import TrainingError, configuration, loop, splits, standardisation
from verification.training.standardisation import Standardisation

PLAN: dict[str, Any] = {
    "task": {"name": "adding", "steps": 7, "count": 40, "standardise": True},
    "network": {"cell": "torch.rnn", "hidden_size": 2},
    "optimizer": {"name": "adam", "lr": 0.01},
    "training": {"epochs": 1, "batch_size": 8},
}


def spec(lengths: list[int] | None) -> Any:
    return SimpleNamespace(lengths=lengths)


@pytest.mark.parametrize("lengths", [None, [3, 5, 1, 4]])
@pytest.mark.parametrize("portion", [1, 3, 1000])
def test_of_all_real_steps(lengths: list[int] | None, portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standardisation, "PORTION", portion)
    sequences = np.random.default_rng(0).normal(1e3, 2.0, (5, 4, 2)).astype(np.float32)
    found = Standardisation.of(sequences, spec(lengths))
    for index in range(2):
        real = [float(sequences[n, k, index]) for k in range(4) for n in range((lengths or [5] * 4)[k])]
        # sums of 20 numbers of 1e3 in float64, and squares of differences of 2
        assert found.mean[index] == pytest.approx(statistics.fmean(real), rel=1e-14)
        assert found.deviation[index] == pytest.approx(statistics.pstdev(real), rel=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3e8])
def test_an_input_that_never_changes_becomes_nothing(value: float) -> None:
    found = Standardisation.of(np.full((6, 7, 1), value), spec(None))
    assert found.deviation == [1.0]
    assert abs(found(torch.full((2, 1), value, dtype=torch.float64))).max() <= 1e-15 * abs(value)


def test_all_splits_are_seen_through_the_training_split() -> None:
    plan = configuration.from_mapping(PLAN)
    plain = configuration.from_mapping({**PLAN, "task": {**PLAN["task"], "standardise": False}})
    chosen = np.arange(40)
    train, _, _ = splits.load(plan, "train", None).batch(chosen)
    assert train.mean(dim=(0, 1)).abs().max() <= 1e-6
    assert (train.std(dim=(0, 1), correction=0) - 1).abs().max() <= 1e-6
    raw = splits.load(plain, "train", None).batch(chosen)[0].double().numpy()
    other = splits.load(plain, "test", None).batch(chosen)[0].double().numpy()
    expected = (other - raw.mean(axis=(0, 1))) / raw.std(axis=(0, 1))
    found = splits.load(plan, "test", None).batch(chosen)[0].numpy()
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()
    given = splits.load(plan, "test", None, train=splits.load(plan, "train", None)).batch(chosen)[0].numpy()
    assert np.array_equal(given, found)
    assert np.abs(found - (other - other.mean(axis=(0, 1))) / other.std(axis=(0, 1))).max() > 1e-2


def test_the_training_split_is_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adding = tasks.get("adding")
    loaded: list[str] = []

    def load(split: str, root: Any = None, **options: Any) -> Any:
        loaded.append(split)
        return adding.load(split, root, **options)

    monkeypatch.setattr(tasks, "get", lambda name, extra: SimpleNamespace(load=load, options=adding.options))
    loop.train(configuration.from_mapping(PLAN), tmp_path / "run")
    assert sorted(loaded) == ["test", "train", "validation"]


def test_it_is_part_of_what_is_trained_and_true_or_false() -> None:
    plan = configuration.from_mapping(PLAN)
    assert configuration.from_mapping(plan.to_plain()) == plan
    without = configuration.from_mapping({**PLAN, "task": {"name": "adding", "steps": 7, "count": 40}})
    assert plan.digest() != without.digest()
    assert "standardise" not in without.to_plain()["task"]
    with pytest.raises(TrainingError, match=r"standardise.*is 1; it must be true or false"):
        configuration.from_mapping({**PLAN, "task": {**PLAN["task"], "standardise": 1}})
