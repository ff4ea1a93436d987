"""What the probe found of a network, against the graph that it was built from."""

from __future__ import annotations

from typing import Any

from torch import nn

from odernn.architecture import RNNGraph, graph_of, measures_of


def edges(graph: RNNGraph) -> set[tuple[str, str, int]]:
    return {tuple(edge) for edge in graph.edges}


def values(network: Any, **probe: Any) -> tuple[Any, ...]:
    found = measures_of(network, **probe)
    return found.d_r, found.d_f, found.s


def same_as(module: nn.Module, graph: RNNGraph, **probe: Any) -> None:
    found = graph_of(module, **probe)
    assert edges(found) == edges(graph)
    assert (found.inputs, found.outputs, found.period) == (graph.inputs, graph.outputs, graph.period)
    assert values(found) == values(graph)
