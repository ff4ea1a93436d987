"""The step of (U) and its inverse in a library's own arithmetic: numpy for float16, 32 and 64, torch for bfloat16."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

LIBRARY = {"float16": "numpy", "bfloat16": "torch", "float32": "numpy", "float64": "numpy"}
_INTEGERS = {"float16": torch.int16, "bfloat16": torch.int16, "float32": torch.int32, "float64": torch.int64}
WINDOW = 256


def array(values: Sequence[float] | float | np.ndarray, name: str) -> Any:
    """The values, rounded to the format, as an array of the library."""
    if LIBRARY[name] == "torch":
        return torch.tensor(values, dtype=torch.float64).to(getattr(torch, name))
    return np.asarray(values, dtype=name)


def tanh(values: Any) -> Any:
    return torch.tanh(values) if isinstance(values, torch.Tensor) else np.tanh(values)


@dataclass(frozen=True)
class FloatNeuron:
    """w, h and α as arrays of the library, without axes."""

    w: Any
    h: Any
    alpha: Any

    def step(self, y: Any, z: Any, x: Any) -> tuple[Any, Any]:
        """One step, every operation rounded to the format."""
        z = z - self.h * (tanh(self.w * y + x) + self.alpha * y)
        return y + self.h * z, z

    def unstep(self, y: Any, z: Any, x: Any) -> tuple[Any, Any]:
        """The inverse formulas, the same way."""
        y = y - self.h * z
        return y, z + self.h * (tanh(self.w * y + x) + self.alpha * y)


def neuron(w: float, h: float, alpha: float, name: str) -> FloatNeuron:
    """Weights rounded to the format."""
    return FloatNeuron(array(w, name), array(h, name), array(alpha, name))


def doubles(values: Any) -> np.ndarray:
    """The exact values as float64, in which all four formats are contained."""
    if isinstance(values, torch.Tensor):
        return values.to(torch.float64).numpy()
    return np.asarray(values, dtype=np.float64)


def consecutive(start: float, name: str, count: int = WINDOW) -> Any:
    """``count`` consecutive positive numbers of the format from ``start`` on."""
    dtype = getattr(torch, name)
    first = torch.tensor(start, dtype=torch.float64).to(dtype).view(_INTEGERS[name])
    numbers = (first + torch.arange(count, dtype=_INTEGERS[name])).view(dtype)
    return numbers if LIBRARY[name] == "torch" else numbers.numpy()


@dataclass(frozen=True)
class Images:
    """All states of a window stepped once: how many there are, how many images, and two states with one image."""

    states: int
    images: int
    collision: tuple[tuple[float, float], tuple[float, float]] | None


def images(cell: FloatNeuron, x: float, y_start: float, z_start: float, name: str) -> Images:
    """Every pair of ``WINDOW`` consecutive y and z."""
    y, z = consecutive(y_start, name), consecutive(z_start, name)
    yy, zz = y[:, None] + 0 * z[None, :], 0 * y[:, None] + z[None, :]
    after = np.stack([doubles(coordinate).ravel() for coordinate in cell.step(yy, zz, array(x, name))])
    _, first, where = np.unique(after, axis=1, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[where] != np.arange(after.shape[1]))
    collision = None
    if len(again):
        pair = [(float(doubles(yy).flat[i]), float(doubles(zz).flat[i])) for i in (first[where][again[0]], again[0])]
        collision = (pair[0], pair[1])
    return Images(after.shape[1], len(first), collision)


def reconstruction(cell: FloatNeuron, inputs: Sequence[float], name: str) -> tuple[float, float]:
    """From (0, 0) forward through all inputs and back again: |y_0|, |z_0| as rebuilt; exactly 0 if nothing is lost."""
    x = array(inputs, name)
    y = z = array(0.0, name)
    for value in x:
        y, z = cell.step(y, z, value)
    for value in reversed(list(x)):
        y, z = cell.unstep(y, z, value)
    return abs(float(y)), abs(float(z))
