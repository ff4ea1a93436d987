"""The antisymmetric field with diffusion, plain and gated."""

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
from odernn.fields._products import driven
from odernn.fields.field import Constants, DenseForm, DrawOptions, Field, State
from odernn.fields.oscillator import log_cosh


@dataclass(frozen=True, eq=False)
class _AntisymmetricField(Field):
    """y' = φ(A y; drive) with φ entrywise and A = W − Wᵀ − γ I: what the plain and the gated field share.

    ``S`` and ``A`` are computed once: after changing W in place, make a new field (``with_tensors``).
    """

    weights: ClassVar[tuple[str, ...]] = ("W",)

    W: Tensor
    gamma: Tensor | float

    def __post_init__(self) -> None:
        _validation.square("W", self.W)
        _validation.nonnegative("gamma", self.gamma)

    @classmethod
    def random(
        cls,
        hidden_size: int,
        *,
        gamma: Tensor | float,
        **drawn: Unpack[DrawOptions],
    ) -> Self:
        """W ~ N(0, 1/hidden), so that ‖W − Wᵀ‖₂ ≈ 2√2 for large hidden sizes."""
        n = positive_integer("hidden_size", hidden_size)
        W = torch.randn(n, n, **drawn) / math.sqrt(n)
        return cls(W, gamma)

    @property
    def hidden_size(self) -> int:
        return self.W.shape[-1]

    @once
    def S(self) -> Tensor:
        """W − Wᵀ, (hidden, hidden); skew-symmetric to the last digit."""
        return self.W - self.W.mT

    @once
    def A(self) -> Tensor:
        """W − Wᵀ − γ I, (hidden, hidden)."""
        return self.S - self.gamma * torch.eye(self.hidden_size, dtype=self.W.dtype, device=self.W.device)

    def _constants(self, lowest_slope: float) -> Constants:
        """Of every field with Jacobian E A, E diagonal with entries in [lowest_slope, 1], −1 ≤ lowest_slope ≤ 0.

        ‖E A‖ ≤ ‖A‖ = √(γ² + ‖S‖²), because AᵀA = γ² I + SᵀS. With m the middle and r the radius of the interval,
        E = m I + r F, −I ≤ F ≤ I, and sym A = −γ I:

            sym(E A) = −m γ I + r sym(F A) ≤ r ‖A‖ − m γ = r (‖A‖ − γ) − lowest_slope γ.
        """
        gamma = spectra.as_used(self.gamma, self.W)
        norm = spectra.spectral_norm(self.S)
        radius = 0.5 * (1.0 - lowest_slope)
        return Constants(
            lipschitz=spectra.upward(math.hypot(gamma, norm)),
            one_sided_lipschitz=spectra.upward(radius * spectra.excess(gamma, norm) - lowest_slope * gamma),
        )


