"""The steps of thm-G-inf and its closed forms on trial, where the published steps fell: steps that a machine proves.

    ‖dX^L_n/dX^l_k‖ ≤ C(n−k+p, p) dt^p Π‖V^q‖ e^{(n−k)w̄dt}       a step by (52), a climb by (53), paths by Pascal's rule
    ‖∂⁺X_k/∂θ‖ ≤ dt (2 + F_z + (1+α)F + max(F, U))               (65)
    |∂E_{k,l}/∂θ| ≤ m_l ‖dE_n/dX_n‖ ‖dX^L_n/dX^l_k‖ ‖∂⁺X_k/∂θ‖    |aᵀMb| ≤ ‖a‖_1 ‖M‖_∞ ‖b‖_∞

docs/derivations/gradient_bounds.md. Everything in the maximum norm, w̄ = max_{q≥l} max(2, ‖w^q‖_∞ + α), p = L − l.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb
from types import SimpleNamespace
from typing import Any

import flint

from odernn.bounds.numbers import BALLS
from verification.cases import chain_gradients, chain_jacobians
from verification.cases.chain_jacobians import jacobian_parameters
from verification.cases.inequality import Inequality
from verification.cases.network_gradient import gradient_parameters
from verification.cases.nominate import first_violation
from verification.cases.one_step_norms import (
    OF_PARTIAL,
    PARTIAL_PREMISES,
    climb_case,
    exponential_case,
    partial_case,
    partials_in_balls,
    partials_in_intervals,
)
from verification.cases.three_norms import THREE_NORMS, equal_outputs, three_norms_check, three_norms_look
from verification.cases.top_layer_gradients import proof_by_parts
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Check, Hypothesis, Parameters
from verification.domains import BUDGETS, Budget
from verification.kinds import Values
from verification.measure.corrected_forms import CorrectedGradient, CorrectedJacobian
from verification.measure.gradient_forms import SAM_41, GradientForm
from verification.measure.polynomials import coefficient, variables
from verification.measure.published_forms import SAM_32
from verification.parameters import Declaration, Rule, declared, rationals

# --- the parts of the proof

MOST_CLIMBS = 7
"""Climbs of a stack of eight layers, the deepest that is tried."""


def pascal() -> str:
    """C(j+p, p) = C(j+p−1, p) + C(j+p−1, p−1) for all j ≥ 1 and p ≤ 7: as polynomials in j, and by counting; or "".

    So x_q(j) = s x_q(j−1) + v x_{q−1}(j), x_l(j) = s^j has x_{l+p}(j) = C(j+p, p) v^p s^j.
    """
    (j,) = variables("j")

    def choose(shift: int, p: int) -> Any:
        product = 1 + 0 * j
        for i in range(1, p + 1):
            product = product * (j + shift + i) * coefficient(Fraction(1, i))
        return product

    as_polynomials = all(choose(0, p) == choose(-1, p) + choose(0, p - 1) for p in range(1, MOST_CLIMBS + 1))
    counted = all(_count(j, p) == comb(j + p, p) for j in range(9) for p in range(MOST_CLIMBS + 1))
    if not (as_polynomials and counted):
        return ""
    return f"C(j+p, p) paths, by Pascal's rule as polynomials in j for p ≤ {MOST_CLIMBS}, and counted for j ≤ 8"


def _count(steps: int, climbs: int) -> int:
    """How many orders there are, one by one."""
    if not steps or not climbs:
        return 1
    return _count(steps - 1, climbs) + _count(steps, climbs - 1)


@cache
def _path_parts(budget: Budget, seed: int) -> tuple[str, ...]:
    return (exponential_case().ask(budget, seed).proof, climb_case().ask(budget, seed).proof, pascal())


def proof_of_paths(budget: Budget, seed: int) -> str:
    """‖dX^L_n/dX^l_k‖ ≤ C(n−k+p, p) dt^p Π‖V^q‖ e^{(n−k)w̄dt} for every m; "" if a part is missing."""
    parts = _path_parts(budget, seed)
    if not all(parts):
        return ""
    return f"n − k steps, each (52): {parts[0]}; p climbs, each (53): {parts[1]}; {parts[2]}"


@cache
def _partial_part(budget: Budget, seed: int) -> str:
    return partial_case("(65)").ask(budget, seed).proof


def proof_of_gradient(form: CorrectedGradient, budget: Budget, seed: int) -> str:
    """Of the closed forms for every m with the factor m_l; "" if a part is missing, or the form is a smaller one."""
    paths, partial = proof_of_paths(budget, seed), _partial_part(budget, seed)
    if form.top_alone or not form.input_seen or form.factor < 1 or not (paths and partial):
        return ""
    sums = "" if form.of_one_step else "Σ_{j<N} C(j+p, p) = C(N+p, p+1) ≤ (N+p)^{p+1}/(p+1)! and e^{jw̄dt} ≤ e^{w̄T}; "
    return f"|aᵀMb| ≤ ‖a‖_1 ‖M‖_∞ ‖b‖_∞; {sums}{paths}; (65): {partial}"


def _proved(seen: Attempt, proof: str) -> Attempt:
    """What was seen on the chains, and the proof if nothing violates."""
    proof = "" if seen.candidates else proof
    return replace(seen, tried=proof or seen.tried, proof=proof)


# --- the steps


def lower_layers() -> Iterator[Parameters]:
    """Two and three layers at rest: calm ones, stiff ones below, saddles everywhere."""
    yield from chain_jacobians.calm()
    yield from chain_jacobians.stiff_below()
    for horizon, W, depth in itertools.product((1, 5, 10), (1, 4, 16), (2, 3)):
        w = [Fraction(-1 - W)] * depth
        yield chain_jacobians.at_rest(Fraction(1), Fraction(1, 20), 20 * horizon, w)


TRUE_JACOBIAN = CorrectedJacobian()


def jacobian_case(form: CorrectedJacobian = TRUE_JACOBIAN) -> Case:
    """l < L. (l = L is (54) itself.)"""
    parameters = jacobian_parameters("l < L", range(2, 9))

    def ask(budget: Budget, seed: int) -> Attempt:
        tried = "networks at rest with c = 0, L = 2 and 3, T = 1 to 10"
        seen = first_violation((chain_jacobians.finite(form),), lower_layers(), tried)
        return _proved(seen, proof_of_paths(budget, seed) if form == TRUE_JACOBIAN else "")

    return Case("l < L", "‖dX^L_n/dX^l_k‖_∞", ask, chain_jacobians.finite(form, parameters).check)


def norms_case(*, outputs: bool = True) -> Case:
    """m_l times the product of three norms, θ = b^1 of neuron 1, L = 2; without ``outputs`` as printed."""

    def factor(parameters: Parameters) -> Fraction:
        return Fraction(int(parameters["neurons"])) if outputs else Fraction(1)

    def check(parameters: Parameters) -> Check:
        return three_norms_check(parameters, factor(parameters))

    def ask(budget: Budget, seed: int) -> Attempt:
        rng = random.Random(seed)
        drawn = [THREE_NORMS.draw(rng) for _ in range({"smoke": 4, "standard": 16, "deep": 100}[budget.name])]
        points = [equal_outputs(m) for m in (1, 2, 3, 4)] + [THREE_NORMS.texts(THREE_NORMS.read(p)) for p in drawn]
        worst: tuple[float, float] | None = None
        for count, parameters in enumerate(points, 1):
            sides = check(parameters)
            if sides.log_measured is None or sides.log_claimed is None:
                continue
            pair = sides.log_measured, sides.log_claimed
            if all(opinion.violated for opinion in sides.opinions):
                return Attempt("m equal outputs", count, *pair, candidates=(parameters,))
            if worst is None or pair[0] - pair[1] > worst[0] - worst[1]:
                worst = pair
        assert worst is not None
        return Attempt(f"m equal outputs fed by one neuron, m = 1 to 4, and {len(drawn)} networks", len(points), *worst)

    def look(parameters: Parameters) -> bool:
        return three_norms_look(parameters, factor(parameters))

    return Case("L = 2, l = 1", "|∂E_{k,l}/∂θ| ≤ m ‖·‖ ‖·‖ ‖·‖", ask, THREE_NORMS.guards(check, look))


def direct_case(*, input_seen: bool = True) -> Case:
    """(65) with F ≥ |y|, F_z ≥ |z|, U ≥ |u| put in, any layer; without ``input_seen`` F is put in for the input."""

    def balls(p: Any) -> tuple[Any, Any]:
        of_z, of_y = partials_in_balls(p)
        below = p.F.max(p.U) if input_seen else p.F
        return of_z.max(of_y), p.dt * (2 + p.F_z + (1 + p.alpha) * p.F + below)

    def intervals(p: Any) -> tuple[Any, Any]:
        of_z, of_y = partials_in_intervals(p)
        below = second.iv.mpf([max(p.F.a, p.U.a), max(p.F.b, p.U.b)]) if input_seen else p.F
        left = second.iv.mpf([max(of_z.a, of_y.a), max(of_z.b, of_y.b)])
        return left, (below + p.F * p.alpha + p.F + p.F_z + 2) * p.dt

    inside = Rule(
        "|y| ≤ F, |z| ≤ F_z, |y^{l−1}| ≤ max(F, U)",
        lambda v: v["y"] <= v["F"] and v["z"] <= v["F_z"] and v["below"] <= max(v["F"], v["U"]),
    )
    parameters = declared(*OF_PARTIAL, *rationals("F", "F_z", "U", least=0), rules=(inside,))
    inequality = Inequality(balls, intervals, PARTIAL_PREMISES, parameters=parameters)

    def points() -> Iterator[Parameters]:
        plain = {"dt": "1/10", "sigma": "1/2", "alpha": "1", "s": "0", "slope": "1"}
        for size, power in itertools.product(("0", "1", "100"), range(0, 16, 3)):
            u = str(10**power)
            yield {**plain, "y": size, "z": size, "below": u, "F": size, "F_z": size, "U": u}

    def ask(budget: Budget, seed: int) -> Attempt:
        inputs = (p for p in points() if Fraction(p["below"]) <= max(Fraction(p["F"]), Fraction(p["U"])))
        seen = first_violation((inequality,), inputs, "θ = V^1 at rest, |u| up to 1e15")
        partial = _partial_part(budget, seed)
        return _proved(seen, f"the right side rises in each; (65): {partial}" if input_seen and partial else "")

    return Case("any layer", "‖∂⁺X_k/∂θ‖_∞ ≤ dt (2 + F_z + (1+α)F + max(F, U))", ask, inequality.check)


# --- hypotheses added to the printed bounds

SHORT = Fraction(12564, 10**4)
"""Below the root x₀ = 1.25643… of e^x = 1 + 2x."""


def _gamma(values: Values) -> Fraction:
    """K + K²/2, K = max(2, |w^L| + α)."""
    K = max(Fraction(2), abs(values["w"][-1][0]) + values["alpha"])
    return Fraction(K + K * K / 2)


SHORT_TIME = Rule(
    f"βT, γT ≤ {float(SHORT)}",
    lambda v: max(1 + 2 * v["alpha"], 4 * v["alpha"] ** 2, _gamma(v)) * v["N"] * v["dt"] <= SHORT,
)


def _also(declaration: Declaration, rule: Rule) -> Declaration:
    return replace(declaration, rules=(*declaration.rules, rule))


def short_runs(*, layers: int = 1) -> Iterator[Parameters]:
    """At rest, T as long as the hypotheses allow, w^L = −α − W; K = 2 at W = 0, where T is longest. One step comes
    nearest to the bounds, and a target that makes F small beside it.
    """
    alphas = map(Fraction, ("1/10", "1/2", "4/5", "1"))
    for alpha, W, steps in itertools.product(alphas, (0, 1, 2, 4), (1, 2, 5, 20)):
        K = max(Fraction(2), 2 * alpha + W)
        rate = max(1 + 2 * alpha, 4 * alpha**2, K + K**2 / 2)
        dt = (SHORT / rate / steps).limit_denominator(10**4) * Fraction(999, 1000)
        if dt < 1:
            w = [Fraction(0)] * (layers - 1) + [-alpha - W]
            yield chain_gradients.at_rest(alpha, dt, steps, w, layer=layers, target=10**6)


def short_case(form: GradientForm, quantity: str) -> Case:
    """icml (12), S(14) where βT, γT ≤ x₀: θ of layer L."""
    parameters = gradient_parameters("b", whole="no", depths=range(1, 4), layer=lambda L: range(L, L + 1))
    inequality = chain_gradients.finite(form, "b", parameters=_also(parameters, SHORT_TIME))

    def ask(_: Budget, __: int) -> Attempt:
        points = itertools.chain(short_runs(), short_runs(layers=2))
        return first_violation((inequality,), points, "at rest, T as long as βT, γT ≤ x₀ allow, L = 1 and 2")

    return Case("βT, γT ≤ x₀, l = L", quantity, ask, inequality.check)


def _within_F(p: Any) -> Fraction:
    """±1: whether |u_n| ≤ F of (41), (42), certainly."""
    with flint.ctx.workprec(128):
        exact = {name: BALLS.exact(getattr(p, name)) for name in ("alpha", "dt")}
        at = SimpleNamespace(**exact, T=BALLS.exact(p.N * p.dt), m=BALLS.exact(1))
        F = SAM_32.ball(at) / at.alpha.sqrt()
        return Fraction(1 if all(abs(BALLS.exact(u)) <= F for u in p.u) else -1)


def within_case(form: GradientForm = SAM_41) -> Case:
    """(41) for θ = V^1 where L = 1 and |u_n| ≤ F: y^0 by F in (66) is then right."""
    premises = (
        Hypothesis("|u_n| ≤ F of (41)", _within_F),
        Hypothesis("L = 1", lambda p: Fraction(len(p.w) == 1)),
    )
    inequality = chain_gradients.finite(form, "V", premises, gradient_parameters("V", whole="no", depths=range(1, 2)))

    def points() -> Iterator[Parameters]:
        """At rest, u the largest whole number that F allows: one step and a small α, where F is large; stiff ones."""
        short = [(Fraction(1, 10**6), T, Fraction(-1), T) for T in map(Fraction, ("1/4", "1/2", "9/10"))]
        stiff = itertools.product((1,), (1, 5), (-1, -2, -17), (Fraction(1, 4), Fraction(1, 20)))
        for alpha, horizon, w, dt in (*short, *((Fraction(a), Fraction(T), Fraction(w), dt) for a, T, w, dt in stiff)):
            with flint.ctx.workprec(128):
                at = SimpleNamespace(
                    alpha=BALLS.exact(alpha), dt=BALLS.exact(dt), T=BALLS.exact(horizon), m=flint.arb(1)
                )
                size = int((SAM_32.ball(at) / at.alpha.sqrt()).lower().floor().unique_fmpz())
            yield chain_gradients.at_rest(alpha, dt, int(horizon / dt), [w], u=size, target=10**6)

    def ask(budget: Budget, seed: int) -> Attempt:
        seen = first_violation((inequality,), points(), "one neuron at rest, T = 1/4 to 5, u the largest that F allows")
        parts = proof_by_parts(form, BUDGETS["smoke"], seed)  # a proof needs no budget
        return _proved(seen, f"y^0 by F, as |u| ≤ F; {parts}" if parts else "")

    return Case("L = 1, |u_n| ≤ F", "|dE/dV^1|", ask, inequality.check)
