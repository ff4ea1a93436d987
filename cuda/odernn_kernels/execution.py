"""The contract of ``odernn.recurrence`` on a CUDA device: float32, and float64 in the ring kernels.

Which kernels run is a function of shape, dtype and ``backward`` alone (``plan``), so equal calls give equal bits: there
are no atomics, each column's sums have one order, and torch adds up the columns.

    forward      ring      one thread a column, x through a ring of asynchronous copies
                 scan      a block a column, tiles of 1024 steps by Newton; for long sequences of few columns
    backward     stored    from the rows of y;  "scan" where the forward was one
                 reversible  rebuilt, with checkpoints; where they are missed by more than a gradient admits, the rows
                           are computed again and a warning says so
                 exact     float32 only: rebuilt without error

Differentiable once and in reverse mode, through the operations ``odernn_cuda::…`` of torch; forward mode is an error.
"""

# No `from __future__ import annotations`: torch reads the annotations of the operations below.
import warnings
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from cuda.odernn_kernels import module
from cuda.odernn_kernels.module import KERNELS
from cuda.odernn_kernels.reverse import reverse_only
from odernn.recurrence import (
    Backward,
    ReconstructionWarning,
    RecurrenceGradients,
    RecurrenceOutputs,
    RecurrenceResult,
    checked,
    checked_backward,
    checked_ends,
)

name = "cuda"

LANES = 32
"""Columns of a block of the ring kernels."""

CHECKPOINT_EVERY = 256
"""Steps between checkpoints of the reversible mode, a multiple of 8: 2/256 of the memory of the rows of y."""

TOLERANCE = {torch.float32: 0.01, torch.float64: 1e-6}
"""Largest admitted error of a rebuilt y or z, absolute, as in ``odernn.executions.stack``: it bounds that of σ'."""

RELATIVE = {torch.float32: 2e-4, torch.float64: 1e-6}
"""Largest admitted share of that error in the gradients by w, h and α, see ``_is_rebuilt``. Empirical for float32: calm
trajectories of 256 to 1024 steps have 1e-5; of 1060 random networks, w in [−2, 1] and α = 1/2, those within 2e-4 were
right to 0.7 %, but with 2e-3 one was off by 40 %, because its terms cancel."""

SCAN_STEPS = 1024
"""Shortest sequence for the scan: one tile."""

SCAN_COLUMNS = {"forward": 1600, "backward": 16000}
"""Most columns for the scan. A model of the machine, not a measurement, puts the break-even at columns · rounds =
16 000; backward needs one round, forward 4 to 10 a tile. benchmarks/device_suite.py times both sides of it."""


Way: TypeAlias = Literal["ring", "scan"]


def plan(steps: int, columns: int, dtype: torch.dtype, direction: Literal["forward", "backward"] = "forward") -> Way:
    """The kernel for this shape; a function of its arguments alone."""
    if dtype == torch.float32 and steps >= SCAN_STEPS and columns <= SCAN_COLUMNS[direction]:
        return "scan"
    return "ring"


def unavailable_because() -> str | None:
    """Why no device can be used here, or ``None``."""
    if module.is_overridden():
        return None
    if not torch.cuda.is_available():
        build = "was built without CUDA" if torch.version.cuda is None else "sees no device"
        return f"this torch ({torch.__version__}) {build}"
    return module.unavailable_because()


def forward(
    x: Tensor,
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
) -> RecurrenceResult:
    """All rows of y and z, differentiable once; see ``odernn.recurrence``."""
    module.check_device(x)
    (w, h, alpha), (y0, z0) = checked(x, w=w, step_size=step_size, alpha=alpha, y0=y0, z0=z0)
    y, z = _states(*reverse_only(x, w, h, alpha, y0, z0))
    return RecurrenceResult(y, z, y0, z0, name)


