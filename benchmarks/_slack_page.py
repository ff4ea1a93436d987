"""docs/trained.md, of results/trained_slack.json and its neighbours, and verdicts of the ledger: no run, no clock."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import _slack_plan
from _harness import RESULTS
from _slack_head import CERTIFIED, anchor, behind, first_words, ledger_page, table_of_looseness
from _slack_numbers import (
    ZERO,
    Record,
    Run,
    Summary,
    changes,
    is_small,
    learned,
    letters,
    slacks,
    summary,
    tasks_of,
    value,
)
from _slack_promises import (
    BY_HAND,
    GRADIENT,
    HOW,
    MADE,
    MARGINS,
    MOVED,
    OWN,
    PAPERS,
    PICTURE_TEXT,
    PROMISES,
    SIZES,
    WHAT_MOVES,
)
from _slack_words import decades, factor, median, plain, power, said, tabulated

__all__ = ["CERTIFIED", "PAGE", "ZERO", "page", "power", "slacks", "write"]

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE_NAME = DOCS / "trained.md", "trained_slack.svg"
HAND = RESULTS / "slack_by_hand.json"


def place(run: Run, order: int) -> tuple[int, int]:
    """Where a run stands in the record: by tasks and cells of the plan."""
    tasks = [*(each.task for each in _slack_plan.LARGE), *(each.name for each in _slack_plan.TASKS)]
    names = [each.name for each in _slack_plan.CELLS]
    cell = names.index(run["cell"]) if run["cell"] in names else len(names)
    return tasks.index(run["task"]), 10 * cell + int(run["seed"])


def write(record: Record) -> None:
    PAGE.write_text(page(record), encoding="utf-8")


def page(record: Record) -> str:
    found = [each for each in (summary(record, promise) for promise in PROMISES) if each.runs]
    lines = ["# What bounds are worth along training", "", *said(first_words(record, found))]
    lines += ["", *table_of_looseness(found), "", *said([PAPERS, WHAT_MOVES]), ""]
    lines += [*_table_of_moves(record), "", *said([_made(record)])]
    lines += ["", "## All promises", "", *_table_of_promises(found), ""]
    lines += [*said([_linked(found)]), "", "## Medians", "", *_table_of_medians(record, found), ""]
    lines += [f"![slack against updates, a panel a task](pictures/{PICTURE_NAME})", "", *said([PICTURE_TEXT]), ""]
    lines += ["## Behind the first words", "", *said(behind(record, found)), ""]
    lines += ["## How", "", *said([*HOW, *_by_hand()])]
    for task in tasks_of(record):
        lines += ["", *_of_task(task, [run for run in record.values() if run["task"] == task])]
    return "\n".join([*lines, ""])


def _by_hand() -> Iterator[str]:
    """What slack_by_hand.py --all found."""
    if HAND.exists():
        found = json.loads(HAND.read_text("utf-8"))
        largest, rounding = (found[name] for name in ("largest difference", "rounding errors, largest difference"))
        numbers = {"computed": found["computed"], "archived": found["archived"]}
        share = found["computed"] / found["archived"]
        yield BY_HAND.format(**numbers, share=share, largest=power(math.log10(largest)), rounding=plain(rounding))


def _linked(found: Sequence[Summary]) -> str:
    """Where the ledger has the statements of the table."""
    names = dict.fromkeys(each.promise.by.partition(" ")[0] for each in found if each.promise.by != OWN)
    pages = {name: ledger_page(name) for name in names}
    links = ", ".join(f"[{name}](ledger/{page}.md#{anchor(name)})" for name, page in pages.items())
    return f"In the ledger: {links}."


def _table_of_moves(record: Record) -> list[str]:
    moved = [changes(record, keys) for *_, keys in MOVED]
    cells = list(dict.fromkeys(run["cell"] for run in record.values()))
    rows = [
        (cell, *(factor(statistics.median(each[cell])) if cell in each else "–" for each in moved)) for cell in cells
    ]
    heads = ("last/first", *(short for _, short, _ in MOVED))
    return tabulated(rows, heads, ("left", *["right"] * len(moved)))


def _made(record: Record) -> str:
    """By which command, how much of the plan is there, and what it took."""
    small, planned = sum(is_small(run) for run in record.values()), len(list(_slack_plan.small()))
    lacking = f" Recorded are {small} of the plan's {planned} small runs and {len(record) - small} large ones."
    older = {key: run for key, run in record.items() if run["measured_by"] != _slack_plan.MEASURED}
    stale = [key for key, run in older.items() if is_small(run)]
    named = f" Measured in an older way, to be made again: {'; '.join(stale)}." if stale else ""
    return f"{MADE}{lacking}{_cost(record)}{named}{_not_measured(older)}"


def _not_measured(older: Record) -> str:
    """What large runs, whose folders are gone, have at their archived weights alone."""
    large = [run["checkpoints"] for run in older.values() if not is_small(run)]
    if not large:
        return ""
    every = [each for checkpoints in large for each in checkpoints]
    there = sum(map(has_chain, every))
    return (
        f" Not measured, and missing below, are in {len(large)} of the large runs, but for {there} of their "
        f"{len(every)} checkpoints, of which "
        "weights are archived: the bounds of icml-(39) to (43) and sam-66 to 70, and max abs(y), max abs(z); of "
        "‖dXᴸₙ/dXˡ₁‖∞ the others have the slack alone."
    )


def _cost(record: Record) -> str:
    """The processor's time, where it is known: of cores, and of what drives a GPU."""
    parts, total = [], 0.0
    for name, words in (("cpu_seconds", "training"), ("measured_cpu_seconds", "measuring")):
        for is_own, kind in ((True, "small"), (False, "large")):
            runs = [run for run in record.values() if is_small(run) is is_own]
            known = [run[name] for run in runs if run.get(name) is not None]
            if known:
                of = " (of the process that drives the GPU)" if words == "training" and not is_own else ""
                parts.append(f"{words} {len(known)} of the {len(runs)} {kind} ones{of} {sum(known) / 3600:.2f} hours")
                total += sum(known) / 3600
    return f" Processor's time, where it is known: {', '.join(parts)}, together {total:.2f} hours." if parts else ""


