"""Random networks, and their trajectories by point arithmetic in mpmath, neuron by neuron."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from odernn.published.sources import Source
from verification.claim import Claim, Part, StateBound
from verification.instance import Group, Inputs, Instance, Layer

HIDDEN_SIZE = 6
DIGITS = 60

PointState = tuple[list[list[mpf]], list[list[mpf]]]


def _random_instance(seed: int, *, layers: int, steps: int = 14) -> Instance:
    """m = 6 neurons a layer in up to three groups, two input channels, w ≠ 0; rationals and floats mixed."""
    rng = random.Random(seed)

    def number(bound: int) -> Fraction:
        if rng.random() < 0.5:
            return Fraction(rng.uniform(-bound, bound))
        return Fraction(rng.randint(-bound * 50, bound * 50) or 1, rng.choice((7, 50, 300)))

    stack, below = [], 2
    for _ in range(layers):
        multiplicities = rng.choice(((6,), (1, 5), (2, 4), (1, 2, 3), (3, 2, 1), (2, 2, 2)))
        groups = tuple(Group(k, number(3) or Fraction(1), number(2), number(1)) for k in multiplicities)
        weights = tuple(tuple(number(2) for _ in range(below)) for _ in groups)
        stack.append(Layer(Fraction(rng.randint(1, 99), 100), groups, weights))
        below = len(groups)
    runs = []
    while (left := steps - sum(count for count, _ in runs)) > 0:
        channels = rng.choice((1, 2))
        runs.append((rng.randint(1, min(3, left)), tuple(number(3) for _ in range(channels))))
    return Instance(Fraction(rng.randint(0, 300), 100), tuple(stack), Inputs(2, tuple(runs)))


def _point_trajectory(instance: Instance) -> PointState:
    """(y, z) of every neuron of every layer after the last step: groups written out, no intervals."""

    def real(value: Fraction) -> mpf:
        return mpf(value.numerator) / value.denominator

    network = []
    below = [[channel] for channel in range(instance.inputs.size)]  # which neurons each column of V stands for
    for layer in instance.layers:
        neurons, members = [], []
        for group, row in zip(layer.groups, layer.input_weights, strict=True):
            V = [mpf(0)] * sum(map(len, below))
            for value, columns in zip(row, below, strict=True):
                for column in columns:
                    V[column] = real(value)
            h = real(layer.dt) * (mpf(1) / 2 + mp.tanh(real(group.c) / 2) / 2)
            members.append(list(range(len(neurons), len(neurons) + group.multiplicity)))
            neurons += [(V, h, real(group.w), real(group.bias))] * group.multiplicity
        network.append(neurons)
        below = members
    alpha = real(instance.alpha)
    y = [[mpf(0)] * len(neurons) for neurons in network]
    z = [[mpf(0)] * len(neurons) for neurons in network]
    for values in instance.inputs:
        seen = [real(value) for value in values]
        for l, neurons in enumerate(network):
            for i, (V, h, w, b) in enumerate(neurons):
                x = b + mp.fdot(V, seen)
                z[l][i] -= h * (mp.tanh(w * y[l][i] + x) + alpha * y[l][i])
                y[l][i] += h * z[l][i]
            seen = y[l]
    return y, z


def _claim(
    bound: Callable, second_bound: Callable, *, quantity: str = "position", norm: str = "max", hypotheses=(), **options
) -> Claim:
    """A made-up statement with one part."""
    return Claim(
        id="made-up",
        source=Source("none", "made up"),
        statement="made up",
        semantics="real",
        state_bound=StateBound(parts=(Part(quantity, norm, bound, second_bound),), hypotheses=hypotheses, **options),
    )


def _constant_claim(value: Fraction, **options) -> Claim:
    """The statement ‖…‖ ≤ value."""
    return _claim(
        lambda s, numbers: numbers.log(numbers.exact(value)),
        lambda s, iv: iv.log(iv.mpf(value.numerator) / iv.mpf(value.denominator)),
        **options,
    )


@pytest.fixture
def random_instance() -> Callable[..., Instance]:
    return _random_instance


@pytest.fixture
def point_trajectory() -> Callable[[Instance], PointState]:
    return _point_trajectory


@pytest.fixture
def made_up_claim() -> Callable[..., Claim]:
    return _claim


@pytest.fixture
def constant_claim() -> Callable[..., Claim]:
    return _constant_claim


@pytest.fixture
def norm_of_points() -> Callable[[list[mpf], str], mpf]:
    return lambda values, norm: max(map(abs, values)) if norm == "max" else mp.sqrt(mp.fsum(v * v for v in values))


@pytest.fixture
def measured_value(point_trajectory, norm_of_points) -> Callable[..., Fraction]:
    """The norm to 60 digits, as a fraction."""

    def value(instance: Instance, layer: int, quantity: str, norm: str) -> Fraction:
        with mp.workdps(DIGITS):
            y, z = point_trajectory(instance)
            found = norm_of_points((y if quantity == "position" else z)[layer - 1], norm)
            return Fraction(mp.nstr(found, DIGITS - 8, min_fixed=-mp.inf, max_fixed=mp.inf))

    return value
