"""Which optimizer, with which options for which parameters; and the factor of the learning rates by epoch."""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Sequence
from typing import Any

from verification.training import TrainingError
from verification.training.configuration import Group, Optimizer

CLASSES = {"adam": "Adam", "adamw": "AdamW", "rmsprop": "RMSprop", "sgd": "SGD"}
INTERNAL = frozenset({"params", "foreach", "fused", "maximize", "capturable", "differentiable"})
"""Arguments of torch's optimizers that are about how, not what."""


def arguments(name: str) -> tuple[str, ...]:
    """The options that the optimizer of that name takes."""
    import torch

    found = inspect.signature(getattr(torch.optim, CLASSES[name])).parameters
    return tuple(key for key in found if key not in INTERNAL and key != "self")


def make(plan: Optimizer, parameters: Sequence[tuple[str, Any]]) -> Any:
    """torch's optimizer over the named parameters.

    Every pattern of a group must match a parameter, and no parameter may be in two groups: TrainingError otherwise,
    and for options that torch refuses.
    """
    import torch

    names = [name for name, _ in parameters]
    chosen: dict[str, int] = {}
    for index, group in enumerate(plan.groups):
        for name in _matching(group, index, names):
            if name in chosen:
                raise TrainingError(
                    f"[[optimizer.groups]] {chosen[name] + 1} and {index + 1} both have {name}. Make their patterns "
                    "narrower."
                )
            chosen[name] = index
    rest = [value for name, value in parameters if name not in chosen]
    groups: list[dict[str, Any]] = [{"params": rest}] if rest else []
    for index, group in enumerate(plan.groups):
        own = [value for name, value in parameters if chosen.get(name) == index]
        groups.append({"params": own, **_pairs(group.options)})
    try:
        return getattr(torch.optim, CLASSES[plan.name])(groups, **_pairs(plan.options), foreach=False)
    except (TypeError, ValueError) as error:
        raise TrainingError(f"[optimizer] {plan.name}: {error}.") from None


def _matching(group: Group, index: int, names: Sequence[str]) -> list[str]:
    matched: set[str] = set()
    for pattern in group.parameters:
        found = fnmatch.filter(names, pattern)
        if not found:
            raise TrainingError(
                f'[[optimizer.groups]] {index + 1}: the pattern "{pattern}" matches no parameter. There are: '
                f"{', '.join(names)}."
            )
        matched.update(found)
    return [name for name in names if name in matched]


def _pairs(options: Any) -> dict[str, Any]:
    """torch wants betas as a tuple; TOML has lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}


def factor(milestones: Sequence[tuple[int, float]], epoch: int) -> float:
    """What the learning rates are multiplied by in epoch 0, 1, …: the factors of all milestones passed."""
    product = 1.0
    for at, scale in milestones:
        if epoch >= at:
            product *= scale
    return product
