"""docs/trained.md, of results/trained_slack.json and trained_certified.json: no run, no clock, no data."""

from __future__ import annotations

import json
import math
import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _slack_plan
from _harness import RESULTS
from _slack_promises import GRADIENT, HOW, MADE, MARGINS, MOVED, OWN, PICTURE_TEXT, PROMISES, SIZES, Promise
from tabulate import tabulate

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE_NAME = DOCS / "trained.md", "trained_slack.svg"
CERTIFIED = RESULTS / "trained_certified.json"
"""Of benchmarks/trained_certified.py: refutations by weights of a run, decided by two back-ends."""

ZERO = "0"
"""Stands in the record for the logarithm of 0."""

LINE = 120
"""Columns of sentences; tables have 100."""

Run = Mapping[str, Any]
Record = Mapping[str, Run]


def place(run: Run, order: int) -> tuple[int, int]:
    """Where a run stands in the record: by tasks and cells of the plan."""
    tasks = [*(each.task for each in _slack_plan.LARGE), *(each.name for each in _slack_plan.TASKS)]
    names = [each.name for each in _slack_plan.CELLS]
    cell = names.index(run["cell"]) if run["cell"] in names else len(names)
    return tasks.index(run["task"]), 10 * cell + int(run["seed"])


def write(record: Record) -> None:
    PAGE.write_text(page(record), encoding="utf-8")


# --- numbers of the record


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
            (row[1] - row[2] if _is_compared(row) else -math.inf, each["step"], row[0], key)
            for row, key in rows
            if _is_compared(row) or row[0] == "x"
        ]
        if known:
            found.append(min(known))
    return found


def _is_compared(row: Sequence[Any]) -> bool:
    return len(row) == 3 and _is_number(row[1]) and _is_number(row[2])


def _is_number(entry: float | str | None) -> bool:
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
    """A promise over all networks and checkpoints."""

    promise: Promise
    runs: int
    checkpoints: int
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
            starts.append(along[0][0])
            ends.append(along[-1][0])
            slack, step, *_ = min(along)
            if least is None or slack < least[0]:
                least = slack, run, step
    return Summary(promise, runs, sum(counts.values()), counts, least, tuple(starts), tuple(ends))


# --- the head


def page(record: Record) -> str:
    found = [each for each in (summary(record, promise) for promise in PROMISES) if each.runs]
    lines = ["# What bounds are worth along training", "", *_said(head(record, found)), "", *_table_of_moves(record)]
    lines += ["", *_said([_made(record)]), "", "## All promises", "", *_table_of_promises(found), ""]
    lines += [*_said([_linked(found)]), ""]
    lines += [f"![slack against updates, a panel a task](pictures/{PICTURE_NAME})", "", *_said([PICTURE_TEXT]), ""]
    lines += ["## How", "", *_said(HOW)]
    for task in tasks_of(record):
        lines += ["", *_of_task(task, [run for run in record.values() if run["task"] == task])]
    return "\n".join([*lines, ""])


def _linked(found: Sequence[Summary]) -> str:
    """Where the ledger has the statements of the table."""
    names = dict.fromkeys(each.promise.by.partition(" ")[0] for each in found if each.promise.by != OWN)
    pages = {name: "library" if name.startswith("thm") else "unicornn" for name in names}
    links = ", ".join(f"[{name}](ledger/{page}.md#{anchor(name)})" for name, page in pages.items())
    return f"In the ledger: {links}."


def anchor(name: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())


