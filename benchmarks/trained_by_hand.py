"""Ten numbers of docs/nearness.md, "As trained", once more without the library: numpy, the checkpoints and the data.

    python benchmarks/trained_by_hand.py --root DATA [--count 10] [--seed 0]

DATA holds BIDMC's CSV files (bidmc_csv). A number is the least log₁₀(bound/measured) of a statement over the first four
test windows, layers l < L = 3, and n = 2, 4, …, 24, N: here every column of dX^3_n/dX^l_1 is carried forward, a tangent
for each entry of X^l_1, where ``nearness.py`` steps rows back; at n = N it takes eight neurons of y and of z, and so
does this.

    z += −h (tanh(w y + V x + b) + α y),   y += h z,   h = dt/(1 + e^−c)          (the state of layers below is x)
    sam-54     dt^{3−l} Π‖V‖_∞ exp(K (n − 1) dt)
    icml-(27)  dt^{3−l} Π‖V‖_∞ (1 + (2K + K²)(n − 1) dt),                         K = max(2, max|w^3| + α)
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HERE = Path(__file__).resolve().parent / "results"
ROWS = {"HR": (0.046, 10.0, "bidmc_hr_unicornn", 0), "RR": (0.011, 9.0, "bidmc_rr_unicornn", 2)}
"""dt, α, the archived run, the column of the monitor."""

LENGTH, RATE, SECONDS, STRIDE, SEQUENCES, PROBES = 4000, 125, 32, 3, 4, 8
KINDS = {"F32": "<f4", "F64": "<f8", "I8": "i1", "I64": "<i8"}
ALLOWED = 1e-6
"""Decades, or of a margin its unit: the records have eight digits or more after the point."""


def tensors(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Of a safetensors file the tensors by name, as float64, and its words: a JSON header, its length before it."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    words = header.pop("__metadata__", {})
    found = {}
    for name, about in header.items():
        if about["dtype"] in KINDS:
            begin, end = about["data_offsets"]
            values = np.frombuffer(data[begin:end], KINDS[about["dtype"]])
            found[name] = values.reshape(about["shape"]).astype(float)
    return found, words


def weights(path: Path) -> list[dict[str, Array]]:
    """Of each layer: V, b, w, c."""
    layers: list[dict[str, Array]] = [{}, {}, {}]
    for name, values in tensors(path)[0].items():
        parts = name.split(".")
        if parts[:3] == ["model", "recurrent", "layers"] and parts[4] in ("V", "b", "w", "c"):
            layers[int(parts[3])][parts[4]] = values
    return layers


def windows(root: Path, column: int) -> list[Array]:
    """The first four windows of the test split: 15 % of all, drawn by numpy's generator of seed 0, in their order."""
    places: list[tuple[Path, int]] = []
    for number in range(1, 54):
        with (root / f"bidmc_{number:02d}_Numerics.csv").open(newline="") as file:
            names, *rows = csv.reader(file)
        of_name = [name.strip() for name in names].index(("HR", "PULSE", "RESP")[column])
        shown = [float(row[of_name]) for row in rows]
        signals = root / f"bidmc_{number:02d}_Signals.csv"
        for start in range(0, len(shown) - 1 - SECONDS + 1, STRIDE):
            if not all(math.isnan(value) for value in shown[start : start + SECONDS]):
                places.append((signals, start))
    count = len(places)
    drawn = np.random.default_rng(0).permutation(count)
    test = sorted(drawn[round(0.70 * count) + round(0.15 * count) :].tolist())[:SEQUENCES]
    found = []
    for path, start in (places[index] for index in test):
        with path.open(newline="") as file:
            names, *rows = csv.reader(file)
        columns = [[name.strip() for name in names].index(name) for name in ("PLETH", "II")]
        cut = rows[start * RATE : start * RATE + LENGTH]
        found.append(np.array([[np.float32(row[k]) for k in columns] for row in cut], dtype=float))
    return found


