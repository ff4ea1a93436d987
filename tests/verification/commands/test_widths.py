"""``odernn claims`` and ``odernn doctor`` fit the terminal: no line is longer, and no claim is lost."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from tests.tiers import only
from tests.verification.commands.lines import printed, refused
from verification.registry import Registry
from verification.report import fit
from verification.report.formats import renderer
from verification.report.table import Column, Table


def room(line: str) -> int:
    """Characters that take room: combining ones do not."""
    return sum(not unicodedata.combining(c) for c in line)


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


@pytest.mark.parametrize("width", [80, 120])
def test_every_claim_is_listed_at_any_width_and_what_was_left_out_is_named(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = printed(capsys, "claims")
    table, _, notes = text.partition("\n\n")[2].partition("\n\n")
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
