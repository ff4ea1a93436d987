"""Text that came from a file stays text where it is shown: in a spreadsheet, in SVG, in HTML."""

from __future__ import annotations

import csv
import io
import math
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from odernn.architecture import RNNGraph, drawing, files, pictures
from odernn.tableaus import ButcherTableau
from odernn.written.spreadsheet import cell
from verification.monitors.measurement import Measurement, write_csv
from verification.report.formats import renderer
from verification.report.table import Column, Table

FORMULAS = (
    "=1+1",
    '=HYPERLINK("http://x")',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
)
FORMULAS = (*FORMULAS, "＝1+1", "-x", "-", "--1", "-1; =2", "- 1", "+1e")
NUMBERS = ("-1", "+1", "-0.5", "-.5", "-1e-300", "-1/40", "+3/7", "-inf", "-nan", "-1; 2; -3/4", "", "0", "1e5")
TEXTS = ("icml-C.1", "h₁ = −3", "a-b", "'=1", "x = 1", " -1")


def test_formulas_are_texts_and_numbers_numbers() -> None:
    assert [cell(text) for text in FORMULAS] == [f"'{text}" for text in FORMULAS]
    assert [cell(text) for text in (*NUMBERS, *TEXTS)] == [*NUMBERS, *TEXTS]


@pytest.mark.parametrize("value", [-0.5, -math.inf, math.nan, -1e-300, -3, 2**70, 0.1])
def test_a_number_of_a_table_reads_back_with_every_digit(value: float) -> None:
    text = renderer("csv")(
        Table("t", (Column("a"),), (), records=({"=a": value, "b": "=1", "c": [-1, 2], "d": "-1/40"},))
    )
    head, row = csv.reader(io.StringIO(text))
    assert head == ["'=a", "b", "c", "d"] and row[1:] == ["'=1", "-1; 2", "-1/40"]
    assert repr(type(value)(row[0])) == repr(value)


def test_the_name_of_a_layer_is_no_formula_in_a_monitor_s_file(tmp_path: Path) -> None:
    found = [Measurement(1, "=layer", "@norm", -0.25, bound="-x"), Measurement(2, "layer", "norm", -1.5)]
    write_csv(tmp_path / "m.csv", found)
    _, first, second = csv.reader((tmp_path / "m.csv").read_text().splitlines())
    assert first[1:4] == ["'=layer", "'@norm", "-0.25"] and first[7] == "'-x"
    assert second[:4] == ["2", "layer", "norm", "-1.5"]


HOSTILE = ("<script>alert(1)</script>", "a\"b' onload='x", "&amp;<!--", "]]>", "$\\frac$", "\u202e\x07", "$x^2")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(name for name, _ in attrs if name.startswith("on"))}


def test_names_of_nodes_are_text_in_svg() -> None:
    drawing.check_available()
    first, *others = HOSTILE
    nodes = dict.fromkeys(HOSTILE, 0)
    edges = [(first, name, 0) for name in others] + [(name, name, 1) for name in others]
    graph = RNNGraph(name=first, period=1, nodes=nodes, inputs=[first], outputs=others, edges=edges)
    root = ElementTree.fromstring(pictures.svg(graph))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert "script" not in tags and "text" in tags
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
    words = " ".join(root.itertext())
    assert all(name in words for name in ("<script>alert(1)</script>", "$\\frac$", "]]>"))
    assert files.from_json(files.to_json(graph)) == graph


def test_the_name_of_a_method_is_text_in_html() -> None:
    for name in HOSTILE:
        tags = _Tags()
        tags.feed(ButcherTableau(name=name, A=[[0]], b=[1])._repr_html_())
        assert "script" not in tags.seen and not [word for word in tags.seen if word.startswith("on")], name
