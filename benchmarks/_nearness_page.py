"""docs/nearness.md from its record and that of trained_certified.py alone: tables, and the words around them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from scipy.stats import beta

from verification.domains import TRAINED as TRAINED_RUNG
from verification.domains import rung_of

CERTIFIED = Path(__file__).parent / "results" / "trained_certified.json"
ELSEWHERE = {
    "icml-C.1": "proved at every row with α > 0 (icml-C.1-table6)",
    "sam-3.2": "supposes T ≤ 1, which no row has (44 to 617)",
    "sam-D.2": "refuted at other hyperparameters; drawn networks are hundreds of decades below it",
    "sam-66, sam-69, icml-(42)": "refuted at other hyperparameters; not asked at Table 6",
    "both-51-53, icml-(25), sam-67": "proved for all weights and hyperparameters",
    "icml-7-inverse": "proved; in floats see Stepping back",
}
"""Bounds without a case on a rung, and where else it is known what they are worth."""


def interval(hits: int, count: int) -> str:
    """ "0 of 20 (0 to 17 %)": Clopper and Pearson, 95 %."""
    low = beta.ppf(0.025, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, count - hits) if hits < count else 1.0
    return f"{hits} of {count} ({100 * low:.0f} to {100 * high:.0f} %)"


def page(record: dict[str, Any]) -> str:
    """docs/nearness.md, from the record alone."""
    rows = record["rows"]
    known, certified = record.get("ladder", {}), record.get("certified", [])
    lines = [HEAD, *_ladder(known, certified), "", RANGE_TEXT]
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


def _ladder(known: dict[str, list[dict[str, Any]]], certified: Sequence[dict[str, Any]] = ()) -> list[str]:
    """A row a claim: the highest rung with a refuted cell, and of its cells the one that fails by most. Above it, of a
    claim that a trained network exceeds by a certificate, that network.
    """
    lines = [
        "| claim | nearest rung with a certified violation | row | decades | mildest numbers |",
        "|:--|:--|:--|--:|:--|",
    ]
    ranked: list[tuple[str, Any]] = []
    trained = {each["claim"]: each for each in certified if each["claim"] in known}
    for claim, cells in known.items():
        refuted = [cell for cell in cells if cell["verdict"] == "refuted"]
        placed = [
            (place[1], -(cell["slack"] or 0.0), place[0].name, cell)
            for cell in refuted
            if (place := rung_of(cell["domain"]))
        ]
        ranked.append((claim, max(placed, key=lambda each: each[:2]) if placed else None))
    order = sorted(ranked, key=lambda each: (each[0] not in trained, each[1] is None, [-n for n in _place(each[1])]))
    for claim, best in order:
        if claim in trained:
            own = trained[claim]
            lines.append(f"| {claim} | {TRAINED_RUNG} | {own['row']} | {own['decades']:.3f} | {own['numbers']} |")
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
Decided by both back-ends, budget standard. "As initialised" is every network that is drawn, under every input at once;
"as trained" is one network, with weights and a window of a file, decided as said under [As trained](#as-trained): below
it stands the nearest rung whose numbers can be typed. Chains have c = 0; entries of V that are not named are 0. A claim
without a violation there stands at the end.
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
