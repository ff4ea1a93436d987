"""Parallel in time: equation (U) solved for many steps at once, by Newton's method on tiles of steps. Any device.

In a tile all states are unknowns X_n = (y_n, z_n) of the equations F_n(X_{n-1}) = X_n (multiple shooting, a node at
every step). One iteration evaluates the residuals of the *stored* states, for all n together,

    ρ_n = (z_{n-1} − z_n) − h (tanh(w y_{n-1} + x_n) + α y_{n-1})        kick
    η_n = (y_{n-1} − y_n) + h z_n                                        drift

and adds the solution of the linearised recurrence, one scan of exact 2×2 Jacobians (``scan``):

    δ_n = B(κ_n) δ_{n-1} + ρ_n (h, 1)ᵀ + η_n (1, 0)ᵀ,
    B(κ) = [[1 − h²κ, h], [−hκ, 1]],      κ_n = α + w σ'(w y_{n-1} + x_n).

The first iterate is the oscillator with w = 0 in the recurrence and the same inputs, which is linear: one scan. Tiles
follow each other in time. A column, that is one neuron of one sample, is accepted by its residuals, whatever corrected
them; a column that is not is computed by the torch loop, and the result says so: in ``execution``, by a
``SequentialFallback`` warning, and in ``Info``. The method, its convergence and the stopping rule:
docs/parallel_in_time.md.

The derivative is one more scan, of the transposed Jacobians over the stored states. It is implemented once and in
reverse mode: differentiating the gradient is an error, as is forward mode.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Unpack

import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.parallel.costates import SequentialFallback, gradients
from odernn.executions.parallel.scan import ELEMENTS, affine_scan, jacobians, one_a_column
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
    of_layer,
    outputs_of,
    until_ends,
)

name = "parallel"

TILE = 512
"""Steps solved together: longer tiles mean fewer, larger operations, and more iterations."""

MAX_ITERATIONS = 32
CURVATURE = 2 / (3 * math.sqrt(3))
"""sup |tanh''| / 2: a correction δ leaves a kick residual of at most this times h (w δ_y)²."""


@dataclass(frozen=True)
class Info:
    """How one recurrence was solved. A *column* is one neuron of one sample.

    tile             steps solved together
    tolerance        in units of ``roundoff_levels``
    iterations       for every tile, the most corrections that an accepted column took
    mean_iterations  over accepted columns and tiles
    residual         the largest accepted max(|ρ_n| / τ_z, |η_n| / τ_y), at most ``tolerance``
    log_growth       natural logarithm of the largest ‖Φ‖_a over whole tiles, their halves, quarters and eighths, along
                     accepted columns: an estimate from below of the growth of Jacobian products within a tile
    columns          how many there are
    sequential       how many of them the torch loop computed, from some tile on
    because          why it had to, or ``None``
    """

    tile: int
    tolerance: float
    iterations: tuple[int, ...]
    mean_iterations: float
    residual: float
    log_growth: float
    columns: int
    sequential: int
    because: str | None

    @property
    def fallback(self) -> bool:
        return self.sequential > 0


class WhatRan(str):
    """What ran, as results carry it: "parallel", or more words after a fallback. ``info`` has the numbers."""

    info: Info

    def __new__(cls, info: Info) -> WhatRan:
        if not info.fallback:
            text = name
        elif info.sequential == info.columns:
            text = f"{torch_loop.name} ({name}: {info.because})"
        else:
            text = f"{name}, {torch_loop.name} for {info.sequential} of {info.columns} columns ({info.because})"
        text_with_info = super().__new__(cls, text)
        text_with_info.info = info
        return text_with_info

    def __getnewargs__(self) -> tuple[Info]:  # type: ignore[override]
        return (self.info,)


def unavailable_because() -> str | None:
    """torch is always there."""
    return None


def solve(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    tile: int = TILE,
    tolerance: float = 1.0,
    max_iterations: int = MAX_ITERATIONS,
    **given: Unpack[GivenCoefficients],
) -> tuple[RecurrenceResult, Info]:
    """All states of (U), and how they were found. ``tolerance`` is in units of ``roundoff_levels``: 1 is attainable.

    Warns with ``SequentialFallback`` where the torch loop had to take over.
    """
    limits = _Limits(tile, tolerance, max_iterations)
    return _solved(x, None, limits, y0, z0, **given)


def forward(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All states of (U); shapes, defaults and errors as stated in ``executions.recurrence``. Differentiable once."""
    return _solved(x, None, _Limits(), y0, z0, **given)[0]


