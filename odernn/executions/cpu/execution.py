"""The fused execution on CPU: kernels made by numba, which comes with ``pip install "odernn[fast]"``.

One operator, ``torch.ops.odernn.unicornn_cpu``, runs the recurrence from its drive x, or from what a layer sees: then
x = u Vᵀ + b is made a piece at a time, small enough to stay in cache, used and forgotten, and so is dE/dx; with few
inputs, in the mode ``stored``, it is made in the kernels, eight steps at a time. The derivative is a second operator;
there is no third, so second derivatives need execution="torch".

What the modes of ``backward`` keep of a layer beside its input (x, or u, V and b), in arrays (time, batch, hidden):

    stored      y, the output                                                        1
    reversible  the state before every 128th step                                    1/64
    exact       the last state in float64, and two grids for every neuron            nothing that grows with time;
                but x instead of u, since it needs the same bits of it twice         1 in a network

Error. ``stored`` and ``reversible`` run (U) with every operation rounded once, some of them fused, and tanh to 3.11 u
in float32 (the largest error of all numbers), to 2 ulp, at most 4 u, in float64; hence ``recurrence.admitted_error``.
``exact`` computes increments in the same way, with a tanh to 1.4 ulp, but adds them in float64, on a grid g with
2⁵² g < max |state| ≤ 2⁵³ g: in float32 far smaller errors, in float64 the same bound; where a neuron overflows,
increments are not rounded to a grid, infinities and NaN are those of the other modes, and all its gradients are NaN,
those by steps before the overflow too. Gradients are computed in the dtype of x; sums over time are moved to float64
every 64 steps (128 in the mode "reversible").

Threads: min(torch.get_num_threads(), columns // 8192), one if there are fewer; each takes one range of blocks after
another. Their number changes no bit of the recurrence.
"""

from __future__ import annotations

from typing import Any, Unpack, get_args

import torch
from torch import Tensor
from torch.autograd import forward_ad

from odernn.executions.autocast import in_full_digits
from odernn.executions.operators import differentiable, in_forward_mode
from odernn.executions.recurrence import (
    UNIT_ROUNDOFF,
    Backward,
    Coefficients,
    GivenCoefficients,
    RecurrenceGradients,
    RecurrenceOutputs,
    RecurrenceResult,
    check_grad_y,
    checked,
    checked_backward,
    checked_ends,
)

try:
    from odernn.executions.cpu.kernels import rebuilt as rebuilt_kernels
    from odernn.executions.cpu.kernels import recurrence as recurrence_kernels
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] not in ("numba", "llvmlite"):
        raise
    raise ImportError('it needs numba, which is not installed: pip install "odernn[fast]"') from error

from odernn.executions.cpu.backward import Costates
from odernn.executions.cpu.columns import ColumnJob, rows_of
from odernn.executions.cpu.drive import CHECKPOINT, Drive, Pull
from odernn.executions.cpu.exact import Grid
from odernn.executions.cpu.kernels import lanes as lanes_of
from odernn.executions.cpu.memory import fresh
from odernn.executions.cpu.threads import alone

name = "cpu"

_NO_TANGENT = (
    'execution="cpu" has no forward-mode derivative: its derivative is one pass backwards in time. '
    'Use reverse mode, or execution="torch".'
)

REBUILT_TOLERANCE = {dtype: u**0.5 for dtype, u in UNIT_ROUNDOFF.items()}
"""Largest admitted error that a rebuilt state shows, see ``kernels.rebuilt._doubt_row``: half of the digits.

Relative to sums of absolute values: a gradient that has lost half of its digits to cancellation may lose the others.
An ordinary piece shows 1e-6 to 1e-5 in float32, so that half is also far from false alarms.
"""


def unavailable_because() -> str | None:
    """The kernels were imported with this module, so they are there."""
    return None


# --- the contract


