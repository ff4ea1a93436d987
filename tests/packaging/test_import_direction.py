"""Imports run one way: the house's floors read from the sources, without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = ("odernn", "verification", "cuda/odernn_kernels")


@dataclass(frozen=True)
class Import:
    """`importer` mentions `imported`; lazily if in a function or under TYPE_CHECKING: not at import time."""

    importer: str
    imported: str
    lazy: bool


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def imports_of(source: str, module: str, *, is_package: bool = False) -> Iterator[Import]:
    """Every import in a module's source: statements, and import_module or __import__ of a literal.

    `from a import b` is reported as a.b, since b may be a module; the rules look at prefixes only.
    """
    package = module if is_package else module.rpartition(".")[0]

    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for name in named_by(node):
            yield Import(module, name, lazy)
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else []
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside or child in for_types)

    def named_by(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                above = ".".join(parents[: len(parents) - node.level + 1])
                base = f"{above}.{base}" if base else above
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if called in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                yield node.args[0].value

    return visit(ast.parse(source), False)


def faults(imports: Iterable[Import]) -> list[str]:
    """The rules of the house; one sentence a breach."""
    found = []
    to_the_kernels = []
    for i in imports:
        one, other = i.importer, i.imported
        if within(one, "odernn"):
            if within(other, "verification"):
                found.append(f"{one} imports {other}: the objects know nothing of the questions")
            if within(other, "cuda"):
                to_the_kernels.append(i)
                if not within(one, "odernn.executions") or not i.lazy:
                    found.append(f"{one} imports {other}: only odernn.executions may, and only lazily")
        if within(one, "verification") and within(other, "cuda"):
            found.append(f"{one} imports {other}: the questions see the objects only")
        if within(one, "verification.certify"):
            if within(other, "torch", "verification.adversary"):
                found.append(f"{one} imports {other}: a certificate shares nothing with the search")
            if one == "verification.certify.second.intervals" and within(other, "odernn"):
                found.append(f"{one} imports {other}: the second back-end is independent of the first")
        if within(one, "cuda.odernn_kernels"):
            first_party = within(other, "odernn", "verification")
            if first_party and not within(other, "odernn.executions.recurrence"):
                found.append(f"{one} imports {other}: the kernels know the contract only")
    if len(to_the_kernels) > 1:
        found.append(f"{len(to_the_kernels)} imports of cuda in odernn: one lazy line is enough")
    return found


def cycle(imports: Iterable[Import], modules: set[str]) -> list[str]:
    """A circle among the imports that happen at import time, as a list of modules; empty if there is none."""
    edges: dict[str, set[str]] = {m: set() for m in modules}
    for i in imports:
        target = i.imported if i.imported in modules else i.imported.rpartition(".")[0]
        if not i.lazy and target in modules and target != i.importer:
            edges[i.importer].add(target)
    done: set[str] = set()

    def search(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module not in done:
            for target in sorted(edges[module]):
                if circle := search(target, [*path, module]):
                    return circle
            done.add(module)
        return []

    return next((circle for m in sorted(modules) if (circle := search(m, []))), [])


def sources() -> dict[str, Path]:
    """Module name to file, for the three roots."""
    files = (p for root in ROOTS for p in sorted((CHECKOUT / root).rglob("*.py")))
    return {".".join(p.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): p for p in files}


@pytest.fixture(scope="module")
def house() -> list[Import]:
    return [
        found
        for module, path in sources().items()
        for found in imports_of(path.read_text("utf-8"), module, is_package=path.name == "__init__.py")
    ]


def test_imports_run_one_way(house: list[Import]) -> None:
    assert faults(house) == []


def test_no_imports_run_in_a_circle(house: list[Import]) -> None:
    assert cycle(house, set(sources())) == []


def test_all_three_roots_were_read(house: list[Import]) -> None:
    modules = set(sources())
    assert {"odernn", "verification", "cuda.odernn_kernels", "verification.tasks.mnist"} <= modules
    assert any(i.importer == "verification.tasks.digits" and within(i.imported, "sklearn") for i in house)


PLANTED = [
    ("odernn.cells.unicornn", "import verification.claim"),
    ("odernn.bounds.sharp", "from verification import claim"),
    ("odernn.cells.unicornn", "def f():\n    from cuda import odernn_kernels"),
    ("odernn.executions", "import cuda.odernn_kernels"),
    ("odernn.executions.get", "class A:\n    from cuda import odernn_kernels"),
    (
        "odernn.executions",
        "def f():\n    import cuda.odernn_kernels\ndef g():\n    import cuda.odernn_kernels",
    ),
    ("odernn.executions.recurrence", "import importlib\nimportlib.import_module('cuda.odernn_kernels')"),
    ("odernn.executions.recurrence", "__import__('verification')"),
    ("verification.run.plan", "from cuda.odernn_kernels import available"),
    ("verification.certify.balls", "import torch"),
    ("verification.certify.replay", "def f():\n    from torch import nn"),
    ("verification.certify.balls", "from ..adversary import beam"),
    ("verification.certify.balls", "from .. import adversary"),
    ("verification.certify.second.intervals", "from odernn.bounds import sharp"),
    ("verification.certify.second.intervals", "if True:\n    import odernn"),
    ("cuda.odernn_kernels.execution", "from odernn.cells import unicornn"),
    ("cuda.odernn_kernels", "import odernn"),
    ("cuda.odernn_kernels.module", "from verification import store"),
]


@pytest.mark.parametrize(("module", "source"), PLANTED)
def test_a_planted_breach_is_seen(module: str, source: str) -> None:
    assert faults(imports_of(source, module))


ALLOWED = [
    ("odernn.executions", "def get():\n    from cuda import odernn_kernels"),
    ("odernn.tableaus.tableau", "from fractions import Fraction\nfrom . import trees"),
    ("verification.run.plan", "import odernn\nimport torch\nfrom verification.adversary import beam"),
    ("verification.certify.balls", "import flint\nfrom odernn.bounds import sharp\nfrom . import second"),
    ("verification.certify.second.intervals", "import mpmath"),
    ("cuda.odernn_kernels.execution", "import pycuda.driver\nfrom odernn.executions.recurrence import Recurrence"),
    ("cuda.odernn_kernels.execution", "from odernn import recurrence"),
    ("odernn.cudagraph", "import odernn_verification, cudatoolkit, torch.cuda"),
]


@pytest.mark.parametrize(("module", "source"), ALLOWED)
def test_an_allowed_import_is_no_breach(module: str, source: str) -> None:
    assert faults(imports_of(source, module)) == []


def test_a_planted_circle_is_seen_and_a_lazy_one_is_none() -> None:
    eager = [Import("a", "b.f", False), Import("b", "c", False), Import("c", "a", False)]
    assert cycle(eager, {"a", "b", "c"}) == ["a", "b", "c", "a"]
    assert cycle([*eager[:2], Import("c", "a", True)], {"a", "b", "c"}) == []


def test_an_import_is_lazy_in_a_function_and_for_types_only() -> None:
    source = """
from typing import TYPE_CHECKING
import a
if TYPE_CHECKING:
    import b
else:
    import c
class K:
    import d
    def f(self):
        import e
"""
    lazy = {i.imported: i.lazy for i in imports_of(source, "m")}
    assert lazy == {"typing.TYPE_CHECKING": False, "a": False, "b": True, "c": False, "d": False, "e": True}
