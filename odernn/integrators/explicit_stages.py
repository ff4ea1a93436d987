"""The stages of an explicit method on a field in dense form, and the adjoint of all steps in torch's operations.

    Y_i = y + h (U P_i + L V_i),   P_i = Σ_{j<i} a_ij p_j,   V_i = Σ_{j<i} a_ij Y_j,   p_i = φ(W Y_i + x)

The equations are those of ``explicit_rows``, which has them as an operator, and this for derivatives of the derivative.
Saved tensors say in torch.func no more what they were derived by, so that the adjoint is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from odernn.integrators import matrices
from odernn.integrators.activations import Activation

TANH = Activation(["tanh"], [])

Matrix: TypeAlias = Tensor | None


@dataclass(frozen=True, eq=False)
class Stages:
    """The tensors of the equations, A row by row."""

    x: Tensor
    shift: Tensor | None
    W: Matrix
    U: Matrix
    L: Matrix
    h: float | Tensor
    A: Sequence[float]
    b: Sequence[float]

    @property
    def count(self) -> int:
        return len(self.b)

    def row(self, i: int) -> Sequence[float]:
        """a_i1 … a_is."""
        return self.A[i * self.count : (i + 1) * self.count]

    def drives(self, of: Tensor) -> list[list[Tensor]]:
        """Step by step, stage by stage, (batch, q)."""
        repeated = of.shape[-1] != self.size
        parts = [part.unbind() for part in of.split(self.size, -1)] if repeated else [of.unbind()] * self.count
        return [list(step) for step in zip(*parts, strict=True)]

    @property
    def size(self) -> int:
        """q."""
        if self.W is not None:
            return matrices.row_count(self.W)
        return self.x.shape[-1] if self.U is None else matrices.row_count(self.U.transpose(0, 1))

    @property
    def keeps_points(self) -> bool:
        """Whether the derivative reads Y."""
        return self.shift is not None or self.W is not None or self.L is not None


def slopes_of(stages: Stages, Y: Tensor, p: Tensor) -> tuple[Tensor, Tensor | None]:
    """φ' of all stages by z and by the shift, (s, time, batch, q); tanh's from its values."""
    if stages.shift is None:
        return 1.0 - p * p, None
    z = (Y if stages.W is None else matrices.product(stages.W, Y)) + spread(stages.x, p)
    return TANH.slopes(z, spread(stages.shift, p))


def spread(x: Tensor, p: Tensor) -> Tensor:
    """(time, batch, q) or (time, batch, s q) beside p (s, time, batch, q)."""
    spread: Tensor = x.unflatten(-1, (-1, p.shape[-1])).movedim(-2, 0)
    return spread


def gathered(mu: Tensor, x: Tensor) -> Tensor:
    """The transpose of that."""
    return mu.sum(0) if mu.shape[-1] == x.shape[-1] else mu.movedim(0, -2).flatten(-2)


def by_matrices(
    stages: Stages, costates: tuple[Tensor, Tensor], values: tuple[Tensor, Tensor], needed: Sequence[bool]
) -> list[Matrix]:
    """The derivatives by W, U and L that are needed, from κ, μ and Y, p of all stages."""
    (kappa, mu), (Y, p) = costates, values
    pairs = zip((stages.W, stages.U, stages.L), ((mu, Y), (kappa, p), (kappa, Y)), needed, strict=True)
    return [matrices.outer_sum(*pair, M) if M is not None and need else None for M, pair, need in pairs]


def stages_in_torch(stages: Stages, y: Tensor) -> tuple[Tensor, Tensor]:
    """Y and p of all steps."""
    drives = stages.drives(stages.x)
    shifts = None if stages.shift is None else stages.drives(stages.shift)
    points, activations = [y.new_empty(0, stages.count, *y.shape)], []
    for n, step in enumerate(drives):
        Ys: list[Tensor] = []
        ps: list[Tensor] = []
        slopes: list[Tensor] = []
        for i, x in enumerate(step):
            Y = y
            for a, slope in zip(stages.row(i), slopes, strict=False):
                Y = Y + stages.h * a * slope
            z = x + (Y if stages.W is None else matrices.product(stages.W, Y))
            p = TANH.value(z, None if shifts is None else shifts[n][i])
            k = p if stages.U is None else matrices.product(stages.U, p)
            slopes.append(k if stages.L is None else k + matrices.product(stages.L, Y))
            Ys.append(Y)
            ps.append(p)
        for b, slope in zip(stages.b, slopes, strict=True):
            y = y + stages.h * b * slope
        points.append(torch.stack(Ys).unsqueeze(0))
        activations.append(torch.stack(ps).unsqueeze(0))
    none = y.new_empty(0, stages.count, len(y), stages.size)
    return torch.cat(points).transpose(0, 1), torch.cat((none, *activations)).transpose(0, 1)


def derivative_in_torch(
    grad_rows: Tensor | None, grad_w: Tensor | None, stages: Stages, y0: Tensor
) -> tuple[Matrix, ...]:
    """The adjoint in differentiable operations, of stages that are computed once more."""
    W, U, L, h, b = stages.W, stages.U, stages.L, stages.h, stages.b
    Y, p = stages_in_torch(stages, y0)
    slopes, by_shift = slopes_of(stages, Y, p)
    g, found = torch.zeros_like(y0), []
    for n in range(p.shape[1] - 1, -1, -1):
        g = g if grad_rows is None else g + grad_rows[n]
        kappas, pis, mus, etas = ([g] * stages.count for _ in range(4))
        for i in range(stages.count - 1, -1, -1):
            kappa = b[i] * g
            for j in range(i + 1, stages.count):
                kappa = kappa + stages.row(j)[i] * etas[j]
            kappas[i] = h * kappa
            pi = kappas[i] if U is None else matrices.transposed_product(U, kappas[i])
            pis[i] = pi if grad_w is None else pi + b[i] * grad_w[n]
            mus[i] = slopes[i, n] * pis[i]
            eta = mus[i] if W is None else matrices.transposed_product(W, mus[i])
            etas[i] = eta if L is None else eta + matrices.transposed_product(L, kappas[i])
        g = g + torch.stack(etas).sum(0)
        found.append([torch.stack(each) for each in (kappas, pis, mus)])
    like = Y, p, p
    kappa, pi, mu = (
        torch.stack([step[k] for step in found[::-1]], 1) if found else torch.zeros_like(like[k]) for k in range(3)
    )
    by_each = by_matrices(stages, (kappa, mu), (Y, p), [True] * 3)
    by_gate = None if by_shift is None else gathered(by_shift * pi, stages.x)
    return gathered(mu, stages.x), by_gate, g, *by_each
