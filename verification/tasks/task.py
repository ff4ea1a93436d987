"""What every task returns beside its sequences and targets, and the random numbers of the synthetic ones.

A task is one file of this folder with ``load(split, root, ...) -> sequences, targets, spec``:

    sequences   (time, count, input) float32
    targets     for each sequence (count,), or for each step (time, count); float32, or int64 for classes
    spec        a TaskSpec: what that is, where it comes from, and what a predictor that sees no input loses
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from verification.tasks.images import DataError

Split = Literal["train", "validation", "test"]
Root: TypeAlias = str | Path | None
"""The folder of the files; None for those that a task finds by itself, and of no meaning to a task without files."""

Loaded: TypeAlias = "tuple[NDArray[np.float32], NDArray[Any], TaskSpec]"

SPLITS: tuple[Split, ...] = get_args(Split)
BLOCK = 1000
"""Sequences that one random generator makes: the first ones of a split do not depend on how many are asked for."""


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One loaded split of a task.

    loss             "squared error" or "cross entropy" in nats: the mean over sequences, and over steps if ``reads``
    reads            which rows of an output count: the "last" of a sequence, or "every" one
    input_size       columns of a row of the input;  output_size   columns of a row of the output (classes or numbers)
    baseline         the loss of the best predictor that sees no input, in exact arithmetic over the task's law, or
                     over the split itself where the task is a data set
    baseline_means   that predictor and its formula, in words
    origin, sha256   where the sequences come from; of the bytes of sequences and targets, one after the other
    """

    name: str
    split: Split
    loss: Literal["squared error", "cross entropy"]
    reads: Literal["last", "every"]
    steps: int
    count: int
    input_size: int
    output_size: int
    baseline: float
    baseline_means: str
    origin: str
    sha256: str

    def describe(self) -> str:
        """What, how many, from where, the baseline, and the checksum."""
        return (
            f"{self.name}, {self.split}: {self.count} sequences of {self.steps} × {self.input_size} "
            f"from {self.origin}; {self.loss} {self.baseline:.6g} without input "
            f"({self.baseline_means}); sha256 {self.sha256}"
        )


def split_index(task: str, split: str) -> int:
    """The place of a split in ``SPLITS``; DataError for any other name."""
    if split not in SPLITS:
        raise DataError(f"{task} has no split {split!r}. Choose one of: {', '.join(SPLITS)}.")
    return SPLITS.index(split)


def at_least(task: str, name: str, value: int, least: int) -> int:
    """The value, if it is an integer from ``least`` on; else ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{task}: {name} is {value!r}; it must be an integer of {least} or more.")
    return value


def blocks(task: str, split: str, *, count: int, seed: int) -> Iterator[tuple[int, np.random.Generator]]:
    """For every block of ``BLOCK`` sequences: how many of its first ones to keep, and their generator.

    The generator is that of numpy's seed sequence (seed, index of the split, number of the block), so that splits
    share nothing. A block must be drawn whole, even if a part of it is not kept.
    """
    at_least(task, "count", count, 1)
    at_least(task, "seed", seed, 0)
    place = split_index(task, split)
    for number, first in enumerate(range(0, count, BLOCK)):
        yield min(BLOCK, count - first), np.random.default_rng([seed, place, number])


def checksum(sequences: NDArray[Any], targets: NDArray[Any]) -> str:
    """SHA-256 of the bytes of sequences and targets in C order, little-endian."""
    found = hashlib.sha256()
    for array in (sequences, targets):
        found.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return found.hexdigest()
