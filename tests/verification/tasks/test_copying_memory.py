"""Copying memory against a reader that hears one symbol at a time, remembers ten, and answers."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tiers import only
from verification.tasks import copying_memory
from verification.tasks.images import DataError

Array = NDArray[Any]


def reader(symbols: list[int]) -> list[int]:
    """What to say at each step: 0, until ten steps are left to the end; the 9 says when that is."""
    memory: list[int] = []
    said, is_recalling = [], False
    for symbol in symbols:
        said.append(memory.pop(0) if is_recalling else 0)
        if 1 <= symbol <= 8:
            memory.append(symbol)
        is_recalling = is_recalling or symbol == 9
    assert not memory
    return said


def spoken(sequences: Array) -> list[list[int]]:
    """The symbols of each sequence; AssertionError if a row is not one-hot."""
    found = []
    for sequence in sequences.transpose(1, 0, 2).tolist():
        assert all(sorted(row) == [0.0] * 9 + [1.0] for row in sequence)
        found.append([row.index(1.0) for row in sequence])
    return found


@pytest.mark.parametrize("silence", only([1, 2, 20], 1, 2))
def test_a_reader_with_memory_gives_every_target(silence: int) -> None:
    sequences, targets, spec = copying_memory.load("train", silence=silence, count=1200)
    assert sequences.shape == (silence + 20, 1200, 10) and sequences.dtype == np.float32
    assert targets.shape == (silence + 20, 1200) and targets.dtype == np.int64
    assert targets.T.tolist() == [reader(symbols) for symbols in spoken(sequences)]
    assert (spec.steps, spec.count, spec.input_size, spec.output_size) == (silence + 20, 1200, 10, 10)


def test_the_layout_is_ten_symbols_a_silence_one_nine_and_ten_zeros() -> None:
    for symbols in spoken(copying_memory.load("test", silence=7, count=300)[0]):
        assert len(symbols) == 27
        assert all(1 <= s <= 8 for s in symbols[:10])
        assert symbols[10:] == [0] * 6 + [9] + [0] * 10


def late(sequences: Array, targets: Array) -> None:
    """The marker a step later: ten zeros before the end become nine."""
    sequences[:] = np.concatenate((sequences[:10], np.roll(sequences[10:], 1, axis=0)))


def reverse(sequences: Array, targets: Array) -> None:
    targets[-10:] = targets[-10:][::-1].copy()


@pytest.mark.parametrize("fault", [late, reverse])
def test_the_reader_sees_a_wrong_marker_or_order(fault: Any) -> None:
    sequences, targets, _ = copying_memory.load("train", silence=5, count=50)
    fault(sequences, targets)
    try:
        said = [reader(symbols) for symbols in spoken(sequences)]
    except AssertionError:
        return
    assert said != targets.T.tolist()


def test_the_symbols_are_those_of_the_documented_generators() -> None:
    """The recipe once more: a generator for each thousand sequences, from (seed, index of the split, block)."""
    _, targets, _ = copying_memory.load("test", silence=3, count=1700, seed=4)
    drawn = []
    for block in range(2):
        chance = np.random.Generator(np.random.PCG64(np.random.SeedSequence([4, 2, block])))
        drawn += chance.integers(1, 9, (10, 1000)).T.tolist()
    assert targets[-10:].T.tolist() == drawn[:1700]


def test_symbols_are_uniform_and_those_of_different_places_independent() -> None:
    """χ² of the 64 pairs of neighbouring places: its mean is 63 and its variance 2·63."""
    _, targets, _ = copying_memory.load("train", silence=1, count=5000)
    recalled = targets[-10:].T.tolist()
    pairs: Counter[tuple[int, ...]] = Counter()
    for symbols in recalled:
        pairs.update(zip(symbols[::2], symbols[1::2], strict=True))
    expected = 5 * 5000 / 64
    statistic = sum((pairs[i, j] - expected) ** 2 / expected for i in range(1, 9) for j in range(1, 9))
    assert abs(statistic - 63) < 6 * math.sqrt(2 * 63)


@pytest.mark.parametrize("silence", [1, 20, 200, 300])
def test_the_baseline_is_the_mean_entropy_of_what_is_said_at_each_step(silence: int) -> None:
    """T + 10 sure steps, and ten that are uniform over eight: summed step by step, not by the formula."""
    shares = [[1.0]] * (silence + 10) + [[1 / 8] * 8] * 10
    entropies = [-sum(p * math.log(p) for p in row) for row in shares]
    eps = np.finfo(float).eps
    expected = sum(entropies) / len(entropies)
    assert copying_memory.baseline(silence) == pytest.approx(expected, rel=2 * len(shares) * eps)


def test_a_predictor_of_the_time_alone_costs_the_baseline_on_the_split() -> None:
    """It says the shares of the classes at each step, which it is given: on n sequences that gains 7/(2n) nats."""
    count = 5000
    _, targets, spec = copying_memory.load("test", silence=10, count=count)
    loss = 0.0
    for row in targets:
        shares = np.bincount(row) / count
        loss -= float(np.log(shares[row]).mean()) / len(targets)
    # χ² of 7 degrees at each of ten steps, over 2n: mean 70/(2n), and six standard deviations of √140/(2n)
    assert 0 <= spec.baseline - loss < (70 + 6 * math.sqrt(140)) / (2 * count) / len(targets)


def test_the_first_sequences_do_not_depend_on_how_many_are_asked_for() -> None:
    some = copying_memory.load("train", silence=2, count=1001)[1]
    many = copying_memory.load("train", silence=2, count=2500)[1]
    assert np.array_equal(some, many[:, :1001])


def test_splits_and_seeds_share_no_sequence_beyond_chance() -> None:
    """Of 9000 sequences of 8¹⁰ possible ones a pair of equal ones has probability 0.04; the seeds are fixed."""
    rows = [
        column.tobytes()
        for split in ("train", "validation", "test")
        for seed in (0, 1)
        for column in copying_memory.load(split, silence=1, count=1500, seed=seed)[1].T
    ]
    assert len(set(rows)) == len(rows) == 9000


def test_the_checksum_is_of_sequences_and_targets_and_is_pinned() -> None:
    """The pin says that this version of numpy draws the same numbers as that of the committed results."""
    sequences, targets, spec = copying_memory.load("test", silence=5, count=7)
    assert spec.sha256 == hashlib.sha256(sequences.tobytes() + targets.tobytes()).hexdigest()
    assert spec.sha256 == "b5a09b0b4e8b3c6cd2fdd2a485cde9e81cddd68c7e13914d89738078c75efe92"
    assert all(part in spec.describe() for part in ("copying memory, test", "7 sequences of 25 × 10", spec.sha256))


def test_an_unknown_split_is_a_data_error() -> None:
    with pytest.raises(DataError, match="copying memory has no split 'valid'"):
        copying_memory.load("valid")


@pytest.mark.parametrize("bad", [{"silence": 0}, {"count": -1}, {"seed": "0"}])
def test_an_impossible_size_is_named(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"copying memory: {next(iter(bad))} is "):
        copying_memory.load("train", **({"silence": 3, "count": 2} | bad))
