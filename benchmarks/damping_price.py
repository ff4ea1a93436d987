"""What friction and a rate cost: DampedUnICORNN on sequential digits beside UnICORNN, ten seeds, in pairs.

    python benchmarks/damping_price.py               all that the record lacks, then docs/guarantees.md's table
    python benchmarks/damping_price.py --jobs 2      two runs at a time, each on one thread (default: 1)
    python benchmarks/damping_price.py --page        only the table, from the record

Runs are those of growth_limits.py's free network with another cell and nothing else changed; their record is that of
UnICORNN. Of each are recorded its test accuracy; the largest ρ of its neurons, by which a step contracts; and the
constant that ``certify`` has for ‖y_N − y'_N‖ / ‖u − u'‖₂ over the N = 64 inputs. results/damping_price.json is
written after every run.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import growth_limits
from _harness import machine
from _prices import accuracies, command, from_nothing, opened, with_table
from growth_limits import SEEDS, STEPS
from tabulate import tabulate

from odernn.bounds import certify
from odernn.bounds.network import damped, lipschitz
from verification.training import configuration, network
from verification.training.configuration import Configuration

NAME = "damping_price"
FREE = "UnICORNN"
CELLS: Mapping[str, Mapping[str, float]] = {
    "γ = 0.2": {"gamma": 0.2},
    "γ = 0.2, r = 0.05": {"gamma": 0.2, "rate": 0.05},
    "γ = 1, r = 0.3": {"gamma": 1.0, "rate": 0.3},
}


def plan(options: Mapping[str, float], seed: int) -> Configuration:
    """The example with friction."""
    read = configuration.read("sequential_digits_unicornn", None).replaced(seed=seed)
    made = replace(read.network, cell="damped_unicornn")
    for key, value in options.items():
        made = network.with_option(made, key, value)
    return replace(read, network=made)


def plans() -> dict[str, Configuration]:
    return {f"{name}, seed {seed}": plan(CELLS[name], seed) for seed in SEEDS for name in CELLS}


def trained(key: str) -> dict[str, Any]:
    """One run, from nothing."""
    made_of = plans()[key]
    run, found = from_nothing(made_of)
    cell = run.model.recurrent
    steps = [damped.DampedStep.of(layer) for layer in cell.layers]
    rates = [damped.NeuronForms.candidates(step, step.slopes)[0].rate.max() for step in steps]
    over_all = certify(cell, input_bound=1.0, steps=STEPS).layers[-1][lipschitz.OVER_ALL].log
    return {
        "accuracy": found.test["accuracy"],
        "factor a step": math.exp(max(rates)),
        "certified": None if over_all is None else math.exp(over_all),
        "digest": made_of.digest(),
        "machine": machine(),
    }


def table(runs: Mapping[str, Any]) -> str:
    """Accuracy, its difference from UnICORNN of the same seed with a 95 % interval, and what is certified.

    Of the seeds whose runs are all recorded.
    """
    seeds = [seed for seed in SEEDS if all(f"{name}, seed {seed}" in runs for name in CELLS)]
    return f"{len(seeds)} seeds.\n\n" + tabulate(list(_rows(runs, seeds)), headers=HEADERS, tablefmt="github")


HEADERS = (
    "cell",
    "test accuracy: mean",
    "range",
    "difference, 95 %",
    "largest factor a step, certified",
    "certified ‖δy_N‖/‖δu‖₂",
)


def _rows(runs: Mapping[str, Any], seeds: Sequence[int]) -> Iterator[tuple[str, ...]]:
    record = opened(growth_limits.NAME)
    free = [record[f"free, seed {seed}"]["accuracy"] for seed in seeds]
    if not seeds:
        return
    yield FREE, *accuracies(free, None), "–", "–"
    for name in CELLS:
        found = [runs[f"{name}, seed {seed}"] for seed in seeds]
        factors = [each["factor a step"] for each in found]
        constants = [each["certified"] for each in found]
        yield (
            name,
            *accuracies([each["accuracy"] for each in found], free),
            f"{min(factors):.4g} … {max(factors):.4g}",
            f"{min(constants):.3g} … {max(constants):.3g}",
        )


def page(text: str, runs: Mapping[str, Any]) -> str:
    """The page with the table of the record in its place."""
    return with_table(text, NAME, table(runs))


if __name__ == "__main__":
    sys.exit(command(NAME, __doc__, plans, trained, page))
