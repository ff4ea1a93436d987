"""What scoRNN and expRNN share: modReLU after a product with an orthogonal W, and what its Jacobian can be."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from odernn.cells.common.modrelu_layers import ModReLULayer, ModReLUNetwork
from odernn.cells.common.sequences import State
from odernn.cells.recurrent import StepFunction
from odernn.executions import dense
from odernn.orthogonal.cayley import in_float64, modrelu


@dataclass(frozen=True)
class HiddenJacobian:
    """What the weights say of J = ∂h_t/∂h_{t−1} = D_t W, D_t = diag(1 where unit i is active, else 0).

    A unit is active where |z_i| + b_i > 0 and z_i ≠ 0. For every t and all inputs

        ‖J‖₂ ≤ ‖W‖₂ ≤ √(1 + defect)              so gradients of hidden states grow only by the defect
        σ_min(J) ≥ √(1 − defect)                 if all b_i ≥ 0 and no z_i = 0: then J is W
        ‖h_t − h'_t‖ ≤ √(1 + defect) ‖h_{t−1} − h'_{t−1}‖    for the same inputs, if all b_i ≤ 0

    *Proof.* ‖W x‖² = |x|² + xᵀ(WᵀW − I)x; ‖D_t‖₂ ≤ 1, and D_t = I if all units are active. z ↦ modReLU(z; b) is
    non-expansive for b ≤ 0, where it is soft thresholding by −b; for b_i > 0 it jumps by 2 b_i at z_i = 0, so that
    states can move apart although J is orthogonal wherever it exists. ∎

    defect         ‖WᵀW − I‖₂ of W as the layer uses it, computed in float64; rounding of the steps is not counted
    smallest_bias  and largest_bias: over the units, 0 without b, where the activation is the identity
    """

    defect: float
    smallest_bias: float
    largest_bias: float

    @classmethod
    def of(cls, W: Tensor, b: Tensor | None) -> HiddenJacobian:
        """Of W (n, n) and the biases b (n,), None for the identity as activation."""
        wide, biases = in_float64(W), torch.zeros(1) if b is None else b.detach()
        gram = wide.T @ wide - torch.eye(len(wide), dtype=wide.dtype)
        return cls(float(torch.linalg.matrix_norm(gram, 2)), float(biases.min()), float(biases.max()))

    @property
    def largest(self) -> float:
        """√(1 + defect), a bound on ‖J‖₂."""
        return math.sqrt(1.0 + self.defect)

    @property
    def smallest(self) -> float:
        """√(1 − defect), a bound from below on all singular values of J off z_i = 0; 0 where a b_i < 0."""
        return math.sqrt(max(1.0 - self.defect, 0.0)) if self.keeps_all_units else 0.0

    @property
    def keeps_all_units(self) -> bool:
        """All b_i ≥ 0: no unit is ever inactive off z_i = 0."""
        return self.smallest_bias >= 0.0

    @property
    def is_lipschitz(self) -> bool:
        """All b_i ≤ 0: ``largest`` bounds the distance of two states, too, not only their derivatives."""
        return self.largest_bias <= 0.0

    def __str__(self) -> str:
        low = f"≥ {self.smallest:.6g}" if self.keeps_all_units else "from 0, as units with b < 0 can fall silent"
        jumps = "" if self.is_lipschitz else f"; states jump by up to {2 * self.largest_bias:.3g} a unit where z = 0"
        return f"singular values of ∂h_t/∂h_(t−1) ≤ {self.largest:.6g}, {low} (defect of W {self.defect:.2g}){jumps}"


class OrthogonalLayer(dense.FusedLayer, ModReLULayer, ABC):
    """h_n = modReLU(W h_{n−1} + x; b) with an orthogonal W that is made from free entries; b and h0 may be None."""

    offered: ClassVar[tuple[dense.Name, ...]] = ("torch", "cpu", "cuda")

    @abstractmethod
    def recurrent_matrix(self) -> Tensor:
        """W (n, n) with the weights as they are now; differentiable."""

    def stepper(self) -> StepFunction:
        W_T, b = self.recurrent_matrix().T, self.biases()

        def step(state: State, x: Tensor) -> State:
            (h,) = state
            z = torch.addmm(x, h, W_T)
            return (z if b is None else modrelu(z, b),)

        return step

    def dense_recurrence(self) -> dense.DenseRecurrence:
        return dense.orthogonal_recurrence(self.recurrent_matrix(), self.biases())

    def drive_weights(self) -> tuple[Tensor, None]:
        return self.like, None

    def fused(self, drives: Tensor, state: State) -> State | None:
        if not self.is_on_device():
            return super().fused(drives, state)
        (h0,) = state
        W, b = self.recurrent_matrix(), self.biases()
        return (dense.orthogonal(drives, W=W, b=b, h0=h0, execution=self.execution),)

    def hidden_jacobian(self) -> HiddenJacobian:
        """Bounds on ∂h_t/∂h_{t−1} for the weights as they are now, see ``HiddenJacobian``."""
        with torch.no_grad():
            return HiddenJacobian.of(self.recurrent_matrix(), self.biases())


class OrthogonalNetwork(dense.FusedNetwork, ModReLUNetwork, ABC):
    """A network of such layers."""

    def recurrent_matrices(self) -> tuple[Tensor, ...]:
        """W of every layer and direction, in the order of ``layers``."""
        return tuple(layer.recurrent_matrix() for layer in self.layers)

    def hidden_jacobians(self) -> tuple[HiddenJacobian, ...]:
        """Bounds on ∂h_t/∂h_{t−1} of every layer and direction, in the order of ``layers``."""
        return tuple(layer.hidden_jacobian() for layer in self.layers)