def _table_of_promises(found: Sequence[Summary]) -> list[str]:
    rows = []
    for each in found:
        least = "–" if each.least is None else decades(each.least[0])
        ends = " → ".join(median(own) if own else "–" for own in (each.starts, each.ends))
        ends = ends if each.starts or each.ends else "–"
        parts = [f"{each.counts[letter]} {WORDS[letter]}" for letter in "hxvi" if each.counts.get(letter)]
        counts = ", ".join([*parts, *([f"{each.lacking} missing"] if each.lacking else [])])
        rows.append((each.promise.by, each.promise.short, counts, ends, least))
    heads = ("by", "bounded", "checkpoints", "median slack", "least")
    return tabulated(rows, heads, ("left", "left", "left", "right", "right"))


def _table_of_medians(record: Record, found: Sequence[Summary]) -> list[str]:
    """At the last weights: over all runs, over those that learned, and over those at the papers' sizes."""
    chosen = (
        record,
        {key: run for key, run in record.items() if learned(run)},
        {key: run for key, run in record.items() if not is_small(run)},
    )
    rows = []
    for each in found:
        if each.ends:
            ends = [summary(runs, each.promise).ends for runs in chosen]
            shown = [f"{median(own)} ({len(own)})" if own else "–" for own in ends]
            rows.append((each.promise.by, each.promise.short, *shown))
    heads = ("by", "bounded", "median slack (runs)", "that learned", "at papers' sizes")
    return tabulated(rows, heads, ("left", "left", "right", "right", "right"))


WORDS = {"h": "hold", "x": "EXCEEDED", "v": "vacuous", "i": "no premise"}


# --- a table a task


def _of_task(task: str, runs: Sequence[Run]) -> Iterator[str]:
    yield f"## {task}"
    for cell in dict.fromkeys(run["cell"] for run in runs):
        own = [run for run in runs if run["cell"] == cell]
        yield ""
        yield from said([_about(cell, own)])
        yield ""
        rows = [*_bounded(own), *_alone(own), *_margins(own)]
        heads = ("quantity", "by", "bound", "measured", "slack", "least, after")
        yield from tabulated(rows, heads, ("left", "left", "right", "right", "right", "right"))


def _about(cell: str, runs: Sequence[Run]) -> str:
    """N, epochs of those planned, updates, seeds, checkpoints, sequences, and how well it does."""
    network, first = runs[0]["network"], runs[0]
    seeds = ", ".join(str(run["seed"]) for run in runs)
    updates = _span([run["updates"] for run in runs])
    layers = f"{network['num_layers']} × {network['hidden_size']}" if network["num_layers"] > 1 else "1 layer of "
    size = layers if network["num_layers"] > 1 else f"{layers}{network['hidden_size']}"
    count = _span([len(run["checkpoints"]) for run in runs])
    ends = _span([run["checkpoints"][-1]["step"] for run in runs])
    last = "" if ends == updates else f", the last after {ends} updates"
    promise = next((each.promise for each in _slack_plan.CELLS if each.name == cell.partition("-")[0]), "")
    sequences = "1 sequence" if first["sequences"] == 1 else f"{first['sequences']} sequences"
    promised = f"Promised: {promise}." if promise else "No promise in the papers here."
    return (
        f"**{cell}**, {size}, {first['parameters']:,} parameters; {_steps(runs)}seeds {seeds}; {_epochs(runs)}, "
        f"{updates} updates; {count} checkpoints{last}, {sequences} each; {_quality(runs)} {promised}{_partly(runs)}"
    )


