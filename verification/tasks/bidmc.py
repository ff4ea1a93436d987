"""BIDMC: heart or respiratory rate from 32 seconds of PPG and ECG (Pimentel et al. 2016; Rusch & Mishra 2021, Table 4).

53 recordings of eight minutes at 125 Hz. A window is 4000 samples of PLETH (PPG) and II (ECG); its target is the mean
of the monitor's number (HR or RESP, one a second) over the same 32 seconds. A new window begins every 3 seconds.

The gain differs between recordings. With ``scale="window"``, the default and ours, every channel has mean 0 and
variance 1 within the window; "raw" are the recorded numbers, as the published code has them.

Windows overlap by 29 of 32 seconds. So splits are made of whole recordings by default, and no patient is in two. The
published code divides the windows themselves: ``divided_by="window"`` does that, and its test windows have near copies
in train. Results must say which it was.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odernn import foreign
from verification.tasks import files
from verification.tasks.images import DataError
from verification.tasks.task import (
    SPLITS,
    Batched,
    Loaded,
    Root,
    TaskSpec,
    at_least,
    checksum,
    shares_of,
    split_index,
    variance,
)

NAME = "bidmc"
RECORDS = 53
RATE = 125
"""Samples a second."""

CHANNELS = ("PLETH", "II")
TARGETS = {"HR": "HR", "RR": "RESP"}
"""What is predicted, and the column of the monitor that has it."""

SCALES = ("window", "raw")
SHARES = (0.70, 0.15, 0.15)
SUBFOLDERS = ("bidmc_csv", "bidmc", "bidmc/bidmc_csv")
OFFICIAL = "https://physionet.org/files/bidmc/1.0.0/"


@dataclass(frozen=True, eq=False)
class Recording:
    """number of the record, from 1; signals (samples, 2) float32; monitor (seconds,) float64 with NaN where missing."""

    number: int
    signals: NDArray[np.float32]
    monitor: NDArray[np.float64]


def load(
    split: str,
    root: Root = None,
    *,
    target: str = "HR",
    divided_by: str = "record",
    scale: str = "window",
    seconds: int = 32,
    stride: int = 3,
    seed: int = 0,
    least_rate: float = 0.0,
) -> Loaded:
    """(125 seconds, count, 2) windows of (PPG, ECG), float32, made when asked for; (count,) rates, float32.

    root        holds bidmc_NN_Signals.csv and bidmc_NN_Numerics.csv, or bidmc_csv or bidmc inside it does; as many
                records as are there are read, and ``spec.origin`` says how many
    target      "HR", beats a minute, or "RR", breaths a minute
    divided_by  "record" or "window" (see above);  seed  of the division, 70/15/15 % of either
    scale       "window" or "raw" (see above)
    seconds     of a window;  stride  seconds from one window to the next
    least_rate  windows with a target below it are left out, before the division; 4.0 of "RR" leaves out those in which
                the monitor of record 13 shows 0 (docs/tasks.md). Ours: 0.0, the default, leaves out none
    Windows during which the monitor shows no number are left out. The published figure is √loss.
    Raises DataError for an unknown split, target, division, scale or negative rate, and for missing or damaged files.
    """
    place = split_index(NAME, split)
    for name, value in (("seconds", seconds), ("stride", stride)):
        at_least(NAME, name, value, 1)
    at_least(NAME, "seed", seed, 0)
    if not 0 <= least_rate < np.inf:
        raise DataError(f"{NAME}: least_rate is {least_rate}; it must be a rate, 0 or more.")
    _one_of("target", target, TARGETS)
    _one_of("division", divided_by, ("record", "window"))
    _one_of("scale", scale, SCALES)
    recordings = read(root, TARGETS[target])
    places, targets = windows(recordings, seconds=seconds, stride=stride)
    counts = targets >= least_rate
    places, targets = places[counts], targets[counts]
    if divided_by == "record":
        chosen = np.isin(places[:, 0], _drawn(len(recordings), place, seed))
    else:
        chosen = np.isin(np.arange(len(places)), _drawn(len(places), place, seed))
    places, targets = places[chosen], targets[chosen]
    if len(targets) == 0:
        raise DataError(f"{NAME}: {len(recordings)} records leave none for {split}. Fetch all {RECORDS}.")
    signals = [recording.signals for recording in recordings]
    length = seconds * RATE
    used = np.unique(places[:, 0])
    spec = TaskSpec(
        name=f"{NAME} {target}, divided by {divided_by}"
        + (", raw" if scale == "raw" else "")
        + (f", from {least_rate:g} a minute on" if least_rate > 0 else ""),
        split=SPLITS[place],
        loss="squared error",
        reads="last",
        steps=length,
        count=len(targets),
        input_size=len(CHANNELS),
        output_size=1,
        baseline=variance(targets),
        baseline_means="the mean rate of this split: the variance",
        origin=f"{len(recordings)} of {RECORDS} records, {len(used)} in this split, seed {seed}",
        sha256=checksum(np.concatenate([signals[i] for i in used]), np.column_stack((places, targets))),
        published_as="root",
    )
    make = _cutter(signals, places, length, is_raw=scale == "raw")
    return Batched((length, len(targets), len(CHANNELS)), make, is_fixed=True), targets, spec


def windows(
    recordings: list[Recording], *, seconds: int = 32, stride: int = 3
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(count, 2) index of the recording and first second of each window; (count,) its target."""
    places, targets = [], []
    for i, recording in enumerate(recordings):
        last = min(len(recording.monitor), len(recording.signals) // RATE) - seconds
        for start in range(0, last + 1, stride):
            shown = recording.monitor[start : start + seconds]
            shown = shown[~np.isnan(shown)]
            if len(shown):
                places.append((i, start))
                targets.append(shown.mean())
    return np.array(places, dtype=np.int64).reshape(-1, 2), np.array(targets, dtype=np.float32)


def _cutter(
    signals: list[NDArray[np.float32]], places: NDArray[np.int64], length: int, *, is_raw: bool
) -> Callable[[NDArray[np.intp], int], NDArray[np.float32]]:
    def make(chosen: NDArray[np.intp], _: int) -> NDArray[np.float32]:
        cut = np.empty((length, len(chosen), len(CHANNELS)), dtype=np.float64)
        for column, (record, start) in enumerate(places[chosen].tolist()):
            cut[:, column] = signals[record][start * RATE : start * RATE + length]
        if is_raw:
            return cut.astype(np.float32)
        cut -= cut.mean(axis=0)
        deviation = cut.std(axis=0)
        return (cut / np.where(deviation > 0, deviation, 1)).astype(np.float32)  # a flat line stays one

    return make


def _drawn(count: int, place: int, seed: int) -> NDArray[np.intp]:
    ends = shares_of(count, SHARES)
    return np.random.default_rng(seed).permutation(count)[ends[place] : ends[place + 1]]


def _one_of(what: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise DataError(f"{NAME} has no {what} {value!r}. Choose one of: {', '.join(known)}.")


# --- the official files -----------------------------------------------------------------------------------------


def read(root: Root, monitor: str) -> list[Recording]:
    """The recordings that are there, by number, with that column of the monitor."""
    folder = files.folder_of(NAME, root)
    places = files.candidates(folder, SUBFOLDERS)
    for place in places:
        numbers = [n for n in range(1, RECORDS + 1) if (place / f"bidmc_{n:02d}_Signals.csv").is_file()]
        if numbers:
            return [_recording(place, number, monitor) for number in numbers]
    raise DataError(
        f"{NAME}: no file bidmc_NN_Signals.csv in {', '.join(map(str, places))}. {files.fetch_advice(NAME, folder)}"
    )


def _recording(place: Path, number: int, monitor: str) -> Recording:
    path = place / f"bidmc_{number:02d}_Signals.csv"
    time, *signals = _columns(path, ("Time [s]", *CHANNELS))
    seconds, shown = _columns(place / f"bidmc_{number:02d}_Numerics.csv", ("Time [s]", monitor))
    if len(time) < RATE:
        raise DataError(f"{path}: only {len(time)} samples. {files.AGAIN}")
    values = np.stack(signals, axis=-1)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise DataError(f"{path}, line {row + 2}: a signal that is no finite number. {files.AGAIN}")
    # times are printed with five digits: to 0.005 s after 100 s, where a sample is 0.008 s
    if np.abs(time - np.arange(len(time)) / RATE).max() > 0.006:
        raise DataError(f"{path}: its times are not those of {RATE} samples a second. {files.AGAIN}")
    if not np.array_equal(seconds, np.arange(len(seconds))):
        raise DataError(f"{place / f'bidmc_{number:02d}_Numerics.csv'}: its times are not 0, 1, 2, … {files.AGAIN}")
    return Recording(number, values.astype(np.float32), shown)


def _columns(path: Path, names: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """The columns of these names, whatever others there are."""
    content = files.read(path)
    try:
        text = content.decode("utf-8")
        header = [name.strip() for name in next(csv.reader(text.splitlines()[:1]), [])]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is no text ({error}). {files.AGAIN}") from error
    missing = [name for name in names if name not in header]
    if missing:
        raise DataError(f"{path}: has no column {missing[0]!r}, only {foreign.short(', '.join(header))}. {files.AGAIN}")
    try:
        table = np.loadtxt(
            io.StringIO(text), delimiter=",", skiprows=1, usecols=[header.index(name) for name in names], ndmin=2
        )
    except ValueError as error:
        raise DataError(f"{path}: {foreign.short(str(error))}. {files.AGAIN}") from error
    return list(table.T)


def download(folder: str | Path) -> Path:
    """The 106 CSV files, each verified against PhysioNet's own list of SHA-256, which is fetched first."""
    target = Path(folder).expanduser() / SUBFOLDERS[0]
    listed = files.fetch(NAME, f"{OFFICIAL}SHA256SUMS.txt", target, known=None)
    lines = [line.split(maxsplit=1) for line in files.read(listed).decode("utf-8", "replace").splitlines()]
    known = {words[1].strip(): words[0] for words in lines if len(words) == 2}
    for number in range(1, RECORDS + 1):
        for part in ("Signals", "Numerics"):
            name = f"bidmc_csv/bidmc_{number:02d}_{part}.csv"
            if name not in known:
                raise DataError(f"{listed}: lists no {name}. {files.AGAIN}")
            files.fetch(NAME, OFFICIAL + name, target, known=f"sha256:{known[name]}")
    return target
