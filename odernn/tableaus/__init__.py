"""The catalogue of methods: one literal entry a method, in the file of its kind, laid out as in its source.

``catalogue/`` is scanned for tableaus; a new method is one more entry in one of its files. Asking for one method builds
the entries of its file alone. A method of one's own stands in any folder, in a .py file as in ``catalogue/`` or in a
.json or .toml file (``odernn.tableaus.files``): ``tableaus.get("mine", extra=["my_tableaus"])``.

    >>> from odernn import tableaus
    >>> tableaus.get("rk4") is tableaus.RK4
    True
    >>> tableaus.get("radau iia 7")
    PolynomialTableau("radau iia 7", 7 stages, hairer1996, (IV.5.3), C(s))

    tableau, nystrom    what a method is: exact tables of coefficients
    families            Gauss, Radau and Lobatto methods of any number of stages
    stages, methods     what exact decisions work on, and ask of any method
    files               a user's tableau from JSON or TOML, and back
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from odernn.tableaus import catalogue
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau

if TYPE_CHECKING:
    from odernn.folders import Folders
    from odernn.tableaus.families import PolynomialPair, PolynomialTableau

Tableau: TypeAlias = ButcherTableau | PartitionedTableau | Composition
"""An entry. What decides a property takes any of them, a composition as its equivalent tableau."""

SUGGESTIONS = 3
"""Names that the error about an unknown one has at most."""


@functools.cache
def _sources() -> MappingProxyType[str, str]:
    """The text of every file of the catalogue by its module: to find where a name stands without building the rest."""
    folder = Path(catalogue.__file__).parent
    return MappingProxyType({path.stem: path.read_text("utf-8") for path in sorted(folder.glob("[!_]*.py"))})


@functools.cache
def _constants(stem: str) -> MappingProxyType[str, Tableau]:
    """The tableaus of one file of the catalogue by their Python constants."""
    module = importlib.import_module(f"{catalogue.__name__}.{stem}")
    entries = {name: value for name, value in vars(module).items() if isinstance(value, Tableau)}
    return MappingProxyType(entries)


@functools.cache
def _entries() -> MappingProxyType[str, Tableau]:
    """Every tableau of the folder by its own name. An alias is the same object under a second constant."""
    entries: dict[str, Tableau] = {}
    for stem in _sources():
        for constant, tableau in _constants(stem).items():
            if entries.setdefault(tableau.name, tableau) is not tableau:
                raise ValueError(f'Tableau "{tableau.name}" is entered twice, again as {constant}. Rename one.')
    return MappingProxyType(dict(sorted(entries.items())))


def _entry(name: str) -> Tableau | None:
    """The entry of that name, for which only files that hold the name as a text are imported."""
    for stem, text in _sources().items():
        if f'"{name}"' in text:
            for tableau in _constants(stem).values():
                if tableau.name == name:
                    return tableau
    return None


def names(extra: Folders = ()) -> tuple[str, ...]:
    """The names of all entries, and of the methods in the extra folders; sorted."""
    return tuple(sorted((*_entries(), *_own(extra))))


def entries(extra: Folders = ()) -> Iterator[Tableau]:
    """All of them, in the order of ``names``."""
    named = {**_entries(), **_own(extra)}
    return (named[name] for name in sorted(named))


def _own(extra: Folders) -> Mapping[str, Tableau]:
    """The methods of these folders by name. FolderError for a file that has none, or for a name that is taken."""
    folders = tuple(extra)
    if not folders:
        return {}
    from odernn.tableaus.files import in_folders

    return in_folders(folders, _entry, _holder_of)


def _holder_of(name: str) -> str | None:
    """What has that name in the package: the file of an entry, or a family; None if nothing has."""
    for stem, text in _sources().items():
        if f'"{name}"' in text and any(tableau.name == name for tableau in _constants(stem).values()):
            return f'"{Path(catalogue.__file__).parent / stem}.py"'
    from odernn.tableaus import families
    from odernn.tableaus.catalogue import nystrom

    if name in nystrom.names():
        return f'"{nystrom.__file__}"'
    family = families.family_of(name)
    return None if family is None else f"the family {family[0]}"


def get(name: str, extra: Folders = ()) -> Tableau | PolynomialTableau | PolynomialPair:
    """The entry of that name, a member of a family ("gauss 7"), or a method of the extra folders; case does not matter.

    Raises KeyError with the nearest names, in one line; ValueError if the family has no member with so few stages;
    FolderError for a folder or a file that is not what it must be.
    """
    folders = tuple(extra)
    mine = _own(folders).get(name.casefold())
    if mine is not None:
        return mine
    entry = _entry(name.casefold())
    if entry is not None:
        return entry
    from odernn.tableaus import families  # most names are entries

    member = families.named(name)
    if member is not None:
        return member
    known = names(folders)
    raise KeyError(
        f'No tableau is called "{name}". {_guess(name.casefold(), known)}tableaus.names() has the {len(known)} '
        "entries, `odernn tableau --list` the families, too."
    )


def _guess(name: str, known: Sequence[str]) -> str:
    """The nearest of the known names, "" if none is near."""
    near = [f'"{each}"' for each in difflib.get_close_matches(name, known, n=SUGGESTIONS)]
    return f"Did you mean {' or '.join(near)}? " if near else ""


def __getattr__(constant: str) -> Tableau:
    if constant.isupper():
        for stem, text in _sources().items():
            if re.search(rf"^{re.escape(constant)}\b", text, re.MULTILINE) and constant in _constants(stem):
                return _constants(stem)[constant]
    known = _all_constants()
    raise AttributeError(
        f"The catalogue has no constant {constant}. {_guess(constant, known)}dir(tableaus) has all {len(known)}."
    )


def _all_constants() -> list[str]:
    return sorted(constant for stem in _sources() for constant in _constants(stem))


def __dir__() -> list[str]:
    return sorted([*_all_constants(), "entries", "get", "names"])
