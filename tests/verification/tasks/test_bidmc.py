"""BIDMC windows from CSV files written here in PhysioNet's layout, cut and normalised once more in plain Python."""

from __future__ import annotations

import functools
import math
import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tiers import only, slow
from tests.verification.tasks.official_files import folder_with
from verification.tasks import bidmc
from verification.tasks.images import DataError
from verification.tasks.task import Batched

SECONDS = 20  # of a made recording
NUMBERS = (1, 2, 5, 8, 13, 21, 34, 40, 47, 53)
OPTIONS: dict[str, Any] = {"seconds": 8, "stride": 3}


@functools.cache
def signals(number: int) -> list[tuple[float, ...]]:
    """RESP, PLETH, V, AVR, II at 125 Hz; the gain is the recording's own."""
    chance = random.Random(number)
    return [
        tuple(round(number * math.sin(n / (7 + i)) + chance.random(), 5) for i in range(5))
        for n in range(125 * SECONDS + 1)
    ]


@functools.cache
def numerics(number: int) -> list[tuple[float, ...]]:
    """HR, PULSE, RESP, SpO2 every second; NaN at some."""
    chance = random.Random(100 + number)
    return [
        tuple(
            math.nan if chance.random() < 0.2 or (number == 5 and s < 9) else float(chance.randrange(50, 99))
            for _ in range(4)
        )
        for s in range(SECONDS + 1)
    ]


