"""What a store says about its latest run, as reports need it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verification import verdict
from verification.claim import slug
from verification.commands import terminal
from verification.commands.terminal import UsageError
from verification.registry import Registry
from verification.report import fit
from verification.report.formats import renderer
from verification.report.numbers import plural
from verification.report.rows import claims as rows
from verification.report.rows.claims import OTHERS, PAPERS, Facts
from verification.report.rows.screen import Tried, tried
from verification.report.table import Table
from verification.run import provenance
from verification.run.execute import judgements_of
from verification.run.store import Store
from verification.verdict import Judgement

if TYPE_CHECKING:
    from verification.run.mending import Survey


@dataclass(frozen=True)
class JudgedRun:
    """The judgements that a run's table is made of, and what its caption says."""

    judgements: tuple[Judgement, ...]
    facts: Facts


def latest(store: Store) -> JudgedRun:
    """The run begun last, as far as it is judged. A store in which damage would go unnoticed is said to be one."""
    if not store.is_checked:
        terminal.note(
            f'odernn: store "{store.path}" was written by an older odernn: it has no checksums, so damage would go '
            "unnoticed. The next `odernn verify` that writes it adds them."
        )
    stored = store.run()
    settings, keys = stored.settings, stored.keys
    source = provenance.of_run(stored.name, settings)
    judged = store.has(keys)
    done = [key for key in keys if key in judged]
    facts = Facts(
        version=source.version,
        commit=source.commit,
        run=source.run,
        budget=str(settings.get("budget", "")),
        seed=int(settings.get("seed", 0)),
        sources=_sources(store, done),
        shares=_shares(store, done),
        claims_dirs=tuple(settings.get("claims_dirs", ())),
        judged=len(done),
        planned=len(keys),
        arithmetic=str(dict(settings.get("floats", {})).get("arithmetic", "")),
    )
    return JudgedRun(tuple(judgements_of(store, done)), facts)


def mended(path: Path) -> None:
    """A store that is about to be written: if it is damaged, what is whole of it goes into a new one, and what is not
    is said: the run does that again.
    """
    if not path.exists():
        return
    from verification.run.mending import mend  # a new store has nothing to mend

    outcome = mend(path)
    if outcome is None:
        return
    found, kept = outcome
    for line in (*damage(found), f"kept as {kept}; what is whole of it, {len(found.whole)} parts, is in a new store"):
        terminal.note(terminal.harmless(f"odernn: damaged store: {line}"))


def damage(found: Survey) -> tuple[str, ...]:
    """What is wrong with a store, a sentence each."""
    return (*([found.structure] if found.structure else []), *found.damaged)


def _sources(store: Store, keys: Sequence[str]) -> tuple[str, ...]:
    """The real input that the judged cells were compared with, each source once."""
    measured = {need for key in keys for need in store.spec(key).get("needs", {}).get("data", ())}
    sources = {str(store.data(key).get("source", "")) for key in store.has(measured)}
    return tuple(sorted(sources - {""}))


