# Claims: sam-54 · icml-(27) · both-68
"""Bounds on dX^L_n/dX^l_k in the maximum norm (sam (54), icml S(27)) and the product of three norms (sam (68)).

The networks named here rest: zero bias and input from zero states, so that A = 0, σ' = 1 and y = 0 at every step. With
c = 0 the step is h = dt/2, and with w = −α an undisturbed neuron has κ = 0: everything is rational.

Uniform in dt, for W = −(α + w) > 0 and T = (n − k) dt fixed (thm-J(c)): ‖B^{n−k}‖_∞ is at least the spectral radius
e^{(n−k)ρ}, ρ = 2 asinh x, x = h√W/2, and (n − k)ρ = σ̂T √W asinh(x)/x grows as dt falls.
With κ = 0 in two layers |∂z^2_n/∂y^1_k| = h|V|(n − k + 1) ≥ σ̂|V|T exactly, where (54) and S(27) have a factor dt.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from odernn.published.networks import ROWS, PublishedRow
from odernn.published.sources import Source
from verification.cases import initialised
from verification.cases.chain_jacobians import (
    MOST_STEPS,
    JacobianForm,
    at_rest,
    calm,
    finite,
    hyperbolic,
    jacobian_parameters,
    resonant,
    stiff_below,
    within_one,
)
from verification.cases.identity import PathIdentity
from verification.cases.inequality import ALPHA_POSITIVE, STEP_BELOW_ONE, T_AT_MOST_ONE, Inequality
from verification.cases.nominate import first_violation, growth_exponent_in_balls, growth_exponent_in_intervals, joined
from verification.cases.one_step_norms import exponential_case
from verification.cases.three_norms import THREE_NORMS, equal_outputs, three_norms_check
from verification.certify.neuron_chain import LISTS
from verification.certify.second import exact_network as exact_network_again
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Claim, Hypothesis, Parameters
from verification.domains import INITIALISED, Budget, printed_name
from verification.exact_text import numbers
from verification.kinds import Constant, Integer, Kind, Rational
from verification.measure import exact_network
from verification.measure.exact_network import Shape

# --- dt → 0


def _same_layer(norms: JacobianForm) -> Inequality:
    """e^{R₀} on the left."""

    def balls(p: Any) -> tuple[Any, Any]:
        lag = round(float(p.N)) - round(float(p.k))
        return growth_exponent_in_balls(-p.alpha - p.w[-1], p.dt / 2, lag * p.dt / 2).exp(), norms.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        tau = p.dt / 2 * (int(p.texts["N"]) - int(p.texts["k"]))
        return second.iv.exp(growth_exponent_in_intervals(-(p.w[-1] + p.alpha), p.dt / 2, tau)), norms.interval(p)

    conditions = (
        Hypothesis("w < −α", lambda p: -p.alpha - p.w[-1]),
        Hypothesis("l = L", lambda p: Fraction(p.layer == len(p.w))),
        Hypothesis("at rest: u = b = 0", lambda p: Fraction(not any(p.u) and not any(p.b))),
    )
    return Inequality(balls, intervals, conditions, lists=LISTS)


def _one_layer_up(norms: JacobianForm) -> Inequality:
    """σ̂|V|T on the left, T = (n − k) dt."""

    def balls(p: Any) -> tuple[Any, Any]:
        lag = round(float(p.N)) - round(float(p.k))
        return abs(p.V[1]) * lag * p.dt / 2, norms.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        return (int(p.texts["N"]) - int(p.texts["k"])) * p.dt * abs(p.V[1]) / 2, norms.interval(p)

    conditions = (
        Hypothesis("L = 2, l = 1", lambda p: Fraction(len(p.w) == 2 and p.layer == 1)),
        Hypothesis("w = −α, so that κ = 0", lambda p: Fraction(all(w == -p.alpha for w in p.w))),
        Hypothesis("at rest: u = b = 0", lambda p: Fraction(not any(p.u) and not any(p.b))),
    )
    return Inequality(balls, intervals, conditions, lists=LISTS)


def _limit_case(domain: str, quantity: str, norms: JacobianForm) -> Case:
    """With "T ≤ 1" in the domain T = N dt is so bounded: then, too, for every smaller dt at the same (n − k) dt."""
    short = (T_AT_MOST_ONE,) if "T ≤ 1" in domain else ()

    def by_rate(_: Parameters) -> str:
        return "thm-J (c): with w < −α at rest the norm is at least e^{R₀} for every dt' ≤ dt at the same (n − k) dt'"

    def by_count(_: Parameters) -> str:
        return "thm-ML: with κ = 0 exactly |∂z²_n/∂y¹_k| = h|V|(n−k+1) ≥ |V|T/2; the right side falls like dt"

    same, at = "= L" in domain, finite(norms, extra=short)
    uniform, text = (_same_layer(norms), by_rate) if same else (_one_layer_up(norms), by_count)
    ladder = within_one if short else hyperbolic
    points = ladder if same else lambda: (p for p in calm() if len(numbers(p, "w")) == 2)

    def ask(_: Budget, __: int) -> Attempt:
        times = "T = 1" if short else "T = 1 to 40"
        return first_violation((at, uniform), points(), f"networks at rest, α = 1, c = 0, {times}")

    depth = 1 if same else 2
    positive: dict[str, Kind] = {"alpha": Rational(above=0)}
    parameters = jacobian_parameters("l = L" if same else "l < L", range(depth, depth + 1), positive)
    return Case(domain, quantity, ask, joined(at, uniform, text, parameters), reading="limit")


# --- sam (54)


def free_case(domain: str, quantity: str, norms: JacobianForm) -> Case:
    """Networks at rest: "w^l free" takes the lower layer stiff, else all w are equal."""
    points = stiff_below if "w^l" in domain else calm
    parameters = jacobian_parameters(domain, range(2, 4))

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((finite(norms),), points(), "networks at rest with c = 0, T = 1")

    return Case(domain, quantity, ask, finite(norms, parameters).check)


def same_layer_case(factor: Fraction = Fraction(1)) -> Case:
    """l = L: one step by (52), which a machine proves; norms multiply and e^{w̄dt} multiplies exactly."""
    norms = JacobianForm("exponential", factor=factor)
    short = at_rest(Fraction(1), Fraction(1, 10), 1, [Fraction(-1)])

    def ask(budget: Budget, seed: int) -> Attempt:
        step = exponential_case().ask(budget, seed)
        points = (*hyperbolic(), *resonant(), short)
        seen = first_violation((finite(norms),), points, "c = 0: networks at rest, T = 1/10 to 40, and driven by words")
        proof = f"n − k factors, each: {step.proof}" if step.proof and factor >= 1 and not seen.candidates else ""
        return Attempt(
            proof or seen.tried,
            seen.evaluations + step.evaluations,
            seen.log_measured,
            seen.log_claimed,
            candidates=seen.candidates,
            proof=proof,
        )

    return Case("l = L", "‖dX^L_n/dX^L_k‖_∞", ask, finite(norms, jacobian_parameters("l = L")).check)


# --- icml S(27) at the printed rows


def row_case(row: PublishedRow, norms: JacobianForm) -> Case:
    """l = L: dt, α, N of the row; the adversary chooses w^L < −α."""

    def points() -> Iterator[Parameters]:
        for W, lag in itertools.product((1, 4, 16, 64), (50, 200, 400, 783, 3999)):
            if lag < row.steps:
                yield at_rest(row.alpha, row.dt[-1], lag, [-row.alpha - W])

    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        tried = f"top layer at rest, w = −α − 1 to −α − 64, n < {row.steps}"
        return first_violation((finite(norms),), points(), tried)

    fixed: dict[str, Kind] = {"alpha": Constant(row.alpha), "dt": Constant(row.dt[-1])}
    fixed["N"] = Integer(2, min(row.steps, MOST_STEPS))
    parameters = jacobian_parameters("l = L", range(1, row.num_layers + 1), fixed)
    check = parameters.guards(finite(norms).check)
    return Case(printed_name(row), "‖dX^L_n/dX^L_k‖_∞", ask, check if row.alpha > 0 else None, reading="printed")


# --- sam (68), icml S(41)


def _top_layer_case() -> Case:
    """dX^L_n/dX^L_k couples no two neurons: entries of different neurons are the polynomial 0 in all symbols."""

    def between(neurons: int) -> list[tuple[int, int]]:
        return [(i, j) for i, j in itertools.product(range(2 * neurons), repeat=2) if i // 2 != j // 2]

    def first(network: exact_network.Layered) -> list[Any]:
        L, n = network.layers, network.steps
        totals = [network.total(L, n, L, k) for k in range(1, n + 1)]
        return [total[i][j] for total in totals for i, j in between(network.neurons)]

    def again(network: exact_network_again.IntervalNetwork) -> list[Any]:
        totals = (network.total(network.L, network.N, network.L, k) for k in range(network.N, 0, -1))
        return [total[i][j] for total in totals for i, j in between(network.m)]

    identity = PathIdentity("icml", first, again, "entries of dX^L_n/dX^L_k between different neurons against 0")
    case = identity.case("l = L", "|∂E_{k,l}/∂θ|", (Shape(1, 2, 3), Shape(2, 2, 3), Shape(2, 3, 2)))
    conclusion = "each step is block diagonal, and θ of layer L moves neuron i alone: |e_i (row · x)| ≤ |e_i| ‖row‖_1 "
    conclusion += "‖x‖_∞, row of y^i, for all numbers"

    def ask(budget: Budget, seed: int) -> Attempt:
        attempt = case.ask(budget, seed)
        return replace(attempt, proof=f"{attempt.proof}; {conclusion}") if attempt.proof else attempt

    return replace(case, ask=ask)


def lower_layer_case(factor: Fraction = Fraction(1)) -> Case:
    """l < L: m outputs that move alike."""

    def ask(_: Budget, __: int) -> Attempt:
        sides: tuple[float, float] | None = None
        for count, neurons in enumerate((1, 2, 3, 4), 1):
            parameters = equal_outputs(neurons)
            check = three_norms_check(parameters, factor)
            assert check.log_measured is not None and check.log_claimed is not None
            sides = check.log_measured, check.log_claimed
            if sides[0] > sides[1]:
                return Attempt("m equal outputs", count, *sides, candidates=(parameters,))
        assert sides is not None
        return Attempt("m equal outputs fed by one neuron at rest, m = 1 to 4", 4, *sides)

    return Case("l < L", "|∂E_{k,l}/∂θ|", ask, THREE_NORMS.guards(lambda given: three_norms_check(given, factor)))


_DRAWN_PREMISES = (ALPHA_POSITIVE, STEP_BELOW_ONE)
_FIRST, _LAST = "‖dX^L_n/dX^l_k‖_∞, with (n−k)dt", "‖dX^L_n/dX^l_k‖_∞, with V̄ and t_n"

CLAIMS = (
    Claim(
        id="sam-54",
        source=Source("sam", "(54)"),
        statement="‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l}‖V^q‖_∞ e^{(n−k)w̄^L dt} ≤ V̄ dt^{L−l} e^{w̄^L T}, "
        "w̄^L = max(2, ‖w^L‖_∞ + α), total derivatives (printed dX^L_n/dX^L_k); dt < 1",
        semantics="real",
        cases=(
            same_layer_case(),
            free_case("l < L, all w equal", _FIRST, JacobianForm("exponential")),
            free_case("l < L, all w equal", _LAST, JacobianForm("exponential", is_last=True)),
            free_case("l < L, w^l free", _FIRST, JacobianForm("exponential")),
            free_case("l < L, w^l free", _LAST, JacobianForm("exponential", is_last=True)),
            *(
                initialised.every_network_case(row, INITIALISED, initialised.drawn_box(row), _DRAWN_PREMISES)
                for row in ROWS
                if row.name == "RR"
            ),
        ),
    ),
    Claim(
        id="icml-(27)",
        source=Source("icml", "S(27)"),
        statement="‖dX^L_n/dX^l_k‖_∞ ≤ dt^{L−l} Π_{q>l}‖V^q‖_∞ (1 + 2γ(n−k)dt), for dt ≪ 1, ≤ V̄ dt^{L−l} (1 + 2γt_n), "
        "γ = K + K²/2, K = max(2, ‖w^L‖_∞ + α), α > 0",
        semantics="real",
        cases=(
            _limit_case("l = L", _FIRST, JacobianForm("linear")),
            _limit_case("l = L", _LAST, JacobianForm("linear", is_last=True)),
            _limit_case("l < L", _FIRST, JacobianForm("linear")),
            _limit_case("l < L", _LAST, JacobianForm("linear", is_last=True)),
            _limit_case("l = L, T ≤ 1", _FIRST, JacobianForm("linear")),
            _limit_case("l = L, T ≤ 1", _LAST, JacobianForm("linear", is_last=True)),
            *(row_case(row, JacobianForm("linear")) for row in ROWS),
            *(
                case
                for row in ROWS
                if row.alpha > 0
                for case in initialised.product_cases(row, _FIRST, functools.partial(finite, JacobianForm("linear")))
            ),
        ),
    ),
    Claim(
        id="both-68",
        source=Source("sam", "(68); icml S(41)"),
        statement="|∂E^{(n,L)}_{k,l}/∂θ| ≤ ‖dE_n/dX^L_n‖_∞ ‖dX^L_n/dX^l_k‖_∞ ‖∂⁺X^l_k/∂θ‖_∞, the maximum norm for the "
        "row and column vectors",
        semantics="real",
        cases=(_top_layer_case(), lower_layer_case()),
    ),
)
