"""Meant readings: every case of a sorted claim stands in one place, and the notes do not carry its verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from odernn.published.networks import ROWS
from verification import verdict
from verification.answer import blank_of
from verification.claim import ClaimError
from verification.domains import FREE, printed_name
from verification.readings import reading as readings
from verification.readings.reading import (
    KINDS,
    REPAIRS,
    Reading,
    Repair,
    gravity_of,
    meant,
    note_to,
    read,
    reading_of,
    verdict_of,
)
from verification.registry import Registry
from verification.report.rows.claims import Facts, refutations, summary
from verification.report.rows.ledger import LedgerPages
from verification.verdict import Judgement

REGISTRY = Registry()
SORTED = {identifier: reading for identifier in REGISTRY.ids() if (reading := reading_of(identifier)) is not None}


def names_of(identifier: str) -> list[str]:
    """Of a claim its cases; of a bound on states its quantities, free and on the rows of Table 6, for all layers."""
    claim = REGISTRY.get(identifier).claim
    cases = [f"{case.domain} | {case.quantity}" for case in claim.cases]
    if claim.state_bound is None:
        return cases
    domains = [FREE, *map(printed_name, ROWS)]
    return [*cases, *(f"{domain} | {part.quantity}" for domain in domains for part in claim.bound.parts)]


def judgements_of(identifier: str, verdicts: dict[str, str]) -> list[Judgement]:
    claim = REGISTRY.get(identifier).claim
    blanks = [blank_of(claim, case) for case in claim.cases]
    return [replace(blank, verdict=verdicts[readings.name_of(blank)], because="") for blank in blanks]


def test_every_reading_is_of_a_claim_that_there_is() -> None:
    assert set(readings.all_readings()) == set(SORTED) and len(SORTED) >= 228
    hosts = [reading.note_to for reading in SORTED.values() if reading.note_to]
    assert hosts and all(host in REGISTRY.ids() and not note_to(host) for host in hosts)


def test_every_claim_has_one_reading() -> None:
    """Two are refused when they are read."""
    assert set(SORTED) == set(REGISTRY.ids())


@pytest.mark.parametrize("identifier", SORTED)
def test_every_case_of_a_sorted_claim_is_meant_or_a_note(identifier: str) -> None:
    reading = SORTED[identifier]
    placed = [*reading.cases, *(case for note in reading.notes for case in note.cases)]
    assert sorted(placed) == sorted(names_of(identifier))
    assert all(note.because and note.kind in KINDS for note in reading.notes)
    assert reading.because and reading.place and bool(reading.meant) != bool(reading.note_to)


@pytest.mark.parametrize(
    "identifier",
    [name for name, each in SORTED.items() if each.notes and REGISTRY.get(name).claim.cases and each.cases],
)
def test_a_note_does_not_carry_the_verdict_and_a_meant_case_does(identifier: str) -> None:
    reading = SORTED[identifier]
    notes = {case: verdict.REFUTED for note in reading.notes for case in note.cases}
    tests = {case: verdict.NOT_REFUTED for note in reading.notes if note.kind == "test" for case in note.cases}
    proved = judgements_of(identifier, notes | tests | dict.fromkeys(reading.cases, verdict.PROVED))
    assert verdict_of(proved) == verdict.PROVED and len(meant(proved)) == len(reading.cases)
    fallen = judgements_of(identifier, dict.fromkeys(notes, verdict.PROVED) | dict.fromkeys(reading.cases, "refuted"))
    assert verdict_of(fallen) == verdict.REFUTED


@pytest.mark.parametrize(
    "identifier",
    [
        name
        for name, each in SORTED.items()
        if each.cases and not each.note_to and any(note.kind == "test" for note in each.notes)
    ],
)
def test_a_test_of_a_proof_that_refutes_is_no_note(identifier: str) -> None:
    reading = SORTED[identifier]
    judged_here = {f"{case.domain} | {case.quantity}" for case in REGISTRY.get(identifier).claim.cases}
    tests = [case for note in reading.notes if note.kind == "test" for case in note.cases if case in judged_here]
    for fallen in tests:
        verdicts = dict.fromkeys(names_of(identifier), verdict.PROVED)
        judged = judgements_of(identifier, verdicts | {fallen: verdict.REFUTED})
        assert verdict_of(judged) == verdict.REFUTED


def test_of_an_unsorted_claim_all_cases_count() -> None:
    claim = replace(REGISTRY.get("cplx-4.5").claim, id="mine")
    assert reading_of(claim.id) is None
    cells = [replace(blank_of(claim, case), verdict=verdict.PROVED) for case in claim.cases]
    assert meant(cells) == cells and verdict_of(cells) == verdict.PROVED
    assert verdict_of([*cells[:-1], replace(cells[-1], verdict=verdict.REFUTED)]) == verdict.REFUTED


def test_the_ledger_shows_what_is_meant_before_the_notes() -> None:
    reading = SORTED["sco-3.1-cap"]
    cells = judgements_of("sco-3.1-cap", dict.fromkeys(_cases(reading), verdict.PROVED))
    lines = LedgerPages(cells, {}, Facts("0", "smoke", 0)).section("sco-3.1-cap")
    text = "\n".join(lines)
    note = text.index("*Note, without a hypothesis*")
    assert text.index(f"*Meant*: {reading.meant}") < text.index("D free, n ≤ 5") < note
    assert note < text.index("D fixed, the other determinant")


def test_a_statement_that_nobody_claims_counts_nowhere() -> None:
    one, other = "cplx-T3.2-uni", "cplx-L2.1"
    cells = judgements_of(one, dict.fromkeys(_cases(SORTED[one]), verdict.REFUTED))
    counted = judgements_of(other, dict.fromkeys(_cases(SORTED[other]), verdict.PROVED))
    assert note_to(one) == "cplx-T3.2/A.1" and meant(cells) == []
    assert summary([*cells, *counted]).startswith("claims     1 tried on ")
    assert summary([*cells, *counted]).endswith(": 1 proved · 1 that nobody claims")
    text = "\n".join(LedgerPages(cells, {}, Facts("0", "smoke", 0)).section(one))
    assert "note to [cplx-T3.2/A.1](#cplx-t3-2-a-1)." in text and "*Nobody claims it*: Sec. 3" in text


@pytest.mark.parametrize("identifier", [name for name, each in SORTED.items() if each.instead])
def test_a_repair_names_what_is_on_trial(identifier: str) -> None:
    for repair in SORTED[identifier].instead:
        assert repair.what and repair.kind in REPAIRS and repair.claim in {"", *REGISTRY.ids()}
        if repair.case:
            assert repair.case in names_of(repair.claim)


def test_the_gravity_follows_from_the_verdicts_of_the_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No label: a formula that is proved makes a slip, a tested theorem counts, what excludes every printed row not."""
    held, tested = REGISTRY.get("cplx-L2.1").claim, REGISTRY.get("thm-deg").claim
    cells = [replace(blank_of(held, case), verdict=verdict.PROVED) for case in held.cases]
    cells += [replace(blank_of(tested, case), verdict=verdict.NOT_REFUTED) for case in tested.cases]
    formula, constant = Repair("formula", "f", held.id), Repair("constant", "c", tested.id)
    cells.append(replace(cells[0], claim="mine", domain="a", quantity="b", symbol="b", verdict=verdict.REFUTED))
    named = Repair("hypothesis", "h", held.id, f"{held.cases[0].domain} | {held.cases[0].quantity}")
    sharp, other = (Repair(kind, "s", held.id) for kind in ("sharp theorem", "another statement"))

    def gravity(*repairs: Repair, run: list[Judgement] = cells) -> str:
        reading = Reading("mine", "place", "because", "meant", ("a | b",), instead=repairs)
        monkeypatch.setattr(readings, "all_readings", lambda: {"mine": reading})
        return gravity_of("mine", run)

    assert gravity(constant, formula, named) == "slip" and gravity(named, constant) == "constant"
    assert gravity(named) == "hypothesis" and gravity(sharp) == gravity(other) == gravity() == "substance"
    assert gravity(replace(formula, printed=False), named) == "hypothesis"
    fallen = [replace(cell, verdict=verdict.REFUTED) if cell.claim == held.id else cell for cell in cells]
    assert gravity(formula, constant, run=fallen) == "constant" and gravity(formula, run=cells[-1:]) == ""
    assert gravity(formula, run=[]) == gravity(formula, run=[replace(cells[-1], verdict=verdict.PROVED)]) == ""
    published = [replace(cell, origin="published") for cell in cells]
    assert gravity(constant, run=published) == "substance"  # not refuted is not proved