def measured(layers: list[dict[str, Array]], dt: float, alpha: float, u: Array, moved: int) -> dict[int, float]:
    """By n: the largest row sum of |dX^3_n/dX^moved_1|; at N of the first eight neurons' y and z."""
    size = len(layers[0]["w"])
    h = [dt / (1 + np.exp(-layer["c"])) for layer in layers]
    y, z = np.zeros((3, size)), np.zeros((3, size))
    Y = [np.zeros((size, 2 * size)) for _ in layers]
    Z = [np.zeros((size, 2 * size)) for _ in layers]
    found = {}
    for n in range(1, len(u) + 1):
        below, Below = u[n - 1], None
        for q, layer in enumerate(layers):
            s = np.tanh(layer["w"] * y[q] + layer["V"] @ below + layer["b"])
            if n > 1 and q + 1 >= moved:
                D = (layer["w"][:, None] * Y[q]) + (0 if Below is None else layer["V"] @ Below)
                Z[q] = Z[q] - h[q][:, None] * ((1 - s * s)[:, None] * D + alpha * Y[q])
                Y[q] = Y[q] + h[q][:, None] * Z[q]
            z[q] = z[q] - h[q] * (s + alpha * y[q])
            y[q] = y[q] + h[q] * z[q]
            if n == 1 and q + 1 == moved:
                Y[q], Z[q] = np.eye(size, 2 * size), np.eye(size, 2 * size, k=size)
            elif n == 1 and q + 1 > moved:  # X^q_1 sees X^moved_1 already in the same step
                D = layer["V"] @ Below if Below is not None else np.zeros_like(Y[q])
                Z[q] = -h[q][:, None] * (1 - s * s)[:, None] * D
                Y[q] = h[q][:, None] * Z[q]
            below, Below = y[q], Y[q] if q + 1 >= moved else None
        if n == len(u):
            some = slice(0, PROBES)
            found[n] = max(np.abs(Y[2][some]).sum(1).max(), np.abs(Z[2][some]).sum(1).max())
        elif n <= 24 and n % 2 == 0:
            found[n] = max(np.abs(Y[2]).sum(1).max(), np.abs(Z[2]).sum(1).max())
    return found


def slacks(layers: list[dict[str, Array]], dt: float, alpha: float, inputs: list[Array]) -> dict[str, float]:
    """The least, over windows, layers and n."""
    K = max(2.0, float(np.abs(layers[2]["w"]).max()) + alpha)
    least = {"icml-(27)": math.inf, "sam-54": math.inf}
    for u in inputs:
        for moved in (1, 2):
            below = math.log10(dt) * (3 - moved)
            below += sum(math.log10(np.abs(layer["V"]).sum(1).max()) for layer in layers[moved:])
            for n, value in measured(layers, dt, alpha, u, moved).items():
                time = (n - 1) * dt
                bounds = {"icml-(27)": math.log10(1 + (2 * K + K * K) * time), "sam-54": K * time / math.log(10)}
                for name, bound in bounds.items():
                    least[name] = min(least[name], bound + below - math.log10(value))
    return least


def published(row: str) -> dict[str, dict[str, float]]:
    """By archived file: what nearness.json has."""
    runs = json.loads((HERE / "nearness.json").read_text("utf-8"))["trained"]
    (run,) = [each for each in runs if each["row"] == row and each["configuration"]["training"]["seed"] == 0]
    along = {f"weights_{each['step']:07d}": each for each in run["along"]} | {"best": run}
    return {
        name: {statement: min(one[statement] for one in each["slack"]) for statement in each["slack"][0]}
        for name, each in along.items()
        if (HERE / "trained" / ROWS[row][2] / f"{name}.safetensors").exists()
    }


def is_confirmed(differences: Sequence[float]) -> bool:
    """Whether there are numbers and each is within ``ALLOWED``; a NaN is not."""
    return bool(differences) and all(difference < ALLOWED for difference in differences)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    root = asked.root / "bidmc_csv" if (asked.root / "bidmc_csv").is_dir() else asked.root
    known: list[tuple[str, str, str, float]] = [
        (row, file, statement, value)
        for row in ROWS
        for file, values in published(row).items()
        for statement, value in values.items()
    ]
    drawn = random.Random(asked.seed).sample(known, min(asked.count, len(known)))
    inputs: dict[str, list[Array]] = {}
    made: dict[tuple[str, str], dict[str, float]] = {}
    differences: list[float] = []
    for row, file, statement, value in sorted(drawn):
        dt, alpha, folder, column = ROWS[row]
        if row not in inputs:
            inputs[row] = windows(root, column)
        if (row, file) not in made:
            layers = weights(HERE / "trained" / folder / f"{file}.safetensors")
            made[row, file] = slacks(layers, dt, alpha, inputs[row])
        again = made[row, file][statement]
        differences.append(float(abs(again - value)))
        sys.stdout.write(f"{row} {file} {statement}: {value:.9f} in the record, {again:.9f} by hand\n")
        sys.stdout.flush()
    worst = max(differences, key=lambda each: (math.isnan(each), each), default=math.nan)
    sys.stdout.write(f"{len(differences)} numbers, largest difference {worst:.2g} decades\n")
    return 0 if is_confirmed(differences) else 1


if __name__ == "__main__":
    sys.exit(main())
