"""The catalogue of methods: one literal entry a method, in the file of its kind, laid out as in its source.

``catalogue/`` is scanned for tableaus; a new method is one more entry in one of its files. Asking for one method builds
the entries of its file alone.

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
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from odernn.tableaus import catalogue
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau

if TYPE_CHECKING:
    from odernn.tableaus.families import PolynomialPair, PolynomialTableau

Tableau: TypeAlias = ButcherTableau | PartitionedTableau | Composition
"""An entry. What decides a property takes any of them, a composition as its equivalent tableau."""


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


def names() -> tuple[str, ...]:
    """The names of all entries, sorted."""
    return tuple(_entries())


def get(name: str) -> Tableau | PolynomialTableau | PolynomialPair:
    """The entry of that name, or the member of a family ("gauss 7"); case does not matter.

    Raises KeyError with the nearest name; ValueError if the family has no member with so few stages.
    """
    entry = _entry(name.casefold())
    if entry is not None:
        return entry
    from odernn.tableaus import families  # most names are entries

    member = families.named(name)
    if member is not None:
        return member
    near = difflib.get_close_matches(name.casefold(), names(), n=1)
    advice = f'Did you mean "{near[0]}"?' if near else f"The catalogue has: {', '.join(names())}."
    raise KeyError(f'No tableau is called "{name}". {advice}')


def __getattr__(constant: str) -> Tableau:
    if constant.isupper():
        for stem, text in _sources().items():
            if re.search(rf"^{constant}\b", text, re.MULTILINE) and constant in _constants(stem):
                return _constants(stem)[constant]
    raise AttributeError(f"The catalogue has no constant {constant}. It has: {', '.join(_all_constants())}.")


def _all_constants() -> list[str]:
    return sorted(constant for stem in _sources() for constant in _constants(stem))


def __dir__() -> list[str]:
    return sorted([*_all_constants(), "get", "names"])
