"""The parts of a Runge–Kutta step: stage values, slopes, new values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from odernn.fields.field import Field, SeparableField, State
from odernn.integrators.coefficients import FloatCoefficients, FloatRow, SlopeGroup

Slopes: TypeAlias = tuple[dict[int, Tensor], ...]
"""For each block its k_i under i, as far as they are computed."""


def advance(start: Tensor, coefficients: FloatRow, slopes: Mapping[int, Tensor], step_size: Tensor | float) -> Tensor:
    """start + h Σ_j coefficient_j slope_j over the slopes given. Those with coefficient 0 are not asked for."""
    terms = [(a, slopes[j]) for j, a in enumerate(coefficients) if a != 0 and j in slopes]
    if not terms:
        return start
    (a, increment), *rest = terms
    if len(coefficients) == 1 and a == 1:
        return start + step_size * increment  # a step of Euler, with the roundings of the cells that write it so
    if not rest:
        if isinstance(step_size, Tensor):
            return torch.addcmul(start, step_size, increment, value=a)
        return torch.add(start, increment, alpha=step_size * a)
    increment = increment * a
    for a, slope in rest:
        increment = torch.add(increment, slope, alpha=a)
    if isinstance(step_size, Tensor):
        return torch.addcmul(start, step_size, increment)
    return torch.add(start, increment, alpha=step_size)


def stage_value(
    coefficients: FloatCoefficients, block: int, stage: int, state: State, slopes: Slopes, step_size: Tensor | float
) -> Tensor:
    """Y_i = y₀ + h Σ_j a_ij k_j of one block, as far as the slopes are computed.   (..., hidden)"""
    return advance(state[block], coefficients.A[block][stage], slopes[block], step_size)


def evaluate(
    coefficients: FloatCoefficients,
    field: Field,
    group: SlopeGroup,
    state: State,
    drives: Sequence[Tensor],
    slopes: Slopes,
    step_size: Tensor | float,
) -> None:
    """Add the slopes of an explicit group, which lie in one stage: f(Y_i; drive_i), or the half of f asked for."""
    ((_, i), *_) = group.nodes

    def value(block: int) -> Tensor:
        return stage_value(coefficients, block, i, state, slopes, step_size)

    if isinstance(field, SeparableField):
        for block, _ in group.nodes:
            slopes[block][i] = field.force(value(0), drives[i]) if block else field.velocity(value(1))
        return
    slope = field(tuple(value(block) for block in range(len(state))), drives[i])
    for block, _ in group.nodes:
        slopes[block][i] = slope[block]


def new_state(coefficients: FloatCoefficients, state: State, slopes: Slopes, step_size: Tensor | float) -> State:
    """y₁ = y₀ + h Σ_i b_i k_i, block by block."""
    return tuple(
        advance(start, weights, own, step_size)
        for start, weights, own in zip(state, coefficients.b, slopes, strict=True)
    )
