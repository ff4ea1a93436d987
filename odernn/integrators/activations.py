"""Entrywise functions of stages with their derivatives: φ of p = φ(z)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Nonlinearity:
    """An entrywise function and its derivative, both of the argument; at a kink the derivative from the left.

    shared_slope  one number for all slopes, as they mostly are, by which a whole batch is solved for
    """

    value: Callable[[Tensor], Tensor]
    derivative: Callable[[Tensor], Tensor]
    shared_slope: float


def _tanh_derivative(x: Tensor) -> Tensor:
    t = torch.tanh(x)
    return 1 - t * t


def _sigmoid_derivative(x: Tensor) -> Tensor:
    return torch.sigmoid(x) * torch.sigmoid(-x)


def _relu_derivative(x: Tensor) -> Tensor:
    return (x > 0).to(x.dtype)


def _identity(x: Tensor) -> Tensor:
    return x


def _square_derivative(x: Tensor) -> Tensor:
    return 2 * x


LINEAR = "identity"
SQUARE = "square"

NONLINEARITIES: Mapping[str, Nonlinearity] = {
    "tanh": Nonlinearity(torch.tanh, _tanh_derivative, 0.75),
    "sigmoid": Nonlinearity(torch.sigmoid, _sigmoid_derivative, 0.2),
    "relu": Nonlinearity(torch.relu, _relu_derivative, 0.5),
    SQUARE: Nonlinearity(torch.square, _square_derivative, 0.0),
    LINEAR: Nonlinearity(_identity, torch.ones_like, 1.0),
}
"""The entrywise functions of stages, by name."""


@dataclass(frozen=True)
class Activation:
    """φ: functions by name, each on so many components, in their order; one function alone is for all of them.

    With a shift, which only tanh has, φ(z) = σ̂(z + shift) tanh z.
    """

    names: Sequence[str]
    sizes: Sequence[int]

    def value(self, z: Tensor, shift: Tensor | None = None) -> Tensor:
        """φ(z), (..., s q)."""
        found = self._each(z, lambda function: function.value)
        return found if shift is None else torch.sigmoid(z + shift) * found

    def into(self, z: Tensor, shift: Tensor | None, out: Tensor) -> None:
        """φ(z) into ``out``."""
        if self.names != ["tanh"]:
            out.copy_(self.value(z, shift))
            return
        torch.tanh(z, out=out)
        if shift is not None:
            out.mul_(torch.sigmoid(z + shift))

    def slopes(self, z: Tensor, shift: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """The derivatives of φ by z and by the shift."""
        slope = self._each(z, lambda function: function.derivative)
        if shift is None:
            return slope, None
        g = torch.sigmoid(z + shift)
        by_shift = g * (1.0 - g) * torch.tanh(z)
        return g * slope + by_shift, by_shift

    def _each(self, z: Tensor, which: Callable[[Nonlinearity], Callable[[Tensor], Tensor]]) -> Tensor:
        functions = [which(NONLINEARITIES[name]) for name in self.names]
        if len(functions) == 1:
            return functions[0](z)
        parts = z.split(list(self.sizes), dim=-1)
        return torch.cat([function(part) for function, part in zip(functions, parts, strict=True)], dim=-1)
