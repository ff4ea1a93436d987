"""The idx reader on made files, damaged in every way; the official files where a folder has them."""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from verification.tasks import mnist
from verification.tasks.images import DataError

TRAIN = "train-images-idx3-ubyte.gz"
COUNT, ROWS, COLUMNS = 5, 3, 4
PIXELS = bytes((17 * i) % 256 for i in range(COUNT * ROWS * COLUMNS))


def idx(*shape: int, body: bytes, magic: int | None = None) -> bytes:
    """An idx file as the format's page describes it, packed field by field."""
    head = struct.pack(">I", 2048 + len(shape) if magic is None else magic)
    return head + b"".join(struct.pack(">I", n) for n in shape) + body


IMAGES_FILE = idx(COUNT, ROWS, COLUMNS, body=PIXELS)
LABELS_FILE = idx(COUNT, body=bytes(range(COUNT)))


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def put(folder: Path, unpacked: bytes, *, name: str = TRAIN) -> dict[str, str]:
    """Write one gzipped file; the list of checksums that makes it official."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress(unpacked)
    (folder / name).write_bytes(packed)
    return {name: md5(packed)}


def put_packed(folder: Path, packed: bytes) -> dict[str, str]:
    (folder / TRAIN).write_bytes(packed)
    return {TRAIN: md5(packed)}


@pytest.mark.parametrize("inside", [".", "MNIST/raw", "mnist"])
def test_images_are_read_in_file_order_and_scaled_from_three_layouts(tmp_path: Path, inside: str) -> None:
    checksums = put(tmp_path / inside, IMAGES_FILE)
    source = mnist.load(tmp_path, md5=checksums)
    assert source.images.shape == (COUNT, ROWS * COLUMNS)
    assert source.images.dtype == np.float64
    assert [v * 255 for v in source.images.flat] == pytest.approx(list(PIXELS), rel=1e-15)
    assert source.sha256 == hashlib.sha256(PIXELS).hexdigest()
    assert "MNIST train: 5 images of 12 pixels" in source.describe()


def test_the_folder_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checksums = put(tmp_path, IMAGES_FILE)
    monkeypatch.setenv("ODERNN_DATA", str(tmp_path))
    assert len(mnist.load(md5=checksums).images) == COUNT


def test_labels_have_one_dimension(tmp_path: Path) -> None:
    name = "train-labels-idx1-ubyte.gz"
    checksums = put(tmp_path, LABELS_FILE, name=name)
    labels = mnist.read_idx(tmp_path / name, dimensions=1, md5=checksums[name])
    assert labels.tolist() == list(range(COUNT))


DAMAGED = {
    "labels in place of images": (LABELS_FILE, "magic number is 2049, expected 2051"),
    "signed bytes": (
        idx(COUNT, ROWS, COLUMNS, body=PIXELS, magic=0x0903),
        "magic number is 2307, expected 2051",
    ),
    "little-endian magic": (b"\x03\x08\x00\x00" + IMAGES_FILE[4:], "expected 2051"),
    "empty": (b"", "0 bytes cannot hold an idx header of 16"),
    "header cut": (IMAGES_FILE[:10], "10 bytes cannot hold an idx header of 16"),
    "one pixel short": (IMAGES_FILE[:-1], "5 × 3 × 4 = 60 bytes, but 59 follow"),
    "one pixel over": (IMAGES_FILE + b"\x00", "60 bytes, but 61 follow"),
    "one image over in the header": (idx(COUNT + 1, ROWS, COLUMNS, body=PIXELS), "= 72 bytes, but 60 follow"),
    "absurd header": (idx(2**32 - 1, 2**32 - 1, 2**32 - 1, body=PIXELS), "but 60 follow"),
    "product 2⁶⁴ overflows to 0": (
        idx(2**31, 2**31, 4, body=b""),
        "= 18446744073709551616 bytes, but 0 follow",
    ),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_idx_file_is_named_with_what_was_expected(tmp_path: Path, damage: str) -> None:
    unpacked, message = DAMAGED[damage]
    checksums = put(tmp_path, unpacked)
    with pytest.raises(DataError) as error:
        mnist.load(tmp_path, md5=checksums)
    assert message in str(error.value) and TRAIN in str(error.value) and "fetch it again" in str(error.value)
    assert "\n" not in str(error.value)


PACKED = gzip.compress(IMAGES_FILE)
BROKEN = {
    "truncated": PACKED[: len(PACKED) // 2],
    "empty": b"\x1f",
    "not gzip": b"not gzip" + PACKED,
    "wrong CRC": PACKED[:-8] + bytes(8),
    "corrupt stream": PACKED[:12] + b"\xff" * 20 + PACKED[32:],
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_gzip_file_is_a_data_error_even_when_its_checksum_agrees(tmp_path: Path, fault: str) -> None:
    checksums = put_packed(tmp_path, BROKEN[fault])
    with pytest.raises(DataError, match=r"not a complete \.gz file"):
        mnist.load(tmp_path, md5=checksums)


def test_a_file_that_is_not_the_official_one_is_refused_with_both_checksums(tmp_path: Path) -> None:
    made = put(tmp_path, IMAGES_FILE)
    with pytest.raises(DataError, match=f"MD5 is {made[TRAIN]}, the official file has f68b3c2dcbeaaa9f"):
        mnist.load(tmp_path)


def test_a_missing_file_names_folder_file_and_command(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        mnist.load(tmp_path / "nowhere")
    text = str(error.value)
    parts = (str(tmp_path / "nowhere"), TRAIN, "--task mnist --data", "--download", *mnist.MD5)
    assert all(part in text for part in parts)
    assert "\n" not in text


def test_no_folder_at_all_says_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODERNN_DATA", raising=False)
    with pytest.raises(DataError, match=r"--data FOLDER.*ODERNN_DATA"):
        mnist.load()


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'valid'.*train, test"):
        mnist.load(tmp_path, "valid")  # type: ignore[arg-type]


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[str, dict[str, str]]:
    """A mirror in a folder, served without a network, and its list of checksums."""
    folder = tmp_path / "mirror"
    checksums = put(folder, IMAGES_FILE) | put(folder, LABELS_FILE, name="train-labels-idx1-ubyte.gz")
    return f"{folder}/", checksums


@pytest.fixture
def _local_pooch(monkeypatch: pytest.MonkeyPatch) -> None:
    """pooch's downloader copies from a folder instead of opening a connection; all its checks stay."""
    import pooch.core

    def copy(url: str, output_file: str, _: object) -> None:
        Path(output_file).write_bytes(Path(url).read_bytes())

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_, **__: copy)


