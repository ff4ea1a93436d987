"""Bounds on states from a cell's own equation, where no paper here has one (``verification.measure.own_equations``).

    coRNN                    for all weights and inputs: its responses to kicks in [−1, 1], summed
    torch.nn.LSTM, GRU, RNN  for all weights and inputs: |h_n| ≤ 1, |c_n| ≤ n
    LinOSS, scoRNN, expRNN   for the inputs of the sample
    every other cell         what ``odernn.bounds.certify`` has for these weights, inputs of at most their size, n ≤ N

Of one direction, from zero states, in float64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from odernn.bounds.network import LayerBounds, QuantityBound, certify
from odernn.cells.clockwork import ClockworkLayer
from odernn.cells.cornn import CoRNN, CoRNNLayer
from odernn.cells.exprnn import ExpRNN
from odernn.cells.linoss import LinOSS, LinOSSLayer
from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.scornn import ScoRNN
from odernn.cells.unicornn import UnICORNN
from verification.measure import own_equations
from verification.monitors import torch_modules
from verification.trained.row import BoundComparison, Row, judged, uncertified
from verification.trained.runs import Sample

NO_REPLAY = "no certificate here replays this cell"
OWN = "library: verification.measure.own_equations"
CERTIFIED = "library: docs/derivations/certificates.md"
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
    if not isinstance(model, RecurrentNetwork) or isinstance(model, UnICORNN) or model.bidirectional:
        return []
    if any(getattr(layer, "h0", None) is not None for layer in model.layers):
        return []
    has_own = isinstance(model, (CoRNN, LinOSS, ScoRNN, ExpRNN))
    input_bound = float(sample.inputs.abs().max())
    certified = () if has_own else certify(model, input_bound=input_bound, steps=len(sample.inputs)).layers
    found: list[Row] = []
    below = sample.inputs
    for number, layer in enumerate(model.layers, 1):
        drives, blocks = _run(layer, below, int(getattr(model, "start", 0)))
        if has_own:
            found += [_row(number, *bound, sample) for bound in _bounds(layer, drives, blocks)]
        else:
            found += _certified_rows(certified[number - 1], blocks, sample)
        below = layer.output(tuple(blocks.values()))
    return found


def _certified_rows(layer: LayerBounds, blocks: dict[str, Tensor], sample: Sample) -> Iterator[Row]:
    """The lines of certify about states of the exact recurrence; what no theorem bounds has no row."""
    for line in layer.bounds:
        if "n ≤ N" in line.quantity and line.log is not None:
            measured = _log(_sizes(line, blocks))
            bounds = np.full(len(measured), line.log)
            about = EVERY_INPUT if line.about.startswith(EVERY_INPUT) else THESE_INPUTS
            statement = line.theorem, CERTIFIED
            yield _row(layer.layer, in_a_table(line.quantity), bounds, measured, about, sample, statement)


def in_a_table(quantity: str) -> str:
    """ "|y_n|, |z_n|, n ≤ N" as "abs(yₙ), abs(zₙ)": a bar would end a cell of a table."""
    return re.sub(r"\|(\w+)_n\|", r"abs(\1ₙ)", quantity.removesuffix(", n ≤ N")).replace("_n", "ₙ")


def _sizes(line: QuantityBound, blocks: dict[str, Tensor]) -> Tensor:
    """What a line bounds after every step: the largest entry, or Euclidean norm, of the blocks that it names."""
    named = [rows for name, rows in blocks.items() if f"{name}_n" in line.quantity] or list(blocks.values())
    joined = torch.cat(named, dim=2)
    sizes = joined.norm(dim=2) if line.quantity.startswith("‖") else joined.abs().amax(dim=2)
    return sizes.amax(dim=1)


def bounds_every_input(model: nn.Module) -> bool:
    """Whether the bound is about every input."""
    return isinstance(model, CoRNN) or own_equations.is_gated(model)


def _run(layer: Any, below: Tensor, start: int = 0) -> tuple[Tensor, dict[str, Tensor]]:
    """Drives, and rows (time, K, size) by block, from zero states; of a clocked layer from that time on."""
    drives = layer.drives(below)
    step = None if isinstance(layer, ClockworkLayer) else layer.stepper()
    state = tuple(below.new_zeros(below.shape[1], size) for size in layer.state_sizes)
    states = []
    for n, x in enumerate(drives):
        state = (step or layer.stepper(start + n))(state, x)
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


def _row(
    layer: int,
    quantity: str,
    bounds: Array,
    measured: Array,
    about: str,
    sample: Sample,
    statement: tuple[str, str] = ("own equation", OWN),
) -> Row:
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

    return judged(Row("bound", layer, quantity, *statement), ask)


def _log(sizes: Tensor) -> Array:
    with np.errstate(divide="ignore"):
        logs: Array = np.log(sizes.numpy())
    return logs
