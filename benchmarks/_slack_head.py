"""The first words of docs/trained.md: five sentences, and what stands behind them; each is made of the record."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from _harness import RESULTS
from _slack_numbers import Record, Run, Summary, changes, is_small, learned, summary
from _slack_promises import EQUATION, MARGINS, MOVED, OWN, PAPERS
from _slack_words import decades, factor, listed, median, plain, sentence, times

CERTIFIED = RESULTS / "trained_certified.json"
"""Of benchmarks/trained_certified.py: refutations by weights of a run, decided by two back-ends."""

NEARNESS = RESULTS / "nearness.json"
LEDGER = Path(__file__).resolve().parent.parent / "docs" / "ledger"
VERDICT = re.compile(r"published[^;]*;\s\*{0,2}(refuted|not-refuted|proved|holds|inapplicable|open)\*{0,2}\.")
MOVES = 0.1
"""Decades by which a median has to change to be named."""


def first_words(record: Record, found: Sequence[Summary]) -> list[str]:
    """What was trained, what holds, what is loose by how much, what fails, what training moves."""
    tried = _tried(found)
    return [
        _trained(record),
        _holding(record, tried),
        _loose_in_short(record, tried),
        _failing_in_short(tried),
        _moving(record),
        PAPERS,
    ]


def behind(record: Record, found: Sequence[Summary]) -> list[str]:
    """The same with every bound, premise and place."""
    tried = _tried(found)
    return [
        _kept(tried),
        *_loose(tried),
        _learned_alone(record, tried),
        _failing(record, tried),
        _nothing(found),
        *_slack_that_moves(found),
        _learning(record),
    ]


def _tried(found: Sequence[Summary]) -> list[Summary]:
    return [each for each in found if any(each.counts.get(letter) for letter in "hx")]


def _unbroken(tried: Sequence[Summary]) -> list[Summary]:
    """Published bounds that no checkpoint exceeds."""
    return [each for each in tried if each.promise.is_published and not each.counts.get("x")]


def anchor(name: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())


def ledger_page(statement: str) -> str:
    """Of the ledger, by its name."""
    return {"thm": "library", "sco": "scornn"}.get(statement.partition("-")[0], "unicornn")


def verdict_of(statement: str) -> str:
    """What the ledger says of a published statement in general."""
    page = LEDGER / f"{ledger_page(statement)}.md"
    text = page.read_text("utf-8")
    place = text.find(f'<a id="{anchor(statement)}"></a>')
    found = VERDICT.search(text, place) if place >= 0 else None
    if found is None:
        raise ValueError(f"{page.name} has no verdict of {statement}. Make the ledger first.")
    return found[1]


# --- the five


def _trained(record: Record) -> str:
    small = [run for run in record.values() if is_small(run)]
    large = [run for run in record.values() if not is_small(run)]
    kinds = []
    for runs, size in ((small, "with 32 units"), (large, "at the papers' sizes")):
        if runs:
            cells = listed(list(dict.fromkeys(run["cell"] for run in runs)))
            count = len({run["task"] for run in runs})
            kinds.append(f"{len(runs)} {size} ({cells}) on {count} task{'s' * (count != 1)}")
    counts = [len(run["checkpoints"]) for run in record.values()]
    each = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    known = [learned(run) for run in record.values() if learned(run) is not None]
    of = "" if len(known) == len(record) else f" of the {len(known)} of which it is known"
    return (
        f"**What was trained.** {len(record)} networks, {listed(kinds)}; each was measured in float64 with {each} "
        f"sets of weights, from before the first update to the last, at {sum(counts):,} checkpoints in all, and "
        f"{sum(map(bool, known))}{of} learned: they took away more than a tenth of the error of the best answer "
        "without input."
    )


def _holding(record: Record, tried: Sequence[Summary]) -> str:
    """Published bounds that say something everywhere and are exceeded nowhere; what the ledger says in general."""
    kept = [each for each in _unbroken(tried) if not each.counts.get("v")]
    if not kept:
        return "**What holds.** No published bound holds at every checkpoint."
    of_all = sum(len(run["checkpoints"]) for run in record.values())
    own = [each for each in kept if each.promise.family != "orthogonality"]
    parts, most = [], max((each.checkpoints for each in own), default=0)
    for count in sorted({each.checkpoints for each in own}, reverse=True):
        words = named([each for each in own if each.checkpoints == count])
        parts.append(
            f"at each of the {count:,} checkpoints, of {of_all:,}, at which the network is a UnICORNN hold the "
            f"published bounds on {words}"
            if count == most
            else f"at the {count:,} of these at which they are measured, those on {words}"
        )
    for each in kept:
        if each.promise.family == "orthogonality":
            holds = each.counts["h"]
            parts.append(f"at the {holds:,} at which it is a scoRNN with abs(aᵢⱼ) ≤ 1, the one on {named([each])}")
    return (
        f"**What holds.** {sentence('; '.join(parts))}. That is of these weights and sequences: for all weights and "
        f"inputs the [ledger](ledger/README.md) has "
        f"{_in_general(list(dict.fromkeys(each.promise.by for each in kept)))}."
    )


def _in_general(names: Sequence[str]) -> str:
    """ "refuted a and b, and proved c"."""
    by_verdict: dict[str, list[str]] = {}
    for name in names:
        by_verdict.setdefault(verdict_of(name).replace("-", " "), []).append(name)
    return listed([f"{word} {listed(own)}" for word, own in by_verdict.items()])


def _loose_in_short(record: Record, tried: Sequence[Summary]) -> str:
    """By how many times bounds are too large, in the median over runs with their last weights."""
    parts = []
    for is_published, whose in ((True, "the published ones"), (False, "those of this library")):
        own = [each for each in tried if each.promise.is_published is is_published and each.promise.is_headline]
        own = [each for each in own if each.ends]
        own.sort(key=lambda each: statistics.median(each.ends))
        shown = [f"{times(statistics.median(each.ends))} for {named([each])}" for each in own]
        if shown:
            parts.append(f"{whose} {', '.join(shown)}")
    small = sum(is_small(run) for run in record.values())
    return (
        "**What is loose, by how much.** With the last weights, in the median over runs, bounds are so many times what "
        f"is measured: {'; '.join(parts)}; {small} of the {len(record)} runs have 32 units, and at the papers' sizes "
        "[other medians](#medians)."
    )


def _learned_alone(record: Record, tried: Sequence[Summary]) -> str:
    """Which of those medians change by a tenth of a decade when networks that did not learn are left out."""
    chosen = {key: run for key, run in record.items() if learned(run)}
    moved = []
    for each in tried:
        again = summary(chosen, each.promise)
        if each.promise.is_headline and again.ends:
            before, after = statistics.median(each.ends), statistics.median(again.ends)
            if abs(after - before) >= MOVES:
                moved.append(f"{named([each])} {decades(before)} → {decades(after)} decades")
    left_out = sum(learned(run) is False for run in record.values())
    without = f"**Without the {left_out} that did not learn**"
    if not moved:
        return f"{without} no median of the first words changes by {MOVES} decades."
    return f"{without} medians of the first words change by {MOVES} decades or more in {', in '.join(moved)}."


def _failing_in_short(tried: Sequence[Summary]) -> str:
    failing = [each for each in tried if each.counts.get("x") and each.least is not None]
    if not failing:
        return "**What fails.** No bound is exceeded at any checkpoint, on the sequences measured."
    parts = []
    for each in failing:
        assert each.least is not None
        slack, run, step = each.least
        by = f"up to {times(-slack)} ({decades(-slack)} decades; " if math.isfinite(slack) else "an overflow ("
        where = f"{run['task']}, {run['cell']}, seed {run['seed']}, after {step} updates)"
        parts.append(f"{named([each])} at {each.counts['x']} of {each.checkpoints} checkpoints, by {by}{where}")
    names = {each.promise.by for each in failing}
    both = [name for name in dict.fromkeys(each.promise.by for each in _unbroken(tried)) if name in names]
    whose = "its" if len(both) == 1 else "their"
    apart = f"; what holds of {listed(both)} is {whose} case of one layer" if both else ""
    return f"**What fails.** Exceeded are the bounds on {'; on '.join(parts)}{apart}.{_certified()}"


def _where(record: Record, tried: Sequence[Summary]) -> str:
    """Of which runs the failures are, at how many of their checkpoints, and how many rows are certified."""
    keys, parts = [key for each in tried for key in each.promise.keys], []
    for run in record.values():
        failing = [any(each["rows"].get(key, "-")[0] == "x" for key in keys) for each in run["checkpoints"]]
        if any(failing):
            parts.append(f"{run['task']}, {run['cell']}, seed {run['seed']} at {sum(failing)} of {len(failing)}")
    others = f"none in the other {len(record) - len(parts)} runs"
    return f" Checkpoints at which one fails: {'; '.join(parts)}; {others}.{_on_other_windows()}"


def _certified() -> str:
    found = json.loads(CERTIFIED.read_text("utf-8")) if CERTIFIED.exists() else {"rows": []}
    rows = [row["statement"] for row in found["rows"] if row["exceeds"] and row["agree"]]
    step = found.get("network", "").rpartition("weights_")[2].partition(".")[0]
    if not rows:
        return " None is certified."
    return (
        f" Certified by two back-ends: {', '.join(rows)} with the weights of seed 0 after {int(step)} updates "
        "([nearness](nearness.md))."
    )


def _on_other_windows() -> str:
    """nearness.json has the same runs on four windows of the test split, at more of their weights: its excesses."""
    found = json.loads(NEARNESS.read_text("utf-8"))["trained"] if NEARNESS.exists() else []
    most: dict[str, tuple[float, str, int, int]] = {}
    for network in found:
        for at in network["along"]:
            for statement in ("icml-(27)", "sam-54"):
                excess = max((-each[statement] for each in at["slack"]), default=0.0)
                seed = network["configuration"]["training"]["seed"]
                most[statement] = max(
                    most.get(statement, (0.0, "", 0, 0)), (excess, str(network["row"]), int(seed), int(at["step"]))
                )
    said = [
        f"{name} by {excess:.3f} decades ({row}, seed {seed}, after {step} updates)"
        for name, (excess, row, seed, step) in most.items()
        if excess > 0
    ]
    if not said:
        return ""
    return (
        " Nearness and the ledger have the same runs on four windows of the test split, at all weights kept, and so "
        f"other figures: at most {', '.join(said)}."
    )


def _moving(record: Record) -> str:
    parts = []
    for words, _, keys in MOVED:
        every = [change for own in changes(record, keys).values() for change in own]
        if every:
            up = sum(change > 0 for change in every)
            parts.append(f"{words} {factor(statistics.median(every))} (larger in {up} of {len(every)} runs)")
    return f"**What training moves**, last over first weights, median over runs: {'; '.join(parts)}."


# --- behind them


def _kept(tried: Sequence[Summary]) -> str:
    """Bounds of this library, and published ones that say something at some of the checkpoints."""
    ours = [each for each in tried if not each.promise.is_published]
    kept = sum(not each.counts.get("x") for each in ours)
    partly = "".join(
        f" The published bound on {named([each])} is below the largest {each.promise.dtype} at "
        f"{each.counts.get('h', 0)} of {each.checkpoints} checkpoints, and holds there."
        for each in _unbroken(tried)
        if each.counts.get("v")
    )
    return (
        f"**Hold.** Of the {len(ours)} bounds of this library {kept} hold at every checkpoint where their premises "
        f"do.{partly}"
    )


def named(several: Sequence[Summary]) -> str:
    """ "gradients of weights (icml-3.1, icml-C.2), Jacobian of a step (icml-(25))"."""
    by_words: dict[str, list[str]] = {}
    for each in several:
        by = EQUATION if each.promise.by == OWN else each.promise.by
        by_words.setdefault(each.promise.words, []).append(by)
    return ", ".join(f"{words} ({', '.join(dict.fromkeys(names))})" for words, names in by_words.items())


TIERS = ((1.0, "within a factor of ten"), (3.0, "within a thousand"), (math.inf, "further"))


def _loose(tried: Sequence[Summary]) -> Iterator[str]:
    """By the median slack of the last weights, published and the library's; and which are of one step, not ranked."""
    for is_published, whose in ((True, "**Loose.** Published bounds"), (False, "Bounds of this library")):
        kind = [each for each in tried if each.promise.is_published is is_published and each.ends]
        own = [(statistics.median(each.ends), each) for each in kind]
        at_once = ", ".join(
            f"{each.promise.short} ({each.promise.by}; {each.promise.step}) {decades(slack)}"
            for slack, each in own
            if each.promise.step
        )
        own = [pair for pair in own if not pair[1].promise.step]
        low, parts = -math.inf, []
        for high, words in TIERS:
            here = sorted(((slack, each) for slack, each in own if low < slack <= high), key=lambda pair: pair[0])
            if here:
                each_of = ", ".join(f"{named([each])} {decades(slack)}" for slack, each in here)
                parts.append(f"{words}: {each_of}")
            low = high
        if parts:
            left = f" Not ranked, as their least slack is that of one step: {at_once}." if at_once else ""
            yield f"{whose} by the median slack of the last weights, in decades. {sentence('; '.join(parts))}.{left}"


