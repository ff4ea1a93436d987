"""A table for a terminal."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest

from tabulate import tabulate

from verification.report.table import Column, Table

CAPTION_WIDTH = 110
"""Of captions and footnotes, where the table is made for no width."""


def render(table: Table) -> str:
    """Title, table, footnotes, caption. Numbers stay as they were written: tabulate must not parse them."""
    wide = table.width or CAPTION_WIDTH
    lines = [table.title, ""] if table.title else []
    if table.figure is not None:
        lines += [*(f"  {line}" for line in table.figure.text.split("\n")), ""]
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
            lines += textwrap.wrap(note, wide, initial_indent=mark, subsequent_indent=" " * len(mark))
    if table.caption:
        lines.append("")
        lines += [part for line in table.caption for part in textwrap.wrap(line, wide)]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


def _header(column: Column) -> str:
    """Numbers are short: their header is broken at its spaces, so that it does not widen the column."""
    if column.align == "left" and (column.width is None or len(column.name) <= column.width):
        return column.name
    return column.name.replace(" ", "\n")


def _squeezed(table: Table) -> list[str]:
    """The table in columns of exactly their widths, one character apart, cells wrapped: tabulate leaves more room."""
    widths = [column.width or 1 for column in table.columns]
    heads = [_header(column) for column in table.columns]
    rule = " ".join("-" * wide for wide in widths)
    lines = [*_wrapped(heads, table.columns, widths), rule]
    for row in table.rows:
        lines += _wrapped(list(map(str, row)), table.columns, widths)
    return lines


class _Lines(textwrap.TextWrapper):
    """Words that are longer than a line are broken after a "/" or "_" where they have one: paths, and names."""

    def _split(self, text: str) -> list[str]:
        words = super()._split(text)
        return [part for word in words for part in (re.split(r"(?<=[/_])", word) if len(word) > self.width else [word])]


def _wrapped(texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    """One row of cells, as many lines as the tallest of them has."""
    cells = [
        [part for line in text.split("\n") for part in _Lines(wide).wrap(line) or [""]]
        for text, wide in zip(texts, widths, strict=True)
    ]
    lines = []
    for parts in zip_longest(*cells, fillvalue=""):
        aligned = zip(parts, columns, widths, strict=True)
        lines.append(" ".join(_padded(part, wide, column.align) for part, column, wide in aligned))
    return lines


def _padded(text: str, width: int, align: str) -> str:
    """As many characters as ``width`` that take room; combining ones do not."""
    space = " " * (width - sum(not unicodedata.combining(c) for c in text))
    return space + text if align == "right" else text + space
