"""How near to practice the published bounds of UnICORNN fail, at the hyperparameters of Table 6: docs/nearness.md.

From the weights of the witnesses towards those that a user has:
  any weights                a certified violation of the standard run (the ledger)
  the initialisation's range w in [0, 1], |c| ≤ 1/10, any inputs: products of step Jacobians, B(κ_n) with any κ_n in
                             [α, α + w], since inputs are free; maximised in floats by coordinate ascent. A lower bound
  drawn as initialised       K networks on real data: the share that violates, with its Clopper–Pearson interval (95 %)

python benchmarks/nearness.py [--draws 20] [--seconds S]      resumes results/nearness.json, then writes the page
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from scipy.stats import beta

from odernn.published.networks import ROWS, PublishedRow
from verification.measure.network import build, load_source
from verification.registry import Registry
from verification.tasks import sequences
from verification.trained import gradient_rows, jacobian_rows, runs, state_rows
from verification.trained.row import Row
from verification.trained.runs import Sample

RESULTS = Path(__file__).parent / "results" / "nearness.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "nearness.md"
LARGEST = math.log(float(np.finfo(np.float64).max))
LARGEST_C = 0.1
MOST_STEPS = 4000
"""EigenWorms has 17,984, which no case of a Jacobian product has either."""


def drawn(row: PublishedRow, seed: int, registry: Registry) -> list[dict[str, Any]]:
    """The rows of one initial network on two real sequences: statement, layer, slack, whether it is exceeded."""
    network = build(row, seed)
    steps = min(row.steps, MOST_STEPS)
    u = sequences.build(
        load_source("digits", None), steps=steps, input_size=row.input_size, batch=2, kind=row.kind, seed=seed
    )
    spec: Any = SimpleNamespace(reads="last", count=2, split="test", name="digits")
    sample = Sample(torch.from_numpy(u), torch.zeros(2), None, spec)
    rows: list[Row] = state_rows.rows(network, runs.states(network, sample), sample, registry, log_largest=LARGEST)
    gradients = runs.half_square_gradients(network, sample)
    rows += gradient_rows.published_rows(network, gradients, sample, registry, log_largest=LARGEST)
    rows += jacobian_rows.rows(network, runs.trajectory(network, sample), sample, registry, log_largest=LARGEST)
    published = [each for each in rows if each.origin == "published" and each.slack is not None]
    return [{"statement": each.statement, "layer": each.layer, "slack": each.slack} for each in published]


# --- the worst product of step Jacobians with weights in the range of the initialisation


def largest_product(alpha: float, w: float, h: float, count: int, *, starts: int = 6) -> float:
    """A lower bound on max ‖B(κ_count) ⋯ B(κ_1)‖_∞ over κ_n in [α, α + w].

    The norm is convex in each κ_n, so the ends of the interval suffice: ascent over them, one n after the other, from
    square waves at twice the frequency of the oscillator.
    """
    rng, best = np.random.default_rng(0), 0.0
    frequency = 2 * math.asin(min(0.999, h * math.sqrt(alpha + w / 2) / 2))
    for start in range(starts):
        waves = np.cos(2 * frequency * np.arange(count) + rng.uniform(0, 2 * math.pi)) > 0
        for signs in ((1.0, 1.0), (1.0, -1.0)):
            best = max(best, _ascended(alpha, w, h, waves.copy(), signs, momentum=start % 2 == 0))
    return best


def _ascended(alpha: float, w: float, h: float, high: Any, signs: tuple[float, float], *, momentum: bool) -> float:
    """|e_zᵀ M s| (or e_y), M the product, after ascent in the choices ``high``."""
    last, sign = -1.0, 0.0
    while True:
        right = [signs]
        for is_high in high:
            y, z = right[-1]
            z -= h * (alpha + w * is_high) * y
            right.append((y + h * z, z))
        a, b = (0.0, 1.0) if momentum else (1.0, 0.0)
        value = a * right[-1][0] + b * right[-1][1]
        if abs(value) <= last * (1 + 1e-12):
            return max(last, abs(value))
        last, sign = abs(value), math.copysign(1.0, value)
        for n in range(len(high) - 1, -1, -1):
            y = right[n][0]
            high[n] = sign * -(a * h + b) * h * y > 0  # the product is linear in κ_n, with this slope
            kappa = alpha + w * high[n]
            a, b = a - (a * h + b) * h * kappa, a * h + b


def ranges(row: PublishedRow) -> dict[str, float]:
    """Of the row's top layer: log₁₀ of the product's norm, and of the bounds icml-(27) and sam-54 at w = 1."""
    alpha, dt = float(row.alpha), float(row.dt[-1])
    h, count = dt / (1 + math.exp(-LARGEST_C)), min(row.steps, MOST_STEPS) - 1
    K = max(2.0, 1.0 + alpha)
    return {
        "product": math.log10(largest_product(alpha, 1.0, h, count)),
        "icml-(27)": math.log10(1 + (2 * K + K * K) * count * dt),
        "sam-54": K * count * dt / math.log(10),
    }


# --- the page


def interval(hits: int, count: int) -> str:
    """ "0 of 20 (0 to 17 %)": Clopper and Pearson, 95 %."""
    low = beta.ppf(0.025, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, count - hits) if hits < count else 1.0
    return f"{hits} of {count} ({100 * low:.0f} to {100 * high:.0f} %)"


def page(record: dict[str, Any]) -> str:
    """docs/nearness.md, from the record alone."""
    lines = [HEAD]
    lines += ["| row | largest product found | icml-(27) | sam-54 |", "|:--|--:|--:|--:|"]
    for name, each in record.items():
        found = each["range"]
        bold = "**" if found["product"] > found["icml-(27)"] else ""
        size = f"{bold}10^{found['product']:.2f}{bold}"
        lines.append(f"| {name} | {size} | 10^{found['icml-(27)']:.2f} | 10^{found['sam-54']:.1f} |")
    lines += ["", DRAWN, "", "| row | statement | exceeded | least slack (decades) |", "|:--|:--|:--|--:|"]
    for name, each in record.items():
        slack: dict[str, list[float]] = {}
        for network in each["drawn"]:
            of_network: dict[str, float] = {}
            for entry in network:
                of_network[entry["statement"]] = min(entry["slack"], of_network.get(entry["statement"], math.inf))
            for statement, value in of_network.items():
                slack.setdefault(statement, []).append(value)
        for statement, values in slack.items():
            share = interval(sum(value < 0 for value in values), len(values))
            lines.append(f"| {name} | {statement} | {share} | {min(values):.2f} |")
    return "\n".join([*lines, ""])


HEAD = """# How near to practice the bounds fail

