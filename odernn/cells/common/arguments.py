"""Validation shared by the cells: every error names the argument, its value and what to give instead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, SupportsFloat, TypeVar

import numpy as np
import torch
from torch import Tensor

from odernn.exact.integers import positive_integer as positive_integer

T = TypeVar("T", bound=str)


def number(name: str, value: Any) -> float:
    """``value`` as a float if it is one number: neither text nor a truth value, which ``float`` would take, too."""
    is_number = isinstance(value, SupportsFloat) and not isinstance(value, (bool, np.bool_))
    if isinstance(value, Tensor):
        is_number = value.numel() == 1 and not (value.dtype == torch.bool or value.is_complex())
    if isinstance(value, np.ndarray):
        is_number = value.size == 1 and value.dtype.kind in "iuf"
    if not is_number:
        raise TypeError(f"{name} is {value!r}, a {type(value).__name__}. Give a number.")
    try:
        return float(value)
    except OverflowError:  # of an int or a fraction; its digits may be too many to print
        raise ValueError(f"{name} is beyond the range of float64. Give a number of at most 1.79e308.") from None


def per_layer(name: str, value: float | Sequence[float], num_layers: int) -> list[float]:
    """A finite number for each layer, from one number or from a sequence with one number a layer."""
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{name} is {value!r}. Give a number, or a sequence with one number a layer.")
    if isinstance(value, Iterable) and not (isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0):
        values = [number(f"{name} of layer {layer}", entry) for layer, entry in enumerate(value, 1)]
    else:
        values = [number(name, value)] * num_layers
    if len(values) != num_layers:
        raise ValueError(
            f"{name} has {len(values)} entries but num_layers is {num_layers}. Give one number, or one for each layer."
        )
    for layer, entry in enumerate(values, 1):
        if not math.isfinite(entry):
            raise ValueError(f"{name} of layer {layer} is {entry}, which is not finite.")
    return values


def probability(name: str, value: float) -> float:
    """``value`` if 0 ≤ value < 1."""
    if not 0.0 <= number(name, value) < 1.0:
        raise ValueError(f"{name} is {value}, but it is a probability below 1.")
    return float(value)


def one_of(name: str, value: T, choices: tuple[T, ...]) -> T:
    """``value`` if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {value!r}. Choose from: {', '.join(map(repr, choices))}.")
    return value


def positive(name: str, values: Sequence[float]) -> None:
    """Nothing, or an error about the first value that is not finite and > 0."""
    for value in values:
        if not (math.isfinite(number(name, value)) and value > 0.0):
            raise ValueError(f"{name} is {value}, but it must be finite and positive.")


def not_negative(name: str, values: Sequence[float]) -> None:
    """Nothing, or an error about the first value that is not finite and ≥ 0."""
    for value in values:
        if not (math.isfinite(number(name, value)) and value >= 0.0):
            raise ValueError(f"{name} is {value}, but it must be finite and not negative.")


def exact(name: str, values: Tensor) -> list[Fraction]:
    """The entries of a vector as the rational numbers that they are. Raises ValueError for one that is not finite."""
    numbers: list[float] = values.detach().tolist()
    wrong = next((k for k, x in enumerate(numbers) if not math.isfinite(x)), None)
    if wrong is not None:
        raise ValueError(
            f"{name} has the entry {numbers[wrong]} at {wrong}, about which nothing can be decided. Look for the "
            "training step after which it appeared."
        )
    return [Fraction(x) for x in numbers]


def computing(parameter: Tensor) -> Tensor:
    """``parameter`` if recurrences can be computed in its dtype: float32 or float64."""
    if parameter.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"The parameters have dtype {parameter.dtype}, but recurrences are computed in float32 or float64: errors "
            "accumulate over time. Keep float32 parameters and use torch.autocast for the products with inputs."
        )
    return parameter


def check_alike(name: str, value: Tensor, like: Tensor) -> None:
    """The dtype and the device of the parameters, or an error."""
    if value.dtype != like.dtype:
        raise TypeError(f"{name} has dtype {value.dtype} but the parameters have {like.dtype}. Convert one of them.")
    if value.device != like.device:
        raise ValueError(f"{name} is on {value.device} but the parameters are on {like.device}. Move one of them.")
