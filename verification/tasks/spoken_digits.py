"""Spoken digits as a sequence of spectra: from the log-magnitudes of every frame, those of the next one.

The task of Wisdom et al. 2016 and Helfrich et al. 2018, Section 5.3, on recordings that everybody may have: the Free
Spoken Digit Dataset in place of TIMIT, or any folder of .wav files. A frame is 256 samples (32 ms at 8 kHz) under the
periodic Hann window, a frame begins every 128 samples, frames are whole (what is left at the end is dropped), and

    u_n = ln max(|FFT(frame n)|, 10⁻⁵), 129 numbers, samples in [−1, 1)

Recordings differ in length: shorter ones end in zeros, ``spec.lengths`` says where, and the loss is the mean over the
real steps. With ``classes`` the question is another one, which digit is spoken: all frames, with silence before
those of shorter recordings, so that the last row is the end of each.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import wave
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verification.tasks import files
from verification.tasks.images import DataError
from verification.tasks.task import (
    SPLITS,
    Loaded,
    Root,
    TaskSpec,
    at_least,
    checksum,
    shares_of,
    split_index,
)

NAME = "spoken_digits"
RATE = 8000
FRAME = 256
HOP = 128
FLOOR = 1e-5
CLASSES = 10
SUBFOLDERS = (
    "recordings",
    "free-spoken-digit-dataset/recordings",
    "fsdd",
    "fsdd/recordings",
    "fsdd/free-spoken-digit-dataset/recordings",
)
OFFICIAL_NAME = re.compile(r"(\d)_([a-z]+)_(\d+)\.wav")
TEST_TAKES = 5
VALIDATION_TAKES = 10
SHARES = (0.80, 0.10, 0.10)
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
TAKES = 50
KNOWN_TAKES = 15
KNOWN_SHA256 = "93fd3f6178f54f7c4d8e714f58b92d65b8bf634141ccff1ce38f4b84e37b8f85"
"""Of the names and contents of takes 0 to 14."""

ARCHIVE = "https://github.com/Jakobovski/free-spoken-digit-dataset/archive/refs/heads/master.zip"


def load(
    split: str, root: Root = None, *, rate: int = RATE, frame: int = FRAME, hop: int = HOP, classes: bool = False
) -> Loaded:
    """(steps, count, frame/2 + 1) log-magnitudes, float32; (steps, count, frame/2 + 1) those of the next frame.

    classes   (count,) digits, int64, in place of the next frames; the names of the files must say them
    root   holds the .wav files, or recordings or free-spoken-digit-dataset/recordings inside it does
    rate   that all files must have, samples a second: nothing is resampled
    Files named digit_speaker_take.wav: takes 0 to 4 are the test split, as the data set says, 5 to 9 validation, the
    rest train. Other folders are divided 80/10/10 % in the order of the SHA-256 of their names.
    Recordings with fewer than two frames are left out. Raises DataError for an unknown split, and for missing or
    damaged files, ValueError for an impossible frame.
    """
    place = split_index(NAME, split)
    at_least(NAME, "hop", hop, 1)
    if at_least(NAME, "frame", frame, 2) % 2:
        raise ValueError(f"{NAME}: frame is {frame}; it must be an even number.")
    paths, rule = listed(root)
    mine = [path for path, of in zip(paths, split_of([path.name for path in paths]), strict=True) if of == place]
    every = [(path, log_magnitudes(read(path, rate), frame=frame, hop=hop)) for path in mine]
    spectra = [spectrum for _, spectrum in every if len(spectrum) > 1]
    if not spectra:
        raise DataError(f"{NAME}: no recording of two frames in the {split} split of {paths[0].parent}, {rule}.")
    if classes:
        kept = [path for path, spectrum in every if len(spectrum) > 1]
        return _with_digits(split, paths, kept, spectra, rule)
    lengths = [len(spectrum) - 1 for spectrum in spectra]
    sequences = np.zeros((max(lengths), len(spectra), frame // 2 + 1), dtype=np.float32)
    targets = np.zeros_like(sequences)
    for column, spectrum in enumerate(spectra):
        sequences[: len(spectrum) - 1, column], targets[: len(spectrum) - 1, column] = spectrum[:-1], spectrum[1:]
    real = np.concatenate([spectrum[1:] for spectrum in spectra])
    spec = TaskSpec(
        name=NAME,
        split=SPLITS[place],
        loss="squared error",
        reads="every",
        steps=max(lengths),
        count=len(spectra),
        input_size=frame // 2 + 1,
        output_size=frame // 2 + 1,
        baseline=float(real.var(axis=0).mean()),
        baseline_means="each column's mean over the split: the mean of their variances",
        origin=f"{len(mine)} of {len(paths)} .wav files in {paths[0].parent.name}, {rule}",
        sha256=checksum(sequences, targets),
        lengths=tuple(lengths),
    )
    return sequences, targets, spec


def _with_digits(
    split: str, paths: list[Path], mine: list[Path], spectra: list[NDArray[np.float64]], rule: str
) -> Loaded:
    """The digits that are spoken, from the names of the files; DataError where a name has none."""
    names = [OFFICIAL_NAME.fullmatch(path.name) for path in mine]
    if not all(names):
        unnamed = next(path for path, name in zip(mine, names, strict=True) if name is None)
        raise DataError(f"{unnamed}: no digit is in its name. With classes files are named digit_speaker_take.wav.")
    targets = np.array([int(name[1]) for name in names if name], dtype=np.int64)
    steps, size = max(map(len, spectra)), spectra[0].shape[1]
    sequences = np.full((steps, len(spectra), size), np.log(FLOOR), dtype=np.float32)
    for column, spectrum in enumerate(spectra):
        sequences[steps - len(spectrum) :, column] = spectrum
    shares = np.bincount(targets, minlength=CLASSES) / len(targets)
    shares = shares[shares > 0]
    spec = TaskSpec(
        name=f"{NAME}, which one",
        split=SPLITS[split_index(NAME, split)],
        loss="cross entropy",
        reads="last",
        steps=steps,
        count=len(spectra),
        input_size=size,
        output_size=CLASSES,
        baseline=float(-(shares * np.log(shares)).sum()),
        baseline_means="the shares of the classes in this split: their entropy",
        origin=f"{len(mine)} of {len(paths)} .wav files in {paths[0].parent.name}, {rule}",
        sha256=checksum(sequences, targets),
        published_as="accuracy",
    )
    return sequences, targets, spec


def listed(root: Root) -> tuple[list[Path], str]:
    """The .wav files, sorted by name, and in words how they are divided; DataError if there are none."""
    folder = files.folder_of(NAME, root)
    places = files.candidates(folder, SUBFOLDERS)
    for place in places:
        paths = sorted(place.glob("*.wav"))
        if paths:
            is_official = all(OFFICIAL_NAME.fullmatch(path.name) for path in paths)
            return paths, "divided by take" if is_official else "divided by name"
    raise DataError(f"{NAME}: no .wav file in {', '.join(map(str, places))}. {files.fetch_advice(NAME, folder)}")


def split_of(names: list[str]) -> list[int]:
    """The index of the split of each file."""
    matches = [OFFICIAL_NAME.fullmatch(name) for name in names]
    if all(matches):
        takes = [int(match[3]) for match in matches if match]
        return [2 if take < TEST_TAKES else 1 if take < VALIDATION_TAKES else 0 for take in takes]
    ends = shares_of(len(names), SHARES)
    order = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
    rank = {name: i for i, name in enumerate(order)}
    return [next(s for s in range(3) if rank[name] < ends[s + 1]) for name in names]


def read(path: Path, rate: int) -> NDArray[np.float64]:
    """The samples of a mono PCM file in [−1, 1); DataError if it is another kind of file, or damaged."""
    try:
        with wave.open(io.BytesIO(files.read(path)), "rb") as file:
            kind = file.getnchannels(), file.getsampwidth(), file.getframerate()
            promised, content = file.getnframes(), file.readframes(file.getnframes())
    except (wave.Error, EOFError, ArithmeticError, ValueError, RuntimeError, struct.error) as error:
        reason = str(error) or "it ends early"  # wave lets through what seeking and unpacking raise
        raise DataError(f"{path}: is no complete PCM .wav file ({reason}). {files.AGAIN}") from error
    channels, width, found_rate = kind
    if channels != 1 or found_rate != rate or width not in (1, 2, 4):
        raise DataError(
            f"{path}: {channels} channels of {8 * width} bits at {found_rate} Hz; needed is one of 8, 16 or 32 bits at "
            f"{rate} Hz. Convert the file, or pass rate={found_rate} if all files have that."
        )
    if len(content) != promised * width:
        raise DataError(
            f"{path}: its header promises {promised} samples, but {len(content) // width} follow. {files.AGAIN}"
        )
    if width == 1:  # 8 bits are unsigned in this format
        return (np.frombuffer(content, dtype=np.uint8).astype(np.float64) - 128) / 128
    return np.frombuffer(content, dtype=f"<i{width}") / 2.0 ** (8 * width - 1)


def log_magnitudes(samples: NDArray[np.float64], *, frame: int = FRAME, hop: int = HOP) -> NDArray[np.float64]:
    """(frames, frame/2 + 1): ln max(|FFT|, 10⁻⁵) of every whole frame under the periodic Hann window."""
    if len(samples) < frame:
        return np.empty((0, frame // 2 + 1))
    frames = np.lib.stride_tricks.sliding_window_view(samples, frame)[::hop]
    hann = np.sin(np.pi * np.arange(frame) / frame) ** 2
    magnitudes: NDArray[np.float64] = np.log(np.maximum(np.abs(np.fft.rfft(frames * hann)), FLOOR))
    return magnitudes


def download(folder: str | Path) -> Path:
    """The 3000 recordings out of the data set's official repository.

    It publishes no checksum; takes 0 to 14, which never change as the data set grows, must be those known here.
    """
    archive = files.fetch(NAME, ARCHIVE, folder, known=None)
    target = archive.parent / SUBFOLDERS[1]
    names = [f"{d}_{who}_{take}.wav" for d in range(10) for who in SPEAKERS for take in range(TAKES)]

    def known(paths: Mapping[str, Path]) -> None:
        sums = digest([path for path in paths.values() if int(path.stem.rpartition("_")[2]) < KNOWN_TAKES])
        if sums != KNOWN_SHA256:
            raise DataError(
                f"{archive}: takes 0 to {KNOWN_TAKES - 1} have SHA-256 {sums}, expected {KNOWN_SHA256}. {files.AGAIN}"
            )

    files.extract(archive, {name: target / name for name in names}, check=known)
    return target


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of names and contents, in the order of the names."""
    hasher = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()
