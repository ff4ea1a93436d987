"""What notebooks show: exact numbers, every text escaped, and nothing loaded before somebody looks."""

from __future__ import annotations

import html
import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import pytest
import torch
from flint import fmpq

from odernn import UnICORNN, tableaus
from odernn.architecture import RNNGraph, drawing, get, pictures
from odernn.bounds import certify
from odernn.bounds.network.report import Sign, verdict_rows
from odernn.tableaus import families
from odernn.tableaus.catalogue import nystrom
from odernn.tableaus.methods import in_stages
from odernn.tableaus.nystrom import NystromTableau
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau
from odernn.written import bounds as written_bounds
from tests.processes import loaded_after
from verification.run.closure import closure, name_of

HOSTILE = "<script>alert(1)</script> & \u202e\"' \x1b[31m"
VOID = {"br", "hr", "img", "use", "path", "rect", "circle"}


class Page(HTMLParser):
    """The tags of a page, checked to be closed in order, and the cells of its tables, row by row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def cells(text: str) -> list[list[list[str]]]:
    """The tables of a page, without what pads their cells."""
    return [[[cell.strip() for cell in row] for row in table] for table in Page(text).tables]


def number(text: str) -> fmpq:
    exact = Fraction(text.replace("−", "-") or "0")
    return fmpq(exact.numerator, exact.denominator)


def fraction(text: str) -> fmpq:
    r"""\frac{p}{q}, or an integer, with its sign."""
    plain = re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", r"\1/\2", text.strip())
    return number(plain)


def is_rational(method: ButcherTableau) -> bool:
    return all(isinstance(entry, fmpq) for entry in (*method.entries, *(method.b_hat or ())))


def test_the_arrays_of_rational_methods_hold_their_coefficients() -> None:
    """In HTML and in LaTeX, read back as fractions."""
    read = 0
    for method in tableaus.entries():
        if not isinstance(method, ButcherTableau) or not method.is_exact or not is_rational(method):
            continue
        page, formulas = method._repr_html_(), method._repr_latex_()
        if "<pre>" in page:
            continue
        (rows,) = cells(page)
        weights = [method.b, *([method.b_hat] if method.b_hat else [])]
        wanted = [[c, *entries] for c, entries in zip(method.c, method.A, strict=True)]
        assert [[number(cell) for cell in row] for row in rows[: method.stages]] == wanted, method.name
        assert [[number(cell) for cell in row[1:]] for row in rows[method.stages :]] == list(map(list, weights))
        body = re.search(r"\\begin\{array\}\{c\|c+\}\n(.*)\n\\end\{array\}", formulas, re.DOTALL)
        assert body is not None and formulas.startswith("$$\n") and formulas.endswith("\n$$")
        lines = body[1].replace("\\hline\n", "").split("\\\\\n")
        typed = [[fraction(cell) for cell in line.split("&")] for line in lines[: method.stages]]
        assert typed == wanted
        assert [list(map(fraction, line.split("&")[1:])) for line in lines[method.stages :]] == list(map(list, weights))
        read += 1
    assert read >= 40


def test_radicals_are_written_as_the_text_has_them() -> None:
    (rows,) = cells(tableaus.GAUSS_2._repr_html_())
    assert rows[0] == ["1/2 − √3/6", "1/4", "1/4 − √3/6"] and rows[2] == ["", "1/2", "1/2"]
    assert r"\frac{1}{2}-\frac{\sqrt{3}}{6} & \frac{1}{4}" in tableaus.GAUSS_2._repr_latex_()
    page = tableaus.get("alexander 3")._repr_html_()
    assert "θ ≈ 0.435866521508 is a root of x³ − 3x² + 3x/2 − 1/6" in page


@pytest.mark.parametrize(
    "name", ["stoermer verlet", "yoshida 4", "lobatto iiia-iiib 3", "gauss 4", "gauss 12", "dop853"]
)
def test_every_kind_of_method_has_both(name: str) -> None:
    method = tableaus.get(name)
    page, formulas = method._repr_html_(), method._repr_latex_()
    tables = cells(page)
    assert html.escape(method.name) in page and formulas.count("$$") % 2 == 0
    assert formulas.count("{") == formulas.count("}") and not re.search(r"\\(par|begingroup|\[)", formulas)
    inner = in_stages(method.base if isinstance(method, Composition) else method)
    halves = 2 if isinstance(inner, PartitionedTableau) else 1
    assert len(tables) == (0 if "<pre>" in page else halves) and ("<pre>" in page) == (name in ("gauss 12", "dop853"))
    assert ("γ₁ = γ₃ = 2/3" in page) == (name == "yoshida 4") == (r"\gamma_{1}=" in formulas)


@pytest.mark.parametrize("name", nystrom.names())
def test_nystrom_methods_have_both_rows_of_weights(name: str) -> None:
    method = nystrom.get(name)
    page = method._repr_html_()
    if "<pre>" not in page:
        (rows,) = cells(page)
        assert [row[0] for row in rows[-2:]] == ["y₁", "v₁"] and len(rows) == method.stages + 2
    assert "y_1" in method._repr_latex_() or r"\bar b_" in method._repr_latex_()


def test_names_from_elsewhere_are_only_text() -> None:
    euler = ButcherTableau(tableaus.EULER.A, tableaus.EULER.b, name=HOSTILE)
    edges = (HOSTILE, "b<i>", 0), ("b<i>", HOSTILE, 1)
    shown = [
        euler,
        Composition(euler, ["1/2", "1/2"], HOSTILE),
        PartitionedTableau(HOSTILE, None, euler, euler),
        NystromTableau([[0]], ["1/2"], [1], [0], HOSTILE),
        replace(families.gauss(4), name=HOSTILE),
        RNNGraph(HOSTILE, 1, {HOSTILE: 0, "b<i>": 0}, edges, ("b<i>",), (HOSTILE,)),
        written_bounds.LogBound(1.0, HOSTILE),
    ]
    for each in shown:
        page = each._repr_html_()
        tags = Page(page).tags
        assert not tags & {"script", "i"} and "&lt;script&gt;" in page, type(each)
        assert "\x1b" not in page and "\u202e" not in page
        assert "script" not in getattr(each, "_repr_latex_", str)()


@pytest.mark.parametrize("name", ["td", "skip-21"])
def test_a_graph_is_its_picture_and_its_measures(name: str) -> None:
    graph = get(name)
    page = graph._repr_html_()
    (rows,) = cells(page)
    measures = pictures.measures_of(graph)
    assert [row[1] for row in rows[1:]] == [str(x) for x in (measures.d_r, measures.s, measures.d_f)]
    assert page.count("<svg") == 1 and "<?xml" not in page and "DOCTYPE" not in page
    (own,) = set(re.findall(r'id="title-(\w+)"', page))
    assert f'aria-labelledby="title-{own} description-{own}"' in page and f'id="description-{own}"' in page


def test_without_matplotlib_a_graph_is_its_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError('a picture needs matplotlib, which is not installed: pip install "odernn[plots]"')

    monkeypatch.setattr(drawing, "check_available", missing)
    graph = get("td")
    page = graph._repr_html_()
    _, edges = cells(page)
    assert [tuple(row[:3]) for row in edges[1:]] == [(e.tail, e.head, str(e.sigma)) for e in graph.edges]
    assert "<svg" not in page and "pip install" in page


def test_a_graph_that_takes_long_to_draw_is_listed_as_far_as_it_is_read() -> None:
    names = [f"n{place}" for place in range(150)]
    edges = [(a, b, 0) for a, b in itertools.pairwise(names)] + [(name, name, 1) for name in names]
    graph = RNNGraph("long", 1, dict.fromkeys(names, 0), tuple(edges), (names[0],), (names[-1],))
    page = graph._repr_html_()
    assert len(cells(page)[1]) == 201 and "and 99 more edges" in page and "<svg" not in page


def test_bounds_are_rows_of_logarithms_that_are_not_below_them() -> None:
    torch.manual_seed(0)
    report = certify(UnICORNN(2, 3, 2, dt=0.05, alpha=1.0), input_bound=1.0, steps=40)
    verdict, rows = cells(report._repr_html_())
    assert verdict[0] == ["layer", "verdict", "of what"] and [tuple(row) for row in verdict[1:]] == verdict_rows(
        report.layers
    )
    assert rows[0] == ["layer", "quantity", "log₁₀ of the bound", "theorem", "proved for"]
    found = {(row[0], row[1]): (float(row[2].strip("≥≈ ").replace("−", "-")), row[3]) for row in rows[1:]}
    assert len(found) == len(rows) - 1 == sum(11 + len(layer.gradients) for layer in report.layers)
    for layer in report.layers:
        wanted = {f"|dE/dθ|, θ = {name}": (bound.value, bound.theorem) for name, bound in layer.gradients.items()}
        wanted |= {
            "|y_n|, n ≤ N": (layer.log_position, "thm-S"),
            "growth of a neuron in a step": (layer.upper_rate, "thm-J"),
        }
        for quantity, (log, theorem) in wanted.items():
            shown, by = found[f"{layer.layer}", quantity]
            assert by == theorem and 0 <= shown - log / math.log(10) < 2e-3 * abs(log) + 1e-12, quantity
        lowest, _ = found[f"{layer.layer}", "the same, from below"]
        assert 0 <= layer.lower_rate / math.log(10) - lowest < 2e-3 * layer.lower_rate + 1e-12
    (alone,) = cells(report.layers[0]._repr_html_())
    assert alone == rows[: len(alone)]
    bound = report.layers[0].gradients["w"]
    assert cells(bound._repr_html_())[0][1] == [
        next(row[2] for row in rows if row[1] == "|dE/dθ|, θ = w"),
        bound.theorem,
    ]


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (math.log(10), "1.001"),  # the double is a little above
        (0.0, "0"),
        (945.0, "410.5"),
        (-9.8, "−4.256"),
        (3e5, "130289"),
        (-math.inf, "−∞: it is 0"),
    ],
)
def test_a_bound_of_which_less_is_shown_is_rounded_up(log: float, shown: str) -> None:
    bounds = cells(written_bounds.html(written_bounds.LogBound(log, "thm")))
    assert bounds[0][1] == [shown, "thm"]


@pytest.mark.parametrize(
    ("log", "sign", "shown"),
    [
        (math.log(10), "≥", "≥ 0.999"),  # the double is a little above, its logarithm is divided by more
        (-9.8, "≥", "≥ −4.257"),
        (945.0, "≥", "≥ 410.4"),
        (-9.8, "≤", "−4.256"),
        (0.0, "≈", "≈ 0"),
        (None, "≤", "nothing is known"),
    ],
)
def test_a_bound_from_below_is_rounded_down(log: float | None, sign: Sign, shown: str) -> None:
    line = written_bounds.QuantityBound("q", log, "" if log is None else "thm", "why", sign)
    (rows,) = cells(line._repr_html_())
    assert rows[1] == ["q", shown, "–" if log is None else "thm", "why"]


def test_nothing_is_written_before_somebody_looks() -> None:
    heavy = ("odernn.written", "odernn.written.arrays", "tabulate", "matplotlib", "IPython")
    assert loaded_after("import odernn\nfrom odernn import tableaus\ntableaus.GAUSS_2", heavy) == []
    assert "odernn.notebook" not in loaded_after("import odernn", ("odernn.notebook",))
    assert "torch" not in loaded_after("from odernn import tableaus\ntableaus.RK4._repr_html_()", ("torch", "numpy"))


def test_no_key_of_a_job_holds_how_a_method_is_drawn() -> None:
    for module in ("odernn.tableaus.tableau", "odernn.architecture.graph", "odernn.bounds.network.report"):
        files = {name_of(path) for path in closure(module).files}
        assert "odernn.notebook" in files and not any(name.startswith("odernn.written") for name in files)
