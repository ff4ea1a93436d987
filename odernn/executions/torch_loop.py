"""The reference execution: equation (U) as a torch loop over time. In float64 the oracle of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import torch
from torch import Tensor

from odernn.executions.recurrence import (
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
    nothing_of,
    of_layer,
    outputs_of,
    until_ends,
)

name = "torch"


def unavailable_because() -> str | None:
    """torch is always there."""
    return None


def step(
    y: Tensor, z: Tensor, x: Tensor, *, w: Tensor | float, step_size: Tensor | float, alpha: Tensor | float
) -> tuple[Tensor, Tensor]:
    """(y_{n-1}, z_{n-1}, x_n) → (y_n, z_n): z −= h [tanh(w y + x) + α y], then y += h z with the new z.

    Any broadcastable shapes; differentiable in everything. Not validated: it is called in inner loops.
    """
    z = z - step_size * (torch.tanh(w * y + x) + alpha * y)
    y = y + step_size * z
    return y, z


def step_back(
    y: Tensor, z: Tensor, x: Tensor, *, w: Tensor | float, step_size: Tensor | float, alpha: Tensor | float
) -> tuple[Tensor, Tensor]:
    """(y_n, z_n, x_n) → (y_{n-1}, z_{n-1}): the shears of ``step`` undone, last first; UnICORNN eq. (7)."""
    y = y - step_size * z
    z = z + step_size * (torch.tanh(w * y + x) + alpha * y)
    return y, z


def forward(
    x: Tensor,
    *,
    y0: Tensor | None = None,
    z0: Tensor | None = None,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All states of (U); shapes, defaults and errors as stated in ``odernn.executions.recurrence``.

    Differentiable, also twice and in forward mode, while gradients are enabled. Under ``torch.no_grad()`` the
    states are written straight into the output, with the same roundings.
    """
    coefficients, (y0, z0) = checked(x, {"y0": y0, "z0": z0}, **given)
    run = _recorded if torch.is_grad_enabled() else _in_place
    y, z = run(x, coefficients, y0, z0)
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
    """The rows of y and the state after each sample's own end; see ``recurrence``. Autograd keeps the states."""
    checked_backward(backward, name, ("stored",))
    ends = checked_ends(lengths, x)
    found = outputs_of(forward(until_ends(x, ends), y0=y0, z0=z0, **given), ends)
    if len(x) > 0:
        return found
    nothing = nothing_of(found.y, ())  # the rows depend on the weights; the state after no step has to, too
    return replace(found, y_last=found.y_last + nothing, z_last=found.z_last + nothing)


layer_outputs = of_layer(outputs)


def _recorded(x: Tensor, coefficients: Coefficients, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    if len(x) == 0:
        rows = x + nothing_of(x, coefficients)
        return rows, rows.clone()
    ys, zs = [], []
    for drive in x.unbind():
        y, z = step(y, z, drive, **coefficients._asdict())
        ys.append(y)
        zs.append(z)
    return torch.stack(ys), torch.stack(zs)


def _in_place(x: Tensor, coefficients: Coefficients, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    w, h, alpha = coefficients
    ys, zs = torch.empty_like(x), torch.empty_like(x)
    rate, product = torch.empty_like(y), torch.empty_like(y)
    for drive, y_next, z_next in zip(x.unbind(), ys.unbind(), zs.unbind(), strict=True):
        # Not addcmul: it may fuse a rounding and so differ from the recorded path. Not numpy either:
        # dispatch modes of torch, the probe of architectures among them, see every operation.
        torch.mul(w, y, out=rate).add_(drive).tanh_()
        rate.add_(torch.mul(alpha, y, out=product)).mul_(h)
        torch.sub(z, rate, out=z_next)
        torch.add(y, torch.mul(h, z_next, out=product), out=y_next)
        y, z = y_next, z_next
    return ys, zs


def inverse(
    x: Tensor,
    *,
    y_last: Tensor,
    z_last: Tensor,
    **given: Unpack[GivenCoefficients],
) -> RecurrenceResult:
    """All states from the last one, y_{N} and z_{N}: rows N−1 .. 0 of y, z, and y0, z0, by ``step_back``.

    Exact in exact arithmetic for all weights; rounding errors grow as forwards, since the map preserves area.
    """
    coefficients, (y, z) = checked(x, {"y_last": y_last, "z_last": z_last}, **given)
    ys, zs = [], []
    for drive in reversed(x.unbind()):
        ys.append(y)
        zs.append(z)
        y, z = step_back(y, z, drive, **coefficients._asdict())
    if not ys:
        return RecurrenceResult(torch.empty_like(x), torch.empty_like(x), y, z, name)
    return RecurrenceResult(torch.stack(ys[::-1]), torch.stack(zs[::-1]), y, z, name)


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
    """Backpropagation through time: the recursion of the costates p_n = dE/dy_n, q_n = dE/dz_n; no autograd.

        p_N = E'_N,  q_{N+1} = dE/dz_N;   for n = N..1:
        q_n     = q_{n+1} + h p_n
        p_{n-1} = p_n − h q_n (α + w σ'(A_{n-1})) + E'_{n-1},    A_{n-1} = w y_{n-1} + x_n

        dE/dx_n = −h q_n σ'(A_{n-1})                     dE/dw = −Σ h q_n σ'(A_{n-1}) y_{n-1}
        dE/dh   = Σ [p_n z_n − q_n (s_n + α y_{n-1})]    dE/dα = −Σ h q_n y_{n-1}

    ``grad_y`` (time, batch, hidden) holds E'_n = ∂E/∂y_n with all other states fixed, n = 1..N.
    ``grad_y_last`` and ``grad_z_last`` (batch, hidden) add to the derivatives at the last state, for what E
    does with it afterwards. Rusch & Mishra 2021 (UnICORNN), supplement eq. (3)-(5), with δ^z_k = q_{N−k+1},
    δ^y_k = p_{N−k}.
    """
    coefficients, (p, q) = checked(x, {"grad_y_last": grad_y_last, "grad_z_last": grad_z_last}, **given)
    check_grad_y(grad_y, x)
    w, h, alpha = coefficients
    grad_x = torch.empty_like(x)
    totals = [torch.zeros_like(p) for _ in coefficients]
    for n in range(len(x), 0, -1):
        y_before = states.y[n - 2] if n > 1 else states.y0
        s = torch.tanh(w * y_before + x[n - 1])
        slope = 1.0 - s * s
        p = p + grad_y[n - 1]
        q = q + h * p
        grad_x[n - 1] = -h * q * slope
        totals[0] += grad_x[n - 1] * y_before
        totals[1] += p * states.z[n - 1] - q * (s + alpha * y_before)
        totals[2] -= h * q * y_before
        p = p - h * q * (alpha + w * slope)
    shaped = [total.sum_to_size(value.shape) for total, value in zip(totals, coefficients, strict=True)]
    return RecurrenceGradients(grad_x, shaped[0], shaped[1], shaped[2], p, q)
