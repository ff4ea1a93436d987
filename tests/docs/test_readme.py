"""The front page: short, its Python runs, its commands are commands, its picture is of the witnesses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from docs.pictures import refuted_bounds
from tests.docs.pages_that_run import BLOCK, differences, matches
from verification import cli
from verification.report.pictures.against_bounds import words_of_curve
from verification.witness.file import from_json
from verification.witness.script import script_of

CHECKOUT = Path(__file__).resolve().parents[2]
TEXT = (CHECKOUT / "README.md").read_text("utf-8")
USES = ("1. Run the suite and read a verdict", "2. Certify your own network", "3. Choose a cell and train it")


def test_it_is_short_and_narrow() -> None:
    lines = TEXT.splitlines()
    assert len(lines) <= 150 and max(map(len, lines)) <= 120
    assert [line[3:] for line in lines if line.startswith("## ")][:3] == list(USES)


def python_of(text: str) -> str:
    """The page with nothing but Python and what stands beneath it."""
    return "".join(block[0] for block in BLOCK.finditer(text) if block["kind"] in ("python", "text"))


def test_its_python_runs_and_prints_what_it_shows(one_thread: None) -> None:
    page = python_of(TEXT)
    assert page.count("```python") == page.count("```text") == 2 and list(differences(page)) == []


def commands(text: str) -> list[list[str]]:
    typed = [
        line for block in BLOCK.finditer(text) if block["kind"] == "console" for line in block["text"].splitlines()
    ]
    lines = [line[2:].partition("   #")[0].partition(" # ")[0] for line in typed if line.startswith("$ ")]
    return [shlex.split(line.partition(" | ")[0]) for line in lines]


def test_its_commands_are_commands_with_options_that_they_have(capsys: pytest.CaptureFixture[str]) -> None:
    makefile = (CHECKOUT / "Makefile").read_text("utf-8")
    found = commands(TEXT)
    assert len(found) > 15 and [each for each in found if each[0] == "make"] == [["make", "verify"], ["make", "test"]]
    for program, name, *rest in found:
        if program == "make":
            assert re.search(rf"^{name}: ", makefile, re.MULTILINE)
            continue
        below = rest[:1] if name == "witness" else []
        assert program == "odernn" and name in cli.COMMANDS and cli.main([name, *below, "--help"]) == 0
        options = {word for word in rest if word.startswith("--")}
        said = re.findall(r"--[a-z-]+", capsys.readouterr().out)
        assert options <= set(said), (name, options)


def test_the_witness_that_it_shows_has_its_script() -> None:
    (path,) = {
        word for command in commands(TEXT) if command[:3] == ["odernn", "witness", "script"] for word in command[3:]
    }
    text = (CHECKOUT / "docs" / path).read_text("utf-8")
    assert len(script_of(from_json(text)).splitlines()) <= 40
    (path,) = {
        word for command in commands(TEXT) if command[:3] == ["odernn", "witness", "verify"] for word in command[3:]
    }
    assert (CHECKOUT / "docs" / path).is_file()


def test_the_picture_is_of_the_witnesses() -> None:
    """Its words, and those beside it in the page, are those of the curves as they are computed now."""
    pytest.importorskip("matplotlib", reason="drawing needs the extra odernn[plots]")
    curves = refuted_bounds.curves()
    drawn = refuted_bounds.PICTURE.read_text("utf-8")
    words = "; ".join(map(words_of_curve, curves)).replace("<", "&lt;")
    assert words in drawn, "python docs/pictures/refuted_bounds.py"
    beside = " ".join(re.findall(r"!\[(.*?)\]\(", TEXT, re.DOTALL)[0].split())
    for curve in curves:
        assert curve.crossing is not None and curve.measured[-1] > curve.bound[-1]
        assert (
            f"10^{curve.measured[-1]:.2f} after {curve.steps[-1]}" in beside and f"10^{curve.bound[-1]:.2f}" in beside
        )
    assert matches(refuted_bounds.picture(curves).partition("</desc>")[0], drawn.partition("</desc>")[0])
