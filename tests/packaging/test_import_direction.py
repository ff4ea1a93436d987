"""Imports run one way: the floors of the house, read from the sources without importing them.

A lazy import, in a function or for type checkers only, is an import like any other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

import networkx
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = ("odernn", "verification", "cuda/odernn_kernels")

OBJECTS = (
    ("certificate", "published", "folders", "foreign", "notebook"),  # evidence; what papers print; files; views
    ("exact",),
    ("tableaus",),
    ("properties", "fields"),
    ("executions",),  # one recurrence, fast
    ("integrators",),  # any method on any field
    ("orthogonal",),
    ("cells",),
    ("bounds",),
    ("architecture",),
    ("written",),
)
"""The folders of odernn, lowest floor first. What stands on one floor does not know of each other."""

TRIAL = (
    ("spread",),
    (
        "certify.second",
        "domains",
        "instance",
        "kinds",
        "tasks",
        "report.table",
        "scripts",
    ),  # second imports nothing: test_second_back_end, and nothing imports scripts
    ("system", "report.fit"),
    ("claim", "report.formats"),
    ("exact_text", "parameters"),
    ("measure", "registry", "verdict"),
    ("certify", "readings", "report.numbers"),  # what is proved, what is meant, how a number is written
    ("witness", "adversary"),
    ("answer",),
    ("cases",),
    ("claims", "run"),
    ("training", "monitors"),
    ("trained", "report.pictures"),
    ("models",),
    ("report.rows",),
    ("report.html",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
"""The folders and files of verification, lowest floor first, in the same sense."""


@dataclass(frozen=True)
class Import:
    """`importer` mentions `imported`; lazily if in a function or under TYPE_CHECKING: not at import time."""

    importer: str
    imported: str
    lazy: bool


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def imports_of(source: str, module: str, *, is_package: bool = False) -> Iterator[Import]:
    """Every import in a module's source: statements, import_module or __import__ of a literal, names of kernels.

    `from a import b` is reported as a.b, since b may be a module; the rules look at prefixes only. A text in odernn
    that is the name of a module is a lazy import: tables of modules are made of such.
    """
    package = module if is_package else module.rpartition(".")[0]
    in_expressions = re.search(r"import_module|__import__|[\"'](odernn|verification|cuda)\.", source) is not None

    def found() -> Iterator[Import]:
        todo: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
        while todo:
            node, lazy = todo.pop()
            for name in named_by(node):
                yield Import(module, name, lazy)
            if is_table_entry(node):
                yield Import(module, node.value, True)
            inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for_types = node.body if isinstance(node, ast.If) and is_for_types(node.test) else []
            for child in ast.iter_child_nodes(node):
                if in_expressions or not isinstance(child, ast.expr):  # most files have imports as statements only
                    todo.append((child, inside or child in for_types))

    def is_for_types(test: ast.expr) -> bool:
        return any("TYPE_CHECKING" in (getattr(n, "id", ""), getattr(n, "attr", "")) for n in ast.walk(test))

    def is_table_entry(node: ast.AST) -> TypeGuard[ast.Constant]:
        return (
            within(module, "odernn")
            and isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"(odernn|verification|cuda)(\.\w+)+", node.value) is not None
        )

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

    return found()


def place(name: str, floors: Iterable[tuple[str, ...]]) -> tuple[int, str] | None:
    """The floor and the folder of a dotted name without its root; of two folders that fit, the longer one."""
    fitting = [(floor, folder) for floor, folders in enumerate(floors) for folder in folders if within(name, folder)]
    return max(fitting, key=lambda found: len(found[1]), default=None)


def faults(imports: Iterable[Import]) -> list[str]:
    """The rules of the house; one sentence a breach."""
    breaches = []
    mentions_of_kernels = 0
    for i in imports:
        one, other = i.importer, i.imported
        (one_root, _, own), (other_root, _, theirs) = one.partition("."), other.partition(".")
        says = f"{one} imports {other}"
        if one_root == other_root == "odernn":
            here, there = place(own, OBJECTS), place(theirs, OBJECTS)
            if not own:
                breaches.append(f"{says}: the root names its folders in __init__.pyi, and imports none")
            elif here is None or (there is None and theirs != "lazy_exports"):
                breaches.append(f"{says}: that is no folder of the plan")
            elif there is not None and here[1] != there[1] and there[0] >= here[0]:
                breaches.append(f"{says}: {there[1]} stands on or above {here[1]}")
        if one_root == other_root == "verification":
            here, there = place(own, TRIAL), place(theirs, TRIAL)
            if here is not None and there is not None and here[1] != there[1] and there[0] >= here[0]:
                breaches.append(f"{says}: {there[1]} stands on or above {here[1]}")
        if one_root == "odernn":
            if other_root == "verification":
                breaches.append(f"{says}: the objects know nothing of the questions")
            if within(other, "cuda"):
                mentions_of_kernels += 1
                if one != "odernn.executions" or not i.lazy:
                    breaches.append(f"{says}: only odernn.executions may, and only lazily")
        if one_root == "verification" and other_root == "cuda":
            breaches.append(f"{says}: the questions see the objects only")
        if within(one, "verification.certify") and within(other, "torch", "verification.adversary"):
            breaches.append(f"{says}: a certificate shares nothing with the search")
        if within(one, "verification.certify.second") and other_root == "odernn":
            breaches.append(f"{says}: the second back-end is independent of the first")
        is_first_party = other_root in {"odernn", "verification"}
        if one_root == "cuda" and is_first_party and not within(other, "odernn.executions.recurrence"):
            breaches.append(f"{says}: the kernels know the contract only")
    if mentions_of_kernels > 1:
        breaches.append(f"{mentions_of_kernels} imports of cuda in odernn: one lazy line is enough")
    return breaches


def circles(imports: Iterable[Import], modules: set[str]) -> set[str]:
    """The sets of modules that import each other in a circle, lazily or not: each as its sorted names in one text."""
    graph = networkx.DiGraph()
    for i in imports:
        target = i.imported
        while target and target not in modules:
            target = target.rpartition(".")[0]
        if target and target != i.importer:
            graph.add_edge(i.importer, target)
    return {" ".join(sorted(among)) for among in networkx.strongly_connected_components(graph) if len(among) > 1}


def sources() -> dict[str, Path]:
    """Module name to file, for the three roots."""
    files = (p for root in ROOTS for p in sorted((CHECKOUT / root).rglob("*.py")))
    return {".".join(p.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): p for p in files}


@cache
def imports_in(path: Path, module: str) -> tuple[Import, ...]:
    """Of a file, read once."""
    return tuple(imports_of(path.read_text("utf-8"), module, is_package=path.name == "__init__.py"))


def all_imports() -> list[Import]:
    """Of the three roots."""
    return [one for module, path in sources().items() for one in imports_in(path, module)]


@pytest.fixture(scope="module")
def house() -> list[Import]:
    return all_imports()


def test_imports_run_one_way(house: list[Import]) -> None:
    assert faults(house) == []


def test_no_imports_run_in_a_circle(house: list[Import]) -> None:
    assert circles(house, set(sources())) == set()


def test_every_folder_of_odernn_is_on_a_floor() -> None:
    folders = {path.stem for path in (CHECKOUT / "odernn").iterdir() if path.is_dir() or path.suffix == ".py"}
    assert sorted(folders - {"__init__", "__pycache__"}) == sorted(name for floor in OBJECTS for name in floor)


def test_every_part_of_verification_is_on_a_floor() -> None:
    parts = {path.stem for path in (CHECKOUT / "verification").iterdir() if path.is_dir() or path.suffix == ".py"}
    parts = parts - {"__init__", "__pycache__", "report"} | {f"report.{name}" for name in stems("verification/report")}
    assert sorted(parts | {"certify.second"}) == sorted(name for floor in TRIAL for name in floor)


def stems(folder: str) -> set[str]:
    return {path.stem for path in (CHECKOUT / folder).iterdir() if path.is_dir() or path.suffix == ".py"} - {
        "__init__",
        "__pycache__",
    }


def test_the_kernels_are_named_once(house: list[Import]) -> None:
    named = [i for i in house if within(i.importer, "odernn") and within(i.imported, "cuda")]
    assert named == [Import("odernn.executions", "cuda.odernn_kernels", True)]


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
    ("verification.certify.second.graph", "from verification.measure import graph_facts"),
    ("odernn", "from odernn import cells"),
    ("odernn.cells.unicornn", "from odernn import ButcherTableau"),
    ("odernn.cells.unicornn", "import odernn"),
    ("odernn.loose", "import odernn.exact"),
    ("odernn.exact.algebraic", "from odernn.tableaus.tableau import Q"),
    ("odernn.tableaus.tableau", "def f():\n    from odernn.properties import order"),
    ("odernn.properties.order", "from odernn import fields"),
    ("odernn.fields.field", "from odernn.properties.order import order"),
    ("odernn.executions.autocast", "from odernn.integrators.newton import Newton"),
    ("odernn.executions.dense", "import odernn.orthogonal.cayley"),
    ("odernn.properties.block", "if TYPE_CHECKING:\n    from odernn.cells.odernn import MatrixTableau"),
    ("odernn.cells.clockwork", "def f():\n    from odernn.architecture.probe import StepForm"),
    ("odernn.bounds.network.weights", "from ... import architecture"),
    ("odernn.executions", "TABLE = {'gpu': 'odernn.cells.lem'}"),
    ("odernn.bounds.network", "TABLE = ['cuda.odernn_kernels.execution']"),
    ("odernn.executions", "A = 'cuda.odernn_kernels.execution'\nB = 'cuda.odernn_kernels.trajectories'"),
    ("verification.measure.ode", "def f():\n    from verification.claims.library import decay"),
    ("verification.cases.identity", "import verification.run.plan"),
    ("verification.run.plan", "from ..report import rows"),
    ("verification.measure.ode", "from verification.certify import positivity"),
    ("verification.adversary.beam", "from verification.cases import controls"),
    ("verification.claims.library.x", "from verification.run import plan"),
    ("verification.report.table", "from verification import cli"),
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
    ("cuda.odernn_kernels.execution", "from odernn.executions import recurrence"),
    ("odernn.cells.cudagraph", "import odernn_verification, cudatoolkit, torch.cuda"),
    ("odernn.bounds", "from odernn import lazy_exports"),
    ("odernn.exact.matrix_inequalities", "from odernn.certificate import Certificate"),
    ("odernn.cells.lem", "from .common import arguments\nfrom .. import executions"),
    ("odernn.cells.lem", "TEXT = 'the cells of odernn.architecture are others'"),
    ("odernn.executions", "TABLE = {'cuda': 'cuda.odernn_kernels'}"),
    ("verification.measure.graph_facts", "from verification.certify.second import graph"),
    ("verification.certify.balls", "from verification.claim import Part"),
]


@pytest.mark.parametrize(("module", "source"), ALLOWED)
def test_an_allowed_import_is_no_breach(module: str, source: str) -> None:
    assert faults(imports_of(source, module)) == []


@pytest.mark.parametrize("last", ["import a", "def f():\n    import a", "if TYPE_CHECKING:\n    from a import g"])
def test_a_planted_circle_is_seen_lazy_or_not(last: str) -> None:
    texts = {"a": "from b import f", "b": "import c, d", "c": last, "d": "import c"}
    planted = [i for module, text in texts.items() for i in imports_of(text, module)]
    assert circles(planted, set(texts)) == {"a b c d"}
    assert circles([i for i in planted if i.imported not in {"a", "a.g"}], set(texts)) == set()


def test_circles_are_of_modules_and_not_of_packages() -> None:
    """A part may import its neighbours, and the package's face its parts; a part that imports the face closes one."""
    face, part = Import("p", "p.x.f", False), Import("p.x", "p.y", False)
    modules = {"p", "p.x", "p.y"}
    assert circles([face, part, Import("p.x", "p.x.g", False)], modules) == set()
    assert circles([face, part, Import("p.y", "p.f", True)], modules) == {"p p.x p.y"}


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


