"""``odernn report``: the latest run of a store as one HTML file that needs nothing but itself."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from odernn import foreign
from verification.commands import records
from verification.commands.options import STORE, Action, ClaimsOption, NearnessOption, RunsOption, StoreOption
from verification.commands.terminal import DONE, UsageError, harmless, note

if TYPE_CHECKING:
    from verification.claim import Claim
    from verification.commands.results import JudgedRun
    from verification.report.html.series import StateSeries
    from verification.report.pictures.against_bounds import BoundCurve
    from verification.report.table import Table
    from verification.run.store import Store

DEFAULT = Path("report.html")
WITNESSES = "witnesses"
"""Beside whatever folder a reader of the page works in: `odernn verify` writes them there."""


def command(
    html: Annotated[Path, typer.Option("--html", metavar="FILE", help="The page.")] = DEFAULT,
    store: StoreOption = STORE,
    claims_dirs: ClaimsOption = None,
    runs: RunsOption = None,
    trained: Annotated[
        Path | None,
        typer.Option(
            "--trained",
            metavar="FILE",
            show_default=False,
            help="A record of training runs, as benchmarks/training_runs.py writes it.",
        ),
    ] = None,
    nearness: NearnessOption = None,
    witnesses: Annotated[
        Path | None,
        typer.Option(
            "--witnesses",
            metavar="DIR",
            show_default=False,
            help="Where the witnesses are, for the commands on the page.  [default: witnesses]",
        ),
    ] = None,
) -> Action:
    """Write the latest run as one page of HTML: a dashboard, every claim with its evidence, plots, witnesses, scripts.

    The file needs nothing but itself: it opens from disk, prints, and works without scripts but for its filters.
    """
    dirs, folders = tuple(claims_dirs or ()), tuple(runs or ())
    beside = {"trained": trained, "nearness": nearness, "witnesses": witnesses}
    return Action(lambda: run(html, store=store, claims_dirs=dirs, runs=folders, **beside))


def run(
    html: Path,
    *,
    store: Path,
    claims_dirs: tuple[Path, ...] = (),
    runs: tuple[Path, ...] = (),
    trained: Path | None = None,
    nearness: Path | None = None,
    witnesses: Path | None = None,
) -> int:
    """Write the page. UsageError for what cannot be read or written."""
    _check(html)
    from verification.commands.ledger import as_trained, statements_of
    from verification.commands.results import latest, papers_of
    from verification.registry import Registry
    from verification.report.html import build
    from verification.report.html.render import render
    from verification.run.store import Store

    printed, of_record = _of_record(trained)
    exceeding = as_trained(nearness)
    with Store(store, writable=False) as opened:
        results, whole = latest(opened), opened.run()
        registry = Registry(claims_dirs or tuple(map(Path, results.facts.claims_dirs)))
        known = frozenset(registry.ids())
        named = dict.fromkeys(judgement.claim for judgement in results.judgements)
        entries = [registry.get(claim) for claim in named if claim in known]
        draws = _draws()
        claims = {entry.claim.id: entry.claim for entry in entries}
        series = _series(opened, whole.keys, claims, results) if draws else {}
    witnessed = _witnessed(claims, results) if draws else {}
    statements = statements_of(entries)
    sources = build.ReportSources(
        run=results.judgements,
        facts=results.facts,
        settings=whole.settings,
        name=whole.name,
        statements=statements,
        papers=papers_of(results.judgements, registry),
        folder=str(witnesses or WITNESSES),
        series=series,
        witnessed=witnessed,
        trained=printed,
        as_trained=exceeding,
        tableaus=(_tableaus(),),
        graphs=(_graphs(),),
        runs=(*of_record, *_trained(runs)),
        draws=draws,
    )
    text = render(build.page(sources))
    try:
        html.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f'--html "{html}": cannot be written: {(error.strerror or str(error)).lower()}.') from None
    note(f"wrote {harmless(str(html))}, {len(text.encode()) / 1e6:.1f} MB, {len(results.judgements)} rows")
    return DONE


def _check(html: Path) -> None:
    if html.suffix.casefold() not in (".html", ".htm"):
        raise UsageError(f'--html "{html}": the name of the file must end in .html.')
    if not html.parent.is_dir():
        raise UsageError(
            f'--html "{html}": cannot be written, the folder "{html.parent}" does not exist. Make it first.'
        )


def _draws() -> bool:
    """Whether there is matplotlib; the page says so if there is not."""
    from odernn.architecture import drawing

    try:
        drawing.check_available()
    except ImportError as error:
        note(f"odernn: the page is without plots: {error}")
        return False
    return True


def _series(
    store: Store, keys: Sequence[str], claims: Mapping[str, Claim], results: JudgedRun
) -> Mapping[str, StateSeries]:
    from verification.report.html.series import state_series

    specs = [store.spec(key) for key in keys if store.has([key])]
    return state_series(store, specs, claims, results.judgements)


def _witnessed(claims: Mapping[str, Claim], results: JudgedRun) -> Mapping[str, BoundCurve]:
    from verification.report.html.witness_curves import witness_curves

    return witness_curves(claims, results.judgements)


# --- methods, graphs, training ----------------------------------------------------------------------------------


@functools.cache
def _tableaus() -> Table:
    """Of the catalogue, which stays the same in a process; deciding it takes seconds."""
    from verification.commands.tableau import everything
    from verification.report.html import tables

    return tables.of_tableaus(everything(()))


def _graphs() -> Table:
    from odernn.architecture import catalogue
    from verification.report.html import tables

    return tables.of_graphs(catalogue.table(), catalogue.families())


def _of_record(path: Path | None) -> tuple[Mapping[str, Table], tuple[Table, ...]]:
    """Tables beside printed ones, and one of all runs. UsageError for what is no record of training runs."""
    if path is None:
        return {}, ()
    from verification.readings import reading as readings
    from verification.report.html import tables

    printed = [table for reading in readings.all_readings().values() for table in reading.trained]
    with records.record(path, "training runs", "training_runs.py"):
        found = foreign.read_json(path)
        beside, of_all = tables.beside_printed(found, printed), tables.of_record(found)
    return beside, (of_all,)


def _trained(folders: Sequence[Path]) -> tuple[Table, ...]:
    """A table for every task of the folders."""
    made = []
    if folders:
        from verification import tasks
        from verification.report.rows import runs as run_rows
        from verification.training import runs

        records = [runs.read(folder) for folder in runs.find(folders)]
        for task in dict.fromkeys(record.task for record in records):
            options = tasks.get(task).options
            groups = run_rows.groups([record for record in records if record.task == task], options)
            made.append(run_rows.table(groups, options))
    return tuple(made)
