"""The page of findings: the gravest first, then what holds; its numbers are those of the run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from verification.answer import blank_of
from verification.readings.reading import note_to, reading_of
from verification.registry import Registry
from verification.report.rows.claims import Facts
from verification.report.rows.findings import CHOSEN, Told, chosen, page
from verification.report.rows.ledger import LedgerEntry, LedgerPages
from verification.verdict import PROVED, REFUTED, Judgement

REGISTRY = Registry()
PAGE = Path(__file__).parents[3] / "docs" / "findings.md"
FINDINGS = chosen(CHOSEN.read_text("utf-8"))


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.claim)
def test_a_finding_is_about_a_claim_with_a_meant_reading(finding: Told) -> None:
    reading = reading_of(finding.claim)
    assert finding.claim in REGISTRY.ids() and reading is not None and not note_to(finding.claim)
    assert finding.title and finding.means.endswith((".", "!")) and not finding.title.endswith(".")


def test_there_are_twenty_and_each_claim_once() -> None:
    assert len(FINDINGS) == len({finding.claim for finding in FINDINGS}) == 20


def test_the_page_reads_in_ten_minutes_and_says_of_each_failure_what_is_true_instead() -> None:
    """At 250 words a minute; commands, signs and bullets are not read. Below a title that fails stands a script."""
    text = PAGE.read_text("utf-8")
    lines = [re.sub(r"\]\([^)]*\)", "]", line) for line in text.splitlines() if not line.startswith("- **Check**")]
    assert sum(any(map(str.isalnum, word)) for line in lines for word in line.split()) <= 2500
    for finding, section in zip(ordered(text), text.split("\n## ")[1:], strict=True):
        assert ("**Found** (refuted" in section) == ("- **True instead** (" in section) == bool(finding.instead)
        assert ("**Found** (refuted" in section) <= ("- **Check**" in section)


def ordered(text: str) -> list[Told]:
    titles = re.findall(r"^## \d+\. (.*)$", text, re.M)
    by_title = {finding.title: finding for finding in FINDINGS}
    return [by_title[title] for title in titles]


def cells(claim: str, verdict: str) -> list[Judgement]:
    known = REGISTRY.get(claim).claim
    return [
        replace(
            blank_of(known, case), verdict=verdict, because=f"because of {k}", slack=float(k), found="2", claimed="1"
        )
        for k, case in enumerate(known.cases)
    ]


def test_the_page_has_the_gravest_first_and_shows_the_meant_case_of_the_least_slack() -> None:
    run = [*cells("sco-T3.2", PROVED), *cells("sco-4.2b", REFUTED), *cells("icml-D-bydesign", REFUTED)]
    run = [replace(cell, verdict=PROVED) if cell.domain == "−1s on whole blocks" else cell for cell in run]
    run += cells("thm-init", PROVED)
    entries = {"sco-4.2b": LedgerEntry("sco-4.2b", "scornn", "Sec. 4.2", "text", "published")}
    findings = [
        Told(claim, f"title of {claim}", "it means much.", "The truth.")
        for claim in ("sco-T3.2", "sco-4.2b", "icml-D-bydesign")
    ]
    text = page([*findings, Told("thm-deg", "not in the run", "x.")], LedgerPages(run, entries, Facts("0", "smoke", 3)))
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        f"## {k}. title of {name}" for k, name in enumerate(("icml-D-bydesign", "sco-4.2b", "sco-T3.2"), 1)
    ]
    mirrored = text.partition("## 2.")[2].partition("## 3.")[0]
    assert "scornn, Sec. 4.2" in mirrored and "**Found** (refuted, slip): n even, ρ odd" in mirrored
    assert "spectrum of C(A) D: 2; claimed: 1\n" in mirrored and "**True instead** (formula): The truth." in mirrored
    assert "**For you**: it means much." in mirrored and "budget smoke, seed 3" in text


def test_of_several_repairs_that_hold_the_one_that_decides_the_gravity_is_shown() -> None:
    """icml-(40): the rows of Table 6 hold, too; another power of t is milder, and thm-S-Q is proved."""
    rows = cells("icml-(40)", REFUTED)
    run = [replace(cell, verdict=PROVED) if cell.domain.startswith("printed") else cell for cell in rows]
    run += [replace(rows[0], claim="thm-S-Q", verdict=PROVED)]
    text = page([Told("icml-(40)", "t", "m.")], LedgerPages(run, {}, Facts("0", "smoke", 0)))
    assert "(refuted, constant)" in text and "**True instead** (constant): " in text


def test_a_finding_may_name_the_case_to_show() -> None:
    run = cells("sco-4.2b", REFUTED)
    named = Told("sco-4.2b", "t", "m.", case="printed copying | spectrum of C(A) D")
    assert "printed copying: " in page([named], LedgerPages(run, {}, Facts("0", "smoke", 0)))
