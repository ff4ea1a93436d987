"""Roots of a rational polynomial in an interval, counted by Sturm's theorem in fractions: a back-end without FLINT.

A polynomial is the list of its coefficients, the constant first.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

Coefficients: TypeAlias = Sequence[Fraction | int]


def value(polynomial: Coefficients, x: Fraction) -> Fraction:
    """Horner's rule."""
    total = Fraction(0)
    for coefficient in reversed(polynomial):
        total = total * x + coefficient
    return total


def times(one: Coefficients, other: Coefficients) -> list[Fraction]:
    total = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            total[i + j] += Fraction(x) * y
    return total


def minus(one: Coefficients, other: Coefficients) -> list[Fraction]:
    size = max(len(one), len(other))
    padded = [list(polynomial) + [0] * (size - len(polynomial)) for polynomial in (one, other)]
    return _trimmed([Fraction(x) - y for x, y in zip(*padded, strict=True)])


def roots_between(polynomial: Coefficients, low: Fraction, high: Fraction) -> int:
    """How many different real roots there are in the open interval (low, high).

    Raises ValueError for the zero polynomial and unless low < high.
    """
    first = _trimmed([Fraction(x) for x in polynomial])
    if not first:
        raise ValueError("The zero polynomial has every number as a root.")
    if low >= high:
        raise ValueError(f"The interval ({low}, {high}) is empty. Give low < high.")
    if len(first) == 1:
        return 0
    chain = [first, _trimmed([k * x for k, x in enumerate(first)][1:])]
    while chain[-1]:
        chain.append([-x for x in _remainder(chain[-2], chain[-1])])
    chain.pop()
    # A common divisor of all (multiple roots) changes no sign pattern, but must not vanish at the ends; and a root at
    # ``high`` is counted by the theorem, one at ``low`` is not.
    last = chain[-1]
    chain = [_quotient(member, last) for member in chain]
    return _changes(chain, low) - _changes(chain, high) - int(value(chain[0], high) == 0)


def _changes(chain: Sequence[Coefficients], x: Fraction) -> int:
    signs = [at_x for at_x in (value(polynomial, x) for polynomial in chain) if at_x != 0]
    return sum(1 for one, other in pairwise(signs) if (one > 0) != (other > 0))


def _trimmed(polynomial: list[Fraction]) -> list[Fraction]:
    while polynomial and polynomial[-1] == 0:
        polynomial.pop()
    return polynomial


def _divided(one: Coefficients, other: Coefficients) -> tuple[list[Fraction], list[Fraction]]:
    rest = [Fraction(x) for x in one]
    quotient = [Fraction(0)] * max(len(one) - len(other) + 1, 1)
    while len(rest) >= len(other):
        factor, shift = rest[-1] / other[-1], len(rest) - len(other)
        quotient[shift] = factor
        for i, x in enumerate(other):
            rest[shift + i] -= factor * x
        rest.pop()
    return _trimmed(quotient), _trimmed(rest)


def _remainder(one: Coefficients, other: Coefficients) -> list[Fraction]:
    return _divided(one, other)[1]


def _quotient(one: Coefficients, other: Coefficients) -> list[Fraction]:
    return _divided(one, other)[0]
