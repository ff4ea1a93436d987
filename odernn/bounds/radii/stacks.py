"""Which networks thm-R is about, as it needs them: steps in float64, and bounds on every state that a run computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from odernn.bounds.network import damped
from odernn.bounds.network import states as state_bounds
from odernn.bounds.network.certification import family_of
from odernn.bounds.network.levels import precision_of
from odernn.bounds.network.weights import weights_of
from odernn.bounds.radii.oscillators import OscillatorSteps

if TYPE_CHECKING:
    from odernn.cells.damped_unicornn import DampedUnICORNN
    from odernn.cells.unicornn import UnICORNN

SKIPS = "no theorem here on edges that skip a layer"
OTHER_INDEX = 'thm-R is of index="icml"'
COARSE = "the dtype is too coarse for a bound on the states that a run computes"


def of_unicornn(network: UnICORNN, steps: int) -> tuple[OscillatorSteps, ...] | str:
    """The stack, or why not."""
    if network.residual_skip is not None:
        return SKIPS
    if network.index != "icml":
        return OTHER_INDEX
    plain = network.unlimited()
    weights = weights_of(plain)
    try:
        logs = [state_bounds.computed_state_logs(layer, steps, weights.precision) for layer in weights.stack]
    except ValueError:
        return COARSE
    return tuple(
        _layer(
            plain.layers[index],
            {"w": layer.w, "h": _double(plain.coefficients(index)["step_size"]), "q": np.ones_like(layer.w)},
            float(layer.alpha),
            (np.exp(each.positions) * (1 + 2.0**-40), np.exp(each.momenta) * (1 + 2.0**-40)),
        )
        for index, (layer, each) in enumerate(zip(weights.stack, logs, strict=True))
    )


def of_damped(network: DampedUnICORNN, steps: int) -> tuple[OscillatorSteps, ...] | str:
    """The stack, or why not."""
    found = []
    for layer in network.layers:
        step = damped.DampedStep.of(layer)
        sizes = damped.states_as_computed(step, steps, precision_of(layer))
        if sizes is None:
            return COARSE
        found.append(_layer(layer, {"w": step.w, "h": step.h, "q": step.q}, float(step.alpha[0]), sizes))
    return tuple(found)


def _layer(layer: Any, numbers: dict[str, Any], alpha: float, sizes: tuple[Any, Any]) -> OscillatorSteps:
    V = layer.V.detach().double()
    b = V.new_zeros(len(V)) if layer.b is None else layer.b.detach().double()
    vectors = {name: torch.as_tensor(np.array(value)) for name, value in numbers.items()}
    Y, Z = (torch.as_tensor(np.array(size)) for size in sizes)
    return OscillatorSteps(**vectors, alpha=alpha, V=V, b=b, Y=Y, Z=Z)


def _double(value: Tensor) -> Any:
    return value.detach().double().numpy()


STACKS = {"unicornn": of_unicornn, "damped": of_damped}
"""Family of a network -> its stack, or why none."""


def stack_of(network: nn.Module, steps: int) -> tuple[OscillatorSteps, ...] | str:
    """The steps of the network, or why thm-R is not about it."""
    given = STACKS.get(family_of(network) or "")
    return f"no theorem here is about {type(network).__name__}" if given is None else given(network, steps)  # type: ignore[operator]
