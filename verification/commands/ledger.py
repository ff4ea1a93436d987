"""``odernn ledger``: the page of every statement with what a run found, from the store and the claim files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from odernn import foreign
from verification.claim import Claim
from verification.commands import records
from verification.commands.options import STORE, Action, ClaimOption, ClaimsOption, NearnessOption, StoreOption
from verification.commands.results import chosen, latest, write_witnesses
from verification.commands.terminal import DONE, UsageError, note, out
from verification.readings import reading as readings
from verification.registry import Registered, Registry
from verification.report.rows import findings as findings_page
from verification.report.rows import ledger
from verification.run.store import Store

WitnessesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--witnesses",
        metavar="DIR",
        show_default=False,
        help="With --folder: where a file for every refutation goes, and no other witness stays.  "
        "[default: witnesses, beside that folder]",
    ),
]
FolderOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Write a page a paper and an index there, in the place of one page."),
]
TrainedOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--trained",
        metavar="FILE",
        show_default=False,
        help="A record of training runs, as benchmarks/training_runs.py writes it: stands beside printed figures.",
    ),
]


def command(
    store: StoreOption = STORE,
    claim: ClaimOption = None,
    claims_dirs: ClaimsOption = None,
    folder: FolderOption = None,
    witnesses: WitnessesOption = None,
    trained: TrainedOption = None,
    nearness: NearnessOption = None,
    findings: Annotated[bool, typer.Option("--findings", help="Print the page of findings instead.")] = False,
) -> Action:
    """Print the latest run as a page: every statement with its verdicts and the evidence."""
    asked, dirs = tuple(claim or ()), tuple(claims_dirs or ())
    if witnesses is not None and folder is None:
        raise UsageError("--witnesses goes with --folder. Name the folder of the pages, too.")
    return Action(
        lambda: run(
            store=store,
            claims=asked,
            claims_dirs=dirs,
            folder=folder,
            witnesses=witnesses,
            trained=trained,
            nearness=nearness,
            findings=findings,
        )
    )


def run(
    *,
    store: Path,
    claims: tuple[str, ...],
    claims_dirs: tuple[Path, ...],
    folder: Path | None,
    witnesses: Path | None,
    trained: Path | None,
    nearness: Path | None,
    findings: bool,
) -> int:
    with Store(store, writable=False) as opened:
        results = latest(opened)
    facts = results.facts
    if facts.judged != facts.planned:
        note(f"odernn: the run is incomplete, {facts.judged} of {facts.planned} cells are judged.")
    statements = statements_of(Registry(claims_dirs or tuple(map(Path, facts.claims_dirs))))
    book = ledger.LedgerPages(
        chosen(results.judgements, claims),
        statements,
        facts,
        trained=_trained(trained, "" if folder is None else "../"),
        as_trained=as_trained(nearness),
    )
    if findings:
        of_run = findings_page.chosen(findings_page.CHOSEN.read_text("utf-8"))
        out(findings_page.page(of_run, book.housed("ledger/")))
        return DONE
    if folder is None:
        out(book.page())
        return DONE
    files = witnesses or folder.parent / "witnesses"
    folder.mkdir(parents=True, exist_ok=True)
    book = replace(book, witnesses=Path(os.path.relpath(files, folder)).as_posix())
    for name, text in book.pages().items():
        (folder / name).write_text(text, "utf-8")
    write_witnesses(book.run, files, facts.provenance, alone=True)
    return DONE


def _trained(record: Path | None, up: str) -> Mapping[str, Sequence[str]]:
    """Lines of every printed table that a claim is about. UsageError where the file is no such record."""
    if record is None:
        return {}
    from verification.report.rows import trained_results

    tables = [table for reading in readings.all_readings().values() for table in reading.trained]
    with records.record(record, "training runs", "training_runs.py"):
        sections = trained_results.sections(foreign.read_json(record), tables, up + trained_results.PAGE)
    return sections


def as_trained(record: Path | None) -> Mapping[str, str]:
    """A line by claim. UsageError where the file is no such record."""
    if record is None:
        return {}
    from verification.report.rows import nearness

    with records.record(record, "nearness", "nearness.py"):
        lines = nearness.as_trained(foreign.read_json(record))
    return lines


def statements_of(registry: Iterable[Registered]) -> dict[str, ledger.LedgerEntry]:
    """What pages say about every claim besides its verdict; bounds on states first."""
    claims = sorted((entry.claim for entry in registry), key=lambda claim: claim.state_bound is None)
    return {
        claim.id: ledger.LedgerEntry(
            claim.id, claim.source.key, claim.source.where, claim.statement, _kind(claim), claim.dominated_by
        )
        for claim in claims
    }


def _kind(claim: Claim) -> str:
    return f"{claim.origin}, {claim.semantics}" if claim.state_bound is None else f"{claim.origin} bound on states"
