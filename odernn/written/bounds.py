"""Bounds in a notebook: the verdict, and a row a quantity with the decimal logarithm of its bound and its theorem."""

from __future__ import annotations

import math
from typing import Any

from odernn.bounds.network.report import (
    BLOW_UP,
    OPENING,
    UNKNOWN,
    LayerBounds,
    LogBound,
    NetworkBounds,
    QuantityBound,
    decades,
    sentences,
    verdict_rows,
)
from odernn.written.tables import paragraph, table

HEADERS = ("layer", "quantity", "log₁₀ of the bound", "theorem", "proved for")
ALIGN = ("right", "left", "right", "left", "left")


def html(shown: NetworkBounds[Any] | LayerBounds | QuantityBound | LogBound) -> str:
    """The report of ``certify``, one layer of it, or a single bound."""
    if isinstance(shown, LogBound):
        return table(HEADERS[2:4], [(_decades(shown.value), shown.theorem)], ALIGN[2:4])
    if isinstance(shown, QuantityBound):
        return table(HEADERS[1:], [_row(shown)], ALIGN[1:])
    if isinstance(shown, LayerBounds):
        return _layers((shown,))
    about = f": {shown.title} {' '.join(OPENING)} Rounded outward; ≈ marks an estimate."
    verdict = table(("layer", "verdict", "of what"), verdict_rows(shown.layers), ("right", "left", "left"))
    said = "".join(paragraph(sentence) for sentence in sentences(shown.layers))
    opening = f"{paragraph(about, strong='certify')}{verdict}{paragraph(BLOW_UP)}"
    return f"<div>{opening}{_layers(shown.layers)}{said}</div>"


def _layers(layers: tuple[LayerBounds, ...]) -> str:
    rows = [(str(layer.layer), *_row(bound)) for layer in layers for bound in layer.bounds]
    return table(HEADERS, rows, ALIGN)


def _row(bound: QuantityBound) -> tuple[str, str, str, str]:
    """Quantity, bound, theorem, for which inputs or why not."""
    if bound.log is None:
        return bound.quantity, UNKNOWN, "–", bound.about
    sign = "" if bound.sign == "≤" else f"{bound.sign} "
    return bound.quantity, sign + _decades(bound.log, is_lower=bound.sign == "≥"), bound.theorem, bound.about


def _decades(log: float, *, is_lower: bool = False) -> str:
    """A natural logarithm in powers of ten, not below it; of a bound from below, not above it."""
    if math.isinf(log):
        return "−∞: it is 0" if log < 0 else "∞"
    return f"{decades(log, is_lower=is_lower):f}".replace("-", "−")
