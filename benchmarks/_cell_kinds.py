"""Small networks of every cell to attack: ``KINDS`` draws one, weights bent to sizes that training need not reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch
from torch import nn

from odernn import IntegratorRNN, families, fields, tableaus
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.cells.arnn_1_2 import ARNN12
from odernn.cells.arnn_2_2 import ARNN22
from odernn.cells.clockwork import ClockworkRNN
from odernn.cells.cornn import CoRNN
from odernn.cells.damped_unicornn import DampedUnICORNN
from odernn.cells.exprnn import ExpRNN
from odernn.cells.indrnn import IndRNN
from odernn.cells.lem import LEM
from odernn.cells.linoss import LinOSS
from odernn.cells.lipschitz import LipschitzRNN
from odernn.cells.scornn import ScoRNN
from odernn.cells.urnn import URNN

F64 = torch.float64
HIDDEN, INPUTS = 3, 2

Draw: TypeAlias = Callable[[torch.Generator], float]


def _uniform(generator: torch.Generator, low: float, high: float) -> float:
    return low + (high - low) * float(torch.rand((), generator=generator, dtype=F64))


def _bent(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """Every parameter times a random size, biases of both signs or of one."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            size = 10 ** _uniform(generator, -1.0, 0.5)
            parameter.copy_(size * torch.randn(parameter.shape, generator=generator, dtype=F64))
            if (
                name.split(".")[-1].startswith("b")
                and parameter.dim() == 1
                and torch.rand((), generator=generator) < 0.7
            ):
                parameter.copy_(-parameter.abs() if torch.rand((), generator=generator) < 0.5 else 0.3 * parameter)
    return network


def _sizes(generator: torch.Generator) -> tuple[int, int, int]:
    layers = int(torch.randint(1, 3, (), generator=generator))
    return INPUTS, HIDDEN + int(torch.randint(2, (), generator=generator)), layers


def _kind(cell: type, **options: float | str | bool | Draw) -> Callable[[torch.Generator], nn.Module]:
    def draw(generator: torch.Generator) -> nn.Module:
        drawn = {name: value(generator) if callable(value) else value for name, value in options.items()}
        return _bent(cell(*_sizes(generator), dtype=F64, **drawn), generator)

    return draw


def _between(low: float, high: float) -> Draw:
    return lambda generator: _uniform(generator, low, high)


def _nearly_unitary(generator: torch.Generator) -> nn.Module:
    """A uRNN of full capacity whose W is off a unitary one by a tenth or a third: the bound has to know."""
    network = URNN(*_sizes(generator), capacity="full", learn_initial_state=True, dtype=F64)
    network.reset_parameters(generator)
    with torch.no_grad():
        for layer in network.layers:
            layer.W.mul_(1 + _uniform(generator, -0.3, 0.1))
            layer.h0.mul_(10 ** _uniform(generator, -1.0, 1.5))
            layer.b.copy_(-_uniform(generator, 0.0, 0.5) * torch.rand(layer.b.shape, generator=generator, dtype=F64))
    return network


def _stretched(generator: torch.Generator) -> nn.Module:
    """Restricted, with b ≤ 0 in half of the draws."""
    draw = _kind(URNN, capacity="restricted", product="matrix", learn_initial_state=True)
    network = draw(generator)
    with torch.no_grad():
        for layer in network.layers:
            layer.b.copy_(-layer.b.abs())
    return network


def _opened(generator: torch.Generator) -> nn.Module:
    """Restricted, with some b > 0: states are bounded, Jacobians are not."""
    network = _kind(URNN, capacity="restricted", product="matrix")(generator)
    with torch.no_grad():
        for layer in network.layers:
            layer.b.copy_(layer.b.abs() * torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=F64)[: len(layer.b)])
    return network


def _damped(generator: torch.Generator) -> nn.Module:
    """With a rate, near the ends of what dt, α and γ may be and away from them."""
    dt, rate = _uniform(generator, 0.1, 1.2), 10 ** _uniform(generator, -2.0, 0.0)
    gamma = max(1.02 * rate * (2 + dt * rate) * 10 ** _uniform(generator, 0.0, 1.5), 2.0**-7 / dt)
    least = 1.02 * rate * (gamma - rate)
    square = 2 * (1 + dt * gamma + (1 + dt * rate) ** 2) / (dt**2 * (1 + dt * rate))
    alpha = least + _uniform(generator, 0.0, 0.9) ** 2 * square
    return _bent(DampedUnICORNN(*_sizes(generator), dt=dt, alpha=alpha, gamma=gamma, rate=rate, dtype=F64), generator)


def _clocks(generator: torch.Generator) -> nn.Module:
    inputs, _, layers = _sizes(generator)
    return _bent(ClockworkRNN(inputs, HIDDEN, layers, periods=(1, 2, 3), start=1, dtype=F64), generator)


