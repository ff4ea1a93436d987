"""What ``certify`` is asked of a network, and what every family of cells refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Question:
    """steps N, |u| ≤ input_bound and |ȳ| ≤ target_bound entrywise, rms_energy of UnICORNN's estimate.

    Raises ValueError for a number of steps that is no integer ≥ 1, and for bounds that are negative or not finite.
    """

    steps: int
    input_bound: float
    target_bound: float = 1.0
    rms_energy: float | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.steps, int) and not isinstance(self.steps, bool) and self.steps >= 1):
            raise ValueError(f"steps is {self.steps!r}, but a run has a whole number of steps, at least 1.")
        rms = self.rms_energy
        if rms is not None and not (math.isfinite(rms) and rms > 0):
            raise ValueError(f"rms_energy is {rms}, but the rms of a run that moves is finite and positive.")
        for name, value in (("input_bound", self.input_bound), ("target_bound", self.target_bound)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}, but a bound on entries is finite and not negative.")


def check_network(network: nn.Module) -> None:
    """Raises ValueError for a bidirectional network and for a parameter that is not finite or has no values."""
    if getattr(network, "bidirectional", False):
        raise ValueError(
            "The network is bidirectional, and the gradient bounds add up paths that run forwards in time only. "
            "Certify a network of one direction."
        )
    for name, parameter in network.named_parameters():
        if parameter.is_meta:
            raise ValueError(f"The parameter {name} is on the device meta, where it has no values. Load weights first.")
        if not bool(parameter.isfinite().all()):
            raise ValueError(f"The parameter {name} has an entry that is not finite. Nothing is bounded then.")
