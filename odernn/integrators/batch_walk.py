"""The steps of a sequence on a ``StageSystem``, one after the other: forwards, and the multipliers backwards.

Both by the shared iteration of ``batch_solver``; what that does not solve, sample by sample. ``batch_rows`` makes
operators of them.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from odernn.integrators import matrices
from odernn.integrators.activations import Activation
from odernn.integrators.batch_solver import (
    AIMED,
    SHARED_ITERATIONS,
    ActivationEquations,
    SharedIteration,
    less,
)
from odernn.integrators.newton import (
    ConvergenceError,
    ConvergenceWarning,
    Newton,
    NewtonOutcome,
    complain,
    solve,
)
from odernn.integrators.stage_system import shared_factor

LONG = 16
"""So many steps are worth a factor of their own, from the mean slopes of samples that were solved."""
SLOW = 12
"""A step that takes more iterations asks for one."""


@dataclass(frozen=True, eq=False)
class StageRecurrence:
    """The tensors of the equations, and how a step is put together from them. Axes before the last are a batch."""

    activation: Activation

    x: Tensor
    shift: Tensor | None
    C: Tensor
    K: Tensor
    Q: Tensor
    R: Tensor | None

    @property
    def repeated(self) -> int:
        """How many stages see one drive and one C y."""
        return matrices.row_count(self.K) // self.x.shape[-1]

    def spread(self, argument: Tensor) -> Tensor:
        """(..., q) or (..., s q) → (..., s q)."""
        return argument if self.repeated == 1 else argument.repeat(*[1] * (argument.dim() - 1), self.repeated)

    def gathered(self, mu: Tensor) -> Tensor:
        """The transpose of ``spread``."""
        return mu if self.repeated == 1 else mu.unflatten(-1, (self.repeated, -1)).sum(-2)

    def gate(self, n: int | slice) -> Tensor | None:
        return None if self.shift is None else self.spread(self.shift[n])

    def arguments(self, n: int | slice, y: Tensor) -> Tensor:
        """C y + x_n, (..., s q), of one time or all."""
        return self.spread(torch.add(self.x[n], matrices.product(self.C, y)))

    def new_state(self, y: Tensor, p: Tensor) -> Tensor:
        """R y + Q p."""
        return torch.add(y if self.R is None else matrices.product(self.R, y), matrices.product(self.Q, p))

    def by_activations(self, g: Tensor) -> Tensor:
        """Qᵀ g."""
        return matrices.transposed_product(self.Q, g)

    def by_state(self, g: Tensor, mu: Tensor) -> Tensor:
        """Rᵀ g + Cᵀ μ."""
        kept = g if self.R is None else matrices.transposed_product(self.R, g)
        return kept + matrices.transposed_product(self.C, self.gathered(mu))

    def weight_gradients(
        self, mu: Tensor, g: Tensor, p: Tensor, before: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The derivatives by C, K, Q and R, from μ, p (time, batch, s q), g and y before each step (time, batch, m)."""
        by_C = matrices.outer_sum(self.gathered(mu), before, self.C)
        by_K, by_Q = matrices.outer_sum(mu, p, self.K), matrices.outer_sum(g, p, self.Q)
        by_R = g.new_empty(0) if self.R is None else matrices.outer_sum(g, before, self.R)
        return by_C, by_K, by_Q, by_R


