"""Lower bounds on Jacobians over all inputs: slopes chosen step by step, where a drive can give any.   thm-C-greedy

A change v moves by v ← base + d ∘ push, d_i in [lowest, 1] the slope of unit i: |v_i|² is convex in d_i, so one of its
ends makes it largest, and a drive that is free to be anything comes as near to these ends as one likes. What a vector
of norm 1 becomes in N − 1 steps so chosen is at most the supremum of ‖∂X_N/∂X_1‖₂ over such drives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from odernn.bounds.network.report import FREE_DRIVE, QuantityBound
from odernn.bounds.network.states import ROUNDOFF

Step: TypeAlias = Callable[[Tensor], Tensor]
"""A change v (k,) after one step, its slopes chosen for it."""

WARM_UP = 64
"""Steps before those that count: by then the change has a direction that grows."""


def line(step: Step, size: int, count: int, rate: float, *, log_condition: float = 0.0) -> list[QuantityBound]:
    """The line of a report, or none where rounding may have made what was found.

    ``rate`` and ``log_condition`` bound k steps, whatever the slopes: ‖J_k ⋯ J_1‖₂ ≤ e^{k rate + log_condition}.
    """
    found = [_log_growth(step, start, count, rate, log_condition) for start in _starts(size)]
    known = [each for each in found if each is not None]
    return [QuantityBound("the same, from below", max(known), "thm-C-greedy", FREE_DRIVE, "≥")] if known else []


def _starts(size: int) -> tuple[Tensor, ...]:
    places = torch.linspace(1.0, -1.0, size, dtype=torch.float64)
    return torch.ones(size, dtype=torch.float64), places**3 + 0.1


def _log_growth(step: Step, v: Tensor, count: int, rate: float, log_condition: float) -> float | None:
    """log of ‖v_count‖/‖v_0‖ less what rounding can have added, None if that may be all of it.

    A computed step is off by δ_n ≤ ε ‖v_n‖, ε = 8u k^{3/2}(e^rate + 2) for k entries, and v_count by Σ ‖J ⋯ J‖ δ_n.
    """
    for _ in range(WARM_UP if count else 0):
        v = step(v / v.norm())
    if not bool(v.norm() > 0):
        return None
    v, logs = v / v.norm(), np.zeros(count + 1)
    for n in range(count):
        v = step(v)
        size = float(v.norm())
        if not 0 < size < math.inf:
            return None
        v, logs[n + 1] = v / size, logs[n] + math.log(size)
    steps_left = np.arange(count - 1, -1, -1.0)
    error = math.log(8 * ROUNDOFF * len(v) ** 1.5) + np.logaddexp(rate, math.log(2.0)) + log_condition
    lost = np.logaddexp.reduce(logs[:-1] + steps_left * rate) + error if count else -math.inf
    share = math.exp(min(lost - logs[-1], 0.0))
    return None if share > 0.5 else float(logs[-1] + math.log1p(-share) - 2.0**-40 * (1 + abs(logs[-1])))


def chosen(base: Tensor, push: Tensor, lowest: float = 0.0) -> Tensor:
    """base + d ∘ push with d_i = 1 or ``lowest``, whichever makes |.| larger."""
    up, down = base + push, base + lowest * push
    return torch.where(up.abs() >= down.abs(), up, down)
