"""A table for a terminal."""

from __future__ import annotations

import textwrap

from tabulate import tabulate

from verification.report.table import Column, Table

CAPTION_WIDTH = 110


def render(table: Table) -> str:
    """Title, table, caption. Numbers stay as they were written: tabulate must not parse them."""
    lines = [table.title, ""] if table.title else []
    if table.figure is not None:
        lines += [*(f"  {line}" for line in table.figure.text.split("\n")), ""]
    if table.rows:
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
    if table.caption:
        lines.append("")
        lines += [part for line in table.caption for part in textwrap.wrap(line, CAPTION_WIDTH)]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"


def _header(column: Column) -> str:
    """Numbers are short: their header is broken at its spaces, so that it does not widen the column."""
    return column.name.replace(" ", "\n") if column.align == "right" else column.name
