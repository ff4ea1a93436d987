"""The fused execution on CPU: kernels made by numba, which comes with ``pip install "odernn[fast]"``.

One operator, ``torch.ops.odernn.unicornn_cpu``, runs the recurrence from its drive x, or from what a layer sees: then
x = u Vᵀ + b is made a piece at a time, small enough to stay in cache, used and forgotten, and so is dE/dx. Its
derivative is a second operator; there is no third, so second derivatives need execution="torch".

What the modes of ``backward`` keep of a layer beside its input (x, or u, V and b), in arrays (time, batch, hidden):

    stored      y, the output                                                        1
    reversible  the state before every 128th step                                    1/64
    exact       the last state in float64, and two grids for every neuron            nothing that grows with time;
                but x instead of u, since it needs the same bits of it twice         1 in a network

Error. ``stored`` and ``reversible`` run (U) with every operation rounded once, some of them fused, and tanh to 2 ulp
(found: 1.32 ulp over every 7th float32); hence ``recurrence.admitted_error``. ``exact`` computes increments in the same
way but adds them in float64, on a grid g with 2⁵² g < max |state| ≤ 2⁵³ g: in float32 far smaller errors, in float64
the same bound; where a neuron overflows, increments are not rounded to a grid, infinities and NaN are those of the
other modes, and all its gradients are NaN, those by steps before the overflow too. Gradients are
computed in the dtype of x; sums over time are moved to float64 every 64 steps (128 in the mode "reversible").

Threads: min(torch.get_num_threads(), columns // 1024), each with blocks of columns of its own, one if there are fewer.
Their number changes no bit of the recurrence.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from odernn.autocast import in_full_digits
from odernn.recurrence import (
    UNIT_ROUNDOFF,
    Backward,
    Coefficients,
    ReconstructionWarning,
    RecurrenceGradients,
    RecurrenceOutputs,
    RecurrenceResult,
    checked,
    checked_backward,
    checked_ends,
)

try:
    from odernn.executions import _numba_recurrence as kernels
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] not in ("numba", "llvmlite"):
        raise
    raise ImportError('it needs numba, which is not installed: pip install "odernn[fast]"') from error

name = "cpu"

CHECKPOINT = 128
"""Steps between two kept states in the mode "reversible"."""

REBUILT_TOLERANCE = {dtype: u**0.5 for dtype, u in UNIT_ROUNDOFF.items()}
"""Largest admitted error that a rebuilt state shows, see ``kernels._doubt_row``: half of the digits.

Relative to sums of absolute values: a gradient that has lost half of its digits to cancellation may lose the others.
An ordinary piece shows 1e-6 to 1e-5 in float32, so that half is also far from false alarms.
"""

_LEAST = {dtype: 4 * u for dtype, u in UNIT_ROUNDOFF.items()}
"""An error of the rebuilt states that no sum asks to be better than: four roundings of the first step of a piece."""

COLUMNS_A_THREAD = 1024
"""With fewer columns a second thread costs more than it brings."""

_PIECE_BYTES = 1 << 22
"""Of x made at a time from u: small enough for caches, large enough for the calls not to count."""

_FEW = 16
"""Inputs of a layer up to which b is made a column of V, so that x is written once: [V b] [u 1]ᵀ."""

Array: TypeAlias = NDArray[Any]


def unavailable_because() -> str | None:
    """The kernels were imported with this module, so they are there."""
    return None


# --- the contract


def forward(
    x: Tensor,
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
) -> RecurrenceResult:
    """All states of (U); shapes, defaults and errors as stated in ``odernn.recurrence``. Differentiable once."""
    (w, h, alpha), (y0, z0) = _checked(x, w=w, step_size=step_size, alpha=alpha, y0=y0, z0=z0)
    y, z, _, _, _ = _operator(x, None, None, w, h, alpha, y0, z0, None, "stored", True)
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
    """The rows of y and the state after each sample's own end; see ``odernn.recurrence``. Differentiable once."""
    (w, h, alpha), (y0, z0) = _checked(x, w=w, step_size=step_size, alpha=alpha, y0=y0, z0=z0)
    mode, ends = checked_backward(backward, name, get_args(Backward)), checked_ends(lengths, x)
    y, _, y_last, z_last, _ = _operator(x, None, None, w, h, alpha, y0, z0, ends, mode, False)
    return RecurrenceOutputs(y, y_last, z_last, name, mode)


