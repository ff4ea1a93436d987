"""The numbers of ``verification.report.pictures.training``: of networks, and of the folders that ``odernn train`` left.

A trained network is compared with the one that its seed gave. Numbers are plain and have six digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from odernn.cells.unicornn import UnICORNN
from verification.measure.trained_network import effective_steps
from verification.monitors import BoundMonitor, torch_modules, unrolled
from verification.monitors.unrolled import Cotangent
from verification.training import TrainingError, checkpoints, configuration, loop, network, own_files, splits
from verification.training.folder import BEST, MONITOR, RUN
from verification.training.network import TaskNetwork

if TYPE_CHECKING:
    from verification.tasks.task import Root, TaskSpec
    from verification.training.runs import RunRecord
    from verification.training.splits import SplitData

DIGITS = 6
H_ALONE = ", h"


def rounded(values: Sequence[float]) -> list[float]:
    """To six significant digits."""
    return [float(f"{value:.{DIGITS}g}") for value in values]


# --- gradients over time ------------------------------------------------------------------------------------------


def gradient_norms(model: TaskNetwork, sequences: Tensor, targets: Tensor, spec: TaskSpec) -> dict[str, list[float]]:
    """‖∂L/∂X_n‖₂ for n = 1..N by layer: L the mean loss over these sequences, the norm over all of them together.

    The total derivative: X_n is moved, and all later states and layers above with it. X is the whole state, (y, z) of
    UnICORNN, (h, c) of an LSTM, of which there is a second series "…, h" for h_n moved alone. The network is evaluated
    as in training but for dropout; its gradients are not touched.
    """
    model.eval()
    with BoundMonitor(model, every=1) as monitor:
        loss = network.loss_sum(model(sequences), targets, spec) / sequences.shape[1]
        torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        by_layer = {
            measurement.layer.removeprefix("recurrent."): measurement.series.tolist()
            for measurement in monitor.step()
            if measurement.quantity == "gradient_norm" and measurement.series is not None
        }
    if isinstance(model.recurrent, nn.LSTM):
        for name, norms in _of_h_alone(model, model.recurrent, sequences, targets, spec).items():
            by_layer[name + H_ALONE] = norms
    return {name: rounded(series) for name, series in by_layer.items()}


def _of_h_alone(
    model: TaskNetwork, lstm: nn.LSTM, sequences: Tensor, targets: Tensor, spec: TaskSpec
) -> dict[str, list[float]]:
    rows, last = lstm(sequences)
    leaf = rows.detach().requires_grad_()
    outputs = model.readout(leaf[-1] if model.reads == "last" else leaf)
    (gradient,) = torch.autograd.grad(network.loss_sum(outputs, targets, spec) / sequences.shape[1], leaf)
    suffixes = torch_modules.suffixes(lstm)
    traces, _ = unrolled.trace(
        [torch_modules.recurrence(lstm, suffix) for suffix in suffixes],
        2 if lstm.bidirectional else 1,
        torch_modules.called_with(lstm, sequences),
        torch_modules.masks_of(lstm),
        None,
        Cotangent(gradient, tuple(torch.zeros_like(block) for block in last)),
    )
    norms = {}
    for suffix, trace in zip(suffixes, traces, strict=True):
        assert trace.costates is not None
        norms[suffix] = torch.linalg.vector_norm(trace.costates["h"].detach().double(), dim=(1, 2)).tolist()
    return norms


def gradient_curves(
    label: str, before: TaskNetwork, after: TaskNetwork, batch: SplitData, count: int
) -> list[dict[str, Any]]:
    """Curves of ``training_pictures.gradients``: every layer, before and after, on the first ``count`` sequences."""
    sequences, targets, real = batch.batch(np.arange(min(count, batch.count)))
    if real is not None:
        raise TrainingError(f"{label}: the sequences of this task differ in length, so n has no one meaning.")
    first, last = (gradient_norms(model, sequences, targets, batch.spec) for model in (before, after))
    several = sum(not name.endswith(H_ALONE) for name in first) > 1
    return [
        {"label": f"{label}{_words(name, several=several)}", "before": first[name], "after": last[name]}
        for name in first
    ]


def _words(name: str, *, several: bool) -> str:
    """ ", layer 2 reversed, h alone" of "l1_reverse, h"; no layer where there is one only."""
    layer, _, alone = name.partition(", ")
    number, _, reverse = layer.removeprefix("layers.").removeprefix("l").partition("_")
    place = f", layer {int(number) + 1}{' reversed' if reverse else ''}" if several else ""
    return f"{place}, h alone" if alone else place


# --- neurons ------------------------------------------------------------------------------------------------------


def neuron_layers(before: UnICORNN, after: UnICORNN) -> list[dict[str, Any]]:
    """Layers of ``training_pictures.neurons``: h = Δt σ̂(c) and w of every neuron."""

    def values(model: UnICORNN, index: int) -> tuple[list[float], list[float]]:
        coefficients = model.coefficients(index)
        return rounded(effective_steps(coefficients).tolist()), rounded(coefficients["w"].detach().double().tolist())

    layers = []
    for index in range(len(after.layers)):
        number, is_reverse = divmod(index, after.directions)
        (steps, weights), (steps_after, weights_after) = (values(model, index) for model in (before, after))
        layers.append(
            {
                "label": f"layer {number + 1}{' reversed' if is_reverse else ''}",
                "dt": float(after.dt[number]),
                "steps": {"before": steps, "after": steps_after},
                "weights": {"before": weights, "after": weights_after},
            }
        )
    return layers


def largest_weights(model: UnICORNN) -> list[float]:
    """max |w| of every layer."""
    return rounded([float(layer.w.detach().abs().max()) for layer in model.unlimited().layers])


# --- folders ------------------------------------------------------------------------------------------------------


def networks(
    record: RunRecord, root: Root = None, *, cells: Sequence[Path] = (), tasks: Sequence[Path] = ()
) -> tuple[TaskNetwork, TaskNetwork, SplitData]:
    """Before training, and with the weights that were best on the validation split; and the test split.

    cells, tasks  folders with the run's own cell and task, if it has such
    Raises TrainingError for a folder without such weights, or with those of another network; DataError for the task's
    files.
    """
    plan = configuration.from_mapping(record.configuration).found_in(cells=cells, tasks=tasks)
    own_files.check_record(record.folder / RUN, plan)
    data = splits.load(plan, "test", root)
    models = [
        network.build(plan.network, data.spec, seed=plan.training.seed, dtype=data.dtype) for _ in ("before", "after")
    ]
    path = record.folder / BEST
    checkpoint = checkpoints.read(path)
    try:
        models[1].load_state_dict(checkpoint.part(loop.MODEL))
    except RuntimeError as error:
        raise TrainingError(f'"{path}" does not fit the {RUN} beside it: {str(error).splitlines()[0]}') from None
    return models[0], models[1], data


def labels(records: Sequence[RunRecord]) -> list[str]:
    """ "scornn, n = 170", and the folder's name where others have the same."""
    names = [
        f"{run.configuration['network']['cell']}, n = {run.configuration['network']['hidden_size']}" for run in records
    ]
    return [
        label if names.count(label) == 1 else f"{label}, {record.folder.name}"
        for label, record in zip(names, records, strict=True)
    ]


