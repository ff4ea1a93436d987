"""Monotone activations with 0 ≤ σ' ≤ 1, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Tensor

Activation: TypeAlias = Literal["tanh", "relu"]

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
