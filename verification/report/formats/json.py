"""A table for programs that read JSON: title, caption, and every field of every record at full precision."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from verification.report.table import Table


def line(record: Mapping[str, Any]) -> str:
    """One record on one line of strict JSON (no NaN, no Infinity)."""
    return json.dumps(dict(record), ensure_ascii=False, allow_nan=False)


def render(table: Table) -> str:
    """{"title", "caption", "rows"}, one row a line; "figures" before the rows where the table has any."""
    facts: dict[str, Any] = {"title": table.title, "caption": list(table.caption)}
    if table.figure is not None:
        facts["figures"] = [dict(figure) for figure in table.figure.data]
    head = json.dumps(facts, ensure_ascii=False, indent=1)
    rows = ",\n  ".join(line(record) for record in table.data)
    return f'{head[:-2]},\n "rows": [{f"{chr(10)}  {rows}{chr(10)} " if rows else ""}]\n}}\n'
