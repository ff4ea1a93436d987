"""A table, as every format gets it: cells for people, and records at full precision for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Column:
    """``width``: a longer cell is wrapped there, by the formats that can. ``least``: it is not squeezed further; a
    ``spare`` column is left out where there is no room (``report.fit``).
    """

    name: str
    align: Literal["left", "right"] = "left"
    width: int | None = None
    least: int = 0
    spare: bool = False


@dataclass(frozen=True)
class Cell:
    """Text of which the part in front, ``strong``, is set in bold by the formats that can.

    ``note``: the number, from 1, of the footnote of the table that has all of it; 0: none. ``remark`` stands behind it
    in brackets, in a terminal with little room as a footnote.
    """

    text: str
    strong: str = ""
    note: int = 0
    remark: str = ""

    @property
    def weak(self) -> str:
        """What is not set in bold, without the number of the footnote."""
        return self.text + (f" ({self.remark})" if self.remark else "")

    def __str__(self) -> str:
        return self.strong + self.weak + (f" [{self.note}]" if self.note else "")


Entry: TypeAlias = str | Cell


@dataclass(frozen=True)
class Figure:
    """What stands above a table: a drawing in lines of text, the same for LaTeX, and its numbers for programs.

    ``drawn``: the text in lines of at most so many characters, where it can be drawn narrower.
    """

    text: str
    latex: str
    data: tuple[Mapping[str, Any], ...]
    drawn: Callable[[int], str] | None = None


@dataclass(frozen=True)
class Table:
    """``rows`` are for people, with ``notes`` under them. ``records`` hold every field, unrounded, one a judgement;
    None: the rows themselves. ``width``: of the terminal that it is made for, if it is made for one; ``gap``: between
    its columns there.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    caption: tuple[str, ...] = ()
    records: tuple[Mapping[str, Any], ...] | None = None
    figure: Figure | None = None
    notes: tuple[str, ...] = ()
    width: int | None = None
    gap: int = 2

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f'Table "{self.title}": row {number} has {len(row)} cells for {len(self.columns)} columns.'
                )

    @property
    def data(self) -> Sequence[Mapping[str, Any]]:
        """What csv and json write."""
        if self.records is not None:
            return self.records
        names = [column.name for column in self.columns]
        return [dict(zip(names, map(str, row), strict=True)) for row in self.rows]
