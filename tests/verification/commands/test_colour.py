"""Colour: asked for or on a terminal only; without it the bytes are as before; it is where a verdict stands."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiers import only
from tests.verification.commands.lines import printed, refused
from tests.verification.commands.test_cli import JUDGEMENT, command, environment, make_store
from verification import verdict
from verification.commands import colour, terminal
from verification.report import fit
from verification.report.formats import renderer
from verification.report.rows import claims as rows
from verification.report.rows.claims import Facts
from verification.report.rows.screen import Screen, tried

pytestmark = pytest.mark.usefixtures("elsewhere")

STYLED = re.compile(r"\x1b\[([0-9;]*)m")
RED, GREEN, BOLD = "31", "32", "1"
FACTS = Facts("0.1.0", "smoke", 7, judged=4, planned=4)
RUN = [
    replace(JUDGEMENT, domain="free", verdict=verdict.REFUTED, because="certified", slack=-0.1, witness="{}"),
    replace(JUDGEMENT, claim="icml-C.2", verdict=verdict.NOT_REFUTED, because="12 evaluations: refuted by nothing"),
    replace(JUDGEMENT, claim="icml-D.1", verdict=verdict.PROVED),
    replace(JUDGEMENT, claim="sam-3.2", verdict=verdict.ERROR, because="the job failed", slack=None),
]
PAPERS = dict.fromkeys(("icml-C.1", "icml-C.2", "icml-D.1", "sam-3.2"), "unicornn")


def plain(text: str) -> str:
    """The text without its styles."""
    return STYLED.sub("", text)


def painted(text: str, *styles: str) -> list[str]:
    """What is shown in all of these styles, in order."""
    found, now = [], set()
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if code := STYLED.fullmatch(part):
            now = set() if code[1] in ("", "0") else now | set(code[1].split(";"))
        elif set(styles) <= now:
            found.append(part)
    return found


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("is_terminal", "variables", "wanted"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),  # an empty one is none, by no-color.org
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_auto_asks_the_terminal_and_the_reader(
    is_terminal: bool, variables: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal() if is_terminal else io.StringIO())
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal.is_coloured(terminal.AUTO) == wanted
    assert terminal.is_coloured(terminal.ALWAYS) and not terminal.is_coloured(terminal.NEVER)


@pytest.mark.parametrize("width", only([60, 80, 100, 160], 80))
@pytest.mark.parametrize("asked", [(), (verdict.REFUTED, verdict.PROVED, verdict.NOT_REFUTED)])
def test_a_screen_is_the_same_text_and_verdicts_have_their_colour(width: int, asked: tuple[str, ...]) -> None:
    lines = Screen(RUN, tried(RUN, PAPERS), FACTS, "odernn.sqlite", "w", width=width, only=asked).lines()
    shown = colour.screen(lines)
    assert [plain(line) for line in shown] == lines
    assert lines[0] in painted(shown[0], BOLD)
    red, green = painted("\n".join(shown), RED), painted("\n".join(shown), GREEN)
    assert set(red) == {"refuted"} and set(green) == {"proved"} and len(red) <= 3
    head = next(line for line in shown if plain(line).startswith("paper"))
    above = shown[shown.index(head) - 1]
    assert plain(above).split() == ["un-", "not-"] and painted(head, GREEN) == ["proved"]
    assert not painted(head, RED)  # the only "refuted" in that line is the end of "not-refuted"
    assert any("refuted" in painted(line, RED, BOLD) for line in shown if plain(line).startswith("refuted, "))
    assert not any(painted(line, RED) for line in shown if plain(line).endswith("odernn.sqlite"))


@pytest.mark.parametrize("width", only([50, 80, 110, 200], 80))
def test_a_table_is_the_same_text_and_only_cells_of_verdicts_are_coloured(width: int) -> None:
    made = rows.table(RUN, FACTS, among=RUN)
    text = renderer("text")(fit.to_width(made, width))
    shown = colour.table(text)
    assert plain(shown) == text
    assert painted(shown, RED) == ["refuted"] and painted(shown, GREEN) == ["proved"]
    assert painted(shown, BOLD)[0] == made.title and any("slack" in part for part in painted(shown, BOLD))
    assert shown.split("\n\n")[-1] == text.split("\n\n")[-1]  # the caption, which explains the words, has no colour


def test_a_broken_verdict_is_not_mistaken_for_its_end() -> None:
    rows_of = ("a     not-     refuted", "      refuted", "b     refuted  x̂ proved")
    text = "\n".join(("t", "", "claim verdict  symbol", "----- -------- --------", *rows_of, ""))
    shown = colour.table(text)
    assert plain(shown) == text and painted(shown, RED) == ["refuted"] and not painted(shown, GREEN)
    assert shown.split("\n")[6].startswith("b     \x1b[31mrefuted\x1b[0m")
    combined = text.replace("b     refuted", "b\u0302     refuted")
    assert painted(colour.table(combined), RED) == ["refuted"]


def test_what_is_no_table_stays_as_it_is() -> None:
    for text in ("", "(no rows)\n", "t\n\n(no rows)\n", "a proved b\nrefuted\n"):
        assert colour.table(text) == text


def test_table_has_colour_if_it_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_store(Path("odernn.sqlite"))
    before = printed(capsys, "table", "--full")
    assert "\x1b" not in before and printed(capsys, "table", "--full", "--color", "never") == before
    shown = printed(capsys, "table", "--full", "--color", "always")
    assert plain(shown) == before and painted(shown, GREEN) == ["proved"]
    assert "\x1b" not in printed(capsys, "table", "--format", "github")
    assert "--color always" not in (said := refused(capsys, "table", "--color", "always", "--format", "csv"))
    assert "--color: is of text for a terminal, not of csv" in said
    assert 'Did you mean "always"?' in refused(capsys, "table", "--color", "alwys")
    assert "Choose from: auto, always, never." in refused(capsys, "verify", "--color", "x")
    assert "--color: is of text" in refused(capsys, "verify", "--color", "always", "--json")


def read_to_the_end(terminal: int) -> str:
    """What is written to a pseudo-terminal until nobody holds its other end; reading then is an error on Linux."""
    blocks = []
    with contextlib.suppress(OSError):
        while block := os.read(terminal, 1 << 16):
            blocks.append(block)
    return b"".join(blocks).decode()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_on_a_terminal_of_the_system(capsys: pytest.CaptureFixture[str]) -> None:
    """A pseudo-terminal has colour; with NO_COLOR, and in a pipe, the same command has none."""
    import pty
    import subprocess

    make_store(Path("odernn.sqlite"))
    colourless = environment() | {"COLUMNS": "80", "TERM": "xterm"}
    colourless.pop("NO_COLOR", None)
    said = {}
    for name, variables in {"auto": {}, "NO_COLOR": {"NO_COLOR": "1"}}.items():
        ours, theirs = pty.openpty()
        with subprocess.Popen(command("table", "--full"), stdout=theirs, env=colourless | variables) as process:
            os.close(theirs)
            said[name] = read_to_the_end(ours).replace("\r\n", "\n")
        os.close(ours)
        assert process.returncode == 0
    piped = subprocess.run(command("table", "--full"), capture_output=True, text=True, env=colourless)
    assert "\x1b" not in said["NO_COLOR"] == piped.stdout
    assert painted(said["auto"], GREEN) == ["proved"] and plain(said["auto"]) == piped.stdout
