"""Exact real scalars: rationals, and algebraic numbers of one real number field Q(θ).

A tableau's coefficients are ``fmpq`` wherever they are rational. √3 or a root of a cubic is an ``Algebraic``: a
polynomial in θ modulo θ's minimal polynomial, so arithmetic and the test for zero are exact, and the sign of a nonzero
number is found by evaluating the polynomial in balls of growing precision, which must end. Results that are rational
come back as ``fmpq``. Numbers of two different fields do not mix here: ``exact.compositum`` builds a common field.
"""

from __future__ import annotations

import copyreg
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import flint
from flint import arb, fmpq, fmpq_poly, fmpz

Scalar: TypeAlias = "fmpq | Algebraic"
FIRST_BITS = 64
SMALL_PRIME = 10_000
FACTORED_BITS = 120
"""Numbers up to so many bits are factored completely, in hundredths of a second; of larger ones small primes only."""


class FieldMismatchError(ArithmeticError):
    """Two algebraic numbers of different fields met in one operation."""


class NumberField:
    """Q(θ) with θ a real root of an irreducible polynomial. Fields are interned: equal fields are one object."""

    def __init__(self, modulus: fmpq_poly, index: int, label: str) -> None:
        self.modulus = modulus
        self.index = index
        self.label = label
        self._balls: dict[int, Any] = {}

    @property
    def degree(self) -> int:
        return int(self.modulus.degree())

    def root(self, bits: int) -> Any:
        """A ball around θ, computed with ``bits`` of working precision."""
        if bits not in self._balls:
            with flint.ctx.workprec(bits):
                self._balls[bits] = real_roots(self.modulus)[self.index]
        return self._balls[bits]

    def generator(self) -> Algebraic:
        return Algebraic(self, fmpq_poly([0, 1]))

    def __reduce__(self) -> tuple[Any, ...]:
        return number_field, (tuple(self.modulus.coeffs()), self.index, self.label)

    def __deepcopy__(self, memo: dict[int, Any]) -> NumberField:
        return self

    def __repr__(self) -> str:
        return f"Q({self.label})"


def real_roots(polynomial: fmpq_poly) -> list[Any]:
    """Disjoint balls around the real roots of a squarefree polynomial, ascending, at the precision in force."""
    pairs: Any = polynomial.numer().complex_roots()
    roots = [root for root, _ in pairs]
    real = (root.real for root in roots if root.imag.is_zero())
    return sorted(real, key=functools.cmp_to_key(_compare))


def _compare(x: Any, y: Any) -> int:
    """Of disjoint balls."""
    return -1 if x < y else 1


_FIELDS: dict[tuple[tuple[fmpq, ...], int], NumberField] = {}


def number_field(coefficients: tuple[fmpq, ...], index: int, label: str) -> NumberField:
    """The one field of this modulus and root; the first label given to it stays."""
    key = (coefficients, index)
    if key not in _FIELDS:
        _FIELDS[key] = NumberField(fmpq_poly(list(coefficients)), index, label)
    return _FIELDS[key]


def root_of(coefficients: Sequence[int | fmpq | Fraction], near: float, label: str | None = None) -> Scalar:
    """The real root nearest to ``near`` of Σ coefficients[k] x^k. ValueError if there is none or it is ambiguous.

    The irreducible factor that has the root becomes the modulus; a rational root is returned as ``fmpq``.
    """
    polynomial = fmpq_poly([exact_rational(c) for c in coefficients])
    if polynomial.degree() < 1:
        raise ValueError(f"The polynomial with coefficients {list(coefficients)} has no root: its degree is below 1.")
    candidates = []
    with flint.ctx.workprec(FIRST_BITS):
        for factor, _ in polynomial.factor()[1]:
            monic = fmpq_poly(factor) / fmpq_poly(factor).leading_coefficient()
            candidates += [(abs(ball - near).mid(), i, monic) for i, ball in enumerate(real_roots(monic))]
    if not candidates:
        raise ValueError(f"The polynomial with coefficients {list(coefficients)} has no real root.")
    candidates.sort(key=lambda entry: entry[0])
    if len(candidates) > 1 and candidates[1][0] - candidates[0][0] < 1e-6:
        raise ValueError(f"Two real roots are equally near to {near}; give a number closer to the one that is meant.")
    _, index, modulus = candidates[0]
    if modulus.degree() == 1:
        return -modulus[0]
    if modulus.degree() == 2:
        return quadratic_root(modulus, index)
    terms = tuple(modulus.coeffs())
    return number_field(terms, index, label or f"root({polynomial_text(modulus, 'x')}, {near:.10g})").generator()


def quadratic_root(modulus: fmpq_poly, index: int) -> Scalar:
    """The smaller (index 0) or larger (1) root −p/2 ∓ √(p²/4 − q) of x² + px + q, in the field of its square root."""
    half = -modulus[1] / 2
    return half + (2 * index - 1) * sqrt(half * half - modulus[0])


