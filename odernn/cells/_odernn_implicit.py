"""Stages of a ``MatrixTableau`` that depend on each other: their equations, and the gradient of their solution.

For the stages of one circle, with y, the drive and the earlier slopes given,

    r_i(k) = k_i − σ_i(x_i) = 0,    x_i = K_i (y + η Σ_j A_ij k_j) + U_i u + b_i
    r'(k)_iq = δ_iq I − diag(σ_i'(x_i)) K_i η (A_iq diag(g_iq) + Σ_j A_ij diag(k_j) Γ_ijq)

with the gates g_ij = … + Σ_q Γ_ijq k_q, where there are any. The gradient is that of the implicit function theorem at
the solution: λ = r'(k)⁻ᵀ ∂E/∂k, and everything else that r is a function of gets −λᵀ ∂r/∂(it) with k held fixed, in
differentiable operations in which k is the output of this very node; so it is right to all orders.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from odernn.cells._odernn_parts import dense
from odernn.integrators.newton import ConvergenceError, ConvergenceWarning, Equations, Newton, Outcome, solve

if TYPE_CHECKING:
    from odernn.cells._odernn_step import Step


@dataclass(frozen=True, eq=False)
class Circle(Equations):
    """The equations of the stages ``group``; a unit is a sample, and its unknowns are the k_i side by side."""

    step: Step
    group: tuple[int, ...]
    y: Tensor
    drive: Tensor
    given: Mapping[int, Tensor]

    @functools.cached_property
    def couplings(self) -> dict[tuple[int, int], Tensor]:
        """(i, j) → K_i η A_ij, for the stages i of the group."""
        return {(i, j): self.step.coupling(i, j) for i, j in self.step.structure.A if i in self.group}

    @property
    def eta(self) -> Tensor:
        """The step size, for the norms."""
        return self.step.values["eta"].detach()

    @property
    def sizes(self) -> list[int]:
        """p_i of the stages of the group."""
        return [self.step.structure.stages[i].size for i in self.group]

    @property
    def unknowns(self) -> int:
        return sum(self.sizes)

    def slopes(self, k: Tensor) -> dict[int, Tensor]:
        """All slopes by label: those given, and k (batch, Σp) cut up."""
        return {**self.given, **dict(zip(self.group, k.split(self.sizes, dim=-1), strict=True))}

    def preactivations(self, k: Tensor) -> list[Tensor]:
        """x_i of the stages of the group."""
        slopes = self.slopes(k)
        return [self.step.preactivation(i, self.step.argument(i, self.y, slopes), self.drive) for i in self.group]

    def residual(self, k: Tensor) -> Tensor:
        stages = [self.step.structure.stages[i] for i in self.group]
        return k - torch.cat([stage.sigma(x) for stage, x in zip(stages, self.preactivations(k), strict=True)], dim=-1)

    def jacobian(self, k: Tensor) -> Tensor:
        """r'(k), (batch, Σp, Σp)."""
        slopes, step = self.slopes(k), self.step
        rows = []
        for i, x in zip(self.group, self.preactivations(k), strict=True):
            parts: dict[int, Tensor] = {}
            for j in step.structure.columns[i]:
                for q, part in self._parts(i, j, slopes).items():
                    parts[q] = parts[q] + part if q in parts else part
            slope = step.structure.stages[i].sigma_derivative(x).unsqueeze(-1)
            zeros = [x.new_zeros(x.shape[-1], size) for size in self.sizes]
            entries = [parts.get(q, zero) for q, zero in zip(self.group, zeros, strict=True)]
            rows.append(torch.cat([(slope * entry).expand(*x.shape, entry.shape[-1]) for entry in entries], dim=-1))
        return torch.eye(self.unknowns, dtype=k.dtype, device=k.device) - torch.cat(rows, dim=-2)

    def _parts(self, i: int, j: int, slopes: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """q → ∂(K_i η A_ij k_j)/∂k_q for the stages of the group."""
        step, name = self.step, f"A_{i}_{j}"
        gate = step.gate(name, j, self.y, slopes)
        coupling = self.couplings[i, j]
        found = {}
        if j in self.group:
            found[j] = coupling if gate is None else coupling * gate.unsqueeze(-2)
        for q in step.structure.gate_stages.get(name, ()):
            if q in self.group:
                size = step.structure.stages[j].size
                through = (coupling * slopes[j].unsqueeze(-2)) @ dense(step.values[f"{name}_gate_k_{q}"], size)
                found[q] = found[q] + through if q in found else through
        return found

    def correction(self, k: Tensor, residual: Tensor) -> Tensor:
        delta, info = torch.linalg.solve_ex(self.jacobian(k), -residual.unsqueeze(-1))
        return torch.where((info == 0).unsqueeze(-1), delta.squeeze(-1), math.nan)

    def size(self, k: Tensor) -> Tensor:
        return self.eta * k.abs().amax(-1)

    def norm(self, residual: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(residual, dim=-1)
        return norm

    def scale(self, k: Tensor) -> Tensor:
        return self.y.abs().amax(-1) + self.size(k) + self.eta

    def spread(self, unit: Tensor) -> Tensor:
        return unit.unsqueeze(-1)


class ImplicitFunction(torch.autograd.Function):
    """leaves → the k with r(k; leaves) = 0. ``rebuilt`` makes the equations of other leaves."""

    @staticmethod
    def forward(ctx: Any, rebuilt: Callable[[Sequence[Tensor]], Circle], newton: Newton, *leaves: Tensor) -> Tensor:
        k = _root(rebuilt(leaves), newton)
        ctx.rebuilt = rebuilt
        ctx.save_for_backward(k, *leaves)
        return k

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        k, *leaves = ctx.saved_tensors
        needed = ctx.needs_input_grad[2:]
        is_graph_wanted = torch.is_grad_enabled()
        jacobian = ctx.rebuilt(leaves).jacobian(k)
        multiplier = torch.linalg.solve(jacobian.mT, cotangent.unsqueeze(-1)).squeeze(-1)
        with torch.enable_grad():
            copies = [leaf.view_as(leaf) for leaf in leaves]
            residual = ctx.rebuilt(copies).residual(k)
            wanted = [copy for copy, need in zip(copies, needed, strict=True) if need]
            found = iter(
                torch.autograd.grad(residual, wanted, -multiplier, create_graph=is_graph_wanted, allow_unused=True)
            )
        return None, None, *(next(found) if need else None for need in needed)


def solved(
    step: Step, group: tuple[int, ...], y: Tensor, drive: Tensor, given: Mapping[int, Tensor]
) -> dict[int, Tensor]:
    """The slopes of the group, differentiable in y, the drive, the slopes given and all numbers of the step.

    Raises ``ConvergenceError``, or warns, as ``step.newton`` says.
    """
    labels, names = list(given), list(step.values)

    def rebuilt(leaves: Sequence[Tensor]) -> Circle:
        y, drive, *rest = leaves
        slopes = dict(zip(labels, rest[: len(labels)], strict=True))
        values = dict(zip(names, rest[len(labels) :], strict=True))
        return Circle(replace(step, values=values), group, y, drive, slopes)

    leaves = (y, drive, *(given[j] for j in labels), *(step.values[name] for name in names))
    k: Tensor = ImplicitFunction.apply(rebuilt, step.newton, *leaves)  # type: ignore[no-untyped-call]
    sizes = [step.structure.stages[i].size for i in group]
    return dict(zip(group, k.split(sizes, dim=-1), strict=True))


def _root(circle: Circle, newton: Newton) -> Tensor:
    """The slopes by Newton's method from those at Y = y; complaints where it fails."""
    step = circle.step
    start = torch.cat([step.slope(i, circle.y, circle.drive) for i in circle.group], dim=-1)
    outcome = solve(circle, start, newton)
    if not bool(outcome.converged.all()):
        message = _complaint(outcome, newton, circle.group)
        if newton.on_failure == "raise":
            raise ConvergenceError(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return outcome.k


def _complaint(outcome: Outcome, newton: Newton, group: tuple[int, ...]) -> str:
    failed = ~outcome.converged
    residual = torch.where(failed, torch.nan_to_num(outcome.residual, nan=math.inf), -1.0)
    worst = int(residual.argmax())
    labels = ", ".join(map(str, group))
    return (
        f"ODERNN: the equations of the stages {labels} of {int(failed.sum())} of {failed.numel()} samples are not "
        f"solved after {outcome.iterations} iterations; the worst is sample {worst}, where the residual "
        f"max |η (k − σ(x))| is {float(outcome.residual[worst]):.3g} (tolerance {outcome.tolerance:.3g}, relative to "
        f"|y| + |η k| + |η|). That they have a solution is a hypothesis. Take a smaller eta, allow more than "
        f"{newton.max_iterations} iterations with Newton(max_iterations=...), or go on with "
        'Newton(on_failure="warn").'
    )
