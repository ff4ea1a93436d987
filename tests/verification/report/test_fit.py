"""Tables that fit: no line is longer than the terminal, nothing is lost, and what is left out is named."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from tests import latex
from verification.report import fit
from verification.report.formats import renderer
from verification.report.formats.latex import BREAK, breakable
from verification.report.table import Cell, Column, Table

LONG = "minimal polynomial x^6 + (-202109289/38440000)*x^5 + " + "286705353318146889/23642137600000000*x^4 + " * 8
TABLE = Table(
    title="made by hand",
    columns=(
        Column("claim", least=13),
        Column("network · domain"),
        Column("bound", "right"),
        Column("on data", "right", spare=True),
        Column("exact (thm-S)", "right", spare=True),
        Column("verdict", least=12),
    ),
    rows=(
        ("icml-C.1", "psMNIST-128, layer 1 · printed", "10^410.2", "1.74", "130", "proved (for all weights)"),
        ("x̂-long-identifier-of-a-claim", "free", LONG, "–", "–", Cell(" (witness 12)", strong="refuted")),
        ("again", "free", LONG, "–", "–", Cell(f" (because {'of this and that ' * 20})", strong="refuted")),
    ),
    caption=("What one has to know to read it. " * 5,),
)


def room(line: str) -> int:
    return sum(not unicodedata.combining(c) for c in line)


@pytest.mark.parametrize("width", [60, 80, 100, 160, 400])
def test_no_line_of_a_text_table_is_longer_than_the_terminal(width: int) -> None:
    lines = renderer("text")(fit.to_width(TABLE, width)).splitlines()
    assert max(map(room, lines)) <= width


def test_what_does_not_fit_its_lines_is_a_footnote_with_all_of_it_once() -> None:
    fitted = fit.to_width(TABLE, 80)
    cells = [cell for row in fitted.rows for cell in row if isinstance(cell, Cell) and cell.note]
    assert fitted.notes[0] == LONG and [cell.note for cell in cells] == [1, 1, 2]
    assert all(str(cell).endswith(f"… [{cell.note}]") for cell in cells)
    assert cells[-1].strong == "refuted" and fitted.notes[1] == str(TABLE.rows[2][-1])
    text = renderer("text")(fitted)
    assert "[1] minimal polynomial" in text and text.count("minimal polynomial x^6") == 1


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_cell_is_read_back_from_its_column(width: int) -> None:
    without_marks = str(TABLE.rows[1][0]).replace("x̂", "x")
    rows = (TABLE.rows[0], (without_marks, *TABLE.rows[1][1:]), TABLE.rows[2])
    fitted = fit.to_width(replace(TABLE, rows=rows), width)
    widths = [column.width or 0 for column in fitted.columns]
    lines = renderer("text")(fitted).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("---")) + 1
    last = next((place for place, line in enumerate(lines) if line.startswith("[1] ")), len(lines))
    body = lines[first:last]
    bare = ["".join(text.split()) for text in map(str, (cell for row in fitted.rows for cell in row))]
    columns = []
    for place, wide in enumerate(widths):
        start = sum(widths[:place]) + fitted.gap * place
        columns.append("".join("".join(line[start : start + wide].split()) for line in body))
    for place, column in enumerate(columns):
        wanted = "".join(bare[place :: len(columns)])
        assert column.startswith(wanted), fitted.columns[place].name


def test_a_remark_is_behind_its_word_or_a_footnote_where_it_has_no_room() -> None:
    remark = "2.5e6 evaluations, power control 0.99"
    rows = (("a" * 30, "b" * 30, Cell("not-refuted", remark=remark)), ("a", "b", Cell("proved", remark="for all")))
    table = Table("t", (Column("one"), Column("two"), Column("verdict", least=12)), rows)
    narrow, wide = fit.to_width(table, 60), fit.to_width(table, 140)
    assert narrow.notes == (remark,) and [str(row[-1]) for row in narrow.rows] == [
        "not-refuted [1]",
        "proved (for all)",
    ]
    assert wide.notes == () and str(wide.rows[0][-1]) == f"not-refuted ({remark})"
    for name in ("github", "latex", "csv", "json"):
        assert remark in renderer(name)(fit.noted(table)), name


def test_rows_are_told_apart_where_they_have_many_lines() -> None:
    words = "one two three four five six"
    table = Table("t", (Column("a"), Column("b")), (("x", words * 3), ("y", "short"), ("z", "short")))
    text = renderer("text")(fit.to_width(table, 30))
    body = text.partition("---\n")[2]
    assert "\n\ny" in body and "\nz" in body and "\n\nz" not in body


@pytest.mark.parametrize("width", [60, 80])
def test_no_head_is_broken_inside_a_word(width: int) -> None:
    names = ("network", "m", "parameters", "settings", "validation", "without input", "published")
    columns = tuple(Column(name, "right" if name != "settings" else "left") for name in names)
    table = Table("t", columns, (("unicornn", "128", "35,000", "optimizer.lr = 0.01", "96.00%", "–", "97.8% (x)" * 4),))
    head = renderer("text")(fit.to_width(table, width)).partition("---")[0].split()
    assert set(" ".join(names).split()) <= set(head)


def test_spare_columns_go_first_and_the_caption_names_them() -> None:
    narrow, wide = fit.to_width(TABLE, 50), fit.to_width(TABLE, 160)
    assert [column.name for column in narrow.columns] == ["claim", "network · domain", "bound", "verdict"]
    assert narrow.caption[-1].startswith("Left out at 50 characters a line: on data, exact (thm-S)")
    assert len(wide.columns) == len(TABLE.columns) and wide.caption == TABLE.caption


def test_a_table_that_fits_keeps_its_cells_and_its_columns() -> None:
    small = Table("t", (Column("a"), Column("b", "right")), (("x", "1.00"), ("y", "12.0")))
    assert fit.to_width(small, 80) == replace(small, width=80)
    assert renderer("text")(fit.to_width(small, 80)) == renderer("text")(small)


def test_columns_are_chosen_by_the_beginning_of_a_word_in_the_order_asked_for() -> None:
    table = fit.chosen(TABLE, ["verdict", "domain", "exact"])
    assert [column.name for column in table.columns] == ["verdict", "network · domain", "exact (thm-S)"]
    assert table.rows[0] == ("proved (for all weights)", "psMNIST-128, layer 1 · printed", "130")
    with pytest.raises(ValueError, match=r'"xyz" names no column\. There are: "claim", "network · domain", "bound"'):
        fit.chosen(TABLE, ["xyz"])
    for wrong, meant in (("verdct", "verdict"), ("netwrok", "network · domain"), ("EXCAT", "exact (thm-S)")):
        with pytest.raises(ValueError, match=re.escape(f'names no column. Did you mean "{meant}"? There are: "claim"')):
            fit.chosen(TABLE, [wrong])
    two = Table("t", (Column("on data"), Column("on paper")), (("1", "2"),))
    with pytest.raises(ValueError, match='"on" names several columns'):
        fit.chosen(two, ["on"])
    with pytest.raises(ValueError, match='"" names no column'):
        fit.chosen(two, [""])


def test_widths_add_up_to_the_room_and_none_is_below_its_least() -> None:
    for room_ in range(20, 200, 7):
        naturals, leasts = [40, 5, 90, 12], [10, 5, 6, 8]
        widths = fit.allotted(naturals, leasts, room_)
        assert sum(widths) == min(sum(naturals), max(room_, sum(leasts)))
        assert all(least <= wide <= natural for least, wide, natural in zip(leasts, widths, naturals, strict=True))


# --- pages ------------------------------------------------------------------------------------------------------


def test_a_github_cell_is_short_and_its_footnote_has_the_rest() -> None:
    text = renderer("github")(fit.noted(TABLE))
    body = [line for line in text.splitlines() if line.startswith("|")]
    assert max(len(cell.strip()) for line in body for cell in re.split(r"(?<!\\)\|", line)) <= fit.LONGEST + 8
    assert "…[^1]" in text and f"[^1]: {LONG.replace('*', chr(92) + '*')}" in text
    assert "**refuted** (because" in text and text.count("[^2]: ") == 1


TOKEN = re.compile(r"[^\s\u200b]+")


@pytest.mark.parametrize("text", [LONG, "invertible" * 30, "x" * 500, "‖ŷ‖₂" * 40, "10^410.2" * 10, "", "a b"])
@pytest.mark.parametrize("points", [20.0, 40.0, 90.0])
def test_no_word_of_a_latex_cell_is_wider_than_its_column(text: str, points: float) -> None:
    from verification.report.formats.latex import _ATOM, _points

    broken = breakable(text, points)
    assert broken.replace(BREAK, "") == text
    for token in TOKEN.findall(broken):
        assert _points(token) <= points or len(_ATOM.findall(token)) == 1, token
    assert (not re.search("\u200b[\u0300-\u036f₀-₉]", broken) and "10^4" not in broken) or BREAK not in "10^410.2"


def test_latex_columns_of_a_wide_table_are_paragraphs_that_fill_the_page_and_no_more() -> None:
    from verification.report.formats import latex

    wide = replace(TABLE, rows=(*TABLE.rows, ("w" * 100, "–", "–", "–", "–", "–")))
    text = renderer("latex")(fit.noted(wide))
    widths = [float(found) for found in re.findall(r"p\{([\d.]+)pt\}", text)]
    assert len(widths) == len(TABLE.columns)
    assert sum(widths) + 2 * latex.PADDING * len(widths) <= 29.7 / 2.54 * 72.27 - 2 / 2.54 * 72.27
    assert r"\toprule" in text and r"\bottomrule" in text and r"\allowbreak{}" in text
    assert r"\textsuperscript{1}" in text and text.isascii()


def test_latex_columns_of_a_small_table_are_as_wide_as_their_text() -> None:
    small = Table("t", (Column("a"), Column("b", "right")), (("x", "1.00"),))
    assert r"\begin{longtable}{lr}" in renderer("latex")(small)


def test_a_sum_of_points_is_finite() -> None:
    """A planted fault: a measure that says 0 would let every word through."""
    from verification.report.formats.latex import _points

    assert math.isclose(_points("ab1"), 12.0) and _points("M") > _points("n")


@pytest.mark.slow
@pytest.mark.latex
@pytest.mark.parametrize("cells", [1, 4])
def test_a_latex_table_with_everything_that_is_wide_fits_its_page(tmp_path: Path, cells: int) -> None:
    """TeX's own measure: no line goes past the margin, and no glyph is missing."""
    words = [
        "M" * 90,
        "|∂E/∂θ|⊗⟨x⟩" * 9,
        "10^−1234.5",
        "1" * 200,
        LONG,
        "both-2.2-invertible-float",
        "⇒∫∓≱⋯ " * 9,
        "x̂ ŷ ᾱ",
    ]
    columns = tuple(Column(f"column {place}", "right" if place % 2 else "left") for place in range(10))
    rows = tuple(tuple(words[(row + place) % len(words)] * cells for place in range(10)) for row in range(24))
    table = fit.noted(Table("wide", columns, rows, caption=(LONG, "M" * 400)))
    assert latex.flaws(latex.compiled(renderer("latex")(table), tmp_path)) == []
