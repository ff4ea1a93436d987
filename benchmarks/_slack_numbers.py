"""What results/trained_slack.json says of a run, of a promise over all runs, and of how well a network learned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import _slack_plan
from _slack_promises import Promise

ZERO = "0"
"""Stands in the record for the logarithm of 0."""

LEAST_GAIN = 0.1
"""The share of the error of the best answer without input that a network which learned has taken away."""

Run = Mapping[str, Any]
Record = Mapping[str, Run]


def value(run: Run, key: str, index: int) -> Any:
    """What the checkpoint of that index has of a key; None of what it has not."""
    return run["checkpoints"][index]["rows"].get(key)


def slacks(run: Run, keys: Sequence[str]) -> list[tuple[float, int, str, str]]:
    """(bound − measured, update, letter, key) at every checkpoint, the least over the keys; none where none is.

    −∞ where an overflow exceeds a bound.
    """
    found = []
    for each in run["checkpoints"]:
        rows = [(each["rows"][key], key) for key in keys if key in each["rows"]]
        known = [
            (row[1] - row[2] if is_compared(row) else -math.inf, each["step"], row[0], key)
            for row, key in rows
            if is_compared(row) or row[0] == "x"
        ]
        if known:
            found.append(min(known))
    return found


def is_compared(row: Sequence[Any]) -> bool:
    return len(row) == 3 and is_number(row[1]) and is_number(row[2])


def is_number(entry: float | str | None) -> bool:
    return entry is not None and entry != ZERO


def letters(run: Run, keys: Sequence[str]) -> list[str]:
    """Of every checkpoint: of several keys one that applies, if any does."""
    found = []
    for each in run["checkpoints"]:
        own = [each["rows"][key][0] for key in keys if key in each["rows"]]
        if own:
            found.append(next((letter for letter in own if letter == "x"), min(own, key="xfvh-i".index)))
    return found


@dataclass(frozen=True)
class Summary:
    """A promise over all networks and checkpoints; ``lacking`` are those of older records that do not have it."""

    promise: Promise
    runs: int
    checkpoints: int
    lacking: int
    counts: Mapping[str, int]
    least: tuple[float, Run, int] | None
    starts: tuple[float, ...]
    ends: tuple[float, ...]


def summary(record: Record, promise: Promise) -> Summary:
    counts: dict[str, int] = {}
    least: tuple[float, Run, int] | None = None
    starts, ends, runs = [], [], 0
    for run in record.values():
        own = letters(run, promise.keys)
        runs += bool(own)
        for letter in own:
            counts[letter] = counts.get(letter, 0) + 1
        along = slacks(run, promise.keys)
        if along:
            first, last = (run["checkpoints"][index]["step"] for index in (0, -1))
            starts += [along[0][0]] * (along[0][1] == first)
            ends += [along[-1][0]] * (along[-1][1] == last)
            slack, step, *_ = min(along)
            if least is None or slack < least[0]:
                least = slack, run, step
    lacking = sum(_lacking(run, promise) for run in record.values())
    return Summary(promise, runs, sum(counts.values()), lacking, counts, least, tuple(starts), tuple(ends))


def _lacking(run: Run, promise: Promise) -> int:
    """Of a run measured in an older way, a UnICORNN as all of these are: checkpoints without a row that others have."""
    is_new = promise.family == "chain rule" and run["network"].get("cell") == "unicornn"
    is_older = run["measured_by"] != _slack_plan.MEASURED
    return len(run["checkpoints"]) - len(letters(run, promise.keys)) if is_new and is_older else 0


def tasks_of(record: Record) -> list[str]:
    return list(dict.fromkeys(run["task"] for run in record.values()))


def changes(record: Record, keys: Sequence[str]) -> dict[str, list[float]]:
    """Last minus first log₁₀ by cell, of the first of the keys that a network has."""
    by_cell: dict[str, list[float]] = {}
    for run in record.values():
        key = next((key for key in keys if key in run["checkpoints"][0]["rows"]), None)
        ends = [] if key is None else [value(run, key, index)[2] for index in (0, -1)]
        if ends and all(map(is_number, ends)):
            by_cell.setdefault(run["cell"], []).append(ends[1] - ends[0])
    return by_cell


def learned(run: Run) -> bool | None:
    """Whether the best epoch has taken away a tenth of the error of the best answer without input; None: not known."""
    level, found = run.get("without_input"), run["validation"]
    if level is None:
        return None
    if found["what"] == "validation_accuracy":
        return bool(1 - found["best"] < (1 - LEAST_GAIN) * (1 - level["accuracy"]))
    return bool(found["best"] < (1 - LEAST_GAIN) * level["loss"])


def is_small(run: Run) -> bool:
    """Of the plan's cells with 32 units, not one at a paper's size."""
    return run["cell"] in {each.name for each in _slack_plan.CELLS}
