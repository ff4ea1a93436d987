"""EigenWorms from made files in the archive's two layouts, and the reader on real files of the archive."""

from __future__ import annotations

import hashlib
import lzma
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verification.tasks.official_files import folder_with
from verification.tasks import _archive_series, eigenworms
from verification.tasks.eigenworms import Statistics
from verification.tasks.images import DataError

STEPS, CHANNELS = 7, 6
COUNTS = {"TRAIN": (3, 1, 2, 1, 1), "TEST": (4, 2, 2, 3, 1)}
Case = tuple[list[list[float]], str]
"""Channels of a sequence, and its class."""


def cases(part: str) -> list[Case]:
    chance = random.Random(part)
    labels = [str(i + 1) for i, count in enumerate(COUNTS[part]) for _ in range(count)]
    chance.shuffle(labels)
    return [([[round(chance.gauss(0, 4), 6) for _ in range(STEPS)] for _ in range(CHANNELS)], y) for y in labels]


def ts(found: list[Case]) -> str:
    lines = [":".join([*(",".join(map(repr, channel)) for channel in channels), label]) for channels, label in found]
    head = [
        "#The motion of worms",
        "#",
        "@problemName EigenWorms",
        "@timeStamps false",
        "@missing false",
        "@univariate false",
        f"@dimensions {CHANNELS}",
        "@equalLength true",
        f"@seriesLength {STEPS}",
        "@classLabel true 1 2 3 4 5",
        "@data",
    ]
    return "\n".join([*head, *lines]) + "\n"


def arff(found: list[Case], quote: str = "'") -> str:
    lines = [
        quote + r"\n".join(",".join(map(repr, channel)) for channel in channels) + quote + "," + label
        for channels, label in found
    ]
    head = [
        "%The motion of worms",
        "@relation EigenWorms",
        "",
        "@attribute eigenWormMultivariate_attribute relational",
        *(f"  @attribute att{n} numeric" for n in range(STEPS)),
        "@end eigenWormMultivariate_attribute",
        "@attribute eigenWormMultivariate_classes {1,2,3,4,5}",
        "",
        "@data",
    ]
    return "\n".join([*head, *lines]) + "\n"


def statistics() -> Statistics:
    """By plain sums over every number of a channel."""
    columns = [[v for part in COUNTS for channels, _ in cases(part) for v in channels[i]] for i in range(CHANNELS)]
    means = [math.fsum(column) / len(column) for column in columns]
    deviations = [
        math.sqrt(math.fsum((v - mean) ** 2 for v in column) / (len(column) - 1))
        for column, mean in zip(columns, means, strict=True)
    ]
    return Statistics(
        files=(COUNTS["TRAIN"], COUNTS["TEST"]),
        steps=STEPS,
        mean=tuple(means),
        standard_deviation=tuple(deviations),
        least=tuple(map(min, columns)),
        greatest=tuple(map(max, columns)),
    )


