"""Lines of ``certify`` on one damped neuron, against numbers by hand: gradients with 60 digits."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import pytest
import torch

from odernn.bounds import certify
from odernn.cells.damped_unicornn import DampedUnICORNN

F32, F64 = torch.float32, torch.float64
NUMBERS = {"dt": 0.5, "alpha": 4.0, "gamma": 2.0}
RATE = 0.4


def neuron(dtype: torch.dtype = F64, rate: float | None = RATE, hidden: int = 1, **values: float) -> DampedUnICORNN:
    """One layer whose parameters are 1 or as given."""
    network = DampedUnICORNN(1, hidden, **NUMBERS, rate=rate, dtype=dtype)
    with torch.no_grad():
        for name, parameter in network.layers[0].named_parameters():
            parameter.fill_(values.get(name, 1.0))
    return network


def error_of(values: dict[str, Any], steps: int) -> mpmath.mpf:
    """E, the mean of y_n²/2 at u = 1, in the digits of mpmath; w of a rate by inverse sines."""
    dt, alpha, gamma, r = (mpmath.mpf(each) for each in (*NUMBERS.values(), RATE))

    def sigmoid(x: mpmath.mpf) -> mpmath.mpf:
        return 1 / (1 + mpmath.exp(-x))

    h = dt * max(sigmoid(values["c"]), mpmath.mpf(2) ** -8)
    if "w" in values:
        w = values["w"]
    else:
        D = 1 + h * gamma + (1 + h * r) ** 2
        xi = mpmath.asin(mpmath.sqrt(h * h * (alpha * (1 + h * r) - r * (gamma - r)) / (2 * D)))
        g = mpmath.asin(h * (gamma - 2 * r - h * r * r) / D)
        ends = [
            (2 * D * mpmath.sin(angle) ** 2 / h**2 + r * (gamma - r)) / (1 + h * r) - alpha
            for angle in (max(xi - g, 0), min(xi + g, mpmath.pi / 2))
        ]
        w = ends[0] + (ends[1] - ends[0]) * sigmoid(values["free_w"])
    y = z = total = mpmath.mpf(0)
    for _ in range(steps):
        z = (z - h * (mpmath.tanh(w * y + values["V"] + values["b"]) + alpha * y)) / (1 + h * gamma)
        y = y + h * z
        total += y * y / (2 * steps)
    return total


def log_gradient(network: DampedUnICORNN, name: str, steps: int) -> float:
    """log |dE/dθ| of the neuron's parameter, by central differences with 60 digits."""
    with mpmath.workdps(60):
        values = {key: mpmath.mpf(float(each.detach())) for key, each in network.layers[0].named_parameters()}
        by = mpmath.mpf(10) ** -15
        ends = [error_of(values | {name: values[name] + sign * by}, steps) for sign in (1, -1)]
        slope = abs(ends[0] - ends[1]) / (2 * by)
        return float(mpmath.log(slope)) if slope else -math.inf


@pytest.mark.parametrize(
    ("options", "frozen"),
    [({"rate": RATE, "multiscale": False}, False), ({"multiscale": True}, True), ({"multiscale": False}, True)],
)
def test_networks_whose_h_or_w_depends_on_nothing_learned_are_certified(options: dict[str, Any], frozen: bool) -> None:
    network = DampedUnICORNN(1, 3, **NUMBERS, **options).requires_grad_(not frozen)
    (bounds,) = certify(network, input_bound=1.0, steps=20).layers
    learned = certify(network.requires_grad_(), input_bound=1.0, steps=20).layers[0]
    for name, _ in network.layers[0].named_parameters():
        assert bounds[f"|dE/dθ|, θ = {name}"].log == learned[f"|dE/dθ|, θ = {name}"].log > -20.0


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("rate", [None, RATE])
@pytest.mark.parametrize("value", [17.0, 38.0, 40.0, -40.0, 0.5])
def test_gradients_are_bounded_where_a_sigmoid_rounds_to_one(
    dtype: torch.dtype, rate: float | None, value: float
) -> None:
    """By c and by v, each large and both: 1 − σ̂ is 0 in float32 from 17 on, in float64 from 37."""
    names = ["c"] if rate is None else ["c", "free_w"]
    for size in range(1, len(names) + 1):
        for large in itertools.combinations(names, size):
            network = neuron(dtype, rate, V=2.0, b=0.5, **dict.fromkeys(large, value))
            (bounds,) = certify(network, input_bound=1.0, steps=20).layers
            for name in names:
                found, bound = log_gradient(network, name, 20), bounds[f"|dE/dθ|, θ = {name}"].log
                assert bound is not None and found <= bound
                assert name not in large or bound <= 10.0 - abs(value)  # of e^{−|x|}
