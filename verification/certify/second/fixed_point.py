"""Real numbers as whole ones with a bound on the error: |x − middle · 2^−P| ≤ radius · 2^−P, for runs of many steps.

+, − and × of two such numbers are a few operations on integers, many times as quick as those on intervals of two
floating ends. P is the precision in force, ``precision(bits)``; an absolute one, so that a product of many small
numbers needs it large. What is exactly 0 stays exactly 0. Integers grow with what they stand for, so a product beyond
2^``LARGEST`` raises BeyondLargestError; ``or_nothing`` makes the whole line of it. Nothing is assumed of a library's
exp or tanh: tanh is its series here. Imports ``intervals`` alone, in which results leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import isqrt
from typing import Any

from verification.certify.second.intervals import iv

LEAST_BITS = 96
"""Below, tanh has no room for its guard bits."""
LARGEST = 8192
"""Bits before the point: a run of 4,000 steps of numbers of that size takes some hundred MB."""
WHOLE = iv.mpf(["-inf", "inf"])
_bits = [192]


class BeyondLargestError(ArithmeticError):
    """A number beyond 2^``LARGEST``, of which nothing is known any more."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """P in force, ``LEAST_BITS`` at least; the former one follows. Numbers of one P mean nothing at another."""
    before, _bits[0] = _bits[0], max(bits, LEAST_BITS)
    try:
        yield
    finally:
        _bits[0] = before


def or_nothing(compute: Callable[[], Any]) -> Any:
    """The interval that it computes, the whole line if a number is too large."""
    try:
        return compute()
    except BeyondLargestError:
        return WHOLE


class Fixed:
    """A number: ``middle`` and ``radius`` in units of 2^−P. Whole numbers of Python may be added and multiplied."""

    __slots__ = ("middle", "radius")

    def __init__(self, middle: int, radius: int) -> None:
        self.middle, self.radius = middle, radius

    def __add__(self, other: Fixed) -> Fixed:
        return Fixed(self.middle + other.middle, self.radius + other.radius)

    def __sub__(self, other: Fixed) -> Fixed:
        return Fixed(self.middle - other.middle, self.radius + other.radius)

    def __neg__(self) -> Fixed:
        return Fixed(-self.middle, self.radius)

    def __mul__(self, other: Fixed) -> Fixed:
        """|xy − ab| ≤ (|a| + r)s + |b|r for x in a ± r, y in b ± s; a unit more where the product is cut off."""
        bits, a, r, b, s = _bits[0], self.middle, self.radius, other.middle, other.radius
        product = a * b
        middle = product >> bits
        if middle.bit_length() > bits + LARGEST:
            raise BeyondLargestError(f"a product is beyond 2^{LARGEST}")
        error = (abs(a) + r) * s + abs(b) * r
        radius = (error >> bits) + 1 if error else 0
        if radius.bit_length() > bits + LARGEST:
            raise BeyondLargestError(f"the error of a product is beyond 2^{LARGEST}")
        return Fixed(middle, radius if middle << bits == product else radius + 1)

    def times(self, numerator: int, denominator: int = 1) -> Fixed:
        """By an exact fraction, ``denominator`` > 0."""
        middle, rest = divmod(self.middle * numerator, denominator)
        radius = -(-self.radius * abs(numerator) // denominator)
        return Fixed(middle, radius + 1 if rest else radius)

    @property
    def is_zero(self) -> bool:
        """Exactly."""
        return not self.middle and not self.radius


def fixed(value: Fraction | int) -> Fixed:
    """The next number below, off by less than a unit unless it is exact."""
    middle, rest = divmod(value.numerator << _bits[0], value.denominator)
    return Fixed(middle, 1 if rest else 0)


def around(x: Any) -> Fixed:
    """Of a finite interval of ``iv``, its ends moved outward to whole units."""
    (low, high), bits = x._mpi_, _bits[0]
    least, largest = _below(low, bits), -_below((1 - high[0], *high[1:]), bits)
    middle = least + largest >> 1
    return Fixed(middle, largest - middle)


def _below(end: Any, bits: int) -> int:
    """The next whole number of units below an end, mpmath's (sign, mantissa, exponent, bits)."""
    sign, value, exponent, _ = end
    if not value and exponent:
        raise ValueError("an interval without end has no number in fixed point")
    signed, shift = -int(value) if sign else int(value), int(exponent) + bits
    return signed << shift if shift >= 0 else signed >> -shift


def interval(number: Fixed) -> Any:
    """An interval of ``iv`` that holds it: its ends rounded outward to the precision in force there."""
    return iv.mpf([number.middle - number.radius, number.middle + number.radius]) / iv.mpf(2) ** _bits[0]


def tanh(x: Fixed) -> Fixed:
    """|tanh x − tanh a| ≤ r, and ≤ r sech²(|a| − r) ≤ 8 r e^(−2|a|) for r ≤ 1/4; a wider one by its ends."""
    bits, a, r = _bits[0], x.middle, x.radius
    if r << 2 > 1 << bits:
        low, high = _tanh_near(a - r)[0] - 2, _tanh_near(a + r)[0] + 2
        return Fixed((low + high) >> 1, (high - low + 3) >> 1)
    value, falls = _tanh_near(a)
    return Fixed(value, min(r, (falls * r >> bits - 3) + 1) + 2 if r or a else 0)


def _tanh_near(a: int) -> tuple[int, int]:
    """(tanh, e^(−2|x|) from above) of x = a · 2^−P in units of 2^−P, the first off by less than two units.

    e^(−2|x|) = (e^(−v))^(2^k), v = 2|x|/2^k < 2^−c, and e^(−v) = √(1 + s²) − s with s = sinh v by its series. With
    Q = P + g bits every term is off by less than three units of 2^−Q, v, the root and the rest of the series by less
    than six, and a squaring doubles the error and adds less than two: 2^k (3 · terms + 8) units, terms ≤ Q/(2c) + 2,
    which g makes less than an eighth of 2^−P.
    """
    bits, size = _bits[0], abs(a)
    if size >> bits >= bits:  # e^(−2P) < 2^−P/8
        return (1 << bits if a > 0 else -1 << bits), 1
    c = isqrt(bits) >> 1
    k = max(size.bit_length() + 1 - bits + c, 0)
    wide = bits + k + bits.bit_length() + 10
    v = size << 1 + wide - bits >> k
    square, term, sine, n = v * v >> wide, v, v, 1
    while term:
        n += 2
        term = (term * square >> wide) // (n * n - n)
        sine += term
    total = isqrt((1 << 2 * wide) + sine * sine) - sine
    for _ in range(k):
        total = total * total >> wide
    one = 1 << wide
    value = (one - total << bits) // (one + total)
    return (value if a >= 0 else -value), (total >> wide - bits) + 2
