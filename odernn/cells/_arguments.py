"""Validation and layout shared by the cells: torch.nn conventions with errors that name the argument."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


def positive_integer(name: str, value: int) -> int:
    """``value`` if it is an integer ≥ 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}, but it counts things: give an integer of at least 1.")
    return value


def per_layer(name: str, value: float | Sequence[float], num_layers: int) -> list[float]:
    """A finite number for each layer, from one number or from a sequence with one number a layer."""
    try:
        values = [float(value)] * num_layers if isinstance(value, (int, float)) else [float(v) for v in value]
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} is {value!r}. Give a number, or a sequence with one number a layer."
        ) from None
    if len(values) != num_layers:
        raise ValueError(
            f"{name} has {len(values)} entries but num_layers is {num_layers}. "
            "Give one number, or one for each layer."
        )
    for layer, number in enumerate(values, 1):
        if not math.isfinite(number):
            raise ValueError(f"{name} of layer {layer} is {number}, which is not finite.")
    return values


@dataclass(frozen=True)
class Sequences:
    """A batch of inputs in the layout of the recurrence, and the way back to the caller's layout.

    u (time, batch, input); y0, z0 (layers, batch, hidden); u0 (batch, input), the input before the first
    """

    u: Tensor
    u0: Tensor
    y0: Tensor
    z0: Tensor
    is_batched: bool
    is_batch_first: bool

    def output(self, y: Tensor) -> Tensor:
        """(time, batch, hidden) in the caller's layout."""
        if not self.is_batched:
            return y.squeeze(1)
        return y.transpose(0, 1) if self.is_batch_first else y

    def state(self, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """(layers, batch, hidden) each, in the caller's layout."""
        return (y, z) if self.is_batched else (y.squeeze(1), z.squeeze(1))


def sequences(
    input: Tensor,
    state: tuple[Tensor, Tensor] | None,
    previous_input: Tensor | None,
    *,
    like: Tensor,
    input_size: int,
    state_size: tuple[int, int],
    batch_first: bool,
) -> Sequences:
    """The arguments of ``forward`` after validation.

    ``like`` is a parameter of the cell (it fixes dtype and device), ``state_size`` is (layers, hidden).
    Raises ValueError for a wrong shape or device, TypeError for a wrong dtype.
    """
    if input.dim() not in (2, 3):
        layouts = "(batch, time, input)" if batch_first else "(time, batch, input)"
        raise ValueError(
            f"input has shape {tuple(input.shape)}, but it is {layouts}, or (time, input) unbatched."
        )
    if input.shape[-1] != input_size:
        raise ValueError(
            f"input has shape {tuple(input.shape)}: its last axis is {input.shape[-1]} "
            f"but input_size is {input_size}."
        )
    check_alike("input", input, like)
    is_batched = input.dim() == 3
    u = input.unsqueeze(1) if not is_batched else input.transpose(0, 1) if batch_first else input
    layers, hidden = state_size
    batch_shape = (u.shape[1],) if is_batched else ()
    zeros = like.new_zeros((layers, *batch_shape, hidden))
    y0, z0 = (zeros, zeros) if state is None else _pair(state)
    given = like.new_zeros((*batch_shape, input_size)) if previous_input is None else previous_input
    for name, value, shape in (
        ("state y", y0, zeros.shape),
        ("state z", z0, zeros.shape),
        ("previous_input", given, (*batch_shape, input_size)),
    ):
        if tuple(value.shape) != tuple(shape):
            raise ValueError(
                f"{name} has shape {tuple(value.shape)} but input of shape "
                f"{tuple(input.shape)} needs {tuple(shape)}."
            )
        check_alike(name, value, like)
    if not is_batched:
        y0, z0, given = y0.unsqueeze(1), z0.unsqueeze(1), given.unsqueeze(0)
    return Sequences(u, given, y0, z0, is_batched, batch_first)


def _pair(state: Any) -> tuple[Tensor, Tensor]:
    if not (
        isinstance(state, (tuple, list)) and len(state) == 2 and all(isinstance(s, Tensor) for s in state)
    ):
        raise TypeError(
            f"state is a {type(state).__name__}, but it is the pair (y, z) of tensors that forward returns."
        )
    return state[0], state[1]


def check_alike(name: str, value: Tensor, like: Tensor) -> None:
    """The dtype and the device of the parameters, or an error."""
    if value.dtype != like.dtype:
        raise TypeError(
            f"{name} has dtype {value.dtype} but the parameters have {like.dtype}. Convert one of them."
        )
    if value.device != like.device:
        raise ValueError(
            f"{name} is on {value.device} but the parameters are on {like.device}. Move one of them."
        )


def checked_lengths(lengths: Tensor | Sequence[int], found: Sequences) -> Tensor:
    """``lengths`` as an integer tensor (batch,) on the device of the input, each in 0..N."""
    steps, batch = found.u.shape[:2]
    if not found.is_batched:
        raise ValueError("lengths is given with an unbatched input. Slice the input instead: input[:length].")
    result = torch.as_tensor(lengths, device=found.u.device)
    if result.is_floating_point() or result.is_complex() or result.dtype == torch.bool:
        raise TypeError(f"lengths has dtype {result.dtype}, but it counts steps: give integers.")
    if tuple(result.shape) != (batch,):
        raise ValueError(f"lengths has shape {tuple(result.shape)}, but the batch needs ({batch},).")
    if batch and not bool(((result >= 0) & (result <= steps)).all()):
        raise ValueError(
            f"lengths reaches from {int(result.min())} to {int(result.max())}, outside 0..{steps}."
        )
    return result.long()


def at_own_end(rows: Tensor, before: Tensor, lengths: Tensor | None) -> Tensor:
    """Row n for each sample's own n: rows (time, batch, hidden) hold n = 1..N, before is n = 0."""
    if lengths is None:
        return rows[-1] if len(rows) else before
    if len(rows) == 0:
        return before
    picked = rows[(lengths - 1).clamp(min=0), torch.arange(len(lengths), device=rows.device)]
    return torch.where((lengths == 0).unsqueeze(1), before, picked)


def zero_after_end(rows: Tensor, lengths: Tensor | None) -> Tensor:
    """rows (time, batch, hidden) with zeros after each sample's own end."""
    if lengths is None:
        return rows
    inside = torch.arange(len(rows), device=rows.device).unsqueeze(1) < lengths
    return torch.where(inside.unsqueeze(2), rows, rows.new_zeros(()))