@dataclass(frozen=True, eq=False)
class Antisymmetric(_AntisymmetricField):
    """y' = tanh(A y + x),   A = W − Wᵀ − γ I.   Chang, Chen, Haber & Chi 2019 (AntisymmetricRNN)

    state  y : (..., hidden)      drive  x : (..., hidden)      W : (hidden, hidden)      gamma ≥ 0 : a number

    H = Σ log cosh((A y + x)_i) has the gradient Aᵀσ, σ = tanh(A y + x), so at constant drive
    dH/dt = σᵀA σ = −γ |σ|² ≤ 0: with γ = 0 it is conserved. The *distance* of two solutions is another matter:
    the eigenvalues of the Jacobian diag(σ') A have real parts in [−γ, 0], but it is not normal, see ``constants``.
    """

    energy_law = "non-increasing"

    def __call__(self, state: State, drive: Tensor) -> State:
        (y,) = state
        return (torch.tanh(driven(y, self.A, drive)),)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """diag(σ'(A y + x)) A."""
        (y,) = state
        slope = 1.0 - torch.tanh(linear(y, self.A) + drive) ** 2
        return slope.unsqueeze(-1) * self.A

    def dense_form(self) -> DenseForm:
        return DenseForm(self.A)

    def energy(self, state: State, drive: Tensor) -> Tensor:
        """H = Σ_i log cosh((A y + x)_i), summed over the last axis."""
        (y,) = state
        return log_cosh(linear(y, self.A) + drive).sum(dim=-1)

    def constants(self) -> Constants:
        """Jacobian D A with 0 ≤ D ≤ I: norm ‖A‖ = √(γ² + ‖S‖²), symmetric part at most ½(‖A‖ − γ), never −γ.

        D A = ½ A + ½ F A with −I ≤ F ≤ I and sym A = −γ I. The bound is positive unless S = 0, whatever γ is: with some
        neurons saturated and others not, two solutions may separate.

        How sharp? λ_max(sym(D A)) is convex in D, hence largest at a vertex D = diag(1_P): there, with Q the complement
        of P, it is ½(√(γ² + ‖S_PQ‖²) − γ). For hidden = 2 that is the bound. In general ‖S_PQ‖ ≥ ½‖S‖ for some P, so
        the bound is at most 4 times too large, and 2 times if γ = 0. Toss a fair coin for each index: with uᵀS v = ‖S‖,
        |u| = |v| = 1, the mean of u_Pᵀ S v_Q is ¼‖S‖ (as s_ii = 0) and that of ½(|u_P|² + |v_Q|²) ≥ |u_P||v_Q| is ½.
        """
        return self._constants(lowest_slope=0.0)


@dataclass(frozen=True, eq=False)
class GatedAntisymmetric(_AntisymmetricField):
    """y' = σ̂(A y + x_g) ⊙ tanh(A y + x),   A = W − Wᵀ − γ I.   Chang, Chen, Haber & Chi 2019 (AntisymmetricRNN)

    state  y : (..., hidden)      drive  (x, x_g) : (..., 2 hidden)      W : (hidden, hidden)      gamma ≥ 0 : a number

    Gate and force share A; the input weights and biases of both belong to the drive. σ̂ is the logistic function.
    The energy of the field without gate changes by σᵀA(g ⊙ σ), which has no sign: no energy law is known.
    """

    @property
    def drive_size(self) -> int:
        return 2 * self.hidden_size

    def __call__(self, state: State, drive: Tensor) -> State:
        gate, force = self._gate_and_force(state, drive)
        return (gate * force,)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """diag(g σ' + g' σ) A with σ' = 1 − σ² and g' = g (1 − g)."""
        gate, force = self._gate_and_force(state, drive)
        slope = gate * ((1.0 - force**2) + (1.0 - gate) * force)
        return slope.unsqueeze(-1) * self.A

    def dense_form(self) -> DenseForm:
        return DenseForm(self.A, is_gated=True)

    def constants(self) -> Constants:
        """Jacobian E A with −¼ ≤ E ≤ 1: norm ≤ ‖A‖ = √(γ² + ‖S‖²), symmetric part ≤ ⅛(5‖A‖ − 3γ).

        An entry is e = g [1 − t² + (1 − g) t] with 0 < g < 1 and |t| < 1 independent, as x_g and x are, concave in t.
        Least at an end: e > min over t = ±1, that is −g(1 − g) ≥ −¼, approached at g = ½, t → −1. Largest at
        t = (1 − g)/2: e ≤ g + ¼ g(1 − g)², which increases with g (slope 1 + ¼(1 − g)(1 − 3g) ≥ 11/12), so e < 1,
        approached at t = 0, g → 1. So the norm is approached, and E = ⅜ I + ⅝ F with −I ≤ F ≤ I, sym A = −γ I, gives
        the other; for hidden = 2 it is approached, too: E → diag(1, −¼).
        """
        return self._constants(lowest_slope=-0.25)

    def _gate_and_force(self, state: State, drive: Tensor) -> tuple[Tensor, Tensor]:
        (y,) = state
        x, x_g = drive.split((self.hidden_size, self.hidden_size), dim=-1)
        Ay = linear(y, self.A)
        return torch.sigmoid(Ay + x_g), torch.tanh(Ay + x)
