"""Wheel and source distribution: the same bytes from every copy of the sources, whole, and nothing else in them."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging import distributions, wheel_check
from tests.packaging.distributions import CHECKOUT, PackagingError

GOOD = {
    "odernn/__init__.py",
    "odernn/__init__.pyi",
    "odernn/py.typed",
    "verification/__init__.py",
    "verification/py.typed",
    "verification/readings/made.toml",
    "verification/report/html/templates/page.html.jinja",
    "verification/report/html/templates/page.css",
    "verification/report/html/templates/page.js",
    "cuda/odernn_kernels/__init__.py",
    "cuda/odernn_kernels/py.typed",
    "cuda/odernn_kernels/kernels/step.cu",
    "cuda/odernn_kernels/kernels/step.cuh",
}
BACKEND = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "odernn"
version = "7"
"""
"""A project of one module, built in half a second."""


# --- what is in them


def test_a_complete_wheel_has_no_slips() -> None:
    assert distributions.slips_of_contents(GOOD | {"odernn-0.1.0.dist-info/METADATA"}, GOOD) == []


@pytest.mark.parametrize(
    ("shipped", "named"),
    [
        (GOOD - {"cuda/odernn_kernels/kernels/step.cu"}, "step.cu"),
        (GOOD - {"verification/py.typed"}, "verification/py.typed"),
        (GOOD - {"verification/report/html/templates/page.js"}, "no file ends in .js"),
        (GOOD | {"tests/packaging/wheel_check.py"}, "tests"),
        (GOOD | {"benchmarks/steps.py"}, "benchmarks"),
        (GOOD | {"cuda/__init__.py"}, "cuda/__init__.py"),
    ],
)
def test_a_planted_slip_is_named(shipped: set[str], named: str) -> None:
    slips = distributions.slips_of_contents(shipped, GOOD)
    assert slips and any(named in slip for slip in slips)


def test_the_checkout_has_what_its_distributions_need() -> None:
    files = distributions.files_of(CHECKOUT)
    assert {
        "Makefile",
        "constraints.txt",
        "CITATION.cff",
        "CHANGELOG.md",
        "docs/index.md",
        "tests/conftest.py",
    } <= files
    assert all(any(name.endswith(end) for name in files if name.startswith("verification/")) for end in (".js", ".css"))
    assert len(files) > 2000 and not any(name.endswith((".pyc", ".sqlite")) for name in files)


# --- the same bytes


def made_project(folder: Path) -> Path:
    (folder / "odernn").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(BACKEND)
    (folder / "odernn" / "__init__.py").write_text("")
    return folder


