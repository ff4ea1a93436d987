"""Import closures: what a text imports is found without running it, and what a run loads is never more."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from verification.registry import CLAIMS, announced
from verification.run.closure import ROOTS, closure, files_of, imports_of, library_files, name_of, path_of
from verification.run.keys import closure_of

CHECKOUT = Path(__file__).resolve().parents[3]


def read(folder: Path, text: str) -> tuple[set[str], set[str], set[str]]:
    """What a file with this text imports: at once, later, from outside."""
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    imports = imports_of(path)
    return imports.at_once, imports.later, imports.outside


@pytest.mark.parametrize(
    ("text", "at_once", "later"),
    [
        ("from odernn.bounds import icml", {"odernn.bounds.icml"}, set()),
        ("from odernn.bounds.icml import position", {"odernn.bounds.icml"}, set()),
        ("import odernn.bounds.icml", {"odernn", "odernn.bounds", "odernn.bounds.icml"}, set()),
        ("def f():\n    from odernn.bounds import icml", set(), {"odernn.bounds.icml"}),
        ("f = lambda: __import__('odernn.bounds.icml')", set(), {"odernn.bounds.icml"}),
        ("class A:\n    from odernn.bounds import icml", {"odernn.bounds.icml"}, set()),
        ("if True:\n    from odernn.bounds import icml", {"odernn.bounds.icml"}, set()),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import odernn.bounds.icml", set(), set()),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    from odernn.bounds import icml",
            {"odernn.bounds.icml"},
            set(),
        ),
        ("HOME = {'a': 'odernn.bounds.icml', 'b': 'no.such.module'}", set(), {"odernn.bounds.icml"}),
        ("from odernn import order", {"odernn.properties.order"}, set()),
        ("from odernn import recurrence", {"odernn.executions.recurrence"}, set()),
        ("from odernn import bounds\nbounds.certify", {"odernn.bounds"}, {"odernn.bounds.network"}),
        ("from odernn.cells import get", {"odernn.cells"}, set()),
        ("from verification import no_such_name", {"verification"}, set()),
        ("import odernn\nodernn.bounds.certify", {"odernn"}, {"odernn.bounds", "odernn.bounds.network"}),
        ("import odernn as o\no.bounds.icml.log_bound", {"odernn"}, {"odernn.bounds", "odernn.bounds.icml"}),
        ("TYPE_CHECKING = 0\nif not TYPE_CHECKING:\n    from odernn.bounds import icml", {"odernn.bounds.icml"}, set()),
    ],
)
def test_an_import_is_found_in_a_text(tmp_path: Path, text: str, at_once: set[str], later: set[str]) -> None:
    assert read(tmp_path, text)[:2] == (at_once, later)


@pytest.mark.parametrize(
    "text",
    [
        "from odernn.bounds import *",
        "from odernn import bounds\nb = bounds",
        "from odernn import bounds\ngetattr(bounds, 'icml')",
        "import importlib\nimportlib.import_module('odernn.bounds').icml",
    ],
)
def test_a_package_that_is_handed_on_may_be_asked_for_anything(tmp_path: Path, text: str) -> None:
    at_once, later, _ = read(tmp_path, text)
    assert {"odernn.bounds.icml", "odernn.bounds.network", "odernn.bounds.words"} <= at_once | later


def test_a_users_file_that_computes_imports_may_mean_any_file_of_the_library(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import importlib\nimportlib.import_module('odernn.' + 'order')\n")
    assert set(closure("verification.answer", folder=tmp_path).files) == set(library_files())


def test_a_users_folder_is_what_its_python_files_may_read(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from helpers import one\nTABLE = 'constants.json'\n")
    (tmp_path / "_also.py").write_text("broken(")
    (tmp_path / "helpers").mkdir()
    for name in ("helpers/one.py", "constants.json", "odernn.sqlite", ".hidden", "notes.txt"):
        (tmp_path / name).write_text("1")
    (tmp_path / "witnesses").mkdir()
    named = dict(files_of(tmp_path))
    assert set(named) == {"mine.py", "_also.py", "helpers/one.py", "constants.json"}
    before = closure("verification.answer", folder=tmp_path).digest()
    (tmp_path / "constants.json").write_text("2")
    assert closure("verification.answer", folder=tmp_path).digest() != before
    (tmp_path / "constants.json").write_text("1")
    assert closure("verification.answer", folder=Path(os.path.relpath(tmp_path))).digest() == before


def test_packages_of_others_are_named_and_those_of_python_are_not(tmp_path: Path) -> None:
    text = "import os.path, numpy as np\nfrom flint import arb\ndef f():\n    import sklearn.datasets\nimport odernn"
    assert read(tmp_path, text)[2] == {"numpy", "flint", "sklearn"}


def test_a_computed_import_may_mean_any_module_of_its_folder() -> None:
    later = imports_of(ROOTS["odernn"] / "cells" / "__init__.py").later
    assert {"odernn.cells.cornn", "odernn.cells.unicornn", "odernn.cells.common.arguments"} <= later


def test_only_packages_import_what_they_compute() -> None:
    """Elsewhere a closure would miss it. The others: files of one's own, commands, notebooks; no job rests on them."""
    computing = set()
    importing = "import_module", "__import__"
    for path in library_files():
        text = path.read_text("utf-8")
        if path.name == "__init__.py" or not any(name in text for name in importing):
            continue
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        names = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls if is_computed(call)}
        if names & set(importing):
            computing.add(name_of(path))
    assert computing == {"odernn.folders", "odernn.notebook", "verification.cli", "verification.commands.doctor"}