@pytest.mark.usefixtures("_local_pooch")
def test_a_download_fetches_every_file_and_can_be_loaded(tmp_path: Path, mirror: tuple[str, dict[str, str]]) -> None:
    base_url, checksums = mirror
    folder = mnist.download(tmp_path / "fetched", base_url=base_url, md5=checksums)
    assert sorted(p.name for p in folder.iterdir()) == sorted(checksums)
    assert len(mnist.load(folder, md5=checksums).images) == COUNT


@pytest.mark.usefixtures("_local_pooch")
def test_a_download_with_a_wrong_checksum_leaves_no_file(tmp_path: Path, mirror: tuple[str, dict[str, str]]) -> None:
    base_url, checksums = mirror
    with pytest.raises(DataError, match="could not be fetched"):
        mnist.download(tmp_path / "fetched", base_url=base_url, md5=checksums | {TRAIN: "0" * 32})
    assert not (tmp_path / "fetched" / TRAIN).exists()


@pytest.mark.usefixtures("_local_pooch")
def test_a_download_from_nowhere_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="could not be fetched"):
        mnist.download(tmp_path / "fetched", base_url=f"{tmp_path}/nowhere/")


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("ODERNN_DATA"), reason="ODERNN_DATA does not name a folder with MNIST")
def test_the_official_files_have_their_published_shape_and_mean() -> None:
    """Mean and standard deviation of the training pixels as every tutorial prints them: 0.1307 and 0.3081."""
    train, test = mnist.load(), mnist.load(split="test")
    assert train.images.shape == (60000, 784) and test.images.shape == (10000, 784)
    assert round(float(train.images.mean()), 4) == 0.1307
    assert round(float(train.images.std()), 4) == 0.3081
    assert (train.images.min(), train.images.max()) == (0.0, 1.0)
