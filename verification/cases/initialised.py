"""Printed networks with weights that the papers' initialisation draws (App. A): w in [0, 1], |c| ≤ 1/10, b = 0, and
|V_ij| ≤ √(6/(65 fan_in)). The rungs are those of ``verification.domains``.

A chain of single neurons with c = 0 stands for the printed network in which all other entries of V are 0: then the norm
of V^q is that of the one entry, and a neuron apart from it adds nothing. The real input is a channel of digits, as they
are laid out for the row.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from odernn.published.networks import PublishedRow
from verification.adversary import step_products
from verification.cases.inequality import BITS, Inequality
from verification.cases.nominate import first_violation, glance, rounded_up
from verification.certify import every_network
from verification.certify.second import every_network as every_network_again
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import RANGE, REAL_RANGE, Budget, Rung, rung_name
from verification.exact_text import rational, rationals
from verification.kinds import Constant, Integer, Kind, Listed, NotOfThisKindError, Rational, Rows, Values
from verification.parameters import Declaration, Parameter, declared
from verification.tasks import digits, sequences

LARGEST_C = Fraction(1, 10)
MIDDLE = Fraction(1, 2)
"""The mean of w."""
LONGEST = 1300
"""Steps of a chain of three layers: its check has 4,000 steps of a neuron at most."""


def largest_weight(row: PublishedRow, layer: int) -> Fraction:
    """|V_ij| of a layer, rounded down to 1/10000: √(6/(65 fan_in))."""
    fan_in = row.input_size if layer == 1 else row.hidden_size
    return Fraction(math.isqrt(6 * 10**8 // (65 * fan_in)), 10**4)


def largest_row_sum(row: PublishedRow) -> Fraction:
    """‖V^q‖_∞ of a layer above the first, rounded up to 1/10000: m √(6/(65 m))."""
    return Fraction(math.isqrt(6 * 10**8 * row.hidden_size // 65) + 1, 10**4)


# --- kinds


@dataclass(frozen=True)
class _DrawnEntries:
    """V_1 V_2 … of a chain, one entry a layer, none of them 0."""

    most: tuple[Fraction, ...]

    def __str__(self) -> str:
        return f"a list of numbers ≠ 0 of at most {', '.join(map(str, self.most))} in modulus, as they are drawn"

    @property
    def _listed(self) -> Listed:
        return Listed(Rational(nonzero=True), len(self.most))

    def read(self, text: str, values: Values) -> tuple[Fraction, ...]:
        entries: tuple[Fraction, ...] = self._listed.read(text, values)
        if any(abs(entry) > most for entry, most in zip(entries, self.most, strict=True)):
            raise NotOfThisKindError("one is larger")
        return entries

    def write(self, value: tuple[Fraction, ...]) -> str:
        return rationals(value)

    def draw(self, rng: random.Random, values: Values) -> tuple[Fraction, ...]:
        return tuple(Rational(least=-most, most=most, nonzero=True).draw(rng, values) for most in self.most)


@cache
def _pixels(row: PublishedRow) -> tuple[Fraction, ...]:
    """The first channel of the first real sequence of the row: pixels in sixteenths."""
    longest = min(row.steps, LONGEST)
    u = sequences.build(digits.load(), steps=longest, input_size=row.input_size, batch=1, kind=row.kind, seed=0)
    return tuple(Fraction(float(value)) for value in u[:, 0, 0])


@dataclass(frozen=True)
class _Pixels:
    """The first N pixels of a channel of digits, as the row reads them."""

    row: PublishedRow

    def __str__(self) -> str:
        return f"the first N pixels that a channel of {self.row.name} reads of scikit-learn's digits"

    def _wanted(self, values: Values) -> tuple[Fraction, ...]:
        return _pixels(self.row)[: int(values["N"])]

    def read(self, text: str, values: Values) -> tuple[Fraction, ...]:
        wanted = self._wanted(values)
        if text != rationals(wanted):
            raise NotOfThisKindError("")
        return wanted

    def write(self, value: tuple[Fraction, ...]) -> str:
        return rationals(value)

    def draw(self, _rng: random.Random, values: Values) -> tuple[Fraction, ...]:
        return self._wanted(values)


def chain_parameters(row: PublishedRow, rung: Rung, longest: int) -> Declaration:
    """A chain of the row, of which dX^L_N/dX^1_k is asked."""
    L = row.num_layers
    inputs: Kind = _Pixels(row) if rung == REAL_RANGE else Rows(Rational(), 1, lambda values: (1, values["N"]))
    return declared(
        Parameter("alpha", Constant(row.alpha)),
        Parameter("dt", Constant(row.dt[-1])),
        Parameter("N", Integer(2, longest)),
        Parameter("k", Integer(1, lambda values: int(values["N"]) - 1)),
        Parameter("w", Rows(Rational(least=0, most=1), 1, lambda _: (L,))),
        Parameter("layer", Constant(1)),
        Parameter("V", _DrawnEntries(tuple(largest_weight(row, layer) for layer in range(1, L + 1)))),
        Parameter("b", Constant(" ".join(["0"] * L))),
        Parameter("u", inputs),
        Parameter("target", Constant("0")),
        is_costly=True,
    )


# --- chains whose lower layers make the growth


def _chain(row: PublishedRow, w: list[Fraction], u: list[Fraction]) -> Parameters:
    """From step k = 1 of layer 1 to the last step of the top layer; V about what is drawn."""
    V = [largest_weight(row, layer) * 9 / 10 for layer in range(1, row.num_layers + 1)]
    return {
        "alpha": rational(row.alpha),
        "dt": rational(row.dt[-1]),
        "N": str(len(u)),
        "k": "1",
        "w": rationals(w),
        "layer": "1",
        "V": rationals(V),
        "b": " ".join(["0"] * row.num_layers),
        "u": rationals(u),
        "target": "0",
    }


def _on_pixels(row: PublishedRow, longest: int) -> Iterator[Parameters]:
    """All w at their mean; later and later steps."""
    pixels = list(_pixels(row))
    for N in filter(lambda steps: steps <= longest, (20, 40, 80, 120, 200, 400, 700, 1000, LONGEST)):
        yield _chain(row, [MIDDLE] * row.num_layers, pixels[:N])


_SATURATED = 6
"""|A| of a saturated step: σ′ = 2.5e-5."""
_MILD_FIRST = tuple(
    (Fraction(first), Fraction(above))
    for first, above in (("1/2", "1/4"), ("5/8", "5/16"), ("3/4", "3/10"), ("1", "2/5"), ("1", "3/10"))
)
"""w of the first layer and of those above, from the mean to the end of the range."""


def _on_words(row: PublishedRow, longest: int) -> Iterator[Parameters]:
    """Inputs 0, U and −U in the first layer: A is near 0 where κ = α + w makes the product grow, else σ′ is near 0."""
    alpha, h, V = float(row.alpha), float(row.dt[-1]) / 2, largest_weight(row, 1) * 9 / 10
    size = Fraction(round(_SATURATED / V))
    for first, above in _MILD_FIRST:
        w = [first, *[above] * (row.num_layers - 1)]
        word = step_products.largest(alpha, [float(each) for each in w], h, longest - 1, starts=4).high
        u, y, z = [Fraction(0)], 0.0, 0.0
        for is_high in word:
            u.append(Fraction(0) if is_high else size if y >= 0 else -size)
            z -= h * (math.tanh(float(first) * y + float(V * u[-1])) + alpha * y)
            y += h * z
        yield _chain(row, w, u)


def _bits(row: PublishedRow, steps: int) -> int:
    """Of balls around states: and derivatives: radii of both grow like |B|, by e^{2 asinh(h√κ/2)} a step, κ ≤ α + 1."""
    rate = 2 * math.asinh(float(row.dt[-1]) / 4 * math.sqrt(float(row.alpha) + 1))
    return BITS + math.ceil(2.5 * steps * rate / math.log(2))


def product_cases(row: PublishedRow, quantity: str, finite: Callable[[Declaration], Inequality]) -> tuple[Case, ...]:
    """‖dX^L_n/dX^1_k‖_∞ of a chain of the row, with any inputs and with pixels. ``finite`` makes the inequality."""
    longest = min(row.steps, LONGEST)
    bits = _bits(row, longest)

    def case(rung: Rung, points: Callable[[PublishedRow, int], Iterator[Parameters]], tried: str) -> Case:
        inequality = replace(finite(chain_parameters(row, rung, longest)), bits=bits)

        def ask(_: Budget, __: int) -> Attempt:
            return first_violation((inequality,), points(row, longest), tried, bits)

        return Case(rung_name(row, rung), quantity, ask, inequality.check, reading="printed")

    words = f"n ≤ {longest}, c = 0, inputs 0 and ±U in words by coordinate ascent, w from 1/2 to 1"
    return (
        case(RANGE, _on_words, words),
        case(REAL_RANGE, _on_pixels, f"n ≤ {longest}, w = 1/2 and c = 0, the means of what is drawn, on digits"),
    )


# --- inputs of any size


def large_input_case(row: PublishedRow, quantity: str, finite: Callable[[Declaration], Inequality]) -> Case:
    """θ = V^1 = 0: the chain rests whatever its input is, and |dE/dV^1| is |u| times a number that does not depend on
    it. The least |u| of two digits that exceeds what ``finite`` claims, by a hundredth at least.
    """
    template = _chain(row, [MIDDLE] * row.num_layers, [Fraction(1)])
    template = {**template, "N": str(row.steps), "target": "1", "V": " ".join(["0", *template["V"].split()[1:]])}
    kinds: dict[str, Kind] = {"w": Rows(Rational(least=0, most=1), 1, lambda _: (row.num_layers,)), "u": Rational()}
    parameters = declared(
        *(Parameter(name, kinds.get(name, Constant(template[name]))) for name in template if name != "k"),
        is_costly=True,
    )
    bits = _bits(row, row.steps)
    inequality = replace(finite(parameters), bits=bits)

    def ask(_: Budget, __: int) -> Attempt:
        point = {name: template[name] for name in parameters.names}
        sides = glance(inequality, point, bits)
        if sides is None:
            return Attempt("", 0)
        point["u"] = str(rounded_up(math.exp(sides[1] - sides[0]) * 1.01))
        return first_violation((inequality,), (point,), "w = 1/2, c = 0, V^1 = 0, one input for all steps", bits)

    return Case(rung_name(row, RANGE), quantity, ask, inequality.check, reading="printed")


# --- all networks of a box at once


@dataclass(frozen=True)
class WeightBox:
    """low ≤ w ≤ high, |c| and |b| at most so much, ‖V^L‖_∞ ≤ V ≠ 0: in the two top layers, all neurons."""

    low: Fraction
    high: Fraction
    c: Fraction
    b: Fraction
    V: Fraction

    def parameters(self, row: PublishedRow, longest: int) -> Declaration:
        names = ("low", "high", "c", "b", "V")
        return declared(
            Parameter("alpha", Constant(row.alpha)),
            Parameter("dt", Constant(row.dt[-1])),
            Parameter("N", Integer(2, longest)),
            *(Parameter(name, Constant(getattr(self, name))) for name in names),
        )

    def __str__(self) -> str:
        return f"{self.low} ≤ w ≤ {self.high}, |c| ≤ {self.c}, |b| ≤ {self.b}, ‖V^L‖_∞ ≤ {self.V}"


def drawn_box(row: PublishedRow) -> WeightBox:
    """What the initialisation draws from."""
    return WeightBox(Fraction(0), Fraction(1), LARGEST_C, Fraction(0), largest_row_sum(row))


MOST_LAGS = 40


def every_network_case(row: PublishedRow, rung: Rung, box: WeightBox, premises: tuple[Hypothesis, ...]) -> Case:
    """‖dX^L_N/dX^{L−1}_1‖_∞ ≤ dt ‖V^L‖_∞ e^{(N−1)w̄^L dt}, both sides over ‖V^L‖_∞: the least left side of the box under
    every input, against the largest right side.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        size = (abs(p.low).max(abs(p.high)) + p.alpha).max(2)
        return every_network.least_jacobian_norm(p), p.dt * (size * (p.N - 1) * p.dt).exp()

    def intervals(p: Any) -> tuple[Any, Any]:
        size = second.iv.mpf(max(abs(p.low).b, abs(p.high).b)) + p.alpha
        exponent = (int(p.texts["N"]) - 1) * p.dt * second.iv.mpf(max(size.b, 2))
        return every_network_again.least_norm(p), second.iv.exp(exponent) * p.dt

    inequality = Inequality(balls, intervals, premises, parameters=box.parameters(row, MOST_LAGS), are_same=False)

    def ask(_: Budget, __: int) -> Attempt:
        texts = {"alpha": str(row.alpha), "dt": str(row.dt[-1])}
        texts |= {name: str(getattr(box, name)) for name in ("low", "high", "c", "b", "V")}
        points = [{**texts, "N": str(N)} for N in range(2, MOST_LAGS + 1)]
        seen = [(sides, point) for point in points if (sides := glance(inequality, point)) is not None]
        sides, best = max(seen, key=lambda each: each[0][0] - each[0][1])
        tried = f"n − k < {MOST_LAGS}, all networks with {box} and all inputs at once"
        return Attempt(tried, len(points), *sides, candidates=(best,) if sides[0] > sides[1] else ())

    quantity = "‖dX^L_n/dX^{L−1}_k‖_∞ of every network, every input"
    return Case(rung_name(row, rung), quantity, ask, inequality.check)
