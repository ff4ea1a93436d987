"""A verdict as something to cite: an entry for BibTeX, and one line. A pure function of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from odernn.published.sources import PAPERS, Source
from verification.claim import slug
from verification.readings.reading import gravity_of, note_to, verdict_of
from verification.report.formats.latex import escape
from verification.report.numbers import plural
from verification.report.rows.claims import Facts
from verification.verdict import Judgement

AUTHORS = "the odernn authors"
"""As CITATION.cff has them."""


@dataclass(frozen=True)
class CitedClaim:
    """What is said of a claim besides its verdict. ``decided``: the day, "2026-11-26"; "" if it is not known."""

    id: str
    statement: str
    source: Source
    decided: str = ""


def verdict_in_words(claim: str, run: Sequence[Judgement]) -> str:
    """ "refuted, substance", "proved", or of what nobody claims "a note to thm-S": as the ledger has it."""
    if host := note_to(claim):
        return f"a note to {host}"
    cells = [cell for cell in run if cell.claim == claim]
    shown = replace(cells[0], verdict=verdict_of(cells)).shown
    return ", ".join(filter(None, (shown, gravity_of(claim, run))))


def line(cited: CitedClaim, run: Sequence[Judgement], facts: Facts) -> str:
    """Claim, statement, place in the paper, verdict, version, run."""
    made = f"{facts.provenance.words}, budget {facts.budget}, seed {facts.seed}{_so_far(facts)}"
    return f"{cited.id} ({cited.source}): {_one_line(cited.statement)}: {verdict_in_words(cited.id, run)}. {made}."


def _so_far(facts: Facts) -> str:
    """Of a run that is not complete: a cell that is not judged yet may refute."""
    if facts.judged == facts.planned:
        return ""
    return f"; the run is incomplete, {facts.judged} of {facts.planned} cells are judged"


def bibtex(cited: CitedClaim, run: Sequence[Judgement], facts: Facts) -> str:
    """The entry, of the kind @misc, in characters that every LaTeX has."""
    cells = sum(cell.claim == cited.id for cell in run)
    paper = PAPERS.get(cited.source.key, cited.source.key)
    fields = {
        "author": f"{{{AUTHORS}}}",
        "title": _braced(f"Verdict on {cited.id}: {verdict_in_words(cited.id, run)}"),
        "year": cited.decided[:4],
        "howpublished": _braced(facts.provenance.words),
        "note": _braced(
            f"On: {_one_line(cited.statement)}. {cited.source}, where {cited.source.key} is {paper}. Tried with budget "
            f"{facts.budget}, seed {facts.seed}, in {plural(cells, 'cell')}{_so_far(facts)}"
            + (f"; decided on {cited.decided}" if cited.decided else "")
        ),
    }
    width = max(map(len, fields))
    lines = [f"  {name:<{width}} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{odernn-{slug(cited.id)},", *lines, "}"])


def _one_line(text: str) -> str:
    return " ".join(text.split()).removesuffix(".")


def _braced(text: str) -> str:
    """For LaTeX, and with braces in pairs: BibTeX counts those behind a backslash, too."""
    return escape(text).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")
