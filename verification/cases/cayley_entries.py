"""How large the entries of A must be: for unitary W and D in {±1}ⁿ, given an eigen-angle. Cases shared by claims."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import flint
import numpy as np
from flint import arb, fmpq, fmpz_mat

from verification.cases.cayley_statements import Found, Statement, listed, up_to
from verification.cases.scornn_parameters import unitary
from verification.certify.second import cayley as again
from verification.certify.second import intervals as intervals
from verification.claim import Case, Parameters
from verification.domains import Budget
from verification.exact_text import numbers
from verification.kinds import SKEW, Rational, Square
from verification.measure import cayley_exact as exact
from verification.measure import cayley_symbols as symbolic
from verification.measure import sign_matrices
from verification.parameters import Parameter, declared

BITS = 128
LARGEST = 4
"""Sizes n up to here are decided with free entries of W and of A."""
LARGEST_ENTRY = 1_000
"""Of an A that is typed: both sides grow alike with it."""


def complex_signs_case(bound_squared: Fraction = Fraction(1)) -> Case:
    """min over D in {±1}ⁿ of max |a_jk| ≤ bound, every unitary W; √2 is thm-SC-comp."""

    def decide() -> str:
        return complex_signs_decided() if bound_squared >= 2 else ""

    def points(budget: Budget, seed: int) -> Iterator[Parameters]:
        yield {"W_re": "0 -1 0 0", "W_im": "0 0 -1 0"}
        rng = random.Random(seed)
        for k in range(12):
            yield exact.complex_text(exact.rational_unitary(1 + k % 3, rng))

    def first(p: Parameters) -> Found:
        least = exact.least_largest_squared(exact.typed_complex(p), is_complex=True)
        limit = fmpq(*bound_squared.as_integer_ratio())
        return bool(least > limit), f"least max |a_jk|² over all D: {least}, claimed {limit}"

    def second(p: Parameters) -> Found:
        least = again.least_largest(again.read(p, "W"))
        return least > bound_squared, f"{least} against {bound_squared}"

    statement = Statement(
        f"least max |a_jk|² over D in {{±1}}ⁿ against {bound_squared}",
        decide,
        points,
        first,
        second,
        "at most",
        str(bound_squared),
        parameters=declared(*unitary("W", LARGEST)),
    )
    return statement.case(f"unitary W, n ≤ {LARGEST}", "least max |a_jk| over D in {±1}ⁿ")


def complex_signs_decided() -> str:
    """|a_jk| ≤ √2 at the D with the largest |det(I + W D)|."""
    alpha, beta, x, y = symbolic.symbols("alpha", "beta", "x", "y")
    # det [[iα, x + iy], [−x + iy, iβ]] = −αβ + x² + y²
    real = -alpha * beta - (-x * x - y * y)
    return listed(
        (f"Σ over D of det(I + W D) = 2ⁿ for free entries of W, n ≤ {LARGEST}", up_to(LARGEST, symbolic.average_is)),
        (
            f"negating the columns in S multiplies it by det(A_SS), n ≤ {LARGEST}, so at the largest modulus |α| ≤ 1 "
            "for a diagonal entry iα and ||a_jk|² − αβ| ≤ 1: |a_jk|² ≤ 2",
            up_to(LARGEST, symbolic.exchange) and real - (x * x + y * y - alpha * beta) == 0,
        ),
    )


def angle_case(most: int = 6, factor: Fraction = Fraction(1)) -> Case:
    """max |a_ij| ≥ factor tan(φ/2) tan(π/(2n)) for the largest eigen-angle φ of C(A); tan(φ/2) = ‖A‖₂."""

    def decide() -> str:
        count = sum(sign_matrices.polynomials(n)[0] for n in range(2, most + 1))
        return listed(
            (
                f"‖A‖₂ = tan(φ/2), and ‖A‖₂ ≤ cot(π/(2n)) max |a_ij|: convex in A, so the largest is at one of {count} "
                f"sign matrices, n ≤ {most}, up to equal norms; each characteristic polynomial has its roots below "
                "cot(π/(2n)) or is that of sign(j − i), ((x + 1)ⁿ + (x − 1)ⁿ)/2",
                factor <= 1 and up_to(most, sign_matrices.largest_is_cotangent, least=2),
            ),
        )

    def points(_: Budget, seed: int) -> Iterator[Parameters]:
        for n in range(2, most + 1):
            S = sign_matrices.sign_matrix(n)
            yield {"A": " ".join(str(S[i, j]) for i in range(n) for j in range(n))}

    def first(p: Parameters) -> Found:
        values = numbers(p, "A")
        scale = math.lcm(*(x.denominator for x in values))
        n = math.isqrt(len(values))
        polynomial = sign_matrices.hermitian_polynomial(fmpz_mat(n, n, [int(x * scale) for x in values]))
        with flint.ctx.workprec(BITS):
            most_norm = arb(int(max(map(abs, values)) * scale)) / arb(fmpq(*factor.as_integer_ratio()))
            return sign_matrices.is_above(polynomial, most_norm * sign_matrices.cotangent(n)), f"‖A‖₂ for A = {p['A']}"

    def second(p: Parameters) -> Found:
        A = [[Fraction(x) for x, _ in row] for row in again.read(p, "A")]
        n = len(A)
        dense = np.array([[float(x) for x in row] for row in A])
        v = [Fraction(float(x)) for x in np.linalg.svd(dense)[2][0]]
        image = [sum((x * y for x, y in zip(row, v, strict=True)), Fraction(0)) for row in A]
        square = sum(x * x for x in image) / sum(x * x for x in v)  # at most ‖A‖₂²
        with intervals.iv.workprec(BITS):
            angle = intervals.iv.pi / (2 * n)
            cotangent = intervals.iv.cos(angle) / intervals.iv.cos(intervals.iv.pi / 2 - angle)
            limit = cotangent * intervals.number(str(max(abs(x) for row in A for x in row) / factor))
            return bool(intervals.number(str(square)).a > (limit * limit).b), f"‖A‖₂² ≥ {float(square):.9g}"

    statement = Statement(
        "max |a_ij| against tan(φ/2) tan(π/(2n))",
        decide,
        points,
        first,
        second,
        parameters=declared(
            Parameter("A", Square(most, least=2, of=Rational(least=-LARGEST_ENTRY, most=LARGEST_ENTRY), structure=SKEW))
        ),
    )
    return statement.case(f"2 ≤ n ≤ {most}, D = I", "max |a_ij| given the largest eigen-angle φ")