def _failing(record: Record, tried: Sequence[Summary]) -> str:
    parts = []
    for each in tried:
        if each.counts.get("x") and each.least is not None:
            slack, run, step = each.least
            where = f"{run['task']}, {run['cell']}, seed {run['seed']}, after {step} updates"
            by = f"up to {decades(-slack)} decades" if math.isfinite(slack) else "an overflow"
            count = f"{each.counts['x']} of {each.checkpoints} checkpoints"
            parts.append(f"the bound on {named([each])} is exceeded at {count}, by {by} ({where})")
    where = _where(record, tried) if parts else ""
    said = f"**Fail**, in float64: {'; '.join(parts)}.{where}" if parts else "**Fail.** No bound is exceeded."
    return f"{said}{_failing_margins(record)}"


def _failing_margins(record: Record) -> str:
    parts = []
    for key, words in MARGINS.items():
        every = [each["rows"][key][1] for run in record.values() for each in run["checkpoints"] if key in each["rows"]]
        failing = [number for number in every if number <= 0]
        if failing:
            statement = key.rpartition("| ")[2]
            by = f" ({statement})" if statement else ""
            count = f"{len(failing)} of {len(every)} checkpoints"
            parts.append(f"{words}{by} is not positive at {count}, down to {plain(min(failing))}")
    return f" Premises that fail along training: {'; '.join(parts)}." if parts else ""


