"""MNIST from the four official files: read from a folder, or downloaded and verified on explicit request."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from odernn import foreign
from odernn.foreign import ForeignError
from verification.tasks.images import DataError, ImageSource

Split = Literal["train", "test"]

# The official list (MD5 of the .gz files), as torchvision has it too.
MD5: Mapping[str, str] = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
IMAGES: Mapping[Split, str] = {"train": "train-images-idx3-ubyte.gz", "test": "t10k-images-idx3-ubyte.gz"}
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"  # the mirror that torchvision uses
ENVIRONMENT = "ODERNN_DATA"
SUBFOLDERS = (".", "MNIST/raw", "mnist")  # the files themselves, torchvision's layout, one folder a data set
WHITE = 255

_AGAIN = "Delete the file and fetch it again."


def load(folder: str | Path | None = None, split: Split = "train", *, md5: Mapping[str, str] = MD5) -> ImageSource:
    """The images of one split in the order of the official file, (60000 or 10000, 784), scaled to [0, 1].

    folder  holds the .gz files, or MNIST/raw or mnist inside it does; default: the environment's ODERNN_DATA.
    md5     what the .gz files must sum to (other lists are for tests).
    """
    if split not in IMAGES:
        raise DataError(f"MNIST has no split {split!r}. Choose one of: {', '.join(IMAGES)}.")
    path = images_path(folder, split)
    images = read_idx(path, dimensions=3, md5=md5[path.name])
    return ImageSource.from_raw(f"MNIST {split}", images, white=WHITE, origin=path.name)


def images_path(folder: str | Path | None = None, split: Split = "train") -> Path:
    """Where the images of a split are, packed as they were published. Raises DataError if they are not there."""
    return find(_chosen(folder), IMAGES[split])


def find(folder: str | Path, name: str) -> Path:
    """The official file of that name in `folder`, `folder`/MNIST/raw or `folder`/mnist."""
    candidates = [Path(folder).expanduser() / sub for sub in SUBFOLDERS]
    for candidate in candidates:
        if (candidate / name).is_file():
            return candidate / name
    raise DataError(
        f"MNIST: no file {name} in the folder {str(folder)!r} (looked in {', '.join(map(str, candidates))}). "
        f"Put the official files there ({', '.join(MD5)}), or fetch them: {_download_command(folder)}"
    )


def read_idx(path: Path, *, dimensions: int, md5: str) -> NDArray[np.uint8]:
    """The unsigned bytes of a gzipped idx file, verified before they are unpacked.

    Format: big-endian integers 0x00000800 + dimensions, then the length of every dimension, then the bytes.
    """
    try:
        packed = foreign.content(path, foreign.MOST_DATA)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.") from error
    except ForeignError as error:
        raise DataError(f"{path}: {error}. {_AGAIN}") from None
    checksum = hashlib.md5(packed, usedforsecurity=False).hexdigest()
    if checksum != md5:
        raise DataError(f"{path}: MD5 is {checksum}, the official file has {md5}. {_AGAIN}")
    try:
        data = foreign.unpacked(packed, ".gz")
    except ForeignError as error:
        raise DataError(f"{path}: {error}. {_AGAIN}") from None
    return _parse_idx(data, dimensions=dimensions, path=path)


def download(folder: str | Path, *, base_url: str = MIRROR, md5: Mapping[str, str] = MD5) -> Path:
    """Fetch the four official files into `folder`, verify each, return the folder. Needs the extra `data`."""
    try:
        import pooch
    except ImportError as error:
        raise DataError("downloading MNIST needs pooch: pip install 'odernn[data]'") from error
    target = Path(folder).expanduser()
    try:
        for name, digest in md5.items():
            pooch.retrieve(base_url + name, known_hash=f"md5:{digest}", fname=name, path=target)
    except (OSError, ValueError) as error:  # no connection, no space; a wrong checksum
        reason = " ".join(str(error).split())
        raise DataError(f"MNIST could not be fetched from {base_url} into {target}: {reason}") from error
    return target


def _chosen(folder: str | Path | None) -> str | Path:
    chosen = folder if folder is not None else os.environ.get(ENVIRONMENT)
    if not chosen:
        raise DataError(
            f"MNIST needs the folder of its files: pass one (--data FOLDER) or set {ENVIRONMENT}. "
            f"To fetch them: {_download_command('FOLDER')}"
        )
    return chosen


def _download_command(folder: str | Path) -> str:
    return f"odernn verify --task mnist --data {shlex.quote(str(folder))} --download"


def _parse_idx(data: bytes, *, dimensions: int, path: Path) -> NDArray[np.uint8]:
    header_size = 4 * (1 + dimensions)
    magic = int.from_bytes(data[:4], "big")
    expected = 0x0800 + dimensions
    if len(data) >= 4 and magic != expected:
        raise DataError(f"{path}: the idx magic number is {magic}, expected {expected}. {_AGAIN}")
    if len(data) < header_size:
        raise DataError(f"{path}: {len(data)} bytes cannot hold an idx header of {header_size}. {_AGAIN}")
    shape = [int(n) for n in np.frombuffer(data, dtype=">u4", offset=4, count=dimensions)]
    size = 1
    for length in shape:  # Python integers: a header that promises 2³² × 2³² × 2³² must not overflow
        size *= length
    if len(data) - header_size != size:
        raise DataError(
            f"{path}: the header promises {' × '.join(map(str, shape))} = {size} bytes, "
            f"but {len(data) - header_size} follow. {_AGAIN}"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header_size).reshape(shape)
