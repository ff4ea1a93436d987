"""Common fields: exact numbers of several number fields written as elements of one, and roots adjoined to a field.

Let K = Q(θ), f the minimal polynomial of θ, p a monic squarefree polynomial over K and β a real root of p. The algebra
R = K[x]/(p) has the rational basis θ^i x^j. If the powers of γ = x + kθ are a basis of R too, θ and x are polynomials
in γ, and R = Q[γ]/(g) with g the characteristic polynomial of γ. The real numbers θ, β are one point of R, so they lie
in the quotient by the irreducible factor of g that vanishes at β + kθ. All but finitely many k will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import flint
from flint import fmpq, fmpq_mat, fmpq_poly

from odernn.exact.algebraic import (
    FIRST_BITS,
    Algebraic,
    NumberField,
    Scalar,
    number_field,
    parts,
    polynomial_text,
    quadratic_root,
    real_roots,
    sqrt,
)

LARGEST_DEGREE = 64
LARGEST_SIZE = 20_000
"""Degree times bits of the coefficients: larger common fields take more than a second to build, and soon hours."""
_TRIES = 12


def unify(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
    """The same numbers, all irrational ones in one field. Raises ValueError if that field is too large."""
    unified = list(values)
    common: NumberField | None = None
    for place, value in enumerate(unified):
        if not isinstance(value, Algebraic) or value.field is common:
            continue
        if common is None:
            common = value.field
            continue
        other = value.field
        theta, beta = adjoin(common, other.modulus.coeffs(), other.root)
        for k, entry in enumerate(unified):
            if isinstance(entry, Algebraic) and entry.field is common:
                unified[k] = _at(entry.polynomial, theta)
            elif k >= place and isinstance(entry, Algebraic) and entry.field is other:
                unified[k] = _at(entry.polynomial, beta)
        common = theta.field if isinstance(theta, Algebraic) else common
    return tuple(unified)


def adjoin(field: NumberField, coefficients: Sequence[Scalar], root: Callable[[int], Any]) -> tuple[Scalar, Scalar]:
    """(θ, β) in the field Q(θ, β): θ generates ``field`` and β is the root of the polynomial Σ coefficients[j] x^j.

    The polynomial is monic and squarefree over ``field``; ``root(bits)`` is a ball around the root that is meant.
    """
    m, n = field.degree, len(coefficients) - 1
    if m * n > LARGEST_DEGREE:
        raise ValueError(
            f"The numbers need a common field of degree up to {m * n}, but {LARGEST_DEGREE} is the largest built here"
        )
    lower = [_polynomial(c) for c in coefficients[:n]]
    bits = max(c.p.bit_length() + c.q.bit_length() for f in (field.modulus, *lower) for c in f.coeffs())
    if m * n * bits > LARGEST_SIZE:
        raise ValueError(
            f"They need a common field of degree up to {m * n}, with coefficients of {bits // 3} digits or more, "
            "which is too large to be built here"
        )
    one = [fmpq_poly([1]), *[fmpq_poly([0])] * (n - 1)]
    theta = [fmpq_poly([0, 1]) % field.modulus, *one[1:]]
    x = [-lower[0]] if n == 1 else [fmpq_poly([0]), *one[:-1]]
    for k in range(1, _TRIES):
        step = _multiplication(field.modulus, lower, k)
        powers = [one]
        for _ in range(m * n):
            powers.append(step(powers[-1]))
        basis = fmpq_mat([[_coordinate(power, i, m) for power in powers[:-1]] for i in range(m * n)])
        if basis.det() == 0:
            continue
        right = fmpq_mat([[_coordinate(u, i, m) for u in (powers[-1], theta, x)] for i in range(m * n)])
        solution = basis.solve(right)
        relation, theta_of, x_of = (fmpq_poly([solution[i, j] for i in range(m * n)]) for j in range(3))
        characteristic = fmpq_poly([0] * (m * n) + [1]) - relation

        def point(bits: int, k: int = k) -> Any:
            return root(bits) + k * field.root(bits)

        gamma = _root_among_factors(characteristic, point)
        return _at(theta_of, gamma), _at(x_of, gamma)
    raise ArithmeticError(f"No primitive element was found for {field} and a root of degree {n}.")


def nth_root(value: Scalar, n: int) -> Scalar:
    """The real n-th root of a number, positive for even n. Raises ValueError if it is not real."""
    if value == 0 or n == 1:
        return value
    positive = value > 0
    if not positive:
        if n % 2 == 0:
            raise ValueError(f"the {'square' if n == 2 else f'{n}-th'} root of {value} is not real")
        return -nth_root(-value, n)
    if isinstance(value, Algebraic):
        zero, one = fmpq(0), fmpq(1)

        def ball(bits: int) -> Any:
            precise = value.ball(bits)
            with flint.ctx.workprec(bits):
                return precise.root(n)

        return adjoin(value.field, [-value, *[zero] * (n - 1), one], ball)[1]
    return _rational_root(value, n)


def _rational_root(value: fmpq, n: int) -> Scalar:
    """(p/q)^(1/n) = (p q^(n−1))^(1/n)/q = a·r^(1/m)/q with r free of m-th powers, m the least possible."""
    powers = [(base, power) for base, power, _ in parts(value.p, n)]
    powers += [(base, power * (n - 1)) for base, power, _ in parts(value.q, n)]
    outside, inside = fmpq(1), fmpq(1)
    common = math.gcd(n, *(power for _, power in powers))
    for base, power in powers:
        outside *= fmpq(base) ** (power // n)
        inside *= fmpq(base) ** (power % n // common)
    degree = n // common
    if degree == 1:
        return outside / value.q
    if degree == 2:
        product: Scalar = outside / value.q * sqrt(inside)
        return product
    # No base is a k-th power for a k > 1 that divides n, so inside is none, and x^degree − inside is irreducible.
    label = f"cbrt({inside})" if degree == 3 else f"({inside}^(1/{degree}))"
    field = number_field((-inside, *[fmpq(0)] * (degree - 1), fmpq(1)), 1 - degree % 2, label)
    result: Scalar = outside / value.q * field.generator()
    return result


def _root_among_factors(polynomial: fmpq_poly, ball: Callable[[int], Any]) -> Scalar:
    """The root of the polynomial that lies in the balls, as an element of the field that it generates."""
    factors = [fmpq_poly(factor) / fmpq_poly(factor).leading_coefficient() for factor, _ in polynomial.factor()[1]]
    bits = FIRST_BITS
    while True:
        with flint.ctx.workprec(bits):
            point = ball(bits)
            matches = [(f, i) for f in factors for i, r in enumerate(real_roots(f)) if r.overlaps(point)]
        if len(matches) == 1:
            modulus, index = matches[0]
            if modulus.degree() == 1:
                return -modulus[0]
            if modulus.degree() == 2:
                return quadratic_root(modulus, index)
            label = f"root({polynomial_text(modulus, 'x')}, {float(point.mid()):.12g})"
            return number_field(tuple(modulus.coeffs()), index, label).generator()
        bits *= 2


def _at(polynomial: fmpq_poly, point: Scalar) -> Scalar:
    """The value of a rational polynomial (Horner)."""
    value: Scalar = fmpq(0)
    for coefficient in reversed(polynomial.coeffs()):
        value = value * point + coefficient
    return value


# Elements of R are lists of n polynomials in θ, the coefficients of 1, x, …, x^{n−1}.


def _polynomial(value: Scalar) -> fmpq_poly:
    return value.polynomial if isinstance(value, Algebraic) else fmpq_poly([value])


def _coordinate(element: Sequence[fmpq_poly], place: int, m: int) -> fmpq:
    return element[place // m][place % m]


def _multiplication(
    modulus: fmpq_poly, lower: Sequence[fmpq_poly], k: int
) -> Callable[[list[fmpq_poly]], list[fmpq_poly]]:
    """u ↦ (x + kθ) u."""
    k_theta = fmpq_poly([0, k])

    def step(u: list[fmpq_poly]) -> list[fmpq_poly]:
        shifted = [fmpq_poly([0]), *u[:-1]]
        return [(up - u[-1] * low + k_theta * same) % modulus for up, low, same in zip(shifted, lower, u, strict=True)]

    return step
