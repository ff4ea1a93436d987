"""A linear field plus a nonlinearity that saturates: the field under the Lipschitz RNN."""

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
from odernn.fields.field import Constants, DenseForm, DrawOptions, Field, State

TAU_STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The τ tried, in units of ‖W‖; see ``Semilinear.constants``."""


@dataclass(frozen=True, eq=False)
class Semilinear(Field):
    """y' = A y + tanh(W y + x).   Erichson et al. 2021 (Lipschitz RNN)

    state  y : (..., hidden)      drive  x : (..., hidden)      A, W : (hidden, hidden)

    No energy law is known: A y and tanh(W y + x) need not be gradients of anything.
    """

    weights: ClassVar[tuple[str, ...]] = ("A", "W")

    A: Tensor
    W: Tensor

    def __post_init__(self) -> None:
        _validation.same_size("A", _validation.square("A", self.A), "W", _validation.square("W", self.W))

    @classmethod
    def random(cls, hidden_size: int, **drawn: Unpack[DrawOptions]) -> Self:
        """A, then W ~ N(0, 1/hidden)."""
        n = positive_integer("hidden_size", hidden_size)
        A, W = (torch.randn(n, n, **drawn) / math.sqrt(n) for _ in range(2))
        return cls(A, W)

    @property
    def hidden_size(self) -> int:
        return self.W.shape[-1]

    def __call__(self, state: State, drive: Tensor) -> State:
        (y,) = state
        return (linear(y, self.A) + torch.tanh(driven(y, self.W, drive)),)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """A + diag(σ'(W y + x)) W."""
        (y,) = state
        slope = 1.0 - torch.tanh(linear(y, self.W) + drive) ** 2
        return self.A + slope.unsqueeze(-1) * self.W

    def dense_form(self) -> DenseForm:
        return DenseForm(self.W, L=self.A)

    def constants(self) -> Constants:
        """Jacobian A + D W with 0 ≤ D ≤ I, split at the middle, D = ½I + ½F with −I ≤ F ≤ I, M = A + ½W.

            lipschitz    ‖M‖ + ½‖W‖
            one-sided    λ_max(sym M + ¼(τ I + WᵀW/τ)), the least of several τ > 0; with τ = ‖W‖ at most
                         λ_max(sym M) + ½‖W‖

            cocoercive   −μ/L², if the one-sided constant μ is negative and L is the Lipschitz constant, as then
                         ⟨Δf, Δy⟩ ≤ μ |Δy|² ≤ (μ/L²) |Δf|²

        vᵀF W v ≤ |v||W v| ≤ ½(τ|v|² + |W v|²/τ). The first is at most twice too large: the Jacobian is affine in D, so
        its norm somewhere is at least ‖M‖, and at D = 0 or D = I at least ½‖W‖.
        """
        A, W = (matrix.detach().to(device="cpu", dtype=torch.float64) for matrix in (self.A, self.W))
        middle = A + 0.5 * W
        middle_norm, norm = spectra.spectral_norm(middle), spectra.spectral_norm(W)
        identity = torch.eye(self.hidden_size, dtype=torch.float64)

        def one_sided(tau: float) -> float:
            total = middle + 0.25 * (tau * identity + W.mT @ W / tau)
            # γ_n ‖W‖_F² ≤ n² u ‖W‖² for the product, and a few roundings of each entry of the sum.
            size = middle_norm + tau + norm * norm / tau
            rounding = 4 * self.hidden_size**2 * spectra.UNIT_ROUNDOFF * size
            return spectra.upward(spectra.largest_eigenvalue(total) + rounding)

        lipschitz = spectra.upward(middle_norm + 0.5 * norm)
        mu = min(one_sided(norm * step) for step in TAU_STEPS) if norm > 0 else spectra.largest_eigenvalue(middle)
        return Constants(
            lipschitz=lipschitz,
            one_sided_lipschitz=mu,
            cocoercivity=-spectra.upward(mu / lipschitz / lipschitz) if mu < 0.0 else None,
        )