def made(folder: Path, numbers: tuple[int, ...] = NUMBERS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        lines = [f"{n / 125:.5g}," + ",".join(f"{v:.5g}" for v in row) for n, row in enumerate(signals(number))]
        head = "Time [s], RESP, PLETH, V, AVR, II"
        (folder / f"bidmc_{number:02d}_Signals.csv").write_text("\n".join([head, *lines]) + "\n")
        lines = [
            f"{s}," + ",".join("NaN" if v != v else f"{v:g}" for v in row) for s, row in enumerate(numerics(number))
        ]
        head = "Time [s], HR, PULSE, RESP, SpO2"
        (folder / f"bidmc_{number:02d}_Numerics.csv").write_text("\n".join([head, *lines]) + "\n")
    return folder


@functools.cache
def windows(number: int, column: int) -> list[tuple[list[list[float]], float]]:
    """(samples of PPG and ECG brought to mean 0 and variance 1, mean rate), for every window that has a number."""
    found = []
    rows = [tuple(float(f"{v:.5g}") for v in row) for row in signals(number)]
    for start in range(0, SECONDS - 8 + 1, 3):
        rates = [row[column] for row in numerics(number)[start : start + 8] if not math.isnan(row[column])]
        if not rates:
            continue
        cut = []
        for channel in (1, 4):
            samples = [row[channel] for row in rows[125 * start : 125 * (start + 8)]]
            mean, deviation = statistics.fmean(samples), statistics.pstdev(samples)
            cut.append([(v - mean) / deviation for v in samples])
        found.append((cut, statistics.fmean(rates)))
    return found


@pytest.mark.parametrize(("target", "column"), [slow(("HR", 0)), ("RR", 2)])
@pytest.mark.parametrize("subfolder", only([".", "bidmc_csv", "bidmc"], "."))
def test_every_window_of_every_recording_is_in_the_split_of_its_recording(
    tmp_path: Path, target: str, column: int, subfolder: str
) -> None:
    made(tmp_path / subfolder)
    order = np.random.default_rng(6).permutation(10).tolist()
    of = {"train": sorted(order[:7]), "validation": sorted(order[7:9]), "test": sorted(order[9:])}
    for split, places in of.items():
        sequences, targets, spec = bidmc.load(split, tmp_path, target=target, seed=6, **OPTIONS)
        expected = [window for place in places for window in windows(NUMBERS[place], column)]
        assert sequences.shape == (1000, len(expected), 2) and targets.shape == (len(expected),)
        assert targets.dtype == np.float32 and spec.count == len(expected)
        # of a mean of at most 8 numbers
        assert targets.tolist() == pytest.approx(
            [rate for _, rate in expected], rel=2 * float(np.finfo(np.float32).eps)
        )
        found = sequences[:, : len(expected)]
        assert found.dtype == np.float32
        wanted = np.array([cut for cut, _ in expected]).transpose(2, 0, 1)
        # signals are kept in float32, and divided by a deviation; levels are below 60 and deviations above 0.5
        assert np.abs(found - wanted).max() < 60 / 0.5 * 4 * np.finfo(np.float32).eps
        assert f"10 of 53 records, {len(places)} in this split" in spec.origin
        assert spec.name == f"bidmc {target}, divided by record"


def test_windows_without_a_number_are_left_out(tmp_path: Path) -> None:
    """Record 5 shows nothing for nine seconds, so its first window of eight has no target."""
    assert len(windows(5, 0)) == len(windows(8, 0)) - 1
    read = bidmc.read(made(tmp_path), "HR")
    places, targets = bidmc.windows(read, **OPTIONS)
    assert [start for i, start in places.tolist() if NUMBERS[i] == 5] == [3, 6, 9, 12]
    assert len(targets) == sum(len(windows(number, 0)) for number in NUMBERS) and np.isfinite(targets).all()


def seen(folder: Path, **options: Any) -> dict[str, set[tuple[int, int]]]:
    """(recording, second) of all that a split shows, found by looking for its raw samples in the recordings."""
    raw = {number: np.array(signals(number))[:, 1] for number in NUMBERS}
    found: dict[str, set[tuple[int, int]]] = {}
    for split in ("train", "validation", "test"):
        sequences, targets, _ = bidmc.load(split, folder, **OPTIONS, **options)
        found[split] = set()
        for j in range(len(targets)):
            window = sequences[:, j, 0].astype(float)
            for number, x in raw.items():
                for start in range(0, SECONDS - 8 + 1, 3):
                    cut = x[125 * start : 125 * (start + 8)]
                    if np.abs((cut - cut.mean()) / cut.std() - window).max() < 1e-2:
                        found[split] |= {(number, second) for second in range(start, start + 8)}
    return found


def test_no_second_of_a_recording_is_in_two_splits_unless_windows_are_mixed(tmp_path: Path) -> None:
    made(tmp_path)
    apart = seen(tmp_path)
    assert all(apart.values()) and len({number for splits in apart.values() for number, _ in splits}) == 10
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not {number for number, _ in apart[one]} & {number for number, _ in apart[other]}
    mixed = seen(tmp_path, divided_by="window")
    assert mixed["train"] & mixed["test"]  # what the published division does


def test_mixed_windows_are_a_partition_of_all(tmp_path: Path) -> None:
    made(tmp_path)
    loaded = [bidmc.load(split, tmp_path, divided_by="window", **OPTIONS) for split in ("train", "validation", "test")]
    total = sum(len(windows(number, 0)) for number in NUMBERS)
    assert [spec.count for _, _, spec in loaded] == [
        round(0.7 * total),
        round(0.15 * total),
        total - round(0.7 * total) - round(0.15 * total),
    ]
    columns = [sequences[:, j].tobytes() for sequences, targets, _ in loaded for j in range(len(targets))]
    assert len(set(columns)) == len(columns) == total
    assert loaded[0][2].name == "bidmc HR, divided by window"


def test_windows_below_the_least_rate_are_in_no_split(tmp_path: Path) -> None:
    made(tmp_path)
    rates = np.array([rate for number in NUMBERS for _, rate in windows(number, 0)])
    least = float(np.median(rates))
    loaded = [
        bidmc.load(split, tmp_path, divided_by="window", least_rate=least, **OPTIONS)
        for split in ("train", "validation", "test")
    ]
    targets = np.concatenate([found for _, found, _ in loaded])
    assert np.sort(targets) == pytest.approx(np.sort(rates[rates >= least]), rel=1e-6) and len(targets) < len(rates)
    assert f", from {least:g} a minute on" in loaded[0][2].name
    with pytest.raises(DataError, match="least_rate is -1"):
        bidmc.load("train", tmp_path, least_rate=-1.0, **OPTIONS)


def test_a_flat_line_stays_one(tmp_path: Path) -> None:
    made(tmp_path)
    for number in NUMBERS:
        path = tmp_path / f"bidmc_{number:02d}_Signals.csv"
        head, *lines = path.read_text().splitlines()
        flat = [",".join([*line.split(",")[:2], "0.5", *line.split(",")[3:]]) for line in lines]
        path.write_text("\n".join([head, *flat]) + "\n")
    sequences, _, _ = bidmc.load("train", tmp_path, **OPTIONS)
    assert np.all(sequences[:, :, 0] == 0) and np.isfinite(np.asarray(sequences)).all()


def test_raw_windows_are_the_recorded_numbers(tmp_path: Path) -> None:
    made(tmp_path, (1, 5))
    sequences, _, spec = bidmc.load("train", tmp_path, divided_by="window", scale="raw", **OPTIONS)
    recorded = [np.array([(row[1], row[4]) for row in signals(number)]) for number in (1, 5)]
    cut = [every[125 * start : 125 * (start + 8)] for every in recorded for start in range(0, SECONDS - 8 + 1, 3)]
    for column in range(sequences.shape[1]):
        window = sequences[:, np.array([column])][:, 0]
        assert min(np.abs(window - each).max() for each in cut) < 1e-4
    assert spec.name.endswith(", raw")
    of_means = bidmc.load("train", tmp_path, divided_by="window", **OPTIONS)[2]
    assert spec.sha256 == of_means.sha256  # of the recordings, not of what is made of them


@pytest.mark.parametrize("scale", bidmc.SCALES)
def test_a_window_has_the_same_bits_whatever_is_beside_it(tmp_path: Path, scale: str) -> None:
    made(tmp_path)
    sequences, _, _ = bidmc.load("train", tmp_path, divided_by="window", scale=scale, **OPTIONS)
    assert isinstance(sequences, Batched) and sequences.is_fixed
    count = sequences.shape[1]
    together = sequences[:, np.arange(count)]
    for size in (1, 2, 3, 7):
        for start in range(0, count, size):
            part = np.arange(start, min(start + size, count))
            assert sequences[:, part].tobytes() == np.ascontiguousarray(together[:, part]).tobytes()


def test_the_baseline_is_the_variance_and_the_published_figure_the_root(tmp_path: Path) -> None:
    _, targets, spec = bidmc.load("train", made(tmp_path), **OPTIONS)
    variance = statistics.pvariance([float(v) for v in targets])
    assert spec.baseline == pytest.approx(variance, rel=1e-12)  # float64 sums of less than 40 terms
    assert spec.published(2.25) == 1.5


def test_the_checksum_sees_one_sample_and_one_rate_and_the_same_files_give_the_same(tmp_path: Path) -> None:
    made(tmp_path)

    def total() -> str:
        return " ".join(bidmc.load(split, tmp_path, **OPTIONS)[2].sha256 for split in ("train", "validation", "test"))

    first = total()
    assert total() == first
    for part in ("Signals", "Numerics"):
        path = tmp_path / f"bidmc_08_{part}.csv"
        text = path.read_text()
        lines = text.splitlines()
        cells = lines[12].split(",")
        cells[2 if part == "Signals" else 1] = "33"
        path.write_text("\n".join([*lines[:12], ",".join(cells), *lines[13:]]))
        assert total() != first
        path.write_text(text)
    assert total() == first


def change(path: Path, number: int, line: str) -> None:
    lines = path.read_text().splitlines()
    lines[number - 1] = line
    path.write_text("\n".join(lines) + "\n")


FAULTS = {
    "no column": ("Signals", 1, "Time [s], RESP, PLETH, V, AVR, V5", "has no column 'II', only Time"),
    "no rate": ("Numerics", 1, "Time [s], PULSE, RESP, SpO2, X", "has no column 'HR'"),
    "no number": ("Signals", 700, "5.6,0,hello,0,0,0", "could not convert string 'hello'"),
    "missing sample": ("Signals", 700, "5.584,0,NaN,0,0,0", "line 700: a signal that is no finite number"),
    "short line": ("Signals", 700, "5.6,0", "invalid column index"),
    "wrong times": ("Signals", 700, "9.9,0,0,0,0,0", "its times are not those of 125 samples a second"),
    "second left out": ("Numerics", 9, "8,60,60,60,60", r"its times are not 0, 1, 2, …"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_file_is_named(tmp_path: Path, fault: str) -> None:
    made(tmp_path)
    part, number, line, message = FAULTS[fault]
    path = tmp_path / f"bidmc_13_{part}.csv"
    change(path, number, line)
    with pytest.raises(DataError, match=message) as error:
        bidmc.load("train", tmp_path, **OPTIONS)
    assert path.name in str(error.value) and "fetch it again" in str(error.value)


def test_a_file_cut_in_the_middle_is_seen_or_gives_fewer_windows_of_the_same(tmp_path: Path) -> None:
    made(tmp_path)
    path = tmp_path / "bidmc_13_Signals.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:100]))
    with pytest.raises(DataError, match=r"bidmc_13_Signals.csv: only 99 samples"):
        bidmc.load("train", tmp_path, **OPTIONS)
    path.unlink()
    (tmp_path / "bidmc_21_Numerics.csv").unlink()
    with pytest.raises(DataError, match=r"bidmc_21_Numerics.csv: cannot be read"):
        bidmc.load("train", tmp_path, **OPTIONS)


def test_impossible_options_are_named(tmp_path: Path) -> None:
    made(tmp_path, (1, 2))
    for options, message in (
        ({"target": "SpO2"}, "no target 'SpO2'. Choose one of: HR, RR"),
        ({"divided_by": "patient"}, "no division 'patient'. Choose one of: record, window"),
        ({}, "2 records leave none for validation"),
    ):
        with pytest.raises(DataError, match=message):
            bidmc.load("validation", tmp_path, **(OPTIONS | options))
    with pytest.raises(ValueError, match="stride is 0"):
        bidmc.load("train", tmp_path, stride=0)


@pytest.mark.data
def test_the_official_recordings_give_7950_windows_and_the_rates_of_adults_at_rest() -> None:
    root = folder_with("bidmc_csv/bidmc_01_Signals.csv", "bidmc/bidmc_01_Signals.csv", "bidmc_01_Signals.csv")
    for target, low, high, few in (("HR", 40, 140, 0), ("RR", 4, 40, 98)):
        loaded = [bidmc.load(split, root, target=target) for split in ("train", "validation", "test")]
        assert [spec.count for _, _, spec in loaded] == [5550, 1200, 1200]  # 37, 8 and 8 records of 150 windows
        rates = np.concatenate([targets for _, targets, _ in loaded])
        # the monitor of record 13 shows 0 breaths a minute for 220 seconds
        assert int((rates < low).sum()) == few and rates.min() >= 0 and rates.max() < high
        window = loaded[0][0][:, [0, 777]]
        assert window.shape == (4000, 2, 2) and np.abs(window.mean(axis=0)).max() < 1e-5
