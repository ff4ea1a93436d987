"""Noise padded CIFAR-10 from batches pickled here opcode by opcode, as Python 2 wrote them in 2009, and binary ones."""

from __future__ import annotations

import hashlib
import math
import pickle
import random
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verification.tasks.official_files import folder_with
from verification.tasks import noise_padded_cifar10 as cifar
from verification.tasks.images import DataError
from verification.tasks.task import for_epoch

Image = tuple[bytes, int]


def images(count: int, seed: int, classes: int = 10) -> list[Image]:
    """3072 bytes (all reds row by row, all greens, all blues) and a class."""
    chance = random.Random(seed)
    return [(chance.randbytes(3072), chance.randrange(classes)) for _ in range(count)]


def text(string: bytes) -> bytes:
    """A string of Python 2: the opcode U, its length, its bytes."""
    return b"U" + bytes([len(string)]) + string


def pickled(batch: list[Image], *, function: bytes = b"numpy.core.multiarray\n_reconstruct\n") -> bytes:
    """{"batch_label": …, "labels": […], "data": array, "filenames": []} in protocol 2, without memos."""
    pixels = b"".join(image for image, _ in batch)
    labels = b"".join(b"K" + bytes([label]) for _, label in batch)
    dtype = (
        b"cnumpy\ndtype\n"
        + text(b"u1")
        + b"K\0K\1\x87R(K\3"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    )
    array = (
        b"c" + function + b"cnumpy\nndarray\nK\0\x85" + text(b"b") + b"\x87R"
        b"(K\1" + b"M" + struct.pack("<H", len(batch)) + b"M\x00\x0c\x86" + dtype + b"\x89"
        b"T" + struct.pack("<I", len(pixels)) + pixels + b"tb"
    )
    entries = text(b"batch_label") + text(b"training") + text(b"labels") + b"](" + labels + b"e" + text(b"data") + array
    return b"\x80\x02}(" + entries + text(b"filenames") + b"]u."


def binary(batch: list[Image]) -> bytes:
    return b"".join(bytes([label]) + image for image, label in batch)


def made(folder: Path, batches: dict[str, list[Image]]) -> dict[str, str]:
    target = folder / "cifar-10-batches-py"
    target.mkdir(parents=True)
    for name, batch in batches.items():
        (target / name).write_bytes(pickled(batch))
    return {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in target.iterdir()}


def rows_of(image: bytes) -> list[list[int]]:
    """32 rows of 96: the reds of the row, its greens, its blues."""
    return [
        [image[1024 * colour + 32 * row + column] for colour in range(3) for column in range(32)] for row in range(32)
    ]


def check(sequences: Any, targets: Any, expected: list[Image]) -> None:
    assert sequences.shape == (1000, len(expected), 96) and targets.tolist() == [label for _, label in expected]
    for j, (image, _) in enumerate(expected):
        one = sequences[:, j]
        assert one.dtype == np.float32
        assert np.array_equal(one[:32], np.array(rows_of(image), dtype=np.float32) / np.float32(255))


BATCHES = {"data_batch_1": images(50, 1), "data_batch_3": images(50, 3), "test_batch": images(4, 9)}


def test_a_sequence_is_an_image_row_by_row_and_then_noise(tmp_path: Path) -> None:
    md5 = made(tmp_path, BATCHES)
    training = BATCHES["data_batch_1"] + BATCHES["data_batch_3"]
    for split, expected in (("train", training[:94]), ("validation", training[94:]), ("test", BATCHES["test_batch"])):
        sequences, targets, spec = cifar.load(split, tmp_path, md5=md5)
        check(sequences, targets, expected)
        assert (spec.steps, spec.input_size, spec.output_size) == (1000, 96, 10)
    spec = cifar.load("train", tmp_path, md5=md5)[2]
    assert "2 of 5 files (data_batch_1, data_batch_3), MD5 verified" in spec.origin
    assert "fresh noise, train: 94 sequences of 1000 × 96" in spec.describe()


def test_the_oracle_sees_colours_or_columns_in_the_wrong_order(tmp_path: Path) -> None:
    md5 = made(tmp_path, BATCHES)
    sequences, targets, _ = cifar.load("test", tmp_path, md5=md5)
    planes = np.array([list(image) for image, _ in BATCHES["test_batch"]], dtype=np.float32) / np.float32(255)
    for wrong in (planes.reshape(4, 32, 96), planes.reshape(4, 3, 32, 32).transpose(0, 2, 3, 1).reshape(4, 32, 96)):
        whole = np.asarray(sequences)
        whole[:32] = wrong.transpose(1, 0, 2)
        with pytest.raises(AssertionError):
            check(whole, targets, BATCHES["test_batch"])


