"""``odernn train``: train a cell on a task, or go on where an earlier command was killed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from verification.commands.options import Action, CellsOption, TasksOption, WidthOption
from verification.commands.terminal import DONE, UsageError, note, out, progress
from verification.training import TrainingError


def command(
    task: Annotated[
        str | None,
        typer.Argument(metavar="[TASK]", help="What is learned: `odernn task` lists them.", show_default=False),
    ] = None,
    cell: Annotated[str | None, typer.Option(metavar="NAME", help="A cell, or torch.lstm, torch.gru.")] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="A TOML file, or the name of one that comes with odernn.")
    ] = None,
    row: Annotated[str | None, typer.Option(metavar="NAME", help="The row of a file that has several.")] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List what comes with odernn, of TASK or all of it, and train nothing.")
    ] = False,
    folder: Annotated[Path, typer.Option("--into", metavar="DIR", help="Where checkpoints and logs go.")] = Path("run"),
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder of the task's files.")] = None,
    epochs: Annotated[int | None, typer.Option(metavar="N", help="In place of the configuration's.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="In place of the configuration's.")] = None,
    execution: Annotated[str | None, typer.Option(metavar="NAME", help="torch, cpu, …, if the cell has it.")] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = "cpu",
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Of the CPU; by default one for each 8192 columns, batch × units."),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Log for TensorBoard, too (needs it).")] = False,
    no_capture: Annotated[
        bool, typer.Option("--no-capture", help="On a GPU, no step as one graph: the same bits, slower.")
    ] = False,
    monitor: Annotated[
        int | None, typer.Option(metavar="EVERY", min=1, help="Measure bounds every so many steps: monitor.sqlite.")
    ] = None,
    cells_dirs: CellsOption = None,
    tasks_dirs: TasksOption = None,
    width: WidthOption = None,
) -> Action:
    """Train a cell on a task. A run that was killed goes on from its last checkpoint, with the same result."""
    if listed:
        return Action(lambda: show(task, tuple(tasks_dirs or ()), width))
    if width is not None:
        raise UsageError("--width: is of the list. Give --list, too, or leave it out.")
    options = TrainOptions(
        task=task,
        cell=cell,
        config=config,
        row=row,
        run=folder,
        root=root,
        epochs=epochs,
        seed=seed,
        execution=execution,
        device=device,
        threads=threads,
        tensorboard=tensorboard,
        capture=not no_capture,
        monitor=monitor,
        cells_dirs=tuple(cells_dirs or ()),
        tasks_dirs=tuple(tasks_dirs or ()),
    )
    return Action(lambda: run(options), resumes=True)


@dataclass(frozen=True)
class TrainOptions:
    """What the command line says."""

    task: str | None
    cell: str | None
    config: str | None
    row: str | None
    run: Path
    root: Path | None
    epochs: int | None
    seed: int | None
    execution: str | None
    device: str
    threads: int | None
    tensorboard: bool
    capture: bool = True
    monitor: int | None = None
    cells_dirs: tuple[Path, ...] = ()
    tasks_dirs: tuple[Path, ...] = ()


def show(task: str | None, tasks_dirs: Sequence[Path] = (), width: int | None = None) -> int:
    """The configurations that come with the library."""
    from verification.commands.results import rendered
    from verification.training import listing

    name = None if task is None else _known(task, tasks_dirs)
    if name is not None and not listing.rows(name):
        raise UsageError(f'--list: no configuration trains on "{name}". `odernn train --list` shows all.')
    out(rendered(listing.table(name), "text", width=width))
    return DONE


def run(options: TrainOptions) -> int:
    """Train, and print what the test split says."""
    from odernn import cells
    from verification.monitors.monitor import watching
    from verification.run import arithmetic
    from verification.training import SettingError, loop, network
    from verification.training import configuration as files
    from verification.training.folder import RESULT
    from verification.training.processes import is_first
    from verification.training.threads import threads, worthwhile

    if options.cell is not None:
        options = replace(options, cell=cells.name_of(options.cell, options.cells_dirs))
    plan = files.read(_configuration(options, files.names()), options.row)
    plan = plan.found_in(cells=options.cells_dirs, tasks=options.tasks_dirs)
    task = plan.task.name
    if options.task is not None and task != _known(options.task, options.tasks_dirs):
        raise UsageError(f'--config: trains on "{task}", not on "{options.task}".')
    if options.cell is not None and options.cell != plan.network.cell:
        raise UsageError(f'--config: trains the cell "{plan.network.cell}", not "{options.cell}".')
    if options.execution is not None:
        try:
            plan = replace(plan, network=network.with_option(plan.network, "execution", options.execution))
        except SettingError as error:
            raise UsageError(f"--execution: {error.what}") from None
    changed = {"epochs": options.epochs, "seed": options.seed}
    plan = plan.replaced(**{name: value for name, value in changed.items() if value is not None})
    every = options.monitor if is_first() else None
    if is_first() and (found := arithmetic.surprises(thoroughly=True)):
        note(f"odernn: trains in arithmetic that is not {arithmetic.IEEE}'s: {'; '.join(found)}. Its record says so.")
    shown = progress() if is_first() else nullcontext()
    was_done = (options.run / RESULT).exists()
    with (
        threads(options.threads or worthwhile(plan)),
        shown as report,
        watching(options.run / "monitor.sqlite", every) as watchers,
    ):
        result = loop.train(
            plan,
            options.run,
            root=options.root,
            device=options.device,
            report=report,
            watchers=watchers,
            tensorboard=options.tensorboard,
            capture=options.capture,
        )
    if not result.writes:
        return DONE
    last = result.progress
    accuracy = result.test["accuracy"]
    said = "" if accuracy is None else f", {accuracy:.2%} correct"
    out(
        f"{task}, {plan.network.cell}: test loss {result.test['loss']:.6g}{said}; "
        f"weights of epoch {result.best_epoch} of {last.epoch}, {last.step} steps in {last.seconds:.0f} s\n"
    )
    if plan.published is not None and plan.published.result:
        printed = plan.published
        out(f"printed in {printed.table}, {printed.row}: {printed.result}\n")
    if result.steps or not last.step or not was_done:
        note(f"wrote {result.folder}")
        if not options.device.startswith("cpu"):
            note(f"steps: {result.stepping}")
    else:
        seen = "" if options.monitor is None else ", so that there was nothing to monitor"
        note(f'The run in "{result.folder}" had ended before{seen}. For another one name another folder with --into.')
    return DONE


def _known(task: str, tasks_dirs: Sequence[Path]) -> str:
    """The name of that task; UsageError with the nearest one."""
    from verification import tasks

    try:
        return tasks.get(task, tasks_dirs).name
    except KeyError as error:
        raise UsageError(f"{error.args[0]} `odernn task` shows them.") from None


def _configuration(options: TrainOptions, names: tuple[str, ...]) -> str:
    """What was named, else the library's own for that task and cell."""
    if options.config is not None:
        return options.config
    if options.task is None:
        raise UsageError("Name a task, or a configuration with --config FILE. `odernn train --list` shows them.")
    task = _known(options.task, options.tasks_dirs)
    wanted = f"{task}_{options.cell or ''}"
    own = [name for name in names if name == wanted or (not options.cell and name.startswith(wanted))]
    if len(own) != 1:
        which = f" for the cell {options.cell}" if options.cell else ""
        raise TrainingError(
            f'"{task}" has {len(own) or "no"} configurations by its name{which}. Give --config FILE; '
            f"`odernn train {task} --list` shows what comes with odernn."
        )
    return own[0]
