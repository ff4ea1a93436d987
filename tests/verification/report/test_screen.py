"""The screen: it is one, it counts what the ledger counts, and says what it leaves out."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiers import without
from verification import verdict
from verification.readings import reading as readings
from verification.report.rows import screen
from verification.report.rows.claims import Facts
from verification.report.rows.screen import MOST_LINES, Screen, counts, tried
from verification.verdict import Judgement

README = Path(__file__).resolve().parents[3] / "README.md"
FACTS = Facts("0.1.0", "smoke", 7, judged=2, planned=2)
HELD = Judgement(
    claim="made-held",
    domain="free",
    layer=1,
    quantity="position",
    norm="max",
    symbol="max abs(yₙ)",
    reading="",
    verdict=verdict.NOT_REFUTED,
    because="12 evaluations",
    slack=0.5,
)
FALLEN = replace(
    HELD,
    claim="icml-C.1",
    verdict=verdict.REFUTED,
    because="certified",
    slack=-0.11,
    witness="{}",
    log_worst=math.log(3.12),
    log_bound=math.log(2.4),
)
PAPERS = {"made-held": "unicornn", "icml-C.1": "unicornn", "thm-S": "library"}


def shown(run: list[Judgement], **options: object) -> Screen:
    papers = {judgement.claim: PAPERS.get(judgement.claim, "complexity") for judgement in run}
    facts = options.pop("facts", FACTS)
    return Screen(run, tried(run, papers), facts, "odernn.sqlite", "witnesses", **options)  # type: ignore[arg-type]


def many(number: int, word: str) -> list[Judgement]:
    """Cells of so many claims, with a long name, a long place and a long reason each."""
    return [
        replace(
            FALLEN if word == verdict.REFUTED else HELD,
            claim=f"made-{place}-{'x' * (place % 30)}",
            domain="graphs with (1)-(3), (U), at most 2 nodes and 3 edges, m ≤ 2, −1 ≤ σ ≤ 2, one input",
            layer=0,
            verdict=word,
            because="why\nnot \x1b[31m " * 40,
            slack=None if place % 3 else -place / 7,
            found="an eigenvalue outside the unit circle: a root of 400*x^2 + (-760)*x + 461",
            claimed="none",
        )
        for place in range(number)
    ]


@pytest.mark.parametrize("width", without([60, 80, 120, 200], 80, 200))
@pytest.mark.parametrize("words", [(), (verdict.REFUTED,), verdict.PRECEDENCE])
def test_a_screen_is_one_screen_however_much_went_wrong(width: int, words: tuple[str, ...]) -> None:
    run = [HELD, FALLEN]
    for place, word in enumerate(words):
        run += [replace(cell, claim=f"{place}{cell.claim}") for cell in many(70, word)]
    for only in ((), (verdict.REFUTED,), (verdict.PROVED,)):
        lines = shown(run, width=width, only=only, left_out="so much " * 40 if only else "").lines()
        assert len(lines) <= MOST_LINES
        typed = [line for line in lines if "odernn " in line[8:] or "results are in" in line]
        assert all(len(line) <= width for line in lines if line not in typed)
        assert all(line.isprintable() for line in lines)
        assert lines[-1].endswith("results are in odernn.sqlite")


def test_the_counts_are_those_of_claims_by_paper_and_by_the_verdict_of_the_meant_reading() -> None:
    library = replace(HELD, claim="thm-S", origin="library")
    wrong = replace(HELD, claim="cplx-x", verdict=verdict.ERROR, because="ZeroDivisionError")
    head, *rows = [line.split() for line in counts(shown([HELD, FALLEN, library, wrong]).claims, 80)[2:]]
    assert head == ["paper", "claims", "graded", "error", "refuted", "tested"]
    assert rows == [
        ["unicornn", "2", "1", "·", "1", "·"],
        ["complexity", "1", "·", "1", "·", "·"],
        ["library", "1", "·", "·", "·", "1"],
        ["sum", "4", "1", "1", "1", "1"],
    ]


def test_every_claim_is_counted_once_in_one_column() -> None:
    run = [cell for place, word in enumerate(verdict.PRECEDENCE) for cell in many(place + 1, word)]
    run = [replace(cell, claim=f"{number}") for number, cell in enumerate(run)]
    for width in (60, 80, 200):
        last = [line.split()[1:] for line in counts(shown(run).claims, width) if line.startswith("complexity")]
        first, *numbers = [int(number) for line in last for number in line]
        assert first == len(run) == sum(numbers)


def test_what_says_something_about_the_run_comes_before_what_it_found() -> None:
    wrong = replace(HELD, claim="cplx-x", verdict=verdict.ERROR, because="ZeroDivisionError: division by zero")
    doubtful = replace(HELD, claim="cplx-y", verdict=verdict.SUSPECT, because="no limit argument")
    near = replace(HELD, claim="cplx-z", slack=0.002)
    lines = shown([HELD, FALLEN, near, doubtful, wrong]).lines()
    text = "\n".join(lines)
    order = ["look at these first", "error", "suspect", "near misses", "cplx-z", "refuted, ungraded", "icml-C.1  "]
    places = [text.index(word, text.index("look at")) for word in order]
    assert places == sorted(places)
    assert lines[-1] == "1 of 5 claims refuted, 1 error, 1 suspect; results are in odernn.sqlite"


def test_where_a_claim_is_ungraded_the_screen_names_the_run_that_grades_it() -> None:
    ungraded = shown([HELD, FALLEN]).lines()
    graders = readings.grading_claims("icml-C.1")
    assert graders and f"its gravity odernn verify icml-C.1 {' '.join(graders)} --budget {FACTS.budget}" in ungraded
    assert not any("its gravity" in line for line in shown([HELD]).lines())


def test_a_refutation_is_a_line_with_what_fails_by_how_much_and_its_witness() -> None:
    (line,) = [line for line in shown([HELD, FALLEN]).lines() if line.startswith("  icml-C.1")]
    assert re.fullmatch(r"  icml-C\.1  max abs\(yₙ\), UnICORNN, layer 1 · free  +by 0\.110 decades  witness 1", line)
    told = replace(FALLEN, slack=None, found="3 of 198 pairs", claimed="none", log_bound=None, log_worst=None)
    (line,) = [line for line in shown([HELD, told], width=120).lines() if line.startswith("  icml-C.1")]
    assert line.endswith("3 of 198 pairs; claimed none  witness 1")


def test_the_gravest_come_first_and_gravity_is_what_the_readings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    grave = {"a": "slip", "b": readings.SUBSTANCE, "c": "constant"}
    monkeypatch.setattr(screen, "gravity_of", lambda claim, run: grave[claim])
    lines = shown([replace(FALLEN, claim=claim) for claim in grave]).lines()
    heads = [line.partition(":")[0] for line in lines if line.startswith("refuted, ")]
    assert heads == ["refuted, substance", "refuted, constant", "refuted, slip"]
    assert any(line == "one claim   odernn table --claim b" for line in lines)


def test_a_screen_of_some_verdicts_lists_their_claims_and_names_what_it_leaves_out() -> None:
    run = [HELD, FALLEN]
    papers = dict.fromkeys(PAPERS, "unicornn")
    held = [claim for claim in tried(run, papers) if claim.shown == verdict.NOT_REFUTED]
    view = Screen(run, held, FACTS, "odernn.sqlite", "w", width=120, only=(verdict.NOT_REFUTED,))
    view = replace(view, left_out="1 claim elsewhere")
    text = "\n".join(view.lines())
    assert "Left out: 1 claim elsewhere." in text and "refuted, " not in text
    assert "  made-held" in text and "12 evaluations" in text
    assert view.last() == "0 of 1 claim refuted; results are in odernn.sqlite"


def test_a_run_that_was_cut_short_says_so_and_commands_name_a_store_of_ones_own() -> None:
    view = shown([HELD, FALLEN], facts=replace(FACTS, planned=9))
    assert "Incomplete: 2 of 9 cells are judged." in view.lines()
    assert view.last() == "1 of 2 claims refuted, 2 of 9 cells judged; results are in odernn.sqlite"
    commands = [line for line in replace(view, store="my runs/a.sqlite").lines() if "odernn table" in line]
    assert commands and all("--store 'my runs/a.sqlite'" in line for line in commands)


def test_the_readme_shows_a_screen() -> None:
    """Lines of it may be left out; those that are there have the form that this program prints."""
    text = README.read_text(encoding="utf-8").partition("$ odernn verify --budget smoke\n")[2].partition("$ ")[0]
    lines = text.splitlines()
    assert re.fullmatch(r"odernn \S+ · budget smoke · seed 0 · \d+ cells of \d+ statements", lines[1])
    (paper,) = [line.split() for line in lines if line.startswith("paper ")]
    known = {head[1] for head in screen.HEADS.values()} | {"claims", "paper", "slip", *verdict.PRECEDENCE}
    assert set(paper) <= known
    (total,) = [line.split() for line in lines if line.startswith("sum ")]
    assert len(total) == len(paper)
    claims, *others = [int(number) for number in total[1:]]
    assert sum(others) == claims + (others[-1] if paper[-1] == "notes" else 0)
    refuted = [line for line in lines if line.startswith("  ") and " witness " in line]
    assert len(refuted) >= 3 and all(re.search(r"  witness \d+$", line) for line in refuted)
    assert re.fullmatch(rf"\d+ of {claims} claims refuted; results are in odernn\.sqlite", lines[-1])
    assert all(len(line) <= 80 for line in lines[1:] if "odernn witness script" not in line)
