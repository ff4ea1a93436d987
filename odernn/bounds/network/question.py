"""What ``certify`` is asked of a network, and what every family of cells refuses."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odernn.bounds.reconstruction import PRECISIONS

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Question:
    """steps N, |u| ≤ input_bound and |ȳ| ≤ target_bound entrywise, rms_energy of UnICORNN's estimate.

    Numbers of NumPy and torch are taken, and kept as Python's. Raises ValueError for steps that are no integer ≥ 1,
    bounds that are negative or not finite, an rms that is not positive; TypeError for a bound that is no number.
    """

    steps: int
    input_bound: float
    target_bound: float = 1.0
    rms_energy: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _count(self.steps))
        for name in ("input_bound", "target_bound"):
            value = _number(name, getattr(self, name))
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}, but a bound on entries is finite and not negative. Give one.")
            object.__setattr__(self, name, value)
        if self.rms_energy is not None:
            rms = _number("rms_energy", self.rms_energy)
            if not (math.isfinite(rms) and rms > 0):
                raise ValueError(f"rms_energy is {rms}, but the rms of a run that moves is finite and positive.")
            object.__setattr__(self, "rms_energy", rms)


def check_network(network: nn.Module) -> None:
    """What no family of cells has theorems for: a refusal that names the parameter.

    Raises ValueError for a bidirectional network and for a parameter that is not finite or has no values; TypeError
    for parameters of several dtypes, and of one in which the network computes no recurrence.
    """
    if getattr(network, "bidirectional", False):
        raise ValueError(
            "The network is bidirectional, and the gradient bounds add up paths that run forwards in time only. "
            "Certify a network of one direction."
        )
    first = next(network.parameters(), None)
    if first is None:
        raise ValueError(f"The network is a {type(network).__name__} without parameters: there is nothing to certify.")
    for name, parameter in network.named_parameters():
        _check_parameter(f"The parameter {name}", parameter, first)
    _check_dtype(network, first)


def _check_parameter(name: str, parameter: Tensor, first: Tensor) -> None:
    from odernn.cells.common.arguments import check_alike  # torch is imported by whoever has a network

    if parameter.is_meta:
        raise ValueError(f"{name} is on the device meta, where it has no values. Load weights first.")
    check_alike(name, parameter, first)
    if not bool(parameter.isfinite().all()):
        raise ValueError(
            f"{name} has an entry that is not finite, and nothing is bounded then. Look for the training step after "
            "which it appeared."
        )


def _check_dtype(network: nn.Module, first: Tensor) -> None:
    """TypeError where a forward pass of the network has it, too; of torch's own cells for what is no real float."""
    from odernn.cells.common.arguments import computing  # torch is imported by whoever has a network
    from odernn.cells.recurrent import RecurrentNetwork

    if isinstance(network, RecurrentNetwork):
        computing(first)
    dtype = str(first.dtype).removeprefix("torch.")
    if dtype not in PRECISIONS:
        raise TypeError(
            f"The parameters have dtype {first.dtype}, but bounds are known of real numbers as floats: "
            f"{', '.join(PRECISIONS)}. Convert the network."
        )


def _count(steps: Any) -> int:
    """``steps`` as an int: of any type of integers, but no truth value."""
    is_truth = isinstance(steps, bool) or str(getattr(steps, "dtype", "")).endswith("bool")
    try:
        count = 0 if is_truth else operator.index(steps)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"steps is {steps!r}, but a run has a whole number of steps. Give an integer of at least 1.")
    return count


def _number(name: str, value: Any) -> float:
    from odernn.cells.common.arguments import number  # torch is imported by whoever has a network

    return number(name, value)
