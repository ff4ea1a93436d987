"""torch.autocast as the cells meet it: products with inputs may have fewer digits, recurrences never have."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def is_autocasting(like: Tensor) -> bool:
    """Whether autocast is on for the device of ``like``; never on meta, which has none: torch raises RuntimeError.

    torch 2.11 cannot trace ``is_autocast_available``, which would say which devices have one.
    """
    return like.device.type != "meta" and torch.is_autocast_enabled(like.device.type)


def without_autocast(like: Tensor) -> AbstractContextManager[Any]:
    """A context in which autocast is off for the device of ``like``."""
    return torch.autocast(like.device.type, enabled=False) if is_autocasting(like) else nullcontext()


def in_full_digits(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """The operator without autocast, which would otherwise reach its products: also in a derivative taken inside."""

    @wraps(function)
    def run(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        like = next(argument for argument in given if isinstance(argument, Tensor))
        if not is_autocasting(like):
            return function(*given, **named)
        with without_autocast(like):
            return function(*given, **named)

    return run
