"""Everything that the library can say about one trained network on K sequences: the rows, and sentences about them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from odernn.bounds.network import certify
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.unicornn import UnICORNN
from verification.measure.trained_network import effective_steps, orthogonality
from verification.registry import Registry
from verification.trained import (
    CheckpointError,
    gradient_rows,
    jacobian_rows,
    orthogonal_rows,
    own_rows,
    rebuilding_rows,
    runs,
    state_rows,
    weight_rows,
)
from verification.trained.loading import Trained
from verification.trained.row import Row
from verification.trained.runs import Sample
from verification.training.network import TaskNetwork

NOTHING_KNOWN = (
    "No bound on the states or gradients of this cell is known to the library: its rows are margins and measurements."
)
READ_AT = 'icml: "dt ≪ 1 sufficiently small" names no dt; its statements are read at the dt of this network.'

MOST_WEIGHT, LEAST_STEP = 1e30, 1e-150
"""Beyond them products of a few weights, or the square of a step, are no numbers of float64 or of the file's dtype."""

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Ledger:
    """The rows of one network, and what a caption must say."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def try_network(trained: Trained, sample: Sample, registry: Registry, report: Report = lambda *_: None) -> Ledger:
    """All rows. ``report`` is called before every part of the work: its name, how many are done, how many there are.

    Raises CheckpointError if the cell refuses to run with these weights.
    """
    wide = runs.widened(trained.model)
    _check_sizes(trained, wide)
    _try_to_run(trained, wide, sample)
    loss = runs.loss_gradients(wide, sample) if trained.has_readout else None
    found = try_recurrent(trained.recurrent, wide.recurrent, sample, registry, loss, report)
    rows = (*found.rows, *weight_rows.measured_rows(wide.recurrent, sample, loss))
    return Ledger(rows, (*trained.notes, *found.notes))


def try_recurrent(
    module: nn.Module,
    wide: nn.Module,
    sample: Sample,
    registry: Registry,
    loss: runs.LossGradients | None = None,
    report: Report = lambda *_: None,
) -> Ledger:
    """What is proved or measured of a recurrent module from zero states; ``wide`` is the same in float64."""
    notes: list[str] = []
    rows: list[Row] = []
    if isinstance(wide, UnICORNN):
        rows += weight_rows.stability_rows(wide)
        if wide.bidirectional:
            notes.append("The network is bidirectional, and the bounds are those of one direction: measurements only.")
        else:
            dtype = next(p.dtype for p in module.parameters() if not p.is_complex())
            rows += _unicornn_rows(wide, dtype, sample, registry, loss, report)
            notes.append(READ_AT)
    rows += own_rows.rows(wide, sample)
    rows += orthogonal_rows.rows(module, sample)
    if not isinstance(wide, UnICORNN):
        rows += weight_rows.cell_rows(module)
        rows += weight_rows.guarantee_rows(module)
    if not any(row.kind == "bound" for row in rows):
        notes.append(NOTHING_KNOWN)
    rows += weight_rows.rebuilt_rows(wide, sample)
    return Ledger(tuple(rows), tuple(notes))


def _check_sizes(trained: Trained, wide: TaskNetwork) -> None:
    """CheckpointError for weights of which no bound can be computed: an overflow elsewhere is a fault of ours.

    Cells without bounds in logarithms of float64 are measured, whatever comes of it.
    """
    path, network = trained.stored.path, wide.recurrent
    if not isinstance(network, UnICORNN):
        return
    for name, weight in wide.named_parameters():
        if weight.numel() and float(largest := weight.detach().abs().max()) > MOST_WEIGHT:
            raise CheckpointError(
                f'Checkpoint "{path}": "{name}" has entries up to {largest:.3g} in modulus, beyond {MOST_WEIGHT:g}: no '
                "bound can be computed with them. Give an earlier checkpoint of the run."
            )
    for layer in range(network.num_layers):
        steps = effective_steps(network.coefficients(layer))
        if float(steps.min()) < LEAST_STEP:
            raise CheckpointError(
                f'Checkpoint "{path}": the step dt·σ̂(c) of neuron {int(steps.argmin())} of layer {layer + 1} is '
                f"{float(steps.min()):.3g}, below {LEAST_STEP:g}: it stands still, and no bound can be computed. Give "
                "an earlier checkpoint of the run."
            )


def _try_to_run(trained: Trained, wide: TaskNetwork, sample: Sample) -> None:
    """Some cells refuse weights that training can reach: LinOSS beyond its stable step, a W that is not finite."""
    try:
        runs.largest_output(wide.recurrent, sample.one(0))
        for layer in trained.recurrent.layers if isinstance(trained.recurrent, orthogonal_rows.CELLS) else ():
            orthogonality(layer)
    except ValueError as error:
        raise CheckpointError(
            f'Checkpoint "{trained.stored.path}" is of a network that cannot be run: {error}'
        ) from None


def _unicornn_rows(
    network: UnICORNN,
    dtype: torch.dtype,
    sample: Sample,
    registry: Registry,
    loss: runs.LossGradients | None,
    report: Report,
) -> list[Row]:
    """States, gradients, Jacobians, rebuilding: of one direction. Weights in float64 are the file's, exactly."""
    log_largest = _log_largest(dtype)
    parts = ("states", "gradients", "Jacobians", "stepping back")

    def begin(part: str) -> None:
        report(part, parts.index(part), len(parts))

    begin("states")
    states = runs.states(network, sample)
    bounds = certify(network, input_bound=sample.largest_input, steps=sample.steps, target_bound=0.0)
    rows = state_rows.rows(network, states, sample, registry, log_largest=log_largest)
    rows += state_rows.neuron_rows(states, bounds, sample)
    begin("gradients")
    gradients = runs.half_square_gradients(network, sample)
    rows += gradient_rows.published_rows(network, gradients, sample, registry, log_largest=log_largest)
    rows += gradient_rows.theorem_rows(gradients, bounds, sample)
    if loss is not None:
        rows += gradient_rows.loss_rows(loss, bounds, sample)
    begin("Jacobians")
    if network.index == "icml":
        run = runs.trajectory(network, sample)
        rows += jacobian_rows.rows(network, run, sample, registry, log_largest=log_largest)
    begin("stepping back")
    rows += rebuilding_rows.rows(network, sample)
    return rows


def _log_largest(dtype: torch.dtype) -> float:
    name = str(dtype).removeprefix("torch.")
    return PRECISIONS[name].log_largest if name in PRECISIONS else math.inf
