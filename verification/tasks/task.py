"""What every task returns beside its sequences and targets, and the random numbers of the synthetic ones.

A task is one file of this folder with ``load(split, root, ...) -> sequences, targets, spec``:

    sequences   (time, count, input) float32: an array, or ``Batched`` where the whole would not fit in memory.
                ``sequences[:, chosen]`` is the array of the chosen ones in either case
    targets     for each sequence (count,), or for each step (time, count), or (time, count, output) for several
                numbers; float32, or int64 for classes
    spec        a TaskSpec: what that is, where it comes from, and what a predictor that sees no input loses
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from verification.tasks.images import DataError

Split = Literal["train", "validation", "test"]
Figure = Literal["loss", "accuracy", "root", "normalised root", "bits"]
Root: TypeAlias = str | Path | None
"""The folder of the files; None for those that a task finds by itself, and of no meaning to a task without files."""


class SequenceArray(Protocol):
    """What an array and ``Batched`` have in common."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, key: Any, /) -> Any: ...


Loaded: TypeAlias = "tuple[SequenceArray, NDArray[Any], TaskSpec]"

SPLITS: tuple[Split, ...] = get_args(Split)
BLOCK = 1000
"""Sequences that one random generator makes: the first ones of a split do not depend on how many are asked for."""


class Batched:
    """Sequences (time, count, input) float32 that are made when asked for, by indexing as an array: ``s[:, chosen]``.

    shape    (time, count, input)
    make     (chosen, epoch) -> (time, len(chosen), input): the same arguments must give the same array
    number   the epoch: where sequences have noise that is drawn anew whenever they are shown, ``s.epoch(3)`` has that
             of the third showing; other sequences are the same in every epoch
    is_fixed   whether ``make`` says so: no epoch differs, and a sequence has the same bits whatever is beside it

    The first index is a slice or a number, the second whatever numpy takes for an axis.
    """

    dtype = np.dtype(np.float32)
    ndim = 3

    def __init__(
        self,
        shape: tuple[int, int, int],
        make: Callable[[NDArray[np.intp], int], NDArray[np.float32]],
        number: int = 0,
        *,
        is_fixed: bool = False,
    ) -> None:
        self.shape = shape
        self.number = number
        self.is_fixed = is_fixed
        self._make = make

    def __len__(self) -> int:
        return self.shape[0]

    def epoch(self, number: int) -> Batched:
        """The same sequences as they are shown in that epoch."""
        return Batched(self.shape, self._make, at_least("sequences", "epoch", number, 0), is_fixed=self.is_fixed)

    def __getitem__(self, key: Any, /) -> NDArray[np.float32]:
        times, which, *rest = (*key, slice(None)) if isinstance(key, tuple) else (key, slice(None))
        if not isinstance(times, slice | int | np.integer):
            raise TypeError(f"the first index of these sequences is {times!r}: give a slice or a number.")
        chosen = np.arange(self.shape[1])[which]
        sequences = self._make(np.atleast_1d(chosen), self.number)
        if chosen.ndim == 0:
            sequences = sequences[:, 0]
            return sequences[(times, *rest[:1])]
        return sequences[(times, slice(None), *rest[:1])]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of it: only where that fits in memory."""
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)


def for_epoch(sequences: SequenceArray, number: int) -> SequenceArray:
    """The sequences as they are shown in that epoch: with new noise if they have any, else the same."""
    return sequences.epoch(number) if isinstance(sequences, Batched) else sequences


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One loaded split of a task.

    loss             "squared error" or "cross entropy" in nats: the mean over sequences, over steps if all count, and
                     of a squared error over the columns of the output
    reads            which rows of an output count: the "last" of a sequence, or "every" one
    input_size       columns of a row of the input;  output_size   columns of a row of the output (classes or numbers)
    baseline         the loss of the best predictor that sees no input, in exact arithmetic over the task's law, or
                     over the split itself where the task is a data set
    baseline_means   that predictor and its formula, in words
    origin           where the sequences come from
    sha256           of the bytes of sequences and targets, one after the other; where sequences are made when asked
                     for, of the bytes that they are made from, and of the targets
    lengths          how many steps of each sequence are real, (count,), if they are not all: those after them are
                     zeros, and their outputs and targets do not count
    published_as     what the papers print in place of the loss (``published``)
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
    lengths: tuple[int, ...] | None = None
    published_as: Figure = "loss"

    def published(self, loss: float, accuracy: float | None = None) -> float:
        """The figure that the papers print, ``published_as``, from the mean loss and the share of correct classes.

        "accuracy"               share of correct classes; of steps, if every one counts
        "root"                   √loss, in the unit of the target
        "normalised root"        √(loss/baseline): 1 for the best constant
        "bits"                   loss/ln 2, bits a step
        """
        if self.published_as == "accuracy" and accuracy is None:
            raise ValueError(f"{self.name}: the papers print the accuracy; give it beside the loss.")
        return figure(self.published_as, loss, accuracy, self.baseline)

    def describe(self) -> str:
        """What, how many, from where, the baseline, and the checksum."""
        longest = "" if self.lengths is None else f"{min(self.lengths)} to "
        return (
            f"{self.name}, {self.split}: {self.count} sequences of {longest}{self.steps} × {self.input_size} "
            f"from {self.origin}; {self.loss} {self.baseline:.6g} without input "
            f"({self.baseline_means}); sha256 {self.sha256}"
        )


def figure(kind: Figure, loss: float, accuracy: float | None, baseline: float) -> float:
    """The figure of that kind, as in ``TaskSpec.published``. ValueError for an accuracy that there is none of."""
    if kind == "accuracy":
        if accuracy is None:
            raise ValueError("there is no accuracy: the task has no classes.")
        return accuracy
    scale = {"loss": loss, "bits": loss / math.log(2), "root": math.sqrt(max(loss, 0.0))}
    if kind in scale:
        return scale[kind]
    return math.sqrt(max(loss, 0.0) / baseline)


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
    hasher = hashlib.sha256()
    for array in (sequences, targets):
        hasher.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return hasher.hexdigest()


def entropy(targets: NDArray[np.int64], classes: int) -> float:
    """Of the shares of the classes, in nats: the cross entropy of whoever says these shares whatever comes."""
    counts = np.bincount(targets.reshape(-1), minlength=classes)
    shares = counts[counts > 0] / targets.size
    return float(-(shares * np.log(shares)).sum())


def variance(targets: NDArray[Any]) -> float:
    """The squared error of the best constant: the mean over columns (last axis of more than one) of their variance."""
    columns = targets.reshape(-1, targets.shape[-1] if targets.ndim > 2 else 1)
    return float(columns.astype(np.float64).var(axis=0).mean())


def shares_of(count: int, shares: tuple[float, ...]) -> list[int]:
    """Where the splits end if they get these shares, rounded, of ``count`` things and the last one gets the rest."""
    ends = [0]
    for share in shares[:-1]:
        ends.append(ends[-1] + round(count * share))
    return [*ends, count]
