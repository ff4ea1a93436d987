"""Sequential MNIST from idx files written here byte by byte; the official ones where ODERNN_DATA has them."""

from __future__ import annotations

import gzip
import hashlib
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.verification.tasks.official_files import folder_with
from verification.tasks import _permutations, sequential_mnist
from verification.tasks.images import DataError

URNN = [319, 576, 323, 107, 355]
UNICORNN = [327, 72, 48, 129, 109]
SIZES = {"train": 30, "t10k": 12}
NAMES = {(part, kind): f"{part}-{kind}-ubyte.gz" for part in SIZES for kind in ("images-idx3", "labels-idx1")}


def made(folder: Path, *, labels: int = 10, width: int = 28) -> tuple[dict[str, str], dict[str, Any]]:
    """Four files of random pixels, their MD5, and (pixels, digit) of every image of each part."""
    chance = random.Random(7)
    checksums, content = {}, {}
    for part, count in SIZES.items():
        images = [bytes(chance.randrange(256) for _ in range(28 * width)) for _ in range(count)]
        digits = bytes(chance.randrange(labels) for _ in range(count))
        header = b"".join(n.to_bytes(4, "big") for n in (0x0803, count, 28, width))
        files = {
            "images-idx3": header + b"".join(images),
            "labels-idx1": b"\0\0\x08\x01" + count.to_bytes(4, "big") + digits,
        }
        for kind, unpacked in files.items():
            packed = gzip.compress(unpacked, mtime=0)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / NAMES[part, kind]).write_bytes(packed)
            checksums[NAMES[part, kind]] = hashlib.md5(packed).hexdigest()
        content[part] = list(zip(images, digits, strict=True))
    return checksums, content


def rows(sequences: Any, targets: Any) -> list[tuple[bytes, int]]:
    """What was read, back as bytes."""
    assert sequences.dtype == np.float32 and targets.dtype == np.int64
    whole = np.asarray(sequences)[..., 0]
    assert whole.min() >= 0 and whole.max() <= 1
    return [(bytes(round(float(v) * 255) for v in column), int(y)) for column, y in zip(whole.T, targets, strict=True)]


@pytest.mark.parametrize("subfolder", [".", "mnist", "MNIST/raw"])
def test_train_and_validation_come_from_the_training_file_and_test_from_the_other(
    tmp_path: Path, subfolder: str
) -> None:
    checksums, content = made(tmp_path / subfolder)
    read = {
        split: rows(*sequential_mnist.load(split, tmp_path, validation=8, md5=checksums)[:2])
        for split in ("train", "validation", "test")
    }
    assert read["validation"] == content["train"][:8] and read["train"] == content["train"][8:]
    assert read["test"] == content["t10k"]
    assert not {image for image, _ in read["train"]} & {image for image, _ in read["validation"]}


@pytest.mark.parametrize("name", ["urnn", "unicornn"])
def test_every_image_is_read_in_the_same_permuted_order(tmp_path: Path, name: str) -> None:
    checksums, content = made(tmp_path)
    sequences, targets, spec = sequential_mnist.load("test", tmp_path, permuted=True, permutation=name, md5=checksums)
    order = _permutations.order(name, 784).tolist()
    assert rows(sequences, targets) == [(bytes(image[p] for p in order), y) for image, y in content["t10k"]]
    assert spec.name == f"permuted sequential_mnist ({name})"
    assert (spec.steps, spec.count, spec.input_size, spec.output_size) == (784, 12, 1, 10)


def test_the_permutations_are_those_of_the_published_codes() -> None:
    """numpy's legacy generator never changes by its policy; torch's order of this seed is pinned."""
    assert _permutations.order("urnn", 784).tolist() == np.random.RandomState(92916).permutation(784).tolist()
    orders = [_permutations.order(name, 784).tolist() for name in _permutations.NAMES]
    assert all(sorted(order) == list(range(784)) for order in orders) and orders[0] != orders[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5544)
        assert orders[1] == torch.randperm(784).tolist()
        torch.manual_seed(12008)  # as in the code of coRNN
        assert orders[2] == torch.randperm(784).tolist() != orders[1]
    assert orders[0][:5] == URNN and orders[1][:5] == UNICORNN
    with pytest.raises(DataError, match=r"'zigzag'. Choose one of: urnn, unicornn, cornn"):
        _permutations.order("zigzag", 784)


