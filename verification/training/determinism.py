"""What torch may do while a run is trained, so that it has the same bits each time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def determinism(asked: bool, device: str = "cpu") -> Iterator[None]:
    """Only deterministic algorithms, if asked or so before; meanwhile new memory is not filled: kernels fill it.

    cuBLAS then needs a workspace of fixed size; it reads the environment at its first call.
    """
    of_torch: Any = torch.utils.deterministic
    before, filled = torch.are_deterministic_algorithms_enabled(), of_torch.fill_uninitialized_memory
    if asked and torch.device(device).type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(asked or before)
    of_torch.fill_uninitialized_memory = False
    try:
        yield
    finally:
        of_torch.fill_uninitialized_memory = filled
        torch.use_deterministic_algorithms(before)
