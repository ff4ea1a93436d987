"""Import closures: the files that decide what a job finds, read from their import statements without running them.

    closure(roots) = the least set of files with  roots ⊆ it  and  f ∈ it, f imports g  ⇒  g ∈ it

Lazy imports inside functions count, imports for type checkers do not. A package whose submodule is imported is run, so
its ``__init__`` belongs to the closure with all that it imports at once; what its functions import later belongs to it
only where the package itself is asked for (``from odernn import cells`` may call ``cells.get``). Imports by computed
name are known in three forms: the name of a module as a string constant; ``import_module`` of something computed in a
package that scans its own folder, which may mean every module of it; and a stub ``__init__.pyi``
(``odernn.lazy_exports``), of which the names that are used are followed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType

import odernn
import verification

ROOTS: Mapping[str, Path] = MappingProxyType(
    {
        "odernn": Path(odernn.__file__).parent,
        "verification": Path(verification.__file__).parent,
        "cuda.odernn_kernels": Path(odernn.__file__).parents[1] / "cuda" / "odernn_kernels",
    }
)
"""The three import roots and their folders."""

DISTRIBUTIONS = {"flint": "python-flint", "sklearn": "scikit-learn"}
"""Packages that are installed under another name than they are imported."""


_DOTTED = re.compile(rf"({'|'.join(map(re.escape, ROOTS))})(\.\w+)+")


@dataclass
class Imports:
    """What one file imports, by dotted name.

    at_once   modules that are loaded with it
    later     modules that its functions may load
    outside   top-level packages that are neither of this library nor of Python
    is_computed   whether it imports by a name that it computes
    """

    at_once: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)
    is_computed: bool = False


@cache
def path_of(module: str) -> Path | None:
    """The file of a module of this library, or None."""
    for root, folder in ROOTS.items():
        if module == root or module.startswith(f"{root}."):
            place = folder.joinpath(*module[len(root) + 1 :].split("."))
            candidates = (place / "__init__.py", place.with_name(f"{place.name}.py"))
            return next((file for file in candidates if os.path.isfile(file)), None)  # False, too, for a name too long
    return None


@cache
def name_of(path: Path) -> str:
    """The dotted name of a file of this library; of any other file its path."""
    for root, folder in ROOTS.items():
        if path.is_relative_to(folder):
            inner = path.relative_to(folder)
            stub = " (stub)" if path.suffix == ".pyi" else ""
            return ".".join((root, *inner.with_suffix("").parts)).removesuffix(".__init__") + stub
    return str(path)


@dataclass(frozen=True)
class Closure:
    """Files of the library in the order of their names, the outside packages that they import, and files of others by
    the names that they have in their folder: a digest depends on no place.
    """

    files: tuple[Path, ...]
    outside: tuple[str, ...]
    others: tuple[tuple[str, Path], ...] = ()

    def digest(self, read: Callable[[Path], bytes] = Path.read_bytes) -> str:
        """SHA-256 of the names and texts of all files, wherever the library is installed."""
        digest = hashlib.sha256()
        for name, path in (*((name_of(path), path) for path in self.files), *self.others):
            digest.update(name.encode() + b"\0" + hashlib.sha256(read(path)).digest())
        return digest.hexdigest()

    def versions(self) -> dict[str, str]:
        """The installed versions of the outside packages; "absent" for one that is not there."""
        return {name: _version(DISTRIBUTIONS.get(name, name)) for name in self.outside}


@cache
def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def closure(*roots: str | Path, folder: Path | None = None) -> Closure:
    """The closure of modules, by dotted name, of files of the library, and of a ``folder`` outside of it.

    Of such a folder, of claims of one's own, all that ``files_of`` finds belongs to it. Raises ValueError for a module
    that this library has not.
    """
    others = () if folder is None else tuple(files_of(folder))
    reached: set[Path] = set()
    outside: set[str] = set()
    followed: set[tuple[Path, bool]] = set()
    todo: list[tuple[Path, bool]] = []  # a file, and whether it is asked for itself, not only run as a parent

    def reach(module: str) -> None:
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            path = path_of(".".join(parts[:end]))
            if path is not None:
                todo.append((path, end == len(parts)))

    for root in (*roots, *(path for _, path in others if path.suffix == ".py")):
        if isinstance(root, Path):
            todo.append((root, True))
        elif path_of(root) is None:
            raise ValueError(f'"{root}" is no module of this library, so it has no closure.')
        else:
            reach(root)
    while todo:
        item = todo.pop()
        if item in followed:
            continue
        followed.add(item)
        path, is_asked_for = item
        reached.add(path)
        stub = path.with_suffix(".pyi")
        if stub.is_file():
            reached.add(stub)
        imports = imports_of(path)
        outside |= imports.outside
        for module in imports.at_once | (imports.later if is_asked_for else set()):
            reach(module)
    ours = {path for path in reached if name_of(path) != str(path)}
    if any(imports_of(path).is_computed for path in reached - ours):
        ours = set(library_files())  # it may be any of them
    return Closure(tuple(sorted(ours, key=name_of)), tuple(sorted(outside)), others)


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """(name in the folder, path) of what Python files of a folder may read: themselves, and whatever they name.

    A file or a folder inside belongs to it if its name, without an ending, stands in one of the Python files; caches
    and hidden files never do. What a file reads from elsewhere is not seen.
    """
    here = sorted(path for path in folder.iterdir() if path.name[0] != "." and path.name != "__pycache__")
    python = [path for path in here if path.suffix == ".py" and path.is_file()]
    text = b"\0".join(path.read_bytes() for path in python)
    for path in here:
        if path in python:
            yield path.name, path
        elif path.stem.encode() in text:
            if path.is_dir():
                yield from ((f"{path.name}/{name}", inner) for name, inner in files_of(path))
            elif path.is_file():
                yield path.name, path


def imports_of(path: Path) -> Imports:
    """What a file imports; read again if it has changed."""
    return _imports_of(path, path.read_bytes())


@cache
def _imports_of(path: Path, text: bytes) -> Imports:
    reader = _Reader(path)
    try:
        reader.visit(ast.parse(text))
        reader.follow_names()
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # of others: whoever imports it will say so
        return Imports(is_computed=True)
    return reader.imports


class _Reader(ast.NodeVisitor):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.module = name_of(path)
        self.package = self.module if path.name == "__init__.py" else self.module.rpartition(".")[0]
        self.imports = Imports()
        self.depth = 0
        self.packages: dict[str, str] = {}
        self.chains: set[tuple[str, ...]] = set()

    # --- where we are

    def generic_visit(self, node: ast.AST) -> None:
        """As that of ``NodeVisitor``, in half of its time: a run reads hundreds of files."""
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item)
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                self.visit(value)

    def _inside(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _inside  # noqa: N815

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    # --- what is imported

    def _module(self, module: str, *, is_lazy: bool | None = None) -> None:
        if path_of(module) is not None:
            later = bool(self.depth) if is_lazy is None else is_lazy
            (self.imports.later if later else self.imports.at_once).add(module)

    def _outside(self, name: str) -> None:
        first = name.split(".")[0]
        if first not in sys.stdlib_module_names and path_of(name) is None and f"{first}." not in "odernn.verification.":
            self.imports.outside.add(first)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._outside(alias.name)
            parts = alias.name.split(".")
            for end in range(1, len(parts) + 1):  # a.b.c binds a: all three may be used
                self._module(".".join(parts[:end]))
            self.packages[alias.asname or parts[0]] = alias.name if alias.asname else parts[0]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            above = ".".join(self.package.split(".")[: len(self.package.split(".")) - node.level + 1])
            base = f"{above}.{base}" if base else above
        else:
            self._outside(base)
        for alias in node.names:
            if alias.name == "*":
                self._whole(base)
                self._module(base)
                continue
            self._name(base, alias.name)
            self.packages[alias.asname or alias.name] = f"{base}.{alias.name}"

    def _whole(self, package: str) -> None:
        """All that a package with a stub offers: it may be asked for any of it."""
        for home in _stub(package).values():
            self._module(home, is_lazy=True)

    def _name(self, base: str, name: str) -> None:
        """One name from a module: its stub's home, a submodule, or something that the module itself holds."""
        if home := _stub(base).get(name):
            self._module(home)
        elif path_of(f"{base}.{name}") is not None:
            self._module(f"{base}.{name}")
        else:
            self._module(base)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """``odernn.bounds.certify``, whatever the first name is called here."""
        chain: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            chain.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            self.chains.add((inner.id, *chain))
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.chains.add((node.id,))

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _DOTTED.fullmatch(node.value):
            self._module(node.value, is_lazy=True)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in {"import_module", "__import__"} and node.args:
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            if isinstance(name, str) and not name.startswith("."):
                self._module(name, is_lazy=True)
                self._whole(name)
            else:
                self.imports.is_computed = True
                if self.path.name == "__init__.py" and not _stub(self.module):
                    folder = self.path.parent
                    for sibling in sorted((*folder.glob("*.py"), *folder.glob("*/*.py"))):
                        self._module(name_of(sibling), is_lazy=True)
        self.generic_visit(node)

    def follow_names(self) -> None:
        """Where chains of attributes lead; a package with a stub that is handed on by its name may lead anywhere."""
        for first, *rest in self.chains:
            module = self.packages.get(first, "")
            if not rest:
                self._whole(module)
            for attribute in rest:
                home = _stub(module).get(attribute, f"{module}.{attribute}")
                if path_of(home) is None:
                    break
                self._module(home, is_lazy=True)
                module = home


@cache
def _stub(package: str) -> Mapping[str, str]:
    """The module that each name of a package's stub leads to; {} for a package without one."""
    path = path_of(package) if package else None
    stub = path.with_suffix(".pyi") if path is not None else None
    if stub is None or not stub.is_file():
        return {}
    return dict(_homes(ast.parse(stub.read_text("utf-8"))))


def _homes(stub: ast.Module) -> Iterator[tuple[str, str]]:
    for statement in stub.body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                if alias.asname:
                    inner = f"{statement.module}.{alias.name}"
                    yield alias.asname, inner if path_of(inner) is not None else statement.module


def library_files() -> Iterable[Path]:
    """Every Python file and stub of the library, sorted by name."""
    suffixes = ("*.py", "*.pyi")
    return sorted((path for root in ROOTS.values() for suffix in suffixes for path in root.rglob(suffix)), key=name_of)


def library_digest() -> str:
    """SHA-256 of all of it: to tell one installation from another."""
    return Closure(tuple(library_files()), ()).digest()


def versions() -> dict[str, str]:
    """The packages whose arithmetic results rest on."""
    return {name: _version(name) for name in ("numpy", "torch", "python-flint", "mpmath", "scikit-learn")}
