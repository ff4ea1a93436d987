"""The derivative of the recurrence as scans backwards in time: costates of tiles, and their sums over time."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from odernn.executions.parallel.scan import ELEMENTS, affine_scan, jacobians, one_a_column
from odernn.executions.recurrence import UNIT_ROUNDOFF, Coefficients, RecurrenceGradients

BACKWARD_TILE = 1024
"""Steps of one scan of the derivative; it is linear, so only memory and the growth of products limit it."""

REFINEMENTS = 3
"""How often the scan of the derivative is corrected before a tile of it is computed step by step."""


class SequentialFallback(RuntimeWarning):
    """Some columns were computed by the torch loop: the answer means the same, it took longer."""


def gradients(
    x: Tensor,
    coefficients: Coefficients,
    y: Tensor,
    z: Tensor,
    y0: Tensor,
    grads: tuple[Tensor, Tensor | None],
    lasts: tuple[Tensor, Tensor],
) -> RecurrenceGradients:
    """Derivatives from ∂E/∂y_n, ∂E/∂z_n (``grads``) and what is to be added at n = N (``lasts``); see ``backward``."""
    steps, columns = len(x), y0.numel()
    w, h, alpha = one_a_column(coefficients, y0)
    drive, ys, zs = (v.reshape(steps, columns) for v in (x, y, z))
    grad_y, grad_z = (None if g is None else g.reshape(steps, columns) for g in grads)
    grad_x = torch.empty_like(drive)
    totals = [torch.zeros_like(w) for _ in range(3)]
    p, q = (v.reshape(columns) for v in lasts)
    for end in range(steps, 0, -BACKWARD_TILE):
        rows = slice(max(0, end - BACKWARD_TILE), end)
        before = torch.cat([(ys[rows.start - 1] if rows.start else y0.reshape(columns)).unsqueeze(0), ys[rows][:-1]])
        s = torch.tanh(w * before + drive[rows])
        slope = 1 - s * s
        # p_n and dE/dz_n for fixed y_n, without what comes from later rows of the tile.
        sources = torch.zeros(rows.stop - rows.start, 2, columns, dtype=x.dtype, device=x.device)
        if grad_y is not None:
            sources[:, 0] = grad_y[rows]
        if grad_z is not None:
            sources[:, 1] = grad_z[rows]
        sources[-1, 0] += p
        sources[-1, 1] += q
        kappa, together = alpha + w * slope, max(1, ELEMENTS // BACKWARD_TILE)
        parts = (v.split(together, dim=-1) for v in (kappa, h, sources))
        costate_rows = torch.cat([costates(*part) for part in zip(*parts, strict=True)], dim=-1)
        whole = sources
        whole[:-1] += costate_rows[1:]
        momenta = whole[:, 1] + h * whole[:, 0]
        kicked = -h * momenta
        grad_x[rows] = kicked * slope
        totals[0] += (grad_x[rows] * before).sum(0)
        totals[1] += (whole[:, 0] * zs[rows] - momenta * (s + alpha * before)).sum(0)
        totals[2] += (kicked * before).sum(0)
        p, q = costate_rows[0]
    shaped = [
        total.reshape(y0.shape).sum_to_size(value.shape) for total, value in zip(totals, coefficients, strict=True)
    ]
    return RecurrenceGradients(
        grad_x.reshape(x.shape), shaped[0], shaped[1], shaped[2], p.reshape(y0.shape), q.reshape(y0.shape)
    )


def costates(kappa: Tensor, h: Tensor, sources: Tensor) -> Tensor:
    """λ_{n-1} = B(κ_n)ᵀ (λ_n + g_n), rows n = 1..T of the tile, from λ_T = 0; (time, 2, columns).

    One scan; its residual is looked at, and where it is not roundoff the scan is repeated on the residual, at most
    ``REFINEMENTS`` times; then the columns concerned are computed step by step, with a warning.
    """
    BT = jacobians(kappa, h).flip(0).transpose(1, 2)
    g = sources.flip(0)
    costate_rows = affine_scan(BT, BT[:, :, 0] * g[:, :1] + BT[:, :, 1] * g[:, 1:]).states
    for refinement in range(REFINEMENTS + 1):
        residual, small = _costate_residual(kappa, h, sources, costate_rows.flip(0))
        if bool(small.all()):
            return costate_rows.flip(0)
        if refinement < REFINEMENTS:
            costate_rows = costate_rows + affine_scan(BT, residual.flip(0)).states
    costate_rows = costate_rows.flip(0).contiguous()
    at = (~small).nonzero().squeeze(1)
    costate_rows[:, :, at] = costates_in_a_loop(kappa[:, at], h[at], sources[:, :, at])
    warnings.warn(
        f'execution="parallel" computed the derivatives of {len(at)} of {len(small)} columns step by step in a tile of '
        f"{len(kappa)} steps: the residual of the scan stayed above roundoff. They mean the same and took longer.",
        SequentialFallback,
        stacklevel=2,
    )
    return costate_rows


def _costate_residual(kappa: Tensor, h: Tensor, sources: Tensor, sought: Tensor) -> tuple[Tensor, Tensor]:
    """B(κ_n)ᵀ (λ_n + g_n) − λ_{n-1}, and in which columns it is below 12 log₂ 2T roundings.

    A state of the scan is the end of at most 2 log₂ 2T applications of three roundings each; a residual compares two.
    """
    whole = sources.clone()
    whole[:-1] += sought[1:]
    momenta = whole[:, 1] + h * whole[:, 0]
    kicks = h * kappa * momenta
    residual = torch.stack([whole[:, 0] - kicks, momenta], dim=1) - sought
    sizes = whole.abs().amax(0)
    admitted = torch.stack([sizes[0] + kicks.abs().amax(0), sizes[1] + h * sizes[0]])
    level = 12 * math.log2(2 * len(kappa)) * UNIT_ROUNDOFF[kappa.dtype] * admitted + torch.finfo(kappa.dtype).tiny
    return residual, (residual.abs().amax(0) <= level).all(0)


def costates_in_a_loop(kappa: Tensor, h: Tensor, sources: Tensor) -> Tensor:
    costate_rows = torch.empty_like(sources)
    p, q = torch.zeros_like(h), torch.zeros_like(h)
    for n in range(len(kappa) - 1, -1, -1):
        p = p + sources[n, 0]
        q = q + sources[n, 1] + h * p
        p = p - h * kappa[n] * q
        costate_rows[n, 0], costate_rows[n, 1] = p, q
    return costate_rows
