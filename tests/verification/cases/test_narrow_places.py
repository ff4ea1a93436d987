"""A case that is false in a small region alone is refuted at a place that a run spreads over its declaration."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from odernn.published.sources import Source
from tests.tiers import slow
from verification.answer import SPREAD, answer, spread_over
from verification.cases.inequality import Inequality
from verification.cases.narrow_places import (
    Axis,
    Lot,
    PlaceBox,
    PlaceSide,
    axes,
    drawn_place_region,
    is_of_the_case,
    places_of,
    planted_in,
)
from verification.cases.related import Small
from verification.claim import Attempt, Case, Check, Claim, Hypothesis, Opinion
from verification.domains import BUDGETS
from verification.kinds import SKEW, Choice, Constant, Integer, Listed, Matrix, Rational
from verification.parameters import Declaration, Parameter, Rule, declared
from verification.registry import Registry
from verification.spread import scales
from verification.verdict import ERROR, NOT_REFUTED, REFUTED

STANDARD = BUDGETS["standard"]
PARAMETERS = declared(Parameter("x", Rational(above=0, most=10)), Parameter("n", Integer(1, 50)))


def asks_nothing(*_: object) -> Attempt:
    return Attempt("nothing", 1)


def case_of(declaration: Declaration = PARAMETERS, check: object = None) -> Case:
    def agrees(_: dict[str, str]) -> Check:
        return Check((Opinion("one", False, "holds"), Opinion("other", False, "holds")))

    return Case("free", "x", asks_nothing, declaration.guards(check or agrees))  # type: ignore[arg-type]


def verdict_of(case: Case, budget: str = "standard", seed: int = 0) -> tuple[str, str]:
    claim = Claim("a claim", Source("library", "here"), "x ≤ x", "real", (case,))
    judged = answer(claim, case, BUDGETS[budget], seed)
    return judged.verdict, judged.because


@pytest.mark.parametrize(
    ("name", "low", "high"), [("x", 3.0, 3.3), ("x", 0.02, 0.03), ("n", 37, 38), ("n", 2, 3), ("x", 9.8, 10.0)]
)
def test_a_narrow_falsehood_is_refuted_inside_its_box_and_only_there(name: str, low: float, high: float) -> None:
    side = PlaceSide(Axis(name, None, 0.0, 1.0, False), low, high)
    case = planted_in(case_of(), PlaceBox((side,), 0.02))
    claim = Claim("a claim", Source("library", "here"), "x ≤ x", "real", (case,))
    judged = answer(claim, case, STANDARD, 0)
    assert judged.verdict == REFUTED
    (given,) = [part for part in judged.given.split("; ") if part.startswith(name)]
    assert low <= Fraction(given.removeprefix(f"{name} = ")) < high


def test_a_box_without_places_leaves_the_case_as_it_is_and_it_says_how_many_were_tried() -> None:
    nowhere = PlaceBox((PlaceSide(Axis("x", None, 0.0, 10.0, False), 20.0, 30.0),), 0.0)
    said, because = verdict_of(planted_in(case_of(), nowhere))
    assert said == NOT_REFUTED and because.endswith(f"{SPREAD['standard']} places spread over the declaration")


def test_where_nothing_is_open_nothing_is_spread() -> None:
    closed = case_of(declared(Parameter("x", Constant(3))))
    assert spread_over(closed, STANDARD, 0)[0] == 0
    assert verdict_of(closed) == (NOT_REFUTED, "nothing")


def test_a_premise_that_fails_in_the_box_leaves_the_case_as_it_is() -> None:
    inequality = Inequality(
        lambda p: (p.x, p.x), lambda p: (p.x, p.x), (Hypothesis("x < 5", lambda p: 5 - p.x),), parameters=PARAMETERS
    )
    case = Case("free", "x", asks_nothing, inequality.check)
    inside, outside = (
        PlaceBox((PlaceSide(Axis("x", None, 0.0, 10.0, False), low, low + 2),), 0.2) for low in (1.0, 7.0)
    )
    places = places_of(PARAMETERS, "here")
    assert is_of_the_case(case, inside, places) and not is_of_the_case(case, outside, places)
    assert verdict_of(planted_in(case, inside))[0] == REFUTED
    assert verdict_of(planted_in(case, outside))[0] == NOT_REFUTED


def test_the_quicker_look_decides_where_the_check_is_asked() -> None:
    asked: list[str] = []

    def check(given: dict[str, str]) -> Check:
        asked.append(given["x"])
        return Check((Opinion("one", False, "holds"), Opinion("other", False, "holds")))

    def look(given: dict[str, str]) -> bool:
        return Fraction(given["x"]) > 9

    case = Case("free", "x", asks_nothing, PARAMETERS.guards(check, look))
    assert verdict_of(case)[0] == NOT_REFUTED
    heard, searched = asked[:8], asked[8:]
    found, besides = (sum((Fraction(x) > 9) is wanted for x in searched) for wanted in (True, False))
    assert len(heard) == 8 and 0 < found < 100 and 0 < besides <= 25  # a tenth of those where it finds nothing


def test_back_ends_that_contradict_each_other_at_a_spread_place_are_an_error() -> None:
    def check(given: dict[str, str]) -> Check:
        is_there = Fraction(2) < Fraction(given["x"]) < Fraction(9, 4)
        return Check((Opinion("flint", is_there, "one"), Opinion("fractions", False, "other")))

    said, because = verdict_of(case_of(check=check))
    assert said == ERROR and "contradict each other at x = " in because


@pytest.mark.parametrize("name", ["thm-C | all t | |z|²", slow("thm-F | float16 | fl(fl(y + d) − d) = y")])
def test_shipped_cases_are_refuted_in_most_boxes_of_a_twentieth(name: str) -> None:
    claim_id, domain, quantity = name.split(" | ", 2)
    case = Registry().get(claim_id).claim.case(domain, quantity)
    declaration, rng = case.check.declaration, random.Random(name)  # type: ignore[union-attr]
    places, refuted = places_of(declaration, name), 0
    for seed in range(10):
        regions = (drawn_place_region(declaration, rng, 0.05) for _ in range(100))
        region = next(region for region in regions if is_of_the_case(case, region, places))
        refuted += verdict_of(planted_in(case, region), seed=seed)[0] == REFUTED
    assert refuted >= 9


# --- regions


def test_axes_are_the_numbers_with_a_scale() -> None:
    declaration = declared(
        Parameter("work", Small(1, 9)),
        Parameter("word", Choice(("a", "b"))),
        Parameter("one", Integer(4, 4)),
        Parameter("x", Rational(least=-1)),
        Parameter("sizes", Listed(Rational(), (2, 6))),
        Parameter("A", Matrix(2, 2, structure=SKEW)),
    )
    found = {(axis.name, axis.index) for axis in axes(declaration, random.Random(0))}
    assert found == {("x", None), ("sizes", 0), ("sizes", 1), ("A", 1), ("A", 2)}


@pytest.mark.parametrize("volume", [0.02, 0.2])
def test_boxes_have_their_volume(volume: float) -> None:
    declaration = declared(*(Parameter(name, Rational(least=0, most=3)) for name in "xyz"))
    rng = random.Random(f"volume {volume}")
    counts = set()
    for _ in range(40):
        box = drawn_place_region(declaration, rng, volume)
        assert isinstance(box, PlaceBox) and box.volume == pytest.approx(volume)
        counts.add(len(box.sides))
        part = volume ** (1 / len(box.sides))
        for side in box.sides:
            shares = [(side.high - side.low) / 3, math.log(max(side.high, 1e-3) / max(side.low, 1e-3)) / math.log(3e3)]
            assert min(abs(share - part) for share in shares) < 1e-9
    assert counts == {1, 2, 3}


def test_whole_numbers_have_one_value_at_least_and_the_rest_of_the_volume_is_left_to_others() -> None:
    declaration = declared(Parameter("n", Integer(1, 5)), Parameter("x", Rational(least=0, most=1)))
    rng = random.Random(3)
    for _ in range(40):
        box = drawn_place_region(declaration, rng, 0.02)
        assert isinstance(box, PlaceBox)
        whole = [side for side in box.sides if side.axis.name == "n"]
        assert all(1 <= side.low < side.high <= 6 and side.low == int(side.low) for side in whole)
        assert box.volume == pytest.approx(0.02) or (len(box.sides) == 1 and whole and box.volume > 0.1)


def test_what_is_no_number_is_false_in_a_lot() -> None:
    declaration = declared(Parameter("word", Choice(tuple(map(str, range(500))))))
    lot = drawn_place_region(declaration, random.Random(0), 0.1)
    assert isinstance(lot, Lot)
    inside = sum(lot.holds({}, {"word": str(word)}) for word in range(500))
    assert 25 < inside < 80


def test_the_rules_of_a_case_are_those_of_its_regions() -> None:
    even = Rule("n is even", lambda values: values["n"] % 2 == 0)
    case = case_of(declared(Parameter("n", Integer(1, 50)), rules=(even,)))
    places = places_of(case.check.declaration, "even")  # type: ignore[union-attr]
    odd, other = (PlaceBox((PlaceSide(Axis("n", None, 1, 50, True), n, n + 1),), 0.02) for n in (7, 8))
    assert not is_of_the_case(case, odd, places) and is_of_the_case(case, other, places)


@pytest.mark.parametrize("limits", [(0.0, 5.0), (None, None), (-2.0, 7.0), (1.0, None)])
def test_a_scale_is_increasing(limits: tuple[float | None, float | None]) -> None:
    for scale in scales(*limits):
        values = [scale.at(k / 50) for k in range(51)]
        assert values == sorted(values) and len(set(values)) == 51
