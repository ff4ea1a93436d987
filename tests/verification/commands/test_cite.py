"""``odernn cite`` and the words by which a run is cited, in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from odernn import tableaus
from verification.cli import main
from verification.commands import report as report_command
from verification.commands import tableau as tableau_command
from verification.commands.terminal import DONE, USAGE
from verification.registry import Registry
from verification.report.formats import names as formats
from verification.report.rows import citation
from verification.report.rows.claims import Facts
from verification.run.closure import library_digest
from verification.run.store import Store
from verification.verdict import Judgement

PLAN = "0123456789abcdef" * 4
COMMIT = "fedcba987654"
WORDS = f"odernn 0.1.0, commit {COMMIT}, run {PLAN[:16]}"
CELL = Judgement(
    claim="sco-T3.1",
    domain="n = 2",
    layer=0,
    quantity="x",
    norm="",
    symbol="x",
    reading="",
    verdict="proved",
    because="by hand",
    origin="published",
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    settings = {"version": "0.1.0", "commit": COMMIT, "budget": "smoke", "seed": 5, "claims_dirs": []}
    with Store(path, writable=True) as made:
        made.begin_run(PLAN, settings, ["one", "two"])
        made.put("one", kind="case", spec={"claim": CELL.claim}, data=[CELL.to_plain()], arrays={}, wall_s=1.0)
    return path


def test_a_verdict_is_cited_with_statement_place_verdict_version_and_run(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cite", "sco-t3.1", "--store", str(store)]) == DONE
    captured = capsys.readouterr()
    entry, _, line = captured.out.strip().partition("\n\n")
    claim = Registry().get("sco-T3.1").claim
    statement = " ".join(claim.statement.split()).removesuffix(".")
    so_far = "; the run is incomplete, 1 of 2 cells are judged"
    assert line == f"sco-T3.1 ({claim.source}): {statement}: proved. {WORDS}, budget smoke, seed 5{so_far}."
    assert so_far in " ".join(entry.split())
    assert entry.startswith("@misc{odernn-sco-t3-1,") and f"{{{WORDS}}}" in entry
    assert re.search(r"year += \{20\d\d\}", entry) and "Helfrich" in entry
    assert "1 of 2 cells are judged" in captured.err


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("sco-T3.11", 'Did you mean "sco-T3.1"?'),
        ("icml-C.1", "has no verdict on icml-C.1: its latest run did not try it"),
    ],
)
def test_a_claim_without_a_verdict_is_an_error_of_one_line(
    store: Path, claim: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cite", claim, "--store", str(store)]) == USAGE
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and said in captured.err


def test_without_a_store_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "icml-C.1", "--store", str(tmp_path / "no.sqlite")]) == USAGE
    assert "does not exist" in capsys.readouterr().err


def test_the_entry_of_every_claim_has_braces_in_pairs_and_characters_of_every_latex() -> None:
    facts = Facts("0.1.0", "smoke", 0, commit=COMMIT, run=PLAN[:16])
    entries = 0
    for registered in Registry():
        claim = registered.claim
        cell = Judgement(**CELL.to_plain() | {"claim": claim.id})
        cited = citation.CitedClaim(claim.id, claim.statement, claim.source, "2026-11-26")
        entry = citation.bibtex(cited, [cell], facts)
        assert entry.isascii() and "U+" not in entry, entry
        depth = 0
        for sign in entry:
            depth += (sign == "{") - (sign == "}")
            assert depth >= 0
        assert depth == 0 and entry.count("\n") >= 5
        assert "\n" not in citation.line(cited, [cell], facts)
        entries += 1
    assert entries > 250


def test_what_nobody_claims_is_cited_as_a_note() -> None:
    assert citation.verdict_in_words("ode-T3-fp", [CELL]) == "a note to ode-T3"


@pytest.mark.parametrize("format", formats())
def test_a_table_in_every_format_says_which_run_it_is_of(
    store: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", "--store", str(store), "--format", format]) == DONE
    text = capsys.readouterr().out
    if format == "csv":
        (row,) = csv.DictReader(io.StringIO(text))
        assert (row["odernn"], row["commit"], row["run"]) == ("0.1.0", COMMIT, PLAN[:16])
    else:
        assert WORDS in " ".join(text.split())
    if format == "json":
        (record,) = json.loads(text)["rows"]
        assert (record["odernn"], record["commit"], record["run"]) == ("0.1.0", COMMIT, PLAN[:16])


def test_ledger_and_findings_say_which_run_they_are_of(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", "--store", str(store)]) == DONE
    assert WORDS in capsys.readouterr().out
    assert main(["ledger", "--store", str(store), "--findings"]) == DONE
    assert f"Generated by\n`odernn ledger --findings` from {WORDS}" in capsys.readouterr().out
    assert main(["ledger", "--store", str(store), "--folder", str(tmp_path / "ledger")]) == DONE
    pages = [path.read_text("utf-8") for path in (tmp_path / "ledger").iterdir()]
    assert len(pages) == 2 and all(WORDS in page for page in pages)


@pytest.mark.parametrize("commit", [COMMIT, COMMIT + "+", ""])
def test_the_page_about_a_run_names_the_commit_of_the_run_and_no_other(
    tmp_path: Path, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of the folder which writes the page; of one method only, since the facts of all take seconds."""
    monkeypatch.setattr(tableau_command, "everything", lambda folders: iter([tableaus.get("rk4")]))
    monkeypatch.setattr(report_command, "_tableaus", report_command._tableaus.__wrapped__)  # made here alone, not kept
    path, page = tmp_path / "a.sqlite", tmp_path / "a.html"
    with Store(path, writable=True) as made:
        made.begin_run(
            PLAN, {"version": "0.1.0", "commit": commit, "budget": "smoke", "source": library_digest()}, ["a"]
        )
        made.put("a", kind="case", spec={"claim": CELL.claim}, data=[CELL.to_plain()], arrays={}, wall_s=1.0)
    assert main(["report", "--html", str(page), "--store", str(path)]) == DONE
    assert re.findall(r"<dt>Commit</dt>\s*<dd>([^<]*)</dd>", page.read_text("utf-8")) == [commit] * bool(commit)
