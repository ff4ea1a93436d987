"""What a limit of growth costs: UnICORNN on sequential digits with and without it, ten seeds, in pairs.

    python benchmarks/growth_limits.py               all that the record lacks, then docs/guarantees.md's table
    python benchmarks/growth_limits.py --jobs 2      two runs at a time, each on one thread (default: 1)
    python benchmarks/growth_limits.py --page        only the table, from the record

Runs are those of the README's example (configurations/sequential_digits_unicornn.toml, 60 epochs) with other seeds and
options. Of each are recorded its test accuracy, the growth that its neurons may have over the N = 64 steps, each in its
best form, exp(N · rate), layer by layer, and the largest |w|. results/growth_limits.json is written after every run.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from _harness import machine
from _prices import accuracies, command, from_nothing, with_table
from tabulate import tabulate

from odernn.bounds.network.unicornn import rates_of_forms
from odernn.bounds.network.weights import weights_of
from verification.training import configuration, network
from verification.training.configuration import Configuration

NAME = "growth_limits"
SEEDS = tuple(range(200, 210))
"""None of those by which the example's settings were chosen."""

STEPS = 64
LIMITS: Mapping[str, float | None] = {"free": None, "G = 10": 10.0, "G = 3": 3.0, "G = 1.5": 1.5}


def plan(limit: float | None, seed: int) -> Configuration:
    """The example with that limit and seed, on the fused execution of a CPU."""
    read = configuration.read("sequential_digits_unicornn", None).replaced(seed=seed)
    options = {"execution": "cpu"} | ({} if limit is None else {"growth": limit, "steps": STEPS})
    made = read.network
    for key, value in options.items():
        made = network.with_option(made, key, value)
    return replace(read, network=made)


def plans() -> dict[str, Configuration]:
    return {f"{name}, seed {seed}": plan(LIMITS[name], seed) for seed in SEEDS for name in LIMITS}


def trained(key: str) -> dict[str, Any]:
    """One run, from nothing."""
    made_of = plans()[key]
    run, found = from_nothing(made_of)
    cell = run.model.recurrent
    weights = weights_of(cell)
    coefficients = [cell.coefficients(index)["w"].detach() for index in range(len(cell.layers))]
    return {
        "accuracy": found.test["accuracy"],
        "growths": [math.exp(STEPS * float(rates_of_forms(weights, i).max())) for i in range(len(cell.layers))],
        "largest w": [float(w.abs().max()) for w in coefficients],
        "digest": made_of.digest(),
        "machine": machine(),
    }


def table(runs: Mapping[str, Any]) -> str:
    """Accuracy, its difference from the free network of the same seed with a 95 % interval, and the growths.

    Of the seeds whose runs are all recorded.
    """
    seeds = [seed for seed in SEEDS if all(f"{name}, seed {seed}" in runs for name in LIMITS)]
    return f"{len(seeds)} seeds.\n\n" + tabulate(list(_rows(runs, seeds)), headers=HEADERS, tablefmt="github")


HEADERS = (
    "limit",
    "test accuracy: mean",
    "range",
    "difference, 95 %",
    "certified growth over 64 steps",
    "largest abs(w)",
)


def _rows(runs: Mapping[str, Any], seeds: Sequence[int]) -> Iterator[tuple[str, ...]]:
    free = [runs[f"free, seed {seed}"]["accuracy"] for seed in seeds]
    for name in LIMITS:
        found = [runs[f"{name}, seed {seed}"] for seed in seeds]
        growths = [max(each["growths"]) for each in found]
        yield (
            name,
            *accuracies([each["accuracy"] for each in found], None if name == "free" else free),
            f"{min(growths):.4g} … {max(growths):.4g}",
            f"{max(max(each['largest w']) for each in found):.3g}",
        )


def page(text: str, runs: Mapping[str, Any]) -> str:
    """The page with the table of the record in its place."""
    return with_table(text, NAME, table(runs))


if __name__ == "__main__":
    sys.exit(command(NAME, __doc__, plans, trained, page))
