"""The page of changed verdicts is that of the pins and readings, and gives a passage for each change."""

from __future__ import annotations

import json
from pathlib import Path

from tests import scripts

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_that_of_the_pins_and_names_a_passage_for_every_change() -> None:
    """`python docs/verdict_changes.py` writes it again."""
    script = scripts.loaded(DOCS / "verdict_changes.py")
    text = (DOCS / "verdict_changes.md").read_text("utf-8")
    assert text == script.page()
    assert "not sorted" not in text
    before = json.loads((DOCS / "verdicts_before.json").read_text("utf-8"))
    assert sum(verdict == "refuted" for verdict in before.values()) == 141 and len(before) == 234