def layer_outputs(
    u: Tensor,
    V: Tensor,
    b: Tensor | None,
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    y0: Tensor,
    z0: Tensor,
    lengths: Tensor | None = None,
    backward: Backward = "stored",
) -> RecurrenceOutputs:
    """``outputs`` for the drive x = u Vᵀ + b of u (time, batch, below), V (hidden, below), b (hidden,).

    x and dE/dx are never there as a whole. u has to be finite beyond the ends of ``lengths``, too. The mode "exact"
    keeps x, since it needs the same bits of it twice.
    """
    mode = checked_backward(backward, name, get_args(Backward))
    if mode == "exact":
        x = torch.nn.functional.linear(u, V, b)
        return outputs(x, w=w, step_size=step_size, alpha=alpha, y0=y0, z0=z0, lengths=lengths, backward=mode)
    _refuse_forward_mode(u, V, b)
    like = y0.unsqueeze(0)
    (w, h, alpha), (y0, z0) = _checked(like, w=w, step_size=step_size, alpha=alpha, y0=y0, z0=z0)
    y, _, y_last, z_last, _ = _operator(u, V, b, w, h, alpha, y0, z0, checked_ends(lengths, like), mode, False)
    return RecurrenceOutputs(y, y_last, z_last, name, mode)


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
    """The recursion of the costates, as stated in ``torch_loop.backward``, from the states of a forward pass."""
    _refuse_forward_mode(grad_y, states.y, states.z, states.y0, states.z0)
    (w, h, alpha), (grad_y_last, grad_z_last) = _checked(
        x, w=w, step_size=step_size, alpha=alpha, grad_y_last=grad_y_last, grad_z_last=grad_z_last
    )
    if grad_y.shape != x.shape:
        raise ValueError(
            f"grad_y has shape {tuple(grad_y.shape)} but x has {tuple(x.shape)}: "
            "E needs one derivative for each y_n. Pad with zeros where E does not depend on y_n."
        )
    found = _derivative(
        grad_y, None, grad_y_last, grad_z_last, x, None, None, w, h, alpha, states.y0, states.z0, None,
        states.y, states.z_last, x.new_empty(0), "stored", True,
    )  # fmt: skip
    return RecurrenceGradients(found[0], *found[3:])


def inverse(
    x: Tensor,
    *,
    w: Tensor | float,
    step_size: Tensor | float,
    alpha: Tensor | float,
    y_last: Tensor,
    z_last: Tensor,
) -> RecurrenceResult:
    """All states from the last one, as ``torch_loop.inverse``; not differentiable, and an error if it should be."""
    given, (y_last, z_last) = _checked(x, w=w, step_size=step_size, alpha=alpha, y_last=y_last, z_last=z_last)
    if torch.is_grad_enabled() and any(a.requires_grad for a in (x, *given, y_last, z_last)):
        raise NotImplementedError(
            'The inverse of execution="cpu" has no derivative. Use torch.no_grad(), or execution="torch".'
        )
    y, z = x.new_empty(x.shape), x.new_empty(x.shape)
    job = _Job.of(len(x), x.shape[1:], x.dtype, None)
    lanes = job.lanes(*given, y_last, z_last)
    job.run(kernels.inverse, (_rows(x), _rows(y), _rows(z), lanes, job.places))
    first = (job.unpacked(lanes, kernels.Y, x), job.unpacked(lanes, kernels.Z, x))
    return RecurrenceResult(y, z, *first, name)


def _checked(x: Tensor, **arguments: Any) -> tuple[Coefficients, tuple[Tensor, ...]]:
    """As ``recurrence.checked``, and on CPU."""
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f'x is on {x.device}, but execution="cpu" runs on CPU. Move it, or choose another execution.')
    _refuse_forward_mode(x, *arguments.values())
    return checked(x, **arguments)


