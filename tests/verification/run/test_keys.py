"""A job's key holds the text of all code that its result rests on, its data and its packages, and nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cuda.odernn_kernels
import odernn
import verification
from tests.tiers import slow, spread
from verification.registry import Registry
from verification.run import closure as closures
from verification.run import engine, execute, keys
from verification.run.closure import Closure, library_files, name_of, path_of
from verification.run.job import Settings
from verification.run.limits import Limits
from verification.run.plan import plan
from verification.run.store import Store

SOURCES = {"odernn": odernn, "verification": verification, "cuda/odernn_kernels": cuda.odernn_kernels}
ADVERSARY, CERTIFICATE = "verification/adversary/structured.py", "verification/certify/balls.py"
BOUND, CLAIM = "odernn/bounds/icml.py", "verification/claims/unicornn/icml_state.py"
RULES = "verification/answer.py"
HELPER, USERS = "claims/_helper.py", "claims/planted.py"
NOT_IN_KEYS = (
    "verification/run/engine.py",
    "verification/run/store.py",
    "verification/run/plan.py",
    "verification/cli.py",
    "verification/report/formats/latex.py",
)

PLANTED = """
from odernn.published.sources import Source
from verification.claim import Claim, Part, StateBound
from verification.system import UNICORNN, System

def bound(s, numbers):
    return numbers.log(1000000 + 0 * s.time)

def second(s, iv):
    return iv.log(iv.mpf(1000000))

SYSTEM = System("planted", UNICORNN.step, UNICORNN.exact_step, UNICORNN.second_step)
PARTS = (Part("position", "max", bound, second),)
CLAIMS = (
    Claim("planted bound", Source("planted", "nowhere"), "…", "real", state_bound=StateBound(PARTS)),
    Claim("planted system", Source("planted", "nowhere"), "…", "real", state_bound=StateBound(PARTS, system=SYSTEM)),
)
"""

PROGRAM = """
import json, sys
from pathlib import Path
import odernn, verification
from verification.registry import Registry
from verification.run import keys, plan
from verification.run.job import Settings

here = Path.cwd()
assert {Path(each.__file__).parent.parent for each in (odernn, verification)} == {here}

def jobs():
    keys._closure.cache_clear()  # a process plans once
    asked = ("icml-C.1", "sam-D.1-a", "icml-C.1-table6", "sam-D.1-elem", "sco-T1T2", "ode-eq1")  # planned without torch
    settings = Settings(claims=(*asked, "planted bound", "planted system"), claims_dirs=("claims",))
    the_plan = plan.plan(settings, Registry((Path("claims"),)))
    return {
        json.dumps([{name: value for name, value in job.spec.items() if name != "needs"}, number]): job.key
        for number, job in enumerate((*the_plan.measuring, *the_plan.judging))
    }

found = {"": jobs()}
for names in sys.argv[1:]:  # edited together
    texts = {Path(name): Path(name).read_bytes() for name in names.split()}
    for path, text in texts.items():
        path.write_bytes(text + b"\\n# edited\\n")
    found[names] = jobs()
    for path, text in texts.items():
        path.write_bytes(text)
