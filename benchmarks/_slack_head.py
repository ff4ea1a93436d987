"""The first words of docs/trained.md, a table of what is loose, and what stands behind them; all made of the record."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from _harness import RESULTS
from _slack_numbers import Record, Run, Summary, changes, is_small, learned, summary
from _slack_promises import EQUATION, MARGINS, MOVED, OWN
from _slack_words import decades, factor, listed, median, plain, sentence, tabulated, times

CERTIFIED = RESULTS / "trained_certified.json"
"""Of benchmarks/trained_certified.py: refutations by weights of a run, decided by two back-ends."""

NEARNESS = RESULTS / "nearness.json"
LEDGER = Path(__file__).resolve().parent.parent / "docs" / "ledger"
VERDICT = re.compile(r"published[^;]*;\s\*{0,2}(refuted|not-refuted|proved|holds|inapplicable|open)\*{0,2}\.")
MOVES = 0.1
"""Decades by which a median has to change to be named."""


def first_words(record: Record, found: Sequence[Summary]) -> list[str]:
    """In short; what was trained, holds, fails, what training moves; and how to read the table of what is loose."""
    tried = _tried(found)
    return [
        *_in_short(tried),
        _trained(record),
        _holding(record, tried),
        _failing_in_short(tried),
        _moving(record),
        _loose_in_short(record),
    ]


def behind(record: Record, found: Sequence[Summary]) -> list[str]:
    """The same with every bound, premise and place."""
    tried = _tried(found)
    return [
        _kept(tried),
        *_of_one_step(tried),
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


# --- the first ones


def _in_short(tried: Sequence[Summary]) -> Iterator[str]:
    """Of published bounds: whether they hold, which are near, which are far."""
    published = [each for each in tried if each.promise.is_published]
    failing: dict[str, list[tuple[float, str]]] = {}
    for each in published:
        if each.counts.get("x") and each.least is not None:
            failing.setdefault(each.promise.words, []).append((each.least[0], each.least[1]["task"]))
    parts = [
        f"that on {words}, which is exceeded on {listed(sorted({task for _, task in least}))} by up to "
        f"{times(-min(least)[0]) if math.isfinite(min(least)[0]) else 'an overflow'}"
        for words, least in failing.items()
    ]
    if published:
        apart = f", but for {'; and '.join(parts)}" if parts else ""
        yield f"On these inputs trained networks keep the published bounds that apply to them{apart}.{_near(published)}"


def _near(published: Sequence[Summary]) -> str:
    """Of the table's rows."""
    ends = [
        (statistics.median(each.ends), each.promise) for each in published if each.promise.is_headline and each.ends
    ]
    near = [promise.words for slack, promise in ends if slack <= 1]
    far = [f"that on {promise.words} is {times(slack)}" for slack, promise in ends if slack > 3]
    said = f" Within ten times what is measured are those on {listed(near)}" if near else ""
    beyond = f"{listed(far)} too large" if far else ""
    return f"{said}{';' if said and beyond else ''} {beyond}." if said or beyond else ""


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
        f"**What was trained.** {len(record)} networks: {listed(kinds)}. Each was measured with {each} sets of "
        f"weights, from before the first update to the last: {sum(counts):,} checkpoints. {sum(map(bool, known))}{of} "
        "learned, that is, took away more than a tenth of the error of the best answer without input."
    )


def _holding(record: Record, tried: Sequence[Summary]) -> str:
    """Published bounds that say something everywhere and are exceeded nowhere; what the ledger says in general."""
    kept = [each for each in _unbroken(tried) if not each.counts.get("v")]
    if not kept:
        return "**What holds.** No published bound holds at every checkpoint."
    own = [each for each in kept if each.promise.family != "orthogonality"]
    parts, most = [], max((each.checkpoints for each in own), default=0)
    for count in sorted({each.checkpoints for each in own}, reverse=True):
        words = in_short([each for each in own if each.checkpoints == count])
        parts.append(
            f"at all {count:,} checkpoints of a UnICORNN hold the published bounds on {words}"
            if count == most
            else f"at all {count:,} at which they are measured, those on {words}"
        )
    for each in kept:
        if each.promise.family == "orthogonality":
            holds = each.counts["h"]
            parts.append(f"at all {holds:,} of a scoRNN with abs(aᵢⱼ) ≤ 1, the one on {named([each])}")
    return (
        f"**What holds.** {sentence('; '.join(parts))}. That is of these weights and sequences: for all weights and "
        f"inputs the [ledger](ledger/README.md) has "
        f"{_in_general(list(dict.fromkeys(each.promise.by for each in kept)))}."
    )


