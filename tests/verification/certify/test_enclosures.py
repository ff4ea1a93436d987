"""Two enclosures of one number have a point in common; those that have none are apart, to the last place."""

from __future__ import annotations

from fractions import Fraction

import flint
import pytest

from verification.certify.enclosures import are_apart
from verification.certify.second.intervals import iv

TINY = Fraction(1, 2**200)


def ball(value: Fraction) -> flint.arb:
    with flint.ctx.workprec(512):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))


def interval(low: Fraction, high: Fraction) -> object:
    with iv.workprec(512):
        ends = [iv.mpf(end.numerator) / iv.mpf(end.denominator) for end in (low, high)]
        return iv.mpf([ends[0].a, ends[1].b])


@pytest.mark.parametrize("centre", [Fraction(0), Fraction(1), Fraction(-3, 4)])
def test_what_touches_is_not_apart_and_what_is_a_last_place_off_is(centre: Fraction) -> None:
    one = interval(centre - 1, centre)
    with flint.ctx.workprec(512):  # the ends of a ball are rounded outwards to the precision in force
        for inside in (centre, centre - 1, centre - Fraction(1, 2)):
            assert not are_apart(ball(inside), one)
        for outside in (centre + TINY, centre - 1 - TINY):
            assert are_apart(ball(outside), one)
        assert not are_apart(flint.arb(0, 2) + ball(centre), one)
    assert are_apart(ball(centre + TINY), one) is (centre == 0)  # not to 53 bits


def test_what_is_not_finite_is_apart_from_nothing() -> None:
    assert not are_apart(flint.arb("nan"), interval(Fraction(0), Fraction(1)))
    assert not are_apart(flint.arb("inf"), interval(Fraction(0), Fraction(1)))
    assert not are_apart(ball(Fraction(5)), iv.mpf([0, iv.inf]))
    assert not are_apart(ball(Fraction(5)), iv.mpf([-iv.inf, 0]))
    assert are_apart(ball(Fraction(5)), iv.mpf(0))
