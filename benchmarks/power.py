"""How often does each budget find what is false in a small region only? Writes docs/power.md and its JSON.

    python benchmarks/power.py [--regions 100] [--budgets smoke,standard,deep] [--seed 1]   bounds on states
    python benchmarks/power.py --cases 60 [--regions 5]                                     some other cases

Regions come from a seed of their own; the searches draw their points from seeds 0, 1, …: of bounds one for every tenth
region, of cases one for every region.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from verification.adversary import structured
from verification.answer import SPREAD, answer
from verification.cases.narrow_falsehoods import drawn_region, narrow_falsehood
from verification.cases.narrow_places import drawn_place_region, is_of_the_case, places_of, planted_in
from verification.cases.state_bound.judge import judge
from verification.cases.state_bound.ratios import Evidence, Trial
from verification.claim import Case, Check, Parameters
from verification.commands import expectations
from verification.domains import BUDGETS, FREE, Budget, SearchPoint, drawn_points, free_points
from verification.measure.hidden_state import envelope, run_instance
from verification.parameters import Guarded
from verification.registry import Registry
from verification.spread import FEW, MANY
from verification.system import UNICORNN
from verification.verdict import NOT_REFUTED, REFUTED

RESULTS = Path(__file__).parent / "results" / "power.json"
PAGE = Path(__file__).parents[1] / "docs" / "power.md"
PINS = Path(__file__).parents[1] / "tests" / "verification" / "pins.json"
VOLUMES = (0.005, 0.01, 0.02, 0.05, 0.1)
CASE_VOLUMES = (0.01, 0.02, 0.05)
MOST_REGIONS = 200
"""Drawn until one is of the case: a premise may hold in a small part of the volume only."""
MOST_SHOWN = 5
LONGEST = 1000
"""Steps of a ladder's rung that is looked at: the finer ones repeat α, σ̂(c) and m."""


def evidence_of(budget: Budget, seed: int) -> Evidence:
    """What the matched square wave reaches, which attains thm-S, at all points of the first layer."""
    points = (*(point for point in free_points(budget) if point.steps <= LONGEST), *drawn_points(budget, seed))
    control = {"passed": True, "group": "see verify", "reports": [{"best": 1.0}]}
    return Evidence(FREE, 1, points, tuple(_trial(point, budget) for point in points), controls=(control,))


def _trial(point: SearchPoint, budget: Budget) -> Trial:
    best = structured.search(UNICORNN, point, 1, budget)[0]
    y, _, _ = run_instance(UNICORNN, best.instance, 1)
    return Trial(point, "structured", "position", best.instance, envelope(y, "max").numpy(), best.evaluations, True)