def sqrt(value: int | fmpq | Fraction | str) -> Scalar:
    """√value for a rational value, as q·√d; ``fmpq`` if it is rational. ValueError if negative.

    d is squarefree, unless it has more than ``FACTORED_BITS`` bits without its small primes: then it may hold the
    square of a large prime. Two numbers d, e with a rational √(de) have one field, that of the one met first.
    """
    value = exact_rational(value)
    if value < 0:
        raise ValueError(f"The square root of {value} is not real.")
    if value == 0:
        return fmpq(0)
    outside, inside, known = fmpz(1), fmpz(1), True
    for base, power, prime in (*parts(value.p), *parts(value.q)):
        outside *= base ** (power // 2)
        inside *= base ** (power % 2)
        known &= prime or power % 2 == 0
    factor = fmpq(outside, value.q)
    if inside == 1:
        return factor
    product: Scalar = factor * _field_of_square_root(inside, known)
    return product


_RADICANDS: dict[fmpz, bool] = {}
"""The d of the fields Q(√d), and whether d is known to be squarefree."""


def _field_of_square_root(d: fmpz, known: bool) -> Any:
    """√d in the field Q(√d); d is no square."""
    if d not in _RADICANDS:
        for e, e_known in _RADICANDS.items():
            if (not known or not e_known) and (d * e).is_square():
                return fmpq((d * e).sqrt(), e) * _field_of_square_root(e, e_known)
        _RADICANDS[d] = known
    return number_field((fmpq(-d), fmpq(0), fmpq(1)), 1, f"sqrt({d})").generator()


@functools.cache
def _small_primes() -> tuple[list[fmpz], fmpz]:
    primes = [fmpz(p) for p in range(2, SMALL_PRIME) if fmpz(p).is_prime()]
    return primes, fmpz(math.prod(int(p) for p in primes))


def parts(n: fmpz, exponents: int = 16) -> list[tuple[fmpz, int, bool]]:
    """n ≥ 1 as a product of coprime powers: (base, power, whether the base is prime). No factorisation runs long.

    Only one base may not be prime; it has large prime factors only and is no k-th power for k ≤ ``exponents``.
    """
    if n.bit_length() <= FACTORED_BITS:
        return [(fmpz(prime), int(power), True) for prime, power in n.factor()]
    factors = []
    primes, product = _small_primes()
    common = n.gcd(product)
    for prime in primes:
        if common % prime == 0:
            power = 0
            while n % prime == 0:
                n, power = n // prime, power + 1
            factors.append((prime, power, True))
    if n.bit_length() <= FACTORED_BITS:
        return factors + parts(n)
    power = 1
    for k in range(2, exponents + 1):
        while (root := n.root(k)) ** k == n:
            n, power = root, power * k
    if n.bit_length() <= FACTORED_BITS:
        return factors + [(prime, power * inner, True) for prime, inner, _ in parts(n)]
    return [*factors, (n, power, False)]


def exact_rational(value: Any) -> fmpq:
    """An int, Fraction, fmpz, fmpq or a string such as "1/3" or "0.25" as ``fmpq``. TypeError or ValueError if none."""
    if isinstance(value, fmpq):
        return value
    if isinstance(value, int | fmpz):
        return fmpq(value)
    if isinstance(value, str):
        value = Fraction(value.replace(" ", ""))
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    raise TypeError(f"{value!r} of type {type(value).__name__} is no exact rational number.")


def _element(field: NumberField, coefficients: tuple[fmpq, ...]) -> Algebraic:
    return Algebraic(field, fmpq_poly(list(coefficients)))


def _quotient(numerator: int, denominator: int) -> fmpq:
    return fmpq(numerator, denominator)


# python-flint's rationals know neither pickle nor copy; a torch module that holds a tableau is saved and copied.
copyreg.pickle(fmpq, lambda q: (_quotient, (int(q.p), int(q.q))))


class Algebraic:
    """An irrational element of a number field: immutable, ordered; exact arithmetic with its field and rationals."""

    __slots__ = ("field", "polynomial")

    def __init__(self, field: NumberField, polynomial: fmpq_poly) -> None:
        self.field = field
        self.polynomial = polynomial

    def __reduce__(self) -> tuple[Any, ...]:
        return _element, (self.field, tuple(self.polynomial.coeffs()))

    def _of(self, polynomial: fmpq_poly) -> Scalar:
        """The field's element with this polynomial, reduced; rational ones leave the field."""
        if polynomial.degree() >= self.field.degree:
            polynomial = polynomial % self.field.modulus
        return polynomial[0] if polynomial.degree() <= 0 else Algebraic(self.field, polynomial)

    def _other(self, other: Any) -> fmpq_poly | None:
        if isinstance(other, Algebraic):
            if other.field is not self.field:
                raise FieldMismatchError(f"{self} and {other} lie in different fields, {self.field} and {other.field}.")
            return other.polynomial
        if isinstance(other, int | Fraction | fmpz | fmpq):
            return fmpq_poly([exact_rational(other)])
        return None

    def __add__(self, other: Any) -> Any:
        polynomial = self._other(other)
        return NotImplemented if polynomial is None else self._of(self.polynomial + polynomial)

    __radd__ = __add__

    def __neg__(self) -> Algebraic:
        return Algebraic(self.field, -self.polynomial)

    def __sub__(self, other: Any) -> Any:
        polynomial = self._other(other)
        return NotImplemented if polynomial is None else self._of(self.polynomial - polynomial)

    def __rsub__(self, other: Any) -> Any:
        polynomial = self._other(other)
        return NotImplemented if polynomial is None else self._of(polynomial - self.polynomial)

    def __mul__(self, other: Any) -> Any:
        polynomial = self._other(other)
        return NotImplemented if polynomial is None else self._of(self.polynomial * polynomial)

    __rmul__ = __mul__

    def inverse(self) -> Scalar:
        _, factor, _ = self.polynomial.xgcd(self.field.modulus)  # factor · polynomial ≡ 1
        return self._of(factor)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Algebraic):
            return self * other.inverse()
        polynomial = self._other(other)
        if polynomial is None:
            return NotImplemented
        if polynomial.is_zero():
            raise ZeroDivisionError(f"{self} / 0")
        return self._of(self.polynomial / polynomial[0])

    def __rtruediv__(self, other: Any) -> Any:
        polynomial = self._other(other)
        return NotImplemented if polynomial is None else self.inverse() * polynomial[0]

    def __pow__(self, exponent: int) -> Any:
        if exponent < 0:
            return 1 / self**-exponent
        result: Any = fmpq(1)
        for _ in range(exponent):
            result = self * result
        return result

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Algebraic):
            return self.field is other.field and self.polynomial == other.polynomial
        return False  # a rational number never is an Algebraic

    def __hash__(self) -> int:
        return hash((id(self.field), tuple(self.polynomial.coeffs())))

    def __abs__(self) -> Algebraic:
        return self if self.sign() > 0 else -self

    def __lt__(self, other: Any) -> bool:
        return sign(self - other) < 0

    def __le__(self, other: Any) -> bool:
        return sign(self - other) <= 0

    def __gt__(self, other: Any) -> bool:
        return sign(self - other) > 0

    def __ge__(self, other: Any) -> bool:
        return sign(self - other) >= 0

    def __float__(self) -> float:
        return float(self.ball(128).mid())

    def ball(self, bits: int) -> Any:
        """An enclosure, computed with ``bits`` of working precision."""
        root = self.field.root(bits)
        with flint.ctx.workprec(bits):
            value = arb(0)
            for coefficient in reversed(self.polynomial.coeffs()):
                value = value * root + arb(coefficient)
            return value

    def sign(self) -> int:
        """+1 or −1; an element of the field with a nonconstant reduced polynomial is never 0."""
        bits = FIRST_BITS
        while True:
            value = self.ball(bits)
            if value > 0:
                return 1
            if value < 0:
                return -1
            bits *= 2

    def __str__(self) -> str:
        return polynomial_text(self.polynomial, self.field.label)

    def __repr__(self) -> str:
        return str(self)


