"""Where a key stands in the text of a TOML file, for messages: tomllib does not say."""

from __future__ import annotations

import re
from dataclasses import dataclass

ROWS = "rows"
"""The table of a file whose tables are the rows of a printed table."""


class Places:
    """The places of tables and keys; ``row`` says which row of the file is read: its keys come before the others."""

    def __init__(self, name: str = "", text: str = "", row: str | None = None) -> None:
        self.name, self._lines, self._row = name, text.splitlines(), row

    def __call__(self, table: str, key: str | None = None, index: int | None = None) -> KeyPlace:
        """The place of the table, or of its key; of the table of that index, where there are several."""
        return KeyPlace(self, table, key, index)

    def text(self, table: str, key: str | None, index: int | None) -> str:
        """``"file.toml", line 7`` for the table or its key, as exactly as the text is followed."""
        if not self.name:
            return f"[{table}]" + (f" {key}" if key else "")
        line = self._in_row(table, key, index) or self._line(table, key, index)
        return f'"{self.name}"' + (f", line {line}" if line else "") + (f", {key}" if key else "")

    def _in_row(self, table: str, key: str | None, index: int | None) -> int:
        """In the row: ``network.cell = …`` below [rows.NAME], or ``cell = …`` below [rows.NAME.network]."""
        if self._row is None:
            return 0
        row, path = f"{ROWS}.{self._row}", table if key is None else f"{table}.{key}"
        outer = table.partition(".")[0]
        written_out = self._line(f"{row}.{table}", key, index) if key else self._line(f"{row}.{table}", None, index)
        # the list of groups of a row may be one value: then its line is as near as one gets
        return written_out or self._line(row, path, None) or (self._line(row, table, None) if table != outer else 0)

    def _line(self, table: str, key: str | None, index: int | None) -> int:
        current, count, heading = "", -1, 0
        for number, text in enumerate(self._lines, 1):
            if header := re.match(r"\s*(\[\[?)\s*([\w.\-\"' ]+?)\s*\]", text):
                current = header[2].replace('"', "").replace(" ", "")
                count += header[1] == "[[" and current == table
                if current == table and (index is None or count == index):
                    heading = heading or number
            elif (
                key
                and current == table
                and (index is None or count == index)
                and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", text)
            ):
                return number
        return 0 if key and table.startswith(f"{ROWS}.") else heading


@dataclass(frozen=True)
class KeyPlace:
    """One of them. It is looked for when it is printed: most never are."""

    places: Places
    table: str
    key: str | None
    index: int | None

    def __str__(self) -> str:
        return self.places.text(self.table, self.key, self.index)
