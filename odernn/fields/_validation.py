"""Shapes of weights and ranges of hyperparameters, asked once when a field is made.

A field is made anew in every forward pass, so only shapes and Python numbers are looked at: the value of a tensor would
have to be fetched from its device, and cannot be while ``torch.compile`` traces.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

from torch import Tensor


def square(name: str, value: Tensor) -> int:
    """n of an (n, n) matrix of floating-point numbers."""
    size = columns(name, value)
    if value.shape[0] != size:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, but it maps hidden states to hidden states. "
            "Give a square matrix (hidden, hidden)."
        )
    return size


def columns(name: str, value: Tensor) -> int:
    """n of a (p, n) matrix of floating-point numbers, p and n at least 1."""
    _floating(name, value)
    if value.dim() != 2 or 0 in value.shape:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, but it is a matrix with at least one row and one column. "
            "Batches are axes of the state and the drive, never of the weights."
        )
    return value.shape[1]


def vector(name: str, value: Tensor) -> int:
    """n of (..., n) floating-point numbers, one a neuron, leading axes as in the state; 1 of a tensor without axes."""
    _floating(name, value)
    if 0 in value.shape:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, but it has one entry for each neuron, and at least one. Give it "
            "as (hidden,), as () for one neuron, or with leading axes for many fields at once."
        )
    return value.shape[-1] if value.dim() else 1


def _floating(name: str, value: Any) -> None:
    """A tensor of floating-point numbers."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}, but weights are tensors. Give torch.as_tensor({name}).")
    if not value.is_floating_point():
        raise ValueError(f"{name} has dtype {value.dtype}, but tanh needs real floating-point numbers. Convert it.")


def same_size(name: str, size: int, other_name: str, other_size: int) -> None:
    """Two matrices act on blocks of one hidden size."""
    if size != other_size:
        raise ValueError(
            f"{name} has {size} columns but {other_name} has {other_size}, and both count the hidden size. "
            "Give matrices with equally many columns."
        )


def nonnegative(name: str, value: Tensor | float, *, like: Tensor | None = None) -> None:
    """A finite number ≥ 0, or a tensor without axes, whose value is the caller's affair.

    like  weights (hidden,), where the tensor may also have one entry for each neuron
    """
    if isinstance(value, Tensor):
        if value.dim() != 0 and (like is None or value.shape != like.shape):
            counted = "one number for all neurons" if like is None else "one number for all neurons or one for each"
            or_each = "" if like is None else f", or one of shape {tuple(like.shape)}"
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}, but it is {counted}. "
                f"Give a number or a tensor without axes{or_each}."
            )
    elif isinstance(value, bool) or not isinstance(value, (int, float, numbers.Real)):
        raise TypeError(f"{name} is {value!r}, a {type(value).__name__}. Give a number of at least 0.")
    elif not 0.0 <= value < math.inf:  # comparisons only: torch.compile traces no math.isfinite of a changing number
        reason = "is negative" if value < 0 else "is not finite"
        raise ValueError(f"{name} is {value}, which {reason}. Give a finite number of at least 0.")
