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
from verification.cases.decision import at, decided, premise
from verification.cases.identity import PolynomialIdentity
from verification.cases.related import short
from verification.certify import power_bounded
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number, numbers
from verification.kinds import Listed, Rational
from verification.parameters import Parameter, Rule, declared

# --- (1): z₊ = z − η D₂Kᵀ y, y₊ = y + η D₁K z₊ linearised; of one mode z₊ = z − a y, y₊ = y + a z₊, a a singular value
# of η D₁^½ K D₂^½, so 0 ≤ a ≤ η L_s σ_max(K) for slopes in (0, L_s]


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
        text = (
            f"{attempt.proof}; Q ≥ (1 − |a|/2)(y² + z²) bounds the powers of every mode a < 2, a singular value of "
            "η D₁^½ K D₂^½, at most η L_s σ_max(K) (docs/derivations/matrix_coefficients.md, mc-12)"
        )
        return Attempt(attempt.tried, attempt.evaluations, found=attempt.found, claimed=attempt.claimed, proof=text)

    check = identity.declaration.guards(identity.check)
    domain = "η L_s σ_max(K) < 2, one K for all layers, constant slopes in (0, L_s]"
    return Case(domain, "powers of the linearised step", ask, check)


def own_weights_case(limit: int = 2) -> Case:
    """K_j of its own in every layer, in turn for ever, slopes 1, one component: η|K_j| < ``limit`` for every j."""

    def matrices(parameters: Parameters) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
        """The product of the steps, and the same from two runs of the layers, one row after the other."""
        eta, weights = number(parameters, "eta"), numbers(parameters, "K")
        product, runs = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], []
        for K in weights:
            a = eta * K
            step = [[1 - a * a, a], [-a, Fraction(1)]]  # of (y, z)
            product = [[row[0] * product[0][c] + row[1] * product[1][c] for c in (0, 1)] for row in step]
        for y, z in ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))):
            for K in weights:
                z -= eta * K * y
                y += eta * K * z
            runs.append([y, z])
        return product, [list(row) for row in zip(*runs, strict=True)]

    def margin(parameters: Parameters) -> Fraction:
        return limit - number(parameters, "eta") * max(map(abs, numbers(parameters, "K")))

    return decided(
        "η σ_max(K_j) < 2, K_j of its own in every layer, slopes 1",
        "powers of the linearised step",
        at({"eta": "1", "K": "1 -1"}),
        lambda p: power_bounded.powers(matrices(p)[0]),
        lambda p: power_bounded.grows(matrices(p)[1]),
        box="one component, the layers repeated for ever",
        is_box=False,
        partial=True,
        claimed="bounded powers",
        parameters=declared(
            Parameter("eta", Rational(above=0, most=LARGEST)),
            Parameter("K", Listed(Rational(least=-LARGEST, most=LARGEST), (1, 8))),
            rules=(short(160, "eta", "K"),),
        ),
        premises=lambda p: (premise(f"η|K_j| < {limit}", margin(p)),),
    )


PAIRS = tuple((K, eta) for eta in ("1", "1/10", "1/100") for K in ("1", "2", "5/2", "-3", "30", "300"))

CLAIMS = (
    Claim(
        id="ode-eq1",
        source=Source("odernn", "Sec. 2 (1)"),
        statement="z₊ = z − η σ(Kᵀ y + b), y₊ = y + η σ(K z₊ + b'): stable whatever K is, the same in all "
        "layers, read as bounded powers of the linearisation at constant slopes in (0, L_s] for η L_s σ_max(K) < 2 "
        "(the regime is reconstructed, by thm-ARNN); also tried: every η, the border, a K of its own in every layer",
        semantics="real",
        cases=(
            verlet_case("every K, η", None, PAIRS),
            verlet_case("η σ_max(K) ≤ 2", Fraction(2), PAIRS),
            invariant_case(),
            own_weights_case(),
        ),
    ),
)
