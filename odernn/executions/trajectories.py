"""Thousands of trajectories of (U) with their tangents, no history kept: the torch loop of ``executions.extremes``."""

from __future__ import annotations

import math
from typing import Unpack

import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.recurrence import Extremes, GivenCoefficients, checked_columns


@torch.no_grad()
def extremes(
    x: Tensor,
    *,
    y0: Tensor | float = 0.0,
    z0: Tensor | float = 0.0,
    **given: Unpack[GivenCoefficients],
) -> Extremes:
    """Run every column of x (time, columns), float32 or float64; the others broadcast to (columns,).

    Raises TypeError and ValueError for a wrong dtype, shape or device.
    """
    coefficients, y, z = checked_columns(x, y0=y0, z0=z0, **given)
    w, h, alpha = coefficients
    columns = x.shape[1]
    tangent = torch.eye(2, dtype=x.dtype, device=x.device).repeat(columns, 1, 1)
    exponent = torch.zeros(columns, dtype=torch.int64, device=x.device)
    log_growth = torch.full((columns,), math.log(2) / 2, dtype=torch.float64, device=x.device)
    maxima = [_Maximum(y.abs()), _Maximum(z.abs()), _Maximum(log_growth)]
    for n, drive in enumerate(x.unbind(), 1):
        s = torch.tanh(w * y + drive)
        kick = -h * (alpha + w * (1 - s * s))
        y, z = torch_loop.step(y, z, drive, **coefficients._asdict())
        momentum = tangent[:, 1] + kick[:, None] * tangent[:, 0]  # rows of J: dy, dz by the initial state
        tangent = torch.stack([tangent[:, 0] + h[:, None] * momentum, momentum], dim=1)
        power = torch.frexp(tangent.abs().amax((1, 2)))[1].long()
        power = torch.where(power.abs() > 16, power, 0)
        tangent, exponent = torch.ldexp(tangent, -power[:, None, None]), exponent + power
        log_growth = tangent.double().square().sum((1, 2)).log() / 2 + exponent * math.log(2)
        for maximum, value in zip(maxima, (y.abs(), z.abs(), log_growth), strict=True):
            maximum.update(value, n)
    return Extremes(
        y=maxima[0].value,
        y_at=maxima[0].at,
        z=maxima[1].value,
        z_at=maxima[1].at,
        log_growth=maxima[2].value,
        log_growth_at=maxima[2].at,
        y_last=y,
        z_last=z,
        log_growth_last=log_growth,
        tangent=tangent,
        exponent=exponent,
    )


class _Maximum:
    """The largest value so far and the first n that attains it; NaN once a value was NaN."""

    def __init__(self, value: Tensor) -> None:
        self.value, self.at = value.clone(), torch.zeros(value.shape, dtype=torch.int64, device=value.device)

    def update(self, value: Tensor, n: int) -> None:
        larger = (value > self.value) | (value.isnan() & ~self.value.isnan())
        self.value, self.at = torch.where(larger, value, self.value), torch.where(larger, n, self.at)
