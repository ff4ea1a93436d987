"""Tables that fit: columns that were asked for, long values as footnotes, widths that there is room for. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from verification.report.table import Cell, Column, Entry, Table

LONGEST = 120
"""Characters of a cell on a page; the rest of it is a footnote."""
MOST_LINES = 5
"""Lines of a cell in a terminal."""
PADDING, LEAST_GAP = 4, 1
"""Characters that a column may take beside its text, and those between two columns where there is little room."""
LEAST = {"left": 10, "right": 8}
"""No column is squeezed further, but to its longest cell,"""
SMALLEST = 6
"""or to this where there is no other way."""


def chosen(table: Table, names: Sequence[str]) -> Table:
    """The table with these columns, in this order. A name may be the beginning of a word of the column's name.

    ValueError with the columns if a name is of none, or of several.
    """
    plain = [_plain(column.name) for column in table.columns]
    words = [[*map(_plain, column.name.split()), whole] for column, whole in zip(table.columns, plain, strict=True)]
    places = []
    for name in names:
        wanted = _plain(name)
        exact = [place for place, known in enumerate(plain) if wanted == known]
        begun = (place for place, known in enumerate(words) if any(word.startswith(wanted) for word in known))
        found = exact or (list(begun) if wanted else [])
        if len(found) != 1:
            there = ", ".join(f'"{column.name}"' for column in table.columns)
            hint = "" if found else _nearest(wanted, table.columns, words)
            raise ValueError(f'"{name}" names {"several columns" if found else "no column"}. {hint}There are: {there}.')
        places += found
    return _with_columns(table, places)


def _nearest(wanted: str, columns: Sequence[Column], words: Sequence[Sequence[str]]) -> str:
    """A question after the column that has the word nearest to the one that is wanted, "" if none is near."""
    columns_of = {word: column.name for column, parts in zip(columns, words, strict=True) for word in parts}
    near = difflib.get_close_matches(wanted, columns_of, n=1)
    return f'Did you mean "{columns_of[near[0]]}"? ' if near else ""


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def _with_columns(table: Table, places: Sequence[int]) -> Table:
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in places), rows=rows)


def noted(table: Table, longest: int | Sequence[int] = LONGEST) -> Table:
    """Cells of more characters, of a column or of all, end in "…" and have the number of a footnote with the whole."""
    limits = [longest] * len(table.columns) if isinstance(longest, int) else longest
    numbers: dict[str, int] = {text: number for number, text in enumerate(table.notes, 1)}
    rows = []
    for row in table.rows:
        rows.append(tuple(_noted(entry, limit, numbers) for entry, limit in zip(row, limits, strict=True)))
    return replace(table, rows=tuple(rows), notes=tuple(numbers))


def _noted(entry: Entry, limit: int, numbers: dict[str, int]) -> Entry:
    whole = str(entry)
    strong = entry.strong if isinstance(entry, Cell) else ""
    if len(whole) <= limit or (isinstance(entry, Cell) and entry.note):
        return entry
    number = numbers.setdefault(whole, len(numbers) + 1)
    kept = max(limit - len(f"… [{number}]"), len(strong), 1)
    return Cell(whole[len(strong) : kept].rstrip() + "…", strong=strong, note=number)


def to_width(table: Table, width: int) -> Table:
    """The table for a terminal of that width: spare columns are left out, from the last, where not even the least
    widths fit, and the caption says so; columns wrap; what would take more than ``MOST_LINES`` lines is a footnote.
    """
    places = list(range(len(table.columns)))
    naturals = [_natural(table, place) for place in places]
    wanted = [min(wide, column.width or wide) for wide, column in zip(naturals, table.columns, strict=True)]
    if sum(wanted) + PADDING * len(wanted) <= width:
        return replace(table, width=width)
    leasts = [_least(column, wide) for column, wide in zip(table.columns, naturals, strict=True)]
    for place in reversed(range(len(table.columns))):
        if table.columns[place].spare and _total([leasts[kept] for kept in places]) > width:
            places.remove(place)
    if _total([leasts[place] for place in places]) > width:
        leasts = [min(least, SMALLEST) for least in leasts]
    left_out = [column.name for place, column in enumerate(table.columns) if place not in places]
    narrow = _with_columns(table, places)
    room = width - LEAST_GAP * (len(places) - 1)
    widths = allotted([naturals[place] for place in places], [leasts[place] for place in places], room)
    columns = tuple(replace(column, width=wide) for column, wide in zip(narrow.columns, widths, strict=True))
    caption = narrow.caption
    if left_out:
        more = (
            f"Left out at {width} characters a line: {', '.join(left_out)}; --width, --columns or --format shows them."
        )
        caption = (*caption, more)
    return noted(replace(narrow, columns=columns, caption=caption, width=width), [MOST_LINES * wide for wide in widths])


def allotted(naturals: Sequence[int], leasts: Sequence[int], room: int) -> list[int]:
    """Widths that add up to ``room`` at most, where the least ones do: the widest columns are squeezed first."""
    widths = list(naturals)
    for _ in range(sum(widths) - room):
        over = [place for place, wide in enumerate(widths) if wide > leasts[place]]
        if not over:
            break
        widths[max(over, key=lambda place: widths[place])] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + LEAST_GAP * (len(widths) - 1)


def _natural(table: Table, place: int) -> int:
    column = table.columns[place]
    head = max(map(len, column.name.split()), default=0) if column.align == "right" else len(column.name)
    return max([head, *(len(line) for row in table.rows for line in str(row[place]).split("\n"))])


def _least(column: Column, natural: int) -> int:
    head = max(map(len, column.name.split()), default=0)
    return max(head, min(natural, column.least or LEAST[column.align]))
