"""``odernn tableau --rounded`` and ``--svg``: tables, refusals, and that the document prints what the command does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from odernn import tableaus
from verification.cli import main
from verification.commands.terminal import DONE, USAGE
from verification.report.pictures import stability as stability_pictures

pytestmark = pytest.mark.usefixtures("elsewhere")

CHECKOUT = Path(__file__).resolve().parents[3]
DOCUMENT = (CHECKOUT / "docs" / "tableaus.md").read_text(encoding="utf-8")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["tableau", *arguments]) == DONE
    return capsys.readouterr().out


def test_the_sheet_in_the_document_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```console\n\$ odernn tableau radau iia 2 --rounded float32\n(.*?)```", DOCUMENT, re.DOTALL)
    shown = [line for line in block.splitlines() if line not in ("…", "")]
    lines = printed(capsys, "radau iia 2", "--rounded", "float32").splitlines()
    assert len(shown) >= 9 and [line for line in lines if line in shown] == shown


@pytest.mark.slow
def test_the_table_in_the_document_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def rows(text: str) -> dict[str, list[str]]:
        cells = (
            [cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line[:1] == "|"
        )
        return {row[0]: row for row in cells if set(row[0]) - set(":-")}

    section = DOCUMENT.partition("## In floating-point numbers\n")[2].partition("\n## ")[0]
    documented, computed = rows(section), printed(capsys, "--all", "--rounded", "float32", "--format", "github")
    assert len(documented) == 25 and {name: rows(computed)[name] for name in documented} == documented
    for format in ("float32", "float64"):
        (said,) = re.findall(
            rf"{format}: .* symplectic ones\.", printed(capsys, "--all", "--rounded", format).replace("\n", " ")
        )
        assert said in section


def test_json_holds_exact_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "gauss", "2", "--rounded", "float32", "--format", "json"))
    records = {each["property"]: each for each in (found["rows"] if isinstance(found, dict) else found)}
    assert records["defect"]["exact"] in ("1/536870912", "-1/536870912")
    assert records["algebraically stable"]["exact"] is False


def test_a_file_of_floats_is_judged_as_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nA = [[0.25, -0.03867513459481287], [0.5386751345948129, 0.25]]\nb = [0.5, 0.5]\n',
        encoding="utf-8",
    )
    text = printed(capsys, str(path), "--rounded", "given")
    assert re.search(r"^algebraically stable +no ", text, re.MULTILINE)
    assert re.search(r"^nearest method +gauss 2 ", text, re.MULTILINE)
    assert "largest rounding" not in text


def test_svg_writes_the_picture_of_a_method_of_the_catalogue_or_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["tableau", "rk4", "--svg", "rk4.svg"]) == DONE
    captured = capsys.readouterr()
    assert "wrote rk4.svg" in captured.err and captured.out.startswith("rk4 ")
    assert stability_pictures.svg(tableaus.RK4) == (tmp_path / "rk4.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gauss 2", "--rounded", "float8"), "give one of float64, float32, bfloat16, float16, or given."),
        (("gauss 7", "--rounded", "given"), "Round it first"),
        (("--all", "--rounded", "given"), "give a format"),
        (("--list", "--rounded", "float32"), "--rounded goes with NAME"),
        (("gauss 2", "--rounded", "float32", "--decimals", "3"), "without --decimals"),
        (("gauss 2", "--rounded", "float32", "--svg", "a.svg"), "without --rounded"),
        (("--all", "--svg", "a.svg"), "--svg goes with NAME"),
        (("gauss 2", "--svg", "a.png"), "must end in .svg"),
        (("gauss 2", "--svg", "nowhere/a.svg"), "cannot be written"),
        (("stoermer verlet", "--svg", "a.svg"), "Ask about its halves"),
    ],
)
def test_refusals_are_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    assert main(["tableau", *arguments]) == USAGE
    captured = capsys.readouterr()
    assert said in captured.err and captured.err.count("\n") == 1 and captured.out == ""
