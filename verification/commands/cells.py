"""``odernn cells``: the recurrent cells, what holds of their steps, what they need, and arguments to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from odernn.written.lines import reflowed, strung
from verification.commands.options import Action, CellsOption, ColumnsOption, FormatOption, WidthOption, refuse
from verification.commands.terminal import DONE, UsageError, fitting, harmless_lines, out

if TYPE_CHECKING:
    from torch import nn

OF_THE_LIST = ("format", "columns")


def command(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A cell or its class, as in: unicornn. None: the list.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help="With NAME: arguments for sequences of so many steps.")
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option("--memory", metavar="M", help="With --steps: how many of them a unit is to remember."),
    ] = None,
    hidden: Annotated[
        int | None, typer.Option("--hidden", metavar="N", help="With --steps: the hidden size, where it matters.")
    ] = None,
    format: FormatOption = "text",
    columns: ColumnsOption = None,
    width: WidthOption = None,
    cells_dirs: CellsOption = None,
) -> Action:
    """List the cells, or show one in full, with arguments for sequences of --steps."""
    folders = tuple(cells_dirs or ())

    def run() -> int:
        if name is None:
            refuse(context, ("steps", "memory", "hidden"), "goes with the name of a cell. `odernn cells` lists them")
            return listed(folders, format=format, columns=columns, width=width)
        refuse(context, OF_THE_LIST, "is of the list. Leave it out, or the name")
        if steps is None:
            refuse(context, ("memory", "hidden"), "goes with --steps. Give that, too")
        return show(name, folders, steps=steps, memory=memory, hidden=hidden, width=width)

    return Action(run)


def listed(folders: Sequence[Path], *, format: str, columns: str | None, width: int | None) -> int:
    """The table of all."""
    from verification.commands.results import FOR_PROGRAMS, rendered
    from verification.report.formats import renderer
    from verification.report.rows import cells as rows

    renderer(format)
    text = rendered(rows.table(folders), format, columns=columns, width=width)
    out(text if format in FOR_PROGRAMS else harmless_lines(text))
    return DONE


def show(
    name: str,
    folders: Sequence[Path],
    *,
    steps: int | None,
    memory: float | None,
    hidden: int | None,
    width: int | None = None,
) -> int:
    """The docstring of a cell, and under it what the list has of it."""
    from odernn import cells
    from verification.report.rows import cells as rows

    known = rows.facts(cells.name_of(name, folders), _cell(name, folders))
    wide = width or fitting()
    lines = [f"{known.name}: {known.class_name}", "", *reflowed(harmless_lines(known.text), wide), ""]

    def add(word: str, parts: Sequence[str], between: str = ", ") -> None:
        lines.extend(strung(parts, wide, between=between, first=f"{word:<12}", rest=" " * 12))

    if known.holds:
        add("holds", known.holds.split("; "), "; ")
    add("needs", known.needs or ["nothing besides sizes"])
    add("executions", known.executions)
    if steps is not None:
        suggested = _suggested(name, folders, steps, memory, hidden)
        shown = [f"{key}={_shown(value)}" for key, value in suggested.items()]
        over = "" if memory is None else f", to remember {memory:g} of them"
        add("suggested", shown or ["nothing: no argument follows from the steps"])
        add("", [f"for {steps} steps{over}", f"the formulas, and why: help({known.class_name}.suggest)"], "; ")
    out(harmless_lines("\n".join(lines)) + "\n")
    return DONE


def _cell(name: str, folders: Sequence[Path]) -> type[nn.Module]:
    from odernn import cells

    try:
        return cells.get(name, folders)
    except KeyError as error:
        raise UsageError(f"{error.args[0]} `odernn cells` lists them.") from None


def _suggested(
    name: str, folders: Sequence[Path], steps: int, memory: float | None, hidden: int | None
) -> dict[str, Any]:
    from odernn import cells

    try:
        return cells.suggest(name, steps, memory=memory, hidden_size=hidden, extra=folders)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise UsageError(f"{name}: {error}") from None


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_shown, value))})"
    return repr(value) if isinstance(value, (str, int)) else str(value)
