"""The backward pass of the cpu execution: a piece of steps at a time, last to first, by the kernels of its mode."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from odernn.executions.cpu.columns import Array, ColumnJob, rows_of
from odernn.executions.cpu.drive import CHECKPOINT, Drive, Pull
from odernn.executions.cpu.exact import Grid
from odernn.executions.cpu.kernels import (
    exact as exact_kernels,
)
from odernn.executions.cpu.kernels import lanes as lanes_of
from odernn.executions.cpu.kernels import (
    rebuilt as rebuilt_kernels,
)
from odernn.executions.cpu.kernels import (
    recurrence as recurrence_kernels,
)
from odernn.executions.recurrence import UNIT_ROUNDOFF, ReconstructionWarning

_LEAST = {dtype: 4 * u for dtype, u in UNIT_ROUNDOFF.items()}
"""An error of the rebuilt states that no sum asks to be better than: four roundings of the first step of a piece."""


@dataclass(frozen=True)
class Costates:
    """What the pieces of one backward pass share.

    y0 (batch, hidden) and y (time, batch, hidden) are the states that the mode "stored" reads; "reversible" has
    ``kept``, "exact" a grid. What kernels carry from piece to piece is in ``lanes``; ``sums`` are those over time,
    ``tolerance`` and ``found`` those of ``kernels.rebuilt.rebuilt_backward``.
    """

    mode: str
    job: ColumnJob
    drive: Drive
    pull: Pull
    lanes: Array
    y0: Tensor
    y: Tensor
    kept: Tensor
    grid: Grid | None
    tolerance: float
    sums: Array = field(init=False)
    found: Array = field(init=False)

    def __post_init__(self) -> None:
        sums = np.zeros((self.job.rows, lanes_of.SUM_LANES * lanes_of.PITCH))
        object.__setattr__(self, "sums", sums)
        object.__setattr__(self, "found", np.zeros((self.job.blocks, 3)))

    def take_back(self, grad_y: Tensor | None, grad_z: Tensor | None) -> None:
        """All steps; grad_y, grad_z (time, batch, hidden) are E's own derivatives by the rows of y and z, or None."""
        batch, hidden = self.y0.shape
        nothing, none = self.y0.new_zeros((1, batch, hidden)), self.y0.new_empty((0, batch, hidden))
        for n0, n1 in reversed(list(self.drive.pieces())):
            by_y = rows_of(nothing if grad_y is None else grad_y[n0:n1])
            by_z = rows_of(none if grad_z is None else grad_z[n0:n1])
            kernel, arguments = self._kernel(n0, n1, by_y, by_z)
            self.job.run(kernel, arguments, (self.job.one,))
            self.pull.take(n0, n1)
        if self.mode == "reversible":
            _warn_of(self.found, self.tolerance)

    def _kernel(self, n0: int, n1: int, by_y: Array, by_z: Array) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """The kernel of steps n0+1 .. n1, and its arguments up to the range of blocks."""
        job, lanes, sums = self.job, self.lanes, self.sums
        y0, y = rows_of(self.y0.unsqueeze(0))[0], rows_of(self.y)
        if self.drive.is_in_kernels:
            seen = self.drive.seen_by_kernels()
            return recurrence_kernels.layer_backward, (*seen, y0, y, by_y, lanes, sums, self.pull.sums, job.places)
        x, grad_x = self.drive.x(n0, n1), self.pull.rows(n0, n1)
        if self.mode == "stored":
            return recurrence_kernels.stored_backward, (x, y0, y, by_y, by_z, grad_x, n0, lanes, sums, job.places)
        if self.mode == "reversible":
            flat = self.kept.numpy().reshape(len(self.kept), 2, job.columns)
            limits = (job.one * self.tolerance, job.one * (_LEAST[job.dtype] / self.tolerance))
            return rebuilt_kernels.rebuilt_backward, (
                x,
                flat,
                by_y,
                by_z,
                grad_x,
                CHECKPOINT,
                n0,
                lanes,
                sums,
                job.places,
                *limits,
                self.found,
            )
        assert self.grid is not None
        return exact_kernels.exact_backward, (x, by_y, by_z, grad_x, n0, lanes, self.grid.states, sums, job.places)

    @cached_property
    def _of_neurons(self) -> Array:
        """The sums over time and samples, (lanes, hidden)."""
        return self.job.sums_of_samples(self.sums, lanes_of.SUM_LANES)

    def summed(self, lane: int, shape: torch.Size | tuple[int, ...]) -> Tensor:
        """A derivative that is a sum over time, in the shape of what it is by, in an order that never changes."""
        if tuple(shape) == self.y0.shape[1:]:
            of_neurons = torch.from_numpy(self._of_neurons[lane // lanes_of.PITCH])
            return of_neurons.to(self.y0.dtype, copy=True)
        values = self.job.unpacked_sums(self.sums, lane)
        values = values.sum(axis=tuple(range(2 - len(shape))))
        axes = tuple(k for k, size in enumerate(shape) if size == 1 and values.shape[k] != 1)
        derivative = torch.as_tensor(values.sum(axis=axes, keepdims=True) if axes else values)
        return derivative.to(self.y0.dtype).reshape(shape)


def _warn_of(states: Array, tolerance: float) -> None:
    pieces, again = int(states[:, 0].sum()), int(states[:, 1].sum())
    if again:
        warnings.warn(
            f'backward="reversible": in {again} of {pieces} pieces of {CHECKPOINT} steps the rebuilt states were off '
            f"by up to {states[:, 2].max():.1e} of themselves or of a gradient (tolerance {tolerance:.1e}); these were "
            'computed again from their checkpoints. The gradient is right but took longer; backward="stored" does not '
            "rebuild.",
            ReconstructionWarning,
            stacklevel=2,
        )
