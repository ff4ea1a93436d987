"""odernn: ODE-derived recurrent networks as vector fields times numerical integrators.

Importing this package does no work: every public name is fetched from its module at first use, so exact
tableau algebra never pays for torch. Which names there are and where they come from stands once, in
``__init__.pyi``, for type checkers and for ``lazy_exports``. No function has the name of a module of the package:
importing ``odernn.x`` sets the attribute x, which would then be the module.

    >>> from odernn import algebraic_stability, order, tableaus
    >>> order(tableaus.GAUSS_2).value
    4
    >>> print(algebraic_stability(tableaus.GAUSS_2))
    Certificate(algebraically stable: yes, exact, M = 0)
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _refuse_subinterpreters() -> None:
    """ImportError in an interpreter that is not the process's first."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # since Python 3.13, and before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "odernn cannot be imported in a subinterpreter: the import of torch, which it needs, never comes back "
                "there. Import it in the main interpreter (mod_wsgi: WSGIApplicationGroup %{GLOBAL}), or in a process."
            )
        return


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are the imports of its ``__init__.pyi``.

    ``from m import a as b`` in the stub offers b: the attribute a of the module m, or its submodule a. Raises
    AttributeError, with the names that there are, for any other.
    """
    imports = [
        (statement.module or "", alias)
        for statement in ast.parse(Path(file).with_name("__init__.pyi").read_text("utf-8")).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    ]
    home = {alias.asname: (module, alias.name) for module, alias in imports if alias.asname and module != "typing"}
    names = sorted(home)

    def fetch(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}. It offers: {', '.join(names)}.")
        module, attribute = home[name]
        source = importlib.import_module(module) if module != package else sys.modules[package]
        value = vars(source).get(attribute)
        if value is None:
            value = importlib.import_module(f"{module}.{attribute}")
        vars(sys.modules[package])[name] = value
        return value

    return fetch, lambda: names, names


def _version() -> str:
    import importlib.metadata  # it takes longer than a verdict about a tableau

    try:
        return importlib.metadata.version("odernn")
    except importlib.metadata.PackageNotFoundError:
        return "0.1.0+unknown"


_refuse_subinterpreters()
_fetch, _names, __all__ = lazy_exports(__name__, __file__)
__all__ = ["__version__", *__all__]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return globals().setdefault(name, _version())
    return _fetch(name)


def __dir__() -> list[str]:
    return sorted(__all__)
