"""docs/trial.md shows what the record of the attack holds."""

from __future__ import annotations

import json
from pathlib import Path

from tests.verification.forgery.forge import RECORD, summary

PAGE = Path(__file__).parents[2] / "docs" / "trial.md"


def test_the_page_shows_the_record_in_which_nothing_certified_falsely_or_failed() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    assert summary(record) in PAGE.read_text("utf-8")
    assert not [name for name, rounds in record.items() if rounds and (rounds["certified falsely"] or rounds["failed"])]
