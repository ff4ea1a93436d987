"""Pages of made runs, and a reader of HTML that sees what a browser would forgive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

from verification.report.html.build import ReportSources, page
from verification.report.html.render import render
from verification.report.html.series import StateSeries
from verification.report.pictures.against_bounds import BoundCurve, SlackLadder, SlackSpread
from verification.report.rows.claims import Facts
from verification.report.rows.ledger import LedgerEntry
from verification.report.table import Cell, Column, Table
from verification.verdict import INCONCLUSIVE, NOT_REFUTED, PROVED, REFUTED, Judgement
from verification.witness.file import Witness, to_json

SCRIPT = '</title></script><script>alert("1")</script>'
QUOTES = """x" onmouseover="alert('2')"""
MARKUP = "<b>&amp;</b> {{ 7 * 7 }} {% raw %} <!-- -->"
UNSEEN = "turned \u202egnol\u202c, bell \x07, half \ud800, emoji 🙂, 中文, ‖ȳ_n‖"
HOSTILE = (SCRIPT, QUOTES, MARKUP, UNSEEN)

QUESTION = Judgement(
    claim="made-1",
    domain="all x",
    layer=0,
    quantity="x",
    norm="",
    symbol="|x_n|",
    reading="",
    verdict=REFUTED,
    because="x = 2: 2 > 1",
    slack=-0.3,
    log_bound=0.0,
    log_worst=0.7,
    witness=to_json(Witness("made-1", "all x", "x", {"x": "2"})),
)
STATE = Judgement(
    claim="icml-C.1",
    domain="free",
    layer=1,
    quantity="position",
    norm="max",
    symbol="max abs(yₙ)",
    reading="limit",
    verdict=REFUTED,
    because="for every dt ≤ 1/160: measured ≥ 198.639 > 69.4262",
    point="α = 1/10, dt = 1/160, N = 40",
    slack=-0.46,
    log_bound=4.24,
    log_worst=5.3,
    evaluations=9,
)
PRINTED = replace(STATE, domain="printed RR", reading="printed", point="RR", slack=-2.5)
FACTS = Facts("0.1.0", "smoke", 3, judged=5, planned=5)
SETTINGS = {"with": {"numpy": "2"}, "source": "ab" * 32, "device": "cpu", "task": "digits", "claims": []}
CURVE = BoundCurve(
    "max abs(yₙ)", "free", "α = 1/10", tuple(range(1, 61)), tuple(0.05 * n for n in range(60)), (1.0,) * 60, 22
)
SPREAD = SlackSpread(
    "max abs(yₙ)", (SlackLadder("α = 1", 2.0, (0.1, 0.05), (-0.4, 3.0)),), ((1.0, 0.1, 30.0), (2.0, 0.2, -0.1))
)
TABLE = Table(
    "Two", (Column("name"), Column("order", "right")), (("gauss 2", "4"), (Cell(" it is", "no"), "–")), ("c",)
)


def hostile_run() -> list[Judgement]:
    """Claims and cells of somebody's own, with names that mean harm."""
    cells = [QUESTION, STATE, PRINTED, replace(QUESTION, claim="made-2", verdict=PROVED, witness="", because="exact")]
    for word in HOSTILE:
        text = {"claim": word, "domain": word, "symbol": word, "because": word, "given": word, "found": word}
        cells.append(replace(QUESTION, quantity=word, claimed=word, witness="", **text))
    return cells


def worded_run() -> list[Judgement]:
    """Cells as wide as those of the standard run."""
    where = "icml S(42), l < L, all w equal, T ≤ 1"
    text = {"domain": where, "symbol": "‖dX^L_n/dX^l_k‖_∞, with (n−k)dt", "claimed": "10^410.4", "found": "10^-320.7"}
    because = "Σ over D in {±1}ⁿ of det(I + W D) = 2ⁿ, n ≤ 4, by both back-ends; " * 3
    names = ("both-106/79-at-any-depth", "unicornn-proposition/of-a-name-without-a-place-to-break-the-line")
    return [replace(QUESTION, claim=name, quantity=where, because=because, **text) for name in names]


def sources(run: Sequence[Judgement] | None = None, *, draws: bool = True) -> ReportSources:
    cells = hostile_run() if run is None else list(run)
    entries = {}
    for claim in dict.fromkeys(cell.claim for cell in cells):
        paper = "icml" if claim.startswith("icml") else claim
        text = f"‖y_n‖ ≤ e^{{αT}}; {claim}"
        entries[claim] = LedgerEntry(claim, paper, f"Thm 1, {claim}", text, claim, "made-2")
    series = {"icml-C.1": StateSeries((CURVE, CURVE), (SPREAD,), (SPREAD,))} if draws else {}
    return ReportSources(
        run=cells,
        facts=FACTS,
        settings=SETTINGS,
        name="cd" * 32,
        statements=entries,
        papers={claim: "unicornn" if claim.startswith("icml") else "others" for claim in entries},
        folder="the 'witnesses'",
        series=series,
        tableaus=(TABLE,),
        graphs=(TABLE,),
        runs=(TABLE,),
        draws=draws,
    )


def made_page(run: Sequence[Judgement] | None = None) -> str:
    return render(page(sources(run)))


def many(claims: int, cells: int) -> list[Judgement]:
    """A run of so many claims of so many cells, with the evidence that a cell of the standard run has at most."""
    words = (REFUTED, PROVED, NOT_REFUTED, INCONCLUSIVE)
    return [
        replace(
            QUESTION,
            claim=f"made-{number}",
            domain=f"domain {case}",
            verdict=words[number % 4],
            witness=QUESTION.witness if words[number % 4] == REFUTED else "",
            because="Σ over D in {±1}ⁿ of det(I + W D) = 2ⁿ, n ≤ 4, by both back-ends; " * 3,
        )
        for number in range(claims)
        for case in range(cells)
    ]


VOID = frozenset("area base br col embed hr img input link meta source track wbr path use rect".split())  # noqa: SIM905


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    inside: tuple[str, ...]
    text: str = ""


@dataclass
class Read(HTMLParser):
    """All elements of a page in order; ``faults`` are tags that are closed where they are not open."""

    elements: list[Element] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self, convert_charrefs=True)
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        doubled = [name for name, times in Counter(name for name, _ in attrs).items() if times > 1]
        self.faults += [f"<{tag}> has {name} twice" for name in doubled]
        element = Element(tag, {k: v or "" for k, v in attrs}, tuple(each.tag for each in self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {k: v or "" for k, v in attrs}, tuple(each.tag for each in self._open)))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self._open or self._open[-1].tag != tag:
            self.faults.append(f"</{tag}> closes {self._open[-1].tag if self._open else 'nothing'}")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def close(self) -> None:
        super().close()
        self.faults += [f"<{element.tag}> is not closed" for element in self._open]

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]


def read(text: str) -> Read:
    reader = Read()
    reader.feed(text)
    reader.close()
    return reader