def outputs(
    x: Tensor,
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    lengths: Tensor | None = None,
    backward: Backward = "stored",
) -> RecurrenceOutputs:
    """The rows of y and the state after each sample's own end, differentiable once; see ``odernn.recurrence``."""
    module.check_device(x)
    mode = checked_backward(backward, name, ("stored", "reversible", "exact"))
    (w, h, alpha), (y0, z0) = checked(x, w=w, step_size=step_size, alpha=alpha, y0=y0, z0=z0)
    ends = checked_ends(lengths, x)
    x, w, h, alpha, y0, z0 = reverse_only(x, w, h, alpha, y0, z0)
    if mode == "stored":
        y, y_last, z_last = _stored(x, w, h, alpha, y0, z0, ends)
    elif mode == "reversible":
        y, y_last, z_last, _ = _reversible(x, w, h, alpha, y0, z0, ends)
    else:
        if x.dtype != torch.float32:
            raise TypeError(
                f'x has dtype {x.dtype}, but backward="exact" of execution="cuda" keeps float32 increments in float64 '
                'sums. Give float32, or backward="stored".'
            )
        y, y_last, z_last, _ = _exact(x, w, h, alpha, y0, z0, ends)
    return RecurrenceOutputs(y, y_last, z_last, name, mode)


def inverse(
    x: Tensor,
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    y_last: Tensor,
    z_last: Tensor,
) -> RecurrenceResult:
    """All states from the last one, by the inverse step; not differentiable here."""
    module.check_device(x)
    (w, h, alpha), (y_last, z_last) = checked(
        x, w=w, step_size=step_size, alpha=alpha, y_last=y_last, z_last=z_last
    )
    y, z, y0, z0 = _inverse(*reverse_only(x, w, h, alpha, y_last, z_last))
    return RecurrenceResult(y, z, y0, z0, name)


@torch.no_grad()
def backward(
    x: Tensor,
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    states: RecurrenceResult,
    grad_y: Tensor,
    grad_y_last: Tensor | None = None,
    grad_z_last: Tensor | None = None,
) -> RecurrenceGradients:
    """Backpropagation through time from given states; see ``odernn.executions.torch_loop``."""
    module.check_device(x)
    (w, h, alpha), (p, q) = checked(
        x, w=w, step_size=step_size, alpha=alpha, grad_y_last=grad_y_last, grad_z_last=grad_z_last
    )
    if grad_y.shape != x.shape:
        raise ValueError(
            f"grad_y has shape {tuple(grad_y.shape)} but x has {tuple(x.shape)}: "
            "E needs one derivative for each y_n. Pad with zeros where E does not depend on y_n."
        )
    x, w, h, alpha, y0, y, z_last, grad_y, p, q = reverse_only(
        x, w, h, alpha, states.y0, states.y, states.z_last, grad_y, p, q
    )
    found = _stored_backward(x, w, h, alpha, y0, None, y, z_last, grad_y, None, p, q)
    return RecurrenceGradients(*found)


# --- launches: tensors of one dtype on one device


def _launch(kernel: str, x: Tensor, grid: int, *arguments: Tensor | int | None) -> None:
    if grid == 0:
        return
    values = []
    for each in arguments:
        if isinstance(each, Tensor):
            if not each.is_contiguous() or each.device != x.device:
                raise ValueError(f"{kernel}: a tensor of shape {tuple(each.shape)} is not contiguous on {x.device}")
            values.append(each.data_ptr())
        else:
            values.append(0 if each is None else each)
    found = KERNELS[kernel]
    module.launcher_for(x).launch(found, grid, tuple(values), threads=found.threads, shared=found.shared)


def _typed(kernel: str, x: Tensor) -> str:
    return f"{kernel}_{'f32' if x.dtype == torch.float32 else 'f64'}"


def _problem(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, lengths: Tensor | None
) -> tuple[tuple[Tensor | int | None, ...], tuple[Tensor, ...]]:
    """``Problem`` of recurrence.cuh, and the tensors that must live until the launch is enqueued."""
    steps, batch, hidden = x.shape
    if steps >= 2**31 - 2**16:
        raise ValueError(f"x has {steps} steps, but the kernels count them in 32 bits. Cut the sequence.")
    wide = [each.expand(batch, hidden) for each in (w, h, alpha)]
    strides = [stride for each in wide for stride in each.stride()]
    kept = (x.contiguous(),)
    block = (kept[0], *(each.data_ptr() for each in wide), lengths, steps, batch, hidden, *strides)
    return block, kept


def _columns(x: Tensor) -> int:
    return x.shape[1] * x.shape[2]


