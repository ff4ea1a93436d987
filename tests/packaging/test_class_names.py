"""A class name occurs once, so that a word of the house means one thing everywhere."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = ("odernn", "verification", "cuda/odernn_kernels")


def classes(text: str) -> list[str]:
    """The names of all classes of a file, private and inner ones too."""
    if re.search(r"\bclass\s", text) is None:  # half of the files
        return []
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def places() -> dict[str, list[str]]:
    """The files in which each class name is defined."""
    found: dict[str, list[str]] = defaultdict(list)
    for root in ROOTS:
        for path in sorted((CHECKOUT / root).rglob("*.py")):
            for name in classes(path.read_text(encoding="utf-8")):
                found[name].append(path.relative_to(CHECKOUT).as_posix())
    return found


def test_a_class_name_occurs_once() -> None:
    found = places()
    assert len(found) > 300
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_a_class_inside_a_function_is_seen() -> None:
    assert classes("class A:\n    class B: ...\ndef f():\n    class C: ...") == ["A", "B", "C"]
