"""Two numbers of docs/nearness.md, "As trained", certified: a trained network exceeds a printed bound on real data.

    python benchmarks/trained_certified.py --root DATA          writes results/trained_certified.json, in minutes

DATA holds BIDMC's CSV files (bidmc_csv).
RR after 17 updates, weights and inputs exact (float32), dt = 11/1000, α = 9. A row of dX^3_n/dX^l_1, whose entries in
modulus add up to at most the norm, is carried back through the recurrence; the row is chosen in floats. Enclosed twice:

    flint      balls (_adjoint_in_balls)
    integers   mid and radius in units of 2^−320 (_adjoint_in_integers)

The bounds are those of trained_by_hand, at n, typed twice: of icml-(27) exact rationals, its first line and the end of
its chain, V̄ dt^{L−l} (1 + 2γt_n); of sam-54 e^x by each of the two.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numpy as np
from _adjoint_in_balls import Layers, by_balls
from _adjoint_in_integers import BITS, bounds_again, by_integers
from trained_by_hand import HERE, PROBES, weights, windows

FILE = HERE / "trained" / "bidmc_rr_unicornn" / "weights_0000017.safetensors"
RESULT = HERE / "trained_certified.json"
DT, ALPHA, COLUMN = Fraction(11, 1000), 9, 2
PLACES = (("icml-(27)", 1, 4000), ("sam-54", 2, 10))
"""Statement, l, n: where the excess in floats is largest."""
NEAR = 24


def norms(layers: Layers) -> list[Fraction]:
    """‖V^q‖_∞ of every layer, exactly."""
    return [max(sum(abs(Fraction(float(v))) for v in row) for row in layer["V"]) for layer in layers]


def bounds(layers: Layers, moved: int, steps: int) -> tuple[Fraction, Fraction, Fraction]:
    """icml-(27), its first line and its end, and sam-54 with e^x from above, at n = 1 + ``steps``."""
    K, time = max(Fraction(2), Fraction(float(np.abs(layers[-1]["w"]).max())) + ALPHA), steps * DT
    power, sizes = DT ** (len(layers) - moved), norms(layers)
    base, V = power * math.prod(sizes[moved:]), power * math.prod(max(size, Fraction(1)) for size in sizes)
    grown = (flint.arb((K * time).numerator) / (K * time).denominator).exp().upper()
    return base * (1 + (2 * K + K * K) * time), V * (1 + (2 * K + K * K) * (time + DT)), base * _rational(grown)


# --- floats: which row


def chosen(layers: Layers, u: np.ndarray, moved: int, *, is_late: bool = False) -> tuple[float, int, bool]:
    """The largest row sum of |dX^L_n/dX^l_1|, its neuron, and whether it is of y; after 24 steps of few neurons.

    ``is_late``: of the layer below a step takes y_{n−1}, as sam (6), (31) print the index.
    """
    size, dt = len(layers[0]["w"]), float(DT)
    h = [dt / (1 + np.exp(-layer["c"])) for layer in layers]
    y, z, slopes = np.zeros((len(layers), size)), np.zeros((len(layers), size)), []
    for x in u:
        at, before = [], y.copy()
        for q, layer in enumerate(layers):
            below = (before if is_late else y)[q - 1] if q else x
            s = np.tanh(layer["w"] * y[q] + layer["V"] @ below + layer["b"])
            z[q] -= h[q] * (s + ALPHA * y[q])
            y[q] += h[q] * z[q]
            at.append(1 - s * s)
        slopes.append(at)
    rows = size if len(u) <= NEAR else PROBES
    P, R = (np.zeros((len(layers), 2 * rows, size)) for _ in range(2))
    P[-1][:rows], R[-1][rows:] = np.eye(rows, size), np.eye(rows, size)
    for n in range(len(u) - 1, 0 if is_late else -1, -1):
        later = np.zeros_like(P)
        for q in range(len(layers) - 1, moved - (2 if n else 1), -1):
            kick = R[q] + h[q] * P[q]
            pushed = -h[q] * slopes[n][q] * kick
            if q >= moved:
                (later if is_late else P)[q - 1] += pushed @ layers[q]["V"]
            P[q], R[q] = P[q] + pushed * layers[q]["w"] - h[q] * ALPHA * kick, kick
        P += later
    sums = (np.abs(P[moved - 1]) + np.abs(R[moved - 1])).sum(1)
    row = int(sums.argmax())
    return float(sums[row]), row % rows, row < rows


# --- both


def certified(layers: Layers, u: np.ndarray, statement: str, moved: int, factor: Fraction | int = 1) -> dict[str, Any]:
    """Both enclosures and both bounds; ``factor`` of the bound other than 1 is a planted falsehood."""
    _, neuron, of_y = chosen(layers, u, moved)
    late, *_ = chosen(layers, u, moved, is_late=True)
    ball = by_balls(layers, u, moved, neuron, of_y, dt=DT, alpha=ALPHA)
    low, high = by_integers(layers, u, moved, neuron, of_y, dt=DT, alpha=ALPHA)
    steps = len(u) - 1
    line, end, power = (factor * each for each in bounds(layers, moved, steps))
    found = bounds_again(layers, moved, dt=DT, alpha=ALPHA, steps=steps)
    line_again, end_again, power_again = (factor * each for each in found)
    is_linear = statement == "icml-(27)"
    bound, again = (line, line_again) if is_linear else (power, power_again)
    first, last = _rational(ball.lower()), _rational(ball.upper())
    return {
        "statement": statement,
        "from": f"X^{moved}_1",
        "to": f"{'y' if of_y else 'z'} of neuron {neuron + 1} of X^{len(layers)}_{len(u)}",
        "bound": f"{float(bound):.12g}",
        "flint": [f"{float(first):.16g}", f"{float(last - first):.1e} wide"],
        "integers": [f"{float(low):.16g}", f"{float(high - low):.1e} wide"],
        "agree": first <= high and low <= last and (line, end) == (line_again, end_again),
        "exceeds": first > bound and low > again,
        "decades at least": _decades(min(first, low), max(bound, again)),
        **(
            {"at the end of the chain": _decades(min(first, low), max(end, end_again))}
            if is_linear
            else {"index n - 1, in floats": round(math.log10(late / float(bound)), 3)}
        ),
    }


def _decades(measured: Fraction, bound: Fraction) -> float:
    """log₁₀ of the ratio, six digits of it."""
    return math.floor(1e6 * math.log10(float(measured / bound))) / 1e6


def _rational(ball: Any) -> Fraction:
    """The exact middle of a ball."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    root = parser.parse_args().root
    layers = weights(FILE)
    u = windows(root / "bidmc_csv" if (root / "bidmc_csv").is_dir() else root, COLUMN)[0]
    flint.ctx.prec = BITS
    rows = [certified(layers, u[:n], statement, moved) for statement, moved, n in PLACES]
    digest = {"weights": FILE.read_bytes(), "window": u.astype("<f4").tobytes()}
    record = {
        "network": f"trained/{FILE.parent.name}/{FILE.name}",
        **{f"sha256 of the {name}": hashlib.sha256(content).hexdigest() for name, content in digest.items()},
        "dt": str(DT),
        "alpha": ALPHA,
        "bits": BITS,
        "rows": rows,
    }
    RESULT.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["agree"] and row["exceeds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