def _of_field(generator: torch.Generator) -> nn.Module:
    methods = (families.gauss(1), tableaus.get("rk4"), tableaus.EULER, tableaus.IMPLICIT_EULER)
    method = methods[int(torch.randint(len(methods), (), generator=generator))]
    kinds = (fields.Monotone, fields.Semilinear)
    kind = kinds[int(torch.randint(2, (), generator=generator))]
    field = kind.random(HIDDEN, generator=generator, dtype=F64)
    return IntegratorRNN(field, method, dt=_uniform(generator, 0.05, 0.4), input_size=INPUTS, dtype=F64)


def _of_oscillators(generator: torch.Generator) -> nn.Module:
    """By methods that turn, decay and grow; after one step of each y depends on every parameter."""
    names = ("gauss 2", "stoermer verlet", "heun 2", "implicit euler")
    method = tableaus.get(names[int(torch.randint(len(names), (), generator=generator))])
    field = fields.Oscillator.random(HIDDEN, alpha=_uniform(generator, 0.0, 4.0), generator=generator, dtype=F64)
    dt = _uniform(generator, 0.05, 0.9)
    return _bent(IntegratorRNN(field, method, dt=dt, input_size=INPUTS, learn_steps=True, dtype=F64), generator)


def _of_torch(kind: type, **options: Any) -> Callable[[torch.Generator], nn.Module]:
    return lambda generator: _bent(kind(*_sizes(generator), dtype=F64, **options), generator)


KINDS: Mapping[str, Callable[[torch.Generator], nn.Module]] = {
    "ScoRNN": _kind(ScoRNN, rho=2, learn_initial_state=True),
    "ExpRNN": _kind(ExpRNN),
    "URNN, restricted": _stretched,
    "URNN, restricted, b > 0": _opened,
    "URNN, full, not unitary": _nearly_unitary,
    "CoRNN, explicit": _kind(CoRNN, dt=_between(0.05, 0.6), gamma=_between(0.2, 3.0), epsilon=_between(0.1, 3.0)),
    "CoRNN, implicit": _kind(
        CoRNN, dt=_between(0.05, 0.9), gamma=_between(0.2, 3.0), epsilon=_between(0.1, 3.0), damping="implicit"
    ),
    "DampedUnICORNN": _kind(DampedUnICORNN, dt=_between(0.1, 1.2), alpha=_between(0.0, 4.0), gamma=_between(0.05, 5.0)),
    "DampedUnICORNN, rate": _damped,
    "AntisymmetricRNN": _kind(AntisymmetricRNN, dt=_between(0.01, 0.5), gamma=_between(0.0, 1.0)),
    "AntisymmetricRNN, gated": _kind(AntisymmetricRNN, dt=_between(0.01, 0.5), gamma=_between(0.0, 1.0), gated=True),
    "LipschitzRNN, euler": _kind(
        LipschitzRNN,
        dt=_between(0.01, 0.3),
        beta_a=_between(0.0, 1.0),
        gamma_a=_between(0.0, 1.0),
        beta_w=_between(0.0, 1.0),
        gamma_w=_between(0.0, 1.0),
    ),
    "LipschitzRNN, midpoint": _kind(
        LipschitzRNN,
        dt=_between(0.01, 0.3),
        beta_a=_between(0.0, 1.0),
        gamma_a=_between(0.0, 1.0),
        beta_w=_between(0.0, 1.0),
        gamma_w=_between(0.0, 1.0),
        method="midpoint",
    ),
    "ARNN12, tanh": _kind(ARNN12, dt=_between(0.01, 0.3)),
    "ARNN12, relu, shared": _kind(ARNN12, dt=_between(0.01, 0.3), activation="relu", shared=True),
    "ARNN22, leapfrog": _kind(ARNN22, dt=_between(0.01, 0.3)),
    "ARNN22, leapfrog, relu": _kind(ARNN22, dt=_between(0.01, 0.3), activation="relu"),
    "ARNN22, midpoint": _kind(ARNN22, dt=_between(0.01, 0.3), scheme="explicit_midpoint"),
    "ARNN22, midpoint, relu": _kind(ARNN22, dt=_between(0.01, 0.3), scheme="explicit_midpoint", activation="relu"),
    "ARNN22, Euler": _kind(ARNN22, dt=_between(0.01, 0.3), scheme="forward_euler"),
    "LinOSS, imex": _kind(LinOSS, dt=_between(0.1, 0.6), guard="clamp"),
    "LinOSS, imex, unstable": _kind(LinOSS, dt=_between(0.5, 3.0), guard="none"),
    "LinOSS, im": _kind(LinOSS, dt=_between(0.1, 1.0), scheme="im"),
    "IndRNN, relu": _kind(IndRNN),
    "IndRNN, tanh": _kind(IndRNN, activation="tanh"),
    "LEM": _kind(LEM, dt=_between(0.1, 1.0)),
    "LEM, dt > 1": _kind(LEM, dt=_between(1.0, 1.8)),
    "ClockworkRNN": _clocks,
    "IntegratorRNN": _of_field,
    "IntegratorRNN, oscillator": _of_oscillators,
    "torch LSTM": _of_torch(nn.LSTM),
    "torch GRU": _of_torch(nn.GRU),
    "torch RNN": _of_torch(nn.RNN),
    "torch RNN, relu": _of_torch(nn.RNN, nonlinearity="relu"),
}
"""What is attacked: a name, and how to draw such a network."""
