"""Interval arithmetic in one function an operation against mpmath's own: the same ends, for every kind of interval."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from mpmath.libmp import finf, fninf, from_man_exp, fzero, mpf_le

from tests.tiers import only
from verification.certify.second import quick_intervals

OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv)
PRECISIONS = (32, 53, 192, 257)
PAIRS = 3000
REACHES = (0, 3, 40, 300, 5000)
"""How far exponents are from 0: 5000 is beyond what is shifted here."""


def _end(rng: random.Random, bits: int) -> Any:
    if rng.random() < 0.1:
        return rng.choice((fzero, fzero, finf, fninf))
    value = rng.choice((1, 1, 3, rng.getrandbits(5), rng.getrandbits(bits), 2**bits - 1)) * rng.choice((-1, 1))
    reach = rng.choice(REACHES)
    sign = int(value < 0)
    plain = from_man_exp(abs(value), rng.randint(-reach, reach))
    return (sign, *plain[1:]) if plain[1] else fzero


def _interval(rng: random.Random, bits: int) -> tuple[Any, Any]:
    first = _end(rng, bits)
    second = first if rng.random() < 0.2 else _end(rng, bits)
    return (first, second) if mpf_le(first, second) else (second, first)


def _both(ends: tuple[Any, Any]) -> tuple[Any, Any]:
    return quick_intervals.context.make_mpf(ends), mpmath.iv.make_mpf(ends)


def _said(operate: Callable[[Any, Any], Any], *numbers: Any) -> Any:
    try:
        return operate(*numbers)._mpi_
    except (ZeroDivisionError, ValueError) as error:
        return type(error)


@pytest.fixture(params=only(PRECISIONS, 53, 257))
def bits(request: pytest.FixtureRequest) -> Any:
    before = mpmath.iv.prec, quick_intervals.context.prec
    mpmath.iv.prec = quick_intervals.context.prec = request.param
    yield request.param
    mpmath.iv.prec, quick_intervals.context.prec = before


@pytest.mark.parametrize("operate", OPERATORS)
def test_the_ends_are_those_of_mpmath(operate: Callable[[Any, Any], Any], bits: int) -> None:
    rng = random.Random(f"{operate.__name__} {bits}")
    answered = 0
    for _ in range(PAIRS):
        (s, s_again), (t, t_again) = _both(_interval(rng, bits)), _both(_interval(rng, bits))
        assert _said(operate, s, t) == _said(operate, s_again, t_again), (s, t)
        answered += 1
    assert answered == PAIRS


@pytest.mark.parametrize("operate", OPERATORS)
def test_whole_numbers_stand_for_themselves_on_either_side(operate: Callable[[Any, Any], Any], bits: int) -> None:
    rng = random.Random(f"whole {operate.__name__} {bits}")
    for _ in range(PAIRS // 3):
        s, s_again = _both(_interval(rng, bits))
        whole = rng.choice((0, 1, 2, -7, 1000, 2**29 + 1, 2**31, -(2**70) - 1))
        assert _said(operate, s, whole) == _said(operate, s_again, whole)
        assert _said(operate, whole, s) == _said(operate, whole, s_again)


def test_powers_are_those_of_mpmath(bits: int) -> None:
    rng = random.Random(f"powers {bits}")
    for _ in range(PAIRS // 3):
        s, s_again = _both(_interval(rng, bits))
        exponent = rng.choice((0, 1, 2, 2, 2, 3, 4, 7, -1, -2, -3))
        assert _said(operator.pow, s, exponent) == _said(operator.pow, s_again, exponent), (s, exponent)


@pytest.mark.parametrize("operate", OPERATORS)
def test_the_exact_result_of_ends_lies_within(operate: Callable[[Any, Any], Any], bits: int) -> None:
    """Once more by fractions, without mpmath: of two points the result is between the ends, and near them."""
    rng = random.Random(f"exact {operate.__name__} {bits}")
    context = quick_intervals.context
    for _ in range(PAIRS // 3):
        values = [Fraction(rng.choice((-1, 1)) * rng.randint(1, 2**bits - 1), 2 ** rng.randint(0, 300)) for _ in "st"]
        points = [context.mpf(value.numerator) / context.mpf(value.denominator) for value in values]
        exact = operate(*values)
        low, high = (_fraction(end) for end in operate(*points)._mpi_)
        assert low <= exact <= high
        assert high - low <= abs(exact) / 2 ** (bits - 2)


def _fraction(end: Any) -> Fraction:
    sign, value, exponent, _ = end
    return (-1) ** sign * Fraction(value) * Fraction(2) ** exponent


def test_an_end_rounded_to_the_wrong_side_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: both ends rounded down."""
    right = quick_intervals._rounded
    monkeypatch.setattr(
        quick_intervals, "_rounded", lambda value, exponent, bits, up: right(value, exponent, bits, False)
    )
    before = mpmath.iv.prec, quick_intervals.context.prec
    mpmath.iv.prec = quick_intervals.context.prec = 53
    try:
        (s, s_again), (t, t_again) = _both((from_man_exp(3, -1),) * 2), _both((from_man_exp(7, 0),) * 2)
        assert (s / t)._mpi_ != (s_again / t_again)._mpi_
    finally:
        mpmath.iv.prec, quick_intervals.context.prec = before
