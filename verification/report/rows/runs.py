"""From the folders of training runs to tables: a row a network with its seeds together. Pure.

Runs whose configurations differ in the seed alone are one row: the median over their test figures, and the range. The
figure is the one that the papers print for the task, beside what they print for the same network.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from odernn.published import results as published_results
from odernn.published.results import Figure, PrintedResult
from verification.report.numbers import NOT_AVAILABLE, minus, plural, size
from verification.report.table import Column, Table
from verification.run.arithmetic import IEEE
from verification.tasks import task as task_figures
from verification.training.runs import Evaluation, RunRecord

Record: TypeAlias = dict[str, Any]

WORDS: Mapping[Figure, str] = {
    "accuracy": "accuracy",
    "loss": "loss",
    "root": "root of the mean squared error",
    "bits": "bits a character",
    "normalised root": "error over the deviation of the target, √(loss/baseline)",
}
"""What a caption calls a figure."""
APART = (
    ("task", "name"),
    ("network", "cell"),
    ("network", "hidden_size"),
    ("network", "num_layers"),
    ("training", "epochs"),
    ("training", "seed"),
)
"""Keys of a configuration that have columns of their own."""


@dataclass(frozen=True)
class SeedGroup:
    """Runs that differ in their seeds alone, in the order of these, and the figure that is printed of them."""

    runs: tuple[RunRecord, ...]
    figure: Figure
    published: tuple[PrintedResult, ...]

    @property
    def first(self) -> RunRecord:
        return self.runs[0]

    @cached_property
    def finished(self) -> tuple[RunRecord, ...]:
        return tuple(run for run in self.runs if run.result is not None)

    @cached_property
    def tests(self) -> tuple[float, ...]:
        """The figure of the test split, of every finished run."""
        return tuple(test_figure(run, self.figure) for run in self.finished)

    @cached_property
    def validations(self) -> tuple[float, ...]:
        """That of the best evaluation of every run that has one."""
        figures = (validation_figure(run.best, self.figure) for run in self.runs if run.best is not None)
        return tuple(value for value in figures if value is not None)


def test_figure(run: RunRecord, kind: Figure) -> float:
    """Of the weights that were best on the validation split; ∞ for a loss that is no number. The run must be finished.

    Such weights are possible: their loss was finite on the validation split alone. Nothing is worse.
    """
    assert run.result is not None
    test = run.result["test"]
    loss = math.inf if math.isnan(test["loss"]) else test["loss"]
    return task_figures.figure(kind, loss, test["accuracy"], run.result["baseline"])


def validation_figure(row: Evaluation, kind: Figure) -> float | None:
    """Of one evaluation; the loss where the figure would need the baseline of that split. None if not finite."""
    loss, accuracy = row["validation_loss"], row["validation_accuracy"]
    if kind == "accuracy" or loss is None:
        return accuracy if kind == "accuracy" else None
    return task_figures.figure("loss" if kind == "normalised root" else kind, loss, accuracy, math.nan)


def groups(runs: Sequence[RunRecord], defaults: Mapping[str, Any]) -> tuple[SeedGroup, ...]:
    """Runs of one task, put together by all but their seeds; ``defaults`` are the options of the task."""
    by_configuration: dict[str, list[RunRecord]] = {}
    for run in runs:
        by_configuration.setdefault(_without_seed(run), []).append(run)
    seed_groups = []
    for together in by_configuration.values():
        ordered = tuple(sorted(together, key=lambda run: (run.seed, run.folder)))
        seed_groups.append(SeedGroup(ordered, figure_of(ordered), _published(ordered[0], defaults)))
    return tuple(seed_groups)


def figure_of(runs: Sequence[RunRecord]) -> Figure:
    """What the papers print of the task; where they print nothing, the accuracy if there are classes, else the loss."""
    printed = published_results.figure_of(runs[0].task)
    if printed is not None:
        return printed
    rows = [row for run in runs for row in run.history]
    classes = any(row["validation_accuracy"] is not None for row in rows)
    return "accuracy" if classes else "loss"


def _without_seed(run: RunRecord) -> str:
    tables = {name: dict(table) for name, table in run.configuration.items()}
    tables["training"].pop("seed", None)
    return json.dumps(tables, sort_keys=True, default=str)


def _published(run: RunRecord, defaults: Mapping[str, Any]) -> tuple[PrintedResult, ...]:
    """What is printed for that network on that variant of the task, or for that cell in the size nearest to it."""
    options = {**defaults, **run.configuration["task"]}
    network = run.configuration["network"]
    return published_results.nearest(
        published_results.results(run.task, options),
        cell=network["cell"],
        network=network,
        hidden_size=network["hidden_size"],
        num_layers=network["num_layers"],
    )


# --- a row a network ----------------------------------------------------------------------------------------------


def table(seed_groups: Sequence[SeedGroup], defaults: Mapping[str, Any], *, full: bool = False) -> Table:
    """A row a group; with ``full`` also every number that is printed for the task. Records: groups, runs, printed."""
    settings = differing([group.first for group in seed_groups])
    columns = [
        Column("network"),
        Column("m", "right"),
        Column("L", "right"),
        Column("parameters", "right", spare=True),
        *([Column("settings", width=40)] if any(settings) else []),
        Column("seeds"),
        Column("epochs", "right"),
        Column("validation", "right", spare=True),
        Column("test", "right"),
        Column("range of test", spare=True),
        Column("without input", "right", spare=True),
        Column("published"),
        *(
            [Column("monitored", width=40, spare=True)]
            if any(run.monitored for group in seed_groups for run in group.runs)
            else []
        ),
    ]
    names = [column.name for column in columns]
    rows = [_cells(group, of_group) for group, of_group in zip(seed_groups, settings, strict=True)]
    printed = _printed([group.first for group in seed_groups], defaults)
    if full:
        rows += [_printed_cells(result) for result in printed]
    return Table(
        title=f"{seed_groups[0].first.task}: what was trained, and what is printed" if seed_groups else "no runs",
        columns=tuple(columns),
        rows=tuple(tuple(row.get(name, NOT_AVAILABLE) for name in names) for row in rows),
        caption=caption(seed_groups),
        records=(
            *(_group_record(group, of_group) for group, of_group in zip(seed_groups, settings, strict=True)),
            *(run_record(run, group.figure) for group in seed_groups for run in group.runs),
            *(_printed_record(result) for result in printed),
        ),
    )


def differing(runs: Sequence[RunRecord]) -> list[str]:
    """For each run the settings in which it differs from another, "optimizer.lr = 0.01"; sizes have their columns.

    Options of a cell, and of an optimizer, are compared among the runs that have the same one.
    """
    flat = [_flat(run) for run in runs]

    def alike(key: str, one: RunRecord, other: RunRecord) -> bool:
        table, kind = key.partition(".")[0], {"network": "cell", "optimizer": "name"}
        name = kind.get(table, "")
        return key == f"{table}.{name}" or one.configuration[table].get(name) == other.configuration[table].get(name)

    def is_apart(key: str, index: int) -> bool:
        return any(
            settings.get(key) != flat[index].get(key)
            for run, settings in zip(runs, flat, strict=True)
            if alike(key, runs[index], run)
        )

    return [
        "; ".join(f"{key} = {_plain(value)}" for key, value in settings.items() if is_apart(key, index))
        for index, settings in enumerate(flat)
    ]


def _flat(run: RunRecord) -> dict[str, Any]:
    """All settings as in the file, "optimizer.lr", but those with a column and the seed."""
    return {
        f"{table}.{key}": value
        for table, keys in run.configuration.items()
        for key, value in keys.items()
        if (table, key) not in APART
    }


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cells(group: SeedGroup, settings: str) -> dict[str, str]:
    network = group.first.configuration["network"]
    tests, results = group.tests, group.finished
    return {
        "network": str(network["cell"]),
        "m": str(network["hidden_size"]),
        "L": str(network["num_layers"]),
        "parameters": f"{group.first.parameters:,}",
        "settings": settings or NOT_AVAILABLE,
        "seeds": ", ".join(str(run.seed) for run in group.runs),
        "epochs": _epochs(group.runs),
        "validation": middle(group.validations, group.figure),
        "test": middle(tests, group.figure),
        "range of test": f"{shown(min(tests), group.figure)} to {shown(max(tests), group.figure)}"
        if len(tests) > 1
        else NOT_AVAILABLE,
        "without input": _baseline(results, group.figure),
        "published": _printed_text(group),
        "monitored": _monitored(group.runs),
    }


def shown(value: float, figure: Figure) -> str:
    """96.33%, or three significant digits; ∞ for no number."""
    if figure == "accuracy":
        return f"{100 * value:.2f}%"
    if not math.isfinite(value):
        return "∞"
    return size(math.log(value)) if value > 0 else minus(f"{value:g}")


def middle(values: Sequence[float], figure: Figure) -> str:
    return shown(statistics.median(values), figure) if values else NOT_AVAILABLE


def _epochs(runs: Sequence[RunRecord]) -> str:
    """ "60", "12 to 60" if some stopped; "7 of 60" for a run that has not ended, "2 × 60 of 60" for two."""
    ended = sorted({run.epochs for run in runs if run.result is not None})
    texts = [str(ended[0]) if len(ended) == 1 else f"{ended[0]} to {ended[-1]}"] if ended else []
    others = Counter(f"{run.epochs} of {run.planned}" for run in runs if run.result is None)
    return "; ".join([*texts, *(text if count == 1 else f"{count} × {text}" for text, count in others.items())])


def _monitored(runs: Sequence[RunRecord]) -> str:
    """What the monitors of these runs saw, together."""
    seen = [run.monitored for run in runs if run.monitored is not None]
    if not seen:
        return NOT_AVAILABLE
    failing = list(dict.fromkeys(name for monitored in seen for name in monitored.failing))
    steps, compared = sum(monitored.steps for monitored in seen), sum(monitored.compared for monitored in seen)
    words = f"do not hold: {'; '.join(failing)}" if failing else "all hold"
    return f"{plural(steps, 'step')}, {compared} bounds and margins: {words}"


def _baseline(results: Sequence[RunRecord], figure: Figure) -> str:
    """The loss of who sees no input, as the figure; of an accuracy there is none, so the loss is left out."""
    losses = {run.result["baseline"] for run in results if run.result is not None}
    if len(losses) != 1 or figure == "accuracy":
        return NOT_AVAILABLE
    (baseline,) = losses
    return shown(task_figures.figure(figure, baseline, None, baseline), figure)


def _printed_text(group: SeedGroup) -> str:
    """What the configuration says is printed of it; else what is printed for that cell, and for which size."""
    own = _own(group.first)
    if own is not None:
        return own
    network = group.first.configuration["network"]
    texts = []
    for result in group.published:
        sizes = [
            f"{letter} = {value}"
            for letter, value, here in (
                ("m", result.hidden_size, network["hidden_size"]),
                ("L", result.num_layers, network["num_layers"]),
            )
            if value is not None and value != here
        ]
        runs = f", {result.runs} runs" if result.runs else ""
        texts.append(f"{result.text}{' with ' + ', '.join(sizes) if sizes else ''} ({result.source}{runs})")
    return "; ".join(texts) or NOT_AVAILABLE


def _own(run: RunRecord) -> str | None:
    """The row that the configuration itself names, if it names one with a result."""
    stated = (run.result or {}).get("published")
    if not isinstance(stated, Mapping) or not stated.get("result"):
        return None
    return f"{stated['result']} ({stated.get('table', '')}: {stated.get('row', '')})"


def _printed(runs: Sequence[RunRecord], defaults: Mapping[str, Any]) -> list[PrintedResult]:
    """All that is printed of the variants of the task that were trained, each once."""
    printed: list[PrintedResult] = []
    for run in runs:
        options = {**defaults, **run.configuration["task"]}
        printed += [result for result in published_results.results(run.task, options) if result not in printed]
    return printed


def _printed_cells(printed: PrintedResult) -> dict[str, str]:
    variant = ", ".join(f"{key} = {_plain(value)}" for key, value in printed.options.items())
    return {
        "network": printed.model,
        "m": str(printed.hidden_size or NOT_AVAILABLE),
        "L": str(printed.num_layers or NOT_AVAILABLE),
        "parameters": printed.parameters or NOT_AVAILABLE,
        "settings": variant or NOT_AVAILABLE,
        "published": f"{printed.text} ({printed.source}{f', {printed.runs} runs' if printed.runs else ''})",
    }


def caption(seed_groups: Sequence[SeedGroup]) -> tuple[str, ...]:
    if not seed_groups:
        return ()
    runs = [run for group in seed_groups for run in group.runs]
    figure = seed_groups[0].figure
    unfinished = sum(run.result is None for run in runs)
    lines = [
        f"{plural(len(runs), 'run')}; test: the {WORDS[figure]}, median over the seeds, of the weights that were best "
        "on the validation split" + ("; validation: the loss" if figure == "normalised root" else "") + "."
    ]
    task = [setting for setting in _settings(runs[0]) if setting.startswith("task.")]
    common = [setting for setting in task if all(setting in _settings(run) for run in runs)]
    if common:
        lines.append(f"In all runs: {', '.join(common)}.")
    if unfinished:
        lines.append(f"{plural(unfinished, 'run')} not ended: no test figure.")
    if figure not in ("accuracy", "normalised root"):
        lines.append("Without input: what the best predictor has that sees none.")
    protocol = published_results.PROTOCOLS.get(runs[0].task)
    if protocol and any(group.published for group in seed_groups):
        lines.append(f"Published: {protocol}.")
    versions = {f"odernn {run.versions.get('odernn')}, torch {run.versions.get('torch')}" for run in runs}
    lines.append(f"Trained with {'; '.join(sorted(versions))}.")
    surprises = sorted({run.arithmetic for run in runs} - {"", IEEE})
    lines += [f"Not all in the arithmetic of {IEEE}: {'; '.join(surprises)}."] if surprises else []
    return tuple(lines)


# --- records ------------------------------------------------------------------------------------------------------


def run_record(run: RunRecord, figure: Figure) -> Record:
    """One run at full precision; the folder by its name alone."""
    network, best, result = run.configuration["network"], run.best, run.result or {}
    test = result.get("test", {})
    train = run.data.get("train", {})
    return {
        "kind": "run",
        "task": run.task,
        "folder": run.folder.name,
        "network": network["cell"],
        "hidden_size": network["hidden_size"],
        "num_layers": network["num_layers"],
        "parameters": run.parameters,
        "seed": run.seed,
        "epochs": run.epochs,
        "epochs_planned": run.planned,
        "finished": run.result is not None,
        "figure": figure,
        "test": _finite(test_figure(run, figure)) if result else None,
        "test_loss": _finite(test.get("loss")),
        "test_accuracy": test.get("accuracy"),
        "baseline": result.get("baseline"),
        "best_epoch": None if best is None else int(best["epoch"] or 0),
        "best_validation_loss": best and best["validation_loss"],
        "best_validation_accuracy": best and best["validation_accuracy"],
        "steps": result.get("steps"),
        "seconds": result.get("seconds"),
        "sequences": train.get("count"),
        "sha256": train.get("sha256"),
        "settings": _settings(run),
        "arithmetic": run.arithmetic,
        "monitored_steps": run.monitored and run.monitored.steps,
        "bounds_compared": run.monitored and run.monitored.compared,
        "bounds_failing": run.monitored and [f"{name} from step {at}" for name, at in run.monitored.failing.items()],
    }


def _finite(value: float | None) -> float | None:
    """As JSON has it, which knows no infinity."""
    return value if value is not None and math.isfinite(value) else None


def _settings(run: RunRecord) -> list[str]:
    return [f"{key} = {_plain(value)}" for key, value in _flat(run).items()]


def _group_record(group: SeedGroup, settings: str) -> Record:
    network, tests = group.first.configuration["network"], group.tests
    return {
        "kind": "group",
        "task": group.first.task,
        "network": network["cell"],
        "hidden_size": network["hidden_size"],
        "num_layers": network["num_layers"],
        "parameters": group.first.parameters,
        "differs": settings,
        "seeds": [run.seed for run in group.runs],
        "epochs": [run.epochs for run in group.runs],
        "figure": group.figure,
        "validation": statistics.median(group.validations) if group.validations else None,
        "test": _finite(statistics.median(tests)) if tests else None,
        "test_smallest": _finite(min(tests, default=None)),
        "test_largest": _finite(max(tests, default=None)),
        "published": [result.text for result in group.published],
        "source": [result.source for result in group.published],
        "published_row": _own(group.first),
    }


def _printed_record(printed: PrintedResult) -> Record:
    return {
        "kind": "printed",
        "task": printed.task,
        "network": printed.model,
        "hidden_size": printed.hidden_size,
        "num_layers": printed.num_layers,
        "parameters": printed.parameters,
        "figure": printed.figure,
        "test": None if printed.number is None else float(printed.number),
        "published": [printed.text],
        "source": [printed.source],
        "settings": [f"{key} = {_plain(value)}" for key, value in printed.options.items()],
    }
