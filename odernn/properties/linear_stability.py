"""Linear stability, decided exactly: A-, I- and L-stability.

    y₁ = R(hλ) y₀;      A-stable: |R(z)| ≤ 1 for Re z ≤ 0;      I-stable: |R(iy)| ≤ 1;      L-stable: and R(∞) = 0

By the maximum principle A-stability is I-stability and no pole in the left half plane. With R = P/Q in lowest terms
I-stability is

    E(y) = |Q(iy)|² − |P(iy)|² ≥ 0,

a polynomial in y²: its sign is read off between its real roots, which Sturm chains separate; poles are placed by the
Routh array. Hairer, Wanner 1996, Section IV.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import flint
from flint import acb, acb_mat, arb, arb_mat, fmpq

from odernn.certificate import Certificate
from odernn.exact.algebraic import enclosure, sign
from odernn.exact.linear_algebra import ONE, ZERO
from odernn.exact.polynomials import (
    Polynomial,
    RealRoot,
    add,
    degree,
    evaluate,
    is_hurwitz,
    multiply,
    polynomial,
    positive_roots,
    root_bound,
    root_in_left_half_plane,
    scale_variable,
)
from odernn.exact.text import decimal, equals
from odernn.properties.stability_function import StabilityFunction, polynomial_text, stability_function
from odernn.tableaus.methods import Method, about_given, is_exact, resolve, roundings
from odernn.tableaus.tableau import ButcherTableau

INFINITY = "∞"
WITNESS_BITS = 128
SAMPLES = tuple(fmpq(4) ** k for k in range(-2, 12))
"""Where |R(iy)| > 1 is tried for all tables that round to a printed one; polynomials R are largest at the end."""


def e_polynomial(R: StabilityFunction) -> Polynomial:
    """E(y) = |Q(iy)|² − |P(iy)|² as a polynomial in x = y²: I-stable if and only if it is ≥ 0 for x ≥ 0."""
    return add(_squared_modulus(R.denominator), _squared_modulus(R.numerator), -1)


def i_stability(method: Method) -> Certificate:
    """|R(iy)| ≤ 1 for all real y. ``witness`` is a rational y with |R(iy)| > 1, ``value`` the E-polynomial in y²."""
    return _rounded(method, _i_stability(stability_function(method)))


def a_stability(method: Method) -> Certificate:
    """|R(z)| ≤ 1 for Re z ≤ 0. ``witness``: a real y with |R(iy)| > 1, or a ball in Re z < 0 that holds a pole of R."""
    return _rounded(method, _a_stability(stability_function(method)))


def l_stability(method: Method) -> Certificate:
    """A-stable and R(∞) = 0. ``value`` is R(∞), ``None`` for ∞."""
    R = stability_function(method)
    first, limit = _a_stability(R), R.at_infinity
    text = f"R(∞) = {INFINITY if limit is None else limit}"
    if not first:
        return _rounded(method, Certificate("L-stable", False, True, first.witness, first.because, value=limit))
    if limit != 0:
        certificate = Certificate("L-stable", False, True, limit, text, value=limit)
        return certificate if is_exact(method) else _doubtful(method, certificate, margin=limit)
    return _rounded(method, Certificate("L-stable", True, True, None, f"A-stable, {text}", value=limit))


def limit_at_infinity(method: Method) -> Certificate:
    """Whether |R(∞)| ≤ 1; ``value`` is R(∞), ``None`` for ∞. Undecided if roundings of coefficients can decide."""
    certificate = _limit_as_given(method)
    if is_exact(method):
        return certificate
    holds = _limit_of_all(resolve(method))
    if holds is None:
        limit = certificate.value
        margin = None if limit is None else 1 - abs(limit)
        return _doubtful(method, certificate, margin=margin)
    return about_given(method, replace(certificate, holds=holds))


def _i_stability(R: StabilityFunction) -> Certificate:
    E = e_polynomial(R)
    text = f"E(y) = {polynomial_text(E, 'y', 2)}"
    bad = first_negative(E)
    if bad is None:
        return Certificate("I-stable", True, True, None, text if not E else f"{text} ≥ 0", value=E)
    y = _root_inside(E, bad)
    return Certificate("I-stable", False, True, y, f"E({y}) {equals(evaluate(E, y * y))} < 0", value=E)


def _root_inside(E: Polynomial, bad: FirstNegative) -> fmpq:
    """A rational y with E(y²) < 0: √sample, rounded finely enough."""
    scale = 1
    while True:
        y = fmpq(isqrt(int(bad.sample.p) * scale**2 // int(bad.sample.q)), scale)
        if sign(evaluate(E, y * y)) < 0:
            return y
        scale *= 2


def _a_stability(R: StabilityFunction) -> Certificate:
    on_axis = _i_stability(R)
    if not on_axis:
        return Certificate("A-stable", False, True, on_axis.witness, on_axis.because, value=R)
    mirrored = scale_variable(R.denominator, fmpq(-1))
    if is_hurwitz(mirrored):
        count = degree(mirrored)
        poles = "no poles" if count == 0 else f"{count} pole{'s' if count > 1 else ''}, in Re z > 0"
        return Certificate("A-stable", True, True, None, f"{on_axis.because}; {poles}", value=R)
    pole = root_in_left_half_plane(R.denominator)
    shown = decimal(pole.real)
    return Certificate("A-stable", False, True, pole, f"a pole of R(z) has Re z = {shown} < 0", value=R)


def _limit_as_given(method: Method) -> Certificate:
    limit = stability_function(method).at_infinity
    if limit is None:
        return Certificate("|R(∞)| ≤ 1", False, True, None, f"R(∞) = {INFINITY}")
    holds = sign(1 - abs(limit)) >= 0
    return Certificate("|R(∞)| ≤ 1", holds, True, limit, f"R(∞) = {limit}", value=limit)


def _limit_of_all(tableau: ButcherTableau) -> bool | None:
    """Whether |R(∞)| ≤ 1 for every method whose coefficients round to those of the tableau; ``None``: not the same."""
    with flint.ctx.workprec(2 * WITNESS_BITS):
        A, b = _balls(tableau)
        if tableau.is_explicit:  # R is a polynomial, and no constant one
            return None if sum(b, arb(0)).contains(0) else False
        bottom = arb_mat(A).det()
        if bottom.contains(0):
            return None
        limit = abs(arb_mat([[a - weight for a, weight in zip(row, b, strict=True)] for row in A]).det() / bottom)
        if limit <= 1:
            return True
        return False if limit > 1 else None


def _rounded(method: Method, certificate: Certificate) -> Certificate:
    """A negative answer about rounded coefficients stands only if it holds for all numbers that round to them.

    A positive one is about the numbers as given, says so, and is not ``exact``.
    """
    if is_exact(method):
        return certificate
    if certificate.holds:
        return about_given(method, certificate)
    tableau = resolve(method)
    y = certificate.witness
    if isinstance(tableau, ButcherTableau) and isinstance(y, fmpq):
        for sample in (y, *SAMPLES):
            if _exceeds_one(tableau, sample):
                text = f"|R({sample}i)| > 1 for all coefficients that round to the printed ones"
                return Certificate(certificate.property, False, True, sample, text, value=certificate.value)
    return _doubtful(method, certificate, margin=y)


def _doubtful(method: Method, certificate: Certificate, margin: Any) -> Certificate:
    return Certificate(
        certificate.property,
        None,
        False,
        certificate.witness,
        f"{certificate.because}, but the coefficients are rounded",
        margin=margin,
        value=certificate.value,
    )


def _exceeds_one(tableau: ButcherTableau, y: fmpq) -> bool:
    """Whether |R(iy)| > 1 for every method whose coefficients round to those of the tableau, in ball arithmetic."""
    with flint.ctx.workprec(2 * WITNESS_BITS):
        A, b = _balls(tableau)
        z = acb(0, arb(y))
        bottom = [[(i == j) - z * a for j, a in enumerate(row)] for i, row in enumerate(A)]
        top = [[entry + z * weight for entry, weight in zip(row, b, strict=True)] for row in bottom]
        p, q = acb_mat(top).det(), acb_mat(bottom).det()
        return bool(abs(p) > abs(q))


def _balls(tableau: ButcherTableau) -> tuple[list[list[arb]], list[arb]]:
    """A and b as balls that hold all numbers that round to them."""
    errors, weight_errors = roundings(tableau)
    A = [[_fuzzy(*pair) for pair in zip(*rows, strict=True)] for rows in zip(tableau.A, errors, strict=True)]
    return A, [_fuzzy(*pair) for pair in zip(tableau.b, weight_errors, strict=True)]


def _fuzzy(value: Any, error: Any) -> Any:
    size = enclosure(error, 2 * WITNESS_BITS)
    return enclosure(value, 2 * WITNESS_BITS) + (-size).union(size)


def _squared_modulus(p: Polynomial) -> Polynomial:
    """|p(iy)|² as a polynomial in y²: even part squared plus y² times odd part squared."""
    even = polynomial([x * (-1) ** k for k, x in enumerate(p[0::2])])
    odd = polynomial([x * (-1) ** k for k, x in enumerate(p[1::2])])
    return add(multiply(even, even), multiply((ZERO, ONE), multiply(odd, odd)))


@dataclass(frozen=True)
class FirstNegative:
    """Where a polynomial first gets negative on (0, ∞): just above ``root`` (``None``: above 0), e.g. at ``sample``."""

    root: RealRoot | None
    sample: fmpq


def first_negative(p: Polynomial) -> FirstNegative | None:
    """The polynomial has one sign between neighbouring roots, so one sample in each gap decides p ≥ 0 on (0, ∞)."""
    if not p:
        return None
    roots: list[RealRoot | None] = [None, *positive_roots(p)]
    for before, after in zip(roots, [*roots[1:], None], strict=True):
        low = before.upper if before is not None else fmpq(0)
        high = after.lower if after is not None else max(root_bound(p), 2 * low + 1) * 2
        sample = (low + high) / 2 if after is not None else high
        if before is None and after is None:
            sample = fmpq(1)
        if sign(evaluate(p, sample)) < 0:
            return FirstNegative(before, sample)
    return None
