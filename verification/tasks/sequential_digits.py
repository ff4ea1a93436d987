"""scikit-learn's handwritten digits read pixel by pixel: 1797 sequences of 64 numbers, ten classes.

A small sequential MNIST that needs no network: pixels row by row, one or more a step, or with ``permuted`` in one fixed
random order of pixels, drawn as for the permuted MNIST of Arjovsky et al. 2016 (numpy, seed 92916). The digits were
written by 13 people; who wrote which is not in the file, so that the three splits have the same writers.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from verification.tasks import digits
from verification.tasks._permutations import DEFAULT, reading
from verification.tasks.images import DataError
from verification.tasks.task import SPLITS, Loaded, Root, Split, TaskSpec, at_least, checksum, split_index

NAME = "sequential digits"
PIXELS = 64
CLASSES = 10
COUNTS: dict[Split, int] = {"train": 1197, "validation": 300, "test": 300}
PIXELS_SHA256 = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
LABELS_SHA256 = "8ba4f891220f5e4c9c819638d1602d74b83618f167043c6da52a2a247841ddf0"
"""Of the raw pixels (0 … 16) and the labels as unsigned bytes, in the order of the file."""


def load(
    split: str,
    root: Root = None,
    *,
    permuted: bool = False,
    permutation: str | None = None,
    pixels: int = 1,
    seed: int = 0,
) -> Loaded:
    """(64/p, count, p) pixels in [0, 1], float32, p = ``pixels`` a step; (count,) digits, int64.

    pixels       1, 2, 4, … or 64 a step: of images as they are, 8 is a row
    permuted     all images in the same random order of pixels, that of ``permutation``: "urnn", the default, or
                 "unicornn", as for the permuted MNIST
    seed         of the assignment of images to splits; within a split they are in the order of the file
    root         has no meaning here: the file is in scikit-learn's wheel
    Raises DataError for an unknown split or permutation, or if the file is not the one whose checksums are known.
    """
    place = split_index(NAME, split)
    at_least(NAME, "seed", seed, 0)
    if PIXELS % at_least(NAME, "pixels", pixels, 1):
        raise ValueError(f"{NAME}: pixels is {pixels}; a step has 1, 2, 4, 8, 16, 32 or all 64 of them.")
    images, labels = verified()
    ends = np.cumsum([0, *COUNTS.values()])
    shuffled = np.random.default_rng(seed).permutation(len(images))
    chosen = np.sort(shuffled[ends[place] : ends[place + 1]])
    order, order_name = reading(NAME, PIXELS, permuted=permuted, permutation=permutation)
    by_step = images[chosen][:, order].reshape(len(chosen), -1, pixels)
    sequences = np.ascontiguousarray(by_step.transpose(1, 0, 2), dtype=np.float32)
    targets = labels[chosen]
    shares = np.bincount(targets, minlength=CLASSES) / len(targets)
    name = f"permuted {NAME}" + f" ({order_name})" * (order_name != DEFAULT) if permuted else NAME
    name += f", {pixels} pixels a step" * (pixels > 1)
    spec = TaskSpec(
        name=name,
        split=SPLITS[place],
        loss="cross entropy",
        reads="last",
        steps=len(sequences),
        count=len(targets),
        input_size=pixels,
        output_size=CLASSES,
        baseline=float(-(shares * np.log(shares)).sum()),
        baseline_means="the shares of the classes in this split: their entropy",
        origin=f"the wheel of scikit-learn {version('scikit-learn')}",
        sha256=checksum(sequences, targets),
        published_as="accuracy",
    )
    return sequences, targets, spec


def verified() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All images, (1797, 64) in [0, 1], and digits in the order of the file; DataError if they are others."""
    from sklearn.datasets import load_digits

    source = digits.load()
    labels = load_digits().target.astype(np.int64)
    checksums = {"pixels": source.sha256, "labels": hashlib.sha256(labels.astype(np.uint8).data).hexdigest()}
    for part, expected in (("pixels", PIXELS_SHA256), ("labels", LABELS_SHA256)):
        if checksums[part] != expected:
            raise DataError(
                f"{NAME}: the {part} of {source.origin} have SHA-256 {checksums[part]}, expected {expected}. Install "
                "scikit-learn again; if its digits were changed on purpose, results cannot be compared with older ones."
            )
    return source.images, labels
