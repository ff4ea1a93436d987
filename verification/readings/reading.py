"""What a claim means: which of its cases its authors claim, and by which passage that is decided. The others are notes.

One TOML file a paper; a table a claim, in our own words:

    place, meant, because     where the statement stands, what it says, and which passage decides that
    fails                     of a refuted claim: why it fails, and the numbers at which it does
    cases                     "domain | quantity" of the cases under the meant reading: they alone carry the verdict
    hypotheses                what the paper supposes throughout: text, place
    notes                     kind, because, cases: every other case, with why it is none
    trained                   printed tables whose figures come from training and that the claim is about, as
                              ``odernn.published.results`` names them: what was trained here stands beside them
    instead                   what is true in the place of what is refuted: kind, what; the claim on trial for it (and
                              its case); printed = false if it excludes every printed row that the claim covers by its
                              own hypotheses on α, T and L (that dt is small enough takes none away; where it covers
                              none, there is none to exclude); untried, why no
                              claim is on trial for it, if none is

A statement that nobody claims has ``note_to`` in the place of ``meant`` and ``cases``, the claim that it is a note to:
it keeps its id, and its cases count nowhere. A claim that no file names is *unsorted*: all of its cases count as meant.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from verification.claim import ClaimError
from verification.verdict import PROVED, REFUTED, THEOREM_TESTED, Judgement, aggregate, shown

FOLDER = Path(__file__).parent
KINDS = {
    "literal": "the words as they stand, against what is evidently meant",
    "wider": "more than is claimed",
    "weaker": "less than is claimed",
    "sharper": "a theorem of this library that says more",
    "without a hypothesis": "a standing hypothesis of the paper is dropped",
    "with a hypothesis": "a hypothesis is added that the paper does not have",
    "in floats": "floats, of which the paper claims nothing",
    "other convention": "another convention than the paper's",
    "reconstruction": "a formula or number that the source has lost",
    "part": "one place or row of several, or implied by the meant ones",
    "test": "drawn places beside a proof: a test of it",
}
GRAVITY = {"formula": "slip", "constant": "constant", "hypothesis": "hypothesis"}
"""How grave a refutation is by the mildest repair that holds."""
ALL_ROWS = "All rows"
"""How ``meant`` begins where a statement is taken as it stands."""
FAILS = "fails"
"""What is said of a note that is refuted."""
SUBSTANCE = "substance"
"""How grave it is if none holds."""
REPAIRS = (*GRAVITY, "sharp theorem", "another statement")
"""The last two make nothing less grave: a bound of this library's own, and what holds but gives up what is claimed."""
_FIELDS, _FIELDS_OF_NOTE = {"place", "meant", "because", "cases"}, {"place", "because", "note_to", "notes"}


@dataclass(frozen=True)
class Standing:
    """What the paper supposes throughout, and where it says so."""

    text: str
    place: str


@dataclass(frozen=True)
class Note:
    """Cases that are not meant: of which ``kind`` of ``KINDS``, and why."""

    kind: str
    because: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Repair:
    """What is true in the place of a refuted claim: of which kind of ``REPAIRS``, and the claim, or case of it, that is
    on trial for it. Only ``printed`` ones, that keep a printed row where the claim
    covers any, make a refutation less grave. ``untried`` says why
    there is no claim, where nothing of its kind is known to hold, or what holds cannot be asked.
    """

    kind: str
    what: str
    claim: str = ""
    case: str = ""
    printed: bool = True
    untried: str = ""


@dataclass(frozen=True)
class Reading:
    """The meant reading of a claim, and the notes under it; or, with ``note_to``, a note to another claim."""

    claim: str
    place: str
    because: str
    meant: str = ""
    cases: tuple[str, ...] = ()
    note_to: str = ""
    hypotheses: tuple[Standing, ...] = ()
    notes: tuple[Note, ...] = ()
    instead: tuple[Repair, ...] = ()
    trained: tuple[str, ...] = ()
    fails: str = ""

    def note_of(self, judgement: Judgement) -> Note | None:
        name = name_of(judgement)
        return next((note for note in self.notes if name in note.cases), None)


def name_of(judgement: Judgement) -> str:
    """ "domain | quantity"."""
    return f"{judgement.domain} | {judgement.quantity}"


def reading_of(claim: str) -> Reading | None:
    """None of a claim that is unsorted."""
    return all_readings().get(claim)