Generated by `python benchmarks/nearness.py` from `benchmarks/results/nearness.json`. A refutation says that a statement
is false; it does not say that anybody's network breaks it. The witnesses of the gradient and Jacobian bounds have
w < −α, which no initial network has. This page asks, at the hyperparameters of Table 6, for weights that a user has.

## Weights in the range of the initialisation, any inputs
w in [0, 1], |c| ≤ 1/10, so that h ≤ dt/(1 + e^(−1/10)); inputs are any real numbers, so that κ_n = α + w σ′(A_n) is
any number in (α, α + w]. The largest norm of a product of step Jacobians of one layer that an ascent finds, in floats:
a lower bound. **Bold**: larger than the bound, at these weights. Products of at most 4000 steps.
"""
DRAWN = """## Networks as initialised, on data
Networks drawn as the paper initialises them, on two sequences of scikit-learn's digits, all layers: the share that
exceeds the bound, with its exact 95 % interval, and the least slack log₁₀(bound/measured) over networks and layers.
Statements whose premises fail (α = 0, T > 1, …) are left out."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=math.inf)
    asked = parser.parse_args()
    record = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    registry, end = Registry(), time.monotonic() + asked.seconds
    for number in range(asked.draws):
        for row in ROWS:
            each = record.setdefault(row.name, {"drawn": []})
            if time.monotonic() > end or len(each["drawn"]) > number:
                continue
            each.setdefault("range", ranges(row))
            each["drawn"].append(drawn(row, number, registry))
            RESULTS.write_text(json.dumps(record, indent=0) + "\n", "utf-8")
    PAGE.write_text(page(record), "utf-8")


if __name__ == "__main__":
    main()
