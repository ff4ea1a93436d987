"""What all tasks share: sequences that are made when asked for, baselines, shares of a whole, published figures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verification.tasks.task import Batched, TaskSpec, entropy, for_epoch, shares_of, variance

WHOLE = np.arange(5 * 7 * 3, dtype=np.float32).reshape(5, 7, 3)


def batched() -> Batched:
    return Batched((5, 7, 3), lambda chosen, epoch: WHOLE[:, chosen] + np.float32(1000 * epoch))


KEYS: dict[str, Any] = {
    "all": slice(None),
    "one": (slice(None), 3),
    "last": (slice(None), -1),
    "list": (slice(None), [6, 0, 0]),
    "array": (slice(None), np.array([2, 5])),
    "mask": (slice(None), np.arange(7) % 2 == 0),
    "slice": (slice(1, 4), slice(2, 6, 2)),
    "row": 2,
    "row of one": (2, 3),
    "number": (2, 3, 1),
    "columns": (slice(None), [1, 2], slice(0, 2)),
    "none": (slice(None), []),
    "backwards": (slice(None), slice(None, None, -1)),
}


@pytest.mark.parametrize("key", KEYS)
def test_indexing_gives_what_the_array_of_all_sequences_gives(key: str) -> None:
    index = KEYS[key]
    wanted = WHOLE[:, np.array([], dtype=int)] if key == "none" else WHOLE[index]
    if key == "none":
        index = (slice(None), np.array([], dtype=int))
    found = batched()[index]
    assert np.shape(found) == np.shape(wanted) and np.array_equal(found, wanted)


@settings(max_examples=100, deadline=None)
@given(st.slices(5), st.lists(st.integers(-7, 6), min_size=1, max_size=9), st.slices(3))
def test_indexing_agrees_for_any_slice_of_times_and_columns(times: slice, chosen: list[int], columns: slice) -> None:
    assert np.array_equal(batched()[times, chosen, columns], WHOLE[times][:, chosen][:, :, columns])


def test_sequences_that_are_made_when_asked_for_look_like_an_array() -> None:
    sequences = batched()
    assert sequences.shape == (5, 7, 3) and sequences.ndim == 3 and len(sequences) == 5
    assert sequences.dtype == np.float32 and np.array_equal(np.asarray(sequences), WHOLE)
    with pytest.raises(IndexError):
        sequences[:, 7]
    with pytest.raises(TypeError, match=r"first index .* \[0, 1\]"):
        sequences[[0, 1], [0, 1]]


def test_another_epoch_is_asked_for_by_its_number_and_an_array_has_none() -> None:
    sequences = batched()
    assert np.array_equal(for_epoch(sequences, 3)[:, 2], WHOLE[:, 2] + 3000)
    assert np.array_equal(for_epoch(for_epoch(sequences, 3), 0)[:, 2], WHOLE[:, 2])
    assert for_epoch(WHOLE, 3) is WHOLE
    with pytest.raises(ValueError, match="epoch is -1"):
        sequences.epoch(-1)


def test_the_entropy_is_that_of_the_shares_and_absent_classes_add_nothing() -> None:
    assert entropy(np.array([0, 0, 1, 3]), 5) == pytest.approx(1.5 * math.log(2), rel=4 * np.finfo(float).eps)
    assert entropy(np.array([[2, 2], [2, 2]]), 3) == 0


def test_the_variance_is_the_mean_over_columns_of_the_error_of_their_means() -> None:
    targets = np.array([[[0.0, 1.0], [2.0, 1.0]], [[0.0, 5.0], [2.0, 5.0]]], dtype=np.float32)
    assert variance(targets) == (1 + 4) / 2
    assert variance(np.array([1.0, 3.0])) == 1
    constants = np.linspace(-2, 2, 401)
    errors = [((targets[..., 0] - c) ** 2).mean() for c in constants + 1]
    assert constants[int(np.argmin(errors))] == pytest.approx(0, abs=1e-12)  # no constant does better than the mean


@given(st.integers(3, 400))
def test_shares_cover_everything_once_and_are_rounded(count: int) -> None:
    ends = shares_of(count, (0.7, 0.15, 0.15))
    assert ends[0] == 0 and ends[-1] == count and ends == sorted(ends)
    for size, share in zip(np.diff(ends).tolist(), (0.7, 0.15), strict=False):
        assert abs(size - share * count) <= 1 / 2 + 1e-9


def spec(**changes: Any) -> TaskSpec:
    given = {
        "name": "a task",
        "split": "test",
        "loss": "squared error",
        "reads": "last",
        "steps": 9,
        "count": 4,
        "input_size": 2,
        "output_size": 1,
        "baseline": 4.0,
        "baseline_means": "a constant",
        "origin": "a test",
        "sha256": "0",
    }
    return TaskSpec(**(given | changes))


@pytest.mark.parametrize(
    ("kind", "loss", "figure"),
    [("loss", 2.25, 2.25), ("root", 2.25, 1.5), ("normalised root", 1.0, 0.5), ("bits", 2 * math.log(2), 2.0)],
)
def test_the_published_figure_follows_from_the_loss(kind: Any, loss: float, figure: float) -> None:
    assert spec(published_as=kind).published(loss) == figure


def test_the_published_accuracy_must_be_given() -> None:
    assert spec(published_as="accuracy").published(0.3, 0.75) == 0.75
    with pytest.raises(ValueError, match="a task: the papers print the accuracy"):
        spec(published_as="accuracy").published(0.3)


def test_the_description_says_where_sequences_are_of_different_lengths() -> None:
    assert "4 sequences of 9 × 2" in spec().describe()
    assert "4 sequences of 5 to 9 × 2" in spec(lengths=(9, 5, 7, 6)).describe()
