"""An attribute that is evaluated at first use and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor


class once:
    """``functools.cached_property`` without the lock it has in Python 3.11, which ``torch.compile`` cannot trace.

    Two threads that ask at once both evaluate; fields are values, so both find the same.
    """

    def __init__(self, function: Callable[[Any], Tensor]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Tensor:
        if instance is None:
            return self  # type: ignore[return-value]
        value = self.function(instance)
        instance.__dict__[self.name] = value
        return value
