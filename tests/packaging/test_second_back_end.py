"""The second back-end stands alone: no file of it imports anything of the first, however late or far down."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiers import spread

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = "verification/certify/second"
PACKAGE = "verification.certify.second"
ABOVE = ("verification", "verification.certify")
"""The packages around it, which are loaded with it: they import nothing at all,"""
WHEN_ASKED = frozenset({("verification/__init__.py", "verification.models.trial")})
"""but for a name of theirs that is fetched when somebody asks for it, which nobody here does."""
ALLOWED = frozenset({*sys.stdlib_module_names, "numpy", "mpmath"})
BOTH_BACK_ENDS = {"contraction_check", "divergence", "limit", "linear_flow", "suprema"}
"""Files of ``certify`` that hold the formulas of both, or compare what both say."""


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / FOLDER).rglob("*.py"))


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(file: str, text: str) -> Iterator[str]:
    """Every module that the text names in an import, wherever it stands; "?" for a call that imports by name."""
    package = module_of(file) if file.endswith("/__init__.py") else module_of(file).rpartition(".")[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module or "") if part)
            # `from a import b` names the module a.b as well, if there is one
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Name | ast.Attribute):
            called = node.attr if isinstance(node, ast.Attribute) else node.id
            if called in {"__import__", "import_module", "exec", "eval", "run_path", "run_module"}:
                yield "?"


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def breaches(root: Path) -> list[str]:
    """What the text of each file says: one sentence a breach."""
    told = []
    for package in ABOVE:
        file = f"{package.replace('.', '/')}/__init__.py"
        named = [name for name in imports(file, (root / file).read_text("utf-8")) if (file, name) not in WHEN_ASKED]
        told += [f"{file} imports {name}" for name in named]
    for file in files(root):
        for name in imports(file, (root / file).read_text("utf-8")):
            if name.partition(".")[0] not in ALLOWED and not within(name, PACKAGE):
                told.append(f"{file} imports {name}")
    return told


def loaded(root: Path, module: str) -> list[str]:
    """What a fresh interpreter has loaded of the first back-end once it has imported the module."""
    script = (
        f"import sys; sys.path.insert(0, {str(root)!r}); import {module}; "
        "print(*sorted(sys.modules)); print(sys.modules['verification'].__file__)"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    names, origin = ran.stdout.splitlines()
    assert Path(origin).is_relative_to(root), f"{origin} is not the tree that is looked at"
    return [
        name
        for name in names.split()
        if name.partition(".")[0] in {"odernn", "verification", "cuda", "tests", "torch", "flint", "scipy", "sympy"}
        and name not in ABOVE
        and not within(name, PACKAGE)
    ]


FILES = files(CHECKOUT)


def test_every_file_is_looked_at():
    names = {Path(file).stem for file in FILES}
    assert len(FILES) >= 16
    assert {"intervals", "network", "residual", "rounding", "typed_step", "clock", "arnn", "graph", "cayley"} <= names


def test_no_file_names_the_first_back_end():
    assert breaches(CHECKOUT) == []


@pytest.mark.parametrize("file", spread(FILES, 8))  # that of all of them says the test of the texts
def test_importing_a_file_loads_nothing_of_the_first_back_end(file: str):
    assert loaded(CHECKOUT, module_of(file)) == []


def test_the_first_back_end_decides_without_the_second():
    folder = CHECKOUT / "verification" / "certify"
    users = {
        path.stem
        for path in folder.glob("*.py")
        if any(
            within(name, PACKAGE) for name in imports(path.relative_to(CHECKOUT).as_posix(), path.read_text("utf-8"))
        )
    }
    assert users == BOTH_BACK_ENDS


WITHOUT_THE_LIBRARY = {
    "network": {"verification.certify.rounded", "verification.instance"},
    "spectra": {"verification.certify.rounded"},
    "rounded": set(),
}
"""First opinions that are typed without the cells and bounds of the library, and what of this house they use."""


@pytest.mark.parametrize("name", WITHOUT_THE_LIBRARY)
def test_the_opinions_on_whole_networks_use_nothing_of_the_library(name: str):
    file = f"verification/certify/{name}.py"
    named = list(imports(file, (CHECKOUT / file).read_text("utf-8")))
    own = {each.rpartition(".")[0] for each in named if each.partition(".")[0] in {"odernn", "verification", "torch"}}
    assert own == WITHOUT_THE_LIBRARY[name]


# --- planted breaches

PLANTED = [
    ("second/clock.py", "import odernn", "odernn"),
    ("second/clock.py", "from verification import claim", "verification.claim"),
    ("second/clock.py", "from verification.certify import rounded", "verification.certify.rounded"),
    ("second/clock.py", "from ..rounded import U", "verification.certify.rounded"),
    ("second/clock.py", "from .. import rounded", "verification.certify.rounded"),
    ("second/deep/__init__.py", "import flint", "flint"),
    ("second/helper.py", "import verification.certify.rounded as own", "verification.certify.rounded"),
    ("__init__.py", "import flint", "flint"),
    ("../__init__.py", "from odernn.bounds import sharp", "odernn.bounds.sharp"),
]
LATE = [
    ("second/clock.py", "def late():\n    from odernn.bounds import sharp", "odernn.bounds.sharp"),
    (
        "second/clock.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from verification.instance import Instance",
        "verification.instance.Instance",
    ),
    ("second/graph.py", "import importlib\nown = importlib.import_module('verification.certify.rounded')", "?"),
    ("second/graph.py", "load = __import__", "?"),
    ("second/graph.py", "class A:\n    def late(self):\n        import torch", "torch"),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The second back-end and the packages around it, with just so much of the first that a breach finds it."""
    shutil.copytree(CHECKOUT / FOLDER, tmp_path / FOLDER, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("verification/__init__.py", "verification/certify/__init__.py", "verification/certify/rounded.py"):
        shutil.copyfile(CHECKOUT / file, tmp_path / file)
    for file in (
        "verification/claim.py",
        "odernn/__init__.py",
        "odernn/bounds/__init__.py",
        "odernn/bounds/sharp.py",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    return tmp_path


def plant(tree: Path, file: str, line: str) -> str:
    """The file with the line at its end; returns a module whose import loads it."""
    path = (tree / "verification" / "certify" / file).resolve()
    path.parent.mkdir(exist_ok=True)
    before = path.read_text("utf-8") if path.exists() else ""
    path.write_text(f"{before}\n{line}\n", "utf-8")
    inside = path.relative_to(tree.resolve()).as_posix()
    return module_of(inside) if FOLDER in inside else PACKAGE


def test_a_tree_without_a_breach_has_none(tree: Path):
    assert breaches(tree) == [] and loaded(tree, f"{PACKAGE}.network_gradient") == []


@pytest.mark.parametrize(("file", "line", "name"), spread(PLANTED, 5))
def test_a_planted_breach_is_seen_in_the_text_and_in_what_is_loaded(tree: Path, file: str, line: str, name: str):
    module = plant(tree, file, line)
    assert [told for told in breaches(tree) if told.endswith(f"imports {name}") or f"imports {name}." in told]
    assert any(within(name, each) for each in loaded(tree, module))


@pytest.mark.parametrize(("file", "line", "name"), spread(LATE, 3))
def test_a_planted_breach_that_waits_is_seen_in_the_text(tree: Path, file: str, line: str, name: str):
    plant(tree, file, line)
    assert [told for told in breaches(tree) if told.endswith(f"imports {name}")]


def test_a_breach_down_the_line_is_seen_in_what_is_loaded(tree: Path):
    """Of a file that imports only its neighbours."""
    plant(tree, "second/intervals.py", "import verification.claim")
    assert "verification.claim" in loaded(tree, f"{PACKAGE}.network_gradient")


RAW = re.compile(
    r"\bmpmath\.iv\b|\bfrom mpmath import\b.*\biv\b|\bmpmath\.mpi\b|\bMPIntervalContext\b|\bquick_intervals import\b"
)
"""mpmath's own intervals, whose exp and log may miss the value by a fraction of the last place."""


WIDENED = "iv.exp(x) * iv.mpf([1 - EPS, 1 + EPS])"


def test_intervals_are_those_with_outward_ends() -> None:
    files = [path for root in ("odernn", "verification") for path in sorted((CHECKOUT / root).rglob("*.py"))]
    widened = [CHECKOUT / FOLDER / name for name in ("intervals.py", "quick_intervals.py")]
    assert len(files) > 450 and all(RAW.search(path.read_text("utf-8")) for path in widened)
    raw = [path for path in files if path not in widened and RAW.search(path.read_text("utf-8"))]
    scripts = [path for path in raw if path.parent.name == "scripts"]  # stand alone: they widen on the spot
    assert all(
        len(re.findall(r"\biv\.exp\(", text := path.read_text("utf-8"))) == text.count(WIDENED) for path in scripts
    )
    assert [path.name for path in raw if path not in scripts] == []