# --- claim files stand alone ------------------------------------------------------------------------------------

CLAIMS = "verification.claims"
MATERIAL = {"measure": 40, "certify": 30, "cases": 30}
"""The folders of verification that claims are made of, and how many files each has at least."""


SOURCES = {module: path for module, path in sources().items() if within(module, "verification")}


def imported(module: str) -> list[str]:
    """Every name that the module's file imports, in functions too."""
    return [each.imported for each in imports_in(SOURCES[module], module)]


def claim_files_in(names: list[str]) -> list[str]:
    return [name for name in names if within(name, CLAIMS)]


def test_no_claim_file_imports_another() -> None:
    claim_files = [module for module in SOURCES if within(module, CLAIMS) and SOURCES[module].name != "__init__.py"]
    assert len(claim_files) >= 56
    assert {module: claim_files_in(imported(module)) for module in claim_files} == {m: [] for m in claim_files}


@pytest.mark.parametrize(("folder", "least"), MATERIAL.items())
def test_what_claims_are_made_of_knows_no_claim_file(folder: str, least: int) -> None:
    modules = [module for module in SOURCES if within(module, f"verification.{folder}")]
    assert len(modules) >= least
    assert {module: claim_files_in(imported(module)) for module in modules} == {module: [] for module in modules}


def test_a_measure_knows_no_case() -> None:
    """Measures are quantities and formulas; cases ask about them."""
    measures = [module for module in SOURCES if within(module, "verification.measure")]
    assert not [(m, name) for m in measures for name in imported(m) if within(name, "verification.cases")]
