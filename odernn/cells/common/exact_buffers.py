"""Hyperparameters as buffers that keep their digits and their admissible range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import torch
from torch import Tensor, nn

Check: TypeAlias = Callable[[Sequence[float]], object]

LARGEST = torch.finfo(torch.float32).max


class ExactBuffers(nn.Module):
    """A module some of whose buffers are float64 whatever the dtype of its parameters, in ``state_dict``, too.

    ``.float()`` and ``.to(device)`` move such a buffer but never round it: ``.double()`` would not bring its digits
    back. ``load_state_dict`` refuses a value that the constructor refuses, before anything is overwritten. Steps take
    these values in the dtype of the weights, which ``.float()`` may change: beyond the range of float32 is refused.
    """

    def __init__(self) -> None:
        super().__init__()
        self._checks: dict[str, Check] = {}

    def register_exact(
        self, name: str, values: float | Sequence[float], check: Check, *, device: torch.device | str | None = None
    ) -> None:
        """The buffer ``name`` with these values; ``check`` raises ValueError about a list that is not admissible.

        ``check`` is a function of a module, not a lambda, so that modules with such buffers can be pickled.
        """
        self._refuse(name, [values] if isinstance(values, (int, float)) else values, check)
        self._checks[name] = check
        self.register_buffer(name, torch.tensor(values, dtype=torch.float64, device=device))

    @staticmethod
    def _refuse(name: str, values: Sequence[float], check: Check) -> None:
        check(values)
        for value in values:
            if abs(value) > LARGEST:
                raise ValueError(
                    f"the buffer {name} would hold {value:.6g}, which float32 rounds to infinity. "
                    f"Give numbers of at most {LARGEST:.3g}."
                )

    def drop_exact(self, name: str) -> None:
        """The module without that buffer."""
        del self._checks[name]
        delattr(self, name)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        exact = {name: getattr(self, name) for name in self._checks}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, value in exact.items():
            moved = getattr(self, name)
            if moved.dtype != value.dtype:
                setattr(self, name, value.to(moved.device))
        return self

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        errors: list[str] = rest[-1]
        for name, check in self._checks.items():
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor) and value.shape == getattr(self, name).shape and not value.is_meta:
                try:
                    self._refuse(name, value.reshape(-1).tolist(), check)
                except ValueError as error:
                    errors.append(str(error))
        if not errors:
            super()._load_from_state_dict(state_dict, prefix, *rest)
            for name in self._checks:  # assign=True puts the entry itself here, in its own dtype
                setattr(self, name, getattr(self, name).to(torch.float64))
