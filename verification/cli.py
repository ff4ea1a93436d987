"""The command ``odernn``: parse, call, print, exit code. Heavy modules are imported by the command that needs them.

Exit codes: 0 done (a refutation is a result) · 1 a verdict differs from ``--expect``, or a merge lacks shards ·
2 usage · 3 a witness does not certify · 4 internal error · 130 interrupted · 143 terminated.
"""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, TypeAlias

import typer

from verification.commands import terminal

TRACEBACK = "ODERNN_TRACEBACK"


@dataclass(frozen=True)
class Action:
    """What the command line asks for: typer parses and returns it, ``main`` runs it."""

    run: Callable[[], int]
    resumes: bool = False


# --- the command line -------------------------------------------------------------------------------------------

app = typer.Typer(
    name="odernn",
    help="Put the published theorems about ODE-derived recurrent networks to the test.",
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
witness_app = typer.Typer(
    help="Witnesses of refutations: files from which anyone can replay them.",
    no_args_is_help=False,
    rich_markup_mode=None,
)
app.add_typer(witness_app, name="witness")

STORE = Path("odernn.sqlite")

StoreOption: TypeAlias = Annotated[Path, typer.Option("--store", metavar="FILE", help="The file with all results.")]
FormatOption: TypeAlias = Annotated[
    str, typer.Option("--format", metavar="NAME", help="text, github, latex, csv or json.")
]
FullOption: TypeAlias = Annotated[
    bool, typer.Option("--full", help="A row for every quantity, with the point where it was found.")
]
ClaimsOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--claims", metavar="DIR", help="A folder with more claim files; may be repeated."),
]
DataOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The folder of MNIST's files (else $ODERNN_DATA)."),
]
FileArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The witness.")]


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
    return _help_unless_called(context)


@witness_app.callback(invoke_without_command=True)
def _witness(context: typer.Context) -> Action | None:
    return _help_unless_called(context)


def _help_unless_called(context: typer.Context) -> Action | None:
    """Without a command: the help, on stderr, as an error of usage."""
    if context.invoked_subcommand is not None:
        return None
    text = context.get_help()

    def run() -> int:
        terminal.note(text)
        return terminal.USAGE

    return Action(run)


@app.command()
def verify(
    claims: Annotated[
        list[str] | None, typer.Argument(metavar="CLAIM", help="Ids of claims; all if none is named.")
    ] = None,
    budget: Annotated[str, typer.Option(metavar="NAME", help="smoke, standard or deep.")] = "smoke",
    seed: Annotated[int, typer.Option(metavar="N", help="Where all randomness comes from.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            show_default=False,
            help="Worker processes; 0 works in this one.  [default: one a core]",
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Where states are searched and measured: cpu, cuda or cuda:N.")
    ] = "cpu",
    engine: Annotated[
        str, typer.Option(metavar="NAME", help='Where jobs run: local, or dask://HOST:PORT (needs "odernn[cluster]").')
    ] = "local",
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Only the I-th of N parts, into a store for `odernn merge`."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="The file with all results.  [default: odernn.sqlite, or odernn-I-of-N.sqlite]",
        ),
    ] = None,
    claims_dirs: ClaimsOption = None,
    task: Annotated[str, typer.Option(metavar="NAME", help="Real input: digits or mnist.")] = "digits",
    data: DataOption = None,
    download: Annotated[bool, typer.Option("--download", help="Fetch MNIST's files into that folder first.")] = False,
    format: FormatOption = "text",
    full: FullOption = False,
    json: Annotated[
        bool, typer.Option("--json", help="JSON lines on stdout, one judgement a line, instead of the table.")
    ] = False,
    expect: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verdicts to compare with; exit code 1 if one differs.")
    ] = None,
    witnesses: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where witnesses go.  [default: witnesses, beside the store]"),
    ] = None,
) -> Action:
    """Try the claims and print what came of it. What the store already has is not done again."""

    def run() -> int:
        from verification.commands import verify as command

        options = command.Options(
            claims=tuple(claims or ()), budget=budget, seed=seed, jobs=jobs, engine=engine, shard=shard, store=store,
            claims_dirs=tuple(claims_dirs or ()), task=task, data=data, download=download,
            format=format, full=full, json=json, expect=expect, witnesses=witnesses, device=device,
        )  # fmt: skip
        return command.run(options)

    return Action(run, resumes=True)


@app.command("merge")
def merge_stores(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", help="The stores of the shards.")],
    into: Annotated[Path, typer.Option("--into", metavar="FILE", help="The store that gets all their results.")],
) -> Action:
    """Put the stores of `odernn verify --shard` together, and say what is missing."""

    def run() -> int:
        from verification.commands import merge as command

        return command.run(sources=tuple(stores), into=into)

    return Action(run)


