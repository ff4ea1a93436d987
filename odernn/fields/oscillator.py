"""The driven, uncoupled, nonlinear oscillator under UnICORNN."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


def log_cosh(a: Tensor) -> Tensor:
    """log cosh a to a few roundings for every a; cosh itself overflows beyond |a| = 710 in float64."""
    small = a.abs() < 1.0
    # 1 − tanh² = 1/cosh²; the clamp keeps the unused branch, and so its gradient, finite.
    near = -0.5 * torch.log1p(-(torch.tanh(a.clamp(-1.0, 1.0)) ** 2))
    far = a.abs() + torch.log1p(torch.exp(-2.0 * a.abs())) - math.log(2.0)
    return torch.where(small, near, far)


@dataclass(frozen=True, eq=False)
class Oscillator:
    """y' = z,   z' = −[tanh(w ⊙ y + x) + α y],   x = V u(t) + b the drive.   Rusch & Mishra 2021, eq. (2)-(4)

    state  y, z : (..., hidden)      drive  x : (..., hidden)      w, alpha : broadcastable to the state

    Separable and Hamiltonian: y' = ∂H/∂z and z' = −∂H/∂y with H = ``energy``. Neurons do not interact.
    """

    w: Tensor
    alpha: Tensor | float

    def velocity(self, z: Tensor) -> Tensor:
        """dy/dt = z."""
        return z

    def force(self, y: Tensor, drive: Tensor) -> Tensor:
        """dz/dt = −[tanh(w y + x) + α y]."""
        return -(torch.tanh(self.w * y + drive) + self.alpha * y)

    def force_jacobian(self, y: Tensor, drive: Tensor) -> Tensor:
        """Diagonal of ∂(dz/dt)/∂y, that is −κ with κ = α + w σ'(w y + x); the other entries are zero."""
        return -(self.alpha + self.w * (1.0 - torch.tanh(self.w * y + drive) ** 2))

    def energy(self, y: Tensor, z: Tensor, drive: Tensor) -> Tensor:
        """H = α/2 |y|² + 1/2 |z|² + Σ_i ψ(w_i, y_i, x_i), summed over the last axis.

        ψ(w, y, x) = (1/w) log cosh(w y + x) for w ≠ 0 and y tanh x for w = 0. Both have ∂ψ/∂y = tanh(w y +
        x); as w → 0 the first tends to the second only after (1/w) log cosh x, a constant in y, is taken off,
        so energies are compared at fixed w and x.
        """
        w, y, drive = torch.broadcast_tensors(self.w, y, drive)
        is_zero = w == 0
        safe_w = torch.where(is_zero, torch.ones_like(w), w)
        psi = torch.where(is_zero, y * torch.tanh(drive), log_cosh(safe_w * y + drive) / safe_w)
        return (0.5 * self.alpha * y**2 + 0.5 * z**2 + psi).sum(dim=-1)
