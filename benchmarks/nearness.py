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

import numpy as np
import torch
from scipy.stats import beta

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
CERTIFIED = RESULTS.with_name("trained_certified.json")
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
    batch = NetworkBatch.of(drawn_networks)
    slopes, L, steps = batch.slopes(inputs), len(batch.w), len(inputs)
    dt, alpha = float(drawn_networks[0].dt[-1]), batch.alpha[-1]
    K = (batch.w[-1].abs().amax(dim=1) + alpha).clamp(min=2.0)
    least = {name: torch.full_like(K, math.inf) for name in ("icml-(27)", "sam-54")}
    for layer in range(1, L):
        below = (L - layer) * math.log(dt) + batch.log_norms[:, layer:].sum(dim=1)
        for n in sorted({*range(2, min(NEAR, steps) + 1, 2), steps}):
            neurons = range(len(batch.w[0][0]) if n <= NEAR else PROBES)
            measured = batch.largest_row_sums(slopes, layer, n, neurons).log()
            time_passed = (n - 1) * dt
            bounds = {"icml-(27)": torch.log1p((2 * K + K * K) * time_passed), "sam-54": K * time_passed}
            for name, bound in bounds.items():
                least[name] = torch.minimum(least[name], (bound + below - measured) / math.log(10))
    return [{name: float(each[k]) for name, each in least.items()} for k in range(len(drawn_networks))]


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
ELSEWHERE = {
    "icml-C.1": "proved at every row with α > 0 (icml-C.1-table6)",
    "sam-3.2": "supposes T ≤ 1, which no row has (44 to 617)",
    "sam-D.2": "refuted at other hyperparameters; drawn networks are hundreds of decades below it",
    "sam-66, sam-69, icml-(42)": "refuted at other hyperparameters; not asked at Table 6",
    "both-51-53, icml-(25), sam-67": "proved for all weights and hyperparameters",
    "icml-7-inverse": "proved; in floats see Stepping back",
}
"""Bounds without a case on a rung, and where else it is known what they are worth."""


# --- the page


def interval(hits: int, count: int) -> str:
    """ "0 of 20 (0 to 17 %)": Clopper and Pearson, 95 %."""
    low = beta.ppf(0.025, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, count - hits) if hits < count else 1.0
    return f"{hits} of {count} ({100 * low:.0f} to {100 * high:.0f} %)"


def page(record: dict[str, Any]) -> str:
    """docs/nearness.md, from the record alone."""
    rows = record["rows"]
    lines = [HEAD, *_ladder(record.get("ladder", {})), "", RANGE_TEXT]
    lines += ["| row | one layer | layers 1 to L | icml-(27) | sam-54 |", "|:--|--:|--:|--:|--:|"]
    for name, each in rows.items():
        lines.append(_range_line(name, each["range"]))
    lines += ["", DRAWN, "", "| row | statement | exceeded | least slack (decades) |", "|:--|:--|:--|--:|"]
    for name, each in rows.items():
        lines += [_share(name, statement, values) for statement, values in _slacks(each["drawn"]).items()]
    lines += ["", PATHS, "", "| row | inputs | statement | exceeded | least slack (decades) |", "|:--|:--|:--|:--|--:|"]
    for name, each in rows.items():
        for key, words in (("paths", "digits"), ("waves", "waves in [0, 1]")):
            for statement in ("icml-(27)", "sam-54") if each.get(key) else ():
                lines.append(_share(f"{name} | {words}", statement, [network[statement] for network in each[key]]))
    lines += [
        "",
        REBUILT,
        "",
        "| row | weights | float64 | float32 | bfloat16 | float16 |",
        "|:--|:--|--:|--:|--:|--:|",
    ]
    for name, each in rows.items():
        for weights, errors in each.get("rebuilt", {}).items():
            sizes = ["not finite" if error is None else f"{error:.1e}" for error in errors.values()]
            lines.append(f"| {name} | {weights} | {' | '.join(sizes)} |")
    lines += _trained(record.get("trained", []))
    return "\n".join([*lines, ""])


