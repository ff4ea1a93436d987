"""What the command lines share: options that several commands have, and what a parsed command line asks for.

A command is a file of this folder with a function ``command``: its parameters are the arguments and options, its
docstring is the help, and it returns an ``Action``. ``verification.cli.COMMANDS`` lists the files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from verification.commands import terminal

STORE = Path("odernn.sqlite")

StoreOption: TypeAlias = Annotated[Path, typer.Option("--store", metavar="FILE", help="The file with all results.")]
FormatOption: TypeAlias = Annotated[
    str, typer.Option("--format", metavar="NAME", help="text, github, latex, csv or json.")
]
FullOption: TypeAlias = Annotated[
    bool, typer.Option("--full", help="A row for every quantity of every cell, with its point.")
]
ColumnsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAME,NAME",
        show_default=False,
        help="These columns, in this order, of a text, github or latex table.",
    ),
]
WidthOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--width",
        metavar="N",
        min=50,
        show_default=False,
        help="Characters of a line of text.  [default: those of the terminal, else 80]",
    ),
]
ColorOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--color",
        metavar="WHEN",
        help="Refuted red, proved green, headings bold: auto (on a terminal, unless NO_COLOR is set), always or never.",
    ),
]
PaperOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--paper",
        metavar="NAME",
        show_default=False,
        help="Print this paper only: unicornn, scornn, odernn, complexity or library.",
    ),
]
OnlyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="VERDICT",
        show_default=False,
        help="Print these verdicts only: refuted, or several as in refuted,suspect.",
    ),
]
ClaimOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--claim", metavar="CLAIM", help="Only this claim; may be repeated.")
]
ClaimsOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--claims", metavar="DIR", help="A folder with more claim files; may be repeated."),
]
CellsOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--cells", metavar="DIR", help="A folder with more cells, a file each; may be repeated."),
]
TasksOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--tasks", metavar="DIR", help="A folder with more tasks, a file each; may be repeated."),
]
TableausOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--tableaus", metavar="DIR", help="A folder with more methods: .py, .json, .toml; may be repeated."),
]
RunsOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--runs", metavar="DIR", help="A folder that `odernn train --into` was given, or one above; may be repeated."
    ),
]
NearnessOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--nearness",
        metavar="FILE",
        show_default=False,
        help="A record of benchmarks/nearness.py: which trained networks exceed a bound.",
    ),
]
DataOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The folder of MNIST's files (else $ODERNN_DATA)."),
]


class WholeHelp(TyperGroup):
    """A group whose help has the first sentence of every command uncut: it goes on in the next line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(limit=len(command.help or "") + 1))
                    for name, command in commands
                    if command is not None and not command.hidden
                ]
            )


@dataclass(frozen=True)
class Action:
    """What the command line asks for: typer parses and returns it, ``verification.cli.main`` runs it."""

    run: Callable[[], int]
    resumes: bool = False


def refuse(context: typer.Context, names: Collection[str], reason: str) -> None:
    """UsageError for an argument of these that was typed and means nothing in what is asked for."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            option = parameter.opts[0]
            name = option if option.startswith("-") else (parameter.metavar or option)
            raise terminal.UsageError(f"{name}: {reason}.")


def help_unless_called(context: typer.Context) -> Action | None:
    """For a group without a command: its help, on stderr, as an error of usage."""
    if context.invoked_subcommand is not None:
        return None
    text = context.get_help()

    def run() -> int:
        terminal.note(text)
        return terminal.USAGE

    return Action(run)
