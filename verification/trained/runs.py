"""A trained network on sequences of its task: states and gradients, in float64 with the weights as they are.

Rounding is then far below every slack; a violation within it is none. Nothing here knows of bounds.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from odernn.cells.unicornn import UnICORNN
from verification.measure import gradient
from verification.measure.gradient import Trajectory
from verification.training import network
from verification.training.network import TaskNetwork

if TYPE_CHECKING:
    from verification.tasks.task import TaskSpec
    from verification.training.splits import SplitData


@dataclass(frozen=True, eq=False)
class Sample:
    """K sequences of a split: inputs (time, K, input) float64, targets, which steps are real, and the task's spec."""

    inputs: Tensor
    targets: Tensor
    real: Tensor | None
    spec: TaskSpec

    @property
    def steps(self) -> int:
        return len(self.inputs)

    @property
    def count(self) -> int:
        return self.inputs.shape[1]

    @property
    def largest_input(self) -> float:
        return float(self.inputs.abs().max())

    def __str__(self) -> str:
        return f"{self.count} of {self.spec.count} sequences of the {self.spec.split} split of {self.spec.name}"

    def one(self, index: int) -> Sample:
        """One of the sequences."""
        chosen = slice(index, index + 1)
        targets = self.targets[chosen] if self.spec.reads == "last" else self.targets[:, chosen]
        real = None if self.real is None else self.real[:, chosen]
        return Sample(self.inputs[:, chosen], targets, real, self.spec)


def sample(data: SplitData, count: int) -> Sample:
    """The first ``count`` sequences of the split, or all if there are fewer."""
    chosen = np.arange(min(count, data.count))
    inputs, targets, real = data.batch(chosen)
    inputs = inputs.double().cpu()
    targets = targets.double() if targets.is_floating_point() else targets
    return Sample(inputs, targets.cpu(), None if real is None else real.cpu(), data.spec)


def widened(model: TaskNetwork) -> TaskNetwork:
    """A copy in float64, exactly; of a network with complex weights, in its own dtype."""
    if any(parameter.is_complex() for parameter in model.parameters()):
        return copy.deepcopy(model)
    return copy.deepcopy(model).double()


def trajectory(model: UnICORNN, batch: Sample) -> Trajectory:
    """All states and slopes of a network of one direction and the convention "icml"."""
    with torch.no_grad():
        return gradient.run(gradient.weights_of(model), batch.inputs)


def states(model: UnICORNN, batch: Sample) -> tuple[tuple[Tensor, Tensor], ...]:
    """(y, z) of every layer, (time, K, hidden)."""
    with torch.no_grad():
        return tuple((of_layer.y, of_layer.z) for of_layer in model.states(batch.inputs, execution="torch"))


# --- gradients, the largest over the sequences, each with a loss of its own


def half_square_gradients(model: UnICORNN, batch: Sample) -> dict[str, float]:
    """max |dE/dθ| over the entries of each parameter: E = (1/N) Σ_n ½|y^L_n|², the papers' loss for the target 0."""
    largest: dict[str, float] = {}
    for one in _each(batch):
        rows = model(one.inputs, execution="torch")[0]
        loss = (rows**2).sum() / (2 * one.steps)
        _enlarge(largest, model, loss)
    return largest


@dataclass(frozen=True)
class LossGradients:
    """Of the task's own loss through the readout.

    parameters  max |dE/dθ| over sequences and entries, by the recurrent network's names
    error       max |∂E_n/∂y^L_{n,i}|: E is one term E_N where the task reads the last row, else (1/N) Σ_n E_n
    """

    parameters: Mapping[str, float]
    error: float


def loss_gradients(model: TaskNetwork, batch: Sample) -> LossGradients:
    """Each sequence's own loss; dropout is off."""
    largest: dict[str, float] = {}
    error, terms = 0.0, 1 if batch.spec.reads == "last" else batch.steps
    for one in _each(batch):
        rows = _rows(model.recurrent, one.inputs)
        rows.retain_grad()
        read = rows[-1] if batch.spec.reads == "last" else rows
        outputs = model.readout(read.to(model.readout.weight.dtype))
        loss = network.loss_sum(outputs, one.targets, one.spec, one.real)
        _enlarge(largest, model.recurrent, loss, retained=rows)
        assert rows.grad is not None
        error = larger(error, terms * float(rows.grad.abs().max()))
    return LossGradients(largest, error)


def _rows(recurrent: nn.Module, inputs: Tensor) -> Tensor:
    if isinstance(recurrent, UnICORNN):
        return cast(Tensor, recurrent(inputs, execution="torch")[0])
    kind = next(p.dtype for p in recurrent.parameters() if not p.is_complex())
    return cast(Tensor, recurrent(inputs.to(kind))[0])


def _each(batch: Sample) -> Iterator[Sample]:
    return (batch.one(index) for index in range(batch.count))


def _enlarge(largest: dict[str, float], module: nn.Module, loss: Tensor, retained: Tensor | None = None) -> None:
    """Take the largest entries of this loss's gradients into the mapping."""
    named = {name: value for name, value in module.named_parameters() if value.requires_grad}
    module.zero_grad()
    if retained is not None:
        loss.backward()
        gradients = [value.grad for value in named.values()]
    else:
        gradients = list(torch.autograd.grad(loss, list(named.values()), allow_unused=True))
    for name, value in zip(named, gradients, strict=True):
        size = 0.0 if value is None else float(value.abs().max())
        largest[name] = larger(largest.get(name, 0.0), size)


def larger(*sizes: float) -> float:
    """The largest; NaN if one is NaN, which ``max`` may pass over: an overflow must not look like a small number."""
    return math.nan if any(map(math.isnan, sizes)) else max(sizes)


def log_size(size: float) -> float:
    """log of a measured size: −∞ of 0, and NaN of NaN."""
    return math.log(size) if size > 0 else -math.inf if size == 0 else math.nan


@torch.no_grad()
def largest_output(model: nn.Module, batch: Sample) -> float:
    """max |output of the last layer| over sequences, steps and units."""
    return float(_rows(model, batch.inputs).abs().max())
