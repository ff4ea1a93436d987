"""The stages of a ``MatrixTableau`` that depend on each other, as one equation for all slopes of a step.

    p = φ(z),     z = C y + x + K p,     y₊ = y + Q p

p has the slopes k_i side by side, z_i = K_i (y + η Σ_j A_ij k_j) + U_i u + b_i. The product of a slope with its gate
g = … + Γ y + Σ_q Γ_q k_q is the difference of two more activations, squares of what is affine in y and p:

    A_ij k_j = M (g ⊙ k_j) = M 2^e (u − v),     u = ((2^−e g + k_j)/2)²,     v = ((2^−e g − k_j)/2)²

with 2^e about |g|, entrywise: a difference of squares of large and small has no digits of the product.

``integrators.batch_rows`` solves and differentiates it, for a whole sequence.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from odernn.cells.odernn.parts import dense, spread
from odernn.cells.odernn.stages import StageEvaluation
from odernn.integrators.activations import NONLINEARITIES, SQUARE, Activation
from odernn.integrators.batch_rows import BatchRows, batch_rows
from odernn.integrators.batch_solver import ActivationEquations
from odernn.integrators.implicit_function import solution
from odernn.integrators.matrices import product
from odernn.integrators.newton import Newton
from odernn.integrators.stage_system import StageSystem, shared_factor


class CoupledStages:
    """All stages of ``step`` as one system; ``newton`` says how it is solved.

    as_operator  False: single steps are made in torch's own operations, for whoever looks into them
    gated   the names of gated coefficients with the stage whose slope each multiplies
    powers  2^e of each of them, (p_j,); nothing but rounding depends on it, so it has no derivative
    places  where p has each k_i, and where the squares u, then v, of each gated coefficient
    system  C, K and Q with everything that serves to solve for p, made once
    """

    def __init__(self, step: StageEvaluation, newton: Newton, *, as_operator: bool = True) -> None:
        self.step, self.newton, self.as_operator = step, newton, as_operator
        self.gated = {name: int(name.rsplit("_", 1)[1]) for name in step.structure.gate_stages}
        sizes: dict[int | str, int] = {i: stage.size for i, stage in step.structure.stages.items()}
        sizes |= {name: 2 * step.structure.stages[j].size for name, j in self.gated.items()}
        self.powers = {name: self._power(name, j) for name, j in self.gated.items()}
        self.places, self.count = {}, 0
        for key, size in sizes.items():
            self.places[key] = slice(self.count, self.count + size)
            self.count += size
        self.system = self._system()

    def rows(self, y: Tensor, drives: Tensor) -> BatchRows:
        """The steps for drives (time, batch, ·) from y (batch, D). Raises ConvergenceError, or warns."""
        return batch_rows(self._label, self.system, (self._given(drives), None), y, self.newton, [len(y)])

    def one(self, y: Tensor, drive: Tensor) -> tuple[Tensor, Tensor]:
        """y₊ and p of one step for the drive (batch, ·)."""
        if self.as_operator:
            found = self.rows(y, drive.unsqueeze(0))
            return found.rows[0], found.p[0]
        system, name = self.system, f"{self._label}: the stage equations"
        c, eta = product(system.C, y) + self._given(drive), float(system.step_size)
        p = solution(ActivationEquations(name, c, None, system.K, system.activation, y, eta, eta), self.newton).k
        return y + product(system.Q, p), p

    @property
    def _label(self) -> str:
        return f"ODERNN (stages {', '.join(map(str, self.step.structure.stages))}; its step size is eta)"

    def _given(self, drives: Tensor) -> Tensor:
        """x (..., N)."""
        return torch.cat([part.expand(*drives.shape[:-1], -1) for part in self._constants(drives)], -1)

    def slopes(self, p: Tensor) -> dict[int, Tensor]:
        """k_i by label, from p (..., N)."""
        return {i: p[..., self.places[i]] for i in self.step.structure.stages}

    def _system(self) -> StageSystem:
        eta, structure = self.step.values["eta"], self.step.structure
        one = torch.eye(structure.size, dtype=eta.dtype, device=eta.device)
        by_y = [self.step.weighted(i, one) for i in structure.stages]
        by_p = [self.step.weighted(i, self._moves(f"A_{i}", structure.columns[i])) for i in structure.stages]
        for name, j in self.gated.items():
            of_y, of_p = self._gate(name, j)
            slope = self._placed(torch.eye(of_p.shape[0], dtype=eta.dtype, device=eta.device), j)
            power = self.powers[name].unsqueeze(-1)
            by_y += [of_y / power / 2] * 2
            by_p += [(of_p / power + slope) / 2, (of_p / power - slope) / 2]
        K = torch.cat(by_p)
        segments = [pair for stage in structure.stages.values() for pair in stage.segments]
        slopes = [eta.new_full((size,), NONLINEARITIES[name].shared_slope) for name, size in segments]
        for name, j in self.gated.items():
            segments.append((SQUARE, 2 * structure.stages[j].size))
            slopes += [2 * self._half_constant(name, j).detach()] * 2  # where y and k are 0
        activation = Activation([name for name, _ in segments], [size for _, size in segments])
        slope = torch.cat(slopes)
        with torch.no_grad():
            P, h = shared_factor(K.detach(), slope), eta.detach()
        Q = self._moves("B", tuple(structure.B))
        return StageSystem(torch.cat(by_y), K, Q, None, P, slope, activation, h.expand(1, 1, len(K)).contiguous(), h)

    def _placed(self, matrix: Tensor, key: int | str) -> Tensor:
        """A matrix that multiplies a part of p, as one that multiplies p."""
        return pad(matrix, (self.places[key].start, self.count - self.places[key].stop))

    def _moves(self, letter: str, columns: Sequence[int]) -> Tensor:
        """η Σ_j A_ij k_j, or η Σ_j B_j k_j, as a matrix (D × N) that multiplies p."""
        D, eta = self.step.structure.size, self.step.values["eta"]
        total = eta.new_zeros(D, self.count)
        for j in columns:
            name = f"{letter}_{j}"
            M = dense(self.step.values[name], D)
            if name in self.gated:
                M = M * self.powers[name]
                total = total + self._placed(torch.cat((M, -M), 1), name)
            else:
                total = total + self._placed(M, j)
        return total

    @torch.no_grad()
    def _power(self, name: str, j: int) -> Tensor:
        """The power of two next to |g| where |y| and |k| are 1; 1 where g is 0."""
        values, size = self.step.values, self.step.structure.stages[j].size
        total = values["eta"].new_zeros(size)
        for part in (f"{name}_gate_y", *(f"{name}_gate_k_{q}" for q in self.step.structure.gate_stages[name])):
            if part in values:
                total = total + dense(values[part], size).abs().sum(1)
        if f"{name}_gate" in values:
            total = total + spread(values[f"{name}_gate"], size).abs()
        return torch.where(total > 0, total.log2().round().exp2(), 1.0)

    def _gate(self, name: str, j: int) -> tuple[Tensor, Tensor]:
        """The gate of k_j without its constant, as matrices on y and on p."""
        values, size = self.step.values, self.step.structure.stages[j].size
        total = values["eta"].new_zeros(size, self.count)
        for q in self.step.structure.gate_stages[name]:
            total = total + self._placed(dense(values[f"{name}_gate_k_{q}"], size), q)
        if f"{name}_gate_y" not in values:
            return total.new_zeros(size, self.step.structure.size), total
        return dense(values[f"{name}_gate_y"], size), total

    def _constants(self, drive: Tensor) -> list[Tensor]:
        """x: of a stage U_i u + b_i, or b_i, of a gate half its constant twice."""
        values, structure, parts = self.step.values, self.step.structure, []
        for i, stage in structure.stages.items():
            if stage.sees_input:
                parts.append(drive[..., structure.drive_slices[i]])
            else:
                parts.append(values[f"b_{i}"] if stage.bias else drive.new_zeros(stage.size))
        for name, j in self.gated.items():
            parts += [self._half_constant(name, j)] * 2
        return parts

    def _half_constant(self, name: str, j: int) -> Tensor:
        """Half the constant of a gate, in units of its power."""
        power = self.powers[name]
        constant = self.step.values.get(f"{name}_gate", power.new_zeros(()))
        return spread(constant, self.step.structure.stages[j].size) / power / 2