def is_computed(call: ast.Call) -> bool:
    return bool(call.args) and not isinstance(call.args[0], ast.Constant)


def test_a_package_that_is_only_passed_through_does_not_bring_all_its_cells() -> None:
    through = {name_of(path) for path in closure("odernn.cells.cornn").files}
    asked = {name_of(path) for path in closure("odernn.cells").files}
    assert "odernn.cells" in through and "odernn.cells.lem" not in through
    assert "odernn.cells.lem" in asked and "odernn.cells.cornn" in asked


def test_a_closure_holds_the_closures_of_its_modules() -> None:
    files = closure("verification.answer").files
    modules = [path for path in files if path.suffix == ".py" and path.name != "__init__.py"]
    assert len(modules) > 8 and all(set(closure(name_of(path)).files) <= set(files) for path in modules)
    assert path_of("verification.claim") in files and path_of("verification.run.store") not in files


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    assert read(tmp_path, "from odernn.bounds import icml")[0] == {"odernn.bounds.icml"}
    assert read(tmp_path, "from odernn.bounds import sam")[0] == {"odernn.bounds.sam"}


def test_what_is_no_module_has_no_closure() -> None:
    with pytest.raises(ValueError, match=r'"odernn\.nowhere" is no module'):
        closure("odernn.nowhere")


def test_nothing_of_others_that_share_the_name_cuda_is_a_file_of_the_library() -> None:
    names = [name_of(path) for path in library_files()]
    assert len(names) > 450 and len(set(names)) == len(names)
    assert all(name.startswith(("odernn", "verification", "cuda.odernn_kernels")) for name in names)
    assert path_of("cuda") is None


def test_a_name_longer_than_that_of_a_file_is_no_module() -> None:
    assert path_of("verification." + 300 * "x") is None


# --- against what really is loaded

FAST = ("sam-D.1-b",)
ALL = tuple(ids[0] for ids in map(announced, sorted(CLAIMS.glob("*/[!_]*.py"))) if ids)
PROGRAM = """
import json, sys, tempfile
from pathlib import Path
from verification.registry import Registry
from verification.run.execute import execute
from verification.run.job import Settings
from verification.run.plan import plan
from verification.run.store import Store

from verification.run import jobs as kinds

registry = Registry()
before = set(sys.modules)  # planning alone; the claim's file and all that it brings come now
jobs = plan(Settings(claims=(sys.argv[1],)), registry).judging[:int(sys.argv[2])]
for job in jobs:
    if job.kind == "case":
        kinds.perform(job, Settings())
    else:
        import verification.run.jobs.judge, verification.run.jobs.search, verification.run.jobs.control
files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if name not in before]
json.dump({"kinds": sorted({job.kind for job in jobs}), "path": str(registry.path(registry.ids()[0])),
           "file": str(registry.path(sys.argv[1])), "loaded": [file for file in files if file]}, sys.stdout)
"""


def loaded_by(claim: str, cases: int) -> tuple[list[str], Path, set[Path]]:
    """The kinds of the claim's jobs, its file, and the files of the library that doing them loads."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, claim, str(cases)], cwd=CHECKOUT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    ours = {path for path in map(Path, said["loaded"]) if name_of(path) != str(path)}
    return said["kinds"], Path(said["file"]), ours


def kinds_of(kind: str) -> tuple[str, ...]:
    return ("case",) if kind == "case" else ("judge", "search", "control")


@pytest.mark.parametrize(
    "claim", [pytest.param(one, marks=() if one in FAST else (pytest.mark.slow,)) for one in sorted({*FAST, *ALL})]
)
def test_what_a_job_loads_is_in_its_closure(claim: str) -> None:
    kinds, file, loaded = loaded_by(claim, 1000 if claim not in FAST else 1)
    expected = {path for kind in kinds for each in kinds_of(kind) for path in closure_of(each, file).files}
    dispatch = {path_of("verification.run.jobs"), path_of("verification.run.store")}  # who opens the store for it
    assert loaded and sorted(map(name_of, loaded - expected - dispatch)) == []
