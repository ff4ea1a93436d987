"""Tableaus as a program holds them: every coefficient correctly rounded to a binary floating-point format.

    fl(x) = k·u with the integer k nearest to x/u, ties to the even one,  u = 2^{max(e, emin) − precision + 1},
    2ᵉ ≤ |x| < 2^{e+1}

IEEE Std 754-2019, Section 4.3.1. A decision about a float tableau elsewhere in this package is about the numbers that
are *meant*, of which the floats are roundings. Here the floats are the method: a program that steps with them steps
with this method and no other. What is true of it: ``odernn.properties.facts_as_given``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import flint
from flint import fmpq

from odernn.exact.algebraic import Algebraic
from odernn.tableaus.families import Enclosures, PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import Method, in_stages
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

__all__ = ["FORMATS", "FloatFormat", "as_given", "nearest", "rounded"]

ZERO = fmpq(0)
MOST_BITS = 4096
"""A ball that still straddles two floats at this precision holds a number half-way between them."""


def nearest_rational(x: fmpq, kind: FloatFormat) -> fmpq:
    """fl(x). Raises ValueError beyond the largest number of the format."""
    if x == 0:
        return ZERO
    size = abs(x)
    exponent = int(size.p.bit_length()) - int(size.q.bit_length())  # 2^(exponent − 1) < |x| < 2^(exponent + 1)
    if size < _power(exponent):
        exponent -= 1
    unit = _power(max(exponent, kind.emin) - kind.precision + 1)
    units = size / unit
    whole = units.p // units.q
    rest = units - whole
    if rest > fmpq(1, 2) or (rest == fmpq(1, 2) and whole % 2 == 1):
        whole += 1
    result = whole * unit
    if result >= _power(kind.emax + 1):
        raise ValueError(f"{as_float(x):.6g} is beyond the largest {kind.name}. Choose a wider format.")
    return result if x > 0 else -result


def nearest(value: Any, format: str | FloatFormat) -> fmpq:
    """The number of the format nearest to an exact scalar, ties to the even one, as an exact rational.

    value    fmpq, int or Algebraic. Raises ValueError for a number beyond the largest of the format, or for an unknown
             format.
    """
    kind = _format(format)
    if isinstance(value, Algebraic):
        return _nearest_of_balls(value.ball, kind)
    return nearest_rational(fmpq(value), kind)


def rounded(method: Method, format: str | FloatFormat) -> ButcherTableau | PartitionedTableau:
    """The method with every coefficient of A, b and b̂ correctly rounded to the format; the numbers are exact rationals.

    A composition is rounded as its equivalent tableau. Raises ValueError for an unknown format or an overflow,
    TypeError for what is no tableau.
    """
    kind = _format(format)
    table = in_stages(method)
    if isinstance(table, PolynomialPair | PartitionedTableau):
        position, momentum = (_rounded_half(half, kind) for half in (table.position, table.momentum))
        return PartitionedTableau(f"{table.name} in {kind.name}", table.source, position, momentum, table.order)
    if isinstance(table, ButcherTableau | PolynomialTableau):
        return _rounded_half(table, kind)
    raise TypeError(f"{method!r} of type {type(method).__name__} has no coefficients to round. Give a tableau.")


def as_given(method: Method) -> ButcherTableau | PartitionedTableau:
    """The same coefficients as the numbers meant, floats and printed decimals alike.

    Raises TypeError for a family's member whose coefficients are not written out: ``rounded`` makes floats of them.
    """
    table = in_stages(method)
    if isinstance(table, PartitionedTableau):
        position, momentum = _meant(table.position), _meant(table.momentum)
        return PartitionedTableau(table.name, table.source, position, momentum, table.order)
    if isinstance(table, ButcherTableau):
        return _meant(table)
    raise TypeError(f"{method!r} has no written coefficients. Round it first: rounded(method, 'float64').")


@dataclass(frozen=True)
class FloatFormat:
    """A binary format of IEEE 754 or its like: ``precision`` bits, normal numbers from 2^emin to below 2^(emax + 1)."""

    name: str
    precision: int
    emin: int
    emax: int


FORMATS = MappingProxyType(
    {
        float_format.name: float_format
        for float_format in (
            FloatFormat("float64", 53, -1022, 1023),
            FloatFormat("float32", 24, -126, 127),
            FloatFormat("bfloat16", 8, -126, 127),
            FloatFormat("float16", 11, -14, 15),
        )
    }
)
"""By name, as torch and NumPy call them. IEEE Std 754-2019, Table 3.5; bfloat16 is the upper half of a float32."""


def _meant(table: ButcherTableau) -> ButcherTableau:
    return ButcherTableau(
        table.A,
        table.b,
        name=table.name,
        source=table.source,
        order=table.order,
        b_hat=table.b_hat,
        order_hat=table.order_hat,
    )


def _format(format: str | FloatFormat) -> FloatFormat:
    if isinstance(format, FloatFormat):
        return format
    if format not in FORMATS:
        raise ValueError(f'No floating-point format is called "{format}". There are: {", ".join(FORMATS)}.')
    return FORMATS[format]


def _rounded_half(table: ButcherTableau | PolynomialTableau, kind: FloatFormat) -> ButcherTableau:
    name = f"{table.name} in {kind.name}"
    if isinstance(table, PolynomialTableau):
        s = table.stages
        digits = functools.cache(table.enclosures)
        A = [[_nearest_of_balls(_entry(digits, i, j), kind) for j in range(s)] for i in range(s)]
        b = [_nearest_of_balls(_entry(digits, None, j), kind) for j in range(s)]
        return ButcherTableau(A, b, name=name, source=table.source, order=table.order)
    b_hat = None if table.b_hat is None else [nearest(x, kind) for x in table.b_hat]
    return ButcherTableau(
        [[nearest(a, kind) for a in entries] for entries in table.A],
        [nearest(x, kind) for x in table.b],
        name=name,
        source=table.source,
        order=table.order,
        b_hat=b_hat,
        order_hat=table.order_hat,
    )


def _entry(digits: Callable[[int], Enclosures], i: int | None, j: int) -> Callable[[int], Any]:
    """a_ij, or b_j for ``i`` None, as a ball at any precision."""
    return lambda bits: digits(bits).b[j] if i is None else digits(bits).A[i][j]


def _nearest_of_balls(ball: Callable[[int], Any], kind: FloatFormat) -> fmpq:
    """Of a number known by balls: both ends of a narrow one round to the same float, but for a number half-way."""
    bits = 128
    while bits <= MOST_BITS:
        enclosed = ball(bits)
        with flint.ctx.workprec(bits + 64):  # else its ends are rounded outwards to 53 bits
            ends = {nearest_rational(dyadic(end), kind) for end in (enclosed.lower(), enclosed.upper())}
        if len(ends) == 1:
            return ends.pop()
        bits *= 2
    raise ValueError(f"{enclosed} is half-way between two numbers of {kind.name}: balls cannot round it.")


def dyadic(end: Any) -> fmpq:
    """The dyadic number that an exact ball is."""
    mantissa, exponent = end.man_exp()
    return fmpq(mantissa) * _power(int(exponent))


def _power(exponent: int) -> fmpq:
    """2^exponent."""
    return fmpq(2**exponent) if exponent >= 0 else fmpq(1, 2**-exponent)


def as_float(x: fmpq) -> float:
    return int(x.p) / int(x.q)
