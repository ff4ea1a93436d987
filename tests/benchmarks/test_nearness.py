"""benchmarks/nearness.py: the ascent against all products, the interval against its definition, the page."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from tests.benchmarks.scripts import BENCHMARKS, imported
from verification.adversary import step_products

NEARNESS = imported("nearness")
PAGE = imported("_nearness_page")
RECORD = BENCHMARKS / "results" / "nearness.json"


@pytest.mark.parametrize(("alpha", "h"), [(12.53, 0.25), (1.0, 0.3), (0.0, 0.5)])
def test_the_ascent_reaches_the_largest_norm_of_all_products_and_exceeds_none(alpha: float, h: float) -> None:
    def step(kappa: float) -> np.ndarray:
        return np.array([[1 - h * h * kappa, h], [-h * kappa, 1]])

    largest = 0.0
    for kappas in itertools.product((alpha, alpha + 1), repeat=9):
        product = np.eye(2)
        for kappa in kappas:
            product = step(kappa) @ product
        largest = max(largest, np.abs(product).sum(axis=1).max())
    found = step_products.largest(alpha, [1.0], h, 9).norm
    assert 0.97 * largest <= found <= largest * (1 + 1e-12)


@pytest.mark.parametrize(("hits", "count"), [(0, 20), (3, 20), (20, 20)])
def test_the_interval_has_at_its_ends_two_and_a_half_percent(hits: int, count: int) -> None:
    words = PAGE.interval(hits, count)
    low, high = (float(part) / 100 for part in words.partition("(")[2].removesuffix(" %)").split(" to "))
    assert words.startswith(f"{hits} of {count} ")
    if hits:
        assert math.isclose(binom.sf(hits - 1, count, low), 0.025, abs_tol=0.02)
    if hits < count:
        assert math.isclose(binom.cdf(hits, count, high), 0.025, abs_tol=0.02)


def test_the_page_is_that_of_the_record() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    page = PAGE.page(record)
    assert page == NEARNESS.PAGE.read_text("utf-8")
    assert "**" in page and all(f"| {name} | " in page for name in record["rows"])
    assert set(record["ladder"]) == set(NEARNESS.LADDER)


def test_the_ladder_has_the_highest_rung_first_and_the_largest_violation_of_it() -> None:
    def cell(domain: str, slack: float, verdict: str = "refuted") -> dict[str, object]:
        witness = json.dumps({"parameters": {"N": "9", "u": " ".join(map(str, range(60)))}})
        return {"domain": domain, "quantity": "q", "verdict": verdict, "slack": slack, "witness": witness}

    initialised, real = "printed RR, as initialised, real inputs", "printed {}, the initialisation's range, real inputs"
    known = {
        "low": [cell("printed RR", -9.0)],
        "held": [cell("printed RR", 2.0, "not-refuted")],
        "middle": [cell("printed RR", -9.0), cell(real.format("RR"), -0.1), cell(real.format("HR"), -0.2)],
        "high": [cell(initialised, -0.25)],
    }
    lines = PAGE._ladder(known)[2:]
    assert [line.split(" | ")[0] for line in lines[:4]] == ["| high", "| middle", "| low", "| held"]
    assert lines[1].startswith(
        "| middle | the initialisation's range, real inputs | HR | 0.200 | N = 9; 60 u in [0, 59]"
    )
    assert lines[3] == "| held | none: not-refuted at the rows | – | – | – |"


def test_a_network_that_was_trained_is_the_highest_rung_and_the_numbers_below_it_stay() -> None:
    witness = json.dumps({"parameters": {"N": "9"}})
    cell = {"domain": "printed RR, as initialised, real inputs", "quantity": "q", "verdict": "refuted", "slack": -0.25}
    own = {"claim": "low", "row": "RR", "decades": 0.125, "step": 17, "numbers": "weights after 17 updates"}
    known = {"high": [{**cell, "witness": witness}], "low": [{**cell, "slack": -0.5, "witness": witness}]}
    lines = PAGE._ladder(known, [own, {**own, "claim": "of no ladder"}])[2:5]
    assert lines == [
        "| low | as trained, real inputs | RR | 0.125 | weights after 17 updates |",
        "| low | as initialised, real inputs | RR | 0.500 | N = 9 |",
        "| high | as initialised, real inputs | RR | 0.250 | N = 9 |",
    ]


def test_the_ladder_has_what_is_certified_of_trained_networks_and_trained_md_says_no_more() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    assert record["certified"] == NEARNESS.certified()
    for each in json.loads(PAGE.CERTIFIED.read_text("utf-8"))["rows"]:
        row = f"| {each['statement']} | as trained, real inputs | RR | {each['decades at least']:.3f} | "
        assert row in NEARNESS.PAGE.read_text("utf-8")


def test_a_share_counts_networks_and_not_layers() -> None:
    drawn = [
        [{"statement": "s", "layer": k, "slack": slack} for k, slack in enumerate(slacks)]
        for slacks in ((-1, -2), (3, 4))
    ]
    found = {"product": 2.0, "paths": 0.5, "icml-(27)": 1.0, "sam-54": 3.0}
    page = PAGE.page({"rows": {"row": {"range": found, "drawn": drawn}}})
    assert "| row | s | 1 of 2 (1 to 99 %) | -2.00 |" in page
    assert "| row | **10^2.00** | 10^0.50 | 10^1.00 | 10^3.0 |" in page
