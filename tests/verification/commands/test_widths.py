"""What the commands print fits the terminal: no line is longer, and nothing is lost."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from odernn import tableaus
from odernn.architecture import catalogue
from odernn.written.lines import room
from tests.tiers import only
from tests.verification.commands.lines import printed, refused
from verification.registry import Registry
from verification.report import fit
from verification.report.formats import renderer
from verification.report.table import Column, Table
from verification.training import configuration

TYPED = (
    "tableau --list",
    "tableau radau iia 3",
    "tableau dormand prince 8(7)",
    "tableau gauss 8",
    "tableau blanes moan 6",
    "tableau --compare 'gauss 2' 'lobatto iiia-iiib 2'",
    "tableau radau iia 2 --rounded float32",
    "graph --list",
    "graph clockwork(2,3)",
    "graph 'figure 1(a)' --steps 6",
    "cells",
    "cells unicornn --steps 784 --memory 100",
    "cells odernn",
    "train --list",
    "train adding --list",
    "task",
    "task adding --set count=7",
)
"""Commands that take seconds; ``tableau --all`` takes a minute and is a table like the others."""


@pytest.mark.parametrize("width", only([80, 120], 80))
@pytest.mark.parametrize("command", ["claims", "doctor"])
def test_no_line_is_longer_than_the_terminal(
    width: int, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(capsys, command).splitlines()
    assert len(lines) > 20 and max(map(room, lines)) <= width
    assert width - 20 < max(map(room, lines))  # and the room is used
    monkeypatch.setenv("COLUMNS", "50")
    assert printed(capsys, command, "--width", str(width)).splitlines() == lines


@pytest.mark.parametrize("width", only([60, 80, 120], 80))
@pytest.mark.parametrize("typed", TYPED)
def test_no_line_of_a_list_or_a_sheet_is_longer_than_asked_for(
    width: int, typed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(width))
    text = printed(capsys, *shlex.split(typed))
    assert text.count("\n") >= 3 and max(map(room, text.splitlines())) <= width
    monkeypatch.setenv("COLUMNS", "50")
    assert printed(capsys, *shlex.split(typed), "--width", str(width)) == text


@pytest.mark.parametrize("width", only([60, 80, 120], 60))
def test_every_name_of_a_list_is_read_back_from_its_first_column(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for command, names in (
        ("tableau", tableaus.names()),
        ("graph", catalogue.names()),
        ("train", configuration.names()),
    ):
        text = printed(capsys, command, "--list", "--width", str(width)).partition("\n\n")[2]
        _, _, rows = re.split(r"^(-+ .*)\n", text, maxsplit=1, flags=re.MULTILINE)
        first = re.search(r"^-+", text, re.MULTILINE)
        assert first is not None
        column = re.sub(r"\s+", "", "".join(line[: first.end() - first.start()] for line in rows.splitlines()))
        assert all(re.sub(r"\s+", "", name) in column for name in names), command


@pytest.mark.parametrize("width", [80, 120])
def test_every_claim_is_listed_at_any_width_and_what_was_left_out_is_named(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = printed(capsys, "claims")
    table, _, notes = re.split(r"\n\n(?=\[1\] |(published, asymptotic:))", text.partition("\n\n")[2], maxsplit=1)
    head, _, rows = re.split(r"^(---.*)\n", table, maxsplit=1, flags=re.MULTILINE)
    first = head.index("source")
    ids = re.sub(r"\s+", "", "".join(row[:first] for row in rows.splitlines()))
    assert "".join(sorted(ids)) == "".join(sorted("".join(entry.claim.id for entry in Registry())))
    assert head.split()[0] == "claim" and ("hypotheses" in head) == (width == 120)
    assert ("Left out at 80 characters a line: bounds, hypotheses, dominated by" in notes) == (width == 80)


def test_columns_of_claims_are_chosen_as_those_of_other_tables(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "claims", "--columns", "claim,hypotheses", "--width", "100")
    assert text.splitlines()[2].split() == ["claim", "hypotheses"]
    assert '"weight" names no column' in refused(capsys, "claims", "--columns", "weight")


def test_a_path_that_is_longer_than_its_column_is_broken_after_a_stroke() -> None:
    table = Table(
        "t", (Column("where", least=16), Column("b")), (("docs/derivations/state_bounds.md, thm-S", "x " * 40),)
    )
    lines = renderer("text")(fit.to_width(table, 40)).splitlines()
    assert [line[:19].rstrip() for line in lines[4:7]] == ["docs/derivations/", "state_bounds.md,", "thm-S"]