found["restored"] = jobs()
json.dump(found, sys.stdout)
"""


def keys_after_edits(folder: Path, *names: str) -> dict[str, dict[str, str]]:
    """{edited file, or files with blanks between: {job: key}} of a process of its own, "" for them as they are."""
    environment = os.environ | {"PYTHONPATH": "", "PYTHONHASHSEED": "random"}
    command = [sys.executable, "-c", PROGRAM, *names]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name, package in SOURCES.items():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(str(package.__file__)).parent, folder / name, ignore=ignored)
    (folder / "claims").mkdir()
    (folder / USERS).write_text(PLANTED)
    (folder / HELPER).write_text("VALUE = 1\n")
    return folder


@pytest.fixture(scope="module")
def edited(copy: Path) -> dict[str, dict[str, str]]:
    return keys_after_edits(copy, BOUND, ADVERSARY, CERTIFICATE, CLAIM, RULES, HELPER, USERS, " ".join(NOT_IN_KEYS))


def changed(edited: dict[str, dict[str, str]], name: str) -> list[dict[str, Any]]:
    """The specs of the jobs whose key an edit changes."""
    assert edited[name].keys() == edited[""].keys()
    return [json.loads(job)[0] for job, key in edited[name].items() if key != edited[""][job]]


def specs(edited: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    return [json.loads(job)[0] for job in edited[""]]


def test_an_edited_adversary_is_searched_again_and_what_rests_on_it_judged_again(edited: Any) -> None:
    again = [spec["kind"] for spec in changed(edited, ADVERSARY)]
    assert {"search", "control", "judge"} <= set(again)
    assert again.count("search") == sum(spec["kind"] == "search" for spec in specs(edited)) > 50


def test_an_edited_bound_is_judged_again_and_searches_nothing_again(edited: Any) -> None:
    """Trajectories do not depend on the bound that they are compared with."""
    again = {(spec["kind"], spec.get("claim")) for spec in changed(edited, BOUND)}
    assert again == {("judge", "icml-C.1"), ("case", "icml-C.1-table6")}


def test_an_edited_certificate_changes_every_judgement_and_control_that_it_decides_and_no_search(edited: Any) -> None:
    again = [spec["kind"] for spec in changed(edited, CERTIFICATE)]
    assert again.count("judge") == sum(spec["kind"] == "judge" for spec in specs(edited)) > 60
    assert again.count("control") == sum(spec["kind"] == "control" for spec in specs(edited))
    assert "search" not in again and "measure" not in again


def test_an_edited_claim_file_changes_the_keys_of_its_judgements_and_no_other(edited: Any) -> None:
    again = changed(edited, CLAIM)
    assert {(spec["kind"], spec["claim"]) for spec in again} == {("judge", "icml-C.1")}
    assert len(again) == sum(spec.get("claim") == "icml-C.1" for spec in specs(edited))


def test_edited_rules_change_every_question_that_they_judge(edited: Any) -> None:
    """No claim imports its judge, and a verdict must not survive an edit of the rules."""
    again = changed(edited, RULES)
    assert len(again) == sum(spec["kind"] == "case" for spec in specs(edited)) > 20
    assert {spec["kind"] for spec in again} == {"case"}


@pytest.mark.parametrize("name", [HELPER, USERS])
def test_an_edited_file_beside_a_users_claim_changes_all_keys_of_that_folder_and_no_other(
    edited: Any, name: str
) -> None:
    again = changed(edited, name)

    def of_the_folder(spec: dict[str, Any]) -> bool:
        return str(spec.get("claim", "")).startswith("planted") or spec.get("system") == "planted"

    assert all(map(of_the_folder, again))
    assert len(again) == sum(map(of_the_folder, specs(edited)))
    assert {spec["kind"] for spec in again} == {"search", "control", "judge"}


def test_how_jobs_are_planned_spread_kept_and_shown_is_in_no_key(edited: Any) -> None:
    """All of them edited at once: a key that held one of them would differ."""
    assert edited[" ".join(NOT_IN_KEYS)] == edited[""]


def test_keys_are_the_same_again_in_another_process_and_another_folder(edited: Any, copy: Path, tmp_path: Path) -> None:
    assert edited["restored"] == edited[""]
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(copy, elsewhere)
    assert keys_after_edits(elsewhere)[""] == edited[""]


# --- for every claim, every file


@cache
def registry() -> Registry:
    return Registry()


def reading(*edits: Path) -> Callable[[Path], bytes]:
    """Texts that are the names of their files, but for those that are edited."""
    return lambda path: name_of(path).encode() + (b" edited" if path in edits else b"")


def planned_keys(claim: str, monkeypatch: pytest.MonkeyPatch, *edits: Path) -> list[str]:
    """The keys of all jobs of a claim, as if these files of the library had been edited."""
    monkeypatch.setattr(keys.Keys.__init__, "__defaults__", (reading(*edits),))
    the_plan = plan(Settings(claims=(claim,)), registry())
    return [job.key for job in (*the_plan.measuring, *the_plan.judging)]


@pytest.mark.parametrize("claim", spread(registry().ids(), 4))
def test_a_claims_keys_change_with_a_file_of_its_closure_and_with_no_other(
    claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file of each side by chance for every claim; that a digest holds every file is the test below."""
    file, chance = registry().path(claim), random.Random(claim)
    kinds = {job.kind for job in plan(Settings(claims=(claim,)), registry()).judging}
    closures = [
        set(keys.closure_of(kind, file).files) for kind in kinds
    ]  # two of a bound on states with cases beside it
    inside, everything = set.intersection(*closures), set.union(*closures)
    everything = everything | {
        path for kind in ("search", "control", "measure") for path in keys.closure_of(kind).files
    }
    outside = sorted(set(library_files()) - everything)
    judged = len(plan(Settings(claims=(claim,)), registry()).judging)
    before = planned_keys(claim, monkeypatch)
    assert 1 <= len(kinds) <= 2 and len(before) >= judged > 0
    for edit in (chance.choice(sorted(inside)), file):
        after = planned_keys(claim, monkeypatch, edit)
        assert not set(before[-judged:]) & set(after[-judged:])
    assert planned_keys(claim, monkeypatch, chance.choice(outside)) == before


