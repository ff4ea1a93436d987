"""The gradient flow of a sum of log cosh: monotone for every weight matrix."""

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
from odernn.fields.oscillator import log_cosh


@dataclass(frozen=True, eq=False)
class Monotone(Field):
    """y' = −Kᵀ tanh(K y + x).

    state  y : (..., hidden)      drive  x : (..., p)      K : (p, hidden)

    The gradient flow of the convex V = Σ_i log cosh((K y + x)_i): dV/dt = −|y'|², and two solutions never separate.
    """

    weights: ClassVar[tuple[str, ...]] = ("K",)
    energy_law = "non-increasing"

    K: Tensor

    def __post_init__(self) -> None:
        _validation.columns("K", self.K)

    @classmethod
    def random(
        cls,
        hidden_size: int,
        *,
        drive_size: int | None = None,
        **drawn: Unpack[DrawOptions],
    ) -> Self:
        """K ~ N(0, 1/hidden), (drive_size, hidden), drive_size = hidden_size if not given; then ‖K‖₂ ≈ 2."""
        n = positive_integer("hidden_size", hidden_size)
        p = n if drive_size is None else positive_integer("drive_size", drive_size)
        return cls(torch.randn(p, n, **drawn) / math.sqrt(n))

    @property
    def hidden_size(self) -> int:
        return self.K.shape[-1]

    @property
    def drive_size(self) -> int:
        return self.K.shape[-2]

    def __call__(self, state: State, drive: Tensor) -> State:
        (y,) = state
        return (-linear(torch.tanh(driven(y, self.K, drive)), self.K.mT),)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """−Kᵀ diag(σ'(K y + x)) K, symmetric and negative semi-definite."""
        (y,) = state
        slope = 1.0 - torch.tanh(linear(y, self.K) + drive) ** 2
        return -self.K.mT @ (slope.unsqueeze(-1) * self.K)

    def dense_form(self) -> DenseForm:
        return DenseForm(self.K, U=-self.K.mT)

    def energy(self, state: State, drive: Tensor) -> Tensor:
        """V = Σ_i log cosh((K y + x)_i), summed over the last axis."""
        (y,) = state
        return log_cosh(linear(y, self.K) + drive).sum(dim=-1)

    def constants(self) -> Constants:
        """Lipschitz ‖K‖², one-sided 0, cocoercivity 1/‖K‖² (∞ for K = 0): none of them can be improved.

        With Δa = K Δy and Δσ the difference of tanh at the two arguments, ⟨Δf, Δy⟩ = −Δσᵀ Δa, and 0 ≤ σ' ≤ 1 gives
        Δσᵀ Δa ≥ |Δσ|² ≥ ‖Kᵀ Δσ‖²/‖K‖² = ‖Δf‖²/‖K‖²; Lipschitz follows from that by Cauchy-Schwarz. Near K y + x = 0
        the first and the last are attained along the top singular vector; 0 is approached where every tanh saturates.
        """
        norm = spectra.spectral_norm(self.K)
        lipschitz = spectra.upward(norm * norm)
        return Constants(
            lipschitz=lipschitz,
            one_sided_lipschitz=0.0,
            cocoercivity=1.0 / lipschitz if lipschitz > 0 else math.inf,  # the allowance outweighs this rounding
        )