def in_short(several: Sequence[Summary]) -> str:
    """As ``named``; the factors of the chain rule are one quantity."""
    chain = [each for each in several if each.promise.family == "chain rule"]
    others = [each for each in several if each not in chain]
    parts = [named(others)] if others else []
    if chain:
        parts.append(f"factors and sums of the chain rule ({', '.join(each.promise.by for each in chain)})")
    return listed(parts)


def _in_general(names: Sequence[str]) -> str:
    """ "refuted a and b, and proved c"."""
    by_verdict: dict[str, list[str]] = {}
    for name in names:
        by_verdict.setdefault(verdict_of(name).replace("-", " "), []).append(name)
    return listed([f"{word} {listed(own)}" for word, own in by_verdict.items()])


def _loose_in_short(record: Record) -> str:
    """What stands above the table."""
    small = sum(is_small(run) for run in record.values())
    return (
        "**What is loose, by how much.** So many times what is measured are the bounds with the last weights, in the "
        f"median over runs; {small} of the {len(record)} runs have 32 units, and at the papers' sizes "
        "[other medians](#medians)."
    )


def table_of_looseness(found: Sequence[Summary]) -> list[str]:
    """By how many times bounds are too large: a row a quantity, published bounds beside those of this library."""
    rows: dict[str, tuple[list[str], list[str]]] = {}
    for each in sorted(_tried(found), key=lambda each: not each.promise.is_published):
        if each.promise.is_headline and each.ends:
            words = each.promise.words.partition(",")[0].removeprefix("the ")
            size = times(statistics.median(each.ends)).replace(" times", " ×")
            rows.setdefault(words, ([], []))[not each.promise.is_published].append(f"{size} ({each.promise.by})")
    texts = [(words, *(", ".join(own) or "–" for own in both)) for words, both in rows.items()]
    return tabulated(texts, ("bound on", "published", "of this library"), ("left", "left", "left"))


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
    """Bounds of this library."""
    ours = [each for each in tried if not each.promise.is_published]
    kept = sum(not each.counts.get("x") for each in ours)
    return f"**Hold.** Of the {len(ours)} bounds of this library {kept} hold wherever their premises do."


def named(several: Sequence[Summary]) -> str:
    """ "gradients of weights (icml-3.1, icml-C.2), Jacobian of a step (icml-(25))"."""
    by_words: dict[str, list[str]] = {}
    for each in several:
        by = EQUATION if each.promise.by == OWN else each.promise.by
        by_words.setdefault(each.promise.words, []).append(by)
    return ", ".join(f"{words} ({', '.join(dict.fromkeys(names))})" for words, names in by_words.items())


def _of_one_step(tried: Sequence[Summary]) -> Iterator[str]:
    """Which slacks say nothing of all steps."""
    at_once = [f"{each.promise.short} ({each.promise.by}; {each.promise.step})" for each in tried if each.promise.step]
    if at_once:
        yield f"**Not to be ranked**, as their least slack is that of one step: {', '.join(at_once)}."


def _failing(record: Record, tried: Sequence[Summary]) -> str:
    is_any = any(each.counts.get("x") for each in tried)
    said = f"**Fail**, in float64.{_where(record, tried)}" if is_any else "**Fail.** No bound is exceeded."
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
    parts = [f"no network meets the premises of the bounds on {named(never)}"] if never else []
    above: dict[tuple[str, int, int], list[Summary]] = {}
    for each in found:
        if count := each.counts.get("v"):
            above.setdefault((each.promise.dtype, count, each.checkpoints), []).append(each)
    parts += [
        f"above the largest {dtype} at {count} of {checkpoints} checkpoints {'is' if len(own) == 1 else 'are'} the "
        f"bound{'s' * (len(own) > 1)} on {named(own)}"
        for (dtype, count, checkpoints), own in above.items()
    ]
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
