"""benchmarks/radii_attacks.py: no class changes within its radius, the page says so, and a longer radius is broken."""

from __future__ import annotations

import json

import pytest
import torch

from tests.benchmarks.scripts import BENCHMARKS, imported
from verification.adversary.input_ball import moved

prices = imported("_prices")


def test_a_million_attacks_change_no_class_and_the_page_says_how_near_they_come() -> None:
    record = json.loads((BENCHMARKS / "results" / "radii_attacks.json").read_text("utf-8"))["cells"]
    page = prices.PAGE.read_text("utf-8")
    attacks = sum(each["attacks"] for each in record.values())
    assert attacks >= 1_000_000 and f"{attacks:,} attacks" in page
    for each in record.values():
        assert each["changed"] == 0 and each["attacks"] > 150_000 and 0.3 < each["margin used"] < 1
        assert f"{each['margin used']:.3f}" in page


@pytest.mark.parametrize("name", ["UnICORNN", "ScoRNN"])
def test_its_attacks_find_what_is_beyond(name: str) -> None:
    """At 30 times the certified radius."""
    script = imported("radii_attacks")
    generator = torch.Generator().manual_seed(1)
    made = script.network(name, 0, 6, generator)
    u = torch.rand(6, 5, made.recurrent.input_size, generator=generator, dtype=torch.float64)
    assert script.attacked(made, u, "sequence", generator)["changed"] == 0
    labels = made(u).argmax(dim=1)
    radii = 30 * torch.tensor(script.robustness(made, u, labels).radii, dtype=torch.float64)
    point = moved(made, u, labels, radii, steps=script.ASCENTS, generator=generator)
    assert (made(point).argmax(dim=1) != labels).any()
