"""A job's key holds the text of all code that its result rests on, read from files as they are, and nothing else."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import odernn
import verification
from verification.registry import Registry
from verification.run import plan as run
from verification.run.store import Store

PACKAGES = {"odernn": Path(odernn.__file__).parent, "verification": Path(verification.__file__).parent}
ADVERSARY, CERTIFICATE = "verification/adversary/structured.py", "verification/certify/second/intervals.py"
BOUND, CLAIM = "odernn/bounds/icml.py", "verification/claims/unicornn/icml_state.py"
HELPER, USERS = "claims/_helper.py", "claims/planted.py"
LAZY = (
    "odernn/__init__.py",
    "odernn/tableaus/tableau.py",
    "odernn/tableaus/__init__.py",
    "odernn/integrators/guarantees.py",
    "verification/__init__.py",
)
"""Not followed: they fetch names when asked for, lend `Source`, a note in a claim, say what holds for a cell and
compute none of its numbers, or hold nothing but a sentence.
"""
NOT_IN_KEYS = (
    "verification/run/engine.py",
    "verification/run/store.py",
    "verification/cli.py",
    "verification/report/formats/latex.py",
)

PLANTED = """
from odernn.tableaus.tableau import Source
from verification.claim import Claim, Part
from verification.system import UNICORNN, System

def bound(s, numbers):
    return numbers.log(1000000 + 0 * s.time)

def second(s, iv):
    return iv.log(iv.mpf(1000000))

SYSTEM = System("planted", UNICORNN.step, UNICORNN.exact_step, UNICORNN.second_step)
PARTS = (Part("position", "max", bound, second),)
CLAIMS = (
    Claim("planted bound", Source("planted", "nowhere"), "…", PARTS),
    Claim("planted system", Source("planted", "nowhere"), "…", PARTS, system=SYSTEM),
)
"""

PROGRAM = """
import json, sys
from pathlib import Path
import odernn, verification
from verification import run
from verification.claim import Registry

here = Path.cwd()
assert {Path(each.__file__).parent.parent for each in (odernn, verification)} == {here}
caches = [each for each in vars(run).values() if hasattr(each, "cache_clear")]

def registry():
    return Registry((Path("claims"),))

def jobs(registry):
    for cache in caches:
        cache.cache_clear()
    plan = run.plan(run.Settings(claims_dirs=("claims",)), registry)
    return {
        json.dumps([{name: value for name, value in job.spec.items() if name != "needs"}, number]): job.key
        for number, job in enumerate((*plan.measuring, *plan.judging))
    }

known = registry()
found = {"": jobs(known)}
for name in sys.argv[1:]:
    text = Path(name).read_bytes()
    Path(name).write_bytes(text + b"\\n# edited\\n")
    found[name] = jobs(registry() if "claims/" in name else known)  # a registry holds the text of claim files alone
    Path(name).write_bytes(text)
