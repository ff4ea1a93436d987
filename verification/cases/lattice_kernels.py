"""The kernel of thm-R and thm-ML in closed form, where all steps are alike: κ_j = κ, σ′ = 1, one neuron a layer.

    K^{(1)}(n, k) = [B^{n−k+1}]_12 = h U_{n−k}(1 − κh²/2)
    K^{(L)}(n, k) = (−V)^{L−1} h^{2L−1} C^{(L)}_{n−k}(1 − κh²/2),   Σ_M C^{(L)}_M(c) x^M = (1 − 2cx + x²)^{−L}

with Gegenbauer's polynomials; and how high it rises, by the partial fractions of that generating function.
Proofs: docs/derivations/multilayer_paths.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from verification.cases.identity import PolynomialIdentity
from verification.cases.inequality import Inequality
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Hypothesis
from verification.domains import Budget
from verification.kinds import Integer, Rational
from verification.parameters import Parameter, declared

MOST_STEPS = 10
DEEPEST = 4


# --- one layer, κ constant


def constant_slope(*, shift: int = 0) -> PolynomialIdentity:
    """[B^m]_12 = h U_{m−1}(1 − κh²/2), and r_κ² [B^m]_12² + (z_m − κh y_m/2)² = 1, r_κ² = κ(1 − κh²/4), m ≤ 10.

    So |[B^m]_12| ≤ 1/r_κ where 0 < κh² < 4, with cos θ = 1 − κh²/2 it is sin(mθ)/r_κ. ``shift`` = 1: U_m, planted.
    """

    def residual(x: Mapping[str, Any]) -> list[Any]:
        h, kappa = x["h"], x["kappa"]
        y, z, residuals = 0 * h, 0 * h + 1, []
        before, now = 0 * h, 0 * h + 1  # U_{−1}, U_0
        for _ in range(1, MOST_STEPS + 1):
            z = z - h * kappa * y
            y = y + h * z
            further = (2 - kappa * h * h) * now - before
            claimed = h * (further if shift else now)
            defect = fmpq(1, 2) * kappa * h * y - z
            radius = kappa * (1 - fmpq(1, 4) * kappa * h * h)
            residuals += [y - claimed, radius * y * y + defect * defect - 1]
            before, now = now, further
        return residuals

    def retyped(x: Mapping[str, Any]) -> list[Any]:
        """Powers of the matrix, and U by its sum over binomial coefficients."""
        h, kappa = x["h"], x["kappa"]
        power, residuals = [[1, 0], [0, 1]], []
        B = [[1 - h**2 * kappa, h], [-h * kappa, 1]]
        for m in range(1, MOST_STEPS + 1):
            power = [[sum(B[i][k] * power[k][j] for k in (0, 1)) for j in (0, 1)] for i in (0, 1)]
            top, twice = m - 1 + shift, 2 - kappa * h**2
            U = sum((-1) ** j * math.comb(top - j, j) * twice ** (top - 2 * j) for j in range(top // 2 + 1))
            y, z = power[0][1], power[1][1]
            residuals += [y - h * U, kappa * y**2 + z**2 - kappa * h * y * z - 1]
        return residuals

    words = "[B^m]_12 against h U_{m−1}(1 − κh²/2), and Q_κ(B^m e_z) against 1, m ≤ 10"
    return PolynomialIdentity(("h", "kappa"), residual, retyped, words)


# --- L layers


def _by_paths(h: Any, kappa: Any, v: Any, count: int) -> list[list[Any]]:
    """K^{(L)}(k + M, k) for L = 1..4, M < ``count``: the recursion of thm-ML."""
    y, z, response = 0 * h, 0 * h + 1, []
    for _ in range(count):
        z = z - h * kappa * y
        y = y + h * z
        response.append(y)
    rows = [response]
    for _ in range(DEEPEST - 1):
        below = rows[-1]
        rows.append([sum((-h * v * response[M - j] * below[j] for j in range(M + 1)), 0 * h) for M in range(count)])
    return rows


def _by_steps(h: Any, kappa: Any, v: Any, count: int) -> list[list[Any]]:
    """The same by stepping all layers from a unit kick: Störmer's form, y_{j+1} = 2y_j − y_{j−1} − h²(κ y_j + V y′)."""
    rows: list[list[Any]] = []
    for q in range(DEEPEST):
        before, now, row = 0 * h, 0 * h, []
        for M in range(count):
            drive = h if q == 0 and M == 0 else (-(h**2) * v * rows[q - 1][M] if q else 0 * h)
            before, now = now, 2 * now - before - h**2 * kappa * now + drive
            row.append(now)
        rows.append(row)
    return rows


