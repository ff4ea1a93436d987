"""The executions of the fused recurrence (``odernn.executions.recurrence`` states the contract) and how to get one.

    >>> from odernn import executions
    >>> executions.get("torch").name
    'torch'

An execution that cannot run here says why; another one is never put in its place.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from types import ModuleType
from typing import cast

import torch
from torch import Tensor

from odernn.executions import torch_loop
from odernn.executions.recurrence import Execution, ExecutionUnavailable, Extremes

__all__ = ["Execution", "ExecutionUnavailable", "available", "extremes", "get", "ready"]

_KERNELS = "cuda.odernn_kernels"
"""The one mention of the third root: a name until somebody asks for it."""

_MODULES = {
    "torch": "odernn.executions.torch_loop",
    "cpu": "odernn.executions.cpu.execution",
    "cuda": f"{_KERNELS}.execution",
    "parallel": "odernn.executions.parallel.execution",
}


_ORTHOGONAL = f"{_KERNELS}.orthogonal"
_TRAJECTORIES = {"torch": "odernn.executions.trajectories", "cuda": f"{_KERNELS}.trajectories"}


def get(name: str) -> Execution:
    """The execution of that name: "torch", "cpu", "cuda" or "parallel".

    Raises ValueError for an unknown name and ExecutionUnavailable, with the reason, for one that cannot run
    here.
    """
    if not isinstance(name, str) or name not in _MODULES:
        near = difflib.get_close_matches(str(name), _MODULES, n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"Choose from: {', '.join(_MODULES)}."
        raise ValueError(f'No execution is called "{name}". {advice}')
    execution = _load(name)
    if isinstance(execution, str):
        usable = ", ".join(f'"{other}"' for other, reason in available().items() if reason is None)
        raise ExecutionUnavailable(f'execution="{name}" cannot run here: {execution}. Usable here: {usable}.')
    return execution


_READY: dict[str, Execution] = {_MODULES["torch"]: torch_loop}
"""Executions in use, by the module they are in: torch.compile can look one up, but not import one."""


def ready(name: str) -> Execution:
    """``get``, which asks an execution only the first time whether it can run here."""
    path = _MODULES.get(name, name)
    if path not in _READY:
        _READY[path] = get(name)
    return _READY[path]


def available() -> dict[str, str | None]:
    """Every known execution with the reason why it cannot run here, or ``None`` if it can."""
    loaded = {name: _load(name) for name in _MODULES}
    return {name: execution if isinstance(execution, str) else None for name, execution in loaded.items()}


def installed() -> dict[str, bool]:
    """Whether each execution can be expected to run here: numba is installed, torch sees a device. None is loaded.

    ``available`` loads them, which takes seconds, and knows why one cannot run.
    """
    expected = dict.fromkeys(_MODULES, True)
    expected["cpu"] = importlib.util.find_spec("numba") is not None
    expected["cuda"] = torch.cuda.is_available() and not isinstance(_load("cuda"), str)
    return expected


def extremes(x: Tensor, *, execution: str = "torch", **arguments: Tensor | float) -> Extremes:
    """Maxima of |y_n|, |z_n| and of the tangent of every column of x (time, columns), without a history.

    ``arguments`` are w, step_size, alpha, and y0, z0 if not zero, broadcastable to (columns,). "torch": a loop, any
    device; "cuda": one kernel. Raises ValueError for another execution, and as ``get`` does.
    """
    if execution not in _TRAJECTORIES:
        raise ValueError(f'execution is "{execution}", but extremes have: {", ".join(_TRAJECTORIES)}.')
    get(execution)
    maxima: Extremes = importlib.import_module(_TRAJECTORIES[execution]).extremes(x, **arguments)
    return maxima


def orthogonal_kernels() -> ModuleType | str:
    """``rows``, ``too_many`` and ``MOST_UNITS`` of the recurrence with an orthogonal matrix on a CUDA device.

    Or the reason why execution="cuda" cannot run here.
    """
    loaded = _load("cuda")
    return loaded if isinstance(loaded, str) else importlib.import_module(_ORTHOGONAL)


def _load(name: str) -> Execution | str:
    """The execution, or the reason why there is none."""
    path = _MODULES[name]
    try:
        execution = cast(Execution, importlib.import_module(path))
    except ModuleNotFoundError as error:
        if error.name is not None and (path == error.name or path.startswith(f"{error.name}.")):
            return f"its code ({path}) is not part of this version of odernn"
        return f"it needs the module {error.name}, which is not installed"
    except ImportError as error:
        return str(error)
    return execution.unavailable_because() or execution
