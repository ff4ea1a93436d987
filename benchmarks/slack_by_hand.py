"""Ten numbers of docs/trained.md once more without the library: numpy, archived weights and archived sequences.

    python benchmarks/slack_by_hand.py [--count 10] [--seed 0]

A number is log₁₀(bound/measured), or of a margin its value, of the first, middle or last weights of the first seed of a
run: drawn from all in results/trained_slack.json that a function here computes. h = dt/(1 + e^−c), K = max(2, max|w| +
α), β = max(1 + 2α, 4α²).

    UnICORNN   z −= h (tanh(w y + V x + b) + α y),  y += h z;   κ = α + w (1 − tanh²)
               icml-C.1    |y_n| ≤ √(2(1 + 2βn dt)/α)                    icml-(25)   ‖J_n‖_∞ ≤ 1 + K dt + (K dt)²/2
               both-51-53  ‖J_n‖_∞ ≤ e^{K dt}                            J_n = [[1 − h²κ, h], [−hκ, 1]] of each unit
               icml-(27)   ‖J_N ⋯ J_1‖_∞ ≤ 1 + (2K + K²) N dt            sam-54      ‖J_N ⋯ J_1‖_∞ ≤ e^{K N dt}
    coRNN      z += dt (tanh(W y + W_z z + V x + b) − γ y − ε z),  y += dt z;   Σ of |y|, |z| after one kick of 1
    scoRNN     W = (I + A)⁻¹(I − A)D,  expRNN  W = e^A;   h = modReLU(W h + U x; b);   G += ‖U x‖ + ‖b⁺‖, G *= ‖W‖
    LinOSS     z += dt (B x − A y),  y += dt z;   S_n = dt Σ|B x|,  |z_n| ≤ S_n/r,  |y_n| ≤ min(S_n/(r√A), dt ΣS/r)
    LSTM       i, f, g, o = σ, σ, tanh, σ of W_i x + b_i + W_h h + b_h;   c = f c + i g,  h = o tanh c
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trained_by_hand import is_confirmed, tensors

Array = NDArray[np.float64]
HERE = Path(__file__).resolve().parent / "results"
ARCHIVE = HERE / "trained" / "slack"
Layer = Mapping[str, Array]
Numbers = dict[str, float]


def weights(path: Path) -> tuple[list[dict[str, Array]], dict[str, Any]]:
    """Of each layer its tensors, and [network]."""
    found, words = tensors(path)
    layers: dict[int, dict[str, Array]] = {}
    for name, values in found.items():
        parts = name.split(".")
        if parts[:3] == ["model", "recurrent", "layers"]:
            layers.setdefault(int(parts[3]), {})[parts[-1]] = values
        elif parts[:2] == ["model", "recurrent"] and parts[2].endswith("_l0"):
            layers.setdefault(0, {})[parts[2]] = values
    return [layers[index] for index in sorted(layers)], json.loads(words["odernn"])["configuration"]["network"]


def least(logs: Any, sizes: Any) -> float:
    """min of log₁₀(bound/size) over what is not 0, from natural logarithms of bounds."""
    moving = sizes > 0
    return float(np.min(np.broadcast_to(logs, sizes.shape)[moving] - np.log(sizes[moving]))) / math.log(10)


def keep(found: Numbers, key: str, value: float) -> None:
    found[key] = min(value, found.get(key, math.inf))


# --- the cells: every number of one network on sequences u (time, K, input)


def unicornn(layers: Sequence[Layer], network: Mapping[str, Any], u: Array) -> Numbers:
    found: Numbers = {}
    below, dts = u, np.broadcast_to(np.asarray(network["dt"], float), (len(layers),))
    alphas = np.broadcast_to(np.asarray(network["alpha"], float), (len(layers),))
    n = np.arange(1, len(u) + 1)[:, None, None]
    for layer, dt, alpha in zip(layers, dts, alphas, strict=True):
        w, h = layer["w"], dt / (1 + np.exp(-layer["c"]))
        drive = below @ layer["V"].T + layer["b"]
        y, z, rows, momenta, kappas = np.zeros_like(drive[0]), np.zeros_like(drive[0]), [], [], []
        for x in drive:
            s = np.tanh(w * y + x)
            kappas.append(alpha + w * (1 - s * s))
            z = z - h * (s + alpha * y)
            y = y + h * z
            rows.append(y)
            momenta.append(z)
        grown = np.log(1 + 2 * max(1 + 2 * alpha, 4 * alpha * alpha) * n * dt)
        keep(found, "states | abs y | icml-C.1", least((math.log(2 / alpha) + grown) / 2, np.abs(rows)))
        keep(found, "states | abs z | icml-C.1", least((math.log(2) + grown) / 2, np.abs(momenta)))
        kappa = np.array(kappas)
        norms = np.maximum(np.abs(1 - h * h * kappa) + h, np.abs(h * kappa) + 1)
        K = max(2.0, float(np.abs(w).max()) + alpha)
        step = "step Jacobians | ‖dXₙ/dXₙ₋₁‖∞ | "
        keep(found, f"{step}icml-(25)", least(math.log(1 + K * dt + (K * dt) ** 2 / 2), norms))
        keep(found, f"{step}both-51-53", least(K * dt, norms))
        size, scale = grown_through(h, kappa)
        ends = "step Jacobians | ‖dX_N/dX₀‖∞, at N | "
        for name, bound in (("icml-(27)", math.log(1 + (2 * K + K * K) * len(u) * dt)), ("sam-54", K * len(u) * dt)):
            keep(found, f"{ends}{name}", float((bound - scale - np.log(size)).min()) / math.log(10))
        keep(found, "margins | 4 − h²(α + max(w, 0)) | ", float((4 - h * h * (alpha + np.maximum(w, 0))).min()))
        keep(found, "margins | w + α | ", float((w + alpha).min()))
        keep(found, "margins | 4 − h²α | ", float((4 - h * h * alpha).min()))
        below = np.array(rows)
    return found


def grown_through(h: Array, kappa: Array) -> tuple[Array, Array]:
    """(‖P‖_∞, s) with J_N ⋯ J_1 = e^s P of each unit and sequence: (y, z) of two starts, stepped and rescaled."""
    y, z = np.zeros((2, *kappa.shape[1:])), np.zeros((2, *kappa.shape[1:]))
    y[0], z[1], scale = 1.0, 1.0, np.zeros(kappa.shape[1:])
    for of_step in kappa:
        z = z - h * of_step * y
        y = y + h * z
        largest = np.maximum(np.abs(y).max(0), np.abs(z).max(0))
        y, z, scale = y / largest, z / largest, scale + np.log(largest)
    return np.maximum(np.abs(y).sum(0), np.abs(z).sum(0)), scale


def cornn(layers: Sequence[Layer], network: Mapping[str, Any], u: Array) -> Numbers:
    (layer,) = layers
    dt, gamma, epsilon = (float(network[name]) for name in ("dt", "gamma", "epsilon"))
    drive = u @ layer["V"].T + layer["b"]
    y, z = np.zeros_like(drive[0]), np.zeros_like(drive[0])
    rows, momenta, moved, sums = [], [], [0.0, 0.0], []
    for n, x in enumerate(drive):
        force = np.tanh(y @ layer["W"].T + z @ layer["W_z"].T + x)
        z = z + dt * (force - gamma * y - epsilon * z)
        y = y + dt * z
        rows.append(y)
        momenta.append(z)
        moved[1] += dt * ((n == 0) - gamma * moved[0] - epsilon * moved[1])  # one kick of 1, then none
        moved[0] += dt * moved[1]
        sums.append(np.abs(moved))
    bounds = np.log(np.cumsum(sums, axis=0))
    return {
        "states | abs y | own equation": least(bounds[:, 0][:, None, None], np.abs(rows)),
        "states | abs z | own equation": least(bounds[:, 1][:, None, None], np.abs(momenta)),
        "states | largest abs y | own equation": least(bounds[-1, 0], np.abs(rows).max(0)),
        "states | largest abs z | own equation": least(bounds[-1, 1], np.abs(momenta).max(0)),
        "margins | 4 − (dt²γ ± 2dtε) | ": 4 - dt * dt * gamma - 2 * dt * epsilon,
    }


def orthogonal(layers: Sequence[Layer], network: Mapping[str, Any], u: Array) -> Numbers:
    (layer,) = layers
    size = network["hidden_size"]
    A = np.zeros((size, size))
    A[np.triu_indices(size, 1)] = layer["free"]
    A -= A.T
    found: Numbers = {}
    if network["cell"] == "scornn":
        W, inside = np.linalg.solve(np.eye(size) + A, (np.eye(size) - A) * layer["signs"]), layer["U"]
        found["margins | 1 − max|a_ij| | sco-T3.1"] = 1 - float(np.abs(A).max())
    else:
        turns, V = np.linalg.eigh(1j * A)  # A = V (−i turns) V*
        W, inside = ((V * np.exp(-1j * turns)) @ V.conj().T).real, layer["V"]
    drive, b = u @ inside.T, layer["b"]
    norm, lifted = float(np.linalg.norm(W, 2)), float(np.linalg.norm(np.maximum(b, 0)))
    h, G = np.zeros_like(drive[0]), np.zeros(u.shape[1])
    logs, sizes = [], []
    for x in drive:
        h = h @ W.T + x
        h = np.sign(h) * np.maximum(np.abs(h) + b, 0)
        G = norm * G + np.linalg.norm(x, axis=1) + lifted
        logs.append(np.log(np.maximum(G, 1e-300)))
        sizes.append(np.linalg.norm(h, axis=1))
    found["states | norm h | own equation"] = least(np.array(logs), np.array(sizes))
    found["states | largest norm h | own equation"] = least(np.max(logs, axis=0), np.max(sizes, axis=0))
    return found


def linoss(layers: Sequence[Layer], network: Mapping[str, Any], u: Array) -> Numbers:
    found: Numbers = {}
    below, dt = u, float(network["dt"])
    for layer in layers:
        A = np.minimum(np.maximum(layer["A_raw"], 0), 4 * (1 - 2.0**-10) / dt**2)
        drive = below @ layer["B"].T
        y, z, rows, momenta = np.zeros_like(drive[0]), np.zeros_like(drive[0]), [], []
        for x in drive:
            z = z + dt * (x - A * y)
            y = y + dt * z
            rows.append(y)
            momenta.append(z)
        r, S = np.sqrt(1 - A * dt * dt / 4), dt * np.abs(drive).cumsum(0)
        with np.errstate(divide="ignore", invalid="ignore"):  # an A of 0 has the second of the two only
            near = np.fmin(S / (np.sqrt(A) * r), dt * S.cumsum(0) / r)
            keep(found, "states | abs y | own equation", least(np.log(near), np.abs(rows)))
            keep(found, "states | abs z | own equation", least(np.log(S / r), np.abs(momenta)))
            keep(found, "states | largest abs y | own equation", least(np.log(near[-1]), np.abs(rows).max(0)))
            keep(found, "states | largest abs z | own equation", least(np.log(S[-1] / r), np.abs(momenta).max(0)))
        keep(found, "margins | 4 − dt²A | ", 4 - float((dt * dt * A).max()))
        keep(found, "margins | A | ", float(A.min()))
        below = np.array(rows)
    return found


def lstm(layers: Sequence[Layer], network: Mapping[str, Any], u: Array) -> Numbers:
    (layer,) = layers
    drive = u @ layer["weight_ih_l0"].T + layer["bias_ih_l0"] + layer["bias_hh_l0"]
    h = np.zeros((u.shape[1], network["hidden_size"]))
    c, largest = np.zeros_like(h), [0.0, 0.0]
    for x in drive:
        i, f, g, o = np.split(x + h @ layer["weight_hh_l0"].T, 4, axis=1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        largest = [max(largest[0], float(np.abs(h).max())), max(largest[1], float(np.abs(c).max()))]
    names = ("states | largest abs h | ", "states | largest abs c | ")
    return {name: -math.log10(size) for name, size in zip(names, largest, strict=True)}


CELLS: Mapping[str, Callable[[Sequence[Layer], Mapping[str, Any], Array], Numbers]] = {
    "unicornn": unicornn,
    "cornn": cornn,
    "scornn": orthogonal,
    "exprnn": orthogonal,
    "linoss": linoss,
    "torch.lstm": lstm,
}


def by_hand(path: Path) -> Numbers:
    """All numbers of one archived file."""
    layers, network = weights(path)
    u = np.load(path.parent / "sequences.npy").astype(float)
    return CELLS[network["cell"]](layers, network, u)


# --- against the record


def recorded(row: Sequence[Any]) -> float | None:
    """What the record has of it: slack, minus a size that nothing bounds, or a margin."""
    if len(row) == 2:
        return float(row[1])
    if len(row) < 3 or not isinstance(row[2], float):
        return None
    return float((row[1] or 0.0) - row[2])


def published() -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Archived files with their rows."""
    for run in json.loads((HERE / "trained_slack.json").read_text("utf-8"))["runs"].values():
        for each in run["checkpoints"] if "archive" in run else ():
            path = ARCHIVE / run["archive"] / f"weights_{each['step']:07d}.safetensors"
            if path.exists():
                yield path, each["rows"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    chance = random.Random(asked.seed)
    files = list(published())
    differences: list[float] = []
    for path, rows in chance.sample(files, min(asked.count, len(files))):
        again = by_hand(path)
        known = {key: recorded(rows[key]) for key in again if key in rows}
        key, value = chance.choice(sorted((key, value) for key, value in known.items() if value is not None))
        differences.append(abs(again[key] - value))
        place = f"{path.parent.name}, {int(path.stem.rpartition('_')[2])} updates, {key.rstrip(' |')}"
        sys.stdout.write(f"{place}: {value:.8f} in the record, {again[key]:.8f} by hand\n")
    worst = max(differences, key=lambda each: (math.isnan(each), each), default=math.nan)
    sys.stdout.write(f"{len(differences)} numbers, largest difference {worst:.2g}\n")
    return 0 if is_confirmed(differences) else 1


if __name__ == "__main__":
    sys.exit(main())
