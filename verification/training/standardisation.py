"""Inputs with mean 0 and standard deviation 1 on the training split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verification.tasks.task import SequenceArray, TaskSpec, for_epoch

PORTION = 1000
"""Sequences that are summed at a time."""


@dataclass(frozen=True)
class Standardisation:
    """u ↦ (u − mean)/deviation for each of the inputs; both (input,), float64."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @staticmethod
    def of(sequences: SequenceArray, spec: TaskSpec) -> Standardisation:
        """By all real steps of all sequences as the first epoch shows them; an input that never changes stays 0."""
        shown = for_epoch(sequences, 0)
        steps, count, inputs = shown.shape
        real = np.arange(steps)[:, None] < np.asarray(spec.lengths or [steps] * count)
        total, mean = int(real.sum()), np.zeros(inputs)
        for portion in _portions(shown, real):
            mean += portion.sum(axis=0) / total
        squares = np.zeros(inputs)
        for portion in _portions(shown, real):
            squares += ((portion - mean) ** 2).sum(axis=0) / total
        deviation = np.sqrt(squares)
        # a constant input leaves roundings of its mean, which are no deviation
        is_constant = deviation <= 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
        return Standardisation(mean, np.where(is_constant, 1.0, deviation))

    def __call__(self, sequences: Tensor) -> Tensor:
        """sequences (…, input), float64 or float32, in its dtype; subtracted and divided in float64."""
        mean, deviation = (
            torch.from_numpy(statistic).to(sequences.device) for statistic in (self.mean, self.deviation)
        )
        return ((sequences.double() - mean) / deviation).to(sequences.dtype)


def _portions(shown: Any, real: NDArray[np.bool_]) -> Iterator[NDArray[np.float64]]:
    """The real rows (·, input) of some sequences after others."""
    for start in range(0, shown.shape[1], PORTION):
        chosen = np.arange(start, min(start + PORTION, shown.shape[1]))
        yield np.asarray(shown[:, chosen], dtype=np.float64)[real[:, chosen]]
