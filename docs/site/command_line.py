"""The page about the command `odernn`, from the parser itself: every command, argument and option with its help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from verification import cli

NAME = "reference/command_line"


def page() -> str:
    """The page as Markdown, a section a command."""
    top = typer.main.get_command(cli.app)
    codes = (cli.__doc__ or "").partition("Exit codes: ")[2].replace("``", "`").strip()
    lines = ["# The command `odernn`", "", top.help or "", "", f"Exit codes: {codes}", ""]
    for command in _commands(top, "odernn"):
        lines += [*section(*command), ""]
    return "\n".join(lines)


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Every command below a group: what is typed, the command, and its context."""
    context = group.make_context(path, [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        typed = f"{path} {name}"
        yield typed, command, command.make_context(typed, [], parent=context, resilient_parsing=True)
        if hasattr(command, "list_commands"):
            for below in command.list_commands(context):
                inner = command.get_command(context, below)
                yield f"{typed} {below}", inner, inner.make_context(f"{typed} {below}", [], resilient_parsing=True)


def section(typed: str, command: Any, context: Any) -> list[str]:
    """One command: its line of usage, what it does, its arguments and options."""
    usage = " ".join(command.collect_usage_pieces(context))
    prose = _prose(command.help or "")
    lines = [f"## {typed}", "", "```text", f"{typed} {usage}".rstrip(), "```", "", prose, ""]
    rows = [record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))]
    for names, help_text in rows:
        said = " ".join(help_text.replace("  [", " [").split())
        lines += [f"`{names}`", f": {_prose(said)}", ""]
    return lines


def _prose(text: str) -> str:
    """Help as Markdown: paragraphs, and nothing in them is a mark except code between backticks."""
    paragraphs = [" ".join(block.split()) for block in text.replace("\b", "").split("\n\n") if block.strip()]
    return "\n\n".join(_escaped(paragraph) for paragraph in paragraphs)


def _escaped(text: str) -> str:
    parts = text.split("`")
    return "`".join(
        part if number % 2 else "".join("\\" + sign if sign in "\\*_[]<>|$#" else sign for sign in part)
        for number, part in enumerate(parts)
    )
