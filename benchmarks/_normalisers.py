"""By what an error is divided: the deviation of the target, or its root mean square (Lorenz 96).

The paper prints a "normalised" error and not by what it is divided. The public repetition of its task with the same
constants (github AndreaCossu/RandomizedCoupledOscillators, lorenz-trained-rnn_task.py) divides by the root mean square
of the target, and drops no transient (its washout is 0). Where the target has a mean far from 0 that is a smaller
figure: √(variance/mean square) of the other, 0.114 of it at F = 0.9 and 0.843 at F = 8. A record has both:
``figure``, √(loss/variance), as ``TaskSpec.published``, and ``over_rms``, √(loss/mean square).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from verification import tasks
from verification.training.splits import SplitData

KIND, OVER_RMS = "normalised root", "over_rms"


def scores(data: SplitData, loss: float | None, accuracy: float | None) -> dict[str, float | None]:
    """Loss, accuracy, the figure of ``TaskSpec.published``, and ``over_rms`` where that is a normalised root."""
    if loss is None:
        return {"loss": None, "accuracy": accuracy, "figure": None}
    found = {"loss": loss, "accuracy": accuracy, "figure": data.spec.published(loss, accuracy)}
    if data.spec.published_as == KIND:
        found[OVER_RMS] = math.sqrt(loss / mean_square(data.targets))
    return found


def mean_square(targets: Any) -> float:
    """Of all entries, in float64."""
    return float(np.square(np.asarray(targets, dtype=np.float64)).mean())


def completed(record: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The record with ``over_rms`` wherever an older entry lacks it, and whether one did.

    The split is made once more, and its checksum compared. Raises ValueError where it is another one.
    """
    known: dict[str, float] = {}
    changed = False
    parts: dict[str, Any] = {}
    for part in ("runs", "trials", "stopped"):
        entries = {}
        for key, entry in record.get(part, {}).items():
            entries[key] = entry
            for split in ("validation", "test"):
                if entry.get("figure") == KIND and entry.get(split) and OVER_RMS not in entry[split]:
                    square = _of_split(entry, split, known)
                    entries[key] = entries[key] | {
                        split: {**entry[split], OVER_RMS: math.sqrt(entry[split]["loss"] / square)}
                    }
                    changed = True
        if part in record:
            parts[part] = entries
    return {**record, **parts}, changed


def _of_split(entry: Mapping[str, Any], split: str, known: dict[str, float]) -> float:
    """The mean square of the targets that the entry was measured on."""
    digest = entry["test_data"]["sha256"] if split == "test" else entry["data"][split]["sha256"]
    if digest not in known:
        _, targets, spec = tasks.get(entry["task"]).load(split, **entry["task_options"])
        if spec.sha256 != digest:
            raise ValueError(f"{entry['task']}, {split}: {spec.sha256[:12]}… is not what was recorded, {digest[:12]}….")
        known[digest] = mean_square(targets)
    return known[digest]


def primary(entry: Mapping[str, Any], split: str = "test") -> float:
    """What stands beside a printed figure: ``over_rms`` where there is one."""
    scores = entry[split]
    return float(scores.get(OVER_RMS, scores["figure"]))


def beside(entry: Mapping[str, Any]) -> dict[str, float]:
    """The figures of simple predictors, divided by the same as ``primary``."""
    scores = entry["test"]
    factor = scores[OVER_RMS] / scores["figure"] if OVER_RMS in scores else 1.0
    return {name: factor * value for name, value in entry["beside"].items()}
