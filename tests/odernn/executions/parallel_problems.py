"""Recurrences that the parallel execution is tried on, and what the contract admits of its states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.recurrence import admitted_error

NAMES = ("x", "w", "step_size", "alpha", "y0", "z0")
DTYPES = (torch.float32, torch.float64)
SHAPES = ((1, 1), (3, 2))


def problem(
    steps: int,
    batch: int = 2,
    hidden: int = 3,
    *,
    dt: float = 0.1,
    alpha: float = 1.0,
    spread: float = 0.0,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Weights as in the paper, U(0, 1), or normal with ``spread``; inputs normal; h = dt σ̂(c), c in U(−0.1, 0.1)."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    found = {
        "x": normal(steps, batch, hidden),
        "w": spread * normal(hidden) if spread else uniform(hidden),
        "step_size": dt * torch.sigmoid(0.2 * uniform(hidden) - 0.1),
        "alpha": torch.tensor(alpha, dtype=torch.float64),
        "y0": 0.3 * normal(batch, hidden),
        "z0": 0.3 * normal(batch, hidden),
    }
    return {name: value.to(dtype) for name, value in found.items()}


def in_double(p: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().double() for name, value in p.items()}


def coefficients(p: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: p[name] for name in ("w", "step_size", "alpha")}


def admitted(p: dict[str, Tensor], result: Any, dtype: torch.dtype, steps: int | None = None) -> Any:
    """The contract's bound, for every column."""
    y_max = torch.cat([result.y0.unsqueeze(0), result.y]).abs().amax(0)
    z_max = torch.cat([result.z0.unsqueeze(0), result.z]).abs().amax(0)
    count = len(result.y) if steps is None else steps
    return admitted_error(dtype=dtype, steps=count, **coefficients(p), y_max=y_max, z_max=z_max)


def assert_is_the_loop(found: Any, p: dict[str, Tensor]) -> None:
    """Each execution may be off by its own admitted error."""
    expected = torch_loop.forward(**in_double(p))
    ours, theirs = admitted(p, found, p["x"].dtype), admitted(p, expected, torch.float64)
    for name in ("y", "z"):
        gap = (getattr(found, name).double() - getattr(expected, name)).abs()
        assert (gap <= getattr(ours, name) + getattr(theirs, name)).all(), (name, float(gap.max()))


def cotangents(p: dict[str, Tensor], seed: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(p["x"].shape, generator=generator, dtype=torch.float64) for _ in range(2))  # type: ignore[return-value]


def derivatives(run: Callable[..., Any], p: dict[str, Tensor], cotangent: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
    leaves = {name: value.detach().clone().requires_grad_() for name, value in p.items()}
    result = run(**leaves)
    loss = (result.y * cotangent[0].to(result.y.dtype)).sum() + (result.z * cotangent[1].to(result.z.dtype)).sum()
    grads = torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)
    return {name: grad.double() for name, grad in zip(leaves, grads, strict=True)}
