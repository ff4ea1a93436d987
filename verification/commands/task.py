"""``odernn task``: what a task loads: how many sequences of which shape, from where, baseline and checksum."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from odernn.written.lines import wrapped
from verification import tasks
from verification.commands.options import Action, TasksOption, WidthOption
from verification.commands.terminal import DONE, UsageError, fitting, harmless, harmless_lines, note, out
from verification.report.numbers import plural
from verification.tasks import files
from verification.tasks.task import SPLITS

FOR_TESTS = frozenset({"md5", "statistics"})
"""Keywords of ``load`` that say what the files must be: not for the command line."""


ARTICLES = {int: "a whole number", float: "a number", bool: "True or False", str: "a name"}


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A task, as in: lorenz96. None: the list.")] = None,
    root: Annotated[
        Path | None, typer.Option("--root", metavar="DIR", help="The folder of its files (else $ODERNN_DATA).")
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help='Fetch its files into that folder first (needs "odernn[data]").')
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the task, as in: forcing=0.9; may be repeated."),
    ] = None,
    tasks_dirs: TasksOption = None,
    width: WidthOption = None,
) -> Action:
    """Load a task and say what it is: sequences of each split, baseline, origin, checksum."""

    folders = tuple(tasks_dirs or ())

    def run() -> int:
        if name is not None:
            return show(
                name, root=root, download=download, settings=tuple(settings or ()), tasks_dirs=folders, width=width
            )
        if root is not None or download or settings:
            raise UsageError("Give NAME: --root, --download and --set go with it. `odernn task` lists the names.")
        return names(folders, width)

    return Action(run)


def names(tasks_dirs: Sequence[Path] = (), width: int | None = None) -> int:
    """All tasks, each with its first line."""
    from verification.commands.results import rendered
    from verification.report.table import Column, Table

    known = [(name, tasks.get(name, tasks_dirs).summary) for name in tasks.names(tasks_dirs)]
    table = Table(plural(len(known), "task"), (Column("task"), Column("what is learned")), tuple(known))
    out(harmless_lines(rendered(table, "text", width=width)))
    return DONE


def show(
    name: str,
    *,
    root: Path | None,
    download: bool,
    settings: Sequence[str],
    tasks_dirs: Sequence[Path] = (),
    width: int | None = None,
) -> int:
    """A paragraph for each split of the task; with ``download`` its files are fetched first."""
    try:
        task = tasks.get(name, tasks_dirs)
    except KeyError as error:
        raise UsageError(f"{error.args[0]} `odernn task` shows them.") from None
    options = settings_of(task, settings)
    if download:
        fetch(task, root)
    for split in SPLITS:
        try:
            _, _, spec = task.load(split, root, **options)
        except ValueError as error:
            raise UsageError(str(error)) from None
        out("\n".join(wrapped(harmless(spec.describe()), width or fitting(), rest="  ")) + "\n")
    return DONE


def fetch(task: tasks.Task, root: Path | None) -> None:
    """The files of the task into ``root``, or ODERNN_DATA; UsageError if there is neither, or nothing to fetch."""
    import os

    if task.download is None:
        raise UsageError(f"--download: {task.name} has no files to fetch. Leave --download out.")
    folder = root or os.environ.get(files.ENVIRONMENT)
    if not folder:
        raise UsageError(f"--download: say where to, with --root DIR or in {files.ENVIRONMENT}.")
    note(f"fetching {task.name} into {harmless(str(folder))}")
    task.download(folder)


def settings_of(task: tasks.Task, settings: Sequence[str]) -> dict[str, Any]:
    """From "forcing=0.9" to {"forcing": 0.9}; UsageError for a name or a type that ``load`` does not have."""
    known = {name: default for name, default in task.options.items() if name not in FOR_TESTS}
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in known:
            choices = ", ".join(f"{option}={default}" for option, default in known.items()) or "none"
            raise UsageError(f"--set {setting}: {task.name} has these options, shown with their defaults: {choices}.")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two of brackets without end
            value = text
        default = known[name]
        if isinstance(default, float) and type(value) is int:
            value = float(value)
        if default is not None and type(value) is not type(default):
            raise UsageError(
                f"--set {setting}: {name} is {value!r}; give {ARTICLES[type(default)]}, as in {name}={default}."
            )
        options[name] = value
    return options
