"""The index of claims is that of the files, and their first lines name what they export."""

from __future__ import annotations

from pathlib import Path

from tests import scripts
from verification.registry import CLAIMS, Registry, announced

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_that_of_the_files() -> None:
    """`python docs/claim_index.py` writes it again."""
    index = scripts.loaded(DOCS / "claim_index.py")
    text = (DOCS / "claim_index.md").read_text("utf-8")
    assert text == index.page()
    assert all(identifier in text for identifier in Registry().ids())


def test_every_file_names_its_claims_in_its_first_line() -> None:
    """That they are the ones it exports is checked whenever a file is loaded."""
    files = sorted(CLAIMS.glob("*/[!_]*.py"))
    assert len(files) > 50 and all(announced(path) for path in files)
    assert sum(len(announced(path)) for path in files) == len(Registry().ids())
