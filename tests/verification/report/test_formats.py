"""Every format of the folder, on one table with everything that is awkward in it."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from pathlib import Path

import pytest

import verification.report.formats
from tests import latex
from verification.report.formats import FormatError, names, renderer
from verification.report.formats.latex import escape
from verification.report.table import Cell, Column, Table

NAMES = ("csv", "github", "json", "latex", "text")
LOG = 944.5198374839312

TABLE = Table(
    title="Title & 100 %",
    columns=(Column("claim"), Column("bound", "right"), Column("verdict", width=30)),
    rows=(
        ("a|b", "10^410.2", Cell(" (witness 1)", strong="refuted")),
        ("|yₙ| ≤ ‖zₙ‖₂ · α", "1.00", "proved"),
        ("ŷ_n^{2} # $5 ~ \\x", "10^−5.7", "theorem, tested"),
    ),
    caption=("seed 0, *budget* smoke.", "log₁₀ < ∞"),
    records=(
        {"claim": "a|b", "log_bound": LOG, "step": 3, "witness": "w.json"},
        {"claim": "‖zₙ‖₂", "log_bound": None, "step": None, "witness": 'quoted "x", and\na line'},
        {"claim": "c", "log_bound": -0.1, "step": 1, "parts": ["p/max", "q/max"]},
    ),
)


def test_a_format_is_a_file_of_the_folder_that_renders() -> None:
    assert names() == NAMES
    files = {path.stem for path in Path(verification.report.formats.__path__[0]).glob("*.py")}
    assert files - {"__init__"} == set(NAMES)
    assert all(callable(renderer(name)) for name in NAMES)


def test_an_unknown_format_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(FormatError, match=r'"githb".*Did you mean "github"'):
        renderer("githb")


@pytest.mark.parametrize("name", NAMES)
def test_every_format_renders_every_table_and_ends_in_one_newline(name: str) -> None:
    empty = Table("nothing", TABLE.columns, ())
    for table in (TABLE, empty):
        text = renderer(name)(table)
        assert text.endswith("\n") and not text.endswith("\n\n")


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 1 cells for 2 columns"):
        Table("t", (Column("a"), Column("b")), (("x",),))


def test_csv_parses_back_to_every_field_at_full_precision() -> None:
    rows = list(csv.DictReader(io.StringIO(renderer("csv")(TABLE))))
    assert [row["claim"] for row in rows] == ["a|b", "‖zₙ‖₂", "c"]
    assert float(rows[0]["log_bound"]) == LOG
    assert rows[1]["log_bound"] == rows[1]["step"] == ""
    assert rows[1]["witness"] == 'quoted "x", and\na line'
    assert rows[2]["parts"] == "p/max; q/max"


def test_json_parses_back_to_the_very_records() -> None:
    parsed = json.loads(renderer("json")(TABLE), parse_constant=lambda name: pytest.fail(name))
    assert parsed["rows"] == [dict(record) for record in TABLE.data]
    assert parsed["title"] == TABLE.title and parsed["caption"] == list(TABLE.caption)


def test_json_refuses_nan_and_infinity() -> None:
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            renderer("json")(Table("t", (), (), records=({"x": wrong},)))


def test_a_table_without_records_exports_its_rows() -> None:
    table = Table("t", (Column("a"), Column("b")), (("1", Cell("y", strong="x")),))
    assert json.loads(renderer("json")(table))["rows"] == [{"a": "1", "b": "xy"}]
    assert renderer("csv")(table) == "a,b\n1,xy\n"


def columns_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_github_escapes_what_would_end_a_cell_and_aligns_numbers_right() -> None:
    lines = renderer("github")(TABLE).splitlines()
    head, rule, *body = [line for line in lines if line.startswith("|")]
    assert columns_of(head) == ["claim", "bound", "verdict"]
    assert [cell.startswith(":") for cell in columns_of(rule)] == [True, False, True]
    assert [cell.endswith(":") for cell in columns_of(rule)] == [False, True, False]
    assert [len(columns_of(line)) for line in body] == [3, 3, 3]
    assert columns_of(body[0]) == [r"a\|b", "10^410.2", "**refuted** (witness 1)"]
    assert r"- seed 0, \*budget\* smoke." in lines


def test_text_aligns_numbers_right_and_leaves_them_as_they_were_written() -> None:
    lines = renderer("text")(TABLE).splitlines()
    rule = next(i for i, line in enumerate(lines) if line.startswith("---"))
    ends = [match.end() for match in re.finditer("-+", lines[rule])]
    for line, number in zip(lines[rule + 1 : rule + 4], ("10^410.2", "1.00", "10^−5.7"), strict=True):
        before = line[: line.index(number)]
        width = sum(not unicodedata.combining(c) for c in before) + len(number)
        assert width == ends[1]


def test_latex_escapes_signs_powers_and_greek() -> None:
    assert escape("α ≤ 10^410.2") == r"$\alpha$ $\leq$ $10^{410.2}$"
    assert escape("10^−5.7") == r"$10^{-5.7}$"
    assert escape("‖yₙ‖₂ · x̂ ŷ") == r"$\|$y$_{n}$$\|$$_{2}$ $\cdot$ $\hat{x}$ $\hat{y}$"
    assert escape("a_b & 5 % {c} \\ ᾱ") == r"a\_b \& 5 \% \{c\} \textbackslash{} $\bar{\alpha}$"
    assert escape("汉") == "{[}U+6C49{]}"
    assert renderer("latex")(TABLE).isascii()


def test_latex_sets_the_verdict_in_bold_and_every_row_has_all_columns() -> None:
    text = renderer("latex")(TABLE)
    assert r"\textbf{refuted} (witness 1) \\" in text
    body = text[text.index(r"\endhead") : text.index(r"\end{longtable}")]
    assert [len(re.findall(r"(?<!\\)&", line)) for line in body.splitlines() if line.endswith(r"\\")] == [2, 2, 2]


@pytest.mark.latex
def test_latex_compiles_alone(tmp_path: Path) -> None:
    latex.compiled(renderer("latex")(TABLE), tmp_path)


def test_subscripts_that_stand_side_by_side_are_one_group() -> None:
    assert escape("log₁₀") == "log$_{10}$" and escape("x²⁰₁ y₁") == "x$^{20}$$_{1}$ y$_{1}$"
    assert escape("Yₙ₋₁ᵀ") == "Y$_{n-1}$$^{T}$" and "$_{1}$$_{0}$" not in escape("slack: least log₁₀(bound/worst)")
