"""What the tables of an ODERNN are made of: stages, and coefficients that may be gated by the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from odernn.integrators.activations import LINEAR, NONLINEARITIES, Activation

Segments: TypeAlias = tuple[tuple[str, int], ...]
"""Names of entrywise functions with the number of components each is applied to, in the order of the components."""


def applied(matrix: Tensor, x: Tensor, width: int) -> Tensor:
    """M x for x (..., columns), M one of the three forms of ``Coefficient``."""
    if matrix.dim() == 0:
        return matrix * x
    if matrix.shape[1] == x.shape[-1]:
        return nn.functional.linear(x, matrix)
    blocks: Tensor = x.unflatten(-1, (matrix.shape[1], width))
    return (matrix @ blocks).flatten(-2)


def dense(matrix: Tensor, rows: int) -> Tensor:
    """One of the three forms as the full matrix with that many rows."""
    if matrix.dim() == 0:
        return matrix * torch.eye(rows, dtype=matrix.dtype, device=matrix.device)
    if matrix.shape[0] == rows:
        return matrix
    return torch.kron(matrix, torch.eye(rows // matrix.shape[0], dtype=matrix.dtype, device=matrix.device))


def spread(constant: Tensor, size: int) -> Tensor:
    """A gate's constant for every component, or one number for all: from one number, one a block, or all."""
    if constant.dim() == 0 or constant.shape[0] == size:
        return constant
    return constant.repeat_interleave(size // constant.shape[0])


@dataclass(frozen=True, eq=False)
class Stage:
    """k = σ(K Y + U u + b), with σ the functions of ``segments``, entrywise.

    segments     (("sigmoid", 2*d), ("tanh", d)): functions and how many components each has; their sum is p
    reads        the blocks of Y that K multiplies, from 0; ``None``: all
    K            None: a weight (p × components read). Else a constant, in one of the forms of ``Coefficient``
    sees_input   whether there is a weight U (p × input)
    bias         whether there is a weight b (p)
    same_as      the label of a stage whose K, U and b this one uses, too
    """

    segments: Segments
    reads: tuple[int, ...] | None = None
    K: Any = None
    sees_input: bool = True
    bias: bool = True
    same_as: int | None = None

    def __post_init__(self) -> None:
        for name, size in self.segments:
            if name not in NONLINEARITIES:
                raise ValueError(f"Stage: {name!r} is no function of stages. Choose from: {', '.join(NONLINEARITIES)}.")
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise ValueError(f"Stage: the segment {name!r} has {size!r} components. Give an int of at least 1.")
        if not self.segments:
            raise ValueError('Stage: segments is empty. Give for example (("tanh", hidden_size),).')
        if self.K is not None:
            object.__setattr__(self, "K", float64(self.K))

    @property
    def size(self) -> int:
        """Number p of components of k."""
        return sum(size for _, size in self.segments)

    @property
    def is_linear(self) -> bool:
        """Whether σ is the identity in all components."""
        return all(name == LINEAR for name, _ in self.segments)

    def sigma(self, x: Tensor) -> Tensor:
        """σ(x), x (..., p)."""
        return self.activation.value(x)

    @property
    def activation(self) -> Activation:
        """σ with its derivative."""
        return Activation([name for name, _ in self.segments], [size for _, size in self.segments])


@dataclass(frozen=True, eq=False)
class Gate:
    """g = constant + Γ y + Σ_q Γ_q k_q, a factor of each component of k_j: A_ij = M diag(g).

    constant  one number, one a block, or one a component; ``None``: zero
    y         Γ (p_j × D);   stages   q → Γ_q (p_j × p_q); each full or a table of blocks, as in ``Coefficient``
    """

    constant: Any = None
    y: Any = None
    stages: Mapping[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constant", None if self.constant is None else float64(self.constant))
        object.__setattr__(self, "y", None if self.y is None else float64(self.y))
        object.__setattr__(self, "stages", {q: float64(matrix) for q, matrix in self.stages.items()})


@dataclass(frozen=True, eq=False)
class Coefficient:
    """A_ij or B_j (D × p_j): a constant matrix M, or M diag(g(y, k)) with a gate.

    M is written in one of three forms, told apart by the shape: a number a for a I (p_j = D); a table α with one entry
    a block for α ⊗ I (t × p_j/d); the full matrix (D × p_j).
    """

    matrix: Any
    gate: Gate | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", float64(self.matrix))


def float64(value: Any) -> Tensor:
    """A constant of its own, in float64 on the CPU."""
    return torch.as_tensor(value, dtype=torch.float64, device="cpu").detach().clone()


def coefficient(value: Any) -> Coefficient:
    """A number or an array as a ``Coefficient`` without gate."""
    return value if isinstance(value, Coefficient) else Coefficient(value)
