"""Noise padded CIFAR-10: an image row by row, then noise, 1000 steps of 96 numbers, ten classes (Chang et al. 2019).

Step n ≤ 32 is row n of the image: its 32 reds, its 32 greens, its 32 blues, in [0, 1]. The other 968 steps are
independent numbers: standard normal ones in the published code of UnICORNN and coRNN, uniform ones in the text of both
papers on UnICORNN, which name no interval (here [0, 1)). Two data sets go by that name:

    "fresh"   every image has noise of its own, and in training new noise each time it is shown (``epoch``)
    "fixed"   one block of noise for all images, in training and in test: what the published code of UnICORNN and
              coRNN does. Whoever knows that block can subtract it, so results must say which it was
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odernn import foreign
from verification.tasks import files
from verification.tasks.images import DataError
from verification.tasks.task import (
    SPLITS,
    Batched,
    Loaded,
    Root,
    TaskSpec,
    at_least,
    entropy,
    split_index,
)

NAME = "noise_padded_cifar10"
ROWS = 32
WIDTH = 96
CLASSES = 10
PIXELS = ROWS * WIDTH
NOISES = ("fresh", "fixed")
NORMAL, UNIFORM = "normal", "uniform"
IMAGES = 50_000
"""Of the five training files together."""
VALIDATION = 3000
"""Of them, in the published code of coRNN; UnICORNN's has 2000. There they are drawn at random, here they are the end
of the training images, whose order is random."""

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
FILES = {"train": TRAIN, "test": ("test_batch",)}
SUBFOLDERS = (
    "cifar-10-batches-py",
    "cifar-10-batches-bin",
    "cifar10/cifar-10-batches-py",
    "cifar10/cifar-10-batches-bin",
)
MD5: Mapping[str, str] = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
"""Of the files of the Python layout, as torchvision lists them; none is published for those of the binary layout."""

ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
ARCHIVE_MD5 = "c58f30108f718f92721af3b95e74349a"


def load(
    split: str,
    root: Root = None,
    *,
    noise: str = "fresh",
    steps: int = 1000,
    seed: int = 0,
    distribution: str = NORMAL,
    validation: int = VALIDATION,
    md5: Mapping[str, str] | None = None,
) -> Loaded:
    """(steps, count, 96) rows and noise, float32, made when asked for; (count,) classes, int64.

    root    holds cifar-10-batches-py (whose checksums are verified) or cifar-10-batches-bin, or is one of them.
            Of the five training files as many as are there are read; ``spec.origin`` says which
    noise   "fresh" or "fixed";  steps  ≥ 32;  seed  of the noise: the same gives the same
    distribution   of the noise: "normal", of mean 0 and deviation 1, or "uniform" on [0, 1)
    validation     images of 50,000; of fewer files the same share
    md5     of the files of the Python layout (other lists are for tests)
    Raises DataError for an unknown split or noise, and for missing, damaged or other files.
    """
    place = split_index(NAME, split)
    at_least(NAME, "steps", steps, ROWS)
    at_least(NAME, "seed", seed, 0)
    if noise not in NOISES:
        raise DataError(f"{NAME} has no noise {noise!r}. Choose one of: {', '.join(NOISES)}.")
    if distribution not in (NORMAL, UNIFORM):
        raise DataError(f"{NAME} has no distribution {distribution!r} of noise. Choose one of: {NORMAL}, {UNIFORM}.")
    if at_least(NAME, "validation", validation, 1) >= IMAGES:
        raise ValueError(f"{NAME}: validation is {validation}; it must be less than {IMAGES}, the training images.")
    images, labels, origin = read("test" if split == "test" else "train", root, MD5 if md5 is None else md5)
    if split != "test":
        kept = len(images) - round(validation / IMAGES * len(images))
        part = slice(None, kept) if split == "train" else slice(kept, None)
        images, labels = images[part], labels[part]
    spec = TaskSpec(
        name=f"{NAME}, {_words(noise, distribution)}",
        split=SPLITS[place],
        loss="cross entropy",
        reads="last",
        steps=steps,
        count=len(labels),
        input_size=WIDTH,
        output_size=CLASSES,
        baseline=entropy(labels, CLASSES),
        baseline_means="the shares of the classes in this split: their entropy",
        origin=f"{origin}, noise of seed {seed}",
        sha256=_checksum(images, labels, noise if distribution == NORMAL else f"{noise} {distribution}", steps, seed),
        published_as="accuracy",
    )
    rows = padded(images, noise=noise, steps=steps, seed=seed, split=place, distribution=distribution)
    return rows, labels, spec


def _words(noise: str, distribution: str) -> str:
    kind = "" if distribution == NORMAL else f"{distribution} "
    return f"fresh {kind}noise" if noise == "fresh" else f"one fixed block of {kind}noise"


def padded(
    images: NDArray[np.uint8], *, noise: str, steps: int, seed: int, split: int, distribution: str = NORMAL
) -> Batched:
    """Images (count, 32, 96) and then noise.

    Fresh noise of image i in epoch e of a split is that of numpy's seed sequence (seed, index of the split, e, i), the
    fixed block that of (seed,), of every split and epoch.
    """

    def drawn(*key: int) -> NDArray[np.float32]:
        generator, shape = np.random.default_rng([seed, *key]), (steps - ROWS, WIDTH)
        draw = generator.standard_normal if distribution == NORMAL else generator.random
        return draw(shape, dtype=np.float32)

    fixed = drawn()

    def make(chosen: NDArray[np.intp], epoch: int) -> NDArray[np.float32]:
        u = np.empty((steps, len(chosen), WIDTH), dtype=np.float32)
        u[:ROWS] = images[chosen].transpose(1, 0, 2) / np.float32(255)
        for column, i in enumerate(chosen.tolist()):
            u[ROWS:, column] = drawn(split, epoch, i) if noise == "fresh" else fixed
        return u

    return Batched((steps, len(images), WIDTH), make, is_fixed=noise != "fresh")


def _checksum(images: NDArray[np.uint8], labels: NDArray[np.int64], noise: str, steps: int, seed: int) -> str:
    """Of all that decides the sequences: pixels, labels, and the recipe of the noise."""
    hasher = hashlib.sha256(np.ascontiguousarray(images).data)
    hasher.update(labels.astype("<i8").data)
    hasher.update(f"{noise} {steps} {seed}".encode())
    return hasher.hexdigest()


# --- the official files -----------------------------------------------------------------------------------------


def read(file: str, root: Root, md5: Mapping[str, str]) -> tuple[NDArray[np.uint8], NDArray[np.int64], str]:
    """(count, 32, 96) rows, (count,) classes of the "train" or "test" files that are there, and which they are."""
    folder = files.folder_of(NAME, root)
    places = files.candidates(folder, SUBFOLDERS)
    for place in places:
        there = [name for name in FILES[file] if (place / name).is_file()]
        if there:
            parts = [_python(place / name, md5[name]) for name in there]
            return _together(parts, f"{len(there)} of {len(FILES[file])} files ({', '.join(there)}), MD5 verified")
        there = [name for name in FILES[file] if (place / f"{name}.bin").is_file()]
        if there:
            parts = [_binary(place / f"{name}.bin") for name in there]
            return _together(parts, f"{len(there)} of {len(FILES[file])} binary files ({', '.join(there)})")
    raise DataError(
        f"{NAME}: none of the files {', '.join(FILES[file])} (nor with .bin) in {', '.join(map(str, places))}. "
        f"{files.fetch_advice(NAME, folder)}"
    )


Part = tuple[NDArray[np.uint8], NDArray[np.int64]]


def _together(parts: list[Part], found: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], str]:
    planes = np.concatenate([planes for planes, _ in parts])  # (count, colour, row, column)
    rows = np.ascontiguousarray(planes.transpose(0, 2, 1, 3)).reshape(len(planes), ROWS, WIDTH)
    return rows, np.concatenate([labels for _, labels in parts]), found


def _python(path: Path, md5: str) -> Part:
    """A file of the Python layout: a pickled dictionary with the keys data, (count, 3072) bytes, and labels."""
    content = files.read(path, md5=md5)
    try:
        batch = _Arrays(io.BytesIO(content), encoding="bytes").load()
        data, labels = batch[b"data"].pixels(), np.array([int(label) for label in batch[b"labels"]])
    except Exception as error:  # a damaged pickle raises what it likes
        said = f"{type(error).__name__}: {error}"
        raise DataError(f"{path}: is no batch of CIFAR-10 ({foreign.short(said)}). {files.AGAIN}") from error
    return _checked(path, data, labels)


class _Recorded:
    """Stands for numpy's array, its dtype and what makes them: keeps what the file gives them, and does nothing."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def pixels(self) -> NDArray[np.uint8]:
        """Of an array of bytes, row by row: (version, shape, dtype, whether column by column, content)."""
        _, (count, size), dtype, by_columns, content = self.state
        if by_columns or str(dtype.arguments[0]) not in ("u1", "b'u1'") or not isinstance(content, bytes):
            raise ValueError("its data is no array of bytes")
        return np.frombuffer(content, np.uint8).reshape(count, size)


