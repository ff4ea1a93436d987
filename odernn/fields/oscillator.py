"""The driven, uncoupled, nonlinear oscillator under UnICORNN."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import torch
from torch import Tensor

from odernn.exact.integers import positive_integer
from odernn.fields import _validation, spectra
from odernn.fields.field import Constants, DenseForm, DrawOptions, SeparableField, State


def log_cosh(a: Tensor) -> Tensor:
    """log cosh a to a few roundings for every a; cosh itself overflows beyond |a| = 710 in float64."""
    small = a.abs() < 1.0
    # 1 − tanh² = 1/cosh²; the clamp keeps the unused branch, and so its gradient, finite.
    near = -0.5 * torch.log1p(-(torch.tanh(a.clamp(-1.0, 1.0)) ** 2))
    far = a.abs() + torch.log1p(torch.exp(-2.0 * a.abs())) - math.log(2.0)
    return torch.where(small, near, far)


@dataclass(frozen=True, eq=False)
class Oscillator(SeparableField):
    """y' = z,   z' = −[tanh(w ⊙ y + x) + α y],   x = V u(t) + b the drive.   Rusch & Mishra 2021, eq. (2)-(4)

    state  y, z : (..., hidden)      drive  x : (..., hidden)
    w : (hidden,), or () for one neuron; leading axes as those of the state for many fields at once
    alpha ≥ 0 : a number, or a tensor () or of the shape of w

    Separable and Hamiltonian: y' = ∂H/∂z and z' = −∂H/∂y with H = ``energy``. Neurons do not interact.
    """

    weights: ClassVar[tuple[str, ...]] = ("w",)
    couples_neurons: ClassVar[bool] = False
    energy_law = "conserved"
    is_reversible: ClassVar[bool] = True

    w: Tensor
    alpha: Tensor | float

    def __post_init__(self) -> None:
        _validation.vector("w", self.w)
        _validation.nonnegative("alpha", self.alpha, like=self.w)

    @classmethod
    def random(
        cls,
        hidden_size: int,
        *,
        alpha: Tensor | float,
        **drawn: Unpack[DrawOptions],
    ) -> Self:
        """w ~ U(0, 1), as in the paper."""
        n = positive_integer("hidden_size", hidden_size)
        return cls(torch.rand(n, **drawn), alpha)

    @property
    def hidden_size(self) -> int:
        return self.w.shape[-1] if self.w.dim() else 1

    def velocity(self, z: Tensor) -> Tensor:
        """dy/dt = z."""
        return z

    def force(self, y: Tensor, drive: Tensor) -> Tensor:
        """dz/dt = −[tanh(w y + x) + α y]."""
        return -(torch.tanh(self.w * y + drive) + self.alpha * y)

    def force_jacobian(self, y: Tensor, drive: Tensor) -> Tensor:
        """Diagonal of ∂(dz/dt)/∂y, that is −κ with κ = α + w σ'(w y + x); the other entries are zero."""
        return -(self.alpha + self.w * (1.0 - torch.tanh(self.w * y + drive) ** 2))

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """[[0, 1], [−κ, 0]] of every neuron, (..., hidden, 2, 2)."""
        minus_kappa = self.force_jacobian(state[0], drive)
        zero, one = torch.zeros_like(minus_kappa), torch.ones_like(minus_kappa)
        rows = (torch.stack((zero, one), -1), torch.stack((minus_kappa, zero), -1))
        return torch.stack(rows, -2)

    def dense_form(self) -> DenseForm | None:
        """By neuron: W = (w, 0), U = (0; −1), L = ((0, 1), (−α, 0)). None for many fields at once."""
        if self.w.dim() > 1:
            return None
        w = torch.atleast_1d(self.w)
        one, zero = torch.ones_like(w), torch.zeros_like(w)
        W, U = torch.stack((w, zero)).unsqueeze(0), torch.stack((zero, -one)).unsqueeze(1)
        L = torch.stack((torch.stack((zero, one)), torch.stack((-self.alpha * one, zero))))
        return DenseForm(W, U=U, L=L)

    def energy(self, state: State, drive: Tensor) -> Tensor:
        """H = α/2 |y|² + 1/2 |z|² + Σ_i ψ(w_i, y_i, x_i), summed over the last axis.

        ψ(w, y, x) = (1/w) log cosh(w y + x) for w ≠ 0 and y tanh x for w = 0. Both have ∂ψ/∂y = tanh(w y +
        x); as w → 0 the first tends to the second only after (1/w) log cosh x, a constant in y, is taken off,
        so energies are compared at fixed w and x.
        """
        y, z = state
        w, y, drive = torch.broadcast_tensors(self.w, y, drive)
        is_zero = w == 0
        safe_w = torch.where(is_zero, torch.ones_like(w), w)
        psi = torch.where(is_zero, y * torch.tanh(drive), log_cosh(safe_w * y + drive) / safe_w)
        energy: Tensor = (0.5 * self.alpha * y**2 + 0.5 * z**2 + psi).sum(dim=-1)
        return energy

    def constants(self) -> Constants:
        """Per neuron ∂f/∂x = [[0, 1], [−κ, 0]]: norm max(1, |κ|), symmetric part of largest eigenvalue |1 − κ|/2.

        κ runs through the interval between α (σ' → 0) and α + w (σ' = 1); both are convex in κ: the ends decide.
        α has the digits that arithmetic in the dtype of w sees.
        """
        w = spectra.settled("w", self.w)
        alpha = spectra.settled("alpha", torch.as_tensor(self.alpha, dtype=torch.float64).to(self.w.dtype))
        ends = torch.stack(torch.broadcast_tensors(alpha, alpha + w))
        return Constants(
            lipschitz=spectra.upward(max(1.0, float(ends.abs().max()))),
            one_sided_lipschitz=spectra.upward(float((1.0 - ends).abs().max()) / 2),
        )