def made(folder: Path, ending: str, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part in COUNTS:
        write = ts if ending == "ts" else arff
        (folder / f"EigenWorms_{part}.{ending}").write_text(write(cases(part), **changes))
    return folder


@pytest.mark.parametrize("ending", ["ts", "arff"])
@pytest.mark.parametrize("subfolder", [".", "EigenWorms"])
def test_both_layouts_give_every_sequence_once_with_its_class(tmp_path: Path, ending: str, subfolder: str) -> None:
    made(tmp_path / subfolder, ending)
    everything = [case for part in ("TRAIN", "TEST") for case in cases(part)]
    order = np.random.default_rng(3).permutation(20).tolist()
    ends = {"train": (0, 14), "validation": (14, 17), "test": (17, 20)}
    for split, (first, last) in ends.items():
        sequences, targets, spec = eigenworms.load(split, tmp_path, seed=3, statistics=statistics())
        expected = [everything[i] for i in sorted(order[first:last])]
        assert sequences.dtype == np.float32 and sequences.shape == (STEPS, last - first, CHANNELS)
        for j, (channels, label) in enumerate(expected):
            assert np.array_equal(sequences[:, j].T, np.array(channels, dtype=np.float32))
            assert targets[j] == int(label) - 1
        assert (spec.steps, spec.count, spec.input_size, spec.output_size) == (STEPS, last - first, CHANNELS, 5)
        assert f"EigenWorms_TRAIN.{ending}" in spec.describe() and "statistics agree" in spec.describe()
        assert spec.sha256 == hashlib.sha256(sequences.tobytes() + targets.tobytes()).hexdigest()


def test_both_layouts_give_the_same_bits_and_quotation_marks_do_not_matter(tmp_path: Path) -> None:
    for name, text in (
        ("a.ts", ts(cases("TEST"))),
        ("b.arff", arff(cases("TEST"))),
        ("c.arff", arff(cases("TEST"), '"')),
    ):
        (tmp_path / name).write_text(text)
    first, *others = (_archive_series.read(tmp_path / name) for name in ("a.ts", "b.arff", "c.arff"))
    for other in others:
        assert np.array_equal(first.values, other.values) and first.values.dtype == np.float64
        assert np.array_equal(first.labels, other.labels) and first.classes == other.classes


def test_a_univariate_arff_file_has_one_channel(tmp_path: Path) -> None:
    text = "@relation w\n@attribute a real\n@attribute b real\n@attribute target {x,y}\n@data\n1.5,-2,y\n0,3e1,x\n"
    (tmp_path / "w.arff").write_text(text)
    series = _archive_series.read(tmp_path / "w.arff")
    assert series.values.tolist() == [[[1.5], [-2.0]], [[0.0], [30.0]]] and series.labels.tolist() == [1, 0]


def test_a_packed_file_is_read_as_it_is(tmp_path: Path) -> None:
    made(tmp_path, "ts")
    plain = eigenworms.load("train", tmp_path, statistics=statistics())[2].sha256
    for part in COUNTS:
        path = tmp_path / f"EigenWorms_{part}.ts"
        path.with_name(f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
    assert eigenworms.load("train", tmp_path, statistics=statistics())[2].sha256 == plain


def test_train_and_test_may_be_the_other_way_round_as_some_loaders_have_it(tmp_path: Path) -> None:
    made(tmp_path, "ts")
    swapped = replace(statistics(), files=(COUNTS["TEST"], COUNTS["TRAIN"]))
    assert eigenworms.load("train", tmp_path, statistics=swapped)[2].count == 14


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "mean": ({"mean": (0.5,) * 6}, "the mean of channel 1 is .* published is 0.5"),
    "deviation": ({"standard_deviation": (4.0,) * 6}, "the standard deviation of channel"),
    "least": ({"least": (-99.0,) * 6}, "the least value of channel 1"),
    "greatest": ({"greatest": (99.0,) * 6}, "the greatest value of channel 1"),
    "classes": ({"files": ((8, 0, 0, 0, 0), (12, 0, 0, 0, 0))}, "sequences of each class, published are"),
    "length": ({"steps": 8}, "sequences of 7 × 6, expected 8 × 6"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_copy_that_is_not_the_published_one_is_refused_with_the_number_that_differs(
    tmp_path: Path, what: str
) -> None:
    made(tmp_path, "ts")
    changes, message = WRONG[what]
    with pytest.raises(DataError, match=message):
        eigenworms.load("train", tmp_path, statistics=replace(statistics(), **changes))


def test_one_changed_number_is_seen_by_the_statistics(tmp_path: Path) -> None:
    made(tmp_path, "ts")
    path = tmp_path / "EigenWorms_TEST.ts"
    number = repr(cases("TEST")[5][0][2][3])
    text = path.read_text()
    assert text.count(number) == 1
    path.write_text(text.replace(number, repr(float(number) + 0.1)))
    with pytest.raises(DataError, match="of channel 3 is"):
        eigenworms.load("train", tmp_path, statistics=statistics())


def test_a_made_file_is_not_taken_for_eigenworms(tmp_path: Path) -> None:
    made(tmp_path, "ts")
    with pytest.raises(DataError, match="sequences of 7 × 6, expected 17984 × 6"):
        eigenworms.load("train", tmp_path)


def test_the_published_numbers_are_the_default() -> None:
    published = eigenworms.PUBLISHED
    assert [sum(counts) for counts in published.files] == [128, 131] and published.steps == 17984
    assert all(len(getattr(published, name)) == 6 for name in ("mean", "standard_deviation", "least", "greatest"))


LINE = ts(cases("TEST")).splitlines()
DAMAGED = {
    "cut in a number": ("\n".join(LINE)[:-40], r"line \d+"),
    "cut in the head": ("\n".join(LINE[:6]), "ends without @data"),
    "no case": ("\n".join(LINE[:11]), "holds no case"),
    "no classes": ("\n".join(["@classLabel false", "@data", *LINE[11:]]), "names no classes"),
    "missing number": ("\n".join([*LINE[:11], LINE[11].replace(",", ",?,", 1)]), "line 12: could not convert.*'\\?'"),
    "not finite": ("\n".join([*LINE[:11], "NaN" + LINE[11][LINE[11].index(",") :]]), "line 12: a number that is not"),
    "unknown class": ("\n".join([*LINE[:11], LINE[11][:-1] + "9"]), "ends with '9', which is none of the classes"),
    "channel too short": ("\n".join([*LINE[:11], "1.5," + LINE[11]]), r"channels of different lengths, \[7, 8\]"),
    "channel missing": ("\n".join([*LINE[:12], LINE[12].partition(":")[2]]), "cases of different shapes"),
    "promise": ("\n".join([*LINE[:8], "@seriesLength 9", *LINE[9:]]), "promises 9 steps, but its cases have 7"),
    "time stamps": ("\n".join(["@timeStamps true", "@classLabel true 1", "@data"]), "has time stamps"),
    "no tag": ("hello\n", "comes before @data"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_ts_file_is_named_with_its_line(tmp_path: Path, damage: str) -> None:
    text, message = DAMAGED[damage]
    made(tmp_path, "ts")
    (tmp_path / "EigenWorms_TEST.ts").write_text(text)
    with pytest.raises(DataError, match=message) as error:
        eigenworms.load("train", tmp_path, statistics=statistics())
    assert "EigenWorms_TEST.ts" in str(error.value)


ARFF = arff(cases("TEST"))
DAMAGED_ARFF = {
    "cut": (ARFF[:-30], r"line \d+: no channels between quotation marks"),
    "cut in the head": (ARFF[: ARFF.index("@data")], "ends without @data"),
    "no classes": (ARFF.replace("{1,2,3,4,5}", "numeric"), "needs one class attribute"),
    "promise": (ARFF.replace("  @attribute att0 numeric\n", ""), "promises 6 steps, but its cases have 7"),
    "unknown line": (ARFF.replace("@relation", "@relations"), "line 2: '@relations EigenWorms' is not understood"),
}


@pytest.mark.parametrize("damage", DAMAGED_ARFF)
def test_a_damaged_arff_file_is_named_with_its_line(tmp_path: Path, damage: str) -> None:
    text, message = DAMAGED_ARFF[damage]
    made(tmp_path, "arff")
    (tmp_path / "EigenWorms_TEST.arff").write_text(text)
    with pytest.raises(DataError, match=message):
        eigenworms.load("train", tmp_path, statistics=statistics())


def test_a_file_that_is_neither_layout_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2")
    with pytest.raises(DataError, match=r"must end in .ts or .arff"):
        _archive_series.read(tmp_path / "a.csv")
    (tmp_path / "a.ts").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DataError, match="is no text"):
        _archive_series.read(tmp_path / "a.ts")
    (tmp_path / "b.ts.xz").write_bytes(lzma.compress(ts(cases("TEST")).encode())[:-30])
    with pytest.raises(DataError, match=r"b.ts.xz: is not a complete .xz file"):
        _archive_series.read(tmp_path / "b.ts.xz")


REAL = {
    "Worms_TRAIN": ((181, 900, 1), (76, 31, 25, 32, 17)),
    "Worms_TEST": ((77, 900, 1), (33, 13, 10, 13, 8)),
    "StandWalkJump_TRAIN": ((12, 2500, 4), (4, 4, 4)),
    "StandWalkJump_TEST": ((15, 2500, 4), (5, 5, 5)),
    "AtrialFibrillation_TRAIN": ((15, 640, 2), (5, 5, 5)),
    "AtrialFibrillation_TEST": ((15, 640, 2), (5, 5, 5)),
}
"""Sizes and class counts as the archive publishes them."""


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_files_of_the_archive_have_their_published_sizes_and_classes(name: str) -> None:
    root = folder_with("uea_small/Worms_TRAIN.ts.xz", "uea_small/Worms_TRAIN.ts")
    path = next((root / "uea_small").glob(f"{name}.ts*"))
    series = _archive_series.read(path)
    shape, counts = REAL[name]
    assert series.values.shape == shape and tuple(np.bincount(series.labels).tolist()) == counts
    if name.startswith("Worms"):  # published as normalised: mean 0 and variance 1 of every sequence, to the digits kept
        assert np.abs(series.values.mean(axis=1)).max() < 1e-6
        assert np.abs(series.values.std(axis=1, ddof=1) - 1).max() < 1e-6


@pytest.mark.data
def test_the_real_eigenworms_have_their_published_statistics() -> None:
    choices = [f"{sub}EigenWorms_TRAIN.{end}" for sub in ("", "EigenWorms/", "eigenworms/") for end in ("ts", "arff")]
    root = folder_with(*choices)
    assert [eigenworms.load(split, root)[2].count for split in ("train", "validation", "test")] == [181, 39, 39]