def _partly(runs: Sequence[Run]) -> str:
    """Of which seeds, at how many checkpoints, an older record has the rows that are measured now."""
    older = [run for run in runs if run["measured_by"] != _slack_plan.MEASURED]
    if not older or runs[0]["network"].get("cell") != "unicornn":
        return ""
    counts = [(run["seed"], sum(map(has_chain, run["checkpoints"])), len(run["checkpoints"])) for run in runs]
    known = ", ".join(f"seed {seed}, at {some} of its {every} checkpoints" for seed, some, every in counts if some)
    return f" abs(∂…/∂…), max abs(y) and max abs(z) are of {known or 'no seed'}: of the others no weights are left."


def has_chain(checkpoint: Mapping[str, Any]) -> bool:
    return any(key.startswith("chain rule") for key in checkpoint["rows"])


def _steps(runs: Sequence[Run]) -> str:
    return f"N = {_span([run['steps'] for run in runs])}; " if all(run.get("steps") for run in runs) else ""


def _epochs(runs: Sequence[Run]) -> str:
    """ "12 epochs"; of runs that have not ended, by seed."""
    ended = [run["epochs"] == run.get("epochs_planned", run["epochs"]) for run in runs]
    if all(ended):
        return f"{_span([run['epochs'] for run in runs])} epochs"
    own = ", ".join(f"{run['epochs']} of {run.get('epochs_planned', '?')} (seed {run['seed']})" for run in runs)
    return f"**not {'all ' * any(ended)}ended**: epochs {own}"


def _quality(runs: Sequence[Run]) -> str:
    """The validation figure first and best, without input, and who did not learn."""
    first = runs[0]
    name = "accuracy" if first["validation"]["what"] == "validation_accuracy" else "loss"
    best, firsts = (_span([run["validation"][which] for run in runs]) for which in ("best", "first"))
    level = first.get("without_input")
    without = "" if level is None else f", {level[name]:.3g} without input"
    failed = [str(run["seed"]) for run in runs if learned(run) is False]
    who = "" if len(failed) == len(runs) else f" (seed {', '.join(failed)})"
    mark = f" **Did not learn**{who}." if failed else ""
    return f"validation {name} {firsts} after the first evaluation, {best} at best{without}.{mark}"


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
            by_step = {each["step"]: each["rows"].get(key) for each in own["checkpoints"]}
            first, last = (by_step[along[worst][index][1]] for index in (0, -1))  # those that meet the premises
            least = min(min(each) for each in along)
            shown = " → ".join(_least_at(runs, along, index) for index in (0, -1))
            exceeded = "**" if least[2] == "x" else ""
            is_ratio = promise.family == "through layers" and last[2] == 0.0  # older: the slack alone, a bound on 1
            yield (
                promise.short,
                promise.by,
                "–" if is_ratio else power(last[1]),
                "–" if is_ratio or first is None or len(first) < 3 else f"{power(first[2])} → {power(last[2])}",
                shown,
                f"{exceeded}{decades(least[0])}{exceeded}, {least[1]}",
            )
        elif any(letters(run, promise.keys) for run in runs):
            yield (promise.short, promise.by, "no premise", "–", "–", "–")


def _least_at(runs: Sequence[Run], along: Sequence[Sequence[Any]], index: int) -> str:
    """Of the first (0) or last (−1) weights; "–" where no seed meets the premises with these."""
    steps = {run["checkpoints"][index]["step"] for run in runs}
    known = [each[index][0] for each in along if each[index][1] in steps]
    return decades(min(known)) if known else "–"


def _alone(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Measured without a bound: the largest over seeds, first → last."""
    keys = {**SIZES, **_gradient_keys(runs[0])}
    for key, words in keys.items():
        pairs = [(value(run, key, 0), value(run, key, -1)) for run in runs]
        pairs = [pair for pair in pairs if None not in pair]
        if pairs:
            first, last = (_largest([pair[index][2] for pair in pairs]) for index in (0, 1))
            yield (words, "–", "–", f"{power(first)} → {power(last)}", "–", "–")


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
            way = f"{fails}{plain(least)}{fails}, {step}"
            yield (words, "margin > 0", "–", " → ".join(map(plain, ends)), "–", way)
