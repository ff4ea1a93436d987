"""The configurations that come with the library, as tables: for `odernn train --list` and docs/training.md."""

from __future__ import annotations

from verification.report.numbers import plural
from verification.report.table import Column, Table
from verification.training import configuration
from verification.training.configuration import Configuration

COLUMNS = (
    Column("configuration", least=36),
    Column("row", least=13),
    Column("task", least=12, spare=True),
    Column("cell", least=8),
    Column("units", least=5),
    Column("parameters", spare=True),
    Column("printed result", least=12),
)
FILE_HEADINGS = ("configuration", "printed in", "task", "cells", "rows")


def rows(task: str | None = None) -> list[tuple[str, ...]]:
    """A row each configuration, of that task if one is named: where it is, what it trains, what a paper prints of it.

    Cells of ``odernn.architecture`` go by the name of their graph.
    """
    listed: list[tuple[str, ...]] = []
    for file, row, plan in configuration.everything():
        if task is None or plan.task.name == task:
            printed = (plan.published.parameters, plan.published.result) if plan.published else ("", "")
            listed.append((file, row or "", plan.task.name, _cell(plan), _units(plan), *printed))
    return listed


def files() -> list[tuple[str, ...]]:
    """A row for each file of printed rows: its name, the table, the task, the cells and the number of rows."""
    by_file: dict[tuple[str, str, str], list[str]] = {}
    for file, _, plan in configuration.everything():
        if plan.published is not None:
            by_file.setdefault((f"`{file}`", plan.published.table, plan.task.name), []).append(plan.network.cell)
    return [(*key, ", ".join(dict.fromkeys(cells)), str(len(cells))) for key, cells in by_file.items()]


def table(task: str | None = None) -> Table:
    """``rows`` as a table."""
    listed = rows(task)
    return Table(title=plural(len(listed), "configuration"), columns=COLUMNS, rows=tuple(listed))


def markdown() -> str:
    """``files`` for a page."""
    from tabulate import tabulate

    return str(tabulate(files(), headers=FILE_HEADINGS, tablefmt="github", disable_numparse=True))


def _cell(config: Configuration) -> str:
    options = config.network.options
    graph = str(options.get("graph", config.network.cell))
    return f"{graph}, lstm" if options.get("unit") == "multidimensional-lstm" else graph


def _units(config: Configuration) -> str:
    layers = config.network.num_layers
    return f"{config.network.hidden_size} × {layers}" if layers > 1 else str(config.network.hidden_size)
