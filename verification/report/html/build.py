"""The page of a run: what was run, how many claims came out how, the gravest refutations, and a section a claim."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verification import verdict
from verification.domains import BUDGETS
from verification.report.html.introduction import introduction
from verification.report.html.model import CountTable, GraveLine, NearMiss, Panel, Plotted, ReportPage, RuleLine
from verification.report.html.sections import NOTE, SectionMaker, anchors_of
from verification.report.html.series import StateSeries
from verification.report.numbers import decades, minus, plural
from verification.report.pictures import against_bounds
from verification.report.pictures.against_bounds import BoundCurve, SlackSpread
from verification.report.rows import nearness
from verification.report.rows.claims import PAPERS, Facts, caption
from verification.report.rows.ledger import LedgerEntry, rank, title_of
from verification.report.rows.screen import DOUBTS, GRAVES, LEFT, Tried, amount, near_misses, place_of, tried
from verification.report.table import Table
from verification.verdict import PRECEDENCE, REFUTED, THEOREM_TESTED, Judgement

MEANINGS = {
    **{word: f"refuted: {left}" for word, left in LEFT.items()},
    verdict.NOT_REFUTED: "a search with the whole budget found no violation, which proves nothing",
    THEOREM_TESTED: "a theorem of this library, proved in docs/derivations of the repository; no search broke it",
    verdict.PROVED: "decided twice, by exact algebra or enclosures, for all that its rows name and no more: a row "
    "“n ≤ 5” says nothing about n = 6",
    NOTE: "a statement beside a claim, that nobody claims; it counts nowhere",
}
MOST_GRAVE = 12
MOST_DOUBTS = 20
RULES = (
    RuleLine(verdict.INAPPLICABLE, "no instance satisfies the premises here"),
    RuleLine(
        verdict.REFUTED,
        "at exact parameters two back-ends that share no code prove the violation, every premise holds, and so does "
        "the limit where one is meant",
    ),
    RuleLine(verdict.SUSPECT, "a violation was nominated and could not be certified"),
    RuleLine(verdict.SUSPECT, "in floats the bound is exceeded by more than rounding may"),
    RuleLine(verdict.INCONCLUSIVE, "something that was measured is not finite"),
    RuleLine(verdict.VACUOUS, "the bound exceeds the largest number of its dtype, or the statement says nothing here"),
    RuleLine(verdict.PROVED, "exact algebra or an enclosure decides the whole box of the row, and a second one agrees"),
    RuleLine(verdict.INCONCLUSIVE, "nothing was tried that speaks about the statement"),
    RuleLine(verdict.INCONCLUSIVE, "a control failed: the search says nothing by finding nothing"),
    RuleLine(verdict.NOT_REFUTED, "the whole budget was spent, the controls passed, and no violation was found"),
)
"""``verification.verdict.RULES`` in words, in their order: the first that applies speaks."""


@dataclass(frozen=True)
class ReportSources:
    """What a page is made of.

    settings, name   of the run, as the store keeps them
    papers           the page of the ledger of every claim         series   what the store has over n
    folder           where the witnesses are                       trained  tables by printed table
    witnessed        a witness over n, by claim
    as_trained       a line by claim, of ``rows.nearness``
    """

    run: Sequence[Judgement]
    facts: Facts
    settings: Mapping[str, Any]
    name: str
    statements: Mapping[str, LedgerEntry]
    papers: Mapping[str, str]
    folder: str
    series: Mapping[str, StateSeries] = field(default_factory=dict)
    witnessed: Mapping[str, BoundCurve] = field(default_factory=dict)
    trained: Mapping[str, Table] = field(default_factory=dict)
    as_trained: Mapping[str, str] = field(default_factory=dict)
    tableaus: tuple[Table, ...] = ()
    graphs: tuple[Table, ...] = ()
    runs: tuple[Table, ...] = ()
    draws: bool = True


def page(sources: ReportSources) -> ReportPage:
    """The page. A pure function of what it is made of."""
    claims = _ordered(sources)
    anchors = anchors_of([claim.claim for claim in claims])
    plots, remarks = _drawn(sources.series, sources.witnessed, anchors) if sources.draws else ({}, {})
    maker = SectionMaker(
        sources.run,
        sources.facts,
        sources.statements,
        anchors,
        sources.folder,
        plots,
        remarks,
        sources.trained,
        sources.as_trained,
    )
    fallen = sorted((claim for claim in claims if claim.kind in GRAVES), key=lambda claim: claim.order)
    notes = () if sources.draws else ('There are no plots: matplotlib is missing (pip install "odernn[plots]").',)
    sections = tuple(maker.section(claim) for claim in claims)
    near = {section.near for section in sections if section.near is not None}
    return ReportPage(
        title="What was promised, and what was found",
        subtitle=f"odernn {sources.facts.version}, budget {sources.facts.budget}, seed {sources.facts.seed}",
        sentence=_sentence(claims, sources.facts),
        facts=_facts(sources),
        caption=caption(sources.run, sources.facts),
        rules=RULES,
        counts=count_table(claims),
        meanings=tuple((word, MEANINGS[word]) for word in MEANINGS if any(claim.kind == word for claim in claims)),
        gravest=tuple(_grave(claim, maker) for claim in fallen[:MOST_GRAVE]),
        near=tuple(_near(claim, maker) for claim in near_misses(claims)),
        doubts=_doubts(sources.run),
        claims=sections,
        rungs=tuple((place, str(nearness.RUNGS[place])) for place in sorted(near, reverse=True)),
        introduction=introduction(claim.paper for claim in claims),
        tableaus=sources.tableaus,
        graphs=sources.graphs,
        trained=sources.runs,
        remarks=notes,
    )


def _ordered(sources: ReportSources) -> list[Tried]:
    """By paper, theorems first, what nobody claims last."""
    papers = [*PAPERS, *sorted(set(sources.papers.values()) - set(PAPERS))]

    def order(claim: Tried) -> tuple[int, int, bool]:
        entry = sources.statements.get(claim.claim)
        place = entry.place if entry is not None else ""
        paper = papers.index(claim.paper) if claim.paper in papers else len(papers)
        return paper, rank(place), claim.kind == NOTE

    return sorted(tried(sources.run, sources.papers), key=order)


def _sentence(claims: Sequence[Tried], facts: Facts) -> str:
    counted = [claim for claim in claims if claim.kind != NOTE]
    words = [(word, sum(claim.shown == word for claim in counted)) for word in (*PRECEDENCE, THEOREM_TESTED)]
    listed = ", ".join(f"{number} {word}" for word, number in words if number)
    left = f" Incomplete: {facts.judged} of {facts.planned} cells are judged." if facts.judged != facts.planned else ""
    others = len(claims) - len(counted)
    notes = f"; {plural(others, 'statement')} that nobody claims beside them" if others else ""
    own = sum(claim.paper == "library" for claim in counted)
    of_them = f", {own} of them theorems of this library" if 0 < own < len(counted) else ""
    return f"{plural(len(counted), 'claim')}{of_them}: {listed}{notes}.{left}"


def _facts(sources: ReportSources) -> tuple[tuple[str, str], ...]:
    facts, settings = sources.facts, sources.settings
    packages = ", ".join(f"{name} {version}" for name, version in settings.get("with", {}).items())
    chosen = " ".join(map(shlex.quote, settings.get("claims", ())))
    dirs = "".join(f" --claims {shlex.quote(folder)}" for folder in facts.claims_dirs)
    task = settings.get("task", "")
    command = f"odernn verify{chosen and f' {chosen}'} --budget {facts.budget} --seed {facts.seed}{dirs}"
    if network := str(settings.get("checkpoint", "")):
        command = f"odernn verify --checkpoint {shlex.quote(network)}{dirs}"
    lines = (
        ("Program", f"odernn {facts.version}"),
        ("Commit", facts.commit),
        ("Sources, SHA-256", str(settings.get("source", ""))),
        ("Run, SHA-256 of its jobs", sources.name),
        ("Trained network", f"{network}, SHA-256 {settings.get('sha256', '')}" if network else ""),
        ("Packages", packages),
        ("Arithmetic", "float64 in searches; balls, rationals, intervals and integers in what is decided"),
        ("Device of the searches", str(settings.get("device", ""))),
        ("Budget", f"{facts.budget}{_spent(facts.budget)}"),
        ("Seed", str(facts.seed)),
        ("Real input", "; ".join(facts.sources) or str(task or "")),
        ("Cells", f"{len(sources.run)}{_undone(facts)}"),
        ("Power control", ", ".join(f"{name} {share:.3f}" for name, share in facts.shares)),
        ("Again", command),
    )
    return tuple((name, value) for name, value in lines if value)


def _undone(facts: Facts) -> str:
    return "" if facts.judged == facts.planned else f"; {facts.planned - facts.judged} jobs are not done"


def _spent(name: str) -> str:
    budget = BUDGETS.get(name)
    if budget is None:
        return ""
    return (
        f": {budget.drawn} drawn points, beams of width {budget.beam_width} up to N = {budget.beam_steps}, "
        f"Pontryagin's principle up to N = {budget.pontryagin_steps}"
    )


def count_table(claims: Sequence[Tried]) -> CountTable:
    """Claims by paper and by what became of them, refuted ones by gravity; columns and papers that occur."""
    words: list[str] = [*GRAVES]
    for word in PRECEDENCE:
        words += [] if word == REFUTED else [word]
        words += [THEOREM_TESTED] if word == verdict.NOT_REFUTED else []
    columns = [word for word in (*words, NOTE) if any(claim.kind == word for claim in claims)]
    papers = [paper for paper in dict.fromkeys(claim.paper for claim in claims)]
    rows = [(paper, title_of(paper), _counts(claims, columns, paper)) for paper in papers]
    if len(papers) > 1:
        rows.append(("", "All", _counts(claims, columns, "")))
    return CountTable(tuple(columns), sum(column in GRAVES for column in columns), tuple(rows))


def _counts(claims: Sequence[Tried], columns: Sequence[str], paper: str) -> tuple[int, ...]:
    of_paper = [claim for claim in claims if paper in ("", claim.paper)]
    return tuple(sum(claim.kind == column for claim in of_paper) for column in columns)


def _grave(claim: Tried, maker: SectionMaker) -> GraveLine:
    section = maker.section(claim)
    text = section.meant or section.statement
    return GraveLine(
        maker.link(claim.claim),
        claim.kind,
        text,
        place_of(claim.speaking),
        amount(claim.speaking),
        section.fails,
        section.nearness,
        section.as_trained,
    )


def _near(claim: Tried, maker: SectionMaker) -> NearMiss:
    cell = claim.speaking
    return NearMiss(maker.link(claim.claim), decades(cell.slack), place_of(cell))


def _doubts(run: Sequence[Judgement]) -> tuple[str, ...]:
    """Cells that say something about the run itself."""
    found = [cell for word in DOUBTS for cell in run if cell.verdict == word]
    lines = [f"{cell.verdict}: {cell.claim}, {place_of(cell)}: {cell.because}" for cell in found[:MOST_DOUBTS]]
    return (*lines, *([f"and {len(found) - MOST_DOUBTS} more"] if len(found) > MOST_DOUBTS else []))


# --- plots ------------------------------------------------------------------------------------------------------


def _drawn(
    series: Mapping[str, StateSeries], witnessed: Mapping[str, BoundCurve], anchors: Mapping[str, str]
) -> tuple[dict[str, tuple[Plotted, ...]], dict[str, tuple[str, ...]]]:
    """The pictures of every claim that has a series, and what is a sentence instead of a picture."""
    plots, remarks = {}, {}
    for number, (claim, of_claim) in enumerate(series.items(), 1):
        curves = [
            Panel(against_bounds.curve_svg(curve, f"n{number}-{i}"), against_bounds.words_of_curve(curve))
            for i, curve in enumerate(of_claim.curves)
        ]
        slacks = [panel for i, spread in enumerate(of_claim.spreads) for panel in _of_spread(spread, f"s{number}-{i}")]
        drawn = [Plotted(tuple(panels), text) for panels, text in ((curves, CURVES), (slacks, SPREADS)) if panels]
        if claim in anchors:
            plots[claim] = tuple(drawn)
            remarks[claim] = tuple(
                f"Sharp: {spread.symbol} comes within {minus(f'{spread.largest:.1e}')} decades of the bound at each of "
                f"{plural(len(spread.slacks), 'point')} (α, dt, N) of the free domain."
                for spread in of_claim.sharp
            )
    for number, (claim, curve) in enumerate(witnessed.items(), 1):
        if claim in anchors:
            panel = Panel(against_bounds.curve_svg(curve, f"w{number}"), against_bounds.words_of_curve(curve))
            plots[claim] = (*plots.get(claim, ()), Plotted((panel,), WITNESSED))
    return plots, remarks


def _of_spread(spread: SlackSpread, prefix: str) -> tuple[Panel, Panel]:
    words = against_bounds.words_of_spread(spread)
    return (
        Panel(against_bounds.slack_svg(spread, "T", f"{prefix}-T"), f"{words}; over the horizon T"),
        Panel(against_bounds.slack_svg(spread, "dt", f"{prefix}-dt"), f"{words}; over the step dt"),
    )


CURVES = (
    "The run that comes nearest to the bound, or violates it by most, against the bound over n: decimal logarithms, "
    "the largest value in each stretch of n. A circle: the first n at which the bound is exceeded."
)
WITNESSED = (
    "The network of a witness, stopped after n steps: both sides of the inequality, decimal logarithms, straight lines "
    "between some n. A circle: the first of these n at which the bound is exceeded."
)
SPREADS = (
    "Slack of layer 1 over the free domain: log₁₀(bound/worst found), least over n. Lines: one (α, T), dt halved again "
    "and again; dots: points that the seed draws. Below the dashed line the bound is violated."
)
