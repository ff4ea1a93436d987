"""One shape for the linear algebra of both kinds of fields.

A unit is what is solved for on its own: a sample of a field that couples neurons, with w = hidden components a slope;
a neuron of a sample of a field that does not, with w = 1. Slopes are (n, ..., hidden), vectors of a unit are
(units, n·w) with units = (...) or (..., hidden).
"""

from __future__ import annotations

from torch import Tensor

from odernn.fields.field import Field


def joined(slopes: Tensor, field: Field) -> Tensor:
    """(n, ..., hidden) → (units, n·w)."""
    vectors: Tensor = slopes.movedim(0, -2).flatten(-2) if field.couples_neurons else slopes.movedim(0, -1)
    return vectors


def split(vectors: Tensor, count: int, field: Field) -> Tensor:
    """(units, n·w) → (n, ..., hidden)."""
    coupled = field.couples_neurons
    slopes: Tensor = vectors.unflatten(-1, (count, -1)).movedim(-2, 0) if coupled else vectors.movedim(-1, 0)
    return slopes


def blockwise(jacobian: Tensor, field: Field) -> Tensor:
    """What ``Field.jacobian`` returns → (units, B, B, w, w), entry [β, γ] the derivative of block β by block γ."""
    if not field.couples_neurons:
        return jacobian[..., None, None]
    blocks = len(field.blocks)
    entries: Tensor = jacobian.unflatten(-1, (blocks, -1)).unflatten(-3, (blocks, -1)).movedim(-3, -2)
    return entries


def per_column(step_size: Tensor | float, field: Field, axes: int) -> Tensor | float:
    """h (..., hidden) so that it multiplies the last axis, w, of something (units, ``axes`` more axes, w)."""
    if not isinstance(step_size, Tensor) or step_size.dim() == 0:
        return step_size
    if field.couples_neurons:
        return step_size.reshape(*step_size.shape[:-1], *[1] * axes, step_size.shape[-1])
    return step_size.reshape(*step_size.shape, *[1] * (axes + 1))