def _shares(store: Store, keys: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """(adversary, the smallest share of the known optimum that it reached in the controls of the judged cells)."""
    needed = {need for key in keys for need in store.spec(key).get("needs", {}).get("control", ())}
    smallest: dict[str, float] = {}
    for key in sorted(store.has(needed)):
        for report in store.data(key)["reports"]:
            for adversary, share in report["shares"].items():
                smallest[adversary] = min(share, smallest.get(adversary, share))
    return tuple(sorted(smallest.items()))


def chosen(judgements: Sequence[Judgement], claims: Sequence[str]) -> list[Judgement]:
    """Those about the named claims (ids or slugs), in their own order; all if none is named."""
    known = {slug(judgement.claim): judgement.claim for judgement in judgements}
    for name in claims:
        if slug(name) not in known:
            near = difflib.get_close_matches(slug(name), known, n=1)
            hint = f'Did you mean "{known[near[0]]}"?' if near else "`odernn table --columns claim` shows what it has."
            raise UsageError(f'The store has no claim "{name}". {hint}')
    wanted = {known[slug(name)] for name in claims} or set(known.values())
    return [judgement for judgement in judgements if judgement.claim in wanted]


@dataclass(frozen=True)
class Wanted:
    """What --paper and --only ask for: a paper's page in the ledger, and verdicts as they are shown; empty: all."""

    paper: str = ""
    only: tuple[str, ...] = ()

    @classmethod
    def parse(cls, paper: str | None, only: str | None) -> Wanted:
        """UsageError for a word that is no paper or no verdict."""
        if paper is not None:
            one_of("paper", paper, (*PAPERS, OTHERS))
        verdicts = {slug(name): name for name in (*verdict.PRECEDENCE, verdict.THEOREM_TESTED)}
        asked = tuple(filter(None, map(str.strip, (only or "").split(","))))
        if only is not None and not asked:
            raise UsageError("--only: names no verdict. For example: --only refuted,suspect")
        return cls(paper or "", tuple(verdicts[one_of("only", slug(name), verdicts, "verdict")] for name in asked))

    def __bool__(self) -> bool:
        return bool(self.paper or self.only)

    def of(self, run: Sequence[Judgement], registry: Registry) -> tuple[list[Judgement], str]:
        """The cells that are asked for, and a sentence about the others, "" if there are none."""
        kept = list(run)
        if self.paper:
            papers = papers_of(run, registry)
            self.check(papers.values())
            kept = [judgement for judgement in kept if papers[judgement.claim] == self.paper]
        of_paper = len(kept)
        if self.only:
            kept = [judgement for judgement in kept if judgement.shown in self.only]
        return kept, self.left_out("cell", len(run) - of_paper, of_paper - len(kept))

    def check(self, papers: Iterable[str]) -> None:
        """UsageError if the paper that is asked for is none of those of which the run tried claims."""
        there = list(dict.fromkeys(papers))
        if self.paper and self.paper not in there:
            raise UsageError(
                f'--paper {self.paper}: this run tried no claim of "{self.paper}", only of {", ".join(there)}. Choose '
                "one of these, or try others first: `odernn verify` tries all."
            )

    def claims(self, run: Sequence[Judgement], papers: Mapping[str, str]) -> tuple[list[Tried], str]:
        """The claims that are asked for, and a sentence about the others; ``papers`` has the page of each."""
        claims = tried(run, papers)
        self.check(papers.values())
        of_paper = [claim for claim in claims if self.paper in ("", claim.paper)]
        shown = [claim for claim in of_paper if not self.only or claim.shown in self.only]
        return shown, self.left_out("claim", len(claims) - len(of_paper), len(of_paper) - len(shown))

    def left_out(self, noun: str, elsewhere: int, otherwise: int) -> str:
        """What a filter has taken away: so many of other papers, so many with another verdict."""
        parts = [f"{plural(elsewhere, noun)} of other papers (--paper {self.paper})"] if elsewhere else []
        if otherwise:
            parts.append(f"{plural(otherwise, noun)} with another verdict (--only {','.join(map(slug, self.only))})")
        return ", ".join(parts)


def one_of(option: str, value: str, known: Collection[str], noun: str = "") -> str:
    """The value, if it is known; UsageError with the nearest one otherwise, or with all."""
    if value not in known:
        near = difflib.get_close_matches(value.lower(), known, n=1)
        hint = f'Did you mean "{near[0]}"?' if near else f"Choose from: {', '.join(known)}."
        raise UsageError(f"--{option} {value}: there is no such {noun or option}. {hint}")
    return value


def check_colour(choice: str, format: str | None) -> None:
    """UsageError for a word that is no choice, or for colour that is asked for where a program reads."""
    one_of("color", choice, terminal.COLOURS, "choice")
    if choice == terminal.ALWAYS and format not in (None, "text"):
        raise UsageError(f"--color: is of text for a terminal, not of {format}. Leave it out.")


def coloured(table: str, choice: str, format: str = "text") -> str:
    """A table in text as the terminal shows it; in another format as it is."""
    if format != "text" or not terminal.is_coloured(choice):
        return table
    from verification.commands import colour  # with rich, which a pipe does without

    return colour.table(table)


def papers_of(run: Sequence[Judgement], registry: Registry) -> dict[str, str]:
    """The page of the ledger that each claim of a run stands on. A published claim stands in the folder of its paper,
    so that its file is not run for it; one that the registry does not know is one of the others.
    """
    pages = {key: page for page, (_, keys) in PAPERS.items() for key in keys}
    known = set(registry.ids())
    papers = {}
    for claim, origin in {judgement.claim: judgement.origin for judgement in run}.items():
        page = registry.path(claim).parent.name if claim in known else OTHERS
        if claim in known and (origin == "library" or page not in PAPERS):
            page = pages.get(registry.get(claim).claim.source.key, OTHERS)
        papers[claim] = page
    return papers


FOR_PROGRAMS = frozenset({"csv", "json"})
"""Formats with every column, as wide as it is."""


def rendered(table: Table, format: str, *, columns: str | None = None, width: int | None = None) -> str:
    """The table in a format: in text as wide as the terminal, elsewhere without cells longer than a few lines.

    UsageError for ``columns`` that it does not have, or ``columns`` and ``width`` of a format for programs.
    """
    render = renderer(format)
    if format in FOR_PROGRAMS and columns is not None:
        raise UsageError(f"--columns: a {format} table has every column. Leave it out, or choose another format.")
    if format != "text" and width is not None:
        raise UsageError(f"--width: is of a table in text, not in {format}. Leave it out.")
    if columns is not None:
        try:
            table = fit.chosen(table, columns.split(","))
        except ValueError as error:
            raise UsageError(f"--columns: {error}") from None
    if format == "text":
        return render(fit.to_width(table, width or terminal.fitting()))
    return render(table if format in FOR_PROGRAMS else fit.noted(table))


def witnesses_beside(store: Path) -> Path:
    """The default folder of witnesses."""
    return store.parent / "witnesses"


def write_witnesses(
    judgements: Sequence[Judgement], folder: Path, source: provenance.Provenance, *, alone: bool = False
) -> None:
    """A file in the folder for every refutation, and beside them a list that says which run, ``source``, they are of.

    ``alone``: witnesses of other runs that are there are removed, so that the folder holds those of this run.
    UsageError if it cannot be written.
    """
    refuting = [judgement for judgement in judgements if judgement.witness]
    if not refuting and not alone:
        return
    from verification.witness.file import from_json, write

    names = rows.witness_names(judgements)
    try:
        for path in _other_witnesses(folder, set(names.values())) if alone else ():
            path.unlink()
        for judgement in refuting:
            write(from_json(judgement.witness), folder / names[rows.key_of(judgement)])
        provenance.record(source, folder, [names[rows.key_of(judgement)] for judgement in refuting])
    except OSError as error:
        raise UsageError(
            f'Witnesses folder "{folder}" cannot be written: {error.strerror or error}. Nothing is lost: choose '
            "another with --witnesses and run the same command again."
        ) from None


def _other_witnesses(folder: Path, names: set[str]) -> list[Path]:
    """Files with a witness, and the inputs beside them, that have none of the names."""
    from verification.witness.file import FORMAT

    others = [path for path in sorted(folder.glob("*.json")) if path.name not in names]
    found = [path for path in others if path.is_file() and f'"format": "{FORMAT}"'.encode() in _beginning(path)]
    beside = [path.with_suffix(".safetensors") for path in found]
    return [*found, *(path for path in beside if path.is_file())]


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(200)
