"""A table for programs that read comma-separated values: every field at full precision, no caption."""

from __future__ import annotations

import csv
import io
from typing import Any

from odernn.written.spreadsheet import cell
from verification.report.table import Table


def render(table: Table) -> str:
    """One line a record, after a line of field names; what is not available is empty, no text is a formula."""
    names = list(dict.fromkeys(name for record in table.data for name in record))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(cell, names or [column.name for column in table.columns]))
    writer.writerows([_plain(record.get(name)) for name in names] for record in table.data)
    return out.getvalue()


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return cell("; ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
