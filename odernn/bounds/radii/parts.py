"""What a classifier is made of: one recurrent network, and one linear read-out of its last row or the mean of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from odernn.bounds.radii.oscillators import ReadOut, gamma
from odernn.bounds.reconstruction import PRECISIONS, Precision
from odernn.cells.recurrent import RecurrentNetwork


@dataclass(frozen=True, eq=False)
class Classifier:
    """The parts of a model and what it computed: inputs (N, B, d), rows (N, B, m), scores (B, classes)."""

    recurrent: nn.Module
    linear: nn.Linear
    read: ReadOut
    precision: Precision
    inputs: Tensor
    rows: Tensor
    scores: Tensor


ELSEWHERE = (0.01, 1.0)
"""Of max(1, |u|): how far from the inputs it is tried, too, that a model is its network and its read-out."""

TRIED = 8
"""Sequences of which that is tried."""


def is_recurrent(module: nn.Module) -> bool:
    return isinstance(module, RecurrentNetwork | nn.RNNBase)


@torch.no_grad()
def taken_apart(model: nn.Module, inputs: Tensor, labels: Tensor) -> Classifier:
    """The parts, all on the CPU. That scores are what the read-out makes of rows is seen on these inputs and near them.

    Raises TypeError or ValueError, with what to change, for another model, inputs that it does not take, labels that
    are no classes, and for a model in training.
    """
    recurrent, linear = _children(model)
    _check_mode(model)
    _check_inputs(inputs)
    first = bool(getattr(recurrent, "batch_first", False))
    precision = _precision(recurrent, linear)
    scores, rows = model(inputs), _rows(recurrent, inputs)
    of_mean = _reads_mean(model, recurrent, linear, inputs, precision)
    _check_labels(labels, scores)
    R = linear.weight.detach().double()
    c = R.new_zeros(len(R)) if linear.bias is None else linear.bias.detach().double()
    inputs = inputs.transpose(0, 1) if first else inputs
    return Classifier(recurrent, linear, ReadOut(R, c, of_mean), precision, inputs, rows, scores)


def _children(model: nn.Module) -> tuple[nn.Module, nn.Linear]:
    """The two; of nn.Linear itself alone, as a class that derives from it may have another forward."""
    children = [child for child in model.children() if any(True for _ in child.parameters())]
    recurrent = [child for child in children if is_recurrent(child)]
    linear = [child for child in children if type(child) is nn.Linear]
    others = [type(child).__name__ for child in children if child not in recurrent and child not in linear]
    if len(recurrent) != 1 or len(linear) != 1 or others:
        found = ", ".join(type(child).__name__ for child in children) or "nothing"
        raise TypeError(
            f"model is a {type(model).__name__} of {found}, but radii are of one recurrent network and one nn.Linear "
            "that reads its last row or the mean of all. Put those two into a module."
        )
    return recurrent[0], linear[0]


def _check_mode(model: nn.Module) -> None:
    training = next((type(module).__name__ for module in model.modules() if module.training), None)
    if training is not None:
        raise ValueError(f"The model's {training} is in training, where dropout may change scores. Call model.eval().")


def _check_inputs(inputs: Tensor) -> None:
    if not bool(torch.isfinite(inputs).all()):
        raise ValueError("inputs have an entry that is not finite, and no ball is around it. Leave that sequence out.")
    if inputs.numel() == 0:
        raise ValueError(f"inputs have the shape {tuple(inputs.shape)}, and so no numbers. Give one sequence at least.")
    if inputs.dim() != 3:
        raise ValueError(
            f"inputs have {inputs.dim()} axes, but are (time, batch, input). Give a batch, of one as well."
        )


def _precision(recurrent: nn.Module, linear: nn.Linear) -> Precision:
    own, read = next(recurrent.parameters()).dtype, linear.weight.dtype
    if own != read:
        raise TypeError(
            f"The recurrent network has parameters of {own}, its read-out of {read}, and rounding is counted in one "
            "dtype. Convert one of them."
        )
    name = str(read).removeprefix("torch.")
    if name not in PRECISIONS:
        raise TypeError(f"The parameters have dtype {read}, but radii are of {', '.join(PRECISIONS)}. Convert them.")
    return PRECISIONS[name]


def _rows(recurrent: nn.Module, inputs: Tensor) -> Tensor:
    """(N, B, m)"""
    rows: Tensor = recurrent(inputs)[0]
    return rows.transpose(0, 1) if getattr(recurrent, "batch_first", False) else rows


def _reads_mean(
    model: nn.Module, recurrent: nn.Module, linear: nn.Linear, inputs: Tensor, precision: Precision
) -> bool:
    """Whether the scores are of the mean; ValueError where they are neither of that nor of the last row.

    Asked on the inputs, where rows may coincide (u = 0) or an activation may be without effect, and beside them.
    """
    read = {False, True}
    for tried in (inputs, *_beside(recurrent, inputs)):
        scores = model(tried)
        read = {each for each in read if _is_read(each, linear, _rows(recurrent, tried), scores, precision)}
        if not read:
            raise ValueError(
                f"The model's scores, of shape {tuple(scores.shape)}, are what its nn.Linear makes neither of the last "
                "row nor of the mean of all rows, on these inputs or beside them. Radii are of these two: leave out "
                "what else the model does to inputs, rows or scores."
            )
    return min(read)


def _beside(recurrent: nn.Module, inputs: Tensor) -> Iterator[Tensor]:
    """Some of the sequences, moved at random by ``ELSEWHERE``."""
    some = inputs[:TRIED] if getattr(recurrent, "batch_first", False) else inputs[:, :TRIED]
    size = some.abs().max().clamp(min=1.0)
    generator = torch.Generator().manual_seed(0)
    for share in ELSEWHERE:
        yield some + share * size * (2 * torch.rand(some.shape, generator=generator, dtype=some.dtype) - 1)


def _is_read(of_mean: bool, linear: nn.Linear, rows: Tensor, scores: Tensor, precision: Precision) -> bool:
    room = 4 * gamma(rows.shape[2] + len(rows) + 16, precision.unit_roundoff)
    sizes = nn.functional.linear(rows.abs().amax(dim=0), linear.weight.abs())
    sizes = sizes if linear.bias is None else sizes + linear.bias.abs()
    wanted = nn.functional.linear(rows.mean(dim=0) if of_mean else rows[-1], linear.weight, linear.bias)
    if wanted.shape != scores.shape:
        return False
    near = ((wanted - scores).abs() <= room * sizes) | ~(wanted.isfinite() & scores.isfinite())
    return bool(near.all())


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
