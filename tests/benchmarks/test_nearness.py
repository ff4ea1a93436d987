"""benchmarks/nearness.py: the ascent against all products, the interval against its definition, the page."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from tests.benchmarks.scripts import BENCHMARKS, imported

NEARNESS = imported("nearness")
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
    found = NEARNESS.largest_product(alpha, 1.0, h, 9)
    assert 0.97 * largest <= found <= largest * (1 + 1e-12)


@pytest.mark.parametrize(("hits", "count"), [(0, 20), (3, 20), (20, 20)])
def test_the_interval_has_at_its_ends_two_and_a_half_percent(hits: int, count: int) -> None:
    words = NEARNESS.interval(hits, count)
    low, high = (float(part) / 100 for part in words.partition("(")[2].removesuffix(" %)").split(" to "))
    assert words.startswith(f"{hits} of {count} ")
    if hits:
        assert math.isclose(binom.sf(hits - 1, count, low), 0.025, abs_tol=0.02)
    if hits < count:
        assert math.isclose(binom.cdf(hits, count, high), 0.025, abs_tol=0.02)


def test_the_page_is_that_of_the_record() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    page = NEARNESS.page(record)
    assert page == NEARNESS.PAGE.read_text("utf-8")
    assert "**" in page and all(f"| {name} | " in page for name in record)


def test_a_share_counts_networks_and_not_layers() -> None:
    drawn = [
        [{"statement": "s", "layer": k, "slack": slack} for k, slack in enumerate(slacks)]
        for slacks in ((-1, -2), (3, 4))
    ]
    page = NEARNESS.page({"row": {"range": {"product": 2.0, "icml-(27)": 1.0, "sam-54": 3.0}, "drawn": drawn}})
    assert "| row | s | 1 of 2 (1 to 99 %) | -2.00 |" in page and "| row | **10^2.00** | 10^1.00 | 10^3.0 |" in page
