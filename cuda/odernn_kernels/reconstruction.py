"""Whether states that a backward pass rebuilt may be believed, and what is said where not."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from odernn.executions.recurrence import ReconstructionWarning

TOLERANCE = {torch.float32: 0.01, torch.float64: 1e-6}
"""Largest admitted error of a rebuilt y or z, absolute, as in ``odernn.executions.stack``: it bounds that of σ'."""

RELATIVE = {torch.float32: 2e-4, torch.float64: 1e-6}
"""Largest admitted share of that error in the gradients by w, h and α, see ``is_rebuilt``. Empirical for float32: calm
trajectories of 256 to 1024 steps have 1e-5; of 1060 random networks, w in [−2, 1] and α = 1/2, those within 2e-4 were
right to 0.7 %, but with 2e-3 one was off by 40 %, because its terms cancel."""


def is_rebuilt(found: Tensor, w: Tensor, h: Tensor, alpha: Tensor) -> Tensor:
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


def is_missed(gap: Tensor, good: Tensor, last: Tensor, mode: str) -> bool:
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
