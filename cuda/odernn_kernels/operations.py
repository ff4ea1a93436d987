"""Operations of torch over the kernels: forward, backward, their shapes for torch.compile, their derivatives.

    forward      ring      one thread a column, x through a ring of asynchronous copies
                 scan      a block a column, tiles of 1024 steps by Newton; for long sequences of few columns
    backward     stored    from the rows of y;  "scan" where the forward was one
                 reversible  rebuilt, with checkpoints; where they are missed by more than a gradient admits, the rows
                           are computed again and a warning says so
                 exact     float32 only: rebuilt without error

Which kernels run is a function of shape, dtype and mode alone (``plan``), so equal calls give equal bits: there are no
atomics, and each column's sums have one order. Columns are added up by torch: autograd brings a gradient of
(batch, hidden) to the shape of an argument that was broadcast.
"""

# No `from __future__ import annotations`: torch reads the annotations of the operations below.
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import torch
from torch import Tensor

from cuda.odernn_kernels import launches, reconstruction
from cuda.odernn_kernels.reverse import reverse_only

CHECKPOINT_EVERY = 256
"""Steps between checkpoints of the reversible mode, a multiple of 8: 2/256 of the memory of the rows of y."""

SCAN_STEPS = 1024
"""Shortest sequence for the scan: one tile."""

SCAN_COLUMNS = {"forward": 2000, "backward": 1400}
"""Most columns for the scan, measured on an H100 (docs/gpu.md, "Ring or scan"): 8192 steps take the ring 0.53 ms
forward and 0.51 ms backward, however few columns there are, and the scan 0.32 and 0.37 ms with 1024 columns, 0.51 and
0.71 ms with 2048, 0.95 and 1.37 ms with 4096. It is so because up to 132 SMs · 4 warps · 32 = 16 896 columns of the
ring run at once, while an SM scans its columns one after the other, eight warps a column. A block of 8 columns would
read whole sectors, but run the few columns that the scan is for on an eighth of the SMs.
"""


Way: TypeAlias = Literal["ring", "scan"]
Gradients: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
"""By x, w, h, α, y0, z0. Those by w, h and α are one a column, (batch, hidden): autograd adds up what was broadcast."""


def plan(steps: int, columns: int, dtype: torch.dtype, direction: Literal["forward", "backward"] = "forward") -> Way:
    """The kernel for this shape; a function of its arguments alone."""
    if dtype == torch.float32 and steps >= SCAN_STEPS and columns <= SCAN_COLUMNS[direction]:
        return "scan"
    return "ring"


