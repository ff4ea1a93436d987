"""Lines that fit: nothing is wider than asked for, nothing is lost, and what belongs together stays together."""

from __future__ import annotations

import inspect

import pytest

from odernn import cells
from odernn.written.lines import labelled, reflowed, room, strung, wrapped

TEXT = "For dt ≤ 1 the bound is U(−0.1, 0.1), see docs/derivations/state_bounds_of_ŷ.md or 積分 " * 6
COMMAND = (
    "odernn witness verify witnesses/a-very-long-name-of-a-file-that-is-copied-from-the-terminal.json --claims mine"
)


def bare(text: str) -> str:
    return "".join(text.split())


def test_room_is_what_a_terminal_gives() -> None:
    assert [room(text) for text in ("abc", "ŷ", "y\u0302z", "積分", "‖∂E‖₂")] == [3, 1, 2, 4, 5]


@pytest.mark.parametrize("hyphens", [False, True])
@pytest.mark.parametrize("width", [8, 20, 60, 80, 120])
def test_wrapped_lines_fit_and_have_every_character(width: int, hyphens: bool) -> None:
    lines = wrapped(TEXT, width, first="- ", rest="  ", hyphens=hyphens)
    assert max(map(room, lines)) <= width and bare("".join(lines)) == bare(f"- {TEXT}")
    assert wrapped("", width) == []


def test_a_short_formula_is_not_broken_and_a_long_one_is() -> None:
    assert wrapped("so that 0 < dt ≤ 1 holds", 14) == ["so that", "0 < dt ≤ 1", "holds"]
    assert wrapped("drawn from U(−0.1, 0.1)", 15) == ["drawn from", "U(−0.1, 0.1)"]
    assert max(map(room, wrapped(" + ".join(["alpha"] * 20), 30))) <= 30


def test_parts_are_whole_where_a_line_has_room_for_them() -> None:
    parts = ["odernn 0.1.0", "executions: torch, cpu", "x" * 30]
    assert strung(parts, 24) == ["odernn 0.1.0", "executions: torch, cpu", "x" * 22, "  " + "x" * 8]
    assert strung(["a = 1", "b = 2", "c = 3"], 14, between=", ", rest="  ") == ["a = 1, b = 2,", "  c = 3"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_command_that_is_copied_is_in_one_line_and_all_else_fits(width: int) -> None:
    lines = labelled(f"refuted    {TEXT} replay: {COMMAND}", width)
    assert lines[-1] == f"  {COMMAND}" and max(map(room, lines[:-1])) <= width
    assert all(line.startswith(" " * 11) for line in lines[1:-1])
    assert labelled(f"refuted    replay: {COMMAND}", 200) == [f"refuted    replay: {COMMAND}"]


# --- docstrings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", cells.names())
def test_the_docstring_of_a_cell_fits_and_keeps_its_words_in_their_order(name: str, width: int) -> None:
    text = inspect.getdoc(cells.get(name)) or ""
    lines = reflowed(text, width)
    assert max(map(room, lines)) <= width and bare("".join(lines)) == bare(text)
    if max(map(room, text.split("\n"))) <= width:
        assert lines == [line.rstrip() for line in text.split("\n")]


def test_no_formula_is_broken_that_has_room_in_a_line_of_its_own() -> None:
    """Formulas of a line stand apart by three blanks or more; at 80 characters all of them fit."""
    for name in cells.names():
        text = inspect.getdoc(cells.get(name)) or ""
        lines = reflowed(text, 80)
        shown = [line for line in text.split("\n") if line.startswith("    ") and not line.startswith(" " * 8)]
        for formula in (part.strip() for line in shown for part in line.split("   ")):
            assert room(formula) > 70 or any(formula in line for line in lines), (name, formula)


def test_what_stands_behind_a_word_stays_in_its_column() -> None:
    text = "dt         the step, one number\nscheme     which method, and then more words about it\n"
    text += "           that go on here\n\nx = 1"
    assert reflowed(text, 36) == [
        "dt         the step, one number",
        "scheme     which method, and then",
        "           more words about it that",
        "           go on here",
        "",
        "x = 1",
    ]


def test_a_sum_is_broken_before_its_signs_and_not_in_brackets() -> None:
    assert reflowed("    z = (1 − D) ⊙ z + D ⊙ tanh(W y + V u + b),     y = 0", 39) == [
        "    z = (1 − D) ⊙ z",
        "            + D ⊙ tanh(W y + V u + b),",
        "        y = 0",
    ]
