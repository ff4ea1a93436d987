"""A claim file stands alone: how test_import_direction sees that it imports no other one, and that none is loaded.

Read from the sources, with imports in functions; and asked of a fresh interpreter that looks one claim up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.test_import_direction import CHECKOUT, CLAIMS, claim_files_in, imports_of
from tests.tiers import only

LOADED = ("odernn.folders._", f"{CLAIMS}.")
"""How the names of claim files begin, as the registry loads them and as others might."""


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
