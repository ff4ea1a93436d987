"""What an older record of a large run lacks, from the weights of it that are archived: its folder is gone.

    results/trained/slack/NAME/       first, middle and last weights of the first seed, and the sequences measured on
    results/trained/FOLDER/           more weights of the same run (``_slack_plan.LARGE``)

Added are the largest states, the factors of the chain rule, bound and measured side of the norms through layers, and of
a scoRNN sco-5.5.1-A, which follows from what is recorded. The norms through layers are in the older record as a slack
alone: the new two sides have to give it again, or nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import _slack_measures
import _slack_plan
import numpy as np
import torch
from _slack_equations import published_score

from verification.registry import Registry
from verification.tasks.task import TaskSpec
from verification.trained import files, loading, runs
from verification.trained.runs import Sample

SAME = 1e-6
"""Decades."""

LARGEST = "states | largest abs "
Compact = Callable[[Sequence[_slack_measures.Finding]], dict[str, list[Any]]]


def completed(run: Mapping[str, Any], results: Path, compact: Compact) -> dict[str, Any]:
    """The run with what can be added; ``measured_by`` is the present one if every checkpoint has it."""
    if run["measured_by"] == _slack_plan.MEASURED:
        return dict(run)
    network, weights = run["network"], archived_weights(run, results)
    checkpoints, lacking = [], 0
    for each in run["checkpoints"]:
        rows = dict(each["rows"])
        if network["cell"] == "scornn":
            rows |= published_score(rows, size=network["hidden_size"], eps=torch.finfo(torch.float32).eps)
        elif each["step"] in weights and not has_all(rows):
            rows |= measured_again(weights[each["step"]], results / "trained" / "slack" / run["archive"], rows, compact)
        lacking += network["cell"] == "unicornn" and not has_all(rows)
        checkpoints.append({"step": each["step"], "rows": rows})
    number = run["measured_by"] if lacking else _slack_plan.MEASURED
    return {**run, "measured_by": number, "checkpoints": checkpoints}


def has_all(rows: Mapping[str, Any]) -> bool:
    """Whether a checkpoint of a UnICORNN has what was not measured before."""
    return any(key.startswith("chain rule | ") for key in rows)


def archived_weights(run: Mapping[str, Any], results: Path) -> dict[int, Path]:
    """By update, of the runs with an archive."""
    if "archive" not in run:
        return {}
    large = next((each for each in _slack_plan.LARGE if (each.task, each.cell) == (run["task"], run["cell"])), None)
    folders = [results / "trained" / "slack" / run["archive"]]
    folders += [results / "trained" / large.weights] if large is not None and large.weights else []
    found = (path for folder in folders for path in sorted(folder.glob("weights_*.safetensors")))
    return {int(path.stem.rpartition("_")[2]): path for path in found}


def measured_again(path: Path, folder: Path, rows: Mapping[str, Any], compact: Compact) -> dict[str, list[Any]]:
    """The new rows of one file of weights. ValueError if it is not the network that the older rows are of."""
    stored, inputs = files.read(path), np.load(folder / "sequences.npy")
    spec = TaskSpec(
        name=stored.configuration.task.name,
        split="validation",
        loss="squared error",
        reads="last",
        steps=len(inputs),
        count=inputs.shape[1],
        input_size=inputs.shape[2],
        output_size=len(stored.tensors["readout.weight"]),
        baseline=1.0,
        baseline_means="",
        origin="",
        sha256="",
    )
    sample = Sample(torch.from_numpy(inputs).double(), torch.zeros(inputs.shape[1]), None, spec)
    wide = runs.widened(loading.load(stored, spec).model)
    states = _slack_measures.hidden_states(wide, sample, Registry())
    found = [each for each in states if each.key.startswith(LARGEST) and not each.statement]
    found += [*_slack_measures.through_layers(wide, sample), *_slack_measures.chain_rule(wide, sample)]
    added = compact(list(_slack_measures.worst(found)))
    for key in added:
        if key.startswith("through layers"):
            again, before = (row[1] - row[2] for row in (added[key], rows[key]))
            if not abs(again - before) <= SAME:
                raise ValueError(f"{path}: {key} has the slack {again}, and {before} in the record: another network.")
    return added
