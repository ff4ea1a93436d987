"""``odernn table``: the table of the run begun last, from the store alone; with ``--task`` that of training runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from verification.commands.options import (
    STORE,
    Action,
    ClaimOption,
    ColorOption,
    ColumnsOption,
    FormatOption,
    FullOption,
    OnlyOption,
    PaperOption,
    RunsOption,
    StoreOption,
    TasksOption,
    WidthOption,
    refuse,
)
from verification.commands.results import Wanted, check_colour, chosen, coloured, latest, papers_of, rendered
from verification.commands.terminal import AUTO, DONE, UsageError, note, out
from verification.registry import Registry
from verification.report.formats import renderer
from verification.report.rows import by_claim
from verification.report.rows import claims as rows
from verification.run.store import Store


def command(
    context: typer.Context,
    store: StoreOption = STORE,
    format: FormatOption = "text",
    full: FullOption = False,
    claim: ClaimOption = None,
    paper: PaperOption = None,
    only: OnlyOption = None,
    columns: ColumnsOption = None,
    width: WidthOption = None,
    color: ColorOption = AUTO,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead: what `odernn train` reached on this task.")
    ] = None,
    runs: RunsOption = None,
    by_epoch: Annotated[bool, typer.Option("--by-epoch", help="With --task: a row for every evaluation.")] = False,
    tasks_dirs: TasksOption = None,
) -> Action:
    """Print the table of the latest run in the store; with --task training runs beside what the papers print.

    In text a row a claim; with --full, --claim or another format all cells. With --task, --full adds every number
    that is printed for the task.
    """

    def of_runs() -> int:
        if task is None or not runs:
            raise UsageError(
                "--task and --runs go together, and --by-epoch with them: odernn table --task adding --runs run"
            )
        refuse(
            context,
            ("claim", "paper", "only", "store"),
            "is about claims and their store. Leave it out where there is --task",
        )
        if by_epoch:
            refuse(context, ("full",), "adds printed results, which are of no epoch. Leave it out, or --by-epoch")
        from verification.commands import run_table

        return run_table.run(
            task=task,
            folders=tuple(runs),
            format=format,
            full=full,
            by_epoch=by_epoch,
            tasks_dirs=tuple(tasks_dirs or ()),
            columns=columns,
            width=width,
            color=color,
        )

    check_colour(color, format)
    if task is not None or runs or by_epoch or tasks_dirs:
        return Action(of_runs)
    wanted = Wanted.parse(paper, only)
    asked = tuple(claim or ())
    return Action(
        lambda: run(
            store=store,
            format=format,
            full=full,
            claims=asked,
            wanted=wanted,
            columns=columns,
            width=width,
            color=color,
        )
    )


def run(
    *,
    store: Path,
    format: str,
    full: bool,
    claims: tuple[str, ...],
    wanted: Wanted,
    columns: str | None,
    width: int | None,
    color: str = AUTO,
) -> int:
    renderer(format)
    with Store(store, writable=False) as opened:
        results = latest(opened)
    facts = results.facts
    if facts.judged != facts.planned:
        note(
            f"odernn: the run is incomplete, {facts.judged} of {facts.planned} cells are judged. "
            f"`odernn verify` with the options of that run and --store {store} does the rest."
        )
    run, registry = results.judgements, Registry(tuple(map(Path, facts.claims_dirs)))
    claimwise = format == "text" and not full and not claims
    if claimwise:
        tried, left_out = wanted.claims(run, papers_of(run, registry))
        table = by_claim.table(tried, facts, run)
    else:
        shown, left_out = chosen(run, claims), ""
        if wanted:
            shown, left_out = wanted.of(shown, registry)
        table = rows.table(shown, facts, full=full, among=run)
        if claims and format == "text":
            table = replace(table, caption=(*rows.why_they_fail(shown), *table.caption))
    if left_out:
        note(f"odernn: left out: {left_out}")
    try:
        text = rendered(table, format, columns=columns, width=width)
    except UsageError as error:
        more = " --full has those of cells." if claimwise and columns is not None else ""
        raise UsageError(f"{error}{more}") from None
    out(coloured(text, color, format))
    return DONE
