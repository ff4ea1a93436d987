"""The call of a dense recurrence: what it is given, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal

import torch
from torch import Tensor
from torch.autograd import forward_ad

from odernn import executions
from odernn.executions.dense import operator
from odernn.executions.operators import in_forward_mode, is_plain
from odernn.executions.recurrence import UNIT_ROUNDOFF, ExecutionUnavailable


def unavailable_because() -> str | None:
    """Why these recurrences cannot run here, or ``None`` if they can."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return 'it needs numba, which is not installed: pip install "odernn[fast]"'
    return None


@dataclass(frozen=True)
class DenseRecurrence:
    """name      the file of its passes, which says what the others are
    matrices  one a stage that has one, by name; (results · hidden, sources · hidden)
    numbers   without derivatives; tensors () are read when the recurrence runs, so that a graph has them as inputs
    vectors   (hidden,) each, by name
    """

    name: str
    matrices: Mapping[str, Tensor]
    numbers: Sequence[Tensor | float]
    vectors: Mapping[str, Tensor] = field(default_factory=dict)


def rows(
    recurrence: DenseRecurrence,
    state: tuple[Tensor, ...],
    u: Tensor,
    V: Tensor | None = None,
    b: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """The rows of all blocks of the state, (time, batch, hidden) each, for x = V u + b, or x = u where there is no V.

    Raises TypeError and ValueError for a wrong dtype, shape, count or device, NotImplementedError in forward mode.
    """
    named = {f"state {number}": block for number, block in enumerate(state, 1)}
    _check(u, {"V": V, "b of V u + b": b, **recurrence.matrices, **recurrence.vectors, **named})
    matrices, vectors = list(recurrence.matrices.values()), list(recurrence.vectors.values())
    numbers = _together(recurrence.numbers, u.device)
    found = operator.forward(recurrence.name, u, V, b, matrices, vectors, list(state), numbers)
    return tuple(found[:-1])


def at_hand(*numbers: Tensor) -> tuple[Tensor, ...] | tuple[float, ...]:
    """Buffers of one number as floats, for arithmetic at a tenth of the price, with the same bits of float64.

    Tensors as they are in a graph, under torch.func, on other devices, and where a derivative by them could be asked.
    """
    if torch.compiler.is_compiling() or not is_plain(numbers) or any(each.requires_grad for each in numbers):
        return numbers
    return tuple(each.item() for each in numbers)


def _together(numbers: Sequence[Tensor | float], device: torch.device) -> Tensor:
    """As one tensor, float64."""
    given = [each if isinstance(each, float) else at_hand(each)[0] for each in numbers]
    if all(isinstance(each, float) for each in given):
        return torch.tensor(given, dtype=torch.float64, device=device)
    return torch.stack([torch.as_tensor(each, dtype=torch.float64, device=device) for each in given])


def check_device(x: Tensor) -> None:
    """Raises ValueError unless ``x`` is on the CPU, or on meta, where nothing is computed."""
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f'x is on {x.device}, but execution="cpu" runs on the CPU. Move it, or choose "torch".')


def _check(x: Tensor, others: Mapping[str, Tensor | None]) -> None:
    check_device(x)
    if x.dtype not in UNIT_ROUNDOFF:
        raise TypeError(f"x has dtype {x.dtype}, but the recurrence admits float32 and float64. Convert it first.")
    for label, value in others.items():
        if value is not None and value.dtype != x.dtype:
            raise TypeError(f"{label} has dtype {value.dtype} but x has {x.dtype}. Convert one of them.")
    _check_no_tangent(x, *others.values())


def _check_no_tangent(*given: Tensor | None) -> None:
    """An operator without a forward-mode derivative drops tangents without a word, which reads as a derivative 0."""
    if torch.compiler.is_compiling() or not in_forward_mode():
        return
    for value in given:
        if value is not None and forward_ad.unpack_dual(value).tangent is not None:
            raise NotImplementedError(operator.NO_TANGENT)


# --- the orthogonal recurrence, which has kernels for a device, too

_IN_USE: list[ModuleType] = []
"""The kernels for a device, once they were asked for: torch.compile can look them up, but not import them."""


def kernels_on_device() -> ModuleType:
    """The kernels. Raises ExecutionUnavailable where they cannot run."""
    loaded = executions.orthogonal_kernels()
    if isinstance(loaded, str):
        raise ExecutionUnavailable(f'execution="cuda" cannot run here: {loaded}. Usable here: "torch".')
    _IN_USE[:] = [loaded]
    return loaded


def orthogonal(
    x: Tensor,
    *,
    W: Tensor,
    b: Tensor | None,
    h0: Tensor,
    execution: Literal["torch", "cpu", "cuda", "parallel"] = "cpu",
) -> Tensor:
    """Rows of h, (time, batch, hidden), of h_n = modReLU(W h_{n−1} + x_n; b); b None: no modReLU. By "cpu" or "cuda".

    Raises TypeError, ValueError for a wrong dtype, device, and for more units than a device has room for.
    """
    if execution == "cuda":
        found: Tensor = (_IN_USE[0] if _IN_USE else kernels_on_device()).rows(x, W=W, b=b, h0=h0)
        return found
    return rows(orthogonal_recurrence(W, b), (h0,), x)[0]


def orthogonal_recurrence(W: Tensor, b: Tensor | None) -> DenseRecurrence:
    """That of ``orthogonal``."""
    vector = W.new_zeros(len(W)) if b is None else b
    return DenseRecurrence("orthogonal", {"W": W}, (float(b is not None),), {"b": vector})
