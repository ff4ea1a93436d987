"""A claim file stands alone: it imports no other one, and nothing that it is made of knows a claim file.

Read from the sources, with imports in functions; and asked of a fresh interpreter that looks one claim up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.test_import_direction import CHECKOUT, imports_in, imports_of, sources, within
from tests.tiers import only

CLAIMS = "verification.claims"
LOADED = ("odernn.folders._", f"{CLAIMS}.")
"""How the names of claim files begin, as the registry loads them and as others might."""
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


@pytest.mark.parametrize(
    "source",
    [
        "from verification.claims.unicornn import vanishing",
        "from verification.claims.unicornn.vanishing import decay_case",
        "import verification.claims.unicornn.vanishing as vanishing",
        "def ask():\n    from verification.claims.unicornn.vanishing import decay_case",
        "from . import vanishing",
        "from ..unicornn.vanishing import decay_case",
        "import importlib\nvanishing = importlib.import_module('verification.claims.unicornn.vanishing')",
    ],
)
def test_a_planted_breach_is_seen(source: str) -> None:
    names = [each.imported for each in imports_of(source, "verification.claims.unicornn.gradient_bounds")]
    assert claim_files_in(names)


def test_what_a_claim_file_may_import_is_no_breach() -> None:
    source = "from verification.claim import Claim\nfrom verification.cases.order import slope_case\nimport odernn"
    names = [each.imported for each in imports_of(source, "verification.claims.unicornn.gradient_bounds")]
    assert len(names) == 3
    assert claim_files_in(names) == []


@pytest.mark.parametrize("identifier", only(["icml-C.1", "sam-69", "cplx-B.2a"], "cplx-B.2a"))
def test_a_claim_is_looked_up_without_loading_another_file(identifier: str) -> None:
    """``icml-C.1`` is of a file that needs nothing; the others are of files that once imported their neighbours."""
    probe = (
        "import json, sys\n"
        "from verification.registry import Registry\n"
        f"found = Registry().get({identifier!r})\n"
        f"claims = [sys.modules[name].__file__ for name in sys.modules if name.startswith({LOADED!r})]\n"
        "print(json.dumps([found.path.stem, claims]))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    stem, claims = json.loads(done.stdout.splitlines()[-1])
    assert [Path(file).stem for file in claims] == [stem]
