"""How gradients grow with the number of steps: of one neuron in exact numbers, and the printed bound of icml (12).

The network is one neuron with V = 1, c = 0 (h = dt/2), zero inputs and states.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint
from flint import arb

from odernn.bounds.numbers import BALLS
from verification.cases.gradient_decay import contracting_eigenvalue
from verification.cases.inequality import BITS
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Constant, Integer, Rational
from verification.measure import scaling
from verification.parameters import Parameter, Rule, declared

# --- the gradient grows

GROWTH_STEPS = 40
"""N of the smaller of the two certified horizons; the other is twice it."""


MOST_GROWTH_STEPS = 400


def _bias_gradient(alpha: Fraction, w: Fraction, h: Fraction, steps: int) -> Fraction:
    """dE/db exactly, zero input and states, ȳ = 1: y = 0 always, E = (1/N) Σ (y_n − 1)²/2, w used with slope 1.

    dE/db = −(1/N) Σ_n ∂y_n/∂b, where ∂X_n/∂b follows z′ = z − h (κ y + 1), y′ = y + h z′, κ = α + w.
    """
    y = z = total = Fraction(0)
    for _ in range(steps):
        z = z - h * ((alpha + w) * y + 1)
        y = y + h * z
        total -= y
    return total / steps


def growth_case(alpha: Fraction, w: Fraction, dt: Fraction, *, domain: str, power: int = 3) -> Case:
    """Does |dE/db| stay below const · T^power as N → ∞ at fixed dt and weights?"""

    def ask(_: Budget, __: int) -> Attempt:
        h = dt / 2
        values = [_bias_gradient(alpha, w, h, GROWTH_STEPS * 2**i) for i in range(3)]
        slopes = scaling.local_slopes([2.0**i for i in range(3)], [float(v) for v in values])
        parameters = {"alpha": str(alpha), "w": str(w), "dt": str(dt), "steps": str(GROWTH_STEPS)}
        steep = slopes[-1] > power + scaling.HALF_A_POWER
        return Attempt(
            tried=f"one neuron, α = {alpha}, w = {w}, c = 0, dt = {dt}, zero input and states, ȳ = 1; N = "
            + ", ".join(str(GROWTH_STEPS * 2**i) for i in range(3)),
            evaluations=3,
            found=f"local slopes in T {slopes[0]:.1f}, {slopes[1]:.1f}",
            claimed=f"slope {power} or less",
            candidates=(parameters,) if steep else (),
        )

    def check(parameters: Parameters) -> Check:
        return growth_check(parameters, power)

    constants = (Parameter(name, Constant(value)) for name, value in (("alpha", alpha), ("w", w), ("dt", dt)))
    parameters = declared(*constants, Parameter("steps", Integer(1, MOST_GROWTH_STEPS)))
    return Case(domain, "|dE/db|", ask, parameters.guards(check), reading="limit")


def growth_check(parameters: Parameters, power: int) -> Check:
    """Doubling N multiplies |dE/db| by more than 2^power; the eigenvalue of B(α + w) carries it to all N."""
    alpha, w, dt = (number(parameters, name) for name in ("alpha", "w", "dt"))
    steps, h = int(number(parameters, "steps")), dt / 2
    values = [_bias_gradient(alpha, w, h, count) for count in (steps, 2 * steps)]
    first = Opinion(
        "exact",
        abs(values[1]) > 2**power * abs(values[0]),
        f"|dE/db| = {float(values[0]):.6g} and {float(values[1]):.6g}",
    )
    with iv.workprec(BITS):
        second = [_interval_bias_gradient(alpha, w, h, count) for count in (steps, 2 * steps)]
        gap = second[1] - 2**power * second[0]
        shown = " and ".join(f"{float(value.mid):.6g}" for value in second)
        other = Opinion("mpmath", bool(gap.a > 0), f"|dE/db| = {shown}")
    eigenvalue = contracting_eigenvalue(alpha, w, h)
    limit = ""
    if eigenvalue is not None:
        limit = (
            f"thm-J (c): trace B(α + w) = λ + 1/λ, λ = {eigenvalue} over Q, so [B^m]_12 = h (λ^(−m) − λ^m)/(1/λ − λ)"
            f", and |dE/db| ≥ (h/N) [B^N]_12, of order ({1 / eigenvalue})^N/N, for every N"
        )
    return Check(
        opinions=(first, other),
        limit=limit,
        words=f"α = {alpha}, w = {w}, dt = {dt}, zero input, ȳ = 1, N = {steps} and {2 * steps}: {first.text}",
    )


def _interval_bias_gradient(alpha: Fraction, w: Fraction, h: Fraction, steps: int) -> Any:
    """|dE/db| once more: (h/N) Σ_m (N − m + 1) [B^m]_12, the entries by u_{m+1} = (trace) u_m − u_{m−1}."""
    step = iv.mpf(h.numerator) / h.denominator
    kappa = alpha + w
    trace = 2 - step**2 * (iv.mpf(kappa.numerator) / kappa.denominator)
    last, this, total = iv.mpf(0), step, iv.mpf(0)
    for m in range(1, steps + 1):
        total = total + (steps - m + 1) * this
        last, this = this, trace * this - last
    return step * total / steps


def fixed_horizon_case(horizon: Fraction, *, depth: int = 1) -> Case:
    """|dE/db^1| of one network at a fixed T, N doubling: α = 4, w = −9 in every layer, V = 1 between, at rest."""

    def ask(budget: Budget, _: int) -> Attempt:
        ladder = scaling.fixed_horizon(horizon, 16, {"smoke": 5, "standard": 6, "deep": 7}[budget.name])
        values = [_rest_gradient(float(T) / steps / 2, steps, depth) for T, steps in ladder.rungs]
        slope = scaling.fit([float(dt) for dt in ladder.steps], values)
        shape = "one neuron" if depth == 1 else f"one neuron a layer, L = {depth}, V = 1"
        return Attempt(
            tried=f"{shape}, α = 4, w = −9, c = 0, zero input and states, ȳ = 1, T = {horizon}: {slope.describe()}",
            evaluations=len(values),
            found=slope.describe(),
            claimed="bounded: slope 0",
        )

    one, quantity = ("", "|dE/db|") if depth == 1 else (f", one network, L = {depth}", "|dE/db^1|")
    return Case(f"T = {horizon} fixed, dt → 0{one}", quantity, ask)


def _rest_gradient(h: float, steps: int, depth: int) -> float:
    """dE/db^1 in floats: the derivative of every layer at rest, where all slopes are 1."""
    y, z, total = [0.0] * depth, [0.0] * depth, 0.0
    for _ in range(steps):
        for q in range(depth):
            z[q] -= h * (-5 * y[q] + (1.0 if q == 0 else y[q - 1]))
            y[q] += h * z[q]
        total -= y[-1]
    return total / steps


# --- the printed bound of icml, as a function of T


def printed_bound(horizon: arb, alpha: arb, growth: arb, weights: arb, target: arb) -> arb:
    """T (1 + 2γT) V̄ (Ȳ + F) Δ of icml (12), L = 1, with K = ``growth``; V̄ = ``weights``, Ȳ = ``target``."""
    gamma = growth + growth**2 / 2
    beta = (1 + 2 * alpha).max(4 * alpha**2)
    square = 2 * (1 + 2 * beta * horizon)
    F = (square / alpha).sqrt()
    return horizon * (1 + 2 * gamma * horizon) * weights * (target + F) * (2 + square.sqrt() + (2 + alpha) * F)


HORIZONS = {"smoke": 24, "standard": 40, "deep": 60}


def bound_growth_case(power: int) -> Case:
    """Does the printed bound grow at most as T^power, T = 1, 2, 4, …?"""

    def ask(budget: Budget, _: int) -> Attempt:
        slopes = []
        with flint.ctx.workprec(BITS):
            for alpha in (arb(1) / 100, arb(1), arb(100)):
                values = [
                    printed_bound(arb(2) ** i, alpha, alpha + 2, arb(1), arb(1)) for i in range(HORIZONS[budget.name])
                ]
                slopes.append([float(((b / a).log() / arb(2).log()).upper()) for a, b in pairwise(values)])
        largest = max(map(max, slopes))
        parameters = {"alpha": "1", "K": "3", "horizon": str(2**20)}
        return Attempt(
            tried=f"T = 1 to 2^{HORIZONS[budget.name] - 1}, α = 1/100, 1, 100, in balls",
            evaluations=sum(map(len, slopes)),
            found=f"local slopes in T at most {largest:.6f}",
            claimed=f"slope {power} or less",
            candidates=(parameters,) if largest > power + scaling.HALF_A_POWER else (),
        )

    def check(parameters: Parameters) -> Check:
        alpha, growth, horizon = (number(parameters, name) for name in ("alpha", "K", "horizon"))
        with flint.ctx.workprec(BITS):
            args = (BALLS.exact(alpha), BALLS.exact(growth), arb(1), arb(1))
            ratio = printed_bound(BALLS.exact(2 * horizon), *args) / printed_bound(BALLS.exact(horizon), *args)
            first = Opinion("balls", bool(ratio > 2**power), f"doubling T multiplies the bound by {ratio.str(8)}")
        with iv.workprec(BITS):
            again = _interval_bound(2 * horizon, alpha, growth) / _interval_bound(horizon, alpha, growth)
            second = Opinion("mpmath", bool(again.a > 2**power), f"factor {float(again.mid):.8f}")
        limit = "all terms of the product are positive and T · T · √T · √T is one: the bound is ≥ const T³"
        return Check(
            opinions=(first, second),
            limit=limit if power < 3 else "",
            words=f"α = {alpha}, K = {growth}, T = {horizon}: {first.text}",
        )

    parameters = declared(
        Parameter("alpha", Rational(above=0)),
        Parameter("K", Rational(least=2)),
        Parameter("horizon", Rational(least=1)),
        rules=(Rule("K = max(2, ‖w‖_∞ + α) ≥ α", lambda values: values["K"] >= values["alpha"]),),
    )
    return Case("all T ≥ 1", "right side of (12)", ask, parameters.guards(check), reading="limit")


def _interval_bound(horizon: Fraction, alpha: Fraction, growth: Fraction) -> Any:
    """V̄ = Ȳ = 1."""
    T, a, K = (iv.mpf(value.numerator) / value.denominator for value in (horizon, alpha, growth))
    b = max(1 + 2 * alpha, 4 * alpha * alpha)
    energy = 2 + 4 * T * b.numerator / b.denominator
    state = iv.sqrt(energy / a)
    return (T + (2 * K + K**2) * T**2) * (1 + state) * (2 + iv.sqrt(energy) + (2 + a) * state)
