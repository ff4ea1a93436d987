"""How does the cost of one UnICORNN layer grow with the steps N, the batch and the hidden size m?

One thread, forward plus backward, the cpu execution beside the eager torch loop and nn.LSTM. Each of N, batch, m is
doubled from a common shape while the others stay; the slope of log time against log size comes with its standard error.
The answer is checked against the loop in float64 at the common shape before anything is timed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _harness import RESULTS, interleaved, machine
from torch import nn

from odernn.cells.unicornn import UnICORNN

COMMON = {"N": 512, "batch": 64, "m": 64}
DOUBLINGS = 4
INPUTS = 4
TOLERANCE = 1e-4
"""Largest admitted float32 error of outputs and gradients, relative to the largest entry; measured ones are written."""


def layer(kind: str, m: int) -> nn.Module:
    if kind == "nn.LSTM":
        return nn.LSTM(INPUTS, m)
    execution = "torch" if kind == "torch loop" else "cpu"
    generator = torch.Generator().manual_seed(0)
    return UnICORNN(INPUTS, m, dt=0.1, alpha=1.0, execution=execution, generator=generator)


def both_ways(module: nn.Module, u: torch.Tensor, cotangent: torch.Tensor) -> None:
    module.zero_grad()
    module(u)[0].backward(cotangent)


def data(N: int, batch: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(N, batch, INPUTS, generator=generator), torch.randn(N, batch, m, generator=generator)


def checked_error() -> float:
    u, cotangent = data(**COMMON)
    fused, oracle = layer("cpu", COMMON["m"]), layer("torch loop", COMMON["m"]).double()
    both_ways(fused, u, cotangent)
    both_ways(oracle, u.double(), cotangent.double())
    pairs = [(ours.grad, theirs.grad) for ours, theirs in zip(fused.parameters(), oracle.parameters(), strict=True)]
    pairs.append((fused(u)[0].detach(), oracle(u.double())[0].detach()))
    return max(float((ours.double() - theirs).abs().max() / theirs.abs().max()) for ours, theirs in pairs)


def slope(sizes: list[int], times: list[float]) -> tuple[float, float]:
    """Slope of log time by log size, least squares, and its standard error."""
    x, y = np.log(sizes), np.log(times)
    deviations = x - x.mean()
    found = float(deviations @ y / (deviations @ deviations))
    rest = y - y.mean() - found * deviations
    return found, math.sqrt(float(rest @ rest) / (len(x) - 2) / float(deviations @ deviations))


def series(variable: str) -> list[dict[str, Any]]:
    sizes = [COMMON[variable] * 2**k for k in range(DOUBLINGS + 1)]
    timed: dict[str, list[Any]] = {"cpu": [], "torch loop": [], "nn.LSTM": []}
    for size in sizes:
        shape = {**COMMON, variable: size}
        u, cotangent = data(**shape)
        layers = {kind: layer(kind, shape["m"]) for kind in timed}
        calls: dict[str, Callable[[], None]] = {
            kind: (lambda module=module, u=u, g=cotangent: both_ways(module, u, g)) for kind, module in layers.items()
        }
        for timing in interleaved(calls, rounds=5):
            timed[timing.name].append(timing)
    found = []
    for kind, timings in timed.items():
        value, error = slope(sizes, [timing.median for timing in timings])
        found.append(
            {
                "name": kind,
                "variable": variable,
                "sizes": sizes,
                "median": [t.median for t in timings],
                "smallest": [t.smallest for t in timings],
                "largest": [t.largest for t in timings],
                "slope": value,
                "standard_error": error,
            }
        )
    return found


def main() -> None:
    torch.set_num_threads(1)
    error = checked_error()
    assert error <= TOLERANCE, f"relative error {error:.2e} exceeds {TOLERANCE}"
    found = [each for variable in COMMON for each in series(variable)]
    result = {
        "benchmark": "cost_scaling",
        "unit": "ms",
        "machine": machine(),
        "common": COMMON,
        "checked_errors": {str(COMMON): error},
        "series": found,
    }
    (RESULTS / "cost_scaling.json").write_text(json.dumps(result, indent=1) + "\n")
    for each in found:
        times = "  ".join(f"{value:8.1f}" for value in each["median"])
        named = f"{each['variable']:6s} {each['name']:11s}"
        line = f"{named} {times} ms   slope {each['slope']:.2f} ± {each['standard_error']:.2f}"
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
