"""The compact tables of the page about methods, graphs and training. From records and catalogues, pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from odernn.architecture.catalogue import MeasuredEntry
from odernn.tableaus.methods import Method
from verification.report.numbers import NOT_AVAILABLE, plural
from verification.report.rows import graphs as graph_rows
from verification.report.rows import trained_results
from verification.report.rows.tableaus import sheet
from verification.report.table import Column, Table

ASKED = ("order", "stage order", "algebraically stable", "BN-stable", "A-stable", "L-stable", "symplectic")
HEADS = ("tableau", "stages", *ASKED)


def of_tableaus(
    methods: Iterable[Method], report: Callable[[str, int, int], None] = lambda kind, done, total: None
) -> Table:
    """A row a method: its order and the kinds of stability, each decided exactly."""
    rows, listed = [], list(methods)
    for number, method in enumerate(listed):
        report("deciding", number, len(listed))
        described = sheet(method, *ASKED)
        rows.append((str(method.name), str(method.stages), *map(described.verdict, ASKED)))
    numbers = {"stages", "order", "stage order"}
    return Table(
        title=plural(len(rows), "method"),
        columns=tuple(Column(name, "right" if name in numbers else "left") for name in HEADS),
        rows=tuple(rows),
        caption=(
            "Decided exactly by odernn.properties; “–”: a question about one Runge–Kutta method, and this one has two. "
            "`odernn tableau NAME` shows the evidence.",
        ),
    )


def of_graphs(entries: Sequence[MeasuredEntry], families: Iterable[str]) -> Table:
    """A row an architecture, with its measures beside the published ones."""
    return graph_rows.listing(entries, families)


# --- training ---------------------------------------------------------------------------------------------------


ENDED = (
    "The weights that are best on the validation split are tested, once, at the end of a run: median over seeds of one "
    "length, range."
)
STOPPED = "A run that stopped before its end is tested as it is, and once more at its end if it goes on."


def of_record(record: Mapping[str, Any]) -> Table:
    """A row a network of a record of training runs and a length of training, its seeds together: a median is over
    seeds alone. Runs that stopped are apart from those at their ends.
    """
    alike: dict[tuple[str, int, bool], list[Mapping[str, Any]]] = {}
    for run in record["runs"].values():
        alike.setdefault((str(run["name"]), run["epochs"], "stopped" in run), []).append(run)
    order = {name: place for place, name in enumerate(dict.fromkeys(name for name, *_ in alike))}
    lengths = sorted(alike, key=lambda length: (order[length[0]], *length[1:]))
    rows = [_row(length[0], sorted(alike[length], key=lambda run: int(run["seed"]))) for length in lengths]
    names = ("run", "task", "cell", "test", "figure", "printed", "epochs", "seeds", "parameters")
    right = {"test", "epochs", "parameters"}
    return Table(
        title=f"{plural(len(order), 'network')} in {plural(len(record['runs']), 'run')}",
        columns=tuple(Column(name, "right" if name in right else "left") for name in names),
        rows=tuple(rows),
        caption=(ENDED, STOPPED) if any("stopped" in run for run in record["runs"].values()) else (ENDED,),
    )


def _row(name: str, runs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    first = runs[0]
    tested = [run for run in runs if run.get("test", {}).get("figure") is not None]
    figures = list(map(trained_results.beside_figure, tested))
    kind, epochs = str(first.get("figure", "")), f"{first['epochs']} of {first.get('planned_epochs', first['epochs'])}"
    spread = ""
    if len(figures) > 1:
        spread = f" ({trained_results.shown(min(figures), kind)} to {trained_results.shown(max(figures), kind)})"
    if tested and "over_rms" in tested[0]["test"]:
        kind += " (over the root mean square)"
    median = trained_results.shown(statistics.median(figures), kind) + spread if figures else NOT_AVAILABLE
    return (
        name,
        str(first["task"]),
        str(first["cell"]),
        median,
        kind,
        _printed(first),
        ("stopped at {}" if "stopped" in first else "{}").format(epochs),
        ", ".join(dict.fromkeys(str(run["seed"]) for run in runs)),
        str(first.get("parameters", NOT_AVAILABLE)),
    )


def _printed(run: Mapping[str, Any]) -> str:
    """ "97.8% (icml Table 1)": what is printed of the same network on the same task, and where."""
    printed = run.get("published") or ()
    return "; ".join(f"{each['text']} ({each['source']})" for each in printed) or NOT_AVAILABLE


def beside_printed(record: Mapping[str, Any], sources: Iterable[str]) -> dict[str, Table]:
    """By printed table: its rows of which something was trained, beside what was reached."""
    runs, known = list(record["runs"].values()), trained_results.configurations()
    tables = {}
    for source in dict.fromkeys(sources):
        rows = [row for row in trained_results.beside(source, runs, known) if row.runs]
        if rows:
            tables[source] = Table(
                title=f"Trained here, {source}",
                columns=tuple(Column(name, "right" if name in trained_results.RIGHT else "left") for name in NAMES),
                rows=tuple(trained_results.cells_of(each) for row in rows for each in trained_results.by_epochs(row)),
                caption=("Evidence beside the printed figures, no verdict; fewer epochs refute nothing.",),
            )
    return tables


NAMES = trained_results.NAMES
