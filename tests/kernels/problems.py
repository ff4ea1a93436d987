"""Problems on which the kernels are tried, and what float64 says about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.recurrence import UNIT_ROUNDOFF, RecurrenceOutputs, admitted_error

NAMES = ("x", "w", "step_size", "alpha", "y0", "z0")


def gradient_tolerance(steps: int, dtype: torch.dtype) -> float:
    """Admitted error of a gradient, relative to its largest entry, on the problems below.

    Each of N steps adds a few roundings to costates, and trajectories as far as ``admitted_error`` allows enter through
    σ'. Empirical: 8 u (N + 16) is 5 times the largest error seen, in a run over N up to 1500 and 20 seeds of
    ``problem`` with stored, rebuilt and exact states.
    """
    return 8 * UNIT_ROUNDOFF[dtype] * (steps + 16)


@dataclass(frozen=True)
class Problem:
    """Arguments of the recurrence, and the cotangents of y, y_last and z_last."""

    arguments: dict[str, Tensor]
    lengths: Tensor | None
    cotangents: tuple[Tensor, Tensor, Tensor]

    @property
    def steps(self) -> int:
        return len(self.arguments["x"])

    def to(self, dtype: torch.dtype) -> Problem:
        return replace(
            self,
            arguments={k: v.detach().to(dtype) for k, v in self.arguments.items()},
            cotangents=tuple(v.to(dtype) for v in self.cotangents),  # type: ignore[arg-type]
        )

    def run(self, execution: Any, **options: Any) -> tuple[RecurrenceOutputs, dict[str, Tensor]]:
        """Outputs and the gradients of ⟨cotangents, outputs⟩."""
        leaves = {k: v.detach().clone().requires_grad_() for k, v in self.arguments.items()}
        rest = {k: v for k, v in leaves.items() if k != "x"}
        found = execution.outputs(leaves["x"], **rest, lengths=self.lengths, **options)
        pairs = zip(self.cotangents, (found.y, found.y_last, found.z_last), strict=True)
        energy = sum(((a * b).sum() for a, b in pairs), torch.zeros(()))
        gradients = torch.autograd.grad(energy, list(leaves.values()), materialize_grads=True)
        return found, dict(zip(leaves, gradients, strict=True))


def problem(
    steps: int, batch: int, hidden: int, *, seed: int = 0, ragged: bool = False, dtype: torch.dtype = torch.float32
) -> Problem:
    """|w| ≤ min(1, 100/N) beside α = 2, so that the random drive does not pump the tangents up. w a neuron, h a neuron
    of a sample, α a number: each way to broadcast.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    arguments = {
        "x": normal(steps, batch, hidden),
        "w": (2 * uniform(hidden) - 1) * min(1, 100 / max(steps, 1)),
        "step_size": 0.05 + 0.2 * uniform(batch, hidden),
        "alpha": torch.tensor(2.0),
        "y0": normal(batch, hidden),
        "z0": normal(batch, hidden),
    }
    lengths = torch.randint(0, steps + 1, (batch,), generator=generator) if ragged else None
    cotangents = (normal(steps, batch, hidden), normal(batch, hidden), normal(batch, hidden))
    return Problem(arguments, lengths, cotangents).to(dtype)


def saddle(steps: int, h: float, size: float, w: float = -1.0) -> Problem:
    """α = 0, at rest but for one small x: away from 0 as e^{√(−w) h n}, with costates as large where y is small."""
    x = torch.zeros(steps, 1, 1)
    x[0] = size
    rest = {"w": torch.full((1,), w), "step_size": torch.tensor(h), "alpha": torch.tensor(0.0)}
    states = {k: torch.zeros(1, 1) for k in ("y0", "z0")}
    cotangents = (torch.zeros_like(x), torch.ones(1, 1), torch.zeros(1, 1))
    return Problem({"x": x, **rest, **states}, None, cotangents)


def random_network(seed: int) -> Problem:
    """w in [−2, 1], α = 1/2: saddles, centres, and trajectories that pass from one to the other."""
    generator = torch.Generator().manual_seed(seed)
    steps, hidden = 100 + seed % 51, (1, 4, 16)[seed % 3]
    x = 10.0 ** -(seed % 5) * torch.randn(steps, 1, hidden, generator=generator)
    w = 3 * torch.rand(hidden, generator=generator) - 2
    rest = {"step_size": torch.tensor((0.05, 0.1, 0.2, 0.3)[seed % 4]), "alpha": torch.tensor(0.5)}
    states = {k: torch.zeros(1, hidden) for k in ("y0", "z0")}
    cotangents = (torch.randn(steps, 1, hidden, generator=generator), states["y0"], states["z0"])
    return Problem({"x": x, "w": w, **rest, **states}, None, cotangents)


def oracle(given: Problem) -> tuple[RecurrenceOutputs, dict[str, Tensor]]:
    """The torch loop in float64, on the same rounded arguments."""
    return given.to(torch.float64).run(torch_loop)


def admitted(given: Problem, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """``admitted_error`` of y and z, (batch, hidden), for the trajectories of this problem."""
    double = given.to(torch.float64).arguments
    rows = torch_loop.forward(**double)
    peaks = {}
    for name, states, start in (("y_max", rows.y, rows.y0), ("z_max", rows.z, rows.z0)):
        peaks[name] = torch.cat((states, start.unsqueeze(0))).abs().amax(0)
    coefficients = {k: double[k] for k in ("w", "step_size", "alpha")}
    error = admitted_error(dtype=dtype, steps=given.steps, **coefficients, **peaks)
    return error.y, error.z


def relative(found: Tensor, expected: Tensor) -> float:
    """Largest error over largest entry, or over 1 if that is larger: cotangents are of that size, so that a small
    gradient is a difference of terms that are not small.
    """
    if expected.numel() == 0:
        return 0.0
    gap = (found.detach().double() - expected.detach().double()).abs().max()
    return float(gap / expected.detach().abs().max().clamp(min=1.0))
