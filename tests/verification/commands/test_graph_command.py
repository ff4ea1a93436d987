"""``odernn graph``: one architecture, its paths in time, the catalogue; files, pictures; bad input in one line."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from odernn.architecture import Edge, RNNGraph, files, get, measures_of, names
from odernn.architecture.measures import MeasureEvidence
from tests import latex
from tests.processes import loaded_after
from tests.tiers import slow
from tests.verification.commands import lines as lines_of
from verification.cli import main
from verification.commands import graph as command
from verification.commands.terminal import DONE, USAGE
from verification.report.formats import names as formats

pytestmark = pytest.mark.usefixtures("elsewhere")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, remarks: str = "") -> str:
    return lines_of.printed(capsys, "graph", *arguments, remarks=remarks)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    return lines_of.refused(capsys, "graph", *arguments)


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, str]]:
    """The sheet as csv, by property."""
    found = list(csv.DictReader(io.StringIO(printed(capsys, *arguments, "--format", "csv"))))
    return {row["property"]: row for row in found}


# --- one graph --------------------------------------------------------------------------------------------------


def test_one_graph_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "figure 1(a)").splitlines()
    assert lines[0] == "figure 1(a) · period 2 · 8 nodes · 9 edges · complexity, Figure 1, caption"
    assert "  3(t), t ≡ 0 mod 2  reads 2(t), 3(t − 2), 7(t − 1)" in lines
    text = re.sub(r"\s+", " ", " ".join(lines))
    assert "recurrent depth d_r 3/2 cycle 3 -(1)-> 6 -(0)-> 7 -(1)-> 3: 3 edges in 2 steps; no cycle has more" in text
    assert "recurrent skip coefficient s 2 cycle 3 -(2)-> 3: 1 edge in 2 steps; no cycle has fewer" in text
    assert "8: 5 edges in 1 step, l − d_r Σσ = 5 − 3/2 · 1 = 7/2; no path has more" in text
    assert "The source prints d_r = 3/2, d_f = 7/2, s = 2: as computed." in lines


def test_what_differs_from_the_source_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "The source prints d_f = 3: BUT IT IS 7/2." in printed(capsys, "figure 1(a), text").splitlines()
    assert "The source prints s = 1/2: BUT IT IS 1." in printed(capsys, "4.5(3)-1").splitlines()
    assert "BUT" not in printed(capsys, "4.5(3)-5")


def test_a_limit_that_does_not_exist_has_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "clockwork(2,3)")
    assert found["D_i(n)/n → d_r for every i"]["holds"] == "True"
    missing = found["d_i(n)/n → 1/s for every i"]
    assert missing["holds"] == "False" and "from time 2, for n ≡ 0 modulo 6" in missing["because"]


def test_negative_values_have_a_minus_sign(capsys: pytest.CaptureFixture[str]) -> None:
    graph = RNNGraph(
        "slow",
        1,
        {"in": 0, "h": 0, "out": 0},
        (Edge("in", "h", 7), Edge("h", "h", 1), Edge("h", "out", -1)),
        ("in",),
        ("out",),
    )
    files.write(graph, "slow.json")
    text = re.sub(r"\s+", " ", printed(capsys, "slow.json"))
    assert "d_f −4 path in -(7)-> h -(-1)-> out: 2 edges in 6 steps, l − d_r Σσ = 2 − 1 · 6 = −4" in text
    assert "out(t) reads h(t + 1)" in text


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        (["fig1a"], "figure 1(a)"),
        (["Figure", "1a"], "figure 1(a)"),
        (["TD"], "td"),
        (["skip", "7"], "skip-7"),
        (["cw(1,", "2)"], "clockwork(1,2)"),
        (["4.5(3)", "4"], "4.5(3)-4"),
        (["(3, 2)"], "(3,2)"),
        (["stacked", "lstm", "2"], "stacked lstm-2"),
        (["UnICORNN-3"], "unicornn-3"),
        (["skip-21"], "skip-21"),
    ],
)
def test_spelling_is_a_matter_of_taste(typed: list[str], name: str) -> None:
    assert command.entry_of(" ".join(typed)).graph == get(name)


@pytest.mark.parametrize("name", names())
def test_every_name_of_the_catalogue_is_found_as_it_is(name: str) -> None:
    assert command.entry_of(name).name == name


@pytest.mark.parametrize("name", ["text", "github", "latex", "csv", "json"])
@pytest.mark.parametrize("what", [["clockwork(2,3)"], ["figure 1(a)", "--steps", "40"], slow(["--list"])])
def test_every_format_twice_the_same(capsys: pytest.CaptureFixture[str], what: list[str], name: str) -> None:
    assert name in formats()
    once, twice = (printed(capsys, *what, "--format", name) for _ in range(2))
    assert once == twice and len(once) > 300 and "\x1b" not in once and "U+" not in once


@pytest.mark.latex
@pytest.mark.parametrize("what", [["clockwork(1,2,4,8)"], ["figure 1(a)", "--steps", "4"], ["--list"]])
def test_latex_compiles_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path, what: list[str]) -> None:
    log = latex.compiled(printed(capsys, *what, "--format", "latex"), tmp_path)
    assert latex.flaws(log) == []


@pytest.mark.parametrize("name", ["td", "figure 1(a)", "clockwork(2,3)", "unicornn sam"])
def test_json_holds_a_proof_that_needs_nothing_else(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """From the document alone: the walks attain the values, the potentials bound every other."""
    document = json.loads(printed(capsys, name, "--format", "json"))
    (data,) = document["figures"]
    graph = RNNGraph(data["name"], data["period"], data["nodes"], data["edges"], data["inputs"], data["outputs"])
    assert graph == get(name)
    by_name = {row["property"]: row for row in document["rows"]}
    depth = by_name["recurrent depth d_r"]
    p, q = Fraction(depth["value"]).as_integer_ratio()
    assert (depth["length"], depth["sigma"]) == (len(depth["edges"]), depth["length"] * q // p)
    h, k = data["potentials"]["d_r"], data["potentials"]["s"]
    assert all(h[u] >= h[v] + q - p * s for u, v, s in data["edges"])
    b, a = Fraction(by_name["recurrent skip coefficient s"]["value"]).as_integer_ratio()  # j = a/b
    assert all(k[u] >= k[v] - b + a * s for u, v, s in data["edges"])
    path = by_name["feedforward depth d_f"]
    assert Fraction(path["value"]) == path["length"] - Fraction(p, q) * path["sigma"]


# --- where condition (U) fails ----------------------------------------------------------------------------------

BACKWARD = '{"nodes": {"a": 0, "b": 0}, "edges": [["a", "a", -1], ["a", "b", 1]], "inputs": ["a"], "outputs": ["b"]}'


def test_a_graph_that_runs_backward_has_a_sheet_without_measures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "back.json").write_text(BACKWARD)
    found = rows(capsys, "back.json")
    assert found["recurrent depth d_r"]["value"] == "" and found["recurrent depth d_r"]["holds"] == "False"
    assert found["(U) every cycle has σ-sum > 0"]["edges"] == "a -(-1)-> a"
    assert not any("D_i" in name for name in found) and "integer potential" not in printed(capsys, "back.json")
    line = refused(capsys, "back.json", "--steps", "3")
    assert "--steps: " in line and "condition (U) fails: the closed walk a -(-1)-> a has σ-sum -1." in line


# --- paths in time ----------------------------------------------------------------------------------------------


def test_paths_in_time_are_those_that_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    table = list(csv.DictReader(io.StringIO(printed(capsys, "figure 1(a)", "--steps", "4", "--format", "csv"))))
    longest = {(int(row["i"]), int(row["n"])): int(row["D"]) for row in table}
    assert [longest[0, n] for n in range(1, 5)] == [5, 6, 8, 9] and [longest[1, n] for n in range(1, 5)] == [4, 6, 7, 9]
    for row in table:
        assert int(row["D*"]) <= Fraction(row["bound"]) == int(row["n"]) * Fraction(3, 2) + Fraction(7, 2)
    assert any(int(row["D*"]) == Fraction(row["bound"]) for row in table)


def test_an_n_without_a_path_has_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    table = list(csv.DictReader(io.StringIO(printed(capsys, "unicornn sam", "--steps", "4", "--format", "csv"))))
    assert [row["n"] for row in table] == ["0", "1", "2", "3", "4"]
    assert [row["D*"] for row in table] == ["", "", "", "4", "5"]
    assert printed(capsys, "dilated(4,8)", "--steps", "3").count("\n  0 ") == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["td", "--steps", "1001"], "--steps 1001: give a number from 0 to 1000."),
        (["td", "--steps", "-1"], "--steps -1: give a number"),
        (["clockwork(59,61)", "--steps", "1000"], "that is too much for the table of paths"),
        (["td", "--steps", "x"], "--steps"),
    ],
)
def test_too_many_steps_are_refused(capsys: pytest.CaptureFixture[str], typed: list[str], said: str) -> None:
    assert said in refused(capsys, *typed)


# --- the catalogue ----------------------------------------------------------------------------------------------


def test_the_list_has_every_name_with_its_measures_and_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    table = list(csv.DictReader(io.StringIO(printed(capsys, "--list", "--format", "csv"))))
    assert [row["architecture"] for row in table] == [get(name).name for name in names()]
    for row in table:
        found = measures_of(get(row["architecture"]))
        assert [Fraction(row[name]) for name in ("d_r", "d_f", "s")] == [found.d_r, found.d_f, found.s]
    wrong = [row["architecture"] for row in table if row["differences"]]
    assert wrong == ["figure 1(a), text", "4.5(3)-1"]
    assert printed(capsys) == printed(capsys, "--list")
    assert "skip-K" in printed(capsys)


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["td", "figure 1(a)", "clockwork(2,3)"])
def test_what_is_written_is_read_back_equal(capsys: pytest.CaptureFixture[str], name: str) -> None:
    text = printed(capsys, name, "--json", "a.json", "--dot", "b.gv", remarks="wrote b.gv\nwrote a.json\n")
    assert text == printed(capsys, name)
    assert files.read("a.json") == files.read("b.gv") == get(name)
    lines = [printed(capsys, file).splitlines()[2:20] for file in ("a.json", "b.gv")]
    assert lines[0] == lines[1] == text.splitlines()[2:20]


def test_a_picture_is_written_beside_the_sheet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    from odernn.architecture import pictures

    assert printed(capsys, "td", "--svg", "td.svg", remarks="wrote td.svg\n") == printed(capsys, "td")
    assert (tmp_path / "td.svg").read_text(encoding="utf-8") == pictures.svg(get("td"))


def test_without_matplotlib_the_extra_is_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = refused(capsys, "td", "--svg", "td.svg", "--json", "td.json")
    assert 'a picture needs matplotlib, which is not installed: pip install "odernn[plots]"' in line
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_is_too_large_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    assert "a picture shows at most 60" in refused(capsys, "stack-99", "--svg", "stack.svg")
    assert list(tmp_path.iterdir()) == []


# --- bad input --------------------------------------------------------------------------------------------------

ENDS = '"nodes": {"in": 0, "h": 0, "out": 0}, "inputs": ["in"], "outputs": ["out"]'
FILES = {
    "waits.json": (
        f'{{{ENDS}, "edges": [["in","h",0],["h","h",3],["h","h",-2],["h","out",0]]}}',
        "condition (3) fails: the closed walk 3 times (h -(-2)-> h) then 2 times (h -(3)-> h) has σ-sum 0",
    ),
    "chain.json": (f'{{{ENDS}, "edges": [["in","h",0],["h","out",1]]}}', "condition (2) fails: there is no directed"),
    "deaf.json": (f'{{{ENDS}, "edges": [["h","h",1],["h","out",0]]}}', "condition (R) fails: the output out is"),
    "late.json": (
        '{"period": 2, "nodes": {"h": 0}, "edges": [["h","h",3]]}',
        "condition (1) fails: the edge h -(3)-> h has σ = 3",
    ),
    "key.json": ('{"nodes": {}, "edgse": []}', 'the key "edgse" is not known. Did you mean "edges"?'),
    "cut.json": ('{"nodes": {', "it is not valid JSON"),
    "half.json": (f'{{{ENDS}, "edges": [["h","h",0.5]]}}', "is 0.5, not an integer"),
    "name.dot": ("digraph { h [time=0]; h -> k [sigma=1]; }", "'k' has no statement"),
    "one.dot": ("graph { a -- b; }", 'it starts with "graph", not with "digraph"'),
    "steer.json": ('{"nodes": {"\\u001b[3m": 0}, "edges": [["\\u001b[3m", "\\u001b[3m", 0]]}', "condition (3) fails"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_one_line_with_file_condition_and_walk(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    text, cause = FILES[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    line = refused(capsys, name)
    assert line.startswith(f"odernn: {name}: ") and cause in line and "\x1b" not in line


@pytest.mark.parametrize("options", [(), ("--steps", "1"), ("--format", "github"), ("--format", "latex")])
def test_names_in_a_file_do_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    edges = '[["\\u001b[2J", "h\\u202e", 0], ["h\\u202e", "h\\u202e", 1]]'
    nodes = '"nodes": {"\\u001b[2J": 0, "h\\u202e": 0}, "inputs": ["\\u001b[2J"], "outputs": ["h\\u202e"]'
    (tmp_path / "good.json").write_text(f'{{{nodes}, "edges": {edges}}}', encoding="utf-8")
    text = printed(capsys, "good.json", *options)
    assert all(character.isprintable() for character in text.replace("\n", "")) and len(text.splitlines()) > 5
    assert json.loads(printed(capsys, "good.json", "--format", "json"))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["figur 1a"], 'No architecture is called "figur 1a". Did you mean "figure 1(a)"?'),
        (["skip"], "`odernn graph --list` shows the names."),
        ([""], "The name of the architecture is empty."),
        (["skip-0"], "The skip k is 0; it must be at least 1."),
        (["stack-0"], "Ask for at least 1"),
        (["clockwork(97,98,99,101)"], "the period is 95050494; at most 10000 here."),
        (["stack-99999999"], "the number of layers is 99999999; at most 10000 here."),
        ([f"skip-{'9' * 301}"], "more than 300 digits"),
        (["clockwork(0,2)"], "do not increase from 1"),
        (["missing.json"], '"missing.json" cannot be read: no such file'),
        (["mine.txt"], "must end in .json"),
        (["td", "--svg", "a.png"], '--svg "a.png": the name of the file must end in .svg.'),
        (["td", "--dot", "a.txt"], "must end in .dot or .gv."),
        (["td", "--json", "a"], "must end in .json."),
        (["td", "--json", "none/a.json"], '"none/a.json" cannot be written: no such file or directory.'),
        (["td", "--list"], "Give NAME or FILE, or --list"),
        (["--steps", "3"], "only with NAME or FILE"),
        (["--svg", "a.svg"], "only with NAME or FILE"),
        (["td", "--format", "txt"], 'Did you mean "text"?'),
    ],
)
def test_bad_usage_is_one_line_that_says_what_to_do(
    capsys: pytest.CaptureFixture[str], typed: list[str], said: str
) -> None:
    assert said in refused(capsys, *typed)


# --- the process ------------------------------------------------------------------------------------------------


def test_the_command_starts_without_torch_scipy_sympy_and_matplotlib() -> None:
    """Also where it fails: the line must not wait for torch."""
    run = "from verification.cli import main\n" + "\n".join(
        f"assert main(['graph', {name!r}, '--format', 'csv']) == {code}" for name, code in (("td", DONE), ("dt", USAGE))
    )
    assert loaded_after(run, ("torch", "sympy", "scipy", "matplotlib", "networkx"), prints=True) == []


def test_a_fault_in_the_evidence_stops_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No value is printed that its evidence does not confirm: an internal error, exit code 4."""
    monkeypatch.setattr(MeasureEvidence, "confirms", lambda self, graph: False)
    assert main(["graph", "td"]) == 4
    captured = capsys.readouterr()
    assert captured.out == "" and "the evidence for d_r = 2 does not hold" in captured.err
