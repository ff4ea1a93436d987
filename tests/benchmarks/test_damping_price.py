"""benchmarks/damping_price.py: the table of docs/guarantees.md is of its record, and every rate is kept."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.benchmarks.scripts import imported

prices = imported("_prices")


@pytest.fixture
def script() -> ModuleType:
    return imported("damping_price")


def test_the_table_is_that_of_the_record(script: ModuleType) -> None:
    text = prices.PAGE.read_text("utf-8")
    assert text == script.page(text, prices.opened(script.NAME)) and "γ = 0.2, r = 0.05" in text


def test_the_record_is_of_the_plan_and_slow_steps_contract_as_promised(script: ModuleType) -> None:
    """1/(1 + h r) with the least h = dt/256."""
    for key, run in prices.opened(script.NAME).items():
        name, seed = key.rsplit(", seed ", 1)
        options = script.CELLS[name]
        assert int(seed) in script.SEEDS and run["digest"] == script.plan(options, int(seed)).digest()
        rate = options.get("rate")
        assert run["certified"] > 0 and (rate is None or run["factor a step"] < 1 / (1 + 0.6 / 256 * rate))