def test_permuted_and_plain_have_checksums_of_their_own(tmp_path: Path) -> None:
    checksums, content = made(tmp_path)
    plain = sequential_mnist.load("test", tmp_path, md5=checksums)[2]
    permuted = sequential_mnist.load("test", tmp_path, permuted=True, md5=checksums)[2]
    labels = np.array([y for _, y in content["t10k"]], dtype="<i8").tobytes()
    assert plain.sha256 == hashlib.sha256(b"".join(image for image, _ in content["t10k"]) + labels).hexdigest()
    assert plain.sha256 != permuted.sha256
    assert "12 sequences of 784 × 1 from t10k-images-idx3-ubyte.gz" in plain.describe()


def test_the_baseline_is_the_entropy_of_the_digits(tmp_path: Path) -> None:
    checksums, content = made(tmp_path)
    spec = sequential_mnist.load("test", tmp_path, md5=checksums)[2]
    counts = Counter(y for _, y in content["t10k"])
    expected = math.log(12) - math.fsum(n * math.log(n) for n in counts.values()) / 12
    assert spec.baseline == pytest.approx(expected, rel=40 * np.finfo(float).eps)


@pytest.mark.parametrize("kind", ["images-idx3", "labels-idx1"])
@pytest.mark.parametrize("fault", ["truncated", "one bit", "missing"])
def test_a_damaged_or_missing_file_is_named_and_left_as_it_is(tmp_path: Path, kind: str, fault: str) -> None:
    checksums, _ = made(tmp_path)
    path = tmp_path / NAMES["train", kind]
    content = bytearray(path.read_bytes())
    if fault == "missing":
        path.unlink()
    else:
        content[-9] ^= 1
        path.write_bytes(content[:-20] if fault == "truncated" else content)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    with pytest.raises(DataError) as error:
        sequential_mnist.load("train", tmp_path, validation=8, md5=checksums)
    text = str(error.value)
    assert path.name in text and ("--download" in text if fault == "missing" else "Delete the file" in text)
    if fault != "missing":
        assert checksums[path.name] in text and hashlib.md5(path.read_bytes()).hexdigest() in text
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_files_that_are_not_the_official_ones_are_refused(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(DataError, match=r"MD5 is .* the official file has f68b3c2dcbeaaa9f"):
        sequential_mnist.load("train", tmp_path)


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    checksums, _ = made(tmp_path, width=27)
    with pytest.raises(DataError, match="expected images of 28 × 28"):
        sequential_mnist.load("test", tmp_path, md5=checksums)
    checksums, _ = made(tmp_path)
    names = NAMES["t10k", "labels-idx1"], NAMES["train", "labels-idx1"]
    (tmp_path / names[0]).write_bytes((tmp_path / names[1]).read_bytes())
    with pytest.raises(DataError, match=r"30 labels, but t10k-images-idx3-ubyte.gz has 12 images"):
        sequential_mnist.load("test", tmp_path, md5=checksums | {names[0]: checksums[names[1]]})
    checksums, _ = made(tmp_path, labels=200)
    with pytest.raises(DataError, match=r"has the label \d+; digits are 0 to 9"):
        sequential_mnist.load("test", tmp_path, md5=checksums)


def test_impossible_options_are_named(tmp_path: Path) -> None:
    checksums, _ = made(tmp_path)
    with pytest.raises(ValueError, match="validation is 30; there are 30 images"):
        sequential_mnist.load("train", tmp_path, validation=30, md5=checksums)
    with pytest.raises(ValueError, match="validation is 0"):
        sequential_mnist.load("train", tmp_path, validation=0, md5=checksums)
    with pytest.raises(DataError, match="'spiral'"):
        sequential_mnist.load("train", tmp_path, permuted=True, permutation="spiral", md5=checksums)
    with pytest.raises(ValueError, match=r"permutation is 'unicornn', but nothing is permuted. Pass permuted=True"):
        sequential_mnist.load("train", tmp_path, permutation="unicornn", md5=checksums)


@pytest.mark.data
def test_the_official_files_give_55000_5000_and_10000_sequences() -> None:
    root = folder_with(
        "mnist/train-images-idx3-ubyte.gz", "train-images-idx3-ubyte.gz", "MNIST/raw/train-images-idx3-ubyte.gz"
    )
    counts = {}
    for split in ("train", "validation", "test"):
        sequences, targets, spec = sequential_mnist.load(split, root, permuted=True)
        counts[split] = spec.count
        assert sequences.shape == (784, spec.count, 1) and sorted(set(targets.tolist())) == list(range(10))
    assert counts == {"train": 55_000, "validation": 5000, "test": 10_000}
    # the first digits of the training file, as every introduction shows them
    assert sequential_mnist.load("validation", root)[1][:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
