"""Places of a search fill every range, in linear and in logarithmic scale, and are those of their seed."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from verification.kinds import Integer, Listed, Rational
from verification.parameters import Declaration, Parameter, declared
from verification.spread import FEW, MANY, Spread, scales

COUNT = 100


def drawn(declaration: Declaration, count: int = COUNT, seed: str = "0") -> list[dict[str, str]]:
    source = Spread(seed, count)
    return [declaration.draw(source) for _ in range(count)]


def test_places_are_those_of_the_seed() -> None:
    declaration = declared(Parameter("x", Rational()), Parameter("n", Integer(1, 50)))
    assert drawn(declaration) == drawn(declaration) != drawn(declaration, seed="1")


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (Fraction(1, 3), 5), (-4, 4), (-9, 2), (None, None), (2, None), (None, -1), (-5, 0)]
)
def test_every_part_of_the_range_has_a_place_in_either_scale(low: int | None, high: int | None) -> None:
    """Half of 100 places are evenly spread in each scale: one in every 25th part at least."""
    places = drawn(declared(Parameter("x", Rational(least=low, most=high))))
    values = [float(Fraction(place["x"])) for place in places]
    for scale in scales(None if low is None else float(low), None if high is None else float(high)):
        ends = [scale.at(k / 25) for k in range(26)]
        assert ends == sorted(ends)
        for bottom, top in itertools.pairwise(ends):
            assert any(bottom - abs(bottom) / 100 <= value <= top + abs(top) / 100 for value in values), (bottom, top)
        assert all((low is None or value >= low) and (high is None or value <= high) for value in values)


def test_a_number_without_limits_is_spread_to_few_and_many() -> None:
    values = [abs(float(Fraction(place["x"]))) for place in drawn(declared(Parameter("x", Rational())))]
    assert FEW < max(values) <= MANY and min(values) < 0.01


@pytest.mark.parametrize(("low", "high"), [(1, 64), (0, 9), (2, 5000), (3, 3), (-2, 7)])
def test_every_whole_number_of_a_short_range_comes_and_a_long_one_is_spread(low: int, high: int) -> None:
    values = {int(place["n"]) for place in drawn(declared(Parameter("n", Integer(low, high))))}
    assert min(values) == low and high - max(values) <= (high - low) / 40 and max(values) <= high
    assert high - low > 40 or values == set(range(low, high + 1))


def test_entries_of_lists_are_spread_one_by_one() -> None:
    places = drawn(declared(Parameter("x", Listed(Rational(least=0, most=1), 3))))
    columns = zip(*([float(Fraction(word)) for word in place["x"].split()] for place in places), strict=True)
    for column in columns:
        assert all(any(k / 25 <= value <= (k + 1) / 25 for value in column) for k in range(25))


def test_what_goes_with_what_is_drawn() -> None:
    places = drawn(declared(*(Parameter(name, Rational(least=0, most=1)) for name in "xy")), 400)
    points = {(int(4 * float(Fraction(p["x"]))), int(4 * float(Fraction(p["y"])))) for p in places}
    assert len({(x, y) for x, y in points if x < 4 and y < 4}) == 16


def test_places_that_a_rule_refuses_are_drawn_again_and_more_places_may_be_asked_for() -> None:
    from verification.parameters import Rule

    declaration = declared(
        Parameter("x", Rational(least=0, most=1)), rules=(Rule("x < 1/10", lambda v: v["x"] < Fraction(1, 10)),)
    )
    places = drawn(declaration, 50)
    assert len({place["x"] for place in places}) > 40 and all(Fraction(p["x"]) < Fraction(1, 10) for p in places)


def test_other_kinds_draw_from_the_same_source() -> None:
    source = Spread("0", 3)
    source.advance()
    assert isinstance(source, random.Random) and 0 <= source.random() < 1 and source.choice("ab") in "ab"
