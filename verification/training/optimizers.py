"""Which optimizer, with which options for which parameters; and the factor of the learning rates by epoch."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from verification.training import SettingError
from verification.training.configuration import Optimizer, ParameterGroup
from verification.training.optimizer_classes import CAPTURABLE, FUSED, UNITARY, class_of


class Parts:
    """One optimizer or several as one: every parameter is in one part, and all parts step together."""

    def __init__(self, parts: Sequence[torch.optim.Optimizer]) -> None:
        self.parts = tuple(parts)
        self._of = {
            id(parameter): part for part in self.parts for group in part.param_groups for parameter in group["params"]
        }

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups of all parts: the dictionaries themselves, so that an ``lr`` may be set."""
        return [group for part in self.parts for group in part.param_groups]

    def of(self, parameter: Tensor) -> torch.optim.Optimizer:
        """The part that has the parameter. KeyError if none does."""
        return self._of[id(parameter)]

    def tensors(self) -> list[Tensor]:
        """All that the parts remember in tensors, themselves."""
        states = [state for part in self.parts for state in part.state.values()]
        return [value for state in states for value in state.values() if isinstance(value, torch.Tensor)]

    def zero_grad(self) -> None:
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def step(self) -> None:
        for part in self.parts:
            part.step()


def make(
    plan: Optimizer,
    parameters: Sequence[tuple[str, Any]],
    unitary: Collection[str] = (),
    *,
    counts_on_device: bool = False,
) -> Parts:
    """The optimizers of the named parameters, one for each name in the plan.

    unitary           names of those that are unitary matrices: they need ``multiplicative_cayley``, and no others may
                      have it
    counts_on_device  whether steps are counted where the parameters are, a CUDA device: torch's "capturable", and for
                      real parameters of Adam its fused kernel. The roundings are others than with counts on the host

    Every pattern of a group must match a parameter, and no parameter may be in two groups: TrainingError otherwise,
    and for options that the optimizers refuse.
    """
    names = [name for name, _ in parameters]
    chosen: dict[str, int] = {}
    for index, group in enumerate(plan.groups):
        for name in _matching(group, index, names):
            if name in chosen:
                raise SettingError(
                    "optimizer.groups",
                    f"the groups {chosen[name] + 1} and {index + 1} both have {name}. Make their patterns narrower.",
                    key="parameters",
                    index=index,
                )
            chosen[name] = index
    by_optimizer: dict[str, dict[int | None, dict[str, Any]]] = {}
    indices: tuple[int | None, ...] = (None, *range(len(plan.groups)))
    for place in indices:
        named = None if place is None else plan.groups[place]
        own = [(name, value) for name, value in parameters if chosen.get(name) == place]
        optimizer = plan.name if named is None or named.name is None else named.name
        _check_unitary(optimizer, [name for name, _ in own], unitary)
        if own:
            options = {} if named is None else _pairs(named.options)
            by_optimizer.setdefault(optimizer, {})[place] = {"params": [value for _, value in own], **options}
    return Parts([_made(plan, name, groups, counts_on_device) for name, groups in by_optimizer.items()])


def _made(
    plan: Optimizer, name: str, groups: Mapping[int | None, dict[str, Any]], counts_on_device: bool
) -> torch.optim.Optimizer:
    """The optimizer of that name. Options of [optimizer] are those of its own kind; another has what its groups say.

    torch looks at the options of its constructor and never at those of a group: so each group is made by itself.
    """
    options = _pairs(plan.options) if name == plan.name else {}
    internal = _manners(name, [value for group in groups.values() for value in group["params"]], counts_on_device)
    optimizers: list[torch.optim.Optimizer] = []
    for index, group in groups.items():
        try:
            given = options | {key: value for key, value in group.items() if key != "params"}
            optimizers.append(class_of(name)(group["params"], **given, **internal))
        except (TypeError, ValueError, IndexError) as error:
            raise _refused(plan, name, index, str(error).rstrip(".")) from None
    first, *others = optimizers
    for other in others:
        first.add_param_group(other.param_groups[0])
    if internal.get("capturable"):  # torch warns of steps without a capture, such as the first one
        setattr(first, "_warned_capturable_if_run_uncaptured", True)  # noqa: B010 (a name that torch asks for)
    return first


def _manners(name: str, parameters: Sequence[Tensor], counts_on_device: bool) -> dict[str, bool]:
    """Arguments of torch's optimizers about how, not what: the same for each step of a run."""
    if name == UNITARY:
        return {}
    if not counts_on_device or name not in CAPTURABLE:
        return {"foreach": False}
    is_fused = name in FUSED and all(value.is_floating_point() for value in parameters)
    return {"foreach": False, "capturable": True} | ({"fused": True} if is_fused else {})


def _refused(plan: Optimizer, name: str, index: int | None, reason: str) -> SettingError:
    """Of the table of that group if the option that the reason names is there, else of [optimizer]."""
    words = re.findall(r"\w+", reason.casefold().replace("learning rate", "lr").replace("beta", "betas"))
    if index is not None:
        key = next((key for key in plan.groups[index].options if key in words), None)
        if key is not None or name != plan.name:
            return SettingError("optimizer.groups", f"{name}: {reason}.", key=key, index=index)
    return SettingError(
        "optimizer", f"{name}: {reason}.", key=next((key for key in plan.options if key in words), None)
    )


def _check_unitary(optimizer: str, names: Sequence[str], unitary: Collection[str]) -> None:
    wrong = [name for name in names if (name in unitary) != (optimizer == UNITARY)]
    if wrong and optimizer != UNITARY:
        raise SettingError(
            "optimizer",
            f"{optimizer} takes the unitary weight {wrong[0]} off the unitary group. Give it its own "
            f'[[optimizer.groups]] with parameters = ["{wrong[0]}"], name = "{UNITARY}" and an lr.',
        )
    if wrong:
        advice = f"It is for: {', '.join(sorted(unitary))}." if unitary else "This network has none."
        raise SettingError("optimizer", f"{UNITARY}: {wrong[0]} is no unitary weight. {advice}")


def _matching(group: ParameterGroup, index: int, names: Sequence[str]) -> list[str]:
    matched: set[str] = set()
    for pattern in group.parameters:
        matches = fnmatch.filter(names, pattern)
        if not matches:
            raise SettingError(
                "optimizer.groups",
                f'the pattern "{pattern}" of group {index + 1} matches no parameter. There are: {", ".join(names)}.',
                key="parameters",
                index=index,
            )
        matched.update(matches)
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
