"""Launches of the recurrence kernels on tensors: parameter blocks, grids, buffers, and sums over columns."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from cuda.odernn_kernels import module
from cuda.odernn_kernels.catalogue import KERNELS

LANES = 32
"""Columns of a block of the ring kernels."""


def launch(
    kernel: str, x: Tensor, grid: int, problem: tuple[int, ...], tensors: Sequence[Tensor | None], *numbers: int
) -> None:
    """Blocks of ``kernel`` on the device of x; tensors go by address. Raises ValueError for a foreign layout."""
    if grid == 0:
        return
    launched, values = KERNELS[kernel], (*problem, *_addresses(x, tensors), *numbers)
    module.launcher_for(x).launch(launched, grid, values, threads=launched.threads, shared=launched.shared)


def _addresses(x: Tensor, tensors: Sequence[Tensor | None]) -> list[int]:
    device, found = x.device, []
    for each in tensors:
        if each is None:
            found.append(0)
        elif each.is_contiguous() and each.device == device:
            found.append(each.data_ptr())
        else:
            raise ValueError(f"a kernel is given a tensor of shape {tuple(each.shape)}, not contiguous on {device}")
    return found


def typed(kernel: str, x: Tensor) -> str:
    """The kernel's name for the dtype of x."""
    return f"{kernel}_{'f32' if x.dtype == torch.float32 else 'f64'}"


def problem(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, lengths: Tensor | None) -> tuple[int, ...]:
    """``Problem`` of recurrence.cuh; x is contiguous."""
    steps, batch, hidden = x.shape
    if steps >= 2**31 - 2**16:
        raise ValueError(f"x has {steps} steps, but the kernels count them in 32 bits. Cut the sequence.")
    rows, ends = _addresses(x, (x, lengths))
    pointers = (rows, w.data_ptr(), h.data_ptr(), alpha.data_ptr(), ends)
    return (*pointers, steps, batch, hidden, *_strides(w), *_strides(h), *_strides(alpha))


def _strides(coefficient: Tensor) -> tuple[int, int]:
    """Of a coefficient expanded to (batch, hidden)."""
    if coefficient.numel() == 1:
        return 0, 0
    strides = coefficient.stride()
    if len(strides) == 1:
        return 0, strides[0]
    batch, hidden = coefficient.shape
    return 0 if batch == 1 else strides[0], 0 if hidden == 1 else strides[1]


def grid(columns: int) -> int:
    """Blocks of a ring kernel."""
    return -(-columns // LANES)


def rows_of(gradient: Tensor | None, like: Tensor) -> tuple[Tensor, int]:
    """A gradient by all rows and the distance of its rows: 0 where one row serves all steps, as where it is zero.

    like: a contiguous state, here and below: to copy its shape costs the host half of what to ask for one does.
    """
    if gradient is None:
        return torch.zeros_like(like), 0
    if gradient.is_contiguous():  # most often; a row of one that is 0 apart is no contiguous array of several
        return gradient, like.numel()
    if gradient.stride(0) == 0:
        return gradient[0].contiguous(), 0
    return gradient.contiguous(), like.numel()


def pulls(
    like: Tensor, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None
) -> tuple[Tensor, int, Tensor | None, Tensor | None]:
    """Gradients by all rows and the distance of its rows, by y_N and by z_N; None of these is zero to the kernels."""
    y_last = None if grad_y_last is None else grad_y_last.contiguous()
    return *rows_of(grad_y, like), y_last, None if grad_z_last is None else grad_z_last.contiguous()


def partials(like: Tensor, x: Tensor, needed: Sequence[bool] = (True,) * 5) -> list[Tensor]:
    """What ``Gradients`` of recurrence.cuh points to; those by w, h, α, y0, z0 that are not ``needed`` are one array.

    One thread writes all that is of a column, so what is written there is of one of them, and nobody reads it.
    """
    rows, spare = torch.empty_like(x, memory_format=torch.contiguous_format), torch.empty_like(like)
    return [rows, *[torch.empty_like(like) if each else spare for each in needed]]
