"""How near to practice the published bounds of UnICORNN fail, at the hyperparameters of Table 6: docs/nearness.md.

From the weights of the witnesses towards those that a user has (``verification.domains.WEIGHTS``):
  ladder         what both back-ends decide in the cases on each rung, with the budget standard
  range          w in [0, 1], |c| ≤ 1/10, any inputs: products of step Jacobians by coordinate ascent, in floats
  drawn, paths   K networks as initialised on real data: the share that violates, with its exact interval (95 %)
  waves          the same under waves in [0, 1]
  rebuilt        stepping back in four dtypes, as initialised and in the chaotic regime
  trained        the folder of a run of ``odernn train`` with the hyperparameters of a row (--run FOLDER --row NAME)

python benchmarks/nearness.py [--draws 20] [--seconds S]      resumes results/nearness.json, then writes the page
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import time
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import _nearness_page
import numpy as np
import torch
from _nearness_page import identity, seed

from odernn.cells.unicornn import UnICORNN
from odernn.published import networks
from odernn.published.networks import ROWS, PublishedRow
from verification.adversary import step_products
from verification.answer import answer
from verification.domains import BUDGETS, rung_of
from verification.measure.network import build, load_source, waves_in_range
from verification.measure.path_norms import NetworkBatch
from verification.measure.trained_network import reconstruction_error
from verification.registry import Registry
from verification.tasks import sequences
from verification.trained import gradient_rows, jacobian_rows, runs, state_rows
from verification.trained.row import Row
from verification.trained.runs import Sample
from verification.training import checkpoints, configuration, splits

RESULTS = Path(__file__).parent / "results" / "nearness.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "nearness.md"
LARGEST = math.log(float(np.finfo(np.float64).max))
LARGEST_C = 0.1
SEQUENCES = 4
"""Test sequences that a trained network is measured on."""
BATCH = 10
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


def ranges(row: PublishedRow) -> dict[str, float]:
    """Of the row's top layer: log₁₀ of the product's norm, and of the bounds icml-(27) and sam-54 at w = 1.

    ``paths``: from layer 1 to layer L over dt^{L−1} Π‖V^q‖, w^1 = 1 and w^q = 2/5 above.
    """
    alpha, dt, above = float(row.alpha), float(row.dt[-1]), row.num_layers - 1
    h, count = dt / (1 + math.exp(-LARGEST_C)), min(row.steps, MOST_STEPS) - 1
    K = max(2.0, 1.0 + alpha)
    return {
        "product": math.log10(step_products.largest(alpha, [1.0], h, count).norm),
        "paths": math.log10(step_products.largest(alpha, [1.0] + [0.4] * above, h, count, starts=2).norm)
        - above * math.log10(dt),
        "icml-(27)": math.log10(1 + (2 * K + K * K) * count * dt),
        "sam-54": K * count * dt / math.log(10),
    }


# --- through all layers: ‖dX^L_n/dX^l_k‖_∞ with l < L, K networks as one batch


PROBES = 8
"""Neurons of the top layer whose rows are summed at n = N: a lower bound of the norm. Up to n = ``NEAR`` all are."""
NEAR = 24


def paths(drawn_networks: list[UnICORNN], inputs: torch.Tensor) -> list[dict[str, float]]:
    """Of each network the least slack log₁₀(bound/measured) of icml-(27) and sam-54 over l < L, from k = 1."""
    return [
        {name: (bound - measured) / math.log(10) for name, (bound, measured) in each.items()}
        for each in path_sides(drawn_networks, inputs)
    ]


def path_sides(drawn_networks: list[UnICORNN], inputs: torch.Tensor) -> list[dict[str, tuple[float, float]]]:
    """The same as (log bound, log measured), where the slack is least."""
    batch = NetworkBatch.of(drawn_networks)
    slopes, L, steps = batch.slopes(inputs), len(batch.w), len(inputs)
    dt, alpha = float(drawn_networks[0].dt[-1]), batch.alpha[-1]
    K = (batch.w[-1].abs().amax(dim=1) + alpha).clamp(min=2.0)
    least = {name: (torch.full_like(K, math.inf), torch.zeros_like(K)) for name in ("icml-(27)", "sam-54")}
    for layer in range(1, L):
        below = (L - layer) * math.log(dt) + batch.log_norms[:, layer:].sum(dim=1)
        for n in sorted({*range(2, min(NEAR, steps) + 1, 2), steps}):
            neurons = range(len(batch.w[0][0]) if n <= NEAR else PROBES)
            measured = batch.largest_row_sums(slopes, layer, n, neurons).log()
            time_passed = (n - 1) * dt
            bounds = {"icml-(27)": torch.log1p((2 * K + K * K) * time_passed), "sam-54": K * time_passed}
            for name, bound in bounds.items():
                slack, (known_bound, known) = bound + below - measured, least[name]
                nearer = slack.isnan() | (slack < known_bound - known)  # a NaN stays
                least[name] = torch.where(nearer, bound + below, known_bound), torch.where(nearer, measured, known)
    return [
        {name: (float(bound[k]), float(measured[k])) for name, (bound, measured) in least.items()}
        for k in range(len(drawn_networks))
    ]


def drawn_paths(row: PublishedRow, seeds: range, *, in_range: bool = False) -> list[dict[str, float]]:
    """Networks as initialised, each on digits of its own, or on waves in [0, 1] near its resonances."""
    made, steps = [build(row, seed) for seed in seeds], min(row.steps, MOST_STEPS)
    if in_range:
        u = torch.cat([waves_in_range(network, row, 4)[:steps, 2:3] for network in made], dim=1)
    else:
        source = load_source("digits", None)
        u = torch.from_numpy(
            sequences.build(
                source, steps=steps, input_size=row.input_size, batch=len(made), kind=row.kind, seed=seeds.start
            )
        )
    return paths(made, u)


# --- stepping back


DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
CHAOTIC = -20.0


def rebuilt(row: PublishedRow) -> dict[str, dict[str, float | None]]:
    """max |ỹ_0|, |z̃_0| over layers after N steps forward and back, one network on one sequence: as initialised, and
    with w = −20 in all layers; None where it is not finite.
    """
    steps = min(row.steps, 1000)
    u = sequences.build(
        load_source("digits", None), steps=steps, input_size=row.input_size, batch=1, kind=row.kind, seed=0
    )
    found: dict[str, dict[str, float | None]] = {}
    for name in ("as initialised", "chaotic"):
        network = build(row, 0)
        if name == "chaotic":
            with torch.no_grad():
                for layer in network.layers:
                    layer.w.fill_(CHAOTIC)
        found[name] = {}
        for dtype in DTYPES:
            seen = reconstruction_error(network, torch.from_numpy(u), dtype)
            error = float(torch.maximum(seen.position, seen.momentum).max())
            found[name][str(dtype).removeprefix("torch.")] = error if math.isfinite(error) else None
    return found


# --- as trained: a run of `odernn train` with the hyperparameters of a row


def trained(folder: Path, row: PublishedRow, root: Path | None) -> dict[str, Any]:
    """Its best weights on test sequences of its own task, and those that were kept on the way: ranges and slacks."""
    plan = configuration.from_mapping(json.loads((folder / "run.json").read_text("utf-8"))["configuration"])
    with (folder / "log.csv").open(encoding="utf-8", newline="") as file:
        log = list(csv.DictReader(file))
    best = min(log, key=lambda line: float(line["validation_loss"]))  # of a figure that is no accuracy
    if log[0]["validation_accuracy"]:
        best = max(log, key=lambda line: float(line["validation_accuracy"]))
    u = splits.load(plan, "test", root).batch(np.arange(SEQUENCES))[0].double()
    kept = sorted(folder.glob("weights_*.safetensors"))
    return {
        "row": row.name,
        "task": plan.task.name,
        "configuration": plan.to_plain(),
        "epochs": int(log[-1]["epoch"]),
        "validation_accuracy": float(best["validation_accuracy"]) if best["validation_accuracy"] else None,
        "validation_root": None if best["validation_accuracy"] else math.sqrt(float(best["validation_loss"])),
        **slacks(folder / "best.safetensors", row, u),
        "along": [{"step": int(each.stem.rpartition("_")[2]), **slacks(each, row, u)} for each in kept],
    }


def slacks(path: Path, row: PublishedRow, u: torch.Tensor) -> dict[str, Any]:
    """Of the weights in a checkpoint: the range of each, and the least slack of each statement on each sequence."""
    prefix = "model.recurrent."
    tensors = checkpoints.read(path).tensors
    own = {name.removeprefix(prefix): value.double() for name, value in tensors.items() if prefix in name}
    network = UnICORNN(
        own["layers.0.V"].shape[1],
        row.hidden_size,
        row.num_layers,
        dt=[float(dt) for dt in row.dt],
        alpha=float(row.alpha),
        dtype=torch.float64,
    )
    network.load_state_dict({name: value for name, value in own.items() if name.startswith("layers.")}, strict=False)
    return {
        "ranges": {
            name: [float(value.min()), float(value.max())]
            for name, value in own.items()
            if name.startswith("layers.") and name.rpartition(".")[2] in ("w", "b", "c", "V")
        },
        "slack": [paths([network], u[:, k : k + 1])[0] for k in range(u.shape[1])],
    }


# --- the ladder: what both back-ends decide at the hyperparameters of Table 6


def ladder(registry: Registry, identifier: str) -> list[dict[str, Any]]:
    """The cells of a claim that ask at a row of Table 6."""
    claim = registry.get(identifier).claim
    cases = [case for case in claim.cases if rung_of(case.domain) is not None]
    cells = [answer(claim, case, BUDGETS["standard"], 0) for case in cases]
    kept = ("domain", "quantity", "verdict", "slack", "witness")
    return [{name: getattr(cell, name) for name in kept} for cell in cells]


LADDER = ("sam-54", "icml-(27)", "icml-(39)", "icml-3.1", "icml-C.2", "icml-C.1-step", "icml-(40)")


def certified() -> list[dict[str, Any]]:
    """What trained_certified.py has of trained networks: by how many decades at least, after how many updates; at the
    hyperparameters of which row of Table 6, and the numbers that decide.
    """
    known = json.loads(_nearness_page.CERTIFIED.read_text("utf-8"))
    step, dt, alpha = Path(known["network"]).stem.removeprefix("weights_"), known["dt"], known["alpha"]
    (row,) = (each.name for each in ROWS if (each.dt[-1], each.alpha) == (Fraction(dt), alpha))
    return [
        {
            "claim": each["statement"],
            "step": int(step),
            "decades": each["decades at least"],
            "row": row,
            "numbers": f"alpha = {alpha}; dt = {dt}; weights after {int(step)} updates; from {each['from']} to "
            f"{each['to']}",
        }
        for each in known["rows"]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--row", default="RR")
    parser.add_argument("--root", type=Path, help="folder of the task's files (default: ODERNN_DATA)")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    record = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"rows": {}}
    registry, end = Registry(), time.monotonic() + asked.seconds

    def keep() -> bool:
        record["certified"] = certified()
        RESULTS.write_text(json.dumps(record, indent=0) + "\n", "utf-8")
        return time.monotonic() < end

    if asked.run is not None:
        made = trained(asked.run, networks.row(asked.row), asked.root)
        others = [each for each in record.get("trained", []) if identity(each) != identity(made)]
        record["trained"] = sorted(
            [*others, made], key=lambda each: (ROWS.index(networks.row(each["row"])), seed(each))
        )
    for identifier in LADDER:
        if identifier not in record.setdefault("ladder", {}) and keep():
            record["ladder"][identifier] = ladder(registry, identifier)
    for row in ROWS:
        each = record["rows"].setdefault(row.name, {"drawn": []})
        if "paths" not in each.get("range", {}) and keep():
            each["range"] = ranges(row)
        if "rebuilt" not in each and keep():
            each["rebuilt"] = rebuilt(row)
        for key, count in (("paths", asked.draws), ("waves", 4)) if row.alpha > 0 else ():
            done = each.setdefault(key, [])
            while len(done) < count and keep():
                seeds = range(len(done), min(len(done) + BATCH, count))
                done += drawn_paths(row, seeds, in_range=key == "waves")
    for number in range(asked.draws):
        for row in ROWS:
            done = record["rows"][row.name]["drawn"]
            if len(done) <= number and keep():
                done.append(drawn(row, number, registry))
    keep()
    PAGE.write_text(_nearness_page.page(record), "utf-8")


if __name__ == "__main__":
    main()