def of_gradients(
    records: Sequence[RunRecord], root: Root, count: int, *, cells: Sequence[Path] = (), tasks: Sequence[Path] = ()
) -> dict[str, Any]:
    """Numbers of the picture "gradients" for all runs, each on the first sequences of its own test split."""
    curves = []
    for label, record in zip(labels(records), records, strict=True):
        before, after, data = networks(record, root, cells=cells, tasks=tasks)
        curves += gradient_curves(label, before, after, data, count)
    return {"quantity": "norm of dL/dX_n, L the mean over the sequences", "sequences": count, "curves": curves}


def of_neurons(
    records: Sequence[RunRecord], root: Root, *, cells: Sequence[Path] = (), tasks: Sequence[Path] = ()
) -> dict[str, Any]:
    """Numbers of the picture "neurons", of UnICORNN alone."""
    layers = []
    for label, record in zip(labels(records), records, strict=True):
        before, after, _ = networks(record, root, cells=cells, tasks=tasks)
        if not isinstance(after.recurrent, UnICORNN) or not isinstance(before.recurrent, UnICORNN):
            cell = record.configuration["network"]["cell"]
            raise TrainingError(f'"{record.folder}" has a {cell}: effective time steps are UnICORNN\'s alone.')
        prefix = f"{label}, " if len(records) > 1 else ""
        layers += [
            {**layer, "label": prefix + layer["label"]} for layer in neuron_layers(before.recurrent, after.recurrent)
        ]
    return {"quantity": "effective time step and recurrent weight of every neuron", "layers": layers}


def of_orthogonality(records: Sequence[RunRecord]) -> dict[str, Any]:
    """Numbers of the picture "orthogonality", from what a monitor wrote during training."""
    curves = []
    for own, record in zip(labels(records), records, strict=True):
        by_layer: dict[str, list[tuple[int, float]]] = {}
        for layer, step, value in _recorded(record.folder / MONITOR, "orthogonality_error"):
            by_layer.setdefault(layer.removeprefix("recurrent."), []).append((step, value))
        if not by_layer:
            cell = record.configuration["network"]["cell"]
            raise TrainingError(
                f'"{record.folder / MONITOR}" has no orthogonality error: {cell} has no orthogonal recurrence, or '
                "nothing was recorded."
            )
        for layer, values in by_layer.items():
            label = own + _words(layer, several=len(by_layer) > 1)
            updates, scores = zip(*sorted(values), strict=True)
            curves.append({"label": label, "updates": list(updates), "scores": rounded(scores)})
    return {"quantity": "Frobenius norm of W*W - I", "panels": [{"title": records[0].task, "curves": curves}]}


def _recorded(path: Path, quantity: str) -> list[tuple[str, int, float]]:
    """Layer, step and value of what a monitor recorded."""
    from verification.monitors import Measurement
    from verification.run.store import Store

    if not path.exists():
        raise TrainingError(f'"{path}" does not exist: train with --monitor EVERY to have it.')
    with Store(path, writable=False) as store:
        rows = [Measurement.of_row(row) for row in store.measurements()]
    return [(row.layer, row.step, row.value) for row in rows if row.quantity == quantity]
