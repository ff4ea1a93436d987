"""``odernn tableau``: one method, two, all of them; every format; and bad input in one line with its row and cause."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odernn import tableaus
from odernn.properties.fact_sheet import questions
from odernn.tableaus import families
from odernn.tableaus import files as tableau_files
from odernn.tableaus.catalogue import nystrom as nystrom_catalogue
from tests import latex
from tests.processes import loaded_after
from tests.tiers import slow
from tests.verification.commands import lines as lines_of
from verification.cli import main
from verification.commands import tableau as command
from verification.commands.terminal import DONE, USAGE
from verification.report.formats import names as formats

pytestmark = pytest.mark.usefixtures("elsewhere")

CHECKOUT = Path(__file__).resolve().parents[3]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    return lines_of.printed(capsys, "tableau", *arguments)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    return lines_of.refused(capsys, "tableau", *arguments)


# --- one method -------------------------------------------------------------------------------------------------


def test_one_method_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "gauss", "2", "--width", "120").splitlines()
    assert lines[0] == "gauss 2 · 2 stages · hairer1996, Table IV.5.1"
    assert lines[2] == "  1/2 − √3/6 │        1/4  1/4 − √3/6"
    rows = {line[:28].strip(): re.split(r"\s{2,}", line[30:].strip()) for line in lines[9:]}
    assert rows["order"] == ["4", "Φ([τ,τ,τ,τ]) − 1/5 = −1/180"]
    assert rows["R(z)"][1] == "R(z) = (1 + z/2 + z²/12)/(1 − z/2 + z²/12)"
    assert rows["algebraically stable"] == ["yes", "M = 0"]
    assert rows["symplectic"] == ["yes", "defect = 0"]
    assert "The source declares order 4: as computed." in lines


def test_the_catalogues_oldest_misprint(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """RK42 with the last row (1, −2, 1, 0) has order 1. Where c is given too it is refused at once."""
    text = 'order = 4\nA = [[0,0,0,0],["1/4",0,0,0],[0,"1/2",0,0],[1,-2,1,0]]\nb = ["1/6",0,"2/3","1/6"]\n'
    (tmp_path / "rk42.toml").write_text(text)
    assert "The source declares order 4: BUT IT IS 1." in printed(capsys, "rk42.toml")
    (tmp_path / "rk42.toml").write_text(text + 'c = [0, "1/4", "1/2", 1]\n')
    assert "row 4 of A sums to 0 but c₄ = 1" in refused(capsys, "rk42.toml")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        (["GAUSS_2"], "gauss 2"),
        (["Radau-IIA 3"], "radau iia 3"),
        (["radauiia10"], "radau iia 10"),
        (["lobatto", "iiia-iiib", "3"], "lobatto iiia-iiib 3"),
        (["lobatto iiic* 4"], "lobatto iiic* 4"),
        (["ssp (10,4)"], "ssp (10,4)"),
        (["ssp", "10", "4"], "ssp (10,4)"),
        slow((["DOP853"], "dop853")),
        (["stoermer verlet.position"], "lobatto iiia 2"),
    ],
)
def test_spelling_is_a_matter_of_taste(capsys: pytest.CaptureFixture[str], typed: list[str], name: str) -> None:
    assert printed(capsys, *typed, "--format", "csv")
    assert str(command.method_of(" ".join(typed)).name) == name


def test_a_method_from_a_file_is_the_one_from_the_catalogue(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("radau iia 3", "dormand prince 5(4)", "stoermer verlet"):
        method = tableaus.get(name)
        assert not isinstance(method, (families.PolynomialTableau, families.PolynomialPair))
        tableau_files.write(method, tmp_path / "mine.json")
        assert printed(capsys, "mine.json") == printed(capsys, name)


def test_a_pair_says_what_is_not_asked_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "yoshida 4")
    assert "Not asked: stage order, B(p)" in text and "\nA-stable" not in text and "\nsymplectic " in text


def test_decimals_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert "0.43587" in printed(capsys, "alexander 3", "--decimals", "5")
    assert "θ" in printed(capsys, "alexander 3")
    assert "--decimals -1: give a number from 0 to 1000." in refused(capsys, "rk4", "--decimals", "-1")


@pytest.mark.parametrize("name", ["text", "github", "latex", "csv", "json"])
@pytest.mark.parametrize("what", [["radau iia 3"], ["--compare", "gauss 2", "yoshida 4"], slow(["--list"])])
def test_every_format_twice_the_same(capsys: pytest.CaptureFixture[str], what: list[str], name: str) -> None:
    assert name in formats()
    once, twice = (printed(capsys, *what, "--format", name) for _ in range(2))
    assert once == twice and len(once) > 300 and "\x1b" not in once and "U+" not in once


def test_json_is_strict_and_complete(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    document = json.loads(printed(capsys, "rk4", "--format", "json"), parse_constant=refuse)
    rows = {row["property"]: row for row in document["rows"]}
    assert list(rows) == [name for name in questions() if name in rows] and len(rows) == 28
    assert rows["order"]["value"] == 4 and rows["algebraically stable"]["witness"] == ["1", "0", "0", "0"]
    assert rows["inertia of M"]["value"] == [1, 2, 1] and rows["A-stable"]["holds"] is False
    assert document["figures"][0]["b"] == ["1/6", "1/3", "1/3", "1/6"]
    infinite = json.loads(printed(capsys, "euler", "--format", "json"), parse_constant=refuse)
    assert {row["property"]: row["value"] for row in infinite["rows"]}["C(q)"] == "inf"


@pytest.mark.latex
@pytest.mark.parametrize(
    "what", [["radau iia 3"], slow(["dop853"]), ["--compare", "alexander 3", "yoshida 4"], slow(["--all"])]
)
def test_latex_compiles_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path, what: list[str]) -> None:
    log = latex.compiled(printed(capsys, *what, "--format", "latex"), tmp_path)
    assert latex.flaws(log) == []


# --- two, and all -----------------------------------------------------------------------------------------------


def test_a_comparison_marks_the_differences_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "--compare", "gauss 2", "lobatto iiic 2", "--format", "json")
    rows = {row["property"]: row for row in json.loads(text)["rows"]}
    assert rows["symplectic"]["differs"] and rows["order"]["differs"] and rows["L-stable"]["differs"]
    assert not rows["A-stable"]["differs"] and not rows["algebraically stable"]["differs"]
    drawn = printed(capsys, "--compare", "gauss 2", "lobatto iiic 2")
    assert drawn.count("\n≠ ") == sum(row["differs"] for row in rows.values())
    assert "1/2 − √3/6 │        1/4  1/4 − √3/6     0 │ 1/2  −1/2" in drawn
    assert printed(capsys, "--compare", "rk4", "rk4").startswith("rk4 and rk4: 0 differences in 28 properties")


@pytest.mark.slow
def test_the_companion_table_has_the_printed_rows_and_the_whole_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    """Three rows are those of the house's own document; false ones beside true ones."""
    text = printed(capsys, "--all", "--width", "300")
    cells = (re.split(r"\s{2,}", line) for line in text.splitlines() if line[:1] != " ")
    rows = {row[0]: row[1:] for row in cells}
    assert rows["gauss 2"] == ["4", "[τ,τ,τ,τ]", "0", "yes", "yes", "yes"]
    assert rows["radau iia 3"] == ["5", "[τ,τ,τ,τ,τ]", "pivots 7/324 − √6/162, 0, 0", "yes", "no", "yes"]
    assert rows["lobatto iiia 2"] == ["2", "[τ,τ]", "v = (1, 0): vᵀMv = −1/4", "no", "no", "yes"]
    assert rows["yoshida 4"][2:] == ["–", "–", "yes", "–"]
    assert all(name in rows for name in tableaus.names())
    assert all(f"{family} 4" in rows for family in (*families.FAMILIES, command.PAIR))
    table = list(csv.DictReader(io.StringIO(printed(capsys, "--all", "--format", "csv"))))
    assert len(table) == len({row["tableau"] for row in table}) > 140


