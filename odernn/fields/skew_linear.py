"""The linear field whose flow is orthogonal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import torch
from torch import Tensor
from torch.nn.functional import linear

from odernn.exact.integers import positive_integer
from odernn.fields import _validation, spectra
from odernn.fields._once import once
from odernn.fields.field import Constants, DrawOptions, Field, State


@dataclass(frozen=True, eq=False)
class SkewLinear(Field):
    """y' = S y + x,   S = W − Wᵀ.

    state  y : (..., hidden)      drive  x : (..., hidden)      W : (hidden, hidden)

    The flow at zero drive is exp(t S), orthogonal: d/dt ½|y|² = yᵀS y = 0. One step of the implicit midpoint rule is
    the Cayley map of −½ dt S. ``S`` is computed once: after changing W in place, make a new field (``with_tensors``).
    """

    weights: ClassVar[tuple[str, ...]] = ("W",)
    is_linear: ClassVar[bool] = True
    energy_law = "conserved at zero drive"

    W: Tensor

    def __post_init__(self) -> None:
        _validation.square("W", self.W)

    @classmethod
    def random(cls, hidden_size: int, **drawn: Unpack[DrawOptions]) -> Self:
        """W ~ N(0, 1/hidden), so that ‖W − Wᵀ‖₂ ≈ 2√2 for large hidden sizes."""
        n = positive_integer("hidden_size", hidden_size)
        return cls(torch.randn(n, n, **drawn) / math.sqrt(n))

    @property
    def hidden_size(self) -> int:
        return self.W.shape[-1]

    @once
    def S(self) -> Tensor:
        """W − Wᵀ, (hidden, hidden); skew-symmetric to the last digit."""
        return self.W - self.W.mT

    def __call__(self, state: State, drive: Tensor) -> State:
        (y,) = state
        return (linear(y, self.S) + drive,)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """S at every state: one matrix seen through all leading axes, not a copy for each."""
        y, _ = torch.broadcast_tensors(state[0], drive)
        return self.S.expand(*y.shape[:-1], *self.S.shape)

    def energy(self, state: State, drive: Tensor) -> Tensor:
        """½|y|², summed over the last axis."""
        y, _ = torch.broadcast_tensors(state[0], drive)
        energy: Tensor = 0.5 * (y**2).sum(dim=-1)
        return energy

    def drive_lipschitz(self) -> float:
        """1: the drive is added."""
        return 1.0

    def constants(self) -> Constants:
        """⟨S Δ, Δ⟩ = 0 for every Δ, and ‖S Δ‖ ≤ ‖S‖ ‖Δ‖ with equality for some; not cocoercive unless S = 0."""
        return Constants(lipschitz=spectra.spectral_norm(self.S), one_sided_lipschitz=0.0)
