"""``odernn tableau``: what a Runge–Kutta or symplectic method is, decided exactly, with the evidence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from odernn import tableaus
from odernn.tableaus import families
from odernn.tableaus import files as tableau_files
from odernn.tableaus.catalogue import nystrom as nystrom_catalogue
from odernn.tableaus.families import PolynomialPair
from odernn.tableaus.methods import Method, resolve
from odernn.tableaus.nystrom import NystromTableau
from odernn.tableaus.tableau import PartitionedTableau
from verification.commands.options import Action, FormatOption, TableausOption, WidthOption
from verification.commands.results import rendered
from verification.commands.terminal import DONE, UsageError, harmless, note, out, progress
from verification.report.formats import renderer
from verification.report.rows import tableaus as tableau_rows
from verification.report.table import Table

PAIR = "lobatto iiia-iiib"
LARGEST_IN_TABLE = 4
"""Members of the families with up to so many stages are in the table of all."""

LARGEST_SHEET = 20
LARGEST_PAIR_SHEET = 12
"""Members of the families with more stages are not shown: to decide everything about them takes minutes, then hours."""

MOST_DECIMALS = 1000
OTHER_NAMES = MappingProxyType(
    {
        "dopri5": "dormand prince 5(4)",
        "rk45": "dormand prince 5(4)",
        "ode45": "dormand prince 5(4)",
        "dopri853": "dop853",
        "dopri8": "dormand prince 8(7)",
        "tsit5": "tsitouras 5(4)",
        "bs23": "bogacki shampine 3(2)",
        "rk23": "bogacki shampine 3(2)",
        "ode23": "bogacki shampine 3(2)",
        "rkf45": "fehlberg 4(5)",
        "rkf78": "fehlberg 7(8)",
        "backward euler": "implicit euler",
        "forward euler": "euler",
        "explicit euler": "euler",
        "crank nicolson": "trapezoidal",
        "midpoint": "explicit midpoint",
        "leapfrog": "stoermer verlet",
        "verlet": "stoermer verlet",
        "radau5": "radau iia 3",
    }
)
"""What other programs call a method: only suggested, for each of them has its own idea of the details."""

HALVES = ("position", "momentum")
FILES = frozenset({".json", ".toml"})


@dataclass(frozen=True)
class _Written:
    """How a table is to look."""

    format: str
    width: int | None

    def check(self) -> None:
        """FormatError for a format that there is not, before anything is decided."""
        renderer(self.format)

    def __call__(self, table: Table) -> str:
        return rendered(table, self.format, width=self.width)


def command(
    name: Annotated[
        list[str] | None, typer.Argument(metavar="NAME|FILE", help="A name, as in: radau iia 5; or a .json or .toml.")
    ] = None,
    compared: Annotated[
        tuple[str, str] | None,
        typer.Option("--compare", metavar="A B", help="Two methods side by side, differences marked."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="One row for every method of the catalogue.")] = False,
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
    width: WidthOption = None,
    tableaus_dirs: TableausOption = None,
) -> Action:
    """Print a Runge–Kutta or symplectic method and everything that can be decided about it."""
    folders = tuple(tableaus_dirs or ())

    written = _Written(format, width)

    def run() -> int:
        if sum([bool(name), compared is not None, everything, list_]) != 1:
            raise UsageError(
                "Give one of: NAME or FILE, --compare A B (names with spaces in quotes), --all, --list. "
                "For example: odernn tableau gauss 2"
            )
        if svg is not None and (not name or rounded is not None):
            raise UsageError("--svg goes with NAME or FILE, and without --rounded.")
        if rounded is not None:
            if list_ or compared is not None or decimals is not None:
                raise UsageError("--rounded goes with NAME, FILE or --all, and without --decimals.")
            if everything:
                return table_of_rounded(rounded=rounded, written=written, folders=folders)
            return show_rounded(" ".join(name or ()), rounded=rounded, written=written, folders=folders)
        if compared is not None:
            return compare(*compared, written=written, places=decimals, folders=folders)
        if everything or list_:
            return (table_of_all if everything else names)(written=written, folders=folders)
        return show(" ".join(name or ()), written=written, places=decimals, svg=svg, folders=folders)

    return Action(run)


def show(
    name: str, *, written: _Written, places: int | None, svg: Path | None = None, folders: Sequence[Path] = ()
) -> int:
    """One method, and with ``svg`` its stability region and order star in that file."""
    written.check()
    method = method_of(name, folders)
    picture = None if svg is None else _picture(method, svg)
    text = written(tableau_rows.single(method, _checked(places)))
    if svg is not None and picture is not None:
        try:
            svg.write_text(picture, encoding="utf-8")
        except OSError as error:
            raise UsageError(f'"{svg}" cannot be written: {(error.strerror or str(error)).lower()}.') from None
    out(text)
    if svg is not None:
        note(f"wrote {harmless(str(svg))}")
    return DONE


def _picture(method: Method, path: Path) -> str:
    if path.suffix.casefold() != ".svg":
        raise UsageError(f'--svg "{path}": the name of the file must end in .svg.')
    if isinstance(method, NystromTableau):
        raise UsageError(f'--svg: "{method.name}" is for y″ = g(y) and has no R(z).')
    if isinstance(resolve(method), PartitionedTableau | PolynomialPair):
        raise UsageError(f'--svg: "{method.name}" is a pair, which has no stability function. Ask about its halves.')
    from verification.report.pictures import stability as stability_pictures  # needs numpy and matplotlib

    try:
        return stability_pictures.svg(method)
    except ImportError as error:
        raise UsageError(f"--svg: {error}") from None


def compare(first: str, second: str, *, written: _Written, places: int | None, folders: Sequence[Path] = ()) -> int:
    """Two methods side by side."""
    written.check()
    methods = method_of(first, folders), method_of(second, folders)
    if len({isinstance(method, NystromTableau) for method in methods}) == 2:
        raise UsageError("--compare: one of them is a Nyström method, for y″ = g(y) only. Compare it with another.")
    out(written(tableau_rows.comparison(*methods, _checked(places))))
    return DONE


def table_of_all(*, written: _Written, folders: Sequence[Path] = ()) -> int:
    """The companion table: the catalogue, and the families up to a few stages."""
    written.check()
    with progress() as report:
        table = tableau_rows.companion(list(everything(folders)), report)
    out(written(table))
    return DONE


def show_rounded(name: str, *, rounded: str, written: _Written, folders: Sequence[Path] = ()) -> int:
    """One method in floating-point numbers: what is exactly true of them."""
    from verification.report.rows import rounded as rounded_rows  # imports numpy, which the other tables do without

    written.check()
    method = method_of(name, folders)
    if isinstance(method, NystromTableau):
        raise UsageError(f'--rounded: "{method.name}" is for y″ = g(y); only Runge–Kutta methods are rounded here.')
    try:
        table = rounded_rows.single(method, _known(rounded))
    except (TypeError, ValueError) as error:  # an overflow, or coefficients that are not written out
        raise UsageError(str(error)) from None
    out(written(table))
    return DONE


def table_of_rounded(*, rounded: str, written: _Written, folders: Sequence[Path] = ()) -> int:
    """What is left in the floating-point format of the methods that are algebraically stable or symplectic."""
    from verification.report.rows import rounded as rounded_rows

    written.check()
    if _known(rounded) == rounded_rows.GIVEN:
        raise UsageError(f"--all --rounded {rounded}: give a format, one of {', '.join(rounded_rows.FORMATS)}.")
    with progress() as report:
        table = rounded_rows.companion(list(everything(folders)), rounded, report)
    out(written(table))
    return DONE


def _known(rounded: str) -> str:
    from verification.report.rows.rounded import FORMATS, GIVEN

    if rounded not in FORMATS and rounded != GIVEN:
        raise UsageError(f"--rounded {rounded}: give one of {', '.join(FORMATS)}, or {GIVEN}.")
    return rounded


def names(*, written: _Written, folders: Sequence[Path] = ()) -> int:
    """What there is."""
    written.check()
    smallest = {name: family.smallest for name, family in families.FAMILIES.items()} | {PAIR: 2}
    nystrom = [nystrom_catalogue.get(name) for name in nystrom_catalogue.names()]
    out(written(tableau_rows.listing(list(tableaus.entries(folders)), smallest, nystrom)))
    return DONE


def _checked(places: int | None) -> int | None:
    if places is not None and not 0 <= places <= MOST_DECIMALS:
        raise UsageError(f"--decimals {places}: give a number from 0 to {MOST_DECIMALS}.")
    return places


def everything(folders: Sequence[Path]) -> Iterator[Method]:
    """The catalogue, and the families up to a few stages."""
    entries = tableaus.names()
    yield from tableaus.entries(folders)
    for family in (*families.FAMILIES, PAIR):
        for s in range(families.FAMILIES[family].smallest if family != PAIR else 2, LARGEST_IN_TABLE + 1):
            if f"{family} {s}" not in entries:
                yield tableaus.get(f"{family} {s}")


# --- from what the user typed to a method -----------------------------------------------------------------------


def method_of(text: str, folders: Sequence[Path] = ()) -> Method:
    """The file, the entry, the family's member or the method of the folders of that name; UsageError if there is none.

    ".position" and ".momentum" after the name of a partitioned method are its halves.
    """
    whole, _, half = text.rpartition(".")
    if half.casefold() in HALVES and whole:
        return _half(method_of(whole, folders), half.casefold())
    text = text.strip()
    if not text:
        raise UsageError("The name of the tableau is empty. `odernn tableau --list` shows the names.")
    path = Path(text)
    if path.suffix.casefold() in FILES or (len(path.parts) > 1 and path.exists()):
        return _read(path)
    name = _spelt(text, folders)
    _check_stages(name, folders)
    try:
        return tableaus.get(name, folders)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except KeyError:
        pass
    for nystrom in nystrom_catalogue.names():
        if _letters(nystrom) == _letters(text):
            return nystrom_catalogue.get(nystrom)
    if path.exists():
        return _read(path)
    if re.fullmatch(r"\.[A-Za-z]{2,5}", path.suffix):
        raise UsageError(f'"{text}": the name of a file with a tableau must end in .json or .toml.')
    raise UsageError(f'No tableau is called "{text}". {_advice(text, folders)}`odernn tableau --list` shows the names.')


def _check_stages(name: str, folders: Sequence[Path]) -> None:
    """UsageError if this is a member of a family, without a number of stages or with one that cannot be served."""
    match = re.fullmatch(r"(.*?)[\s_-]*([+-]?\d[\d.,/e]*|)", name.strip().casefold())
    family = next(
        (known for known in (*families.FAMILIES, PAIR) if match and _letters(known) == _letters(match[1])), None
    )
    if match is None or family is None or name.casefold() in tableaus.names(folders):
        return
    if not match[2]:
        raise UsageError(f"{family} takes a number of stages, for example {family} 3.")
    if not re.fullmatch(r"[+-]?\d+", match[2]):
        raise UsageError(f'"{name}": the number of stages must be a whole number, for example {family} 3.')
    most, decide = (LARGEST_PAIR_SHEET, "symplecticity") if family == PAIR else (LARGEST_SHEET, "algebraic_stability")
    if len(match[2]) > 6 or int(match[2]) > most:
        member = f'odernn.tableaus.get("{family} {match[2] if len(match[2]) < 3 else 99}")'
        raise UsageError(
            f'"{name}" has too many stages to decide everything about it; at most {most} here. '
            f"Python decides single properties: odernn.{decide}({member})."
        )


def _half(method: Method, half: str) -> Method:
    table = resolve(method)
    if not isinstance(table, PartitionedTableau | PolynomialPair):
        raise UsageError(f'"{method.name}" is one Runge–Kutta method: it has no {half}. Leave out ".{half}".')
    return table.position if half == "position" else table.momentum


def _read(path: Path) -> Method:
    try:
        return tableau_files.read(path)
    except OSError as error:
        raise UsageError(f'"{path}" cannot be read: {(error.strerror or str(error)).lower()}.') from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _letters(name: str) -> str:
    """A name without case, spaces and punctuation: GAUSS_2, gauss-2 and Gauss 2 are one."""
    return re.sub(r"[^a-z0-9*/]", "", name.casefold())


def _spelt(text: str, folders: Sequence[Path]) -> str:
    """The name as the catalogue spells it, if the text is that name but for case, spaces and punctuation."""
    entries = tableaus.names(folders)
    if text.casefold() in entries or re.search(r"\s-\d+$", text):  # "gauss -2" asks for −2 stages
        return text
    same = [name for name in entries if _letters(name) == _letters(text)]
    if len(same) == 1:
        return same[0]
    match = re.fullmatch(r"(.*?)[\s_-]*(\d+)", text.strip())
    if match:
        for family in (*families.FAMILIES, PAIR):
            if _letters(family) == _letters(match[1]):
                return f"{family} {match[2]}"
    return text


def _advice(text: str, folders: Sequence[Path]) -> str:
    """The nearest name, "" if none is near. A number at its end may be the stages of a family, or be missing there."""
    match = re.fullmatch(r"(.*?)[\s_-]*(\d*)", text.casefold())
    stem, stages = (match[1], match[2] or "3") if match else (text.casefold(), "3")
    other = next((name for known, name in OTHER_NAMES.items() if _letters(known) == _letters(text)), None)
    if other is not None:
        return f'Did you mean "{other}"? '
    family = difflib.get_close_matches(stem, (*families.FAMILIES, PAIR), n=1, cutoff=0.75)
    if family:
        return f'Did you mean "{family[0]} {stages}"? '
    names = (*tableaus.names(folders), *nystrom_catalogue.names())
    near = difflib.get_close_matches(text.casefold(), names, n=1)
    return f'Did you mean "{near[0]}"? ' if near else ""
