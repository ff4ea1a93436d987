"""Newton's method for the slopes of implicit stages, each sample (or neuron) to its own convergence.

Hairer, Wanner 1996, Section IV.8, with the full Jacobian of every iterate in place of a simplified one, so that it
converges quadratically and its end does not depend on the path; Deuflhard 2004, Section 3.3, for the damping.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import torch
from torch import Tensor

OnFailure: TypeAlias = Literal["raise", "warn"]

ROUNDINGS = 32
"""The default tolerance is this many eps times √N: the roundings of N terms add up like a random walk."""
DESCENT = 1e-4
"""A step of t times the correction must multiply the norm of the residual by 1 − 10⁻⁴ t at most."""


class ConvergenceError(RuntimeError):
    """The stage equations were not solved to the tolerance."""


class ConvergenceWarning(UserWarning):
    """The stage equations were not solved to the tolerance, and the step went on with what there was."""


@dataclass(frozen=True)
class Newton:
    """How the stage equations k_i = f(Y_i), Y_i = y₀ + h Σ a_ij k_j are solved.

    Fields in dense form (``Field.dense_form``) are tried with one matrix for the whole batch first, see
    ``batch_solver``: an error is estimated there, and left at the tolerance squared, and what is said here is about the
    samples that this does not solve.

    tolerance       stop when the next correction δk moves the stages by no more than this, relative to their size:
                    |h δk| ≤ tolerance (|y| + |h k| + |h|), maximum norms over what is solved together. (The last |h|
                    stands for slopes that cancel: activations are of size 1 and round at eps.) That correction is still
                    applied, so the error left is about the tolerance squared. ``None``: 32 √N eps of the dtype, where N
                    slopes are solved for together.
    max_iterations  each solves one linear system
    max_halvings    a correction that does not lower the residual's norm is halved until it does, this often at most;
                    a sample where it never does has failed
    on_failure      "raise" a ``ConvergenceError``, or "warn" with a ``ConvergenceWarning`` and go on with the last
                    iterate, whose gradients are then those of an equation that does not quite hold

    Raises ValueError for numbers out of range.
    """

    tolerance: float | None = None
    max_iterations: int = 50
    max_halvings: int = 12
    on_failure: OnFailure = "raise"

    def __post_init__(self) -> None:
        if self.tolerance is not None and not (0 < self.tolerance < math.inf):
            raise ValueError(
                f"Newton: tolerance is {self.tolerance}, but it is relative to the size of the stages. "
                "Give a positive number, or None for one that follows from the dtype."
            )
        for name, smallest in (("max_iterations", 1), ("max_halvings", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
                raise ValueError(f"Newton: {name} is {value!r}, but it counts. Give an int of at least {smallest}.")
        if self.on_failure not in get_args(OnFailure):
            raise ValueError(f'Newton: on_failure is {self.on_failure!r}. Write "raise" or "warn".')

    def tolerance_for(self, unknowns: int, dtype: torch.dtype) -> float:
        """The tolerance in force: 32 √N eps unless one was given."""
        if self.tolerance is not None:
            return self.tolerance
        return ROUNDINGS * math.sqrt(unknowns) * float(torch.finfo(dtype).eps)


class Equations(ABC):
    """r(k) = k − f(Y(k)) = 0 for independent units: samples, or neurons of samples where these do not interact.

    k and r have one shape; ``unit`` numbers, masks and norms have one entry a unit.
    """

    @property
    @abstractmethod
    def subject(self) -> str:
        """Whose equations they are, as the subject of a complaint."""

    @abstractmethod
    def because(self) -> str:
        """A sentence on when they have a solution."""

    @property
    @abstractmethod
    def unknowns(self) -> int:
        """Number N of slopes of one unit."""

    @abstractmethod
    def leaves(self) -> dict[str, Tensor]:
        """Every tensor that r is a function of besides k, by what a complaint calls it."""

    @abstractmethod
    def with_leaves(self, leaves: Sequence[Tensor]) -> Self:
        """The same equations in other tensors, in the order of ``leaves``."""

    @abstractmethod
    def start(self) -> Tensor:
        """The k at which the iteration begins."""

    @abstractmethod
    def residual(self, k: Tensor) -> Tensor:
        """k − f(Y(k))."""

    @abstractmethod
    def correction(self, k: Tensor, residual: Tensor) -> Tensor:
        """−r'(k)⁻¹ r; not finite where r'(k) is singular."""

    @abstractmethod
    def multiplier(self, k: Tensor, cotangent: Tensor) -> Tensor:
        """r'(k)⁻ᵀ g, differentiable."""

    @abstractmethod
    def size(self, k: Tensor) -> Tensor:
        """max |h k|, one a unit."""

    @abstractmethod
    def norm(self, residual: Tensor) -> Tensor:
        """The Euclidean norm of h r, one a unit."""

    @abstractmethod
    def scale(self, k: Tensor) -> Tensor:
        """|y| + |h k| + |h|, one a unit."""

    @abstractmethod
    def spread(self, unit: Tensor) -> Tensor:
        """One entry a unit, so that it broadcasts to k."""

    @abstractmethod
    def samples(self, residual: Tensor, converged: Tensor) -> tuple[Tensor, Tensor]:
        """From one entry a unit to one a sample."""


