"""The adding problem against an oracle that draws and reads one sequence at a time in plain Python."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from verification.tasks import adding
from verification.tasks.images import DataError

Array = NDArray[Any]
SHORT: dict[str, Any] = {"steps": 13, "count": 2300}


def oracle(sequences: Array) -> tuple[list[tuple[int, int]], list[float]]:
    """The marked steps, counted from 1, and the sums, read from the input alone; AssertionError if it is no input."""
    marked, sums = [], []
    for sequence in sequences.transpose(1, 0, 2).tolist():
        places = [n for n, (_, marker) in enumerate(sequence, 1) if marker == 1.0]
        assert len(places) == 2 and all(marker in (0.0, 1.0) for _, marker in sequence)
        assert all(0.0 <= number < 1.0 for number, _ in sequence)
        first, second = places
        half = math.ceil(len(sequence) / 2)
        assert 1 <= first <= half - 1 < half <= second <= len(sequence) - 1
        marked.append((first, second))
        # float64 holds the sum of two float32 in [0, 1) exactly unless one is below 2⁻²⁹; then it is rounded twice
        sums.append(float(np.float32(sequence[first - 1][0] + sequence[second - 1][0])))
    return marked, sums


@pytest.mark.parametrize("steps", [3, 4, 13, 50])
def test_the_target_is_the_sum_of_the_two_marked_numbers(steps: int) -> None:
    sequences, targets, spec = adding.load("train", steps=steps, count=1500)
    assert sequences.shape == (steps, 1500, 2) and sequences.dtype == targets.dtype == np.float32
    assert targets.tolist() == oracle(sequences)[1]
    assert (spec.steps, spec.count, spec.input_size, spec.output_size) == (steps, 1500, 2, 1)


def test_the_numbers_are_those_of_the_documented_generators() -> None:
    """The recipe once more: a generator for each thousand sequences, from (seed, index of the split, block)."""
    sequences, _, _ = adding.load("validation", seed=5, **SHORT)
    expected = np.zeros((13, 3000, 2), dtype=np.float32)
    for block in range(3):
        chance = np.random.Generator(np.random.PCG64(np.random.SeedSequence([5, 1, block])))
        expected[:, 1000 * block : 1000 * block + 1000, 0] = chance.random((13, 1000), dtype=np.float32)
        for low, high in ((1, 7), (7, 13)):
            for j, step in enumerate(chance.integers(low, high, 1000).tolist()):
                expected[step - 1, 1000 * block + j, 1] = 1
    assert np.array_equal(sequences, expected[:, :2300])


def wrong_place(sequences: Array, targets: Array) -> None:
    """Every marker a step later: the second may be the last step."""
    sequences[..., 1] = np.roll(sequences[..., 1], 1, axis=0)


def three_markers(sequences: Array, targets: Array) -> None:
    sequences[0, :, 1] = 1


def product(sequences: Array, targets: Array) -> None:
    targets[:] = np.prod(np.where(sequences[..., 1] == 1, sequences[..., 0], 1), axis=0)


@pytest.mark.parametrize("fault", [wrong_place, three_markers, product])
def test_the_oracle_sees_a_wrong_marker_or_target(fault: Any) -> None:
    sequences, targets, _ = adding.load("train", **SHORT)
    fault(sequences, targets)
    try:
        found = oracle(sequences)[1]
    except AssertionError:
        return
    assert found != targets.tolist()


def test_each_marker_is_uniform_over_its_half_and_independent_of_the_other() -> None:
    """χ² of all 36 pairs of places: its mean is 35 and its variance 2·35, so 35 + 6·√70 ≈ 85."""
    sequences, _, _ = adding.load("train", steps=13, count=20_000)
    pairs = Counter(oracle(sequences)[0])
    assert len(pairs) == 36
    expected = 20_000 / 36
    assert sum((n - expected) ** 2 / expected for n in pairs.values()) < 35 + 6 * math.sqrt(70)


def test_the_baseline_is_the_variance_of_a_sum_of_two_and_what_the_constant_one_costs() -> None:
    variance = 2 * (Fraction(1, 3) - Fraction(1, 2) ** 2)  # E U² − (E U)², twice
    _, targets, spec = adding.load("test", steps=5, count=50_000)
    assert spec.baseline == float(variance) == adding.BASELINE
    squares = (targets.astype(np.float64) - 1) ** 2
    assert abs(squares.mean() - spec.baseline) < 6 * squares.std() / math.sqrt(50_000)  # six standard errors


def test_the_first_sequences_do_not_depend_on_how_many_are_asked_for() -> None:
    few, few_targets, _ = adding.load("train", steps=9, count=1)
    some, some_targets, _ = adding.load("train", steps=9, count=1100)
    many, many_targets, _ = adding.load("train", steps=9, count=2001)
    assert np.array_equal(few, many[:, :1]) and np.array_equal(few_targets, many_targets[:1])
    assert np.array_equal(some, many[:, :1100]) and np.array_equal(some_targets, many_targets[:1100])


def test_splits_seeds_and_blocks_share_no_sequence() -> None:
    loaded = [adding.load(split, seed=seed, **SHORT)[0] for split in ("train", "validation", "test") for seed in (0, 1)]
    rows = [column.tobytes() for sequences in loaded for column in sequences.transpose(1, 0, 2)]
    assert len(set(rows)) == len(rows) == 6 * 2300


def test_the_checksum_is_of_sequences_and_targets_and_is_pinned() -> None:
    """The pin says that this version of numpy draws the same numbers as that of the committed results."""
    sequences, targets, spec = adding.load("test", steps=20, count=1500)
    assert spec.sha256 == hashlib.sha256(sequences.tobytes() + targets.tobytes()).hexdigest()
    assert spec.sha256 == "0d213c209df5ee7f5bcd002ab85fc383552a8d0234cc9736f2faab15f03d30a1"
    assert all(
        part in spec.describe() for part in ("adding, test", "1500 sequences of 20 × 2", "0.166667", spec.sha256)
    )


def test_the_published_counts_are_the_default() -> None:
    assert adding.load("test", steps=3)[0].shape == (3, 10_000, 2)


def test_an_unknown_split_is_a_data_error() -> None:
    with pytest.raises(DataError, match=r"adding has no split 'valid'.*train, validation, test"):
        adding.load("valid")


@pytest.mark.parametrize("bad", [{"steps": 2}, {"count": 0}, {"seed": -1}, {"steps": 5.0}, {"count": True}])
def test_an_impossible_size_is_named(bad: dict[str, Any]) -> None:
    name, value = next(iter(bad.items()))
    with pytest.raises(ValueError, match=f"adding: {name} is {value}"):
        adding.load("train", **(SHORT | bad))
