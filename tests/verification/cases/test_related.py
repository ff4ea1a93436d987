"""Kinds that depend on others: ends that belong to them, values that do not."""

from __future__ import annotations

import random

import pytest

from verification.cases.related import FormatNumber, OneOf, Related, Small, short
from verification.kinds import Listed, Rational
from verification.parameters import Parameter, RefusedError, declared

FLOATS = declared(Parameter("x", FormatNumber("float32", 8)))
TWICE = declared(Parameter("a", Rational()), Parameter("b", Related(Rational(), "it is 2a", lambda _, v: 2 * v["a"])))
WORDS = declared(Parameter("word", OneOf(lambda _: ["a", "b", "c"])))
MANY = declared(Parameter("word", OneOf(lambda _: ["a", "b", "c", "d"])))


@pytest.mark.parametrize("x", ["256", "-256", "0", "16777215/65536", "-1/1024"])
def test_ends_and_inner_numbers_of_a_format_are_read(x: str) -> None:
    assert FLOATS.canonical({"x": x}) == {"x": x}


@pytest.mark.parametrize("x", ["257", "-257", "512", "16777215/65537", "1/10", "33554431/131072"])
def test_numbers_beyond_the_ends_or_off_the_format_are_refused(x: str) -> None:
    with pytest.raises(RefusedError, match=r"number of float32 of modulus at most 2\^8"):
        FLOATS.read({"x": x})


def test_what_follows_from_another_value_is_that_value() -> None:
    assert TWICE.canonical({"a": "1/3", "b": "2/3"}) == {"a": "1/3", "b": "2/3"}
    with pytest.raises(RefusedError, match="it is 2a"):
        TWICE.read({"a": "1/3", "b": "1/3"})
    drawn = TWICE.read(TWICE.draw(random.Random(1)))
    assert drawn["b"] == 2 * drawn["a"]


def test_a_word_that_is_not_known_is_refused_with_the_first_three() -> None:
    with pytest.raises(RefusedError, match=r"a; b; c\)"):
        WORDS.read({"word": "d"})
    with pytest.raises(RefusedError, match=r"a; b; c; …\)"):
        MANY.read({"word": "e"})
    assert MANY.read({"word": "d"}) == {"word": "d"}


def test_amounts_of_work_that_are_drawn_are_small() -> None:
    drawn = {Small(3, 10**6).draw(random.Random(seed), {}) for seed in range(200)}
    assert drawn == {3, 4, 5, 7}


def test_numbers_are_short_together() -> None:
    """A number has a third of the bits of numerator and denominator, and one more: 1023/1024 has 8, 1 has 1."""
    listed = declared(Parameter("x", Listed(Rational(), (1, 9))), rules=(short(9, "x"),))
    assert listed.read({"x": "1023/1024 1"})
    with pytest.raises(RefusedError, match="at most 9 letters"):
        listed.read({"x": "1023/1024 1 1"})