def _nothing(found: Sequence[Summary]) -> str:
    never = [each for each in found if not any(each.counts.get(letter) for letter in "hxv")]
    above = [each for each in found if each.counts.get("v")]
    parts = []
    if never:
        parts.append(f"no network meets the premises of the bounds on {named(never)}")
    for each in above:
        parts.append(
            f"the bound on {named([each])} is above the largest {each.promise.dtype} at {each.counts['v']} of "
            f"{each.checkpoints} checkpoints"
        )
    return f"**Say nothing.** {sentence('; '.join(parts) or 'none of them')}."


def _slack_that_moves(found: Sequence[Summary]) -> Iterator[str]:
    moved = [
        f"{named([each])} {median(each.starts)} → {median(each.ends)}"
        for each in found
        if each.starts and each.ends and abs(statistics.median(each.ends) - statistics.median(each.starts)) >= 1
    ]
    if moved:
        yield f"**Slack that training moves** by a decade or more: {', '.join(moved)}."


def _learning(record: Record) -> str:
    """Which networks did not learn."""
    by_row: dict[str, list[Run]] = {}
    for run in record.values():
        if learned(run) is False:
            by_row.setdefault(f"{run['task']}, {run['cell']}", []).append(run)
    if not by_row:
        return "**Learned.** Every network has, of which it is known."
    rows = "; ".join(f"{row}, seed {', '.join(str(run['seed']) for run in runs)}" for row, runs in by_row.items())
    return f"**Did not learn**: {rows}. Their rows below say so."
