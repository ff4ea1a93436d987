"""Sequential digits against the table in scikit-learn's wheel, read line by line without scikit-learn."""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn
import sklearn.datasets
from numpy.typing import NDArray

from verification.tasks import _permutations, sequential_digits
from verification.tasks.images import DataError

SPLITS = {"train": 1197, "validation": 300, "test": 300}


@pytest.fixture(scope="module")
def table() -> list[tuple[list[float], int]]:
    """(64 pixels over 16, digit) of every line of the file."""
    path = Path(sklearn.__file__).parent / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path, "rt") as lines:
        numbers = [[int(float(cell)) for cell in line] for line in csv.reader(lines)]
    return [([pixel / 16 for pixel in line[:64]], line[64]) for line in numbers]


def rows(sequences: NDArray[Any], targets: NDArray[Any]) -> list[tuple[list[float], int]]:
    return list(zip(sequences[..., 0].T.tolist(), targets.tolist(), strict=True))


@pytest.mark.parametrize("permuted", [False, True])
def test_each_split_has_its_lines_of_the_file_in_the_order_of_the_file(
    table: list[tuple[list[float], int]], permuted: bool
) -> None:
    shuffled = np.random.default_rng(0).permutation(1797).tolist()
    order = np.random.RandomState(92916).permutation(64).tolist() if permuted else list(range(64))
    taken = 0
    for split, count in SPLITS.items():
        chosen = sorted(shuffled[taken : taken + count])
        expected = [([table[i][0][p] for p in order], table[i][1]) for i in chosen]
        sequences, targets, spec = sequential_digits.load(split, permuted=permuted)
        assert rows(sequences, targets) == expected
        assert (spec.steps, spec.count, spec.input_size, spec.output_size) == (64, count, 1, 10)
        assert sequences.dtype == np.float32 and targets.dtype == np.int64
        taken += count
    assert taken == len(table) == 1797


@pytest.mark.parametrize("seed", [0, 7])
def test_the_splits_are_a_partition_of_the_file(table: list[tuple[list[float], int]], seed: int) -> None:
    found = [row for split in SPLITS for row in rows(*sequential_digits.load(split, seed=seed)[:2])]
    assert sorted(found) == sorted(table)


def test_another_seed_gives_other_splits_and_the_same_seed_the_same() -> None:
    first, again, other = (sequential_digits.load("test", seed=seed)[2].sha256 for seed in (0, 0, 1))
    assert first == again != other


def test_every_digit_is_in_every_split() -> None:
    assert all(set(sequential_digits.load(split)[1].tolist()) == set(range(10)) for split in SPLITS)


def test_the_permutation_is_one_and_moves_nearly_all_pixels() -> None:
    order = _permutations.order("urnn", 64).tolist()
    assert sorted(order) == list(range(64))
    assert sum(i == p for i, p in enumerate(order)) < 6  # of a random one, one on average


def test_another_permutation_is_asked_for_by_its_name_and_named() -> None:
    default, named, other = (
        sequential_digits.load("test", permuted=True, permutation=name) for name in (None, "urnn", "unicornn")
    )
    assert default[2] == named[2] and default[2].name == "permuted sequential digits"
    assert other[2].name == "permuted sequential digits (unicornn)" and other[2].sha256 != named[2].sha256
    order = _permutations.order("unicornn", 64).tolist()
    plain = sequential_digits.load("test")[0]
    assert np.array_equal(other[0], plain[order])
    with pytest.raises(ValueError, match="permutation is 'urnn', but nothing is permuted"):
        sequential_digits.load("test", permutation="urnn")


def test_the_baseline_is_the_entropy_of_the_classes() -> None:
    _, targets, spec = sequential_digits.load("test")
    counts = Counter(targets.tolist())
    expected = math.log(300) - math.fsum(n * math.log(n) for n in counts.values()) / 300  # another form of it
    assert spec.baseline == pytest.approx(expected, rel=40 * np.finfo(float).eps)  # 10 terms, logarithms to half a unit
    assert 2.2 < spec.baseline < math.log(10)


def test_the_checksums_are_of_the_file(table: list[tuple[list[float], int]]) -> None:
    pixels = bytes(int(16 * pixel) for row, _ in table for pixel in row)
    assert hashlib.sha256(pixels).hexdigest() == sequential_digits.PIXELS_SHA256
    assert hashlib.sha256(bytes(digit for _, digit in table)).hexdigest() == sequential_digits.LABELS_SHA256
    sequences, targets, spec = sequential_digits.load("train")
    assert spec.sha256 == hashlib.sha256(sequences.tobytes() + targets.tobytes()).hexdigest()
    assert "sequential digits, train: 1197 sequences of 64 × 1" in spec.describe()


@pytest.mark.parametrize("part", ["pixels", "labels"])
def test_one_changed_pixel_or_label_is_refused(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    original = sklearn.datasets.load_digits()
    images, target = original.images.copy(), original.target.copy()
    if part == "pixels":
        images[1234, 3, 4] = 16 - images[1234, 3, 4]
    else:
        target[1234] = (target[1234] + 1) % 10
    assert not (np.array_equal(images, original.images) and np.array_equal(target, original.target))
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda: SimpleNamespace(images=images, target=target))
    with pytest.raises(DataError, match=f"the {part} of the wheel of scikit-learn .* expected"):
        sequential_digits.load("test")


def test_an_unknown_split_or_seed_is_refused() -> None:
    with pytest.raises(DataError, match="sequential digits has no split 'all'"):
        sequential_digits.load("all")
    with pytest.raises(ValueError, match="seed is -1"):
        sequential_digits.load("test", seed=-1)


@pytest.mark.parametrize("pixels", [2, 8, 64])
def test_a_step_may_have_several_pixels_and_they_stay_in_order(
    table: list[tuple[list[float], int]], pixels: int
) -> None:
    sequences, targets, spec = sequential_digits.load("test", pixels=pixels)
    assert sequences.shape == (64 // pixels, 300, pixels) == (spec.steps, spec.count, spec.input_size)
    one_by_one, same, _ = sequential_digits.load("test")
    images = [[pixel for row in sequences[:, j].tolist() for pixel in row] for j in range(300)]
    assert images == one_by_one[..., 0].T.tolist() and targets.tolist() == same.tolist()
    assert f"{pixels} pixels a step" in spec.name


@pytest.mark.parametrize("pixels", [0, 3, 128])
def test_pixels_a_step_divide_the_image(pixels: int) -> None:
    with pytest.raises(ValueError, match="pixels is"):
        sequential_digits.load("test", pixels=pixels)
