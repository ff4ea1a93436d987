"""docs/benchmarks.md is made of the results that are there, whatever else a script of benchmarks/ records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import scripts

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "_page.py"


def test_the_page_is_that_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    script = scripts.loaded(SCRIPT)
    assert script.PAGE.read_text("utf-8") == script.page(script.results())