@pytest.mark.parametrize("every_so_many", [40, slow(1)])
def test_a_digest_holds_every_file_of_a_closure_and_reads_no_other(every_so_many: int) -> None:
    """Every closure there is, every file there is: one that is not read cannot change it."""
    found: set[Closure] = {keys.closure_of(kind) for kind in ("search", "control", "measure")}
    for claim in registry().ids():
        found |= {keys.closure_of(kind, registry().path(claim)) for kind in ("judge", "case")}
    assert len(found) > 100
    for each in found:
        read: list[Path] = []
        alone = each.digest(lambda path, read=read: read.append(path) or reading()(path))  # type: ignore[misc]
        assert tuple(read) == each.files
        assert all(each.digest(reading(path)) != alone for path in each.files[::every_so_many])


def test_the_rules_and_the_claim_are_in_every_judgement() -> None:
    for claim in registry().ids():
        file = registry().path(claim)
        for kind, rules in (("case", "verification.answer"), ("judge", "verification.cases.state_bound.judge")):
            needed = {file, *map(path_of, (rules, "verification.verdict", "verification.claim"))}
            assert needed <= set(keys.closure_of(kind, file).files)


# --- packages, data, and what is no part of a key


def test_a_key_holds_the_versions_of_the_packages_that_it_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    one = plan(Settings(claims=("sam-D.1-b",)), Registry()).judging[0]
    known = keys.closure_of("judge", registry().path("sam-D.1-b")).versions()
    assert {"numpy", "torch", "flint", "mpmath"} <= set(known)
    monkeypatch.setattr(closures, "_version", lambda name: "0" if name == "mpmath" else known.get(name, ""))
    assert plan(Settings(claims=("sam-D.1-b",)), Registry()).judging[0].key != one.key


def test_measurements_on_mnist_hold_its_file_and_other_jobs_do_not(tmp_path: Path) -> None:
    def made(text: bytes) -> dict[str, set[str]]:
        (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(text)
        the_plan = plan(Settings(claims=("sam-D.1-b",), task="mnist", data=str(tmp_path)), Registry())
        return {
            side: {job.key for job in the_plan.measuring if (job.spec.get("input") == "data") is (side == "data")}
            for side in ("data", "other")
        }

    one, other = made(b"one"), made(b"other")
    assert one["data"] and not one["data"] & other["data"] and one["other"] == other["other"]


def test_the_number_of_workers_their_limits_and_the_name_of_the_store_are_in_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = plan(Settings(claims=("sam-D.1-b",)), Registry())
    few = replace(whole, measuring=whole.measuring[:3], judging=whole.judging[:2])
    asked = []

    def failing(function: Any, jobs: Any, *, workers: int, limits: Limits, watch: Any) -> list[engine.Finished]:
        keys_ = [key for key, _ in jobs]
        asked.append((workers, {*keys_}))
        return [engine.Finished(key, None, "not tried", 0.0) for key in keys_]

    monkeypatch.setattr(engine, "run", failing)
    kept = []
    for name, workers in (("a.sqlite", 0), ("b.sqlite", 1), ("c.sqlite", 7)):
        with Store(tmp_path / name, writable=True) as store:
            for key in {key for job in few.judging for key in job.needs} - {job.key for job in few.measuring}:
                store.put(key, kind="search", spec={}, data={"error": "not tried"}, arrays={}, wall_s=0.0)
            execute.execute(few, store, workers=workers, limits=Limits(1.0 + workers, workers))
            kept.append(store.has(job.key for job in (*few.measuring, *few.judging)))
    assert [workers for workers, _ in asked] == [0, 0, 1, 1, 7, 7]
    assert asked[0][1] == asked[2][1] == asked[4][1] == {job.key for job in few.measuring}
    assert asked[1][1] == asked[3][1] == asked[5][1] == {job.key for job in few.judging}
    assert kept[0] == kept[1] == kept[2] and len(kept[0]) == 5
