"""One split of a configuration's task as the network sees it: chosen sequences as tensors, standardised if asked."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verification import tasks
from verification.tasks.task import Root, SequenceArray, TaskSpec, for_epoch
from verification.training import SettingError
from verification.training.configuration import Configuration
from verification.training.standardisation import Standardisation


@dataclass(frozen=True)
class SplitData:
    """One split: sequences (time, count, input) and targets as the task has them; batches become tensors."""

    sequences: SequenceArray
    targets: NDArray[Any]
    spec: TaskSpec
    dtype: torch.dtype
    device: str
    standardisation: Standardisation | None = None

    @property
    def count(self) -> int:
        return self.spec.count

    def batch(self, chosen: NDArray[np.int64], epoch: int = 0) -> tuple[Tensor, Tensor, Tensor | None]:
        """The chosen sequences as that epoch shows them, their targets, and which steps are real, (time, count)."""
        shown = torch.from_numpy(np.ascontiguousarray(for_epoch(self.sequences, epoch)[:, chosen]))
        sequences = shown.to(self.device, self.dtype)
        if self.standardisation is not None:
            sequences = self.standardisation(sequences)
        picked = self.targets[chosen] if self.spec.reads == "last" else self.targets[:, chosen]
        targets = torch.from_numpy(np.ascontiguousarray(picked))
        if targets.is_floating_point():
            targets = targets.to(self.dtype)
        real = None
        if self.spec.lengths is not None:
            lengths = torch.tensor([self.spec.lengths[index] for index in chosen])
            real = (torch.arange(self.spec.steps)[:, None] < lengths).to(self.device)
        return sequences, targets.to(self.device), real


def load(
    configuration: Configuration, split: str, root: Root, device: str = "cpu", *, train: SplitData | None = None
) -> SplitData:
    """One split of the task, as the network is to see it.

    train  the training split, if it is loaded: its mean and deviation are those of all splits
    TrainingError for an option that the task does not take, DataError for its files.
    """
    data = _as_it_is(configuration, split, root, device)
    if not configuration.task.standardise:
        return data
    if train is not None:
        return replace(data, standardisation=train.standardisation)
    seen = data if split == "train" else _as_it_is(configuration, "train", root, device)
    return replace(data, standardisation=Standardisation.of(seen.sequences, seen.spec))


def _as_it_is(configuration: Configuration, split: str, root: Root, device: str) -> SplitData:
    task = configuration.task
    try:
        known = tasks.get(task.name, task.folders)
    except KeyError as error:
        raise SettingError("task", str(error.args[0]), key="name") from None
    for key in task.options:
        if key not in known.options:
            near = difflib.get_close_matches(key, known.options, n=1)
            advice = f'Did you mean "{near[0]}"?' if near else f"It takes: {', '.join(known.options)}."
            raise SettingError("task", f'{task.name} takes no "{key}". {advice}', key=key)
    try:
        sequences, targets, spec = known.load(split, root, **task.options)
    except (TypeError, ValueError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        refused = next((key for key in task.options if f" {key} is " in f" {reason}"), None)
        said = reason if reason.startswith(task.name) else f"{task.name}: {reason}"
        raise SettingError("task", said, key=refused) from None
    if spec.lengths is not None and spec.reads == "last":
        raise SettingError("task", f"{task.name}: reads the last step of sequences of several lengths; not built.")
    return SplitData(sequences, targets, spec, getattr(torch, configuration.training.dtype), device)
