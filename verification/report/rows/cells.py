"""The cells of the library as a table: equation, what is known of the steps, arguments without a default, executions.

All of it is read off the class: the first line of its docstring, ``holds``, the signature of its constructor.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from odernn import cells, executions
from verification.report.numbers import NOT_AVAILABLE
from verification.report.table import Column, Table

OF_EVERY_CELL = frozenset({"self", "input_size", "hidden_size", "num_layers"})
COLUMNS = (
    Column("cell"),
    Column("equation", width=44),
    Column("holds", width=48),
    Column("needs", width=16),
    Column("executions", width=12),
)


@dataclass(frozen=True)
class CellFacts:
    """``source``: who printed it, "" for a cell of the library's own."""

    name: str
    class_name: str
    equation: str
    source: str
    holds: str
    needs: tuple[str, ...]
    executions: tuple[str, ...]
    text: str

    def record(self) -> dict[str, Any]:
        return {
            "cell": self.name,
            "class": self.class_name,
            "equation": self.equation,
            "source": self.source,
            "holds": self.holds,
            "needs": list(self.needs),
            "executions": list(self.executions),
        }


def facts(name: str, kind: type[nn.Module]) -> CellFacts:
    """What the class says of itself; of somebody's own cell that may be little."""
    text = inspect.getdoc(kind) or ""
    equation, _, source = text.partition("\n")[0].partition("   ")
    return CellFacts(
        name=name,
        class_name=kind.__name__,
        equation=equation.strip(),
        source=source.strip(),
        holds=getattr(kind, "holds", ""),
        needs=needed(kind),
        executions=executions_of(kind),
        text=text,
    )


def needed(kind: type[nn.Module]) -> tuple[str, ...]:
    """The arguments of the constructor that have no default, besides sizes."""
    parameters = inspect.signature(kind.__init__).parameters.values()
    named = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return tuple(each.name for each in named if each.default is each.empty and each.name not in OF_EVERY_CELL)


def executions_of(kind: type[nn.Module]) -> tuple[str, ...]:
    """What ``execution`` may be: the values of its type, all where it is any name; a torch loop where there is none."""
    if "execution" not in inspect.signature(kind.__init__).parameters:
        return ("torch",)
    choices = typing.get_args(typing.get_type_hints(kind.__init__).get("execution"))
    return tuple(map(str, choices)) or tuple(executions.installed())


def table(extra: Iterable[Path] = ()) -> Table:
    """All cells, with those of the extra folders."""
    folders = tuple(extra)
    known = [facts(name, cells.get(name, folders)) for name in cells.names(folders)]
    return Table(
        title=f"{len(known)} cells",
        columns=COLUMNS,
        rows=tuple(_row(each) for each in known),
        caption=(
            "equation: one layer. holds: of its steps; a method that is named in brackets says more of the weights as "
            "they are. needs: arguments without a default besides sizes; `odernn cells NAME --steps N` has some to "
            "begin with. executions: what `execution` may be (docs/executions.md).",
        ),
        records=tuple(each.record() for each in known),
    )


def _row(cell: CellFacts) -> tuple[str, ...]:
    words = (cell.equation, cell.holds, ", ".join(cell.needs), ", ".join(cell.executions))
    return (cell.name, *(word or NOT_AVAILABLE for word in words))