class SequenceSolver:
    """The steps of one call, one after the other.

    aim             the error wanted, relative to its stages
    tolerance       of each sample's own Newton method
    stalled         the correction below which a sample that contracts no more has no more digits, whatever tolerance
                    was given
    moved           how far an error of 1 in p moves a stage
    norm            ‖K‖, of maximum norms: how far an error of 1 in p moves z
    """

    def __init__(
        self,
        recurrence: StageRecurrence,
        P: Tensor,
        slope: Tensor | float,
        HU: Tensor,
        step_size: float,
        newton: Newton,
        label: str,
        samples: list[int],
    ) -> None:
        K = recurrence.K
        self.recurrence, self.HU, self.step_size, self.newton = recurrence, HU, step_size, newton
        self.label, self.samples = label, samples
        digits = AIMED * math.sqrt(len(K)) * torch.finfo(K.dtype).eps
        self.aim = digits if newton.tolerance is None else max(newton.tolerance**2, digits)
        self.tolerance = newton.tolerance_for(len(K), K.dtype)
        self.stalled = Newton().tolerance_for(len(K), K.dtype)
        self.moved = max(float(HU.abs().sum(1).max()), torch.finfo(K.dtype).tiny)
        self.norm = float(K.abs().sum(1).max())
        self.iteration = SharedIteration(P.transpose(0, 1).contiguous(), slope)
        self.most = min(SHARED_ITERATIONS, newton.max_iterations)
        self.next_factor = 0

    def solve_step(self, n: int, y: Tensor, p: Tensor) -> tuple[int, Tensor | None]:
        """Solve step n from y into p, which is zero: the number of iterations, and who failed, None if nobody."""
        recurrence = self.recurrence
        c, gate, activation = recurrence.arguments(n, y), recurrence.gate(n), recurrence.activation

        def phi(z: Tensor, out: Tensor) -> None:
            activation.into(z, gate, out)

        def bent(z: Tensor, moved: Tensor | None, out: Tensor) -> None:
            activation.into(z, gate, out)
            if moved is not None:
                less(out, self.iteration.slope, moved)

        sizes = y.abs().amax(1) + self.step_size
        limit = self.aim * float(sizes.min()) / self.moved
        found = self.iteration.run(c, bent, limit, self.most)
        taken, z = found.iterations, found.z
        is_close = found.error <= limit
        if is_close:
            phi(z, p)
        else:
            p.copy_(self.iteration.consistent(found))
        if taken > SLOW and self.next_factor <= n <= len(recurrence.x) - LONG:
            self.next_factor = n + LONG
            mean = activation.slopes(z, gate)[0].mean(0)
            P = shared_factor(recurrence.K, mean)
            self.iteration = SharedIteration(P.transpose(0, 1).contiguous(), mean)
        if is_close and (1 + self.norm) * self.aim <= self.tolerance:  # δp = (I − d̄ K)⁻¹ r hides no larger r
            return taken, None
        solved = torch.ones_like(sizes, dtype=torch.bool)
        if not is_close:
            scales, most = sizes / self.moved, max(self.most - taken, 3)
            accepted = max(self.aim, self.stalled) * scales
            more, solved = self.iteration.run_each(z, p, phi, self.aim * scales, accepted, most)
            taken += more
        z = c + matrices.product(recurrence.K, p)
        solved = solved & ~self._missed(activation.value(z, gate) - p, z, gate, y, p)
        if bool(solved.all()):
            return taken, None
        return self._one_by_one(n, y, c, gate, p, (~solved).nonzero().squeeze(1), taken)

    def _one_by_one(
        self, n: int, y: Tensor, c: Tensor, gate: Tensor | None, p: Tensor, rows: Tensor, taken: int
    ) -> tuple[int, Tensor | None]:
        """The samples ``rows`` by Newton's method with their own matrices, into p."""
        name = f"{self.label}, step {n + 1}: the stage equations" if n else f"{self.label}: the stage equations"
        equations = self._equations(name, c, gate, y)
        outcome = solve(equations.of(rows), self.newton)
        p[rows] = outcome.k
        taken += outcome.iterations
        if bool(outcome.converged.all()):
            return taken, None
        failed = torch.zeros(len(y), dtype=torch.bool, device=y.device).index_put_((rows,), ~outcome.converged)
        residual = equations.size(equations.residual(p)).amax(-1)
        self._complain(equations, NewtonOutcome(p, residual, ~failed, outcome.iterations, outcome.tolerance))
        return taken, failed

    def _missed(self, gap: Tensor, z: Tensor, gate: Tensor | None, y: Tensor, p: Tensor) -> Tensor:
        """Which samples do not solve p = φ(z) to the tolerance, from gap = φ(z) − p at z = c + K p.

        An error of t in p moves z by ‖K‖ t at most, so |gap| ≤ t + max |φ(z ± ‖K‖ t) − φ(z)|, whatever the correction.
        """
        t = self.tolerance * ((y.abs().amax(-1) + self.step_size) / self.moved + p.abs().amax(-1)).unsqueeze(-1)
        gap = gap.abs()
        missed = ~(gap <= t)
        if bool(missed.any()):
            value, moved = self.recurrence.activation.value, self.norm * t
            here = value(z, gate)
            allowed = torch.maximum((value(z + moved, gate) - here).abs(), (value(z - moved, gate) - here).abs())
            missed &= ~(gap <= t + allowed)
        return missed.any(-1)

    def _equations(self, name: str, c: Tensor, gate: Tensor | None, y: Tensor) -> ActivationEquations:
        recurrence = self.recurrence
        return ActivationEquations(name, c, gate, recurrence.K, recurrence.activation, y, self.moved, self.step_size)

    def _complain(self, equations: ActivationEquations, outcome: NewtonOutcome) -> None:
        if math.prod(self.samples) == len(outcome.converged):
            residual, converged = (part.reshape(self.samples) for part in (outcome.residual, outcome.converged))
            outcome = NewtonOutcome(outcome.k, residual, converged, outcome.iterations, outcome.tolerance)
        message = complain(equations, outcome, self.newton)
        if self.newton.on_failure == "raise":
            raise ConvergenceError(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=2)

    def verify(self, y0: Tensor, rows: Tensor, p: Tensor, residual: Tensor, converged: Tensor) -> None:
        """Residuals of all steps from the equations as they stand, and whether they are what iterations promised.

        The iteration changes z by P r and never looks at K again: p of a P that does not belong to K misses φ(c + K p).
        """
        recurrence, everything = self.recurrence, slice(None)
        before = torch.cat((y0.unsqueeze(0), rows[:-1]))
        z = recurrence.arguments(everything, before) + matrices.product(recurrence.K, p)
        gate = recurrence.gate(everything)
        gap = recurrence.activation.value(z, gate) - p
        stages = gap.unflatten(-1, (-1, matrices.row_count(self.HU.transpose(0, 1))))
        residual.copy_(matrices.product(self.HU, stages).abs().amax((-1, -2)))
        wrong = converged & self._missed(gap, z, gate, before, p)
        if bool(wrong.any()):
            n = int(wrong.any(1).nonzero()[0])
            converged &= ~wrong
            name = f"{self.label}, step {n + 1}: the stage equations"
            c, gate = recurrence.arguments(n, before[n]), recurrence.gate(n)
            equations = self._equations(name, c, gate, before[n])
            self._complain(equations, NewtonOutcome(p[n], residual[n], converged[n], self.most, self.tolerance))