def run_forward(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    x, y0, z0 = x.contiguous(), y0.contiguous(), z0.contiguous()
    problem, columns = launches.problem(x, w, h, alpha, lengths), y0.numel()
    y, y_last, z_last = _like_rows(x), torch.empty_like(y0), torch.empty_like(y0)
    if plan(x.shape[0], columns, x.dtype) == "scan":
        launches.launch("scan_forward_f32", x, columns, problem, (y0, z0, y, y_last, z_last, None))
    else:
        tensors = (y0, z0, y, None, y_last, z_last, None)
        launches.launch(launches.typed("forward", x), x, launches.grid(columns), problem, tensors, 0, 0)
    return y, y_last, z_last


stored = torch.library.custom_op("odernn_cuda::stored", mutates_args=())(run_forward)


@torch.library.custom_op("odernn_cuda::states", mutates_args=())
def states(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor) -> tuple[Tensor, Tensor]:
    x, y0, z0 = x.contiguous(), y0.contiguous(), z0.contiguous()
    y, z, *lasts = _like_rows(x), _like_rows(x), torch.empty_like(y0), torch.empty_like(y0)
    kernel, grid = launches.typed("forward_states", x), launches.grid(y0.numel())
    launches.launch(kernel, x, grid, launches.problem(x, w, h, alpha, None), (y0, z0, y, z, *lasts, None), 0, 0)
    return y, z


def _checkpoints(x: Tensor) -> Tensor:
    return x.new_empty((2, max(len(x) - 1, 0) // CHECKPOINT_EVERY, *x.shape[1:]))


@torch.library.custom_op("odernn_cuda::reversible", mutates_args=())
def reversible(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, y0, z0 = x.contiguous(), y0.contiguous(), z0.contiguous()
    problem, kept = launches.problem(x, w, h, alpha, lengths), _checkpoints(x)
    y, y_last, z_last = _like_rows(x), torch.empty_like(y0), torch.empty_like(y0)
    kernel, grid = launches.typed("forward_checkpoints", x), launches.grid(y0.numel())
    tensors = (y0, z0, y, None, y_last, z_last, kept)
    launches.launch(kernel, x, grid, problem, tensors, kept.shape[1], CHECKPOINT_EVERY)
    return y, y_last, z_last, kept


@torch.library.custom_op("odernn_cuda::exact", mutates_args=())
def exact(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, y0, z0 = x.contiguous(), y0.contiguous(), z0.contiguous()
    y, y_last, z_last = _like_rows(x), torch.empty_like(y0), torch.empty_like(y0)
    last = torch.empty((2, *x.shape[1:]), dtype=torch.float64, device=x.device)
    problem, tensors = launches.problem(x, w, h, alpha, lengths), (y0, z0, y, y_last, z_last, last)
    launches.launch("exact_forward_f32", x, launches.grid(y0.numel()), problem, tensors)
    return y, y_last, z_last, last


@torch.library.custom_op("odernn_cuda::inverse", mutates_args=())
def inverse(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y_last: Tensor, z_last: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, y_last, z_last = x.contiguous(), y_last.contiguous(), z_last.contiguous()
    y, z, y0, z0 = _like_rows(x), _like_rows(x), torch.empty_like(y_last), torch.empty_like(y_last)
    kernel, grid = launches.typed("inverse", x), launches.grid(y0.numel())
    launches.launch(kernel, x, grid, launches.problem(x, w, h, alpha, None), (y_last, z_last, y, z, y0, z0))
    return y, z, y0, z0


def gradients_of_stored(
    x: Tensor,
    w: Tensor,
    h: Tensor,
    alpha: Tensor,
    y0: Tensor,
    lengths: Tensor | None,
    y: Tensor,
    z_last: Tensor,
    grad_y: Tensor | None,
    grad_z: Tensor | None,
    grad_y_last: Tensor | None,
    grad_z_last: Tensor | None,
    needed: Sequence[bool] = (True,) * 5,
) -> list[Tensor]:
    """``Gradients``; those by the last five are of no meaning where they are not ``needed``."""
    x, z_last = x.contiguous(), z_last.contiguous()
    problem, columns = launches.problem(x, w, h, alpha, lengths), z_last.numel()
    given = (y0.contiguous(), y.contiguous(), z_last)
    rows, row, *lasts = launches.pulls(z_last, grad_y, grad_y_last, grad_z_last)
    out = launches.partials(z_last, x, needed)
    if grad_z is None and plan(x.shape[0], columns, x.dtype, "backward") == "scan":
        launches.launch("scan_backward_f32", x, columns, problem, (*given, rows, *lasts, *out, None), row)
    else:
        rows_z, row_z = (None, 0) if grad_z is None else launches.rows_of(grad_z, z_last)
        kernel = launches.typed("stored" if grad_z is None else "stored_states", x)
        tensors = (*given, rows, rows_z, *lasts, *out)
        launches.launch(kernel, x, launches.grid(columns), problem, tensors, row, row_z)
    return out


def run_stored(
    x: Tensor,
    w: Tensor,
    h: Tensor,
    alpha: Tensor,
    y0: Tensor,
    lengths: Tensor | None,
    y: Tensor,
    z_last: Tensor,
    grad_y: Tensor | None,
    grad_z: Tensor | None,
    grad_y_last: Tensor | None,
    grad_z_last: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    given = (x, w, h, alpha, y0, lengths, y, z_last, grad_y, grad_z, grad_y_last, grad_z_last)
    return cast("Gradients", tuple(gradients_of_stored(*given)))


stored_backward = torch.library.custom_op("odernn_cuda::stored_backward", mutates_args=())(run_stored)


@torch.library.custom_op("odernn_cuda::reversible_backward", mutates_args=())
def reversible_backward(
    x: Tensor,
    w: Tensor,
    h: Tensor,
    alpha: Tensor,
    y0: Tensor,
    z0: Tensor,
    lengths: Tensor | None,
    y_last: Tensor,
    z_last: Tensor,
    kept: Tensor,
    grad_y: Tensor | None,
    grad_y_last: Tensor | None,
    grad_z_last: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    x, *ends = (each.contiguous() for each in (x, y0, z0, y_last, z_last, kept))
    problem, findings = launches.problem(x, w, h, alpha, lengths), x.new_empty((7, *x.shape[1:]))
    rows, row, *lasts = launches.pulls(ends[0], grad_y, grad_y_last, grad_z_last)
    out = launches.partials(ends[0], x)
    kernel, grid = launches.typed("reversible", x), launches.grid(ends[0].numel())
    tensors = (*ends, rows, *lasts, *out, findings)
    launches.launch(kernel, x, grid, problem, tensors, row, kept.shape[1], CHECKPOINT_EVERY)
    rebuilt = reconstruction.is_rebuilt(findings, w, h, alpha)
    if reconstruction.is_missed(findings[0], rebuilt, z_last, "reversible"):
        # By the kernel that ran, not by the scan: its rows belong to this last state, bit by bit.
        y = reversible(x, w, h, alpha, y0, z0, lengths)[0]
        return run_stored(x, w, h, alpha, y0, lengths, y, z_last, grad_y, None, grad_y_last, grad_z_last)
    return cast("Gradients", tuple(out))


@torch.library.custom_op("odernn_cuda::exact_backward", mutates_args=())
def exact_backward(
    x: Tensor,
    w: Tensor,
    h: Tensor,
    alpha: Tensor,
    y0: Tensor,
    z0: Tensor,
    lengths: Tensor | None,
    last: Tensor,
    grad_y: Tensor | None,
    grad_y_last: Tensor | None,
    grad_z_last: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    x, *ends = (each.contiguous() for each in (x, y0, z0, last))
    problem, grid = launches.problem(x, w, h, alpha, lengths), launches.grid(ends[0].numel())
    rows, row, *lasts = launches.pulls(ends[0], grad_y, grad_y_last, grad_z_last)
    out = launches.partials(ends[0], x)
    residual = torch.empty(x.shape[1:], dtype=torch.float64, device=x.device)
    launches.launch("exact_backward_f32", x, grid, problem, (*ends, rows, *lasts, *out, residual), row)
    if reconstruction.is_missed(residual, residual <= 0.0, last[1], "exact"):
        # The rows of the map that was run, not of another rounding of it.
        y, _, z_last, _ = exact(x, w, h, alpha, y0, z0, lengths)
        return run_stored(x, w, h, alpha, y0, lengths, y, z_last, grad_y, None, grad_y_last, grad_z_last)
    return cast("Gradients", tuple(out))


# --- shapes for torch.compile, and gradients


def _like_rows(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _like_gradients(x: Tensor, *_others: Any) -> tuple[Tensor, ...]:
    return _like_rows(x), *(x.new_empty(x.shape[1:]) for _ in range(5))


@stored.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None) -> Any:
    return _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])


@states.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor) -> Any:
    return _like_rows(x), _like_rows(x)


@reversible.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None) -> Any:
    return _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:]), _checkpoints(x)


@exact.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None) -> Any:
    last = x.new_empty((2, *x.shape[1:]), dtype=torch.float64)
    return _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:]), last


