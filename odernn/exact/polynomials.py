"""Real polynomials with exact coefficients: greatest common divisors, Sturm chains, real roots, the Routh array.

A polynomial is the tuple of its coefficients, constant term first and the last one not 0; () is the zero polynomial.
Coefficients are exact scalars; rational polynomials go to FLINT where that is faster.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import flint
from flint import acb_poly, arb, fmpq, fmpq_poly

from odernn.exact.algebraic import FIRST_BITS, enclosure, exact_rational, sign, sqrt
from odernn.exact.linear_algebra import is_rational

Polynomial: TypeAlias = tuple[Any, ...]


def polynomial(coefficients: Sequence[Any]) -> Polynomial:
    """Without leading zeros."""
    terms = list(coefficients)
    while terms and terms[-1] == 0:
        terms.pop()
    return tuple(terms)


def degree(p: Polynomial) -> int:
    """−1 for the zero polynomial."""
    return len(p) - 1


def add(p: Polynomial, q: Polynomial, factor: int = 1) -> Polynomial:
    """p + factor·q."""
    size = max(len(p), len(q))
    zero = fmpq(0)
    terms = [(p[k] if k < len(p) else zero) + factor * (q[k] if k < len(q) else zero) for k in range(size)]
    return polynomial(terms)


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    if not p or not q:
        return ()
    if is_rational(p, q):
        return tuple((fmpq_poly(list(p)) * fmpq_poly(list(q))).coeffs())
    terms: list[Any] = [fmpq(0)] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            terms[i + j] = terms[i + j] + x * y
    return polynomial(terms)


def divide(p: Polynomial, q: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder."""
    if is_rational(p, q):
        quotient, rest = divmod(fmpq_poly(list(p)), fmpq_poly(list(q)))
        return tuple(quotient.coeffs()), tuple(rest.coeffs())
    remainder, terms = list(p), []
    while len(remainder) >= len(q):
        factor = remainder[-1] / q[-1]
        terms.append(factor)
        start = len(remainder) - len(q)
        for k in range(len(q) - 1):
            remainder[start + k] = remainder[start + k] - factor * q[k]
        remainder.pop()
    return polynomial(terms[::-1]), polynomial(remainder)


def monic(p: Polynomial) -> Polynomial:
    return tuple(x / p[-1] for x in p)


def gcd(p: Polynomial, q: Polynomial) -> Polynomial:
    """The monic greatest common divisor; () only if both are 0."""
    if is_rational(p, q):
        return tuple(fmpq_poly(list(p)).gcd(fmpq_poly(list(q))).coeffs())
    while q:
        p, q = q, divide(p, q)[1]
        q = monic(q)
    return monic(p)


def derivative(p: Polynomial) -> Polynomial:
    return polynomial([k * x for k, x in enumerate(p)][1:])


def squarefree(p: Polynomial) -> Polynomial:
    """The polynomial with the same roots, each simple."""
    return divide(p, gcd(p, derivative(p)))[0] if degree(p) > 0 else p


def evaluate(p: Polynomial, x: Any) -> Any:
    if isinstance(x, fmpq) and is_rational(p):
        return fmpq_poly(list(p))(x)
    value: Any = fmpq(0)
    for coefficient in reversed(p):
        value = value * x + coefficient
    return value


def scale_variable(p: Polynomial, factor: Any) -> Polynomial:
    """p(factor·x)."""
    terms, power = [], fmpq(1)
    for coefficient in p:
        terms.append(coefficient * power)
        power = power * factor
    return polynomial(terms)


def shift_reflect(p: Polynomial) -> Polynomial:
    """p(1 − x)."""
    result: Polynomial = ()
    for coefficient in reversed(p):
        result = add(multiply(result, (fmpq(1), fmpq(-1))), polynomial([coefficient]))
    return result


def sturm_chain(p: Polynomial) -> tuple[Polynomial, ...]:
    """p, p′ and the negated remainders of Euclid's algorithm, each divided by a positive number."""
    chain = [_shortened(p), _shortened(derivative(p))]
    while chain[-1]:
        rest = divide(chain[-2], chain[-1])[1]
        chain.append(_shortened(tuple(-x for x in rest)))
    return tuple(chain[:-1])


