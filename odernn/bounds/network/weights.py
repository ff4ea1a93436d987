"""The coefficients of a UnICORNN network as the bounds need them: its own numbers, in float64 arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from odernn.bounds.gradient import StackLayer
from odernn.bounds.reconstruction import PRECISIONS, Precision

if TYPE_CHECKING:
    from torch import Tensor

    from odernn.cells.unicornn import UnICORNN

SMALLEST_STEP = 2.0**-200
"""Stands for an effective step that underflowed: the neuron is frozen, and a bound for a moving one holds."""


@dataclass(frozen=True, eq=False)
class NetworkWeights:
    """``stack`` of layers 1..L, |b| of each, and what else the bounds depend on.

    precision  of the parameters, in which the recurrence is computed
    index      "icml" or "sam"
    """

    stack: tuple[StackLayer, ...]
    biases: tuple[np.ndarray, ...]
    precision: Precision
    input_size: int
    index: str


def weights_of(network: UnICORNN) -> NetworkWeights:
    """What ``certify`` reads off a network; TypeError or ValueError for one that the theorems do not speak of."""
    from odernn.cells.unicornn import UnICORNN  # torch is imported by whoever has a network

    if not isinstance(network, UnICORNN):
        raise TypeError(
            f"network is a {type(network).__name__}, but the bounds are those of UnICORNN. "
            "For one neuron or one matrix call the functions of odernn.bounds.sharp, .jacobian or .gradient."
        )
    if network.bidirectional:
        raise ValueError(
            "The network is bidirectional, and the gradient bounds add up paths that run forwards in time only. "
            "Certify a network of one direction."
        )
    for name, parameter in network.named_parameters():
        if not bool(parameter.isfinite().all()):
            raise ValueError(f"The parameter {name} has an entry that is not finite. Nothing is bounded then.")
    layers = range(network.num_layers)
    dtype = str(network.layers[0].like.dtype).removeprefix("torch.")
    return NetworkWeights(
        stack=tuple(_layer(network, index) for index in layers),
        biases=tuple(_bias(network, index) for index in layers),
        precision=PRECISIONS[dtype],
        input_size=network.input_size,
        index=network.index,
    )


def _layer(network: UnICORNN, index: int) -> StackLayer:
    layer, coefficients = network.layers[index], network.coefficients(index)
    below, skip = network.sources(index + 1)
    edges, names = {below: _array(layer.V)}, {below: "V"}
    if skip is not None and layer.Lambda is not None:
        edges[skip], names[skip] = _array(layer.Lambda), "Lambda"
    return StackLayer(
        w=_array(coefficients["w"]),
        step_size=np.maximum(_array(coefficients["step_size"]), SMALLEST_STEP),
        alpha=float(coefficients["alpha"]),
        edges=edges,
        names=names,
        complement=None if layer.c is None else _array((-layer.c.detach().double()).sigmoid()),
        has_bias=layer.b is not None,
    )


def _bias(network: UnICORNN, index: int) -> np.ndarray:
    bias = network.layers[index].b
    return np.zeros(network.hidden_size) if bias is None else np.abs(_array(bias))


def _array(value: Tensor) -> np.ndarray:
    array: np.ndarray = value.detach().double().cpu().numpy()
    return array
