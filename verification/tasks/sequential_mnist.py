"""MNIST read pixel by pixel: 784 numbers, ten classes; row by row, or in a fixed random order of pixels.

The official training file gives train and validation, its first 5000 images being the validation split as in the
55,000 that Helfrich et al. 2018 train on; the official test file is the test split and nothing else.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verification.tasks import files, mnist
from verification.tasks._permutations import reading
from verification.tasks.images import DataError
from verification.tasks.task import (
    SPLITS,
    Batched,
    Loaded,
    Root,
    TaskSpec,
    at_least,
    checksum,
    entropy,
    split_index,
)

NAME = "sequential_mnist"
PIXELS = 784
CLASSES = 10
VALIDATION = 5000
FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}


def load(
    split: str,
    root: Root = None,
    *,
    permuted: bool = False,
    permutation: str | None = None,
    validation: int = VALIDATION,
    md5: dict[str, str] | None = None,
) -> Loaded:
    """(784, count, 1) pixels in [0, 1], float32, made when asked for; (count,) digits, int64.

    root         holds the four official .gz files, or MNIST/raw or mnist inside it does; default: ODERNN_DATA
    permuted     all images in the same order of pixels, that of ``permutation``: "urnn" (numpy's seed 92916), which is
                 the default, or "unicornn" (torch's seed 5544, as in its published code)
    validation   so many first images of the training file are the validation split (the published code of UnICORNN
                 draws 3000 at random)
    md5          of the files (other lists are for tests)
    Raises DataError for an unknown split or permutation, and for missing, damaged or other files.
    """
    place = split_index(NAME, split)
    at_least(NAME, "validation", validation, 1)
    order, order_name = reading(NAME, PIXELS, permuted=permuted, permutation=permutation)
    images, digits = read("test" if split == "test" else "train", root, dict(mnist.MD5) if md5 is None else md5)
    if split != "test":
        if validation >= len(images):
            raise ValueError(f"{NAME}: validation is {validation}; there are {len(images)} images to train on.")
        part = slice(validation, None) if split == "train" else slice(None, validation)
        images, digits = images[part], digits[part]
    pixels = np.ascontiguousarray(images[:, order])

    def make(chosen: NDArray[np.intp], _: int) -> NDArray[np.float32]:
        return np.ascontiguousarray(pixels[chosen].T[..., None]).astype(np.float32) / np.float32(255)

    spec = TaskSpec(
        name=f"permuted {NAME} ({order_name})" if permuted else NAME,
        split=SPLITS[place],
        loss="cross entropy",
        reads="last",
        steps=PIXELS,
        count=len(digits),
        input_size=1,
        output_size=CLASSES,
        baseline=entropy(digits, CLASSES),
        baseline_means="the shares of the classes in this split: their entropy",
        origin=f"{FILES['test' if split == 'test' else 'train'][0]}, MD5 verified",
        sha256=checksum(pixels, digits),
        published_as="accuracy",
    )
    return Batched((PIXELS, len(digits), 1), make, is_fixed=True), digits, spec


def read(file: str, root: Root, md5: dict[str, str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(count, 784) pixels and (count,) digits of the official "train" or "test" files."""
    parts = []
    for name, dimensions in zip(FILES[file], (3, 1), strict=True):
        path = files.find(NAME, root, name, mnist.SUBFOLDERS)
        parts.append((path, mnist.read_idx(path, dimensions=dimensions, md5=md5[name])))
    (pictures, images), (names, labels) = parts
    if images.shape[1:] != (28, 28) or len(images) == 0:
        raise DataError(f"{pictures}: has shape {images.shape}; expected images of 28 × 28. {files.AGAIN}")
    if len(labels) != len(images):
        raise DataError(f"{names}: {len(labels)} labels, but {pictures.name} has {len(images)} images. {files.AGAIN}")
    if labels.max() >= CLASSES:
        raise DataError(f"{names}: has the label {labels.max()}; digits are 0 to 9. {files.AGAIN}")
    return images.reshape(len(images), PIXELS), labels.astype(np.int64)


def download(folder: str | Path) -> Path:
    """The four official files, MD5 verified, from the mirror that torchvision uses. Needs the extra `data`."""
    return mnist.download(folder)
