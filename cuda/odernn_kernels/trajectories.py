"""Thousands of trajectories of (U) and their tangents in one launch, without a history: for the search of extremes.

What it returns is a finding to be certified elsewhere: ln |J_n| is rounded as the trajectory is.
"""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from cuda.odernn_kernels import module
from cuda.odernn_kernels.catalogue import KERNELS
from odernn.executions.recurrence import Extremes, GivenCoefficients, checked_columns

LANES = 32


def extremes(
    x: Tensor,
    *,
    y0: Tensor | float = 0.0,
    z0: Tensor | float = 0.0,
    **given: Unpack[GivenCoefficients],
) -> Extremes:
    """Run every column of x (time, columns), float32 or float64; the others broadcast to (columns,).

    x may be expanded: a stride of 0 along time or columns is read as it is, so that one drive serves many weights
    without a copy. Raises TypeError and ValueError for a wrong dtype, shape or device.
    """
    launcher = module.launcher_for(x)
    coefficients, first_y, first_z = checked_columns(x, y0=y0, z0=z0, **given)
    wide = (*coefficients, first_y, first_z)
    steps, columns = x.shape
    maximum, tangent = x.new_empty(4, columns), x.new_empty(4, columns)
    growth = torch.empty(2, columns, dtype=torch.float64, device=x.device)
    at = torch.empty(3, columns, dtype=torch.int64, device=x.device)
    exponent = torch.empty(columns, dtype=torch.int64, device=x.device)
    if columns:
        kernel = KERNELS["falsify_f32" if x.dtype == torch.float32 else "falsify_f64"]
        tensors = (x, *wide, maximum, growth, at, tangent, exponent)
        arguments = (
            *(tensor.data_ptr() for tensor in tensors),
            steps,
            columns,
            *x.stride(),
            *(tensor.stride(0) for tensor in wide),
        )
        launcher.launch(kernel, -(-columns // LANES), arguments, threads=LANES, shared=kernel.shared)
    return Extremes(
        y=maximum[0],
        y_at=at[0],
        z=maximum[1],
        z_at=at[1],
        log_growth=growth[0],
        log_growth_at=at[2],
        y_last=maximum[2],
        z_last=maximum[3],
        log_growth_last=growth[1],
        tangent=tangent.T.reshape(columns, 2, 2),
        exponent=exponent,
    )
