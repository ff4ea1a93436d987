"""Gradients of a UnICORNN stack by the published recursion: the independent check of autograd."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from odernn.cells.common.sequences import Sequences
from odernn.cells.unicornn.oscillators import OscillatorStack
from odernn.executions import torch_loop
from odernn.executions.recurrence import RecurrenceResult


@torch.no_grad()
def gradients(
    model: OscillatorStack,
    sequences: Sequences,
    levels: Sequence[Tensor],
    results: Sequence[RecurrenceResult],
    grad_output: Tensor,
) -> dict[str, Tensor]:
    """dE/dθ for every parameter θ, given ``grad_output`` = dE/dy^L_n, (time, batch, hidden · directions).

    ``levels`` are what the layers above see of the levels 0..L, and ``results`` the runs of all layers. Layer by layer
    from the top, in each direction with ``torch_loop.backward`` for the costates:

        dE/dV^l = Σ_n (dE/dx^l_n) (y^{l-1}_n)ᵀ,   dE/dΛ^l = Σ_n (dE/dx^l_n) (y^{l-S-1}_n)ᵀ,
        dE/db^l = Σ_n dE/dx^l_n,                  dE/dc^l = (dE/dh^l) dt σ̂'(c^l),

    and (V^l)ᵀ dE/dx^l_n is added to ∂E/∂y^{l-1}_n; for "sam" every y of a lower level has index n−1. A reverse
    direction has its drive and its states in its own direction of time, and is turned around for these sums. With a
    limit of growth w is a function of free_w and h, neuron by neuron, and autograd pulls dE/dw and dE/dh through it.
    """
    grad_levels = [torch.zeros_like(level) for level in levels[:-1]] + [grad_output]
    grads: dict[str, Tensor] = {}
    for index in range(len(model.layers) - 1, -1, -1):
        layer = model.layers[index]
        number, direction = divmod(index, model.directions)
        below, skip = model.sources(number + 1)
        edges = {"V": below} if skip is None else {"V": below, "Lambda": skip}
        coefficients = model.coefficients(index)
        x = model.drive(index, levels)
        grad_y = grad_levels[number + 1].split(model.hidden_size, dim=-1)[direction]
        if direction:
            x, grad_y = sequences.reversed(x), sequences.reversed(grad_y)
        costates = torch_loop.backward(x, **coefficients, states=results[index], grad_y=grad_y)
        grad_x = sequences.reversed(costates.x) if direction else costates.x
        if layer.limit is not None:
            local = layer.pulled(model.dt[number], model.alpha[number], costates.w, costates.step_size)
        else:
            local = {"w": costates.w}
            if layer.c is not None:
                local["c"] = costates.step_size * coefficients["step_size"] * (1.0 - torch.sigmoid(layer.c))
        if layer.b is not None:
            local["b"] = grad_x.sum(dim=(0, 1))
        for name, level in edges.items():
            local[name] = torch.einsum("nbi,nbj->ij", grad_x, levels[level]).to(layer.like.dtype)
            upstream = grad_x @ getattr(layer, name)
            # y_{n-1} feeds x_n in the "sam" convention; the first row then belongs to the state before the sequence.
            target = grad_levels[level]
            target, source = (target[:-1], upstream[1:]) if model.index == "sam" else (target, upstream)
            target.add_(source)
        grads |= {f"layers.{index}.{name}": value for name, value in local.items()}
    return {name: grads[name] for name, _ in model.named_parameters()}


def rows_of(grad_output: Tensor | PackedSequence, sequences: Sequences, output: Tensor | PackedSequence) -> Tensor:
    """``grad_output`` in the layout of the recurrence, zero beyond each sample's end, if it is shaped as ``output``."""
    if isinstance(grad_output, PackedSequence) != isinstance(output, PackedSequence):
        raise TypeError(
            f"grad_output is a {type(grad_output).__name__}, but the output is a {type(output).__name__}: give one "
            "derivative for each output, in its layout."
        )
    shape = _shape(grad_output)
    if shape != _shape(output):
        raise ValueError(
            f"grad_output has shape {shape} but the output has {_shape(output)}: give one derivative for each output."
        )
    if not isinstance(grad_output, PackedSequence):
        return sequences.zero_after_end(sequences.rows(grad_output))
    rows, lengths = pad_packed_sequence(grad_output)
    if sequences.lengths is None or not torch.equal(lengths, sequences.lengths.cpu()):
        raise ValueError(
            f"grad_output has samples of lengths {lengths.tolist()}, not those of the output. "
            "Make it from the output: output._replace(data=...)."
        )
    return rows


def _shape(given: Tensor | PackedSequence) -> tuple[int, ...]:
    return tuple(given.data.shape)
