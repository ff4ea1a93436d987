"""A table for a terminal."""

from __future__ import annotations

from tabulate import tabulate

from verification.report.table import Table


def render(table: Table) -> str:
    """Title, table, caption. Numbers stay as they were written: tabulate must not parse them."""
    lines = [table.title, ""] if table.title else []
    if table.rows:
        lines.append(
            tabulate(
                [[str(cell) for cell in row] for row in table.rows],
                headers=[column.name for column in table.columns],
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
        lines += ["", *table.caption]
    return "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")) + "\n"
