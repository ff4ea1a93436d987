"""Small networks on disk, and samples, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from odernn import UnICORNN
from verification import tasks
from verification.tasks.task import TaskSpec
from verification.trained import files, loading
from verification.trained.loading import Trained
from verification.trained.runs import Sample
from verification.training import network

UNICORNN = """
[task]
name = "adding"
steps = 12
count = 40

[network]
cell = "unicornn"
hidden_size = 4
num_layers = 2
dt = 0.2
alpha = 1.0
"""
SCORNN = (
    UNICORNN.replace('"unicornn"', '"scornn"').replace("dt = 0.2\nalpha = 1.0", "rho = 2").replace("= 2\ndt", "= 1\ndt")
)


def spec(steps: int = 12) -> TaskSpec:
    return tasks.get("adding").load("test", steps=steps, count=40)[2]


def saved(folder: Path, text: str = UNICORNN, *, change: dict[str, torch.Tensor] | None = None, seed: int = 5) -> Path:
    """An untrained network of the configuration as a bare state_dict, network.safetensors beside network.toml."""
    (folder / "network.toml").write_text(text, encoding="utf-8")
    described = files._configured(folder / "network.toml", None, None).network
    model = network.build(described, spec(), seed=seed, dtype=torch.float32)
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()} | (change or {})
    save_file(tensors, folder / "network.safetensors")
    return folder / "network.safetensors"


def read(path: Path, text: str | None = None) -> Trained:
    """The checkpoint of ``saved``, loaded."""
    config = path.parent / "network.toml"
    if text is not None:
        config.write_text(text, encoding="utf-8")
    return loading.load(files.read(path, config=config), spec())


def sample(steps: int = 12, count: int = 3, *, inputs: torch.Tensor | None = None) -> Sample:
    """Sequences of the adding task, or these inputs (time, count, 2) with targets that mean nothing."""
    about = spec(steps)
    if inputs is not None:
        return Sample(inputs.double(), torch.zeros(inputs.shape[1], dtype=torch.float64), None, about)
    sequences, targets, about = tasks.get("adding").load("test", steps=steps, count=40)
    chosen = np.arange(count)
    return Sample(
        torch.from_numpy(sequences[:, chosen]).double(), torch.from_numpy(targets[chosen]).double(), None, about
    )


def unicornn(hidden: int = 3, layers: int = 2, **options: object) -> UnICORNN:
    """In float64, two inputs."""
    arguments = {"dt": 0.2, "alpha": 1.0, "dtype": torch.float64, "generator": torch.Generator().manual_seed(2)}
    return UnICORNN(2, hidden, layers, **(arguments | options))  # type: ignore[arg-type]
