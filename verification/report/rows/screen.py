"""The last screen of a run: how many claims came out how, the gravest refutations, what to type next. Pure.

At most ``MOST_LINES`` lines, none longer than ``width`` but those that a reader copies: commands and file names. Claims
are counted by paper and by the verdict of their meant reading, a refuted one by its gravity. First of all come cells
that say something about the run itself: errors, suspects, what is inconclusive, in notes too.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from textwrap import wrap

from verification import verdict
from verification.readings.reading import GRAVITY, SUBSTANCE, grading_claims, gravity_of, meant, note_to, verdict_of
from verification.report.numbers import decades, plural, size
from verification.report.rows import nearness
from verification.report.rows.claims import (
    OTHERS,
    PAPERS,
    Facts,
    is_question,
    key_of,
    network,
    witness_names,
    witness_numbers,
)
from verification.verdict import PRECEDENCE, REFUTED, THEOREM_TESTED, Judgement

MOST_LINES = 48
LEAST_WIDTH = 60
"""A narrower terminal wraps the lines by itself."""
NEAR_MISS = math.log10(1.05)
"""A bound that exceeds the worst found by less than 5 %, in decades."""
MOST_DOUBTS = 6
MOST_NEAR = 3
MOST_GRAVE = 14
LONGEST_NAME = 25
MOST_NAMED = 8
NOTE, UNSORTED = "note", "ungraded"
DOUBTS = (verdict.ERROR, verdict.SUSPECT, verdict.INCONCLUSIVE)
GRAVES = (SUBSTANCE, *reversed(GRAVITY.values()), UNSORTED)
"""The gravest first."""
LEFT = {
    SUBSTANCE: "no known constant or hypothesis saves it at printed settings",
    "hypothesis": "holds under one more hypothesis",
    "constant": "holds with another constant or exponent",
    "slip": "holds with a formula corrected",
    UNSORTED: "what holds instead was not tried in this run",
}
HEADS = {
    SUBSTANCE: ("sub-", "stance"),
    "hypothesis": ("hypo-", "thesis"),
    "constant": ("con-", "stant"),
    UNSORTED: ("un-", "graded"),
    verdict.INCONCLUSIVE: ("incon-", "clusive"),
    verdict.NOT_REFUTED: ("not-", "refuted"),
    THEOREM_TESTED: ("thm,", "tested"),
    verdict.INAPPLICABLE: ("inappl-", "icable"),
    NOTE: ("", "notes"),
}
"""Of columns whose name is too wide for one line."""


@dataclass(frozen=True)
class Tried:
    """A claim with the cells of the run that are about it. ``kind``: how it is counted: gravity, verdict or note."""

    claim: str
    paper: str
    cells: tuple[Judgement, ...]
    kind: str

    @property
    def shown(self) -> str:
        """Its verdict, as tables show it."""
        return replace(self.cells[0], verdict=verdict_of(self.cells)).shown

    @cached_property
    def speaking(self) -> Judgement:
        """Of the meant cells that have its verdict the one with the least slack, a witnessed one if there is any."""
        total = verdict_of(self.cells)
        cells = [cell for cell in meant(self.cells) if cell.verdict == total] or list(self.cells)
        return min(cells, key=lambda cell: (not cell.witness, math.inf if cell.slack is None else cell.slack))

    @property
    def order(self) -> tuple[int, int, int, float]:
        """The graver, the nearer to practice, and the more it fails by, the earlier."""
        near = nearness.nearest(self.cells)
        rung = (near.rung.weights, near.rung.inputs) if near is not None else (-1, -1)
        slack = self.speaking.slack
        return GRAVES.index(self.kind), -rung[0], -rung[1], math.inf if slack is None else slack


def tried(run: Sequence[Judgement], papers: Mapping[str, str]) -> list[Tried]:
    """The claims of a run in its order; a claim that ``papers`` does not know is one of the others."""
    cells: dict[str, list[Judgement]] = {}
    for judgement in run:
        cells.setdefault(judgement.claim, []).append(judgement)
    return [
        Tried(claim, papers.get(claim, OTHERS), tuple(parts), _kind(claim, parts, run))
        for claim, parts in cells.items()
    ]


def _kind(claim: str, cells: Sequence[Judgement], run: Sequence[Judgement]) -> str:
    if note_to(claim):
        return NOTE
    total = verdict_of(cells)
    if total == REFUTED:
        return gravity_of(claim, run) or UNSORTED
    return replace(cells[0], verdict=total).shown


@dataclass(frozen=True)
class Screen:
    """What a screen shows: the ``claims`` that were asked for, among the judgements of the ``run``.

    ``only``: verdicts of claims that are wanted; none: all. ``left_out`` says what is not shown. ``store`` and
    ``folder`` are where results and witnesses are.
    """

    run: Sequence[Judgement]
    claims: Sequence[Tried]
    facts: Facts
    store: str
    folder: str
    width: int = 80
    only: tuple[str, ...] = ()
    left_out: str = ""

    @property
    def _store(self) -> str:
        return "" if self.store == "odernn.sqlite" else f" --store {shlex.quote(self.store)}"

    def lines(self) -> list[str]:
        """The screen, line by line."""
        width = max(self.width, LEAST_WIDTH)
        top = [*self._head(width), "", *counts(self.claims, width)]
        end = [*self._end(), self.last()]
        blocks = [block for block in (self._doubts(width), self._near(width)) if block]
        room = MOST_LINES - len(top) - len(end) - 2 - sum(len(block) + 1 for block in blocks)
        lists = self._asked(width, room) if self.only else self._gravest(width, min(room, MOST_GRAVE + 6))
        blocks += [lists] if lists else []
        return [*top, *(line for block in blocks for line in ("", *block)), "", *end]

    def last(self) -> str:
        """The last line: how many claims fell, and whether something went wrong."""
        claims = [claim for claim in self.claims if claim.kind != NOTE]
        refuted = sum(claim.shown == REFUTED for claim in claims)
        cells = [cell for claim in self.claims for cell in claim.cells]
        bad = [f", {number} {word}" for word in DOUBTS if (number := sum(cell.verdict == word for cell in cells))]
        facts = self.facts
        left = f", {facts.judged} of {facts.planned} cells judged" if facts.judged != facts.planned else ""
        fallen = f"{refuted} of {plural(len(claims), 'claim')} refuted{''.join(bad)}{left}"
        return f"{fallen}; results are in {self.store}"

    def _head(self, width: int) -> list[str]:
        facts = self.facts
        cells = sum(len(claim.cells) for claim in self.claims)
        text = f"odernn {facts.version} · budget {facts.budget} · seed {facts.seed} · {plural(cells, 'cell')}"
        lines = [_cut(f"{text} of {plural(len(self.claims), 'statement')}", width)]
        if facts.run:
            lines.append(" · ".join(filter(None, (facts.commit and f"commit {facts.commit}", f"run {facts.run}"))))
        if facts.judged != facts.planned:
            lines.append(f"Incomplete: {facts.judged} of {facts.planned} cells are judged.")
        if self.left_out:
            lines += wrap(f"Left out: {self.left_out}.", width)
        return lines

    def _doubts(self, width: int) -> list[str]:
        """Cells that say something about the run, not about a theorem."""
        if self.only:
            return []
        cells = [cell for claim in self.claims for cell in claim.cells]
        found = [cell for word in DOUBTS for cell in cells if cell.verdict == word]
        if not found:
            return []
        rows = [(cell.verdict, cell.claim, f"{place_of(cell)}: {cell.because}") for cell in found]
        return [f"look at {'this' if len(found) == 1 else 'these'} first", *_listed(rows, (12, 18), width, MOST_DOUBTS)]

    def _near(self, width: int) -> list[str]:
        """Claims that hold, as far as is known, by little."""
        if self.only:
            return []
        close = near_misses(self.claims)
        rows = [(claim.claim, f"{decades(claim.speaking.slack)} decades", place_of(claim.speaking)) for claim in close]
        head = "near misses: not refuted, and within 5 % of it"
        return [head, *_listed(rows, (18, 13), width, MOST_NEAR)] if rows else []

    def _gravest(self, width: int, room: int) -> list[str]:
        """Refuted claims under what is left of them; ``room`` lines at most."""
        refuted = sorted((claim for claim in self.claims if claim.kind in GRAVES), key=lambda claim: claim.order)
        if not refuted or room < 3:
            return []
        numbers = witness_numbers(self.run)
        room -= 1 + len({claim.kind for claim in refuted})
        shown = refuted[: max(room, 1)]
        names = min(max(len(claim.claim) for claim in shown), LONGEST_NAME)
        tail = len(f"witness {max(numbers.values(), default=0)}")
        lines = []
        for kind, claims in groupby(shown, lambda claim: claim.kind):
            lines.append(_cut(f"refuted, {kind}: {LEFT[kind]}", width))
            lines += [_refutation(claim, numbers.get(key_of(claim.speaking)), names, width - tail) for claim in claims]
        if more := len(refuted) - len(shown):
            lines.append(f"  and {more} more: odernn table{self._store} --only refuted")
        return lines

    def _asked(self, width: int, room: int) -> list[str]:
        """The claims with the verdicts that were asked for, refuted ones by gravity."""
        refuted = self._gravest(width, room)
        rows = [
            (claim.claim, claim.shown, f"{place_of(claim.speaking)}: {claim.speaking.because}")
            for claim in self.claims
            if claim.kind not in (*GRAVES, NOTE)
        ]
        room -= len(refuted)
        return [*refuted, *_listed(rows, (18, 15), width, room - 1)] if rows and room > 1 else refuted

    def _end(self) -> list[str]:
        """What to type next."""
        store = self._store
        refuted = (claim for claim in self.claims if claim.kind in GRAVES)
        first = min(refuted, key=lambda claim: claim.order, default=None)
        lines = [("the table", f"odernn table{store}")]
        if first is not None:
            lines.append(("one claim", f"odernn table{store} --claim {shlex.quote(first.claim)}"))
            name = witness_names(self.run).get(key_of(first.speaking))
            if name is not None:
                path = shlex.quote(f"{self.folder}/{name}")
                lines.append(("recompute", f"odernn witness script {path} | python -"))
        if ungraded := [claim.claim for claim in self.claims if claim.kind == UNSORTED]:
            others = dict.fromkeys([*ungraded, *(name for claim in ungraded for name in grading_claims(claim))])
            if len(others) <= MOST_NAMED:
                named = " ".join(map(shlex.quote, others))
                lines.append(("its gravity", f"odernn verify{store} {named} --budget {self.facts.budget}"))
        lines.append(("the pages", f"odernn ledger{store} --folder ledger"))
        lines.append(("the report", f"odernn report{store} --html report.html"))
        return [f"{word:<12}{command}" for word, command in lines]


# --- the counts -------------------------------------------------------------------------------------------------


def counts(claims: Sequence[Tried], width: int) -> list[str]:
    """Rows: papers and their sum. Columns: the verdicts that occur, refuted ones by gravity; too many go on below."""
    order = [*PAPERS, *sorted({claim.paper for claim in claims} - set(PAPERS))]
    papers = [paper for paper in order if any(claim.paper == paper for claim in claims)]
    columns = ["claims", *(kind for kind in (*GRAVES, *_others(), NOTE) if any(claim.kind == kind for claim in claims))]
    sums = [*papers, "sum"] if len(papers) > 1 else papers
    wide = max(map(len, [*sums, "paper"]))
    lines: list[str] = []
    for block in _blocks(columns, width - wide):
        if grave := [column for column in block if column in GRAVES]:
            before = sum(map(_width, block[: block.index(grave[0])]))
            lines.append(" " * (wide + before + 2) + f"{' refuted ':-^{sum(map(_width, grave)) - 2}}")
        for row in (0, 1):
            heads = "".join(f"{_head_of(column)[row]:>{_width(column)}}" for column in block)
            lines.append(f"{'paper' if row else '':<{wide}}{heads}")
        for paper in sums:
            of_paper = [claim for claim in claims if paper in ("sum", claim.paper)]
            numbers = [sum(_counted(claim, column) for claim in of_paper) for column in block]
            cells = (f"{number or '·':>{_width(column)}}" for number, column in zip(numbers, block, strict=True))
            lines.append(f"{paper:<{wide}}{''.join(cells)}")
    return [line.rstrip() for line in lines]


def _counted(claim: Tried, column: str) -> bool:
    return claim.kind == column if column != "claims" else claim.kind != NOTE


def _others() -> Iterator[str]:
    """Verdicts but for ``refuted``, in their order, as they are shown."""
    for name in PRECEDENCE:
        if name != REFUTED:
            yield name
        if name == verdict.NOT_REFUTED:
            yield THEOREM_TESTED


def _head_of(column: str) -> tuple[str, str]:
    return HEADS.get(column, ("", column))


def _width(column: str) -> int:
    return 2 + max(map(len, _head_of(column)))


def _blocks(columns: Sequence[str], width: int) -> Iterator[list[str]]:
    """As many columns side by side as there is room for."""
    block: list[str] = []
    for column in columns:
        if block and sum(map(_width, [*block, column])) > width:
            yield block
            block = []
        block.append(column)
    yield block


# --- one line ---------------------------------------------------------------------------------------------------


def _refutation(claim: Tried, number: int | None, names: int, width: int) -> str:
    """The claim, what fails, by how much, in ``width`` characters, and behind them the number of its witness."""
    cell = claim.speaking
    witness = f"witness {number}" if number is not None else ""
    left = width - names - 8
    by_how_much = amount(cell)
    by = min(len(by_how_much), max(14, left * 3 // 5))
    what = left - by
    fields = (claim.claim, names), (place_of(cell), what), (by_how_much, by)
    return ("".join(f"  {_cut(text, wide):<{wide}}" for text, wide in fields) + f"  {witness}").rstrip()


def amount(cell: Judgement) -> str:
    """By how much it fails: decades, or what was found beside what is claimed."""
    if cell.slack is not None:
        return f"by {decades(-cell.slack)} decades"
    claimed, found = cell.claimed or size(cell.log_bound), cell.found or size(cell.log_worst)
    return f"{found}; claimed {claimed}"


def near_misses(claims: Iterable[Tried]) -> list[Tried]:
    """Claims that are not refuted, and by little, the nearest first."""
    slacks = [(claim.speaking.slack, claim) for claim in claims if claim.kind == verdict.NOT_REFUTED]
    close = [(slack, claim) for slack, claim in slacks if slack is not None and slack < NEAR_MISS]
    return [claim for _, claim in sorted(close, key=lambda pair: pair[0])]


def place_of(cell: Judgement) -> str:
    """The quantity, and where."""
    return f"{cell.symbol}, {cell.domain if is_question(cell) else network(cell)}"


def _listed(rows: Sequence[tuple[str, ...]], widths: Sequence[int], width: int, most: int) -> list[str]:
    """Rows of fields in columns, one line each; the last field is cut at the width, and so is the list."""
    shown = rows if len(rows) <= most else rows[: most - 1]
    lines = []
    for *fields, last in shown:
        front = "".join(f"  {_cut(text, wide):<{wide}}" for text, wide in zip(fields, widths, strict=True))
        lines.append(_cut(f"{front}  {last}", width))
    return [*lines, f"  and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else lines


def _cut(text: str, width: int) -> str:
    """One line of harmless text; what is too long ends in "…"."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain if len(plain) <= width else plain[: max(width - 1, 0)].rstrip() + "…"