@app.command()
def table(
    store: StoreOption = STORE,
    format: FormatOption = "text",
    full: FullOption = False,
    claim: Annotated[list[str] | None, typer.Option(metavar="CLAIM", help="Only this claim; may be repeated.")] = None,
) -> Action:
    """Print the table of the latest run in the store."""

    def run() -> int:
        from verification.commands import table as command

        return command.run(store=store, format=format, full=full, claims=tuple(claim or ()))

    return Action(run)


@app.command()
def ledger(
    store: StoreOption = STORE,
    claim: Annotated[list[str] | None, typer.Option(metavar="CLAIM", help="Only this claim; may be repeated.")] = None,
    claims_dirs: ClaimsOption = None,
) -> Action:
    """Print the latest run as a page: every statement with its verdicts and the evidence."""

    def run() -> int:
        from verification.commands import ledger as command

        return command.run(store=store, claims=tuple(claim or ()), claims_dirs=tuple(claims_dirs or ()))

    return Action(run)


@app.command()
def expectations(
    store: StoreOption = STORE,
    claim: Annotated[list[str] | None, typer.Option(metavar="CLAIM", help="Only this claim; may be repeated.")] = None,
) -> Action:
    """Print the latest run as a file for --expect: every verdict, and the witness of every refutation."""

    def run() -> int:
        from verification.commands import expectations as command

        return command.run(store=store, claims=tuple(claim or ()))

    return Action(run)


@app.command()
def claims(claims_dirs: ClaimsOption = None, format: FormatOption = "text") -> Action:
    """List the claims: statement, premises, source."""

    def run() -> int:
        from verification.commands import claims as command

        return command.run(claims_dirs=tuple(claims_dirs or ()), format=format)

    return Action(run)


@app.command()
def tableau(
    name: Annotated[
        list[str] | None, typer.Argument(metavar="NAME|FILE", help="A name, as in: radau iia 5; or a .json or .toml.")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Two methods side by side, differences marked.")
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="One row for every method of the catalogue.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="The names.")] = False,
    decimals: Annotated[
        int | None, typer.Option(metavar="D", help="Coefficients as decimals, correctly rounded to D places.")
    ] = None,
    rounded: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="With NAME or --all: what holds exactly for the coefficients in float64, float32, bfloat16 or "
            "float16; given: for the numbers as written.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With NAME: draw its stability region and order star.")
    ] = None,
    format: FormatOption = "text",
) -> Action:
    """Print a Runge–Kutta or symplectic method and everything that can be decided about it."""

    def run() -> int:
        asked = [bool(name), compare is not None, all, list_]
        if sum(asked) != 1:
            raise terminal.UsageError(
                "Give one of: NAME or FILE, --compare A B (names with spaces in quotes), --all, --list. "
                "For example: odernn tableau gauss 2"
            )
        from verification.commands import tableau as command

        if svg is not None and (not name or rounded is not None):
            raise terminal.UsageError("--svg goes with NAME or FILE, and without --rounded.")
        if rounded is not None:
            if list_ or compare is not None or decimals is not None:
                raise terminal.UsageError("--rounded goes with NAME, FILE or --all, and without --decimals.")
            if all:
                return command.table_of_rounded(rounded=rounded, format=format)
            return command.show_rounded(" ".join(name or ()), rounded=rounded, format=format)
        if compare is not None:
            return command.compare(*compare, format=format, places=decimals)
        if all or list_:
            return (command.table_of_all if all else command.names)(format=format)
        return command.show(" ".join(name or ()), format=format, places=decimals, svg=svg)

    return Action(run)


@app.command()
def graph(
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME|FILE", help="A name, as in: skip-21; or a .json, .dot or .gv. None: the list."),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="The architectures of the catalogue with their measures.")
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Instead of the measures the longest and shortest paths, D_i(n) and d_i(n), n ≤ N."
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help='Draw the graph and its unfolding (needs "odernn[plots]").')
    ] = None,
    dot: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the graph in DOT.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the graph in JSON.")] = None,
    format: FormatOption = "text",
) -> Action:
    """Print how deep a recurrent architecture is: exact measures, and the cycles and paths that decide them."""

    def run() -> int:
        from verification.commands import graph as command

        if name and not list_:
            files = command.Files(svg=svg, dot=dot, json=json)
            return command.show(" ".join(name), steps=steps, files=files, format=format)
        if name or steps is not None or svg or dot or json:
            raise terminal.UsageError(
                "Give NAME or FILE, or --list, and --steps, --svg, --dot and --json only with NAME or FILE. "
                "For example: odernn graph skip-21 --svg skip-21.svg"
            )
        return command.names(format=format)

    return Action(run)


