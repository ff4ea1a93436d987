"""A class name occurs once, so that a word of the house means one thing everywhere."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = ("odernn", "verification", "cuda/odernn_kernels")


def classes(text: str) -> list[str]:
    """The names of all classes of a file, private and inner ones too."""
    if re.search(r"\bclass\s", text) is None:  # half of the files
        return []
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def words_after_class(text: str) -> list[str]:
    """What stands after "class", once a file for each of its places; classes, and words of sentences."""
    return re.findall(r"\bclass\s+(\w+)", text)


def places(names_in: Callable[[str], list[str]], files: Iterable[Path]) -> dict[str, list[Path]]:
    """The files in which each class name is found."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        for name in names_in(path.read_text(encoding="utf-8")):
            found[name].append(path)
    return found


def several(found: dict[str, list[Path]]) -> dict[str, list[Path]]:
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_a_class_name_occurs_once() -> None:
    """Only files that share a word after "class" are parsed, since it may stand in a sentence."""
    files = [path for root in ROOTS for path in sorted((CHECKOUT / root).rglob("*.py"))]
    words = places(words_after_class, files)
    assert len(words) > 300
    assert several(places(classes, sorted({path for paths in several(words).values() for path in paths}))) == {}


def test_every_class_is_among_the_words() -> None:
    text = "class A(B):\n    class C: ...\ndef f():\n    class  D: ..."
    assert classes(text) == ["A", "C", "D"] and set(classes(text)) <= set(words_after_class(text))


def test_a_class_inside_a_function_is_seen() -> None:
    assert classes("class A:\n    class B: ...\ndef f():\n    class C: ...") == ["A", "B", "C"]
