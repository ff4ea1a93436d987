"""scikit-learn's digits as a source: file order, scale, checksum, and that the network is never needed."""

from __future__ import annotations

import hashlib
import socket

import numpy as np
import pytest
from sklearn.datasets import load_digits

from verification.tasks import digits


def test_the_digits_are_1797_images_of_64_pixels_between_0_and_1() -> None:
    images = digits.load().images
    assert images.shape == (1797, 64)
    assert images.dtype == np.float64
    assert (images.min(), images.max()) == (0.0, 1.0)


def test_pixels_are_the_counts_of_the_file_over_16_in_file_order() -> None:
    images = digits.load().images
    rows = load_digits().data  # the oracle: the flat table, not the images
    assert all(images[i, p] * 16 == rows[i, p] for i in (0, 1, 898, 1796) for p in range(64))
    assert np.array_equal(images * 16, rows)


def test_the_checksum_is_of_the_raw_counts_and_sees_one_changed_pixel() -> None:
    source = digits.load()
    raw = bytes(int(v) for v in load_digits().data.flat)
    assert source.sha256 == hashlib.sha256(raw).hexdigest()
    assert source.sha256 != hashlib.sha256(raw[:-1] + b"\x01").hexdigest()


def test_the_description_says_what_how_many_and_from_where() -> None:
    source = digits.load()
    text = source.describe()
    assert source.name == "scikit-learn digits"
    assert all(part in text for part in (source.name, "1797 images", "64 pixels", "scikit-learn", source.sha256))


def test_the_digits_load_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the digits must not open a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert len(digits.load().images) == 1797


def test_a_source_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        digits.load().images[0, 0] = 0.5
