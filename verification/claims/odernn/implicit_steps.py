# Claims: ode-2.1-implicit
"""Niu, Chuang, Horesh 2019, Section 2.1, after (10): implicit methods ask less of the step size for stability.

On y' = λ y a method multiplies by R(z), z = ηλ. That of an explicit one is a polynomial, 1 + z Σ b_i + …, and leaves
every bound as z → −∞; implicit ones can have |R(z)| ≤ 1 wherever Re z ≤ 0.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq_mpoly_ctx

from odernn import tableaus
from odernn.properties.linear_stability import a_stability
from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.claim import Case, Claim, Decided, Parameters
from verification.exact_text import number

F = Fraction
DRAWN = 20


# --- explicit methods: R is a polynomial


def explicit_case(*, own: int = 0) -> Case:
    """|R(−x)| > 1 for all large x, for every explicit method of S stages with Σ b_i = 1.

    ``own`` = 1 is the planted falsehood: a first stage that reads itself, A_11 = 1, as implicit Euler's does.
    """

    def first(parameters: Parameters) -> Decided:
        """(1 − z A_11) R as a polynomial in z: a power beyond those of 1 − z A_11 has a constant coefficient, not 0."""
        S = int(number(parameters, "S"))
        names = [f"a{i}{j}" for i in range(S) for j in range(i)] + [f"b{i}" for i in range(S - 1)] + ["z"]
        free: dict[str, Any] = dict(zip(names, fmpq_mpoly_ctx.get(names, Ordering.degrevlex).gens(), strict=True))
        z, one = free["z"], 0 * free["z"] + 1
        b = [free[f"b{i}"] for i in range(S - 1)]
        b.append(one - sum(b, 0 * z))
        divisor = one - own * z
        stages: list[Any] = []  # times the divisor
        for i in range(S):
            stages.append(one if i == 0 else divisor + z * sum((free[f"a{i}{j}"] * stages[j] for j in range(i)), 0 * z))
        R = divisor + z * sum((weight * stage for weight, stage in zip(b, stages, strict=True)), 0 * z)
        powers: dict[int, list[tuple[int, ...]]] = {}
        for monomial in R.monoms():
            powers.setdefault(monomial[-1], []).append(monomial[:-1])
        grows = [k for k, others in powers.items() if k > own and others == [(0,) * (len(names) - 1)]]
        degree = max(powers)
        return Decided(
            not grows,
            f"R = 1 + z + …, a polynomial of degree 1 to {degree}" if grows else "R is bounded for some coefficients",
        )

    def second(parameters: Parameters) -> Decided:
        """Methods in fractions: the simplest, then drawn ones; R stage by stage, at one place beyond the last root."""
        S = int(number(parameters, "S"))
        rng = random.Random(S)
        for count in range(DRAWN):
            A, b = [[F(0)] * S for _ in range(S)], [F(1), *[F(0)] * (S - 1)]
            if count:
                A = [[F(rng.randint(-6, 6), rng.randint(1, 4)) if j < i else F(0) for j in range(S)] for i in range(S)]
                b = [F(rng.randint(-6, 6), rng.randint(1, 4)) for _ in range(S - 1)]
                b.append(1 - sum(b, F(0)))
            A[0][0] = F(own)
            x = _beyond_the_roots(A, b)
            value = _after_one_step(A, b, -x)
            if -1 <= value <= 1:
                return Decided(True, f"R = {value} at z = {-x}")
        return Decided(False, f"{DRAWN} methods, each beyond the roots of R − 1 and R + 1")

    return decided(
        "explicit, S ≤ 4, any coefficients with Σ b_i = 1",
        "y' = λ y, λ < 0: unstable for all large η|λ|",
        at(*({"S": str(S)} for S in (1, 2, 3, 4))),
        first,
        second,
        box="S ≤ 4 stages, all a_ij, j < i, and b_i: polynomials",
        claimed="|R(ηλ)| > 1",
        names=("polynomials", "fractions"),
    )


def _after_one_step(A: Sequence[Sequence[Fraction]], b: Sequence[Fraction], z: Fraction) -> Fraction:
    """R(z), the stages one after the other: (1 − z a_ii) Y_i = 1 + z Σ_{j<i} a_ij Y_j."""
    stages: list[Fraction] = []
    for i, row in enumerate(A):
        read = sum((a * Y for a, Y in zip(row[:i], stages, strict=True)), F(0))
        stages.append((1 + z * read) / (1 - z * row[i]))
    return 1 + z * sum((weight * Y for weight, Y in zip(b, stages, strict=True)), F(0))


def _beyond_the_roots(A: Sequence[Sequence[Fraction]], b: Sequence[Fraction]) -> Fraction:
    """An x after which R(−x) ∓ 1 has no root, by Cauchy's bound on those of 1 + Σ_k z^(k+1) bᵀAᵏ1, k < S."""
    moments, v = [], [F(1)] * len(b)
    for _ in b:
        moments.append(sum((weight * x for weight, x in zip(b, v, strict=True)), F(0)))
        v = [sum((a * x for a, x in zip(row, v, strict=True)), F(0)) for row in A]
    while moments[-1] == 0:
        moments.pop()
    return 2 + max(abs(m) for m in (*moments[:-1], F(2))) / abs(moments[-1])


