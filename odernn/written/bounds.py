"""Bounds in a notebook: a row a quantity, the decimal logarithm of its bound, and the theorem that gives it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from odernn.bounds.network.report import LayerBounds, LogBound, NetworkBounds
from odernn.written.tables import paragraph, table

DIGITS = 4
"""Of a logarithm: the last one is rounded up, so that what is shown is a bound as well."""

LOG_10 = Fraction("2.302585092994045"), Fraction("2.302585092994046")
"""Below and above log 10."""

HEADERS = ("layer", "quantity", "log₁₀ of the bound", "theorem")
ALIGN = ("right", "left", "right", "left")
NO_BOUND = "none: the dtype is too coarse"


def html(shown: NetworkBounds | LayerBounds | LogBound) -> str:
    """The report of ``certify``, one layer of it, or a single bound."""
    if isinstance(shown, LogBound):
        return table(HEADERS[2:], [(_decades(shown.value), shown.theorem)], ALIGN[2:])
    if isinstance(shown, LayerBounds):
        return _layers((shown,))
    size = f"UnICORNN, {len(shown.layers)} layers of {len(shown.layers[0].log_positions)} neurons"
    about = (
        f": {size}, {shown.steps} steps, {shown.dtype}, |u| ≤ {shown.input_bound:g}, |ȳ| ≤ {shown.target_bound:g}. "
        "Upper bounds for these weights and every input, rounded up; † marks a layer whose numbers may overflow."
    )
    return f"<div>{paragraph(about, strong='certify')}{_layers(shown.layers)}</div>"


def _layers(layers: tuple[LayerBounds, ...]) -> str:
    rows = []
    for layer in layers:
        mark = "†" if layer.may_overflow else ""
        rows += [(f"{layer.layer}{mark}", *row) for row in _rows(layer)]
    return table(HEADERS, rows, ALIGN)


def _rows(layer: LayerBounds) -> Iterator[tuple[str, str, str]]:
    """Quantity, bound, theorem."""
    computed = layer.log_computed_positions, layer.log_computed_momenta
    largest = [None if logs is None else max(logs) for logs in computed]
    yield "|y_n|, n ≤ N", _decades(layer.log_position), "thm-S"
    yield "|z_n|, n ≤ N", _decades(layer.log_momentum), "thm-S"
    yield "|ŷ_n| as computed", _decades(largest[0]), "thm-S-float"
    yield "|ẑ_n| as computed", _decades(largest[1]), "thm-S-float"
    for name, bound in layer.gradients.items():
        yield f"|dE/dθ|, θ = {name}", _decades(bound.value), bound.theorem
    yield "|ỹ_0 − y_0| as rebuilt", _decades(layer.log_rebuilt_position), "thm-F (a)"
    yield "|z̃_0 − z_0| as rebuilt", _decades(layer.log_rebuilt_momentum), "thm-F (a)"
    if layer.estimated_log_rebuilt is not None:
        yield "≈ √Q of that error, an estimate", _decades(layer.estimated_log_rebuilt), "thm-F (c)"
    yield "growth of a neuron in a step", _decades(layer.upper_rate), "thm-J"


def _decades(log: float | None) -> str:
    """A natural logarithm in powers of ten, not below it."""
    if log is None:
        return NO_BOUND
    if math.isinf(log):
        return "−∞: it is 0" if log < 0 else "∞"
    decades = Fraction(log) / LOG_10[log < 0]
    places = max(DIGITS - 1 - math.floor(math.log10(abs(decades))), 0) if decades else 0
    up = Decimal(math.ceil(decades * 10**places)).scaleb(-places)
    return f"{up:.{places}f}".replace("-", "−")
