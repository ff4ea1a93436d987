"""The ledger is a page that holds every statement, verdict and piece of evidence of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from verification.cli import main
from verification.report.formats import names as formats
from verification.report.rows.claims import Facts
from verification.report.rows.ledger import LedgerEntry, page
from verification.verdict import Judgement

CELL = Judgement(
    claim="me-1",
    domain="free",
    layer=0,
    quantity="x",
    norm="",
    symbol="|x|",
    reading="limit",
    verdict="refuted",
    because="x = 2: 2 > 1",
    evaluations=7,
    control=0.95,
    slack=-0.3,
    log_bound=0.0,
    log_worst=0.7,
    witness="{}",
)
STATEMENTS = {"me-1": LedgerEntry("me-1", "me, Lemma 1", "|x| ≤ 1 for all x", "published, real", "thm-X")}


def test_a_section_quotes_the_statement_and_shows_verdict_evidence_and_witness():
    other = replace(CELL, domain="L = 2", verdict="not-refuted", witness="")
    text = page([CELL, other], STATEMENTS, Facts("0", "smoke", 3))
    for part in (
        "## me-1",
        "> |x| ≤ 1 for all x",
        "me, Lemma 1; published, real; **refuted**.",
        "Dominated by thm-X.",
        "| free (limit) | \\|x\\| | 1.00 | 2.01 | −0.300 | **refuted** | x = 2: 2 > 1; power control 0.95; witness 1 |",
        "| [me-1](#me-1) | **refuted** |  | 2 | −0.300 |",
        "seed 3",
    ):
        assert part in text, part


def test_a_claim_without_a_file_is_shown_all_the_same():
    assert "## me-1" in page([CELL], {}, Facts("0", "smoke", 0))


def test_the_ledger_is_no_format_of_tables():
    assert "ledger" not in formats()


@pytest.mark.slow
def test_the_command_prints_the_page_of_the_latest_run(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["ledger"]) == 2
    assert "odernn.sqlite" in capsys.readouterr().err
    assert main(["verify", "sam-D.1-elem", "--jobs", "1"]) == 0
    capsys.readouterr()
    assert main(["ledger"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# The ledger") and "## sam-D.1-elem" in shown and "| all a, b, c |" in shown
    assert main(["ledger", "--claim", "icml-C.1"]) == 2


@pytest.mark.parametrize("text", ["a|b", "a\nb"])
def test_text_stays_in_its_cell(text: str):
    shown = page([replace(CELL, because=text, witness="")], STATEMENTS, Facts("0", "smoke", 0))
    row = next(line for line in shown.splitlines() if line.startswith("| free"))
    assert row.replace("\\|", "").count("|") == 8
