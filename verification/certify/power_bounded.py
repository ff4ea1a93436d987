"""Are the powers of a rational matrix bounded? Decided exactly; and certificates of growth, typed once more.

Bounded iff no eigenvalue is outside the unit circle and those on it are simple roots of the minimal polynomial.
``is_bounded`` factors that over Q. An irreducible factor with a root on the circle has the inverse of each root as a
root (z and its conjugate 1/z), so it is palindromic: z − 1, z + 1, or z^k h(z + 1/z) with deg h = k, and its roots are
all on the circle iff all k roots of h are real and in (−2, 2); else one lies outside. Other factors have no root on
the circle, so that balls tell inside from outside.

``grows`` uses none of it: if all eigenvalues of an n × n matrix were in the closed disc, no power had a trace above n
in modulus; and if (M ∓ I)² = 0 ≠ M ∓ I the powers are ±1 to the k times I ± k (M ∓ I). It answers yes or "not shown".
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
from flint import fmpq, fmpq_mat, fmpq_poly

from verification.claim import Decided
from verification.exact_text import brief

MOST_BITS = 4096


class UndecidedRootError(ArithmeticError):
    """A root so near the circle that no precision tried tells inside from outside."""


def powers(matrix: Sequence[Sequence[Any]]) -> Decided:
    """Whether the powers are unbounded, decided; entries are fractions or fmpq. The text names what decides."""
    M = fmpq_mat([[_fmpq(entry) for entry in row] for row in matrix])
    minimal = fmpq_poly(M.minpoly())
    for factor, multiplicity in minimal.factor()[1]:
        where = _largest_root(factor)
        if where > 0:
            return Decided(True, f"an eigenvalue outside the unit circle: a root of {factor}")
        if where == 0 and multiplicity > 1:
            return Decided(
                True, f"powers grow like k^{multiplicity - 1}: ({factor})^{multiplicity} divides the minimal polynomial"
            )
    return Decided(False, f"minimal polynomial {minimal}: no root outside the unit circle, those on it simple")


def _largest_root(factor: fmpq_poly) -> int:
    """The sign of (largest modulus of a root) − 1 of an irreducible polynomial."""
    coefficients = factor.coeffs()
    if factor.degree() == 1:
        size = abs(coefficients[0] / coefficients[1])
        return int(size > 1) - int(size < 1)
    if coefficients == coefficients[::-1]:
        return 0 if _real_inside(_halved(coefficients)) == factor.degree() // 2 else 1
    bits = 64
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            roots: Any = factor.complex_roots()
            sizes = [abs(root) for root, _ in roots]
            if any(bool(size > 1) for size in sizes):
                return 1
            if all(bool(size < 1) for size in sizes):
                return -1
        bits *= 2
    raise UndecidedRootError(f"A root of {factor} is not told from the unit circle at {MOST_BITS} bits.")


def _halved(coefficients: Sequence[fmpq]) -> fmpq_poly:
    """h with f(z) = z^k h(z + 1/z), f palindromic of degree 2k; z^j + z^−j by x (z^j + z^−j) − (z^(j−1) + …)."""
    k = len(coefficients) // 2
    x = fmpq_poly([0, 1])
    sums = [fmpq_poly([2]), x]
    while len(sums) <= k:
        sums.append(x * sums[-1] - sums[-2])
    total = fmpq_poly([coefficients[k]])
    for j in range(1, k + 1):
        total = total + sums[j] * coefficients[k + j]
    return total


def _real_inside(polynomial: fmpq_poly) -> int:
    """How many roots of a square-free polynomial are real and in (−2, 2); ±2 are no roots, for ±1 are none of f."""
    bits = 64
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            # Arb isolates the roots, and the imaginary part of a real one is exactly 0.
            roots: Any = polynomial.complex_roots()
            sizes = [abs(root.real) for root, _ in roots if root.imag == 0]
            inside = [bool(size < 2) for size in sizes]
            if all(is_inside or bool(size > 2) for is_inside, size in zip(inside, sizes, strict=True)):
                return sum(inside)
        bits *= 2
    raise UndecidedRootError(f"A root of {polynomial} is not told from ±2 at {MOST_BITS} bits.")


def grows(matrix: Sequence[Sequence[Fraction]], most: int = 400) -> Decided:
    """Whether growth is shown, in fractions: by the trace of a power M^(2^j), 2^j ≤ ``most``, or by (M ∓ I)² = 0."""
    size = len(matrix)
    for unit in (1, -1):
        rest = [[entry - unit * (i == j) for j, entry in enumerate(row)] for i, row in enumerate(matrix)]
        if any(map(any, rest)) and not any(map(any, _product(rest, rest))):
            return Decided(True, f"(M {'−' if unit == 1 else '+'} I)² = 0 and M ≠ {unit} I: powers grow like k")
    power, exponent = [list(row) for row in matrix], 1
    while exponent <= most:
        trace = sum((power[i][i] for i in range(size)), Fraction(0))
        if abs(trace) > size:
            return Decided(True, f"|trace M^{exponent}| = {brief(abs(trace))} > {size}")
        power, exponent = _product(power, power), 2 * exponent
    return Decided(False, f"no power up to M^{exponent // 2} has a trace above {size}")


def _product(one: Sequence[Sequence[Fraction]], other: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    columns = list(zip(*other, strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in one]


def _fmpq(entry: Any) -> fmpq:
    return fmpq(entry.numerator, entry.denominator) if isinstance(entry, Fraction) else fmpq(entry)
