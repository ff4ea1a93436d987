"""From judgements to what people read: the table, the summary, the refutations. Pure; no wall times, no dates.

A row is a claim on one layer of one domain; its parts (position, momentum) are collapsed unless ``full``.
"""

from __future__ import annotations

import hashlib
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias

from verification import verdict
from verification.domains import BUDGETS, FREE, free_points, printed_name, printed_rows
from verification.readings.reading import (
    GRAVITY,
    SUBSTANCE,
    gravity_of,
    is_note,
    note_to,
    reading_of,
    verdict_of,
    word_of,
)
from verification.report.numbers import NOT_AVAILABLE, apart, count, decades, plural, size
from verification.report.table import Cell, Column, Table
from verification.run.provenance import Provenance
from verification.verdict import Judgement

NETWORK_NAMES = {"unicornn": "UnICORNN"}
TRAINED = "trained "
"""What the domain of a judgement about a checkpoint begins with; the file's name follows."""

LONGEST_NOTE = 60
LABEL = "{:<10} "
"""Lines of the summary begin with a word in a column of its own."""

Key: TypeAlias = tuple[str, str, int, str, str]
"""What a judgement is about: claim, domain, layer, quantity, norm."""

PAPERS = {
    "unicornn": ("UnICORNN", ("icml", "sam")),
    "scornn": ("scoRNN", ("scornn",)),
    "odernn": ("RNNs in the Eye of Differential Equations", ("odernn",)),
    "complexity": ("Architectural Complexity Measures of RNNs", ("complexity",)),
    "library": ("Theorems of this library", ("library",)),
}
"""The pages of a folder by name: their title, and the bibliography keys of the claims on them."""
OTHERS = "others"


@dataclass(frozen=True)
class Facts:
    """What a caption says about a run. ``judged`` of ``planned`` cells are done; equal unless it was cut short.

    ``commit`` and ``run``, the hash of the run, are what it is cited by; "" where they are not known. ``arithmetic`` is
    IEEE 754, or "" in a store of an odernn that did not ask.
    """

    version: str
    budget: str
    seed: int
    sources: tuple[str, ...] = ()
    claims_dirs: tuple[str, ...] = ()
    shares: tuple[tuple[str, float], ...] = ()
    judged: int = 0
    planned: int = 0
    commit: str = ""
    run: str = ""
    arithmetic: str = ""

    @property
    def provenance(self) -> Provenance:
        return Provenance(self.version, self.commit, self.run)


def key_of(judgement: Judgement) -> Key:
    return judgement.claim, judgement.domain, judgement.layer, judgement.quantity, judgement.norm


def _cell_of(judgement: Judgement) -> tuple[str, str, int]:
    """What one row is about: the parts of a bound on a layer, or one case."""
    place = judgement.domain if judgement.layer else f"{judgement.domain} | {judgement.quantity}"
    return judgement.claim, place, judgement.layer


# --- the table --------------------------------------------------------------------------------------------------

COLUMNS = (
    Column("claim", least=13),
    Column("network · domain", least=12),
    Column("quantity"),
    Column("bound", "right", least=10),
    Column("on data", "right", spare=True),
    Column("in range", "right", spare=True),
    Column("worst found", "right"),
    Column("exact (thm-S)", "right", spare=True),
    Column("slack (decades)", "right"),
    Column("verdict", least=12),
)
AT = Column("at")


def table(
    judgements: Sequence[Judgement],
    facts: Facts,
    *,
    full: bool = False,
    among: Sequence[Judgement] | None = None,
) -> Table:
    """Rows in the order of the judgements. ``full``: a row a part, with its point.

    Witnesses are numbered ``among`` the judgements of the whole run.
    """
    numbers = witness_numbers(judgements if among is None else among)
    names = witness_names(judgements if among is None else among)
    cells = [list(cell) for _, cell in groupby(judgements, _cell_of)]
    groups = [[part] for part in judgements] if full else cells
    return Table(
        title="What was promised, and what was found",
        columns=(*COLUMNS, AT) if full else COLUMNS,
        rows=tuple(_row(parts, numbers, full) for parts in groups),
        caption=caption(judgements, facts),
        records=tuple(record(judgement, facts, names) for judgement in judgements),
    )


