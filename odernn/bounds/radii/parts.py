"""What a classifier is made of: one recurrent network, and one linear read-out of its last row or the mean of all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from odernn.bounds.network.certification import FAMILIES
from odernn.bounds.radii.oscillators import ReadOut, gamma
from odernn.bounds.reconstruction import PRECISIONS, Precision
from odernn.cells.recurrent import RecurrentNetwork


@dataclass(frozen=True, eq=False)
class Classifier:
    """The parts of a model and what it computed: inputs (N, B, d), rows (N, B, m), scores (B, classes)."""

    recurrent: nn.Module
    read: ReadOut
    precision: Precision
    inputs: Tensor
    rows: Tensor
    scores: Tensor


def is_recurrent(module: nn.Module) -> bool:
    return isinstance(module, RecurrentNetwork | nn.RNNBase) or type(module).__name__ in FAMILIES


@torch.no_grad()
def taken_apart(model: nn.Module, inputs: Tensor, labels: Tensor) -> Classifier:
    """The parts, all on the CPU. That scores are what the read-out makes of rows is seen on these inputs.

    Raises TypeError or ValueError, with what to change, for another model, inputs that it does not take, labels that
    are no classes, and for a model in training.
    """
    recurrent, linear = _children(model)
    if model.training:
        raise ValueError("The model is in training, where dropout may change scores. Call model.eval().")
    if not bool(torch.isfinite(inputs).all()):
        raise ValueError("inputs have an entry that is not finite, and no ball is around it. Leave that sequence out.")
    if inputs.numel() == 0:
        raise ValueError(f"inputs have the shape {tuple(inputs.shape)}, and so no numbers. Give one sequence at least.")
    if inputs.dim() != 3:
        raise ValueError(
            f"inputs have {inputs.dim()} axes, but are (time, batch, input). Give a batch, of one as well."
        )
    scores, output = model(inputs), recurrent(inputs)[0]
    first = bool(getattr(recurrent, "batch_first", False))
    rows, inputs = (each.transpose(0, 1) if first else each for each in (output, inputs))
    precision = PRECISIONS[str(linear.weight.dtype).removeprefix("torch.")]
    of_mean = _reads_mean(linear, rows, scores, precision)
    _check_labels(labels, scores)
    R = linear.weight.detach().double().cpu()
    c = R.new_zeros(len(R)) if linear.bias is None else linear.bias.detach().double().cpu()
    return Classifier(
        recurrent, ReadOut(R, c, of_mean), precision, inputs.cpu(), rows.detach().cpu(), scores.detach().cpu()
    )


def _children(model: nn.Module) -> tuple[nn.Module, nn.Linear]:
    children = [child for child in model.children() if any(True for _ in child.parameters())]
    recurrent = [child for child in children if is_recurrent(child)]
    linear = [child for child in children if isinstance(child, nn.Linear)]
    others = [type(child).__name__ for child in children if child not in recurrent and child not in linear]
    if len(recurrent) != 1 or len(linear) != 1 or others:
        found = ", ".join(type(child).__name__ for child in children) or "nothing"
        raise TypeError(
            f"model is a {type(model).__name__} of {found}, but radii are of one recurrent network and one nn.Linear "
            "that reads its last row or the mean of all. Put those two into a module."
        )
    return recurrent[0], linear[0]


def _reads_mean(linear: nn.Linear, rows: Tensor, scores: Tensor, precision: Precision) -> bool:
    """Whether the scores are of the mean; ValueError where they are neither of that nor of the last row."""
    room = 4 * gamma(rows.shape[2] + len(rows) + 16, precision.unit_roundoff)
    sizes = nn.functional.linear(rows.abs().amax(dim=0), linear.weight.abs()) + (
        0.0 if linear.bias is None else linear.bias.abs()
    )
    for of_mean, seen in ((False, rows[-1]), (True, rows.mean(dim=0))):
        wanted = linear(seen)
        if wanted.shape == scores.shape and bool(((wanted - scores).abs() <= room * sizes).all()):
            return of_mean
    raise ValueError(
        f"The model's scores, of shape {tuple(scores.shape)}, are what its nn.Linear makes neither of the last row nor "
        "of the mean of all rows. Radii are of these two."
    )


def _check_labels(labels: Tensor, scores: Tensor) -> None:
    batch, classes = scores.shape
    if labels.shape != (batch,) or labels.is_floating_point() or labels.is_complex():
        raise ValueError(
            f"labels are {tuple(labels.shape)}, {labels.dtype}, but one integer for each of {batch} sequences is asked."
        )
    if not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise ValueError(f"labels reach from {int(labels.min())} to {int(labels.max())}; there are {classes} classes.")
    if classes < 2:
        raise ValueError("The read-out has one score, so that no class can change. Give a classifier.")
