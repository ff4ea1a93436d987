"""The text at the top of a folder says what is in it, and what it offers can be reached from ``odernn``."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import only

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "exact",
    "published",
    "tableaus",
    "tableaus.catalogue",
    "integrators",
    "orthogonal",
    "bounds",
    "bounds.network",
    "architecture",
    "architecture.network",
    "architecture.probe",
    "written",
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_text_of_a_folder_names_its_files(folder: str) -> None:
    package = importlib.import_module(f"odernn.{folder}")
    files = [found.name for found in pkgutil.iter_modules(package.__path__) if not found.name.startswith("_")]
    assert files and [name for name in files if name not in str(package.__doc__)] == []


@pytest.mark.parametrize(
    "expression",
    only(
        [
            "odernn.bounds.certify",
            "odernn.bounds.jacobian.rate_bound",
            "odernn.bounds.sharp.log_suprema_at",
            "odernn.architecture.graph_of",
            "odernn.architecture.files.read",
            "odernn.fields.Oscillator",
            "odernn.integrators.prepared",
            "odernn.tableaus.GAUSS_2",
        ],
        "odernn.bounds.certify",
        "odernn.tableaus.GAUSS_2",
    ),
)
def test_one_import_of_the_library_is_enough(expression: str) -> None:
    """In a fresh interpreter, where no other test has imported the module that is meant."""
    subprocess.run([sys.executable, "-c", f"import odernn; {expression}"], check=True, cwd=CHECKOUT)
