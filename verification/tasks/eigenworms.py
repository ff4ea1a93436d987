"""EigenWorms: the motion of a worm as six amplitudes over 17,984 steps, five strains (Bagnall et al. 2018).

The archive's train and test files are put together, 259 sequences, and divided 70/15/15 % as in Rusch & Mishra 2021
(which does not print which sequences; here numpy draws them). No checksum of the files is published, so what was read
is compared with the published counts and statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verification.tasks import _archive_series, files
from verification.tasks._archive_series import Series
from verification.tasks.images import DataError
from verification.tasks.task import (
    SPLITS,
    Loaded,
    Root,
    TaskSpec,
    at_least,
    checksum,
    entropy,
    shares_of,
    split_index,
)

NAME = "eigenworms"
SHARES = (0.70, 0.15, 0.15)
SUBFOLDERS = ("EigenWorms", "eigenworms")
ARCHIVE = "https://www.timeseriesclassification.com/Downloads/EigenWorms.zip"


@dataclass(frozen=True)
class Statistics:
    """What is published of a data set of two files.

    files        for each file the number of sequences of each class, sorted: which file is which differs by source
    steps        of a sequence
    mean, standard_deviation (n − 1), least, greatest   of each channel over both files, with the digits printed
    """

    files: tuple[tuple[int, ...], tuple[int, ...]]
    steps: int
    mean: tuple[float, ...]
    standard_deviation: tuple[float, ...]
    least: tuple[float, ...]
    greatest: tuple[float, ...]


PUBLISHED = Statistics(
    files=((55, 22, 17, 22, 12), (55, 22, 18, 23, 13)),
    steps=17984,
    mean=(0.048909, -0.026051, 0.079451, 0.066170, 0.070764, 0.074558),
    standard_deviation=(6.42705, 3.78458, 5.39630, 4.07626, 3.77529, 3.76886),
    least=(-180.284314, -80.000928, -455.324676, -22.195001, -39.619064, -29.930525),
    greatest=(1042.315668, 442.386897, 271.274721, 313.679389, 266.043021, 306.894561),
)
PRINTED = 1e-5
"""Means may differ by this share of a standard deviation, the others by this share: half a unit of the fifth of the
printed digits, doubled for files that were written in single precision."""


def load(split: str, root: Root = None, *, seed: int = 0, statistics: Statistics = PUBLISHED) -> Loaded:
    """(17984, count, 6) amplitudes as they are in the files, float32; (count,) strains 0 to 4, int64.

    root        holds EigenWorms_TRAIN and EigenWorms_TEST, each .ts or .arff, or the folder EigenWorms in it does
    seed        of the division
    statistics  that the files must have (others are for tests)
    Raises DataError for an unknown split, and for missing, damaged or other files.
    """
    place = split_index(NAME, split)
    at_least(NAME, "seed", seed, 0)
    paths = [_path(root, part) for part in ("TRAIN", "TEST")]
    first, second = (_archive_series.read(path) for path in paths)
    check(first, second, statistics, " and ".join(map(str, paths)))
    values = np.concatenate((first.values, second.values))
    labels = np.concatenate((first.labels, second.labels))
    ends = shares_of(len(labels), SHARES)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(labels))[ends[place] : ends[place + 1]])
    sequences = np.ascontiguousarray(values[chosen].transpose(1, 0, 2), dtype=np.float32)
    targets = labels[chosen]
    classes = len(first.classes)
    spec = TaskSpec(
        name=NAME,
        split=SPLITS[place],
        loss="cross entropy",
        reads="last",
        steps=sequences.shape[0],
        count=len(targets),
        input_size=sequences.shape[2],
        output_size=classes,
        baseline=entropy(targets, classes),
        baseline_means="the shares of the classes in this split: their entropy",
        origin=f"{paths[0].name} and {paths[1].name}, published statistics agree, divided by seed {seed}",
        sha256=checksum(sequences, targets),
        published_as="accuracy",
    )
    return sequences, targets, spec


def _path(root: Root, part: str) -> Path:
    """The .ts file of that part, else the .arff file."""
    try:
        return files.find(NAME, root, f"EigenWorms_{part}.ts", SUBFOLDERS)
    except DataError as error:
        try:
            return files.find(NAME, root, f"EigenWorms_{part}.arff", SUBFOLDERS)
        except DataError:
            raise DataError(str(error).replace(".ts (nor", ".ts or .arff (nor", 1)) from None


def check(first: Series, second: Series, statistics: Statistics, named: str) -> None:
    """DataError unless the two files have the published counts and statistics; it says which number differs."""
    if first.classes != second.classes:
        raise DataError(f"{named}: different classes, {first.classes} and {second.classes}. {files.AGAIN}")
    channels = len(statistics.mean)
    for series in (first, second):
        if series.values.shape[1:] != (statistics.steps, channels):
            raise DataError(
                f"{named}: sequences of {series.values.shape[1]} × {series.values.shape[2]}, "
                f"expected {statistics.steps} × {channels}. {files.AGAIN}"
            )
    counts = sorted(
        tuple(np.bincount(of_file.labels, minlength=len(of_file.classes)).tolist()) for of_file in (first, second)
    )
    if counts != sorted(statistics.files):
        raise DataError(
            f"{named}: {counts} sequences of each class, published are {sorted(statistics.files)}. {files.AGAIN}"
        )
    for what, (measured, published, admitted) in _compared(first, second, statistics).items():
        wrong = np.flatnonzero(~(np.abs(measured - published) <= admitted))
        if len(wrong):
            i = int(wrong[0])
            raise DataError(
                f"{named}: the {what} of channel {i + 1} is {measured[i]:.7g}, published is {published[i]:.7g}. "
                f"These are not the published sequences. {files.AGAIN}"
            )


Compared = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _compared(first: Series, second: Series, statistics: Statistics) -> Mapping[str, Compared]:
    """What was found, what is published and how much they may differ, for each channel."""
    pooled = np.concatenate((first.values, second.values)).reshape(-1, len(statistics.mean))
    deviation = np.array(statistics.standard_deviation)
    least, greatest = np.array(statistics.least), np.array(statistics.greatest)
    return {
        "mean": (pooled.mean(axis=0), np.array(statistics.mean), PRINTED * deviation),
        "standard deviation": (pooled.std(axis=0, ddof=1), deviation, PRINTED * deviation),
        "least value": (pooled.min(axis=0), least, PRINTED * np.abs(least)),
        "greatest value": (pooled.max(axis=0), greatest, PRINTED * np.abs(greatest)),
    }


def download(folder: str | Path) -> Path:
    """The archive's zip file and its two .ts files, which must have the published counts and statistics.

    No checksum of them is published.
    """
    archive = files.fetch(NAME, ARCHIVE, folder, known=None)
    target = archive.parent / SUBFOLDERS[0]
    names = [f"EigenWorms_{part}.ts" for part in ("TRAIN", "TEST")]

    def published(paths: Mapping[str, Path]) -> None:
        first, second = (_archive_series.read(paths[name]) for name in names)
        check(first, second, PUBLISHED, str(archive))

    files.extract(archive, {name: target / name for name in names}, check=published)
    return target
