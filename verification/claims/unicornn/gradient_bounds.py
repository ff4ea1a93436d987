# Claims: both-69/42 · both-3.x-input · icml-3.1 · icml-C.2 · sam-3.2 · sam-D.2 · sam-3.2-uniform ·
#   both-5-no-assumptions
"""The gradient propositions of sam and icml, their summands, and what is said to follow for all weights.

Networks are chains of single neurons with c = 0. Those named below rest (zero bias and input, or V^1 = 0): y = 0, A = 0
and σ' = 1, and only the target ȳ and the derivatives are not zero. With W = −(α + w) > 0, h = dt/2, τ = T/2,

    [B^m]_12 = sinh(mρ)/(√W q),   ρ = 2 asinh(h√W/2),   q = √(1 + h²W/4),                             thm-J(c)

and sums of sinh, cosh over steps exceed the integrals, with h/ρ ≥ 1/√W. At fixed T, R₀ the value at dt of Nρ, and for
every smaller dt at the same T:

    L = 1, θ = b         |dE/db| = (ȳ/N) Σ_n h Σ_{m≤n} [B^m]_12 ≥ ȳ (sinh(R₀)/R₀ − 1)/(W q)
    L = 1, θ = b, k = 1  |∂E_k/∂b|/dt ≥ ȳ sinh(R₀)/(2√W q)
    L = 2, κ_2 = 0, l = k = 1   |∂E_k/∂b|/dt ≥ ȳ|V|(sinh(R₀) − R₀)/(2 W^{3/2} q)
    L = 1, κ = 0, θ = V^1       |dE/dV| = ȳ|u| (1/N) Σ τ_n(τ_n + h)/2 ≥ ȳ|u|τ²/6
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import flint

from odernn.published.networks import ROWS, PublishedRow
from odernn.published.sources import Source
from verification.cases.inequality import Condition, Inequality, coefficient
from verification.cases.network_gradient import ANY_NETWORK, THETAS, NetworkGradient, quantity_of
from verification.cases.nominate import (
    first_violation,
    growth_exponent_in_balls,
    growth_exponent_in_intervals,
    joined,
)
from verification.certify.neuron_chain import LISTS, NeuronChain
from verification.certify.second import intervals as second
from verification.certify.second.neuron_chain import Adjoints
from verification.claims.unicornn import vanishing
from verification.claims.unicornn.proof_steps import sam_output_case, sam_partial_case
from verification.claims.unicornn.step_norms import exponential_case, partial_case
from verification.claims.unicornn.vanishing import decay_case, growth_case
from verification.domains import Budget, printed_name
from verification.measure.gradient_forms import (
    ICML_14,
    ICML_42,
    ICML_MAIN,
    SAM_13,
    SAM_41,
    SAM_69,
    Form,
)
from verification.measure.published_forms import SAM_32, SAM_42
from verification.question import (
    Attempt,
    Case,
    Check,
    Hypothesis,
    Parameters,
    Place,
    Question,
    numbers,
    rational,
    rationals,
)

_PREMISES = (
    Condition("α > 0", lambda p: p.alpha),
    Condition("0 < dt < 1", lambda p: min(p.dt, 1 - p.dt)),
    Condition("N ≥ 1, a whole number", lambda p: p.N if p.N.denominator == 1 else Fraction(0)),
    Condition("1 ≤ l ≤ L, whole", lambda p: Fraction(p.layer.denominator == 1 and 1 <= p.layer <= len(p.w))),
)
_TOP = Condition("l = L", lambda p: Fraction(p.layer == len(p.w)))
_T_IS_ONE = Condition("T = N dt ≤ 1", lambda p: 1 - p.N * p.dt, strict=False)


def finite(form: Form, theta: str, extra: tuple[Condition, ...] = ()) -> Inequality:
    """|dE/dθ|, or |∂E^{(N,L)}_{1,l}/∂θ| for the summands, by the recursion itself, θ of p.layer: of a chain of single
    neurons, and |dE/dθ| of a whole network, too, if the parameters describe one.
    """

    def balls(p: Any) -> tuple[Any, Any]:
        chain, layer = NeuronChain(p), round(float(p.layer))
        left = chain.contribution(layer, theta, 1) if form.of_one_step else chain.gradient(layer, theta)
        return left, form.ball(p)

    def intervals(p: Any) -> tuple[Any, Any]:
        chain, layer = Adjoints(p), int(p.texts["layer"])
        left = chain.contribution(layer, theta, 1) if form.of_one_step else chain.gradient(layer, theta)
        return left, form.interval(p)

    premises = (*_PREMISES, *extra)
    whole = None if form.of_one_step else NetworkGradient(theta, form.ball, form.interval, premises).check
    return Inequality(balls, intervals, premises, lists=LISTS, network=whole)


def at_rest(
    alpha: Fraction, dt: Fraction, steps: int, w: list[Fraction], *, layer: int = 1, target: int = 1, u: int = 0
) -> Parameters:
    """V = 1 between layers; V^1 = 0."""
    return {
        "alpha": rational(alpha),
        "dt": rational(dt),
        "N": str(steps),
        "layer": str(layer),
        "w": rationals(w),
        "V": " ".join(["0", *["1"] * (len(w) - 1)]),
        "b": " ".join("0" for _ in w),
        "u": str(u),
        "target": str(target),
    }


# --- θ of the top layer, in sam: proved

_TRIED = {"smoke": (64, 8), "standard": (1024, 60), "deep": (4096, 200)}
_PLACES = ((1, 0.1, 10), (1, 0.5, 2), (0.25, 0.5, 40), (4, 0.9, 20))
"""(α, dt, N) of the ascent; the first two have T = 1."""


def _float_form(form: Form, free: dict[str, Any], alpha: float, dt: float, steps: int) -> Any:
    """log of the right side in torch, θ of the top layer: F and Δ from balls, the rest in floats."""
    depth, T = free["w"].shape[1], dt * steps
    with flint.ctx.workprec(64):
        at = SimpleNamespace(alpha=alpha, dt=dt, T=1.0 if form.growth == "one" else T, m=1.0)
        at = SimpleNamespace(**{name: flint.arb(value) for name, value in vars(at).items()})
        F, log_delta = float(form.root.ball(at)) / math.sqrt(alpha), float(form.delta.ball(at).log())
    K = (free["w"][:, -1].abs() + alpha).clamp(min=2.0)
    grown = {"exponential": K * T, "one": K, "none": 0 * K, "linear": (1 + (2 * K + K * K) * T).log()}[form.growth]
    sums = math.log(sum(dt**j for j in range(depth))) + (0.0 if form.growth == "one" else math.log(T))
    sizes = free["V"].abs().clamp(min=1.0).log().sum(1)
    return grown + sums + sizes + (free["target"][:, 0].abs() + F).log() + log_delta + math.log(form.factor)


@cache
def _parts(budget: Budget, seed: int) -> tuple[str, ...]:
    """The machine proofs of (52), (65), (67) and (66) with F, Δ of (41), (42)."""
    cases = (exponential_case(), partial_case("(65)"), sam_output_case(SAM_32), sam_partial_case(SAM_42))
    return tuple(case.ask(budget, seed).proof for case in cases)


def _proof(form: Form, budget: Budget, seed: int) -> str:
    """θ of layer L, not V^1: |e_i| ‖Φ(n,k)‖_∞ ‖∂⁺X_k‖_∞ by machine proofs of (52), (65), (32); "" if one is missing.

    A form of another growth, a smaller factor or smaller F, Δ than (41), (42) is not covered.
    """
    covered = form.factor >= 1 and form.power >= 0 and form.growth in ("exponential", "one")
    if not (covered and form.root.implies(SAM_32) and form.delta.implies(SAM_42)):
        return ""
    parts = _parts(budget, seed)
    if not all(parts):
        return ""
    return (
        "|∂E_{k,L}/∂θ| ≤ |e_i| ‖Φ(n,k)‖_∞ ‖∂⁺X_k/∂θ‖_∞ ≤ (Ȳ + F) e^{w̄(n−k)dt} dt Δ, at most N steps k; "
        f"(52): {parts[0]}; (65): {parts[1]}; {parts[2]}"
    )


def top_layer_case(form: Form, domain: str, extra: tuple[Condition, ...] = ()) -> Case:
    """θ of layer L moves neuron i alone: an ascent over all that is free (θ = w, b), and the proof.

    The sum over k ≤ n has n ≤ N terms, and the mean over n is at most the largest. "one" is for T ≤ 1 only, where F and
    Δ at T = 1 are the larger ones.
    """
    places = _PLACES[:2] if extra else _PLACES

    def ask(budget: Budget, seed: int) -> Attempt:
        import torch

        from verification.adversary import gradient_ascent as ascent

        count, iterations = _TRIED[budget.name]
        evaluations, shares = 0, []
        worst: tuple[float, float, float] = (-math.inf, 0.0, 0.0)
        candidates: list[tuple[float, Parameters]] = []
        for place, depth in itertools.product(places, (1, 2)):
            alpha, dt, steps = place
            start = ascent.starts(count, depth, steps, alpha=alpha, dt=dt, seed=seed)
            by_weight = torch.arange(count) % 8 == 7

            def objective(free: ascent.Free, place: Any = place, by: Any = by_weight, depth: int = depth) -> Any:
                at = dict(zip(("alpha", "dt", "steps"), place, strict=True))
                return ascent.log_gradient(free, **at, layer=depth, by_weight=by) - _float_form(form, free, *place)

            found = ascent.maximise(objective, start, iterations)
            evaluations += found.evaluations
            best = {name: value[found.best : found.best + 1] for name, value in found.free.items()}
            log_right = float(_float_form(form, best, *place)[0])
            gap = float(found.values.max())
            if gap > worst[0]:
                worst = (gap, gap + log_right, log_right)
            if gap > 0 and not by_weight[found.best]:
                short = {
                    name: rationals([Fraction(x).limit_denominator(1000) for x in value[0].tolist()])
                    for name, value in best.items()
                }
                exact = {"alpha": rational(Fraction(alpha)), "dt": rational(Fraction(dt).limit_denominator(10))}
                candidates.append((gap, {**exact, "N": str(steps), "layer": str(depth), **short}))
            if depth == 1:
                shares.append(ascent.control(alpha, dt, steps, seed=seed))
        proof = _proof(form, budget, seed)
        candidates.sort(key=lambda each: -each[0])
        tried = f"sign ascent on w, V, b, u, ȳ from {count} starts at {len(places)} (α, dt, N), L = 1, 2"
        return Attempt(
            proof or tried,
            evaluations,
            worst[1],
            worst[2],
            control=min(shares),
            proof=proof,
            candidates=tuple(parameters for _, parameters in candidates),
        )

    return Case(domain, "|dE/dθ|, θ of layer L, not V^1", ask, finite(form, "b", (*extra, _TOP)).check, is_search=True)


def top_summand_case(form: Form) -> Case:
    """(69), l = L: by the same three parts."""
    inequality = finite(form, "b", (_TOP,))

    def ask(budget: Budget, seed: int) -> Attempt:
        stiff = (at_rest(Fraction(1), Fraction(1, 20), 20 * T, [Fraction(-401)]) for T in (1, 5, 20))
        points = itertools.chain(_hyperbolic(), stiff)
        seen = first_violation((inequality,), points, "one neuron at rest, T = 1 to 40, w = −2 to −401")
        proof = _proof(form, budget, seed)
        return Attempt(
            proof or seen.tried,
            seen.evaluations,
            seen.log_measured,
            seen.log_claimed,
            candidates=seen.candidates,
            proof=proof,
        )

    return Case("sam (69), l = L, θ not V^1", "|∂E_{k,l}/∂θ|", ask, inequality.check)


# --- violations at fixed dt


def _stiff_below(depth: int = 2) -> Iterator[Parameters]:
    """T = 1, dt = 1/10: w^L = −1 = −α, all layers below stiffer and stiffer."""
    for size in (10, 100, 1000, 10**4, 10**5):
        yield at_rest(Fraction(1), Fraction(1, 10), 10, [*[Fraction(-size)] * (depth - 1), Fraction(-1)])


def _hyperbolic() -> Iterator[Parameters]:
    for horizon, W, dt in itertools.product((1, 5, 10, 20, 40), (1, 4, 16), (Fraction(1, 4), Fraction(1, 20))):
        yield at_rest(Fraction(1), dt, int(horizon / dt), [Fraction(-1 - W)])


def _inputs() -> Iterator[Parameters]:
    """One neuron, α = 1, w = −1, V^1 = 0: it rests whatever u is."""
    for power in range(1, 16):
        yield at_rest(Fraction(1), Fraction(1, 10), 10, [Fraction(-1)], u=10**power)


def menu_case(
    domain: str,
    quantity: str,
    form: Form,
    theta: str,
    points: Callable[[], Iterable[Parameters]],
    extra: tuple[Condition, ...] = (),
) -> Case:
    """The first network of a list that violates at its dt."""
    inequality = finite(form, theta, extra)

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((inequality,), points(), "networks at rest, simplest first")

    return Case(domain, quantity, ask, inequality.check)


# --- dt → 0

_REST = (
    Condition("at rest: b = 0, V^1 = 0", lambda p: Fraction(p.V[0] == 0 and not any(p.b))),
    Condition("one target", lambda p: Fraction(len(p.target) == 1)),
)


def uniform(form: Form, theta: str) -> Inequality:
    """The lower bounds of this file's docstring, for all dt' ≤ dt at the same T; summands over dt.

    The right sides of icml do not depend on dt but by dt^{L−l}, which is largest at dt.
    """
    depth = 2 if form.of_one_step and theta == "b2" else 1

    def balls(p: Any) -> tuple[Any, Any]:
        h, tau, target = p.dt / 2, p.dt * p.N / 2, abs(p.target[0])
        if theta == "V":
            return target * abs(p.u[0]) * tau**2 / 6, form.ball(p)
        W = -p.alpha - p.w[0]
        R, q = growth_exponent_in_balls(W, h, tau), (1 + h * h * W / 4).sqrt()
        if not form.of_one_step:
            return target * (R.sinh() / R - 1) / (W * q), form.ball(p)
        if depth == 1:
            return target * R.sinh() / (2 * W.sqrt() * q), form.ball(p) / p.dt
        return target * abs(p.V[1]) * (R.sinh() - R) / (2 * W * W.sqrt() * q), form.ball(p) / p.dt

    def intervals(p: Any) -> tuple[Any, Any]:
        iv = second.iv
        time, size = int(p.texts["N"]) * p.dt / 2, abs(p.target[0])
        if theta == "V":
            return abs(p.u[0]) * size * time * time / 6, form.interval(p)
        stiff = -(p.w[0] + p.alpha)
        exponent = growth_exponent_in_intervals(stiff, p.dt / 2, time)
        up = iv.exp(exponent)
        sinh, root = (up - 1 / up) / 2, iv.sqrt(stiff * (1 + (p.dt / 4) ** 2 * stiff))  # √W q
        if not form.of_one_step:
            return (sinh / exponent - 1) * size / (root * iv.sqrt(stiff)), form.interval(p)
        if depth == 1:
            return sinh * size / root / 2, form.interval(p) / p.dt
        return (sinh - exponent) * abs(p.V[1]) * size / (root * stiff * 2), form.interval(p) / p.dt

    conditions = [*_REST, Condition("l = 1", lambda p: Fraction(p.layer == 1))]
    if theta == "V":
        conditions += [
            Condition("L = 1, w = −α, so that κ = 0", lambda p: Fraction(len(p.w) == 1 and p.w[0] == -p.alpha)),
            Condition("one input", lambda p: Fraction(len(p.u) == 1)),
        ]
    else:
        conditions.append(Condition("w^1 < −α", lambda p: -p.alpha - p.w[0]))
        conditions.append(Condition(f"L = {depth}", lambda p: Fraction(len(p.w) == depth)))
    if depth == 2:
        conditions.append(Condition("w^2 = −α, so that κ = 0", lambda p: Fraction(p.w[1] == -p.alpha)))
    return Inequality(balls, intervals, tuple(conditions), lists=LISTS)


def _two_layers() -> Iterator[Parameters]:
    for horizon, W in itertools.product((5, 10, 20, 40), (4, 16)):
        yield at_rest(Fraction(1), Fraction(1, 20), 20 * horizon, [Fraction(-1 - W), Fraction(-1)])


def limit_case(domain: str, form: Form, theta: str, points: Callable[[], Iterable[Parameters]]) -> Case:
    """θ: "b", "b2" (b of layer 1 of 2) or "V"."""
    at, below = finite(form, theta[0]), uniform(form, theta)

    def text(_: Parameters) -> str:
        if theta == "V":
            return "at κ = 0 exactly |dE/dV| = ȳ|u| (1/N) Σ τ_n(τ_n + h)/2 ≥ ȳ|u|(T/2)²/6 for every dt"
        over = ", both sides over dt'" if form.of_one_step else ""
        return f"thm-J (c): [B^m]_12 = sinh(mρ)/(√W q), sums by integrals, for every dt' ≤ dt at the same T{over}"

    def ask(_: Budget, __: int) -> Attempt:
        return first_violation((at, below), points(), "networks at rest, α = 1, c = 0, T = 1 to 40")

    quantity = "|∂E_{k,l}/∂θ|" if form.of_one_step else "|dE/dθ|"
    return Case(domain, quantity, ask, joined(at, below, text), reading="limit")


# --- icml at the rows of Table 6


def row_case(row: PublishedRow, form: Form, theta: str) -> Case:
    """dt, α, N, L of the row; of its m neurons a layer all but one have zero weights and target, and rest.

    θ = b^L: the top layer with w^L < −α, V^L = 0. θ = V^1: inputs of any size.
    """

    def points() -> Iterator[Parameters]:
        if theta == "V":
            for power in range(6, 40, 3):
                yield at_rest(row.alpha, row.dt[-1], row.steps, [-row.alpha] * row.num_layers, u=10**power)
            return
        for W in (1, 2, 4, 8, 16, 32):
            w = [*[Fraction(0)] * (row.num_layers - 1), -row.alpha - W]
            found = at_rest(row.alpha, row.dt[-1], row.steps, w, layer=row.num_layers)
            yield {**found, "V": " ".join(["0"] * row.num_layers)}

    def premise(p: Any) -> Fraction:
        same = (p.alpha, p.dt, p.N, len(p.w)) == (row.alpha, row.dt[-1], row.steps, row.num_layers)
        return Fraction(same and getattr(p, "m", row.hidden_size) == row.hidden_size)

    inequality = finite(form, theta, (Condition("α, dt, N, L of the row", premise),))

    def ask(_: Budget, __: int) -> Attempt:
        if not row.alpha > 0:
            return Attempt("", 0, inapplicable=f"α = {row.alpha}, but the statement is about α > 0")
        tried = f"N = {row.steps}, at rest, w^L = −α − 1 to −α − 32" if theta == "b" else "|u| up to 1e39"
        return first_violation((inequality,), points(), tried)

    return Case(
        printed_name(row), f"|dE/dθ|, θ = {'b^L' if theta == 'b' else 'V^1'}", ask, inequality.check, reading="printed"
    )


# --- whole networks, which come from a checkpoint


def network_places(form: Form, *extra: Condition) -> tuple[Place, ...]:
    """Any network: |dE/dθ| for an entry of w, b, c or V of any layer. Of a statement that is not about dt → 0."""
    return tuple(
        Place(
            ANY_NETWORK,
            quantity_of(theta),
            NetworkGradient(theta, form.ball, form.interval, (*_PREMISES, *extra)).check,
        )
        for theta in THETAS
    )


# --- "there is a uniform bound"


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
        (*_PREMISES, Condition("C > 0", lambda p: p.C)),
        lists=LISTS,
    )

    free = ("C", "w" if kind == "w^l" else "u")

    def for_every(parameters: Parameters) -> str:
        template = _layers_at([1])[0] if kind == "w^l" else next(_inputs())
        if any(parameters[name] != text for name, text in template.items() if name not in free):
            return ""
        if kind == "w^l" and numbers(parameters, "w")[1] != -1:
            return ""
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
            points = [{**each, "C": str(C)} for each in _inputs()]
        else:
            points = [{**each, "C": str(C)} for each in _layers_at(sizes)]
        return first_violation((inequality,), points, "networks at rest, α = 1, T = 1, dt = 1/10, w^L = −1, ȳ = 1")

    def check(parameters: Parameters) -> Check:
        found = inequality.check(parameters)
        text = for_every(parameters)
        known = Hypothesis("the same holds for every C", text, bool(text))
        return replace(found, premises=(*found.premises, known), words=f"{found.words}; {text}")

    domain = "L = 2, w^1 free" if kind == "w^l" else "L = 1, u free"
    return Case(domain, f"sup|dE/dθ|, θ = {'b^1' if kind == 'w^l' else 'V^1'}", ask, check)


_SUM = "E = (1/N) Σ_n |y^L_n − ȳ_n|²/2, V̄ = Π max{1, ‖V^q‖_∞}, Ȳ = max‖ȳ_n‖_∞"
_RULE = "K = max(2, ‖w^L‖_∞ + α), γ = K + K²/2, β = max{1 + 2α, 4α²}"

QUESTIONS = (
    Question(
        id="both-69/42",
        source=Source("sam", "(69); icml S(42)"),
        statement="|∂E^{(n,L)}_{k,l}/∂θ| ≤ dt^{L−l+1} e^{w̄^L T} V̄ (Ȳ + F) Δ (sam), dt^{L−l+1}(1 + 2γT) V̄ (Ȳ + F) Δ "
        f"(icml, dt ≪ 1); F, Δ of (67), (66), S(40), S(39); {_RULE}; α > 0, dt < 1",
        semantics="real",
        cases=(
            top_summand_case(SAM_69),
            menu_case("sam (69), l < L", "|∂E_{k,l}/∂θ|", SAM_69, "b", _stiff_below),
            limit_case("icml S(42), l = L", ICML_42, "b", _hyperbolic),
            limit_case("icml S(42), l < L", ICML_42, "b2", _two_layers),
        ),
    ),
    Question(
        id="both-3.x-input",
        source=Source("sam", "Prop. 3.2, D.2; icml Prop. 3.1, C.2"),
        statement='the bounds hold "with respect to any parameter θ in Θ", in particular θ = V^1_{ij}, for inputs '
        "of any size",
        semantics="real",
        cases=(
            menu_case("sam (13), T = 1", "|dE/dV^1|", SAM_13, "V", _inputs, (_T_IS_ONE,)),
            menu_case("sam (41)", "|dE/dV^1|", SAM_41, "V", _inputs),
            limit_case("icml (12)", ICML_MAIN, "V", _inputs),
            limit_case("icml S(14)", ICML_14, "V", _inputs),
            *(row_case(row, ICML_MAIN, "V") for row in ROWS),
        ),
    ),
    Question(
        id="icml-3.1",
        source=Source("icml", "Prop. 3.1, (12)"),
        statement=f"|dE/dθ| ≤ ((1−dt^L)/(1−dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ, F = √((2/α)(1+2βT)), Δ = 2 + √(2(1+2βT)) + "
        f"(2+α)F; {_SUM}; {_RULE}; α > 0, dt ≪ 1 sufficiently small",
        semantics="real",
        cases=(
            limit_case("L = 1", ICML_MAIN, "b", _hyperbolic),
            *(row_case(row, ICML_MAIN, "b") for row in ROWS),
        ),
    ),
    Question(
        id="icml-C.2",
        source=Source("icml", "Prop. C.2, S(14), S(15)"),
        statement="|dE/dθ| ≤ ((1−dt^L)/(1−dt)) T (1 + 2γT) V̄ (Ȳ + F) Δ with Δ = 2 + √(1+2βT) + (2+α)F, "
        f"F = √((2/α)(1+2βT)); {_SUM}; {_RULE}; α > 0, dt ≪ 1",
        semantics="real",
        cases=(
            limit_case("L = 1", ICML_14, "b", _hyperbolic),
            *(row_case(row, ICML_14, "b") for row in ROWS),
        ),
    ),
    Question(
        id="sam-3.2",
        source=Source("sam", "Prop. 3.2, (13), (14)"),
        statement="|dE/dθ| ≤ ((1−dt^L)/(1−dt)) e^{w̄^L} V̄ (Ȳ + F) Δ, F = √((2m/α)(1+2αdt³)) e^ᾱ, Δ = 2 + √(2m(1+2αdt³)) "
        f"e^ᾱ + (2+α)F, w̄^L = max(2, ‖w^L‖_∞ + α); {_SUM}; α > 0, dt < 1",
        semantics="real",
        cases=(
            top_layer_case(SAM_13, "T ≤ 1", (_T_IS_ONE,)),
            menu_case("T ≤ 1, L = 2", "|dE/dθ|, θ = b^1", SAM_13, "b", _stiff_below, (_T_IS_ONE,)),
            menu_case("any T, L = 1", "|dE/dθ|, θ = b^1", SAM_13, "b", _hyperbolic),
        ),
        places=network_places(SAM_13, _T_IS_ONE),
    ),
    Question(
        id="sam-D.2",
        source=Source("sam", "Prop. D.2, (41), (42)"),
        statement="|dE/dθ| ≤ ((1−dt^L)/(1−dt)) T e^{w̄^L T} V̄ (Ȳ + F) Δ, F = √((2mT/α)(1+2αdt³)e^{ᾱT}), Δ = 2 + "
        f"√(2mT(1+2αdt³)e^{{ᾱT}}) + (2+α)F ((42) prints Γ for T); {_SUM}; α > 0, dt < 1",
        semantics="real",
        cases=(
            top_layer_case(SAM_41, "free"),
            menu_case("free, L = 2", "|dE/dθ|, θ = b^1", SAM_41, "b", _stiff_below),
        ),
        places=network_places(SAM_41),
    ),
    Question(
        id="sam-3.2-uniform",
        source=Source("sam", "Sec. 3"),
        statement="as long as the weights w^L, V^q are bounded, there is a uniform bound on the hidden state gradients "
        "(at fixed α, T, Ȳ, over all remaining data)",
        semantics="real",
        cases=(unbounded_case("w^l"), unbounded_case("u")),
    ),
    Question(
        id="both-5-no-assumptions",
        source=Source("sam", "Discussion"),
        statement="the Hamiltonian structure mitigates the exploding and vanishing gradient problem without any "
        "assumptions on the weights: no exponential growth or decay for any weights",
        semantics="real",
        cases=(
            growth_case(Fraction(1), Fraction(-201), Fraction(1, 10), domain="w = −201, dt fixed, N → ∞"),
            decay_case(vanishing.ALPHA, vanishing.W, vanishing.DT, domain=f"w = {vanishing.W}, dt fixed, n → ∞"),
        ),
    ),
)
