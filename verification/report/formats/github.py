"""A table for a README or an issue: GitHub's Markdown."""

from __future__ import annotations

import re

from tabulate import tabulate

from verification.report.table import Entry, Table

_SPECIAL = re.compile(r"[\\|*<`]")


def escape(text: str) -> str:
    r"""Characters that would end the cell or start markup are written out: | becomes \|."""
    return _SPECIAL.sub(lambda match: "\\" + match[0], text.replace("\n", " "))


def render(table: Table) -> str:
    """Title in bold, table, footnotes, caption as a list."""
    lines = [f"**{escape(table.title)}**", ""] if table.title else []
    if table.figure is not None:
        lines += ["```text", table.figure.text, "```", ""]
    lines.append(
        tabulate(
            [[_cell(cell) for cell in row] for row in table.rows],
            headers=[escape(column.name) for column in table.columns],
            tablefmt="pipe",
            disable_numparse=True,
            colalign=[column.align for column in table.columns] if table.rows else None,
        )
    )
    if table.notes:
        lines += ["", *(f"[^{number}]: {escape(note)}" for number, note in enumerate(table.notes, 1))]
    if table.caption:
        lines += ["", *(f"- {escape(line)}" for line in table.caption)]
    return "\n".join(lines) + "\n"


def _cell(entry: Entry) -> str:
    if isinstance(entry, str):
        return escape(entry)
    strong = f"**{escape(entry.strong)}**" if entry.strong else ""
    return strong + escape(entry.weak) + (f"[^{entry.note}]" if entry.note else "")
