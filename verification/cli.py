"""The command ``odernn``: parse, call, print, exit code. Heavy modules are imported by the command that needs them.

Exit codes: 0 done (a refutation is a result) · 1 a verdict differs from ``--expect``, or a merge lacks shards ·
2 usage · 3 a witness does not certify · 4 internal error · 5 a cell is an error · 130 interrupted · 143 terminated.
"""

from __future__ import annotations

import importlib
import io
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer

from verification.commands import terminal
from verification.commands.options import Action, WholeHelp, help_unless_called

TRACEBACK = "ODERNN_TRACEBACK"

COMMANDS = (
    "verify",
    "merge",
    "table",
    "ledger",
    "report",
    "cite",
    "expectations",
    "claims",
    "cells",
    "tableau",
    "graph",
    "task",
    "train",
    "picture",
    "doctor",
    "witness",
)
"""Files of ``verification.commands``, in the order of the help."""


# --- the command line -------------------------------------------------------------------------------------------


class _Commands(WholeHelp):
    """Imports the file of the command that is asked for, so that no other one's imports cost time or can fail."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:  # typer suggests one of those that it has
            if name not in self.commands:
                self.add_command(_command(name), name)
        return super().get_command(ctx, cmd_name)


def _command(name: str) -> Any:
    """The command of that file, or its group of commands, as typer builds it."""
    command = importlib.import_module(f"verification.commands.{name}").command
    parent = typer.Typer(rich_markup_mode=None)
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name)
    else:
        parent.command(name)(command)
    return typer.main.get_group(parent).commands[name]


app = typer.Typer(
    name="odernn",
    cls=_Commands,
    help="Put the published theorems about ODE-derived recurrent networks to the test.",
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        import odernn

        terminal.out(f"odernn {odernn.__version__}\n")
        raise typer.Exit(terminal.DONE)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> Action | None:
    return help_unless_called(context)


# --- from the command line to an exit code ----------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None, *, program: str = "odernn") -> int:
    """Run one command and return its exit code. Errors are one line on stderr; ODERNN_TRACEBACK=1 adds the rest."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without "‖" gets "?", not an error
    with _terminated_like_an_interrupt():
        return _exit_code(arguments, program)


def _exit_code(arguments: Sequence[str], program: str) -> int:
    resumes = False
    try:
        action = typer.main.get_command(app).main(arguments, prog_name=program, standalone_mode=False)
        if not isinstance(action, Action):  # --help and --version are done, with an exit code
            return int(action or terminal.DONE)
        resumes = action.resumes
        return _performed(action)
    except SystemExit:  # typer, where the reader of its help has gone
        return terminal.DONE
    except KeyboardInterrupt as interrupt:
        terminated = isinstance(interrupt, terminal.Terminated)
        again = f"; what was finished is kept. Run the same command again to resume: {program} {shlex.join(arguments)}"
        terminal.note(f"odernn: {'terminated' if terminated else 'interrupted'}{again if resumes else ''}")
        return terminal.TERMINATED if terminated else terminal.INTERRUPTED
    except Exception as error:
        code, line = _explained(error, program)
        terminal.note(f"odernn: {terminal.harmless(line)}")
        if os.environ.get(TRACEBACK):
            terminal.note("".join(traceback.format_exception(error)))
        return code


def _performed(action: Action) -> int:
    """What others print meanwhile goes to stderr, and that they call ``sys.exit`` is no end of ours."""
    from verification.run.printed import apart

    try:
        with apart():
            return action.run()
    except SystemExit as error:
        raise RuntimeError(f"something that was loaded called sys.exit({error.code!r})") from error


def _explained(error: Exception, program: str) -> tuple[int, str]:
    """The exit code of an error, and its line."""
    from odernn.folders import FolderError
    from verification.claim import ClaimError
    from verification.report.formats import FormatError
    from verification.run.arithmetic import FloatError
    from verification.run.cluster import ClusterError
    from verification.run.shards import ShardError
    from verification.run.store import StoreError
    from verification.tasks.images import DataError
    from verification.training import TrainingError

    if isinstance(error, typer.TyperException):
        message = error.format_message().rstrip(".")
        stop = "" if message.endswith("?") else "."
        context = getattr(error, "ctx", None)  # of the command whose arguments are wrong
        command = context.command_path if context else program
        return terminal.USAGE, f"{message}{stop} `{command} --help` shows what there is."
    usage = (terminal.UsageError, ClaimError, ClusterError, DataError, FloatError, FolderError, FormatError, ShardError)
    if isinstance(error, (*usage, StoreError, TrainingError)):
        return terminal.USAGE, str(error)
    if isinstance(error, terminal.NotCertifiedError):
        return terminal.NOT_CERTIFIED, str(error)
    hint = "" if os.environ.get(TRACEBACK) else f" (set {TRACEBACK}=1 for the traceback)"
    return terminal.INTERNAL, f"internal error: {type(error).__name__}: {error}{hint}"


@contextmanager
def _terminated_like_an_interrupt() -> Iterator[None]:
    """Inside, SIGTERM stops the workers and keeps the store as Ctrl-C does. Signals belong to the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise terminal.Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)  # None: not set from Python


if __name__ == "__main__":
    sys.exit(main())
