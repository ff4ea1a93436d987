# Claims: ode-eq1
"""The network of Haber and Ruthotto with a conjugate variable, (1) of the ODERNN paper: is it stable whatever its
weight matrix is? One singular value of K at a time: K = U Σ Vᵀ turns the linear step into steps of two numbers each.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat

from odernn.published.sources import Source
from verification.cases.decision import premise
from verification.cases.identity import PolynomialIdentity
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Rational
from verification.parameters import Parameter, Rule, declared

# --- (1): z₊ = z − η Kᵀ y, y₊ = y + η K z₊ linearised, slopes 1; a = η σ(K)


def verlet_case(domain: str, limit: Fraction | None, values: Sequence[tuple[str, str]]) -> Case:
    """Bounded powers of [[1 − a², a], [−a, 1]] for these (K, η); ``limit``: only those with η|K| ≤ it count."""

    def ask(_: Budget, __: int) -> Attempt:
        named = [{"K": K, "eta": eta} for K, eta in values]
        named = [p for p in named if limit is None or abs(Fraction(p["K"]) * Fraction(p["eta"])) <= limit]
        violating = [p for p in named if check(p).opinions[0].violated]
        violating.sort(key=lambda p: abs(Fraction(p["K"]) * Fraction(p["eta"])) <= 2)  # the border comes last
        text = f"{len(violating)} of {len(named)} pairs (K, η) have unbounded powers"
        return Attempt(text, len(named), found=text, claimed="none", candidates=tuple(violating[:3]))

    def check(parameters: Parameters) -> Check:
        K, eta = number(parameters, "K"), number(parameters, "eta")
        a = fmpq((K * eta).numerator, (K * eta).denominator)
        R = fmpq_mat([[1 - a * a, a], [-a, 1]])
        unit = fmpq_mat([[1, 0], [0, 1]])
        trace = R[0, 0] + R[1, 1]
        double = trace == -2 and (R + unit) * (R + unit) == fmpq_mat(2, 2) and R + unit != fmpq_mat(2, 2)
        # typed again: u_{n+1} = τ u_n − u_{n−1} for the powers, from u_0 = 0, u_1 = 1; |τ| ≥ 2 makes |u_n| ≥ n
        tau, rows = 2 - (K * eta) ** 2, [Fraction(0), Fraction(1)]
        for _ in range(40):
            rows.append(tau * rows[-1] - rows[-2])
        grows = abs(tau) >= 2 and K != 0 and all(abs(u) >= n for n, u in enumerate(rows))
        return Check(
            opinions=(
                Opinion("flint", bool(abs(trace) > 2 or double), f"R = {R.tolist()}, det 1, trace {trace}"),
                Opinion("fractions", grows, f"|u_41| = {float(abs(rows[41])):.6g}, R^n = u_n R − u_(n−1) I"),
            ),
            premises=() if limit is None else (premise(f"η|K| ≤ {limit}", limit - abs(K * eta), strict=False),),
            words=f"K = {K}, η = {eta}: the linearised step has the trace {trace} and determinant 1, its powers grow",
        )

    parameters = declared(
        Parameter("K", Rational(least=-LARGEST, most=LARGEST)),
        Parameter("eta", Rational(above=0, most=LARGEST)),
        rules=(Rule(f"η|K| ≤ {LARGEST}", lambda values: abs(values["K"] * values["eta"]) <= LARGEST),),
    )
    return Case(domain, "powers of the linearised step", ask, parameters.guards(check))


LARGEST = 1000


def invariant_case(cross: int = -1) -> Case:
    """Q = y² + z² − a y z along the step: Q₊ − Q as a polynomial. Another ``cross`` is the planted falsehood."""

    def residual(v: Any) -> list[Any]:
        a, y, z = v["a"], v["y"], v["z"]
        z1 = z - a * y
        y1 = y + a * z1
        return [y1 * y1 + z1 * z1 + cross * a * y1 * z1 - y * y - z * z - cross * a * y * z]

    def again(v: Any) -> list[Any]:
        """From the entries of RᵀQR − Q."""
        a, y, z = v["a"], v["y"], v["z"]
        m, c = 1 - a * a, cross * a
        return [
            (m * m + a * a - c * m * a - 1) * y * y
            + (2 * m * a - 2 * a + c * (m - a * a) - c) * y * z
            + (a * a + c * a) * z * z
        ]

    identity = PolynomialIdentity(("a", "y", "z"), residual, again, "Q(y₊, z₊) − Q(y, z), Q = y² + z² − a y z")

    def ask(budget: Budget, seed: int) -> Attempt:
        attempt = identity.ask(budget, seed)
        if not attempt.proof:
            return attempt
        text = f"{attempt.proof}; Q ≥ (1 − |a|/2)(y² + z²) bounds the powers of every singular value a/η < 2/η"
        return Attempt(attempt.tried, attempt.evaluations, found=attempt.found, claimed=attempt.claimed, proof=text)

    check = identity.declaration.guards(identity.check)
    return Case("η σ_max(K) < 2, slopes 1", "powers of the linearised step", ask, check)


PAIRS = tuple((K, eta) for eta in ("1", "1/10", "1/100") for K in ("1", "2", "5/2", "-3", "30", "300"))

CLAIMS = (
    Claim(
        id="ode-eq1",
        source=Source("odernn", "Sec. 2 (1)"),
        statement="z₊ = z − η σ(Kᵀ y + b), y₊ = y + η σ(K z₊ + b'): stable whatever K "
        "is, read as bounded powers of the linearisation at slopes 1 for η σ_max(K) < 2 "
        "(the regime is reconstructed, by thm-ARNN); also tried: every η, and the border",
        semantics="real",
        cases=(
            verlet_case("every K, η", None, PAIRS),
            verlet_case("η σ_max(K) ≤ 2", Fraction(2), PAIRS),
            invariant_case(),
        ),
    ),
)
