"""benchmarks/nonexpansive_price.py, nonexpansive_attacks.py: tables are of their records, and no bound is exceeded."""

from __future__ import annotations

import json

from tests.benchmarks.scripts import BENCHMARKS, imported

prices = imported("_prices")


def test_the_table_is_that_of_the_record() -> None:
    script = imported("nonexpansive_price")
    text = prices.PAGE.read_text("utf-8")
    assert text == script.page(text, prices.opened(script.NAME)) and "digits by rows, 8" in text


def test_runs_are_of_the_plan_and_below_what_is_certified() -> None:
    script = imported("nonexpansive_price")
    plans, runs = script.plans(), prices.opened(script.NAME)
    assert len(runs) >= 15
    for key, run in runs.items():
        assert run["digest"] == plans[key].digest() and plans[key].network.options["nonexpansive"] is True
        assert 0.1 < run["local"] / run["certified"] <= 1


def test_no_pair_exceeds_and_the_page_says_how_near() -> None:
    record = json.loads((BENCHMARKS / "results" / "nonexpansive_attacks.json").read_text("utf-8"))["cells"]
    page = prices.PAGE.read_text("utf-8")
    assert sum(each["pairs"] for each in record.values()) == 1_000_000
    for each in record.values():
        assert each["exceeded"] == 0 and max(each["largest"].values()) <= 1
        nearest = next(share for quantity, share in each["largest"].items() if quantity.startswith("‖h_N"))
        assert f"{nearest:.3f}" in page
