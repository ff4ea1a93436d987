"""The tests that are nearest to a line of code, by what they import, where they lie and what they name.

    nearness(test, file) = imports between them − 1 if it lies in the same folder − 3 if it is called as the file
                           − 2 if it names the file − 3 if it names the function

An import graph costs seconds for all files; what tests run, traced line by line, would cost an hour. It sees nothing
that is found by scanning a folder or by another process: a claim, a cell, a script are named instead.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

FAR = 6
"""Imports that stand for any number more, and for a file that is found by scanning."""
SCRIPTS = ("verification/scripts/", "tests/verification/witness/test_script.py")
"""Files that nothing imports, and what runs each of them."""
_COMMON = {"forward", "step", "main", "read", "check", "decide", "bound", "name", "value", "rows", "stepper", "run"}


class Nearest:
    """Of a project: ``graph`` has the files that each file imports, tests too; paths are relative to its root."""

    def __init__(self, root: Path, graph: Mapping[str, Sequence[str]]) -> None:
        self.texts = {file: (root / file).read_text() for file in graph if _is_test(file)}
        self.words = {file: frozenset(re.findall(r"\w+", text)) for file, text in self.texts.items()}
        self.distances = {file: _distances(graph, file) for file in self.texts}
        self.root, self.graph = root, graph

    def spoken(self, file: str, function: str) -> set[str]:
        """What the nearest tests of a file may name: the function, the file, the claims that are made of it."""
        claims = [other for other, imported in self.graph.items() if other == file or file in imported]
        named = {claim for other in claims for claim in _claims_of(self.root / other)}
        return {function.split(".")[-1], Path(file).stem} | named

    def tests(self, file: str, function: str) -> list[str]:
        """Every test file, the nearest first; those that nothing joins with the file are left out."""
        names = _names(self.root / file, function)
        found = sorted((self._nearness(test, file, names), test) for test in self.texts)
        return [test for near, test in found if near < FAR]

    def _nearness(self, test: str, file: str, names: tuple[set[str], set[str]]) -> float:
        of_file, of_function = names
        words = self.words[test]
        if file.startswith(SCRIPTS[0]):
            return 0 if test == SCRIPTS[1] else FAR
        near: float = min(FAR, self.distances[test].get(file, FAR))
        near -= Path(test).parent.as_posix() == _folder_of_tests(file)
        near -= 3 * (Path(file).stem in Path(test).stem)
        near -= 2 * any(name in words if name.isidentifier() else name in self.texts[test] for name in of_file)
        return near - 3 * bool(of_function & words)


def _is_test(file: str) -> bool:
    return Path(file).name.startswith("test_") and file.startswith("tests/")


def _folder_of_tests(file: str) -> str:
    folder = Path(file).parent.as_posix()
    return "tests/kernels" if folder.startswith("cuda") else f"tests/{folder}"


def _names(path: Path, function: str) -> tuple[set[str], set[str]]:
    """What a test calls a file, its stem or the claims of its first line; and the function and its class."""
    of_file = {name for name in (path.stem, *_claims_of(path)) if len(name) > 3}
    of_function = {part for part in function.split(".") if len(part) > 3} - _COMMON - {"module"}
    return of_file, {part for part in of_function if not part.startswith("__")}


def _claims_of(path: Path) -> list[str]:
    """Those of the first line of a claim file."""
    first = path.read_text().partition("\n")[0]
    return first.removeprefix("# Claims: ").split(" · ") if first.startswith("# Claims: ") else []


def _distances(graph: Mapping[str, Sequence[str]], start: str) -> dict[str, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        file = waiting.popleft()
        for other in graph.get(file, ()):
            if other not in found and found[file] < FAR:
                found[other] = found[file] + 1
                waiting.append(other)
    return found


def graph_of(root: Path) -> dict[str, list[str]]:
    """Of the project in this root, which is imported from there. It loads a part of it: call it in a fork."""
    from verification.run import closure

    def lead() -> Iterator[tuple[str, list[str]]]:
        for path in (*closure.library_files(), *sorted((root / "tests").rglob("*.py"))):
            if path.suffix != ".py":
                continue
            imports = closure.imports_of(path)
            modules = imports.at_once | imports.later
            paths = (closure.path_of(module) for module in modules)
            yield (
                path.relative_to(root).as_posix(),
                sorted({p.relative_to(root).as_posix() for p in paths if p is not None}) + _helpers(path, root),
            )

    return dict(lead())


def _helpers(path: Path, root: Path) -> list[str]:
    """Files of tests/ that a test imports."""
    found = re.findall(r"^(?:from|import) (tests[\w.]*)(?: import (.+))?$", path.read_text(), re.MULTILINE)
    names = [f"{module}.{name.strip()}" for module, names in found for name in (names or "").split(",")]
    places = (root / f"{name.replace('.', '/')}.py" for name in (*names, *(module for module, _ in found)))
    return [place.relative_to(root).as_posix() for place in places if place.is_file()]
