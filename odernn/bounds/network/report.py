"""What ``certify`` answers: bounds of every layer, a verdict in words, the report as text. One form for every cell."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Generic, Literal, TypeAlias, TypeVar

from tabulate import tabulate

from odernn import notebook
from odernn.bounds.reconstruction import Precision

HEADERS = ("layer", "quantity", "bound", "by", "proved for")
NO_INFORMATION = "no information"
MOST_DECADES = 38.5
"""The largest float32: beyond it an error or a gradient is none that anybody could use."""
UNKNOWN = "nothing is known"
EVERY_INPUT, THESE_INPUTS = "every input", "|u| ≤ U"
FREE_DRIVE = "some inputs, where V u may be anything"
TOO_COARSE = "the dtype is too coarse"

BLOWN_UP = 6
"""Decades. What a theorem keeps within a million does not blow up, what is proved to reach it can."""
VERDICTS = ("cannot blow up", "can blow up", "not known")
SUBJECTS = (
    ("as rebuilt", "errors of rebuilt states"),
    ("ĥ'", ""),
    ("max_n", ""),
    ("h̄", ""),
    ("as computed", "computed states"),
    ("|dE/dθ|", "gradients"),
    ("∂ĥ", "computed small changes"),
    ("/ ‖h_1 − h'_1‖", "distances of two runs per ‖h_1 − h'_1‖"),
    ("/ ‖u − u'‖₂", "distances of two runs per ‖u − u'‖₂"),
    ("∂", "small changes"),
    ("n ≤ N", "states"),
)
"""A mark of a quantity, the first that it has, and what a verdict calls it; "": no verdict is about it."""
WIDTH = 80
BLOW_UP = f"To blow up is to exceed 10^{BLOWN_UP} within N steps. What is in brackets is proved."

LOG_10 = Fraction("2.302585092994045"), Fraction("2.302585092994046")
"""Below and above log 10."""

Sign: TypeAlias = Literal["≤", "≥", "≈"]


@dataclass(frozen=True)
class LogBound:
    """A natural logarithm, and the theorem that gave it."""

    value: float
    theorem: str

    def __str__(self) -> str:
        return f"≤ {power_of(self.value)} by {self.theorem}"

    def _repr_html_(self) -> str:
        return notebook.html("bounds", self)


@dataclass(frozen=True)
class QuantityBound:
    """One line of a report.

    quantity   what is bounded, as mathematics
    log        natural logarithm of the bound; None: there is none, and ``about`` says why
    theorem    its name in docs/derivations; "" without a bound
    about      for which inputs, and under which premise beyond those of the report
    sign       "≤", of a bound from below "≥", of an estimate, which is no bound, "≈"
    """

    quantity: str
    log: float | None
    theorem: str
    about: str = EVERY_INPUT
    sign: Sign = "≤"

    def _repr_html_(self) -> str:
        return notebook.html("bounds", self)


def unknown(quantity: str, why: str) -> QuantityBound:
    """A line for what no theorem here bounds."""
    return QuantityBound(quantity, None, "", why)


def computed_line(
    quantity: str,
    exact: float,
    computed: float | None,
    precision: Precision,
    theorem: str,
    about: str = EVERY_INPUT,
) -> QuantityBound:
    """The bound on what a run in the dtype computes, and how much of it is rounding; none where it may overflow."""
    if computed is None:
        return unknown(quantity, TOO_COARSE)
    computed = max(computed, exact)  # two ways to bound: of float64 the exact one can be rounded up by more
    if computed >= precision.log_largest:
        return unknown(quantity, f"it may overflow in {precision.name}")
    excess = computed - exact
    added = f"{math.expm1(excess):.1e} of it" if excess < 1 else f"a factor {power_of(excess)}"
    return QuantityBound(quantity, computed, theorem, f"{about}; rounding adds {added}")


@dataclass(frozen=True)
class LayerBounds:
    """What holds for one layer of any cell. Natural logarithms.

    layer   1..L
    bounds  the lines of the report
    says    what is known of this layer beyond numbers, a sentence each
    """

    layer: int
    bounds: tuple[QuantityBound, ...]
    says: tuple[str, ...]

    def __getitem__(self, quantity: str) -> QuantityBound:
        """The line about that quantity. Raises KeyError with those that there are."""
        for bound in self.bounds:
            if bound.quantity == quantity:
                return bound
        known = ", ".join(f'"{bound.quantity}"' for bound in self.bounds)
        raise KeyError(f'Layer {self.layer} has no line about "{quantity}". There are: {known}.')

    def _repr_html_(self) -> str:
        return notebook.html("bounds", self)


@dataclass(frozen=True)
class NeuronBounds(LayerBounds):
    """What holds for one layer of UnICORNN; the largest over its neurons unless it says "each".

    log_position, log_momentum    of |y_n|, |z_n|, n ≤ N, for every input                          thm-S
    log_positions, log_momenta    the same of each neuron
    log_computed_positions, log_computed_momenta    of the |ŷ_n|, |ẑ_n| that a run in this dtype computes, of each
                                  neuron; None if the dtype is too coarse for a bound              thm-S-float
    gradients                     of |dE/dθ| for every entry of each parameter          thm-G, thm-G-turns, thm-G-inf
    log_rebuilt_position, _momentum   of |ỹ_0 − y_0|, |z̃_0 − z_0| after ``inverse`` in this dtype   thm-F (a)
                                  None if the dtype is too coarse for a bound
    estimated_log_rebuilt         the typical √Q_α of that error, an estimate; None unless α > 0 and every neuron
                                  rotates                                                          thm-F (c)
    may_overflow                  whether the bounds on the states exceed the largest number of the dtype; then
                                  the bounds on what is rebuilt say nothing unless the states stayed finite
    regimes                       how many neurons rotate, are marginal, saddles, stiff            ``jacobian.regimes``
    neuron_regimes                of each neuron
    growth                        of ‖∂X_N/∂X_1‖₂, X = (y, z), its inputs held                     thm-J (b), (f)
    lower_rate, upper_rate        between them lies the largest growth rate a step of a neuron whose drive is free;
                                  no input exceeds the upper one                                   thm-J
    step_sizes                    smallest and largest h
    """

    log_position: float
    log_momentum: float
    log_positions: tuple[float, ...]
    log_momenta: tuple[float, ...]
    log_computed_positions: tuple[float, ...] | None
    log_computed_momenta: tuple[float, ...] | None
    gradients: Mapping[str, LogBound]
    log_rebuilt_position: float | None
    log_rebuilt_momentum: float | None
    estimated_log_rebuilt: float | None
    may_overflow: bool
    regimes: Mapping[str, int]
    neuron_regimes: tuple[str, ...]
    growth: LogBound
    lower_rate: float
    upper_rate: float
    step_sizes: tuple[float, float]


L = TypeVar("L", bound=LayerBounds, covariant=True)


@dataclass(frozen=True)
class NetworkBounds(Generic[L]):
    """The report of ``certify``, first layer first. ``print`` it for a table.

    cell         the class of the network            size     units of a layer
    steps        N                                   dtype    of its parameters
    input_bound  |u| ≤ U in every entry              target_bound   |ȳ| ≤ Ȳ, of the gradients of E
    """

    layers: tuple[L, ...]
    steps: int
    input_bound: float
    target_bound: float
    dtype: str
    cell: str
    size: int

    @property
    def verdict(self) -> str:
        """What can blow up in every layer, what cannot, and what is not known: lines of at most 80 columns."""
        return "\n".join(_verdict_lines(self.layers))

    @property
    def title(self) -> str:
        """Of what, and for which inputs: one line."""
        return (
            f"{self.cell}, {len(self.layers)} layer(s) of {self.size} neurons, {self.steps} steps, {self.dtype}, "
            f"|u| ≤ {self.input_bound:g}, |ȳ| ≤ {self.target_bound:g}."
        )

    def __str__(self) -> str:
        return _table(self)

    def _repr_html_(self) -> str:
        return notebook.html("bounds", self)


OPENING = (
    "Proved for these weights and n ≤ N, from the zero initial state or the learned one, without dropout:",
    "of h_n, the state of the exact recurrence, and ĥ_n, what a run in this dtype computes where nothing overflows,",
    "without TF32 and autocast.",
    "Jacobians and gradients are of exact arithmetic: those of a run may exceed them in the last digits.",
    "‖∂X_N/∂X_1‖ is how much a small change of a layer's state can grow in N − 1 steps, its inputs held fixed.",
    "E is the mean over n of ½|y_n − ȳ_n|², y the output of the last layer, or one of its terms; θ is any entry.",
)
"""Under which premises, and what the letters mean."""


def _table(report: NetworkBounds[LayerBounds]) -> str:
    """The title, the verdict, the premises, a line a bound, then the sentences."""
    rows = [
        (str(layer.layer), bound.quantity, shown(bound), bound.theorem or "–", bound.about)
        for layer in report.layers
        for bound in layer.bounds
    ]
    align = ("right", "left", "left", "left", "left")
    table = tabulate(rows, HEADERS, disable_numparse=True, colalign=align)
    said = "\n".join(sentences(report.layers))
    opening = "\n".join(OPENING)
    return f"{report.title}\n\n{report.verdict}\n\n{opening}\n\n{table}" + (f"\n\n{said}" if said else "")


# --- in words


def verdict_rows(layers: Iterable[LayerBounds]) -> list[tuple[str, str, str]]:
    """Layers with the same verdicts, one of ``VERDICTS``, and what it is about with the bounds: a row for each."""
    about: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for layer in layers:
        about.setdefault(tuple(_grouped(layer)), []).append(str(layer.layer))
    return [(", ".join(numbers), *group) for groups, numbers in about.items() for group in groups]


def _grouped(layer: LayerBounds) -> Iterator[tuple[str, str]]:
    """A verdict, and "subject, subject (why); subject (why)"; a line breaks at the spaces between them alone."""
    verdicts: dict[str, dict[str, list[str]]] = {verdict: {} for verdict in VERDICTS}
    for subject, (verdict, why) in verdicts_of(layer).items():
        verdicts[verdict].setdefault(why, []).append(subject)
    for verdict, subjects in verdicts.items():
        parts = [f"{', '.join(names)} ({why})" for why, names in subjects.items()]
        if parts:
            yield verdict, "; ".join(parts)


def _verdict_lines(layers: Iterable[LayerBounds]) -> Iterator[str]:
    shown = ""
    for numbers, verdict, about in verdict_rows(layers):
        if numbers != shown:
            yield from textwrap.wrap(f"Layer {numbers}", WIDTH)
        shown = numbers
        bound = about.replace("≤ ", "≤\N{NO-BREAK SPACE}").replace(" ≤", "\N{NO-BREAK SPACE}≤")
        lines = textwrap.wrap(f"{verdict:<14}  {bound}", WIDTH, initial_indent="  ", subsequent_indent=" " * 18)
        yield from (line.replace("\N{NO-BREAK SPACE}", " ") for line in lines)
    yield BLOW_UP


def verdicts_of(layer: LayerBounds) -> dict[str, tuple[str, str]]:
    """What the lines of a layer are about -> one of ``VERDICTS`` by the worst of them, and the bound, or why none.

    "can blow up" is a bound from below of 10⁶, "cannot" one from above; estimates and growth in a step decide nothing.
    """
    found: dict[str, list[QuantityBound]] = {}
    subject: str | None = None
    for bound in layer.bounds:
        if bound.sign != "≥":  # one from below is of the quantity of the line above it
            subject = next((name for mark, name in SUBJECTS if mark in bound.quantity), None)
        if subject and bound.sign != "≈":
            found.setdefault(subject, []).append(bound)
    return {subject: _verdict_of(bounds) for subject, bounds in found.items()}


def _verdict_of(bounds: list[QuantityBound]) -> tuple[str, str]:
    """Of the lines about one thing, some of them from below."""
    cannot, can, unclear = VERDICTS
    limit, below = BLOWN_UP * math.log(10), ""
    lower = [(bound.log, bound.about) for bound in bounds if bound.sign == "≥" and bound.log is not None]
    if lower:
        log, about = max(lower)
        below = f"≥ {power_of(log, is_lower=True)}, {about}"
        if log >= limit:
            return can, below
    missing = [bound.about for bound in bounds if bound.log is None]
    if missing:
        return unclear, missing[0]
    log, about = max((bound.log, bound.about) for bound in bounds if bound.sign == "≤" and bound.log is not None)
    condition = f", {THESE_INPUTS}" if about.startswith(THESE_INPUTS) else ""
    upper = f"≤ {power_of(log)}{condition}"
    if log <= limit:
        return cannot, upper
    return unclear, f"{upper}; {below}" if below else upper


def sentences(layers: Iterable[LayerBounds]) -> list[str]:
    """What is said of layers beyond numbers: each sentence once, with the layers that it is about."""
    about: dict[str, list[str]] = {}
    for layer in layers:
        for sentence in layer.says:
            about.setdefault(sentence, []).append(str(layer.layer))
    return [f"layer {', '.join(numbers)}: {sentence}" for sentence, numbers in about.items()]


def shown(bound: QuantityBound) -> str:
    """≤ or ≥ and the number; that nothing is known, or that the bound is none that a float could hold."""
    if bound.log is None:
        return UNKNOWN
    if bound.sign == "≤" and bound.log > MOST_DECADES * math.log(10):
        return NO_INFORMATION
    is_lower = bound.sign == "≥"
    return f"{bound.sign} {power_of(bound.log, is_lower=is_lower)}"


def power_of(log: float | None, *, is_lower: bool = False) -> str:
    """e^log with three digits, near 1 as 1 ± a difference, as a power of ten from 10⁶ on and below 10⁻⁴; – for None.

    Rounded as ``decades`` rounds.
    """
    if log is None:
        return "–"
    if math.isinf(log):
        return "0" if log < 0 else "∞"
    if not -4 <= log / math.log(10) < 6:
        return f"10^{decades(log, 1, is_lower=is_lower)}"
    with localcontext(prec=60):
        number = Fraction(Decimal(log).exp())
    if 0 < abs(number - 1) < Fraction(1, 200):
        above = number > 1
        return f"1 {'+' if above else '−'} {_digits(abs(number - 1), 2, is_lower is above)}"
    return _digits(number, 3, is_lower)


def decades(log: float, places: int | None = None, *, is_lower: bool = False) -> Decimal:
    """A natural logarithm as a power of ten, not below it; of a bound from below, not above it.

    places  decimals; four significant digits if not given
    """
    power = Fraction(log) / LOG_10[(log < 0) is not is_lower]
    if places is None:
        places = max(3 - math.floor(math.log10(abs(power))), 0) if power else 0
    return _outward(power, places, is_lower)


def _digits(number: Fraction, count: int, is_lower: bool) -> str:
    """``number`` > 0 with that many significant digits."""
    places = count - 1 - math.floor(math.log10(number))
    return f"{float(_outward(number, places, is_lower)):.{count}g}"


def _outward(number: Fraction, places: int, is_lower: bool) -> Decimal:
    """``number`` with that many decimals, rounded up, of a bound from below down."""
    scaled = number * Fraction(10) ** places
    return Decimal(math.floor(scaled) if is_lower else math.ceil(scaled)).scaleb(-places)