@inverse.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y_last: Tensor, z_last: Tensor) -> Any:
    return _like_rows(x), _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])


for _operation in (stored_backward, reversible_backward, exact_backward):
    _operation.register_fake(_like_gradients)


def keep_stored(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w, h, alpha, y0, _, lengths = inputs
    y, _, z_last = output
    ctx.save_for_backward(x, w, h, alpha, y0, lengths, y, z_last)


def pull_stored(ctx: Any, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None) -> Any:
    gradients = stored_backward(*ctx.saved_tensors, *reverse_only(grad_y, None, grad_y_last, grad_z_last))
    return *gradients, None


def _keep_states(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w, h, alpha, y0, z0 = inputs
    y, z = output
    ctx.save_for_backward(x, w, h, alpha, y0, None, y, z[-1].clone() if len(z) else z0)


def _pull_states(ctx: Any, grad_y: Tensor | None, grad_z: Tensor | None) -> Any:
    return stored_backward(*ctx.saved_tensors, *reverse_only(grad_y, grad_z), None, None)


def _keep_reversible(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _, y_last, z_last, kept = output
    ctx.save_for_backward(*inputs, y_last, z_last, kept)


def _pull_reversible(
    ctx: Any, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None, _: Tensor | None
) -> Any:
    gradients = reversible_backward(*ctx.saved_tensors, *reverse_only(grad_y, grad_y_last, grad_z_last))
    return *gradients, None


def _keep_exact(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs, output[3])


def _pull_exact(
    ctx: Any, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None, _: Tensor | None
) -> Any:
    gradients = exact_backward(*ctx.saved_tensors, *reverse_only(grad_y, grad_y_last, grad_z_last))
    return *gradients, None


stored.register_autograd(pull_stored, setup_context=keep_stored)
states.register_autograd(_pull_states, setup_context=_keep_states)
reversible.register_autograd(_pull_reversible, setup_context=_keep_reversible)
exact.register_autograd(_pull_exact, setup_context=_keep_exact)
