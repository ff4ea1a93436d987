"""A table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from tabulate import tabulate

from odernn.written.lines import padded, wrapped
from verification.report.fit import MARGIN
from verification.report.table import Column, Table

CAPTION_WIDTH = 110
"""Of captions and footnotes, where the table is made for no width."""
MOST_TOGETHER = 2
"""Lines of a row that needs no empty line before and after it."""


def render(table: Table) -> str:
    """Title, table, footnotes, caption. Numbers stay as they were written: tabulate must not parse them."""
    wide = table.width or CAPTION_WIDTH
    lines = [*(wrapped(table.title, wide) if table.width else [table.title]), ""] if table.title else []
    if table.figure is not None:
        lines += [*(" " * MARGIN + line for line in table.figure.text.split("\n")), ""]
    if table.rows and table.width is not None and all(column.width for column in table.columns):
        lines += _squeezed(table)
    elif table.rows:
        lines.append(
            tabulate(
                [[str(cell) for cell in row] for row in table.rows],
                headers=[_header(column) for column in table.columns],
                tablefmt="simple",
                disable_numparse=True,
                colalign=[column.align for column in table.columns],
                headersalign=[column.align for column in table.columns],
                maxcolwidths=[column.width for column in table.columns],
            )
        )
    else:
        lines.append("(no rows)")
    if table.notes:
        lines.append("")
        for number, note in enumerate(table.notes, 1):
            mark = f"[{number}] "
            lines += wrapped(note, wide, first=mark, rest=" " * len(mark))
    if table.caption:
        lines.append("")
        lines += [part for line in table.caption for part in wrapped(line, wide)]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


def _header(column: Column) -> str:
    """Numbers are short: their header is broken at its spaces, so that it does not widen the column."""
    if column.align == "left" and (column.width is None or len(column.name) <= column.width):
        return column.name
    return column.name.replace(" ", "\n")


def _squeezed(table: Table) -> list[str]:
    """The table in columns of exactly their widths, cells wrapped: tabulate leaves more room.

    Rows stand apart where it would not be seen where one begins: of many lines, or with several in the first column.
    """
    widths = [column.width or 1 for column in table.columns]
    heads = [_header(column) for column in table.columns]
    gap = " " * table.gap
    rule = gap.join("-" * wide for wide in widths)
    lines = [*_wrapped(heads, table.columns, widths, gap), rule]
    before = False
    for number, row in enumerate(table.rows):
        drawn = _wrapped(list(map(str, row)), table.columns, widths, gap)
        tall = len(drawn) > MOST_TOGETHER or any(line[: widths[0]].strip() for line in drawn[1:])
        if number and (before or tall):
            lines.append("")
        lines += drawn
        before = tall
    return lines


def _wrapped(texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int], gap: str) -> list[str]:
    """One row of cells, as many lines as the tallest of them has."""
    cells = [
        [part for line in text.split("\n") for part in wrapped(line, wide, hyphens=True) or [""]]
        for text, wide in zip(texts, widths, strict=True)
    ]
    lines = []
    for parts in zip_longest(*cells, fillvalue=""):
        aligned = zip(parts, columns, widths, strict=True)
        lines.append(gap.join(padded(part, wide, column.align) for part, column, wide in aligned))
    return lines
