"""What another folder uses is public: an underscored name or module is used in its own folder only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = ("odernn", "verification", "cuda/odernn_kernels", "benchmarks", "docs")


MENTIONS = re.compile(r"(?<!\bself)(?<!\bcls)\._(?!_)|\bimport\b[^\n]*\b_[a-zA-Z]|^ +_\w+( as \w+)?,$", re.MULTILINE)
"""What a file has that borrows, as `ruff format` lays it out; nine files in ten have none of it and are not parsed."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def borrowed(text: str, folder: str) -> list[str]:
    """Private names and modules of other folders that a file in ``folder`` (dotted) uses."""
    if MENTIONS.search(text) is None:
        return []
    taken: list[str] = []
    modules: dict[str, str] = {}
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                modules[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
                taken += stranger(alias.name, folder)
        elif isinstance(node, ast.ImportFrom):
            above = folder.split(".")[: len(folder.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                name = module if alias.name == "*" else f"{module}.{alias.name}"
                modules[alias.asname or alias.name] = name
                taken += stranger(name, folder)
    attributes = nodes if re.search(r"\._[a-z]", text) else ()
    for node in attributes:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            first, _, rest = ast.unparse(node).partition(".")
            if first in modules and re.fullmatch(r"[\w.]+", rest) and is_module(modules[first]):
                taken += stranger(f"{modules[first]}.{rest}", folder)
    return list(dict.fromkeys(taken))


def stranger(name: str, folder: str) -> list[str]:
    """The name, if its first private part belongs to another folder of the library."""
    parts = name.split(".")
    private = next((i for i, part in enumerate(parts) if is_private(part)), None)
    if private is None or not ours(name):
        return []
    holder = ".".join(parts[:private])
    home = holder if (CHECKOUT / holder.replace(".", "/")).is_dir() else holder.rpartition(".")[0]
    is_object = not is_module(holder)  # of a class or an object: Python's own business
    return [] if home == folder or is_object else [".".join(parts[: private + 1])]


def ours(name: str) -> bool:
    return name.split(".")[0] in {"odernn", "verification"} or name.startswith("cuda.odernn_kernels")


def is_module(name: str) -> bool:
    place = CHECKOUT / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()


def test_no_file_uses_a_private_name_of_another_folder() -> None:
    files = [path for root in ROOTS for path in sorted((CHECKOUT / root).rglob("*.py"))]
    found = {
        path.relative_to(CHECKOUT).as_posix(): names
        for path in files
        if (names := borrowed(path.read_text("utf-8"), ".".join(path.relative_to(CHECKOUT).parent.parts)))
    }
    assert len(files) > 500
    assert found == {}


def test_planted_borrowings_are_seen() -> None:
    assert borrowed("from odernn.fields import _once", "odernn.cells") == ["odernn.fields._once"]
    assert borrowed("from odernn.fields._once import f", "odernn.cells") == ["odernn.fields._once"]
    assert borrowed("from odernn.fields import (\n    a,\n    _once,\n)", "odernn.cells") == ["odernn.fields._once"]
    assert borrowed("from ..fields import _once", "odernn.cells") == ["odernn.fields._once"]
    assert borrowed("from ..fields._once import *", "odernn.cells") == ["odernn.fields._once"]
    assert borrowed("import odernn.fields._once", "odernn.cells") == ["odernn.fields._once"]
    assert borrowed("import odernn.fields\nodernn.fields._once.f()", "odernn.cells") == ["odernn.fields._once"]
    assert borrowed("from odernn.cells.lem import _f", "odernn.bounds") == ["odernn.cells.lem._f"]
    assert borrowed("from odernn.cells import lem\nlem._f()", "odernn.bounds") == ["odernn.cells.lem._f"]
    assert borrowed("from odernn.fields import _once", "odernn.fields") == []
    assert borrowed("from odernn.cells.lem import _f", "odernn.cells") == []
    assert borrowed("import os\nos._exit(0)", "odernn.cells") == []
