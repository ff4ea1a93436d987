"""The tables of docs/cells.md from results/choosing_a_cell.json and the plan, and nothing else: no run, no clock."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import _choosing_plan
from _choosing_plan import ChosenTask, Contestant
from _harness import spliced
from tabulate import tabulate

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cells.md"
BEGIN = "<!-- from benchmarks/results/choosing_a_cell.json by benchmarks/choosing_a_cell.py --page -->"
END = "<!-- end -->"
HEADS = ("cell", "parameters", "chosen", "validation", "test, mean", "range", "CPU s a run")
SETTINGS = 6


def best(tried: Sequence[Mapping[str, Any]]) -> int | None:
    """Which setting is chosen: the best validation accuracy, of equal ones the smaller loss, then the first.

    None if none of them could be trained.
    """
    trained = [place for place, each in enumerate(tried) if "failed" not in each]
    scores = {place: tried[place]["validation"] for place in trained}
    return min(trained, key=lambda place: (-scores[place]["accuracy"], scores[place]["loss"]), default=None)


def page(text: str, record: Mapping[str, Any]) -> str:
    """The page with the tables between its two marks in place of those that are there."""
    return spliced(text, BEGIN, END, "\n".join(_tables(record)).rstrip("\n"))


def _tables(record: Mapping[str, Any]) -> Iterator[str]:
    for task in _choosing_plan.TASKS:
        yield f"**{task.name[0].upper()}{task.name[1:]}**: {task.steps} steps, {task.epochs} epochs.\n"
        rows = {each.name: _row(task, each, record) for each in _choosing_plan.CONTESTANTS}
        measured = sorted((row for row in rows.values() if row), key=lambda row: -row[0])
        if measured:
            cells = [row[1:] for row in measured]
            align = ("left", *["right"] * 1, "left", *["right"] * 4)
            yield tabulate(cells, headers=HEADS, tablefmt="pipe", disable_numparse=True, colalign=align) + "\n"
            yield from _edges(task, record)
        missing = [name for name, row in rows.items() if row is None]
        if missing:
            yield f"Not measured yet: {'; '.join(missing) if measured else 'all cells'}.\n"
    yield from _notes(record)


def _edges(task: ChosenTask, record: Mapping[str, Any]) -> Iterator[str]:
    """Which cells have the smallest or the largest of their rates: nothing beyond it was tried."""
    at_end: dict[str, list[str]] = {"smallest": [], "largest": []}
    for contestant in _choosing_plan.CONTESTANTS:
        tried = [record.get(f"{task.name} / {contestant.name} / setting {number}") for number in range(1, SETTINGS + 1)]
        place = best([each for each in tried if each is not None])
        if place is None or None in tried:
            continue
        rate = (tried[place] or {})["rate"]
        for end, name in ((min(contestant.rates), "smallest"), (max(contestant.rates), "largest")):
            at_end[name] += [contestant.name] if rate == end else []
    said = [f"the {name} of their rates: {'; '.join(names)}" for name, names in at_end.items() if names]
    if said:
        yield f"Chosen at {'. At '.join(said)}. What lies beyond was not tried.\n"


def _row(task: ChosenTask, contestant: Contestant, record: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The mean to sort by, and the cells; None where runs are missing."""
    prefix = f"{task.name} / {contestant.name} / "
    tried = [record.get(f"{prefix}setting {number}") for number in range(1, SETTINGS + 1)]
    seeds = [record.get(f"{prefix}seed {seed}") for seed in _choosing_plan.SEEDS]
    if any(each is None for each in tried):
        return None
    place = best([each for each in tried if each is not None])
    if place is None:
        return (-1.0, contestant.name, "–", "no setting could be trained", "–", "–", "–", "–")
    if any(each is None for each in seeds):
        return None
    done = [each for each in seeds if each is not None and "failed" not in each]
    setting = tried[place] or {}
    if not done:
        return (-1.0, contestant.name, "–", _setting(setting), "–", "no seed could be trained", "–", "–")
    scores = [each["test"]["accuracy"] for each in done]
    some = "" if len(done) == len(seeds) else f" ({len(done)} of {len(seeds)} seeds)"
    return (
        statistics.mean(scores),
        contestant.name,
        f"{done[0]['parameters']:,}",
        _setting(setting),
        _percent(setting["validation"]["accuracy"]),
        _percent(statistics.mean(scores)) + some,
        f"{_percent(min(scores))} … {_percent(max(scores))}",
        f"{statistics.mean(each['cpu_seconds'] for each in done):.1f}",
    )


def _setting(setting: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, (f"lr {setting['rate']:g}", setting["label"])))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    by_note: dict[str, list[str]] = {}
    for each in _choosing_plan.CONTESTANTS:
        for note in each.notes:
            by_note.setdefault(note, []).append(each.name)
    said = [f"{note}: {'; '.join(names)}" for note, names in by_note.items()]
    yield f"{'. '.join(said)}.\n"
    if not record:
        return
    places = dict.fromkeys(
        f"{on['processor']}, {on['threads']} of {on['cores']} cores, Python {on['python']}, torch {on['torch']}, "
        f"odernn {on['odernn']}"
        for on in (each["on"] for each in record.values())
    )
    failed = sum("failed" in each for each in record.values())
    total = sum(each.get("cpu_seconds", 0.0) for each in record.values()) / 60
    yield (
        f"{len(record)} runs, {failed} of which diverged; {total:.1f} minutes of one core's time, while other work ran "
        f"beside them. {'; '.join(places)}.\n"
    )
