"""``odernn table --task``: training runs, with their seeds together, beside what the papers print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from verification import tasks
from verification.commands.results import FOR_PROGRAMS, coloured, rendered
from verification.commands.terminal import AUTO, DONE, UsageError, harmless_lines, note, out
from verification.report.formats import renderer
from verification.report.rows import epochs
from verification.report.rows import runs as run_rows
from verification.training import runs


def run(
    *,
    task: str,
    folders: Sequence[Path],
    format: str,
    full: bool,
    by_epoch: bool,
    tasks_dirs: Sequence[Path] = (),
    columns: str | None = None,
    width: int | None = None,
    color: str = AUTO,
) -> int:
    """All runs of the task in these folders and below them."""
    renderer(format)
    try:
        known = tasks.get(task, tasks_dirs)
    except KeyError as error:
        raise UsageError(f"{error.args[0]} `odernn task` shows them.") from None
    records = [runs.read(folder) for folder in runs.find(folders)]
    wanted = [record for record in records if record.task == known.name]
    others = sorted({record.task for record in records} - {known.name})
    if not wanted:
        raise UsageError(f"--task {known.name}: the runs in these folders are of other tasks: {', '.join(others)}.")
    if others:
        note(f"odernn: {len(records) - len(wanted)} runs of other tasks are left out: {', '.join(others)}.")
    groups = run_rows.groups(wanted, known.options)
    table = epochs.by_epoch(groups) if by_epoch else run_rows.table(groups, known.options, full=full)
    text = rendered(table, format, columns=columns, width=width)
    shown = text if format in FOR_PROGRAMS else harmless_lines(text)
    out(coloured(shown, color, format))
    return DONE
