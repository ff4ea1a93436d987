"""Labelled time series in the two layouts of the UEA/UCR archive: .ts, and .arff with a relational attribute.

.ts      lines "@tag values", then @data, then one case a line: channels divided by ":", numbers by ",", the class last
.arff    "@attribute … relational" with a numeric attribute for each step between it and "@end", a class attribute,
         @data, and one case a line: 'channel\\nchannel\\n…',class. Univariate files have the numbers themselves
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odernn import foreign
from verification.tasks import files
from verification.tasks.images import DataError


@dataclass(frozen=True, eq=False)
class Series:
    """values (count, time, channels) float64; labels (count,) indices into ``classes``, in the order of the file."""

    values: NDArray[np.float64]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]


def read(path: Path) -> Series:
    """The cases of a .ts or .arff file (or one of them packed); DataError with the line where it is damaged."""
    try:
        text = files.read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is no text ({error}). {files.AGAIN}") from error
    kind = Path(path.stem).suffix if path.suffix in files.PACKED else path.suffix
    if kind == ".ts":
        return _read_ts(path, text)
    if kind == ".arff":
        return _read_arff(path, text)
    raise DataError(f"{path}: the name of a file with time series must end in .ts or .arff, or in that and .gz or .xz.")


def _read_ts(path: Path, text: str) -> Series:
    tags: dict[str, list[str]] = {}
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if not line.startswith("@"):
            raise _damaged(path, number, f"{line[:40]!r} comes before @data and is no tag")
        if words[0].casefold() == "@data":
            break
        tags[words[0].casefold()] = words[1:]
    else:
        raise _damaged(path, len(text.splitlines()), "the file ends without @data")
    if tags.get("@timestamps", [])[:1] and tags["@timestamps"][0].casefold() == "true":
        raise DataError(f"{path}: has time stamps, which this reader does not know. Use the version without.")
    said = tags.get("@classlabel", [])
    if not said or said[0].casefold() != "true" or len(said) < 2:
        raise DataError(f"{path}: names no classes (@classLabel true …). {files.AGAIN}")
    classes = tuple(said[1:])
    cases = []
    for number, line in lines:
        if line.strip():
            *channels, label = line.strip().split(":")
            cases.append(_case(path, number, channels, label.strip(), classes))
    return _together(path, cases, classes, expected=(_number(tags, "@serieslength"), _number(tags, "@dimensions")))


def _read_arff(path: Path, text: str) -> Series:
    classes: tuple[str, ...] = ()
    steps = relational = 0
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        words = line.split()
        if not words or line.startswith("%"):
            continue
        tag = words[0].casefold()
        if tag == "@data":
            break
        nominal = re.search(r"\{(.*)\}\s*$", line)
        if tag == "@attribute" and nominal:
            classes = tuple(nominal_class.strip().strip("'\"") for nominal_class in nominal[1].split(","))
        elif tag == "@attribute" and words[-1].casefold() == "relational":
            relational += 1
        elif tag == "@attribute" and words[-1].casefold() in ("numeric", "real"):
            steps += 1
        elif tag not in ("@relation", "@end"):
            raise _damaged(path, number, f"{line.strip()[:60]!r} is not understood")
    else:
        raise _damaged(path, len(text.splitlines()), "the file ends without @data")
    if not classes or relational > 1:
        raise DataError(f"{path}: needs one class attribute and at most one relational one. {files.AGAIN}")
    cases = []
    for number, line in lines:
        if line.strip() and not line.startswith("%"):
            body, label = _arff_case(path, number, line.strip(), bool(relational))
            cases.append(_case(path, number, body, label, classes))
    return _together(path, cases, classes, expected=(steps, None if relational else 1))


def _arff_case(path: Path, number: int, line: str, relational: bool) -> tuple[list[str], str]:
    if not relational:
        body, _, label = line.rpartition(",")
        return [body], label.strip().strip("'\"")
    match = re.fullmatch(r"(['\"])(.*)\1\s*,\s*(.*)", line)
    if match is None:
        raise _damaged(path, number, "no channels between quotation marks and a class after them")
    channels = [channel for channel in match[2].split("\\n") if channel.strip()]
    return channels, match[3].strip().strip("'\"")


Case = tuple[NDArray[np.float64], int]


def _case(path: Path, number: int, channels: list[str], label: str, classes: tuple[str, ...]) -> Case:
    if label not in classes:
        raise _damaged(
            path, number, f"ends with {label[:40]!r}, which is none of the classes {foreign.short(', '.join(classes))}"
        )
    if not channels:
        raise _damaged(path, number, "a case without numbers")
    try:
        rows = [np.array(channel.split(","), dtype=np.float64) for channel in channels]
    except ValueError as error:  # "?" is how the archive writes a missing number
        raise _damaged(path, number, f"{error}") from None
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise _damaged(path, number, f"channels of different lengths, {lengths}")
    values = np.stack(rows, axis=-1)
    if not np.isfinite(values).all():
        raise _damaged(path, number, "a number that is not finite")
    return values, classes.index(label)


def _together(
    path: Path, cases: list[Case], classes: tuple[str, ...], *, expected: tuple[int | None, int | None]
) -> Series:
    if not cases:
        raise DataError(f"{path}: holds no case after @data. {files.AGAIN}")
    shapes = sorted({values.shape for values, _ in cases})
    if len(shapes) > 1:
        raise DataError(f"{path}: cases of different shapes, {shapes[:3]}; all must be alike. {files.AGAIN}")
    for what, promised, is_there in zip(("steps", "channels"), expected, shapes[0], strict=True):
        if promised is not None and promised != is_there:
            raise DataError(f"{path}: promises {promised} {what}, but its cases have {is_there}. {files.AGAIN}")
    labels = np.array([label for _, label in cases], dtype=np.int64)
    return Series(np.stack([values for values, _ in cases]), labels, classes)


def _number(tags: dict[str, list[str]], tag: str) -> int | None:
    said = tags.get(tag, [])
    return int(said[0]) if said and re.fullmatch("[0-9]{1,18}", said[0]) else None


def _damaged(path: Path, number: int, what: str) -> DataError:
    return DataError(f"{path}, line {number}: {foreign.short(what)}. {files.AGAIN}")
