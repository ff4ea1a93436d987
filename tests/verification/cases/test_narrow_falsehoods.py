"""What is false in a small region alone is found by points that are drawn, and nowhere else."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.tiers import slow
from verification.adversary import structured
from verification.cases.narrow_falsehoods import BoxSide, FalseBox, drawn_region, narrow_falsehood
from verification.cases.state_bound.judge import judge
from verification.cases.state_bound.ratios import Evidence, Trial
from verification.cases.state_bound.typings import contradiction
from verification.domains import BUDGETS, DRAWN, FREE, SearchPoint, drawn_points, free_points
from verification.measure.hidden_state import envelope, run_instance
from verification.system import UNICORNN
from verification.verdict import NOT_REFUTED, REFUTED
from verification.witness.file import from_json

SMOKE = BUDGETS["smoke"]
HOLES = {
    "1 < m ≤ 15": FalseBox((BoxSide("m", 1.5, 15.5),), 0.44),
    "h near dt/2": FalseBox((BoxSide("share", 0.4, 0.6),), 0.2),
    "2 < α < 2.9": FalseBox((BoxSide("few alpha", 2.0, 2.9),), 0.22),
    "1/10 < dt < 1/8": FalseBox((BoxSide("dt", 0.1001, 0.125),), 0.03),
}
"""Places where a bound could fail unseen while c = 20 and α, dt and m came from short lists."""


def evidence_of(*points: SearchPoint) -> Evidence:
    trials = []
    for point in points:
        best = structured.search(UNICORNN, point, 1, SMOKE)[0]
        y, _, _ = run_instance(UNICORNN, best.instance, 1)
        trials.append(Trial(point, "structured", "position", best.instance, envelope(y, "max").numpy(), 1, True))
    control = {"passed": True, "group": "made", "reports": [{"best": 1.0}]}
    return Evidence(FREE, 1, points, tuple(trials), controls=(control,))


@pytest.fixture(scope="module")
def drawn() -> Evidence:
    return evidence_of(*drawn_points(replace(SMOKE, drawn=120), 0))


@pytest.fixture(scope="module")
def ladders() -> Evidence:
    return evidence_of(*(point for point in free_points(SMOKE) if point.steps <= 200))


@pytest.mark.parametrize("name", HOLES)
def test_a_bound_that_is_false_in_a_region_is_refuted_at_a_drawn_point_of_it(
    name: str, drawn: Evidence, ladders: Evidence
) -> None:
    claim = narrow_falsehood(HOLES[name])
    assert judge(claim, ladders)[0].verdict == NOT_REFUTED
    (cell,) = judge(claim, drawn)
    assert cell.verdict == REFUTED
    instance = from_json(cell.witness).parameters.instance
    layer, group = instance.layers[0], instance.layers[0].groups[0]
    h = float(layer.dt) / (1 + math.exp(-float(group.c)))
    assert HOLES[name].holds(float(instance.alpha), float(layer.dt), h, group.multiplicity)


def test_a_region_without_volume_leaves_a_true_bound(drawn: Evidence) -> None:
    (cell,) = judge(narrow_falsehood(FalseBox((BoxSide("dt", 2.0, 3.0),), 0.0)), drawn)
    assert cell.verdict == NOT_REFUTED


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_bound_is_typed_twice(seed: int) -> None:
    claim = narrow_falsehood(drawn_region(random.Random(seed), 0.2))
    assert contradiction(claim, claim.bound.parts[0], Evidence(FREE, 1, (), ())) == ""


@pytest.mark.parametrize("volume", [0.02, 0.2])
def test_regions_have_their_volume(volume: float) -> None:
    """Of points spread evenly in the scale of each side."""
    rng = random.Random(f"volume {volume}")
    for _ in range(20):
        region = drawn_region(rng, volume)
        assert 1 <= len(region.sides) <= 3
        share = 1.0
        for side in region.sides:
            low, high = {
                "alpha": (1e-3, 1e3),
                "few alpha": (1e-3, 4.0),
                "dt": (1e-3, 0.999),
                "share": (0.01, 0.99),
            }.get(side.name, (0.5, 32.5))
            scales = [(side.high - side.low) / (high - low), math.log(side.high / side.low) / math.log(high / low)]
            part = volume ** (1 / len(region.sides))
            nearest = min(scales, key=lambda scale: abs(scale - part))
            share *= nearest if side.name != "m" else part
            assert side.name == "m" or nearest == pytest.approx(part)
        assert share == pytest.approx(volume)


# --- the points


@pytest.mark.parametrize("count", [60, slow(400)])
def test_drawn_points_are_those_of_the_seed_and_fill_every_range(count: int) -> None:
    budget = replace(SMOKE, drawn=count)
    points = drawn_points(budget, 3)
    assert points == drawn_points(budget, 3) != drawn_points(budget, 4)
    assert len(points) == count and {point.group for point in points} == {DRAWN}
    for point in points:
        assert 0 < point.dt[0] < 1 and 0 <= point.alpha <= 1000 and point.alpha * point.dt[0] ** 2 <= Fraction(161, 10)
        assert 1 <= point.steps <= 120 and 1 <= point.hidden_size <= 32 and abs(point.c) < 5 and point.w
        assert len(point.label(1)) < 60
    assert {point.num_layers for point in points} == {budget.free_layers}
    zeros = sum(point.alpha == 0 for point in points)
    assert zeros == count // 6
    for values, low, high in (
        ([float(point.dt[0]) for point in points], 1e-3, 0.999),
        ([1 / (1 + math.exp(-float(point.c))) for point in points], 0.01, 0.99),
    ):
        for k in range(8):  # each eighth of the range, in either scale
            even = [low + (high - low) * share for share in (k / 8, (k + 1) / 8)]
            scaled = [low * (high / low) ** share for share in (k / 8, (k + 1) / 8)]
            for bottom, top in (even, scaled):
                assert any(bottom <= value <= top for value in values), (bottom, top)