def _said(paragraphs: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for paragraph in paragraphs:
        wrapped = textwrap.wrap(paragraph, LINE, break_long_words=False, break_on_hyphens=False)
        lines += ([""] if lines else []) + wrapped
    return lines


def head(record: Record, found: Sequence[Summary]) -> list[str]:
    """Which promises hold, which are loose, which fail, what training moves: each sentence of the record."""
    tasks, count = tasks_of(record), sum(len(run["checkpoints"]) for run in record.values())
    cells = list(dict.fromkeys(run["cell"] for run in record.values()))
    opening = (
        f"{len(record)} trained networks ({', '.join(cells)}) on {len(tasks)} tasks, at {count} checkpoints from the "
        "first weights to the last: every bound that papers or this library promise for them, beside what is measured. "
        "The slack of a bound is log₁₀(bound/measured), in decades: 0 where it is reached, 1 where it is ten times too "
        "large, below 0 where it is exceeded."
    )
    tried = [each for each in found if any(each.counts.get(letter) for letter in "hx")]
    return [opening, _holding(tried), *_loose(tried), _failing(record, tried), _nothing(found), _moving(record, found)]


def _holding(tried: Sequence[Summary]) -> str:
    kept = [each for each in tried if not each.counts.get("x")]
    names = [each for each in kept if each.promise.is_published]
    ours = [each for each in tried if not each.promise.is_published]
    count = sum(each in kept for each in ours)
    words = "1 published promise holds" if len(names) == 1 else f"{len(names)} published promises hold"
    listed = f": {_named(names)}" if names else ""
    return (
        f"**Hold**, on the sequences measured. {words} at every checkpoint where the premises do{listed}. "
        f"Of the {len(ours)} bounds of this library {count} do."
    )


def _named(several: Sequence[Summary]) -> str:
    """ "gradients of weights (icml-3.1, icml-C.2), Jacobian of a step (icml-(25))"."""
    by_words: dict[str, list[str]] = {}
    for each in several:
        by_words.setdefault(each.promise.words, []).append(each.promise.by)
    return ", ".join(f"{words} ({', '.join(dict.fromkeys(names))})" for words, names in by_words.items())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


TIERS = ((1.0, "within a factor of ten"), (3.0, "within a thousand"), (math.inf, "further"))


def _loose(tried: Sequence[Summary]) -> Iterator[str]:
    """By the median slack of the last weights, published and the library's; and which are of one step, not ranked."""
    for is_published, whose in ((True, "**Loose.** Published bounds"), (False, "Bounds of this library")):
        own = [(statistics.median(each.ends), each) for each in tried if each.promise.is_published is is_published]
        at_once = ", ".join(
            f"{each.promise.short} ({each.promise.by}; {each.promise.step}) {_decades(slack)}"
            for slack, each in own
            if each.promise.step
        )
        own = [pair for pair in own if not pair[1].promise.step]
        low, parts = -math.inf, []
        for high, words in TIERS:
            here = sorted(((slack, each) for slack, each in own if low < slack <= high), key=lambda pair: pair[0])
            if here:
                listed = ", ".join(f"{_named([each])} {_decades(slack)}" for slack, each in here)
                parts.append(f"{words}: {listed}")
            low = high
        if parts:
            left = f" Not ranked, as their least slack is that of one step: {at_once}." if at_once else ""
            yield f"{whose} by the median slack of the last weights, in decades. {_sentence('; '.join(parts))}.{left}"


def _failing(record: Record, tried: Sequence[Summary]) -> str:
    parts = []
    for each in tried:
        if each.counts.get("x") and each.least is not None:
            slack, run, step = each.least
            where = f"{run['task']}, {run['cell']}, seed {run['seed']}, after {step} updates"
            parts.append(
                f"{_named([each])} is exceeded at {each.counts['x']} of {each.checkpoints} checkpoints, by up to "
                f"{_decades(-slack)} decades ({where})"
                if math.isfinite(slack)
                else f"{_named([each])} is exceeded at {each.counts['x']} of {each.checkpoints} checkpoints, by an "
                f"overflow ({where})"
            )
    said = f"**Fail**, in float64: {'; '.join(parts)}. {_where(record, tried)}" if parts else NONE_FAILS
    return f"{said}{_failing_margins(record)}"


def _where(record: Record, tried: Sequence[Summary]) -> str:
    """Of which runs the failures are, at how many of their checkpoints, and how many rows are certified."""
    keys, parts = [key for each in tried for key in each.promise.keys], []
    for run in record.values():
        failing = [any(each["rows"].get(key, "-")[0] == "x" for key in keys) for each in run["checkpoints"]]
        if any(failing):
            parts.append(f"{run['task']}, {run['cell']}, seed {run['seed']} at {sum(failing)} of {len(failing)}")
    found = json.loads(CERTIFIED.read_text("utf-8")) if CERTIFIED.exists() else {"rows": []}
    certified = [row["statement"] for row in found["rows"] if row["exceeds"] and row["agree"]]
    step = found.get("network", "").rpartition("weights_")[2].partition(".")[0]
    said = (
        f" Certified by two back-ends: {', '.join(certified)} with its weights after {int(step)} updates "
        "([nearness](nearness.md))."
        if certified
        else " None is certified."
    )
    others = f"none of the other {len(record) - len(parts)} runs"
    return f"Checkpoints at which one fails: {', '.join(parts)}; {others}.{said}"


NONE_FAILS = "**Fail.** No bound is exceeded at any checkpoint, on the sequences measured."


def _failing_margins(record: Record) -> str:
    parts = []
    for key, words in MARGINS.items():
        every = [each["rows"][key][1] for run in record.values() for each in run["checkpoints"] if key in each["rows"]]
        failing = [number for number in every if number <= 0]
        if failing:
            statement = key.rpartition("| ")[2]
            by = f" ({statement})" if statement else ""
            count = f"{len(failing)} of {len(every)} checkpoints"
            parts.append(f"{words}{by} is not positive at {count}, down to {_plain(min(failing))}")
    return f" Premises that training leaves: {'; '.join(parts)}." if parts else ""


def _nothing(found: Sequence[Summary]) -> str:
    never = [each for each in found if not any(each.counts.get(letter) for letter in "hxv")]
    above = [each for each in found if each.counts.get("v")]
    parts = []
    if never:
        parts.append(f"no network meets the premises of {_named(never)}")
    for each in above:
        parts.append(
            f"{_named([each])} is above the largest {each.promise.dtype} at {each.counts['v']} of {each.checkpoints} "
            "checkpoints"
        )
    return f"**Say nothing.** {_sentence('; '.join(parts) or 'none of them')}."


def _moving(record: Record, found: Sequence[Summary]) -> str:
    """In words what the table below has cell by cell, and which slack moves most."""
    parts = []
    for words, _, keys in MOVED:
        every = [change for changes in _changes(record, keys).values() for change in changes]
        if every:
            up = sum(change > 0 for change in every)
            parts.append(f"{words} {_factor(statistics.median(every))} (it grows in {up} of {len(every)} runs)")
    moved = [
        f"{_named([each])} {_median(each.starts)} → {_median(each.ends)}"
        for each in found
        if each.ends and abs(statistics.median(each.ends) - statistics.median(each.starts)) >= 1
    ]
    slacks_said = f" Slack that moves by a decade or more: {', '.join(moved)}." if moved else ""
    said = _sentence("; ".join(parts))
    return f"**What training moves**, last over first weights, median over runs. {said}.{slacks_said}"


def _changes(record: Record, keys: Sequence[str]) -> dict[str, list[float]]:
    """Last minus first log₁₀ by cell, of the first of the keys that a network has."""
    by_cell: dict[str, list[float]] = {}
    for run in record.values():
        key = next((key for key in keys if key in run["checkpoints"][0]["rows"]), None)
        ends = [] if key is None else [value(run, key, index)[2] for index in (0, -1)]
        if ends and all(map(_is_number, ends)):
            by_cell.setdefault(run["cell"], []).append(ends[1] - ends[0])
    return by_cell


def _table_of_moves(record: Record) -> list[str]:
    changes = [_changes(record, keys) for *_, keys in MOVED]
    cells = list(dict.fromkeys(run["cell"] for run in record.values()))
    rows = [
        (cell, *(_factor(statistics.median(each[cell])) if cell in each else "–" for each in changes)) for cell in cells
    ]
    heads = ("last/first", *(short for _, short, _ in MOVED))
    return _tabulated(rows, heads, ("left", *["right"] * len(changes)))


def _factor(decades: float) -> str:
    return f"×{_two_digits(10**decades)}" if abs(decades) < 3 else f"×10^{decades:.0f}".replace("-", "−")


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def _decades(slack: float) -> str:
    """Two digits after the point below ten, none from a hundred on; a slack that is 0 up to rounding has no sign."""
    if slack == -math.inf:
        return "overflow"
    shown = f"{slack:.2f}" if abs(slack) < 10 else f"{slack:.1f}" if abs(slack) < 100 else f"{slack:.0f}"
    return "0.00" if shown == "-0.00" else shown.replace("-", "−")


def _made(record: Record) -> str:
    """By which command, and how much of the plan is there."""
    cells = {each.name for each in _slack_plan.CELLS}
    small, planned = sum(run["cell"] in cells for run in record.values()), len(list(_slack_plan.small()))
    lacking = f" Recorded are {small} of the plan's {planned} small runs and {len(record) - small} large ones."
    stale = [key for key, run in record.items() if run["measured_by"] != _slack_plan.MEASURED]
    named = f" Measured in an older way, to be made again: {'; '.join(stale)}." if stale else ""
    return f"{MADE}{lacking}{named}"


def tasks_of(record: Record) -> list[str]:
    return list(dict.fromkeys(run["task"] for run in record.values()))


def _table_of_promises(found: Sequence[Summary]) -> list[str]:
    rows = []
    for each in found:
        least = "–" if each.least is None else _decades(each.least[0])
        ends = "–" if not each.ends else f"{_median(each.starts)} → {_median(each.ends)}"
        counts = ", ".join(f"{each.counts[letter]} {WORDS[letter]}" for letter in "hxvi" if each.counts.get(letter))
        rows.append((each.promise.by, each.promise.short, counts, ends, least))
    heads = ("by", "bounded", "checkpoints", "median slack", "least")
    return _tabulated(rows, heads, ("left", "left", "left", "right", "right"))


WORDS = {"h": "hold", "x": "EXCEEDED", "v": "vacuous", "i": "no premise"}


def _median(values: Sequence[float]) -> str:
    return _decades(statistics.median(values))


def _tabulated(rows: Sequence[Sequence[str]], heads: Sequence[str], align: Sequence[str]) -> list[str]:
    text = tabulate(rows, headers=heads, tablefmt="pipe", disable_numparse=True, colalign=align)
    return [line.rstrip() for line in text.splitlines()]


# --- a table a task


def _of_task(task: str, runs: Sequence[Run]) -> Iterator[str]:
    yield f"## {task}"
    for cell in dict.fromkeys(run["cell"] for run in runs):
        own = [run for run in runs if run["cell"] == cell]
        yield ""
        yield from _said([_about(cell, own)])
        yield ""
        rows = [*_bounded(own), *_alone(own), *_margins(own)]
        heads = ("quantity", "by", "bound", "measured", "slack", "least, after")
        yield from _tabulated(rows, heads, ("left", "left", "right", "right", "right", "right"))


def _about(cell: str, runs: Sequence[Run]) -> str:
    """Epochs, updates, seeds, checkpoints, sequences, and how well it does."""
    network = runs[0]["network"]
    seeds = ", ".join(str(run["seed"]) for run in runs)
    epochs, updates = (_span([run[name] for run in runs]) for name in ("epochs", "updates"))
    layers = f"{network['num_layers']} × {network['hidden_size']}" if network["num_layers"] > 1 else "1 layer of "
    size = layers if network["num_layers"] > 1 else f"{layers}{network['hidden_size']}"
    figure = "accuracy" if runs[0]["validation"]["what"] == "validation_accuracy" else "loss"
    best = _span([run["validation"]["best"] for run in runs])
    firsts = _span([run["validation"]["first"] for run in runs])
    count = _span([len(run["checkpoints"]) for run in runs])
    ends = _span([run["checkpoints"][-1]["step"] for run in runs])
    last = "" if ends == updates else f", the last after {ends} updates"
    promise = next((each.promise for each in _slack_plan.CELLS if each.name == cell.partition("-")[0]), "")
    sequences = "1 sequence" if runs[0]["sequences"] == 1 else f"{runs[0]['sequences']} sequences"
    promised = f"Promised: {promise}." if promise else "No promise in the papers here."
    return (
        f"**{cell}**, {size}, {runs[0]['parameters']:,} parameters; seeds {seeds}; {epochs} epochs, {updates} updates; "
        f"{count} checkpoints{last}, {sequences} each; validation {figure} {firsts} after the first "
        f"evaluation, {best} at best. {promised}"
    )


def _span(values: Sequence[float]) -> str:
    low, high = (f"{each:,}" if isinstance(each, int) else f"{each:.3g}" for each in (min(values), max(values)))
    return low if low == high else f"{low} … {high}"


def _bounded(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """The last bound and sizes of the seed with the least slack at the end; slack, first → last, the least of seeds."""
    for promise in PROMISES:
        along = [each for each in (slacks(run, promise.keys) for run in runs) if each]
        if along:
            worst = min(range(len(along)), key=lambda index: along[index][-1][0])
            own = [run for run in runs if slacks(run, promise.keys)][worst]
            key = along[worst][-1][3]
            first, last = value(own, key, 0), value(own, key, -1)
            least = min(min(each) for each in along)
            starts, ends = (min(each[index][0] for each in along) for index in (0, -1))
            shown = f"{_decades(starts)} → {_decades(ends)}"
            exceeded = "**" if least[2] == "x" else ""
            is_ratio = promise.family == "through layers"
            yield (
                promise.short,
                promise.by,
                "–" if is_ratio else _power(last[1]),
                "–" if is_ratio or first is None or len(first) < 3 else f"{_power(first[2])} → {_power(last[2])}",
                shown,
                f"{exceeded}{_decades(least[0])}{exceeded}, {least[1]}",
            )
        elif any(letters(run, promise.keys) for run in runs):
            yield (promise.short, promise.by, "no premise", "–", "–", "–")


def _alone(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Measured without a bound: the largest over seeds, first → last."""
    keys = {**SIZES, **_gradient_keys(runs[0])}
    for key, words in keys.items():
        pairs = [(value(run, key, 0), value(run, key, -1)) for run in runs]
        pairs = [pair for pair in pairs if None not in pair]
        if pairs:
            first, last = (_largest([pair[index][2] for pair in pairs]) for index in (0, 1))
            yield (words, "–", "–", f"{_power(first)} → {_power(last)}", "–", "–")


def _largest(logs: Sequence[float | str | None]) -> float | str | None:
    """Of logarithms; None if one is of no finite number."""
    known = [float(each) for each in logs if each is not None and each != ZERO]
    return None if None in logs else max(known, default=ZERO)


def _gradient_keys(run: Run) -> dict[str, str]:
    keys = [key for key in run["checkpoints"][0]["rows"] if key.startswith(GRADIENT) and "θ" not in key]
    return {key: f"abs(dE/d{key.removeprefix(GRADIENT).partition(',')[0]}), task" for key in keys}


def _margins(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """The smallest over seeds, first → last, and the smallest on the way."""
    for key, words in MARGINS.items():
        own = [run for run in runs if value(run, key, 0) is not None]
        if own:
            ends = [min(value(run, key, index)[1] for run in own) for index in (0, -1)]
            least, step = min((each["rows"][key][1], each["step"]) for run in own for each in run["checkpoints"])
            fails = "**" if least <= 0 else ""
            way = f"{fails}{_plain(least)}{fails}, {step}"
            yield (words, "margin > 0", "–", " → ".join(map(_plain, ends)), "–", way)


def _plain(number: float) -> str:
    return f"{number:.2g}".replace("-", "−")


def _power(log: float | str | None) -> str:
    """10^log in two digits, as a power where it is long."""
    if log is None:
        return "overflow"
    if isinstance(log, str):
        return "0"
    return _two_digits(10**log) if -3 <= log < 4 else f"10^{log:.1f}".replace("-", "−")
