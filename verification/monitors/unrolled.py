"""A stack of recurrent layers, run once more, and the total derivatives of its states from those of what it returned.

X_n is the state of one layer after step n, all its blocks together, and ∂E/∂X_n the derivative of E if X_n is moved and
everything that is computed from X_n follows: later states of the layer, the layers above from time n on, the outputs.
With E'_n what reaches X_n other than through X_{n+1}, and J_n = ∂X_n/∂X_{n−1} at fixed inputs,

    ∂E/∂X_n = E'_n + J_{n+1}ᵀ ∂E/∂X_{n+1}.

A hook on the output of a module sees E'_n of its last layer only. Here the sum is taken, layer by layer from the last,
one vector-Jacobian product of the layer's own step at a time, so that no graph is longer than one step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch import Tensor

from odernn.cells.clocked import ClockedLayer
from odernn.cells.common.sequences import Sequences, State
from odernn.cells.exprnn import ExpRNNLayer
from odernn.cells.integrator import IntegratorLayer
from odernn.cells.recurrent import RecurrentLayer, RecurrentNetwork
from odernn.cells.scornn import ScoRNNLayer
from odernn.executions.autocast import without_autocast

Masks: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor] | None]
"""Dropout between layers, as what rows n = 1..N and the row n = 0 are multiplied by; None if nothing is dropped."""


SMALL_NORM, LARGE_NORM = 2.0**-50, 2.0**60
"""Between them squares of float32 sum up without underflow that counts, of up to 2²⁰ numbers, and without overflow."""


@dataclass(frozen=True, eq=False)
class Recurrence:
    """One layer in one direction: X_n = step(n − 1, X_{n−1}, drives[n − 1]), with its weights already evaluated.

    names    of the blocks of X
    drives   (inputs (time, batch, input), the row before the first) → one tensor, or list of tensors, a step
    output   what the layers above see of rows (time, batch, size) of all blocks
    rows     all X_n from X_0; the fastest way there is
    adjoint  (X_n, p) → (pᵀ ∂X_n/∂X_{n−1}, pᵀ ∂X_n/∂(drive)), where it has a closed form; else autograd makes it
    """

    names: tuple[str, ...]
    drives: Callable[[Tensor, Tensor | None], Sequence[Any]]
    step: Callable[[int, State, Any], State]
    output: Callable[[State], Tensor]
    rows: Callable[[Tensor, State, Tensor | None], State]
    adjoint: Callable[[State, State], tuple[State, tuple[Tensor, ...]]] | None = None


@dataclass(frozen=True, eq=False)
class Cotangent:
    """∂E/∂ of what a module returned: rows (time, batch, features), zero beyond the ends, and blocks of the last state,
    (layers · directions, batch, size) each.
    """

    rows: Tensor
    last: State


@dataclass(frozen=True, eq=False)
class LayerTrace:
    """One layer of one call, in its own direction of time: row n − 1 is n.

    blocks     by name: (time, batch, size), from n = 1; ``before`` the same at n = 0
    inside     (time, batch, 1), true up to each sample's own end; None without padding
    norms      ‖∂E/∂X_n‖₂ of every block over samples and neurons, (time,) float64; None if no gradient came
    direct     ‖E'_n‖₂ of all blocks together, likewise; None where nobody asks for it
    costates   ∂E/∂X_n itself, as ``blocks``, and E'_n, where they were asked for
    """

    blocks: dict[str, Tensor]
    before: dict[str, Tensor]
    inside: Tensor | None
    norms: dict[str, Tensor] | None = None
    direct: Tensor | None = None
    costates: dict[str, Tensor] | None = None
    direct_costates: dict[str, Tensor] | None = None

    @cached_property
    def sizes(self) -> dict[str, Tensor]:
        """Largest |x| over the samples, (time, size), of every block; 0 where all have ended. NaN stays NaN."""
        largest = {}
        for name, rows in self.blocks.items():
            if self.inside is not None:
                rows = torch.where(self.inside, rows, rows.new_zeros(()))
            if rows.shape[1] == 0:
                largest[name] = rows.new_zeros(rows.shape[0], rows.shape[2])
                continue
            largest[name] = torch.maximum(rows.amax(1), -rows.amin(1))  # no |x| of all rows is made
        return largest

    @property
    def is_finite(self) -> bool:
        return all(bool(torch.isfinite(sizes).all()) for sizes in self.sizes.values())


def norms_over_time(rows: Tensor) -> Tensor:
    """‖·‖₂ over samples and neurons of (time, batch, size), (time,) float64.

    Vanishing gradients are what this is for: a row whose squares leave the range of the dtype is divided by its largest
    entry first. Between SMALL_NORM and LARGE_NORM no square that counts does.
    """
    wide = (rows if rows.dtype in (torch.float32, torch.float64) else rows.float()).flatten(1)
    norms: Tensor = torch.linalg.vector_norm(wide, dim=1).double()
    extreme = ((norms < SMALL_NORM) | (norms > LARGE_NORM)).nonzero().squeeze(1)
    if wide.shape[1] and len(extreme):
        some = wide[extreme]
        largest: Tensor = torch.linalg.vector_norm(some, ord=math.inf, dim=1)
        norms[extreme] = largest.double()  # of a row of zeros, of one with an infinity or NaN
        is_moderate = (largest > 0) & torch.isfinite(largest)
        if bool(is_moderate.any()):
            some, largest = some[is_moderate].double(), largest[is_moderate].double()
            norms[extreme[is_moderate]] = largest * torch.linalg.vector_norm(some / largest.unsqueeze(1), dim=1)
    return norms


def of_layer(layer: RecurrentLayer, start: Any = 0) -> Recurrence:
    """A layer of the library with its weights as they are now; ``start`` is the time of the first row, for clocks."""
    if isinstance(layer, IntegratorLayer):
        with without_autocast(layer.like):
            prepared = layer.prepared()
        return Recurrence(
            layer.state_names,
            lambda below, previous: layer.step_drives(layer.stage_drives(below, previous, prepared.stage_times)),
            lambda _, state, drive: prepared(state, drive).state,
            layer.output,
            lambda below, state, previous: layer.run(below, state, previous).rows,
        )
    if isinstance(layer, ClockedLayer):
        with without_autocast(layer.like):
            at = layer.steppers()
        return Recurrence(
            layer.state_names,
            lambda below, _: _drives(layer, below),
            lambda n, state, drive: at(start + n)(state, drive),
            layer.output,
            lambda below, state, previous: layer.run(below, state, previous, start).rows,
        )
    with without_autocast(layer.like):
        step = layer.stepper()
    return Recurrence(
        layer.state_names,
        lambda below, _: _drives(layer, below),
        lambda _, state, drive: step(state, drive),
        layer.output,
        lambda below, state, previous: layer.run(below, state, previous).rows,
        _modrelu_adjoint(layer) if isinstance(layer, (ScoRNNLayer, ExpRNNLayer)) else None,
    )


def _modrelu_adjoint(
    layer: ScoRNNLayer | ExpRNNLayer,
) -> Callable[[State, State], tuple[State, tuple[Tensor, ...]]]:
    """h_n = modReLU(W h_{n−1} + x_n; b): with D_n = diag(1 where h_n ≠ 0), p ↦ Wᵀ D_n p and D_n p.

    h_n is 0 just where the unit is silent: where |z| + b ≤ 0 or z = 0. Without b, D_n = I.
    """
    with without_autocast(layer.like):
        W = layer.recurrent_matrix()

    def adjoint(after: State, p: State) -> tuple[State, tuple[Tensor, ...]]:
        kept = p[0] if not layer.has_bias else torch.where(after[0] != 0, p[0], p[0].new_zeros(()))
        return (torch.mm(kept, W),), (kept,)

    return adjoint


def _drives(layer: RecurrentLayer, below: Tensor) -> Sequence[Tensor]:
    return layer.drives(below).to(layer.like.dtype).unbind()


def masks_of(network: RecurrentNetwork) -> Masks:
    """The masks that the network itself would draw now; a locked one is the same for all rows, (1, batch, ·)."""

    def masks(rows: Tensor, previous: Tensor) -> tuple[Tensor, Tensor] | None:
        if not network.training or network.dropout == 0.0:
            return None
        shown = rows[:1] if network.dropout_mask == "locked" else rows
        return network.dropped(torch.ones_like(shown), torch.ones_like(previous))

    return masks


def trace(
    layers: Sequence[Recurrence],
    directions: int,
    sequences: Sequences,
    masks: Masks,
    previous: Tensor | None,
    cotangent: Cotangent | None,
) -> tuple[list[LayerTrace], Tensor]:
    """All layers in their order, and the output (time, batch, features) of the last one."""
    below, inside = sequences.u, sequences.inside(len(sequences.u))
    before = sequences.u.new_zeros(sequences.u.shape[1:]) if previous is None else previous
    seen: list[tuple[Tensor, Tensor]] = []
    dropped: list[Tensor | None] = [None]
    rows: list[State] = []
    starts = [tuple(block[index] for block in sequences.state) for index in range(len(layers))]
    for first in range(0, len(layers), directions):
        if first:
            drawn = masks(below, before)
            dropped.append(None if drawn is None else drawn[0])
            if drawn is not None:
                below, before = below * drawn[0], before * drawn[1]
        outputs = []
        for index in range(first, first + directions):
            is_reverse = index > first
            inputs = sequences.reversed(below) if is_reverse else below
            rows.append(layers[index].rows(inputs, starts[index], None if is_reverse else before))
            output = layers[index].output(rows[-1])
            outputs.append(sequences.reversed(output) if is_reverse else output)
        seen.append((below, before))
        below = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)
        before = layers[first].output(starts[first])
    back: list[tuple[State, State] | None] = [None] * len(layers)
    if cotangent is not None:
        gradient = cotangent.rows
        for first in range(len(layers) - directions, -1, -directions):
            inherited = torch.zeros_like(seen[first // directions][0])
            for index, part in enumerate(gradient.chunk(directions, dim=-1), first):  # of each direction
                is_reverse = index > first
                inputs, row_before = seen[first // directions]
                last = tuple(block[index] for block in cotangent.last)
                pulled = _pull_back(
                    layers[index],
                    (sequences.reversed(inputs), None) if is_reverse else (inputs, row_before),
                    rows[index],
                    starts[index],
                    (sequences.reversed(part) if is_reverse else part, last),
                    sequences,
                    wants_inputs=first > 0,
                )
                back[index] = pulled[:2]
                inherited = inherited + (sequences.reversed(pulled[2]) if is_reverse else pulled[2])
            mask_below = dropped[first // directions]
            gradient = inherited if mask_below is None else inherited * mask_below
    return [
        _named(layer.names, *pair, inside, costates)
        for layer, pair, costates in zip(layers, zip(rows, starts, strict=True), back, strict=True)
    ], below


def _named(
    names: tuple[str, ...], rows: State, start: State, inside: Tensor | None, back: tuple[State, State] | None
) -> LayerTrace:
    def named(blocks: State) -> dict[str, Tensor]:
        return dict(zip(names, blocks, strict=True))

    if back is None:
        return LayerTrace(named(rows), named(start), inside)
    costates, direct = map(named, back)
    norms = {name: norms_over_time(costate) for name, costate in costates.items()}
    together = functools.reduce(torch.hypot, map(norms_over_time, direct.values()))
    return LayerTrace(named(rows), named(start), inside, norms, together, costates, direct)


def direct_part(rows: Tensor, last: Tensor, sequences: Sequences) -> Tensor:
    """E'_n of one block: what comes from the rows, and at each sample's own end from its last state."""
    if sequences.lengths is None:
        return torch.cat([rows[:-1], (rows[-1] + last).unsqueeze(0)]) if len(rows) else rows
    at_end = torch.arange(1, len(rows) + 1, device=rows.device).unsqueeze(1) == sequences.lengths
    return torch.where(at_end.unsqueeze(2), rows + last, rows)


def _pull_back(
    layer: Recurrence,
    inputs: tuple[Tensor, Tensor | None],
    rows: State,
    start: State,
    cotangent: tuple[Tensor, State],
    sequences: Sequences,
    *,
    wants_inputs: bool,
) -> tuple[State, State, Tensor]:
    """∂E/∂X_n and E'_n for all n, and ∂E/∂ of the inputs, 0 if not wanted; in the layer's own direction of time."""
    gradient, last = cotangent
    inside = sequences.inside(len(gradient))
    with torch.enable_grad():
        below = inputs[0].detach().requires_grad_()
        drives = layer.drives(below, inputs[1])
        leaves = tuple(block.detach().requires_grad_() for block in rows)
        reads = torch.autograd.grad(layer.output(leaves), leaves, gradient, materialize_grads=True)
    direct = tuple(direct_part(*pair, sequences) for pair in zip(reads, last, strict=True))
    costates = tuple(torch.empty_like(block) for block in rows)
    p = tuple(torch.zeros_like(block) for block in start)
    grad_drives: list[tuple[Tensor, ...]] = []
    for n in range(len(gradient), 0, -1):
        p = tuple(coming + own[n - 1] for coming, own in zip(p, direct, strict=True))
        if inside is not None:  # what a cell makes of the padding is nobody's derivative
            p = tuple(torch.where(inside[n - 1], block, block.new_zeros(())) for block in p)
        for kept, block in zip(costates, p, strict=True):
            kept[n - 1] = block
        before = start if n == 1 else tuple(block[n - 2] for block in rows)
        if layer.adjoint is None:
            p, pushed = _one_step_back(layer, n - 1, before, drives[n - 1], p)
        else:
            with without_autocast(p[0]):
                p, pushed = layer.adjoint(tuple(block[n - 1] for block in rows), p)
        if wants_inputs:
            grad_drives.append(pushed)
    if not wants_inputs:
        return costates, direct, torch.zeros_like(inputs[0])
    outputs = [
        (d, g)
        for drive, pushed in zip(drives, grad_drives[::-1], strict=True)
        for d, g in zip(_flat(drive), pushed, strict=True)
        if d.requires_grad
    ]
    if not outputs:
        return costates, direct, torch.zeros_like(inputs[0])
    (inherited,) = torch.autograd.grad(
        [d for d, _ in outputs], below, [g for _, g in outputs], allow_unused=True, materialize_grads=True
    )
    return costates, direct, inherited


def _one_step_back(
    layer: Recurrence, index: int, before: State, drive: Any, p: State
) -> tuple[State, tuple[Tensor, ...]]:
    """pᵀ ∂X_n/∂X_{n−1} and pᵀ ∂X_n/∂(drive)."""
    with torch.enable_grad(), without_autocast(before[0]):
        state = tuple(block.detach().requires_grad_() for block in before)
        given = tuple(entry.detach().requires_grad_() for entry in _flat(drive))
        after = layer.step(index, state, list(given) if isinstance(drive, (list, tuple)) else given[0])
        moved = [(block, entry) for block, entry in zip(after, p, strict=True) if block.requires_grad]
        pulled = torch.autograd.grad(
            [block for block, _ in moved],
            (*state, *given),
            [entry for _, entry in moved],
            allow_unused=True,
            materialize_grads=True,
        )
    return pulled[: len(state)], pulled[len(state) :]


def _flat(drive: Any) -> tuple[Tensor, ...]:
    return (drive,) if isinstance(drive, Tensor) else tuple(drive)
