"""``odernn picture``: training runs drawn: gradients over time, orthogonality, time steps; the numbers beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from odernn import foreign
from odernn.foreign import ForeignError
from verification.commands.options import Action, CellsOption, RunsOption, TasksOption, refuse
from verification.commands.terminal import DONE, UsageError, harmless, note

KINDS: Mapping[str, str] = {
    "gradients": "‖∂L/∂Xₙ‖ against n, before and after training",
    "orthogonality": "‖W*W − I‖ against updates, of runs with --monitor",
    "neurons": "effective time steps and recurrent weights of UnICORNN, before and after",
}
NOT_FOR: Mapping[str, tuple[str, ...]] = {
    "orthogonality": ("root", "sequences", "cells_dirs", "tasks_dirs"),
    "neurons": ("sequences",),
}
"""Options that only other pictures have: what a monitor wrote needs no data."""
QUANTITY = "quantity"
"""A key that the numbers of every picture have, and no other file of a run."""


def command(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="gradients, orthogonality or neurons.")],
    runs: RunsOption = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE.svg", help="The picture; its numbers go to FILE.json beside it.")
    ] = Path("picture.svg"),
    root: Annotated[
        Path | None, typer.Option("--root", metavar="DIR", help="The folder of the task's files (else $ODERNN_DATA).")
    ] = None,
    sequences: Annotated[int, typer.Option(metavar="N", min=1, help="gradients: of the first N test sequences.")] = 50,
    cells_dirs: CellsOption = None,
    tasks_dirs: TasksOption = None,
) -> Action:
    """Draw what `odernn train` left in folders (needs "odernn[plots]"), and write the numbers beside it.

    gradients: the norm of dL/dX_n against n, before and after training; orthogonality: that of W*W - I during training,
    of runs with --monitor; neurons: effective time steps and recurrent weights of UnICORNN, before and after.
    """

    def drawn() -> int:
        refuse(context, NOT_FOR.get(kind, ()), f"means nothing for the picture {kind}. Leave it out")
        return run(
            kind,
            tuple(runs or ()),
            out=out,
            root=root,
            sequences=sequences,
            cells_dirs=tuple(cells_dirs or ()),
            tasks_dirs=tuple(tasks_dirs or ()),
        )

    return Action(drawn)


def run(
    kind: str,
    folders: Sequence[Path],
    *,
    out: Path,
    root: Path | None,
    sequences: int,
    cells_dirs: Sequence[Path] = (),
    tasks_dirs: Sequence[Path] = (),
) -> int:
    """The picture and its numbers. UsageError for what cannot be drawn, before anything is computed."""
    _check(kind, folders, out)
    from verification.report.pictures import training as training_pictures

    numbers = _numbers(kind, folders, root, sequences, cells_dirs, tasks_dirs)
    from verification.training.checkpoints import write_atomically  # torch is here by now

    texts = {
        out: training_pictures.svg(kind, numbers),
        _beside(out): json.dumps(numbers, ensure_ascii=False, allow_nan=False) + "\n",
    }
    for path, text in texts.items():
        write_atomically(path, text.encode())
        note(f"wrote {harmless(str(path))}")
    return DONE


def _beside(out: Path) -> Path:
    """The file of the numbers."""
    return out.with_suffix(".json")


def _check(kind: str, folders: Sequence[Path], out: Path) -> None:
    if kind not in KINDS:
        choices = "; ".join(f"{name}: {words}" for name, words in KINDS.items())
        raise UsageError(f'There is no picture "{kind}". Choose one of: {choices}.')
    if not folders:
        raise UsageError(f"--runs is missing: odernn picture {kind} --runs run --out {kind}.svg")
    if out.suffix.casefold() != ".svg":
        raise UsageError(f'--out "{out}": the name of the file must end in .svg.')
    if not out.parent.is_dir():
        raise UsageError(f'--out "{out}": cannot be written, the folder "{out.parent}" does not exist. Make it first.')
    if _beside(out).exists() and not _is_of_a_picture(_beside(out)):
        raise UsageError(
            f'--out "{out}": its numbers would go to "{_beside(out)}", which is something else and would be lost. '
            "Choose another name."
        )
    from odernn.architecture import drawing

    try:
        drawing.check_available()
    except ImportError as error:
        raise UsageError(f"picture: {error}") from None


def _is_of_a_picture(path: Path) -> bool:
    """Whether an earlier command wrote it; a name such as run.svg would else take the record of a run away."""
    try:
        numbers = foreign.read_json(path)
    except (OSError, ForeignError):
        return False
    return isinstance(numbers, dict) and QUANTITY in numbers


def _numbers(
    kind: str,
    folders: Sequence[Path],
    root: Path | None,
    sequences: int,
    cells_dirs: Sequence[Path],
    tasks_dirs: Sequence[Path],
) -> dict[str, Any]:
    from verification.report.pictures import run_curves
    from verification.training import runs

    records = [runs.read(folder) for folder in runs.find(folders)]
    if kind == "gradients":
        return run_curves.of_gradients(records, root, sequences, cells=cells_dirs, tasks=tasks_dirs)
    if kind == "neurons":
        return run_curves.of_neurons(records, root, cells=cells_dirs, tasks=tasks_dirs)
    return run_curves.of_orthogonality(records)
