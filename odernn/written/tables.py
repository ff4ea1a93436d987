"""Rows as a table of HTML that stands in anybody's page: no script, no style sheet, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tabulate import tabulate


def harmless(text: object) -> str:
    """One line of which every character shows itself: none that turns the direction of others, no control codes."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(str(text).splitlines()))


def paragraph(text: object, *, strong: str = "") -> str:
    """A paragraph, ``strong`` in front of it in bold."""
    head = f"<strong>{escape(harmless(strong))}</strong>" if strong else ""
    return f"<p>{head}{escape(harmless(text))}</p>"


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], align: Sequence[str]) -> str:
    """A table; ``align`` of each column is "left" or "right". Numbers stay as they were written."""
    cells = [[harmless(cell) for cell in row] for row in rows]
    if not cells:
        return paragraph("(no rows)")
    made = tabulate(
        cells, list(map(harmless, headers)), tablefmt="html", disable_numparse=True, colalign=align, headersalign=align
    )
    return str(made)
