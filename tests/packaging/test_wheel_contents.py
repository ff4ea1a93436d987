"""The checker of `make wheel-check` on made-up lists of files: what it accepts, and the slips it must see."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests import scripts

GOOD = {
    "odernn/__init__.py",
    "odernn/py.typed",
    "verification/__init__.py",
    "verification/py.typed",
    "cuda/odernn_kernels/__init__.py",
    "cuda/odernn_kernels/py.typed",
    "cuda/odernn_kernels/kernels/step.cu",
}


@pytest.fixture(scope="module")
def wheel_check() -> ModuleType:
    return scripts.loaded(Path(__file__).with_name("wheel_check.py"))


def test_a_complete_wheel_has_no_slips(wheel_check: ModuleType) -> None:
    assert wheel_check.slips_of_contents(GOOD | {"odernn-0.1.0.dist-info/METADATA"}, GOOD) == []


@pytest.mark.parametrize(
    ("shipped", "named"),
    [
        (GOOD - {"cuda/odernn_kernels/kernels/step.cu"}, "step.cu"),
        (GOOD - {"verification/py.typed"}, "verification/py.typed"),
        (GOOD | {"tests/packaging/wheel_check.py"}, "tests"),
        (GOOD | {"benchmarks/steps.py"}, "benchmarks"),
        (GOOD | {"cuda/__init__.py"}, "cuda/__init__.py"),
    ],
)
def test_a_planted_slip_is_named(wheel_check: ModuleType, shipped: set[str], named: str) -> None:
    slips = wheel_check.slips_of_contents(shipped, GOOD)
    assert slips and any(named in slip for slip in slips)


def test_an_import_from_outside_the_environment_is_a_slip(wheel_check: ModuleType, tmp_path: Path) -> None:
    """`json` comes with the interpreter, so it does not lie in the made-up environment."""
    with pytest.raises(wheel_check.PackagingError, match="json was imported from"):
        wheel_check.check_imports(Path(sys.executable), "json", folder=tmp_path, environment=tmp_path)


def test_a_failing_command_shows_what_it_printed(wheel_check: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(wheel_check.PackagingError, match="no_such_module"):
        wheel_check.check_imports(Path(sys.executable), "no_such_module", folder=tmp_path, environment=tmp_path)
