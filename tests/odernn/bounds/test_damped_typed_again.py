"""Every line that ``certify`` has of a DampedUnICORNN, typed again: neuron by neuron, norms of matrices by numpy.

ALLOWANCE is 2⁻¹² under ``wide_allowance``, so that one that is missing, doubled or of another size is seen. Slopes of
h and w by what is learned are the cell's, the lines of a reach ``lipschitz``'s, which have tests of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from odernn.bounds import certify, forms
from odernn.bounds.network import damped, lipschitz
from odernn.bounds.network.report import power_of
from odernn.bounds.network.sweeps import NOTHING, TINY, geometric
from odernn.bounds.reconstruction import Precision
from odernn.cells.damped_unicornn import DampedUnICORNN
from tests.odernn.bounds.test_bounds_damped import form_of, norm_in, step
from tests.odernn.bounds.unicornn_again import up


def log_of(value: float) -> float:
    return up(math.log(max(value, TINY)))


def powers(log: float, steps: int) -> float:
    """log Σ_{j<N} e^{j log}."""
    return up(math.log(sum(math.exp(j * log) for j in range(steps))), steps * log)


@dataclass(frozen=True)
class Form:
    rate: float
    position: float
    momentum: float
    both: float
    condition: float
    weight: float


def form_again(q: float, h: float, ends: tuple[float, float], a: float) -> tuple[Form, float]:
    """What the form a says of a neuron, and the rate before its allowance."""
    P = form_of(q, h, a)
    rate = math.log(max(norm_in(P, step(k, q, h)) for k in ends))
    least, most = np.log(np.linalg.eigvalsh(P)) / 2
    position, momentum = np.log(np.sqrt(np.diag(np.linalg.inv(P))))
    room, tilt = 1 - a * h * h / 4, (1 - math.sqrt(q)) / h
    units = h * (max(map(abs, ends)) + tilt**2 + a) / (2 * math.sqrt(a * room)) + 1 / room
    size = abs(least) + abs(most) + abs(math.log(q))
    found = Form(
        rate=up(rate, 8, 4 * units, math.log(q)),
        position=up(position, 8, units),
        momentum=up(momentum, 8, units, size),
        both=up(-least, 8, units, size),
        condition=up(most - least, 8, units, size),
        weight=up(math.log(P[0, 0]) / 2, 8, units),
    )
    return found, rate


def candidates(q: float, h: float, ends: tuple[float, float]) -> list[Form]:
    kappas = [math.sqrt(q) * k - (1 - math.sqrt(q)) ** 2 / (h * h * math.sqrt(q)) for k in ends]
    of = {"kappa_low": kappas[0], "kappa_high": kappas[1], "step_size": h}
    best, least = form_again(q, h, ends, float(forms.best_form(**of)))
    found = [best]
    for share in (0.25, 0.5, 0.75):
        rate = max((1 - share) * least - math.log(q) / 2, 0.0)
        found.append(form_again(q, h, ends, float(forms.form_within(rate=rate, **of)))[0])
    return found


class Again:
    """One layer, given bounds on what it sees, those on what of it is computed, and the reach below."""

    def __init__(self, layer: Any, below: tuple[Any, Any, lipschitz.Reach], steps: int) -> None:
        w, h, alpha, q = (each.detach().double().expand(layer.hidden_size).numpy() for each in layer.coefficients())
        self.layer, self.N, self.w, self.h, self.q, self.alpha = layer, steps, w, h, q, alpha
        self.precision = damped.precision_of(layer)
        self.V = layer.V.detach().double().numpy()
        self.log_V = log_of(float(np.linalg.norm(self.V, 2)))
        self.m = range(len(h))
        self.gain = [up(math.log(h[i]) + math.log(q[i])) for i in self.m]
        ends = [(alpha[i] + min(w[i], 0.0), alpha[i] + max(w[i], 0.0)) for i in self.m]
        self.moving = [candidates(q[i], h[i], ends[i]) for i in self.m]
        resting = [candidates(q[i], h[i], (alpha[i], alpha[i])) for i in self.m]
        self.rest = [min(each, key=lambda f: powers(f.rate, steps) + f.position) for each in resting]
        self.P = [min(each, key=lambda f: powers(f.rate, steps) + f.both) for each in self.moving]
        driven = [self.gain[i] + powers(f.rate, steps) for i, f in enumerate(self.rest)]
        self.Y = np.exp([up(driven[i] + f.position) for i, f in enumerate(self.rest)])
        self.Z = np.exp([up(driven[i] + f.momentum) for i, f in enumerate(self.rest)])
        self.computed = self.states_as_computed()
        self.below_positions, self.below_computed, reach = below
        self.reach, self.seen = (
            self.reach_in([getattr(f, name) for f in self.P], reach) for name in ("position", "both")
        )

    def noise(self, i: int, weight: float, Y: float, Z: float) -> float:
        """A kick of 16 roundings of its size, a drift of 4, each with 64 underflows."""
        u, nu, h = self.precision.unit_roundoff, self.precision.underflow, self.h[i]
        kicked = self.q[i] * (Z + h * (1 + self.alpha[i] * Y))
        lost = 16 * u * kicked + 64 * nu
        return lost + math.exp(weight) * (4 * u * (Y + h * (kicked + lost)) + 64 * nu)

    def states_as_computed(self) -> tuple[Any, Any] | None:
        """Assumed to be twice the exact bounds, then three times what these imply; None where they imply more."""
        found = []
        for i, f in enumerate(self.rest):
            total, kick = math.exp(powers(f.rate, self.N)), self.h[i] * self.q[i] * (1 + damped.LOST_IN_TERM)
            reads = math.exp(f.position), math.exp(f.momentum)
            states = [2 * each * kick * total for each in reads]
            for _ in range(3):
                after = [e * (kick + self.noise(i, f.weight, *states)) * total * (1 + damped.LOST) for e in reads]
                if any(a > b for a, b in zip(after, states, strict=True)):
                    return None
                states = after
            found.append(states)
        return tuple(np.array(found).T)  # type: ignore[return-value]

    def responding(self, read: list[float], source: Any) -> Any:
        """Σ_j D_j g_{n−j}, D_j the largest over neurons of e^{gain + read + j rate}."""
        first = [g + r for g, r in zip(self.gain, read, strict=True)]
        rates = [f.rate for f in self.P]
        if damped.LONGEST < self.N:
            largest = np.array(source) + max(first)
            return geometric(max(rates))(largest[:, None], np.array([NOTHING]))[:, 0]
        D = [max(f + j * r for f, r in zip(first, rates, strict=True)) for j in range(self.N)]
        size = self.N * (1 + max(map(abs, D)) + max(map(abs, source)))
        logs = [np.logaddexp.reduce([D[j] + source[n - j] for j in range(n + 1)]) for n in range(self.N)]
        return np.array([max(up(float(log), size), NOTHING) for log in logs])

    def reach_in(self, read: list[float], below: lipschitz.Reach) -> lipschitz.Reach:
        exact = self.responding(read, self.log_V + below.exact)
        rounded = None if self.computed is None or self.below_computed is None else self.rounded_off()
        if rounded is None or below.log_error is None:
            return lipschitz.Reach(exact, None, None)
        own = log_of(float(np.linalg.norm(np.exp(np.array(rounded) + read))) * (1 + damped.LOST))
        from_below = self.responding(read, self.log_V + below.log_error)
        return lipschitz.Reach(exact, exact, np.array([up(float(np.logaddexp(each, own))) for each in from_below]))

    def rounded_off(self) -> list[float]:
        u, nu, inputs = self.precision.unit_roundoff, self.precision.underflow, self.V.shape[1]
        gamma = (inputs + 8) * u / (1 - (inputs + 8) * u)
        found = []
        assert self.computed is not None
        for i, f in enumerate(self.P):
            bias = 0.0 if self.layer.b is None else abs(float(self.layer.b.detach()[i]))
            sizes = sum(abs(self.V[i]) * self.below_computed) * (1 + inputs * damped.LOST_IN_TERM) + bias
            Y, Z = self.computed[0][i], self.computed[1][i]
            drive = gamma * sizes + 4 * u * (abs(self.w[i]) * Y + (1 + gamma) * sizes) + 64 * (inputs + 1) * nu
            noise = math.exp(self.gain[i]) * drive + self.noise(i, f.weight, Y, Z)
            found.append(up(math.log(noise) + powers(f.rate, self.N), 64))
        return found

    def direct(self) -> dict[str, float]:
        """Of every parameter, how far a drive moves with it."""
        slopes = {name: each.abs().numpy() for name, each in self.layer.slopes().items()}
        found = {"V": log_of(float(max(self.below_positions)))}
        if self.layer.b is not None:
            found["b"] = 0.0
        if self.layer.free_w is None:
            found["w"] = log_of(float(max(self.Y)))
        else:
            found["free_w"] = log_of(float(max(self.Y * slopes["w by free_w"]))) + 1e-5
        if self.layer.c is not None:
            gamma, moves = float(self.layer.gamma.to(self.layer.V.dtype)), []
            for i, f in enumerate(self.P):
                kicked = self.q[i] * (1 + self.alpha[i] * self.Y[i] + gamma * self.Z[i])
                by_h = (kicked + math.exp(f.weight) * self.Z[i]) / math.exp(self.gain[i])
                moves.append(slopes["h by c"][i] * by_h + slopes["w by c"][i] * self.Y[i])
            found["c"] = log_of(max(moves)) + 1e-5
        return found

    def lines(self) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for name, states in (("y", self.Y), ("z", self.Z)):
            found[f"|{name}_n|, n ≤ N"] = log_of(float(max(states)))
        for index, (hat, states) in enumerate((("ŷ", self.Y), ("ẑ", self.Z))):
            computed = None if self.computed is None else log_of(float(max(self.computed[index])))
            found[f"|{hat}_n| as computed"] = None if computed is None else max(computed, log_of(float(max(states))))
        grown = [min(f.condition + (self.N - 1) * f.rate for f in each) for each in self.moving]
        found["‖∂X_N/∂X_1‖₂, X = (y, z)"] = up(max(grown), self.N)
        return found | {line.quantity: line.log for line in lipschitz.lines(self.seen, "")}

    def words(self) -> tuple[str, ...]:
        rates = [each[0].rate for each in self.moving]
        count = sum(rate >= -(2.0**-30) for rate in rates)
        if count:
            return (
                f"{count} of {len(rates)} neurons contract in no form P: a factor ≤ {power_of(max(rates))} a step.",
            )
        forever = max(self.gain[i] + f.both - math.log(1 - math.exp(f.rate)) for i, f in enumerate(self.P))
        states = max(self.gain[i] + f.position - math.log(1 - math.exp(f.rate)) for i, f in enumerate(self.rest))
        return power_of(max(rates)), power_of(up(states, 8)), power_of(up(forever, 8) + up(0.0))


def typed_again(network: DampedUnICORNN, steps: int, input_bound: float) -> list[Again]:
    inputs = np.full(network.input_size, input_bound)
    below, found = (inputs, inputs, lipschitz.Reach.of_inputs(steps)), []
    for layer in network.layers:
        again = Again(layer, below, steps)
        below = again.Y, None if again.computed is None else again.computed[0], again.reach
        found.append(again)
    return found


def gradients_again(stack: list[Again], target: float) -> dict[str, float]:
    error = log_of(float(np.linalg.norm(stack[-1].Y + target)) * (1 + damped.LOST))
    found = {}
    for name, log in stack[0].direct().items():
        change = stack[0].responding([f.position for f in stack[0].P], np.full(stack[0].N, log))
        for above in stack[1:]:
            change = above.responding([f.position for f in above.P], change + above.log_V)
        found[f"|dE/dθ|, θ = {name}"] = max(up(error + each, each, error) for each in change)
    return found


def network_of(seed: int, layers: int = 2, scale: float = 1.0, **options: Any) -> DampedUnICORNN:
    generator = torch.Generator().manual_seed(seed)
    arguments: dict[str, Any] = {"dt": 0.6, "alpha": 2.0, "gamma": 1.5, "dtype": torch.float64} | options
    network = DampedUnICORNN(2, 3, layers, generator=generator, **arguments)
    with torch.no_grad():
        for layer in network.layers:
            for parameter in layer.parameters():
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return network


NETWORKS: dict[str, tuple[dict[str, Any], int]] = {
    "w": ({"seed": 0}, 9),
    "w of both signs": ({"seed": 3, "scale": 0.5, "gamma": 0.4}, 6),
    "rate": ({"seed": 1, "rate": 0.3}, 9),
    "float32": ({"seed": 2, "rate": 0.3, "dtype": torch.float32, "layers": 3}, 30),
    "too coarse": ({"seed": 2, "dtype": torch.float32, "gamma": 0.01, "alpha": 60.0}, 40),
    "no c, no b": ({"seed": 4, "multiscale": False, "bias": False}, 5),
    "beyond the longest": ({"seed": 5, "rate": 0.2}, 8),
    "coarse": ({"seed": 6, "rate": 0.3, "layers": 3}, 7),
}
COARSE = Precision("coarse", 2.0**-11, 2.0**-13, 700.0)
"""A format of which roundings and underflows are seen beside each other, and their products, too."""


@pytest.mark.parametrize("name", NETWORKS)
def test_every_line_is_what_is_typed_again(name: str, wide_allowance: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damped, "ALLOWANCE", 2.0**-12)
    if name == "coarse":
        monkeypatch.setattr(damped, "precision_of", lambda _: COARSE)
        monkeypatch.setattr(damped, "LOST", 2.0**-9)
        monkeypatch.setattr(damped, "LOST_IN_TERM", 2.0**-10)
    if name == "beyond the longest":
        monkeypatch.setattr(damped, "LONGEST", 7)
    options, steps = NETWORKS[name]
    network = network_of(**options)
    report = certify(network, input_bound=1.5, steps=steps, target_bound=0.7)
    stack = typed_again(network, steps, 1.5)
    for index, (layer, again) in enumerate(zip(report.layers, stack, strict=True)):
        expected = again.lines() | gradients_again(stack[index:], 0.7)
        found = {line.quantity: line.log for line in layer.bounds}
        assert found.keys() == expected.keys()
        for quantity, log in expected.items():
            assert found[quantity] == (None if log is None else pytest.approx(log, rel=1e-9, abs=1e-9)), quantity
        words = again.words()
        assert all(word in " ".join(layer.says) for word in words), (layer.says, words)
    assert (stack[0].computed is None) == (name == "too coarse")


def test_neurons_that_contract_in_no_form_are_counted_and_numbers_for_every_N_allow_for_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (layer,) = network_of(0, layers=1).layers
    step, ones = damped.DampedStep.of(layer), np.zeros(3)

    def words(*rates: float) -> tuple[str, ...]:
        P = damped.NeuronForms(np.array(rates), ones, ones, ones, ones, ones)
        return damped._in_words(layer, step, [P], P, ones, P)

    assert words(-1.0, -1e-12, -2.0)[0].startswith("1 of 3 neurons contract in no form P: a factor ≤ 1 − ")
    assert words(-1.0, -1e-12, 1e-3)[0].startswith("2 of 3 neurons contract in no form P: a factor ≤ 1 + 0.001")
    monkeypatch.setattr(damped, "ALLOWANCE", math.log(2))
    half = math.log(0.5)
    (_, numbers) = words(half, half, half)
    assert "|y_n| ≤ 2.01 " in numbers and "≤ 4.01 δ" in numbers  # 1/(1 − 1/2) rounded up, and twice that