def _refuse_forward_mode(*values: Any) -> None:
    """NotImplementedError if one of them has a tangent, which torch would drop: an operator without reverse-mode inputs
    goes past the derivatives that are registered for it. Inside of torch.compile nothing is checked."""
    if torch.compiler.is_compiling():
        return
    if any(isinstance(value, Tensor) and unpack_dual(value).tangent is not None for value in values):
        raise NotImplementedError(
            'execution="cpu" has no forward-mode derivative: its derivative is one pass backwards in time. '
            'Use reverse mode, or execution="torch".'
        )


# --- the operators


# Not by ``custom_op``, which does these four things, too, but whose first call imports torch's compiler: 1.5 seconds.

_FORWARD, _BACKWARD = "odernn::unicornn_cpu", "odernn::unicornn_cpu_backward"
torch.library.define(
    _FORWARD,
    "(Tensor u, Tensor? V, Tensor? b, Tensor w, Tensor h, Tensor alpha, Tensor y0, Tensor z0, Tensor? ends, str mode, "
    "bool with_z) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
torch.library.define(
    _BACKWARD,
    "(Tensor? grad_y, Tensor? grad_z, Tensor? grad_y_last, Tensor? grad_z_last, Tensor u, Tensor? V, Tensor? b, "
    "Tensor w, Tensor h, Tensor alpha, Tensor y0, Tensor z0, Tensor? ends, Tensor y, Tensor z_last, Tensor kept, "
    "str mode, bool needs_u) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
_operator, _derivative = torch.ops.odernn.unicornn_cpu, torch.ops.odernn.unicornn_cpu_backward


@torch.library.impl(_FORWARD, "CPU")
@in_full_digits
def _run_forward(
    u: Tensor,
    V: Tensor | None,
    b: Tensor | None,
    w: Tensor,
    h: Tensor,
    alpha: Tensor,
    y0: Tensor,
    z0: Tensor,
    ends: Tensor | None,
    mode: str,
    with_z: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """y, z (empty unless ``with_z``), the last state, and what the mode keeps. u is x if there is no V."""
    steps, batch, hidden = len(u), *y0.shape
    job = _Job.of(steps, y0.shape, u.dtype, ends)
    drive = _Drive(u, V, b, hidden, mode, job)
    y = _fresh((steps, batch, hidden), u)
    z = _fresh((steps if with_z else 0, batch, hidden), u)
    lanes = job.lanes(w, h, alpha, y0, z0)
    if mode == "exact":
        grid = _Grid.of(drive, job, lanes, y0, z0)
        grid.run(drive, lanes, _rows(y), _rows(z))
        kept = grid.kept()
        kept_y, kept_z = (kept[k].to(u.dtype, copy=True) for k in (0, 1))
        return y, z, kept_y, kept_z, kept
    every = CHECKPOINT if mode == "reversible" else 0
    kept = u.new_empty((-(-steps // CHECKPOINT) if every else 0, 2, batch, hidden))
    flat = kept.numpy().reshape(len(kept), 2, job.columns)
    for n0, n1 in drive.pieces():
        x = drive.x(n0, n1)
        job.run(kernels.forward, (x, _rows(y), _rows(z), flat, every, n0, lanes, job.places))
    return y, z, job.unpacked(lanes, kernels.Y, y0), job.unpacked(lanes, kernels.Z, y0), kept


@torch.library.register_fake(_FORWARD)
def _fake_forward(u, V, b, w, h, alpha, y0, z0, ends, mode, with_z):  # type: ignore[no-untyped-def]
    steps, (batch, hidden) = u.shape[0], y0.shape
    kept = (
        y0.new_empty((4, batch, hidden), dtype=torch.float64)
        if mode == "exact"
        else y0.new_empty(((steps + CHECKPOINT - 1) // CHECKPOINT if mode == "reversible" else 0, 2, batch, hidden))
    )
    y = y0.new_empty((steps, batch, hidden))
    z = y0.new_empty((steps if with_z else 0, batch, hidden))
    return y, z, y0.new_empty((batch, hidden)), y0.new_empty((batch, hidden)), kept


@torch.library.impl(_BACKWARD, "CPU")
@in_full_digits
def _run_backward(
    grad_y: Tensor | None,
    grad_z: Tensor | None,
    grad_y_last: Tensor | None,
    grad_z_last: Tensor | None,
    u: Tensor,
    V: Tensor | None,
    b: Tensor | None,
    w: Tensor,
    h: Tensor,
    alpha: Tensor,
    y0: Tensor,
    z0: Tensor,
    ends: Tensor | None,
    y: Tensor,
    z_last: Tensor,
    kept: Tensor,
    mode: str,
    needs_u: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """dE by u, V, b, w, h, α, y0, z0. y: its rows in the mode "stored", y_N (1, batch, hidden) in the others."""
    steps, batch, hidden = len(u), *y0.shape
    job = _Job.of(steps, y0.shape, u.dtype, ends)
    drive = _Drive(u, V, b, hidden, mode, job)
    pull = _Pull(drive, needs_u)
    lanes = job.lanes(w, h, alpha, y[-1] if len(y) else y0, z_last)
    for lane, given in ((kernels.P, grad_y_last), (kernels.Q, grad_z_last)):
        if given is not None:
            job.pack(lanes, lane, given)
    sums = np.zeros((job.rows, kernels.SUM_LANES * kernels.PITCH))
    found = np.zeros((job.blocks, 3))
    grid = _Grid.restored(kept, job) if mode == "exact" else None
    nothing = y0.new_zeros((1, batch, hidden))
    one = job.one
    flat_y, flat_y0 = _rows(y), _rows(y0.unsqueeze(0))[0]
    for n0, n1 in reversed(list(drive.pieces())):
        x, grad_x = drive.x(n0, n1), pull.rows(n0, n1)
        by_y = _rows(nothing if grad_y is None else grad_y[n0:n1])
        by_z = _rows(y0.new_empty((0, batch, hidden)) if grad_z is None else grad_z[n0:n1])
        if mode == "stored":
            job.run(
                kernels.stored_backward,
                (x, flat_y0, flat_y, by_y, by_z, grad_x, n0, lanes, sums, job.places),
                (one, one * UNIT_ROUNDOFF[u.dtype]),
            )
        elif mode == "reversible":
            tolerance = one * REBUILT_TOLERANCE[u.dtype]
            least = one * (_LEAST[u.dtype] / REBUILT_TOLERANCE[u.dtype])
            flat = kept.numpy().reshape(len(kept), 2, job.columns)
            job.run(
                kernels.rebuilt_backward,
                (x, flat, by_y, by_z, grad_x, CHECKPOINT, n0, lanes, sums, job.places, tolerance, least, found),
                (one,),
            )
        else:
            assert grid is not None
            job.run(kernels.exact_backward, (x, by_y, by_z, grad_x, n0, lanes, grid.states, sums, job.places), (one,))
        pull.take(n0, n1)
    if mode == "reversible":
        _warn_of(found, REBUILT_TOLERANCE[u.dtype])
    if grid is not None:
        grid.check_returned(y0, z0)
    by = [
        _sum_to(job.unpacked_sums(sums, lane), shape, u)
        for lane, shape in (
            (kernels.SUM_X, (hidden,)), (kernels.SUM_W, w.shape), (kernels.SUM_H, h.shape), (kernels.SUM_A, alpha.shape)
        )
    ]  # fmt: skip
    by_b = by[0] if b is not None else u.new_empty(0)
    starts = (job.unpacked(lanes, kernels.P, y0), job.unpacked(lanes, kernels.Q, y0))
    return pull.by_u, pull.by_V, by_b, by[1], by[2], by[3], *starts


@torch.library.register_fake(_BACKWARD)
def _fake_backward(  # type: ignore[no-untyped-def]
    grad_y, grad_z, grad_y_last, grad_z_last, u, V, b, w, h, alpha, y0, z0, ends, y, z_last, kept, mode, needs_u
):  # fmt: skip
    empty = u.new_empty(0)
    by_u = u.new_empty(u.shape) if V is None or needs_u else empty
    by_V = empty if V is None else V.new_empty(V.shape)
    by_b = empty if b is None else b.new_empty(b.shape)
    return by_u, by_V, by_b, *(a.new_empty(a.shape) for a in (w, h, alpha, y0, z0))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    u, V, b, w, h, alpha, y0, z0, ends, mode, _ = inputs
    y, _, y_last, z_last, kept = output
    rows = y if mode == "stored" else y_last.unsqueeze(0)
    ctx.save_for_backward(u, V, b, w, h, alpha, y0, z0, ends, rows, z_last, kept)
    ctx.mode = mode
    ctx.set_materialize_grads(False)


def _differentiate(
    ctx: Any,
    grad_y: Tensor | None,
    grad_z: Tensor | None,
    grad_y_last: Tensor | None,
    grad_z_last: Tensor | None,
    _grad_kept: Tensor | None,
) -> tuple[Any, ...]:
    u, V, b, *rest = ctx.saved_tensors
    by_u, by_V, by_b, *others = _derivative(
        grad_y, grad_z, grad_y_last, grad_z_last, u, V, b, *rest, ctx.mode, ctx.needs_input_grad[0]
    )
    is_given = by_u if V is None or ctx.needs_input_grad[0] else None
    return (is_given, None if V is None else by_V, None if b is None else by_b, *others, None, None, None)


def _no_second_derivative(ctx: Any, *grads: Any) -> tuple[Any, ...]:
    raise NotImplementedError(
        'execution="cpu" has first derivatives only, and a derivative of its gradient was asked for '
        '(create_graph=True). Use execution="torch".'
    )


torch.library.register_autograd(_FORWARD, _differentiate, setup_context=_remember)
torch.library.register_autograd(_BACKWARD, _no_second_derivative)


# --- one call


@dataclass(frozen=True)
class _Job:
    """The columns of one call in blocks of at most ``kernels.WIDTH``, each within samples of one length.

    places (5, blocks) as stated in ``kernels``. Row k of lanes has the columns k WIDTH .. (k+1) WIDTH − 1:
    no more rows where there are more lengths, and so blocks.
    """

    shape: tuple[int, int]
    columns: int
    places: Array
    dtype: torch.dtype

    @staticmethod
    def of(steps: int, shape: torch.Size | tuple[int, ...], dtype: torch.dtype, ends: Tensor | None) -> _Job:
        batch, hidden = shape
        columns = batch * hidden
        starts = np.arange(0, columns, kernels.WIDTH)
        if ends is not None and columns:
            own = ends.numpy()
            starts = np.union1d(starts, (np.flatnonzero(np.diff(own)) + 1) * hidden)
            last = own[starts // hidden]
        else:
            last = np.full(len(starts), steps)
        stops = np.append(starts[1:], columns) if len(starts) else starts
        places = np.stack([starts, stops, last, starts // kernels.WIDTH, starts % kernels.WIDTH])
        return _Job((batch, hidden), columns, np.ascontiguousarray(places, dtype=np.int64), dtype)

    @property
    def blocks(self) -> int:
        return int(self.places.shape[1])

    @property
    def rows(self) -> int:
        return -(-self.columns // kernels.WIDTH)

    @property
    def one(self) -> Any:
        """1 in the dtype, as numba has to be told."""
        return np.float32(1) if self.dtype == torch.float32 else np.float64(1)

    def lanes(self, w: Tensor, h: Tensor, alpha: Tensor, y: Tensor, z: Tensor) -> Array:
        found = np.zeros((self.rows, kernels.LANES * kernels.PITCH), self.one.dtype)
        given = ((kernels.W, w), (kernels.H, h), (kernels.A, alpha), (kernels.Y, y), (kernels.Z, z))
        for lane, value in given:
            self.pack(found, lane, value)
        return found

    def pack(self, lanes: Array, lane: int, value: Tensor) -> None:
        flat = value.detach().expand(self.shape).contiguous().numpy().reshape(self.columns)
        kernels.pack(lanes, lane, flat, self.places)

    def unpacked(self, lanes: Array, lane: int, like: Tensor) -> Tensor:
        found = torch.empty(self.shape, dtype=like.dtype)
        kernels.unpack(lanes, lane, found.numpy().reshape(self.columns), self.places)
        return found

    def unpacked_sums(self, sums: Array, lane: int) -> Array:
        found = np.empty(self.columns)
        kernels.unpack(sums, lane, found, self.places)
        return found.reshape(self.shape)

    def run(self, kernel: Callable[..., None], arguments: tuple[Any, ...], tail: tuple[Any, ...] = ()) -> None:
        """The kernel on all blocks, in as many threads as the columns warrant."""
        threads = min(torch.get_num_threads(), self.columns // COLUMNS_A_THREAD, self.blocks)
        if threads < 2:
            kernel(*arguments, 0, self.blocks, *tail)
            return
        bounds = [self.blocks * k // threads for k in range(threads + 1)]
        waiting = [_pool().submit(kernel, *arguments, *pair, *tail) for pair in pairwise(bounds[1:])]
        kernel(*arguments, bounds[0], bounds[1], *tail)
        for each in waiting:
            each.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="odernn")


if hasattr(os, "register_at_fork"):  # a child process has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


class _Drive:
    """x, as it is or made piece by piece from u, V and b."""

    def __init__(self, u: Tensor, V: Tensor | None, b: Tensor | None, hidden: int, mode: str, job: _Job) -> None:
        self.u, self.V, self.b = u.detach().contiguous(), None if V is None else V.detach(), b
        self.columns, self.hidden, self.steps = job.columns, hidden, len(u)
        if V is None:
            self.length = max(self.steps, 1)
        else:
            self.length = max(_PIECE_BYTES // max(job.columns * u.element_size(), 1), 1)
        if mode == "reversible":
            self.length = -(-self.length // CHECKPOINT) * CHECKPOINT
        self.length = min(self.length, max(self.steps, 1))
        self.buffer = None if V is None else u.new_empty((self.length * job.shape[0], hidden))
        self.both: Tensor | None = None
        if V is not None and b is not None and u.shape[2] <= _FEW:
            self.both = torch.cat([V.detach(), b.detach().unsqueeze(1)], dim=1).t().contiguous()
            self.ones = u.new_ones((self.length * job.shape[0], 1))

    def pieces(self) -> Iterator[tuple[int, int]]:
        for n0 in range(0, self.steps, self.length):
            yield n0, min(n0 + self.length, self.steps)

    def seen(self, n0: int, n1: int) -> Tensor:
        """Rows of u, (time · batch, below)."""
        return self.u[n0:n1].reshape((n1 - n0) * self.u.shape[1], self.u.shape[2])

    def x(self, n0: int, n1: int) -> Array:
        """Rows n0..n1 of x, (time, columns); valid until the next call."""
        if self.V is None or self.buffer is None:
            return _rows(self.u[n0:n1])
        rows = self.seen(n0, n1)
        out = self.buffer[: len(rows)]
        if self.both is not None:
            torch.mm(torch.cat([rows, self.ones[: len(rows)]], dim=1), self.both, out=out)
        elif self.b is None:
            torch.mm(rows, self.V.t(), out=out)
        else:
            torch.addmm(self.b.detach(), rows, self.V.t(), out=out)
        return out.numpy().reshape(n1 - n0, self.columns)


class _Pull:
    """dE/dx, as it is or taken piece by piece to u and V."""

    def __init__(self, drive: _Drive, needs_u: bool) -> None:
        self.drive, empty = drive, drive.u.new_empty(0)
        self.by_V = empty if drive.V is None else torch.zeros_like(drive.V, memory_format=torch.contiguous_format)
        self.by_u = _fresh(tuple(drive.u.shape), drive.u) if drive.V is None or needs_u else empty
        self.needs_u = needs_u
        self.buffer = None if drive.buffer is None else torch.empty_like(drive.buffer)

    def rows(self, n0: int, n1: int) -> Array:
        """Where a kernel writes rows n0..n1 of dE/dx."""
        if self.buffer is None:
            return _rows(self.by_u[n0:n1])
        batch = self.drive.u.shape[1]
        return self.buffer[: (n1 - n0) * batch].numpy().reshape(n1 - n0, self.drive.columns)

    def take(self, n0: int, n1: int) -> None:
        """dE/dV += (dE/dx)ᵀ u, and dE/du = (dE/dx) V."""
        if self.buffer is None or self.drive.V is None:
            return
        seen = self.drive.seen(n0, n1)
        rows = self.buffer[: len(seen)]
        self.by_V.addmm_(rows.t(), seen)
        if self.needs_u:
            torch.mm(rows, self.drive.V, out=self.by_u[n0:n1].view(seen.shape))


class _Grid:
    """The state of the exact mode: multiples of a grid for every column, in float64."""

    def __init__(self, job: _Job) -> None:
        self.job = job
        self.states = np.zeros((job.rows, kernels.EXACT_LANES * kernels.PITCH))

    @staticmethod
    def of(drive: _Drive, job: _Job, lanes: Array, y0: Tensor, z0: Tensor) -> _Grid:
        """Grids that the trajectory needs, by running it once: 2⁵³ g ≥ (1 + 2⁻¹⁰) max |y_n|, and so for z.

        Where it overflows, none: states beyond 2⁵³ times the finest grid are not rounded, and not stepped back to.
        """
        trial = lanes.copy()
        job.pack(trial, kernels.MAX_Y, y0.abs())
        job.pack(trial, kernels.MAX_Z, z0.abs())
        for n0, n1 in drive.pieces():
            job.run(kernels.maxima, (drive.x(n0, n1), n0, trial, job.places))
        grid = _Grid(job)
        for source, lane in ((kernels.MAX_Y, kernels.GRID_Y), (kernels.MAX_Z, kernels.GRID_Z)):
            grid._choose(lane, _grid_for(job.unpacked_sums(trial, source), 1 + 2.0**-10))
        return grid

    @staticmethod
    def restored(kept: Tensor, job: _Job) -> _Grid:
        grid = _Grid(job)
        y, z, g_y, g_z = kept.numpy()
        grid._pack(kernels.EXACT_Y, y)
        grid._pack(kernels.EXACT_Z, z)
        grid._choose(kernels.GRID_Y, g_y)
        grid._choose(kernels.GRID_Z, g_z)
        return grid

    def kept(self) -> Tensor:
        """y_N, z_N and their grids, (4, batch, hidden)."""
        return torch.from_numpy(np.stack([self._lane(lane) for lane in (*_EXACT, kernels.GRID_Y, kernels.GRID_Z)]))

    def _lane(self, lane: int) -> Array:
        return self.job.unpacked_sums(self.states, lane)

    def _pack(self, lane: int, values: Array) -> None:
        flat = np.ascontiguousarray(values).reshape(self.job.columns)
        kernels.pack(self.states, lane, flat, self.job.places)

    def _choose(self, lane: int, g: Array) -> None:
        self._pack(lane, g)
        self._pack(kernels.PER_Y if lane == kernels.GRID_Y else kernels.PER_Z, 1.0 / g)

    def start(self, state: Array, lane: int) -> Array:
        """y0 or z0 rounded to the grid in ``lane``."""
        g = self._lane(lane)
        is_on_range = np.abs(state) / 2.0**53 <= g
        rounded: Array = np.where(is_on_range, np.rint(np.where(is_on_range, state, 0.0) / g) * g, state)
        return rounded

    def run(self, drive: _Drive, lanes: Array, y: Array, z: Array) -> None:
        """All steps; where a state leaves the range of its grid, all of them again with a coarser one."""
        job = self.job
        firsts = [job.unpacked_sums(lanes, lane) for lane in (kernels.Y, kernels.Z)]
        tops = (kernels.TOP_Y, kernels.TOP_Z)
        while True:
            for first, lane, g, top in zip(firsts, _EXACT, _GRIDS, tops, strict=True):
                rounded = self.start(first, g)
                self._pack(lane, rounded)
                self._pack(top, np.abs(rounded))
            for n0, n1 in drive.pieces():
                job.run(kernels.exact_forward, (drive.x(n0, n1), y, z, n0, lanes, self.states, job.places))
            has_left = False
            for g, top in zip(_GRIDS, tops, strict=True):
                largest, used = self._lane(top), self._lane(g)
                leaves = (largest / 2.0**53 > used) & np.isfinite(largest)
                if leaves.any():
                    has_left = True
                    self._choose(g, np.where(leaves, _grid_for(largest, 2.0), used))
            if not has_left:
                return

    def check_returned(self, y0: Tensor, z0: Tensor) -> None:
        """Nothing, or RuntimeError if a finite state did not come back to the bit where it started."""
        for state, lane, g in zip((y0, z0), _EXACT, _GRIDS, strict=True):
            found, expected = self._lane(lane), self.start(state.detach().double().numpy(), g)
            wrong = (found != expected) & np.isfinite(found) & np.isfinite(expected)
            if wrong.any():
                raise RuntimeError(
                    f'backward="exact" did not return to the initial state in {int(wrong.sum())} of {wrong.size} '
                    "neurons: the gradient would be wrong. This is an error of odernn; please report it."
                )


_EXACT = (kernels.EXACT_Y, kernels.EXACT_Z)
_GRIDS = (kernels.GRID_Y, kernels.GRID_Z)


def _grid_for(largest: Array, factor: float) -> Array:
    """The smallest power of two g with 2⁵³ g ≥ factor · largest, at least _FINEST; _FINEST if it is infinite."""
    is_finite = np.isfinite(largest)
    bounded = np.where(is_finite, largest, 0.0) * 2.0**-53 * factor
    found: Array = np.where(is_finite, np.maximum(np.exp2(np.frexp(bounded)[1]), _FINEST), _FINEST)
    return found


_FINEST = 2.0**-900
"""Its multiples and its inverse are ordinary numbers, as are those of the grid of the largest float64, 2⁹⁷²."""


def _sum_to(values: Array, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """values (batch, hidden) summed to a shape that broadcasts to it; by numpy, in an order that never changes."""
    summed = values.sum(axis=tuple(range(2 - len(shape))))
    axes = tuple(k for k, size in enumerate(shape) if size == 1 and summed.shape[k] != 1)
    return torch.as_tensor(summed.sum(axis=axes, keepdims=True) if axes else summed).to(like.dtype).reshape(shape)


def _rows(rows: Tensor) -> Array:
    """(time, batch, hidden) as (time, columns), without a copy if it is contiguous."""
    found: Array = rows.detach().contiguous().numpy()
    return found.reshape(found.shape[0], found.shape[1] * found.shape[2])


def _warn_of(found: Array, tolerance: float) -> None:
    pieces, again = int(found[:, 0].sum()), int(found[:, 1].sum())
    if again:
        warnings.warn(
            f'backward="reversible": in {again} of {pieces} pieces of {CHECKPOINT} steps the rebuilt states were off '
            f"by up to {found[:, 2].max():.1e} of themselves or of a gradient (tolerance {tolerance:.1e}); these were "
            'computed again from their checkpoints. The gradient is right but took longer; backward="stored" does not '
            "rebuild.",
            ReconstructionWarning,
            stacklevel=2,
        )


# --- memory


def _fresh(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """An empty tensor; on Linux a large one asks for large pages, whose first use costs less."""
    found = torch.empty(shape, dtype=like.dtype)
    size = found.numel() * found.element_size()
    if size >= _LARGE and (advise := _madvise()) is not None:
        first = -(-found.data_ptr() // _PAGE) * _PAGE
        advise(first, (found.data_ptr() + size - first) // _PAGE * _PAGE, _MADV_HUGEPAGE)
    return found


_LARGE, _PAGE, _MADV_HUGEPAGE = 1 << 23, 1 << 12, 14


@cache
def _madvise() -> Callable[[int, int, int], int] | None:
    """The system's madvise(address, length, advice); advice can be ignored, and its result is."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    found: Callable[[int, int, int], int] = function
    return found
