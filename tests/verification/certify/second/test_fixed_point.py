"""Fixed point against exact fractions and python-flint's balls: whatever is computed holds the true number."""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator
from fractions import Fraction

import flint
import pytest

from tests.tiers import without
from verification.certify.second import fixed_point, scalar_stack
from verification.certify.second.fixed_point import (
    LARGEST,
    WHOLE,
    BeyondLargestError,
    Fixed,
    around,
    fixed,
    interval,
    or_nothing,
    tanh,
)
from verification.certify.second.intervals import iv, number

PRECISIONS = (96, 192, 321, 1000)
DRAWS = 400


@pytest.fixture(params=without(PRECISIONS, 1000))
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    with fixed_point.precision(request.param), iv.workprec(request.param), flint.ctx.workprec(2 * request.param):
        yield request.param


def _drawn(rng: random.Random, bits: int) -> Fixed:
    size = rng.choice((0, 2**20, 2 ** (bits // 2), 2**bits, 3 * 2**bits, bits * 2**bits, 4 * bits * 2**bits))
    around_a_quarter = 2 ** (bits - 2) + rng.randint(-1, 1)
    radii = (0, 1, 5, 2 ** (bits // 3), around_a_quarter, 2 ** (bits - 1), 2 ** (bits + 1), 2 ** (bits + 3))
    return Fixed(rng.randint(-size, size), rng.choice(radii))


def _inside(rng: random.Random, x: Fixed, bits: int) -> Fraction:
    """Some number that x stands for, often an end."""
    return (x.middle + rng.choice((Fraction(-1), Fraction(1), Fraction(rng.randint(-16, 16), 16))) * x.radius) / 2**bits


def _holds(x: Fixed, value: Fraction, bits: int) -> bool:
    return abs(value * 2**bits - x.middle) <= x.radius


@pytest.mark.parametrize("operate", [operator.add, operator.sub, operator.mul])
def test_every_operation_holds_what_it_is_about(operate, bits: int) -> None:
    rng = random.Random(f"{operate} {bits}")
    for _ in range(DRAWS):
        x, y = _drawn(rng, bits), _drawn(rng, bits)
        a, b = _inside(rng, x, bits), _inside(rng, y, bits)
        assert _holds(operate(x, y), operate(a, b), bits)
        assert _holds(-x, -a, bits)
        above, under = rng.randint(-99, 99), rng.randint(1, 99)
        assert _holds(x.times(above, under), a * above / under, bits)


def test_exact_numbers_stay_exact_and_so_does_zero(bits: int) -> None:
    third, zero = fixed(Fraction(1, 3)), fixed(0)
    assert third.radius == 1 and fixed(Fraction(-5, 4)).radius == 0
    for product in (zero * third, third * zero, zero.times(1, 3), tanh(zero), -zero, zero + zero):
        assert product.is_zero
    assert (fixed(3) * fixed(Fraction(1, 2))).radius == 0


def test_tanh_holds_the_values_of_its_argument(bits: int) -> None:
    rng = random.Random(bits)
    for _ in range(DRAWS):
        x = _drawn(rng, bits)
        for share in (-1, 0, 1):
            end = flint.arb(x.middle + share * x.radius) / flint.arb(2) ** bits
            distance = abs(end.tanh() * flint.arb(2) ** bits - tanh(x).middle)
            assert distance <= tanh(x).radius
        if x.radius < 2 ** (bits // 3):
            assert tanh(x).radius <= x.radius + 2


def test_tanh_near_is_off_by_less_than_two_units_and_falls_no_faster_than_said(bits: int) -> None:
    """At both signs, where it is saturated, and at neighbours of where that begins."""
    rng, unit = random.Random(bits), 2**bits
    edges = [sign * (bits * unit + step) for sign in (-1, 1) for step in (-1, 0, 1)]
    for a in [*edges, *(rng.randint(-size, size) for size in (9, unit, 40 * unit, 4 * bits * unit) for _ in range(50))]:
        x = flint.arb(a) / unit
        with flint.ctx.workprec(12 * bits):
            value, falls = fixed_point._tanh_near(a)
            assert abs(x.tanh() * unit - value) < 2
            assert (-2 * abs(x)).exp() * unit <= falls


def test_numbers_go_out_and_come_in_without_losing_any(bits: int) -> None:
    rng = random.Random(bits)
    for _ in range(DRAWS):
        x = _drawn(rng, bits)
        back = around(interval(x))
        assert back.middle - back.radius <= x.middle - x.radius and x.middle + x.radius <= back.middle + back.radius
    assert _holds(around(number("-22/7")), Fraction(-22, 7), bits)
    assert around(iv.mpf([-1, 2**40])).radius >= 2 ** (bits + 39)
    with pytest.raises(ValueError, match="without end"):
        around(iv.mpf([0, iv.inf]))


def test_the_former_precision_comes_back() -> None:
    with fixed_point.precision(200):
        with fixed_point.precision(10):
            assert fixed(1).middle == 2**fixed_point.LEAST_BITS
        assert fixed(1).middle == 2**200


def test_a_product_may_be_large_and_not_too_large(bits: int) -> None:
    """2^LARGEST is the first that is; so is an error of that size, at whatever middle."""
    last, half = fixed(2 ** (LARGEST - 1)), fixed(2 ** (LARGEST // 2))
    assert (last * fixed(1)).middle == last.middle
    for large, other in ((half, half), (Fixed(0, half.middle), half), (last, fixed(-2))):
        with pytest.raises(BeyondLargestError):
            large * other
    assert or_nothing(lambda: interval(last * last)) is WHOLE
    assert or_nothing(lambda: interval(fixed(3) * fixed(2))) == iv.mpf(6)


def test_nothing_is_known_of_a_run_that_is_too_large() -> None:
    """Its slopes are known from 0 to 1 only, so that errors grow by h² |w| a step."""
    place = {"layers": "1", "skip": "0", "alpha": "1", "w": f"-{10**200}", "v": "1", "b": "1", "target": "1"}
    text = {**place, "horizon": "100", "offset": "1", "ratio": "0"}
    (kernel,) = scalar_stack.kernels(text, 200, [1])
    found = scalar_stack.value(text, 200, "contribution")
    assert all(each.a == -iv.inf and each.b == iv.inf for each in (kernel, found))