def test_the_list_has_every_name(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "--list", "--format", "csv")
    found = [row["name"] for row in csv.DictReader(io.StringIO(text))]
    assert found[: len(tableaus.names())] == list(tableaus.names())
    rest = [*(f"{name} S" for name in (*families.FAMILIES, command.PAIR)), *nystrom_catalogue.names()]
    assert found[len(tableaus.names()) :] == rest


def test_a_nystrom_method_has_a_sheet_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Typed by hand: the array of Nyström's method of order 4, and what is decided of it."""
    text = printed(capsys, "RKN", "Nystroem", "4")
    for line in ("    0 │", "  1/2 │ 1/8", "    1 │   0  1/2", "   y₁ │ 1/6  1/3    0", "   v₁ │ 1/6  2/3  1/6"):
        assert line in text.splitlines()
    assert re.search(r"^order +4 +Φ\(\[τ_y,τ_y,τ_y,τ_y\]_z\) − 1/5 = 1/120$", text, re.MULTILINE)
    assert re.search(r"^symplectic +no ", text, re.MULTILINE) and "algebraically" not in text
    wide = printed(capsys, "rkn mclachlan atela 5")
    assert "ā₂₁ = 0.0405" in wide and "b̄₁ = 0.1193900292875672758" in wide
    data = json.loads(printed(capsys, "rkn nystroem 4", "--format", "json"))["figures"][0]
    assert (data["A_bar"][1], data["b_bar"], data["c"]) == (["1/8", "0", "0"], ["1/6", "1/3", "0"], ["0", "1/2", "1"])
    assert "v_1 & \\frac{1}{6}" in printed(capsys, "rkn nystroem 4", "--format", "latex")


