"""docs/properties.md: a row for every file of the folder, a name for every public decision, only names there are."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
FOLDER = CHECKOUT / "odernn" / "properties"
PAGE = CHECKOUT / "docs" / "properties.md"


def rows() -> dict[str, list[str]]:
    """File of a row of the page to the functions that it names, none for a file without a property."""
    found: dict[str, list[str]] = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        files = [cell for cell in cells if re.fullmatch(r"`[a-z_/]+\.py`", cell)]
        if files:
            assert files[0] not in found, f"{files[0]} has two rows"
            found[files[0].strip("`")] = re.findall(r"`(\w+)`", cells[3]) if len(cells) == 5 else []
    return found


def decisions(path: Path) -> list[str]:
    """The public functions of a file that return one Certificate."""
    return [
        node.name
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and isinstance(node.returns, ast.Name)
        and node.returns.id == "Certificate"
    ]


def test_every_file_has_its_row_and_no_row_is_without_a_file() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py") if path.name != "__init__.py"}
    assert set(rows()) == files
    assert len(files) > 30


def test_every_public_decision_is_named_in_the_row_of_its_file() -> None:
    named = rows()
    missing = {
        file: sorted(set(decisions(FOLDER / file)) - set(functions))
        for file, functions in named.items()
        if set(decisions(FOLDER / file)) - set(functions)
    }
    assert not missing
    assert sum(len(functions) for functions in named.values()) > 35


def test_every_named_function_is_defined_in_its_file() -> None:
    for file, functions in rows().items():
        module = importlib.import_module("odernn.properties." + file.removesuffix(".py").replace("/", "."))
        for name in functions:
            assert vars(module)[name].__module__ == module.__name__, f"{file} only imports {name}"


def test_every_file_says_what_it_is_and_its_class_names_occur_once() -> None:
    """In the whole house, not in this folder alone."""
    own = {path: ast.parse(path.read_text("utf-8")) for path in FOLDER.rglob("*.py")}
    assert all(ast.get_docstring(tree) for tree in own.values())
    mine = [node.name for tree in own.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert len(mine) == len(set(mine))
    theirs = [
        (name, path.relative_to(CHECKOUT).as_posix())
        for root in ("odernn", "verification", "cuda")
        for path in (CHECKOUT / root).rglob("*.py")
        if FOLDER not in path.parents
        for name in re.findall(r"(?m)^\s*class (\w+)", path.read_text("utf-8"))
    ]
    assert not [(name, file) for name, file in theirs if name in mine]
