"""One matrix for a whole batch: simplified Newton iteration on p = φ(z), z = c + K p, with one product an iteration.

With r = φ(z) − p and all slopes taken for d̄, Newton's correction keeps z = c + K p:

    δz = P r,     δp = r + d̄ δz,     P = (I − K d̄)⁻¹ K                     Hairer, Wanner 1996, Section IV.8

The iterates are those of s = φ(c + Δ) − d̄ Δ, Δ ← P s, z = c + Δ, which is how a whole batch is solved for. The
transposed equations of the derivative, π = π₀ + Kᵀ μ with μ = D π, are of the same form: φ(z) becomes D z and P its
transpose. Errors fall by a factor θ an iteration, which is measured; the iteration stops where what is left,
θ/(1 − θ) times the last correction, is small enough. Rows are samples, and what the batch does not solve together
is looked at sample by sample.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from odernn.integrators import matrices
from odernn.integrators.activations import Activation
from odernn.integrators.newton import Equations

Phi: TypeAlias = Callable[[Tensor, Tensor], object]
"""φ(z), into the second argument."""
Bent: TypeAlias = Callable[[Tensor, Tensor | None, Tensor], object]
"""φ(z) − d̄ Δ, into the third argument."""

SHARED_ITERATIONS = 20
"""After so many, or where an iteration gains less than a tenth, a sample gets its own matrix."""
STALLED = 0.9
AIMED = 2
"""The error left is estimated at no more than this many eps times √N of the size of the stages, N unknowns."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """z = c + Δ of a batch, s = φ − d̄ Δ of the z before, how many iterations, and how far z is off, as estimated."""

    z: Tensor
    moved: Tensor
    s: Tensor
    iterations: int
    error: float


@dataclass
class SharedIteration:
    """Solves z = c + K φ(z) for a batch.   PT = Pᵀ; slope d̄, a number or (s q,).

    expected  how many iterations the last call took: the next one does not look at its corrections long before
    """

    PT: Tensor
    slope: Tensor | float
    expected: int = 0

    def run(self, c: Tensor, bent: Bent, limit: float, most: int) -> Iterate:
        """Iterate from z = c until the error of z is estimated at ``limit`` for the whole batch.

        ``bent(z, Δ, out)`` is φ(z) − d̄ Δ with Δ = z − c, None where it is zero: Δ has its digits where c is large. The
        estimate is infinite where the iteration has stalled.
        """
        z, s, difference = torch.empty_like(c), torch.empty_like(c), torch.empty_like(c)
        moved, spare = None, torch.empty_like(c)
        previous, quiet = math.inf, min(self.expected - 2, most - 1)
        for iteration in range(1, most + 1):
            bent(c if moved is None else z, moved, s)
            new = matrices.transposed_product(self.PT, s, out=spare)
            if iteration > quiet:
                largest = largest_entry(new if moved is None else torch.sub(new, moved, out=difference))
                error = left_after(largest, previous)
                if error <= limit:
                    self.expected = iteration
                    return Iterate(torch.add(c, new, out=z), new, s, iteration, error)
                if not largest < STALLED * previous:
                    break
                previous = largest
            spare, moved = (torch.empty_like(c) if moved is None else moved), new
            torch.add(c, new, out=z)
        self.expected = 0
        return Iterate(torch.add(c, new, out=z), new, s, iteration, math.inf)

    def consistent(self, found: Iterate) -> Tensor:
        """The p with z = c + K p."""
        return found.s + self.slope * found.moved

    def run_each(
        self, z: Tensor, p: Tensor, phi: Phi, limits: Tensor, accepted: Tensor, most: int
    ) -> tuple[int, Tensor]:
        """From p and z = c + K p, changed in place, by corrections, with an estimate for every sample: which are
        solved, to their ``limits``, (batch,).

        A sample that has stalled is solved where its corrections are not above ``accepted``: there are no more digits.
        """
        r, moved = torch.empty_like(z), torch.empty_like(z)
        previous = torch.full_like(limits, math.inf)
        solved, stalled = (torch.zeros_like(limits, dtype=torch.bool) for _ in range(2))
        for iteration in range(1, most + 1):
            self._correct(z, p, phi, r, moved)
            largest = r.abs().amax(1)
            ratio = (largest / previous).clamp(max=0.5)  # θ/(1 − θ) is 1 at one half; the first one has no θ
            left = largest if iteration == 1 else largest * ratio / (1 - ratio)
            solved = solved | (left <= limits)
            falls = largest < STALLED * previous
            solved = solved | (~falls & (largest <= accepted))
            stalled = stalled | ~falls  # NaN does not fall
            if bool((solved | stalled).all()):
                return iteration, solved
            previous = largest
        return most, solved

    def _correct(self, z: Tensor, p: Tensor, phi: Phi, r: Tensor, moved: Tensor) -> None:
        """z += P r, p += δp, and δp is in ``r``."""
        phi(z, r)
        r.sub_(p)
        matrices.transposed_product(self.PT, r, out=moved)
        z.add_(moved)
        if isinstance(self.slope, Tensor):
            r.addcmul_(moved, self.slope)
        else:
            r.add_(moved, alpha=self.slope)
        p.add_(r)


def less(value: Tensor, slope: Tensor | float, z: Tensor) -> None:
    """value −= d̄ z."""
    if isinstance(slope, Tensor):
        value.addcmul_(z, slope, value=-1)
    else:
        value.add_(z, alpha=-slope)


def largest_entry(values: Tensor) -> float:
    """max |values|, NaN if there is one. torch's maximum norm takes ten times as long."""
    low, high = torch.aminmax(values)
    return max(-float(low), float(high))


