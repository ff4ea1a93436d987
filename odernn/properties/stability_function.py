"""The stability function R(z): what a method does to y' = λy, exactly.

    y₁ = R(hλ) y₀,      R(z) = 1 + z bᵀ(I − zA)⁻¹1 = det(I − zA + z 1bᵀ) / det(I − zA) = P(z)/Q(z)

Hairer, Wanner 1996, Section IV.3, Prop. 3.2. Both determinants are characteristic polynomials over the field of the
coefficients, and the same in every basis of the stage space; P and Q are divided by their greatest common divisor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from odernn.exact.linear_algebra import Rows, characteristic_polynomial, entrywise, is_rational, outer
from odernn.exact.polynomials import (
    Polynomial,
    degree,
    divide,
    evaluate,
    gcd,
    polynomial,
)
from odernn.exact.text import brief
from odernn.tableaus.methods import Method, form_of


def determinant_polynomial(S: Rows) -> Polynomial:
    """det(I − zS) as a polynomial in z: the characteristic polynomial of S with its coefficients reversed."""
    return polynomial(characteristic_polynomial(S)[::-1])


def stability_function(method: Method) -> StabilityFunction:
    """R(z) = det(I − zA + z 1bᵀ)/det(I − zA), in lowest terms."""
    form = form_of(method)
    A, outer_b = form.operator, outer(form.one, form.weights)
    P, Q = determinant_polynomial(entrywise(lambda a, b: a - b, A, outer_b)), determinant_polynomial(A)
    common = gcd(P, Q)
    P, Q = divide(P, common)[0], divide(Q, common)[0]
    return StabilityFunction(tuple(x / Q[0] for x in P), tuple(x / Q[0] for x in Q))


@dataclass(frozen=True)
class StabilityFunction:
    """R = numerator/denominator in lowest terms, coefficients from the constant term up, denominator(0) = 1."""

    numerator: Polynomial
    denominator: Polynomial

    def __call__(self, z: Any) -> Any:
        return evaluate(self.numerator, z) / evaluate(self.denominator, z)

    @property
    def at_infinity(self) -> Any:
        """R(∞), exactly; ``None`` for ∞."""
        p, q = self.numerator, self.denominator
        if degree(p) > degree(q):
            return None
        return p[-1] / q[-1] if degree(p) == degree(q) else fmpq(0)

    def __str__(self) -> str:
        top, bottom = polynomial_text(self.numerator, "z"), polynomial_text(self.denominator, "z")
        if degree(self.denominator) == 0:
            return top
        return f"{top if degree(self.numerator) == 0 else f'({top})'}/({bottom})"


def polynomial_text(p: Sequence[Any], variable: str, step: int = 1) -> str:
    """Ascending powers as in 1 - 1/2*z + z^2; ``step`` 2 writes a polynomial in the variable's square."""
    text = ""
    for k, x in enumerate(p):
        if x == 0:
            continue
        rational = is_rational([x])
        negative = rational and x < 0
        size = str(-x if negative else x) if rational else f"({brief(x)})"
        power = "" if k == 0 else variable if k * step == 1 else f"{variable}^{k * step}"
        body = size if not power else power if size == "1" else f"{size}*{power}"
        text += (f" {'-' if negative else '+'} {body}") if text else f"{'-' if negative else ''}{body}"
    return text or "0"
