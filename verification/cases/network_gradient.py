"""A bound on one derivative of the loss of a whole network, m neurons a layer, at exact parameters: by both back-ends.

    |dE/dθ| ≤ right side,    E = (1/N) Σ_n |y^L_n − ȳ_n|²/2,    index convention icml, zero initial states

``neuron_chain`` decides the same for one neuron a layer, which a reader can type in; this takes any network that fits
into a file. Parameters are texts of exact numbers:

    alpha, dt, N, m      shared by all layers
    layer, neuron        of θ, from 1; ``source`` as well if θ = V_ij, the neuron of the level below or the channel
    w, c, b              L · m numbers, layer after layer
    V1 … VL              m · (size of the level below), row after row
    u, target            one row for all steps (d or m numbers), or N rows

The right side sees the norms of the statement: ``w`` has ‖w^q‖_∞ and ``V`` has ‖V^q‖_∞, q = 1..L, ``target`` has
max_n ‖ȳ_n‖_∞, besides α, dt, N, m, layer. Margins of premises are rational numbers, computed exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.cases.inequality import Condition
from verification.certify import network
from verification.certify.second import intervals as second
from verification.certify.second import network_gradient as network_gradient_second
from verification.certify.second.network import NotEnclosedError
from verification.question import Check, Opinion, Parameters, number, numbers

MAX_WORK = 2**25
"""Entries of V and TANH_WORK for every neuron, times N: seconds for either back-end."""
TANH_WORK = 100
ACCURACY = 80
THETAS = ("w", "b", "c", "V")
ANY_NETWORK = "a network"
"""The domain of counterexamples that are whole networks, where the statement names no hyperparameters."""


def quantity_of(theta: str) -> str:
    """How such a counterexample names |dE/dθ|, θ any entry of ``theta`` of any layer."""
    return f"|dE/dθ|, θ = {theta} of any layer"


@dataclass(frozen=True)
class NetworkGradient:
    """|dE/dθ| ≤ right for one entry of ``theta``. ``balls`` and ``intervals`` are the right side, typed once for each
    back-end; ``premises`` are asked of the norms above.
    """

    theta: str
    balls: Callable[[Any], Any]
    intervals: Callable[[Any], Any]
    premises: tuple[Condition, ...]

    def check(self, parameters: Parameters) -> Check:
        """Both opinions and the premises. ClaimError or ValueError for parameters that are no network."""
        read = _Read(parameters, self.theta)
        first, sides, logs = self._in_balls(read)
        violated, text = self._in_intervals(parameters)
        place = f"{self.theta} of neuron {read.neuron} of layer {read.layer}"
        shape = f"L = {read.depth}, m = {read.m}, N = {read.data.steps}"
        return Check(
            opinions=(Opinion("balls", first, sides), Opinion("floats", violated, text)),
            premises=tuple(condition.at(read.norms(Fraction)) for condition in self.premises),
            words=f"{shape}, θ = {place}: {sides}",
            log_measured=logs[0],
            log_claimed=logs[1],
        )

    def _in_balls(self, read: _Read) -> tuple[bool, str, tuple[float | None, float | None]]:
        try:
            gradients = network.certify_gradients(read.data, accuracy=ACCURACY)
        except network.UndecidedError as error:
            return False, str(error), (None, None)
        box = gradients.layers[read.layer - 1][self.theta]
        with flint.ctx.workprec(max(gradients.bits, 256)):
            left = abs(flint.arb(float(box.middle[read.place]), float(box.radius[read.place])))
            right = self.balls(read.norms(BALLS.exact))
            sizes = [float(side.log().mid()) if side > 0 else None for side in (left, right)]
            logs = (sizes[0], sizes[1]) if None not in sizes else (None, None)
            return bool(left > right), f"{left.str(10, radius=False)} against {right.str(10, radius=False)}", logs

    def _in_intervals(self, parameters: Parameters) -> tuple[bool, str]:
        try:
            with second.iv.workprec(256):
                left, norms = network_gradient_second.sides(dict(parameters), self.theta)
                right = self.intervals(norms)
                ends = f"left at least {float(left.a):.10g}, right at most {float(right.b):.10g}"
                return bool(left.a > right.b), ends
        except (NotEnclosedError, OverflowError) as error:
            return False, str(error)


class _Read:
    """The parameters as a network, the place of θ, and the norms."""

    def __init__(self, parameters: Parameters, theta: str) -> None:
        self.m, self.layer, self.neuron = (_whole(parameters, name) for name in ("m", "layer", "neuron"))
        steps = _whole(parameters, "N")
        rows = {name: _rows(numbers(parameters, name), self.m, name) for name in ("w", "c", "b")}
        self.depth = len(rows["w"])
        self.alpha, self.dt = (number(parameters, name) for name in ("alpha", "dt"))
        zero, layers, below = (Fraction(0),) * self.m, [], 0
        for q in range(1, self.depth + 1):
            values = numbers(parameters, f"V{q}")
            below = self.m if q > 1 else len(values) // self.m
            V = _rows(values, below, f"V{q}")
            own = {name: rows[name][q - 1] for name in ("w", "c", "b")}
            layers.append(network.LayerData(dt=self.dt, alpha=self.alpha, V=V, y0=zero, z0=zero, **own))
        inputs = len(layers[0].V[0])
        work = steps * self.m * sum(len(layer.V[0]) + TANH_WORK for layer in layers)
        if work > MAX_WORK:
            raise ValueError(
                f"N = {steps} steps of L = {self.depth}, m = {self.m} are {work} products; at most {MAX_WORK}."
            )
        u, target = (
            _over_time(numbers(parameters, name), size, steps, name)
            for name, size in (("u", inputs), ("target", self.m))
        )
        self.data = network.NetworkData(tuple(layers), u, target=target)
        if not (1 <= self.layer <= self.depth and 1 <= self.neuron <= self.m):
            raise ValueError(f"Layer {self.layer}, neuron {self.neuron}: there are L = {self.depth}, m = {self.m}.")
        self.place: tuple[int, ...] = (self.neuron - 1,)
        if theta == "V":
            source = _whole(parameters, "source")
            if not 1 <= source <= len(layers[self.layer - 1].V[0]):
                raise ValueError(f"source is {source}, but V of layer {self.layer} has not so many columns.")
            self.place = (self.neuron - 1, source - 1)

    def norms(self, make: Callable[[Any], Any]) -> Any:
        """What the right side and the premises see, in the numbers that ``make`` makes."""
        layers = self.data.layers
        return SimpleNamespace(
            alpha=make(self.alpha),
            dt=make(self.dt),
            N=make(Fraction(self.data.steps)),
            m=make(Fraction(self.m)),
            layer=make(Fraction(self.layer)),
            w=[make(max(map(abs, layer.w))) for layer in layers],
            V=[make(max(sum(map(abs, row), Fraction(0)) for row in layer.V)) for layer in layers],
            target=[make(max(abs(v) for row in self.data.target for v in row))],
        )


def _whole(parameters: Parameters, name: str) -> int:
    value = number(parameters, name)
    if value.denominator != 1 or value < 1:
        raise ValueError(f'"{name}" is {value}; it is a whole number from 1 on.')
    return int(value)


def _rows(values: Sequence[Fraction], width: int, name: str) -> tuple[tuple[Fraction, ...], ...]:
    if not width or not values or len(values) % width:
        raise ValueError(f'"{name}" has {len(values)} numbers; they are rows of {width}.')
    return tuple(tuple(values[i : i + width]) for i in range(0, len(values), width))


def _over_time(values: Sequence[Fraction], width: int, steps: int, name: str) -> tuple[tuple[Fraction, ...], ...]:
    """One row for every step; a single row is held."""
    rows = _rows(values, width, name)
    if len(rows) not in (1, steps):
        raise ValueError(f'"{name}" has {len(rows)} rows; give 1 or N = {steps}.')
    return rows * steps if len(rows) == 1 else rows
