"""Gradients by parameters of the top layer, which move one neuron alone: an ascent, and a proof by the chain rule."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal

import flint

from verification.cases.chain_ends import sam_output_case, sam_partial_case
from verification.cases.chain_gradients import PREMISES, at_rest, finite, hyperbolic
from verification.cases.inequality import Inequality
from verification.cases.network_gradient import gradient_parameters
from verification.cases.nominate import first_violation
from verification.cases.one_step_norms import exponential_case, partial_case
from verification.certify.neuron_chain import LISTS, NeuronChain
from verification.certify.second.neuron_chain import Adjoints
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import Budget
from verification.exact_text import rational, rationals
from verification.measure.gradient_forms import GradientForm
from verification.measure.published_forms import SAM_32, SAM_42
from verification.parameters import Declaration


def of_top(*, whole: Literal["no", "too"]) -> Declaration:
    """θ = b^L."""
    return gradient_parameters("b", whole=whole, layer=lambda L: range(L, L + 1))


IS_TOP = Hypothesis("l = L", lambda p: Fraction(p.layer == len(p.w)))


# --- θ of the top layer, in sam: proved

_TRIED = {"smoke": (64, 8), "standard": (1024, 60), "deep": (4096, 200)}
_PLACES = ((1, 0.1, 10), (1, 0.5, 2), (0.25, 0.5, 40), (4, 0.9, 20))
"""(α, dt, N) of the ascent; the first two have T = 1."""


def _float_form(form: GradientForm, free: dict[str, Any], alpha: float, dt: float, steps: int) -> Any:
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


def proof_by_parts(form: GradientForm, budget: Budget, seed: int) -> str:
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


def top_layer_case(form: GradientForm, domain: str, extra: tuple[Hypothesis, ...] = ()) -> Case:
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

            ascended = ascent.maximise(objective, start, iterations)
            evaluations += ascended.evaluations
            best = {name: value[ascended.best : ascended.best + 1] for name, value in ascended.free.items()}
            log_right = float(_float_form(form, best, *place)[0])
            gap = float(ascended.values.max())
            if gap > worst[0]:
                worst = (gap, gap + log_right, log_right)
            if gap > 0 and not by_weight[ascended.best]:
                short = {
                    name: rationals([Fraction(x).limit_denominator(1000) for x in value[0].tolist()])
                    for name, value in best.items()
                }
                exact = {"alpha": rational(Fraction(alpha)), "dt": rational(Fraction(dt).limit_denominator(10))}
                candidates.append((gap, {**exact, "N": str(steps), "layer": str(depth), **short}))
            if depth == 1:
                shares.append(ascent.control(alpha, dt, steps, seed=seed))
        proof = proof_by_parts(form, budget, seed)
        candidates.sort(key=lambda candidate: -candidate[0])
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

    check = finite(form, "b", (*extra, IS_TOP), of_top(whole="too")).check
    return Case(domain, "|dE/dθ|, θ of layer L, not V^1", ask, check, is_search=True)


def top_summand_case(form: GradientForm) -> Case:
    """(69), l = L: by the same three parts."""
    inequality = finite(form, "b", (IS_TOP,), of_top(whole="no"))

    def ask(budget: Budget, seed: int) -> Attempt:
        stiff = (at_rest(Fraction(1), Fraction(1, 20), 20 * T, [Fraction(-401)]) for T in (1, 5, 20))
        points = itertools.chain(hyperbolic(), stiff)
        seen = first_violation((inequality,), points, "one neuron at rest, T = 1 to 40, w = −2 to −401")
        proof = proof_by_parts(form, budget, seed)
        return Attempt(
            proof or seen.tried,
            seen.evaluations,
            seen.log_measured,
            seen.log_claimed,
            candidates=seen.candidates,
            proof=proof,
        )

    return Case("sam (69), l = L, θ not V^1", "|∂E_{k,l}/∂θ|", ask, inequality.check)


# --- the error at one time


def last_error(form: GradientForm, parameters: Declaration, extra: tuple[Hypothesis, ...] = ()) -> Inequality:
    """|dE_N/db^l| by the recursion itself against the form: sam (70) is about the error at every single step."""
    return Inequality(
        lambda p: (NeuronChain(p).last_gradient(round(float(p.layer)), "b"), form.ball(p)),
        lambda p: (Adjoints(p).last_gradient(int(p.texts["layer"]), "b"), form.interval(p)),
        (*PREMISES, *extra),
        lists=LISTS,
        parameters=parameters,
    )


def top_error_case(form: GradientForm) -> Case:
    """(70) for θ of layer L, not V^1: (69) for the summands, at most N of them. Tried at rest, w^L = −1 to −17."""
    inequality = last_error(form, of_top(whole="no"), (IS_TOP,))

    def ask(budget: Budget, seed: int) -> Attempt:
        points = (p for p in itertools.islice(hyperbolic(), 24) if int(p["N"]) <= 400)
        attempt = first_violation((inequality,), points, "one neuron at rest, α = 1")
        return attempt if attempt.candidates else replace(attempt, proof=proof_by_parts(form, budget, seed))

    return Case("sam (70), θ of layer L, not V^1", "|∂E_n/∂θ|", ask, inequality.check)
