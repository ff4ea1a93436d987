"""Square weights between states: how large, and how far from orthogonal. Facts about weights, no bounds.

    ‖W‖₂,   the largest modulus of an eigenvalue,   ‖WᵀW − I‖₂ = max |σ_i² − 1|

W_hh of torch's LSTM, GRU and RNN, gate by gate, in layers and in cells; the orthogonal W of scoRNN, expRNN and uRNN; of
any other module its parameters of (units, units), units the size of a block of its state. In float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor, nn

from odernn.cells.recurrent import RecurrentNetwork
from verification.models.layers import RunLayer
from verification.monitors import torch_modules, weights

GATES: Mapping[str, tuple[str, ...]] = MappingProxyType({"LSTM": ("i", "f", "g", "o"), "GRU": ("r", "z", "n")})
"""In the order of torch's rows."""

CELLS: Mapping[type[nn.Module], str] = MappingProxyType({nn.LSTMCell: "LSTM", nn.GRUCell: "GRU", nn.RNNCell: "RNN"})
FROM_BELOW = ("V", "U", "B")
"""Of cells of the library: what multiplies inputs."""

LARGEST = 2048
"""Rows of a matrix that is taken apart."""


@dataclass(frozen=True)
class RecurrentWeight:
    """One matrix: its name, rows, ‖W‖₂, spectral radius, and ‖WᵀW − I‖₂, W* for Wᵀ where it is complex."""

    name: str
    size: int
    norm: float
    radius: float
    defect: float


@torch.no_grad()
def of_layer(layer: RunLayer) -> tuple[RecurrentWeight, ...]:
    """Of one layer and direction; nothing where the module is not known, or the matrix has no finite entries."""
    named = list(_named(layer))
    return tuple(
        _measured(name, W)
        for name, W in named
        if W.dim() == 2 and W.shape[0] == W.shape[1] and 1 < len(W) <= LARGEST and bool(torch.isfinite(W).all())
    )


def _named(layer: RunLayer) -> Iterator[tuple[str, Tensor]]:
    module = layer.module
    if isinstance(module, nn.RNNBase):
        W = getattr(module, f"weight_hh_{torch_modules.suffixes(module)[layer.index]}")
        yield from _gates("W_hh", W, module.mode)
    elif isinstance(module, RecurrentNetwork):
        own = module.layers[layer.index]
        if weights.is_orthogonal(own):
            yield "W", own.recurrent_matrix()
            return
        sizes = {block.shape[1] for block in layer.states[0]} if layer.states else set()
        yield from ((name, W) for name, W in _square(own, "", sizes) if name not in FROM_BELOW)
    elif module is not None:
        sizes = {block.shape[1] for block in layer.states[0]} if layer.states else set()
        for name, inner in module.named_modules():
            prefix = f"{name}." if name else ""
            kind = next((mode for cell, mode in CELLS.items() if isinstance(inner, cell)), None)
            if kind is not None:
                yield from _gates(f"{prefix}W_hh", inner.weight_hh, kind)
            else:
                yield from _square(inner, prefix, sizes)


def _gates(name: str, W: Tensor, mode: str) -> Iterator[tuple[str, Tensor]]:
    gates = GATES.get(mode, ())
    if not gates:
        yield name, W
    for gate, rows in zip(gates, W.chunk(max(len(gates), 1)), strict=False):
        yield f"{name}, gate {gate}", rows


def _square(module: nn.Module, prefix: str, sizes: set[int]) -> Iterator[tuple[str, Tensor]]:
    for name, parameter in module.named_parameters(recurse=False):
        if parameter.dim() == 2 and parameter.shape[0] == parameter.shape[1] and len(parameter) in sizes:
            yield prefix + name, parameter


def _measured(name: str, W: Tensor) -> RecurrentWeight:
    wide = W.detach().cpu().to(torch.complex128 if W.is_complex() else torch.float64)
    singular = torch.linalg.svdvals(wide)
    defect = float((singular * singular - 1).abs().max())
    return RecurrentWeight(name, len(wide), float(singular[0]), float(torch.linalg.eigvals(wide).abs().max()), defect)