def gegenbauer(*, more: int = 0) -> PolynomialIdentity:
    """K^{(L)}(n, k) = (−V)^{L−1} h^{2L−1} C^{(L)}_{n−k}(1 − κh²/2), L ≤ 4, n − k < 10; planted: C^{(L+more)}."""

    def residual(x: Mapping[str, Any]) -> list[Any]:
        h, v, residuals = x["h"], x["v"], []
        twice = 2 - x["kappa"] * h * h
        for L, row in enumerate(_by_paths(h, x["kappa"], v, MOST_STEPS), start=1):
            order, polynomials = L + more, [0 * h + 1]
            for M in range(1, MOST_STEPS):  # M C_M = 2c (M + L − 1) C_{M−1} − (M + 2L − 2) C_{M−2}
                last = polynomials[M - 2] if M > 1 else 0 * h
                up = (M + order - 1) * twice * polynomials[M - 1] - (M + 2 * order - 2) * last
                polynomials.append(fmpq(1, M) * up)
            residuals += [K - (-v) ** (L - 1) * h ** (2 * L - 1) * C for K, C in zip(row, polynomials, strict=True)]
        return residuals

    def retyped(x: Mapping[str, Any]) -> list[Any]:
        """C by its sum over powers of 2c."""
        h, v, residuals = x["h"], x["v"], []
        twice = 2 - x["kappa"] * h**2
        for q, row in enumerate(_by_steps(h, x["kappa"], v, MOST_STEPS)):
            top = q + more
            for M, K in enumerate(row):
                C = sum(
                    (-1) ** j * math.comb(M - j + top, top) * math.comb(M - j, j) * twice ** (M - 2 * j)
                    for j in range(M // 2 + 1)
                )
                residuals.append(K - (-v) ** q * h ** (2 * q + 1) * C)
        return residuals

    words = "K^{(L)}(n, k) against (−V)^{L−1} h^{2L−1} C^{(L)}_{n−k}(1 − κh²/2), L ≤ 4, n − k < 10"
    return PolynomialIdentity(("h", "kappa", "v"), residual, retyped, words)


def free_kernel(*, short: int = 0) -> PolynomialIdentity:
    """α = w = 0, σ′ = 1: K^{(L)}(n, k) = (−V)^{L−1} h^{2L−1} C(n−k+2L−1, 2L−1). ``short`` = 1: one less, planted."""

    def residual(x: Mapping[str, Any]) -> list[Any]:
        h, v = x["h"], x["v"]
        return [
            K - (-v) ** (L - 1) * h ** (2 * L - 1) * math.comb(M + 2 * L - 1 - short, 2 * L - 1)
            for L, row in enumerate(_by_paths(h, 0 * h, v, MOST_STEPS), start=1)
            for M, K in enumerate(row)
        ]

    def retyped(x: Mapping[str, Any]) -> list[Any]:
        """The binomial coefficient as a product of fractions."""
        h, v, residuals = x["h"], x["v"], []
        for q, row in enumerate(_by_steps(h, 0 * h, v, MOST_STEPS)):
            for M, K in enumerate(row):
                count = Fraction(1)
                for i in range(1, 2 * q + 2):
                    count = count * (M - short + i) / i
                residuals.append(K - (-v) ** q * h ** (2 * q + 1) * int(count))
        return residuals

    words = "K^{(L)}(n, k) at α = w = 0, σ′ = 1 against (−V)^{L−1} h^{2L−1} C(n−k+2L−1, 2L−1), L ≤ 4, n − k < 10"
    return PolynomialIdentity(("h", "v"), residual, retyped, words)


# --- the peak at long times

LAYERS, MOST_TIME_STEPS = (1, 2, 3, 4), 400
PEAK = declared(
    Parameter("L", Integer(1, DEEPEST)),
    Parameter("x", Rational(least=Fraction(1, 50), most=Fraction(1, 2))),
    Parameter("N", Integer(1, MOST_TIME_STEPS)),
)
PEAK_BITS = 1024
_LONG = Hypothesis("N x ≥ 8: more than half a period", lambda p: p.N * p.x - 8, strict=False)


def _integer(ball: Any) -> int:
    return int(ball.unique_fmpz())


@dataclass(frozen=True)
class _Law:
    """In balls: θ, the factor that turns |C_M| into |K|/law, and the terms of its partial fractions.

    |K^{(L)}(k + M, k)| = |V|^{L−1} h^{2L−1} |C_M|; law (4) at T′ = N h is 2 (|V| T′)^{L−1}/((L − 1)! (2ω₀)^L); x = hω₀.
    """

    L: int
    N: int
    x: Any

    @property
    def theta(self) -> Any:
        return 2 * (self.x / 2).asin()

    @property
    def sine(self) -> Any:
        return self.x * (1 - self.x * self.x / 4).sqrt()

    @property
    def unit(self) -> Any:
        """(L − 1)! (x/sin θ)^L N^{1−L}: what a binomial coefficient of the partial fractions is multiplied by."""
        return math.factorial(self.L - 1) * (self.x / self.sine) ** self.L / arb(self.N) ** (self.L - 1)

    def later(self) -> Any:
        """All terms but the first, at most."""
        L, N = self.L, self.N
        return sum(
            (
                math.comb(L + nu - 1, nu) * math.comb(N + L - 2 - nu, L - 1 - nu) / (2 * self.sine) ** nu
                for nu in range(1, L)
            ),
            arb(0),
        )

    def peak(self) -> Any:
        """max |K|/law over n − k < N, C^{(L)}_M by its three-term recursion."""
        c2 = 2 - self.x * self.x
        before, now = arb(0), arb(1)
        largest = abs(now)
        for M in range(1, self.N):
            before, now = now, ((M + self.L - 1) * c2 * now - (M + 2 * self.L - 2) * before) / M
            largest = largest.max(abs(now))
        scale = math.factorial(self.L - 1) * (2 * self.x) ** self.L / (2 * arb(self.N) ** (self.L - 1))
        return scale * largest

    def most(self) -> Any:
        return self.unit * (math.comb(self.N + self.L - 2, self.L - 1) + self.later())

    def least(self) -> Any:
        """In every ⌈π/θ⌉ steps a cosine is within half a step of its peak."""
        M = self.N - arb.pi() / self.theta - 1
        binomial = arb(1)
        for i in range(1, self.L):
            binomial = binomial * (M + i) / i
        return self.unit * (binomial * (self.theta / 2).cos() - self.later())


def _law(p: Any) -> _Law:
    return _Law(_integer(p.L), _integer(p.N), p.x)


def _again(p: Any) -> tuple[Any, Any, Any]:
    """(least, peak, most) in intervals: the peak by stepping all layers, the sums term by term from the last."""
    L, N, x = int(p.texts["L"]), int(p.texts["N"]), p.x
    position, momentum, largest = [iv.mpf(0)] * L, [iv.mpf(0)] * L, iv.mpf(0)
    momentum[0] = iv.mpf(1)
    for _ in range(N):  # h = 1, ω₀ = x, V = 1
        for q in range(L):
            momentum[q] = momentum[q] - x**2 * position[q] - (position[q - 1] if q else 0)
            position[q] = position[q] + momentum[q]
        size = abs(position[-1])
        largest = iv.mpf([max(largest.a, size.a), max(largest.b, size.b)])
    faculty = iv.mpf(math.prod(range(1, L)))
    peak = largest * faculty * (2 * x) ** L / (2 * iv.mpf(N) ** (L - 1))
    sine = iv.sqrt(x**2 - x**4 / 4)
    scale = faculty * (x / sine) ** L / iv.mpf(N) ** (L - 1)
    rest = iv.mpf(0)
    for nu in range(L - 1, 0, -1):
        count = math.prod(range(L, L + nu)) // math.prod(range(1, nu + 1))
        paths = math.prod(range(N, N + L - 1 - nu)) // math.prod(range(1, L - nu))
        rest += iv.mpf(count * paths) / (2 * sine) ** nu
    paths = math.prod(range(N, N + L - 1)) // math.prod(range(1, L))
    # sin(θ/2) = x/2: so π/θ ≤ π/x and cos(θ/2) = √(1 − x²/4)
    last, product = N - iv.pi / x - 1, iv.mpf(1)
    for i in range(1, L):
        product = product * (last + i) / i
    return scale * (product * iv.sqrt(1 - x**2 / 4) - rest), peak, scale * (paths + rest)


def peak_case(side: str, *, factor: Fraction = Fraction(1)) -> Case:
    """max |K| over n − k < N by law (4): at most, or at least, what the partial fractions give; both tend to 1.

    ``factor`` multiplies the bound; a planted falsehood where it is below, or above, 1.
    """
    scale = fmpq(factor.numerator, factor.denominator)

    def balls(p: Any) -> tuple[Any, Any]:
        law = _law(p)
        return (law.peak(), scale * law.most()) if side == "at most" else (scale * law.least(), law.peak())

    def intervals(p: Any) -> tuple[Any, Any]:
        least, peak, most = _again(p)
        ratio = iv.mpf(factor.numerator) / factor.denominator
        return (peak, ratio * most) if side == "at most" else (ratio * least, peak)

    inequality = Inequality(balls, intervals, (_LONG,), bits=PEAK_BITS, parameters=PEAK, are_same=side == "at most")
    return Case("L ≤ 4, hω₀ ≤ 1/2, σ′ = 1", f"peak |K| by law (4), {side}", _asked(inequality), inequality.check)


def _asked(inequality: Inequality) -> Callable[[Budget, int], Attempt]:
    def ask(_: Budget, __: int) -> Attempt:
        places = [
            {"L": str(L), "x": x, "N": str(N)}
            for L in LAYERS
            for x, N in (("1/2", 40), ("1/4", 200), ("1/10", 300), ("1/10", 400), ("1/50", 400))
        ]
        checks = [(place, inequality.check(place)) for place in places]
        violated = [place for place, check in checks if all(opinion.violated for opinion in check.opinions)]
        slacks = [
            check.log_claimed - check.log_measured
            for _, check in checks
            if check.log_claimed is not None and check.log_measured is not None
        ]
        return Attempt(
            tried=f"the largest |K| for n − k < N at {len(places)} places, L ≤ 4: both sides apart by factors "
            f"{math.exp(min(slacks)):.4f} to {math.exp(max(slacks)):.4f}",
            evaluations=len(places),
            found="violated" if violated else "holds",
            claimed="holds",
            candidates=tuple(violated[:3]),
        )

    return ask