def forward(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All states of (U); shapes, defaults and errors as stated in ``executions.recurrence``. Differentiable once."""
    (w, h, alpha), (y0, z0) = _checked(x, {"y0": y0, "z0": z0}, **given)
    y, z, _, _, _ = _operator(x, None, None, w, h, alpha, y0, z0, None, "stored", True)
    return RecurrenceResult(y, z, y0, z0, name)


def outputs(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    lengths: Tensor | None = None,
    backward: Backward = "stored",
    **given: Unpack[GivenCoefficients],
) -> RecurrenceOutputs:
    """The rows of y and the state after each sample's own end; see ``executions.recurrence``. Differentiable once."""
    (w, h, alpha), (y0, z0) = _checked(x, {"y0": y0, "z0": z0}, **given)
    mode, ends = checked_backward(backward, name, get_args(Backward)), checked_ends(lengths, x)
    y, _, y_last, z_last, _ = _operator(x, None, None, w, h, alpha, y0, z0, ends, mode, False)
    return RecurrenceOutputs(y, y_last, z_last, name, mode)


def layer_outputs(
    u: Tensor,
    V: Tensor,
    b: Tensor | None,
    *,
    y0: Tensor,
    z0: Tensor,
    lengths: Tensor | None = None,
    backward: Backward = "stored",
    **given: Unpack[GivenCoefficients],
) -> RecurrenceOutputs:
    """``outputs`` for the drive x = u Vᵀ + b of u (time, batch, below), V (hidden, below), b (hidden,).

    x and dE/dx are never there as a whole. u has to be finite beyond the ends of ``lengths``, too. The mode "exact"
    keeps x, since it needs the same bits of it twice.
    """
    mode = checked_backward(backward, name, get_args(Backward))
    if mode == "exact":
        x = torch.nn.functional.linear(u, V, b)
        return outputs(x, y0=y0, z0=z0, lengths=lengths, backward=mode, **given)
    _refuse_forward_mode(u, V, b)
    like = y0.unsqueeze(0)
    (w, h, alpha), (y0, z0) = _checked(like, {"y0": y0, "z0": z0}, **given)
    y, _, y_last, z_last, _ = _operator(u, V, b, w, h, alpha, y0, z0, checked_ends(lengths, like), mode, False)
    return RecurrenceOutputs(y, y_last, z_last, name, mode)


@torch.no_grad()
def backward(
    x: Tensor,
    *,
    states: RecurrenceResult,
    grad_y: Tensor,
    grad_y_last: Tensor | None = None,
    grad_z_last: Tensor | None = None,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceGradients:
    """The recursion of the costates, as stated in ``torch_loop.backward``, from the states of a forward pass."""
    _refuse_forward_mode(grad_y, states.y, states.z, states.y0, states.z0)
    (w, h, alpha), (p, q) = _checked(x, {"grad_y_last": grad_y_last, "grad_z_last": grad_z_last}, **given)
    check_grad_y(grad_y, x)
    derivatives = _derivative(
        grad_y,
        None,
        p,
        q,
        x,
        None,
        None,
        w,
        h,
        alpha,
        states.y0,
        states.z0,
        None,
        states.y,
        states.z_last,
        x.new_empty(0),
        "stored",
        True,
    )
    return RecurrenceGradients(derivatives[0], *derivatives[3:])


def inverse(
    x: Tensor,
    *,
    y_last: Tensor,
    z_last: Tensor,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All states from the last one, as ``torch_loop.inverse``; not differentiable, and an error if it should be."""
    coefficients, (y_last, z_last) = _checked(x, {"y_last": y_last, "z_last": z_last}, **given)
    if torch.is_grad_enabled() and any(a.requires_grad for a in (x, *coefficients, y_last, z_last)):
        raise NotImplementedError(
            'The inverse of execution="cpu" has no derivative. Use torch.no_grad(), or execution="torch".'
        )
    y, z = x.new_empty(x.shape), x.new_empty(x.shape)
    job = ColumnJob.of(len(x), x.shape[1:], x.dtype, None)
    lanes = job.lanes(*coefficients, y_last, z_last)
    job.run(rebuilt_kernels.inverse, (rows_of(x), rows_of(y), rows_of(z), lanes, job.places))
    first = (job.unpacked(lanes, lanes_of.Y, x), job.unpacked(lanes, lanes_of.Z, x))
    return RecurrenceResult(y, z, *first, name)


def _checked(
    x: Tensor, states: dict[str, Tensor | None], **given: Unpack[GivenCoefficients]
) -> tuple[Coefficients, tuple[Tensor, ...]]:
    """As ``recurrence.checked``, and on CPU."""
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f'x is on {x.device}, but execution="cpu" runs on CPU. Move it, or choose another execution.')
    _refuse_forward_mode(x, *states.values(), *given.values())
    return checked(x, states, **given)


def _refuse_forward_mode(*values: Any) -> None:
    """NotImplementedError if one of them has a tangent, which torch would drop: an operator without reverse-mode inputs
    goes past the derivatives that are registered for it. Inside of torch.compile nothing is checked."""
    if torch.compiler.is_compiling() or not in_forward_mode():
        return
    if any(isinstance(value, Tensor) and forward_ad.unpack_dual(value).tangent is not None for value in values):
        raise NotImplementedError(_NO_TANGENT)


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
    job = ColumnJob.of(steps, y0.shape, u.dtype, ends)
    drive = Drive(u, V, b, hidden, mode, job, in_kernels=mode == "stored" and not with_z)
    y = fresh((steps, batch, hidden), u)
    z = fresh((steps if with_z else 0, batch, hidden), u)
    if drive.is_in_kernels:
        with alone():
            lanes = job.lanes(w, h, alpha, y0, z0)
            job.run(recurrence_kernels.layer_forward, (*drive.seen_by_kernels(), rows_of(y), lanes, job.places))
            return y, z, *job.last_state(lanes, y0), u.new_empty((0, 2, batch, hidden))
    lanes = job.lanes(w, h, alpha, y0, z0)
    if mode == "exact":
        grid = Grid.of(drive, job, lanes, y0, z0)
        grid.run(drive, lanes, rows_of(y), rows_of(z))
        kept = grid.kept()
        kept_y, kept_z = (kept[k].to(u.dtype, copy=True) for k in (0, 1))
        return y, z, kept_y, kept_z, kept
    every = CHECKPOINT if mode == "reversible" else 0
    kept = u.new_empty((-(-steps // CHECKPOINT) if every else 0, 2, batch, hidden))
    flat = kept.numpy().reshape(len(kept), 2, job.columns)
    for n0, n1 in drive.pieces():
        x = drive.x(n0, n1)
        job.run(recurrence_kernels.forward, (x, rows_of(y), rows_of(z), flat, every, n0, lanes, job.places))
    return y, z, *job.last_state(lanes, y0), kept


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
    job = ColumnJob.of(len(u), y0.shape, u.dtype, ends)
    is_in_kernels = mode == "stored" and grad_z is None and not needs_u
    drive = Drive(u, V, b, y0.shape[1], mode, job, in_kernels=is_in_kernels)
    pull = Pull(drive, needs_u)
    with alone(drive.is_in_kernels):
        lanes = job.lanes(w, h, alpha, y[-1] if len(y) else y0, z_last)
        asked = {lanes_of.P: grad_y_last, lanes_of.Q: grad_z_last}
        job.pack(lanes, {lane: given for lane, given in asked.items() if given is not None})
        grid = Grid.restored(kept, job) if mode == "exact" else None
        costates = Costates(mode, job, drive, pull, lanes, y0, y, kept, grid, REBUILT_TOLERANCE[u.dtype])
        costates.take_back(grad_y, grad_z)
        if grid is not None:
            grid.check_returned(y0, z0)
        by_b = u.new_empty(0) if b is None else costates.summed(lanes_of.SUM_X, b.shape)
        by_w = costates.summed(lanes_of.SUM_W, w.shape)
        by_h = costates.summed(lanes_of.SUM_H, h.shape)
        by_alpha = costates.summed(lanes_of.SUM_A, alpha.shape)
        starts = (job.unpacked(lanes, lanes_of.P, y0), job.unpacked(lanes, lanes_of.Q, y0))
        return pull.by_u, pull.by_V, by_b, by_w, by_h, by_alpha, *starts


@torch.library.register_fake(_BACKWARD)
def _fake_backward(  # type: ignore[no-untyped-def]
    grad_y, grad_z, grad_y_last, grad_z_last, u, V, b, w, h, alpha, y0, z0, ends, y, z_last, kept, mode, needs_u
):
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


_operator = differentiable(_FORWARD, _run_forward, _differentiate, _remember, no_tangent=lambda _: _NO_TANGENT)
_derivative = differentiable(_BACKWARD, _run_backward, _no_second_derivative, no_tangent=lambda _: _NO_TANGENT)