@pytest.mark.parametrize(
    ("option", "said"), [("--svg=x.svg", "has no R\\(z\\)"), ("--rounded=float32", "only Runge–Kutta")]
)
def test_what_has_no_meaning_for_a_nystrom_method_is_refused(
    capsys: pytest.CaptureFixture[str], option: str, said: str
) -> None:
    assert main(["tableau", "rkn nystroem 4", option]) == USAGE
    assert re.search(said, capsys.readouterr().err)
    assert main(["tableau", "--compare", "rkn nystroem 4", "rk4"]) == USAGE
    assert "Compare it with another." in capsys.readouterr().err
    assert printed(capsys, "--compare", "rkn nystroem 4", "rkn nystroem 5").startswith(
        "rkn nystroem 4 and rkn nystroem 5: 1"
    )
    assert main(["tableau", "rkn nystrom 4"]) == USAGE
    assert 'Did you mean "rkn nystroem 4"?' in capsys.readouterr().err


# --- bad input --------------------------------------------------------------------------------------------------

FILES = {
    "ragged.json": ('{"A": [[0,0],["1/2"]], "b": [0,1]}', "row 2 of A has 1 entries but b has 2"),
    "flat.json": ('{"A": [[0,0]], "b": [0,1]}', "A has 1 rows but b has 2 entries"),
    "nan.json": ('{"A": [[0,0],[NaN,0]], "b": [0,1]}', "row 2 of A, a₂₁ is nan, which is not a finite number"),
    "nan.toml": ("A = [[0,0],[nan,0]]\nb = [0,1]", "row 2 of A, a₂₁ is nan, which is not a finite number"),
    "inf.toml": ("A = [[0]]\nb = [inf]", "b₁ is inf, which is not a finite number"),
    "text.json": ('{"A": [[0,0],["1/2x",0]], "b": [0,1]}', "row 2 of A, a₂₁ is '1/2x', which is not an exact number"),
    "code.json": ('{"A": [["__import__(1)"]], "b": [1]}', "row 1 of A, a₁₁ is '__import__(1)'"),
    "long.json": ('{"A": [[0,0],["1/2",0]], "b": [0,0,1]}', "b has 3 entries but A is 2 × 2"),
    "sum.json": ('{"A": [[0,0],["1/2",0]], "b": [0,1], "c": [0,"1/3"]}', "row 2 of A sums to 1/2 but c₂ = 1/3"),
    "key.toml": ("A = [[0]]\nb = [1]\nB = [1]", 'the key "B" is not known'),
    "none.json": ('{"b": [1]}', 'the key "A" is missing'),
    "cut.json": ('{"A": [[0,', "it is not valid JSON: Expecting value (line 1, column 11)."),
    "cut.toml": ("A = [[0,", "it is not valid TOML: "),
    "case.json": ('{"a": [[0]], "B": [1]}', 'the key "a" is not known. Did you mean "A"?'),
    "case.toml": ("A = [[0]]\nB = [1]", 'the key "B" is not known. Did you mean "b"?'),
    "mine.txt": ('{"A": [[0]], "b": [1]}', "the ending '.txt' is not known. Call the file .json or .toml."),
    "radicand.json": ('{"A": [["cbrt(1e400+1)"]], "b": ["1/0"]}', "it divides by zero"),
    "list.json": ("[1, 2]", "not a table with the keys"),
    "steer.json": ('{"A": [["\\u001b[31m"]], "b": [1]}', "row 1 of A, a₁₁"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_one_line_with_file_row_and_cause(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    text, cause = FILES[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    line = refused(capsys, name)
    assert line.startswith(f"odernn: {name}: ") and cause in line and "\x1b" not in line
    assert refused(capsys, "--compare", "rk4", name) == line


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["gaus 6"], 'No tableau is called "gaus 6". Did you mean "gauss 6"?'),
        (["radau iib 3"], 'Did you mean "radau ii 3"?'),
        (["gauss"], "gauss takes a number of stages, for example gauss 3"),
        (["gauss 2.5"], "the number of stages must be a whole number, for example gauss 3"),
        (["gauss 99999"], "too many stages to decide everything about it; at most 20 here. Python decides single"),
        (["radauiia", "21"], 'odernn.algebraic_stability(odernn.tableaus.get("radau iia 21"))'),
        (["lobatto iiia-iiib 13.position"], "at most 12 here"),
        (["gauss 12345678901"], "at most 20 here"),
        (["missing.txt"], "must end in .json or .toml"),
        (["rk5"], 'Did you mean "rk4"?'),
        (["dopri5"], 'Did you mean "dormand prince 5(4)"?'),
        (["crank-nicolson"], 'Did you mean "trapezoidal"?'),
        (["Verlet"], 'Did you mean "stoermer verlet"?'),
        (["gauss 0"], 'there is no method with s = 0 stages; the smallest has s = 1. Write "gauss 1" or more.'),
        (["lobatto iiic 1"], "the smallest has s = 2"),
        (["lobatto iiia-iiib 1"], "the smallest has s = 2"),
        (["radau iia -2"], "s = -2"),
        (["missing.json"], '"missing.json" cannot be read: no such file'),
        (["."], "cannot be read"),
        ([""], "The name of the tableau is empty."),
        (["rk4.position"], "it has no position"),
        ([], "Give one of: NAME or FILE"),
        (["rk4", "--all"], "Give one of"),
        (["--all", "--list"], "Give one of"),
        (["--compare", "rk4"], "requires 2 arguments"),
        (["rk4", "--format", "txt"], 'Did you mean "text"?'),
        (["rk4", "--decimals", "x"], "--decimals"),
    ],
)
def test_bad_usage_is_one_line_that_says_what_to_do(
    capsys: pytest.CaptureFixture[str], typed: list[str], said: str
) -> None:
    assert said in refused(capsys, *typed)


def test_bytes_that_are_no_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert refused(capsys, "bytes.json") == "odernn: bytes.json: it is not a text file (in UTF-8): byte 0.\n"
    (tmp_path / "bytes.toml").write_bytes(b"A\x00")
    assert "it is not a text file" in refused(capsys, "bytes.toml")


# --- the process ------------------------------------------------------------------------------------------------


def test_the_command_starts_without_torch_scipy_and_sympy() -> None:
    """Also where it fails: the line must not wait for torch."""
    run = "from verification.cli import main\n" + "\n".join(
        f"assert main(['tableau', {name!r}, '--format', 'csv']) == {code}"
        for name, code in (("gauss 12", DONE), ("gaus 12", USAGE))
    )
    assert loaded_after(run, ("torch", "sympy", "scipy"), prints=True) == []


# --- what the documents say -------------------------------------------------------------------------------------


def test_the_fact_sheet_in_a_document_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    text = (CHECKOUT / "docs" / "tableaus.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```console\n\$ odernn tableau radau iia 3\n(.*?)```", text, re.DOTALL)
    shown = [line for line in block.splitlines() if line not in ("…", "")]
    lines = printed(capsys, "radau iia 3").splitlines()
    assert len(shown) >= 14 and [line for line in lines if line in shown] == shown


@pytest.mark.slow
def test_the_companion_table_in_the_document_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def rows(text: str) -> dict[str, list[str]]:
        cells = ([cell.strip() for cell in line.split(" | ")] for line in text.splitlines() if line.startswith("| "))
        return {row[0]: [cell.removesuffix(" |") for cell in row] for row in cells}

    documented = rows((CHECKOUT / "docs" / "tableaus.md").read_text(encoding="utf-8").partition("companion table\n")[2])
    computed = rows(printed(capsys, "--all", "--format", "github"))
    assert len(documented) > 20
    assert {name: computed[name] for name in documented} == documented


def test_the_python_in_the_document_runs_and_prints_what_it_says() -> None:
    text = (CHECKOUT / "docs" / "tableaus.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for block, facts in zip(blocks, (28, 0), strict=True):  # the first ends with a sheet of so many lines
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, cwd=CHECKOUT)
        lines = done.stdout.splitlines()
        said = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
        assert lines[: len(said)] == said and len(lines) == len(said) + facts, done.stderr