# --- implicit methods that are stable at every step


TYPED = {
    "implicit euler": (((1,),), (1,)),
    "implicit midpoint": (((F(1, 2),),), (1,)),
    "radau iia 2": (((F(5, 12), F(-1, 12)), (F(3, 4), F(1, 4))), (F(3, 4), F(1, 4))),
    "lobatto iiic 2": (((F(1, 2), F(-1, 2)), (F(1, 2), F(1, 2))), (F(1, 2), F(1, 2))),
}
"""A and b, off their sources."""


def implicit_case(*names: str) -> Case:
    """|R(z)| ≤ 1 wherever Re z ≤ 0, so at every step."""

    def first(parameters: Parameters) -> Decided:
        certificate = a_stability(tableaus.get(parameters["method"]))
        return Decided(certificate.holds is not True, f"{parameters['method']}: {certificate.because}")

    def second(parameters: Parameters) -> Decided:
        P, Q = _stability_function(*TYPED_AND_MORE[parameters["method"]])
        poles_right = all((-1) ** k * c > 0 for k, c in enumerate(Q))  # enough up to degree 2
        excess = [x - y for x, y in itertools.zip_longest(_on_the_axis(Q), _on_the_axis(P), fillvalue=F(0))]
        good = poles_right and all(c >= 0 for c in excess)
        return Decided(not good, f"|Q(iy)|² − |P(iy)|² has the coefficients {', '.join(map(str, excess))} in y²")

    return decided(
        "implicit Euler, midpoint rule, Radau IIA and Lobatto IIIC of two stages",
        "y' = λ y, Re λ ≤ 0: stable for every η",
        at(*({"method": name} for name in names or TYPED)),
        first,
        second,
        box="all z with Re z ≤ 0",
        claimed="|R(ηλ)| ≤ 1",
        names=("flint", "fractions"),
    )


TYPED_AND_MORE = {**TYPED, "euler": (((0,),), (1,))}
"""With one that is planted."""


def _stability_function(A: Sequence[Sequence[Any]], b: Sequence[Any]) -> tuple[list[Fraction], list[Fraction]]:
    """P = det(I − z(A − 1bᵀ)) and Q = det(I − zA) of one or two stages, from the constant term up, 0 at no end."""
    determinants = []
    for shift in (1, 0):
        rows = [[F(a) - shift * F(weight) for a, weight in zip(row, b, strict=True)] for row in A]
        trace = sum((rows[i][i] for i in range(len(rows))), F(0))
        coefficients = [F(1), -trace]
        if len(rows) == 2:
            coefficients.append(rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0])
        while coefficients[-1] == 0:
            coefficients.pop()
        determinants.append(coefficients)
    return determinants[0], determinants[1]


def _on_the_axis(p: Sequence[Fraction]) -> list[Fraction]:
    """|p(iy)|² in powers of y², p of degree up to 2: (p_0 − p_2 y²)² + p_1² y²."""
    c, s, q = (*p, F(0), F(0))[:3]
    return [c * c, s * s - 2 * c * q, q * q]


CLAIMS = (
    Claim(
        id="ode-2.1-implicit",
        source=Source("odernn", "Sec. 2.1, after (10)"),
        statement="implicit methods ask less of the step size for stability: on y' = λ y every explicit one is "
        "unstable for large η|λ|, and there are implicit ones that are stable for every η",
        semantics="alg",
        cases=(explicit_case(), implicit_case()),
    ),
)
