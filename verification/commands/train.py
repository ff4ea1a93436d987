"""``odernn train``: train a cell on a task, or go on where an earlier command was killed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from verification.commands.terminal import DONE, UsageError, note, out, progress
from verification.training import TrainingError


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    task: str
    cell: str | None
    config: str | None
    run: Path
    root: Path | None
    epochs: int | None
    seed: int | None
    execution: str | None
    device: str
    tensorboard: bool


def run(options: Options) -> int:
    """Train, and print what the test split says."""
    from verification.training import configuration as files
    from verification.training import loop, network

    task = options.task.strip().casefold().replace(" ", "_").replace("-", "_")
    plan = files.read(_configuration(options, task, files.names()))
    if plan.task.name != task:
        raise UsageError(f'--config: trains on "{plan.task.name}", not on "{task}".')
    if options.cell is not None and options.cell != plan.network.cell:
        raise UsageError(f'--config: trains the cell "{plan.network.cell}", not "{options.cell}".')
    if options.execution is not None:
        plan = replace(plan, network=network.with_option(plan.network, "execution", options.execution))
    changed = {"epochs": options.epochs, "seed": options.seed}
    plan = plan.replaced(**{name: value for name, value in changed.items() if value is not None})
    with progress() as report:
        found = loop.train(
            plan, options.run, root=options.root, device=options.device, report=report, tensorboard=options.tensorboard
        )
    if not found.writes:
        return DONE
    last = found.progress
    accuracy = found.test["accuracy"]
    said = "" if accuracy is None else f", {accuracy:.2%} correct"
    out(
        f"{task}, {plan.network.cell}: test loss {found.test['loss']:.6g}{said}; "
        f"weights of epoch {found.best_epoch} of {last.epoch}, {last.step} steps in {last.seconds:.0f} s\n"
    )
    note(f"wrote {found.folder}")
    return DONE


def _configuration(options: Options, task: str, names: tuple[str, ...]) -> str:
    """What was named, else the library's own for that task and cell."""
    if options.config is not None:
        return options.config
    wanted = f"{task}_{options.cell or ''}"
    own = [name for name in names if name == wanted or (not options.cell and name.startswith(wanted))]
    if len(own) != 1:
        which = f" for the cell {options.cell}" if options.cell else ""
        raise TrainingError(
            f'"{task}" has {len(own) or "no"} configurations here{which}. Give --config FILE, or one of: '
            f"{', '.join(names)}."
        )
    return own[0]
