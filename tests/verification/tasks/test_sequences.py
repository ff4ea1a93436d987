"""Sequences of images against an oracle that hands out one value at a time from an endless tape."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verification.tasks import digits
from verification.tasks.images import DataError, ImageSource
from verification.tasks.sequences import build


def numbered(count: int, pixels: int) -> ImageSource:
    """A source whose pixels tell where they come from: the k-th value of the file is k / total."""
    total = count * pixels
    images = np.arange(total, dtype=np.float64).reshape(count, pixels) / total
    return ImageSource(name="numbered", images=images, origin="a test", sha256="")


def oracle(source: ImageSource, rows: int, d: int, batch: int) -> list[list[list[float]]]:
    """[j][n][i]: takes whole images from an endless tape, drops what the sequence leaves of the last one."""
    tape = itertools.cycle(list(image) for image in source.images)
    elements = []
    for _ in range(batch):
        values: list[float] = []
        while len(values) < rows * d:
            values.extend(next(tape))
        elements.append([[values[n * d + i] for i in range(d)] for n in range(rows)])
    return elements


@settings(max_examples=200, deadline=None)
@given(
    count=st.integers(1, 7),
    pixels=st.integers(1, 9),
    steps=st.integers(0, 12),
    d=st.integers(1, 5),
    batch=st.integers(1, 6),
)
def test_images_follow_each_other_in_file_order_and_wrap_round(
    count: int, pixels: int, steps: int, d: int, batch: int
) -> None:
    source = numbered(count, pixels)
    u = build(source, steps=steps, input_size=d, batch=batch, seed=0)
    assert u.shape == (steps, batch, d) and u.dtype == np.float64
    assert u.transpose(1, 0, 2).tolist() == oracle(source, steps, d, batch)


def test_the_oracle_sees_a_sequence_that_starts_at_the_wrong_image() -> None:
    """A planted fault: an element that goes on inside the image its forerunner cut short."""
    source = numbered(4, 3)
    wrong = np.resize(source.images.reshape(-1), (2, 5, 1))
    assert wrong.tolist() != oracle(source, 5, 1, 2)


def test_a_noise_padded_sequence_has_32_rows_of_images_and_then_uniform_noise() -> None:
    source = digits.load()
    u = build(source, steps=1000, input_size=96, batch=4, kind="noise-padded", seed=7)
    assert u[:32].transpose(1, 0, 2).tolist() == oracle(source, 32, 96, 4)
    noise = u[32:]
    assert noise.min() >= 0 and noise.max() < 1
    n = noise.size
    assert abs(noise.mean() - 1 / 2) < 6 / np.sqrt(12 * n)  # six standard errors of a uniform mean
    assert len(np.unique(noise)) > 0.999 * n  # no row or element is a copy of another


@pytest.mark.parametrize("steps", [0, 1, 31, 32, 33])
def test_a_noise_padded_sequence_may_be_shorter_than_its_image(steps: int) -> None:
    source = numbered(3, 50)
    u = build(source, steps=steps, input_size=2, batch=3, kind="noise-padded", seed=1)
    assert u[:32].transpose(1, 0, 2).tolist() == oracle(source, min(steps, 32), 2, 3)
    assert u.shape == (steps, 3, 2)


def test_the_seed_moves_the_noise_and_nothing_else() -> None:
    source = numbered(3, 50)
    a, again, b = (build(source, steps=40, input_size=2, kind="noise-padded", seed=s) for s in (1, 1, 2))
    assert np.array_equal(a, again)
    assert np.array_equal(a[:32], b[:32]) and not np.any(a[32:] == b[32:])
    images = [build(source, steps=40, input_size=2, seed=s) for s in (1, 2)]
    assert np.array_equal(*images)


@pytest.mark.parametrize(("steps", "d"), [(17984, 6), (4000, 2), (784, 1), (500, 100)])
def test_the_printed_shapes_are_filled_from_the_digits(steps: int, d: int) -> None:
    u = build(digits.load(), steps=steps, input_size=d, seed=0)
    assert u.shape == (steps, 32, d)
    assert u.min() == 0 and u.max() == 1


def test_the_source_is_left_as_it_was() -> None:
    source = numbered(3, 4)
    before = source.images.copy()
    u = build(source, steps=4, input_size=3, batch=1, seed=0)
    u[:] = -1
    assert np.array_equal(source.images, before)


@pytest.mark.parametrize("bad", [{"steps": -1}, {"input_size": 0}, {"batch": 0}, {"kind": "sound"}])
def test_an_impossible_shape_or_kind_is_refused(bad: dict[str, object]) -> None:
    arguments: dict[str, object] = {"steps": 4, "input_size": 2, "batch": 1, "seed": 0} | bad
    with pytest.raises(ValueError, match=str(next(iter(bad.values())))):
        build(numbered(2, 2), **arguments)  # type: ignore[arg-type]


def test_a_source_without_images_is_a_data_error() -> None:
    with pytest.raises(DataError, match="numbered holds no image"):
        build(ImageSource("numbered", np.empty((0, 4)), "a test", ""), steps=1, input_size=1, seed=0)
