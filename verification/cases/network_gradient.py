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
max_n ‖ȳ_n‖_∞, besides α, dt, N, m, layer; and the network itself, ``data`` in exact numbers, ``run`` in floats with
proved roundings. Margins of premises are rational numbers, computed exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, Literal

import flint

from odernn.bounds.numbers import BALLS
from verification.cases.related import Small
from verification.certify import network
from verification.certify.second import intervals as second
from verification.certify.second import network_gradient as network_gradient_second
from verification.certify.second.network import NotEnclosedError
from verification.claim import Check, Hypothesis, Opinion, Parameters
from verification.exact_text import number, numbers
from verification.kinds import Kind, Listed, Rational, Rows, Values
from verification.parameters import Declaration, Guarded, Parameter, Rule, declared

MOST_LAYERS = 8
"""Of a chain."""
MOST_CHAIN = 4096
"""Layers times steps of a chain whose steps are not those of the case."""
MOST_NETWORK_LAYERS = 52
"""A file holds no more than 64 parameters."""
MOST_NEURONS, MOST_CHANNELS, MOST_STEPS = 256, 1024, 2**16
MAX_WORK = 2**25
"""Entries of V and TANH_WORK for every neuron, times N: seconds for either back-end."""
TANH_WORK = 100
ACCURACY = 80
LEAST_BITS = 256
"""Of the right side."""
THETAS = ("w", "b", "c", "V")
ANY_NETWORK = "a network"
"""The domain of counterexamples that are whole networks, where the statement names no hyperparameters."""


def quantity_of(theta: str) -> str:
    """How such a counterexample names |dE/dθ|, θ any entry of ``theta`` of any layer."""
    return f"|dE/dθ|, θ = {theta} of any layer"


# --- what a bound on |dE/dθ| is asked about

A_LAYER, A_STEP = "a row a layer", "a row a step, or one for every step"
"""The order of weights, of inputs and targets."""


def _is_whole(values: Values) -> bool:
    return "m" in values


def _width(values: Values) -> int:
    return int(values.get("m", 1))


def _depth(values: Values) -> int:
    return len(values["w"])


def _inputs(values: Values) -> int:
    return len(values["V1"]) if _is_whole(values) else 1


def _one_or_all(values: Values) -> Sequence[int]:
    return (1, values["N"]) if values["N"] > 1 else (1,)


def _as_deep(values: Values) -> range:
    return range(_depth(values), _depth(values) + 1)


def _rows_of(width: Callable[[Values], int], counts: Callable[[Values], Sequence[int]]) -> Rows:
    return Rows(Rational(), width, counts, most=2**17)


def _matrices() -> Iterator[Parameter]:
    """Of the first the length says how many columns it has."""
    yield Parameter("V1", _rows_of(_width, lambda values: range(1, MOST_CHANNELS + 1)), when=_is_whole)
    for q in range(2, MOST_NETWORK_LAYERS + 1):
        yield Parameter(
            f"V{q}",
            _rows_of(_width, lambda values: range(_width(values), _width(values) + 1)),
            when=lambda values, q=q: _is_whole(values) and q <= _depth(values),  # type: ignore[misc]
        )


