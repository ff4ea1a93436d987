"""The driven network of coupled, damped, nonlinear oscillators under coRNN."""

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
"""The τ tried, in units of ‖N‖ and of 2ε, which suit weak and strong damping; see ``CoupledOscillator.constants``."""


@dataclass(frozen=True, eq=False)
class CoupledOscillator(Field):
    """y' = z,   z' = tanh(W y + W_z z + x) − γ y − ε z.   Rusch & Mishra 2021 (coRNN), eq. (3)

    state  y, z : (..., hidden)      drive  x : (..., hidden)      W, W_z : (hidden, hidden)
    gamma, epsilon ≥ 0 : numbers, the stiffness and the damping

    Not separable: the force sees z. No energy law is known: neither W, unless symmetric, nor W_z has a potential.
    """

    blocks: ClassVar[tuple[str, ...]] = ("y", "z")
    weights: ClassVar[tuple[str, ...]] = ("W", "W_z")

    W: Tensor
    W_z: Tensor
    gamma: Tensor | float
    epsilon: Tensor | float

    def __post_init__(self) -> None:
        _validation.same_size("W", _validation.square("W", self.W), "W_z", _validation.square("W_z", self.W_z))
        _validation.nonnegative("gamma", self.gamma)
        _validation.nonnegative("epsilon", self.epsilon)

    @classmethod
    def random(
        cls,
        hidden_size: int,
        *,
        gamma: Tensor | float,
        epsilon: Tensor | float,
        **drawn: Unpack[DrawOptions],
    ) -> Self:
        """W, then W_z ~ U(−r, r) with r = 1/√(2 hidden): torch's linear layer on (y, z).

        The published code draws one such layer on (u, y, z), whose fan-in counts the inputs, too.
        """
        n = positive_integer("hidden_size", hidden_size)
        r = 1.0 / math.sqrt(2 * n)
        W, W_z = (r * (2.0 * torch.rand(n, n, **drawn) - 1.0) for _ in range(2))
        return cls(W, W_z, gamma, epsilon)

    @property
    def hidden_size(self) -> int:
        return self.W.shape[-1]

    def __call__(self, state: State, drive: Tensor) -> State:
        y, z = state
        force = torch.tanh(linear(y, self.W) + driven(z, self.W_z, drive)) - self.gamma * y - self.epsilon * z
        return z.expand_as(force), force

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """[[0, I], [D W − γ I, D W_z − ε I]] with D = diag(σ'(W y + W_z z + x))."""
        y, z = state
        slope = 1.0 - torch.tanh(linear(y, self.W) + linear(z, self.W_z) + drive) ** 2
        return self._jacobian(slope)

    def dense_form(self) -> DenseForm:
        """On (y, z): W = [W W_z], U = [0; I], L = [[0, I], [−γ I, −ε I]]."""
        one = torch.eye(self.hidden_size, dtype=self.W.dtype, device=self.W.device)
        zero = torch.zeros_like(one)
        L = torch.cat((torch.cat((zero, one), -1), torch.cat((-self.gamma * one, -self.epsilon * one), -1)))
        return DenseForm(torch.cat((self.W, self.W_z), -1), U=torch.cat((zero, one)), L=L)

    def constants(self) -> Constants:
        """Jacobian J(D) with 0 ≤ D ≤ I, split at the middle, D = ½I + ½F with −I ≤ F ≤ I; N = [W W_z], v = (y, z).

            lipschitz    ‖J(½I)‖ + ½‖N‖
            one-sided    λ_max(sym J(½I) + ¼(τ P + NᵀN/τ)), the least of several τ > 0, with P v = (0, z)

        J(D) = J(½I) + ½[0; F N], and zᵀF N v ≤ |z||N v| ≤ ½(τ|z|² + |N v|²/τ) for every τ > 0. The first is at most
        twice too large: J is affine in D, so its norm somewhere is at least ‖J(½I)‖, and at D = 0 or D = I at least
        ½‖J(I) − J(0)‖ = ½‖N‖. The second is never negative, as y' = z is not damped.
        """
        gamma, epsilon = (spectra.as_used(value, self.W) for value in (self.gamma, self.epsilon))
        W, W_z = (matrix.detach().to(device="cpu", dtype=torch.float64) for matrix in (self.W, self.W_z))
        middle = CoupledOscillator(W, W_z, gamma, epsilon)._jacobian(W.new_full((self.hidden_size,), 0.5))
        N = torch.cat((W, W_z), -1)
        middle_norm, N_norm = spectra.spectral_norm(middle), spectra.spectral_norm(N)
        P = torch.diag(torch.arange(2 * self.hidden_size) >= self.hidden_size).double()

        def one_sided(tau: float) -> float:
            total = middle + 0.25 * (tau * P + N.mT @ N / tau)
            # γ_n ‖N‖_F² ≤ n² u ‖N‖² for the product, and a few roundings of each entry of the sum.
            size = middle_norm + tau + N_norm * N_norm / tau
            rounding = 4 * self.hidden_size**2 * spectra.UNIT_ROUNDOFF * size
            return spectra.upward(spectra.largest_eigenvalue(total) + rounding)

        return Constants(
            lipschitz=spectra.upward(middle_norm + 0.5 * N_norm),
            one_sided_lipschitz=(
                min(one_sided(unit * step) for unit in (N_norm, 2.0 * epsilon) if unit > 0 for step in TAU_STEPS)
                if N_norm > 0
                else spectra.largest_eigenvalue(middle)
            ),
        )

    def _jacobian(self, slope: Tensor) -> Tensor:
        """J(D) for D = diag(slope), slope (..., hidden)."""
        D = slope.unsqueeze(-1)
        one = torch.eye(self.hidden_size, dtype=self.W.dtype, device=self.W.device)
        y_block, z_block = D * self.W - self.gamma * one, D * self.W_z - self.epsilon * one
        upper = torch.cat((torch.zeros_like(one), one), -1).expand(*y_block.shape[:-2], -1, -1)
        return torch.cat((upper, torch.cat((y_block, z_block), -1)), -2)
