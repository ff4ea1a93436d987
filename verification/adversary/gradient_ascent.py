"""Batched ascent on gradients: everything that the hypotheses leave free moves by the sign of its derivative.

A trajectory is a chain of single neurons (definitions 1.2, one a layer, c = 0). Free are w, V, b of every layer, the
inputs u_n and one target ȳ for all steps; α, dt, N are fixed. The starts are structured: pre-activation near 0 with
w below −α at many sizes (hyperbolic), a square wave at the frequency of the oscillator (resonance), a large bias
(saturated), and noise. The measured side is log|dE/dθ|, its derivatives come from torch's autograd.

``control`` is the same ascent on |y_N| with w = 0, whose supremum over all inputs is known: h Σ |U_j|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from verification.adversary import CPU

Free: TypeAlias = dict[str, Tensor]
"""Leaves whose first dimension counts trajectories."""
Objective: TypeAlias = Callable[[Free], Tensor]

RATE = 0.5
SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class Ascended:
    """The best value of every trajectory and the point where it was reached; how often the objective was taken."""

    values: Tensor
    free: Free
    evaluations: int

    @property
    def best(self) -> int:
        return int(torch.argmax(self.values))


def maximise(objective: Objective, start: Free, iterations: int) -> Ascended:
    """Steps ±rate·max(1, |x|/4) by the sign of the derivative, the rate falling to 0; the best point is kept."""
    free = {name: value.clone() for name, value in start.items()}
    best, values = dict(free), torch.full_like(next(iter(free.values()))[:, 0], -math.inf)
    for iteration in range(iterations):
        leaves = {name: value.detach().requires_grad_() for name, value in free.items()}
        attained = objective(leaves)
        slopes = torch.autograd.grad(attained.sum(), list(leaves.values()), allow_unused=True)
        now = torch.where(torch.isfinite(attained), attained, -math.inf).detach()
        better = now > values
        values = torch.where(better, now, values)
        best = {name: torch.where(better[:, None], free[name], best[name]) for name in free}
        rate = RATE * (1 - iteration / iterations)
        for (name, value), slope in zip(free.items(), slopes, strict=True):
            if slope is not None:
                free[name] = value + rate * torch.sign(slope.nan_to_num()) * (value.abs() / 4).clamp(min=1.0)
    return Ascended(values, best, iterations * values.numel())


def log_gradient(free: Free, *, alpha: float, dt: float, steps: int, layer: int, by_weight: Tensor) -> Tensor:
    """log|dE/dθ|, E = (1/N) Σ (y^L_n − ȳ)²/2, θ = b of ``layer``, or w where ``by_weight``; (trajectories,)."""
    w, V, b, u, target = (free[name] for name in ("w", "V", "b", "u", "target"))
    depth, h = w.shape[1], dt / 2
    zero = torch.zeros_like(w[:, 0])
    y, z, dy, dz = ([zero] * depth for _ in range(4))
    total = zero
    for n in range(steps):
        below, moved = u[:, n], zero
        for q in range(depth):
            s = torch.tanh(w[:, q] * y[q] + V[:, q] * below + b[:, q])
            inside = w[:, q] * dy[q] + (V[:, q] * moved if q else 0)
            if q == layer - 1:
                inside = inside + torch.where(by_weight, y[q], torch.ones_like(zero))
            dz[q] = dz[q] - h * ((1 - s * s) * inside + alpha * dy[q])
            z[q] = z[q] - h * (s + alpha * y[q])
            dy[q], y[q] = dy[q] + h * dz[q], y[q] + h * z[q]
            below, moved = y[q], dy[q]
        total = total + (y[-1] - target[:, 0]) * dy[-1]
    return (total / steps).abs().clamp(min=SMALLEST).log()


def starts(
    count: int, depth: int, steps: int, *, alpha: float, dt: float, seed: int, device: torch.device = CPU
) -> Free:
    """``count`` trajectories, a quarter of each kind: hyperbolic, resonant, saturated, noise; made on the CPU."""
    generator = torch.Generator().manual_seed(seed % 2**63)

    def noise(width: int) -> Tensor:
        return torch.randn(count, width, generator=generator, dtype=torch.float64, device=CPU)

    free = {"w": 3 * noise(depth), "V": noise(depth), "b": noise(depth), "u": noise(steps), "target": 3 * noise(1)}
    quarter = count // 4
    sizes = torch.logspace(-1, 4, quarter, dtype=torch.float64, device=CPU)
    free["w"][:quarter] = -alpha - sizes[:, None]
    free["V"][:quarter, 0] = 0.0
    free["b"][:quarter] = 0.0
    free["target"][:quarter] = 10.0 ** (torch.arange(quarter, device=CPU) % 5)[:, None].double()
    time = torch.arange(steps, dtype=torch.float64, device=CPU) * dt / 2
    detuning = torch.linspace(0.5, 1.5, quarter, dtype=torch.float64, device=CPU)
    free["u"][quarter : 2 * quarter] = 3 * torch.sign(torch.sin(math.sqrt(alpha) * detuning[:, None] * time + 1e-9))
    free["V"][quarter : 2 * quarter, 0] = 1.0
    free["b"][2 * quarter : 3 * quarter] *= 10
    return {name: value.to(device) for name, value in free.items()}


def control(
    alpha: float,
    dt: float,
    steps: int,
    *,
    seed: int,
    count: int = 64,
    iterations: int = 60,
    device: torch.device = CPU,
) -> float:
    """The share of sup|y_N|, w = 0, that the ascent reaches over inputs: ``maximise`` on the linear sibling."""
    h = dt / 2
    generator = torch.Generator().manual_seed(seed % 2**63)
    start = {"u": torch.randn(count, steps, generator=generator, dtype=torch.float64, device=CPU).to(device)}

    def objective(free: Free) -> Tensor:
        y = z = torch.zeros_like(free["u"][:, 0])
        for n in range(steps):
            z = z - h * (torch.tanh(free["u"][:, n]) + alpha * y)
            y = y + h * z
        return y.abs()

    y, z, known = 0.0, 1.0, 0.0
    for _ in range(steps):
        z -= h * alpha * y
        y += h * z
        known += h * abs(y)
    return float(maximise(objective, start, iterations).values.max()) / known