def outputs(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    lengths: Tensor | None = None,
    backward: Backward = "stored",
    **given: Unpack[GivenCoefficients],
) -> RecurrenceOutputs:
    """The rows of y and the state after each sample's own end; see ``executions.recurrence``. The states are kept."""
    checked_backward(backward, name, ("stored",))
    ends = checked_ends(lengths, x)
    read = until_ends(x, ends)
    result, _ = _solved(read, ends, _Limits(), y0, z0, **given)
    return outputs_of(result, ends)


layer_outputs = of_layer(outputs)


def inverse(
    x: Tensor,
    *,
    y_last: Tensor,
    z_last: Tensor,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All states from the last one, by the torch loop, as ``execution`` of the result says."""
    return torch_loop.inverse(x, y_last=y_last, z_last=z_last, **given)


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
    """The derivatives of ``torch_loop.backward``, its costates by a scan over the stored states."""
    coefficients, (p, q) = checked(x, {"grad_y_last": grad_y_last, "grad_z_last": grad_z_last}, **given)
    check_grad_y(grad_y, x)
    return gradients(x, coefficients, states.y, states.z, states.y0, (grad_y, None), (p, q))


def roundoff_levels(
    y_max: Tensor, z_max: Tensor, *, w: Tensor, step_size: Tensor, alpha: Tensor
) -> tuple[Tensor, Tensor]:
    """τ_y and τ_z: how large computed residuals of the exact solution, rounded to the dtype, can be.

    With Y, Z the maxima of |y_n|, |z_n| over the tile and its first state: both states of a residual are rounded, and
    its evaluation has the errors of ``admitted_error`` without the rounding of a sum of size Z or Y, so

        τ_z = u [2 Z + h (3 |w| Y + 5 |α| Y + 8)],        τ_y = u [2 Y + 3 h Z].

    docs/parallel_in_time.md has the derivation. Underflow adds the smallest normal number.
    """
    u, tiny = UNIT_ROUNDOFF[y_max.dtype], torch.finfo(y_max.dtype).tiny
    level_z = u * (2 * z_max + step_size * ((3 * w.abs() + 5 * alpha.abs()) * y_max + 8)) + tiny
    level_y = u * (2 * y_max + 3 * step_size * z_max) + tiny
    return level_y, level_z


# ---- the solution --------------------------------------------------------------------------------------------------


class _Limits(NamedTuple):
    tile: int = TILE
    tolerance: float = 1.0
    max_iterations: int = MAX_ITERATIONS

    def check(self) -> None:
        if self.tile < 1 or self.max_iterations < 1:
            raise ValueError(f"tile is {self.tile} and max_iterations {self.max_iterations}: both count, from 1 on.")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance is {self.tolerance}, in units of the roundoff level: take 1 or more.")


def _solved(
    x: Tensor,
    ends: Tensor | None,
    limits: _Limits,
    y0: Tensor | None,
    z0: Tensor | None,
    **given: Unpack[GivenCoefficients],
) -> tuple[RecurrenceResult, Info]:
    limits.check()
    if x.is_meta:
        raise NotImplementedError(
            f'execution="{name}" does not run on meta: how many iterations it takes depends on numbers, which meta has '
            'not. Use execution="torch".'
        )
    coefficients, (y0, z0) = checked(x, {"y0": y0, "z0": z0}, **given)
    y, z, info = _Shooting.apply(x, *coefficients, y0, z0, ends, limits)  # type: ignore[no-untyped-call]
    if info.fallback:
        warnings.warn(
            f'execution="{name}" computed {info.sequential} of {info.columns} columns by the torch loop: '
            f"{info.because}. The answer means the same and took longer. A smaller tile than {limits.tile} "
            'converges more often; execution="torch" is faster where few columns do.',
            SequentialFallback,
            stacklevel=3,
        )
    return RecurrenceResult(y, z, y0, z0, WhatRan(info)), info


class _Shooting(torch.autograd.Function):
    """(x, w, h, α, y0, z0, ends, limits) → (y, z, info), with y and z differentiable once."""

    @staticmethod
    def forward(
        x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor, ends: Tensor | None, limits: _Limits
    ) -> tuple[Tensor, Tensor, Info]:
        return _tile_after_tile(x, Coefficients(w, h, alpha), y0, z0, ends, limits)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        x, w, h, alpha, y0, *_ = inputs
        y, z, _ = output
        ctx.save_for_backward(x, w, h, alpha, y0, y, z)

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor, grad_z: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        return (*_Derivative.apply(grad_y, grad_z, *ctx.saved_tensors), None, None)  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: Any, *given: Any) -> NoReturn:
        raise NotImplementedError(
            f'execution="{name}" cannot be mapped by torch.func.vmap: how many iterations it takes depends on numbers, '
            'which vmap hides. Samples have a batch axis of their own; for many weights use execution="torch".'
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> NoReturn:
        raise NotImplementedError(
            f'execution="{name}" has no forward-mode derivative: its derivative is one scan backwards in time. '
            'Use reverse mode, or execution="torch".'
        )


class _Derivative(torch.autograd.Function):
    """(∂E/∂y, ∂E/∂z, x, w, h, α, y0, y, z) → the derivatives by (x, w, h, α, y0, z0), which have none of their own."""

    @staticmethod
    def forward(
        grad_y: Tensor, grad_z: Tensor, x: Tensor, w: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, y: Tensor, z: Tensor
    ) -> tuple[Tensor, ...]:
        nothing = torch.zeros_like(y0)
        derivatives = gradients(x, Coefficients(w, h, alpha), y, z, y0, (grad_y, grad_z), (nothing, nothing))
        return derivatives.x, derivatives.w, derivatives.step_size, derivatives.alpha, derivatives.y0, derivatives.z0

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> NoReturn:
        raise NotImplementedError(
            f'execution="{name}" is differentiable once: the scan of its derivative has no derivative. '
            'Use execution="torch" for second derivatives.'
        )


def _tile_after_tile(
    x: Tensor, coefficients: Coefficients, y0: Tensor, z0: Tensor, ends: Tensor | None, limits: _Limits
) -> tuple[Tensor, Tensor, Info]:
    steps, columns = len(x), y0.numel()
    flat = one_a_column(coefficients, y0)
    drive = x.reshape(steps, columns)
    y, z = torch.zeros_like(drive), torch.zeros_like(drive)
    start = (y0.reshape(columns), z0.reshape(columns))
    last = None if ends is None else ends.unsqueeze(1).expand(y0.shape).reshape(columns)
    given_up = torch.zeros(columns, dtype=torch.bool, device=x.device)
    first_row = steps  # of the loop that computes the columns given up
    shots: list[tuple[int, _Shot]] = []
    reasons: list[str] = []
    for row in range(0, steps, limits.tile):
        rows = slice(row, min(row + limits.tile, steps))
        before = start if row == 0 else (y[row - 1], z[row - 1])
        wanted = ~given_up if last is None else ~given_up & (last > row)
        together = max(1, ELEMENTS // limits.tile)
        for at in wanted.nonzero().squeeze(1).split(together):
            if len(at) == 0:
                continue
            shot = _shoot(drive[rows, at], Coefficients(*(c[at] for c in flat)), before[0][at], before[1][at], limits)
            y[rows, at], z[rows, at] = shot.y, shot.z
            shots.append((row, shot))
            missed = ~shot.accepted
            if bool(missed.any()):
                given_up[at[missed]] = True
                first_row = min(first_row, row)
                reasons.append(shot.complaint(row, limits))
    if first_row < steps:
        at = given_up.nonzero().squeeze(1)
        before = start if first_row == 0 else (y[first_row - 1], z[first_row - 1])
        looped = torch_loop.forward(
            drive[first_row:, at].unsqueeze(1),
            **Coefficients(*(c[at] for c in flat))._asdict(),
            y0=before[0][at].unsqueeze(0),
            z0=before[1][at].unsqueeze(0),
        )
        y[first_row:, at], z[first_row:, at] = looped.y.squeeze(1), looped.z.squeeze(1)
    info = _info(shots, columns, int(given_up.sum()), reasons, limits)
    return y.reshape(x.shape), z.reshape(x.shape), info


def _info(shots: list[tuple[int, _Shot]], columns: int, sequential: int, reasons: list[str], limits: _Limits) -> Info:
    most: dict[int, int] = {}
    count = total = 0
    residual = log_growth = 0.0
    for row, shot in shots:
        iterations = shot.iterations[shot.accepted]
        most.setdefault(row, 0)
        if len(iterations) == 0:
            continue
        most[row] = max(most[row], int(iterations.max()))
        count, total = count + len(iterations), total + int(iterations.sum())
        residual = max(residual, float(shot.residual[shot.accepted].max()))
        log_growth = max(log_growth, float(shot.log_growth[shot.accepted].max()))
    return Info(
        tile=limits.tile,
        tolerance=limits.tolerance,
        iterations=tuple(most.values()),
        mean_iterations=total / count if count else 0.0,
        residual=residual,
        log_growth=log_growth,
        columns=columns,
        sequential=sequential,
        because=_summary(reasons),
    )


def _summary(reasons: list[str]) -> str | None:
    """The first of them: whoever warns or reports wants one line."""
    return None if not reasons else reasons[0] + (", others later" if len(reasons) > 1 else "")


@dataclass(frozen=True)
class _Shot:
    """One tile: rows y, z (time, columns) of the accepted columns, and how each column went."""

    y: Tensor
    z: Tensor
    accepted: Tensor
    finite: Tensor
    iterations: Tensor
    residual: Tensor
    log_growth: Tensor

    def complaint(self, row: int, limits: _Limits) -> str:
        where = f"in steps {row + 1} to {row + len(self.y)}"
        overflows = int((~self.finite).sum())
        others = int((~self.accepted).sum()) - overflows
        complaints = []
        if others:
            complaints.append(f"{others} did not converge in {limits.max_iterations} iterations {where}")
        if overflows:
            complaints.append(f"{overflows} became infinite or NaN {where}")
        return " and ".join(complaints)


def _shoot(x: Tensor, coefficients: Coefficients, y0: Tensor, z0: Tensor, limits: _Limits) -> _Shot:
    """Newton's method on one tile, x (time, columns). A column leaves with the iterate that is accepted.

    Accepted is a column whose residuals are within tolerance, and either the last correction was so small that what it
    left by curvature is below one rounding of tanh, or they had been within tolerance before it: so that what is left
    of the iteration does not add up over the tile.
    """
    steps, columns = x.shape
    u = UNIT_ROUNDOFF[x.dtype]
    shot = _Shot(
        y=torch.zeros_like(x),
        z=torch.zeros_like(x),
        accepted=torch.zeros(columns, dtype=torch.bool, device=x.device),
        finite=torch.ones(columns, dtype=torch.bool, device=x.device),
        iterations=torch.zeros(columns, dtype=torch.int64, device=x.device),
        residual=torch.full((columns,), torch.inf, dtype=x.dtype, device=x.device),
        log_growth=torch.zeros(columns, dtype=torch.float64, device=x.device),
    )
    w, h, alpha = coefficients
    y, z = _without_w(x, h, alpha, y0, z0)
    at = torch.arange(columns, device=x.device)
    was_small = torch.zeros_like(shot.accepted)
    left = torch.where(w == 0, 0.0, torch.inf)  # the first iterate is exact if w = 0
    for iteration in range(limits.max_iterations + 1):
        s = torch.tanh(w * y[:-1] + x)
        kick = (z[:-1] - z[1:]) - h * (s + alpha * y[:-1])
        drift = (y[:-1] - y[1:]) + h * z[1:]
        ratio = _ratio(y, z, kick, drift, Coefficients(w, h, alpha))
        small = ratio <= limits.tolerance
        accepted = small & (was_small | (left <= limits.tolerance * u))
        finite = torch.isfinite(ratio)
        leaving = accepted | ~finite
        shot.iterations[at] = iteration
        shot.residual[at] = ratio
        if bool(leaving.any()):
            shot.accepted[at] = accepted
            shot.finite[at] = finite
            gone = accepted.nonzero().squeeze(1)
            shot.y[:, at[gone]], shot.z[:, at[gone]] = y[1:, gone], z[1:, gone]
            stays = (~leaving).nonzero().squeeze(1)
            if len(stays) == 0:
                break
            at, small, w, h, alpha = (v[stays] for v in (at, small, w, h, alpha))
            x, y, z, s, kick, drift = (v[:, stays] for v in (x, y, z, s, kick, drift))
        if iteration == limits.max_iterations:
            break
        B = jacobians(alpha + w * (1 - s * s), h)
        scan = affine_scan(B, torch.stack([drift + h * kick, kick], dim=1))
        y[1:] += scan.states[:, 0]
        z[1:] += scan.states[:, 1]
        left = CURVATURE * (w * scan.states[:, 0].abs().amax(0)) ** 2
        shot.log_growth[at] = _log_growth(scan.products, steps, Coefficients(w, h, alpha))
        was_small = small
    return shot


def _ratio(y: Tensor, z: Tensor, kick: Tensor, drift: Tensor, coefficients: Coefficients) -> Tensor:
    """max(|ρ_n| / τ_z, |η_n| / τ_y) of every column; y, z with the state before the tile."""
    level_y, level_z = roundoff_levels(y.abs().amax(0), z.abs().amax(0), **coefficients._asdict())
    return torch.maximum(kick.abs().amax(0) / level_z, drift.abs().amax(0) / level_y)


def _without_w(x: Tensor, h: Tensor, alpha: Tensor, y0: Tensor, z0: Tensor) -> tuple[Tensor, Tensor]:
    """Rows 0..T of the linear recurrence with tanh(x_n) for tanh(w y_{n-1} + x_n), summed by a scan."""
    B = jacobians(alpha.unsqueeze(0), h)
    kicks = -h * torch.tanh(x)
    b = torch.stack([h * kicks, kicks], dim=1)
    start = torch.stack([y0, z0])
    b[0] += B[0, :, 0] * start[0] + B[0, :, 1] * start[1]
    states = torch.cat([start.unsqueeze(0), affine_scan(B, b).states])
    return states[:, 0].contiguous(), states[:, 1].contiguous()


def _log_growth(products: Tensor, steps: int, coefficients: Coefficients) -> Tensor:
    """Largest log ‖Φ‖_a of every column over the given products; a is α + w/2, kept within [1/(T h)², 3.9/h²].

    In coordinates in which Q_a is the unit form Φ has singular values s and 1/s, so its squared Frobenius norm is
    2 cosh(2 log s).
    """
    w, h, alpha = (c.double() for c in coefficients)
    a = (alpha + w / 2).clamp(min=1 / (steps * h) ** 2).minimum(3.9 / h**2)
    r, g = (a * (1 - a * h**2 / 4)).sqrt(), a * h / 2
    P = products.double()
    yy, yz = P[:, 0, 0] + g * P[:, 0, 1], r * P[:, 0, 1]
    zy, zz = (P[:, 1, 0] + g * P[:, 1, 1] - g * yy) / r, P[:, 1, 1] - g * P[:, 0, 1]
    frobenius = yy**2 + yz**2 + zy**2 + zz**2
    return (torch.acosh((frobenius / 2).clamp(min=1)) / 2).amax(0)