def measured(budget: Budget, regions: int, seed: int) -> list[dict[str, float]]:
    """Detections by volume."""
    rows = []
    kept = [evidence_of(budget, number) for number in range(math.ceil(regions / 10))]
    for volume in VOLUMES:
        rng = random.Random(f"regions {seed} {volume}")
        detected = 0
        for number in range(regions):
            (cell,) = judge(narrow_falsehood(drawn_region(rng, volume)), kept[number // 10])
            detected += cell.verdict == REFUTED
        rows.append(_row(volume, detected, regions))
        print(f"{budget.name:9} volume {volume:6.1%}: {detected} of {regions}", flush=True)
    return rows


def interval(found: int, of: int) -> tuple[float, float]:
    """Wilson's interval at 95 %."""
    z, p = 1.96, found / of
    centre, spread = (p + z * z / (2 * of)), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return (centre - spread) / (1 + z * z / of), (centre + spread) / (1 + z * z / of)


# --- other cases


def open_cases() -> list[tuple[str, Case]]:
    """Those that are not refuted and not proved, and leave something to choose."""
    verdicts = expectations.read(PINS)
    named = ((f"{each.claim.id} | {c.domain} | {c.quantity}", c) for each in Registry() for c in each.claim.cases)
    return [
        (name, case)
        for name, case in named
        if verdicts[name] == NOT_REFUTED and isinstance(case.check, Guarded) and case.check.declaration.is_open
    ]


def remembered(case: Case) -> Case:
    """Its check and its quicker look, which are asked at the same places for every volume."""
    guarded = case.check
    assert isinstance(guarded, Guarded)
    checks: dict[str, Check] = {}
    looks: dict[str, bool | None] = {}

    def check(texts: Parameters) -> Check:
        key = json.dumps(dict(texts))
        if key not in checks:
            checks[key] = guarded.check(dict(texts))
        return checks[key]

    def look(texts: Parameters) -> bool | None:
        key = json.dumps(dict(texts))
        if key not in looks:
            looks[key] = guarded.may_fail(texts)
        return looks[key]

    return replace(case, check=guarded.declaration.guards(check, None if guarded.look is None else look))


def of_cases(sample: Sequence[tuple[str, Case]], regions: int, budgets: Sequence[str], seed: int) -> dict[str, Any]:
    """Detections by budget and volume, and how often each case of the sample was refuted, over all volumes."""
    found: Counter[tuple[str, float]] = Counter()
    missed: dict[str, int] = {}
    claim = next(iter(Registry())).claim  # whose name the judgements have; nothing else of it is asked
    for name, plain in sample:
        case = remembered(plain)
        assert isinstance(case.check, Guarded)
        declaration, places = case.check.declaration, places_of(case.check.declaration, name)
        for volume, number in itertools.product(CASE_VOLUMES, range(regions)):
            rng = random.Random(f"regions {seed} {volume} {number} {name}")
            drawn = (drawn_place_region(declaration, rng, volume) for _ in range(MOST_REGIONS))
            region = next((region for region in drawn if is_of_the_case(case, region, places)), None)
            if region is None:
                raise RuntimeError(f"{name}: {MOST_REGIONS} regions outside of its premises")
            for budget in budgets:
                judged = answer(claim, planted_in(case, region), BUDGETS[budget], number)
                found[budget, volume] += judged.verdict == REFUTED
                if budget == "standard" and judged.verdict != REFUTED:
                    missed[name] = missed.get(name, 0) + 1
        print(f"{name}: {missed.get(name, 0)} of {regions * len(CASE_VOLUMES)} missed at standard", flush=True)
    of = len(sample) * regions
    table = {budget: [_row(volume, found[budget, volume], of) for volume in CASE_VOLUMES] for budget in budgets}
    return {"sample": len(sample), "regions": regions, "budgets": table, "missed": missed}


def _row(volume: float, found: int, of: int) -> dict[str, float]:
    low, high = interval(found, of)
    return {"volume": volume, "found": found, "of": of, "low": low, "high": high}


# --- the page


def page(record: Mapping[str, Any]) -> str:
    """docs/power.md."""
    bounds, cases = record["budgets"], record["open_cases"]
    lines = [
        "# The power of the searches",
        "",
        "Generated by `python benchmarks/power.py`; do not edit. `not-refuted` means that nothing was found; this page",
        "says what would have been. Regions come from a seed that no search has seen, intervals are Wilson's at 95 %.",
        "",
        "## Bounds on states",
        "",
        "Planted bounds |y_n| ≤ 11/10 thm-S are false, ≤ 9/10 thm-S, in a box of (α, dt, σ̂(c), m) alone, one to three",
        "of them restricted, each in linear or logarithmic scale (`verification/cases/narrow_falsehoods.py`; seed",
        f"{record['seed']}). How many were refuted:",
        "",
        *_table(bounds, {name: f"{name}, {BUDGETS[name].drawn} drawn" for name in bounds}),
        "",
        "## Other cases",
        "",
        f"Of the {cases['of']} cases that are `not-refuted`, or tested theorems, and leave something to choose,",
        f"{cases['sample']} were chosen blindly. Each was made false, for both back-ends, in {cases['regions']} boxes",
        "of each volume: one to three numbers of its declaration restricted, entries of lists and matrices too, in",
        "linear or logarithmic scale; of what is no number, a graph, that share of all texts",
        "(`verification/cases/narrow_places.py`). Premises are those of the case, and what it asks by itself was left",
        "out: all of this is found at places that are spread over the declaration (`verification/spread.py`), where",
        "the first back-end looks and, if it sees a violation, both decide. How many were refuted:",
        "",
        *_table(cases["budgets"], {name: f"{name}, {SPREAD[name]} places" for name in cases["budgets"]}),
        "",
        *_missed(cases),
        "What this does not measure: sizes that only make work (`Small`: steps, layers, neurons) are drawn small, so",
        "that what is false for large ones alone is left to the search of the case itself; numbers without a limit are",
        f"spread up to {FEW} in linear and {MANY} in logarithmic scale; and a statement about dt → 0 can be refuted at",
        "a place only where a theorem carries the violation to the limit, as the planted ones do.",
        "",
    ]
    return "\n".join(lines)


def _table(results: Mapping[str, Sequence[Mapping[str, float]]], heads: Mapping[str, str]) -> list[str]:
    lines = ["| volume of the box | " + " | ".join(heads.values()) + " |", "|--:|" + "--:|" * len(heads)]
    for rows in zip(*(results[name] for name in heads), strict=True):
        cells = [f"{row['found'] / row['of']:.0%} ({row['low']:.0%} … {row['high']:.0%})" for row in rows]
        lines.append(f"| {rows[0]['volume']:.1%} | " + " | ".join(cells) + " |")
    return lines


def _missed(cases: Mapping[str, Any]) -> list[str]:
    """The cases with the most misses at standard."""
    tried = cases["regions"] * len(CASE_VOLUMES)
    most = sorted(cases["missed"].items(), key=lambda item: (-item[1], item[0]))[:MOST_SHOWN]
    if not most:
        return []
    names = [f"- {name.replace('|', '·')}: {count}" for name, count in most]
    return [f"Missed most often at standard, of {tried} boxes:", "", *names, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--regions", type=int, help="of each volume: 100, or 5 a case")
    parser.add_argument("--budgets", help="smoke,standard,deep; of cases smoke,standard")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=0, help="so many of the cases, chosen blindly, and no bounds")
    parser.add_argument("--page", action="store_true", help="write the page again from the stored result")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = json.loads(RESULTS.read_text())
    if options.cases:
        known = open_cases()
        sample = random.Random(f"cases {options.seed}").sample(known, min(options.cases, len(known)))
        budgets = (options.budgets or "smoke,standard").split(",")
        record["open_cases"] = of_cases(sample, options.regions or 5, budgets, options.seed) | {"of": len(known)}
    elif not options.page:
        names = (options.budgets or "smoke,standard,deep").split(",")
        tables = {name: measured(BUDGETS[name], options.regions or 100, options.seed) for name in names}
        record |= {"seed": options.seed, "budgets": tables}
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(record))


if __name__ == "__main__":
    main()
