"""Architectures of recurrent networks as cyclic graphs: conditions, exact measures, a catalogue.

    >>> from odernn.architecture import get, measures_of
    >>> print(measures_of(get("td")))
    d_r = 2, d_f = 3, s = 1

The values are exact fractions and come as certificates: a cycle or path that attains them, and why none does better.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odernn.architecture import (
        catalogue,
        graph,
        graph_files,
        measures,
        network,
        network_sizes,
        network_torch,
        pictures,
        potentials,
        probe,
    )
    from odernn.architecture.catalogue import get, names, table
    from odernn.architecture.graph import Edge, GraphError, RNNGraph, Walk
    from odernn.architecture.measures import (
        Measures,
        feedforward_depth,
        growth_limit,
        longest_paths,
        measures_of,
        recurrent_depth,
        shortest_paths,
        skip_coefficient,
        smallest_rate,
    )
    from odernn.architecture.network import GraphRNN
    from odernn.architecture.network_sizes import hidden_size_for, parameter_count
    from odernn.architecture.probe import HasNodeValues, HasStepForm, ProbeError, StepForm, graph_of, graph_of_step

__all__ = [
    "Edge",
    "GraphError",
    "GraphRNN",
    "HasNodeValues",
    "HasStepForm",
    "Measures",
    "ProbeError",
    "RNNGraph",
    "StepForm",
    "Walk",
    "catalogue",
    "feedforward_depth",
    "get",
    "graph",
    "graph_files",
    "graph_of",
    "graph_of_step",
    "growth_limit",
    "hidden_size_for",
    "longest_paths",
    "measures",
    "measures_of",
    "names",
    "network",
    "network_sizes",
    "network_torch",
    "parameter_count",
    "pictures",
    "potentials",
    "probe",
    "recurrent_depth",
    "shortest_paths",
    "skip_coefficient",
    "smallest_rate",
    "table",
]

_MODULES = (
    "catalogue",
    "graph",
    "graph_files",
    "measures",
    "network",
    "network_sizes",
    "network_torch",
    "pictures",
    "potentials",
    "probe",
)
_NAMES = {
    "catalogue": ("get", "names", "table"),
    "graph": ("Edge", "GraphError", "RNNGraph", "Walk"),
    "measures": (
        "Measures",
        "feedforward_depth",
        "growth_limit",
        "longest_paths",
        "measures_of",
        "recurrent_depth",
        "shortest_paths",
        "skip_coefficient",
        "smallest_rate",
    ),
    "network": ("GraphRNN",),
    "network_sizes": ("hidden_size_for", "parameter_count"),
    "probe": ("HasNodeValues", "HasStepForm", "ProbeError", "StepForm", "graph_of", "graph_of_step"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__} has no {name}")


def __dir__() -> list[str]:
    return sorted(__all__)
