"""A + Aᵀ in floating point after updates of a scaled Cayley weight: torch's optimizers, and numpy's formulas again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

RATE = 1e-2
OPTIMIZERS: Mapping[str, Callable[[list[torch.Tensor]], torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=RATE),
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=RATE, momentum=0.9),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=RATE),
    "RMSprop, centred": lambda p: torch.optim.RMSprop(p, lr=RATE, centered=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=RATE),
}
DTYPES = {"float32": (torch.float32, np.float32), "float64": (torch.float64, np.float64)}


def start(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A skew with entries in [−1, 1], signs, and the orthogonal target T of the loss ‖W − T‖_F², in float64."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(-1, 1, (n, n)), 1)
    signs = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    return upper - upper.T, signs, np.linalg.qr(rng.normal(size=(n, n)))[0]


def largest_defect(name: str, n: int, steps: int, seed: int, dtype: str = "float32", sign: int = -1) -> float:
    """max |A + Aᵀ| over all entries and steps, see ``updated``."""
    return updated(name, n, steps, seed, dtype, sign)[1]


def largest_defect_again(name: str, n: int, steps: int, seed: int, dtype: str = "float32", sign: int = -1) -> float:
    """The same of ``updated_again``."""
    return updated_again(name, n, steps, seed, dtype, sign)[1]


def updated(
    name: str, n: int, steps: int, seed: int, dtype: str = "float32", sign: int = -1
) -> tuple[np.ndarray, float]:
    """A after the steps, and the largest |A + Aᵀ| on the way; the gradient is Vᵀ + sign V (published: sign = −1).

    By torch. A is a full matrix, of which no entry is tied to another.
    """
    kind = DTYPES[dtype][0]
    first, signs, target = (torch.from_numpy(x).to(kind) for x in start(n, seed))
    A = torch.nn.Parameter(first.clone())
    optimizer, one, worst = OPTIMIZERS[name]([A]), torch.eye(n, dtype=kind), 0.0
    for _ in range(steps):
        with torch.no_grad():
            W = torch.linalg.solve(one + A, one - A) * signs
            V = torch.linalg.solve((one + A).T, 2 * (W - target) @ (torch.diag(signs) + W.T))
            A.grad = (V.T + sign * V).contiguous()
        optimizer.step()
        worst = max(worst, float((A + A.T).detach().abs().max()))
    return A.detach().numpy(), worst


def updated_again(
    name: str, n: int, steps: int, seed: int, dtype: str = "float32", sign: int = -1
) -> tuple[np.ndarray, float]:
    """The same in numpy, the optimizers by their formulas."""
    kind = DTYPES[dtype][1]
    A, signs, target = (x.astype(kind) for x in start(n, seed))
    one, state, worst = np.eye(n, dtype=kind), _OptimizerState(name, kind), 0.0
    for _ in range(steps):
        W = np.linalg.solve(one + A, one - A) * signs
        V = np.linalg.solve((one + A).T, 2 * (W - target) @ (np.diag(signs) + W.T))
        A = A - state.step(V.T + sign * V)
        worst = max(worst, float(np.abs(A + A.T).max()))
    return A, worst


class _OptimizerState:
    """What an optimizer subtracts from its parameter."""

    def __init__(self, name: str, kind: Any) -> None:
        self.name, self.kind, self.count = name, kind, 0
        self.first: Any = kind(0)
        self.second: Any = kind(0)

    def step(self, g: Any) -> Any:
        c, rate = self.kind, self.kind(RATE)
        self.count += 1
        if self.name == "SGD":
            return rate * g
        if self.name == "SGD with momentum":
            self.first = c(0.9) * self.first + g
            return rate * self.first
        if self.name == "Adam":
            self.first = c(0.9) * self.first + c(0.1) * g
            self.second = c(0.999) * self.second + c(0.001) * g * g
            root = np.sqrt(self.second / c(1 - 0.999**self.count)) + c(1e-8)
            return rate / c(1 - 0.9**self.count) * self.first / root
        self.second = c(0.99) * self.second + c(0.01) * g * g
        if self.name == "RMSprop":
            return rate * g / (np.sqrt(self.second) + c(1e-8))
        self.first = c(0.99) * self.first + c(0.01) * g
        return rate * g / (np.sqrt(self.second - self.first * self.first) + c(1e-8))
