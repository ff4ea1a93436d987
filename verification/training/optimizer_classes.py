"""The optimizers by their names, and the options that each takes: what a configuration is checked against."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

UNITARY = "multiplicative_cayley"
CLASSES = {"adam": "Adam", "adamw": "AdamW", "rmsprop": "RMSprop", "sgd": "SGD"}
OPTIMIZERS = (*CLASSES, UNITARY)
CAPTURABLE = frozenset({"adam", "adamw", "rmsprop"})
"""Those that can count their steps on the device; SGD counts none."""
FUSED = frozenset({"adam", "adamw"})
INTERNAL = frozenset({"params", "foreach", "fused", "maximize", "capturable", "differentiable"})
"""Arguments of torch's optimizers that are about how, not what."""


def class_of(name: str) -> Callable[..., torch.optim.Optimizer]:
    """torch is imported when the first one is asked for."""
    if name == UNITARY:
        from odernn.orthogonal.unitary import MultiplicativeCayley

        return MultiplicativeCayley
    import torch

    optimizer: Callable[..., torch.optim.Optimizer] = getattr(torch.optim, CLASSES[name])
    return optimizer


def arguments(name: str) -> dict[str, Any]:
    """The options that the optimizer of that name takes, with their defaults; ``inspect.Parameter.empty`` for none."""
    parameters = inspect.signature(class_of(name)).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.name not in INTERNAL and parameter.name != "self"
    }
