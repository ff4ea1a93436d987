"""Folders as ``odernn train`` leaves them, without training: what the tables read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CONFIGURATION: dict[str, dict[str, Any]] = {
    "task": {"name": "sequential_mnist", "permuted": True},
    "network": {"cell": "unicornn", "hidden_size": 128, "num_layers": 3, "dt": 0.482, "alpha": 12.53},
    "optimizer": {"name": "adam", "lr": 0.001, "groups": []},
    "training": {"epochs": 3, "batch_size": 64, "milestones": [], "seed": 0},
}
HEADER = "epoch,step,learning_rate_factor,train_loss,validation_loss,validation_accuracy,seconds,sequences_per_second"


def configured(**changes: Any) -> dict[str, dict[str, Any]]:
    """``configured(network__dt=0.1)``; None takes a key away."""
    made = {name: dict(table) for name, table in CONFIGURATION.items()}
    for path, value in changes.items():
        table, key = path.split("__")
        made[table][key] = value
        if value is None:
            del made[table][key]
    return made


def write(
    folder: Path,
    configuration: Mapping[str, Mapping[str, Any]],
    validation: Sequence[tuple[float, float | None]],
    test: tuple[float, float | None] | None = None,
    *,
    baseline: float = 2.3,
    parameters: int = 35_000,
    **result: Any,
) -> Path:
    """A run with these losses and accuracies on the validation split, epoch by epoch; unfinished without ``test``."""
    folder.mkdir(parents=True)
    facts = {
        "configuration": configuration,
        "digest": "",
        "parameters": parameters,
        "processes": 1,
        "data": {"train": {"count": 55_000, "sha256": "0" * 64, "origin": "made"}},
        "versions": {"odernn": "0.1.0", "torch": "2.13.0"},
    }
    (folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    lines = [HEADER]
    for epoch, (loss, accuracy) in enumerate(validation, 1):
        right = "" if accuracy is None else accuracy
        lines.append(f"{epoch},{10 * epoch},1.0,{2 * loss},{loss},{right},{1.5 * epoch},100.0")
    if validation:
        (folder / "log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if test is not None:
        has_classes = bool(validation) and validation[0][1] is not None
        scores = [-(accuracy or 0.0) if has_classes else loss for loss, accuracy in validation]
        outcome = {
            "test": {"loss": test[0], "accuracy": test[1]},
            "baseline": baseline,
            "baseline_means": "made",
            "best_epoch": scores.index(min(scores)) + 1 if scores else 0,
            "epochs": len(validation),
            "steps": 10 * len(validation),
            "seconds": 4.5,
            **result,
        }
        (folder / "result.json").write_text(json.dumps(facts | outcome), encoding="utf-8")
    return folder
