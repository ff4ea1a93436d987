"""A row a claim: the verdict of what its authors mean, and the cell that decides it, bound beside found. Pure.

The table of all cells of a run is thousands of rows; this one is read from top to bottom.
"""

from __future__ import annotations

from collections.abc import Sequence

from verification.readings.reading import word_of
from verification.report.numbers import decades, plural, size
from verification.report.rows import claims
from verification.report.rows.claims import Facts
from verification.report.rows.screen import GRAVES, NOTE, Tried, place_of
from verification.report.table import Cell, Column, Table
from verification.verdict import REFUTED, Judgement

COLUMNS = (
    Column("claim", least=14),
    Column("verdict", least=10),
    Column("cells", "right"),
    Column("quantity, where", least=16),
    Column("bound", "right", least=10),
    Column("worst found", "right", least=8),
    Column("slack (decades)", "right", spare=True),
)
EXPLAINED = (
    "A row a claim: the verdict of what its authors mean; of the cells with that verdict the one with the least slack; "
    "of a note, which nobody claims, the worst cell. "
    "All cells, with remarks: --full, or --claim NAME for those of one; github, latex, csv and json have them, too."
)


def table(tried: Sequence[Tried], facts: Facts, among: Sequence[Judgement]) -> Table:
    """The claims in the order of the run; ``among`` are all its judgements, in which cells are numbered."""
    shown = [cell for claim in tried for cell in claim.cells]
    return Table(
        title=f"What was promised, and what was found: {plural(len(tried), 'claim')}",
        columns=COLUMNS,
        rows=tuple(_row(claim) for claim in tried),
        caption=(EXPLAINED, *claims.caption(shown or among, facts)),
    )


def _row(claim: Tried) -> tuple[str | Cell, ...]:
    cell = claim.speaking
    return (
        claim.claim,
        _verdict(claim),
        str(len(claim.cells)),
        place_of(cell),
        cell.claimed or size(cell.log_bound),
        cell.found or size(cell.log_worst),
        decades(cell.slack),
    )


def _verdict(claim: Tried) -> str | Cell:
    """Its word, of a refuted one how grave it is; a note has no verdict of its own, only its cells have."""
    if claim.kind == NOTE:
        return f"{NOTE}: {word_of(claim.speaking)}"
    if claim.shown == REFUTED:
        return Cell(f", {claim.kind}" if claim.kind in GRAVES else "", strong=REFUTED)
    return claim.shown