def test_the_listing_has_the_gravest_first_and_notes_last_and_the_summary_counts_gravity() -> None:
    def fallen(claim: str, held: str) -> list[Judgement]:
        return judgements_of(
            claim, {c: verdict.PROVED if held in c else verdict.REFUTED for c in _cases(SORTED[claim])}
        )

    cells = [*fallen("sco-4.2b", "whole blocks"), *fallen("icml-D-nochaos", "no case"), *fallen("thm-init", "")]
    names = [line.split()[:2] for line in refutations(cells, "w")]
    assert names[0] == ["refuted", "icml-D-nochaos"]  # substance before a slip
    first = [word for word, _ in names]
    assert set(first) == {"refuted", "note"} and first == sorted(first, key=["refuted", "note"].index)
    assert summary(cells).endswith(": 2 refuted (1 substance, 1 slip) · 1 proved")


def _cases(reading: Reading) -> list[str]:
    return [*reading.cases, *(case for note in reading.notes for case in note.cases)]


GOOD = '[a]\nplace = "p"\nmeant = "m"\nbecause = "b"\ncases = ["x | y"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace('meant = "m"\n', ""), "lacks meant"),
        (GOOD.replace('"x | y"', ""), "none that is meant"),
        ('[a]\nplace = "p"\nbecause = "b"\nnote_to = "c"\n', "lacks notes"),
        (f'{GOOD}note_to = "c"\nnotes = []\n', 'no "note_to"'),
        (f'{GOOD}[[a.notes]]\nkind = "wider"\nbecause = "b"\ncases = ["x | y"]\n', "in two places"),
        (f'{GOOD}[[a.instead]]\nkind = "odd"\nwhat = "w"\n', 'repair of the kind "odd". Known: formula'),
        (f'{GOOD}[[a.notes]]\nkind = "odd"\nbecause = "b"\ncases = ["z | y"]\n', 'kind "odd". Known: literal'),
    ],
)
def test_a_reading_that_lacks_something_is_refused(text: str, message: str) -> None:
    assert [reading.claim for reading in read(GOOD, "paper.toml")] == ["a"]
    with pytest.raises(ClaimError, match=message):
        read(text, "paper.toml")