def _ladder(known: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A row a claim: the highest rung with a refuted cell, and of its cells the one that fails by most."""
    lines = [
        "| claim | nearest rung with a certified violation | row | decades | mildest numbers |",
        "|:--|:--|:--|--:|:--|",
    ]
    ranked = []
    for claim, cells in known.items():
        refuted = [cell for cell in cells if cell["verdict"] == "refuted"]
        placed = [
            (place[1], -(cell["slack"] or 0.0), place[0].name, cell)
            for cell in refuted
            if (place := rung_of(cell["domain"]))
        ]
        if placed:
            ranked.append((claim, max(placed, key=lambda each: each[:2])))
        else:
            ranked.append((claim, None))
    for claim, best in sorted(ranked, key=lambda each: (each[1] is None, [-n for n in _place(each[1])])):
        if best is None:
            counts = sorted({cell["verdict"] for cell in known[claim]})
            lines.append(f"| {claim} | none: {', '.join(counts)} at the rows | – | – | – |")
            continue
        rung, by, row, cell = best
        lines.append(f"| {claim} | {rung} | {row} | {by:.3f} | {_mild(cell)} |")
    return [*lines, *(f"| {claim} | none: {why} | – | – | – |" for claim, why in ELSEWHERE.items())]


def _place(best: Any) -> list[int]:
    return [best[0].weights, best[0].inputs] if best is not None else []


MOST_SHOWN = 40


def _mild(cell: dict[str, Any]) -> str:
    """The parameters of the witness, long lists by their length and ends."""
    parts = []
    for name, text in json.loads(cell["witness"])["parameters"].items():
        words = text.split()
        numbers = sorted({float(Fraction(word)) for word in words})
        is_long = len(text) > MOST_SHOWN
        parts.append(f"{len(words)} {name} in [{numbers[0]:g}, {numbers[-1]:g}]" if is_long else f"{name} = {text}")
    return "; ".join(parts)


def _range_line(name: str, found: dict[str, float]) -> str:
    bound = found["icml-(27)"]
    sizes = [f"**10^{size:.2f}**" if size > bound else f"10^{size:.2f}" for size in (found["product"], found["paths"])]
    return f"| {name} | {sizes[0]} | {sizes[1]} | 10^{bound:.2f} | 10^{found['sam-54']:.1f} |"


def _slacks(drawn: list[list[dict[str, Any]]]) -> dict[str, list[float]]:
    """By statement the least slack of every network."""
    slack: dict[str, list[float]] = {}
    for network in drawn:
        of_network: dict[str, float] = {}
        for entry in network:
            of_network[entry["statement"]] = min(entry["slack"], of_network.get(entry["statement"], math.inf))
        for statement, value in of_network.items():
            slack.setdefault(statement, []).append(value)
    return slack


def _share(name: str, statement: str, values: list[float]) -> str:
    share = interval(sum(value < 0 for value in values), len(values))
    return f"| {name} | {statement} | {share} | {min(values):.2f} |"


def seed(run: dict[str, Any]) -> int:
    return int(run["configuration"]["training"]["seed"])


def identity(run: dict[str, Any]) -> tuple[str, str, int]:
    return run["row"], run["task"], seed(run)


def _certified() -> str:
    """What the record of trained_certified.py says, in words."""
    linear, exponential = json.loads(CERTIFIED.read_text("utf-8"))["rows"]
    name, ends = linear["statement"], (linear["decades at least"], linear["at the end of the chain"])
    late = exponential["index n - 1, in floats"]
    return (
        f"the first line of {name} is exceeded by {ends[0]:.6f} decades or more, the end of its chain,\n"
        f"V̄ dt^(L−l) (1 + 2γt_n), by {ends[1]:.6f} or more, and {exponential['statement']} is exceeded by "
        f"{exponential['decades at least']:.6f} decades or more;\n"
        f"with the index n − 1 of sam (6), (31) by {late:.3f}, in floats"
    )


def _obeyed(runs: list[dict[str, Any]]) -> str:
    """From when on the certified network is within icml-(27), in floats."""
    (run,) = [each for each in runs if each["row"] == "RR" and seed(each) == 0]
    beyond = [k for k, each in enumerate(run["along"]) if least(each)["icml-(27)"] < 0]
    later = run["along"][beyond[-1] + 1 :] if beyond else run["along"]
    if not later:
        return "this network does not obey it to the end"
    return f"measured in floats, this network obeys it from {later[0]['step']} updates on"


def _trained(runs: list[dict[str, Any]]) -> list[str]:
    """A table along the training of the first seed of a row, two lines of every other seed."""
    lines, shown = ["", TRAINED.format(certified=_certified(), obeyed=_obeyed(runs))] if runs else [], set()
    for found in runs:
        words = ", ".join(f"{name} {value:.2f}" for name, value in least(found).items())
        if identity(found)[:2] in shown:
            lines += [
                "",
                f"Seed {seed(found)}, {found['epochs']} epochs, {_reached(found)}: {words}. {_least_along(found)}",
            ]
            continue
        shown.add(identity(found)[:2])
        lines += [
            "",
            f"**{found['row']} on {found['task']}**, {found['epochs']} epochs, "
            f"{_reached(found)} on the validation split. "
            f"Least slack in decades: {words}." + (f" {NOTES[found['row']]}" if found["row"] in NOTES else ""),
            "",
            "| weights | " + " | ".join(least(found)) + " | " + " | ".join(SPANNED) + " |",
            "|:--|" + "--:|" * (len(least(found)) + len(SPANNED)),
        ]
        lines += [_along(f"after {each['step']} updates", each) for each in found.get("along", [])]
        lines += [_along("best on validation", found)]
    return lines


def _least_along(found: dict[str, Any]) -> str:
    """When the slack was least, of each statement: weights as initialised do not count."""
    stages = [each for each in found["along"] if each["step"]]
    worst = {name: min(stages, key=lambda each: least(each)[name]) for name in least(found)}
    parts = (f"{name} {least(each)[name]:.2f} after {each['step']} updates" for name, each in worst.items())
    return "On the way, at the least: " + ", ".join(parts) + "."


def _reached(found: dict[str, Any]) -> str:
    share = found["validation_accuracy"]
    return f"error {found['validation_root']:.3g}" if share is None else f"{100 * share:.1f} % right"


def least(found: dict[str, Any]) -> dict[str, float]:
    """Over the sequences."""
    return {name: min(each[name] for each in found["slack"]) for name in found["slack"][0]}


def _along(label: str, found: dict[str, Any]) -> str:
    spans = []
    for parameter in SPANNED:
        ends = [span for name, span in found["ranges"].items() if name.endswith(f".{parameter}")]
        spans.append(f"[{min(low for low, _ in ends):.2f}, {max(high for _, high in ends):.2f}]")
    return f"| {label} | " + " | ".join([f"{value:.2f}" for value in least(found).values()] + spans) + " |"


HEAD = """# How near to practice the bounds fail

Generated by `python benchmarks/nearness.py` from `benchmarks/results/nearness.json`. A refutation says that a statement
is false; it does not say that anybody's network breaks it. This page asks, at the hyperparameters of Table 6, for
weights that a user has: any weights → the range that App. A draws from (w in [0, 1], |c| ≤ 1/10, b = 0, |V_ij| ≤
√(6/(65 fan_in))) → as initialised → as trained, each with any or with real inputs.

## The ladder
Decided by both back-ends, budget standard. "As initialised" is every network that is drawn, under every input at once.
Chains have c = 0; entries of V that are not named are 0. A claim without a violation there stands at the end.
"""
RANGE_TEXT = """## Weights in the range of the initialisation, any inputs
|c| ≤ 1/10, so that h ≤ dt/(1 + e^(−1/10)); inputs are any real numbers, so that κ_n = α + w σ′(A_n) of the first layer
is any number in (α, α + w]. The largest norm that an ascent finds, in floats, of a product of step Jacobians of one
layer, and of ‖dX^L_n/dX^1_k‖ over dt^{L−1} Π‖V^q‖ with the other layers near rest: lower bounds. **Bold**: larger than
icml-(27) at these weights (which supposes α > 0; IMDB and EigenWorms have α = 0, and two dt). At most 4000 steps.
"""
DRAWN = """## Networks as initialised, on data
Networks drawn as the paper initialises them, on two sequences of scikit-learn's digits, each layer as the last one: the
share that exceeds the bound, with its exact 95 % interval, and the least slack log₁₀(bound/measured) over networks and
layers. Statements whose premises fail (α = 0, T > 1, …) are left out."""
PATHS = """## The same, from a lower layer to the last
‖dX^L_n/dX^l_1‖_∞ with l < L: for n ≤ 24 exactly, at n = N the rows of eight neurons, so a lower bound; one sequence of
digits a network, and waves in [0, 1] near the network's resonance. Measured in floats, not certified."""
SPANNED = ("V", "w", "c")
TRAINED = """## As trained
Networks with the L, m, dt and α of a row, on four test sequences of their task, through all layers as above; the ranges
are of all layers together. Measured in floats; `python benchmarks/trained_by_hand.py --root DATA` computes ten of those
of BIDMC once more, forward in place of back, with numpy alone. Two are certified, RR after 17 updates on its first
window: `python benchmarks/trained_certified.py --root DATA` encloses one row of the Jacobian in balls and in integers,
with the weights and inputs exact: {certified}.
icml-(27) is stated for dt ≪ 1, without a number, and dt is the row's: {obeyed}."""
NOTES = {"nCIFAR": "Trained on one of the five files of images."}
REBUILT = """## Stepping back
max over layers of |ỹ_0| and |z̃_0| after at most 1000 steps forward and back from zero on one sequence of digits,
weights rounded to the dtype: as initialised, and in the chaotic regime, w = −20 in all layers."""


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
    PAGE.write_text(page(record), "utf-8")


if __name__ == "__main__":
    main()
