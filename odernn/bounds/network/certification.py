"""``certify``: what is proved of a network with the weights as they are, whatever cell it is of.

One file a family of cells has its theorems, ``layers_of(network, question)``; ``FAMILIES`` says which by the name of
the class, so that only the asked-for one is imported. Of other recurrent cells every line says that nothing is known.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from odernn.bounds.network.question import Question, check_network
from odernn.bounds.network.report import LayerBounds, NetworkBounds, NeuronBounds, QuantityBound, unknown

if TYPE_CHECKING:
    from torch import nn

    from odernn.cells.unicornn import UnICORNN

Family: TypeAlias = Literal["unicornn", "orthogonal", "cornn", "euler", "arnn", "damped", "decoupled", "gated", "field"]
LOOKED_UP = ("__call__", "__getattr__", "__getattribute__")
"""What a class changes a pass by, for all that its name begins with two underscores."""

TOO_LARGE = "it, or a matrix of its parameters, is too large for floats"

FAMILIES: dict[str, Family] = {
    "UnICORNN": "unicornn",
    "ScoRNN": "orthogonal",
    "ExpRNN": "orthogonal",
    "URNN": "orthogonal",
    "CoRNN": "cornn",
    "DampedUnICORNN": "damped",
    "AntisymmetricRNN": "euler",
    "LipschitzRNN": "euler",
    "ARNN12": "arnn",
    "ARNN22": "arnn",
    "LinOSS": "decoupled",
    "IndRNN": "decoupled",
    "LEM": "gated",
    "ClockworkRNN": "gated",
    "IntegratorRNN": "field",
    "LSTM": "gated",
    "GRU": "gated",
    "RNN": "gated",
}
"""Class of a network of ``odernn.cells`` or ``torch.nn`` -> the file of its theorems."""

THEOREMS: dict[Family, Callable[[], ModuleType]] = {
    "unicornn": lambda: import_module("odernn.bounds.network.unicornn"),
    "orthogonal": lambda: import_module("odernn.bounds.network.orthogonal"),
    "cornn": lambda: import_module("odernn.bounds.network.cornn"),
    "euler": lambda: import_module("odernn.bounds.network.euler"),
    "arnn": lambda: import_module("odernn.bounds.network.arnn"),
    "damped": lambda: import_module("odernn.bounds.network.damped"),
    "decoupled": lambda: import_module("odernn.bounds.network.decoupled"),
    "gated": lambda: import_module("odernn.bounds.network.gated"),
    "field": lambda: import_module("odernn.bounds.network.field"),
}
"""The file of a family, when it is asked for; its names are literals, which import closures read."""


@overload
def certify(
    network: UnICORNN, *, input_bound: float, steps: int, target_bound: float = ..., rms_energy: float | None = ...
) -> NetworkBounds[NeuronBounds]: ...


@overload
def certify(
    network: nn.Module, *, input_bound: float, steps: int, target_bound: float = ...
) -> NetworkBounds[LayerBounds]: ...


def certify(
    network: nn.Module, *, input_bound: float, steps: int, target_bound: float = 1.0, rms_energy: float | None = None
) -> NetworkBounds[Any]:
    """Bounds on states, Jacobians and gradients of this network, for every input with |u_n| ≤ ``input_bound``.

    N = ``steps``; zero initial state, or the one that the network has learned; no dropout. Gradients are those of
    E = (1/N) Σ_n ½|y_n − ȳ_n|², y the output of the last layer, or of one of these terms, with |ȳ| ≤ ``target_bound``
    entrywise. ``rms_energy``, of UnICORNN alone, is the measured rms of √(αy² + z²) for the estimate of the rebuilding
    error. Lines without a bound say why; of a cell without theorems, or one that changes another's methods, all do. All
    logarithms are rounded outward. Proofs: docs/derivations/certificates.md, of UnICORNN gradient_bounds.md there.

    What is too large for floats, as with weights of 1e300, is a line that says so; of UnICORNN the layers are then
    ``LayerBounds``.

    Raises TypeError for a module that is no recurrent cell, for parameters of several dtypes or of one in which it
    computes no recurrence (float16 and bfloat16 of this library's cells), and for a bound that is no number; ValueError
    for a bidirectional network, parameters that are not finite, ``steps`` that are no integer ≥ 1, a bound that is
    negative or not finite, and ``rms_energy`` for another cell.
    """
    question = Question(steps, input_bound, target_bound, rms_energy)
    family = family_of(network)
    check_network(network)
    if rms_energy is not None and family != "unicornn":
        raise ValueError(
            f"rms_energy is of UnICORNN's estimate, but network is a {type(network).__name__}. Leave it out."
        )
    first = next(network.parameters())
    if first.device.type != "cpu":
        network = copy.deepcopy(network).cpu()
    why = why_changed(network) or (f"no theorem here is about {type(network).__name__}" if family is None else "")
    try:
        with np.errstate(over="raise", invalid="raise"):
            layers = _layers(None if why else family, network, question, why)
    except (ArithmeticError, np.linalg.LinAlgError):
        layers = _nothing_known(network, TOO_LARGE)
    layers = tuple(replace(layer, bounds=tuple(map(_finite, layer.bounds))) for layer in layers)
    layers = tuple(replace(layer, says=(*layer.says, *_premises(network))) for layer in layers)
    dtype, size = str(first.dtype).removeprefix("torch."), int(getattr(network, "hidden_size", 0))
    asked = question.steps, question.input_bound, question.target_bound
    return NetworkBounds(layers, *asked, dtype, type(network).__name__, size)


def family_of(network: nn.Module) -> Family | None:
    """Of the class, or of the one that it derives from without changing it; TypeError if it is no recurrent cell."""
    changed: set[str] = set()
    for kind in type(network).__mro__:
        if kind.__name__ in FAMILIES and kind.__module__.startswith(("odernn.cells.", "torch.nn.modules.rnn")):
            return None if changed & set(dir(kind)) else FAMILIES[kind.__name__]
        changed |= {name for name in vars(kind) if name in LOOKED_UP or not name.startswith(("__", "_abc_"))}
    from odernn.cells.recurrent import RecurrentNetwork  # torch is imported by whoever has a network

    if isinstance(network, RecurrentNetwork):
        return None
    known = ", ".join(FAMILIES)
    raise TypeError(
        f"network is a {type(network).__name__}, but bounds are known of the recurrent part alone: {known}. Give that "
        "attribute of your model; for any module, `verification.trial` measures what happens on your inputs."
    )


def _layers(family: Family | None, network: nn.Module, question: Question, why: str) -> tuple[LayerBounds, ...]:
    """By ``layers_of`` of the family's file; without a family what nobody knows, and why."""
    if family is None:
        return _nothing_known(network, why)
    found: tuple[LayerBounds, ...] = THEOREMS[family]().layers_of(network, question)
    return found


def _premises(network: nn.Module) -> tuple[str, ...]:
    """What the network now does otherwise than the theorems take it."""
    dropout = getattr(network, "dropout", 0.0)
    if network.training and dropout and int(getattr(network, "num_layers", 1)) > 1:
        return (f"it now trains with dropout = {dropout:g}, and the bounds are of runs without: network.eval().",)
    return ()


def why_changed(network: nn.Module) -> str:
    """Why what runs is not what the classes of a network say; "" where it is."""
    from torch.nn.utils import parametrize  # torch is imported by whoever has a network

    for module in network.modules():
        if parametrize.is_parametrized(module) or module._forward_pre_hooks or module._forward_hooks:
            return "a module has parametrised weights or hooks, which no theorem here knows"
        replaced = sorted(name for name in vars(module) if callable(getattr(type(module), name, None)))
        if replaced:
            return f"a {type(module).__name__} has a method {replaced[0]} of its own, which no theorem here knows"
    for layer in getattr(network, "layers", ()):
        own = set(vars(type(layer))) & {"forward", "stepper"}
        if own and not type(layer).__module__.startswith("odernn.cells."):
            return f"no theorem here is about layers of the class {type(layer).__name__}"
    return ""


def _finite(bound: QuantityBound) -> QuantityBound:
    """The line, or one that says why not where its number is none."""
    is_bound = bound.log is None or math.isfinite(bound.log) or (bound.sign == "≤" and bound.log < 0)
    return bound if is_bound else unknown(bound.quantity, TOO_LARGE)


def _nothing_known(network: nn.Module, why: str) -> tuple[LayerBounds, ...]:
    """A line a quantity that says so, layer by layer; of a module without layers, one."""
    layers = list(getattr(network, "layers", [network]))
    found = []
    for number, layer in enumerate(layers, 1):
        names = [name for name, _ in layer.named_parameters()]
        quantities = ("states, n ≤ N", "‖∂X_N/∂X_1‖", *(f"|dE/dθ|, θ = {name}" for name in names))
        found.append(LayerBounds(number, tuple(unknown(quantity, why) for quantity in quantities), ()))
    return tuple(found)
