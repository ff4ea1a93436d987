"""The arrays of methods above a table: in text, in LaTeX, and as numbers for programs (``odernn.written.arrays``)."""

from __future__ import annotations

from collections.abc import Sequence

from odernn.tableaus.methods import Method
from odernn.written import arrays
from verification.report.formats.latex import escape
from verification.report.table import Figure


def figure(methods: Sequence[Method], places: int | None = None) -> Figure:
    """The arrays of the methods, beside each other where the page is wide enough."""
    titles = [str(method.name) if len(methods) > 1 else "" for method in methods]
    titled = list(zip(methods, titles, strict=True))

    def drawn(page: int) -> str:
        return arrays.beside([arrays.text(method, places, title=title, page=page) for method, title in titled], page)

    return Figure(
        text=drawn(arrays.PAGE),
        latex="\n".join(arrays.latex(method, places, title=escape(title)) for method, title in titled),
        data=tuple(arrays.data(method, places) for method in methods),
        drawn=drawn,
    )
