"""Small fields with every combination of properties that a step looks at, and books written without a tableau's code.

Each field has its formulas twice: in torch with a hand-written Jacobian, and in numpy as ``book(x, drive)`` on one
vector x = (y, z) or y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from odernn import tableaus
from odernn.fields.field import Constants, Field, State
from odernn.tableaus.tableau import Composition, PartitionedTableau

F64 = torch.float64


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@dataclass(frozen=True, eq=False)
class Pendulum(Field):
    """y' = z (1 + y²/2),  z' = −g sin y − y z²/2 + x: Hamiltonian, reversible, not separable, neurons not coupled."""

    blocks: ClassVar[tuple[str, ...]] = ("y", "z")
    weights: ClassVar[tuple[str, ...]] = ("g",)
    couples_neurons: ClassVar[bool] = False
    is_reversible: ClassVar[bool] = True

    g: Tensor

    @property
    def hidden_size(self) -> int:
        return len(self.g)

    def __call__(self, state: State, drive: Tensor) -> State:
        y, z = state
        return z * (1 + y**2 / 2), -self.g * torch.sin(y) - y * z**2 / 2 + drive

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        y, z = state
        rows = (y * z, 1 + y**2 / 2), (-self.g * torch.cos(y) - z**2 / 2, -y * z)
        return torch.stack([torch.stack(row, -1) for row in rows], -2)

    def constants(self) -> Constants:
        return Constants(7.0, 7.0)

    def book(self, x: np.ndarray, drive: np.ndarray) -> np.ndarray:
        y, z = np.split(x, 2)
        return np.concatenate([z + y * y * z / 2, drive - self.g.numpy() * np.sin(y) - z * z * y / 2])


@dataclass(frozen=True, eq=False)
class Relaxation(Field):
    """y' = W tanh(y) − λ y + x: one block, neurons coupled."""

    weights: ClassVar[tuple[str, ...]] = ("W",)

    W: Tensor
    decay: Tensor

    @property
    def hidden_size(self) -> int:
        return len(self.W)

    def __call__(self, state: State, drive: Tensor) -> State:
        (y,) = state
        return (torch.tanh(y) @ self.W.mT - self.decay * y + drive,)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        (y,) = state
        return self.W * (1 - torch.tanh(y) ** 2).unsqueeze(-2) - torch.diag(self.decay)

    def constants(self) -> Constants:
        return Constants(11.0, 11.0)

    def book(self, x: np.ndarray, drive: np.ndarray) -> np.ndarray:
        return self.W.numpy() @ np.tanh(x) - self.decay.numpy() * x + drive


@dataclass(frozen=True, eq=False)
class Linear(Field):
    """y' = L y + x: one block, neurons coupled; solved in closed form."""

    weights: ClassVar[tuple[str, ...]] = ("L",)
    is_linear: ClassVar[bool] = True

    L: Tensor

    @property
    def hidden_size(self) -> int:
        return len(self.L)

    def __call__(self, state: State, drive: Tensor) -> State:
        return (state[0] @ self.L.mT + drive,)

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        return self.L

    def constants(self) -> Constants:
        return Constants(3.0, 3.0)

    def book(self, x: np.ndarray, drive: np.ndarray) -> np.ndarray:
        return self.L.numpy() @ x + drive


class IteratedLinear(Linear):
    """The same field without the promise to be linear: its stages are solved for by iteration."""

    is_linear: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class Damped(Field):
    """y' = z, z' = −κ y − ε z + x: linear, two blocks, neurons not coupled."""

    blocks: ClassVar[tuple[str, ...]] = ("y", "z")
    weights: ClassVar[tuple[str, ...]] = ("kappa", "epsilon")
    couples_neurons: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True

    kappa: Tensor
    epsilon: Tensor

    @property
    def hidden_size(self) -> int:
        return len(self.kappa)

    def __call__(self, state: State, drive: Tensor) -> State:
        y, z = state
        force = drive - self.kappa * y - self.epsilon * z
        return z.expand_as(force), force

    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        zero, one = torch.zeros_like(self.kappa), torch.ones_like(self.kappa)
        rows = (zero, one), (-self.kappa, -self.epsilon)
        return torch.stack([torch.stack(row, -1) for row in rows], -2)

    def constants(self) -> Constants:
        return Constants(3.0, 3.0)

    def book(self, x: np.ndarray, drive: np.ndarray) -> np.ndarray:
        y, z = np.split(x, 2)
        return np.concatenate([z, drive - self.kappa.numpy() * y - self.epsilon.numpy() * z])


class IteratedDamped(Damped):
    """The same field without the promise to be linear."""

    is_linear: ClassVar[bool] = False


def book_of_oscillator(w: np.ndarray, alpha: float):
    """y' = z, z' = −tanh(w y + x) − α y, in numpy."""

    def book(x: np.ndarray, drive: np.ndarray) -> np.ndarray:
        y, z = np.split(x, 2)
        return np.concatenate([z, -np.tanh(w * y + drive) - alpha * y])

    return book


def halves(name: str):
    """(A, b) and (Â, b̂) of an entry of the catalogue as numpy arrays, equal unless it is a pair."""
    method = tableaus.get(name)
    method = method.tableau if isinstance(method, Composition) else method
    pair = (method.position, method.momentum) if isinstance(method, PartitionedTableau) else (method, method)
    return [(np.array([[float(a) for a in row] for row in t.A]), np.array([float(b) for b in t.b])) for t in pair]


def book_stages(tables, book, x: np.ndarray, drives, h, *, blocks: int, most: int = 500):
    """Y_i, k_i, each (s, blocks · m), by fixed-point iteration for small h: no Newton, no grouping, no torch."""
    m = len(x) // blocks
    A = np.stack([np.repeat(t[0][:, :, None], m, 2) for t in tables[:blocks]], 2)  # (s, s, blocks, m)
    s, h, before = len(A), np.broadcast_to(h, (m,)), np.inf
    k = np.zeros((s, blocks, m))
    for _ in range(most):
        Y = x.reshape(blocks, m) + h * np.einsum("ijbm,jbm->ibm", A, k)
        new = np.stack([book(Y[i].reshape(-1), drives[i]).reshape(blocks, m) for i in range(s)])
        change, k = np.abs(new - k).max(), new
        if change == 0 or (change >= before and change < 1e-14 * np.abs(k).max()):
            return Y.reshape(s, -1), k.reshape(s, -1)
        before = change
    raise AssertionError(f"the book's fixed-point iteration does not end: changes of {change:.1e}")


def book_step(tables, book, x: np.ndarray, drives, h, *, blocks: int) -> np.ndarray:
    """x₁ = x₀ + h Σ b_i k_i."""
    _, k = book_stages(tables, book, x, drives, h, blocks=blocks)
    m = len(x) // blocks
    weights = np.concatenate([np.repeat(t[1][:, None], m, 1) for t in tables[:blocks]], 1)  # (s, blocks · m)
    return x + np.tile(np.broadcast_to(h, (m,)), blocks) * (weights * k).sum(0)