def _shortened(p: Polynomial) -> Polynomial:
    """A positive multiple with short coefficients: coprime integers, or over a number field leading coefficient ±1."""
    if not p:
        return p
    if is_rational(p):
        whole = fmpq_poly(list(p)).numer()
        content = whole.content()
        return tuple(fmpq(x // content) for x in whole.coeffs())
    return tuple(x / abs(p[-1]) for x in p)


def _variations(values: Sequence[int]) -> int:
    signs = [s for s in values if s != 0]
    return sum(x != y for x, y in itertools.pairwise(signs))


def _variations_at(chain: Sequence[Polynomial], x: Any) -> int:
    return _variations([sign(evaluate(p, x)) for p in chain])


def count_roots(p: Polynomial, lower: Any = None, upper: Any = None) -> int:
    """How many different real roots a nonzero p has in (lower, upper], by Sturm's theorem; ``None`` is ∓∞."""
    chain = sturm_chain(squarefree(p))
    below = [sign(q[-1]) * (-1) ** degree(q) for q in chain]
    above = [sign(q[-1]) for q in chain]
    left = _variations(below) if lower is None else _variations_at(chain, lower)
    right = _variations(above) if upper is None else _variations_at(chain, upper)
    return left - right


def root_bound(p: Polynomial) -> fmpq:
    """A power of two above the size of every root: Cauchy's bound 1 + max |p_k / p_n|."""
    largest = max((abs(x / p[-1]) for x in p[:-1]), default=fmpq(0))
    bound = fmpq(2)
    while sign(largest + 1 - bound) >= 0:
        bound *= 2
    return bound


@dataclass(frozen=True)
class RealRoot:
    """The one root of the squarefree ``polynomial`` in the open interval (lower, upper), or lower = upper, the root."""

    polynomial: Polynomial
    lower: fmpq
    upper: fmpq

    def refined(self) -> RealRoot:
        """The same root in half the interval."""
        if self.lower == self.upper:
            return self
        middle = (self.lower + self.upper) / 2
        at_middle = sign(evaluate(self.polynomial, middle))
        if at_middle == 0:
            return RealRoot(self.polynomial, middle, middle)
        if at_middle == sign(evaluate(self.polynomial, self.upper)):
            return RealRoot(self.polynomial, self.lower, middle)
        return RealRoot(self.polynomial, middle, self.upper)

    def within(self, width: Any) -> RealRoot:
        """The same root in an interval no longer than ``width``."""
        root = self
        while root.upper - root.lower > exact_rational(width):
            root = root.refined()
        return root

    def ball(self, bits: int) -> Any:
        """An enclosure about 2⁻ᵇⁱᵗˢ wide, relative to the upper end."""
        root = self.within(abs(self.upper) * fmpq(1, 2**bits) + (self.upper == 0))
        with flint.ctx.workprec(bits + 8):
            return arb(root.lower).union(arb(root.upper))

    def __float__(self) -> float:
        return float(self.ball(60).mid())

    def __str__(self) -> str:
        """In closed form where the root is rational or the square root of a rational number, else twelve digits."""
        if self.lower == self.upper:
            return str(self.lower)
        p = self.polynomial
        if is_rational(p):
            for factor, _ in fmpq_poly(list(p)).factor()[1]:
                terms = [fmpq(x) / fmpq(factor[factor.degree()]) for x in factor.coeffs()]
                if not self._owns(terms):
                    continue
                if len(terms) == 2:
                    return str(-terms[0])
                if len(terms) == 3 and terms[1] == 0:
                    return str(sqrt(-terms[0]) if self.upper > 0 else -sqrt(-terms[0]))
        return f"{float(self):.12g}"

    def _owns(self, factor: Sequence[Any]) -> bool:
        """Whether the root is one of this factor's."""
        return bool(evaluate(tuple(factor), self.lower) * evaluate(tuple(factor), self.upper) < 0)


def positive_roots(p: Polynomial) -> tuple[RealRoot, ...]:
    """The different roots in (0, ∞) of a nonzero polynomial, ascending, with a positive gap between neighbours."""
    while p and p[0] == 0:
        p = p[1:]
    p = squarefree(p)
    if degree(p) < 1:
        return ()
    chain = sturm_chain(p)
    top = root_bound(p)
    queue = [(fmpq(0), top, _variations_at(chain, fmpq(0)), _variations_at(chain, top))]
    roots = []
    while queue:
        lower, upper, left, right = queue.pop()
        if left == right:
            continue
        if left - right == 1:
            roots.append(RealRoot(p, lower, upper))
            continue
        points = (lower + (upper - lower) / k for k in range(2, len(p) + 3))
        middle = next(x for x in points if evaluate(p, x) != 0)  # no end of an interval is a root
        at_middle = _variations_at(chain, middle)
        queue += [(middle, upper, at_middle, right), (lower, middle, left, at_middle)]
    return _apart(roots)


def _apart(roots: Sequence[RealRoot]) -> tuple[RealRoot, ...]:
    """Refine until the closed intervals are disjoint and positive."""
    roots = list(roots)
    for k in range(len(roots)):
        while roots[k].lower == 0 or (k > 0 and roots[k - 1].upper >= roots[k].lower):
            roots[k] = roots[k].refined()
            if k > 0:
                roots[k - 1] = roots[k - 1].refined()
    return tuple(roots)


def routh_column(p: Polynomial) -> Polynomial:
    """The first column of the Routh array, up to and including the first entry that is not positive relative to p_n.

    All roots of p have negative real part iff the column has deg p + 1 entries of one sign. Gantmacher, The Theory of
    Matrices II, 1959, chapter XV, §3; Hairer, Nørsett, Wanner 1993, Theorem I.13.4.
    """
    terms = p[::-1]
    lead = sign(terms[0])
    row, below = list(terms[0::2]), list(terms[1::2])
    column = [row[0]]
    while len(column) < len(p):
        column.append(below[0] if below else fmpq(0))
        if sign(column[-1]) != lead:
            break
        factor = row[0] / below[0]
        padded = below + [fmpq(0)] * (len(row) - len(below))
        row, below = below, [x - factor * y for x, y in zip(row[1:], padded[1:], strict=True)]
    return tuple(column)


def is_hurwitz(p: Polynomial) -> bool:
    """Whether every root of the nonzero polynomial p has negative real part."""
    column = routh_column(p)
    return len(column) == len(p) and sign(column[-1]) == sign(p[-1])


def root_in_left_half_plane(p: Polynomial) -> Any:
    """A complex ball that holds a root of p and lies in Re z < 0. The caller knows that there is such a root."""
    p = squarefree(p)
    bits = FIRST_BITS
    while True:
        with flint.ctx.workprec(bits):
            try:
                roots = acb_poly([enclosure(x, bits) for x in p]).roots()
            except ValueError:  # not isolated at this precision
                roots = []
            for root in roots:
                if root.real < 0:
                    return root
        bits *= 2
