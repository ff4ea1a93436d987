"""The page as plain data: texts and numbers that are shown, nothing of HTML but pictures that were drawn for it."""

from __future__ import annotations

from dataclasses import dataclass

from verification.report.table import Table


@dataclass(frozen=True)
class Panel:
    """A picture: an <svg> of our own making, and what it shows in words."""

    svg: str
    words: str


@dataclass(frozen=True)
class Plotted:
    """Small multiples under one caption."""

    panels: tuple[Panel, ...]
    caption: str


@dataclass(frozen=True)
class LinkedClaim:
    """A claim that is mentioned; ``anchor`` is empty if the page has no section of it."""

    claim: str
    anchor: str = ""


@dataclass(frozen=True)
class CaseRow:
    """A row of evidence: cells of one verdict. ``witness`` is the text of the file called ``file``."""

    where: str
    quantity: str
    claimed: str
    found: str
    slack: str
    verdict: str
    evidence: str
    given: str = ""
    numbers: tuple[int, ...] = ()
    file: str = ""
    witness: str = ""
    replay: str = ""


@dataclass(frozen=True)
class CaseGroup:
    """The rows of one reading: the meant one, or a note of some kind and why it is none."""

    heading: str
    is_meant: bool
    because: str
    counts: str
    rows: tuple[CaseRow, ...]


@dataclass(frozen=True)
class RepairShown:
    """What is true instead; ``case`` is the case of the claim that is on trial for it, "" for its meant reading."""

    kind: str
    what: str
    link: LinkedClaim
    case: str
    holds: bool
    excludes_printed: bool
    untried: str


@dataclass(frozen=True)
class RungShown:
    """How a claim fares on one rung between all that its words allow and what somebody has."""

    rung: str
    refuted: int
    tried: int
    most: str
    rows: str
    is_nearest: bool


@dataclass(frozen=True)
class ScriptShown:
    """A program that recomputes one witness, and how to get it."""

    text: str
    command: str
    witness: str


@dataclass(frozen=True)
class ClaimSection:
    """Everything about one claim. ``verdict`` is that of its meant reading; of a statement that nobody claims, "note".

    ``word`` is what filters and counts call it, ``slack`` the least one of the meant cells; ``proved_on`` the boxes of
    the meant rows if they are proved, ``near`` the place of the nearest rung on which it fails among all rungs.
    """

    claim: str
    anchor: str
    paper: str
    paper_title: str
    source: str
    place: str
    semantics: str
    statement: str
    verdict: str
    word: str
    gravity: str
    slack: str
    cells: int
    brief: str = ""
    fails: str = ""
    meant: str = ""
    because: str = ""
    decided_at: str = ""
    hypotheses: tuple[tuple[str, str], ...] = ()
    note_to: LinkedClaim | None = None
    dominated_by: LinkedClaim | None = None
    repairs: tuple[RepairShown, ...] = ()
    nearness: str = ""
    near: int | None = None
    as_trained: str = ""
    rungs: tuple[RungShown, ...] = ()
    groups: tuple[CaseGroup, ...] = ()
    plots: tuple[Plotted, ...] = ()
    remarks: tuple[str, ...] = ()
    script: ScriptShown | None = None
    replay: str = ""
    again: str = ""
    trained: tuple[Table, ...] = ()
    proved_on: str = ""


@dataclass(frozen=True)
class GraveLine:
    """A refuted claim on the dashboard: what it says, why it fails, and how near to practice."""

    link: LinkedClaim
    gravity: str
    statement: str
    place: str
    amount: str
    fails: str
    nearness: str
    as_trained: str


@dataclass(frozen=True)
class NearMiss:
    """A claim that is not refuted, by so many decades."""

    link: LinkedClaim
    slack: str
    place: str


@dataclass(frozen=True)
class Introduced:
    """What the claims of a paper are about: its equations, and the letters with what they stand for."""

    paper: str
    title: str
    equations: tuple[str, ...]
    letters: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Introduction:
    """What a reader needs first: sources by key, the networks they are about, and words of this page."""

    sources: tuple[tuple[str, str], ...]
    networks: tuple[Introduced, ...]
    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CountTable:
    """Claims by paper and by verdict: ``columns`` are the words, grave ones first; a row is a paper with its counts."""

    columns: tuple[str, ...]
    grave: int
    rows: tuple[tuple[str, str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class RuleLine:
    """A rule of decision: the verdict, and when it is given."""

    verdict: str
    when: str


@dataclass(frozen=True)
class ReportPage:
    """One page. ``facts`` are pairs of a name and what was run; ``caption`` says how to read the numbers, ``meanings``
    what the columns of the counts are; ``rungs`` are those on which a claim fails, the nearest to practice first.
    """

    title: str
    subtitle: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    caption: tuple[str, ...]
    rules: tuple[RuleLine, ...]
    counts: CountTable
    meanings: tuple[tuple[str, str], ...]
    gravest: tuple[GraveLine, ...]
    near: tuple[NearMiss, ...]
    doubts: tuple[str, ...]
    claims: tuple[ClaimSection, ...]
    introduction: Introduction
    rungs: tuple[tuple[int, str], ...] = ()
    tableaus: tuple[Table, ...] = ()
    graphs: tuple[Table, ...] = ()
    trained: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()
