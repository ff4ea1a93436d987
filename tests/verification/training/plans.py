"""A small configuration to change word by word, and what the tests of training look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from verification.tasks.task import TaskSpec
from verification.training import checkpoints, configuration, loop

CHECKOUT = Path(__file__).resolve().parents[3]

TEXT = """
[task]
name = "adding"
steps = 12
count = 50

[network]
cell = "unicornn"
hidden_size = 6
num_layers = 2
dt = 0.2
alpha = 1.0
dropout = 0.3

[optimizer]
name = "adamw"
lr = 0.01
weight_decay = 0.01

[[optimizer.groups]]
parameters = ["readout.*"]
lr = 0.003

[training]
epochs = 3
batch_size = 16
checkpoint_every = 1
clip_norm = 1.0
milestones = [[2, 0.1]]
seed = 3
"""


def plan(tmp_path: Path, text: str = TEXT) -> configuration.Configuration:
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return configuration.read(path)


def tensors(folder: Path, name: str = loop.LATEST) -> dict[str, torch.Tensor]:
    return dict(checkpoints.read(folder / name).tensors)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class StoppedError(Exception):
    pass


def stop_at(step: int) -> Any:
    def watch(model: nn.Module, now: int) -> None:
        if now == step:
            raise StoppedError

    return watch


def spec(**given: Any) -> TaskSpec:
    facts = {
        "name": "made",
        "split": "train",
        "loss": "squared error",
        "reads": "every",
        "steps": 4,
        "count": 3,
        "input_size": 1,
        "output_size": 2,
        "baseline": 1.0,
        "baseline_means": "",
        "origin": "",
        "sha256": "",
    }
    return TaskSpec(**(facts | given))
