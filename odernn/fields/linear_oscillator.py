"""The driven, uncoupled, linear oscillator under LinOSS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import torch
from torch import Tensor

from odernn.exact.integers import positive_integer
from odernn.fields import _validation, spectra
from odernn.fields.field import Constants, DrawOptions, SeparableField, State


@dataclass(frozen=True, eq=False)
class LinearOscillator(SeparableField):
    """y' = z,   z' = x − A ⊙ y.   Rusch, Rus 2025 (LinOSS)

    state  y, z : (..., hidden)      drive  x : (..., hidden)
    A : (hidden,), or () for one neuron, squares of frequencies; leading axes as those of the state for many at once.
    Where an entry is negative the flow grows exponentially, and what is said here holds all the same

    Separable and Hamiltonian: y' = ∂H/∂z and z' = −∂H/∂y with H = ``energy``. Neurons do not interact.
    """

    weights: ClassVar[tuple[str, ...]] = ("A",)
    is_linear: ClassVar[bool] = True
    couples_neurons: ClassVar[bool] = False
    energy_law = "conserved"
    is_reversible: ClassVar[bool] = True

    A: Tensor

    def __post_init__(self) -> None:
        _validation.vector("A", self.A)

    @classmethod
    def random(cls, hidden_size: int, **drawn: Unpack[DrawOptions]) -> Self:
        """A ~ U(0, 1)."""
        n = positive_integer("hidden_size", hidden_size)
        return cls(torch.rand(n, **drawn))

    @property
    def hidden_size(self) -> int:
        return self.A.shape[-1] if self.A.dim() else 1

    def velocity(self, z: Tensor) -> Tensor:
        """dy/dt = z."""
        return z

    def force(self, y: Tensor, drive: Tensor) -> Tensor:
        """dz/dt = x − A y."""
        return drive - self.A * y

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """[[0, 1], [−A, 0]] of every neuron, (..., hidden, 2, 2), the same at every state."""
        y, _, drive = torch.broadcast_tensors(*state, drive)
        minus_A = (-self.A).expand(y.shape)
        zero, one = torch.zeros_like(minus_A), torch.ones_like(minus_A)
        return torch.stack((torch.stack((zero, one), -1), torch.stack((minus_A, zero), -1)), -2)

    def energy(self, state: State, drive: Tensor) -> Tensor:
        """H = ½ Σ (A y² + z²) − Σ x y, summed over the last axis."""
        y, z = state
        energy: Tensor = (0.5 * (self.A * y**2 + z**2) - drive * y).sum(dim=-1)
        return energy

    def constants(self) -> Constants:
        """Per neuron [[0, 1], [−A, 0]]: norm max(1, |A|), symmetric part of largest eigenvalue |1 − A|/2, attained."""
        A = spectra.settled("A", self.A)
        return Constants(
            lipschitz=spectra.upward(max(1.0, float(A.abs().max()))),
            one_sided_lipschitz=spectra.upward(float((1.0 - A).abs().max()) / 2),
        )
