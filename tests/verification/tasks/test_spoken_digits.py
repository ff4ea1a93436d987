"""Spoken digits from .wav files written here byte by byte; spectra by the sum that defines the Fourier transform."""

from __future__ import annotations

import cmath
import hashlib
import math
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verification.tasks.official_files import folder_with
from verification.tasks import spoken_digits
from verification.tasks.images import DataError


def samples(seed: int, count: int) -> list[int]:
    chance = random.Random(seed)
    return [
        max(-32768, min(32767, round(9000 * math.sin(n / 3) * chance.random() + chance.gauss(0, 500))))
        for n in range(count)
    ]


def wav(values: list[int], *, rate: int = 8000, channels: int = 1, bits: int = 16) -> bytes:
    """The RIFF layout: header, format chunk, data chunk."""
    width = bits // 8
    offset = 128 if bits == 8 else 0
    data = b"".join(int(v + offset).to_bytes(width, "little", signed=bits > 8) for v in values)
    kind = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * width, channels * width, bits)
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(kind)) + kind + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def spectra(values: list[int], *, frame: int, hop: int, scale: float = 32768) -> list[list[float]]:
    """ln max(|Σ_k hann_k x_k e^{−2πijk/frame}|, 10⁻⁵), j ≤ frame/2, for every whole frame."""
    found = []
    for start in range(0, len(values) - frame + 1, hop):
        cut = [
            v / scale * (0.5 - 0.5 * math.cos(2 * math.pi * k / frame))
            for k, v in enumerate(values[start : start + frame])
        ]
        row = []
        for j in range(frame // 2 + 1):
            total = sum(v * cmath.exp(-2j * math.pi * j * k / frame) for k, v in enumerate(cut))
            row.append(math.log(max(abs(total), 1e-5)))
        found.append(row)
    return found


SMALL: dict[str, Any] = {"frame": 16, "hop": 8}


def made(folder: Path, names: dict[str, int]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in names.items():
        (folder / name).write_bytes(wav(samples(len(name) + count, count)))
    return folder


OFFICIAL = {
    f"{digit}_{who}_{take}.wav": 40 + 7 * take + digit
    for digit in (0, 7)
    for who in ("theo", "lucas")
    for take in (0, 4, 5, 9, 10, 49)
}
TAKES = {"test": (0, 4), "validation": (5, 9), "train": (10, 49)}


@pytest.mark.parametrize("subfolder", [".", "recordings", "free-spoken-digit-dataset/recordings"])
def test_takes_0_to_4_are_the_test_split_and_every_frame_is_followed_by_the_next(
    tmp_path: Path, subfolder: str
) -> None:
    made(tmp_path / subfolder, OFFICIAL)
    for split, takes in TAKES.items():
        names = sorted(name for name in OFFICIAL if int(name.split("_")[2][:-4]) in takes)
        sequences, targets, spec = spoken_digits.load(split, tmp_path, **SMALL)
        assert sequences.dtype == targets.dtype == np.float32 and sequences.shape == targets.shape
        assert spec.count == len(names) == 8 and spec.input_size == spec.output_size == 9
        assert f"8 of 24 .wav files in {(tmp_path / subfolder).name}, divided by take" in spec.origin
        for j, name in enumerate(names):
            rows = spectra(samples(len(name) + OFFICIAL[name], OFFICIAL[name]), **SMALL)
            steps = len(rows) - 1
            assert spec.lengths is not None and spec.lengths[j] == steps
            # sums of 16 terms in float64, then float32 of numbers below 12
            assert np.allclose(sequences[:steps, j], rows[:-1], rtol=0, atol=12 * np.finfo(np.float32).eps)
            assert np.allclose(targets[:steps, j], rows[1:], rtol=0, atol=12 * np.finfo(np.float32).eps)
            assert not sequences[steps:, j].any() and not targets[steps:, j].any()
        assert spec.steps == max(spec.lengths or ())


def test_the_frames_of_the_paper_have_129_magnitudes(tmp_path: Path) -> None:
    made(tmp_path, {"0_theo_0.wav": 1000})
    sequences, _, spec = spoken_digits.load("test", tmp_path)
    rows = spectra(samples(12 + 1000, 1000), frame=256, hop=128)
    assert sequences.shape == (5, 1, 129) and len(rows) == 6 and spec.lengths == (5,)
    assert np.allclose(sequences[:, 0], rows[:-1], rtol=0, atol=12 * np.finfo(np.float32).eps)


def test_the_oracle_sees_another_window_or_no_overlap() -> None:
    values = samples(3, 400)
    x = np.array(values) / 32768
    right = np.array(spectra(values, frame=16, hop=8))
    assert np.allclose(spoken_digits.log_magnitudes(x, frame=16, hop=8), right, rtol=0, atol=1e-9)
    frames = np.lib.stride_tricks.sliding_window_view(x, 16)[::8]
    symmetric = np.log(np.maximum(np.abs(np.fft.rfft(frames * np.hanning(16))), 1e-5))
    assert not np.allclose(symmetric, right, rtol=0, atol=1e-3)
    assert len(spoken_digits.log_magnitudes(x, frame=16, hop=16)) != len(right)


def test_silence_is_the_floor(tmp_path: Path) -> None:
    (tmp_path / "0_theo_0.wav").write_bytes(wav([0] * 100))
    sequences, _, _ = spoken_digits.load("test", tmp_path, **SMALL)
    assert np.all(sequences == np.float32(math.log(1e-5)))


@pytest.mark.parametrize(("bits", "scale"), [(8, 128), (16, 32768), (32, 2**31)])
def test_samples_of_8_16_and_32_bits_are_brought_to_one(tmp_path: Path, bits: int, scale: int) -> None:
    values = [-scale, scale - 1, 0, scale // 2, -scale // 4]
    (tmp_path / "a.wav").write_bytes(wav(values, bits=bits))
    assert spoken_digits.read(tmp_path / "a.wav", 8000).tolist() == [v / scale for v in values]


def test_any_folder_is_divided_by_the_names_alone_and_each_file_is_in_one_split(tmp_path: Path) -> None:
    names = {f"word {i}.wav": 60 + i for i in range(40)}
    made(tmp_path / "a", names)
    made(tmp_path / "b", names)
    splits = {}
    for split in ("train", "validation", "test"):
        spec = spoken_digits.load(split, tmp_path / "a", **SMALL)[2]
        assert spec.sha256 == spoken_digits.load(split, tmp_path / "b", **SMALL)[2].sha256
        assert "divided by name" in spec.origin
        splits[split] = spec.count
    assert splits == {"train": 32, "validation": 4, "test": 4}
    order = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    found = dict(zip(sorted(names), spoken_digits.split_of(sorted(names)), strict=True))
    assert [found[name] for name in order] == [0] * 32 + [1] * 4 + [2] * 4


def test_one_name_out_of_the_pattern_divides_the_folder_by_names(tmp_path: Path) -> None:
    made(tmp_path, OFFICIAL | {"noise.wav": 99})
    assert "divided by name" in spoken_digits.load("train", tmp_path, **SMALL)[2].origin


def test_the_baseline_is_of_the_real_steps_only(tmp_path: Path) -> None:
    made(tmp_path, OFFICIAL)
    _, targets, spec = spoken_digits.load("train", tmp_path, **SMALL)
    columns = [[] for _ in range(9)]  # type: list[list[float]]
    for j, length in enumerate(spec.lengths or ()):
        for row in targets[:length, j].tolist():
            for i, v in enumerate(row):
                columns[i].append(v)
    variances = [sum((v - sum(c) / len(c)) ** 2 for v in c) / len(c) for c in columns]
    assert spec.baseline == pytest.approx(sum(variances) / 9, rel=1e-6)  # of targets rounded to float32


def test_a_recording_too_short_for_two_frames_is_left_out(tmp_path: Path) -> None:
    made(tmp_path, {"0_theo_0.wav": 23, "1_theo_0.wav": 24, "2_theo_0.wav": 3})
    spec = spoken_digits.load("test", tmp_path, **SMALL)[2]
    assert spec.count == 1 and spec.lengths == (1,) and "3 of 3 .wav files" in spec.origin
    with pytest.raises(DataError, match="no recording of two frames in the train split"):
        spoken_digits.load("train", tmp_path, **SMALL)


GOOD = wav(samples(1, 200))
DAMAGED = {
    "truncated": (GOOD[:-40], "its header promises 200 samples, but 180 follow"),
    "head only": (GOOD[:30], "is no complete PCM .wav file"),
    "empty": (b"", "is no complete PCM .wav file"),
    "not a wav": (b"hello, this is text", "is no complete PCM .wav file"),
    "another rate": (wav(samples(1, 200), rate=16000), "1 channels of 16 bits at 16000 Hz.*pass rate=16000"),
    "stereo": (wav(samples(1, 200), channels=2), "2 channels of 16 bits"),
    "24 bits": (wav(samples(1, 200), bits=24), "1 channels of 24 bits"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_recording_is_named(tmp_path: Path, damage: str) -> None:
    made(tmp_path, OFFICIAL)
    content, message = DAMAGED[damage]
    (tmp_path / "0_theo_4.wav").write_bytes(content)
    with pytest.raises(DataError, match=rf"0_theo_4.wav: .*{message}"):
        spoken_digits.load("test", tmp_path, **SMALL)


def test_an_impossible_frame_is_named(tmp_path: Path) -> None:
    for options, message in (({"frame": 15}, "frame is 15; it must be an even number"), ({"hop": 0}, "hop is 0")):
        with pytest.raises(ValueError, match=message):
            spoken_digits.load("test", tmp_path, **options)


@pytest.mark.data
def test_the_official_recordings_of_takes_0_to_4_are_300() -> None:
    choices = ["recordings", "free-spoken-digit-dataset/recordings", "fsdd/recordings"]
    root = folder_with(*(f"{choice}/0_george_0.wav" for choice in choices))
    spec = spoken_digits.load("test", root)[2]
    assert spec.count == 300 and spec.input_size == 129
    folder = next(root / choice for choice in choices if (root / choice).is_dir())
    known = [path for path in folder.glob("*.wav") if int(path.stem.rpartition("_")[2]) < spoken_digits.KNOWN_TAKES]
    assert len(known) == 900 and spoken_digits.digest(known) == spoken_digits.KNOWN_SHA256


def test_with_classes_the_digit_is_asked_and_silence_stands_before_shorter_recordings(tmp_path: Path) -> None:
    made(tmp_path, OFFICIAL)
    for split, takes in TAKES.items():
        names = sorted(name for name in OFFICIAL if int(name.split("_")[2][:-4]) in takes)
        sequences, targets, spec = spoken_digits.load(split, tmp_path, classes=True, **SMALL)
        assert targets.tolist() == [int(name[0]) for name in names] and targets.dtype == np.int64
        assert (spec.reads, spec.loss, spec.output_size, spec.lengths) == ("last", "cross entropy", 10, None)
        assert spec.baseline == pytest.approx(math.log(2))  # 0 and 7, equally often
        for j, name in enumerate(names):
            rows = spectra(samples(len(name) + OFFICIAL[name], OFFICIAL[name]), **SMALL)
            silence = spec.steps - len(rows)
            assert silence >= 0 and (sequences[:silence, j] == np.float32(math.log(1e-5))).all()
            assert np.allclose(sequences[silence:, j], rows, rtol=0, atol=12 * np.finfo(np.float32).eps)


def test_with_classes_a_file_without_a_digit_in_its_name_is_an_error(tmp_path: Path) -> None:
    made(tmp_path, {f"speech-{i}.wav": 60 + i for i in range(10)})
    with pytest.raises(DataError, match="no digit is in its name"):
        spoken_digits.load("train", tmp_path, classes=True, **SMALL)
