"""Tableaus as a program holds them: what is true of the binary floating-point numbers themselves, and by how much.

A decision about a float tableau elsewhere in this package is about the numbers that are *meant*, of which the floats
are roundings. Here the floats are the method: a program that steps with them steps with this method and no other.

    >>> from odernn import tableaus
    >>> from odernn.properties.rounding import judged, rounded
    >>> print(judged(rounded(tableaus.get("radau iia 2"), "float32")).smallest_eigenvalue)
    -9.31323e-09

How much M = BA + AᵀB − bbᵀ misses M ≥ 0 is max(0, −λ_min(M)): for a symmetric matrix this is the distance in the
spectral norm to the nearest positive semi-definite one (N. J. Higham, Computing a nearest symmetric positive
semidefinite matrix, Linear Algebra Appl. 103 (1988) 103–118, Theorem 3.1). How much it misses M = 0 is its largest
entry.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import flint
from flint import fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import Algebraic, sign
from odernn.exact.definiteness import inertia
from odernn.properties.algebraic_stability import algebraic_stability, burrage_butcher
from odernn.properties.elementary_weights import ElementaryWeights
from odernn.properties.order import FailedCondition, order, residual
from odernn.properties.stage_spaces import exact_spaces
from odernn.properties.symplecticity import symplecticity
from odernn.properties.trees import PARTITIONED, ROOTED, tree_count, trees
from odernn.tableaus.families import Enclosures, PolynomialPair, PolynomialTableau
from odernn.tableaus.methods import Method, forms_of, in_stages
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau

__all__ = [
    "FORMATS",
    "FloatFormat",
    "Interval",
    "Judgement",
    "as_given",
    "condition_residuals",
    "judged",
    "nearest",
    "rounded",
    "smallest_eigenvalue",
]

ZERO = fmpq(0)
MOST_BITS = 4096
"""A ball that still straddles two floats at this precision holds a number half-way between them."""
SIGNIFICANT_BITS = 40
"""An eigenvalue is enclosed to this relative accuracy: twelve digits."""
MOST_TREES = 1000
"""Orders with more conditions are left out of the residuals: for pairs, orders above 6."""


@dataclass(frozen=True)
class FloatFormat:
    """A binary format of IEEE 754 or its like: ``precision`` bits, normal numbers from 2^emin to below 2^(emax + 1)."""

    name: str
    precision: int
    emin: int
    emax: int


FORMATS = MappingProxyType(
    {
        each.name: each
        for each in (
            FloatFormat("float64", 53, -1022, 1023),
            FloatFormat("float32", 24, -126, 127),
            FloatFormat("bfloat16", 8, -126, 127),
            FloatFormat("float16", 11, -14, 15),
        )
    }
)
"""By name, as torch and NumPy call them. IEEE Std 754-2019, Table 3.5; bfloat16 is the upper half of a float32."""


@dataclass(frozen=True)
class Interval:
    """A real number between two rational ones; ``lower == upper`` is the number. Printed to six digits."""

    lower: fmpq
    upper: fmpq

    def __str__(self) -> str:
        low, high = (f"{_float(end):.6g}" for end in (self.lower, self.upper))
        return low if low == high else f"[{low}, {high}]"


@dataclass(frozen=True)
class Judgement:
    """What is exactly true of the numbers of one method.

    method                the method, its coefficients taken for the numbers meant
    algebraic_stability   the certificate; ``None`` for a pair, which has no M
    smallest_eigenvalue   of M, as an enclosure; ``None`` for a pair
    smallest_weight       min b_i; ``None`` for a pair
    symplecticity         the certificate; its ``value`` is the largest entry of the violated condition, 0 if there
                          is none
    order                 the certificate
    residuals             for q = 1, 2, … the condition of order q that is missed by most, as far as they were asked
    """

    method: ButcherTableau | PartitionedTableau
    algebraic_stability: Certificate | None
    smallest_eigenvalue: Interval | None
    smallest_weight: Any
    symplecticity: Certificate
    order: Certificate
    residuals: tuple[FailedCondition, ...]

    @property
    def distance_to_semidefinite(self) -> Interval | None:
        """max(0, −λ_min(M)), the spectral distance from M to the positive semi-definite matrices."""
        if self.smallest_eigenvalue is None:
            return None
        low, high = self.smallest_eigenvalue.lower, self.smallest_eigenvalue.upper
        return Interval(max(ZERO, -high), max(ZERO, -low))


# --- rounding ---------------------------------------------------------------------------------------------------


def nearest(value: Any, format: str | FloatFormat) -> fmpq:
    """The number of the format nearest to an exact scalar, ties to the even one, as an exact rational.

    value    fmpq, int or Algebraic. Raises ValueError for a number beyond the largest of the format, or for an unknown
             format.
    """
    kind = _format(format)
    if isinstance(value, Algebraic):
        return _nearest_of_balls(value.ball, kind)
    return _nearest_rational(fmpq(value), kind)


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


def _nearest_rational(x: fmpq, kind: FloatFormat) -> fmpq:
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
        raise ValueError(f"{_float(x):.6g} is beyond the largest {kind.name}. Choose a wider format.")
    return result if x > 0 else -result


def _nearest_of_balls(ball: Callable[[int], Any], kind: FloatFormat) -> fmpq:
    """Of a number known by balls: both ends of a narrow one round to the same float, but for a number half-way."""
    bits = 128
    while bits <= MOST_BITS:
        enclosed = ball(bits)
        with flint.ctx.workprec(bits + 64):  # else its ends are rounded outwards to 53 bits
            ends = {_nearest_rational(_exact(end), kind) for end in (enclosed.lower(), enclosed.upper())}
        if len(ends) == 1:
            return ends.pop()
        bits *= 2
    raise ValueError(f"{enclosed} is half-way between two numbers of {kind.name}: balls cannot round it.")


def _exact(end: Any) -> fmpq:
    """The dyadic number that an exact ball is."""
    mantissa, exponent = end.man_exp()
    return fmpq(mantissa) * _power(int(exponent))


def _power(exponent: int) -> fmpq:
    """2^exponent."""
    return fmpq(2**exponent) if exponent >= 0 else fmpq(1, 2**-exponent)


def _float(x: fmpq) -> float:
    return int(x.p) / int(x.q)


# --- verdicts ---------------------------------------------------------------------------------------------------


def judged(method: Method, *, orders: int | None = None) -> Judgement:
    """Everything that is exactly true of the method's numbers as they are given.

    orders   up to which order the residuals of the order conditions are listed; not given: the declared order, else
             the computed one
    """
    table = as_given(method)
    certificate = order(table)
    most = orders if orders is not None else table.order or certificate.value
    residuals = condition_residuals(table, most)
    if isinstance(table, PartitionedTableau):
        return Judgement(table, None, None, None, symplecticity(table), certificate, residuals)
    return Judgement(
        table,
        algebraic_stability(table),
        smallest_eigenvalue(burrage_butcher(table)),
        min(table.b),
        symplecticity(table),
        certificate,
        residuals,
    )


def condition_residuals(method: Method, orders: int) -> tuple[FailedCondition, ...]:
    """For q = 1, …, orders the tree of order q with the largest |Φ(t) − 1/γ(t)|, the first one of several.

    Orders with more than ``MOST_TREES`` conditions, and those above, are left out.
    """
    forms = forms_of(method)
    family = ROOTED if len(forms) == 1 else PARTITIONED
    weights = ElementaryWeights(family.colours, exact_spaces(forms))
    worst = []
    for q in range(1, orders + 1):
        if tree_count(q, len(family.colours)) > MOST_TREES:
            break
        found = [FailedCondition(tree, residual(weights, tree)) for tree in trees(q, family)]
        worst.append(max(found, key=lambda failed: abs(failed.residual)))
    return tuple(worst)


def smallest_eigenvalue(S: Sequence[Sequence[Any]]) -> Interval:
    """An enclosure of λ_min of a symmetric matrix of exact scalars, with ``SIGNIFICANT_BITS`` correct bits; 0 exactly.

    Each end is a decision in exact arithmetic: λ_min ≥ t if and only if S − tI has no negative eigenvalue, and the
    signs of all eigenvalues of S − tI are read off the coefficients of its characteristic polynomial (Descartes).
    """
    counted = inertia(S)
    if counted.negative == 0 and counted.zero > 0:
        return Interval(ZERO, ZERO)
    sense = -1 if counted.negative else 1
    norm = max(sum((_above(x) for x in row), ZERO) for row in S)  # ≥ |λ| for every eigenvalue
    outer = fmpq(1)
    while outer < norm:
        outer *= 2
    while _reaches(S, sense * outer / 2, sense):
        outer /= 2
    low, high = sorted((sense * outer, sense * outer / 2))
    for _ in range(SIGNIFICANT_BITS):
        middle = (low + high) / 2
        low, high = (middle, high) if inertia(_shifted(S, middle)).negative == 0 else (low, middle)
    return Interval(low, high)


def _reaches(S: Sequence[Sequence[Any]], t: fmpq, sense: int) -> bool:
    """Whether λ_min lies between 0 and t, or at t."""
    shifted = inertia(_shifted(S, t))
    return shifted.negative == 0 if sense < 0 else shifted.negative + shifted.zero > 0


def _shifted(S: Sequence[Sequence[Any]], t: fmpq) -> list[list[Any]]:
    return [[x - t if i == j else x for j, x in enumerate(row)] for i, row in enumerate(S)]


def _above(x: Any) -> fmpq:
    """A rational number ≥ |x|."""
    if sign(x) == 0:
        return ZERO
    return _exact(abs(x).ball(64).upper()) if isinstance(x, Algebraic) else abs(x)