def gradient_parameters(
    theta: str,
    *,
    whole: Literal["no", "too", "only"],
    depths: range = range(1, MOST_LAYERS + 1),
    layer: Callable[[int], range] | None = None,
    fixed: Mapping[str, Kind] | None = None,
) -> Declaration:
    """A chain of single neurons (``neuron_chain``), a whole network (above), which has "m" and may come too, or only.

    depths    how many layers there may be
    layer     that of θ, from the number of layers; any, if nothing is said
    fixed     kinds of single parameters, such as a constant
    """
    known: Mapping[str, Kind] = fixed or {}

    def work(values: Values) -> int:
        if not _is_whole(values):
            return 0 if "N" in known else int(values["N"] * _depth(values) * MAX_WORK // MOST_CHAIN)
        columns = _inputs(values) + (_depth(values) - 1) * _width(values)
        return int(values["N"] * _width(values) * (columns + TANH_WORK * _depth(values)))

    def place(values: Values) -> bool:
        layers = range(1, _depth(values) + 1) if layer is None else layer(_depth(values))
        if values["layer"] not in layers or not _is_whole(values):
            return values["layer"] in layers
        columns = _inputs(values) if values["layer"] == 1 else _width(values)
        return bool(values["neuron"] <= _width(values) and values.get("source", 1) <= columns)

    parameters = [
        *([] if whole == "no" else [Parameter("m", Small(1, MOST_NEURONS), optional=whole == "too")]),
        Parameter("alpha", known.get("alpha", Rational(above=0))),
        Parameter("dt", known.get("dt", Rational(above=0, below=1))),
        Parameter("N", known.get("N", Small(1, MOST_STEPS))),
        Parameter("layer", Small(1, depths[-1])),
        Parameter("neuron", Small(1, MOST_NEURONS), when=_is_whole),
        *([Parameter("source", Small(1, MOST_CHANNELS), when=_is_whole)] if theta == "V" else []),
        Parameter("w", _rows_of(_width, lambda values: depths), order=A_LAYER),
        Parameter("c", _rows_of(_width, _as_deep), when=_is_whole, order=A_LAYER),
        Parameter("V", Listed(Rational(), _depth), when=lambda v: not _is_whole(v), order="a number a layer"),
        Parameter("b", _rows_of(_width, _as_deep), order=A_LAYER),
        *_matrices(),
        Parameter("u", _rows_of(_inputs, _one_or_all), order=A_STEP),
        Parameter("target", _rows_of(_width, _one_or_all), order=A_STEP),
    ]
    return declared(
        *(parameter for parameter in parameters if whole != "no" or parameter.when is not _is_whole),
        rules=(
            Rule(f"layer, neuron and source are a place of θ = {theta} that this case is about", place),
            Rule(
                f"N steps are at most {MAX_WORK} products, N · L ≤ {MOST_CHAIN} for a chain",
                lambda v: work(v) <= MAX_WORK,
            ),
        ),
        is_costly="N" in known,
    )


@dataclass(frozen=True)
class NetworkGradient:
    """|dE/dθ| ≤ right for one entry of ``theta``. ``balls`` and ``intervals`` are the right side, typed once for each
    back-end; ``premises`` are asked of the norms above.
    """

    theta: str
    balls: Callable[[Any], Any]
    intervals: Callable[[Any], Any]
    premises: tuple[Hypothesis, ...]

    @property
    def check(self) -> Guarded:
        """Both opinions and the premises, for whole networks."""
        whole = gradient_parameters(self.theta, whole="only", depths=range(1, MOST_NETWORK_LAYERS + 1))
        return whole.guards(self.decide, self.may_fail)

    def decide(self, parameters: Parameters) -> Check:
        """The same for parameters that have been read."""
        read = _Read(parameters, self.theta)
        first, sides, logs = self._in_balls(read)
        violated, text = self._in_intervals(parameters)
        exact = read.norms(Fraction)
        place = f"{self.theta} of neuron {read.neuron} of layer {read.layer}"
        shape = f"L = {read.depth}, m = {read.m}, N = {read.data.steps}"
        return Check(
            opinions=(Opinion("balls", first, sides), Opinion("floats", violated, text)),
            premises=tuple(condition.at(exact) for condition in self.premises),
            words=f"{shape}, θ = {place}: {sides}",
            log_measured=logs[0],
            log_claimed=logs[1],
        )

    def may_fail(self, parameters: Parameters) -> bool | None:
        """Whether left > right in balls; None where a premise fails."""
        read = _Read(parameters, self.theta)
        exact = read.norms(Fraction)
        holds = all(condition.at(exact).holds for condition in self.premises)
        return self._in_balls(read)[0] if holds else None

    def _in_balls(self, read: _Read) -> tuple[bool, str, tuple[float | None, float | None]]:
        """A wide enclosure will do where it is all below the right side: a gradient that is 0 never becomes sharp."""
        try:
            gradients = network.certify_gradients(
                read.data,
                accuracy=ACCURACY,
                only=(read.layer, self.theta),
                enough=lambda gradients: bool(self._left(read, gradients) < self._right(read, LEAST_BITS)),
            )
        except network.UndecidedError as error:
            return False, str(error), (None, None)
        bits = max(gradients.bits, LEAST_BITS)
        left, right = self._left(read, gradients), self._right(read, bits)
        with flint.ctx.workprec(bits):
            sizes = [float(side.log().mid()) if side > 0 else None for side in (left, right)]
            logs = (sizes[0], sizes[1]) if None not in sizes else (None, None)
            return bool(left > right), f"{left.str(10, radius=False)} against {right.str(10, radius=False)}", logs

    def _left(self, read: _Read, gradients: network.Gradients) -> Any:
        box = gradients.layers[read.layer - 1][self.theta]
        return abs(flint.arb(float(box.middle[read.place]), float(box.radius[read.place])))

    def _right(self, read: _Read, bits: int) -> Any:
        """At a precision, once for each."""
        if bits not in read.right:
            with flint.ctx.workprec(bits):
                read.right[bits] = self.balls(read.norms(BALLS.exact))
        return read.right[bits]

    def _in_intervals(self, parameters: Parameters) -> tuple[bool, str]:
        try:
            with second.iv.workprec(256):
                left, norms = network_gradient_second.sides(dict(parameters), self.theta)
                right = self.intervals(norms)
                ends = f"left at least {float(left.a):.10g}, right at most {float(right.b):.10g}"
                return bool(left.a > right.b), ends
        except (ValueError, NotEnclosedError, OverflowError) as error:  # not a run that float64 encloses
            return False, str(error)


class _Read:
    """The parameters as a network, the place of θ, and the norms."""

    def __init__(self, parameters: Parameters, theta: str) -> None:
        self.right: dict[int, Any] = {}
        self.m, self.layer, self.neuron = (int(parameters[name]) for name in ("m", "layer", "neuron"))
        steps, self.texts = int(parameters["N"]), parameters
        rows = {name: _rows(numbers(parameters, name), self.m) for name in ("w", "c", "b")}
        self.depth = len(rows["w"])
        self.alpha, self.dt = (number(parameters, name) for name in ("alpha", "dt"))
        zero, layers = (Fraction(0),) * self.m, []
        for q in range(1, self.depth + 1):
            values = numbers(parameters, f"V{q}")
            own = {name: rows[name][q - 1] for name in ("w", "c", "b")}
            V = _rows(values, len(values) // self.m)
            layers.append(network.LayerData(dt=self.dt, alpha=self.alpha, V=V, y0=zero, z0=zero, **own))
        u, target = (
            _over_time(numbers(parameters, name), size, steps)
            for name, size in (("u", len(layers[0].V[0])), ("target", self.m))
        )
        self.data = network.NetworkData(tuple(layers), u, target=target)
        self.place: tuple[int, ...] = (self.neuron - 1,)
        if theta == "V":
            self.place = (self.neuron - 1, int(parameters["source"]) - 1)

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
            data=self.data,
            texts=self.texts,
        )


def _rows(values: Sequence[Fraction], width: int) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(values[i : i + width]) for i in range(0, len(values), width))


def _over_time(values: Sequence[Fraction], width: int, steps: int) -> tuple[tuple[Fraction, ...], ...]:
    """One row for every step; a single row is held."""
    rows = _rows(values, width)
    return rows * steps if len(rows) == 1 else rows