def _grid(x: Tensor) -> int:
    return -(-_columns(x) // LANES)


def _rows_of(gradient: Tensor | None, x: Tensor) -> tuple[Tensor, int]:
    """A gradient by all rows and the distance of its rows: 0 where one row serves all steps."""
    row = x.shape[1:]
    if gradient is None:
        return x.new_zeros(row), 0
    if len(gradient) > 0 and gradient.stride(0) == 0:
        return gradient[0].contiguous(), 0
    return gradient.contiguous(), _columns(x)


def _partials(x: Tensor) -> list[Tensor]:
    """What ``Gradients`` of recurrence.cuh points to."""
    return [torch.empty_like(x, memory_format=torch.contiguous_format), *(x.new_empty(x.shape[1:]) for _ in range(5))]


def _summed(found: list[Tensor], *coefficients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Columns added up where a coefficient was broadcast; never an alias."""
    with torch.autocast(found[0].device.type, enabled=False):
        by = [
            partial.sum_to_size(value.shape) if value.shape != partial.shape else partial
            for partial, value in zip(found[1:4], coefficients, strict=True)
        ]
    return found[0], by[0], by[1], by[2], found[4], found[5]


# --- operations


@torch.library.custom_op("odernn_cuda::stored", mutates_args=())
def _stored(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    return _run_forward(x, w, h, alpha, y0, z0, lengths)


def _run_forward(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    problem, _kept = _problem(x, w, h, alpha, lengths)
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    y_last, z_last = x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])
    before = (y0.contiguous(), z0.contiguous())
    if plan(len(x), _columns(x), x.dtype) == "scan":
        rounds = torch.empty((2, *x.shape[1:]), dtype=torch.int64, device=x.device)
        _launch("scan_forward_f32", x, _columns(x), *problem, *before, y, y_last, z_last, rounds)
    else:
        _launch(_typed("forward", x), x, _grid(x), *problem, *before, y, None, y_last, z_last, None, 0, 0)
    return y, y_last, z_last


@torch.library.custom_op("odernn_cuda::states", mutates_args=())
def _states(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor) -> tuple[Tensor, Tensor]:
    problem, _kept = _problem(x, w, h, alpha, None)
    y, z = (torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(2))
    lasts = [x.new_empty(x.shape[1:]) for _ in range(2)]
    before = (y0.contiguous(), z0.contiguous())
    _launch(_typed("forward_states", x), x, _grid(x), *problem, *before, y, z, *lasts, None, 0, 0)
    return y, z


def _checkpoints(x: Tensor) -> Tensor:
    return x.new_empty((2, max(len(x) - 1, 0) // CHECKPOINT_EVERY, *x.shape[1:]))


@torch.library.custom_op("odernn_cuda::reversible", mutates_args=())
def _reversible(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    problem, _kept = _problem(x, w, h, alpha, lengths)
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    y_last, z_last = x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])
    kept = _checkpoints(x)
    _launch(
        _typed("forward_checkpoints", x), x, _grid(x), *problem, y0.contiguous(), z0.contiguous(), y, None,
        y_last, z_last, kept, kept.shape[1], CHECKPOINT_EVERY,
    )  # fmt: skip
    return y, y_last, z_last, kept


@torch.library.custom_op("odernn_cuda::exact", mutates_args=())
def _exact(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    problem, _kept = _problem(x, w, h, alpha, lengths)
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    y_last, z_last = x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])
    last = torch.empty((2, *x.shape[1:]), dtype=torch.float64, device=x.device)
    before = (y0.contiguous(), z0.contiguous())
    _launch("exact_forward_f32", x, _grid(x), *problem, *before, y, y_last, z_last, last)
    return y, y_last, z_last, last


@torch.library.custom_op("odernn_cuda::inverse", mutates_args=())
def _inverse(
    x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y_last: Tensor, z_last: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    problem, _kept = _problem(x, w, h, alpha, None)
    y, z = (torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(2))
    y0, z0 = x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])
    after = (y_last.contiguous(), z_last.contiguous())
    _launch(_typed("inverse", x), x, _grid(x), *problem, *after, y, z, y0, z0)
    return y, z, y0, z0


@torch.library.custom_op("odernn_cuda::stored_backward", mutates_args=())
def _stored_backward(
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
    return _run_stored(x, w, h, alpha, y0, lengths, y, z_last, grad_y, grad_z, grad_y_last, grad_z_last)


def _run_stored(
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
    problem, _kept = _problem(x, w, h, alpha, lengths)
    rows, row = _rows_of(grad_y, x)
    lasts = [_rows_of(each, x)[0] if each is None else each.contiguous() for each in (grad_y_last, grad_z_last)]
    out = _partials(x)
    states = (y0.contiguous(), y.contiguous(), z_last.contiguous())
    if grad_z is None and plan(len(x), _columns(x), x.dtype, "backward") == "scan":
        stepped = torch.empty(x.shape[1:], dtype=torch.int64, device=x.device)
        _launch("scan_backward_f32", x, _columns(x), *problem, *states, rows, *lasts, *out, stepped, row)
    else:
        rows_z, row_z = (None, 0) if grad_z is None else _rows_of(grad_z, x)
        kernel = _typed("stored" if grad_z is None else "stored_states", x)
        _launch(kernel, x, _grid(x), *problem, *states, rows, rows_z, *lasts, *out, row, row_z)
    return _summed(out, w, h, alpha)


@torch.library.custom_op("odernn_cuda::reversible_backward", mutates_args=())
def _reversible_backward(
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
    problem, _kept = _problem(x, w, h, alpha, lengths)
    rows, row = _rows_of(grad_y, x)
    lasts = [_rows_of(each, x)[0] if each is None else each.contiguous() for each in (grad_y_last, grad_z_last)]
    out, found = _partials(x), x.new_empty((7, *x.shape[1:]))
    _launch(
        _typed("reversible", x), x, _grid(x), *problem, y0.contiguous(), z0.contiguous(), y_last.contiguous(),
        z_last.contiguous(), kept.contiguous(), rows, *lasts, *out, found, row, kept.shape[1], CHECKPOINT_EVERY,
    )  # fmt: skip
    rebuilt = _is_rebuilt(found, w, h, alpha)
    if _is_missed(found[0], rebuilt, z_last, "reversible"):
        y = _run_forward(x, w, h, alpha, y0, z0, lengths)[0]
        return _run_stored(x, w, h, alpha, y0, lengths, y, z_last, grad_y, None, grad_y_last, grad_z_last)
    return _summed(out, w, h, alpha)


@torch.library.custom_op("odernn_cuda::exact_backward", mutates_args=())
def _exact_backward(
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
    problem, _kept = _problem(x, w, h, alpha, lengths)
    rows, row = _rows_of(grad_y, x)
    lasts = [_rows_of(each, x)[0] if each is None else each.contiguous() for each in (grad_y_last, grad_z_last)]
    out = _partials(x)
    residual = torch.empty(x.shape[1:], dtype=torch.float64, device=x.device)
    _launch(
        "exact_backward_f32", x, _grid(x), *problem, y0.contiguous(), z0.contiguous(), last.contiguous(), rows, *lasts,
        *out, residual, row,
    )  # fmt: skip
    if _is_missed(residual, residual <= 0.0, last[1], "exact"):
        # The rows of the map that was run, not of another rounding of it.
        y, _, z_last, _ = _exact(x, w, h, alpha, y0, z0, lengths)
        return _run_stored(x, w, h, alpha, y0, lengths, y, z_last, grad_y, None, grad_y_last, grad_z_last)
    return _summed(out, w, h, alpha)


def _is_rebuilt(found: Tensor, w: Tensor, h: Tensor, alpha: Tensor) -> Tensor:
    """Which columns may be believed, (batch, hidden), by what the reversible kernel found out about each.

    With e the largest error of a rebuilt y or z, g_n = dE/dx_n and costates p, q (``recurrence.cuh``),

        dE/dw = Σ g_n y_{n-1},    dE/dα = −Σ h q_n y_{n-1},    dE/dh = Σ p_n z_n − q_n (s_n + α y_{n-1})

    are off by at most e Σ |g|, e Σ |h q| and e Σ (|p| + |w g + α h q| / h), to which each must be small. On a saddle
    the states are tiny where the costates are large: an e that is nothing to σ' is then all of the gradient.
    """
    gap, g, gy, hq, hqy, p, pz = found.unbind()
    share, size = RELATIVE[found.dtype], h.abs()
    pairs = (
        (gap * g, share * gy),
        (gap * hq, share * hqy),
        (gap * (size * p + w.abs() * g + alpha.abs() * hq), share * size * pz),
    )
    good = gap <= TOLERANCE[found.dtype]
    for error, admitted in pairs:
        good = good & (error <= admitted) & error.isfinite()  # ∞ ≤ ∞ says nothing
    return good


def _is_missed(gap: Tensor, good: Tensor, last: Tensor, mode: str) -> bool:
    """Whether not all rebuilt states are good; warns then. It waits for the device, which a graph's capture cannot."""
    if gap.is_cuda and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(
            f'backward="{mode}" compares the rebuilt states on the host, which a CUDA graph cannot. Capture with '
            'backward="stored".'
        )
    if bool(good.all()):
        return False
    # A NaN that was there at the end says nothing about the reconstruction.
    if bool(last.isfinite().all()):
        off = float(gap[~good].max())
        warnings.warn(
            f'backward="{mode}": a rebuilt state is off by {off:.3g}, which is more than the gradient admits. The rows '
            "were computed again and the gradient taken from them; this costs their memory.",
            ReconstructionWarning,
            stacklevel=2,
        )
    return True


# --- shapes for torch.compile, and gradients


def _like_rows(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _like_gradients(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor) -> tuple[Tensor, ...]:
    states = (x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:]))
    return (_like_rows(x), *(each.new_empty(each.shape) for each in (w, h, alpha)), *states)


@_stored.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None) -> Any:
    return _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])


