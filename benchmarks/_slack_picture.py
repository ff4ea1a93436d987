"""docs/pictures/trained_slack.svg: a panel a task, of results/trained_slack.json alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from _slack_numbers import Record, Run, slacks, tasks_of
from _slack_page import DOCS, PICTURE_NAME
from _slack_promises import DRAWN

PICTURE = DOCS / "pictures" / PICTURE_NAME
COLUMNS = 4


def drawn_lines(runs: Sequence[Run], keys: Sequence[str]) -> list[tuple[int, float, float]]:
    """(update, least, largest slack over runs) where at least one run has a checkpoint."""
    by_step: dict[int, list[float]] = {}
    for run in runs:
        for slack, step, *_ in slacks(run, keys):
            if math.isfinite(slack):
                by_step.setdefault(step, []).append(slack)
    return [(step, min(of_step), max(of_step)) for step, of_step in sorted(by_step.items())]


def draw(record: Record) -> None:
    """A panel a task: slack against updates, the least over seeds and cells as a line, their range as a band."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "odernn", "svg.fonttype": "none"}
    tasks = tasks_of(record)
    rows = -(-len(tasks) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(12, 2.6 * rows + 0.8), sharey=True, squeeze=False)
    for ax, task in zip(axes.ravel(), tasks, strict=False):
        runs = [run for run in record.values() if run["task"] == task]
        for words, keys, colour in DRAWN:
            points = drawn_lines(runs, keys)
            if points:
                steps, least, most = zip(*points, strict=True)
                ax.plot(steps, least, color=colour, linewidth=1.2, label=words)
                ax.fill_between(steps, least, most, color=colour, alpha=0.15, linewidth=0)
        ax.set_title(task, fontsize=9)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_yscale("symlog", linthresh=1)
        ax.axhline(0, color="grey", linewidth=0.8)
        ax.tick_params(labelsize=7)
    for ax in axes.ravel()[len(tasks) :]:
        ax.axis("off")
    for row in axes:
        row[0].set_ylabel("slack, decades", fontsize=8)
    found = {label: line for ax in axes.ravel() for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    names = [words for words, *_ in DRAWN if words in found]
    figure.legend([found[name] for name in names], names, loc="lower center", ncols=5, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)