@pytest.mark.parametrize("folder", ["cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "."])
def test_the_binary_layout_holds_the_same(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for name, batch in BATCHES.items():
        (tmp_path / folder / f"{name}.bin").write_bytes(binary(batch))
    sequences, targets, spec = cifar.load("test", tmp_path)
    check(sequences, targets, BATCHES["test_batch"])
    assert "1 of 1 binary files (test_batch)" in spec.origin
    assert cifar.load("train", tmp_path)[2].count == 94


def test_fresh_noise_is_standard_normal_and_different_for_every_image_split_and_epoch(tmp_path: Path) -> None:
    md5 = made(tmp_path, BATCHES)
    blocks = []
    for split in ("train", "test"):
        sequences = cifar.load(split, tmp_path, md5=md5)[0]
        for epoch in (0, 1):
            shown = for_epoch(sequences, epoch)
            assert np.array_equal(shown[:32, :4], sequences[:32, :4])
            assert np.array_equal(shown[:, [2]], shown[:, :4][:, 2:3])  # whatever else is asked for
            blocks += [shown[32:, j].copy() for j in range(4)]
    assert len({block.tobytes() for block in blocks}) == len(blocks) == 16
    noise = np.concatenate([block.reshape(-1) for block in blocks]).astype(np.float64)
    n = noise.size
    # six standard errors of the mean, the variance (fourth moment 3) and of a correlation of neighbours
    assert abs(noise.mean()) < 6 / math.sqrt(n) and abs(noise.var() - 1) < 6 * math.sqrt(2 / n)
    assert abs((noise[1:] * noise[:-1]).mean()) < 6 / math.sqrt(n)
    assert abs((blocks[0] * blocks[1]).mean()) < 6 / math.sqrt(blocks[0].size)


def test_the_noise_is_that_of_the_documented_generators(tmp_path: Path) -> None:
    md5 = made(tmp_path, BATCHES)
    sequences = for_epoch(cifar.load("test", tmp_path, seed=5, md5=md5)[0], 7)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([5, 2, 7, 3])))
    assert np.array_equal(sequences[32:, 3], generator.standard_normal((968, 96), dtype=np.float32))


def test_fixed_noise_is_one_block_for_all_images_splits_and_epochs(tmp_path: Path) -> None:
    md5 = made(tmp_path, BATCHES)
    train, test = (cifar.load(split, tmp_path, noise="fixed", md5=md5)[0] for split in ("train", "test"))
    block = test[32:, 0]
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([0])))
    assert np.array_equal(block, generator.standard_normal((968, 96), dtype=np.float32))
    assert all(np.array_equal(train[32:, j], block) for j in (0, 50, 93))
    assert np.array_equal(for_epoch(train, 4)[32:, 1], block)
    other = cifar.load("test", tmp_path, noise="fixed", seed=1, md5=md5)
    assert not np.any(other[0][32:, 0] == block)
    assert other[2].name == "noise_padded_cifar10, one fixed block of noise"


@pytest.mark.parametrize("noise", ["fresh", "fixed"])
def test_uniform_noise_is_uniform_and_the_images_are_the_same(tmp_path: Path, noise: str) -> None:
    md5 = made(tmp_path, BATCHES)
    normal, uniform = (
        cifar.load("test", tmp_path, noise=noise, distribution=kind, md5=md5) for kind in ("normal", "uniform")
    )
    assert np.array_equal(normal[0][:32], uniform[0][:32]) and uniform[2].name.endswith(
        {"fresh": "fresh uniform noise", "fixed": "one fixed block of uniform noise"}[noise]
    )
    block = uniform[0][32:, 1]
    assert block.min() >= 0 and block.max() < 1 and abs(float(block.mean()) - 0.5) < 5 / math.sqrt(12 * block.size)
    key = [0] if noise == "fixed" else [0, 2, 0, 1]
    assert np.array_equal(block, np.random.default_rng(key).random((968, 96), dtype=np.float32))


def test_a_validation_split_of_another_size(tmp_path: Path) -> None:
    """UnICORNN's code keeps 2000 of 50,000, so 4 of 100."""
    md5 = made(tmp_path, BATCHES)
    counts = {
        split: cifar.load(split, tmp_path, validation=2000, md5=md5)[2].count for split in ("train", "validation")
    }
    assert counts == {"train": 96, "validation": 4}


def test_whoever_changes_noise_steps_or_seed_has_another_checksum(tmp_path: Path) -> None:
    md5 = made(tmp_path, BATCHES)
    changes: list[dict[str, Any]] = [{}, {"noise": "fixed"}, {"steps": 500}, {"seed": 1}, {"distribution": "uniform"}]
    sums = [cifar.load("test", tmp_path, md5=md5, **change)[2].sha256 for change in changes]
    assert len(set(sums)) == 5
    assert cifar.load("test", tmp_path, md5=md5)[2].sha256 == sums[0]