@dataclass(frozen=True)
class NewtonOutcome:
    """k with its residual max |h r| and whether it converged, one entry a sample, and the number of iterations."""

    k: Tensor
    residual: Tensor
    converged: Tensor
    iterations: int
    tolerance: float


@torch.no_grad()
def solve(equations: Equations, newton: Newton) -> NewtonOutcome:
    """The root near the start. Units stop one by one; what has converged, or failed, is not touched again.

    A correction is taken if it lowers the Euclidean norm of the residual, of which it is a direction of descent, and
    halved until it does; the last one, which is small, is taken as it is.
    """
    k = equations.start()
    tolerance = newton.tolerance_for(equations.unknowns, k.dtype)
    residual = equations.residual(k)
    norm = equations.norm(residual)
    converged = torch.zeros_like(norm, dtype=torch.bool)
    active = ~converged
    iterations = 0
    while iterations < newton.max_iterations and bool(active.any()):
        iterations += 1
        delta = equations.correction(k, residual)
        trial = k + delta
        trial_residual = equations.residual(trial)
        trial_norm = equations.norm(trial_residual)
        small = (equations.size(delta) <= tolerance * equations.scale(trial)) & torch.isfinite(trial_norm)
        rising = active & ~small & ~(trial_norm <= (1 - DESCENT) * norm)  # NaN rises
        t = 1.0
        for _ in range(newton.max_halvings):
            if not bool(rising.any()):
                break
            t /= 2
            damped = equations.spread(rising)
            trial = torch.where(damped, k + t * delta, trial)
            trial_residual = torch.where(damped, equations.residual(trial), trial_residual)
            trial_norm = equations.norm(trial_residual)
            rising = rising & ~(trial_norm <= (1 - DESCENT * t) * norm)
        taken = active & ~rising
        k, residual = (
            torch.where(equations.spread(taken), new, old) for new, old in ((trial, k), (trial_residual, residual))
        )
        norm = torch.where(taken, trial_norm, norm)
        converged = converged | (active & small)
        active = taken & ~small
    return NewtonOutcome(k, *equations.samples(equations.size(residual), converged), iterations, tolerance)


def complain(equations: Equations, outcome: NewtonOutcome, newton: Newton) -> str:
    """What did not converge, by how much, why perhaps, and what to do."""
    failed, residual = ~outcome.converged, outcome.residual
    ranked = torch.where(failed, torch.nan_to_num(residual, nan=math.inf, posinf=math.inf), -1.0)
    worst = int(ranked.argmax())
    worst_residual = float(residual.flatten()[worst])
    place = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), residual.shape)) if residual.dim() else ()
    where = f"the worst is sample {place[0] if len(place) == 1 else place}" if place else "there is one"
    which = f"{equations.subject} of {int(failed.sum())} of {failed.numel()} samples are not solved"
    not_finite = [name for name, leaf in equations.leaves().items() if not bool(torch.isfinite(leaf).all())]
    if not_finite and not math.isfinite(worst_residual):
        return (
            f"{which}; {where}. There is NaN or infinity in {' and in '.join(not_finite)}, which no "
            "step size and no number of iterations mends. Look for where it comes from, with "
            'torch.isfinite on inputs and parameters, or go on with Newton(on_failure="warn").'
        )
    return (
        f"{which} after {outcome.iterations} iterations; {where}, where the residual max |h (k − f(Y))| is "
        f"{worst_residual:.3g} (tolerance {outcome.tolerance:.3g}, relative to |y| + |h k| + |h|). "
        f"{equations.because()} Take a smaller step size, allow more than {newton.max_iterations} iterations with "
        'Newton(max_iterations=...), or go on with Newton(on_failure="warn").'
    )
