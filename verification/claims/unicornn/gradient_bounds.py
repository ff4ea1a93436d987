# Claims: sam-69 · icml-(42) · icml-3.1 · icml-C.2 · sam-3.2 · sam-D.2 · sam-3.2-uniform · both-5-no-assumptions
"""The gradient propositions of sam and icml, their summands, and what is said to follow for all weights.

Networks are chains of single neurons with c = 0; what is proved of them stands in ``verification.cases``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import flint

from odernn.published.networks import ROWS, PublishedRow
from odernn.published.sources import Source
from verification.cases import gradient_decay, initialised
from verification.cases.chain_gradients import (
    PREMISES,
    at_rest,
    finite,
    hyperbolic,
    inputs,
    of_row,
    stiff_below,
    two_layers,
    uniform,
    within_one,
)
from verification.cases.gradient_decay import decay_case
from verification.cases.gradient_growth import fixed_horizon_case, growth_case
from verification.cases.inequality import T_AT_MOST_ONE, Inequality
from verification.cases.network_gradient import (
    ANY_NETWORK,
    MOST_LAYERS,
    THETAS,
    NetworkGradient,
    gradient_parameters,
    quantity_of,
)
from verification.cases.nominate import first_violation, joined
from verification.cases.order import order_case
from verification.cases.top_layer_gradients import top_layer_case, top_summand_case
from verification.certify.neuron_chain import LISTS, NeuronChain
from verification.certify.scalar_stack import ScalarStack
from verification.certify.second.neuron_chain import Adjoints
from verification.claim import Attempt, Case, Check, Claim, Hypothesis, Parameters, Place, Premise
from verification.domains import Budget, printed_name
from verification.kinds import Constant, Kind, Listed, Rational, Values
from verification.measure.gradient_forms import ICML_14, ICML_42, ICML_MAIN, SAM_13, SAM_41, SAM_69, GradientForm
from verification.measure.polynomials import coefficient
from verification.parameters import Declaration, Parameter, Rule, declared

# --- violations at fixed dt


FIRST = range(1, 2)
ANY_INPUTS = "any inputs"
BELOW_THE_TOP = gradient_parameters("b", whole="no", depths=range(2, MOST_LAYERS + 1), layer=lambda L: range(1, L))
BY_INPUT = gradient_parameters("V", whole="too", layer=lambda _: FIRST)


def _first_of(depth: int, *, whole: Literal["no", "too"] = "too", theta: str = "b") -> Declaration:
    """θ of layer 1 of so many."""
    return gradient_parameters(theta, whole=whole, depths=range(depth, depth + 1), layer=lambda _: FIRST)


def menu_case(
    domain: str,
    quantity: str,
    form: GradientForm,
    theta: str,
    points: Callable[[], Iterable[Parameters]],
    parameters: Declaration,
    extra: tuple[Hypothesis, ...] = (),
) -> Case:
    """The first network of a list that violates at its dt."""
    inequality = finite(form, theta, extra, parameters)

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((inequality,), points(), "networks at rest, simplest first")

    return Case(domain, quantity, ask, inequality.check)


def limit_case(
    domain: str,
    form: GradientForm,
    theta: str,
    points: Callable[[], Iterable[Parameters]],
    extra: tuple[Hypothesis, ...] = (),
) -> Case:
    """θ: "b", "b2" (b of layer 1 of 2) or "V". ``extra`` hypotheses must hold for every smaller dt with one."""
    at, below = finite(form, theta[0], extra), uniform(form, theta)

    def text(_: Parameters) -> str:
        if theta == "V":
            return "at κ = 0 exactly |dE/dV| = ȳ|u| (1/N) Σ τ_n(τ_n + h)/2 ≥ ȳ|u|(T/2)²/6 for every dt"
        over = ", both sides over dt'" if form.of_one_step else ""
        return f"thm-J (c): [B^m]_12 = sinh(mρ)/(√W q), sums by integrals, for every dt' ≤ dt at the same T{over}"

    def ask(_: Budget, __: int) -> Attempt:
        times = "T = 1" if extra else "T = 1 to 40"
        return first_violation((at, below), points(), f"networks at rest, α = 1, c = 0, {times}")

    quantity = "|∂E_{k,l}/∂θ|" if form.of_one_step else "|dE/dθ|, θ = V^1" if theta == "V" else "|dE/dθ|"
    parameters = _first_of(2 if theta == "b2" else 1, whole="no", theta=theta[0])
    return Case(domain, quantity, ask, joined(at, below, text, parameters), reading="limit")


# --- icml at the rows of Table 6


def row_case(row: PublishedRow, form: GradientForm, theta: str) -> Case:
    """dt, α, N, L of the row; of its m neurons a layer all but one have zero weights and target, and rest.

    θ = b^L: the top layer with w^L < −α, V^L = 0. θ = V^1: inputs of any size.
    """

    parameters = gradient_parameters(
        theta,
        whole="no",  # of the row's size they would be more work than a check takes on
        depths=range(row.num_layers, row.num_layers + 1),
        layer=lambda L: FIRST if theta == "V" else range(L, L + 1),
        fixed={"alpha": Constant(row.alpha), "dt": Constant(row.dt[-1]), "N": Constant(row.steps)},
    )
    inequality = finite(form, theta, (), parameters)

    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        tried = f"N = {row.steps}, at rest, w^L = −α − 1 to −α − 32" if theta == "b" else "|u| up to 1e39"
        return first_violation((inequality,), of_row(row, theta), tried)

    quantity = f"|dE/dθ|, θ = {'b^L' if theta == 'b' else 'V^1'}"
    return Case(printed_name(row), quantity, ask, inequality.check if row.alpha > 0 else None, reading="printed")


# --- whole networks, which come from a checkpoint


def network_places(form: GradientForm, *extra: Hypothesis) -> tuple[Place, ...]:
    """Any network: |dE/dθ| for an entry of w, b, c or V of any layer. Of a statement that is not about dt → 0."""
    return tuple(
        Place(
            ANY_NETWORK,
            quantity_of(theta),
            NetworkGradient(theta, form.ball, form.interval, (*PREMISES, *extra)).check,
        )
        for theta in THETAS
    )


# --- one bound for all gradients


def _layers_at(sizes: Iterable[int]) -> list[Parameters]:
    return [at_rest(Fraction(1), Fraction(1, 10), 10, [Fraction(-size), Fraction(-1)]) for size in sizes]


def _gradient_polynomial(depth: int, steps: int) -> list[Fraction]:
    """|dE/db^1| of ``_layers_at`` as a polynomial in s = −w^1, over Q: coefficients, lowest power first."""
    h, kappa = Fraction(1, 20), flint.fmpq_poly([1, -1])  # κ_1 = 1 − s
    one = flint.fmpq_poly([1])
    y, z, total = [0 * one] * depth, [0 * one] * depth, 0 * one
    step = flint.fmpq(h.numerator, h.denominator)
    for _ in range(steps):
        z[0] = z[0] - step * (kappa * y[0] + one)
        y[0] = y[0] + step * z[0]
        z[1] = z[1] - step * y[0]  # V = 1, κ_2 = 0
        y[1] = y[1] + step * z[1]
        total = total + y[1]
    return [Fraction(int(c.p), int(c.q)) / steps for c in total.coeffs()]


class _CalmOnTop(Listed):
    """(w^1, w^2), w^2 = −1 as a rule says."""

    def draw(self, rng: random.Random, values: Values) -> tuple[Fraction, ...]:
        return self.of.draw(rng, values), Fraction(-1)


def unbounded_case(kind: str) -> Case:
    """For the constant C of the parameters, a network with the same w^L, V^q, α, T, Ȳ and |dE/dθ| > C.

    kind   "w^l": L = 2, θ = b^1, w^1 free; "u": L = 1, θ = V^1, u free.
    """
    theta = "b" if kind == "w^l" else "V"

    def sides(measured: Any, p: Any) -> tuple[Any, Any]:
        return measured.gradient(1, theta), p.C

    inequality = Inequality(
        lambda p: sides(NeuronChain(p), p),
        lambda p: sides(Adjoints(p), p),
        (*PREMISES, Hypothesis("C > 0", lambda p: p.C)),
        lists=LISTS,
    )

    order = dict.fromkeys(("w", "V", "b"), "a number a layer") | dict.fromkeys(
        ("u", "target"), "the same at every step"
    )
    template = _layers_at([1])[0] if kind == "w^l" else next(inputs())
    free: dict[str, Kind] = {"w": _CalmOnTop(Rational(), 2)} if kind == "w^l" else {"u": Rational()}
    parameters_of = declared(
        *(
            Parameter(name, free.get(name, Constant(text)), order=order.get(name, ""))
            for name, text in template.items()
        ),
        Parameter("C", Rational(above=0)),
        rules=(Rule("w^L = −1", lambda values: kind == "u" or values["w"][1] == -1),),
    )

    def for_every() -> str:
        if kind == "u":
            return "V^1 = 0: at rest |dE/dV^1| is |u| times a positive number, so no C serves"
        coefficients = _gradient_polynomial(2, 10)
        degree = len(coefficients) - 1
        # in s = 1 + W all sums are of positive terms: rewrite in W = s − 1
        shifted = flint.fmpq_poly([coefficient(c) for c in coefficients])(flint.fmpq_poly([1, 1]))
        if degree < 1 or any(c < 0 for c in shifted.coeffs()):
            return ""
        return f"|dE/db^1| is a polynomial of degree {degree} in −w^1 − 1 with coefficients ≥ 0 over Q, so no C serves"

    def ask(_: Budget, __: int) -> Attempt:
        C = 10**6
        sizes = (10**j for j in range(1, 9))
        if kind == "u":
            points = [{**point, "C": str(C)} for point in inputs()]
        else:
            points = [{**point, "C": str(C)} for point in _layers_at(sizes)]
        return first_violation((inequality,), points, "networks at rest, α = 1, T = 1, dt = 1/10, w^L = −1, ȳ = 1")

    def check(parameters: Parameters) -> Check:
        checked = inequality.check(parameters)
        text = for_every()
        known = Premise("the same holds for every C", text, bool(text))
        return replace(checked, premises=(*checked.premises, known), words=f"{checked.words}; {text}")

    domain = "L = 2, w^1 free" if kind == "w^l" else "L = 1, u free"
    return Case(domain, f"sup|dE/dθ|, θ = {'b^1' if kind == 'w^l' else 'V^1'}", ask, parameters_of.guards(check))


_SUM = "E = (1/N) Σ_n |y^L_n − ȳ_n|²/2, V̄ = Π max{1, ‖V^q‖_∞}, Ȳ = max‖ȳ_n‖_∞"
_RULE = "K = max(2, ‖w^L‖_∞ + α), γ = K + K²/2, β = max{1 + 2α, 4α²}"

CLAIMS = (
    Claim(
        id="sam-69",
        source=Source("sam", "(69)"),
        statement="|∂E^{(n,L)}_{k,l}/∂θ| ≤ dt^{L−l+1} e^{w̄^L T} V̄ (Ȳ + F) Δ, F, Δ of (42), "
        "w̄^L = max(2, ‖w^L‖_∞ + α); α > 0, dt < 1",
        semantics="real",
        cases=(
            top_summand_case(SAM_69),
            menu_case("sam (69), l < L", "|∂E_{k,l}/∂θ|", SAM_69, "b", stiff_below, BELOW_THE_TOP),
        ),
    ),
    Claim(
        id="icml-(42)",
        source=Source("icml", "S(42)"),
        statement="|∂E^{(n,L)}_{k,l}/∂θ| ≤ dt^{L−l+1} (1 + 2γT) V̄ (Ȳ + F) Δ, F, Δ of S(15); "
        f"{_RULE}; α > 0, dt ≪ 1",
        semantics="real",
        cases=(
            limit_case("icml S(42), l = L", ICML_42, "b", hyperbolic),
            limit_case("icml S(42), l < L", ICML_42, "b2", two_layers),
            limit_case("icml S(42), l = L, T ≤ 1", ICML_42, "b", within_one, (T_AT_MOST_ONE,)),
            limit_case("icml S(42), l < L, T ≤ 1", ICML_42, "b2", partial(within_one, 2), (T_AT_MOST_ONE,)),
        ),
    ),
    Claim(
        id="icml-3.1",
        source=Source("icml", "Prop. 3.1, (12)"),
        statement=f"|dE/dθ| ≤ ((1−dt^L)/(1−dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ, F = √((2/α)(1+2βT)), Δ = 2 + √(2(1+2βT)) + "
        f"(2+α)F; {_SUM}; {_RULE}; α > 0, dt ≪ 1 sufficiently small",
        semantics="real",
        cases=(
            limit_case("L = 1", ICML_MAIN, "b", hyperbolic),
            limit_case("L = 1, T ≤ 1", ICML_MAIN, "b", within_one, (T_AT_MOST_ONE,)),
            limit_case(f"L = 1, {ANY_INPUTS}", ICML_MAIN, "V", inputs),
            *(row_case(row, ICML_MAIN, theta) for theta in ("b", "V") for row in ROWS),
            *(
                initialised.large_input_case(row, "|dE/dθ|, θ = V^1", partial(finite, ICML_MAIN, "V", ()))
                for row in ROWS
                if row.alpha > 0
            ),
        ),
    ),
    Claim(
        id="icml-C.2",
        source=Source("icml", "Prop. C.2, S(14), S(15)"),
        statement="|dE/dθ| ≤ ((1−dt^L)/(1−dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ with Δ = 2 + √(1+2βT) + (2+α)F, "
        f"F = √((2/α)(1+2βT)); {_SUM}; {_RULE}; α > 0, dt ≪ 1",
        semantics="real",
        cases=(
            limit_case("L = 1", ICML_14, "b", hyperbolic),
            limit_case("L = 1, T ≤ 1", ICML_14, "b", within_one, (T_AT_MOST_ONE,)),
            limit_case(f"L = 1, {ANY_INPUTS}", ICML_14, "V", inputs),
            *(row_case(row, ICML_14, "b") for row in ROWS),
        ),
    ),
    Claim(
        id="sam-3.2",
        source=Source("sam", "Prop. 3.2, (13), (14)"),
        statement="|dE/dθ| ≤ ((1−dt^L)/(1−dt)) e^{w̄^L} V̄ (Ȳ + F) Δ, F = √((2m/α)(1+2αdt³)) e^ᾱ, Δ = 2 + √(2m(1+2αdt³)) "
        f"e^ᾱ + (2+α)F, w̄^L = max(2, ‖w^L‖_∞ + α); {_SUM}; α > 0, dt < 1",
        semantics="real",
        cases=(
            top_layer_case(SAM_13, "T ≤ 1", (T_AT_MOST_ONE,)),
            menu_case("T ≤ 1, L = 2", "|dE/dθ|, θ = b^1", SAM_13, "b", stiff_below, _first_of(2), (T_AT_MOST_ONE,)),
            menu_case(f"T ≤ 1, {ANY_INPUTS}", "|dE/dθ|, θ = V^1", SAM_13, "V", inputs, BY_INPUT, (T_AT_MOST_ONE,)),
            menu_case("any T, L = 1", "|dE/dθ|, θ = b^1", SAM_13, "b", hyperbolic, _first_of(1)),
        ),
        places=network_places(SAM_13, T_AT_MOST_ONE),
    ),
    Claim(
        id="sam-D.2",
        source=Source("sam", "Prop. D.2, (41), (42)"),
        statement="|dE/dθ| ≤ ((1−dt^L)/(1−dt)) T e^{w̄^L T} V̄ (Ȳ + F) Δ, F = √((2mT/α)(1+2αdt³)e^{ᾱT}), Δ = 2 + "
        f"√(2mT(1+2αdt³)e^{{ᾱT}}) + (2+α)F ((42) prints Γ for T); {_SUM}; α > 0, dt < 1",
        semantics="real",
        cases=(
            top_layer_case(SAM_41, "free"),
            menu_case("free, L = 2", "|dE/dθ|, θ = b^1", SAM_41, "b", stiff_below, _first_of(2)),
            menu_case(f"free, {ANY_INPUTS}", "|dE/dθ|, θ = V^1", SAM_41, "V", inputs, BY_INPUT),
        ),
        places=network_places(SAM_41),
    ),
    Claim(
        id="sam-3.2-uniform",
        source=Source("sam", "Sec. 3"),
        statement="bounded weights w^L, V^q give one bound for the gradients "
        "of all hidden states (at fixed α, T, Ȳ, over all remaining data)",
        semantics="real",
        cases=(unbounded_case("w^l"), unbounded_case("u")),
    ),
    Claim(
        id="both-5-no-assumptions",
        source=Source("sam", "Discussion"),
        statement="the Hamiltonian structure mitigates the exploding and vanishing gradient problem without any "
        "assumptions on the weights: at fixed T no exponential growth or decay for any weights (asked at w = −9, "
        "α = 4); also tried: dt fixed, N → ∞",
        semantics="real",
        cases=(
            fixed_horizon_case(Fraction(1), depth=2),
            order_case(
                ScalarStack(alpha=gradient_decay.ALPHA, w=gradient_decay.W),
                "contribution",
                1,
                "at least",
                domain="w = −9, T = 1, k = 1 + n/16",
                symbol="|∂E_k/∂w|",
            ),
            growth_case(gradient_decay.ALPHA, gradient_decay.W, gradient_decay.DT, domain="w = −9, dt fixed, N → ∞"),
            decay_case(
                gradient_decay.ALPHA,
                gradient_decay.W,
                gradient_decay.DT,
                domain=f"w = {gradient_decay.W}, dt fixed, n → ∞",
            ),
        ),
    ),
)
