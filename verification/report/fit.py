"""Tables that fit: columns that were asked for, long values as footnotes, widths that there is room for. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from odernn.written.lines import room
from verification.report.table import Cell, Column, Entry, Figure, Table

LONGEST = 120
"""Characters of a cell on a page; the rest of it is a footnote."""
MOST_LINES, REMARK_LINES = 5, 2
"""Lines of a cell in a terminal, and of one with a remark, which is a footnote where it would take more."""
LONGEST_WORD, LONGEST_NUMBER = 14, 10
"""No column is so narrow that a shorter word is broken, where there is room; and no number where there is less."""
FEW = 5
"""Columns that stand further apart where there is room."""
MARGIN = 2
"""Characters before a drawing."""
PADDING, GAP, LEAST_GAP = 4, 2, 1
"""Characters that a column may take beside its text, those between two columns, and where there is little room."""
LEAST = {"left": 10, "right": 8}
"""No column is squeezed further, but to its longest cell;"""
SMALLEST = 6
"""where there is no other way to the words of its head and this, or to this."""


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
    table = replace(table, width=width, figure=_drawn(table.figure, width))
    places = list(range(len(table.columns)))
    naturals = [_natural(table, place) for place in places]
    wanted = [min(wide, column.width or wide) for wide, column in zip(naturals, table.columns, strict=True)]
    if sum(wanted) + PADDING * len(wanted) <= width:
        return table
    naturals = [_natural(table, place, remarks=False) for place in places]
    leasts = [_least(column, wide) for column, wide in zip(table.columns, naturals, strict=True)]
    for place in reversed(range(len(table.columns))):
        if table.columns[place].spare and _total([leasts[kept] for kept in places]) > width:
            places.remove(place)
    left_out = [column.name for place, column in enumerate(table.columns) if place not in places]
    narrow = _with_columns(table, places)
    leasts, gap = _leasts(narrow, [naturals[place] for place in places], width)
    widths = allotted([naturals[place] for place in places], leasts, width - gap * (len(places) - 1))
    columns = tuple(replace(column, width=wide) for column, wide in zip(narrow.columns, widths, strict=True))
    caption = narrow.caption
    if left_out:
        named = ", ".join(left_out)
        more = f"Left out at {width} characters a line: {named}; a wider terminal, --width or --format shows them."
        caption = (*caption, more)
    fitted = _remarked(replace(narrow, columns=columns, caption=caption, gap=gap), widths)
    return noted(fitted, [MOST_LINES * wide for wide in widths])


def _drawn(figure: Figure | None, width: int) -> Figure | None:
    if figure is None or figure.drawn is None:
        return figure
    return replace(figure, text=figure.drawn(width - MARGIN))


def _leasts(table: Table, naturals: Sequence[int], width: int) -> tuple[list[int], int]:
    """The most generous least widths for which there is room: whole words in cells, or numbers, or only in heads; then
    none. And the characters between columns.
    """
    ordinary = [_least(column, wide) for column, wide in zip(table.columns, naturals, strict=True)]
    words = [max(least, _longest_word(table, place)) for place, least in enumerate(ordinary)]
    heads = [max(_head(column), min(wide, SMALLEST)) for column, wide in zip(table.columns, naturals, strict=True)]
    numbers = [
        max(head, _longest_word(table, place, LONGEST_NUMBER) if table.columns[place].align == "right" else 0)
        for place, head in enumerate(heads)
    ]
    airy = GAP if len(table.columns) <= FEW else LEAST_GAP
    for leasts, gap in ((words, airy), *((leasts, LEAST_GAP) for leasts in (words, ordinary, numbers, heads))):
        if _total(leasts, gap) <= width:
            return leasts, gap
    return [min(least, SMALLEST) for least in ordinary], LEAST_GAP


def _remarked(table: Table, widths: Sequence[int]) -> Table:
    """Remarks are footnotes, but for those that have room behind their words."""
    numbers: dict[str, int] = {text: number for number, text in enumerate(table.notes, 1)}

    def without(entry: Entry, width: int) -> Entry:
        if isinstance(entry, str) or not entry.remark or room(str(entry)) <= REMARK_LINES * width:
            return entry
        return _without_remark(entry, numbers.setdefault(entry.remark, len(numbers) + 1))

    rows = tuple(tuple(map(without, row, widths)) for row in table.rows)
    return replace(table, rows=rows, notes=tuple(numbers))


def allotted(naturals: Sequence[int], leasts: Sequence[int], room: int) -> list[int]:
    """Widths that add up to ``room`` at most, where the least ones do: the widest columns are squeezed first."""
    widths = list(naturals)
    for _ in range(sum(widths) - room):
        over = [place for place, wide in enumerate(widths) if wide > leasts[place]]
        if not over:
            break
        widths[max(over, key=lambda place: widths[place])] -= 1
    return widths


def _total(widths: Sequence[int], gap: int = LEAST_GAP) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _natural(table: Table, place: int, *, remarks: bool = True) -> int:
    """Of the longest line in a column; without ``remarks`` what they leave, with the number of a footnote."""
    column = table.columns[place]
    head = _head(column) if column.align == "right" else room(column.name)
    cells = (row[place] if remarks else _without_remark(row[place]) for row in table.rows)
    return max([head, *(room(line) for cell in cells for line in str(cell).split("\n"))])


def _without_remark(entry: Entry, note: int = 99) -> Entry:
    return replace(entry, remark="", note=note) if isinstance(entry, Cell) and entry.remark else entry


def _longest_word(table: Table, place: int, most: int = LONGEST_WORD) -> int:
    """Of all words that no line need break."""
    words = (room(word) for row in table.rows for word in str(row[place]).split())
    return max((word for word in words if word <= most), default=0)


def _head(column: Column) -> int:
    return max(map(room, column.name.split()), default=0)


def _least(column: Column, natural: int) -> int:
    return max(_head(column), min(natural, column.least or LEAST[column.align]))
