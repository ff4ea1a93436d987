"""Whether a trained UnICORNN is "not chaotic by design" on its task: its exponents beside those of Lorenz 96.

A change of the state, or of an early input, goes on in a driven layer by its Jacobians along the run; a layer does not
act on those below it, and its neurons not on each other, so that the largest exponent of the network is that of one of
its neurons, each with the inputs that it sees: λ = lim log‖Φ(n, 0)‖/n, by ``verification.measure.lyapunov``, here per
unit of the task's time. In floats, over a finite time: they are measured, nothing is certified. A neuron that rotates
has λ = 0, measured as O(1/time); none has all of λ < 0, as every step preserves area.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from odernn.cells.unicornn import UnICORNN
from verification import tasks
from verification.measure import lyapunov
from verification.measure.trained_network import effective_steps, margins
from verification.training import checkpoints, loop
from verification.training import network as network_of
from verification.training.configuration import Configuration
from verification.training.network import TaskNetwork
from verification.training.splits import SplitData

STEPS, COUNT = 20_000, 2
"""Of the runs that are measured: the second half counts."""
UNSURE = 0.1
"""A measured exponent below is none: a constant factor e¹⁰ over the 100 units of time of the second half."""


def of_run(plan: Configuration, folder: Path, data: SplitData) -> dict[str, Any]:
    """{"exponents": …} of the best weights in a run's folder, {} of another task or cell."""
    if plan.task.name != "lorenz96":
        return {}
    model = network_of.build(plan.network, data.spec, seed=plan.training.seed, dtype=data.dtype)
    model.load_state_dict(checkpoints.read(folder / loop.BEST).part(loop.MODEL))
    found = of_lorenz96(model, data, plan.task.options)
    return {} if found is None else {"exponents": found}


@torch.no_grad()
def of_lorenz96(model: TaskNetwork, data: SplitData, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is recorded of a network trained on the task with these options; None of another cell than UnICORNN."""
    network = model.recurrent
    if not isinstance(network, UnICORNN):
        return None
    long = {**options, "steps": STEPS, "count": COUNT}
    sequences, _, _ = tasks.get("lorenz96").load("test", **long)
    shown = torch.from_numpy(np.ascontiguousarray(sequences[:]))
    below = (shown if data.standardisation is None else data.standardisation(shown)).double()
    dt = float(tasks.get("lorenz96").options["dt"] if "dt" not in options else options["dt"])
    found = []
    for number in range(network.num_layers):
        exponents, below = _of_layer(network, number, below, dt)
        found.append(exponents)
    values = torch.stack(found)  # (layer, neuron), the mean over the sequences
    layer, neuron = divmod(int(values.argmax()), values.shape[1])
    failing = [margins(network.coefficients(number)).failing for number in range(network.num_layers)]
    return {
        "steps": STEPS,
        "count": COUNT,
        "largest": float(values.max()),
        "layer": layer + 1,
        "neuron": neuron + 1,
        "growing": int((values > UNSURE).sum()),
        "neurons": values.numel(),
        "saddles": sum(each["saddle"] for each in failing),
        "beyond the rotation limit": sum(each["rotation"] for each in failing),
        "of the system": _of_system(float(options.get("forcing", 8.0))),
    }


def _of_layer(network: UnICORNN, number: int, below: Tensor, dt: float) -> tuple[Tensor, Tensor]:
    """Exponents (neuron,) per unit of the task's time, and the layer's outputs (time, count, neuron).

    Every neuron of every sequence is a stack of one layer with the weight V = 1 on what it sees.
    """
    given = network.coefficients(number)
    w, alpha, h = given["w"].double(), given["alpha"].double(), effective_steps(given).double()
    layer = network.layers[number]
    drive = below @ layer.V.double().T + layer.b.double()  # (time, count, neuron)
    steps, count, size = drive.shape
    flat = drive.reshape(steps, -1)
    ones = w.new_ones((1, count * size))
    along = lyapunov.of_stacks(
        alpha.expand(size).repeat(count), w.repeat(count)[None], h.repeat(count)[None], ones, 0 * ones, flat, steps
    )
    return (along.late.reshape(count, size) * h / dt).mean(dim=0), _outputs(w, alpha, h, drive)


def _outputs(w: Tensor, alpha: Tensor, h: Tensor, drive: Tensor) -> Tensor:
    """y of kick and drift from rest, for every step."""
    y, z, rows = torch.zeros_like(drive[0]), torch.zeros_like(drive[0]), torch.empty_like(drive)
    for n, seen in enumerate(drive):
        z = z - h * (torch.tanh(w * y + seen) + alpha * y)
        y = y + h * z
        rows[n] = y
    return rows


def _of_system(forcing: float) -> float:
    """The largest exponent of Lorenz 96 itself, over 300 units of time."""
    field, jacobian = lyapunov.lorenz96(forcing)
    start = forcing + np.random.default_rng(0).uniform(-0.5, 0.5, (5, 1))
    return float(lyapunov.by_runge_kutta(field, jacobian, start, dt=0.025, transient=25.0, horizon=300.0).item())
