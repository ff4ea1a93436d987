"""thm-G and thm-G-inf on trial: on the networks that the published bounds fell at, and on whole networks by ascent.

Of a chain of single neurons both sides come from its run by ``neuron_chain``, of a whole network from
``certify.network``. F, F_z, Ŷ, Ẑ are the largest |y|, |z| of the run itself, the smallest numbers for which the
theorems are stated; an invariant form a is a parameter, since thm-G is for every one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np

from odernn.bounds import forms
from odernn.bounds.numbers import BALLS
from odernn.published.networks import PublishedRow
from verification.cases.chain_gradients import RightSide, at_rest, finite, hyperbolic, of_row, stiff_below, two_layers
from verification.cases.chain_jacobians import CHAIN_PREMISES
from verification.cases.network_gradient import ANY_NETWORK, NetworkGradient, gradient_parameters, quantity_of
from verification.cases.nominate import first_violation
from verification.cases.related import Small
from verification.certify import network
from verification.certify.second import intervals as second
from verification.claim import Attempt, Case, Hypothesis, Parameters
from verification.domains import Budget, printed_name
from verification.exact_text import number, numbers, rationals
from verification.kinds import Constant, Kind, Listed, Rational
from verification.measure.gradient_theorems import GradientTheorem, StackInBalls
from verification.parameters import Declaration, Parameter, Rule

PREMISES = (
    Hypothesis("α ≥ 0", lambda p: p.alpha, strict=False),
    *CHAIN_PREMISES,
)
UNDAMPED: dict[str, Kind] = {"alpha": Rational(least=0)}
"""α ≥ 0, not > 0 as the published bounds have it."""


# --- chains of single neurons


@dataclass(frozen=True)
class OfChain:
    """The right side of a theorem for ``theta``; p.states is the run, p.form one a for every layer."""

    theorem: GradientTheorem
    theta: str
    of_one_step: bool = False

    def ball(self, p: Any) -> Any:
        run, layers = p.states, range(1, len(p.w) + 1)
        half, h = BALLS.exact(Fraction(1, 2)), p.dt / 2
        stack = StackInBalls(
            alpha=p.alpha,
            steps=run.N,
            w=[[w] for w in p.w],
            h=[[h] for _ in layers],
            rest=[[half] for _ in layers],
            V=[[[V]] for V in p.V],
            form=[[a] for a in getattr(p, "form", ())],
            y=[[_largest(p.u)], *([run.largest(run.y, q)] for q in layers)],
            z=[[], *([run.largest(run.z, q)] for q in layers)],
            target=_largest(p.target),
        )
        return self.theorem.ball(stack, round(float(p.layer)), self.theta)

    def interval(self, p: Any) -> Any:
        run, depth, iv = p.states, len(p.w), second.iv
        stack = SimpleNamespace(
            alpha=p.alpha,
            steps=run.steps,
            w=[[w] for w in p.w],
            h=[[p.dt / 2]] * depth,
            rest=[[iv.mpf(1) / 2]] * depth,
            V=[[[V]] for V in p.V],
            form=[[a] for a in getattr(p, "form", ())],
            y=[[_most(p.u)], *([run.peak(run.rows, q)] for q in range(1, depth + 1))],
            z=[[], *([run.peak(run.momenta, q)] for q in range(1, depth + 1))],
            target=_most(p.target),
        )
        return self.theorem.interval(stack, int(p.texts["layer"]), self.theta)


def _largest(values: list[Any]) -> Any:
    size = flint.arb(0)
    for value in values:
        size = size.max(abs(value))
    return size


def _most(values: list[Any]) -> Any:
    sizes = [abs(value) for value in values]
    return second.iv.mpf([max(size.a for size in sizes), max(size.b for size in sizes)])


def with_forms(declaration: Declaration, *, whole: bool = False) -> Declaration:
    """One a for every neuron, 0 < a < 4/h²: h = dt/2 in a chain; in a whole network h < dt, and a < 4/dt² serves."""
    most = 4 if whole else 16
    form = Parameter("form", Listed(Rational(above=0), lambda values: len(values["w"]) * int(values.get("m", 1))))
    rule = Rule(f"a dt² < {most}", lambda values: all(a * values["dt"] ** 2 < most for a in values["form"]))
    return replace(declaration, parameters=(*declaration.parameters, form), rules=(*declaration.rules, rule))


def formed(points: Iterable[Parameters]) -> Iterator[Parameters]:
    """Each with the forms of least growth, and with a = 2/h², where r is largest."""
    for point in points:
        alpha, h = number(point, "alpha"), number(point, "dt") / 2
        least = [_short_form(float(alpha), float(w), float(h)) for w in numbers(point, "w")]
        for choice in (least, [2 / h**2] * len(least)):
            yield {**point, "form": rationals(choice)}


def _short_form(alpha: float, w: float, h: float) -> Fraction:
    best = forms.best_form(kappa_low=alpha + min(w, 0.0), kappa_high=alpha + max(w, 0.0), step_size=h)
    end = Fraction(4 / h**2).limit_denominator(1000)
    return min(max(Fraction(float(best)).limit_denominator(10**6), Fraction(1, 10**6)), end * Fraction(999, 1000))


def shortest() -> Iterator[Parameters]:
    """One, two and three steps at rest: where thm-G has no room."""
    for steps, depth, w in itertools.product((1, 2, 3), (1, 2, 3), (Fraction(-1), Fraction(-5))):
        yield at_rest(Fraction(1), Fraction(1, 2), steps, [w] * depth)


def chains() -> Iterator[Parameters]:
    """Those on which the published bounds are tried, θ = b of the first layer, simplest first."""
    yield from shortest()
    for depth in (2, 3):
        yield from stiff_below(depth)
    yield from two_layers()
    yield from hyperbolic()


def chain_case(
    domain: str,
    quantity: str,
    form: RightSide,
    theta: str,
    points: Callable[[], Iterable[Parameters]],
    parameters: Declaration,
    proof: Callable[[Budget, int], str] | None = None,
) -> Case:
    """The first network of the list that exceeds is the candidate; the proof counts if none does."""
    inequality = finite(form, theta, parameters=parameters, premises=PREMISES)

    def ask(budget: Budget, seed: int) -> Attempt:
        tried = "chains with c = 0: those at which the published bounds fell"
        seen = first_violation((inequality,), points(), tried)
        proved = proof(budget, seed) if proof is not None and not seen.candidates else ""
        return replace(seen, tried=proved or seen.tried, proof=proved)

    return Case(domain, quantity, ask, inequality.check)


# --- a row of Table 6

LONGEST = {"smoke": 1000, "standard": 10**6, "deep": 10**6}
"""N, where a row has more steps."""


def row_case(row: PublishedRow, form: RightSide, theta: str, *, has_forms: bool) -> Case:
    """α, dt, L of the row, as the published bounds are tried there: θ = b^L, w^L < −α at rest; θ = V^1, any input."""
    parameters = gradient_parameters(
        theta,
        whole="no",
        depths=range(row.num_layers, row.num_layers + 1),
        layer=lambda L: range(1, 2) if theta == "V" else range(L, L + 1),
        fixed={
            "alpha": Constant(row.alpha),
            "dt": Constant(row.dt[-1]),
            "N": Small(1, row.steps),
        },
    )
    if has_forms:
        parameters = with_forms(parameters)
    inequality = finite(form, theta, parameters=parameters, premises=PREMISES)

    def ask(budget: Budget, _: int) -> Attempt:
        steps = min(row.steps, LONGEST[budget.name])
        points = itertools.islice(of_row(replace(row, steps=steps), theta), None if budget.name == "deep" else 1)
        tried = f"N = {steps}, at rest, {'w^L < −α' if theta == 'b' else 'any |u|'}, as the published bounds are tried"
        return first_violation((inequality,), formed(points) if has_forms else points, tried)

    quantity = f"|dE/dθ|, θ = {'b^L' if theta == 'b' else 'V^1'}"
    return Case(printed_name(row), quantity, ask, inequality.check, reading="printed")


# --- whole networks

_PLACES = (
    (1.0, 0.5, 1, 1, 1, 1),
    (1.0, 0.5, 1, 2, 2, 1),
    (0.0, 0.3, 4, 2, 2, 1),
    (13.0, 0.126, 8, 2, 2, 2),
    (4.0, 0.9, 4, 3, 2, 1),
)
"""(α, dt, N, L, m, layer of θ) of the ascents."""
_EFFORT = {"smoke": (24, 24), "standard": (48, 40), "deep": (512, 200)}


def network_case(theorem: GradientTheorem, theta: str) -> Case:
    """m neurons a layer, every entry of one parameter of one layer: an ascent over all that is free."""
    parameters = gradient_parameters(theta, whole="only", depths=range(1, 4), fixed=UNDAMPED)
    if theorem.has_forms:
        parameters = with_forms(parameters, whole=True)

    def balls(p: Any) -> Any:
        return theorem.ball(_in_balls(p), round(float(p.layer)), theta)

    def intervals(p: Any) -> Any:
        return theorem.interval(_in_intervals(p), int(p.given["layer"]), theta)

    both = NetworkGradient(theta, balls, intervals, PREMISES)

    def ask(budget: Budget, seed: int) -> Attempt:
        return _ascended(theorem, theta, budget, seed)

    return Case(ANY_NETWORK, quantity_of(theta), ask, parameters.guards(both.decide, both.may_fail), is_search=True)


def _in_balls(p: Any) -> StackInBalls:
    data, texts = p.data, p.texts
    states = network.certify_states(data)
    h, rest = [], []
    for layer in data.layers:
        c = [BALLS.exact(value) for value in layer.c]
        h.append([BALLS.exact(layer.dt) / (1 + (-each).exp()) for each in c])
        rest.append([1 / (1 + each.exp()) for each in c])
    width = len(data.layers[0].w)
    largest_input = max(abs(u) for row in data.inputs for u in row)
    choice = [BALLS.exact(a) for a in numbers(texts, "form")] if "form" in texts else []
    return StackInBalls(
        alpha=p.alpha,
        steps=data.steps,
        w=[[BALLS.exact(w) for w in layer.w] for layer in data.layers],
        h=h,
        rest=rest,
        V=[[[BALLS.exact(v) for v in row] for row in layer.V] for layer in data.layers],
        form=[choice[i : i + width] for i in range(0, len(choice), width)],
        y=[
            [BALLS.exact(largest_input)] * len(data.inputs[0]),
            *map(_peaks, states.y),
        ],
        z=[[], *map(_peaks, states.z)],
        target=p.target[0],
    )


def _peaks(box: network.Enclosed) -> list[Any]:
    """max_n |·| of every neuron, as balls: no smaller than the true ones, and larger by the radius at most."""
    sizes = np.maximum(np.abs(box.lower), np.abs(box.upper)).max(axis=0)
    slack = (box.upper - box.lower).max(axis=0)
    return [flint.arb(float(size), float(2 * width)) for size, width in zip(sizes, slack, strict=True)]


def _in_intervals(p: Any) -> Any:
    iv, width = second.iv, int(p.given["m"])
    words = p.given.get("form", "").split()
    states = p.run.states()
    u = iv.mpf(max(abs(second.number(word)).b for word in p.inputs))
    c = [[second.number(word) for word in layer["c"]] for layer in p.layers]
    return SimpleNamespace(
        alpha=p.alpha,
        steps=int(p.given["N"]),
        w=[[second.number(word) for word in layer["w"]] for layer in p.layers],
        h=[[p.dt * second.logistic(each) for each in own] for own in c],
        rest=[[second.logistic(-each) for each in own] for own in c],
        V=[[[second.number(word) for word in row] for row in layer["V"]] for layer in p.layers],
        form=[[second.number(a) for a in words[i : i + width]] for i in range(0, len(words), width)],
        y=[[u] * len(p.layers[0]["V"][0]), *(_reach(y) for y, _ in states)],
        z=[[], *(_reach(z) for _, z in states)],
        target=p.target[0],
    )


def _reach(box: Any) -> list[Any]:
    """max_n |·| of every neuron, from the ends of a box of floats."""
    low, high = np.abs(box.middle) - box.radius, np.abs(box.middle) + box.radius
    ends = zip(np.nextafter(low.max(axis=0), -np.inf), np.nextafter(high.max(axis=0), np.inf), strict=True)
    return [second.iv.mpf([max(float(a), 0.0), float(b)]) for a, b in ends]


def _ascended(theorem: GradientTheorem, theta: str, budget: Budget, seed: int) -> Attempt:
    from verification.adversary import gradient_ascent, network_ascent

    count, iterations = _EFFORT[budget.name]
    worst: tuple[float, float, float] = (-math.inf, 0.0, 0.0)
    candidates: list[tuple[float, Parameters]] = []
    evaluations, shares = 0, []
    lowered = math.log(theorem.factor)
    for alpha, dt, steps, depth, width, layer in _PLACES:
        at = network_ascent.AscentPlace(alpha, dt, steps, depth, width, layer, theta)

        def objective(free: gradient_ascent.Free, at: network_ascent.AscentPlace = at) -> Any:
            measured, claimed = network_ascent.log_sides(free, at, theorem)
            return measured - claimed - lowered

        ascended = gradient_ascent.maximise(objective, network_ascent.starts(count, at, seed=seed), iterations)
        evaluations += ascended.evaluations
        best = {name: value[ascended.best : ascended.best + 1] for name, value in ascended.free.items()}
        sides = [float(side.detach()[0]) for side in network_ascent.log_sides(best, at, theorem)]
        gap = float(ascended.values.max())
        if gap > worst[0]:
            worst = (gap, sides[0], sides[1] + lowered)
        if gap > 0:
            candidates += [(gap, each) for each in network_ascent.typed(best, at, forms=theorem.has_forms)]
        shares.append(gradient_ascent.control(alpha, dt, steps, seed=seed))
    candidates.sort(key=lambda candidate: -candidate[0])
    return Attempt(
        f"sign ascent on w, c, V, b, u, ȳ and the forms from {count} starts at {len(_PLACES)} (α, dt, N, L, m)",
        evaluations,
        worst[1],
        worst[2],
        control=min(shares),
        candidates=tuple(parameters for _, parameters in candidates),
    )