found["restored"] = jobs(registry())
json.dump(found, sys.stdout)
"""


def keys_after_edits(folder: Path, *names: str) -> dict[str, dict[str, str]]:
    """{edited file: {job: key}} of a process of its own, "" for the files as they are."""
    environment = os.environ | {"PYTHONPATH": "", "PYTHONHASHSEED": "random"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def files_of(module: str) -> set[Path]:
    """The file of a module of the two packages; nothing for other modules and for names within a module."""
    first, *rest = module.split(".")
    if first not in PACKAGES:
        return set()
    place = PACKAGES[first].joinpath(*rest)
    return {file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()}


def needed_by(*modules: str) -> set[str]:
    """All files that the modules import, directly or through others, as "package/…/file.py"; not through LAZY ones."""
    lazy = {PACKAGES[name.split("/")[0]].parent / name for name in LAZY}
    todo, seen = {file for module in modules for file in files_of(module)}, set()
    while todo := todo - lazy - seen:
        file = todo.pop()
        seen.add(file)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                names = []
            todo |= {each for name in names for each in files_of(name)}
    roots = {file: next(folder.parent for folder in PACKAGES.values() if folder in file.parents) for file in seen}
    return {file.relative_to(root).as_posix() for file, root in roots.items()}


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name, source in PACKAGES.items():
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "claims").mkdir()
    (folder / USERS).write_text(PLANTED)
    (folder / HELPER).write_text("VALUE = 1\n")
    return folder


@pytest.fixture(scope="module")
def edited(copy) -> dict[str, dict[str, str]]:
    return keys_after_edits(copy, BOUND, ADVERSARY, CERTIFICATE, CLAIM, HELPER, USERS, *NOT_IN_KEYS)


def changed(edited, name: str) -> list[dict]:
    """The specs of the jobs whose key an edit changes."""
    assert edited[name].keys() == edited[""].keys()
    return [json.loads(job)[0] for job, key in edited[name].items() if key != edited[""][job]]


@pytest.mark.parametrize("name", [BOUND, ADVERSARY, CERTIFICATE])
def test_an_edited_bound_adversary_or_certificate_changes_every_key(edited, name):
    assert len(changed(edited, name)) == len(edited[""]) > 100


def test_an_edited_claim_file_changes_the_keys_of_its_judgements_and_no_other(edited):
    specs = changed(edited, CLAIM)
    assert {(spec["kind"], spec["claim"]) for spec in specs} == {("judge", "icml-C.1")}
    assert len(specs) == sum(json.loads(job)[0].get("claim") == "icml-C.1" for job in edited[""])


@pytest.mark.parametrize("name", [HELPER, USERS])
def test_an_edited_file_beside_a_users_claim_changes_all_keys_of_that_folder_and_no_other(edited, name):
    specs = changed(edited, name)

    def of_the_folder(spec):
        return str(spec.get("claim", "")).startswith("planted") or spec.get("system") == "planted"

    assert all(map(of_the_folder, specs))
    assert len(specs) == sum(of_the_folder(json.loads(job)[0]) for job in edited[""])
    assert {spec["kind"] for spec in specs} == {"search", "control", "judge"}


@pytest.mark.parametrize("name", NOT_IN_KEYS)
def test_how_jobs_are_spread_kept_and_shown_is_in_no_key(edited, name):
    assert edited[name] == edited[""]


def test_keys_are_the_same_again_in_another_process_and_another_folder(edited, copy, tmp_path):
    assert edited["restored"] == edited[""]
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(copy, elsewhere)
    assert keys_after_edits(elsewhere)[""] == edited[""]


def test_whatever_the_measuring_and_judging_code_imports_is_in_the_keys(copy):
    """Found from the import statements, so that a file that is new, or newly used, is not forgotten."""
    needed = sorted(needed_by("verification.run.jobs", "verification.cases.state_bound.judge"))
    assert {ADVERSARY, CERTIFICATE, "odernn/executions/recurrence.py", "verification/tasks/mnist.py"} <= set(needed)
    found = keys_after_edits(copy, *needed)
    kinds = {name: {spec["kind"] for spec in changed(found, name)} for name in needed}
    assert [name for name in needed if "judge" not in kinds[name]] == []
    only_judging = [name for name in needed if kinds[name] == {"judge"}]
    measuring = needed_by("verification.run.jobs")
    assert [name for name in only_judging if name in measuring] == []


def test_the_number_of_workers_and_the_name_of_the_store_are_in_no_key(tmp_path, monkeypatch):
    whole = run.plan(run.Settings(claims=("sam-D.1-b",)), Registry())
    few = replace(whole, measuring=whole.measuring[:3], judging=whole.judging[:2])
    asked = []

    def failing(function, jobs, workers):
        asked.append((workers, {key for key, _ in jobs}))
        return [run.engine.Finished(key, None, "not tried", 0.0) for key, _ in jobs]

    monkeypatch.setattr(run.engine, "run", failing)
    kept = []
    for name, workers in (("a.sqlite", 0), ("b.sqlite", 1), ("c.sqlite", 7)):
        with Store(tmp_path / name, writable=True) as store:
            run.execute(few, store, workers=workers)
            kept.append(store.has(job.key for job in (*few.measuring, *few.judging)))
    assert [workers for workers, _ in asked] == [0, 0, 1, 1, 7, 7]
    assert asked[0][1] == asked[2][1] == asked[4][1] == {job.key for job in few.measuring}
    assert asked[1][1] == asked[3][1] == asked[5][1] == {job.key for job in few.judging}
    assert kept[0] == kept[1] == kept[2] and len(kept[0]) == 5


def test_whatever_a_question_imports_is_in_its_keys():
    """Files of this package by the list of what is hashed; of odernn everything is."""
    root = Path(run.__file__).parent
    hashed = {path for part in run._ASKING for path in run._files(root / part)}
    files = sorted((root / "claims").glob("*.py"))
    needed = {root.parent / name for name in needed_by("verification.answer", *(_module(path) for path in files))}
    ours = {path for path in needed if root in path.parents and path.name != "__init__.py"}
    assert {root / "answer.py", root / "question.py"} <= ours
    assert sorted(ours - hashed - set(files)) == []


def _module(path: Path) -> str:
    return f"verification.claims.{path.stem}"
