"""What was trained here, beside the printed rows of a table: evidence under a claim on trained figures. Pure.

A run of the record (benchmarks/training_runs.py writes it) stands beside a printed row if its configuration is that of
the row's file, verification/training/configurations, in all but how long and with which seed it was trained, how often
it was looked at, and which execution computed it. A run of another configuration is not shown, nor one of a row that is
ours beside a printed number; data that was not all there is named. Fewer epochs than in the
file refute nothing, and as many refute nothing either: a figure of one seed is a row of evidence with its epochs named.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from odernn.published.results import DEFAULTS, PROTOCOLS, RESULTS, Figure, PrintedResult
from verification import tasks
from verification.training import TrainingError, configuration
from verification.training.configuration import Configuration

FREE = frozenset(
    (
        "epochs",
        "milestones",
        "patience",
        "seed",
        "evaluation_batch",
        "evaluate_every",
        "checkpoint_every",
        "deterministic",
    )
)
"""Fields of [training] in which a run may differ from its row: how long, with which seed, how often it is looked at."""
NAMES = ("printed row", "reported", "trained here", "epochs", "best epoch", "seeds")
RIGHT = frozenset(("reported", "trained here", "epochs", "best epoch"))
"""Columns of numbers."""
HEADS = (f"| {' | '.join(NAMES)} |", "|" + "|".join("--:" if name in RIGHT else ":--" for name in NAMES) + "|")
NOBODY = "nobody measured here yet"
PAGE = "training_runs.md"


@dataclass(frozen=True)
class BesidePrinted:
    """A printed result, the runs that were made of its configuration, by seed, and the epochs ``of`` its file."""

    printed: PrintedResult
    runs: tuple[Mapping[str, Any], ...] = ()
    of: int = 0

    @property
    def name(self) -> str:
        """ "UnICORNN, m = 128, L = 3, target = HR", with task and options where these tell rows of its table apart."""
        tables = {each.task for each in RESULTS if each.source == self.printed.source}
        task = [self.printed.task] if len(tables) > 1 else []
        sizes = (("m", self.printed.hidden_size), ("L", self.printed.num_layers))
        options = [
            f"{key} = {value}" for key, value in self.printed.options.items() if key not in _shared(self.printed)
        ]
        listed = [f"{letter} = {value}" for letter, value in sizes if value]
        return ", ".join([self.printed.model, *listed, *task, *options])

    @property
    def reported(self) -> str:
        """The name, and the number if one is printed."""
        return self.name if self.printed.value is None else f"{self.name} ({self.printed.text})"


def beside(
    source: str, runs: Iterable[Mapping[str, Any]], known: Sequence[Configuration] | None = None
) -> list[BesidePrinted]:
    """Every printed result of a table with what was trained of it; ``source`` as in ``PrintedResult``.

    ``known``: the configurations of the papers' rows, if they have been read already.
    """
    tested = [run for run in runs if run.get("test", {}).get("figure") is not None]
    of_paper = [
        (row, _fixed(row))
        for row in (known or configurations())
        if row.published is not None and _paper(row.published.table) == _paper(source)
    ]
    found = []
    for printed in (each for each in RESULTS if each.source == source):
        rows = [(row, fixed) for row, fixed in of_paper if is_of(printed, row) and is_as_printed(printed, row)]
        same = [(run, row) for run in tested for row, fixed in rows if _trained(run) == fixed]
        ordered = sorted((run for run, _ in same), key=lambda run: run["seed"])
        found.append(BesidePrinted(printed, tuple(ordered), same[0][1].training.epochs if same else 0))
    return found


def configurations() -> tuple[Configuration, ...]:
    """Those of every row that the papers print."""
    return tuple(row for _, _, row in configuration.everything())


def is_of(printed: PrintedResult, row: Configuration) -> bool:
    """Whether a configuration is of the network and the variant of the task of a printed result. One whose size is not
    printed is of every size that a file gives it.
    """
    options = {**tasks.get(row.task.name).options, **row.task.options}
    network = row.network.options
    return (
        printed.task == row.task.name
        and all(options.get(name) == value for name, value in printed.options.items())
        and printed.cell == row.network.cell
        and printed.hidden_size in (None, row.network.hidden_size)
        and printed.num_layers in (None, row.network.num_layers)
        and all(network.get(name, DEFAULTS.get(name)) == value for name, value in printed.network.items())
    )


def is_as_printed(printed: PrintedResult, row: Configuration) -> bool:
    """Whether the row claims the number, if there is one: variants that are ours do not."""
    return printed.value is None or (row.published is not None and row.published.result != "")


def _paper(source: str) -> str:
    return source.partition(" ")[0]


def _shared(printed: PrintedResult) -> set[str]:
    """Options that all rows of the table have alike."""
    rows = [each.options for each in RESULTS if (each.source, each.task) == (printed.source, printed.task)]
    return {name for name, value in printed.options.items() if all(row.get(name) == value for row in rows)}


def _fixed(plan: Configuration) -> dict[str, Any]:
    """All of a configuration that decides what is trained, as plain tables."""
    tables = plan.to_plain()
    training = {name: value for name, value in tables["training"].items() if name not in FREE}
    network = {name: value for name, value in tables["network"].items() if name != "execution"}
    return {**tables, "training": training, "network": network}


def _trained(run: Mapping[str, Any]) -> dict[str, Any] | None:
    """That of a recorded run; None if it is none that the library reads now."""
    try:
        return _fixed(configuration.from_mapping(run["configuration"]))
    except TrainingError:
        return None


# --- as a page has it ----------------------------------------------------------------------------------------------


def sections(record: Mapping[str, Any], tables: Iterable[str], page: str = PAGE) -> dict[str, tuple[str, ...]]:
    """Lines of Markdown by printed table: the runs of a record beside its rows. ``page`` is where all runs stand."""
    runs, known = list(record["runs"].values()), configurations()
    return {source: tuple(_section(source, beside(source, runs, known), page)) for source in dict.fromkeys(tables)}


def _section(source: str, rows: Sequence[BesidePrinted], page: str) -> Iterable[str]:
    with_runs, without = [row for row in rows if row.runs], [row for row in rows if not row.runs]
    if not with_runs:
        yield f"*Trained here*, {source}: {NOBODY}."
        yield ""
        return
    yield f"*Trained here*, {source}: evidence beside the printed figures, no verdict; fewer epochs refute nothing."
    yield f"E of E′ epochs: E′ are those of the row's configuration ([all runs]({page}))."
    yield from ("", *HEADS, *(_line(each) for row in with_runs for each in by_epochs(row)), "")
    if without:
        yield f"{NOBODY.capitalize()}: {'; '.join(row.reported for row in without)}."
    protocols = dict.fromkeys(PROTOCOLS[row.printed.task] for row in with_runs if row.printed.task in PROTOCOLS)
    yield from (f"Where a run may differ from what was printed: {text}." for text in protocols)
    yield ""


def by_epochs(row: BesidePrinted) -> Iterable[BesidePrinted]:
    """A line for each length of training and each variant of the task: a median is over seeds alone."""
    for epochs, variant in sorted({(run["epochs"], _variant(run)) for run in row.runs}):
        alike = [run for run in row.runs if (run["epochs"], _variant(run)) == (epochs, variant)]
        yield replace(row, runs=tuple(alike))


def _variant(run: Mapping[str, Any]) -> str:
    """ ", transient = 0.0" where a task that is computed has that option other than by default."""
    transient = run.get("task_options", {}).get("transient")
    return "" if transient is None else f", transient = {transient}"


def _line(row: BesidePrinted) -> str:
    return f"| {' | '.join(cells_of(row))} |"


def cells_of(row: BesidePrinted) -> tuple[str, ...]:
    """A row as ``NAMES`` has its columns."""
    figures = list(map(beside_figure, row.runs))
    kind = row.printed.figure
    spread = f" ({shown(min(figures), kind)} to {shown(max(figures), kind)})" if len(figures) > 1 else ""
    return (
        row.name + _missing(row.runs[0]) + _variant(row.runs[0]),
        row.printed.text,
        shown(statistics.median(figures), kind) + spread,
        f"{row.runs[0]['epochs']} of {row.of}",
        _listed(run["best_epoch"] for run in row.runs),
        _listed(run["seed"] for run in row.runs),
    )


def beside_figure(run: Mapping[str, Any]) -> float:
    """The test figure to set beside a printed one: of Lorenz 96 the error over the root mean square of the target, if
    the record has it (docs/training_runs.md says why).
    """
    test = run["test"]
    return float(test.get("over_rms", test["figure"]))


def _missing(run: Mapping[str, Any]) -> str:
    """ ", on 1 of 5 files" where not all of the training data was there, as ``TaskSpec.origin`` tells."""
    found = re.match(r"(\d+) of (\d+) (?:binary )?(files|records)", run["data"]["train"]["origin"])
    return f", on {found[0]}" if found and int(found[1]) < int(found[2]) else ""


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(dict.fromkeys(map(str, numbers)))


def shown(value: float, kind: Figure | str) -> str:
    """A figure as tables have it."""
    return f"{100 * value:.1f}%" if kind == "accuracy" else f"{value:.3g}"
