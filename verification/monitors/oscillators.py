"""A UnICORNN, run once more: its states, what came back to them, and what its inverse makes of the last ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from odernn import executions
from odernn.cells.common.sequences import Sequences
from odernn.cells.unicornn import UnICORNN
from odernn.executions import torch_loop
from odernn.executions.recurrence import RecurrenceResult
from verification.monitors.oscillators_back import sweep_back
from verification.monitors.unrolled import Cotangent, LayerTrace, masks_of

REBUILT_SAMPLES = 16
"""Samples that are stepped back: their error is what rounding does, of which the others have as much."""


@dataclass(frozen=True, eq=False)
class OscillatorTrace:
    """One layer in one direction, row n − 1 is n, in its own direction of time.

    log_growth  log ‖Φ(N, 0)‖₂ of the product of step Jacobians, N each sample's own end; (batch, hidden), float64
    rebuilt     the largest |ỹ_0 − y_0|, |z̃_0 − z_0| over neurons and the first REBUILT_SAMPLES samples; ỹ_0, z̃_0 come
                from the last state by the inverse in the dtype of the weights, the layers below rebuilt likewise
    drives      x_n, (time, batch, hidden)
    """

    layer: LayerTrace
    log_growth: Tensor
    rebuilt: float
    drives: Tensor


def trace(
    network: UnICORNN,
    sequences: Sequences,
    before: Tensor,
    execution: str | None,
    cotangent: Cotangent | None,
    *,
    keep: bool = False,
) -> tuple[list[OscillatorTrace], Tensor]:
    """All layers in their order, and the output (time, batch, features) of the last one. ``before`` is u_0.

    keep  whether the traces have ∂E/∂X_n and E'_n, and not only norms
    """
    runner = executions.ready(network.execution if execution is None else execution)
    u0, inside = before, sequences.inside(len(sequences.u))
    levels = [network.seen(sequences.u, before)]
    drives: list[Tensor] = []
    results: list[RecurrenceResult] = []
    masks: list[tuple[Tensor, Tensor] | None] = []
    rows = sequences.u
    for number in range(1, network.num_layers + 1):
        for direction in range(network.directions):
            index = len(results)
            x = network.drive(index, levels)
            x = sequences.reversed(x) if direction else x
            y0, z0 = (block[index] for block in sequences.state)
            drives.append(x)
            results.append(runner.forward(x, **network.coefficients(index), y0=y0, z0=z0))
        rows = _level(network, sequences, [result.y for result in results[-network.directions :]])
        if number < network.num_layers:
            start = sequences.state[0][len(results) - 1]
            masks.append(masks_of(network)(rows, start))
            levels.append(_seen(network, rows, start, masks[-1]))
    swept = sweep_back(
        network, sequences, drives, results, [None if mask is None else mask[0] for mask in masks], cotangent, keep
    )
    rebuilt = _rebuilt(network, *_of_some(sequences, u0, drives[: network.directions], results, masks), runner)
    traces = []
    for result, sweep, error, x in zip(results, swept, rebuilt, drives, strict=True):
        blocks, before_first = {"y": result.y, "z": result.z}, {"y": result.y0, "z": result.z0}
        layer = LayerTrace(blocks, before_first, inside, sweep.norms, None, sweep.costates, sweep.direct)
        traces.append(OscillatorTrace(layer, sweep.log_growth, error, x))
    return traces, rows


def _seen(network: UnICORNN, rows: Tensor, start: Tensor, masks: tuple[Tensor, Tensor] | None) -> Tensor:
    """What the layers above see of a level: its rows after dropout."""
    if masks is not None:
        rows, start = rows * masks[0], start * masks[1]
    return network.seen(rows, start)


def _level(network: UnICORNN, sequences: Sequences, rows: list[Tensor]) -> Tensor:
    return network.level(sequences, [sequences.zero_after_end(of_direction) for of_direction in rows])


def _of_some(
    sequences: Sequences,
    u0: Tensor,
    drives: list[Tensor],
    results: list[RecurrenceResult],
    masks: list[tuple[Tensor, Tensor] | None],
) -> tuple[Sequences, Tensor, list[Tensor], list[RecurrenceResult], list[tuple[Tensor, Tensor] | None]]:
    """The same of the first REBUILT_SAMPLES samples."""
    some = slice(0, REBUILT_SAMPLES)
    lengths = None if sequences.lengths is None else sequences.lengths[some]
    state = tuple(block[:, some] for block in sequences.state)
    return (
        replace(sequences, u=sequences.u[:, some], state=state, lengths=lengths, packed=None),
        u0[some],
        [x[:, some].contiguous() for x in drives],
        [
            replace(of_layer, y=of_layer.y[:, some], z=of_layer.z[:, some], y0=of_layer.y0[some], z0=of_layer.z0[some])
            for of_layer in results
        ],
        [None if of_layer is None else (of_layer[0][:, some], of_layer[1][some]) for of_layer in masks],
    )


def _rebuilt(
    network: UnICORNN,
    sequences: Sequences,
    u0: Tensor,
    drives: list[Tensor],
    results: list[RecurrenceResult],
    masks: list[tuple[Tensor, Tensor] | None],
    runner: executions.Execution,
) -> list[float]:
    """Errors at n = 0 of the inverse of each layer.

    Level by level from the input, as ``network.inverse`` does for both directions: the rows that are rebuilt are the
    drives of the next layer. The masks of this call's dropout are part of the map that is inverted.
    """
    levels, errors = [network.seen(sequences.u, u0)], []
    for number in range(network.num_layers):
        rows = []
        for direction in range(network.directions):
            index = number * network.directions + direction
            x = network.drive(index, levels) if number else drives[index]
            x = sequences.reversed(x) if direction and number else x
            y, error = _one_layer_rebuilt(network, index, x, results[index], sequences, runner)
            errors.append(error)
            rows.append(y)
        if number + 1 < network.num_layers:
            start = sequences.state[0][(number + 1) * network.directions - 1]
            levels.append(_seen(network, _level(network, sequences, rows), start, masks[number]))
    return errors


def _one_layer_rebuilt(
    network: UnICORNN,
    index: int,
    x: Tensor,
    result: RecurrenceResult,
    sequences: Sequences,
    runner: executions.Execution,
) -> tuple[Tensor, float]:
    """Rows of ỹ, and the largest |ỹ_0 − y_0|, |z̃_0 − z_0|."""
    coefficients = network.coefficients(index)
    if sequences.lengths is None:
        back = runner.inverse(x, **coefficients, y_last=result.y_last, z_last=result.z_last)
        return back.y, max(_largest_difference(back.y0, result.y0), _largest_difference(back.z0, result.z0))
    y, z = sequences.at_own_end(result.y, result.y0), sequences.at_own_end(result.z, result.z0)
    inside = sequences.inside(len(x))
    assert inside is not None
    rows: list[Tensor] = []
    for n in range(len(x) - 1, -1, -1):
        rows.append(y)
        stepped = torch_loop.step_back(y, z, x[n], **coefficients)
        y, z = (torch.where(inside[n], *pair) for pair in zip(stepped, (y, z), strict=True))
    error = max(_largest_difference(y, result.y0), _largest_difference(z, result.z0))
    return (torch.stack(rows[::-1]) if rows else result.y), error


def _largest_difference(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max()) if a.numel() else 0.0