def multiplied(shared: SharedIteration, K: Tensor, slope: Tensor, right: Tensor, mu: Tensor) -> Tensor:
    """π = (I − Kᵀ D)⁻¹ right, returned, and D π, into mu. Every sample in units of its largest entry on the right."""
    if not right.numel():
        return right
    scale = right.abs().amax(1, keepdim=True)
    scale = torch.where(scale > 0, scale, 1.0)
    right = right / scale
    bend, shift = slope - shared.slope, shared.slope * right

    def bent(pi: Tensor, moved: Tensor | None, out: Tensor) -> None:  # D π − d̄ (π − π₀)
        if moved is None:
            torch.mul(slope, pi, out=out)
        else:
            torch.addcmul(shift, bend, pi, out=out)

    limit = AIMED * math.sqrt(len(K)) * torch.finfo(K.dtype).eps
    found = shared.run(right, bent, limit, SHARED_ITERATIONS)
    pi = found.z
    if found.error <= limit:
        torch.mul(slope, pi, out=mu)
    else:
        mu.copy_(shared.consistent(found))
        limits = torch.full_like(scale.squeeze(1), limit)
        _, solved = shared.run_each(
            pi, mu, lambda pi, out: torch.mul(slope, pi, out=out), limits, limits, SHARED_ITERATIONS
        )
        own = (~solved).nonzero().squeeze(1)
        if len(own):
            pi[own] = own_multiplier(K, slope[own], right[own])
            mu[own] = slope[own] * pi[own]
    mu.mul_(scale)
    return pi.mul_(scale)


def own_multiplier(K: Tensor, slope: Tensor, right: Tensor) -> Tensor:
    """(I − Kᵀ D)⁻¹ right, each sample with its own matrix; not finite where that is singular."""
    solved = torch.linalg.solve_ex(matrices.own_matrices(K, slope).mT, matrices.in_units(right, K).unsqueeze(-1))
    return matrices.from_vectors(solved.result.squeeze(-1))


def derivative_in_torch(
    grad_rows: Tensor | None, grad_p: Tensor | None, rows: Tensor, p: Tensor, recurrence: StageRecurrence, y0: Tensor
) -> tuple[Tensor, ...]:
    """The derivative in differentiable operations, each sample of each step with its own matrix."""
    K, everything = recurrence.K, slice(None)
    before = torch.cat((y0.unsqueeze(0), rows))[:-1]
    z = recurrence.arguments(everything, before) + matrices.product(K, p)
    slopes, by_shift = recurrence.activation.slopes(z, recurrence.gate(everything))
    g, costates, multipliers, mus = torch.zeros_like(y0), [], [], []
    for n in range(len(z) - 1, -1, -1):
        g = g if grad_rows is None else g + grad_rows[n]
        costates.append(g)
        right = recurrence.by_activations(g)
        right = right if grad_p is None else right + grad_p[n]
        pi = own_multiplier(K, slopes[n], right)
        multipliers.append(pi)
        mus.append(slopes[n] * pi)
        g = recurrence.by_state(g, mus[-1])
    if not mus:
        empty = [torch.zeros_like(each) for each in (recurrence.C, K, recurrence.Q)]
        by_R = g.new_empty(0) if recurrence.R is None else torch.zeros_like(recurrence.R)
        by_gate = g.new_empty(0) if by_shift is None else recurrence.gathered(by_shift)
        return torch.zeros_like(recurrence.x), by_gate, g, *empty, by_R
    mu, costate = torch.stack(mus[::-1]), torch.stack(costates[::-1])
    by_weights = recurrence.weight_gradients(mu, costate, p, before)
    by_gate = g.new_empty(0) if by_shift is None else recurrence.gathered(by_shift * torch.stack(multipliers[::-1]))
    return recurrence.gathered(mu), by_gate, g, *by_weights
