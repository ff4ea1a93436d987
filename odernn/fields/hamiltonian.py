"""A Hamiltonian field with coupled neurons whose kinetic and potential energy are sums of log cosh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import torch
from torch import Tensor
from torch.nn.functional import linear

from odernn.exact.integers import positive_integer
from odernn.fields import _validation, spectra
from odernn.fields._products import driven
from odernn.fields.field import Constants, DenseForm, DrawOptions, SeparableField, State
from odernn.fields.oscillator import log_cosh


@dataclass(frozen=True, eq=False)
class SeparableHamiltonian(SeparableField):
    """y' = Lᵀ tanh(L z),   z' = −Kᵀ tanh(K y + x).

    state  y, z : (..., hidden)      drive  x : (..., p)      K : (p, hidden)      L : (r, hidden)

    y' = ∂H/∂z and z' = −∂H/∂y with H = ``energy`` = T(z) + V(y; x). T is even, so the field is reversible.
    """

    weights: ClassVar[tuple[str, ...]] = ("K", "L")
    energy_law = "conserved"
    is_reversible: ClassVar[bool] = True

    K: Tensor
    L: Tensor

    def __post_init__(self) -> None:
        _validation.same_size("K", _validation.columns("K", self.K), "L", _validation.columns("L", self.L))

    @classmethod
    def random(
        cls,
        hidden_size: int,
        *,
        drive_size: int | None = None,
        kinetic_size: int | None = None,
        **drawn: Unpack[DrawOptions],
    ) -> Self:
        """K (drive_size, hidden), then L (kinetic_size, hidden), both ~ N(0, 1/hidden); square if not given."""
        n = positive_integer("hidden_size", hidden_size)
        K, L = (
            torch.randn(n if rows is None else positive_integer(name, rows), n, **drawn) / math.sqrt(n)
            for name, rows in (("drive_size", drive_size), ("kinetic_size", kinetic_size))
        )
        return cls(K, L)

    @property
    def hidden_size(self) -> int:
        return self.K.shape[-1]

    @property
    def drive_size(self) -> int:
        return self.K.shape[-2]

    def velocity(self, z: Tensor) -> Tensor:
        """dy/dt = Lᵀ tanh(L z)."""
        return linear(torch.tanh(linear(z, self.L)), self.L.mT)

    def force(self, y: Tensor, drive: Tensor) -> Tensor:
        """dz/dt = −Kᵀ tanh(K y + x)."""
        return -linear(torch.tanh(driven(y, self.K, drive)), self.K.mT)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """[[0, Lᵀ D₁ L], [−Kᵀ D₂ K, 0]] with D₁ = diag(σ'(L z)) and D₂ = diag(σ'(K y + x))."""
        y, z = state
        kinetic = 1.0 - torch.tanh(linear(z, self.L)) ** 2
        potential = 1.0 - torch.tanh(linear(y, self.K) + drive) ** 2
        upper, lower = torch.broadcast_tensors(
            self.L.mT @ (kinetic.unsqueeze(-1) * self.L), -self.K.mT @ (potential.unsqueeze(-1) * self.K)
        )
        zero = torch.zeros_like(upper)
        return torch.cat((torch.cat((zero, upper), -1), torch.cat((lower, zero), -1)), -2)

    def dense_form(self) -> DenseForm:
        """On (y, z): W = [[0, L], [K, 0]], U = [[Lᵀ, 0], [0, −Kᵀ]]; the first activations, of L z, see no drive."""
        K, L = self.K, self.L
        W = torch.cat(
            (
                torch.cat((L.new_zeros(len(L), K.shape[1]), L), -1),
                torch.cat((K, K.new_zeros(len(K), L.shape[1])), -1),
            )
        )
        U = torch.block_diag(L.mT, -K.mT)
        return DenseForm(W, U=U, undriven=len(L))

    def energy(self, state: State, drive: Tensor) -> Tensor:
        """H = Σ_i log cosh((L z)_i) + Σ_i log cosh((K y + x)_i), summed over the last axes."""
        y, z = state
        return log_cosh(linear(z, self.L)).sum(dim=-1) + log_cosh(linear(y, self.K) + drive).sum(dim=-1)

    def constants(self) -> Constants:
        """Jacobian [[0, P], [−Q, 0]] with 0 ≤ P ≤ LᵀL and 0 ≤ Q ≤ KᵀK, q = max(‖K‖², ‖L‖²): norm q, one-sided ½q.

        The norm is max(‖P‖, ‖Q‖); the symmetric part has the eigenvalues of ±½(P − Q), and −Q ≤ P − Q ≤ P. Both are
        approached: the norm where nothing saturates, the other where everything does in one of the two terms only.
        """
        norm = max(spectra.spectral_norm(self.K), spectra.spectral_norm(self.L))
        lipschitz = spectra.upward(norm * norm)
        return Constants(lipschitz=lipschitz, one_sided_lipschitz=0.5 * lipschitz)