def meant(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Those of a claim that carry its verdict: all that are no notes."""
    return [judgement for judgement in judgements if not is_note(judgement)]


def is_note(judgement: Judgement) -> bool:
    """Whether the cell is of no meant reading. A test of what is proved is a note unless it refutes."""
    reading = reading_of(judgement.claim)
    if reading is None:
        return False
    note = reading.note_of(judgement)
    is_failed_test = note is not None and note.kind == "test" and judgement.verdict == REFUTED
    return bool(reading.note_to) or (note is not None and not is_failed_test)


def verdict_of(judgements: Iterable[Judgement]) -> str:
    """The verdict of a claim: of its meant reading; ``inapplicable`` if no cell is of it."""
    return aggregate(judgement.verdict for judgement in meant(judgements))


def word_of(judgement: Judgement) -> str:
    """What tables call the verdict of a cell: a note that is refuted "fails", as nobody claims it."""
    return FAILS if judgement.verdict == REFUTED and is_note(judgement) else judgement.shown


def note_to(claim: str) -> str:
    """The claim that this statement, which nobody claims, is a note to; empty of a claim."""
    reading = reading_of(claim)
    return reading.note_to if reading is not None else ""


def holds(repair: Repair, judgements: Iterable[Judgement]) -> bool:
    """Whether the run proved what the repair says, or tested it as a theorem of ours."""
    cells = [j for j in judgements if j.claim == repair.claim and repair.case in ("", name_of(j))]
    if not cells:
        return False
    verdict = aggregate(j.verdict for j in cells) if repair.case else verdict_of(cells)
    return shown(verdict, cells[0].origin) in (PROVED, THEOREM_TESTED)


def gravity_of(claim: str, judgements: Sequence[Judgement]) -> str:
    """Of a refuted claim, by the verdicts of its repairs in this run: slip, constant, hypothesis or substance; empty of
    a claim that is not refuted, or unsorted, and where a repair that decides it was not tried in the run.
    """
    reading = reading_of(claim)
    if reading is None or verdict_of(j for j in judgements if j.claim == claim) != REFUTED:
        return ""
    tried = {judgement.claim for judgement in judgements}
    for kind, grave in GRAVITY.items():
        repairs = [repair for repair in _grading(reading) if repair.kind == kind]
        if any(holds(repair, judgements) for repair in repairs):
            return grave
        if any(repair.claim not in tried for repair in repairs):
            return ""
    return SUBSTANCE


def grading_claims(claim: str) -> tuple[str, ...]:
    """The claims whose verdicts decide how grave it is that this one is refuted, the mildest repairs first."""
    reading = reading_of(claim)
    repairs = _grading(reading) if reading is not None else []
    order = list(GRAVITY)
    return tuple(dict.fromkeys(each.claim for each in sorted(repairs, key=lambda each: order.index(each.kind))))


def _grading(reading: Reading) -> list[Repair]:
    return [each for each in reading.instead if each.kind in GRAVITY and each.printed and each.claim]


@cache
def all_readings() -> dict[str, Reading]:
    """Those of every file, by claim."""
    known: dict[str, Reading] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for reading in read(path.read_text("utf-8"), path.name):
            if reading.claim in known:
                raise ClaimError(f'{path.name}: claim "{reading.claim}" has a reading already. Keep one.')
            known[reading.claim] = reading
    return known


def read(text: str, file: str) -> list[Reading]:
    """The readings of one file. ClaimError if an entry lacks a field, or a case stands in two places."""
    return [_reading(claim, entry, file) for claim, entry in tomllib.loads(text).items()]


def _reading(claim: str, entry: dict[str, Any], file: str) -> Reading:
    fields = _FIELDS_OF_NOTE if "note_to" in entry else _FIELDS
    if missing := sorted(fields - set(entry)):
        raise ClaimError(f'{file}: claim "{claim}" lacks {", ".join(missing)}.')
    reading = Reading(
        claim=claim,
        place=entry["place"],
        because=entry["because"],
        meant=entry.get("meant", ""),
        fails=entry.get("fails", ""),
        cases=tuple(entry.get("cases", ())),
        note_to=entry.get("note_to", ""),
        hypotheses=tuple(Standing(**each) for each in entry.get("hypotheses", ())),
        instead=tuple(Repair(**each) for each in entry.get("instead", ())),
        trained=tuple(entry.get("trained", ())),
        notes=tuple(Note(each["kind"], each["because"], tuple(each["cases"])) for each in entry.get("notes", ())),
    )
    if unknown := [note.kind for note in reading.notes if note.kind not in KINDS]:
        raise ClaimError(f'{file}: claim "{claim}" has a note of the kind "{unknown[0]}". Known: {", ".join(KINDS)}.')
    if unknown := [repair.kind for repair in reading.instead if repair.kind not in REPAIRS]:
        raise ClaimError(
            f'{file}: claim "{claim}" has a repair of the kind "{unknown[0]}". Known: {", ".join(REPAIRS)}.'
        )
    if odd := [repair.what for repair in reading.instead if repair.claim and repair.untried]:
        raise ClaimError(f'{file}: claim "{claim}": "{odd[0]}" names a claim and says why none is on trial. Keep one.')
    placed = [*reading.cases, *(case for note in reading.notes for case in note.cases)]
    if len(set(placed)) < len(placed) or bool(reading.cases) == bool(reading.note_to):
        raise ClaimError(f'{file}: claim "{claim}" has a case in two places, or none that is meant and no "note_to".')
    return reading
