"""Training runs epoch by epoch: a row an evaluation, the seeds of a network together. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from odernn.published.results import Figure
from verification.report.numbers import NOT_AVAILABLE
from verification.report.rows.runs import WORDS, SeedGroup, caption, differing, middle, shown, validation_figure
from verification.report.table import Column, Table
from verification.training.runs import Evaluation


def by_epoch(seed_groups: Sequence[SeedGroup]) -> Table:
    """A row an evaluation: medians over the seeds that have got there, and the range. Records: a run's own rows."""
    settings = differing([group.first for group in seed_groups])
    columns = [
        Column("network"),
        Column("m", "right"),
        *([Column("settings", width=40)] if any(settings) else []),
        Column("epoch", "right"),
        Column("runs", "right"),
        Column("training loss", "right"),
        Column("validation", "right"),
        Column("range of validation"),
        Column("seconds", "right"),
    ]
    names = [column.name for column in columns]
    rows = [
        tuple(cells[name] for name in names)
        for group, of_group in zip(seed_groups, settings, strict=True)
        for cells in _epoch_rows(group, of_group)
    ]
    figure = seed_groups[0].figure if seed_groups else "loss"
    words = WORDS["loss" if figure == "normalised root" else figure]
    return Table(
        title=f"{seed_groups[0].first.task}: epoch by epoch" if seed_groups else "no runs",
        columns=tuple(columns),
        rows=tuple(rows),
        caption=(f"Validation: the {words}; medians over the seeds.", *caption(seed_groups)[-1:]),
        records=tuple(
            {
                "kind": "evaluation",
                "task": run.task,
                "folder": run.folder.name,
                "network": run.configuration["network"]["cell"],
                "hidden_size": run.configuration["network"]["hidden_size"],
                "seed": run.seed,
                **row,
            }
            for group in seed_groups
            for run in group.runs
            for row in run.history
        ),
    )


def _epoch_rows(group: SeedGroup, settings: str) -> list[dict[str, str]]:
    by_number: dict[float, list[Evaluation]] = {}
    for run in group.runs:
        for row in run.history:
            by_number.setdefault(row["epoch"] or 0.0, []).append(row)
    network, table_rows = group.first.configuration["network"], []
    for number, rows in sorted(by_number.items()):
        values = [value for row in rows if (value := validation_figure(row, group.figure)) is not None]
        figure: Figure = "loss" if group.figure == "normalised root" else group.figure
        several = len(values) > 1
        table_rows.append(
            {
                "network": str(network["cell"]),
                "m": str(network["hidden_size"]),
                "settings": settings or NOT_AVAILABLE,
                "epoch": f"{number:g}",
                "runs": str(len(rows)),
                "training loss": middle([v for row in rows if (v := row["train_loss"]) is not None], "loss"),
                "validation": middle(values, figure),
                "range of validation": f"{shown(min(values), figure)} to {shown(max(values), figure)}"
                if several
                else NOT_AVAILABLE,
                "seconds": middle([v for row in rows if (v := row["seconds"]) is not None], "loss"),
            }
        )
    return table_rows