@app.command()
def task(
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
) -> Action:
    """Load a task and say what it is: sequences of each split, baseline, origin, checksum."""

    def run() -> int:
        from verification.commands import task as command

        if name is not None:
            return command.show(name, root=root, download=download, settings=tuple(settings or ()))
        if root is not None or download or settings:
            raise terminal.UsageError(
                "Give NAME: --root, --download and --set go with it. `odernn task` lists the names."
            )
        return command.names()

    return Action(run)


@witness_app.command("show")
def witness_show(file: FileArgument) -> Action:
    """Say in words what a witness holds."""

    def run() -> int:
        from verification.commands import witness as command

        return command.show(file)

    return Action(run)


@witness_app.command("verify")
def witness_verify(file: FileArgument, claims_dirs: ClaimsOption = None) -> Action:
    """Recompute a witness with zero tolerance; exit code 3 unless it certifies."""

    def run() -> int:
        from verification.commands import witness as command

        return command.verify(file, claims_dirs=tuple(claims_dirs or ()))

    return Action(run)


@app.command()
def train(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What is learned: `odernn task` lists them.")],
    cell: Annotated[str | None, typer.Option(metavar="NAME", help="A cell, or torch.lstm, torch.gru.")] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="A TOML file, or the name of one that comes with odernn.")
    ] = None,
    folder: Annotated[Path, typer.Option("--into", metavar="DIR", help="Where checkpoints and logs go.")] = Path("run"),
    root: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder of the task's files.")] = None,
    epochs: Annotated[int | None, typer.Option(metavar="N", help="In place of the configuration's.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="In place of the configuration's.")] = None,
    execution: Annotated[str | None, typer.Option(metavar="NAME", help="torch, cpu, …, if the cell has it.")] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = "cpu",
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Log for TensorBoard, too (needs it).")] = False,
) -> Action:
    """Train a cell on a task. A run that was killed goes on from its last checkpoint, with the same result."""

    def run() -> int:
        from verification.commands import train as command

        options = command.Options(
            task=task, cell=cell, config=config, run=folder, root=root, epochs=epochs, seed=seed,
            execution=execution, device=device, tensorboard=tensorboard,
        )  # fmt: skip
        return command.run(options)

    return Action(run, resumes=True)


@app.command()
def doctor(store: StoreOption = STORE, data: DataOption = None, format: FormatOption = "text") -> Action:
    """Say what is installed, what runs here, and why the rest does not."""

    def run() -> int:
        from verification.commands import doctor as command

        return command.run(store=store, data=data, format=format)

    return Action(run)


# --- from the command line to an exit code ----------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None, *, program: str = "odernn") -> int:
    """Run one command and return its exit code. Errors are one line on stderr; ODERNN_TRACEBACK=1 adds the rest."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without "‖" gets "?", not an error
    resumes = False
    try:
        _terminate_like_an_interrupt()
        action = typer.main.get_command(app).main(arguments, prog_name=program, standalone_mode=False)
        if not isinstance(action, Action):  # --help and --version are done, with an exit code
            return int(action or terminal.DONE)
        resumes = action.resumes
        return action.run()
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


def _explained(error: Exception, program: str) -> tuple[int, str]:
    """The exit code of an error, and its line."""
    from verification.claim import ClaimError
    from verification.cluster import ClusterError
    from verification.report import FormatError
    from verification.shards import ShardError
    from verification.store import StoreError
    from verification.tasks.images import DataError
    from verification.training import TrainingError

    if isinstance(error, typer.TyperException):
        message = error.format_message().rstrip(".")
        stop = "" if message.endswith("?") else "."
        return terminal.USAGE, f"{message}{stop} `{program} --help` shows what there is."
    usage = (terminal.UsageError, ClaimError, ClusterError, DataError, FormatError, ShardError, StoreError)
    if isinstance(error, (*usage, TrainingError)):
        return terminal.USAGE, str(error)
    if isinstance(error, terminal.NotCertifiedError):
        return terminal.NOT_CERTIFIED, str(error)
    hint = "" if os.environ.get(TRACEBACK) else f" (set {TRACEBACK}=1 for the traceback)"
    return terminal.INTERNAL, f"internal error: {type(error).__name__}: {error}{hint}"


def _terminate_like_an_interrupt() -> None:
    """SIGTERM stops the workers and keeps the store as Ctrl-C does. Signals belong to the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise terminal.Terminated

    signal.signal(signal.SIGTERM, stop)


if __name__ == "__main__":
    sys.exit(main())