def left_after(largest: float, previous: float) -> float:
    """θ/(1 − θ) of the last correction, not more than the correction itself; the first one has no θ."""
    ratio = largest / previous if previous > 0 else 0.0
    return largest * min(1.0, ratio / (1 - ratio)) if 0 < ratio < 1 and math.isfinite(previous) else largest


@dataclass(frozen=True, eq=False)
class ActivationEquations(Equations):
    """r(p) = p − φ(c + K p), each sample with its own matrix I − diag(φ') K.   p, c: (batch, s q)

    A unit is a sample, or a neuron of a sample where these do not interact.

    y, moved  (batch, m) and how far an error of 1 in p moves a stage, with max |h|, for the sizes of stages
    """

    name: str
    c: Tensor
    shift: Tensor | None
    K: Tensor
    activation: Activation
    y: Tensor
    moved: float
    step_size: float

    @property
    def subject(self) -> str:
        return self.name

    def because(self) -> str:
        """h times how steep the stages are by themselves."""
        norm = math.sqrt(float(self.K.abs().sum(0).max()) * float(self.K.abs().sum(1).max()))
        return f"The stages see each other through a matrix of norm {norm:.3g} at most, h times weights."

    @property
    def unknowns(self) -> int:
        return len(self.K)

    def leaves(self) -> dict[str, Tensor]:
        gate = {} if self.shift is None else {"the drive of the gate": self.shift}
        return {"h times the weights": self.K, "the state": self.y, "the drive": self.c, **gate}

    def with_leaves(self, leaves: Sequence[Tensor]) -> ActivationEquations:
        K, y, c, *gate = leaves
        return dataclasses.replace(self, K=K, y=y, c=c, shift=gate[0] if gate else None)

    def of(self, rows: Tensor) -> ActivationEquations:
        """Those of some samples."""
        shift = None if self.shift is None else self.shift[rows]
        return dataclasses.replace(self, c=self.c[rows], shift=shift, y=self.y[rows])

    def start(self) -> Tensor:
        return self.activation.value(self.c, self.shift)

    def arguments(self, k: Tensor) -> Tensor:
        """c + K k."""
        return self.c + matrices.product(self.K, k)

    def residual(self, k: Tensor) -> Tensor:
        return k - self.activation.value(self.arguments(k), self.shift)

    def matrix(self, k: Tensor) -> Tensor:
        """I − diag(φ') K, (batch, units, r, r)."""
        return matrices.own_matrices(self.K, self.activation.slopes(self.arguments(k), self.shift)[0])

    def correction(self, k: Tensor, residual: Tensor) -> Tensor:
        solved = torch.linalg.solve_ex(self.matrix(k), -matrices.in_units(residual, self.K).unsqueeze(-1))
        found = torch.where((solved.info == 0)[..., None, None], solved.result, math.nan)
        return matrices.from_vectors(found.squeeze(-1))

    def multiplier(self, k: Tensor, cotangent: Tensor) -> Tensor:
        right = matrices.in_units(cotangent, self.K).unsqueeze(-1)
        return matrices.from_vectors(torch.linalg.solve(self.matrix(k).mT, right).squeeze(-1))

    def size(self, k: Tensor) -> Tensor:
        return self.moved * matrices.in_units(k, self.K).abs().amax(-1)

    def norm(self, residual: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(matrices.in_units(residual, self.K), dim=-1)
        return norm

    def scale(self, k: Tensor) -> Tensor:
        return self.y.abs().amax(-1, keepdim=True) + self.size(k) + self.step_size

    def spread(self, unit: Tensor) -> Tensor:
        return matrices.from_vectors(unit.unsqueeze(-1).expand(*unit.shape, len(self.K)))

    def samples(self, residual: Tensor, converged: Tensor) -> tuple[Tensor, Tensor]:
        return residual.amax(-1), converged.all(-1)
