"""The section of a claim: from its cells and readings to what is shown. A pure function of a run."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten

from verification import verdict
from verification.claim import slug
from verification.domains import BUDGETS, TRAINED
from verification.readings.reading import (
    ALL_ROWS,
    FAILS,
    Reading,
    Repair,
    grading_claims,
    gravity_of,
    holds,
    meant,
    note_to,
    reading_of,
    verdict_of,
    word_of,
)
from verification.report.html.model import (
    CaseGroup,
    CaseRow,
    ClaimSection,
    LinkedClaim,
    Plotted,
    RepairShown,
    RungShown,
    ScriptShown,
)
from verification.report.numbers import decades, plural, size
from verification.report.rows import nearness
from verification.report.rows.claims import PAPERS, Facts, Key, is_question, key_of, witness_names, witness_numbers
from verification.report.rows.ledger import LedgerEntry, evidence_of, folded, title_of, where_of
from verification.report.rows.screen import Tried
from verification.report.table import Table
from verification.run.provenance import Provenance, parsed
from verification.verdict import REFUTED, Judgement
from verification.witness.file import from_json
from verification.witness.script import script_of
from verification.witness.text import WitnessError

NOTE = "note"
MOST_BOXES = 4
LONGEST_BRIEF = 110
LONGEST_WITNESS = 20_000
"""Letters of a witness that stand in the page; a longer one is named only."""


def anchors_of(claims: Sequence[str]) -> dict[str, str]:
    """A name for the section of each claim, no two alike whatever the ids are."""
    anchors: dict[str, str] = {}
    for claim in claims:
        stem = name = f"c-{slug(claim) or 'claim'}"
        number = 1
        while name in anchors.values():
            number += 1
            name = f"{stem}-{number}"
        anchors[claim] = name
    return anchors


@dataclass(frozen=True)
class SectionMaker:
    """What the sections of a run share.

    ``folder`` is where the witnesses are; ``plots`` and ``remarks`` belong to claims; ``trained`` has tables by what
    is printed; ``as_trained`` a line by claim, of ``rows.nearness``.
    """

    run: Sequence[Judgement]
    facts: Facts
    statements: Mapping[str, LedgerEntry]
    anchors: Mapping[str, str]
    folder: str
    plots: Mapping[str, tuple[Plotted, ...]] = field(default_factory=dict)
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trained: Mapping[str, Table] = field(default_factory=dict)
    as_trained: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[Key, int] = field(init=False)
    names: Mapping[Key, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", witness_numbers(self.run))
        object.__setattr__(self, "names", witness_names(self.run))

    def link(self, claim: str) -> LinkedClaim:
        return LinkedClaim(claim, self.anchors.get(claim, ""))

    def section(self, tried: Tried) -> ClaimSection:
        """All that is known about one claim."""
        claim, cells = tried.claim, list(tried.cells)
        entry = self.statements.get(claim, LedgerEntry(claim, "", "", "", ""))
        reading, host = reading_of(claim), note_to(claim)
        speaking = tried.speaking
        slacks = [cell.slack for cell in meant(cells) if cell.slack is not None]
        return ClaimSection(
            claim=claim,
            anchor=self.anchors[claim],
            paper=tried.paper,
            paper_title=title_of(tried.paper),
            source=entry.paper,
            place=entry.place,
            semantics=entry.kind,
            statement=entry.text,
            verdict=NOTE if host else tried.shown,
            word=NOTE if host else tried.shown,
            gravity=gravity_of(claim, self.run),
            slack=decades(min(slacks, default=None)),
            cells=len(cells),
            brief=_brief(reading, entry),
            fails=reading.fails if reading is not None and tried.shown == REFUTED else "",
            meant=_meant(reading),
            because=reading.because if reading is not None else "",
            decided_at=reading.place if reading is not None else "",
            hypotheses=tuple((each.text, each.place) for each in reading.hypotheses) if reading is not None else (),
            note_to=self.link(host) if host else None,
            dominated_by=self.link(entry.dominated_by) if entry.dominated_by else None,
            repairs=tuple(map(self._repair, reading.instead)) if reading is not None else (),
            nearness=self._nearness(entry, cells),
            near=self._near(entry, cells),
            as_trained=self.as_trained.get(claim, "") if self._nearness(entry, cells) else "",
            rungs=_rungs(cells),
            groups=self._groups(claim, cells),
            plots=tuple(self.plots.get(claim, ())),
            remarks=tuple(self.remarks.get(claim, ())),
            script=self._script(speaking),
            replay=self._replay(speaking),
            again=self._again(claim),
            trained=tuple(self.trained[name] for name in reading.trained if name in self.trained) if reading else (),
            proved_on=_proved_on(cells) if tried.shown == verdict.PROVED else "",
        )

    def _repair(self, repair: Repair) -> RepairShown:
        link = self.link(repair.claim) if repair.claim else LinkedClaim("")
        held = bool(repair.claim) and holds(repair, self.run)
        return RepairShown(repair.kind, repair.what, link, repair.case, held, not repair.printed, repair.untried)

    def _nearness(self, entry: LedgerEntry, cells: Sequence[Judgement]) -> str:
        return nearness.line(cells) if entry.paper in PAPERS["unicornn"][1] else ""

    def _near(self, entry: LedgerEntry, cells: Sequence[Judgement]) -> int | None:
        """The place in ``nearness.RUNGS`` of the nearest rung on which it fails; of trained networks in floats."""
        best = nearness.nearest(cells) if self._nearness(entry, cells) else None
        if best is None:
            return None
        return nearness.RUNGS.index(TRAINED if entry.id in self.as_trained else best.rung)

    # --- the evidence -------------------------------------------------------------------------------------------

    def _groups(self, claim: str, cells: Sequence[Judgement]) -> tuple[CaseGroup, ...]:
        """The meant reading first, and the notes in their order."""
        reading = reading_of(claim)
        if reading is None:
            return (self._group("All cases", True, "", cells),)
        groups = [self._group("Meant", True, "", meant(cells))] if reading.cases else []
        for note in reading.notes:
            of_note = [cell for cell in cells if reading.note_of(cell) == note]
            groups.append(self._group(f"Note, {note.kind}", False, note.because, of_note))
        placed = [] if reading.cases else [cell for cell in cells if reading.note_of(cell) is None]
        groups += [self._group("Cases", False, "", placed)] if placed else []
        return tuple(group for group in groups if group.rows)

    def _group(self, heading: str, is_meant: bool, because: str, cells: Sequence[Judgement]) -> CaseGroup:
        rows = tuple(self._row(cell, same) for cell, same in folded(cells))
        counts = Counter(map(word_of, cells))
        order = [FAILS, *verdict.PRECEDENCE, verdict.THEOREM_TESTED]
        words = ", ".join(f"{counts[word]} {word}" for word in order if counts[word])
        if len(rows) < len(cells):
            words += f", in {plural(len(rows), 'row')}"
        return CaseGroup(heading, is_meant, because, words, rows)

    def _row(self, cell: Judgement, same: Sequence[Judgement]) -> CaseRow:
        witnessed = [each for each in same if key_of(each) in self.numbers]
        first = witnessed[0] if witnessed else None
        text = first.witness if first is not None else ""
        return CaseRow(
            where=where_of(cell, same),
            quantity=cell.symbol,
            claimed=cell.claimed or size(cell.log_bound),
            found=cell.found or size(cell.log_worst),
            slack=decades(cell.slack),
            verdict=word_of(cell),
            evidence="; ".join(evidence_of(cell)),
            given=cell.given if is_question(cell) and cell.given not in cell.because else "",
            numbers=tuple(self.numbers[key_of(each)] for each in witnessed),
            file=self.names[key_of(first)] if first is not None else "",
            witness=text if len(text) <= LONGEST_WITNESS else "",
            replay=self._replay(first) if first is not None else "",
        )

    # --- what to type -------------------------------------------------------------------------------------------

    @property
    def _options(self) -> str:
        return "".join(f" --claims {shlex.quote(folder)}" for folder in self.facts.claims_dirs)

    def _path(self, cell: Judgement) -> str:
        return shlex.quote(f"{self.folder}/{self.names[key_of(cell)]}")

    def _replay(self, cell: Judgement) -> str:
        return f"odernn witness verify {self._path(cell)}{self._options}" if key_of(cell) in self.names else ""

    def _again(self, claim: str) -> str:
        """The trial of the claim and of what decides how grave it is, its rows, its citation, a line each; "" where a
        trained network was on trial.
        """
        facts = self.facts
        if facts.budget not in BUDGETS:
            return ""
        name, options = shlex.quote(claim), self._options
        graded = " ".join(map(shlex.quote, (claim, *grading_claims(claim))))
        tried = f"odernn verify {graded} --budget {shlex.quote(facts.budget)} --seed {facts.seed}{options}"
        return f"{tried}\nodernn table --claim {name}{options}\nodernn cite {name}{options}"

    @property
    def _source(self) -> str:
        """What a script is of, as beside a witness; a store from anywhere is not to put other text into a program."""
        return (parsed(self.facts.provenance.words) or Provenance()).words

    def _script(self, cell: Judgement) -> ScriptShown | None:
        """The program about the witness of the cell that speaks for the claim, if one is written."""
        if key_of(cell) not in self.names:
            return None
        try:
            text = script_of(from_json(cell.witness), self._source)
        except (WitnessError, ValueError):
            return None
        name = self.names[key_of(cell)]
        return ScriptShown(text, f"odernn witness script {self._path(cell)} | python -", name)


def _meant(reading: Reading | None) -> str:
    if reading is None:
        return ""
    return "The statement as it stands, in all its rows." if reading.meant == f"{ALL_ROWS}." else reading.meant


def _brief(reading: Reading | None, entry: LedgerEntry) -> str:
    """What the claim says in a line: what is meant, or its statement."""
    said = reading.meant if reading is not None and not reading.meant.startswith(ALL_ROWS) else ""
    return shorten(said or entry.text, LONGEST_BRIEF, placeholder=" …")


def _proved_on(cells: Sequence[Judgement]) -> str:
    """The boxes of the meant rows that are proved, a few of them by name."""
    places = list(dict.fromkeys(where_of(cell, (cell,)) for cell in meant(cells) if cell.verdict == verdict.PROVED))
    more = f"; and {len(places) - MOST_BOXES} more" if len(places) > MOST_BOXES else ""
    return "; ".join(places[:MOST_BOXES]) + more


def _rungs(cells: Sequence[Judgement]) -> tuple[RungShown, ...]:
    """The rungs on which a refuted claim was tried, from all that its words allow to what somebody has."""
    if not cells or verdict_of(cells) != REFUTED:
        return ()
    places = [each for each in nearness.rated(cells) if each.cell.verdict != verdict.INAPPLICABLE]
    best = nearness.nearest(cells)
    shown = []
    for rung in sorted({each.rung for each in places}):
        on_rung = [each for each in places if each.rung == rung]
        fallen = [each for each in on_rung if each.is_refuted]
        most = max((-each.cell.slack for each in fallen if each.cell.slack is not None), default=None)
        rows = ", ".join(dict.fromkeys(each.row for each in fallen))
        is_nearest = best is not None and best.rung == rung
        shown.append(RungShown(str(rung), len(fallen), len(on_rung), decades(most), rows, is_nearest))
    return tuple(shown)
