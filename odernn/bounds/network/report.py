"""What ``certify`` answers: the bounds of every layer, and the report as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tabulate import tabulate

from odernn import notebook

HEADERS = [
    "layer",
    "h",
    "|y| ≤",
    "|z| ≤",
    "rounding adds",
    "rebuilt y₀ off ≤",
    "z₀ off ≤",
    "≈ (√Q)",
    "growth rate a step",
    "neurons",
]
NO_INFORMATION = "no information"
MOST_DECADES = 38.5
"""The largest float32: beyond it an error or a gradient is none that anybody could use."""


@dataclass(frozen=True)
class LogBound:
    """A natural logarithm, and the theorem that gave it."""

    value: float
    theorem: str

    def _repr_html_(self) -> str:
        return notebook.html("bounds", self)


@dataclass(frozen=True)
class LayerBounds:
    """What holds for one layer. Natural logarithms; the largest over its neurons unless it says "each".

    log_position, log_momentum    of |y_n|, |z_n|, n ≤ N, for every input                          thm-S
    log_positions, log_momenta    the same of each neuron
    log_computed_positions, log_computed_momenta    of the |ŷ_n|, |ẑ_n| that a run in this dtype computes, of each
                                  neuron; None if the dtype is too coarse for a bound              thm-S-float
    gradients                     of |dE/dθ| for every entry of each parameter                     thm-G, thm-G-inf
    log_rebuilt_position, _momentum   of |ỹ_0 − y_0|, |z̃_0 − z_0| after ``inverse`` in this dtype   thm-F (a)
                                  None if the dtype is too coarse for a bound
    estimated_log_rebuilt         the typical √Q_α of that error, an estimate; None unless α > 0 and every neuron
                                  rotates                                                          thm-F (c)
    may_overflow                  whether the bounds on the states exceed the largest number of the dtype; then
                                  the bounds on what is rebuilt say nothing unless the states stayed finite
    regimes                       how many neurons rotate, are marginal, saddles, stiff            ``jacobian.regimes``
    neuron_regimes                of each neuron
    lower_rate, upper_rate        between them lies the largest growth rate a step of a neuron whose drive is free;
                                  no input exceeds the upper one                                   thm-J
    step_sizes                    smallest and largest h
    """

    layer: int
    log_position: float
    log_momentum: float
    log_positions: tuple[float, ...]
    log_momenta: tuple[float, ...]
    log_computed_positions: tuple[float, ...] | None
    log_computed_momenta: tuple[float, ...] | None
    gradients: Mapping[str, LogBound]
    log_rebuilt_position: float | None
    log_rebuilt_momentum: float | None
    estimated_log_rebuilt: float | None
    may_overflow: bool
    regimes: Mapping[str, int]
    neuron_regimes: tuple[str, ...]
    lower_rate: float
    upper_rate: float
    step_sizes: tuple[float, float]

    def _repr_html_(self) -> str:
        return notebook.html("bounds", self)


@dataclass(frozen=True)
class NetworkBounds:
    """The report of ``certify``: one ``LayerBounds`` a layer, first layer first. ``print`` it for a table."""

    layers: tuple[LayerBounds, ...]
    steps: int
    input_bound: float
    target_bound: float
    dtype: str

    def __str__(self) -> str:
        return _table(self)

    def _repr_html_(self) -> str:
        return notebook.html("bounds", self)


def _table(report: NetworkBounds) -> str:
    """Two tables: states, rebuilding and regimes of every layer; gradients of every parameter."""
    size = len(report.layers[0].log_positions)
    opening = (
        f"UnICORNN, {len(report.layers)} layer(s) of {size} neurons, {report.steps} steps, {report.dtype}, "
        f"|u| ≤ {report.input_bound:g}, |ȳ| ≤ {report.target_bound:g}.\n"
        "Upper bounds for these weights and every input; ≈ marks an estimate, † numbers that may overflow.\n"
        "|y|, |z| are those of the exact recurrence; rounding adds at most so much to what is computed."
    )
    states = tabulate([_state_row(layer) for layer in report.layers], HEADERS, disable_numparse=True, stralign="right")
    rows = [
        [str(layer.layer), name, _informative(bound.value), bound.theorem]
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
        _rounding(layer),
        _informative(layer.log_rebuilt_position),
        _informative(layer.log_rebuilt_momentum),
        power_of(layer.estimated_log_rebuilt),
        f"{layer.lower_rate:.3g} .. {layer.upper_rate:.3g}",
        ", ".join(f"{count} {name}" for name, count in layer.regimes.items()),
    ]


def _rounding(layer: LayerBounds) -> str:
    """The largest excess of a computed bound over the exact one, relatively."""
    if layer.log_computed_positions is None or layer.log_computed_momenta is None:
        return NO_INFORMATION
    pairs = [
        *zip(layer.log_computed_positions, layer.log_positions, strict=True),
        *zip(layer.log_computed_momenta, layer.log_momenta, strict=True),
    ]
    excess = max(computed - exact for computed, exact in pairs)
    return f"{math.expm1(excess):.1e}" if excess < 1 else f"× {power_of(excess)}"


def _informative(log: float | None) -> str:
    return NO_INFORMATION if log is not None and log > MOST_DECADES * math.log(10) else power_of(log)


def power_of(log: float | None) -> str:
    """e^log with three digits, or as a power of ten beyond 10⁶ and below 10⁻⁴; – for None."""
    if log is None:
        return "–"
    decades = log / math.log(10)
    return f"{math.exp(log):.3g}" if -4 <= decades < 6 else f"10^{decades:.1f}"
