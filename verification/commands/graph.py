"""``odernn graph``: how deep a recurrent architecture is, as exact fractions with the cycles and paths that decide."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from odernn.architecture import catalogue, measures
from odernn.architecture import files as graph_files
from odernn.architecture.catalogue import Entry
from odernn.architecture.graph import GraphError, RNNGraph
from verification.commands.options import Action, FormatOption, WidthOption
from verification.commands.results import FOR_PROGRAMS, rendered
from verification.commands.terminal import DONE, UsageError, harmless, harmless_lines, note, out
from verification.report.formats import renderer
from verification.report.rows import graphs as graph_rows

FILES = frozenset({".json", ".dot", ".gv"})
MOST_STEPS = 1000
MOST_WORK = 10**8
"""Edges times steps of the table of paths: minutes."""

LARGEST_FAMILY = 10_000
"""Layers, or the period of a clockwork network, that a name may ask for. A file or Python has no limit."""


@dataclass(frozen=True)
class Files:
    """Where else the graph goes."""

    svg: Path | None = None
    dot: Path | None = None
    json: Path | None = None


def command(
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
    width: WidthOption = None,
) -> Action:
    """Print how deep a recurrent architecture is: exact measures, and the cycles and paths that decide them."""

    def run() -> int:
        if name and not list_:
            files = Files(svg=svg, dot=dot, json=json)
            return show(" ".join(name), steps=steps, files=files, format=format, width=width)
        if name or steps is not None or svg or dot or json:
            raise UsageError(
                "Give NAME or FILE, or --list, and --steps, --svg, --dot and --json only with NAME or FILE. "
                "For example: odernn graph skip-21 --svg skip-21.svg"
            )
        return names(format=format, width=width)

    return Action(run)


def names(*, format: str, width: int | None) -> int:
    """The catalogue with its measures."""
    renderer(format)
    out(rendered(graph_rows.listing(catalogue.table(), catalogue.families()), format, width=width))
    return DONE


def show(name: str, *, steps: int | None, files: Files, format: str, width: int | None) -> int:
    """One graph: the sheet, or with ``steps`` the paths in time; then the files."""
    renderer(format)
    writers = _writers(files)
    entry = entry_of(name)
    graph = entry.graph
    if steps is not None:
        _check_steps(graph, steps)
    measured = measures.measures_of(graph)
    try:
        table = graph_rows.single(entry, measured) if steps is None else graph_rows.in_time(graph, measured, steps)
    except GraphError as error:
        raise UsageError(f"--steps: {error}") from None
    shown = rendered(table, format, width=width)
    texts = {path: write(graph, measured) for path, write in writers.items()}
    for path, text in texts.items():
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f'"{path}" cannot be written: {(error.strerror or str(error)).lower()}.') from None
    out(shown if format in FOR_PROGRAMS else harmless_lines(shown))
    for path in texts:
        note(f"wrote {harmless(str(path))}")
    return DONE


Write = Callable[[RNNGraph, measures.Measures], str]


def _writers(files: Files) -> dict[Path, Write]:
    """What each file gets; UsageError where an ending is wrong, before anything is computed."""
    asked: list[tuple[str, Path | None, tuple[str, ...], Write]] = [
        ("--svg", files.svg, (".svg",), _picture),
        ("--dot", files.dot, (".dot", ".gv"), lambda graph, measured: graph_files.to_dot(graph)),
        ("--json", files.json, (".json",), lambda graph, measured: graph_files.to_json(graph)),
    ]
    writers = {}
    for option, path, endings, write in asked:
        if path is not None:
            if path.suffix.casefold() not in endings:
                raise UsageError(f'{option} "{path}": the name of the file must end in {" or ".join(endings)}.')
            writers[path] = write
    if files.svg is not None:
        from odernn.architecture import drawing

        try:
            drawing.check_available()
        except ImportError as error:
            raise UsageError(f"--svg: {error}") from None
    return writers


def _picture(graph: RNNGraph, measured: measures.Measures) -> str:
    from odernn.architecture import pictures

    try:
        return pictures.svg(graph, measures=measured)
    except pictures.PictureError as error:
        raise UsageError(f"--svg: {error}") from None


def _check_steps(graph: RNNGraph, steps: int) -> None:
    if not 0 <= steps <= MOST_STEPS:
        raise UsageError(f"--steps {steps}: give a number from 0 to {MOST_STEPS}.")
    back = max(0, *(-edge.sigma for edge in graph.edges)) * (len(graph.nodes) - 1)
    if graph.period * len(graph.edges) * (steps + back + 1) > MOST_WORK:
        raise UsageError(
            f"--steps {steps}: {graph} has {len(graph.edges)} edges, period {graph.period} and walks that go back up "
            f"to {back} steps; that is too much for the table of paths. In Python: "
            "odernn.architecture.longest_paths(graph, start, steps)."
        )


# --- from what the user typed to a graph ------------------------------------------------------------------------


def entry_of(text: str) -> Entry:
    """The file or the entry of that name; UsageError in one line if there is none, or if it is no RNN graph."""
    text = text.strip()
    if not text:
        raise UsageError("The name of the architecture is empty. `odernn graph --list` shows the names.")
    path = Path(text)
    if path.suffix.casefold() in FILES or (len(path.parts) > 1 and path.exists()):
        return _read(path)
    missing = ""
    for name in dict.fromkeys((_spelt(text), text)):
        _check_size(name)
        try:
            return catalogue.entry(name)
        except KeyError as error:
            missing = str(error.args[0])
        except ValueError as error:
            raise UsageError(str(error)) from None
    if path.exists():
        return _read(path)
    if re.fullmatch(r"\.[A-Za-z]{2,5}", path.suffix):
        raise UsageError(f'"{text}": the name of a file with a graph must end in .json, .dot or .gv.')
    raise UsageError(f"{missing} `odernn graph --list` shows the names.")


def _read(path: Path) -> Entry:
    try:
        return Entry(graph_files.read(path), {}, None)
    except OSError as error:
        raise UsageError(f'"{path}" cannot be read: {(error.strerror or str(error)).lower()}.') from None
    except ValueError as error:  # a GraphError among them: the condition and the walk are in its words
        raise UsageError(str(error)) from None


def _letters(name: str) -> str:
    """A name without case, spaces and most punctuation: "figure 1a" and "Figure 1(a)" are one."""
    return re.sub(r"[\s_()-]", "", name.casefold())


def _spelt(text: str) -> str:
    """The name as the catalogue spells it, if the text is that name but for case, spaces and brackets."""
    same = [name for name in catalogue.names() if _letters(name) == _letters(text)]
    if len(same) == 1:
        return same[0]
    return re.sub(r"(?<=[a-z)])[\s_]+(?=\d)", "-", text)  # "skip 7"


def _check_size(name: str) -> None:
    """UsageError if the name asks for more nodes than anybody looks at."""
    match = re.fullmatch(r"(clockwork|cw)\((.*)\)", name.casefold())
    parts = [part for part in re.findall(r"\d+", match[2] if match else name) if part.strip("0")]
    if any(len(part) > 300 for part in parts):
        raise UsageError("A number in the name has more than 300 digits.")
    numbers = [int(part) for part in parts]
    if match:
        size, what = math.lcm(*numbers), "the period"
    elif re.match(r"(stack|stacked lstm|unicornn|unicornn residual)-|\(", name.casefold()):
        size, what = max(numbers, default=0), "the number of layers"
    else:
        return
    if size > LARGEST_FAMILY:
        raise UsageError(f'"{name}": {what} is {size}; at most {LARGEST_FAMILY} here. Python has no limit.')
