"""benchmarks/growth_limits.py: the table of docs/guarantees.md is of its record, and no growth passes its limit."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.benchmarks.scripts import imported

prices = imported("_prices")


@pytest.fixture
def script() -> ModuleType:
    return imported("growth_limits")


def test_the_table_is_that_of_the_record(script: ModuleType) -> None:
    text = prices.PAGE.read_text("utf-8")
    assert text == script.page(text, prices.opened(script.NAME)) and "seeds." in text


def test_the_record_is_of_the_plan_and_within_the_limits(script: ModuleType) -> None:
    runs = prices.opened(script.NAME)
    for key, run in runs.items():
        name, seed = key.rsplit(", seed ", 1)
        limit = script.LIMITS[name]
        assert int(seed) in script.SEEDS and run["digest"] == script.plan(limit, int(seed)).digest()
        assert limit is None or max(run["growths"]) <= limit
        assert limit is not None or max(run["growths"]) > 10  # the limits bind


def test_a_difference_is_students() -> None:
    """Of ten differences: mean 0.45, deviation 0.3028, t = 2.262 of nine degrees of freedom; points of per cent."""
    assert prices.difference([0.001 * k for k in range(10)]) == "+0.45 ± 0.22"