def test_a_project_built_from_two_copies_is_the_same_and_planted_differences_are_told(tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    (wheel, sdist), differ = distributions.reproduced(tmp_path / "built", project)
    assert differ == [] and {*distributions.members(sdist)} == {"PKG-INFO", "pyproject.toml", "odernn/__init__.py"}
    assert distributions.slips_of_sdist(sdist, project) == []
    (project / "odernn" / "late.py").write_text("")
    assert distributions.slips_of_sdist(sdist, project) == ["missing from the source distribution: odernn/late.py"]
    later = distributions.built(project, tmp_path / "later", epoch=distributions.EPOCH + 60)
    for one, other in zip((wheel, sdist), later, strict=True):
        told = distributions.differences(one, other)
        assert f"only in one {one.name}: odernn/late.py" in told
        assert any(line.startswith(f"{one.name}, odernn/__init__.py: ") for line in told), "the other time"


def test_a_builder_that_keeps_owner_mode_or_time_is_seen(tmp_path: Path) -> None:
    """What the backend of setuptools leaves in its archives."""

    def archived(name: str, mode: int, uid: int, mtime: int) -> Path:
        path = tmp_path / name / "odernn-7.tar.gz"
        path.parent.mkdir()
        with tarfile.open(path, "w:gz") as archive:
            info = tarfile.TarInfo("odernn-7/a.py")
            info.mode, info.uid, info.mtime = mode, uid, mtime
            archive.addfile(info)
        return path

    first = archived("first", 0o644, 0, 1)
    for name, changed in {"mode": (0o600, 0, 1), "owner": (0o644, 1000, 1), "time": (0o644, 0, 2)}.items():
        (told,) = distributions.differences(first, archived(name, *changed))
        assert told.startswith("odernn-7.tar.gz, a.py: ")
    wheels = []
    for mode in (0o644, 0o600):
        path = tmp_path / f"{mode}" / "odernn-7.whl"
        path.parent.mkdir()
        with zipfile.ZipFile(path, "w") as archive:
            info = zipfile.ZipInfo("odernn/a.py")
            info.external_attr = mode << 16
            archive.writestr(info, "")
        wheels.append(path)
    assert distributions.differences(*wheels) == [
        "odernn-7.whl, odernn/a.py: (1980, 1, 1, 0, 0, 0) 644, (1980, 1, 1, 0, 0, 0) 600"
    ]


def test_a_project_that_cannot_be_built_says_why(tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    (project / "pyproject.toml").write_text(BACKEND.replace('version = "7"', ""))
    with pytest.raises(PackagingError, match="version"):
        distributions.built(project, tmp_path / "made")


@pytest.mark.slow
def test_both_are_the_same_bytes_from_two_copies_and_hold_the_checkout(tmp_path: Path) -> None:
    (wheel, sdist), differ = distributions.reproduced(tmp_path)
    assert differ == [] and distributions.slips_of_wheel(wheel) == [] and distributions.slips_of_sdist(sdist) == []
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert distributions.differences(wheel, distributions.built(source, tmp_path / "again")[0]) == []


def test_the_targets_take_the_time_of_the_commit(tmp_path: Path) -> None:
    """Of what make would run; a time that is given counts, and a source distribution has no commit."""

    outside = {k: v for k, v in os.environ.items() if k not in {"SOURCE_DATE_EPOCH", "MAKEFLAGS", "MFLAGS"}}

    def recipe(folder: Path, *arguments: str) -> str:
        command = ["make", "--dry-run", "wheel", "sdist", *arguments]
        return subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, check=True).stdout

    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        (bare / name).write_bytes((CHECKOUT / name).read_bytes())
    assert "SOURCE_DATE_EPOCH" not in recipe(bare)
    assert recipe(bare, "SOURCE_DATE_EPOCH=77").count("SOURCE_DATE_EPOCH=77 ") == 2
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "one"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        environment = {**os.environ, "GIT_COMMITTER_DATE": "@88 +0000"}
        subprocess.run(["git", *who, *command], cwd=bare, check=True, env=environment)
    assert recipe(bare).count("SOURCE_DATE_EPOCH=88 ") == 2


def test_the_pinned_backend_is_the_one_of_the_project() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    (needed,) = project["build-system"]["requires"]
    assert needed.startswith("hatchling>=") and needed in project["project"]["optional-dependencies"]["test"]
    assert "\nhatchling==" in (CHECKOUT / "constraints.txt").read_text("utf-8")


# --- the check of both in an environment of their own


def test_an_import_from_outside_the_environment_is_a_slip(tmp_path: Path) -> None:
    """`json` comes with the interpreter, so it does not lie in the made-up environment."""
    with pytest.raises(PackagingError, match="json was imported from"):
        wheel_check.check_imports(Path(sys.executable), "json", folder=tmp_path, environment=tmp_path)


def test_a_failing_command_shows_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match="no_such_module"):
        wheel_check.check_imports(Path(sys.executable), "no_such_module", folder=tmp_path, environment=tmp_path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('echo "odernn 8"', "does not print '7'"),
        ('echo "odernn 7"; [ "$1" != tableau ]', "exited with 1"),
        ('echo "odernn 7 order"; [ "$1" != verify ] || echo "0 of 1 claim refuted"', "1 of 1 claim refuted"),
        ('echo "odernn 7 order 1 of 1 claim refuted; results are in odernn.sqlite" | tee report.html', "lacks icml"),
    ],
)
def test_a_program_that_lost_something_is_seen(lines: str, message: str, tmp_path: Path) -> None:
    program = tmp_path / "odernn"
    program.write_text(f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    with pytest.raises(PackagingError, match=message):
        wheel_check.check_commands(program, "7", tmp_path / "elsewhere")
