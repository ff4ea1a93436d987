"""What a limit of growth costs: UnICORNN on sequential digits with and without it, ten seeds, in pairs.

    python benchmarks/growth_limits.py               all that the record lacks, then docs/guarantees.md's table
    python benchmarks/growth_limits.py --jobs 2      two runs at a time, each on one thread (default: 1)
    python benchmarks/growth_limits.py --page        only the table, from the record

Runs are those of the README's example (configurations/sequential_digits_unicornn.toml, 60 epochs) with other seeds and
options. Of each are recorded its test accuracy, the growth that its neurons may have over the N = 64 steps, each in its
best form, exp(N · rate), layer by layer, and the largest |w|. results/growth_limits.json is written after every run.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from _harness import RESULTS, machine
from scipy import stats
from tabulate import tabulate

from odernn.bounds.network.unicornn import rates_of_forms
from odernn.bounds.network.weights import weights_of
from verification.training import configuration, loop, network
from verification.training.configuration import Configuration
from verification.training.determinism import determinism
from verification.training.processes import processes

RECORD = RESULTS / "growth_limits.json"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "guarantees.md"
START, END = "<!-- table of benchmarks/growth_limits.py -->", "<!-- its end -->"
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


def trained(name: str, seed: int) -> dict[str, Any]:
    """One run, from nothing."""
    torch.set_num_threads(1)
    made_of = plan(LIMITS[name], seed)
    folder = RESULTS.parent.parent / "build" / "growth_limits" / made_of.digest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with processes("cpu") as own, determinism(made_of.training.deterministic, "cpu"):
        run = loop.TrainingRun(made_of, folder, own)
        found = run.to_the_end(None, [])
        cell = run.model.recurrent
        weights = weights_of(cell)
        coefficients = [cell.coefficients(index)["w"].detach() for index in range(len(cell.layers))]
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "accuracy": found.test["accuracy"],
        "growths": [math.exp(STEPS * float(rates_of_forms(weights, i).max())) for i in range(len(cell.layers))],
        "largest w": [float(w.abs().max()) for w in coefficients],
        "digest": made_of.digest(),
        "machine": machine(),
    }


def opened() -> dict[str, Any]:
    return json.loads(RECORD.read_text("utf-8"))["runs"] if RECORD.exists() else {}


def missing(runs: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Those that are not recorded, or under another configuration."""
    every = [(name, seed) for seed in SEEDS for name in LIMITS]
    return [(n, s) for n, s in every if runs.get(f"{n}, seed {s}", {}).get("digest") != plan(LIMITS[n], s).digest()]


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
        accuracies = [each["accuracy"] for each in found]
        growths = [max(each["growths"]) for each in found]
        yield (
            name,
            f"{statistics.mean(accuracies):.2%}",
            f"{min(accuracies):.2%} … {max(accuracies):.2%}",
            "–" if name == "free" else difference([a - b for a, b in zip(accuracies, free, strict=True)]),
            f"{min(growths):.4g} … {max(growths):.4g}",
            f"{max(max(each['largest w']) for each in found):.3g}",
        )


def difference(pairs: list[float]) -> str:
    """The mean in points of per cent, and half the width of Student's interval."""
    half = stats.t.ppf(0.975, len(pairs) - 1) * statistics.stdev(pairs) / math.sqrt(len(pairs))
    return f"{100 * statistics.mean(pairs):+.2f} ± {100 * half:.2f}"


def page(text: str, runs: Mapping[str, Any]) -> str:
    """The page with the table of the record in its place."""
    before, rest = text.split(START)
    return f"{before}{START}\n\n{table(runs)}\n\n{END}{rest.split(END)[1]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="so many runs at a time")
    parser.add_argument("--page", action="store_true", help="train nothing")
    options = parser.parse_args()
    runs = opened()
    if not options.page:
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
            futures = {pool.submit(trained, *each): each for each in missing(runs)}
            for done in as_completed(futures):
                name, seed = futures[done]
                runs[f"{name}, seed {seed}"] = done.result()
                record = {"benchmark": "growth_limits", "runs": {key: runs[key] for key in sorted(runs)}}
                RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
                sys.stdout.write(f"{name}, seed {seed}: {done.result()['accuracy']:.2%}\n")
    PAGE.write_text(page(PAGE.read_text("utf-8"), runs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
