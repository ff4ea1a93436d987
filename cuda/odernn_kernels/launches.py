"""Launches of the recurrence kernels on tensors: parameter blocks, grids, buffers, and sums over columns."""

from __future__ import annotations

import torch
from torch import Tensor

from cuda.odernn_kernels import module
from cuda.odernn_kernels.module import KERNELS

LANES = 32
"""Columns of a block of the ring kernels."""


def launch(kernel: str, x: Tensor, grid: int, *arguments: Tensor | int | None) -> None:
    """Blocks of ``kernel`` on the device of x; tensors go by address. Raises ValueError for a foreign layout."""
    if grid == 0:
        return
    values = []
    for argument in arguments:
        if isinstance(argument, Tensor):
            if not argument.is_contiguous() or argument.device != x.device:
                raise ValueError(f"{kernel}: a tensor of shape {tuple(argument.shape)} is not contiguous on {x.device}")
            values.append(argument.data_ptr())
        else:
            values.append(0 if argument is None else argument)
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
    wide = [coefficient.expand(batch, hidden) for coefficient in (w, h, alpha)]
    strides = [stride for coefficient in wide for stride in coefficient.stride()]
    kept = (x.contiguous(),)
    block = (kept[0], *(coefficient.data_ptr() for coefficient in wide), lengths, steps, batch, hidden, *strides)
    return block, kept


def columns(x: Tensor) -> int:
    """Neurons of all samples."""
    return x.shape[1] * x.shape[2]


def grid(x: Tensor) -> int:
    """Blocks of a ring kernel."""
    return -(-columns(x) // LANES)


def rows_of(gradient: Tensor | None, x: Tensor) -> tuple[Tensor, int]:
    """A gradient by all rows and the distance of its rows: 0 where one row serves all steps."""
    row = x.shape[1:]
    if gradient is None:
        return x.new_zeros(row), 0
    if len(gradient) > 0 and gradient.stride(0) == 0:
        return gradient[0].contiguous(), 0
    return gradient.contiguous(), columns(x)


def partials(x: Tensor) -> list[Tensor]:
    """What ``Gradients`` of recurrence.cuh points to."""
    return [torch.empty_like(x, memory_format=torch.contiguous_format), *(x.new_empty(x.shape[1:]) for _ in range(5))]


def summed(found: list[Tensor], *coefficients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Columns added up where a coefficient was broadcast; never an alias."""
    with torch.autocast(found[0].device.type, enabled=False):
        by = [
            partial.sum_to_size(value.shape) if value.shape != partial.shape else partial
            for partial, value in zip(found[1:4], coefficients, strict=True)
        ]
    return found[0], by[0], by[1], by[2], found[4], found[5]