class _Arrays(pickle._Unpickler):
    """Unpickles dictionaries, lists, text and what stands for arrays; calls nothing else, whatever the file says.

    The one written in Python: the other makes as much room as the largest number of a memo in the file says.
    """

    def find_class(self, module: str, name: str) -> Any:
        is_array = name == "_reconstruct" and module.endswith("core.multiarray")
        if is_array or (module == "numpy" and name in ("ndarray", "dtype")):
            return _Recorded
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch of images needs")


def _binary(path: Path) -> Part:
    """A file of the binary layout: for each image a byte with its class, then 3072 bytes."""
    content = np.frombuffer(files.read(path), dtype=np.uint8)
    if len(content) == 0 or len(content) % (PIXELS + 1):
        raise DataError(
            f"{path}: {len(content)} bytes are not a whole number of images of {PIXELS + 1} bytes. {files.AGAIN}"
        )
    table = content.reshape(-1, PIXELS + 1)
    return _checked(path, table[:, 1:], table[:, 0])


def _checked(path: Path, data: NDArray[Any], labels: NDArray[Any]) -> Part:
    if data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != PIXELS or labels.shape != (len(data),):
        raise DataError(
            f"{path}: {data.dtype} data of shape {data.shape} with labels of shape {labels.shape}; expected uint8 of "
            f"shape (count, {PIXELS}) with a label each. {files.AGAIN}"
        )
    if not np.isin(labels, np.arange(CLASSES)).all():
        raise DataError(f"{path}: labels from {labels.min()} to {labels.max()}; they must be 0 to 9. {files.AGAIN}")
    return data.reshape(len(data), 3, ROWS, ROWS), labels.astype(np.int64)


def download(folder: str | Path) -> Path:
    """The official archive of the Python layout, unpacked; checksums of the archive and of each file are verified."""
    archive = files.fetch(NAME, ARCHIVE, folder, known=f"md5:{ARCHIVE_MD5}")
    target = archive.parent / SUBFOLDERS[0]
    files.extract(archive, {name: target / name for name in MD5}, md5=MD5)
    return target
