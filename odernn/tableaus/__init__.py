"""The catalogue of methods: one literal entry a method, in the file of its kind, laid out as in its source.

Every module of this folder is scanned for tableaus at first use; a new method is one more entry in one file.

    >>> from odernn import tableaus
    >>> tableaus.get("rk4") is tableaus.RK4
    True
    >>> tableaus.get("radau iia 7")
    PolynomialTableau("radau iia 7", 7 stages, hairer1996, (IV.5.3), C(s))
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from odernn.tableau import ButcherTableau, Composition, PartitionedTableau

if TYPE_CHECKING:
    from odernn.families import PolynomialPair, PolynomialTableau

Tableau: TypeAlias = ButcherTableau | PartitionedTableau | Composition
"""An entry. What decides a property takes any of them, a composition as its equivalent tableau."""


@functools.cache
def _constants() -> MappingProxyType[str, Tableau]:
    """Every tableau of the folder by the name of its Python constant."""
    found: dict[str, Tableau] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for constant, value in vars(module).items():
            if isinstance(value, ButcherTableau | PartitionedTableau | Composition):
                found[constant] = value
    return MappingProxyType(found)


@functools.cache
def _entries() -> MappingProxyType[str, Tableau]:
    """Every tableau of the folder by its own name. An alias is the same object under a second constant."""
    entries: dict[str, Tableau] = {}
    for constant, tableau in _constants().items():
        if entries.setdefault(tableau.name, tableau) is not tableau:
            raise ValueError(f'Tableau "{tableau.name}" is entered twice, the second time as {constant}. Rename one.')
    return MappingProxyType(dict(sorted(entries.items())))


def names() -> tuple[str, ...]:
    """The names of all entries, sorted."""
    return tuple(_entries())


def get(name: str) -> Tableau | PolynomialTableau | PolynomialPair:
    """The entry of that name, or the member of a family ("gauss 7"); case does not matter.

    Raises KeyError with the nearest name; ValueError if the family has no member with so few stages.
    """
    entry = _entries().get(name.casefold())
    if entry is not None:
        return entry
    from odernn import families  # most names are entries

    member = families.named(name)
    if member is not None:
        return member
    near = difflib.get_close_matches(name.casefold(), names(), n=1)
    advice = f'Did you mean "{near[0]}"?' if near else f"The catalogue has: {', '.join(names())}."
    raise KeyError(f'No tableau is called "{name}". {advice}')


def __getattr__(constant: str) -> Tableau:
    if constant.isupper() and constant in _constants():
        return _constants()[constant]
    raise AttributeError(f"The catalogue has no constant {constant}. It has: {', '.join(sorted(_constants()))}.")


def __dir__() -> list[str]:
    return sorted([*_constants(), "get", "names"])