@_states.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor) -> Any:
    return _like_rows(x), _like_rows(x)


@_reversible.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None) -> Any:
    return _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:]), _checkpoints(x)


@_exact.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, lengths: Tensor | None) -> Any:
    last = x.new_empty((2, *x.shape[1:]), dtype=torch.float64)
    return _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:]), last


@_inverse.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y_last: Tensor, z_last: Tensor) -> Any:
    return _like_rows(x), _like_rows(x), x.new_empty(x.shape[1:]), x.new_empty(x.shape[1:])


@_stored_backward.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, *_others: Any) -> Any:
    return _like_gradients(x, w, h, alpha)


@_reversible_backward.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, *_others: Any) -> Any:
    return _like_gradients(x, w, h, alpha)


@_exact_backward.register_fake
def _(x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, *_others: Any) -> Any:
    return _like_gradients(x, w, h, alpha)


def _keep_stored(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w, h, alpha, y0, _, lengths = inputs
    y, _, z_last = output
    ctx.save_for_backward(x, w, h, alpha, y0, lengths, y, z_last)


def _pull_stored(ctx: Any, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None) -> Any:
    found = _stored_backward(*ctx.saved_tensors, *reverse_only(grad_y, None, grad_y_last, grad_z_last))
    return *found, None


def _keep_states(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w, h, alpha, y0, z0 = inputs
    y, z = output
    ctx.save_for_backward(x, w, h, alpha, y0, None, y, z[-1].clone() if len(z) else z0)


def _pull_states(ctx: Any, grad_y: Tensor | None, grad_z: Tensor | None) -> Any:
    return _stored_backward(*ctx.saved_tensors, *reverse_only(grad_y, grad_z), None, None)


def _keep_reversible(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _, y_last, z_last, kept = output
    ctx.save_for_backward(*inputs, y_last, z_last, kept)


def _pull_reversible(
    ctx: Any, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None, _: Tensor | None
) -> Any:
    found = _reversible_backward(*ctx.saved_tensors, *reverse_only(grad_y, grad_y_last, grad_z_last))
    return *found, None


def _keep_exact(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs, output[3])


def _pull_exact(
    ctx: Any, grad_y: Tensor | None, grad_y_last: Tensor | None, grad_z_last: Tensor | None, _: Tensor | None
) -> Any:
    found = _exact_backward(*ctx.saved_tensors, *reverse_only(grad_y, grad_y_last, grad_z_last))
    return *found, None


_stored.register_autograd(_pull_stored, setup_context=_keep_stored)
_states.register_autograd(_pull_states, setup_context=_keep_states)
_reversible.register_autograd(_pull_reversible, setup_context=_keep_reversible)
_exact.register_autograd(_pull_exact, setup_context=_keep_exact)