def polynomial_text(polynomial: fmpq_poly, variable: str) -> str:
    """Ascending powers, as a string that can be parsed again: 1/2 - 1/6*sqrt(3)."""
    text = ""
    for power, coefficient in enumerate(polynomial.coeffs()):
        if coefficient == 0:
            continue
        size = abs(coefficient)
        name = "" if power == 0 else variable if power == 1 else f"{variable}^{power}"
        body = str(size) if not name else name if size == 1 else f"{size}*{name}"
        signed = "-" if coefficient < 0 else "+"
        text += f" {signed} {body}" if text else (f"-{body}" if coefficient < 0 else body)
    return text or "0"


def sign(value: Scalar | int) -> int:
    """−1, 0 or +1, exactly."""
    if isinstance(value, Algebraic):
        return value.sign()
    return (value > 0) - (value < 0)


def nearest_float(value: Scalar) -> float:
    """The double nearest to the value (for an irrational one, nearest to its 128-bit approximation)."""
    return float(value) if isinstance(value, Algebraic) else int(value.p) / int(value.q)


def enclosure(value: Scalar | int, bits: int) -> Any:
    """A ball around the value, computed with ``bits`` of working precision."""
    if isinstance(value, Algebraic):
        return value.ball(bits)
    with flint.ctx.workprec(bits):
        return arb(value)


def field_of(*values: Any) -> NumberField | None:
    """The common field of the values, ``None`` if all are rational. FieldMismatchError if there are two."""
    common: NumberField | None = None
    for value in values:
        if isinstance(value, Algebraic):
            if common is not None and value.field is not common:
                raise FieldMismatchError(f"The numbers lie in different fields, {common} and {value.field}.")
            common = value.field
    return common
