"""How near to practice a refuted claim fails: the nearest rung at which the run has a certified violation.

Rungs (``verification.domains``) are named by the domains of cells at the hyperparameters of Table 6. Notes count too:
that the published dt is small enough is mostly no part of what is meant. Those of another convention, or in floats, do
not.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from verification.domains import ANY_RUNG, INPUTS, WEIGHTS, Rung, rung_of
from verification.readings.reading import reading_of, verdict_of
from verification.report.numbers import decades, plural, size
from verification.verdict import INAPPLICABLE, PROVED, REFUTED, Judgement

PAGE = "nearness.md"
KINDS = frozenset({"wider", "part", "weaker", "test"})
"""Notes that are about the statement itself."""
RUNGS = tuple(Rung(weights, inputs) for weights in range(len(WEIGHTS)) for inputs in range(len(INPUTS)))
"""The nearest to practice last."""
NUMBER = re.compile(r"-?\d+(?:/\d+)?")
AT_BEST = "at the best weights"
ELSEWHERE = "it fails at other hyperparameters; no case asks at those of Table 6"


@dataclass(frozen=True)
class Rated:
    """A cell at the hyperparameters of a row of Table 6, and its rung."""

    rung: Rung
    row: str
    cell: Judgement

    @property
    def is_refuted(self) -> bool:
        return self.cell.verdict == REFUTED

    @property
    def order(self) -> tuple[Rung, float]:
        """The higher the rung, and the more it fails by."""
        return self.rung, -(self.cell.slack or 0.0)


def rated(cells: Sequence[Judgement]) -> list[Rated]:
    """Those of a claim that are at the hyperparameters of Table 6."""
    found = []
    for cell in cells:
        reading, place = reading_of(cell.claim), rung_of(cell.domain)
        note = reading.note_of(cell) if reading is not None else None
        if place is not None and (note is None or note.kind in KINDS):
            found.append(Rated(place[1], place[0].name, cell))
    return found


def nearest(cells: Sequence[Judgement]) -> Rated | None:
    """Of the refuted ones those of the highest rung, and of these the one that fails by most."""
    failing = [each for each in rated(cells) if each.is_refuted]
    return max(failing, key=lambda each: each.order, default=None)


def line(cells: Sequence[Judgement]) -> str:
    """Of a claim that is refuted: its nearest rung, row and decades, or the verdicts at Table 6 if it holds there, as
    far as is known. "" of every other claim.
    """
    if not cells or verdict_of(cells) != REFUTED:
        return ""
    places = rated(cells)
    best = nearest(cells)
    if best is None:
        counts = Counter(each.cell.shown for each in places)
        if counts and set(counts) <= {PROVED, INAPPLICABLE} and counts[PROVED]:
            proved = plural(counts[PROVED], "case")
            return f"nowhere: proved in the {proved} of Table 6's hyperparameters where it applies"
        words = ", ".join(f"{count} {shown}" for shown, count in counts.items())
        has_sizes = any(cell.verdict == REFUTED and cell.slack is not None for cell in cells)
        return (
            f"no violation at the hyperparameters of Table 6 is certified ({words})" if words else ELSEWHERE * has_sizes
        )
    others = {each.row for each in places if each.is_refuted and each.rung == best.rung} - {best.row}
    by = f", by {decades(-best.cell.slack)} decades" if best.cell.slack is not None else ""
    also = f"; so too on {', '.join(sorted(others))}" if others else ""
    return f"{_taken(best)}at the hyperparameters of {best.row}{by}{also}"


def _taken(best: Rated) -> str:
    """The rung in words, with the sizes of what its witness takes where the rung leaves it to be anything.

    "the initialisation's range, inputs |u| up to 10^15.6, "; "" where neither weights nor inputs occur.
    """
    sizes = _sizes(best.cell.witness)
    if best.rung == ANY_RUNG and not sizes:
        return ""
    weights, inputs = WEIGHTS[best.rung.weights], INPUTS[best.rung.inputs]
    if not best.rung.weights and "w" in sizes:
        weights = f"weights |w| up to {_size(sizes['w'])}" if sizes["w"] else "w = 0"
    if not best.rung.inputs and "u" in sizes:
        inputs = f"inputs |u| up to {_size(sizes['u'])}" if sizes["u"] else "no input"
    return f"{weights}, {inputs}, "


def _sizes(witness: str) -> dict[str, Fraction]:
    """The largest absolute value of the weights w and of the inputs u of a witness, of those that it has."""
    parameters = json.loads(witness).get("parameters", {}) if witness else {}
    texts = {name: str(parameters[name]) for name in ("w", "u") if name in parameters}
    found = {name: NUMBER.findall(text) for name, text in texts.items()}
    return {name: max(abs(Fraction(number)) for number in numbers) for name, numbers in found.items() if numbers}


def _size(value: Fraction) -> str:
    return size(math.log(value.numerator) - math.log(value.denominator))


def as_trained(record: Mapping[str, Any]) -> dict[str, str]:
    """By claim: which trained networks exceed it, and when, from a record of benchmarks/nearness.py.

    "RR trained on bidmc for 489 epochs, by 0.90 decades after 17 updates, by none at the best weights, in floats;
    certified of one network, by 0.89 decades after 17 updates", rows joined by "; ". Of several seeds the worst counts,
    and how many exceed is said. Weights after 0 updates are as initialised, and do not count.
    """
    runs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for run in record["trained"]:
        runs.setdefault((run["row"], run["task"]), []).append(run)
    found: dict[str, list[str]] = {}
    for (row, task), seeds in runs.items():
        for claim in seeds[0]["slack"][0]:
            by_seed = [_stages(run, claim) for run in seeds]
            least, when = min(min(stages) for stages in by_seed)
            if least >= 0:
                continue
            words = f"by {decades(-least)} decades {when}"
            if when != AT_BEST:
                end = min(stages[-1][0] for stages in by_seed)
                words += f", by {decades(-end) + ' decades' if end < 0 else 'none'} {AT_BEST}"
            exceed = sum(min(stages)[0] < 0 for stages in by_seed)
            of_seeds = f" ({exceed} of {len(seeds)} seeds)" if len(seeds) > 1 else ""
            run_words = f"{row} trained on {task} for {_span(run['epochs'] for run in seeds)} epochs{of_seeds}"
            found.setdefault(claim, []).append(f"{run_words}, {words}, in floats")
    for each in record.get("certified", []):
        words = f"certified of one network, by {decades(each['decades'])} decades after {each['step']} updates"
        found.setdefault(each["claim"], []).append(words)
    return {claim: "; ".join(rows) for claim, rows in found.items()}


def _stages(run: Mapping[str, Any], claim: str) -> list[tuple[float, str]]:
    """(least slack over the sequences, when), the best weights last."""
    stages = [(f"after {each['step']} updates", each) for each in run.get("along", []) if each["step"]]
    return [(min(one[claim] for one in each["slack"]), words) for words, each in [*stages, (AT_BEST, run)]]


def _span(numbers: Iterable[int]) -> str:
    low, *_, high = sorted([*numbers] * 2)
    return str(low) if low == high else f"{low} to {high}"
