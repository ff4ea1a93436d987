"""Launches of the recurrence kernels on tensors: parameter blocks, grids, buffers, and sums over columns."""

from __future__ import annotations

import torch
from torch import Tensor

from cuda.odernn_kernels import module
from cuda.odernn_kernels.catalogue import KERNELS

LANES = 32
"""Columns of a block of the ring kernels."""


def launch(kernel: str, x: Tensor, grid: int, *arguments: Tensor | int | None) -> None:
    """Blocks of ``kernel`` on the device of x; tensors go by address. Raises ValueError for a foreign layout."""
    if grid == 0:
        return
    device, values = x.device, []
    for argument in arguments:
        if argument is None:
            values.append(0)
        elif isinstance(argument, int):
            values.append(argument)
        elif argument.is_contiguous() and argument.device == device:
            values.append(argument.data_ptr())
        else:
            raise ValueError(f"{kernel}: a tensor of shape {tuple(argument.shape)} is not contiguous on {device}")
    launched = KERNELS[kernel]
    module.launcher_for(x).launch(launched, grid, tuple(values), threads=launched.threads, shared=launched.shared)


def typed(kernel: str, x: Tensor) -> str:
    """The kernel's name for the dtype of x."""
    return f"{kernel}_{'f32' if x.dtype == torch.float32 else 'f64'}"


def problem(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, lengths: Tensor | None
) -> tuple[tuple[Tensor | int | None, ...], tuple[Tensor, ...]]:
    """``Problem`` of recurrence.cuh, and the tensors that must live until the launch is enqueued."""
    steps, batch, hidden = x.shape
    if steps >= 2**31 - 2**16:
        raise ValueError(f"x has {steps} steps, but the kernels count them in 32 bits. Cut the sequence.")
    rows = x.contiguous()
    pointers = (w.data_ptr(), h.data_ptr(), alpha.data_ptr())
    strides = (*_strides(w), *_strides(h), *_strides(alpha))
    return (rows, *pointers, lengths, steps, batch, hidden, *strides), (rows,)


def _strides(coefficient: Tensor) -> tuple[int, int]:
    """Of a coefficient expanded to (batch, hidden)."""
    dimensions = coefficient.dim()
    if dimensions == 0:
        return 0, 0
    shape, strides = coefficient.shape, coefficient.stride()
    along = 0 if shape[-1] == 1 else strides[-1]
    return (0 if dimensions == 1 or shape[0] == 1 else strides[0]), along


def columns(x: Tensor) -> int:
    """Neurons of all samples."""
    return x.shape[1] * x.shape[2]


def grid(x: Tensor) -> int:
    """Blocks of a ring kernel."""
    return -(-x.shape[1] * x.shape[2] // LANES)


def rows_of(gradient: Tensor | None, x: Tensor) -> tuple[Tensor, int]:
    """A gradient by all rows and the distance of its rows: 0 where one row serves all steps."""
    if gradient is None:
        return x.new_zeros(x.shape[1:]), 0
    if gradient.is_contiguous():  # most often; a row of one that is 0 apart is no contiguous array of several
        return gradient, columns(x)
    if gradient.stride(0) == 0:
        return gradient[0].contiguous(), 0
    return gradient.contiguous(), columns(x)


def pulls(
    like: Tensor, x: Tensor, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None
) -> tuple[Tensor, int, Tensor | None, Tensor | None]:
    """Gradients by all rows and the distance of its rows, by y_N and by z_N; None of these is zero to the kernels.

    like: a contiguous state, here and below: to copy its shape costs the host half of what to ask for one does.
    """
    rows, row = (torch.zeros_like(like), 0) if grad_y is None else rows_of(grad_y, x)
    y_last = None if grad_y_last is None else grad_y_last.contiguous()
    return rows, row, y_last, None if grad_z_last is None else grad_z_last.contiguous()


def partials(like: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    """What ``Gradients`` of recurrence.cuh points to."""
    rows, empty = torch.empty_like(x, memory_format=torch.contiguous_format), torch.empty_like
    return rows, empty(like), empty(like), empty(like), empty(like), empty(like)


def summed(
    found: tuple[Tensor, ...], coefficients: tuple[Tensor, ...], needed: tuple[bool, ...] = (True, True, True)
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None, Tensor, Tensor]:
    """Columns added up where a coefficient was broadcast, of those that are needed; never an alias."""
    if torch.is_autocast_enabled(found[0].device.type):
        with torch.autocast(found[0].device.type, enabled=False):
            return summed(found, coefficients, needed)
    by = [
        _sum_to(partial, value.shape) if wanted else None
        for partial, value, wanted in zip(found[1:4], coefficients, needed, strict=True)
    ]
    return found[0], by[0], by[1], by[2], found[4], found[5]


def _sum_to(partial: Tensor, shape: torch.Size) -> Tensor:
    if shape == partial.shape:
        return partial
    if shape == partial.shape[1:]:
        return partial.sum(0)  # the same, for half of the host's time
    return partial.sum_to_size(shape)
