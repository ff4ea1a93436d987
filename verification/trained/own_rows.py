"""Bounds on states from a cell's own equation, where no paper here has one (``verification.measure.own_equations``).

    coRNN                    for all weights and inputs: its responses to kicks in [−1, 1], summed
    torch.nn.LSTM, GRU, RNN  for all weights and inputs: |h_n| ≤ 1, |c_n| ≤ n
    LinOSS, scoRNN, expRNN   for the inputs of the sample

Of one direction, from zero states, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from odernn.cells.cornn import CoRNN, CoRNNLayer
from odernn.cells.exprnn import ExpRNN
from odernn.cells.linoss import LinOSS, LinOSSLayer
from odernn.cells.scornn import ScoRNN
from verification.measure import own_equations
from verification.monitors import torch_modules
from verification.trained.row import BoundComparison, Row, judged, uncertified
from verification.trained.runs import Sample

NO_REPLAY = "no certificate here replays this cell"
OWN = "library: verification.measure.own_equations"
EVERY_INPUT = "every input"
THESE_INPUTS = "inputs of these sizes"
ROUNDING = 1e-9
"""Of float64 sums over some thousand steps, added to the logarithm of a bound."""

Array = NDArray[np.float64]


@torch.no_grad()
def rows(model: nn.Module, sample: Sample) -> list[Row]:
    """Of a model in float64; nothing for other cells, two directions, or starts that are learned."""
    if isinstance(model, nn.RNNBase):
        return list(_gated(model, sample)) if own_equations.is_gated(model) and not model.bidirectional else []
    if not isinstance(model, (CoRNN, LinOSS, ScoRNN, ExpRNN)) or model.bidirectional:
        return []
    if any(getattr(layer, "h0", None) is not None for layer in model.layers):
        return []
    found: list[Row] = []
    below = sample.inputs
    for number, layer in enumerate(model.layers, 1):
        drives, blocks = _run(layer, below)
        found += [_row(number, *bound, sample) for bound in _bounds(layer, drives, blocks)]
        below = layer.output(tuple(blocks.values()))
    return found


def bounds_every_input(model: nn.Module) -> bool:
    """Whether the bound is about every input."""
    return isinstance(model, CoRNN) or own_equations.is_gated(model)


def _run(layer: Any, below: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Drives, and rows (time, K, size) by block, from zero states."""
    drives, step = layer.drives(below), layer.stepper()
    state = tuple(below.new_zeros(below.shape[1], size) for size in layer.state_sizes)
    states = []
    for x in drives:
        state = step(state, x)
        states.append(state)
    return drives, dict(zip(layer.state_names, map(torch.stack, zip(*states, strict=True)), strict=True))


def _bounds(layer: Any, drives: Tensor, blocks: dict[str, Tensor]) -> Iterator[tuple[str, Array, Array, str]]:
    """(quantity, log bounds, log measured, what it is about): by n and sequence, and neuron where it matters."""
    if isinstance(layer, CoRNNLayer):
        for name, bound in own_equations.log_coupled(layer, len(drives)).items():
            yield f"abs({name}ₙ)", bound, _log(blocks[name].abs().flatten(1).amax(dim=1)), EVERY_INPUT
    elif isinstance(layer, LinOSSLayer):
        for name, bound in own_equations.log_linear(layer, drives).items():
            yield f"abs({name}ₙ)", bound, _log(blocks[name].abs()), THESE_INPUTS
    else:
        yield "‖hₙ‖₂", own_equations.log_norms(layer, drives), _log(blocks["h"].norm(dim=2)), THESE_INPUTS


def _gated(model: nn.RNNBase, sample: Sample) -> Iterator[Row]:
    below = sample.inputs
    for number, suffix in enumerate(torch_modules.suffixes(model), 1):
        recurrence = torch_modules.recurrence(model, suffix)
        start = tuple(below.new_zeros(below.shape[1], model.hidden_size) for _ in recurrence.names)
        blocks = recurrence.rows(below, start, None)
        for name, rows_of_block in zip(recurrence.names, blocks, strict=True):
            bound = own_equations.GATED[name]
            measured = _log(rows_of_block.abs().flatten(1).amax(dim=1))
            yield _row(number, f"abs({name}ₙ)", bound.log(len(measured)), measured, EVERY_INPUT, sample)
        below = recurrence.output(blocks)


def _row(layer: int, quantity: str, bounds: Array, measured: Array, about: str, sample: Sample) -> Row:
    """The place of least slack; a bound that is 0 where nothing has come yet is left out with its state."""
    width = measured.size // len(measured)
    finite = np.isfinite(bounds) | (measured > -np.inf)
    logs, over = np.where(finite, measured, -np.inf).ravel(), np.where(finite, bounds, 0.0).ravel() + ROUNDING

    def ask() -> BoundComparison:
        return BoundComparison(
            over,
            logs,
            uncertified(NO_REPLAY),
            place=lambda index: f"n = {index // width + 1}",
            log_largest=np.inf,
            data=f"{about}; on {sample.count} sequences",
        )

    return judged(Row("bound", layer, quantity, "own equation", OWN), ask)


def _log(sizes: Tensor) -> Array:
    with np.errstate(divide="ignore"):
        logs: Array = np.log(sizes.numpy())
    return logs