def test_the_baseline_is_the_entropy_of_the_classes(tmp_path: Path) -> None:
    md5 = made(tmp_path, BATCHES)
    counts = Counter(label for _, label in BATCHES["test_batch"])
    expected = -math.fsum(n / 4 * math.log(n / 4) for n in counts.values())
    assert cifar.load("test", tmp_path, md5=md5)[2].baseline == pytest.approx(expected, rel=40 * np.finfo(float).eps)


def test_a_pickle_that_asks_for_a_function_is_refused_and_the_function_not_called(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    evil = b"cos\nsystem\n(" + text(b"touch " + str(tmp_path / "touched").encode()) + b"tR."
    for content in (evil, pickled(images(2, 0), function=b"os\nsystem\n"), pickle.dumps({b"data": Path})):
        (folder / "test_batch").write_bytes(content)
        md5 = {"test_batch": hashlib.md5(content).hexdigest()}
        with pytest.raises(DataError, match=r"test_batch: is no batch of CIFAR-10 \(UnpicklingError: it asks for"):
            cifar.load("test", tmp_path, md5=md5)
    assert not (tmp_path / "touched").exists()


def test_the_official_checksums_are_the_default(tmp_path: Path) -> None:
    made(tmp_path, BATCHES)
    with pytest.raises(DataError, match=r"test_batch: \d+ bytes with MD5 .* has MD5 40351d587109b95175f43aff81a1287e"):
        cifar.load("test", tmp_path)


@pytest.mark.parametrize("fault", ["truncated", "not a pickle", "no data", "wrong width", "fewer labels", "class 10"])
def test_a_damaged_batch_is_named_even_if_its_checksum_agrees(tmp_path: Path, fault: str) -> None:
    good = images(3, 0)
    content = {
        "truncated": pickled(good)[:-2000],
        "not a pickle": b"hello",
        "no data": pickle.dumps({b"labels": [1]}, protocol=2),
        "wrong width": pickle.dumps({b"labels": [1], b"data": np.zeros((1, 3071), np.uint8)}, protocol=2),
        "fewer labels": pickle.dumps({b"labels": [1], b"data": np.zeros((2, 3072), np.uint8)}, protocol=2),
        "class 10": pickled([(good[0][0], 10)]),
    }[fault]
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    (folder / "test_batch").write_bytes(content)
    with pytest.raises(DataError) as error:
        cifar.load("test", tmp_path, md5={"test_batch": hashlib.md5(content).hexdigest()})
    assert str(folder / "test_batch") in str(error.value) and "fetch it again" in str(error.value)


@pytest.mark.parametrize("content", [b"", binary(images(2, 0))[:-1], bytes([11]) + bytes(3072)])
def test_a_damaged_binary_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "test_batch.bin").write_bytes(content)
    with pytest.raises(DataError, match=r"test_batch.bin: .* fetch it again"):
        cifar.load("test", tmp_path)


def test_impossible_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no noise 'loud'. Choose one of: fresh, fixed"):
        cifar.load("test", tmp_path, noise="loud")
    with pytest.raises(DataError, match=r"no distribution 'white' of noise. Choose one of: normal, uniform"):
        cifar.load("test", tmp_path, distribution="white")
    with pytest.raises(ValueError, match="validation is 50000; it must be less"):
        cifar.load("test", tmp_path, validation=50_000)
    with pytest.raises(ValueError, match="steps is 31"):
        cifar.load("test", tmp_path, steps=31)


@pytest.mark.data
def test_the_official_files_have_their_published_mean_and_deviation() -> None:
    """Of a batch of 10000 images against those printed for all 50000: within six standard errors of image means."""
    root = folder_with("cifar-10-batches-py/data_batch_1", "cifar10/cifar-10-batches-py/data_batch_1")
    sequences, targets, spec = cifar.load("train", root)
    assert spec.count >= 9400 and len(targets) == spec.count
    pixels = sequences[:32, :1500].reshape(32, 1500, 3, 32).astype(np.float64)
    errors = 6 * pixels.mean(axis=(0, 3)).std(axis=0) / math.sqrt(1500)
    assert (np.abs(pixels.mean(axis=(0, 1, 3)) - [0.49140, 0.48216, 0.44653]) < errors).all()
    assert cifar.load("test", root)[2].count == 10_000
    assert Counter(cifar.load("test", root)[1].tolist()) == dict.fromkeys(range(10), 1000)
