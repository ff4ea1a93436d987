"""A System: the recurrence under test, in the three arithmetics that the suite needs.

``step`` is what adversaries run: batched torch tensors. ``exact_step`` is what certificates run: any numbers with
+ − × and a given tanh. ``second_step`` is the same formula typed once more for the second back-end. A user's claim
file may bring its own system (a planted wrong cell, a new network); UnICORNN is the built-in one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from verification.certify.second import intervals as second

Step = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True)
class System:
    """One neuron of a recurrence with state (y, z), drive x, recurrent weight w, effective step h and stiffness α.

    step(y, z, x, *, w, step_size, alpha) -> (y, z) on float64 tensors that broadcast;
    exact_step(y, z, x, w, h, alpha, tanh) and second_step(...) the same on balls and on intervals.
    """

    name: str
    step: Step
    exact_step: Step
    second_step: Step


def _unicornn_step(y: Any, z: Any, x: Any, *, w: Any, step_size: Any, alpha: Any) -> tuple[Any, Any]:
    """The product's own recurrence: odernn's torch execution."""
    from odernn.executions import torch_loop

    return torch_loop.step(y, z, x, w=w, step_size=step_size, alpha=alpha)


def _unicornn_exact_step(
    y: Any, z: Any, x: Any, w: Any, h: Any, alpha: Any, tanh: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """z_n = z_{n-1} − h (tanh(w y_{n-1} + x_n) + α y_{n-1}),  y_n = y_{n-1} + h z_n.   icml (6)"""
    z = z - h * (tanh(w * y + x) + alpha * y)
    return y + h * z, z


UNICORNN = System("unicornn", _unicornn_step, _unicornn_exact_step, second.unicornn_step)
