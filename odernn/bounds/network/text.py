"""The report of ``certify`` as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tabulate import tabulate

if TYPE_CHECKING:
    from odernn.bounds.network.network_bounds import LayerBounds, NetworkBounds

HEADERS = ["layer", "h", "|y| ≤", "|z| ≤", "rebuilt y₀ off ≤", "z₀ off ≤", "≈ (√Q)", "growth rate a step", "neurons"]


def table(report: NetworkBounds) -> str:
    """Two tables: states, rebuilding and regimes of every layer; gradients of every parameter."""
    size = len(report.layers[0].log_positions)
    opening = (
        f"UnICORNN, {len(report.layers)} layer(s) of {size} neurons, {report.steps} steps, {report.dtype}, "
        f"|u| ≤ {report.input_bound:g}, |ȳ| ≤ {report.target_bound:g}.\n"
        "Upper bounds for these weights and every input; ≈ marks an estimate, † numbers that may overflow."
    )
    states = tabulate([_state_row(each) for each in report.layers], HEADERS, disable_numparse=True, stralign="right")
    rows = [
        [str(layer.layer), name, power_of(bound.value), bound.theorem]
        for layer in report.layers
        for name, bound in layer.gradients.items()
    ]
    gradients = tabulate(
        rows,
        ["layer", "parameter", "|dE/dθ| ≤", "by"],
        disable_numparse=True,
        stralign="right",
        colalign=("right", "left", "right", "left"),
    )
    return f"{opening}\n\n{states}\n\n{gradients}"


def _state_row(layer: LayerBounds) -> list[str]:
    smallest, largest = layer.step_sizes
    mark = "†" if layer.may_overflow else ""
    return [
        f"{layer.layer}{mark}",
        f"{smallest:.3g} .. {largest:.3g}",
        power_of(layer.log_position),
        power_of(layer.log_momentum),
        power_of(layer.log_rebuilt_position),
        power_of(layer.log_rebuilt_momentum),
        power_of(layer.estimated_log_rebuilt),
        f"{layer.lower_rate:.3g} .. {layer.upper_rate:.3g}",
        ", ".join(f"{count} {name}" for name, count in layer.regimes.items()),
    ]


def power_of(log: float | None) -> str:
    """e^log with three digits, or as a power of ten beyond 10⁶ and below 10⁻⁴; – for None."""
    if log is None:
        return "–"
    decades = log / math.log(10)
    return f"{math.exp(log):.3g}" if -4 <= decades < 6 else f"10^{decades:.1f}"