def why_they_fail(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """A sentence a refuted claim of those that are asked for, from its reading."""
    said = []
    for claim in dict.fromkeys(judgement.claim for judgement in judgements):
        reading = reading_of(claim)
        fails = verdict_of(judgement for judgement in judgements if judgement.claim == claim) == verdict.REFUTED
        if reading is not None and reading.fails and fails:
            said.append(f"Why {claim} fails: {reading.fails}")
    return tuple(said)


def _row(parts: Sequence[Judgement], numbers: Mapping[Key, int], full: bool) -> tuple[str | Cell, ...]:
    shown = collapsed(parts)
    row = (
        shown.claim,
        network(shown),
        shown.symbol,
        shown.claimed or size(shown.log_bound),
        size(shown.log_data),
        size(shown.log_range),
        shown.found or size(shown.log_worst),
        size(shown.log_exact),
        decades(shown.slack),
        _verdict(shown, [numbers[key_of(part)] for part in parts if key_of(part) in numbers]),
    )
    return (*row, shown.point or shown.given or NOT_AVAILABLE) if full else row


def collapsed(parts: Sequence[Judgement]) -> Judgement:
    """The part with the smallest slack among those that carry the verdict of the cell, with that verdict.

    Only those: beside "refuted" or "vacuous" the numbers of another part would explain nothing.
    """
    total = verdict.aggregate(part.verdict for part in parts)
    carriers = [part for part in parts if part.verdict == total] or list(parts)
    least = min(carriers, key=lambda part: math.inf if part.slack is None else part.slack)
    return replace(least, verdict=total)


def is_question(judgement: Judgement) -> bool:
    """Whether it is about one case, which has no layer, and not about the states of one."""
    return judgement.layer == 0


def network(judgement: Judgement) -> str:
    """The network and the domain: "psMNIST-128, layer 1 · printed", "UnICORNN, layer 2 · free"."""
    if is_question(judgement):
        return judgement.domain
    layer = f"layer {judgement.layer}"
    if judgement.domain == FREE:
        return f"{NETWORK_NAMES.get(judgement.system, judgement.system)}, {layer} · free"
    for row in printed_rows():
        if judgement.domain == printed_name(row):
            chosen = [note.removesuffix(" chosen") for note in row.notes if note.endswith(" chosen")]
            mark = f" ({', '.join(chosen)} chosen)" if chosen else ""
            return f"{row.name}{mark}, {layer} · printed"
    return f"{judgement.domain}, {layer}"


def _verdict(judgement: Judgement, witnesses: Sequence[int]) -> Cell:
    if judgement.verdict == verdict.REFUTED:
        which = ", ".join(map(str, witnesses))
        return Cell(f" (witness {which})" if which else "", strong=word_of(judgement))
    return Cell(judgement.shown, remark=_note(judgement))


def _note(judgement: Judgement) -> str:
    """In few words, why; ``because`` has all of them, the short form before its first colon."""
    if judgement.verdict == verdict.NOT_REFUTED and not is_question(judgement):
        power = f", power control {judgement.control:.2f}" if judgement.control is not None else ""
        return f"{count(judgement.evaluations)} evaluations{power}"
    if judgement.verdict == verdict.NOT_REFUTED and judgement.control is not None:
        return f"{judgement.because}; power control {judgement.control:.2f}"
    head, _, rest = judgement.because.partition(": ")
    note = rest if head == "no admissible instance" and rest else head
    return note if len(note) <= LONGEST_NOTE else note[: LONGEST_NOTE - 1] + "…"


def record(judgement: Judgement, facts: Facts, names: Mapping[Key, str]) -> dict[str, Any]:
    """Every field, logs unrounded. ``witness`` is the name of its file; NaN raises ValueError, infinite is None."""
    plain = judgement.to_plain() | {"witness": names.get(key_of(judgement), ""), "shown": word_of(judgement)}
    measured = judgement.log_data is not None
    plain |= {"source": "; ".join(facts.sources) if measured else "", "trained": False if measured else None}
    plain |= {"odernn": facts.version, "commit": facts.commit, "run": facts.run}
    plain |= {"arithmetic": facts.arithmetic}
    for name, value in plain.items():
        if isinstance(value, float) and not math.isfinite(value):
            if math.isnan(value) or (value == math.inf and name.startswith("log_")):
                raise ValueError(f"{judgement.claim}, {judgement.domain}, layer {judgement.layer}: {name} is {value}.")
            plain[name] = None
    return plain


# --- the caption ------------------------------------------------------------------------------------------------


def caption(judgements: Sequence[Judgement], facts: Facts) -> tuple[str, ...]:
    """What one has to know to read, and to repeat, the table."""
    lines = [f"{facts.provenance.words}, float64, budget {facts.budget}, seed {facts.seed}."]
    if facts.judged != facts.planned:
        lines.append(f"Incomplete: {facts.judged} of {facts.planned} cells are judged.")
    if facts.sources:
        networks = "networks of Table 6 untrained, initialised as in the paper (trained ones: docs/trained.md)"
        sources = "; ".join(facts.sources)
        lines.append(f"On data: {sources}; {networks}. In range: the same, worst input found in [0, 1].")
    if not all(map(is_question, judgements)) and (tried := _tried(facts)):
        lines.append(tried)
    lines.append(
        "bound, exact: at n = N, where refuted at the violated n. on data, in range, worst found: largest over "
        "n ≤ N. slack: least log₁₀(bound/worst) over n."
    )
    lines += _inferred(judgements)
    lines += _readings(judgements)
    lines += _dominated(judgements)
    return tuple(lines)


def _tried(facts: Facts) -> str:
    budget = BUDGETS.get(facts.budget)
    if budget is None:
        return ""
    shares = ", ".join(f"{adversary} {share:.3f}" for adversary, share in facts.shares)
    least = f"; the least of each adversary: {shares}" if shares else ""
    return (
        f"Tried: {len(free_points(budget))} points (α, dt, N) of the free domain, {budget.drawn} that the seed draws "
        f"(docs/power.md), and the {len(printed_rows())} networks of Table 6, in every layer, with structured inputs, "
        f"for N ≤ {budget.beam_steps} a beam of width {budget.beam_width}, and for N ≤ {budget.pontryagin_steps} "
        "Pontryagin's principle, which are not asked at drawn points. Power control: worst "
        f"found / optimum of a problem whose optimum is known{least}."
    )


def _inferred(judgements: Iterable[Judgement]) -> list[str]:
    domains = {judgement.domain for judgement in judgements}
    printed = [row for row in printed_rows() if row.notes and printed_name(row) in domains]
    notes = [f"{row.name} {', '.join(row.notes)}" for row in printed]
    return [f"Not printed in Table 6: {'; '.join(notes)}."] if notes else []


def _readings(judgements: Iterable[Judgement]) -> list[str]:
    """How "dt sufficiently small" was read, by claim."""
    by_claim: dict[str, list[str]] = {}
    for judgement in judgements:
        readings = by_claim.setdefault(judgement.claim, [])
        if judgement.reading and judgement.reading not in readings:
            readings.append(judgement.reading)
    words = {"limit": "free in the limit dt → 0", "printed": "printed at the published dt"}
    claims: dict[str, list[str]] = {}
    for claim, readings in by_claim.items():
        if readings:
            claims.setdefault(", ".join(words.get(reading, reading) for reading in readings), []).append(claim)
    return [f"dt sufficiently small is read {how}: {', '.join(names)}." for how, names in claims.items()]


def _dominated(judgements: Iterable[Judgement]) -> list[str]:
    by: dict[str, dict[str, None]] = {}
    for judgement in judgements:
        if judgement.dominated_by:
            by.setdefault(judgement.dominated_by, {})[judgement.claim] = None
    return [f"Dominated by {sharper}: {', '.join(claims)}." for sharper, claims in by.items()]


# --- summary, refutations, expectations ---------------------------------------------------------------------------


def summary(judgements: Sequence[Judgement], run: Sequence[Judgement] = ()) -> str:
    """One line: how many claims came out how, each added up over the cells of its meant reading.

    ``run`` has the judgements from which gravity follows, if they are more than those that are counted.
    """
    by_claim: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        by_claim.setdefault(judgement.claim, []).append(judgement)
    claims = [parts for claim, parts in by_claim.items() if not note_to(claim)]
    totals = [replace(parts[0], verdict=verdict_of(parts)) for parts in claims]
    order = {name: number for number, name in enumerate(verdict.PRECEDENCE)}
    counts = Counter(total.shown for total in sorted(totals, key=lambda total: order[total.verdict]))
    cells = len(judgements)
    domains = len({judgement.domain for judgement in judgements})
    graves = {verdict.REFUTED: _graves(judgements, run or judgements)}
    shown = " · ".join(f"{number} {name}{graves.get(name, '')}" for name, number in counts.items()) or "none"
    notes = len(by_claim) - len(claims)
    return (
        LABEL.format("claims")
        + f"{len(claims)} tried on {plural(domains, 'domain')}, {plural(cells, 'cell')}: {shown}"
        + (f" · {notes} that nobody claims" if notes else "")
    )


NOTE = "note"


def _graves(judgements: Sequence[Judgement], run: Sequence[Judgement]) -> str:
    """How grave the refuted claims are: " (3 substance, 1 slip)"."""
    found = Counter(gravity_of(claim, run) for claim in {judgement.claim for judgement in judgements})
    named = [f"{found[grave]} {grave}" for grave in _BY_GRAVITY if found[grave]]
    return f" ({', '.join(named)})" if named else ""


_BY_GRAVITY = (SUBSTANCE, *reversed(GRAVITY.values()))


def refutations(
    judgements: Sequence[Judgement],
    folder: str,
    claims_dirs: Sequence[str] = (),
    among: Sequence[Judgement] | None = None,
) -> list[str]:
    """Of a refuted part: what was found, at which parameters if that does not say it, and how to replay it from its
    witness in ``folder``. The gravest come first, cells that are notes last. Witnesses are numbered, and refutations
    graded, ``among`` the judgements of the whole run.
    """
    run = judgements if among is None else among
    names, numbers = witness_names(run), witness_numbers(run)
    options = "".join(f" --claims {shlex.quote(directory)}" for directory in claims_dirs)
    order = ("", *_BY_GRAVITY, NOTE)
    graves = {claim: gravity_of(claim, run) for claim in dict.fromkeys(j.claim for j in judgements)}
    lines = []
    for judgement in sorted(judgements, key=lambda j: order.index(NOTE if is_note(j) else graves[j.claim])):
        if judgement.verdict == verdict.REFUTED:
            lines.append(LABEL.format(NOTE if is_note(judgement) else "refuted") + _sentence(judgement))
            if judgement.given and judgement.given not in judgement.because:
                lines.append(LABEL.format("") + f"at {judgement.given}")
        if key_of(judgement) in names:
            path = shlex.quote(f"{folder}/{names[key_of(judgement)]}")
            replay = f"witness {numbers[key_of(judgement)]}; replay: odernn witness verify {path}{options}"
            lines.append(LABEL.format("") + replay)
    return lines


def _sentence(judgement: Judgement) -> str:
    if is_question(judgement):
        return f"{judgement.claim}  {judgement.domain}  {judgement.symbol}  {judgement.because}"
    where = f"{judgement.claim}  {judgement.domain} domain, layer {judgement.layer}  {judgement.symbol}"
    if judgement.log_worst is None or judgement.log_bound is None:
        return f"{where}  {judgement.because}"
    measured, bound = apart(judgement.log_worst, judgement.log_bound)
    point = f" ({judgement.point})" if judgement.point else ""
    step = f" at n = {judgement.step}" if judgement.step is not None else ""
    return f"{where}  measured {measured} > bound {bound}{step}{point}, {judgement.because}"


def witness_numbers(judgements: Iterable[Judgement]) -> dict[Key, int]:
    """Witnesses are numbered from 1 in the order of the judgements."""
    witnessed = [key_of(judgement) for judgement in judgements if judgement.witness]
    return {key: number for number, key in enumerate(witnessed, 1)}


def witness_names(judgements: Sequence[Judgement]) -> dict[Key, str]:
    """A file name for every witness that depends on nothing but what it is about.

    The name of a checkpoint is another's, too: a witness about one has eight digits of the hash of what it says.
    """
    from verification.claim import slug

    names: dict[Key, str] = {}
    times: Counter[str] = Counter()
    for judgement, label in zip(judgements, _labels(judgements), strict=True):
        if judgement.witness:
            layer = f"layer{judgement.layer}-" if judgement.layer else ""
            stem = f"{slug(judgement.claim)}-{slug(judgement.domain)}-{layer}{slug(label)}"
            if judgement.domain.startswith(TRAINED):
                stem += f"-{hashlib.sha256(judgement.witness.encode()).hexdigest()[:8]}"
            times[stem] += 1  # "≤ C dt" and "≥ c dt" look the same once other characters are gone
            names[key_of(judgement)] = f"{stem}{f'-{times[stem]}' if times[stem] > 1 else ''}.json"
    return names


def verdicts(judgements: Sequence[Judgement]) -> dict[str, str]:
    """{"<claim> | <domain> | layer <k> | <quantity>": verdict}, what ``--expect`` pins; cases have no layer."""
    by_cell = {}
    for judgement, label in zip(judgements, _labels(judgements), strict=True):
        layer = f"layer {judgement.layer} | " if judgement.layer else ""
        by_cell[f"{judgement.claim} | {judgement.domain} | {layer}{label}"] = judgement.verdict
    return by_cell


def _labels(judgements: Sequence[Judgement]) -> list[str]:
    """The quantity of each; with its norm where a claim bounds the same quantity in two norms."""
    times = Counter((*_cell_of(judgement), judgement.quantity) for judgement in judgements)
    return [
        judgement.quantity
        if times[(*_cell_of(judgement), judgement.quantity)] == 1
        else f"{judgement.quantity}-{judgement.norm}"
        for judgement in judgements
    ]


def differences(now: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """One sentence for each cell whose verdict is not the expected one, is missing, or was not expected."""
    lines = []
    for cell in dict.fromkeys([*expected, *now]):
        if cell not in now:
            lines.append(f"{cell}: expected {expected[cell]}, but it was not judged")
        elif cell not in expected:
            lines.append(f"{cell}: {now[cell]}, but it is not in the list of expectations")
        elif now[cell] != expected[cell]:
            lines.append(f"{cell}: {now[cell]}, expected {expected[cell]}")
    return lines
