"""The factors of the chain rule of a UnICORNN, typed by hand in numpy, E_n = ½|y^L_n|².

T = N dt, β = max(1 + 2α, 4α²), R = √(1 + 2βT), K = max(2, max|w^L| + α), V̄ = Π max(1, ‖V‖_∞), S = 1 + … + dt^{L−1},
Q = 1 + 2α dt³, G = e^{96^{1/4} max(1, √α) T}, a = √(2/α):

    |∂E_n/∂X_n|   icml-(40)  aR                              sam-67  a √(mT) Q G
    |∂⁺X_k/∂θ|    icml-(39)  dt (2 + √2 R + (2 + α) aR)      sam-66  dt (2 + √(2mTQ) G + (2 + α) a √(mT) Q G)
    |∂E_k/∂θ|     icml-(42)  D g V̄ aR (2 + R + (2 + α) aR)   sam-69  D e^{KT} V̄ aY (2 + √2 Y + (2 + α) aY)
    |∂E_n/∂θ|     icml-(43)  the same with S T for D         sam-70  the same with S T for D

D = dt^{L−l+1},  g = 1 + (2K + K²)T,  Y = √(mTQG).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import _by_hand_gradients as gradients
import numpy as np
from _by_hand_gradients import Array, Layer

KEY = "chain rule | "


def slacks(traces: Sequence[Mapping[str, Array]], layers: Sequence[Layer], dt: float, alpha: float) -> dict[str, float]:
    """log₁₀(bound/measured) by key, the least over layers, and over n = N, N/2, N/4, …, 1."""
    N, m = traces[-1]["y"].shape[0], traces[-1]["y"].shape[2]
    K = max(2.0, float(np.abs(layers[-1]["w"]).max()) + alpha)
    wide = math.prod(max(1.0, float(np.abs(layer["V"]).sum(1).max())) for layer in layers)
    errors, local, whole = logs_of_bounds(N * dt, dt, alpha, m, K, wide, len(layers))
    summands, sums = measured(traces, layers, alpha)
    sizes = {
        "abs dE_n/dX_n": [(errors, float(np.abs(traces[-1]["y"]).max()))],
        "abs d⁺X_k/dθ": [(local, immediate(trace, layer, alpha)) for trace, layer in zip(traces, layers, strict=True)],
        "abs dE_k/dθ": [
            ({name: log + (len(layers) - q) * math.log(dt) for name, log in whole["summand"].items()}, size)
            for q, size in enumerate(summands)
        ],
        "abs dE_n/dθ": [(whole["sum"], size) for size in sums],
    }
    found: dict[str, float] = {}
    for quantity, pairs in sizes.items():
        for logs, size in pairs:
            for name, log in logs.items():
                slack = (log - math.log(size)) / math.log(10) if size > 0 else math.inf
                key = f"{KEY}{quantity} | {name}"
                found[key] = min(slack, found.get(key, math.inf))
    return found


def logs_of_bounds(
    T: float, dt: float, alpha: float, m: int, K: float, wide: float, depth: int
) -> tuple[dict[str, float], dict[str, float], dict[str, dict[str, float]]]:
    """log of every right side; of a summand without dt^{L−l+1}."""
    a, Q = math.sqrt(2 / alpha), 1 + 2 * alpha * dt**3
    R = math.sqrt(1 + 2 * max(1 + 2 * alpha, 4 * alpha * alpha) * T)
    G, mT = 96**0.25 * max(1.0, math.sqrt(alpha)) * T, math.sqrt(m * T)  # G as a logarithm: e^G may overflow
    errors = {"icml-(40)": math.log(a * R), "sam-67": math.log(a * mT * Q) + G}
    local = {"icml-(39)": math.log(dt * (2 + math.sqrt(2) * R + (2 + alpha) * a * R))}
    local["sam-66"] = math.log(dt) + added(2, mT * math.sqrt(2 * Q) + (2 + alpha) * a * mT * Q, G)
    Y = mT * math.sqrt(Q)
    linear = math.log((1 + (2 * K + K * K) * T) * wide * a * R * (2 + R + (2 + alpha) * a * R))
    grown = K * T + math.log(wide * a * Y) + G / 2 + added(2, (math.sqrt(2) + (2 + alpha) * a) * Y, G / 2)
    times = math.log(T * sum(dt**q for q in range(depth)))
    whole = {
        "summand": {"icml-(42)": linear, "sam-69": grown},
        "sum": {"icml-(43)": linear + times, "sam-70": grown + times},
    }
    return errors, local, whole


def added(one: float, factor: float, exponent: float) -> float:
    """log(one + factor · e^exponent)."""
    return exponent + math.log(factor + one * math.exp(-exponent))


def immediate(trace: Mapping[str, Array], layer: Layer, alpha: float) -> float:
    """The largest derivative of (y_k, z_k) by an entry of w, b, V, c, with X_{k−1} and the row below given."""
    h, before, s = trace["h"], gradients.shifted(trace["y"]), trace["s"]
    below = np.abs(trace["below"]).max(2, keepdims=True)
    of_z = h * (1 - s * s) * np.maximum(np.maximum(np.abs(before), 1), below)
    slope = h / (1 + np.exp(layer["c"]))
    kick = s + alpha * before
    return max(float(np.abs(each).max()) for each in (of_z, h * of_z, slope * kick, slope * (trace["z"] - h * kick)))


def measured(
    traces: Sequence[Mapping[str, Array]], layers: Sequence[Layer], alpha: float
) -> tuple[list[float], list[float]]:
    """By layer: the largest summand over k, and the largest sum over k."""
    summands, sums, n = [0.0] * len(layers), [0.0] * len(layers), len(traces[-1]["y"])
    while n:
        cut = [{name: rows[:n] if rows.ndim > 1 else rows for name, rows in trace.items()} for trace in traces]
        source = np.zeros_like(cut[-1]["y"])
        source[n - 1] = cut[-1]["y"][n - 1]
        for q in range(len(layers) - 1, -1, -1):
            trace, layer = cut[q], layers[q]
            drives, steps, _ = gradients.carried(trace, source, alpha)
            below, before = trace["below"], gradients.shifted(trace["y"])
            steps = steps * trace["h"] / (1 + np.exp(layer["c"]))
            of_matrix = np.abs(drives).max(2) * np.abs(below).max(2)
            each = (drives, drives * before, steps, of_matrix)
            summands[q] = max(summands[q], *(float(np.abs(one).max()) for one in each))
            totals = (gradients.summed(drives), gradients.summed(drives * before), gradients.summed(steps))
            sums[q] = max(sums[q], *totals, gradients.outer(drives, below))
            source = drives @ layer["V"]
        n //= 2
    return summands, sums
