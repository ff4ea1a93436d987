# Claims: sam-70 · icml-(43)
"""The bound on the gradient of the error at one time, sam (70), icml S(43): (69), S(42) summed over layers and steps.

One neuron at rest, w < −α, W = −(α + w), ρ = 2 asinh(h√W/2): with ȳ = 1, a sum of geometric series,

    |∂E_n/∂b| = h Σ_{m≤n} [B^m]_12 = (cosh((n + 1/2)ρ)/cosh(ρ/2) − 1)/W ≥ (cosh(nρ) − 1)/W,

and nρ grows as h falls at fixed n h: what is certified of the right side at dt, R₀ for nρ, holds for every dt' ≤ dt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from odernn.published.sources import Source
from verification.cases.chain_gradients import AT_REST, at_rest, hyperbolic, within_one
from verification.cases.inequality import T_AT_MOST_ONE, Inequality
from verification.cases.network_gradient import gradient_parameters
from verification.cases.nominate import (
    first_violation,
    growth_exponent_in_balls,
    growth_exponent_in_intervals,
    joined,
)
from verification.cases.top_layer_gradients import last_error, top_error_case
from verification.certify.neuron_chain import LISTS
from verification.certify.second.intervals import iv
from verification.claim import Attempt, Case, Claim, Hypothesis, Parameters
from verification.domains import Budget
from verification.measure.gradient_forms import ICML_43, SAM_70, GradientForm

BELOW = gradient_parameters("b", whole="no", depths=range(2, 3), layer=lambda _: range(1, 2))
ALONE = gradient_parameters("b", whole="no", depths=range(1, 2), layer=lambda _: range(1, 2))


def _stiff_below() -> Iterator[Parameters]:
    """T = 1, dt = 1/10, L = 2: w^2 = −1 = −α, the layer below stiffer and stiffer."""
    for size in (10, 100, 1000, 10**4, 10**5):
        yield at_rest(Fraction(1), Fraction(1, 10), 10, [Fraction(-size), Fraction(-1)])


def below_case(form: GradientForm = SAM_70) -> Case:
    """θ = b^1 of two layers: the bound has w^L only."""
    inequality = last_error(form, BELOW)

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((inequality,), _stiff_below(), "two layers at rest, simplest first")

    return Case("sam (70), L = 2", "|∂E_n/∂θ|, θ = b^1", ask, inequality.check)


def _for_smaller_steps(form: GradientForm) -> Inequality:
    """(cosh(R₀) − 1)/W on the left. The right side, L = 1, does not depend on dt."""

    def balls(p: Any) -> tuple[Any, Any]:
        W = -p.alpha - p.w[0]
        R = growth_exponent_in_balls(W, p.dt / 2, p.dt * p.N / 2)
        return abs(p.target[0]) * (R.cosh() - 1) / W, form.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        stiff = -(p.w[0] + p.alpha)
        half = iv.exp(growth_exponent_in_intervals(stiff, p.dt / 2, int(p.texts["N"]) * p.dt / 2) / 2)
        return (half - 1 / half) ** 2 * abs(p.target[0]) / stiff / 2, form.interval(p)  # cosh R − 1 = 2 sinh²(R/2)

    conditions = (
        *AT_REST,
        Hypothesis("L = 1", lambda p: Fraction(len(p.w) == 1)),
        Hypothesis("w^1 < −α", lambda p: -p.alpha - p.w[0]),
    )
    return Inequality(balls, intervals, conditions, lists=LISTS)


def small_step_error_case(
    domain: str, points: Iterable[Parameters], extra: tuple[Hypothesis, ...] = (), form: GradientForm = ICML_43
) -> Case:
    """S(43), one layer, θ = b: a violation at dt and at every smaller one."""
    at, below = last_error(form, ALONE, extra), _for_smaller_steps(form)
    nominated = tuple(points)

    def text(_: Parameters) -> str:
        return "thm-J (c): |∂E_n/∂b| ≥ |ȳ| (cosh(R₀) − 1)/W for every dt' ≤ dt at the same T"

    def ask(_: Budget, __: int) -> Attempt:
        times = "T = 1" if extra else "T = 1 to 40"
        return first_violation((at, below), nominated, f"one neuron at rest, α = 1, c = 0, {times}")

    return Case(domain, "|∂E_n/∂θ|, θ = b", ask, joined(at, below, text, ALONE), reading="limit")


CLAIMS = (
    Claim(
        id="sam-70",
        source=Source("sam", "(70)"),
        statement="for every n and θ: |∂E_n/∂θ| ≤ ((1−dt^L)/(1−dt)) T e^{w̄^L T} V̄ (Ȳ + F) Δ, F, Δ of (42), w̄^L = "
        "max(2, ‖w^L‖_∞ + α); α > 0, dt < 1",
        semantics="real",
        cases=(top_error_case(SAM_70), below_case()),
    ),
    Claim(
        id="icml-(43)",
        source=Source("icml", "S(43)"),
        statement="for every n and θ: |∂E_n/∂θ| ≤ ((1−dt^L)/(1−dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ, F, Δ of S(15), K = max(2, "
        "‖w^L‖_∞ + α), γ = K + K²/2; α > 0, dt ≪ 1",
        semantics="real",
        cases=(
            small_step_error_case("icml S(43), L = 1", hyperbolic()),
            small_step_error_case("icml S(43), L = 1, T ≤ 1", within_one(), (T_AT_MOST_ONE,)),
        ),
    ),
)
