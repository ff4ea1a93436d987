"""A step of states in given memory, for searches that take millions of them: UnICORNN's by numpy on the CPU.

z_n = z_{n−1} − h (tanh(w y_{n−1} + x_n) + α y_{n−1}),   y_n = y_{n−1} + h z_n
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from verification.system import UNICORNN, System

CPU = torch.device("cpu")

Array: TypeAlias = Any
"""What ``array_of`` gives: numpy's or torch's."""

WritingStep: TypeAlias = Callable[[Array, Array, Array, Array, Array], None]
"""Of y_{n-1}, z_{n-1}, x_n and the places of y_n and z_n, which it writes."""


def array_of(tensor: Tensor) -> Array:
    """The tensor's own memory as an array of numpy, whose calls cost a third of torch's and round alike, on the CPU;
    elsewhere the tensor.
    """
    return tensor.detach().numpy() if tensor.device == CPU else tensor.detach()


def writing_step(system: System, like: Tensor, *, w: Any, step_size: Any, alpha: Any) -> WritingStep:
    """The system's step for states of the shape of ``like``, written where it is told; its arguments are arrays of
    ``array_of``. UnICORNN's own is computed in place, any other is called.
    """
    if system.step is UNICORNN.step:
        return _of_unicornn(like, w, step_size, alpha)

    def write(y: Array, z: Array, x: Array, y_next: Array, z_next: Array) -> None:
        moved = system.step(*map(torch.as_tensor, (y, z, x)), w=w, step_size=step_size, alpha=alpha)
        for new, place in zip(moved, map(torch.as_tensor, (y_next, z_next)), strict=True):
            if (new.shape, new.dtype) != (place.shape, place.dtype):
                said, wanted = (f"{tuple(state.shape)}, {state.dtype}" for state in (new, place))
                raise ValueError(
                    f"The step of {system.name} gives a state of {said}. Wanted: {wanted}, as it was given."
                )
            place.copy_(new)

    return write


def _of_unicornn(like: Tensor, w: Tensor | float, step_size: Tensor | float, alpha: Tensor | float) -> WritingStep:
    """With the roundings of ``odernn.executions.torch_loop.step``: each operation by itself (addcmul may fuse two),
    and tanh by torch. numpy warns of overflow unless ``np.errstate`` says otherwise.
    """
    rate_tensor = torch.empty_like(like, memory_format=torch.contiguous_format)
    rate, product = array_of(rate_tensor), array_of(torch.empty_like(rate_tensor))
    ops: Any = torch if isinstance(rate, Tensor) else np
    multiply, add, subtract = ops.multiply, ops.add, ops.subtract
    weight, h, stiffness = (
        array_of(torch.as_tensor(value, dtype=like.dtype, device=like.device).expand(like.shape).contiguous())
        for value in (w, step_size, alpha)
    )

    def write(y: Array, z: Array, x: Array, y_next: Array, z_next: Array) -> None:
        add(multiply(weight, y, out=rate), x, out=rate)
        rate_tensor.tanh_()
        add(rate, multiply(stiffness, y, out=product), out=rate)
        subtract(z, multiply(rate, h, out=rate), out=z_next)
        add(y, multiply(h, z_next, out=product), out=y_next)

    return write
