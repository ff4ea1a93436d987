"""torch.autocast as the cells meet it: products with inputs may have fewer digits, recurrences never have."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor


def is_autocasting(like: Tensor) -> bool:
    """Whether autocast is on for the device of ``like``; never on a device without it, such as meta."""
    kind = like.device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def without_autocast(like: Tensor) -> AbstractContextManager[Any]:
    """A context in which autocast is off for the device of ``like``."""
    return torch.autocast(like.device.type, enabled=False) if is_autocasting(like) else nullcontext()
