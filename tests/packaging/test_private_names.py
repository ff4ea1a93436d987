"""What another folder uses is public: an underscored name or module is used in its own folder only."""

from __future__ import annotations

import ast
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = ("odernn", "verification", "cuda/odernn_kernels", "benchmarks", "docs")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def borrowed(text: str, folder: str) -> list[str]:
    """Private names and modules of other folders that a file in ``folder`` (dotted) uses."""
    taken, modules = [], {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {(alias.asname or alias.name): alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                modules[alias.asname or alias.name] = name
                home = (
                    node.module
                    if (CHECKOUT / node.module.replace(".", "/")).is_dir()
                    else node.module.rpartition(".")[0]
                )
                if any(map(is_private, name.split("."))) and home != folder and ours(name):
                    taken.append(name)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_private(node.attr):
            module = modules.get(node.value.id, "")
            if ours(module) and is_module(module) and module.rpartition(".")[0] != folder:
                taken.append(f"{module}.{node.attr}")
    return taken


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
    assert borrowed("from odernn.fields._once import f", "odernn.cells") == ["odernn.fields._once.f"]
    assert borrowed("from odernn.cells.lem import _f", "odernn.bounds") == ["odernn.cells.lem._f"]
    assert borrowed("from odernn.cells import lem\nlem._f()", "odernn.bounds") == ["odernn.cells.lem._f"]
    assert borrowed("from odernn.fields import _once", "odernn.fields") == []
    assert borrowed("from odernn.cells.lem import _f", "odernn.cells") == []
    assert borrowed("import os\nos._exit(0)", "odernn.cells") == []
