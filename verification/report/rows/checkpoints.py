"""The table of a trained network: what holds for its weights on these sequences. Pure functions of the rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from verification import verdict
from verification.report.numbers import NOT_AVAILABLE, decades, minus, plural, size
from verification.report.table import Cell, Column, Table
from verification.trained.row import FAILS, Row, said

COLUMNS = (
    Column("layer"),
    Column("quantity", width=26),
    Column("statement", width=16),
    Column("premises", width=30, spare=True),
    Column("bound", "right"),
    Column("measured", "right"),
    Column("largest", "right", spare=True),
    Column("slack (decades)", "right"),
    Column("verdict", width=44, least=12),
    Column("at", width=12, spare=True),
)
LABEL = "{:<10} "


def table(rows: Sequence[Row], *, title: str, caption: Sequence[str]) -> Table:
    """Rows in their order. ``caption`` says what was loaded, from where."""
    return Table(
        title=title,
        columns=COLUMNS,
        rows=tuple(map(_cells, rows)),
        caption=(*caption, *EXPLAINED),
        records=tuple(map(record, rows)),
    )


EXPLAINED = (
    "slack: least log₁₀(bound/measured) over n, neurons and sequences; bound and measured are those of that place, at; "
    "largest: what was measured anywhere, where a bound that grows with n may be far. Measured in float64 with the "
    "weights as they are, except where a dtype is named.",
    "proved: for these weights and every input. not-refuted, theorem, tested: it holds on these sequences, and nothing "
    "was searched. refuted: exceeded on this data, certified by two back-ends; suspect: exceeded, not certified. "
    "holds, fails: of a margin, which must be positive.",
)


def _cells(row: Row) -> tuple[str | Cell, ...]:
    strong = row.verdict in (verdict.REFUTED, FAILS)
    word = Cell("" if strong else row.shown or NOT_AVAILABLE, row.verdict if strong else "", remark=row.because)
    measured = size(row.log_measured) if row.kind == "bound" else number(row.value)
    return (
        str(row.layer) if row.layer else "all",
        row.quantity,
        row.statement or row.source or NOT_AVAILABLE,
        "; ".join(map(said, row.premises)) or NOT_AVAILABLE,
        size(row.log_bound),
        measured,
        size(row.log_largest),
        decades(row.slack),
        word,
        row.at or NOT_AVAILABLE,
    )


def number(value: float | None) -> str:
    """A measured number with its sign, as ``size`` writes magnitudes; NaN and infinities by name.

    >>> number(-0.5), number(3e-9), number(0.0), number(None)
    ('−0.500', '10^−8.5', '0', '–')
    """
    if value is None:
        return NOT_AVAILABLE
    if not math.isfinite(value):
        return minus(str(value))
    if value == 0.0:
        return "0"
    return ("−" if value < 0 else "") + size(math.log(abs(value)))


def record(row: Row) -> Mapping[str, Any]:
    """Every field, unrounded; numbers that are not finite are None."""

    def finite(value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    return {
        "kind": row.kind,
        "layer": row.layer,
        "quantity": row.quantity,
        "statement": row.statement,
        "source": row.source,
        "origin": row.origin,
        "premises": [premise.text for premise in row.premises],
        "premise_margins": [
            None if premise.margin is None else finite(float(premise.margin)) for premise in row.premises
        ],
        "premises_hold": [premise.holds for premise in row.premises],
        "log_bound": finite(row.log_bound),
        "log_measured": finite(row.log_measured),
        "log_largest": finite(row.log_largest),
        "value": finite(row.value),
        "slack": finite(row.slack),
        "verdict": row.verdict,
        "shown": row.shown,
        "because": row.because,
        "at": row.at,
        "reading": row.reading,
    }


def summary(rows: Sequence[Row]) -> list[str]:
    """Lines above the table: verdicts counted, margins that fail, and the bound that is nearest to being reached."""
    bounds = [row for row in rows if row.kind == "bound"]
    margins = [row for row in rows if row.kind == "margin"]
    lines = []
    if bounds:
        order = {name: place for place, name in enumerate(verdict.PRECEDENCE)}
        counts = Counter(row.shown for row in sorted(bounds, key=lambda row: order[row.verdict]))
        shown = " · ".join(f"{count} {name}" for name, count in counts.items())
        lines.append(LABEL.format("bounds") + f"{plural(len(bounds), 'row')}: {shown}")
        tried = [row for row in bounds if row.slack is not None and row.origin == "published"]
        if tried:
            nearest = min(tried, key=lambda row: row.slack if row.slack is not None else math.inf)
            lines.append(
                LABEL.format("nearest") + f"{nearest.statement}, layer {nearest.layer}, {nearest.quantity}: "
                f"{size(nearest.log_measured)} of {size(nearest.log_bound)}, slack {decades(nearest.slack)} decades"
            )
    failing = [row for row in margins if row.verdict == FAILS]
    if margins:
        names = "; ".join(f"layer {row.layer}, {row.quantity}" for row in failing)
        others = f"{len(margins) - len(failing)} of {len(margins)} do not fail"
        lines.append(LABEL.format("margins") + others + (f"; these fail: {names}" if failing else ""))
    for row in bounds:
        if row.verdict in (verdict.REFUTED, verdict.SUSPECT):
            lines.append(
                LABEL.format(row.verdict) + f"{row.statement}, layer {row.layer}, {row.quantity}: measured "
                f"{size(row.log_measured, 6)} > bound {size(row.log_bound, 6)} at {row.at or 'this data'}; "
                f"{row.because}"
            )
    return lines
