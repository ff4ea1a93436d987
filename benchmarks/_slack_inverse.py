"""Forward in one dtype and back again: how far every state that is rebuilt is from the one that was there."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from odernn.cells.linoss import LinOSS, LinOSSLayer
from odernn.cells.unicornn import UnICORNN
from odernn.executions import torch_loop
from verification.trained import runs


@torch.no_grad()
def rebuilding_errors(network: UnICORNN | LinOSS, inputs: Tensor, dtype: torch.dtype) -> list[tuple[float, float]]:
    """By layer the largest |ỹ_n − ŷ_n| and |z̃_n − ẑ_n| over n = 0 … N−1: NaN or ∞ after an overflow."""
    u = inputs.to(dtype)
    stack = [_Pair.of(network, index, dtype) for index in range(len(network.layers))]
    zero = [u.new_zeros(u.shape[1], each.size) for each in stack]
    y, z = list(zero), list(zero)
    kept: list[list[tuple[Tensor, Tensor]]] = [[(y[index], z[index])] for index in range(len(stack))]
    for row in u:
        below = row
        for index, each in enumerate(stack):
            y[index], z[index] = each.step(y[index], z[index], each.drive(below))
            kept[index].append((y[index], z[index]))
            below = y[index]
    errors = [(0.0, 0.0)] * len(stack)
    for n in range(len(u), 0, -1):
        for index in range(len(stack) - 1, -1, -1):
            each, below = stack[index], u[n - 1] if index == 0 else y[index - 1]
            y[index], z[index] = each.back(y[index], z[index], each.drive(below))
            then = kept[index][n - 1]
            here = (
                (y[index].double() - then[0].double()).abs().max(),
                (z[index].double() - then[1].double()).abs().max(),
            )
            errors[index] = runs.larger(errors[index][0], here[0]), runs.larger(errors[index][1], here[1])
    return errors


@dataclass(frozen=True, eq=False)
class _Pair:
    """One layer in one dtype: its drive from the row below, its step and the step back."""

    size: int
    drive: Callable[[Tensor], Tensor]
    step: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
    back: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

    @classmethod
    def of(cls, network: UnICORNN | LinOSS, index: int, dtype: torch.dtype) -> _Pair:
        layer: Any = copy.deepcopy(network.layers[index]).to(dtype)
        if isinstance(layer, LinOSSLayer):
            forward, backward = layer.stepper(), layer.back_stepper()
            return cls(
                layer.hidden_size,
                layer.drives,
                lambda y, z, x: forward((y, z), x),  # type: ignore[arg-type,return-value]
                lambda y, z, x: backward((y, z), x),  # type: ignore[arg-type,return-value]
            )
        assert isinstance(network, UnICORNN)
        own = layer.coefficients(network.dt[index], network.alpha[index])
        return cls(
            network.hidden_size,
            lambda below: torch.nn.functional.linear(below, layer.V, layer.b),
            lambda y, z, x: torch_loop.step(y, z, x, **own),
            lambda y, z, x: torch_loop.step_back(y, z, x, **own),
        )
