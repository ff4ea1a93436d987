"""The stability function R(z): what a method does to y' = λy, exactly.

    y₁ = R(hλ) y₀,      R(z) = 1 + z bᵀ(I − zA)⁻¹1 = det(I − zA + z 1bᵀ) / det(I − zA) = P(z)/Q(z)

Hairer, Wanner 1996, Section IV.3, Prop. 3.2. Both determinants are characteristic polynomials over the field of the
coefficients, and the same in every basis of the stage space; P and Q are divided by their greatest common divisor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Rational
from typing import Any

from flint import acb, arb, fmpq, fmpz

from odernn.exact.algebraic import Algebraic, nearest_float
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
    """R = numerator/denominator in lowest terms, coefficients from the constant term up, denominator(0) = 1.

    ``R(z)`` is exact at exact numbers, and in double precision at floats, complex numbers and arrays of them:

        >>> from odernn import Q, stability_function, tableaus
        >>> R = stability_function(tableaus.get("implicit midpoint"))
        >>> R(Q(1, 2)), R(0.5), R(1j)
        (5/3, 1.6666666666666667, (0.6000000000000001+0.8j))
    """

    numerator: Polynomial
    denominator: Polynomial

    def __call__(self, z: Any) -> Any:
        """R(z), of the kind of z.

        z   an int, a Fraction, ``Q(p, q)`` or an ``Algebraic`` gives an exact number, a ball of flint a ball. A float
            or a complex number gives one; an array of any shape, or a list, an array of float64 or complex128.

        Poles: ZeroDivisionError at an exact number; ±inf, without a warning, in floats, at ±∞ if R is unbounded there,
        and where the value exceeds the largest double. The rounding error in floats is that of Horner's rule in z or
        1/z, whichever is smaller: about 2 deg P · 2⁻⁵³ Σ |p_k| |z|ᵏ of P, and likewise of Q. TypeError for what is
        of no such kind.
        """
        if isinstance(z, Rational):
            z = fmpq(int(z.numerator), int(z.denominator))
        if not isinstance(z, fmpq | fmpz | Algebraic | arb | acb):
            return self._in_floats(z)
        bottom = evaluate(self.denominator, z)
        if not isinstance(z, arb | acb) and bottom == 0:
            raise ZeroDivisionError(f"R(z) = {self} has a pole at z = {z}.")
        return evaluate(self.numerator, z) / bottom

    def _in_floats(self, z: Any) -> Any:
        import numpy as np  # the exact properties do without it

        given = np.asarray(z)
        if given.dtype == object and given.ndim > 0:
            return np.frompyfunc(self, 1, 1)(given)
        if given.dtype.kind not in "biufc":
            raise TypeError(
                f"R(z) is asked at {z!r} of type {type(z).__name__}. Give an int, a Fraction, Q(p, q), an Algebraic, a "
                "float or a complex number, or an array of them."
            )
        points = given.astype(np.complex128 if given.dtype.kind == "c" else np.float64)
        p, q = ([nearest_float(x) for x in side] for side in (self.numerator, self.denominator))
        growth = len(p) - len(q)
        with np.errstate(all="ignore"):
            is_small = np.abs(points) <= 1
            near = np.where(is_small, points, 0)
            far = np.where(is_small | np.isinf(points), 0, 1 / points)  # R(z) = z^(deg P − deg Q) P̃(1/z)/Q̃(1/z)
            inside = np.polyval(p[::-1], near) / np.polyval(q[::-1], near)
            scale = points**growth if growth > 0 else far**-growth
            outside = scale * (np.polyval(p, far) / np.polyval(q, far))
        values = np.where(is_small, inside, outside)
        values = np.where(np.isnan(values) & ~np.isnan(points), np.inf, values)[()]
        return values if given.ndim or isinstance(z, np.ndarray | np.generic) else values.item()

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
